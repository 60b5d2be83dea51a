//! Dangers of the application of a change: deletions, and rights that are missing for a moment or for ever.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::who_can::Where;
use bailiwick_access::world::RoleKind;
use bailiwick_access::{BindingRef, Request, ResourceRequest, World};
use bailiwick_analysis::classes::Spread;
use bailiwick_analysis::compare::{Comparison, TargetComparison, settings_of_workspace};
use bailiwick_analysis::proof::identity;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::model::{Target, WorkspaceSettings};
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_workspace::words::number;

use super::access::AccessDelta;
use super::record::{EffectChange, EffectSeverity, Hazard, HazardKind};
use super::state::TargetState;

/// The name of an object with a namespace.
type BindingName = (Option<String>, String);

/// Finds the hazards of the differences of the output.
pub(super) fn of_output(comparison: &Comparison, threshold: usize, spread: &Spread<'_>) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    for (target, totals) in comparison.changes.gone() {
        let renamed = comparison.changes.renamed_to(target);
        let objects = totals.counts.deleted;
        let kind = if renamed.is_some() { HazardKind::TargetRenamed } else { HazardKind::TargetRemoved };
        let message = match renamed {
            Some(new) => format!("the target `{target}` is renamed to `{new}`: {} deleted", number(objects, "object")),
            None => format!("the target `{target}` is removed: {} deleted", number(objects, "object")),
        };
        let names = renamed.map(str::to_owned).into_iter().collect();
        hazards.push(Hazard { names, objects, ..hazard(kind, EffectSeverity::High, target, message) });
    }
    for target in &comparison.targets {
        hazards.extend(of_target(target, threshold, spread));
    }
    hazards
}

/// Finds the changed settings of the comparison, the admission and the application.
pub(super) fn of_settings(before: &WorkspaceSettings, after: &WorkspaceSettings) -> Vec<Hazard> {
    let changes = settings_of_workspace::all(before, after).into_iter();
    let hazards = changes.map(|change| Hazard {
        targets: change.target.into_iter().collect(),
        ..hazard(HazardKind::SettingChanged, EffectSeverity::High, "", change.words)
    });
    hazards.collect()
}

fn of_target(target: &TargetComparison, threshold: usize, spread: &Spread<'_>) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    let deleted: Vec<_> = target.totals.namespaces.deleted().collect();
    if !deleted.is_empty() {
        let all = |names: Vec<String>| spread.all_namespaces(&names);
        let namespaces = all(deleted.iter().map(|deleted| deleted.name.to_owned()).collect());
        let names = all(deleted.iter().filter_map(|deleted| deleted.renamed_to).map(str::to_owned).collect());
        let message = format!("{} deleted, with everything in them", number(namespaces.len(), "namespace"));
        let hazard = hazard(HazardKind::NamespaceDeleted, EffectSeverity::High, &target.target, message);
        hazards.push(Hazard { namespaces, names, ..hazard });
    }
    let definitions = target.totals.by_kind.get("CustomResourceDefinition").map_or(0, |counts| counts.deleted);
    if definitions > 0 {
        let message = format!("{} deleted, with all their objects", number(definitions, "custom resource definition"));
        let hazard = hazard(HazardKind::CrdDeleted, EffectSeverity::High, &target.target, message);
        hazards.push(Hazard { objects: definitions, ..hazard });
    }
    if target.totals.changed_files > threshold {
        let message = format!("{} change", number(target.totals.changed_files, "file"));
        let hazard = hazard(HazardKind::MassChange, EffectSeverity::Info, &target.target, message);
        hazards.push(Hazard { objects: target.totals.counts.changed, ..hazard });
    }
    hazards
}

/// Finds the bindings that are deleted and created: their role changes, or they get another name.
pub(super) fn of_bindings(base: &TargetState<'_>, head: &TargetState<'_>, spread: &Spread<'_>) -> Vec<Hazard> {
    let (before, after) = (bindings(&base.loaded.world), bindings(&head.loaded.world));
    let role = |binding: &BindingRef<'_>| (binding.role_kind(), binding.role_name().to_owned());
    let (mut changed, mut replaced): (Vec<&BindingName>, Vec<&BindingName>) = (Vec::new(), Vec::new());
    for (name, old) in &before {
        let Some(new) = after.get(name).filter(|new| role(old) != role(new)) else { continue };
        let is_same = rules(&base.loaded.world, old) == rules(&head.loaded.world, new);
        if is_same { &mut replaced } else { &mut changed }.push(name);
    }
    replaced.extend(renamed(base, head, &before, &after));
    let target = &head.target.name;
    let mut hazards = Vec::new();
    if !changed.is_empty() {
        let mut names: Vec<String> = changed.iter().flat_map(|name| shown(name, spread)).collect();
        names.sort_unstable();
        let message = format!("{} deleted and created: the role changes", number(names.len(), "binding"));
        let hazard = hazard(HazardKind::RolerefChanged, EffectSeverity::High, target, message);
        hazards.push(Hazard { bindings: names.len(), names, namespaces: namespaces(&changed, spread), ..hazard });
    }
    if !replaced.is_empty() {
        let weight = |name: &&BindingName| name.0.as_ref().map_or(1, |namespace| spread.weight(namespace));
        let bindings = replaced.iter().map(weight).sum();
        let message = format!(
            "{} deleted and created with the same rights: in between the rights are missing",
            number(bindings, "binding")
        );
        let hazard = hazard(HazardKind::BindingReplaced, EffectSeverity::Info, target, message);
        hazards.push(Hazard { bindings, namespaces: namespaces(&replaced, spread), ..hazard });
    }
    hazards
}

/// Returns the danger of removed objects that the inventory of Flux cannot name: they stay in the cluster.
pub(super) fn never_pruned(target: &Target, objects: &[&IdentityKey]) -> Hazard {
    let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
    let stay = if names.len() == 1 { "stays" } else { "stay" };
    let message = format!(
        "{} removed from the output {stay} in the cluster: the inventory of Flux reads `__` in a name as `:` and never deletes the \
         object; delete it with kubectl",
        number(names.len(), "object")
    );
    let hazard = hazard(HazardKind::NeverPruned, EffectSeverity::High, &target.name, message);
    Hazard { objects: names.len(), names, ..hazard }
}

/// Returns the new bindings that give the same rights to the same subjects as a deleted one.
fn renamed<'n>(
    base: &TargetState<'_>,
    head: &TargetState<'_>,
    before: &BTreeMap<BindingName, BindingRef<'_>>,
    after: &'n BTreeMap<BindingName, BindingRef<'_>>,
) -> Vec<&'n BindingName> {
    let subjects = |binding: &BindingRef<'_>| {
        let name = |subject: bailiwick_access::SubjectRef<'_>| {
            (subject.kind() as u8, subject.namespace().to_owned(), subject.name().to_owned())
        };
        binding.subjects().map(name).collect::<BTreeSet<_>>()
    };
    let mut gone: BTreeMap<_, Vec<&BindingRef<'_>>> = BTreeMap::new();
    for (name, binding) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
        gone.entry((name.0.as_ref(), subjects(binding))).or_default().push(binding);
    }
    let new = after.iter().filter(|(name, _)| !before.contains_key(*name));
    let has_twin = |(name, binding): &(&BindingName, &BindingRef<'_>)| {
        let mut twins = gone.get(&(name.0.as_ref(), subjects(binding))).into_iter().flatten();
        twins.any(|old| rules(&base.loaded.world, old) == rules(&head.loaded.world, binding))
    };
    new.filter(has_twin).map(|(name, _)| name).collect()
}

/// Returns the rules that a binding gives.
fn rules(world: &World, binding: &BindingRef<'_>) -> Vec<PolicyRule> {
    let place = binding.namespace().filter(|_| binding.role_kind() == RoleKind::Role);
    let role = world.describe_role(place, binding.role_name());
    role.map_or_else(Vec::new, |(_, rules, _)| rules.into_iter().map(|rule| rule.rule).collect())
}

/// Returns the bindings of a world that are not the API server's own.
fn bindings(world: &World) -> BTreeMap<BindingName, BindingRef<'_>> {
    let own = world.bindings().filter(|binding| binding.layer() != bailiwick_access::ObjectSource::Baseline);
    own.map(|binding| ((binding.namespace().map(str::to_owned), binding.name().to_owned()), binding)).collect()
}

/// Finds the rights of the applier without any subject in the reviewed state.
pub(super) fn lock_out(head: &TargetState<'_>, deltas: &[AccessDelta]) -> Option<Hazard> {
    let applier = head.target.applied_by.as_ref()?;
    let lost = deltas.iter().filter(|delta| delta.change == EffectChange::Lost);
    let of_applier = lost.filter(|delta| {
        delta.members.iter().any(|member| {
            let who = identity(&member.subject);
            who.user == applier.user
                || (who.user.is_empty() && who.groups.iter().any(|group| applier.groups.contains(group)))
        })
    });
    let world = &head.loaded.world;
    let is_lost = |atom: &&PolicyRule| {
        let capable = world.who_can(&request(atom), Where::AsRequested);
        capable.capable(world).all(|capable| capable.binding.is_none())
    };
    let rights: Vec<String> =
        of_applier.flat_map(|delta| &delta.atoms).filter(is_lost).map(bailiwick_workspace::words::rule_text).collect();
    let first = rights.first()?;
    let message = format!("no subject has the right to {first} any more; `{}` had it", applier.user);
    let hazard = hazard(HazardKind::LockOut, EffectSeverity::High, &head.target.name, message);
    Some(Hazard { names: rights, ..hazard })
}

/// Returns a request that a smallest part of a rule allows.
fn request(atom: &PolicyRule) -> Request {
    let first = |list: &[String]| list.iter().filter(|entry| *entry != "*").take(1).cloned().collect::<String>();
    let resource = first(&atom.resources);
    let (resource, subresource) = match resource.split_once('/') {
        Some(parts) => parts,
        None => (resource.as_str(), ""),
    };
    Request::Resource(ResourceRequest {
        verb: first(&atom.verbs),
        group: first(&atom.api_groups),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        name: first(&atom.resource_names),
        ..ResourceRequest::default()
    })
}

fn hazard(kind: HazardKind, severity: EffectSeverity, target: &str, message: String) -> Hazard {
    Hazard {
        kind,
        severity,
        targets: vec![target.to_owned()],
        namespaces: Vec::new(),
        names: Vec::new(),
        bindings: 0,
        objects: 0,
        message,
        causes: Vec::new(),
    }
}

/// Returns a binding with the bindings that it stands for.
fn shown((namespace, name): &BindingName, spread: &Spread<'_>) -> Vec<String> {
    namespace.as_ref().map_or_else(
        || vec![format!("ClusterRoleBinding/{name}")],
        |namespace| spread.names(&format!("RoleBinding/{namespace}/{name}"), namespace),
    )
}

fn namespaces(names: &[&BindingName], spread: &Spread<'_>) -> Vec<String> {
    spread.all_namespaces(names.iter().filter_map(|name| name.0.as_ref()))
}

/// Joins hazards that differ in the target alone.
pub(super) fn joined(all: Vec<Hazard>) -> Vec<Hazard> {
    let mut joined: Vec<Hazard> = Vec::new();
    for hazard in all {
        let is_same = |known: &&mut Hazard| Hazard { targets: hazard.targets.clone(), ..(**known).clone() } == hazard;
        match joined.iter_mut().find(is_same) {
            Some(known) => known.targets.extend(hazard.targets),
            None => joined.push(hazard),
        }
    }
    joined.sort_by(|left, right| (right.severity, left.kind).cmp(&(left.severity, right.kind)));
    joined
}
