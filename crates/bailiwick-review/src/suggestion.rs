//! AccessTests that a review suggests: expectations that fail in the reviewed state and pass in the earlier one.
//!
//! Each expectation is asked of both states before it is suggested, as `bailiwick test` asks it.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_access::who_can::PermissionScope;
use bailiwick_access::world::account_user;
use bailiwick_analysis::subject_classes::Member;
use bailiwick_analysis::test::TestRun;
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_paths::{Certainty, EscalationGraph, Power};
use bailiwick_policy::kinds;
use bailiwick_policy::model::{AccessCheck, Expectation, PathCheck, PolicyMeta, Tested};
use bailiwick_workspace::Workspace;
use bailiwick_workspace::words::in_group;
use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::{self as yaml, write};
use serde_json::{Map, Value, json};

use super::access::AccessDelta;
use super::paths::{PathDelta, graph};
use super::record::{EffectChange, EffectSeverity, Scope};
use super::state::TargetState;

/// The policy kind of a suggestion.
const KIND: &str = "AccessTest";

/// The most suggested expectations.
const MAXIMUM_SUGGESTED: usize = 5;

/// The most new paths, and the most effects without a path, with a question about a target.
const MAXIMUM_ASKED: usize = 20;

/// The most letters of the name of a suggested test that are from the name of a subject.
const MAXIMUM_NAME: usize = 40;

/// The part of an expectation beside the subject.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Question {
    /// The subject must not become a power.
    NotBecome { power: Power, allows_possible: bool },
    /// The subject must not have a right: one verb on one resource or URL.
    NotHave { right: PolicyRule, namespace: Option<String> },
}

/// An expectation that fails in the reviewed state and passes in the earlier one.
#[derive(Debug, Clone)]
pub(super) struct Suggestion {
    subject: String,
    question: Question,
    certainty: Certainty,
    severity: EffectSeverity,
    /// The same for alike paths of several tenants; empty for a right.
    shape: Vec<String>,
    /// The targets on which it fails and passes.
    targets: Vec<String>,
}

/// The suggestions of a review.
#[derive(Default)]
pub(super) struct Suggestions {
    found: Vec<Suggestion>,
    /// Expectations that are asked of the reviewed state alone.
    asked: Vec<Suggestion>,
    /// The positions of the asked expectations that fail, or that cannot be asked.
    failed: BTreeSet<usize>,
}

impl Suggestions {
    /// Creates suggestions of another review, to be asked of the reviewed state of this one.
    pub(super) fn to_ask(asked: Vec<Suggestion>) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Returns the positions of the asked expectations that fail.
    pub(super) fn failed(&self) -> &BTreeSet<usize> {
        &self.failed
    }

    /// Asks the expectations of another review about a target, or finds expectations about its new paths and dangerous gains.
    pub(super) fn add_target(
        &mut self,
        base: &TargetState<'_>,
        head: &TargetState<'_>,
        paths: &[PathDelta],
        access: &[AccessDelta],
    ) {
        if self.asked.is_empty() { self.find(base, head, paths, access) } else { self.ask(head) }
    }

    fn ask(&mut self, head: &TargetState<'_>) {
        let target = &head.target.name;
        let of_target = self.asked.iter().enumerate().filter(|(_, suggestion)| suggestion.targets.contains(target));
        let graph = graph(head, &[]);
        let failed = of_target.filter(|(_, suggestion)| suggestion.passes(head, graph.as_ref()) != Some(true));
        self.failed.extend(failed.map(|(position, _)| position));
    }

    fn find(&mut self, base: &TargetState<'_>, head: &TargetState<'_>, paths: &[PathDelta], access: &[AccessDelta]) {
        let mut candidates: Vec<Vec<Suggestion>> = of_paths(paths);
        candidates.extend(of_gains(paths, access, head));
        if candidates.is_empty() {
            return;
        }
        let (before, after) = (graph(base, &[]), graph(head, &[]));
        for forms in candidates {
            let holds = |form: &&Suggestion| {
                form.passes(base, before.as_ref()) == Some(true) && form.passes(head, after.as_ref()) == Some(false)
            };
            if let Some(found) = forms.iter().find(holds) {
                self.add(found.clone(), &head.target.name);
            }
        }
    }

    fn add(&mut self, suggestion: Suggestion, target: &str) {
        let is_same =
            |known: &&mut Suggestion| (&known.subject, &known.question) == (&suggestion.subject, &suggestion.question);
        match self.found.iter_mut().find(is_same) {
            Some(known) => known.targets.push(target.to_owned()),
            None => self.found.push(Suggestion { targets: vec![target.to_owned()], ..suggestion }),
        }
    }

    /// Returns the expectation about a path.
    pub(super) fn about(&self, path: &PathDelta) -> Option<&Suggestion> {
        let is_it = |suggestion: &&Suggestion| match &suggestion.question {
            Question::NotBecome { power, .. } => {
                suggestion.subject == path.subject && power.to_string() == path.reaches
            }
            Question::NotHave { .. } => false,
        };
        self.found.iter().find(is_it)
    }

    /// Returns the suggested tests as YAML: expectations about the worst powers, and about gains without a path.
    pub(super) fn text(mut self, head: &Workspace) -> Option<String> {
        let has_proven = self.found.iter().any(|one| one.is_about_power() && one.certainty == Certainty::Proven);
        self.found.retain(|one| !one.is_about_power() || !has_proven || one.certainty == Certainty::Proven);
        self.found.sort_by_key(|one| (std::cmp::Reverse(one.severity), !one.is_about_power()));
        // The first of alike tenants stands for the others.
        let mut shapes: BTreeSet<Vec<String>> = BTreeSet::new();
        self.found.retain(|one| one.shape.is_empty() || shapes.insert(one.shape.clone()));
        self.found.truncate(MAXIMUM_SUGGESTED);
        let mut tests: Vec<Vec<&Suggestion>> = Vec::new();
        for suggestion in &self.found {
            match tests.iter_mut().find(|test| test.iter().all(|one| one.is_of_same_test(suggestion))) {
                Some(test) => test.push(suggestion),
                None => tests.push(vec![suggestion]),
            }
        }
        let mut names = known_names(head);
        let texts: Vec<String> = tests.iter().map(|test| text_of_test(test, head, &mut names)).collect();
        (!texts.is_empty()).then(|| texts.join(write::SEPARATOR))
    }
}

impl Suggestion {
    /// Returns the expectation as an AccessTest.
    pub(super) fn text(&self, head: &Workspace) -> String {
        text_of_test(&[self], head, &mut known_names(head))
    }

    fn is_about_power(&self) -> bool {
        matches!(self.question, Question::NotBecome { .. })
    }

    /// Whether one test can have both expectations.
    fn is_of_same_test(&self, other: &Self) -> bool {
        let allows = |one: &Self| matches!(one.question, Question::NotBecome { allows_possible: true, .. });
        (&self.subject, &self.targets, allows(self)) == (&other.subject, &other.targets, allows(other))
    }

    /// Returns whether the expectation holds in a state; none if it cannot be asked.
    fn passes(&self, state: &TargetState<'_>, graph: Option<&EscalationGraph<'_>>) -> Option<bool> {
        let (meta, who) = (meta(), vec![tested(&self.subject)?]);
        let mut run = TestRun::default();
        match &self.question {
            Question::NotBecome { power, allows_possible } => {
                let (power, allows_possible) = (power.clone(), *allows_possible);
                let check = PathCheck { meta, who, power, allows_possible, origin: Origin::default() };
                run.ask_paths(&state.loaded, graph?, &[&check], &mut |_| {});
            }
            Question::NotHave { right, namespace } => {
                let check = AccessCheck {
                    meta,
                    who,
                    expectation: Expectation::MustNot,
                    origin: Origin::default(),
                    verbs: right.verbs.clone(),
                    resources: resource(right).into_iter().collect(),
                    namespaces: namespace.iter().cloned().collect(),
                    names: right.resource_names.clone(),
                    urls: right.non_resource_urls.clone(),
                };
                run.ask(&state.loaded, &[&check], &mut |_| {});
            }
        }
        (run.questions > 0).then_some(run.failures == 0)
    }
}

/// Returns the expectations about the worst new paths, each in the forms in which it can pass in the earlier state.
fn of_paths(paths: &[PathDelta]) -> Vec<Vec<Suggestion>> {
    let mut new: Vec<&PathDelta> =
        paths.iter().filter(|path| path.is_new() && path.severity >= EffectSeverity::High).collect();
    new.sort_by_key(|path| (std::cmp::Reverse(path.severity), path.certainty, path.reaches.parse::<Power>().ok()));
    let forms = |path: &&PathDelta| {
        let power: Power = path.reaches.parse().ok()?;
        // A proven path can be new where a possible one is not.
        let allowed = if path.certainty == Certainty::Proven { &[false, true][..] } else { &[false] };
        let form = |allows_possible: &bool| Suggestion {
            subject: path.subject.clone(),
            question: Question::NotBecome { power: power.clone(), allows_possible: *allows_possible },
            certainty: path.certainty,
            severity: path.severity,
            shape: path.shape.clone(),
            targets: Vec::new(),
        };
        Some(allowed.iter().map(form).collect())
    };
    new.iter().take(MAXIMUM_ASKED).filter_map(forms).collect()
}

/// Returns the expectations about dangerous gains of subjects without a new path.
fn of_gains(paths: &[PathDelta], access: &[AccessDelta], head: &TargetState<'_>) -> Vec<Vec<Suggestion>> {
    let with_path: BTreeSet<&str> = paths
        .iter()
        .filter(|path| path.is_new())
        .flat_map(|path| &path.members)
        .map(|one| one.subject.as_str())
        .collect();
    let is_dangerous = |delta: &&AccessDelta| {
        delta.change == EffectChange::Gained
            && delta.severity >= EffectSeverity::High
            && delta.members.first().is_some_and(|member| !with_path.contains(member.subject.as_str()))
    };
    let forms = |delta: &AccessDelta| {
        let member = delta.members.first()?;
        let namespace = member.namespaces.first().filter(|_| delta.scope == Scope::Namespaces);
        let form = |right: &PolicyRule| Suggestion {
            subject: member.subject.clone(),
            question: Question::NotHave { right: right.clone(), namespace: namespace.cloned() },
            certainty: Certainty::Proven,
            severity: delta.severity,
            shape: Vec::new(),
            targets: Vec::new(),
        };
        Some(requested_rights(delta, member, head).into_iter().map(form).collect())
    };
    access.iter().filter(is_dangerous).take(MAXIMUM_ASKED).filter_map(forms).collect()
}

/// Returns the rights of a gain that a request can have, the worst first. A request has no star.
fn requested_rights<'d>(delta: &'d AccessDelta, member: &Member, head: &TargetState<'_>) -> Vec<&'d PolicyRule> {
    let scope = match member.namespaces.first() {
        Some(namespace) => PermissionScope::Namespace(namespace.clone()),
        None => PermissionScope::Cluster,
    };
    let has_star = |atom: &PolicyRule| {
        let parts = [&atom.verbs, &atom.api_groups, &atom.resources, &atom.non_resource_urls];
        parts.into_iter().flatten().any(|part| part.contains('*'))
    };
    let severity = |atom: &&PolicyRule| {
        let worst = head.loaded.world.worst_risk(&member.subject, &scope, std::slice::from_ref(*atom));
        std::cmp::Reverse(worst.map(|(_, severity)| severity))
    };
    let mut rights: Vec<&PolicyRule> = delta.atoms.iter().filter(|atom| !has_star(atom)).take(MAXIMUM_ASKED).collect();
    rights.sort_by_cached_key(severity);
    rights
}

/// Returns the resource of a right, as an AccessTest names it; none for a URL.
fn resource(right: &PolicyRule) -> Option<String> {
    let (resource, group) = (right.resources.first()?, absent::text(right.api_groups.first().map(String::as_str)));
    Some(if group.is_empty() { resource.clone() } else { in_group(resource, group) })
}

/// Returns the head of a test that is in no file.
fn meta() -> PolicyMeta {
    PolicyMeta {
        kind: KIND,
        name: Arc::from(""),
        origin: Origin::default(),
        targets: Arc::default(),
        common_metadata: Arc::default(),
    }
}

/// Returns a subject as a test names it; none for another text.
fn tested(subject: &str) -> Option<Tested> {
    match subject.split_once('/')? {
        ("User", name) => Some(Tested::User(name.to_owned())),
        ("Group", name) => Some(Tested::Group(name.to_owned())),
        ("ServiceAccount", name) => {
            let (namespace, name) = name.split_once('/')?;
            Some(Tested::User(account_user(namespace, name)))
        }
        _ => None,
    }
}

/// Returns the names of the AccessTests of a workspace.
fn known_names(workspace: &Workspace) -> BTreeSet<String> {
    let tests = workspace.project().policies.iter().map(|policy| policy.meta()).filter(|meta| meta.kind == KIND);
    tests.map(|meta| meta.name.to_string()).collect()
}

/// Returns a new name for a test about a subject.
fn new_name(subject: &str, known: &mut BTreeSet<String>) -> String {
    let own = absent::text(subject.split_once('/').map(|(_, name)| name));
    let letters =
        own.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let own: String = letters.take(MAXIMUM_NAME).collect();
    let stem = match own.trim_matches('-') {
        "" => "limits".to_owned(),
        own => format!("limits-of-{own}"),
    };
    let numbered = (2..).map(|number| format!("{stem}-{number}"));
    let free = std::iter::once(stem.clone()).chain(numbered).find(|name| !known.contains(name));
    let name = free.map_or(stem, |name| name);
    known.insert(name.clone());
    name
}

/// Returns expectations about a subject as an AccessTest in YAML.
fn text_of_test(expectations: &[&Suggestion], head: &Workspace, names: &mut BTreeSet<String>) -> String {
    let Some(first) = expectations.first() else { return String::new() };
    let mut spec = Map::new();
    if first.targets.len() < head.project().workspace.targets.len() {
        spec.insert("targets".to_owned(), json!(first.targets));
    }
    spec.insert("who".to_owned(), who(&first.subject));
    let (mut rights, mut powers) = (Vec::new(), Vec::new());
    for expectation in expectations {
        match &expectation.question {
            Question::NotBecome { power, .. } => powers.push(json!(power)),
            Question::NotHave { right, namespace } => rights.push(access(right, namespace.as_deref())),
        }
    }
    let allows_possible = matches!(first.question, Question::NotBecome { allows_possible: true, .. });
    let parts = [("mustNot", rights), ("mustNotBecome", powers)];
    let filled = parts.into_iter().filter(|(_, list)| !list.is_empty());
    spec.extend(filled.map(|(key, list)| (key.to_owned(), Value::Array(list))));
    if allows_possible {
        spec.insert("allowPossible".to_owned(), json!(true));
    }
    let test = json!({
        "apiVersion": kinds::API_VERSION,
        "kind": KIND,
        "metadata": {"name": new_name(&first.subject, names)},
        "spec": spec,
    });
    let mut text = String::new();
    yaml::from_json(&test).documents().for_each(|document| write::document(document, &mut text));
    text
}

/// Returns the subject of a test.
fn who(subject: &str) -> Value {
    match subject.split_once('/') {
        Some(("Group", name)) => json!({"groups": [name]}),
        Some(("ServiceAccount", account)) => {
            let account =
                account.split_once('/').map(|(namespace, name)| json!({"name": name, "namespace": namespace}));
            json!({"serviceAccounts": account.into_iter().collect::<Vec<_>>()})
        }
        Some((_, name)) => json!({"users": [name]}),
        None => json!({"users": [subject]}),
    }
}

/// Returns an expectation about a right.
fn access(right: &PolicyRule, namespace: Option<&str>) -> Value {
    let mut access = Map::new();
    let list = |texts: &[String]| json!(texts);
    access.insert("verbs".to_owned(), list(&right.verbs));
    match resource(right) {
        Some(resource) => access.insert("resources".to_owned(), json!([resource])),
        None => access.insert("urls".to_owned(), list(&right.non_resource_urls)),
    };
    if let Some(namespace) = namespace {
        access.insert("namespaces".to_owned(), json!([namespace]));
    }
    if !right.resource_names.is_empty() {
        access.insert("names".to_owned(), list(&right.resource_names));
    }
    Value::Object(access)
}
