//! Versions of Kubernetes that are newer than every known one: compiled and judged as the newest, with a warning.

use bailiwick::ask::Connection;
use bailiwick::k8s::catalogue::LAST_MINOR;
use serde_json::{Value, json};

use crate::support::{World, repository};

/// Returns the workspace of this repository, with the targets of a current cluster at another version.
fn workspace(version: &str) -> World {
    let mut world = World::default();
    for folder in ["bailiwick.yaml", "policies", "templates"] {
        for entry in walkdir::WalkDir::new(repository().join(folder)).sort_by_file_name().into_iter().flatten() {
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(repository()).expect("below the root").to_string_lossy();
                let text = std::fs::read_to_string(entry.path()).expect("a text");
                world = world.file(&path, &text);
            }
        }
    }
    world.edit("bailiwick.yaml", &format!("version: \"1.{LAST_MINOR}\""), &format!("version: \"{version}\""))
}

#[test]
fn newer_versions_compile_to_the_output_of_the_newest_known() {
    let output = |version: &str| {
        let compiled = workspace(version).compile();
        let codes = compiled.codes();
        let texts: Vec<(String, String)> = compiled.files.into_iter().map(|file| (file.path, file.text)).collect();
        (texts, codes.into_iter().filter(|code| *code == "newer-than-known").count())
    };
    let (known, warnings) = output(&format!("1.{LAST_MINOR}"));
    assert!(known.len() > 20 && warnings == 0, "{} files, {warnings} warnings", known.len());
    for newer in [format!("1.{}", LAST_MINOR + 1), "1.99".to_owned()] {
        let (texts, warnings) = output(&newer);
        assert!(texts == known, "the output for {newer} differs");
        let settings = std::fs::read_to_string(repository().join("bailiwick.yaml")).expect("the workspace file");
        let targets = settings.matches(&format!("version: \"1.{LAST_MINOR}\"")).count();
        assert_eq!(warnings, targets, "a warning for each target");
    }
}

/// Returns the answers to questions about one world.
fn ask(world: Value, questions: &[Value]) -> Vec<Value> {
    let mut connection = Connection::default();
    let mut answers = vec![connection.answer(&json!({ "world": world })).expect("a world")];
    answers.extend(questions.iter().map(|question| connection.answer(question).expect("an answer")));
    answers
}

#[test]
fn answers_about_newer_versions_name_the_judged_one() {
    let judged = json!(format!("1.{LAST_MINOR}"));
    let question = json!({ "can-i": { "user": "system:kube-scheduler", "verb": "list", "resource": "pods" } });
    let known = ask(json!({ "baseline": LAST_MINOR, "minor": LAST_MINOR }), std::slice::from_ref(&question));
    let newer = ask(json!({ "baseline": LAST_MINOR + 1, "minor": "1.99" }), std::slice::from_ref(&question));
    for (known, mut newer) in known.into_iter().zip(newer) {
        assert_eq!(newer["judgedAs"], judged);
        newer.as_object_mut().expect("a map").remove("judgedAs");
        assert_eq!(known, newer);
    }
    let policy = |version: String| ask(json!({}), &[json!({ "default-policy": version })]).remove(1);
    assert_eq!(policy(format!("1.{LAST_MINOR}"))["judgedAs"], Value::Null);
    assert_eq!(policy(format!("1.{}", LAST_MINOR + 1))["judgedAs"], judged);
    let of_node = |version: &str| {
        let question = json!({ "version": version, "objects": [], "requests": [] });
        Connection::default().answer(&json!({ "node": question })).expect("an answer")["judgedAs"].clone()
    };
    assert_eq!((of_node("1.37"), of_node("1.99")), (Value::Null, judged));
}

/// Versions of another form, and versions older than every known version, are errors.
#[test]
fn older_versions_have_no_answer() {
    let mut connection = Connection::default();
    for wrong in [json!(15), json!("1.15"), json!("2.0"), json!("newest")] {
        assert!(connection.answer(&json!({ "world": { "minor": wrong } })).is_err(), "{wrong}");
    }
    assert!(Connection::default().answer(&json!({ "node": { "version": "1.5" } })).is_err());
}
