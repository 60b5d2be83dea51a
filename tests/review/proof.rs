//! Random pairs of worlds: the verdict is `no effective change` if and only if the second evaluator answers every question about both
//! worlds alike, and every listed effect is confirmed by a question that it answers differently.

use std::collections::BTreeSet;
use std::path::Path;

use bailiwick::app::review::{ChangeReview, EffectChange, ReviewBase, ReviewOptions, Scope, Verdict};
use bailiwick::k8s::rbac::PolicyRule;
use bailiwick::{Options, Workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::Evaluator;
use crate::oracle::{Dice, Naive, mutated, random_world};
use crate::support::rounds;

/// A word that no rule names.
const ODD: &str = "odd";

/// The minors of both states.
const MINOR: &str = "1.34";

#[test]
fn the_verdict_is_proven_by_the_second_evaluator() {
    let (mut equal, mut different, mut unknown) = (0, 0, 0);
    for seed in 0..rounds(40, 2_000) {
        match judge(seed, rounds(600, 100_000)) {
            Some(Verdict::NoChange) => equal += 1,
            Some(Verdict::CannotTell) => unknown += 1,
            _ => different += 1,
        }
    }
    println!("{equal} pairs without an effect, {different} with effects, {unknown} that cannot be compared");
    assert!(equal > 10 && different > 5, "{equal} {different} {unknown}");
}

/// Reviews one pair, and checks the review with questions.
fn judge(seed: u64, questions: usize) -> Option<Verdict> {
    let mut dice = Dice::new(seed);
    let base = random_world(&mut dice);
    let head = mutated(&mut dice, &base);
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder, "base", &base);
    write(&folder, "head", &head);
    let review = review(folder.path());
    let (mut old, mut new) = (Naive::default(), Naive::default());
    old.world(&base, Some(MINOR));
    new.world(&head, Some(MINOR));
    let allowed = |world: &Naive, question: &Value| world.ask(&json!({"can-i": question}))["allowed"] == true;
    let asked = all_questions(&mut dice, &[&base, &head], questions);
    let differing = asked.iter().find(|question| allowed(&old, question) != allowed(&new, question));
    let context = || format!("seed {seed}: {}\nbase {}\nhead {}", review.line, json!(base), json!(head));
    match review.verdict {
        Some(Verdict::NoChange) => {
            assert!(differing.is_none(), "{}\n{}", differing.unwrap_or(&Value::Null), context());
        }
        Some(Verdict::CannotTell) => {}
        _ => {
            let is_only_about_more = review.effects.is_empty();
            let is_whole = questions >= asked.len().max(100_000);
            assert!(
                differing.is_some() || is_only_about_more || !is_whole,
                "every question is answered alike\n{}",
                context()
            );
        }
    }
    for effect in &review.effects {
        let class = &review.classes[effect.class];
        for member in &class.members {
            let scopes = match effect.scope {
                Scope::Cluster => vec!["zz".to_owned(), String::new()],
                Scope::Namespaces => member.namespaces.clone(),
            };
            for atom in effect.rights.iter().flat_map(PolicyRule::atoms) {
                let confirms = |scope: &String| {
                    let question = question_of(&member.subject, &atom, scope);
                    let (was, is) = (allowed(&old, &question), allowed(&new, &question));
                    (was, is) == (effect.change == EffectChange::Lost, effect.change == EffectChange::Gained)
                };
                assert!(scopes.iter().any(confirms), "{} {:?} {atom:?}\n{}", member.subject, effect.change, context());
            }
        }
    }
    review.verdict
}

fn write(folder: &TempDir, side: &str, objects: &[Value]) {
    let root = folder.path().join(side);
    std::fs::create_dir_all(root.join("policies/objects")).expect("folders");
    let workspace = format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {{name: proof}}\nspec:\n  targets:\n  - {{name: t, version: \"{MINOR}\"}}\n"
    );
    std::fs::write(root.join("bailiwick.yaml"), workspace).expect("written");
    let manifests = "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: world}\nspec:\n  files: [objects/*.yaml]\n  emit: false\n";
    std::fs::write(root.join("policies/world.yaml"), manifests).expect("written");
    let documents: Vec<String> = objects.iter().map(|object| with_versions(object).to_string()).collect();
    std::fs::write(root.join("policies/objects/world.yaml"), documents.join("\n---\n")).expect("written");
}

/// Returns an object of the second evaluator as a manifest.
fn with_versions(object: &Value) -> Value {
    let mut object = object.clone();
    let is_namespace = object["kind"] == "Namespace";
    object["apiVersion"] = json!(if is_namespace { "v1" } else { "rbac.authorization.k8s.io/v1" });
    if let Some(role) = object.get_mut("roleRef") {
        role["apiGroup"] = json!("rbac.authorization.k8s.io");
    }
    object
}

fn review(folder: &Path) -> ChangeReview {
    let workspace = Workspace::open(&Options::in_folder(folder.join("head"))).unwrap_or_else(|error| panic!("{error}"));
    let options = ReviewOptions { base: ReviewBase::Folder(folder.join("base")), ..ReviewOptions::default() };
    workspace.review(&options).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns `random` questions: one for each rule, subject and scope of some worlds, and random ones.
fn all_questions(dice: &mut Dice, worlds: &[&Vec<Value>], random: usize) -> Vec<Value> {
    let objects = || worlds.iter().flat_map(|objects| objects.iter());
    let mut subjects: BTreeSet<String> = ["User/other", "Group/other"].map(str::to_owned).into();
    for binding in objects().filter(|object| object["kind"].as_str().is_some_and(|kind| kind.ends_with("Binding"))) {
        let place = binding["metadata"]["namespace"].as_str().unwrap_or_default();
        for subject in binding["subjects"].as_array().into_iter().flatten() {
            subjects.extend(subject_name(subject, place));
        }
    }
    let subjects: Vec<String> = subjects.into_iter().collect();
    let rules = objects().flat_map(|object| object["rules"].as_array().into_iter().flatten());
    let atoms: BTreeSet<PolicyRule> = rules.flat_map(|rule| policy_rule(rule).atoms()).collect();
    let atoms: Vec<PolicyRule> = atoms.into_iter().collect();
    let scopes = ["", "a", "b", "zz"];
    let mut questions = Vec::new();
    for subject in &subjects {
        for atom in &atoms {
            questions.extend(scopes.iter().map(|scope| question_of(subject, atom, scope)));
        }
    }
    // Of many questions a short run asks some.
    while questions.len() > random {
        questions.swap_remove(dice.below(questions.len()));
    }
    for _ in questions.len()..random {
        let (Some(subject), Some(left), Some(right)) =
            (dice.one_of(&subjects), dice.one_of(&atoms), dice.one_of(&atoms))
        else {
            break;
        };
        // Parts of two rules make a request that neither of them names.
        let mixed =
            PolicyRule { verbs: right.verbs.clone(), resource_names: right.resource_names.clone(), ..left.clone() };
        questions.push(question_of(subject, &mixed, dice.pick(&scopes)));
    }
    questions
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
fn question_of(subject: &str, atom: &PolicyRule, scope: &str) -> Value {
    let one = |list: &[String]| list.first().cloned().unwrap_or_default();
    let plain = |text: String| if text == "*" { ODD.to_owned() } else { text };
    let mut question = match subject.split_once('/') {
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
    };
    question["verb"] = json!(plain(one(&atom.verbs)));
    if let Some(url) = atom.non_resource_urls.first() {
        question["path"] = json!(match url.strip_suffix('*') {
            Some(start) => format!("{}{ODD}", if start.is_empty() { "/" } else { start }),
            None => url.clone(),
        });
        return question;
    }
    let resource = one(&atom.resources);
    let (resource, subresource) = resource.split_once('/').unwrap_or((&resource, ""));
    question["group"] = json!(plain(one(&atom.api_groups)));
    question["resource"] = json!(plain(resource.to_owned()));
    question["subresource"] = json!(subresource);
    question["namespace"] = json!(scope);
    question["name"] = json!(match atom.resource_names.first() {
        Some(name) => name.clone(),
        None => "no-such-name".to_owned(),
    });
    question
}
