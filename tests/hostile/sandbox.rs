//! What the sandbox forbids.
