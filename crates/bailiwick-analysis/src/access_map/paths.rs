//! The powers within reach of subjects, and the escalation paths to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use bailiwick_kubernetes::absent;
use bailiwick_paths::{Certainty, EscalationPath};
use bailiwick_policy::model::EffectSeverity;
use bailiwick_yaml::internal;

use super::names::SpreadNames;
use super::record::{ReportedPath, ReportedPower};
use super::subjects::SubjectMap;
use super::{ClassNumbers, TargetInputs};
use crate::path_step::reviewed_step;
use crate::subject_classes::{Member, MemberNumbers, NameTable, joined};

/// The powers of all subjects.
pub(super) struct Powers {
    /// The different powers, the worst first.
    all: Vec<ReportedPower>,
    sets: PowerSets,
}

/// The set of powers of each subject. Many subjects have the same set.
struct PowerSets {
    /// The different sets, each as positions of powers in their order. The first set is empty.
    different: Vec<Vec<u32>>,
    /// The number of the set of the subject with each number; further subjects have the empty set.
    of_subjects: Vec<u32>,
    /// The number of the set with a further power, by the number of a set and the position of the power.
    with_another: HashMap<(u32, u32), u32>,
}

/// The paths of subjects with bindings of the inputs.
pub(super) struct PathFinder<'f> {
    inputs: &'f TargetInputs<'f>,
    paths: Vec<EscalationPath>,
}

/// The kind of the power, the certainty, the kinds of the steps, and the kind of the subject: equal for alike paths.
type PathShape<'p> = (Reverse<EffectSeverity>, &'static str, Certainty, Vec<&'static str>, &'p str);

impl<'f> PathFinder<'f> {
    /// Finds the best path to each power, without paths that a better one includes.
    pub(super) fn new(inputs: &'f TargetInputs<'f>, subjects: &SubjectMap, names: &NameTable) -> Self {
        let mut paths = Vec::new();
        if let Some(graph) = inputs.loaded.escalation_graph() {
            let is_bound = |subject: &&String| names.find(subject).is_some_and(|number| subjects.is_bound(number));
            for subject in graph.subjects().iter().filter(is_bound) {
                paths.extend(graph.separate_paths_of(subject));
            }
        }
        Self { inputs, paths }
    }

    /// Returns the powers of all subjects.
    pub(super) fn powers(&self, names: &mut SpreadNames<'_>) -> Powers {
        let mut by_power: BTreeMap<ReportedPower, Vec<Member>> = BTreeMap::new();
        for path in &self.paths {
            let power = ReportedPower {
                severity: severity(path),
                power: path.reaches.word().to_owned(),
                certainty: path.certainty.word().to_owned(),
            };
            by_power.entry(power).or_default().push(member(path));
        }
        let mut powers = Powers { all: Vec::new(), sets: PowerSets::new() };
        for (position, (power, members)) in (0..).zip(by_power) {
            powers.all.push(power);
            names.each_pair(&joined(members), &mut |subject, _| powers.sets.add(subject, position));
        }
        powers
    }

    /// Returns the paths, alike ones as one, the worst first.
    pub(super) fn reported(&self, classes: &mut ClassNumbers<'_>) -> Vec<ReportedPath> {
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
            let mut pairs = Vec::new();
            classes.names.each_pair(&members, &mut |subject, namespace| pairs.push((subject, namespace)));
            let mut members = MemberNumbers::of_pairs(pairs, &mut classes.names.table);
            // A path to a power of the whole cluster begins in the first namespace with an equal path.
            if !first.reaches.is_within_namespace() {
                members = members.with_first_namespaces();
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

impl Powers {
    /// Iterates over the positions of the powers of a subject.
    pub(super) fn of(&self, subject: u32) -> impl Iterator<Item = u32> {
        self.sets.of(subject).iter().copied()
    }

    /// Iterates over the powers at positions.
    pub(super) fn at(&self, positions: &[u32]) -> impl Iterator<Item = &ReportedPower> {
        positions.iter().filter_map(|position| self.all.get(*position as usize))
    }
}

impl PowerSets {
    fn new() -> Self {
        Self { different: vec![Vec::new()], of_subjects: Vec::new(), with_another: HashMap::new() }
    }

    /// Returns the set of a subject.
    fn of(&self, subject: u32) -> &[u32] {
        let number = self.of_subjects.get(subject as usize).map_or(0, |number| *number as usize);
        self.different.get(number).map_or(&[], Vec::as_slice)
    }

    /// Adds a power to the set of a subject. The powers come in the order of their positions; the same power can come twice.
    fn add(&mut self, subject: u32, position: u32) {
        if self.of(subject).last() == Some(&position) {
            return;
        }
        let index = subject as usize;
        if self.of_subjects.len() <= index {
            self.of_subjects.resize(index + 1, 0);
        }
        let Self { different, of_subjects, with_another } = self;
        let Some(set) = of_subjects.get_mut(index) else { return };
        *set = *with_another.entry((*set, position)).or_insert_with(|| {
            let before = different.get(*set as usize).into_iter().flatten().copied();
            different.push(before.chain([position]).collect());
            internal::number(different.len() - 1)
        });
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

#[cfg(test)]
mod tests {
    use super::PowerSets;

    #[test]
    fn subjects_with_the_same_powers_share_a_set() {
        let mut sets = PowerSets::new();
        for (subject, power) in [(4, 0), (1, 0), (4, 0), (1, 2), (4, 2), (2, 2)] {
            sets.add(subject, power);
        }
        let of = |subject| sets.of(subject).to_vec();
        assert_eq!([0, 1, 2, 4, 9].map(of), [vec![], vec![0, 2], vec![2], vec![0, 2], vec![]]);
        assert_eq!(sets.different, [vec![], vec![0], vec![0, 2], vec![2]]);
    }
}
