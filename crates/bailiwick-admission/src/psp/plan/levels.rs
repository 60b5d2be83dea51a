//! The Pod Security level of a namespace: the level that its pods need, and the level that its policies allow.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::observed::ObservedWorkload;
use crate::level::{Level, PolicyVersion};
use crate::pod::Pod;
use crate::standards::violations;

/// The Pod Security levels that are possible for the pods of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PossibleLevels {
    /// The level that the texts of its PodSecurityPolicies allow: the loosest of them. None without a policy.
    pub stated: Option<Level>,
    /// The strictest level that admits its pods. None for a namespace without a workload that runs or may run.
    pub observed: Option<Level>,
    /// The workloads that need a looser level than `restricted`, by kind and name.
    pub blockers: Vec<LevelBlocker>,
}

/// A workload whose pods a level rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelBlocker {
    /// Kind of the object.
    pub kind: &'static str,
    /// Name of the object.
    pub name: String,
    /// The strictest level that admits its pods.
    pub level: Level,
    /// For each stricter level, the checks that reject its pods, with the details of one pod.
    pub checks: BTreeMap<Level, BTreeMap<&'static str, String>>,
}

/// The choice between the two levels of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LevelChoice {
    /// The level that the pods need. A namespace without pods gets the stated level.
    #[default]
    Observed,
    /// The level that the texts of the PodSecurityPolicies allow.
    Stated,
}

impl PossibleLevels {
    /// Returns the level for the labels of the namespace. A namespace without a policy and without a pod gets the strictest level.
    pub fn chosen(&self, choice: LevelChoice) -> Level {
        let (first, second) = match choice {
            LevelChoice::Observed => (self.observed, self.stated),
            LevelChoice::Stated => (self.stated, self.observed),
        };
        Level::loosest(first.or(second))
    }

    /// Returns the next stricter level than the observed one, with the only workload in its way; none for several workloads.
    pub fn single_blocker(&self) -> Option<(Level, &LevelBlocker)> {
        let observed = self.observed?;
        let stricter = Level::ALL.into_iter().rev().find(|level| *level < observed)?;
        let mut blockers = self.blockers.iter().filter(|blocker| blocker.checks.contains_key(&stricter));
        let only = blockers.next()?;
        blockers.next().is_none().then_some((stricter, only))
    }
}

/// Returns the obstacle of a workload to a stricter level; none for pods that the strictest level admits. `created` is a
/// new pod with the defaults of its policy, and `minors` are the versions of the checks.
pub(super) fn blocker(
    observed: &ObservedWorkload,
    created: Option<Cow<'_, Pod>>,
    minors: &BTreeSet<u32>,
) -> Option<LevelBlocker> {
    let new = new_pod(observed, created);
    let running = observed.running.iter().map(|pods| &pods.pod);
    let mut checks: BTreeMap<Level, BTreeMap<&'static str, String>> = BTreeMap::new();
    for pod in running.chain(new.as_deref()) {
        for minor in minors {
            for level in [Level::Restricted, Level::Baseline] {
                let found = violations(pod, level, PolicyVersion::Minor((*minor).into()));
                // The looser level admits the pods of the stricter one.
                if found.is_empty() {
                    break;
                }
                for found in found {
                    let detail = if found.detail.is_empty() { found.reason.to_owned() } else { found.detail };
                    checks.entry(level).or_default().entry(found.check).or_insert(detail);
                }
            }
        }
    }
    let stands = |level: &Level| !checks.contains_key(level);
    // The loosest level has no check.
    let level = if stands(&Level::Restricted) {
        Level::Restricted
    } else if stands(&Level::Baseline) {
        Level::Baseline
    } else {
        Level::Privileged
    };
    let name = observed.workload.name.clone();
    (level != Level::Restricted).then_some(LevelBlocker { kind: observed.workload.kind, name, level, checks })
}

/// Returns a new pod of a workload. The pods of a template that can be changed have the defaults of their policy: a patch of the
/// template sets them.
fn new_pod<'p>(observed: &ObservedWorkload, created: Option<Cow<'p, Pod>>) -> Option<Cow<'p, Pod>> {
    match created.filter(|_| observed.is_patchable()) {
        Some(created) => Some(created),
        // A pod without a template is a running pod, if it runs.
        None => {
            let is_new = observed.has_template() || observed.running.is_empty();
            is_new.then(|| Cow::Owned(observed.workload.pod()))
        }
    }
}
