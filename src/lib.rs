//! Bailiwick compiles access policy for Kubernetes clusters: policies in, validated manifests out.
//!
//! ```text
//! policies/ templates/ -> source -> model -> expand -> render -> validate -> label -> emit -> out/  (or a diff)
//!                                     ^                              |         ^
//!                                   kinds                            v         |
//!                                             objects -> access -> admission, crossplane, node -> answers
//! ```
//!
//! One direction: each arrow is a function from one type to the next, and [`compile`] names each stage once. Below
//! all of them lie [`diag`], what can be wrong as data, and [`yaml`], the one representation of text that every
//! stage works on. [`access`], [`admission`], [`crossplane`] and [`node`] stand beside the pipeline: who may do what,
//! which pods get in, what packages get, and what nodes reach. [`label`] closes its one loop, from what is granted to the labels of namespaces.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub use bailiwick_access as access;
pub use bailiwick_admission as admission;
pub use bailiwick_crossplane as crossplane;
pub use bailiwick_kubernetes as k8s;
pub use bailiwick_node as node;
pub use bailiwick_yaml::{self as yaml, diag, digest};

pub mod codes;

pub mod alike;
pub mod ask;
pub mod emit;
pub mod expand;
pub mod kinds;
pub mod label;
pub mod model;
pub mod render;
pub mod source;
pub mod validate;

pub mod cache;
pub mod compile;
pub mod file_format;
pub mod git;
pub mod migrate;
mod parallel;
pub mod report;
pub mod stats;

pub mod app;

pub mod cli;
