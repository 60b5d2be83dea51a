//! What admission makes of pods, against the fixtures and tables of others.

mod labels;
mod psp;
mod scc;
mod standards;
