#![doc = include_str!("../README.md")]
//!
//! # Tour
//!
//! - [`pod`] reads a pod, and [`workload`] an object with a pod template. Both read a node of a YAML or JSON document.
//! - [`level`] and [`standards`] are the Pod Security standards: [`standards::violations`] returns the violations of a
//!   level by a pod, and [`standards::admit`] the decision of the admission plugin about a request.
//! - [`psp`] is PodSecurityPolicy of Kubernetes 1.24: [`psp::admit::PspProvider`] applies one policy to a pod,
//!   [`psp::select`] selects the policy of a pod, [`psp::compare`] and [`psp::migrate`] serve changes and removal.
//! - [`scc`] is SecurityContextConstraints of OpenShift: [`scc::admit`] applies them to a pod, and [`scc::convert`] and
//!   [`scc::semantic`] return their Pod Security level.
//! - [`labels`] is the label synchroniser of OpenShift: the Pod Security labels of every namespace of a cluster.
//! - [`policy`] evaluates ValidatingAdmissionPolicies: [`policy::ValidatingAdmissionPolicy::evaluate`] takes a request and returns a decision.
//! - [`others`] recognises policies of Kyverno and Gatekeeper, which are not evaluated.
//! - [`gate`] and [`installed`] combine these for the pods of a workload in one cluster.
//!
//! Access to policies and constraints is a question of RBAC, answered by [`bailiwick_access::World`].

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod codes;
mod created;
mod defaulted;
pub mod gate;
pub mod installed;
pub mod labels;
pub mod level;
pub mod others;
pub mod pod;
pub mod policy;
pub mod probe;
pub mod psp;
pub mod scc;
pub mod standards;
pub mod variants;
pub mod workload;
