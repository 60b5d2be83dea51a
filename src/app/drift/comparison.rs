//! The comparison of the live objects with the objects of the policies, on all threads.

use std::collections::{BTreeMap, BTreeSet};

use super::accepted::AcceptList;
use super::fields::{self, DecidingKeys};
use super::live::{self, LastWriter, LiveObjects};
use super::unmanaged::{Surroundings, UnmanagedScope};
use super::wanted::{WantedObject, WantedObjects};
use super::{DriftClass, DriftFinding};
use crate::app::object_key::ObjectKey;
use crate::app::workspace::Workspace;
use crate::model::Target;
use crate::parallel;
use crate::yaml::NodeRef;

/// The objects of both sides.
pub(super) struct LiveComparison<'c> {
    pub(super) workspace: &'c Workspace,
    pub(super) target: &'c Target,
    pub(super) wanted: &'c WantedObjects,
    pub(super) live: &'c LiveObjects,
    pub(super) not_compared: &'c [String],
    pub(super) accept: &'c AcceptList<'c>,
}

/// The findings about the objects.
#[derive(Default)]
pub(super) struct ObjectFindings {
    /// The number of objects as wanted.
    pub(super) equal: usize,
    /// The positions of the live objects with an accepted difference.
    pub(super) accepted: BTreeSet<usize>,
    /// The findings, sorted.
    pub(super) findings: Vec<DriftFinding>,
    /// The number of unmanaged objects by owner.
    pub(super) owned: BTreeMap<String, usize>,
}

impl LiveComparison<'_> {
    /// Compares each live object, on all threads, and looks for missing objects.
    pub(super) fn findings(&self) -> ObjectFindings {
        let mut keys = self.wanted.keys.clone();
        self.live.iter().for_each(|(_, object)| keys.add(object));
        let surroundings = Surroundings::new(self.workspace, self.target, self.wanted);
        let mut found = ObjectFindings::default();
        let judge = |(): &mut (), position: usize| self.judge(position, &keys, &surroundings);
        parallel::in_order(
            self.live.len(),
            self.workspace.options.threads(),
            || (),
            judge,
            |position, judgement| {
                match judgement {
                    Judgement::AsWanted => found.equal += 1,
                    Judgement::Expected => {}
                    Judgement::Accepted => _ = found.accepted.insert(position),
                    Judgement::Differs(finding) => {
                        finding.owner.iter().for_each(|owner| *found.owned.entry(owner.clone()).or_default() += 1);
                        found.findings.push(*finding);
                    }
                }
                true
            },
        );
        let is_compared = |key: &ObjectKey| !self.not_compared.iter().any(|kind| kind == key.kind().1);
        let missing = self.wanted.iter().filter(|(key, _)| !self.live.contains(key) && is_compared(key));
        found.findings.extend(missing.map(|(key, wanted)| missing_object(key, wanted)));
        found.findings.sort();
        found
    }

    /// Judges the live object at a position.
    fn judge(&self, position: usize, keys: &DecidingKeys, surroundings: &Surroundings) -> Judgement {
        let Some((key, object)) = self.live.at(position) else { return Judgement::Expected };
        if let Some(wanted) = self.wanted.get(key) {
            return match compared(object, key, wanted, keys) {
                Some(finding) => self.differs(key, finding),
                None => Judgement::AsWanted,
            };
        }
        let scope = surroundings.scope_of(object, key);
        if scope == UnmanagedScope::Expected {
            return Judgement::Expected;
        }
        let concerns_policies = scope == UnmanagedScope::Near;
        let owner = live::owner(object);
        let finding = finding(DriftClass::Unmanaged, object, key);
        self.differs(key, DriftFinding { concerns_policies, owner, ..finding })
    }

    /// Returns the judgement on a difference. The deletion of an object of the policies is never accepted.
    fn differs(&self, key: &ObjectKey, finding: DriftFinding) -> Judgement {
        let can_be_accepted = finding.class != DriftClass::Terminating;
        if can_be_accepted && self.accept.accepts(key, finding.role.as_deref()) {
            return Judgement::Accepted;
        }
        Judgement::Differs(Box::new(finding))
    }
}

/// The result of the comparison of a live object.
enum Judgement {
    /// It is as the policies want it.
    AsWanted,
    /// No policy writes it, and it is expected in the cluster.
    Expected,
    /// It differs from the policies, and an entry of the workspace accepts the difference.
    Accepted,
    /// It differs from the policies.
    Differs(Box<DriftFinding>),
}

/// Returns the finding about an object of the policies without a live one.
fn missing_object(key: &ObjectKey, wanted: &WantedObject) -> DriftFinding {
    DriftFinding {
        class: DriftClass::Missing,
        object: key.to_string(),
        role: None,
        subjects: Vec::new(),
        fields: Vec::new(),
        writer: None,
        owner: None,
        concerns_policies: true,
        origin: Some(wanted.origin),
    }
}

/// Compares a live object with the wanted one; none if it is as wanted.
fn compared(object: NodeRef<'_>, key: &ObjectKey, wanted: &WantedObject, keys: &DecidingKeys) -> Option<DriftFinding> {
    let fields = fields::differences(&wanted.text, object, keys);
    let is_terminating = object.path(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null());
    if fields.is_empty() && !is_terminating {
        return None;
    }
    let class = if is_terminating { DriftClass::Terminating } else { DriftClass::Changed };
    Some(DriftFinding { fields, origin: Some(wanted.origin), ..finding(class, object, key) })
}

/// Returns a finding about a live object without its fields.
fn finding(class: DriftClass, object: NodeRef<'_>, key: &ObjectKey) -> DriftFinding {
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
