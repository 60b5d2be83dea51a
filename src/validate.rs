//! Checks of rendered and foreign objects before anything is written.

pub mod rules;
