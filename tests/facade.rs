//! The functions of the library, without the program.

use std::path::Path;

use bailiwick::access::{Answer, Identity};
use bailiwick::{
    AllowedSubjects, Base, CanIOptions, CompareOptions, Error, LintOptions, LoadedWorld, Options, RenderOptions,
    RequestOptions, Selection, TestOptions, Workspace, WorldOptions, codes, compare, lint, run_tests,
};

use crate::runs::tenants;
use crate::support::repository;

fn own_workspace() -> Workspace {
    Workspace::open(&Options::in_folder(repository())).expect("a workspace")
}

fn manifests(folder: &Path) -> LoadedWorld {
    let options = WorldOptions { from: vec!["out/modern".into()], ..WorldOptions::default() };
    LoadedWorld::from_manifests(&Options::in_folder(folder), &options).expect("manifests")
}

fn code_of<T>(result: Result<T, Error>) -> &'static str {
    match result {
        Err(Error::Invalid(diagnostics)) => diagnostics.list.first().expect("a diagnostic").code.id(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn the_own_workspace_is_compiled_compared_and_searched() {
    let workspace = own_workspace();
    let compiled = workspace.compile(&["modern".to_owned()], true).expect("files");
    assert!(!compiled.diagnostics.has_errors());
    for file in &compiled.files {
        let path = repository().join("out").join(&file.target).join(&file.path);
        assert_eq!(std::fs::read_to_string(path).expect("a file"), file.text);
        assert!(file.objects.iter().all(|object| object.starts_with('{')), "{}", file.path);
    }
    let comparison = compare(&workspace, &Base::output_folder(), &CompareOptions::default()).expect("a comparison");
    assert!(!comparison.is_drift());
    let run = run_tests(&workspace, &TestOptions::default(), &mut |_| {}).expect("a run");
    assert!(run.questions > 0 && run.failures == 0, "{run:?}");
    let report = lint(&workspace, &LintOptions::default()).expect("findings");
    assert!(report.is_readable && !report.findings.has_errors());
}

#[test]
fn a_workspace_is_rendered_and_differs_after_an_edit() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 3);
    let options = Options::in_folder(folder.path());
    let workspace = Workspace::open(&options).expect("a workspace");
    let drift = || compare(&workspace, &Base::output_folder(), &CompareOptions::default()).expect("a comparison");
    assert!(drift().is_drift());
    let written = workspace.stage_output(&RenderOptions::default()).expect("files").commit().expect("output");
    assert!(written.targets.iter().all(|(_, totals)| totals.counts.created > 0));
    assert!(!drift().is_drift());
    let file = walkdir::WalkDir::new(folder.path().join("out"))
        .into_iter()
        .flatten()
        .find(|entry| entry.path().extension().is_some_and(|extension| extension == "yaml"))
        .expect("a file");
    let text = std::fs::read_to_string(file.path()).expect("text");
    std::fs::write(file.path(), format!("{text}# changed\n")).expect("written");
    let found = drift();
    assert!(found.targets.iter().any(|target| target.diff.contains("-# changed")), "{}", found.targets[0].diff);
}

#[test]
fn questions_are_answered_from_targets_manifests_and_indexes() {
    let workspace = own_workspace();
    let production = workspace.targets(&["modern".to_owned()]).expect("a target")[0];
    let target = LoadedWorld::from_target(&workspace, production, &WorldOptions::default()).expect("a world");
    let manifests = manifests(repository());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("index");
    std::fs::write(&path, manifests.to_index().expect("an index")).expect("written");
    let index = LoadedWorld::from_index(&Options::default(), &path).expect("an index");
    let request = RequestOptions::new("get", "secrets");
    let subjects = |loaded: &LoadedWorld| loaded.who_can(&request).expect("an answer").subjects;
    assert!(subjects(&manifests).len() > 1);
    assert_eq!(subjects(&manifests), subjects(&index));
    assert_eq!(target.target.as_deref(), Some("modern"));
    for loaded in [&target, &manifests, &index] {
        for allowed in subjects(loaded).iter().filter(|allowed| allowed.subject.starts_with("User/")) {
            let who = Identity::from_user(allowed.subject.trim_start_matches("User/"));
            let request = RequestOptions { namespace: allowed.namespace.clone(), ..request.clone() };
            let question = CanIOptions { request, ..CanIOptions::default() };
            assert_eq!(loaded.can_i(&who, &question).expect("an answer").answer, Answer::Yes, "{allowed:?}");
        }
    }
}

#[test]
fn errors_are_diagnostics() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::in_folder(folder.path());
    assert_eq!(code_of(Workspace::open(&options)), codes::WORKSPACE_NOT_FOUND.id());
    let nowhere = ["nowhere".to_owned()];
    assert_eq!(code_of(own_workspace().compile(&nowhere, false)), codes::UNKNOWN_TARGET.id());
    assert_eq!(code_of(Selection::new(&nowhere, &[], None)), codes::UNKNOWN_RULE.id());
    let loaded = manifests(repository());
    let asked = |verb: &str, resource: &str| loaded.who_can(&RequestOptions::new(verb, resource));
    assert_eq!(code_of(asked("get", "podz")), codes::UNKNOWN_RESOURCE.id());
    let path = folder.path().join("no-index");
    std::fs::write(&path, "{}").expect("written");
    assert_eq!(code_of(LoadedWorld::from_index(&options, &path)), codes::UNUSABLE_INDEX.id());
}

#[test]
fn results_are_data_with_a_schema() {
    let answer = manifests(repository()).who_can(&RequestOptions::new("get", "secrets")).expect("an answer");
    let json = serde_json::to_value(&answer).expect("JSON");
    let request = json.pointer("/request").and_then(serde_json::Value::as_str);
    assert!(request.is_some_and(|request| request.starts_with("get secrets")), "{json}");
    let schema = serde_json::to_value(schemars::schema_for!(AllowedSubjects)).expect("a schema");
    let checked = jsonschema::validator_for(&schema).expect("a validator");
    assert!(checked.is_valid(&json), "{json}");
}

/// The results serialize: a front end needs no type of the program to hand them on.
#[test]
fn results_are_data() {
    let workspace = own_workspace();
    let lint = lint(&workspace, &LintOptions::default()).expect("findings");
    let lint = serde_json::to_value(&lint).expect("JSON");
    assert_eq!(lint["isReadable"], true);
    let findings = lint["findings"].as_array().expect("a list");
    assert!(findings.iter().all(|finding| finding["code"].is_string() && finding["message"].is_string()), "{lint}");
    let compiled = workspace.compile(&["modern".to_owned()], false).expect("files");
    let compiled = serde_json::to_value(&compiled).expect("JSON");
    assert!(compiled["files"].as_array().is_some_and(|files| !files.is_empty()), "{compiled}");
    let comparison = compare(&workspace, &Base::output_folder(), &CompareOptions::default()).expect("a comparison");
    let comparison = serde_json::to_value(&comparison).expect("JSON");
    assert!(
        comparison.as_array().expect("a list").iter().all(|target| target["objects"]["changed"] == 0),
        "{comparison}"
    );
}
