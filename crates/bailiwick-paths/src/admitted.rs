//! Whether a namespace admits a pod that controls its node.

use std::collections::{BTreeSet, HashMap, HashSet};

use bailiwick_access::risk::{PermissionEdges, ScopeRules};
use bailiwick_access::{Identity, World};
use bailiwick_admission::probe::{ProbeAnswer, ProbeClass, ProbeGate, ProbePlace};

use crate::GraphInputs;
use crate::graph::Note;
use crate::inventory::{Inventory, NamespaceId};
use crate::path::PathCertainty;
use crate::probes::{ProbeKind, Probes};

/// A number of a set of usable policies or constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PolicySet(usize);

/// No usable policy of one's own.
pub(crate) const NOTHING: PolicySet = PolicySet(0);

/// A question about the pods of a namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PodQuestion {
    pub(crate) namespace: NamespaceId,
    /// The policies usable by the author of the pod, beside the policies of its account.
    pub(crate) own: PolicySet,
    /// Whether the labels of the namespace are removed before.
    pub(crate) without_labels: bool,
    pub(crate) kinds: &'static [ProbeKind],
}

/// The surest admitted pod.
pub(crate) type Admitted = (PathCertainty, ProbeKind);

/// A class of questions with one answer.
type Class = (ProbeClass, Vec<PolicySet>, PolicySet, &'static [ProbeKind]);

/// The admission of a world.
#[derive(Debug)]
pub(crate) struct NodeAdmission<'w> {
    gate: ProbeGate<'w>,
    probes: Probes,
    sets: Vec<BTreeSet<String>>,
    numbers: HashMap<BTreeSet<String>, PolicySet>,
    by_rules: HashMap<(ScopeRules, BTreeSet<String>), PolicySet>,
    /// The sets of the accounts of each namespace, computed on demand.
    of_accounts: HashMap<NamespaceId, Vec<PolicySet>>,
    known: HashMap<Class, Option<Admitted>>,
    /// A namespace of each class, with the namespaces of the control plane first.
    samples: Option<Vec<NamespaceId>>,
    /// The names of the policies or constraints.
    policies: HashSet<&'w str>,
}

impl<'w> NodeAdmission<'w> {
    pub(crate) fn new(inputs: &GraphInputs<'w>) -> Self {
        let world: &'w World = inputs.world;
        let gate = ProbeGate::new(world, inputs.admission, inputs.installed);
        let policies = gate.policies().collect();
        Self {
            gate,
            probes: Probes::new(),
            sets: vec![BTreeSet::new()],
            numbers: HashMap::from([(BTreeSet::new(), NOTHING)]),
            by_rules: HashMap::new(),
            of_accounts: HashMap::new(),
            known: HashMap::new(),
            samples: None,
            policies,
        }
    }

    /// Returns the set of all policies.
    pub(crate) fn everything(&mut self) -> PolicySet {
        let all = self.gate.policies().map(str::to_owned).collect();
        self.number(all)
    }

    fn number(&mut self, set: BTreeSet<String>) -> PolicySet {
        if let Some(known) = self.numbers.get(&set) {
            return *known;
        }
        let number = PolicySet(self.sets.len());
        self.sets.push(set.clone());
        self.numbers.insert(set, number);
        number
    }

    /// Returns the policies usable with some rules, and the constraints that list the identity.
    pub(crate) fn usable(
        &mut self,
        edges: &PermissionEdges<'w>,
        rules: &ScopeRules,
        who: Option<&Identity>,
    ) -> PolicySet {
        if self.policies.is_empty() {
            return NOTHING;
        }
        let listed: BTreeSet<String> =
            who.into_iter().flat_map(|who| self.gate.policies_naming(who)).map(str::to_owned).collect();
        let key = (rules.clone(), listed);
        if let Some(known) = self.by_rules.get(&key) {
            return *known;
        }
        let mut set = key.1.clone();
        for permission in self.gate.use_permissions() {
            match edges.names_allowed(rules, permission) {
                Some(names) => {
                    set.extend(names.into_iter().filter(|name| self.policies.contains(name)).map(str::to_owned))
                }
                None => set.extend(self.policies.iter().map(|name| (*name).to_owned())),
            }
        }
        let number = self.number(set);
        self.by_rules.insert(key, number);
        number
    }

    /// Returns the sets of policies usable by the accounts of a namespace, its default account included.
    fn sets_of_accounts(
        &mut self,
        edges: &PermissionEdges<'w>,
        inventory: &Inventory,
        namespace: NamespaceId,
    ) -> Vec<PolicySet> {
        if self.policies.is_empty() {
            return vec![NOTHING];
        }
        if let Some(known) = self.of_accounts.get(&namespace) {
            return known.clone();
        }
        let name = inventory.namespace_name(namespace);
        let default = Identity::from_user(&bailiwick_access::world::account_user(name, "default"));
        let accounts = inventory.contents_of(namespace).into_iter().flat_map(|contents| &contents.accounts);
        let accounts: Vec<Identity> =
            accounts.filter_map(|account| inventory.subject_of(*account)).map(|subject| subject.who.clone()).collect();
        let mut sets: Vec<PolicySet> = accounts
            .iter()
            .chain([&default])
            .map(|who| self.usable(edges, &edges.rules_of(who, Some(name)), Some(who)))
            .collect();
        sets.sort_unstable();
        sets.dedup();
        self.of_accounts.insert(namespace, sets.clone());
        sets
    }

    /// Returns the surest pod of a kind that a namespace admits.
    pub(crate) fn ask(
        &mut self,
        edges: &PermissionEdges<'w>,
        inventory: &Inventory,
        question: PodQuestion,
    ) -> Option<Admitted> {
        let sets = self.sets_of_accounts(edges, inventory, question.namespace);
        let name = inventory.namespace_name(question.namespace);
        let place = if question.without_labels { self.gate.unlabelled_place(name) } else { self.gate.place(name) };
        let key = (place.class().clone(), sets, question.own, question.kinds);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let answers = key.1.iter().filter_map(|set| self.surest(&place, *set, question)).min();
        self.known.insert(key, answers);
        answers
    }

    fn surest(&self, place: &ProbePlace, set: PolicySet, question: PodQuestion) -> Option<Admitted> {
        let sets = [set, question.own].into_iter().filter_map(|number| self.sets.get(number.0));
        let usable: BTreeSet<String> = sets.flatten().cloned().collect();
        let admitted =
            self.probes.of(question.kinds).filter_map(|(kind, probe)| match self.gate.ask(probe, place, &usable) {
                ProbeAnswer::Admitted => Some((kind.certainty(), kind)),
                ProbeAnswer::Unknown => Some((PathCertainty::Possible, kind)),
                ProbeAnswer::Rejected => None,
            });
        admitted.min()
    }

    /// Returns a note about an admitted pod.
    pub(crate) fn note(&self, inventory: &Inventory, namespace: NamespaceId, kind: ProbeKind) -> Note {
        if self.gate.is_known(inventory.namespace_name(namespace)) {
            Note::Admits(kind)
        } else {
            Note::AdmitsUnknown(kind)
        }
    }

    /// Returns a namespace of each class: the answers of the others are equal.
    pub(crate) fn samples(&mut self, edges: &PermissionEdges<'w>, inventory: &Inventory) -> Vec<NamespaceId> {
        if let Some(samples) = &self.samples {
            return samples.clone();
        }
        let mut classes: HashMap<(ProbeClass, Vec<PolicySet>), NamespaceId> = HashMap::new();
        let control_plane = inventory.namespace("kube-system");
        for namespace in control_plane.into_iter().chain(inventory.namespace_numbers()) {
            let sets = self.sets_of_accounts(edges, inventory, namespace);
            let class = self.gate.place(inventory.namespace_name(namespace)).class().clone();
            classes.entry((class, sets)).or_insert(namespace);
        }
        let mut samples: Vec<NamespaceId> = classes.into_values().collect();
        samples.sort_unstable_by_key(|sample| (Some(*sample) != control_plane, *sample));
        self.samples = Some(samples.clone());
        samples
    }
}
