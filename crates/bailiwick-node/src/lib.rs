//! What nodes may do: kubelets, and whoever takes one over (seed 003, `specs/systems.md` C).
//!
//! Plain data and decisions on top of `access`: nothing here knows policies. A [`Cluster`](cluster::Cluster) is what objects tell of nodes,
//! pods and volumes; everything else is asked about it.
//!
//! ```text
//! identity     who is a node                              restriction  may a node write this object (NodeRestriction)
//! version      minors and feature gates                   mirror       pods that stand for a file on a node
//! system_node  the role system:node and its binding       equality     when two objects are the same to the server
//! cluster      the objects that matter
//! pod          what a pod refers to
//! volume       the secrets and drivers of volumes
//! graph        from which objects a way leads to a node
//! authorize    may a node do this (the Node authorizer)
//! workload     what brings pods to nodes that are not known yet
//! placement    to which nodes they may come
//! reach        what a node reaches
//! powers       what the accounts on a node may do
//! ```

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
pub use version::{Gate, Version};
