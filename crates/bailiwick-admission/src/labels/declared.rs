//! Namespaces with labels declared in a repository: their stable state, the labels contested by two controllers, and
//! lints.

use super::control::Reason;
use super::namespace::{LabelSet, NamespaceFacts, PodSecurityLabel};
use super::neighbours::{run_level_zero, skips_constraints};
use super::world::{SyncOutcome, SyncWorld};
use crate::level::Level;
use crate::scc::range::UidRange;
use crate::scc::release::SyncMode;

/// The stable state of a declared namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Labels in the stable state; contested labels have the value of the syncer.
    pub labels: LabelSet,
    /// Labels overwritten by both sides in turn.
    pub fights: Vec<PodSecurityLabel>,
    /// The level enforced on pods, from any source.
    pub enforced: Level,
    /// The lints of the namespace.
    pub lints: Vec<Lint>,
}

/// A lint about a declared namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lint {
    /// The declared level rejects pods allowed by the constraints of its service accounts.
    DeclaredEnforceStricterThanScc,
    /// It opts in and declares another value than the syncer writes: they fight for ever.
    SyncTrueConflictsWithDeclaredLabel,
    /// The namespace opts out without an enforce label, and the default of the cluster applies.
    OptedOutWithoutEnforceLabel,
    /// The namespace opts in and declares the labels of the syncer.
    RedundantDeclaredLabel,
    /// It declares the range of user ids alone: the cluster then never allocates the rest, and refuses every pod.
    SccAnnotationsIncomplete,
    /// The range of user ids begins at 0, and root is an allowed user.
    UidRangeStartsAtZero,
    /// It has the label to opt in or out, and is exempt.
    ExemptNamespaceLabelled,
    /// The name begins with `openshift-`, and the namespace is not synced without an opt-in.
    OpenshiftPrefixNotSynced,
    /// A label takes it out of the admission by constraints.
    RunLevelBypass,
}

impl Lint {
    /// Returns the code of the lint.
    pub fn code(self) -> &'static str {
        match self {
            Lint::DeclaredEnforceStricterThanScc => "declared-enforce-stricter-than-scc",
            Lint::SyncTrueConflictsWithDeclaredLabel => "sync-true-conflicts-with-declared-label",
            Lint::OptedOutWithoutEnforceLabel => "opted-out-without-enforce-label",
            Lint::RedundantDeclaredLabel => "redundant-declared-label",
            Lint::SccAnnotationsIncomplete => "scc-annotations-incomplete",
            Lint::UidRangeStartsAtZero => "uid-range-starts-at-zero",
            Lint::ExemptNamespaceLabelled => "exempt-namespace-labelled",
            Lint::OpenshiftPrefixNotSynced => "openshift-prefix-not-synced",
            Lint::RunLevelBypass => "run-level-bypass",
        }
    }
}

impl SyncWorld {
    /// Returns the stable state of a declared namespace; none for an unknown namespace.
    pub fn settled(&self, namespace: &str) -> Option<Settled> {
        let facts = self.facts(namespace)?;
        let outcome = self.outcome(namespace)?;
        let declared = |label| facts.labels.get(label);
        let written = outcome.applied.iter();
        let fights: Vec<PodSecurityLabel> = written
            .filter(|(label, value)| declared(*label).is_some_and(|declared| declared != *value))
            .map(|(label, _)| label)
            .collect();
        let (_, forced) = run_level_zero(namespace, &facts, self.settings().release);
        let mut outcome = outcome;
        let mut fights = fights;
        for (label, value) in forced.iter() {
            fights.extend(declared(label).filter(|declared| *declared != value).map(|_| label));
            outcome.labels.set(label, value);
        }
        let default = match self.settings().mode {
            SyncMode::Enforcing => Level::Restricted,
            SyncMode::Advising => Level::Privileged,
        };
        let enforced = match outcome.labels.get(PodSecurityLabel::Enforce) {
            None => default,
            Some(label) => Level::parse_enforced(label),
        };
        let lints = lints(namespace, &facts, &outcome, &fights);
        Some(Settled { labels: outcome.labels, fights, enforced, lints })
    }
}

fn lints(name: &str, facts: &NamespaceFacts, outcome: &SyncOutcome, fights: &[PodSecurityLabel]) -> Vec<Lint> {
    let mut lints = Vec::new();
    let declared = facts.labels.get(PodSecurityLabel::Enforce).and_then(Level::parse);
    let level = outcome.levels.sync.or(outcome.levels.rbac);
    if declared.is_some_and(|declared| !facts.is_opted_in() && Some(declared) < level) {
        lints.push(Lint::DeclaredEnforceStricterThanScc);
    }
    if facts.is_opted_in() && outcome.control.controlled {
        if !fights.is_empty() {
            lints.push(Lint::SyncTrueConflictsWithDeclaredLabel);
        }
        let is_written = |(label, value): (PodSecurityLabel, &str)| outcome.applied.get(label) == Some(value);
        if facts.labels.iter().any(is_written) {
            lints.push(Lint::RedundantDeclaredLabel);
        }
    }
    match outcome.control.reason {
        Reason::OptedOut if facts.labels.get(PodSecurityLabel::Enforce).is_none() => {
            lints.push(Lint::OptedOutWithoutEnforceLabel)
        }
        Reason::Exempt if facts.sync.is_some() => lints.push(Lint::ExemptNamespaceLabelled),
        Reason::OpenshiftPrefix => lints.push(Lint::OpenshiftPrefixNotSynced),
        _ => {}
    }
    if facts.uid_range.is_some() && facts.mcs.is_none() {
        lints.push(Lint::SccAnnotationsIncomplete);
    }
    if facts.range() == UidRange::FromZero {
        lints.push(Lint::UidRangeStartsAtZero);
    }
    if skips_constraints(name, facts.run_level.as_deref()) && !skips_constraints(name, None) {
        lints.push(Lint::RunLevelBypass);
    }
    lints.sort_unstable();
    lints
}
