//! Namespaces of the cluster beside the namespaces of the inputs: one for each combination of the labels that policies name.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::gate::NamespaceContext;
use bailiwick_admission::policy::{BoundPolicy, NamespaceReads};

use super::places::{BoundPolicies, KnownParts, Place};
use super::sides::Sides;

/// The most combinations of labels.
const MOST_COMBINATIONS: usize = 256;

/// The label that the API server gives to each namespace: its name.
const NAME: &str = "kubernetes.io/metadata.name";

/// A value that no policy names. It is no valid value, and stands for all of them.
const ANOTHER: &str = "(another)";

/// A namespace that the cluster can have, with the same labels in both states.
#[derive(Debug, Clone)]
pub(super) struct PossibleNamespace {
    name: String,
    context: NamespaceContext,
    known: KnownParts,
}

impl PossibleNamespace {
    /// Returns the namespace as a place.
    pub(super) fn place(&self) -> Place<'_> {
        let contexts = Sides { base: &self.context, head: &self.context };
        Place { name: &self.name, contexts, known: self.known }
    }
}

/// Returns a namespace for each combination of labels, without the namespaces of the inputs; none if there are too many combinations.
pub(super) fn possible_namespaces(
    bound: &BoundPolicies<'_>,
    inputs: &BTreeSet<&str>,
) -> Option<Vec<PossibleNamespace>> {
    let policies = || bound.base.iter().chain(&bound.head);
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    policies().for_each(|policy| policy.add_named_labels(&mut named));
    let combinations = named.values().try_fold(1_usize, |count, values| count.checked_mul(values.len() + 2));
    if combinations.is_none_or(|count| count > MOST_COMBINATIONS) {
        return None;
    }
    let read: BTreeSet<String> = policies().flat_map(keys_read).collect();
    let begun = PossibleNamespace {
        name: ANOTHER.to_owned(),
        context: NamespaceContext::default(),
        known: KnownParts::NamedLabels,
    };
    let mut namespaces = vec![begun];
    for (key, values) in &named {
        let is_name = key == NAME;
        let absent = (!is_name).then_some(None);
        let choices = values.iter().map(String::as_str).chain([ANOTHER]).map(Some).chain(absent);
        let choices: Vec<Option<&str>> =
            choices.filter(|choice| !is_name || !choice.is_some_and(|name| inputs.contains(name))).collect();
        let with = |namespace: &PossibleNamespace, choice: &Option<&str>| {
            let mut namespace = namespace.clone();
            match choice {
                Some(name) if is_name => namespace.name = (*name).to_owned(),
                Some(value) => _ = namespace.context.labels.insert(key.clone(), (*value).to_owned()),
                None => {}
            }
            if *choice == Some(ANOTHER) && read.contains(key) {
                namespace.known = KnownParts::Nothing;
            }
            namespace
        };
        namespaces =
            namespaces.iter().flat_map(|namespace| choices.iter().map(|choice| with(namespace, choice))).collect();
    }
    Some(namespaces)
}

/// Returns the keys of the labels that the expressions of a policy read.
fn keys_read(policy: &BoundPolicy<'_>) -> BTreeSet<String> {
    match policy.namespace_reads() {
        NamespaceReads::Labels { keys, .. } => keys,
        NamespaceReads::Everything => BTreeSet::new(),
    }
}
