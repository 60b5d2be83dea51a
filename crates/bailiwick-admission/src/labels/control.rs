//! The decision of the syncer to manage a namespace. The first matching rule decides.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::namespace::{FORMER_SYNCER, LabelOwnership, NamespaceFacts, PodSecurityLabel, SYNCER};
use crate::scc::release::Release;

/// The namespaces never synced, one a line.
pub const EXEMPT: &str = include_str!("../facts/exempt-namespaces.txt");

/// Whether a namespace is synced, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Control {
    /// Whether it is.
    pub controlled: bool,
    /// The deciding rule.
    pub reason: Reason,
}

/// The rule for the management of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The namespace belongs to the payload, and no label changes it.
    Exempt,
    /// The label has the value `true`.
    OptedIn,
    /// The name begins with `openshift-`, and the label has not the value `true`.
    OpenshiftPrefix,
    /// The managers of its fields cannot be read.
    UnreadableManagers,
    /// Others own all six labels.
    AllLabelsForeign,
    /// The label has the value `false`.
    OptedOut,
    /// The label is absent or has no valid value; the namespace is synced by default.
    NoOpinion,
}

impl Reason {
    /// Returns the code of the reason.
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

/// Whether the syncer never manages this namespace.
pub fn is_exempt(name: &str, release: Release) -> bool {
    static NAMES: OnceLock<HashSet<&str>> = OnceLock::new();
    if release.has_exemptions() {
        NAMES.get_or_init(|| EXEMPT.lines().collect()).contains(name)
    } else {
        matches!(name, "default" | "kube-node-lease" | "kube-public" | "kube-system" | "openshift")
            || name.starts_with("openshift-")
    }
}

/// Whether a field manager is the syncer: its present name, its former name or the empty name.
pub(super) fn is_own(manager: &str) -> bool {
    matches!(manager, SYNCER | FORMER_SYNCER | "")
}

/// Whether a label has another owner than the syncer.
pub(super) fn is_foreign(facts: &NamespaceFacts, label: PodSecurityLabel) -> bool {
    facts.managers(label).iter().any(|manager| !is_own(manager))
}

/// Whether the syncer shares a label of the namespace with other owners. The real syncer picks any of them.
pub(super) fn is_shared(facts: &NamespaceFacts) -> bool {
    PodSecurityLabel::ALL.into_iter().any(|label| {
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
    } else if release.respects_owners() && facts.ownership == LabelOwnership::Unreadable {
        (false, Reason::UnreadableManagers)
    } else if release.respects_owners()
        && PodSecurityLabel::ALL.into_iter().all(|label| facts.labels.get(label).is_some() && is_foreign(facts, label))
    {
        (false, Reason::AllLabelsForeign)
    } else if facts.sync.as_deref() == Some("false") {
        (false, Reason::OptedOut)
    } else {
        (true, Reason::NoOpinion)
    }
}
