//! The changes of mutating admission policies, of webhooks, and of policies that cannot be read. They are not evaluated: a change of a
//! text can go either way.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::gate::NamespaceContext;
use bailiwick_admission::policy::PolicyState;
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_policy::model::{DeclaredProfile, PodSecurityProfile};
use bailiwick_yaml as yaml;
use serde_json::Value as Json;

use super::pods::Likeness;
use super::record::{ChangeCertainty, Direction, PodChangeKind};
use super::state::TargetState;

/// The places of the selectors of namespaces in policies and bindings.
const SELECTORS: [&str; 2] = ["/spec/matchConstraints/namespaceSelector", "/spec/matchResources/namespaceSelector"];

/// The label that the API server gives to each namespace.
const NAME: &str = "kubernetes.io/metadata.name";

/// The policies in effect of both states that are compared by their texts, without the policies of profiles.
pub(super) struct TextComparison<'c> {
    old: BTreeMap<&'c str, &'c Json>,
    new: BTreeMap<&'c str, &'c Json>,
}

impl<'c> TextComparison<'c> {
    /// Gathers the policies of both states.
    pub(super) fn new(base: &'c TargetState<'_>, head: &'c TargetState<'_>) -> Self {
        let of_profiles = policies_of_profiles(base, head);
        let is_evaluated = |key: &str| [base, head].into_iter().all(|state| can_be_read(state, key));
        let [old, new] = [base, head].map(|state| {
            let mut policies = in_effect(&state.admission_policies);
            policies.retain(|key, _| !of_profiles.contains(*key) && !is_evaluated(key));
            policies
        });
        Self { old, new }
    }

    /// Returns the changes of the policies.
    pub(super) fn changes(&self) -> Vec<Likeness> {
        let names: BTreeSet<&str> = self.old.keys().chain(self.new.keys()).copied().collect();
        let change = |name: &str| {
            let direction = match (self.old.get(name), self.new.get(name)) {
                (Some(before), Some(after)) if before == after => return None,
                (Some(_), Some(_)) => Direction::Both,
                (None, _) => Direction::Narrower,
                (_, None) => Direction::Wider,
            };
            let of = |side: &BTreeMap<&str, &Json>| side.contains_key(name).then(|| name.to_owned());
            Some(likeness(of(&self.old), of(&self.new), directed(name, direction), Vec::new()))
        };
        names.into_iter().filter_map(change).collect()
    }

    /// Returns the unchanged policies with the namespace selected in one state alone, and the readers of the changed object.
    pub(super) fn selecting(&self, name: &str, before: &NamespaceContext, after: &NamespaceContext) -> Vec<Likeness> {
        if (&before.labels, &before.annotations) == (&after.labels, &after.annotations) {
            return Vec::new();
        }
        let unchanged = self.new.iter().filter(|(key, json)| self.old.get(*key) == Some(*json));
        let change = |(key, json): (&&str, &&Json)| {
            let direction = match (selects(json, name, before), selects(json, name, after)) {
                (true, false) => Direction::Wider,
                (false, true) => Direction::Narrower,
                (true, true) if json.to_string().contains("namespaceObject") => Direction::Both,
                _ => return None,
            };
            let policy = Some((*key).to_owned());
            let details = vec!["by the labels or annotations of the namespace".to_owned()];
            Some(likeness(policy.clone(), policy, directed(key, direction), details))
        };
        unchanged.filter_map(change).collect()
    }
}

/// Returns a change that is not evaluated.
fn likeness(before: Option<String>, after: Option<String>, direction: Direction, details: Vec<String>) -> Likeness {
    Likeness {
        certainty: ChangeCertainty::Possible,
        details,
        ..Likeness::new(PodChangeKind::Policy, before, after, direction)
    }
}

/// Whether a ValidatingAdmissionPolicy or a binding of a state can be read; true if the state does not have it.
fn can_be_read(state: &TargetState<'_>, key: &str) -> bool {
    key.starts_with("ValidatingAdmissionPolicy")
        && state.admission_policies.get(key).is_none_or(|json| {
            let mut policies = PolicyState::new(state.target.version.minor());
            yaml::from_json(json).document(0).is_none_or(|root| policies.add(root).is_ok())
        })
}

/// Returns the direction of a change; a mutating object can make others admissible.
fn directed(key: &str, direction: Direction) -> Direction {
    if key.starts_with("Mutating") { Direction::Both } else { direction }
}

/// Whether a policy, a binding or a webhook is about a namespace.
fn selects(object: &Json, name: &str, namespace: &NamespaceContext) -> bool {
    let is_selected = |selector: &Json| {
        let tree = yaml::from_json(selector);
        let selector = tree.document(0).map(LabelSelector::from_node);
        let label = |key: &str| if key == NAME { Some(name) } else { namespace.labels.get(key).map(String::as_str) };
        selector.is_none_or(|selector| selector.matches(label))
    };
    let webhooks = object.get("webhooks").and_then(Json::as_array);
    let by_webhooks =
        |webhooks: &Vec<Json>| webhooks.iter().any(|webhook| webhook.get("namespaceSelector").is_none_or(is_selected));
    SELECTORS.iter().filter_map(|pointer| object.pointer(pointer)).all(is_selected) && webhooks.is_none_or(by_webhooks)
}

/// Returns the admission policies with a binding, the bindings with a policy, and the webhooks.
fn in_effect(all: &BTreeMap<String, Json>) -> BTreeMap<&str, &Json> {
    let bound = |binding: &Json| {
        let name = binding.pointer("/spec/policyName").and_then(Json::as_str);
        absent::text(name).to_owned()
    };
    let bindings = all.iter().filter_map(|(key, json)| {
        let (kind, _) = key.split_once('/')?;
        Some(format!("{}/{}", kind.strip_suffix("Binding")?, bound(json)))
    });
    let bound_policies: BTreeSet<String> = bindings.collect();
    let is_in_effect = |(key, json): &(&String, &Json)| match key.split_once('/') {
        Some((kind, _)) if kind.ends_with("AdmissionPolicy") => bound_policies.contains(*key),
        Some((kind, _)) => {
            kind.strip_suffix("Binding").is_none_or(|kind| all.contains_key(&format!("{kind}/{}", bound(json))))
        }
        None => true,
    };
    all.iter().filter(is_in_effect).map(|(key, json)| (key.as_str(), json)).collect()
}

/// Returns the policies of the profiles of both states, by kind and name. A policy of the inputs can have a name such as a profile
/// gives.
pub(super) fn policies_of_profiles(base: &TargetState<'_>, head: &TargetState<'_>) -> BTreeSet<String> {
    let sides = [base, head].map(|state| (state, names_of_profiles(state)));
    let keys = sides.iter().flat_map(|(state, _)| state.admission_policies.keys());
    let is_of_profile = |key: &&String| {
        let name = key.rsplit('/').next();
        sides.iter().all(|(state, names)| {
            // The profiles that reject no pod are not compared, and their defaults change pods all the same.
            let is_compared = state.target.pod_security_stage.denies() || !key.starts_with("Mutating");
            let is_own = is_compared && name.is_some_and(|name| names.contains(name));
            !state.admission_policies.contains_key(*key) || is_own
        })
    };
    keys.filter(is_of_profile).cloned().collect()
}

/// Returns the names of the admission policies of the profiles of a state.
fn names_of_profiles(state: &TargetState<'_>) -> BTreeSet<String> {
    // A policy beside constraints applies to the pods of any namespace, as other policies do.
    let is_compared = !state.target.has_policies_beside_constraints();
    let declared = state.workspace.project().facts.on(&state.target.name).filter(|_| is_compared);
    let names = declared.flat_map(|declared: &DeclaredProfile| {
        let name = declared.profile.name();
        [PodSecurityProfile::admission_policy(name), PodSecurityProfile::accounts_binding(name)]
    });
    names.collect()
}
