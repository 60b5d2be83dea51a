//! The effect of a changed object on the pods that are admitted, read from its fields: levels, profiles, and the order of
//! constraints. PodSecurityPolicies are compared in `access`. The words hold no name, so that they are the same for
//! all objects that change alike.

use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_yaml::{self as yaml, NodeRef};

/// The Pod Security levels, the widest first.
const POD_SECURITY_LEVELS: [&str; 3] = ["privileged", "baseline", "restricted"];

/// The label by which a namespace asks for a profile.
const PROFILE: &str = "bailiwick.dev/pod-security-profile";

/// Describes how an object admits other pods than before; none where no field that decides this differs.
pub(super) fn changed_pods(new: NodeRef<'_>, old: NodeRef<'_>) -> Option<String> {
    let kind = new.get("kind").and_then(NodeRef::as_str)?;
    let changes = match kind {
        "Namespace" => namespace(new, old),
        "SecurityContextConstraints" => constraints(new, old),
        "ValidatingAdmissionPolicy" => admission_policy(new, old),
        "ValidatingAdmissionPolicyBinding" => binding(new, old),
        _ => Vec::new(),
    };
    (!changes.is_empty()).then(|| changes.join("; "))
}

fn namespace(new: NodeRef<'_>, old: NodeRef<'_>) -> Vec<String> {
    fn label<'t>(object: NodeRef<'t>, key: &str) -> Option<&'t str> {
        object.path(&["metadata", "labels", key]).and_then(NodeRef::as_str)
    }
    let mut changes = Vec::new();
    for mode in ["enforce", "audit", "warn"] {
        let key = format!("pod-security.kubernetes.io/{mode}");
        match (label(old, &key), label(new, &key)) {
            (Some(before), Some(after)) if strictness(after) < strictness(before) => {
                changes.push(format!("lowers the Pod Security level to {mode} from {before} to {after}"));
            }
            (Some(before), None) => changes.push(format!("loses the Pod Security level {before} to {mode}")),
            _ => {}
        }
    }
    match (label(old, PROFILE), label(new, PROFILE)) {
        (Some(_), None) => changes.push("loses the label of its profile".to_owned()),
        (Some(before), Some(after)) if before != after => changes.push("changes its profile".to_owned()),
        _ => {}
    }
    changes
}

/// Returns the rank of a Pod Security level by strictness. Any other text has the rank of `privileged`, so a change to
/// it is named.
fn strictness(level: &str) -> usize {
    POD_SECURITY_LEVELS.iter().position(|known| *known == level).unwrap_or_default()
}

fn constraints(new: NodeRef<'_>, old: NodeRef<'_>) -> Vec<String> {
    let mut changes = Vec::new();
    let priority = |object: NodeRef<'_>| object.get("priority").and_then(NodeRef::as_int).unwrap_or_default();
    if priority(old) != priority(new) {
        changes.push("changes its priority: others are tried before it, or after it".to_owned());
    }
    let is_privileged =
        |object: NodeRef<'_>| object.get("allowPrivilegedContainer").and_then(NodeRef::as_bool).unwrap_or_default();
    if is_privileged(new) && !is_privileged(old) {
        changes.push("becomes privileged".to_owned());
    }
    changes
}

fn binding(new: NodeRef<'_>, old: NodeRef<'_>) -> Vec<String> {
    let actions = |object: NodeRef<'_>| -> Vec<String> {
        let listed = object.path(&["spec", "validationActions"]).into_iter().flat_map(NodeRef::items);
        listed.filter_map(|action| Some(action.as_str()?.to_owned())).collect()
    };
    let denies = |actions: &[String]| actions.iter().any(|action| action == ValidationAction::Deny.name());
    let loses = denies(&actions(old)) && !denies(&actions(new));
    loses.then(|| "loses the action `Deny`: its policy rejects nothing".to_owned()).into_iter().collect()
}

fn admission_policy(new: NodeRef<'_>, old: NodeRef<'_>) -> Vec<String> {
    let checks = |object: NodeRef<'_>| -> Vec<String> {
        let validations = object.path(&["spec", "validations"]).into_iter().flat_map(NodeRef::items);
        validations
            .filter_map(|check| check.get("expression"))
            .map(|text| yaml::schema::to_json(text).to_string())
            .collect()
    };
    let (before, after) = (checks(old), checks(new));
    let lost = before.iter().filter(|check| !after.contains(check)).count();
    if lost == 0 {
        return Vec::new();
    }
    // A check that is written otherwise is lost and new.
    let new_ones = after.iter().filter(|check| !before.contains(check)).count();
    vec![format!("drops {lost} of {} validations and adds {new_ones}", before.len())]
}
