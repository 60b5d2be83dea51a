//! The comparison of the live objects with the objects of the policies.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bailiwick_policy::model::Target;
use bailiwick_workspace::Workspace;
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_yaml::diag::{Origin, RunError, Sink};
use bailiwick_yaml::{NodeRef, write};

use super::accepted::AcceptList;
use super::dump::Dump;
use super::fields::{self, DecidingKeys};
use super::grants::{RoleMark, is_binding, is_role};
use super::live::{self, LastWriter, LiveObject, LiveObjects};
use super::table::{LiveState, ObjectNumber};
use super::unmanaged::UnmanagedScope;
use super::wanted::WantedObjects;
use super::{DriftClass, DriftFinding};
use crate::loaded_world::each_object;

/// The objects of both sides.
pub(super) struct LiveComparison<'c> {
    pub(super) workspace: &'c Workspace,
    pub(super) target: &'c Target,
    pub(super) wanted: &'c WantedObjects,
    pub(super) live: LiveObjects,
    pub(super) dump: Dump,
    pub(super) not_compared: &'c [String],
    pub(super) accept: &'c AcceptList<'c>,
}

/// The findings about the objects.
#[derive(Default)]
pub(super) struct ObjectFindings {
    /// The number of objects as wanted.
    pub(super) equal: usize,
    /// The live objects with an accepted difference.
    pub(super) accepted: BTreeSet<ObjectNumber>,
    /// The wanted objects without a live one, without the kinds that are not compared.
    pub(super) missing: HashSet<ObjectNumber>,
    /// The roles among them.
    pub(super) missing_roles: Vec<RoleMark>,
    /// The findings, sorted.
    pub(super) findings: Vec<DriftFinding>,
    /// The number of unmanaged objects by owner.
    pub(super) owned: BTreeMap<String, usize>,
}

impl LiveComparison<'_> {
    /// Compares the kept live objects with the policies, and looks for missing objects.
    ///
    /// # Errors
    /// When the policies cannot be compiled again.
    pub(super) fn findings(&mut self) -> Result<ObjectFindings, RunError> {
        let mut found = ObjectFindings::default();
        if self.live.table.count(LiveState::AsWanted) < self.wanted.count {
            self.compare_fields(&mut found)?;
        }
        found.equal = self.live.table.count(LiveState::AsWanted);
        for (number, LiveObject { key, finding, .. }) in &mut self.live.kept {
            let Some(finding) = finding.take() else { continue };
            // The deletion of an object of the policies is never accepted.
            let can_be_accepted = finding.class != DriftClass::Terminating;
            if can_be_accepted && self.accept.accepts(key, finding.role.as_deref()) {
                found.accepted.insert(*number);
                continue;
            }
            finding.owner.iter().for_each(|owner| *found.owned.entry(owner.clone()).or_default() += 1);
            found.findings.push(finding);
        }
        found.findings.sort();
        Ok(found)
    }

    /// Compiles the policies again, and compares each object without an equal live one.
    fn compare_fields(&mut self, found: &mut ObjectFindings) -> Result<(), RunError> {
        let LiveObjects { table, kept, keys, .. } = &mut self.live;
        let mut missing: BTreeMap<ObjectNumber, DriftFinding> = BTreeMap::new();
        let mut equal: BTreeSet<ObjectNumber> = BTreeSet::new();
        each_object(self.workspace, self.target, &mut Sink::new(), &mut |object, origin| {
            let Some(number) = self.wanted.number_in(table, object) else { return };
            match (table.state(number), kept.get_mut(&number)) {
                (LiveState::Absent, _) => {
                    let key = IdentityKey::of(object);
                    if !self.not_compared.iter().any(|kind| kind == key.kind().1) {
                        found.missing_roles.extend(RoleMark::of(object));
                        missing.insert(number, missing_object(&key, origin));
                    }
                }
                (LiveState::Live, Some(own)) => {
                    own.finding = compared(own, object, origin, keys);
                    if own.finding.is_none() {
                        equal.insert(number)
                    } else {
                        equal.remove(&number)
                    };
                }
                _ => {}
            }
        })?;
        for number in equal {
            table.set(number, LiveState::AsWanted);
            // The live form of a role or a binding can give other access by a label that is no difference.
            let is_of_access = |own: &LiveObject| is_role(own.key.kind().1) || is_binding(own.key.kind().1);
            if !kept.get(&number).is_some_and(is_of_access) {
                kept.remove(&number);
            }
        }
        found.missing = missing.keys().copied().collect();
        found.findings.extend(missing.into_values());
        Ok(())
    }
}

/// Returns the finding about an object of the policies without a live one.
fn missing_object(key: &IdentityKey, origin: Origin) -> DriftFinding {
    DriftFinding {
        class: DriftClass::Missing,
        object: key.to_string(),
        role: None,
        subjects: Vec::new(),
        fields: Vec::new(),
        writer: None,
        owner: None,
        concerns_policies: true,
        origin: Some(origin),
    }
}

/// Returns the finding about a live object that no policy writes.
pub(super) fn unmanaged_object(object: NodeRef<'_>, key: &IdentityKey, scope: UnmanagedScope) -> DriftFinding {
    let concerns_policies = scope == UnmanagedScope::Near;
    DriftFinding { concerns_policies, owner: live::owner(object), ..finding(DriftClass::Unmanaged, object, key) }
}

/// Whether an object is being deleted.
pub(super) fn is_terminating(object: NodeRef<'_>) -> bool {
    object.path(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}

/// Compares a live object with the wanted one; none if it is as wanted.
fn compared(live: &LiveObject, wanted: NodeRef<'_>, origin: Origin, keys: &DecidingKeys) -> Option<DriftFinding> {
    let object = live.root()?;
    let mut text = String::new();
    write::document(wanted, &mut text);
    let fields = fields::differences(&text, object, keys);
    let is_terminating = is_terminating(object);
    if fields.is_empty() && !is_terminating {
        return None;
    }
    let class = if is_terminating { DriftClass::Terminating } else { DriftClass::Changed };
    Some(DriftFinding { fields, origin: Some(origin), ..finding(class, object, &live.key) })
}

/// Returns a finding about a live object without its fields.
fn finding(class: DriftClass, object: NodeRef<'_>, key: &IdentityKey) -> DriftFinding {
    DriftFinding {
        class,
        object: key.to_string(),
        role: live::role(object),
        subjects: live::subjects(object),
        fields: Vec::new(),
        writer: LastWriter::of(object),
        owner: None,
        concerns_policies: true,
        origin: None,
    }
}
