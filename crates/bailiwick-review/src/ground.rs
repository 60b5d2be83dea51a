//! The differences of the inputs that decide access and are not written.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::proof::DanglingBinding;
use bailiwick_kubernetes::{absent, list};
use bailiwick_policy::model::Features;
use bailiwick_workspace::words::number;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::schema::to_json;

use super::causes::InputChanges;
use super::record::{GroundChange, GroundKind};
use super::state::TargetState;

/// Compares the ground of both states of a target. `subjects` are the subjects whose access changes with the default policy alone.
pub(super) fn compare(
    base: &TargetState<'_>,
    head: &TargetState<'_>,
    inputs: &InputChanges<'_>,
    subjects: BTreeSet<String>,
) -> Vec<GroundChange> {
    let (before, after) = (base.target, head.target);
    let mut changes = Vec::new();
    let mut add = |kind, from: String, to: String| {
        changes.push(GroundChange { target: after.name.clone(), kind, from, to, subjects: Vec::new() });
    };
    if before.version != after.version {
        add(GroundKind::Version, before.version.to_string(), after.version.to_string());
    }
    if before.platform != after.platform {
        add(GroundKind::Platform, before.platform.as_str().to_owned(), after.platform.as_str().to_owned());
    }
    if before.features != after.features {
        add(GroundKind::Features, stated(&before.features), stated(&after.features));
    }
    if before.applied_by != after.applied_by {
        let name = |target: &bailiwick_policy::model::Target| {
            target.applied_by.as_ref().map_or_else(|| "unknown".to_owned(), |applier| applier.user.clone())
        };
        add(GroundKind::Applier, name(before), name(after));
    }
    let baseline = |target: &bailiwick_policy::model::Target| {
        target.baseline.as_ref().map_or_else(|| "default policy".to_owned(), |baseline| baseline.value.clone())
    };
    let path = after.baseline.as_ref().map(|baseline| baseline.value.as_str());
    let has_other_files = path.is_some_and(|path| inputs.paths().any(|changed| changed.starts_with(path)));
    if baseline(before) != baseline(after) || has_other_files {
        add(GroundKind::Baseline, baseline(before), baseline(after));
    }
    let (old, new) = (manifests(base), manifests(head));
    if old != new {
        let differing = |left: &BTreeMap<String, String>, right: &BTreeMap<String, String>| {
            let count = left.iter().filter(|(name, text)| right.get(*name) != Some(*text)).count();
            number(count, "other object")
        };
        add(GroundKind::Manifests, differing(&old, &new), differing(&new, &old));
    }
    if let Some(change) = changes.first_mut() {
        change.subjects = subjects.into_iter().collect();
    }
    changes
}

/// Returns the features that a target states, as `bailiwick.yaml` has them; an empty text without any.
fn stated(features: &Features) -> String {
    let Features { pod_security_policy, mutating_admission_policy, pod_security_label_sync } = features;
    let is_on = |stated: &Option<bool>| stated.map(|is_on| is_on.to_string());
    let fields = [
        ("podSecurityPolicy", is_on(pod_security_policy)),
        ("mutatingAdmissionPolicy", is_on(mutating_admission_policy)),
        ("podSecurityLabelSync", pod_security_label_sync.map(|mode| mode.as_str().to_owned())),
    ];
    let stated = fields.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?)));
    stated.collect::<Vec<_>>().join(", ")
}

/// Returns the objects of Manifests policies that are judged and not written, by their names.
fn manifests(state: &TargetState<'_>) -> BTreeMap<String, String> {
    let name = |object: NodeRef<'_>| {
        let text = |keys: &[&str]| absent::text_at(object, keys);
        format!("{}/{}/{}", text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"]))
    };
    let documents = state.workspace.project().analyzed_documents(state.target);
    let objects = documents.flat_map(list::objects);
    objects.map(|object: NodeRef<'_>| (name(object), to_json(object).to_string())).collect()
}

/// Returns the bindings whose role is not among the objects, as lines, with the subjects of each.
pub(super) fn missing_roles(state: &TargetState<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let missing = state.loaded.world.dangling();
    let line = |dangling: DanglingBinding| {
        (format!("{} (bound by {})", dangling.role, dangling.binding.name), dangling.subjects.into_iter().collect())
    };
    missing.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use bailiwick_policy::model::{Features, LabelSync};

    use super::stated;

    #[test]
    fn features_are_shown_as_in_the_workspace_file() {
        assert_eq!(stated(&Features::default()), "");
        let features = Features {
            pod_security_policy: Some(false),
            pod_security_label_sync: Some(LabelSync::Advising),
            ..Features::default()
        };
        assert_eq!(stated(&features), "podSecurityPolicy: false, podSecurityLabelSync: advising");
    }
}
