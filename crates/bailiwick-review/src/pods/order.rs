//! Changes of the order of constraints: who gets other constraints for the same pod.
//!
//! A priority decides only where a user may use two constraints that change places, and both admit a pod that no earlier
//! constraints admit. The comparison looks for such a pod for each set of constraints that one user may use.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::SubjectRef;
use bailiwick_access::request::{ACCOUNTS, Identity};
use bailiwick_access::world::{RoleKind, SubjectKind, account_user};
use bailiwick_admission::gate::Gate;
use bailiwick_admission::pod::Pod;
use bailiwick_admission::scc::order::sort;
use bailiwick_admission::scc::{Scc, USE};
use bailiwick_admission::variants::PodVariant;

use crate::record::ChangeCertainty;
use crate::state::TargetState;

/// Names of constraints that one user may use.
type Usable = BTreeSet<String>;

/// The most steps of a comparison: a step looks at one of the constraints, for one pod or one pair of constraints.
const STEPS: usize = 600_000;

/// The most sets of constraints.
const MOST_SETS: usize = 1_000;

/// The order of the constraints in both states, for the users of the newer state.
pub(super) struct OrderComparison<'c> {
    states: [&'c TargetState<'c>; 2],
    /// The constraints of each state, in the order of admission.
    orders: [Vec<&'c Scc>; 2],
    /// The sets of constraints that users may use; the first set has all constraints.
    usable: Vec<Usable>,
    pods: Vec<Pod>,
    /// The remaining steps.
    steps: Cell<usize>,
}

impl<'c> OrderComparison<'c> {
    pub(super) fn new(base: &'c TargetState<'c>, head: &'c TargetState<'c>) -> Self {
        let orders = [base, head].map(|state| {
            let mut all: Vec<&Scc> = state.pods.objects.constraints().collect();
            sort(&mut all);
            all
        });
        let all: Usable = orders.iter().flatten().map(|scc| scc.name().to_owned()).collect();
        let pods = PodVariant::pairs(head.pods.objects.constraints()).iter().filter_map(PodVariant::pod).collect();
        let usable = std::iter::once(all).chain(Holders::sets(head)).collect();
        Self { states: [base, head], orders, usable, pods, steps: Cell::new(STEPS) }
    }

    /// Returns whether the change of a priority gives a user other constraints for a pod: proven by a pod, or possible without such a
    /// pod. None means that no user may use two constraints that change places.
    pub(super) fn certainty(&self, name: &str) -> Option<ChangeCertainty> {
        let names = self.orders[0].iter().map(|scc| scc.name());
        let passed: Vec<&str> = names.filter(|other| self.change_places(name, other)).collect();
        let mut is_possible = !passed.is_empty() && self.usable.len() > MOST_SETS;
        for usable in self.usable.iter().filter(|usable| usable.contains(name)) {
            let mut usable_passed = passed.iter().filter(|other| usable.contains(**other));
            if usable_passed.all(|other| self.is_covered(name, other, usable)) {
                continue;
            }
            if self.pods.iter().any(|pod| self.is_chosen_otherwise(name, usable, pod)) {
                return Some(ChangeCertainty::Proven);
            }
            is_possible = true;
        }
        is_possible.then_some(ChangeCertainty::Possible)
    }

    /// Whether usable constraints before both, in both states, admit every pod that both admit. False after the last step.
    fn is_covered(&self, name: &str, other: &str, usable: &Usable) -> bool {
        self.orders.iter().all(|order| {
            let find = |name: &str| order.iter().find(|scc| scc.name() == name);
            let (Some(own), Some(other)) = (find(name), find(other)) else { return false };
            let before = order.iter().take_while(|scc| ![own.name(), other.name()].contains(&scc.name()));
            self.take_steps() && before.filter(|scc| usable.contains(scc.name())).any(|scc| scc.cover(own, other))
        })
    }

    /// Whether one constraints come before the others in one state alone.
    fn change_places(&self, name: &str, other: &str) -> bool {
        let [old, new] = self.orders.each_ref().map(|order| {
            let place = |wanted: &str| order.iter().position(|scc| scc.name() == wanted);
            place(name).zip(place(other)).map(|(own, other)| own.cmp(&other))
        });
        old.zip(new).is_some_and(|(old, new)| old != new)
    }

    /// Whether a user of some constraints gets these constraints for a pod in one state, and others in the other state. False after the
    /// last step.
    fn is_chosen_otherwise(&self, name: &str, usable: &Usable, pod: &Pod) -> bool {
        if !self.take_steps() {
            return false;
        }
        let chosen =
            |state: &TargetState<'_>| state.pods.objects.first_constraints(pod, |scc| usable.contains(scc.name()));
        let [old, new] = self.states.map(chosen);
        old != new && [old, new].iter().flatten().any(|chosen| chosen == name)
    }

    /// Takes a step for each of the constraints; false if none is left.
    fn take_steps(&self) -> bool {
        let left = self.steps.get().checked_sub(self.orders[1].len().max(1));
        self.steps.set(left.map_or(0, |left| left));
        left.is_some()
    }
}

/// The sets of constraints that the subjects of a state may use.
struct Holders<'h> {
    state: &'h TargetState<'h>,
    of_accounts: BTreeSet<Usable>,
    /// The sets of users and groups, by namespace; the empty name stands for every namespace.
    of_members: BTreeMap<String, MemberSets>,
}

/// The sets of users and of groups.
#[derive(Default)]
struct MemberSets {
    of_users: BTreeSet<Usable>,
    of_groups: BTreeSet<Usable>,
}

impl<'h> Holders<'h> {
    /// Returns the sets of all subjects. A user may be a member of any group, so that the sets of a user and a group, and of two groups,
    /// come together.
    fn sets(state: &'h TargetState<'h>) -> BTreeSet<Usable> {
        let mut holders = Self { state, of_accounts: BTreeSet::new(), of_members: BTreeMap::new() };
        let world = &state.loaded.world;
        for binding in world.bindings() {
            let place = binding.namespace().filter(|_| binding.role_kind() == RoleKind::Role);
            let Some(role) = world.find_role(place, binding.role_name()) else { continue };
            // A user of every name has the set of all constraints.
            let Some(named) = world.names_allowed(role.rules(), USE) else { continue };
            if !named.is_empty() {
                for subject in binding.subjects() {
                    holders.add(&identity(subject), binding.namespace());
                }
            }
        }
        for scc in state.pods.objects.constraints() {
            let users = scc.users.iter().map(|user| Identity::from_user(user));
            let groups = scc.groups.iter().map(|group| member_of(group));
            users.chain(groups).for_each(|identity| holders.add(&identity, None));
        }
        holders.joined()
    }

    fn joined(self) -> BTreeSet<Usable> {
        let Self { of_accounts: mut all, of_members, .. } = self;
        let everywhere = of_members.get("");
        for own in of_members.values() {
            let groups = || std::iter::once(own).chain(everywhere).flat_map(|sets| &sets.of_groups);
            let members =
                std::iter::once(own).chain(everywhere).flat_map(|sets| sets.of_users.iter().chain(&sets.of_groups));
            all.extend(own.of_users.iter().take(MOST_SETS).cloned());
            for (one, other) in members.flat_map(|one| groups().map(move |other| (one, other))) {
                if all.len() > MOST_SETS {
                    return all;
                }
                all.insert(one | other);
            }
        }
        all
    }

    fn add(&mut self, identity: &Identity, namespace: Option<&str>) {
        let namespace = namespace.map_or("", |namespace| namespace);
        let gate = Gate::new(&self.state.loaded.world, &self.state.pods.objects);
        let usable =
            self.state.pods.objects.constraints().filter(|scc| gate.may_use_constraints(identity, namespace, scc));
        let usable: Usable = usable.map(|scc| scc.name().to_owned()).collect();
        let members = self.of_members.entry(namespace.to_owned()).or_default();
        let sets = match identity.groups.iter().any(|group| group == ACCOUNTS) {
            true => &mut self.of_accounts,
            false if identity.user.is_empty() => &mut members.of_groups,
            false => &mut members.of_users,
        };
        sets.insert(usable);
    }
}

/// Returns the identity of the subject of a binding alone.
fn identity(subject: SubjectRef<'_>) -> Identity {
    match subject.kind() {
        SubjectKind::ServiceAccount => Identity::from_user(&account_user(subject.namespace(), subject.name())),
        SubjectKind::Group => member_of(subject.name()),
        SubjectKind::User | SubjectKind::Unknown => Identity::from_user(subject.name()),
    }
}

/// Returns a member of a group alone. The group of the service accounts of a namespace has service accounts.
fn member_of(group: &str) -> Identity {
    let mut identity = Identity::member_of(group);
    let is_of_namespace = group.strip_prefix(ACCOUNTS).is_some_and(|rest| rest.starts_with(':'));
    identity.groups.extend(is_of_namespace.then(|| ACCOUNTS.to_owned()));
    identity
}
