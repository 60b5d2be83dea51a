//! Puts the sections of a review together: joins equal changes of several targets, orders them, and numbers classes and causes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_access::cover;
use bailiwick_analysis::account_names::{AccountNames, common_forms};
use bailiwick_analysis::classes::Spread;
use bailiwick_analysis::compare::Comparison;
use bailiwick_analysis::path_step::ReviewedStep;
use bailiwick_analysis::subject_classes::{ClassDraft, Member, NameTable, SubjectClass};
use bailiwick_git::Repository;
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_paths::Power;
use bailiwick_policy::model::ApprovalRule;
use bailiwick_workspace::fingerprint::{fingerprint, second_fingerprint};
use bailiwick_workspace::review_base::{OpenedBase, ReviewedBase};
use bailiwick_workspace::words::number;
use bailiwick_workspace::{Diagnostics, FindingRecord, Workspace};

use super::access::AccessDelta;
use super::accounts::AccountComparison;
use super::approvals::{have_rules_changed, on_targets_of};
use super::causes::{CausePlace, InputChanges};
use super::findings::FindingComparison;
use super::lifetimes::LifetimeDelta;
use super::paths::PathDelta;
use super::pods::PodDelta;
use super::record::{
    AccessChange, ApplierChange, ApprovalState, Cause, CauseKind, ChangeReview, ComparedSection, EffectChange,
    EffectSeverity, GroundChange, Hazard, LifetimeChange, NodeChange, ObjectChanges, ObjectShape, PathChange,
    PathChangeKind, PodChange, ReviewedHead, Scope, SmallerChange,
};
use super::state::TargetState;
use super::suggestion::Suggestions;
use super::tests::TestComparison;
use super::verdict::{self, Judged};
use super::{ReviewOptions, approvable, errors, ground, hazards, members};

/// The sections of a claim that a change has no effect.
const SECTIONS: [&str; 6] = ["access", "pods", "admission", "nodes", "applier", "lifetimes"];

/// The section of differing objects whose effect is not compared, such as quotas. It takes no part in the verdict.
pub(super) const OTHER_OBJECTS: &str = "other objects";

/// The kinds of objects that a section compares.
const COMPARED_KINDS: [&str; 14] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "Group",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "PodSecurityPolicy",
    "Role",
    "RoleBinding",
    "SecurityContextConstraints",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// The sections of a review, as they are found target by target.
pub(super) struct Sections<'r> {
    head: &'r Workspace,
    inputs: &'r InputChanges<'r>,
    below: &'r str,
    pub(super) spread: &'r Spread<'r>,
    base: ReviewedBase,
    pub(super) access: Vec<AccessDelta>,
    pub(super) paths: Vec<PathDelta>,
    pub(super) accounts: AccountComparison,
    pub(super) ground: Vec<GroundChange>,
    pub(super) pods: Vec<PodDelta>,
    pub(super) hazards: Vec<Hazard>,
    pub(super) nodes: Vec<NodeChange>,
    pub(super) applier: Vec<ApplierChange>,
    pub(super) lifetimes: Vec<LifetimeDelta>,
    pub(super) tests: TestComparison,
    pub(super) suggestions: Suggestions,
    pub(super) findings: FindingComparison,
    pub(super) compared_targets: BTreeSet<String>,
    objects: ObjectChanges,
    /// The kinds of differing objects that no section compares.
    other_kinds: BTreeSet<String>,
    pub(super) head_state: ReviewedHead,
    /// The names of missing objects that differ between the states, by section.
    unknown: BTreeMap<&'static str, BTreeSet<String>>,
    diagnostics: Vec<FindingRecord>,
    /// The earlier policies, if they could be compiled.
    before: Option<&'r Workspace>,
}

impl<'r> Sections<'r> {
    /// Creates the sections of a review without changes.
    pub(super) fn new(
        head: &'r Workspace,
        base: &'r OpenedBase,
        inputs: &'r InputChanges<'r>,
        below: &'r str,
        spread: &'r Spread<'r>,
    ) -> Self {
        Self {
            head,
            inputs,
            below,
            spread,
            base: base.record.clone(),
            access: Vec::new(),
            paths: Vec::new(),
            accounts: AccountComparison::default(),
            ground: Vec::new(),
            pods: Vec::new(),
            hazards: Vec::new(),
            nodes: Vec::new(),
            applier: Vec::new(),
            lifetimes: Vec::new(),
            tests: TestComparison::default(),
            suggestions: Suggestions::default(),
            findings: FindingComparison::default(),
            compared_targets: BTreeSet::new(),
            objects: ObjectChanges::default(),
            other_kinds: BTreeSet::new(),
            head_state: reviewed_head(head),
            unknown: BTreeMap::new(),
            diagnostics: Vec::new(),
            before: base.workspace(),
        }
    }

    /// Adds changes of access. A change that another target has, too, gets the further target.
    pub(super) fn add_access(&mut self, deltas: Vec<AccessDelta>) {
        for delta in deltas {
            let is_same = |known: &&mut AccessDelta| {
                (known.change, known.scope, &known.atoms, &known.members)
                    == (delta.change, delta.scope, &delta.atoms, &delta.members)
            };
            match self.access.iter_mut().find(is_same) {
                Some(known) => {
                    known.targets.extend(delta.targets);
                    known.severity = known.severity.max(delta.severity);
                    let new = delta.causes.into_iter().filter(|cause| !known.causes.contains(cause));
                    let new: Vec<CausePlace> = new.collect();
                    known.causes.extend(new);
                }
                None => self.access.push(delta),
            }
        }
    }

    /// Adds changes of paths. A change that another target has, too, gets the further target.
    pub(super) fn add_paths(&mut self, deltas: Vec<PathDelta>) {
        for delta in deltas {
            let is_same = |known: &&mut PathDelta| {
                (known.change, known.certainty, &known.reaches, &known.members)
                    == (delta.change, delta.certainty, &delta.reaches, &delta.members)
                    && known.steps.iter().map(step_key).eq(delta.steps.iter().map(step_key))
            };
            match self.paths.iter_mut().find(is_same) {
                Some(known) => known.targets.extend(delta.targets),
                None => self.paths.push(delta),
            }
        }
    }

    /// Orders the changes of paths as they are reported.
    pub(super) fn sort_paths(&mut self) {
        sort_paths(&mut self.paths);
    }

    /// Adds smaller changes that close paths, by the positions of the paths.
    pub(super) fn add_smaller_changes(&mut self, changes: Vec<(usize, SmallerChange)>) {
        for (position, change) in changes {
            self.paths.get_mut(position).into_iter().for_each(|path| path.closes = Some(change.clone()));
        }
    }

    /// Whether every missing object of these sections is missing in other sections, too.
    pub(super) fn has_only_unknowns_of(&self, other: &Sections<'_>) -> bool {
        let is_known =
            |section: &str, name: &String| other.unknown.get(section).is_some_and(|names| names.contains(name));
        self.unknown.iter().all(|(section, names)| names.iter().all(|name| is_known(section, name)))
    }

    /// Adds the errors of earlier policies that do not compile: their effects are unknown.
    pub(super) fn add_broken_base(&mut self, diagnostics: &Diagnostics) {
        self.diagnostics.extend(diagnostics.records());
        let what = format!("the base, whose policies have {}", number(errors(diagnostics), "error"));
        self.unknown.entry("access").or_default().insert(what);
    }

    /// Adds the roles that are bound and missing in one state alone, or bound to other subjects: the rights of their subjects are not
    /// known.
    pub(super) fn add_unknown(&mut self, base: &TargetState<'_>, head: &TargetState<'_>) {
        let (before, after) = (ground::missing_roles(base), ground::missing_roles(head));
        let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let names = all.into_iter().filter(|name| before.get(*name) != after.get(*name));
        let names: BTreeSet<String> = names.cloned().collect();
        let names: BTreeSet<String> = names.into_iter().chain(members::unknown(base, head)).collect();
        if !names.is_empty() {
            self.unknown.entry("access").or_default().extend(names);
        }
        let readers = members::readers(base, head);
        if !readers.is_empty() {
            self.unknown.entry("admission").or_default().extend(readers);
        }
    }

    /// Adds the differences of the output, and the kinds of differing objects that no section compares.
    pub(super) fn add_objects(&mut self, comparison: &Comparison) {
        for target in &comparison.targets {
            let differing = target.totals.by_kind.iter().filter(|(kind, counts)| {
                counts.created + counts.changed + counts.deleted > 0 && !COMPARED_KINDS.contains(&kind.as_str())
            });
            self.other_kinds.extend(differing.map(|(kind, _)| kind.clone()));
            self.objects.counts.insert(target.target.clone(), target.totals.counts);
            self.objects.shapes.extend(shapes(&target.diff, &target.target));
        }
        self.objects.shapes = with_equal_joined(std::mem::take(&mut self.objects.shapes));
        self.objects.left_out = comparison.left_out;
    }

    /// Returns the review of policies that do not compile.
    pub(super) fn invalid(mut self, diagnostics: &Diagnostics) -> ChangeReview {
        let earlier = std::mem::take(&mut self.diagnostics);
        let mut review = invalid(self.below, self.base, self.head_state, diagnostics);
        review.diagnostics.extend(earlier);
        review
    }

    fn empty(self) -> ChangeReview {
        ChangeReview { diagnostics: self.diagnostics, ..ChangeReview::empty(self.below, self.base, self.head_state) }
    }

    /// Returns the review.
    pub(super) fn finish(mut self, options: &ReviewOptions) -> ChangeReview {
        let (head, before, inputs) = (self.head, self.before, self.inputs);
        let states = [Some(self.head), self.before];
        let mut numbering = Numbering::new(self.inputs, self.spread, &states);
        let access = std::mem::take(&mut self.access);
        let tests = std::mem::take(&mut self.tests);
        let mut tests = tests.finish(self.before, self.head, &self.inputs.path_from_root(""), &self.findings.hiding);
        tests.suggested = std::mem::take(&mut self.suggestions).text(self.head);
        let paths = paths(std::mem::take(&mut self.paths), &mut numbering);
        let mut effects = effects(access, &mut numbering);
        add_opened_powers(&mut effects, &paths, &numbering.subjects);
        let pods = pods(std::mem::take(&mut self.pods), &mut numbering);
        let lifetimes = self.lifetime_changes(&mut numbering);
        let mut hazards = hazards::joined(std::mem::take(&mut self.hazards));
        self.add_causes_of_hazards(&mut hazards, &mut numbering);
        let compared = self.compared();
        let (accounts, objects) = (self.accounts.record(self.spread), std::mem::take(&mut self.objects));
        let (findings, mut ground) = (std::mem::take(&mut self.findings.changes), std::mem::take(&mut self.ground));
        ground.sort();
        let (nodes, applier) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.applier));
        let mut review = ChangeReview {
            compared,
            ground,
            accounts,
            effects,
            paths,
            pods,
            nodes,
            applier,
            lifetimes,
            hazards,
            objects,
            tests,
            findings,
            ..self.empty()
        };
        (review.causes, review.classes) = (numbering.causes, numbering.classes);
        let rules: Vec<&ApprovalRule> = before.into_iter().flat_map(|base| base.project().facts.all()).collect();
        let present: Vec<&ApprovalRule> = head.project().facts.all().collect();
        let has_other_rules = before.is_some() && have_rules_changed(&rules, &present);
        let effects = approvable::effects(&review, has_other_rules);
        let files = before.map_or(&head.project().files, |base| &base.project().files);
        let earlier = before.map_or(&[][..], |base| &base.project().workspace.targets);
        let rules = on_targets_of(&rules, earlier, &head.project().workspace.targets);
        let rules: Vec<&ApprovalRule> = rules.iter().collect();
        let mut approvals = ApprovalState::new(&rules, &effects, &options.approved_by, files);
        for rule in approvals.needed.iter_mut().filter_map(|needed| needed.rule.as_mut()) {
            *rule = inputs.path_from_root(rule);
        }
        let Judged { verdict, line, severity, exit, approvals } = verdict::judge(&review, &effects, approvals);
        ChangeReview { verdict: Some(verdict), line, severity, exit, approvals, ..review }
    }

    fn lifetime_changes(&self, numbering: &mut Numbering<'_>) -> Vec<LifetimeChange> {
        let mut changes: Vec<LifetimeChange> = self
            .lifetimes
            .iter()
            .map(|delta| LifetimeChange {
                kind: delta.kind.to_owned(),
                grant: delta.grant.clone(),
                before: delta.before.map(|date| date.to_string()),
                after: delta.after.map(|date| date.to_string()),
                direction: delta.direction,
                severity: delta.severity(),
                causes: numbering.causes(&delta.causes),
            })
            .collect();
        changes.sort_by(|left, right| right.severity.cmp(&left.severity).then_with(|| left.grant.cmp(&right.grant)));
        changes
    }

    /// Names the first changed line about the accounts or the target of a hazard.
    fn add_causes_of_hazards(&self, hazards: &mut [Hazard], numbering: &mut Numbering<'_>) {
        for hazard in hazards.iter_mut().filter(|hazard| hazard.severity > EffectSeverity::Info) {
            let of_account =
                hazard.namespaces.first().and_then(|name| self.inputs.with_word(name, CauseKind::AccountRow));
            let found = of_account.or_else(|| self.inputs.first(CauseKind::File));
            hazard.causes = numbering.causes(&found.into_iter().collect::<Vec<_>>());
        }
    }

    fn compared(&self) -> Vec<ComparedSection> {
        let targets: Vec<String> = self.compared_targets.iter().cloned().collect();
        let section = |name: &str| {
            let why: Vec<String> = self.unknown.get(name).into_iter().flatten().cloned().collect();
            ComparedSection { section: name.to_owned(), targets: targets.clone(), comparable: why.is_empty(), why }
        };
        let mut sections: Vec<ComparedSection> = SECTIONS.into_iter().map(section).collect();
        if !self.other_kinds.is_empty() {
            let why = self.other_kinds.iter().cloned().collect();
            let section = OTHER_OBJECTS.to_owned();
            sections.push(ComparedSection { section, targets: targets.clone(), comparable: false, why });
        }
        sections
    }
}

/// Returns the review of policies that do not compile.
pub(super) fn invalid(
    workspace: &str,
    base: ReviewedBase,
    head: ReviewedHead,
    diagnostics: &Diagnostics,
) -> ChangeReview {
    ChangeReview {
        line: format!("the policies do not compile: {}", number(errors(diagnostics), "error")),
        exit: 2,
        diagnostics: diagnostics.records().collect(),
        ..ChangeReview::empty(workspace, base, head)
    }
}

/// Returns the reviewed state with an output that was not compared.
fn reviewed_head(head: &Workspace) -> ReviewedHead {
    let repository = Repository::find(head.root()).ok().flatten();
    let commit = repository.and_then(|repository| repository.commit("HEAD").ok().flatten());
    ReviewedHead { commit, ..ReviewedHead::default() }
}

/// Numbers the classes and causes of a review in the order in which they are used.
pub(super) struct Numbering<'i> {
    inputs: &'i InputChanges<'i>,
    causes: Vec<Cause>,
    places: BTreeMap<CausePlace, usize>,
    spread: &'i Spread<'i>,
    classes: Vec<SubjectClass>,
    /// The subjects of each class in the sample of the namespaces.
    subjects: Vec<BTreeSet<String>>,
    by_members: BTreeMap<(Vec<Member>, bool), usize>,
    /// The accounts of the namespaces on each target, of the reviewed state first.
    accounts: Vec<AccountNames<'i>>,
}

impl<'i> Numbering<'i> {
    fn new(inputs: &'i InputChanges<'i>, spread: &'i Spread<'i>, states: &[Option<&'i Workspace>]) -> Self {
        let accounts = |state: &&'i Workspace| {
            let (state, targets) = (*state, &state.project().workspace.targets);
            targets.iter().map(|target| AccountNames::of_target(state, target)).collect::<Vec<_>>()
        };
        Self {
            accounts: states.iter().flatten().flat_map(accounts).collect(),
            inputs,
            causes: Vec::new(),
            places: BTreeMap::new(),
            spread,
            classes: Vec::new(),
            subjects: Vec::new(),
            by_members: BTreeMap::new(),
        }
    }

    /// Returns the numbers of causes.
    pub(super) fn causes(&mut self, places: &[CausePlace]) -> Vec<usize> {
        let mut numbers = Vec::new();
        for place in places {
            let next = self.causes.len();
            let number = match self.places.get(place) {
                Some(number) => *number,
                None => {
                    let Some(cause) = self.inputs.record(*place, next) else { continue };
                    self.causes.push(cause);
                    self.places.insert(*place, next);
                    next
                }
            };
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        numbers
    }

    /// Returns the number of the class with these members of the sample of the namespaces.
    pub(super) fn class(&mut self, members: Vec<Member>) -> usize {
        self.class_of(members, false)
    }

    /// Returns the number of the class with these members of the sample of the namespaces, each with the first namespace in which
    /// an equal path begins.
    fn class_with_first_namespaces(&mut self, members: Vec<Member>) -> usize {
        self.class_of(members, true)
    }

    fn class_of(&mut self, members: Vec<Member>, is_first: bool) -> usize {
        let key = (members, is_first);
        if let Some(number) = self.by_members.get(&key) {
            return *number;
        }
        let (members, id) = (key.0.clone(), self.classes.len());
        let scopes = members.iter().flat_map(|member| member.scopes().map(|scope| (member.subject.as_str(), scope)));
        let of_accounts = common_forms(&self.accounts, scopes);
        self.by_members.insert(key, id);
        self.subjects.push(members.iter().map(|member| member.subject.clone()).collect());
        let mut names = NameTable::default();
        let mut members = self.spread.member_numbers(&members, &mut names);
        if is_first {
            members = members.with_first_namespaces();
        }
        let draft = ClassDraft::new(of_accounts, members, &names);
        self.classes.push(draft.finish(id, &names.finish()));
        id
    }
}

/// Orders changes of access: the worst first, then the widest, gains before losses, then by name.
fn effects(mut deltas: Vec<AccessDelta>, numbering: &mut Numbering<'_>) -> Vec<AccessChange> {
    let width = |delta: &AccessDelta| {
        let namespaces: BTreeSet<&String> = delta.members.iter().flat_map(|member| &member.namespaces).collect();
        let width: usize = namespaces.into_iter().map(|name| numbering.spread.weight(name)).sum();
        (delta.scope, usize::MAX - width)
    };
    deltas.sort_by(|left, right| {
        let key = |delta: &AccessDelta| (std::cmp::Reverse(delta.severity), width(delta), delta.change);
        key(left).cmp(&key(right)).then_with(|| (&left.members, &left.atoms).cmp(&(&right.members, &right.atoms)))
    });
    let lost: Vec<(Scope, Vec<PolicyRule>, String)> = deltas
        .iter()
        .filter(|delta| delta.change == EffectChange::Lost)
        .filter_map(|delta| Some((delta.scope, delta.atoms.clone(), delta.members.first()?.subject.clone())))
        .collect();
    let record = |(id, delta): (usize, AccessDelta)| {
        let as_subject = lost.iter().find(|(scope, atoms, _)| {
            delta.change == EffectChange::Gained && *scope == delta.scope && *atoms == delta.atoms
        });
        let as_subject = as_subject.map(|(_, _, subject)| subject.clone());
        let class = numbering.class(delta.members);
        let template = absent::text(numbering.classes.get(class).map(|class| class.template.as_str()));
        let rights = cover::compacted(&delta.atoms);
        let alike = delta.template.as_deref().map_or_else(|| rights.clone(), cover::compacted);
        let fingerprint = second_fingerprint(&(&alike, delta.change, template));
        AccessChange {
            id,
            change: delta.change,
            causes: numbering.causes(&delta.causes),
            class,
            targets: delta.targets,
            scope: delta.scope,
            rights,
            role: delta.role,
            as_subject,
            severity: delta.severity,
            rule: delta.rule.map(str::to_owned),
            opens: Vec::new(),
            indirect: delta.indirect,
            own_names: delta.own_names,
            fingerprint,
        }
    };
    deltas.into_iter().enumerate().map(record).collect()
}

/// Orders changes of paths: the worst ones first, new ones before others, then by the power and by name.
fn sort_paths(deltas: &mut [PathDelta]) {
    deltas.sort_by(|left, right| {
        let key = |delta: &PathDelta| (std::cmp::Reverse(delta.severity), delta.change, power(&delta.reaches));
        let size = |delta: &PathDelta| (delta.certainty, delta.steps.len());
        (key(left), size(left)).cmp(&(key(right), size(right))).then_with(|| {
            (&left.members, &left.reaches, &left.targets).cmp(&(&right.members, &right.reaches, &right.targets))
        })
    });
}

/// Returns changes of paths as they are reported.
fn paths(deltas: Vec<PathDelta>, numbering: &mut Numbering<'_>) -> Vec<PathChange> {
    let record = |(id, delta): (usize, PathDelta)| {
        let shape: Vec<&str> = delta.shape.iter().map(String::as_str).collect();
        let fingerprint = fingerprint(&shape);
        PathChange {
            id,
            change: delta.change,
            causes: numbering.causes(&delta.causes),
            class: match delta.within_namespace {
                true => numbering.class(delta.members),
                false => numbering.class_with_first_namespaces(delta.members),
            },
            targets: delta.targets,
            reaches: delta.reaches,
            severity: delta.severity,
            certainty: delta.certainty.word().to_owned(),
            steps: delta.steps,
            closes: delta.closes,
            fingerprint,
        }
    };
    deltas.into_iter().enumerate().map(record).collect()
}

/// Returns the power of a text, for the order of powers; an unknown one is the last.
fn power(text: &str) -> (bool, Option<Power>) {
    let power = text.parse::<Power>().ok();
    (power.is_none(), power)
}

/// Returns the edge, the namespace and the end of a step.
fn step_key(step: &ReviewedStep) -> (&str, Option<&str>, &str) {
    (&step.edge, step.namespace.as_deref(), &step.to)
}

/// Names the powers that the rights of an effect open, and raises its severity to the severity of the worst path.
fn add_opened_powers(effects: &mut [AccessChange], paths: &[PathChange], subjects: &[BTreeSet<String>]) {
    for effect in effects.iter_mut().filter(|effect| effect.change == EffectChange::Gained) {
        let Some(own) = subjects.get(effect.class) else { continue };
        for path in paths.iter().filter(|path| path.change != PathChangeKind::Gone) {
            if subjects.get(path.class).is_some_and(|subjects| !subjects.is_disjoint(own)) {
                effect.severity = effect.severity.max(path.severity);
                if !effect.opens.contains(&path.reaches) {
                    effect.opens.push(path.reaches.clone());
                }
            }
        }
    }
    effects.sort_by_key(|effect| std::cmp::Reverse(effect.severity));
    effects.iter_mut().enumerate().for_each(|(position, effect)| effect.id = position);
}

fn pods(deltas: Vec<PodDelta>, numbering: &mut Numbering<'_>) -> Vec<PodChange> {
    let spread = numbering.spread;
    let mut deltas: Vec<(Vec<String>, PodDelta)> =
        deltas.into_iter().map(|delta| (spread.all_namespaces(&delta.namespaces), delta)).collect();
    deltas.sort_by(|(left_names, left), (right_names, right)| {
        let key = |names: &Vec<String>, delta: &PodDelta| {
            (std::cmp::Reverse(delta.severity), usize::MAX - names.len(), delta.kind)
        };
        key(left_names, left)
            .cmp(&key(right_names, right))
            .then_with(|| (&left.target, left_names).cmp(&(&right.target, right_names)))
    });
    let record = |(id, (namespaces, delta)): (usize, (Vec<String>, PodDelta))| PodChange {
        id,
        kind: delta.kind,
        target: delta.target,
        namespaces,
        before: delta.before,
        after: delta.after,
        direction: delta.direction,
        certainty: delta.certainty,
        severity: delta.severity,
        details: delta.details,
        witnesses: delta.witnesses,
        refused: delta.refused,
        admitted: delta.admitted,
        causes: numbering.causes(&delta.causes),
    };
    deltas.into_iter().enumerate().map(record).collect()
}

/// Splits the difference of a target into the differences of its files.
fn shapes(diff: &str, target: &str) -> Vec<ObjectShape> {
    let mut shapes: Vec<ObjectShape> = Vec::new();
    for line in diff.split_inclusive('\n') {
        if line.starts_with("--- ") {
            let targets = vec![target.to_owned()];
            shapes.push(ObjectShape { count: 1, targets, sample: String::new(), diff: String::new() });
        }
        let Some(shape) = shapes.last_mut() else { continue };
        // Lines of a file begin with another character.
        if let Some(further) = line.strip_prefix("# ").and_then(|line| line.split(' ').next()) {
            shape.count += further.replace(',', "").parse::<usize>().map_or(0, |further| further);
        }
        if let Some(path) = line.strip_prefix("+++ b/").or_else(|| line.strip_prefix("--- a/")) {
            shape.sample = path.trim_end().to_owned();
        }
        shape.diff.push_str(line);
    }
    shapes
}

/// Joins differences with the same lines. The first file of each remains the sample.
fn with_equal_joined(shapes: Vec<ObjectShape>) -> Vec<ObjectShape> {
    let is_of_file = |line: &&str| !["--- ", "+++ ", "@@ "].iter().any(|start| line.starts_with(start));
    let mut positions: HashMap<String, usize> = HashMap::new();
    let mut joined: Vec<ObjectShape> = Vec::new();
    for shape in shapes {
        let lines: String = shape.diff.split_inclusive('\n').filter(is_of_file).collect();
        let next = joined.len();
        let position = *positions.entry(lines).or_insert(next);
        match joined.get_mut(position) {
            Some(first) => {
                first.count += shape.count;
                let new = shape.targets.into_iter().filter(|target| !first.targets.contains(target));
                first.targets.extend(new.collect::<Vec<_>>());
            }
            None => joined.push(shape),
        }
    }
    joined
}
