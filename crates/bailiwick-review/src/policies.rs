//! The changes of the ValidatingAdmissionPolicies of the inputs.
//!
//! The policies that select a namespace are sets of conditions. Namespaces with equal sets in both states are unchanged. The other
//! namespaces are searched for witnesses: pods that one state admits and the other state rejects.

mod elsewhere;
mod places;
mod witnesses;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_admission::policy::{BoundPolicy, PolicyState, RequestContext};
use bailiwick_cel::{MeaningId, Meanings, ValueSchema};
use bailiwick_kubernetes::validation::expression_types::pod_schema;
use bailiwick_yaml as yaml;
use serde_json::json;

use self::elsewhere::possible_namespaces;
use self::places::{
    BoundPolicies, ConditionOf, KnownParts, Place, PlaceClass, PlacedCondition, PlacedPolicies, PlacedPolicy, classes,
};
use self::sides::Sides;
use self::witnesses::{Search, Witnesses};
use super::other_policies::policies_of_profiles;
use super::pods::Likeness;
use super::record::{ChangeCertainty, Direction, PodChangeKind, PodWitness};
use super::state::TargetState;

/// The steps for the meanings of all expressions of a target.
const MEANING_STEPS: u64 = 20_000_000;

/// The detail of a search that ended early.
const LEFT_OUT: &str = "not all pods were tried";

/// The detail of a change without an effect in a namespace of the inputs.
const ELSEWHERE: &str = "outside the namespaces of the inputs";

/// The ValidatingAdmissionPolicies of both states.
pub(super) struct PolicyComparison<'c> {
    states: Sides<PolicyState>,
    pod: Option<ValueSchema>,
    /// The namespaces of both states.
    places: Vec<Place<'c>>,
}

/// The possible directions of the change of a policy.
#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    wider: bool,
    narrower: bool,
}

impl<'c> PolicyComparison<'c> {
    /// Gathers the policies and the namespaces of both states.
    pub(super) fn new(base: &'c TargetState<'_>, head: &'c TargetState<'_>) -> Self {
        let places = head.pods.objects.known_places().filter_map(|(name, after)| {
            let contexts = Sides { base: base.pods.objects.place(name)?, head: after };
            Some(Place { name, contexts, known: KnownParts::Everything })
        });
        let of_profiles = policies_of_profiles(base, head);
        Self {
            states: Sides { base: read(base, &of_profiles), head: read(head, &of_profiles) },
            pod: pod_schema(head.target.version.minor()),
            places: places.collect(),
        }
    }

    /// Returns the changes of the policies, each with its namespaces.
    pub(super) fn changes(&self) -> Vec<(Likeness, BTreeSet<String>)> {
        let mut meanings = Meanings::new(MEANING_STEPS, self.pod.clone());
        let bound = Sides::of(|side| self.states.at(side).bound(&mut meanings));
        let search = Search::new(self.pod.as_ref());
        let mut found: BTreeMap<Likeness, BTreeSet<String>> = BTreeMap::new();
        for class in classes(&self.places, &bound) {
            let placed = class.placed(&bound, search.steps());
            let changed = changed(&placed, &mut meanings);
            let mut witnesses = search.witnesses(&class, &placed, &changed);
            for (name, bounds) in changed {
                let mut likeness = likeness(&bound, name, bounds, witnesses.remove(name));
                if likeness.witnesses.is_empty() && search.is_over() {
                    likeness.details.push(LEFT_OUT.to_owned());
                }
                found.entry(likeness).or_default().extend(class.members.iter().cloned());
            }
        }
        let all: BTreeSet<String> = self.places.iter().map(|place| place.name.to_owned()).collect();
        for namespaces in found.values_mut().filter(|namespaces| **namespaces == all) {
            *namespaces = BTreeSet::from(["*".to_owned()]);
        }
        for (name, bounds) in self.elsewhere(&bound, &mut meanings, search.steps()) {
            let mut likeness = likeness(&bound, name, bounds, None);
            let of_policy = |known: &&Likeness| (&known.before, &known.after) == (&likeness.before, &likeness.after);
            let has = |direction| {
                let mut known = found.keys().filter(of_policy);
                known.any(|known| [Direction::Both, direction].contains(&known.direction))
            };
            let is_known = (!bounds.wider || has(Direction::Wider)) && (!bounds.narrower || has(Direction::Narrower));
            if !is_known {
                likeness.details.push(ELSEWHERE.to_owned());
                found.entry(likeness).or_default().insert("*".to_owned());
            }
        }
        found.into_iter().collect()
    }

    /// Returns the changes in namespaces of the cluster beside the namespaces of the inputs, and about objects without a namespace.
    fn elsewhere<'b>(
        &self,
        bound: &'b BoundPolicies<'_>,
        meanings: &mut Meanings,
        steps: &Cell<u64>,
    ) -> BTreeMap<&'b str, Bounds> {
        let inputs = self.places.iter().map(|place| place.name).collect();
        let Some(namespaces) = possible_namespaces(bound, &inputs) else {
            // No namespace is known, so that nothing is evaluated.
            return changed(&PlaceClass::anywhere(bound).placed(bound, &Cell::new(0)), meanings);
        };
        let places: Vec<Place<'_>> = namespaces.iter().map(|namespace| namespace.place()).collect();
        let mut found = changed(&PlaceClass::without_namespace(bound).placed(bound, &Cell::new(0)), meanings);
        for class in classes(&places, bound) {
            for (name, bounds) in changed(&class.placed(bound, steps), meanings) {
                found.entry(name).or_default().add(bounds);
            }
        }
        found
    }
}

impl Bounds {
    fn add(&mut self, other: Self) {
        self.wider |= other.wider;
        self.narrower |= other.narrower;
    }
}

/// Reads the policies of a state, without the policies of profiles.
fn read(state: &TargetState<'_>, of_profiles: &BTreeSet<String>) -> PolicyState {
    let mut policies = PolicyState::new(state.target.version.minor());
    for (key, json) in state.admission_policies.iter().filter(|(key, _)| !of_profiles.contains(*key)) {
        let Some((_, name)) = key.split_once('/') else { continue };
        let mut object = json.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("metadata".to_owned(), json!({ "name": name }));
        }
        // The comparison of texts has the policies that cannot be read.
        yaml::from_json(&object).document(0).into_iter().for_each(|root| _ = policies.add(root));
    }
    policies
}

/// Returns the policies with a change in a class of namespaces, each with its possible directions.
fn changed<'b>(placed: &PlacedPolicies<'b, '_>, meanings: &mut Meanings) -> BTreeMap<&'b str, Bounds> {
    let mut found: BTreeMap<&str, Bounds> = BTreeMap::new();
    for (side, policies, others) in placed.with_others() {
        let others = by_context(others);
        for placed in policies {
            let mut is_covered = |own: &PlacedCondition<'_>| {
                let has = |of, meaning| others.get(&(own.context, of)).is_some_and(|all| all.contains(meaning));
                let of_same = others.get(&(own.context, &own.of)).into_iter().flatten().flatten();
                let mut is_implied = |meaning| of_same.clone().any(|other| meanings.implies(*other, meaning));
                // A rejection of every request covers each condition.
                has(&ConditionOf::All, &None) || has(&own.of, &own.meaning) || own.meaning.is_some_and(&mut is_implied)
            };
            if placed.conditions.iter().all(&mut is_covered) {
                continue;
            }
            let bounds = found.entry(placed.policy.name()).or_default();
            match side {
                super::Side::Base => bounds.wider = true,
                super::Side::Head => bounds.narrower = true,
            }
        }
    }
    found
}

/// The meanings of conditions by their contexts.
type Meant<'a> = BTreeMap<(&'a RequestContext, &'a ConditionOf), BTreeSet<Option<MeaningId>>>;

/// Returns the meanings of conditions by their contexts.
fn by_context<'a>(policies: &'a [PlacedPolicy<'_, '_>]) -> Meant<'a> {
    let mut found = Meant::new();
    for condition in policies.iter().flat_map(|policy| &policy.conditions) {
        found.entry((condition.context, &condition.of)).or_default().insert(condition.meaning);
    }
    found
}

/// Returns the change of a policy.
fn likeness(bound: &BoundPolicies<'_>, name: &str, bounds: Bounds, witnesses: Option<Witnesses>) -> Likeness {
    let of_state = |policies: &[BoundPolicy<'_>]| {
        policies.iter().any(|policy| policy.name() == name).then(|| format!("ValidatingAdmissionPolicy/{name}"))
    };
    let (admitted, rejected) = witnesses.map_or((None, None), |own| (own.admitted, own.rejected));
    let direction = match (bounds.wider, bounds.narrower) {
        (true, false) => Direction::Wider,
        (false, true) => Direction::Narrower,
        // A rejected pod does not exclude an admitted one.
        _ if admitted.is_some() && rejected.is_none() => Direction::Wider,
        _ => Direction::Both,
    };
    let witnesses: Vec<PodWitness> = admitted.into_iter().chain(rejected).collect();
    let certainty = if witnesses.is_empty() { ChangeCertainty::Possible } else { ChangeCertainty::Proven };
    let own = Likeness::new(PodChangeKind::Policy, of_state(&bound.base), of_state(&bound.head), direction);
    Likeness { certainty, witnesses, ..own }
}

mod sides {
    //! Values of both states.

    use crate::Side;

    /// A value of each state.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) struct Sides<T> {
        pub(super) base: T,
        pub(super) head: T,
    }

    impl<T> Sides<T> {
        /// Makes the value of each state.
        pub(super) fn of(mut make: impl FnMut(Side) -> T) -> Self {
            Self { base: make(Side::Base), head: make(Side::Head) }
        }

        /// Returns the value of a state.
        pub(super) fn at(&self, side: Side) -> &T {
            match side {
                Side::Base => &self.base,
                Side::Head => &self.head,
            }
        }

        /// Returns the values, the earlier first, each with its state and the value of the other state.
        pub(super) fn with_others(&self) -> [(Side, &T, &T); 2] {
            [(Side::Base, &self.base, &self.head), (Side::Head, &self.head, &self.base)]
        }
    }
}
