//! The writes of the syncer to a namespace with a known level.

use super::Settings;
use super::control::is_foreign;
use super::namespace::{LabelSet, NamespaceFacts, PodSecurityLabel};
use crate::level::Level;
use crate::scc::release::SyncMode;

/// The action of the syncer on a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncAction {
    /// Something is written.
    Write,
    /// Everything is right already.
    Nothing,
    /// It is left alone.
    Skip(Skip),
    /// The syncer fails, and tries again for ever.
    Fail(SyncFailure),
}

/// Why a namespace is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Skip {
    /// The syncer does not care for it.
    NotControlled,
    /// It is being deleted.
    Terminating,
    /// The cluster has not given it a range of user ids.
    NoUidRange,
    /// It has no service account.
    NoServiceAccounts,
}

/// Why the syncer fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncFailure {
    /// No service account may use any constraints.
    NoUsableScc,
    /// One of the usable constraints has no level.
    ConversionFailed,
    /// The managers of its fields cannot be read.
    UnreadableManagers,
}

/// The labels and the annotation written by the syncer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The applied labels, with or without a change of value.
    pub applied: LabelSet,
    /// Whether it takes them from others.
    pub forced: bool,
    /// Whether anything has to change for it.
    pub changes: bool,
    /// The annotation it keeps.
    pub annotation: Option<Level>,
}

impl SyncAction {
    /// Returns the word of the action.
    pub fn word(self) -> &'static str {
        match self {
            SyncAction::Write => "write",
            SyncAction::Nothing => "none",
            SyncAction::Skip(_) => "skip",
            SyncAction::Fail(_) => "error",
        }
    }

    /// Returns the reason for an action without a write.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            SyncAction::Write | SyncAction::Nothing | SyncAction::Skip(Skip::NotControlled) => None,
            SyncAction::Skip(Skip::Terminating) => Some("terminating"),
            SyncAction::Skip(Skip::NoUidRange) => Some("no-uid-range"),
            SyncAction::Skip(Skip::NoServiceAccounts) => Some("no-service-accounts"),
            SyncAction::Fail(SyncFailure::NoUsableScc) => Some("no-usable-scc"),
            SyncAction::Fail(SyncFailure::ConversionFailed) => Some("scc-conversion-failed"),
            SyncAction::Fail(SyncFailure::UnreadableManagers) => Some("unreadable-managers"),
        }
    }
}

/// Returns the labels of a mode.
pub fn labels_of(mode: SyncMode) -> impl Iterator<Item = PodSecurityLabel> {
    let is_enforcement =
        |label: &PodSecurityLabel| matches!(label, PodSecurityLabel::Enforce | PodSecurityLabel::EnforceVersion);
    PodSecurityLabel::ALL.into_iter().filter(move |label| mode == SyncMode::Enforcing || !is_enforcement(label))
}

/// Returns the value of a label written by the syncer.
pub fn value_of(label: PodSecurityLabel, level: Level, settings: Settings) -> String {
    if label.is_version() { settings.release.version_label().to_string() } else { level.name().to_owned() }
}

/// Returns the write of the syncer for a level.
pub fn write(facts: &NamespaceFacts, level: Level, settings: Settings) -> Written {
    let respects_owners = settings.release.respects_owners();
    let mut written = Written { forced: facts.is_opted_in() && respects_owners, ..Written::default() };
    for label in labels_of(settings.mode) {
        // Fields owned under the former name are taken over first.
        if !respects_owners || written.forced || !is_foreign(facts, label) {
            let value = value_of(label, level, settings);
            written.changes |= facts.labels.get(label) != Some(&value);
            written.applied.set(label, &value);
        }
    }
    if settings.release.writes_annotation() {
        written.annotation = Some(level);
        written.changes |= facts.computed_level.as_deref() != Some(level.name());
    }
    written
}
