//! The vocabulary of Kubernetes: its string grammars, quantities, API resources, schemas and stored form.
//!
//! Everything here is a fact about Kubernetes, with no knowledge of policies, templates or evaluation. The rules
//! come from `specs/kubernetes.md`; the tables beside this module were computed from the real API definitions.
//!
//! ```text
//! names      which strings pass which grammar
//! quantity   `500m`, `1Gi`: reading, comparing, the form that is stored
//! catalogue  which resources, kinds and verbs a version serves
//! rules      rules as single permissions, and the canonical list of them
//! dead       what in a rule can match no request
//! grants     rules split into single grants, and which of them mean anything on a version
//! default_policy  the roles and bindings that the server makes for itself
//! rbac       rules, as questions and answers hold them
//! selector   label selectors
//! openapi    the fields of every built-in kind: unknown fields, types
//! custom_fields  the fields of custom resources, by the schema of their definition
//! schemas    the shape of the kinds that have a stored form of their own
//! stored     a document in the form the API server stores it
//! templates  which kinds bring pods, and where their templates stand
//! ```
//!
//! Left out on purpose: what a valid object must also satisfy (`validate::rules`), and what it grants (`access`).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod absent;
pub mod catalogue;
pub mod codes;
pub mod custom_fields;
pub mod dead;
pub mod default_policy;
pub mod grants;
pub mod list;
pub mod names;
pub mod openapi;
pub mod quantity;
pub mod rbac;
pub mod rules;
pub mod schemas;
pub mod selector;
mod shape;
pub mod size;
pub mod stored;
pub mod templates;
pub mod validation;
