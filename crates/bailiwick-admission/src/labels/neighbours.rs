//! The other controllers with writes to labels of namespaces: the run-level-zero controller and the operator lifecycle
//! manager.

use super::control::is_exempt;
use super::namespace::{LabelSet, NamespaceFacts, PodSecurityLabel};
use super::sync::{Skip, SyncAction};
use crate::scc::release::Release;

/// The namespaces kept privileged.
const RUN_LEVEL_ZERO: [&str; 3] = ["default", "kube-public", "kube-system"];
/// The namespaces without admission by constraints, for any labels.
const WITHOUT_ADMISSION: [&str; 6] =
    ["default", "kube-public", "kube-system", "openshift", "openshift-infra", "openshift-node"];

/// Returns the decision of the controller for run-level-zero namespaces, and its labels, applied by force and without
/// versions.
pub fn run_level_zero(name: &str, facts: &NamespaceFacts, release: Release) -> (SyncAction, LabelSet) {
    let mut applied = LabelSet::default();
    if !release.labels_run_level_zero() || !RUN_LEVEL_ZERO.contains(&name) {
        return (SyncAction::Skip(Skip::NotControlled), applied);
    }
    let levels = [PodSecurityLabel::Enforce, PodSecurityLabel::Audit, PodSecurityLabel::Warn];
    if levels.iter().all(|label| facts.labels.get(*label) == Some("privileged")) {
        return (SyncAction::Nothing, applied);
    }
    for label in levels {
        applied.set(label, "privileged");
    }
    (SyncAction::Write, applied)
}

/// Whether the operator lifecycle manager opts a namespace in: a namespace with an operator, the prefix `openshift-`,
/// outside the payload, and without the label in any form.
pub fn opts_in_operators(name: &str, facts: &NamespaceFacts, has_operator: bool, release: Release) -> bool {
    has_operator && name.starts_with("openshift-") && facts.sync.is_none() && !is_exempt(name, release)
}

/// Whether pods are admitted without constraints: by the name of the namespace, or by a label for run level 0 or 1.
pub fn skips_constraints(name: &str, run_level: Option<&str>) -> bool {
    WITHOUT_ADMISSION.contains(&name) || matches!(run_level, Some("0" | "1"))
}
