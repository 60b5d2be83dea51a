#![doc = include_str!("../README.md")]
//!
//! # Tour
//!
//! - [`GraphInputs`] are the objects of one cluster: its access, pods and nodes, and admission.
//! - [`EscalationGraph`] is the graph of its permissions. [`EscalationGraph::paths_of`] returns the [`EscalationPath`]s of a
//!   subject, each with its steps and the bindings behind them.
//! - [`Power`] is the end of a path, such as `cluster-admin` or `secrets:shop`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

mod admitted;
mod build;
mod controllers;
mod gains;
mod graph;
mod inventory;
mod opened;
mod path;
mod power;
mod probes;
mod report;
mod search;

pub use bailiwick_access::risk::EdgeKind;
pub use path::{EscalationPath, PathCertainty as Certainty, PathNode, PathOutline, PathStep};
pub use power::{Power, UnknownPower};
pub use report::{EscalationGraph, GraphInputs};
