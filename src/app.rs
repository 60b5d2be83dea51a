//! The application: a function for each thing that a command does.
//!
//! - A [`Workspace`] is opened and compiled. [`compare()`], [`lint()`], [`review()`], [`run_tests`], [`drift()`] and [`access_map()`] judge it.
//! - A [`LoadedWorld`] is the state of one cluster, and answers questions about access.
//! - [`import()`], [`least_grants`] and [`migrate_psp`] lead from a cluster to policies.
//!
//! The names are the names of `bailiwick-workspace`, `bailiwick-analysis`, `bailiwick-review` and `bailiwick-adopt`.

pub use bailiwick_adopt::*;
pub use bailiwick_analysis::*;
pub use bailiwick_review as review;
pub use bailiwick_review::{codeowners, review};
pub use bailiwick_workspace::*;
