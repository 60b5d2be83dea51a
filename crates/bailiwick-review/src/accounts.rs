//! Accounts that come and go while their class stays as it is: what the class grants was approved before.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_access::World;
use bailiwick_access::world::RoleKind;
use bailiwick_analysis::classes::Spread;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::digest::digest_of_run;

use super::access::AccessDelta;
use super::record::{AccountChanges, EffectChange, Scope};
use super::state::TargetState;

/// The kinds of the subjects in a namespace, each with a digest of its rights there.
type Signature = Vec<(u8, u128)>;

/// The accounts of a target that come and go.
#[derive(Debug, Default)]
pub(super) struct AccountComparison {
    pub(super) added: BTreeSet<String>,
    pub(super) removed: BTreeSet<String>,
}

impl AccountComparison {
    /// Finds the accounts that one state has and the other has not, and whose class has members in both states with the same
    /// rights.
    pub(super) fn new(base: &TargetState<'_>, head: &TargetState<'_>) -> Self {
        let only = |left: &TargetState<'_>, right: &TargetState<'_>| {
            let known = right.loaded.world.known_namespaces();
            let gone = left.accounts.keys().filter(|name| !known.contains(*name));
            gone.cloned().collect::<BTreeSet<String>>()
        };
        let (added, removed) = (only(head, base), only(base, head));
        if added.is_empty() && removed.is_empty() {
            return Self::default();
        }
        let (before, after) = (signatures(&base.loaded.world), signatures(&head.loaded.world));
        let mut of_class: BTreeMap<&str, BTreeSet<&Signature>> = BTreeMap::new();
        for (namespace, class) in &head.accounts {
            let is_member = base.accounts.get(namespace) == Some(class);
            let unchanged = before.get(namespace).filter(|signature| after.get(namespace) == Some(*signature));
            if let Some(signature) = unchanged.filter(|_| is_member) {
                of_class.entry(class).or_default().insert(signature);
            }
        }
        let is_known = |accounts: &BTreeMap<String, String>, signatures: &HashMap<String, Signature>, name: &String| {
            let known = accounts.get(name).and_then(|class| of_class.get(class.as_str()));
            known.zip(signatures.get(name)).is_some_and(|(known, own)| known.contains(own))
        };
        Self {
            added: added.into_iter().filter(|name| is_known(&head.accounts, &after, name)).collect(),
            removed: removed.into_iter().filter(|name| is_known(&base.accounts, &before, name)).collect(),
        }
    }

    /// Removes the effects of these accounts from the changes of access. A user or group of Kubernetes itself keeps its effect: other
    /// accounts are in it, too.
    pub(super) fn fold(&self, deltas: &mut Vec<AccessDelta>) {
        for delta in deltas.iter_mut().filter(|delta| delta.scope == Scope::Namespaces) {
            let folded = match delta.change {
                EffectChange::Gained => &self.added,
                EffectChange::Lost => &self.removed,
            };
            for member in delta.members.iter_mut().filter(|member| !is_of_the_system(&member.subject)) {
                member.namespaces.retain(|namespace| !folded.contains(namespace));
            }
            delta.members.retain(|member| !member.namespaces.is_empty());
        }
        deltas.retain(|delta| !delta.members.is_empty());
    }

    /// Adds the accounts of another target.
    pub(super) fn absorb(&mut self, other: Self) {
        self.added.extend(other.added);
        self.removed.extend(other.removed);
    }

    /// Returns the accounts as they are reported.
    pub(super) fn record(&self, spread: &Spread<'_>) -> AccountChanges {
        AccountChanges { added: spread.all_namespaces(&self.added), removed: spread.all_namespaces(&self.removed) }
    }
}

/// Whether a subject is a user or group of Kubernetes itself, which other accounts are in, too.
fn is_of_the_system(subject: &str) -> bool {
    let name = subject.split_once('/').map_or(subject, |(_, name)| name);
    !subject.starts_with("ServiceAccount/") && name.starts_with("system:")
}

/// Returns the rights of the subjects in each namespace, without the names of objects and subjects.
fn signatures(world: &World) -> HashMap<String, Signature> {
    let mut digests: HashMap<(Option<String>, String), u128> = HashMap::new();
    let mut all: HashMap<String, Signature> = HashMap::new();
    for binding in world.bindings() {
        let Some(namespace) = binding.namespace() else { continue };
        let place = Some(namespace).filter(|_| binding.role_kind() == RoleKind::Role);
        let key = (place.map(str::to_owned), binding.role_name().to_owned());
        let digest = *digests.entry(key).or_insert_with(|| digest_of_role(world, place, binding.role_name()));
        let kinds = binding.subjects().map(|subject| (subject.kind() as u8, digest));
        all.entry(namespace.to_owned()).or_default().extend(kinds);
    }
    all.values_mut().for_each(|signature| signature.sort_unstable());
    all
}

fn digest_of_role(world: &World, namespace: Option<&str>, name: &str) -> u128 {
    let rules = world.describe_role(namespace, name).map_or_else(Vec::new, |(_, rules, _)| rules);
    let nameless = |rule: PolicyRule| {
        let is_named = !rule.resource_names.is_empty();
        (PolicyRule { resource_names: Vec::new(), ..rule }, is_named)
    };
    let mut rules: Vec<(PolicyRule, bool)> = rules.into_iter().map(|rule| nameless(rule.rule)).collect();
    rules.sort();
    digest_of_run(&rules)
}
