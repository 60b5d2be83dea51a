//! Checked objects become files: their layout, the comparison with what is there, and writing.
//!
//! ```text
//! objects -> file (header, path) -> plan (created, changed, deleted, unchanged) -> diff or write
//!                                     ^                                            |
//!               committed: a folder, or a revision in git          group: equal changes once
//! plan -> totals (what is told and judged of it; those of several parts add up)
//! ```

pub mod committed;
pub mod diff;
pub mod file;
pub mod first_lines;
pub mod group;
pub mod identity;
pub mod namespaces;
pub mod objects;
pub mod oci;
pub mod paths;
pub mod plan;
mod pods;
pub mod revision;
pub mod totals;
pub mod write;
pub mod writer;
