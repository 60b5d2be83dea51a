//! Admission of pods, compared with the fixtures and tables of other projects.

mod by_account;
mod cluster;
mod labels;
mod policy;
mod psp;
mod scc;
mod standards;
