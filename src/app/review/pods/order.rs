//! Changes of the order of constraints: who gets other constraints for the same pod.
//!
//! A priority decides only where a user may use two constraints that change places, and both admit a pod that no earlier
//! constraints admit. The comparison looks for such a pod for each set of constraints that one user may use.

use std::collections::{BTreeMap, BTreeSet};

use crate::access::SubjectRef;
use crate::access::request::{ACCOUNTS, Identity};
use crate::access::world::{RoleKind, SubjectKind, account_user};
use crate::admission::gate::Gate;
use crate::admission::pod::Pod;
use crate::admission::scc::order::sort;
use crate::admission::scc::{Scc, USE};
use crate::admission::variants::PodVariant;
use crate::app::review::record::ChangeCertainty;
use crate::app::review::state::TargetState;

/// Names of constraints that one user may use.
type Usable = BTreeSet<String>;

/// The order of the constraints in both states, for the users of the newer state.
pub(super) struct OrderComparison<'c> {
    base: &'c TargetState<'c>,
    head: &'c TargetState<'c>,
    /// The names of the constraints, in the order of admission of each state.
    orders: [Vec<String>; 2],
    /// The sets of constraints that users may use; the first set has all constraints.
    usable: Vec<Usable>,
    pods: Vec<Pod>,
}

impl<'c> OrderComparison<'c> {
    pub(super) fn new(base: &'c TargetState<'c>, head: &'c TargetState<'c>) -> Self {
        let orders = [base, head].map(|state| {
            let mut all: Vec<&Scc> = state.pods.objects.constraints().collect();
            sort(&mut all);
            all.into_iter().map(|scc| scc.name().to_owned()).collect::<Vec<_>>()
        });
        let all: Usable = orders.iter().flatten().cloned().collect();
        let pods = PodVariant::pairs(head.pods.objects.constraints()).iter().filter_map(PodVariant::pod).collect();
        let usable = std::iter::once(all.clone()).chain(Holders::sets(head)).collect();
        Self { base, head, orders, usable, pods }
    }

    /// Returns whether the change of a priority gives a user other constraints for a pod: proven by a pod, or possible if no such
    /// pod was found; none if no user may use two constraints that change places.
    pub(super) fn certainty(&self, name: &str) -> Option<ChangeCertainty> {
        let passed: Vec<&String> = self.orders[0].iter().filter(|other| self.change_places(name, other)).collect();
        let mut is_possible = false;
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

    /// Whether usable constraints before both, in both states, admit every pod that both admit.
    fn is_covered(&self, name: &str, other: &str, usable: &Usable) -> bool {
        let is_covered = |state: &TargetState<'_>, order: &[String]| {
            let find = |name: &str| state.pods.objects.constraints().find(|scc| scc.name() == name);
            let (Some(own), Some(other)) = (find(name), find(other)) else { return false };
            let before = order.iter().take_while(|known| *known != own.name() && *known != other.name());
            let mut usable = before.filter(|known| usable.contains(*known)).filter_map(|known| find(known));
            usable.any(|scc| scc.cover(own, other))
        };
        is_covered(self.base, &self.orders[0]) && is_covered(self.head, &self.orders[1])
    }

    /// Whether one constraints come before the others in one state alone.
    fn change_places(&self, name: &str, other: &str) -> bool {
        let [old, new] = self.orders.each_ref().map(|order| {
            let place = |wanted: &str| order.iter().position(|known| known == wanted);
            place(name).zip(place(other)).map(|(own, other)| own.cmp(&other))
        });
        old.zip(new).is_some_and(|(old, new)| old != new)
    }

    /// Whether a user of some constraints gets these constraints for a pod in one state, and others in the other state.
    fn is_chosen_otherwise(&self, name: &str, usable: &Usable, pod: &Pod) -> bool {
        let chosen =
            |state: &TargetState<'_>| state.pods.objects.first_constraints(pod, |scc| usable.contains(scc.name()));
        let [old, new] = [self.base, self.head].map(chosen);
        old != new && [old, new].iter().flatten().any(|chosen| chosen == name)
    }
}

/// The sets of constraints that the subjects of a state may use.
struct Holders<'h> {
    state: &'h TargetState<'h>,
    of_accounts: BTreeSet<Usable>,
    /// The sets of users and groups, by namespace; the empty name stands for every namespace.
    of_members: BTreeMap<String, BTreeSet<Usable>>,
}

impl<'h> Holders<'h> {
    /// Returns the sets of all subjects. A user may be a member of any group, so the sets of two groups can come together.
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
        let mut all = self.of_accounts;
        let everywhere = || self.of_members.get("").into_iter().flatten();
        for own in self.of_members.values() {
            for one in own {
                all.extend(own.iter().chain(everywhere()).map(|other| one | other));
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
        if identity.groups.iter().any(|group| group == ACCOUNTS) {
            self.of_accounts.insert(usable);
        } else {
            self.of_members.entry(namespace.to_owned()).or_default().insert(usable);
        }
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
