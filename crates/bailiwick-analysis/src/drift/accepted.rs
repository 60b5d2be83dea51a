//! The accepted differences of a workspace, and their use in a comparison.

use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick_codes as codes;
use bailiwick_policy::model::{AcceptedObject, Date, DifferingObject, Target};
use bailiwick_workspace::Workspace;
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_yaml::diag::{Diagnostic, Sink};

/// The entries of `spec.drift.accept` for a target.
pub(super) struct AcceptList<'w> {
    entries: Vec<(&'w AcceptedObject, AtomicBool)>,
}

impl<'w> AcceptList<'w> {
    /// Returns the valid entries for a target; reports each entry after its last day.
    pub(super) fn new(workspace: &'w Workspace, target: &Target, sink: &mut Sink) -> Self {
        let accepted = &workspace.project().workspace.accepted_objects;
        let mut entries = Vec::new();
        for entry in accepted.iter().filter(|entry| entry.is_for(&target.name)) {
            match entry.expires.filter(|day| workspace.project().today.is_some_and(|today| *day < today)) {
                Some(day) => sink.push(expired(entry, day)),
                None => entries.push((entry, AtomicBool::new(false))),
            }
        }
        Self { entries }
    }

    /// Whether an entry accepts the difference of an object.
    pub(super) fn accepts(&self, key: &IdentityKey, role: Option<&str>) -> bool {
        let object = DifferingObject { kind: key.kind().1, namespace: key.namespace(), name: key.name(), role };
        let mut is_accepted = false;
        for (_, is_used) in self.entries.iter().filter(|(entry, _)| entry.names(object)) {
            is_used.store(true, Ordering::Relaxed);
            is_accepted = true;
        }
        is_accepted
    }

    /// Reports each entry without an accepted object.
    pub(super) fn report_unused(&self, sink: &mut Sink) {
        let unused = self.entries.iter().filter(|(_, is_used)| !is_used.load(Ordering::Relaxed));
        unused.for_each(|(entry, _)| {
            let message = format!("no object of the cluster is accepted by `{entry}`");
            let help = "remove the entry: it would accept a later object of this name";
            sink.push(Diagnostic::warning(codes::DRIFT_ACCEPT_UNUSED, message).at(entry.origin).help(help));
        });
    }
}

fn expired(entry: &AcceptedObject, day: Date) -> Diagnostic {
    let message = format!("the acceptance of `{entry}` is over since {day}");
    let help = "remove the entry and the object, or set a later day";
    Diagnostic::warning(codes::DRIFT_ACCEPT_EXPIRED, message).at(entry.origin).help(help)
}
