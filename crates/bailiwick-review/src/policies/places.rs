//! Namespaces in classes: the same policies select the namespaces of a class, and their expressions read the same values.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::gate::NamespaceContext;
use bailiwick_admission::policy::{BoundPolicy, NamespaceReads, RequestContext};
use bailiwick_cel::MeaningId;
use bailiwick_kubernetes::selector::LabelSelector;

use super::sides::Sides;
use crate::Side;

/// The policies of both states.
pub(super) type BoundPolicies<'s> = Sides<Vec<BoundPolicy<'s>>>;

/// A namespace in both states.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'c> {
    pub(super) name: &'c str,
    pub(super) contexts: Sides<&'c NamespaceContext>,
    pub(super) known: KnownParts,
}

/// The parts of a namespace with known values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownParts {
    /// The Namespace object is known.
    Everything,
    /// The labels that policies name.
    NamedLabels,
    /// No part that an expression reads.
    Nothing,
}

/// A value of a namespace that an expression reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ReadValue {
    Name(String),
    /// The value of a label in both states; none for a namespace without the label.
    Label(String, Sides<Option<String>>),
}

/// A class of namespaces.
#[derive(Debug)]
pub(super) struct PlaceClass<'c> {
    /// One of the namespaces; none if no Namespace is known.
    pub(super) sample: Option<Place<'c>>,
    /// The positions of the policies that select the namespaces.
    selected: Sides<Vec<usize>>,
    pub(super) members: BTreeSet<String>,
}

/// The namespaces or the state of a condition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConditionOf {
    /// The condition is the same in both states and all namespaces.
    All,
    /// The policy reads values that changed: the condition is one of this state.
    State(Side),
    /// The namespace is not known: the condition is one of the namespaces with such labels.
    Selected(Vec<LabelSelector>),
}

/// A condition in a class of namespaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlacedCondition<'b> {
    pub(super) context: &'b RequestContext,
    /// The namespaces for which the condition is another one.
    pub(super) of: ConditionOf,
    /// The expression that has to hold; none if the policy rejects every request of the context.
    pub(super) meaning: Option<MeaningId>,
}

/// A policy with its conditions in a class of namespaces.
#[derive(Debug)]
pub(super) struct PlacedPolicy<'b, 's> {
    pub(super) policy: &'b BoundPolicy<'s>,
    pub(super) conditions: Vec<PlacedCondition<'b>>,
}

/// The policies of both states in a class of namespaces.
pub(super) type PlacedPolicies<'b, 's> = Sides<Vec<PlacedPolicy<'b, 's>>>;

/// Divides namespaces into classes, without the namespaces that no change can be in.
pub(super) fn classes<'c>(places: &[Place<'c>], bound: &BoundPolicies<'_>) -> Vec<PlaceClass<'c>> {
    if places.is_empty() {
        let members = BTreeSet::from(["*".to_owned()]);
        return vec![PlaceClass { members, ..PlaceClass::anywhere(bound) }];
    }
    let reads = Sides::of(|side| bound.at(side).iter().map(BoundPolicy::namespace_reads).collect::<Vec<_>>());
    let is_unchanged = are_equal(bound);
    let mut classes: BTreeMap<(Sides<Vec<usize>>, BTreeSet<ReadValue>), PlaceClass<'c>> = BTreeMap::new();
    for place in places {
        if is_unchanged && place.is_unchanged() {
            continue;
        }
        let selected = Sides::of(|side| place.selected(bound.at(side), side));
        let values = place.values(&reads, &selected);
        let class = classes.entry((selected.clone(), values)).or_insert_with(|| PlaceClass {
            sample: Some(*place),
            selected,
            members: BTreeSet::new(),
        });
        class.members.insert(place.name.to_owned());
    }
    classes.into_values().collect()
}

/// Whether the policies of both states have the same conditions for the same namespaces.
fn are_equal(bound: &BoundPolicies<'_>) -> bool {
    let conditions = Sides::of(|side| {
        let of_policy = |policy: &BoundPolicy<'_>| {
            let selectors = policy.selectors();
            policy.conditions().iter().map(|condition| (selectors.clone(), condition.clone())).collect::<Vec<_>>()
        };
        bound.at(side).iter().flat_map(of_policy).collect::<BTreeSet<_>>()
    });
    conditions.base == conditions.head
}

impl PlaceClass<'_> {
    /// Returns a class for all policies in no known namespace.
    pub(super) fn anywhere(bound: &BoundPolicies<'_>) -> Self {
        Self::of_policies(bound, |_| true)
    }

    /// Returns a class for the objects without a namespace, and for Namespaces. Selectors are compared as texts.
    pub(super) fn without_namespace(bound: &BoundPolicies<'_>) -> Self {
        Self::of_policies(bound, |policy| !policy.has_pods_alone())
    }

    fn of_policies(bound: &BoundPolicies<'_>, is_selected: impl Fn(&BoundPolicy<'_>) -> bool) -> Self {
        let selected = Sides::of(|side| {
            let policies = bound.at(side).iter().enumerate().filter(|(_, policy)| is_selected(policy));
            policies.map(|(index, _)| index).collect()
        });
        Self { sample: None, selected, members: BTreeSet::new() }
    }

    /// Returns the policies with their conditions. Expressions on the namespace alone are evaluated, and take their steps from `steps`.
    pub(super) fn placed<'b, 's>(&self, bound: &'b BoundPolicies<'s>, steps: &Cell<u64>) -> PlacedPolicies<'b, 's> {
        Sides::of(|side| {
            let policies = bound.at(side);
            let selected = self.selected.at(side).iter().filter_map(|index| policies.get(*index));
            let mut placed: Vec<PlacedPolicy<'b, 's>> = selected
                .map(|policy| PlacedPolicy { policy, conditions: self.conditions(policy, side, steps) })
                .collect();
            // Beside a rejection of every request, the other conditions have no effect.
            let all = placed.iter().flat_map(|policy| &policy.conditions);
            let closed: BTreeSet<&RequestContext> =
                all.filter(|own| own.meaning.is_none()).map(|condition| condition.context).collect();
            for policy in &mut placed {
                policy.conditions.retain(|own| own.meaning.is_none() || !closed.contains(own.context));
            }
            placed
        })
    }

    /// Returns the conditions of a policy of one state.
    fn conditions<'b>(&self, policy: &'b BoundPolicy<'_>, side: Side, steps: &Cell<u64>) -> Vec<PlacedCondition<'b>> {
        let of = match self.sample {
            None => ConditionOf::Selected(policy.selectors()),
            Some(place) if place.differs_in(&policy.namespace_reads()) => ConditionOf::State(side),
            Some(_) => ConditionOf::All,
        };
        let evaluated = self.sample.filter(|place| place.knows(&policy.namespace_reads()));
        let namespace = evaluated.map(|place| place.contexts.at(side).object(place.name));
        let placed = policy.conditions().iter().filter_map(|condition| {
            let holds = namespace.as_ref().and_then(|namespace| policy.holds_in(condition, namespace, steps));
            let context = &condition.context;
            match holds {
                Some(true) => None,
                Some(false) => Some(PlacedCondition { context, of: ConditionOf::All, meaning: None }),
                None => Some(PlacedCondition { context, of: of.clone(), meaning: Some(condition.meaning) }),
            }
        });
        placed.collect()
    }
}

impl Place<'_> {
    /// Whether the values that a policy reads are known.
    fn knows(&self, reads: &NamespaceReads) -> bool {
        match self.known {
            KnownParts::Everything => true,
            KnownParts::NamedLabels => matches!(reads, NamespaceReads::Labels { name: false, .. }),
            KnownParts::Nothing => false,
        }
    }

    fn is_unchanged(&self) -> bool {
        let (old, new) = (self.contexts.base, self.contexts.head);
        (&old.labels, &old.annotations) == (&new.labels, &new.annotations)
    }

    fn selected(&self, policies: &[BoundPolicy<'_>], side: Side) -> Vec<usize> {
        let labels = &self.contexts.at(side).labels;
        let selects = |policy: &BoundPolicy<'_>| policy.selects(self.name, labels);
        policies.iter().enumerate().filter(|(_, policy)| selects(policy)).map(|(index, _)| index).collect()
    }

    /// Returns the values that the selected policies read.
    fn values(&self, reads: &Sides<Vec<NamespaceReads>>, selected: &Sides<Vec<usize>>) -> BTreeSet<ReadValue> {
        let mut values = BTreeSet::new();
        for side in [Side::Base, Side::Head] {
            let reads = reads.at(side);
            for read in selected.at(side).iter().filter_map(|index| reads.get(*index)) {
                match read {
                    // No other namespace has its name.
                    NamespaceReads::Everything => _ = values.insert(ReadValue::Name(self.name.to_owned())),
                    NamespaceReads::Labels { keys, name } => {
                        values.extend(name.then(|| ReadValue::Name(self.name.to_owned())));
                        let label = |key: &String| {
                            let Sides { base, head } = self.label(key);
                            ReadValue::Label(key.clone(), Sides { base: base.cloned(), head: head.cloned() })
                        };
                        values.extend(keys.iter().map(label));
                    }
                }
            }
        }
        values
    }

    fn label(&self, key: &str) -> Sides<Option<&String>> {
        Sides::of(|side| self.contexts.at(side).labels.get(key))
    }

    /// Whether the values that a policy reads differ between both states.
    fn differs_in(&self, reads: &NamespaceReads) -> bool {
        match reads {
            NamespaceReads::Everything => !self.is_unchanged(),
            NamespaceReads::Labels { keys, .. } => keys.iter().any(|key| {
                let label = self.label(key);
                label.base != label.head
            }),
        }
    }
}
