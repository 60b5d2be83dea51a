//! The controllers beside the syncer that write labels of namespaces (`specs/openshift.md` 2.4).

use super::control::is_exempt;
use super::namespace::{Label, LabelSet, NamespaceFacts};
use super::sync::{Action, Skip};
use crate::scc::release::Release;

/// The namespaces that are kept privileged.
const RUN_LEVEL_ZERO: [&str; 3] = ["default", "kube-public", "kube-system"];
/// The namespaces where constraints are not asked, whatever their labels.
const WITHOUT_ADMISSION: [&str; 6] =
    ["default", "kube-public", "kube-system", "openshift", "openshift-infra", "openshift-node"];

/// What the controller of the run-level-zero namespaces does, and the labels it applies, by force and without versions.
pub fn run_level_zero(name: &str, facts: &NamespaceFacts, release: Release) -> (Action, LabelSet) {
    let mut applied = LabelSet::default();
    if !release.labels_run_level_zero() || !RUN_LEVEL_ZERO.contains(&name) {
        return (Action::Skip(Skip::NotControlled), applied);
    }
    let levels = [Label::Enforce, Label::Audit, Label::Warn];
    if levels.iter().all(|label| facts.labels.get(*label) == Some("privileged")) {
        return (Action::Nothing, applied);
    }
    for label in levels {
        applied.set(label, "privileged");
    }
    (Action::Write, applied)
}

/// True when the operator lifecycle manager opts a namespace in: it holds an operator, begins with `openshift-`, belongs
/// to no payload, and has no opinion of its own, whatever that may be.
pub fn opts_in_operators(name: &str, facts: &NamespaceFacts, has_operator: bool, release: Release) -> bool {
    has_operator && name.starts_with("openshift-") && facts.sync.is_none() && !is_exempt(name, release)
}

/// True where pods are admitted without any constraints: by name, or by a label that says run level 0 or 1.
pub fn skips_constraints(name: &str, run_level: Option<&str>) -> bool {
    WITHOUT_ADMISSION.contains(&name) || matches!(run_level, Some("0" | "1"))
}
