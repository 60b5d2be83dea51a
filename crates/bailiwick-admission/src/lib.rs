//! What admission makes of pods: Pod Security levels, PodSecurityPolicy, SecurityContextConstraints, and the labels
//! that follow from them; and what a ValidatingAdmissionPolicy makes of any request.
//!
//! Beside the pipeline, like [`bailiwick_access`], and on top of it: which of these rules applies to a pod is decided by
//! who may use them, and that is what the authorizer answers. Knows neither policies nor templates.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

mod created;
mod defaulted;
pub mod gate;
pub mod installed;
pub mod labels;
pub mod level;
pub mod pod;
pub mod policy;
pub mod psp;
pub mod scc;
pub mod standards;
pub mod workload;
