//! Questions about access: the smallest parts of all rules for all subjects, and random mixtures.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick::k8s::rbac::PolicyRule;
use serde_json::{Value, json};

use crate::oracle::{Dice, HeldRules, Naive};

/// A word that no rule names.
const ODD: &str = "odd";

/// The scopes of questions: the cluster, both namespaces, and a namespace without an object.
const SCOPES: [&str; 4] = ["", "a", "b", "zz"];

/// A question with its subject.
pub(super) struct Question {
    pub(super) subject: String,
    pub(super) scope: &'static str,
    pub(super) asked: Value,
}

/// The rules of each subject in each scope of a world.
pub(super) struct Answers<'n> {
    world: &'n Naive,
    held: BTreeMap<(String, String), HeldRules>,
}

impl<'n> Answers<'n> {
    pub(super) fn new(world: &'n Naive) -> Self {
        Self { world, held: BTreeMap::new() }
    }

    /// Whether the subject of a question may do what it names.
    pub(super) fn allow(&mut self, question: &Question) -> bool {
        let key = (question.subject.clone(), question.scope.to_owned());
        let held = self.held.entry(key).or_insert_with(|| self.world.held(&question.asked));
        held.allow(&question.asked)
    }
}

/// Returns `count` questions: one for each subject, scope and smallest part of the rules, first the parts of one side alone, and
/// random questions.
pub(super) fn questions(dice: &mut Dice, sides: [&[Value]; 2], further_rules: &[Value], count: usize) -> Vec<Question> {
    let objects: Vec<&Value> = sides.into_iter().flatten().collect();
    let subjects: Vec<String> = subjects(&objects).into_iter().collect();
    let [old, new] = sides.map(atoms);
    let differing: BTreeSet<PolicyRule> = old.symmetric_difference(&new).cloned().collect();
    let further = further_rules.iter().flat_map(|rule| policy_rule(rule).atoms());
    let common: Vec<PolicyRule> = old.intersection(&new).cloned().chain(further).collect();
    let about = |atom: &PolicyRule| {
        let about = |subject: &String| SCOPES.map(|scope| question_of(subject, atom, scope));
        subjects.iter().flat_map(about).collect::<Vec<_>>()
    };
    let mut questions: Vec<Question> = differing.iter().flat_map(about).collect();
    let mut others: Vec<Question> = common.iter().flat_map(about).collect();
    // Of many questions a short run asks some.
    while questions.len() < count && !others.is_empty() {
        questions.push(others.swap_remove(dice.below(others.len())));
    }
    let all: Vec<PolicyRule> = common.into_iter().chain(differing).collect();
    for _ in questions.len()..count {
        let (Some(subject), Some(left), Some(right)) = (dice.one_of(&subjects), dice.one_of(&all), dice.one_of(&all))
        else {
            break;
        };
        // Parts of two rules make a request that neither of them names.
        let mixed =
            PolicyRule { verbs: right.verbs.clone(), resource_names: right.resource_names.clone(), ..left.clone() };
        questions.push(question_of(subject, &mixed, dice.pick(&SCOPES)));
    }
    questions
}

/// Returns the smallest parts of the rules of objects.
fn atoms(objects: &[Value]) -> BTreeSet<PolicyRule> {
    let rules = objects.iter().flat_map(|object| object["rules"].as_array().into_iter().flatten());
    rules.flat_map(|rule| policy_rule(rule).atoms()).collect()
}

/// Returns the subjects of all bindings, a user and a group without a binding.
pub(super) fn subjects(objects: &[&Value]) -> BTreeSet<String> {
    let mut subjects: BTreeSet<String> = ["User/other", "Group/other"].map(str::to_owned).into();
    for binding in objects {
        let place = binding["metadata"]["namespace"].as_str().unwrap_or_default();
        for subject in binding["subjects"].as_array().into_iter().flatten() {
            subjects.extend(subject_name(subject, place));
        }
    }
    subjects
}

fn subject_name(subject: &Value, place: &str) -> Option<String> {
    let name = subject["name"].as_str()?;
    match subject["kind"].as_str()? {
        "ServiceAccount" => {
            let own = subject["namespace"].as_str().filter(|namespace| !namespace.is_empty()).unwrap_or(place);
            (!own.is_empty()).then(|| format!("ServiceAccount/{own}/{name}"))
        }
        kind => Some(format!("{kind}/{name}")),
    }
}

fn policy_rule(rule: &Value) -> PolicyRule {
    let list = |key: &str| {
        let texts = rule[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect::<Vec<String>>()
    };
    PolicyRule {
        verbs: list("verbs"),
        api_groups: list("apiGroups"),
        resources: list("resources"),
        resource_names: list("resourceNames"),
        non_resource_urls: list("nonResourceURLs"),
    }
}

/// Returns a question that a smallest part of a rule allows, and as few other rules as possible.
pub(super) fn question_of(subject: &str, atom: &PolicyRule, scope: &'static str) -> Question {
    let one = |list: &[String]| list.first().cloned().unwrap_or_default();
    let plain = |text: String| if text == "*" { ODD.to_owned() } else { text };
    let mut asked = identity(subject);
    asked["verb"] = json!(plain(one(&atom.verbs)));
    asked["namespace"] = json!(scope);
    if let Some(url) = atom.non_resource_urls.first() {
        asked["path"] = json!(match url.strip_suffix('*') {
            Some(start) => format!("{}{ODD}", if start.is_empty() { "/" } else { start }),
            None => url.clone(),
        });
        // A path has no namespace.
        asked["namespace"] = json!("");
        return Question { subject: subject.to_owned(), scope: "", asked };
    }
    let resource = one(&atom.resources);
    let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
    asked["group"] = json!(plain(one(&atom.api_groups)));
    asked["resource"] = json!(plain(resource.to_owned()));
    // The API server serves no subresource `*`.
    asked["subresource"] = json!(plain(subresource.to_owned()));
    asked["name"] = json!(match atom.resource_names.first() {
        Some(name) => name.clone(),
        None => "no-such-name".to_owned(),
    });
    Question { subject: subject.to_owned(), scope, asked }
}

/// Returns a question with a subject alone.
pub(super) fn identity(subject: &str) -> Value {
    match subject.split_once('/') {
        Some(("Group", name)) => {
            let mut groups = vec![name];
            if !matches!(name, "system:authenticated" | "system:unauthenticated") {
                groups.push("system:authenticated");
            }
            json!({"user": "", "groups": groups})
        }
        Some(("ServiceAccount", account)) => {
            json!({"user": format!("system:serviceaccount:{}", account.replace('/', ":"))})
        }
        Some((_, name)) => json!({"user": name}),
        None => json!({"user": subject}),
    }
}
