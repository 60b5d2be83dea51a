//! Inputs whose cost must not grow faster than they do.
