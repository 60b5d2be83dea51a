//! The change of all access on a target, where the version, the baseline or the objects beside the output change.
//!
//! Another version changes what the components of the cluster may do. There are dozens of them, and a change of the
//! policies has to be found among them: a component that gains and loses exactly what the default policies differ in is
//! counted and not shown.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::World;
use bailiwick_access::compare::{Affected, Change, ImpliedGroups, compare};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::model::Target;

use super::AccessEffect;
use crate::loaded_world::platform_world;

/// Returns the change of access from one world of a target to another.
pub(super) fn changes(old: &World, new: &World, before: &Target, after: &Target) -> AccessEffect {
    let mut changes = compare(old, new, ImpliedGroups::Counted);
    let components = take_components(&mut changes, before, after, &is_component);
    AccessEffect::Known { changes, components }
}

/// Removes the components from the changes whose change is the change of the default policy, and returns their names.
pub fn take_components(
    changes: &mut Vec<Change>,
    before: &Target,
    after: &Target,
    is_component: &dyn Fn(&str) -> bool,
) -> BTreeSet<String> {
    let mut components = BTreeSet::new();
    if before.baseline.is_some() || after.baseline.is_some() {
        return components;
    }
    let mut by_default: BTreeMap<Affected, (Vec<PolicyRule>, Vec<PolicyRule>)> = BTreeMap::new();
    for Change { gained, lost, subjects, .. } in
        compare(&default_world(before), &default_world(after), ImpliedGroups::Counted)
    {
        by_default.extend(subjects.into_iter().map(|subject| (subject, (gained.clone(), lost.clone()))));
    }
    for Change { gained, lost, subjects, .. } in changes.iter_mut() {
        subjects.retain(|affected| {
            let is_default = by_default.get(affected).is_some_and(|change| (&change.0, &change.1) == (gained, lost));
            let is_component = is_default && is_component(&affected.subject);
            if is_component {
                components.insert(affected.subject.clone());
            }
            !is_component
        });
    }
    changes.retain(|change| !change.subjects.is_empty());
    components
}

/// Groups of the default policy, such as `system:authenticated`, have members that are no components.
fn is_component(subject: &str) -> bool {
    subject.starts_with("ServiceAccount/kube-system/") || subject.starts_with("User/system:kube-")
}

/// Returns the world of a cluster without any policy.
pub fn default_world(target: &Target) -> World {
    platform_world(target).build()
}
