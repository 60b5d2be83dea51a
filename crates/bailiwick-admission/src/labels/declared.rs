//! Namespaces whose labels a repository declares: where they come to rest, over which labels two controllers fight, and
//! what is worth a word.

use super::control::Reason;
use super::namespace::{Label, LabelSet, NamespaceFacts};
use super::neighbours::{run_level_zero, skips_constraints};
use super::world::{Outcome, SyncWorld};
use crate::level::Level;
use crate::scc::range::UidRange;
use crate::scc::release::Mode;

/// What becomes of a declared namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Its labels once both sides are done; of those they fight over, what the syncer writes.
    pub labels: LabelSet,
    /// The labels that both sides keep writing over each other.
    pub fights: Vec<Label>,
    /// The level that pods have to keep, whoever says so.
    pub enforced: Level,
    /// What is worth a word.
    pub lints: Vec<Lint>,
}

/// What is worth a word about a declared namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lint {
    /// The declared level refuses pods that the constraints of its service accounts allow.
    DeclaredEnforceStricterThanScc,
    /// It opts in and declares another value than the syncer writes: they fight for ever.
    SyncTrueConflictsWithDeclaredLabel,
    /// It opts out and does not say what to enforce, so that the default of the cluster holds.
    OptedOutWithoutEnforceLabel,
    /// It opts in and declares what the syncer writes anyway.
    RedundantDeclaredLabel,
    /// It declares the range of user ids alone: the cluster then never allocates the rest, and refuses every pod.
    SccAnnotationsIncomplete,
    /// Its range of user ids begins at 0, which makes root an allowed user.
    UidRangeStartsAtZero,
    /// It has the label to opt in or out, and is exempt.
    ExemptNamespaceLabelled,
    /// Its name begins with `openshift-`, so that it is not synced unless it opts in.
    OpenshiftPrefixNotSynced,
    /// A label takes it out of the admission by constraints.
    RunLevelBypass,
}

impl Lint {
    /// Its code.
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
    /// Where a declared namespace comes to rest; none for one that was not added.
    pub fn settled(&self, namespace: &str) -> Option<Settled> {
        let facts = self.facts(namespace)?;
        let outcome = self.outcome(namespace)?;
        let declared = |label| facts.labels.get(label);
        let written = outcome.applied.iter();
        let fights: Vec<Label> = written
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
            Mode::Enforcing => Level::Restricted,
            Mode::Advising => Level::Privileged,
        };
        let enforced = match outcome.labels.get(Label::Enforce) {
            None => default,
            // A level that nobody knows is refused on writing; on reading it counts as the strictest.
            Some(label) => Level::parse(label).unwrap_or(Level::Restricted),
        };
        let lints = lints(namespace, &facts, &outcome, &fights);
        Some(Settled { labels: outcome.labels, fights, enforced, lints })
    }
}

fn lints(name: &str, facts: &NamespaceFacts, outcome: &Outcome, fights: &[Label]) -> Vec<Lint> {
    let mut lints = Vec::new();
    let declared = facts.labels.get(Label::Enforce).and_then(Level::parse);
    let level = outcome.levels.sync.or(outcome.levels.rbac);
    if declared.is_some_and(|declared| !facts.is_opted_in() && Some(declared) < level) {
        lints.push(Lint::DeclaredEnforceStricterThanScc);
    }
    if facts.is_opted_in() && outcome.control.controlled {
        if !fights.is_empty() {
            lints.push(Lint::SyncTrueConflictsWithDeclaredLabel);
        }
        let is_written = |(label, value): (Label, &str)| outcome.applied.get(label) == Some(value);
        if facts.labels.iter().any(is_written) {
            lints.push(Lint::RedundantDeclaredLabel);
        }
    }
    match outcome.control.reason {
        Reason::OptedOut if facts.labels.get(Label::Enforce).is_none() => lints.push(Lint::OptedOutWithoutEnforceLabel),
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
