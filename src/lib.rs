//! Bailiwick compiles access policy for Kubernetes clusters into validated manifests.
//!
//! ```text
//!                     bailiwick: cli, ask, lsp, watch     options, the start of a run, exit codes
//!                                   |
//!                           bailiwick-report              results as text, JSON, Markdown, SARIF, HTML, ...
//!                                   |
//!                      bailiwick-review, -adopt           changes for a reviewer; from clusters to policies
//!                                   |
//!                          bailiwick-analysis             questions about access, findings, comparisons
//!                                   |
//!                          bailiwick-workspace            a folder with policies, its targets and its output
//!                                   |
//!                          bailiwick-compiler             policies -> files
//!                                   |
//!                           bailiwick-policy              the language of policies
//!                                   |
//!                       bailiwick-codes, -base            the codes of all diagnostics; texts that are alike, threads
//!           ________________________|________________________
//!          |                                                 |
//!   import, audit                       paths, node, admission, crossplane, access, cel, kubernetes
//!   objects, logs -> policies           objects -> decisions (the judges)
//!          |_________________________________________________|
//!                                   |
//!                               git, yaml                 Git, YAML and diagnostics
//! ```
//!
//! This crate is the program and the facade of the library: it has the names of the crates below it, and the functions and types
//! of [`app`] that a caller needs first. The compiler is a row of stages, each a function from one type to the next: [`source`],
//! [`model`] and [`kinds`], [`expand`], [`render`], [`validate`], [`label`], [`emit`].
//!
//! # Use as a library
//!
//! A [`Workspace`] is opened, compiled, compared with earlier output, searched for findings and tested. A [`LoadedWorld`]
//! answers questions about access: [`LoadedWorld::can_i`] and [`LoadedWorld::who_can`]. The functions print nothing and return
//! typed results; the module [`app`] lists all of them. This program prints who can read Secrets on each target of a
//! workspace:
//!
//! ```
//! use bailiwick::{Error, LoadedWorld, Options, RequestOptions, Workspace, WorldOptions};
//!
//! fn main() -> Result<(), Error> {
//!     let workspace = Workspace::open(&Options::in_folder(env!("CARGO_MANIFEST_DIR")))?;
//!     let request = RequestOptions::new("get", "secrets");
//!     for target in workspace.targets(&[])? {
//!         let loaded = LoadedWorld::from_target(&workspace, target, &WorldOptions::default())?;
//!         for allowed in loaded.who_can(&request)?.subjects {
//!             match allowed.namespace {
//!                 Some(namespace) => println!("{}: {} in {namespace}", target.name, allowed.subject),
//!                 None => println!("{}: {}", target.name, allowed.subject),
//!             }
//!         }
//!     }
//!     Ok(())
//! }
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub use bailiwick_access as access;
pub use bailiwick_admission as admission;
pub use bailiwick_audit as audit;
pub use bailiwick_base::{alike, stats};
pub use bailiwick_codes as codes;
pub use bailiwick_compiler::{compile, delivery, emit, expand, label, render, validate};
pub use bailiwick_crossplane as crossplane;
pub use bailiwick_git as git;
pub use bailiwick_import as import;
pub use bailiwick_kubernetes as k8s;
pub use bailiwick_node as node;
pub use bailiwick_paths as paths;
pub use bailiwick_policy::{kinds, model, source};
pub use bailiwick_report as report;
pub use bailiwick_yaml::{self as yaml, diag, digest, limits};

use bailiwick_base::parallel;

pub mod app;
pub mod ask;

#[cfg_attr(not(unix), path = "lsp/no_system.rs")]
mod lsp;
#[cfg_attr(not(unix), path = "watch/no_system.rs")]
mod watch;

pub use bailiwick_analysis::{
    AdmissionOptions, AllowedSubject, AllowedSubjects, Base, CanI, CanIOptions, CompareOptions, Comparison,
    LintOptions, LintReport, LoadedWorld, ManualPage, RequestOptions, Selection, TestOptions, TestRun, WorldOptions,
    access_map, compare, drift, lint, lint_manifests, map_manifests, run_tests,
};
pub use bailiwick_review::review;
pub use bailiwick_workspace::{CompiledFiles, Diagnostics, Error, Options, RenderOptions, Workspace};

pub mod cli;
