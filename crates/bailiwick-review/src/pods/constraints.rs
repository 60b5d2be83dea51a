//! The changes of SecurityContextConstraints: their restrictions, their users and their order.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use bailiwick_access::request::Identity;
use bailiwick_admission::gate::Gate;
use bailiwick_admission::level::Level;
use bailiwick_admission::scc::{self, Scc};

use super::Likeness;
use super::order::OrderComparison;
use crate::policy_users::PolicyUsers;
use crate::record::{ChangeCertainty, Direction, PodChangeKind};
use crate::state::TargetState;

/// The constraints of both states.
pub(super) struct ConstraintsComparison<'c> {
    base: &'c TargetState<'c>,
    head: &'c TargetState<'c>,
    order: OnceCell<OrderComparison<'c>>,
}

impl<'c> ConstraintsComparison<'c> {
    pub(super) fn new(base: &'c TargetState<'c>, head: &'c TargetState<'c>) -> Self {
        Self { base, head, order: OnceCell::new() }
    }

    /// Returns the changes, each with the namespaces of the users of the constraints.
    pub(super) fn changes(&self) -> Vec<(Likeness, BTreeSet<String>)> {
        let (old, new) = (&self.base.constraints, &self.head.constraints);
        let users = [self.base, self.head].map(|state| PolicyUsers::of(&state.loaded.world, [scc::GROUP, scc::GROUP]));
        let mut found = Vec::new();
        for name in old.keys().chain(new.keys()).collect::<BTreeSet<&String>>() {
            let (before, after) = (old.get(name), new.get(name));
            let mut namespaces = match (before, after) {
                (None, _) => users[0].namespaces_of_inputs(name),
                (_, None) => users[1].namespaces_of_inputs(name),
                _ => users[1].namespaces(name),
            };
            let has_users = |scc: &&Scc| !(scc.users.is_empty() && scc.groups.is_empty());
            namespaces.extend([before, after].into_iter().flatten().any(|scc| has_users(&scc)).then(|| "*".to_owned()));
            if namespaces.is_empty() {
                continue;
            }
            let of = |side: Option<&Scc>| side.map(|_| name.clone());
            for (direction, details) in self.changes_of_constraints(before, after) {
                let certainty = match direction {
                    Direction::Order => self.order().certainty(name),
                    _ => Some(ChangeCertainty::Proven),
                };
                let Some(certainty) = certainty else { continue };
                let likeness = Likeness::new(PodChangeKind::Scc, of(before), of(after), direction);
                found.push((Likeness { details, certainty, ..likeness }, namespaces.clone()));
            }
        }
        found
    }

    fn order(&self) -> &OrderComparison<'c> {
        self.order.get_or_init(|| OrderComparison::new(self.base, self.head))
    }

    /// Returns the directions of the changes of constraints with their details.
    fn changes_of_constraints(&self, before: Option<&Scc>, after: Option<&Scc>) -> Vec<(Direction, Vec<String>)> {
        let (before, after) = match (before, after) {
            (Some(before), Some(after)) => (before, after),
            (None, _) => return vec![(Direction::Wider, Vec::new())],
            (_, None) => return vec![(Direction::Narrower, Vec::new())],
        };
        let mut found = Vec::new();
        if before.priority() != after.priority() {
            let details = vec![format!("priority {} -> {}", before.priority(), after.priority())];
            found.push((Direction::Order, details));
        }
        let direction = if before.restrictions() == after.restrictions() {
            self.direction_of_users(before, after)
        } else {
            Some(self.direction_of(before, after))
        };
        found.extend(direction.map(|direction| (direction, Vec::new())));
        found
    }

    /// Returns the direction of a change of the users and groups of constraints; none if the same subjects may use them.
    fn direction_of_users(&self, before: &Scc, after: &Scc) -> Option<Direction> {
        let is_wider = has_new_users([self.base, self.head], before, after);
        let is_narrower = has_new_users([self.head, self.base], after, before);
        match (is_wider, is_narrower) {
            (false, false) => None,
            (true, false) => Some(Direction::Wider),
            (false, true) => Some(Direction::Narrower),
            (true, true) => Some(Direction::Both),
        }
    }

    /// Returns the direction of a change of constraints, by the Pod Security level that they amount to.
    fn direction_of(&self, before: &Scc, after: &Scc) -> Direction {
        let level = |state: &TargetState<'_>, scc: &Scc| {
            let release = state.target.version.release()?;
            scc::convert::level(scc, scc::range::UidRange::read(None), release).ok()
        };
        match (level(self.base, before), level(self.head, after)) {
            (Some(Level::Privileged), Some(Level::Baseline | Level::Restricted))
            | (Some(Level::Baseline), Some(Level::Restricted)) => Direction::Narrower,
            (Some(Level::Restricted), Some(Level::Baseline | Level::Privileged))
            | (Some(Level::Baseline), Some(Level::Privileged)) => Direction::Wider,
            _ => Direction::Both,
        }
    }
}

/// Whether constraints in the second state name a user or a group that may not use the constraints in the first state. Users with other
/// groups count by their groups.
fn has_new_users([other, own]: [&TargetState<'_>; 2], known: &Scc, named: &Scc) -> bool {
    let gate = Gate::new(&other.loaded.world, &other.pods.objects);
    let users = named.users.iter().map(|user| Identity::from_user(user));
    let groups = named.groups.iter().map(|group| Identity::member_of(group));
    let members = named.groups.iter().filter_map(|group| own.members.get(group)).flatten();
    let members = members.map(|user| other.loaded.identity(user));
    users.chain(groups).chain(members).any(|who| !gate.may_use_constraints(&who, "", known))
}
