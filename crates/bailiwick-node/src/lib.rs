#![doc = include_str!("../README.md")]
//!
//! # Tour
//!
//! - [`ServerVersion`] is a minor of Kubernetes with its feature gates, and [`Cluster`] the objects of a cluster with an effect
//!   on nodes: nodes, pods, volumes, service accounts.
//! - [`graph`] has the paths from objects to nodes, [`authorize`] the decision of the Node authorizer about a request, and
//!   [`restriction`] the decision of NodeRestriction about a write. [`identity`] recognises a node.
//! - [`pod`], [`volume`] and [`workload`] read the references of pods, and [`placement`] the nodes possible for them.
//! - [`reach`] has everything in reach of a controlled node, and [`powers`] the escalations with the accounts on it.
//! - [`mirror`] checks static pods and mirror pods, [`system_node`] has the role `system:node` and its binding,
//!   [`migration`] compares kubelets with the Node authorizer, and [`agent`] limits agents to their own node.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod agent;
pub mod authorize;
pub mod cluster;
pub mod codes;
mod equality;
pub mod graph;
pub mod identity;
pub mod migration;
pub mod mirror;
pub mod placement;
pub mod pod;
pub mod powers;
pub mod reach;
pub mod restriction;
pub mod system_node;
pub mod version;
pub mod volume;
pub mod workload;

pub use cluster::Cluster;
pub use identity::NodeIdentity;
pub use version::{FeatureGate, ServerVersion};
