//! The Pod Security standards: what a pod must not do at a level, by the checks of a version, and in which namespace
//! which of them counts (`specs/openshift.md` 5).
//!
//! Left out: what the API server does to a pod between its defaults and this admission, such as copying AppArmor
//! annotations into fields. It changes what a message names, and no verdict.

pub mod labels;
pub(super) mod questions;
mod words;
