//! Changes that must not pass in silence.
