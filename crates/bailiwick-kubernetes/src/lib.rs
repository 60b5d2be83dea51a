#![doc = include_str!("../README.md")]
//!
//! # Tour
//!
//! - [`names`] and [`quantity`] are the grammars of strings: a name, a label value, `500m`.
//! - [`catalogue`] has the resources, kinds and verbs of each minor; [`catalogue::Api`] is one cluster, with its custom
//!   resources.
//! - [`openapi`] has the fields of every built-in kind, and [`custom_fields`] the fields of custom resources. Both report
//!   unknown fields and wrong types.
//! - [`validation`] is the API server's own validation of an object beyond the types: [`validation::check`].
//! - [`schemas`] and [`stored`] are the form of an object in the API server, with its defaults and without zeros.
//! - [`rules`], [`grants`] and [`dead`] work on RBAC rules: the canonical list, single grants, and parts without any
//!   matching request.
//! - [`default_policy`] has the roles and bindings created by the API server itself.
//! - [`readers`] has the names, keys and texts that kubectl, kustomize, Argo CD and Flux take for something else than the
//!   API server does, and [`appliers`] the annotations that they obey.
//! - [`templates`], [`volumes`], [`selector`], [`rbac`], [`list`] and [`size`] are shared by the crates about access,
//!   and [`absent`] has the values of absent fields.
//!
//! Every table names its source, and `cargo xtask facts` and `tests/conformance` compare it with Kubernetes.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod absent;
pub mod appliers;
pub mod catalogue;
pub mod codes;
pub mod custom_fields;
pub mod date;
pub mod dead;
pub mod default_policy;
pub mod grants;
pub mod list;
pub mod names;
pub mod openapi;
pub mod quantity;
pub mod rbac;
pub mod readers;
pub mod rules;
pub mod schemas;
pub mod selector;
pub mod server_fields;
mod shape;
pub mod size;
pub mod stored;
pub mod templates;
pub mod user_group;
pub mod validation;
pub mod validation_action;
pub mod volumes;
pub mod workers;
