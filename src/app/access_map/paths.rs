//! The powers within reach of subjects, and the escalation paths to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::record::{ReportedPath, ReportedPower};
use super::subjects::SubjectMap;
use super::{ClassNumbers, TargetInputs};
use crate::app::review::{EffectSeverity, reviewed_step};
use crate::app::subject_classes::{Member, joined};
use crate::k8s::absent;
use crate::paths::{Certainty, EscalationPath};

/// The powers of each subject, the worst first.
pub(super) type Powers = HashMap<String, BTreeSet<ReportedPower>>;

/// The paths of subjects with bindings of the inputs.
pub(super) struct PathFinder<'f> {
    inputs: &'f TargetInputs<'f>,
    paths: Vec<EscalationPath>,
}

/// The kind of the power, the certainty, the kinds of the steps, and the kind of the subject: equal for alike paths.
type PathShape<'p> = (Reverse<EffectSeverity>, &'static str, Certainty, Vec<&'static str>, &'p str);

impl<'f> PathFinder<'f> {
    /// Finds the best path to each power, without paths that a better one includes.
    pub(super) fn new(inputs: &'f TargetInputs<'f>, subjects: &SubjectMap) -> Self {
        let mut paths = Vec::new();
        if let Some(graph) = inputs.loaded.escalation_graph() {
            for subject in graph.subjects().iter().filter(|subject| subjects.bound.contains(*subject)) {
                paths.extend(graph.separate_paths_of(subject));
            }
        }
        Self { inputs, paths }
    }

    /// Returns the powers of all subjects.
    pub(super) fn powers(&self) -> Powers {
        let mut by_power: BTreeMap<ReportedPower, Vec<Member>> = BTreeMap::new();
        for path in &self.paths {
            let power = ReportedPower {
                severity: severity(path),
                power: path.reaches.word().to_owned(),
                certainty: path.certainty.word().to_owned(),
            };
            by_power.entry(power).or_default().push(member(path));
        }
        let mut powers = Powers::new();
        for (power, members) in by_power {
            for member in self.inputs.spread.members(joined(members)) {
                powers.entry(member.subject).or_default().insert(power.clone());
            }
        }
        powers
    }

    /// Returns the paths, alike ones as one, the worst first.
    pub(super) fn reported(&self, classes: &mut ClassNumbers) -> Vec<ReportedPath> {
        let mut groups: BTreeMap<PathShape<'_>, Vec<&EscalationPath>> = BTreeMap::new();
        for path in &self.paths {
            let severity = Reverse(severity(path));
            let steps = path.steps.iter().map(|step| step.edge.word()).collect();
            let subject = path.subject.split('/').next();
            groups
                .entry((severity, path.reaches.word(), path.certainty, steps, absent::text(subject)))
                .or_default()
                .push(path);
        }
        let mut reported = Vec::new();
        for ((severity, ..), paths) in groups {
            // The path of the first namespace stands for the others.
            let first = paths.iter().min_by_key(|path| (namespace(path), &path.subject, &path.reaches));
            let Some(first) = first else { continue };
            let members = joined(paths.iter().map(|path| member(path)).collect());
            let mut members = self.inputs.spread.members(members);
            // A path to a power of the whole cluster begins in the first namespace with an equal path.
            if !first.reaches.is_within_namespace() {
                members.iter_mut().for_each(|member| member.namespaces.truncate(1));
            }
            let steps = first.steps.iter().map(|step| reviewed_step(step, &self.inputs.loaded.files, "", false));
            reported.push(ReportedPath {
                id: 0,
                class: classes.number(self.inputs, members),
                reaches: first.reaches.to_string(),
                severity: severity.0,
                certainty: first.certainty.word().to_owned(),
                steps: steps.collect(),
            });
        }
        reported
    }
}

fn severity(path: &EscalationPath) -> EffectSeverity {
    path.certainty.severity_of(&path.reaches).into()
}

/// Returns the subject of a path with the namespace of its first step.
fn member(path: &EscalationPath) -> Member {
    Member { subject: path.subject.clone(), namespaces: namespace(path).map(str::to_owned).into_iter().collect() }
}

fn namespace(path: &EscalationPath) -> Option<&str> {
    path.steps.first().and_then(|step| step.namespace.as_deref())
}
