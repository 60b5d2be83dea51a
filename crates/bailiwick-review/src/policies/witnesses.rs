//! The search for witnesses: pods that the admission policies of one state admit, and the admission policies of the other state reject.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::policy::{AdmissionRequest, BoundPolicy, PolicyAnswer};
use bailiwick_admission::variants::PodVariant;
use bailiwick_cel::{FieldReads, ValueSchema};
use serde_json::Value as Json;

use super::Bounds;
use super::places::{PlaceClass, PlacedCondition, PlacedPolicies, PlacedPolicy};
use super::sides::Sides;
use crate::{PodWitness, Side};

/// The steps of all expressions in the search.
const STEPS: u64 = 20_000_000;

/// The most decisions of policies in the search.
const MOST_DECISIONS: usize = 20_000;

/// The namespace of pods if no Namespace is known.
const ANY_NAMESPACE: &str = "default";

/// The witnesses of the change of a policy: an admitted pod, and a rejected pod.
#[derive(Debug, Clone, Default)]
pub(super) struct Witnesses {
    pub(super) admitted: Option<PodWitness>,
    pub(super) rejected: Option<PodWitness>,
}

/// The search in all classes of namespaces.
pub(super) struct Search<'s> {
    pod: Option<&'s ValueSchema>,
    common: Vec<PodVariant>,
    steps: Cell<u64>,
    decisions: Cell<usize>,
}

/// The answers of some policies about a pod, by the names of the policies.
type Answers<'s> = Vec<(&'s str, PolicyAnswer)>;

/// Policies of one state with the Namespace that they are asked in.
struct AskedPolicies<'s> {
    policies: Vec<&'s BoundPolicy<'s>>,
    namespace: Option<Json>,
}

impl<'s> Search<'s> {
    /// Begins a search with the common pods, and with pods for the expressions if the schema of pods is known.
    pub(super) fn new(pod: Option<&'s ValueSchema>) -> Self {
        let (steps, decisions) = (Cell::new(STEPS), Cell::new(MOST_DECISIONS));
        Self { pod, common: PodVariant::common(), steps, decisions }
    }

    /// Returns the remaining steps of expressions.
    pub(super) fn steps(&self) -> &Cell<u64> {
        &self.steps
    }

    /// Whether the search has ended.
    pub(super) fn is_over(&self) -> bool {
        self.steps.get() == 0 || self.decisions.get() == 0
    }

    /// Returns the witnesses of the changed policies in a class of namespaces.
    pub(super) fn witnesses(
        &self,
        class: &PlaceClass<'_>,
        placed: &PlacedPolicies<'s, 's>,
        changed: &BTreeMap<&'s str, Bounds>,
    ) -> BTreeMap<&'s str, Witnesses> {
        let mut found: BTreeMap<&str, Witnesses> = BTreeMap::new();
        if changed.is_empty() || self.is_over() {
            return found;
        }
        let name = class.sample.map_or(ANY_NAMESPACE, |place| place.name);
        let differing = Sides::of(|side| asked(class, placed, side, true));
        // The other policies give both states the same answer.
        let others = asked(class, placed, Side::Base, false);
        let reads = reads_of(&differing);
        let of_reads = self.pod.map_or_else(Vec::new, |pod| PodVariant::read_by(&reads, pod));
        for variant in self.common.iter().chain(&of_reads) {
            if self.is_over() || changed.iter().all(|(policy, bounds)| bounds.are_confirmed(found.get(policy))) {
                break;
            }
            let request = variant.request(name);
            let answers = Sides::of(|side| self.ask(differing.at(side), &request));
            let all = Sides { base: joined(&answers.base), head: joined(&answers.head) };
            let is_witness =
                (all == ADMITTED || all == REJECTED) && joined(&self.ask(&others, &request)) == PolicyAnswer::Allow;
            for policy in changed.keys().filter(|_| is_witness) {
                let own = Sides { base: of_policy(&answers.base, policy), head: of_policy(&answers.head, policy) };
                if own == all {
                    found.entry(policy).or_default().add(variant, all == ADMITTED);
                }
            }
        }
        found
    }

    fn ask(&self, placed: &AskedPolicies<'s>, request: &AdmissionRequest) -> Answers<'s> {
        let decide = |policy: &&'s BoundPolicy<'s>| {
            self.decisions.set(self.decisions.get().saturating_sub(1));
            (policy.name(), policy.decide(request, placed.namespace.as_ref(), &self.steps))
        };
        placed.policies.iter().map(decide).collect()
    }
}

/// The answers about a newly admitted pod, and about a newly rejected pod.
const ADMITTED: Sides<PolicyAnswer> = Sides { base: PolicyAnswer::Deny, head: PolicyAnswer::Allow };
const REJECTED: Sides<PolicyAnswer> = Sides { base: PolicyAnswer::Allow, head: PolicyAnswer::Deny };

/// Returns the policies of a state with or without a condition that the other state does not have.
fn asked<'s>(class: &PlaceClass<'_>, placed: &PlacedPolicies<'s, 's>, side: Side, differ: bool) -> AskedPolicies<'s> {
    let other = if side == Side::Base { &placed.head } else { &placed.base };
    let known: BTreeSet<&PlacedCondition<'_>> = other.iter().flat_map(|policy| &policy.conditions).collect();
    let differs = |policy: &PlacedPolicy<'_, '_>| policy.conditions.iter().any(|own| !known.contains(own));
    let policies = placed.at(side).iter().filter(|policy| differs(policy) == differ).map(|placed| placed.policy);
    let namespace = class.sample.map(|place| place.contexts.at(side).object(place.name));
    AskedPolicies { policies: policies.collect(), namespace }
}

/// Returns the fields and constants of policies.
fn reads_of(sides: &Sides<AskedPolicies<'_>>) -> FieldReads {
    let mut reads = FieldReads::new();
    for policy in sides.base.policies.iter().chain(&sides.head.policies) {
        for (path, literals) in policy.reads() {
            reads.entry(path.clone()).or_default().extend(literals.iter().cloned());
        }
    }
    reads
}

/// Returns the answer of all policies together.
fn joined(answers: &[(&str, PolicyAnswer)]) -> PolicyAnswer {
    let has = |wanted: PolicyAnswer| answers.iter().any(|(_, answer)| *answer == wanted);
    let first = [PolicyAnswer::Deny, PolicyAnswer::Unknown].into_iter().find(|answer| has(*answer));
    first.map_or(PolicyAnswer::Allow, |answer| answer)
}

/// Returns the answer of one policy with all its bindings.
fn of_policy(answers: &[(&str, PolicyAnswer)], policy: &str) -> PolicyAnswer {
    let own: Vec<(&str, PolicyAnswer)> = answers.iter().filter(|(name, _)| *name == policy).copied().collect();
    joined(&own)
}

impl Bounds {
    /// Whether there is a witness for each possible direction.
    fn are_confirmed(self, witnesses: Option<&Witnesses>) -> bool {
        let has = |of: fn(&Witnesses) -> bool| witnesses.is_some_and(of);
        (!self.wider || has(|own| own.admitted.is_some())) && (!self.narrower || has(|own| own.rejected.is_some()))
    }
}

impl Witnesses {
    fn add(&mut self, variant: &PodVariant, is_admitted: bool) {
        let place = if is_admitted { &mut self.admitted } else { &mut self.rejected };
        place.get_or_insert_with(|| PodWitness {
            admitted: is_admitted,
            hardened: variant.is_hardened,
            settings: variant.settings.clone(),
        });
    }
}
