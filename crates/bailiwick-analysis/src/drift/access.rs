//! The access gained and lost by the difference between the policies and the live objects.
//!
//! A difference of a role or a binding concerns the subjects of a few bindings. Both worlds have the bindings of these subjects
//! alone; the permissions of all other subjects are the same on both sides.

use std::collections::{BTreeSet, HashSet};

use bailiwick_access::compare::{Change, ImpliedGroups, compare};
use bailiwick_access::{Builder, ObjectSource, World};
use bailiwick_workspace::Error;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{RunError, Sink};

use super::AccessDifference;
use super::comparison::{LiveComparison, ObjectFindings};
use super::grants::{EVERYWHERE, RoleMark, SubjectMark, is_binding, is_role};
use super::live::LiveObject;
use super::table::{LiveState, ObjectNumber};
use crate::loaded_world::{WorldOptions, below_output, each_object};
use crate::proof::RightsProof;

/// Compares the access of the wanted objects with the access of the live ones: live roles, live bindings of the policies, and
/// unmanaged bindings near the policies. Other bindings give access to subjects of others. Accepted objects are as the policies
/// have them.
///
/// # Errors
/// When the objects below the output cannot be read, or the policies cannot be compiled again.
pub(super) fn difference(
    comparison: &LiveComparison<'_>,
    found: &ObjectFindings,
) -> Result<Vec<AccessDifference>, Error> {
    let sides = AccessSides::new(comparison, found);
    if !sides.differ() {
        return Ok(Vec::new());
    }
    let start =
        || below_output(comparison.workspace, comparison.target, &WorldOptions::default(), &mut None, &mut Sink::new());
    let (Some(below), Some(mut wanted), Some(mut live)) = (start()?, start()?, start()?) else { return Ok(Vec::new()) };
    sides.add_objects(&below.build(), &mut wanted, &mut live)?;
    let (wanted, live) = (wanted.build(), live.build());
    let changes = compare(&wanted, &live, ImpliedGroups::Counted);
    Ok(changes.into_iter().map(|change| AccessDifference { by: bindings(&change, &wanted, &live), change }).collect())
}

/// The objects of both sides that a difference of access can follow from.
struct AccessSides<'s> {
    comparison: &'s LiveComparison<'s>,
    found: &'s ObjectFindings,
    /// The kept live objects of the live side: the roles, and the bindings of the policies and near them.
    live: Vec<(ObjectNumber, &'s LiveObject)>,
    /// The roles of either side that differ.
    roles: HashSet<RoleMark>,
    /// Whether the rules of aggregated roles can differ.
    can_gather: bool,
}

impl<'s> AccessSides<'s> {
    fn new(comparison: &'s LiveComparison<'s>, found: &'s ObjectFindings) -> Self {
        let near = found.findings.iter().filter(|finding| finding.concerns_policies);
        let near: BTreeSet<&str> = near.map(|finding| finding.object.as_str()).collect();
        let counts = |number: &ObjectNumber, object: &LiveObject| {
            let kind = object.key.kind().1;
            !found.accepted.contains(number)
                && (is_role(kind)
                    || object.is_wanted
                    || (is_binding(kind) && near.contains(object.key.to_string().as_str())))
        };
        let kept = comparison.live.kept.iter().filter(|(number, object)| counts(number, object));
        let live: Vec<(ObjectNumber, &LiveObject)> = kept.map(|(number, object)| (*number, object)).collect();
        let differing =
            live.iter().filter(|(_, object)| !object.is_of_platform).filter_map(|(_, object)| object.root());
        let roles: HashSet<RoleMark> =
            differing.filter_map(RoleMark::of).chain(found.missing_roles.iter().copied()).collect();
        let can_gather = roles.iter().any(|role| role.is_of_cluster());
        Self { comparison, found, live, roles, can_gather }
    }

    /// Whether a role or a binding differs.
    fn differ(&self) -> bool {
        let differs = |(_, object): &(ObjectNumber, &LiveObject)| is_binding(object.key.kind().1);
        !self.roles.is_empty() || self.live.iter().any(differs) || self.links_of_missing().next().is_some()
    }

    /// Returns the subjects of the missing bindings.
    fn links_of_missing(&self) -> impl Iterator<Item = SubjectMark> {
        let links = self.comparison.wanted.links.iter();
        links.filter(|link| self.found.missing.contains(&link.binding)).map(|link| link.subject)
    }

    /// Returns every subject whose permissions can differ: of differing bindings, and of bindings of differing roles.
    fn subjects(&self, below: &World) -> HashSet<SubjectMark> {
        let live = &self.comparison.live;
        let mut subjects = HashSet::from([EVERYWHERE]);
        // The bindings below the output have roles by name, too.
        subjects.extend(below.bound_names().map(|(name, is_group)| SubjectMark::new(name, is_group)));
        subjects.extend(self.live.iter().filter_map(|(_, object)| object.root()).flat_map(SubjectMark::of));
        subjects.extend(self.links_of_missing());
        let links = &self.comparison.wanted.links;
        let differing = links.iter().filter(|link| {
            live.table.state(link.binding) == LiveState::Live
                || self.roles.contains(&link.role)
                || (self.can_gather && links.can_gather(link.role))
        });
        subjects.extend(differing.map(|link| link.subject));
        subjects
    }

    /// Adds the objects of both sides above the objects below the output.
    fn add_objects(&self, below: &World, wanted: &mut Builder, live: &mut Builder) -> Result<(), RunError> {
        let LiveComparison { workspace, target, .. } = self.comparison;
        let subjects = self.subjects(below);
        let links = self.comparison.wanted.links.iter().filter(|link| subjects.contains(&link.subject));
        let bound: HashSet<RoleMark> = links.map(|link| link.role).collect();
        let is_added = |object: NodeRef<'_>| match RoleMark::of(object) {
            Some(role) => role.is_of_cluster() || bound.contains(&role) || self.roles.contains(&role),
            None => SubjectMark::of(object).iter().any(|subject| subjects.contains(subject)),
        };
        each_object(workspace, target, &mut Sink::new(), &mut |object, place| {
            if is_added(object) {
                // A compiled object is valid.
                _ = wanted.add(object, ObjectSource::Input(place));
                if self.is_live_as_wanted(object) {
                    _ = live.add(object, ObjectSource::Input(place));
                }
            }
        })?;
        for root in self.live.iter().filter_map(|(_, object)| object.root()) {
            // The API server stores no object without a kind and a name.
            _ = live.add(root, ObjectSource::Input(root.origin()));
        }
        Ok(())
    }

    /// Whether an object of the policies is on the live side as the policies want it: it is live, its difference is accepted, or its
    /// kind is outside of the dump.
    fn is_live_as_wanted(&self, object: NodeRef<'_>) -> bool {
        let table = &self.comparison.live.table;
        let Some(number) = self.comparison.wanted.number_in(table, object) else { return false };
        match table.state(number) {
            LiveState::AsWanted => true,
            LiveState::Live => self.found.accepted.contains(&number),
            LiveState::Absent => !self.found.missing.contains(&number),
        }
    }
}

/// Returns the bindings of the first subject of a change with their roles: the live ones of gained permissions, and the wanted ones
/// of lost permissions.
fn bindings(change: &Change, wanted: &World, live: &World) -> Vec<String> {
    let Some(first) = change.subjects.first() else { return Vec::new() };
    let sides = [(live, &change.gained), (wanted, &change.lost)];
    let parts = sides.into_iter().flat_map(|(world, rules)| RightsProof::find(world, first, rules).parts);
    let links = parts.map(|part| {
        let gathered = part.rule.gathered_from.iter().map(|source| format!(" <- {}", source.name));
        format!("{} <- {}{}", part.chain.binding.name, part.chain.role.name, gathered.collect::<String>())
    });
    links.collect::<BTreeSet<String>>().into_iter().collect()
}
