//! `init`: the files of a new workspace.

use std::fs;

use super::{bailiwick, stderr};

/// `init` leaves the settings of an editor as they are, and prints the settings for the schemas.
#[test]
fn settings_of_an_editor_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(bailiwick(folder.path(), &["init", "new"]).status.success());
    let written = fs::read_to_string(folder.path().join("new/.vscode/settings.json")).expect("the settings");
    let settings: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let schemas = settings["yaml.schemas"].as_object().expect("schemas");
    for schema in schemas.keys() {
        assert!(folder.path().join("new").join(schema).is_file(), "{schema} is a file of `init`");
    }
    let own = folder.path().join("own/.vscode");
    fs::create_dir_all(&own).expect("a folder");
    fs::write(own.join("settings.json"), "{}").expect("a file");
    let init = bailiwick(folder.path(), &["init", "own"]);
    assert!(init.status.success());
    assert!(stderr(&init).contains(&written), "{}", stderr(&init));
    assert_eq!(fs::read_to_string(own.join("settings.json")).expect("the settings"), "{}");
    assert!(folder.path().join("own/bailiwick.yaml").is_file());
}
