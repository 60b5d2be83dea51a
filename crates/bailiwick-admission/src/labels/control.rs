//! Does the syncer care for a namespace (`specs/openshift.md` 2.1)? The first rule that fits decides.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::namespace::{FORMER_SYNCER, Label, NamespaceFacts, Ownership, SYNCER};
use crate::scc::release::Release;

/// The namespaces that are never synced, one a line.
pub const EXEMPT: &str = include_str!("../facts/exempt-namespaces.txt");

/// Whether a namespace is synced, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Control {
    /// Whether it is.
    pub controlled: bool,
    /// The rule that decided.
    pub reason: Reason,
}

/// The rule that decides whether a namespace is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It belongs to the payload, and no label changes that.
    Exempt,
    /// Its label says `true`.
    OptedIn,
    /// Its name begins with `openshift-`, and its label does not say `true`.
    OpenshiftPrefix,
    /// The managers of its fields cannot be read.
    UnreadableManagers,
    /// Others own all six labels.
    AllLabelsForeign,
    /// Its label says `false`.
    OptedOut,
    /// It says nothing, or nothing that anybody understands, and is synced for that.
    NoOpinion,
}

impl Reason {
    /// Its code.
    pub fn code(self) -> &'static str {
        match self {
            Reason::Exempt => "exempt",
            Reason::OptedIn => "opted-in",
            Reason::OpenshiftPrefix => "openshift-prefix",
            Reason::UnreadableManagers => "unreadable-managers",
            Reason::AllLabelsForeign => "all-labels-foreign",
            Reason::OptedOut => "opted-out",
            Reason::NoOpinion => "no-opinion",
        }
    }
}

/// Decides.
pub fn control(name: &str, facts: &NamespaceFacts, release: Release) -> Control {
    let (controlled, reason) = decide(name, facts, release);
    Control { controlled, reason }
}

/// True for a namespace that is never synced.
pub fn is_exempt(name: &str, release: Release) -> bool {
    static NAMES: OnceLock<HashSet<&str>> = OnceLock::new();
    if release.has_exemptions() {
        NAMES.get_or_init(|| EXEMPT.lines().collect()).contains(name)
    } else {
        matches!(name, "default" | "kube-node-lease" | "kube-public" | "kube-system" | "openshift")
            || name.starts_with("openshift-")
    }
}

/// True for a manager that is the syncer, under its name of today or its former one, or nobody.
pub(super) fn is_own(manager: &str) -> bool {
    matches!(manager, SYNCER | FORMER_SYNCER | "")
}

/// True for a label that somebody else owns.
pub(super) fn is_foreign(facts: &NamespaceFacts, label: Label) -> bool {
    facts.managers(label).iter().any(|manager| !is_own(manager))
}

/// True for a namespace with a label that the syncer owns together with others. Asked for the owner, the real one gets any
/// of them.
pub(super) fn is_shared(facts: &NamespaceFacts) -> bool {
    Label::ALL.into_iter().any(|label| {
        let managers = facts.managers(label);
        is_foreign(facts, label) && managers.iter().any(|manager| is_own(manager))
    })
}

fn decide(name: &str, facts: &NamespaceFacts, release: Release) -> (bool, Reason) {
    if is_exempt(name, release) {
        (false, Reason::Exempt)
    } else if facts.is_opted_in() {
        (true, Reason::OptedIn)
    } else if name.starts_with("openshift-") {
        (false, Reason::OpenshiftPrefix)
    } else if release.respects_owners() && facts.ownership == Ownership::Unreadable {
        (false, Reason::UnreadableManagers)
    } else if release.respects_owners()
        && Label::ALL.into_iter().all(|label| facts.labels.get(label).is_some() && is_foreign(facts, label))
    {
        (false, Reason::AllLabelsForeign)
    } else if facts.sync.as_deref() == Some("false") {
        (false, Reason::OptedOut)
    } else {
        (true, Reason::NoOpinion)
    }
}
