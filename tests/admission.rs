//! What admission makes of pods, against the fixtures and tables of others.

mod labels;
mod policy;
mod psp;
mod scc;
mod standards;
