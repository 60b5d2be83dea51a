//! Diagnostics while a text is typed are the diagnostics of `render`, at the same places.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::client::{Client, Shown};
use crate::case::{self, Case};
use crate::support::rounds;

/// The last characters of a mistaken line that are typed one by one.
const TYPED: usize = 6;

/// Returns the diagnostics of `render` in a folder.
fn rendered(root: &Path) -> Vec<Shown> {
    let output = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
        .args(["render", "--diagnostics", "json"])
        .current_dir(root)
        .env_clear()
        .env("BAILIWICK_JOBS", "2")
        .env("BAILIWICK_TODAY", "2026-01-01")
        .output()
        .expect("the program starts");
    let text = String::from_utf8(output.stderr).expect("UTF-8 is printed");
    let mut all: Vec<Shown> = text.lines().filter(|line| line.starts_with('{')).map(|line| shown(line, root)).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns a diagnostic of the program as an editor shows it.
fn shown(line: &str, root: &Path) -> Shown {
    let diagnostic: Value = serde_json::from_str(line).expect("a line of JSON");
    let text = |field: &str| diagnostic[field].as_str().expect("a text").to_owned();
    let severity = match diagnostic["severity"].as_str() {
        Some("error") => 1,
        Some("warning") => 2,
        _ => 3,
    };
    let place = &diagnostic["place"];
    let (path, range) = match place["path"].as_str().filter(|path| !path.starts_with('<')) {
        Some(path) => {
            let lines = fs::read(root.join(path)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let lines = lines.unwrap_or_default();
            let number = |field: &str| place[field].as_u64().expect("a number") - 1;
            let unit = |line: u64, column: u64| {
                let line = lines.split('\n').nth(line as usize).unwrap_or_default();
                line.chars().take(column as usize).map(|letter| letter.len_utf16() as u64).sum()
            };
            let (line, end_line) = (number("line"), number("endLine"));
            (path.to_owned(), [line, unit(line, number("column")), end_line, unit(end_line, number("endColumn"))])
        }
        None => ("bailiwick.yaml".to_owned(), [0; 4]),
    };
    Shown { path, range, code: text("code"), severity, message: text("message") }
}

/// Returns the diagnostics of the server without the names of targets in messages.
fn served(client: &Client) -> Vec<Shown> {
    let mut all = client.shown();
    for shown in &mut all {
        if let Some(at) = shown.message.rfind(" (target ").filter(|_| shown.message.ends_with(')')) {
            shown.message.truncate(at);
        }
    }
    all.sort();
    all.dedup();
    all
}

fn set_up(case: &Case) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    case.set_up(scratch.path());
    scratch
}

/// Returns the file with the mistake, and the line; none for a mistake without a place.
fn place_of_mistake(expected: &[Shown]) -> Option<(String, u64)> {
    expected.first().map(|shown| (shown.path.clone(), shown.range[0]))
}

#[test]
fn each_mistake_is_shown_at_its_place_while_it_is_typed() {
    let mistakes: Vec<Case> = case::all().into_iter().filter(|case| case.name.starts_with("mistakes/")).collect();
    assert!(mistakes.len() >= 48, "{}", mistakes.len());
    for case in mistakes {
        let scratch = set_up(&case);
        let root = scratch.path().canonicalize().expect("a folder");
        let expected = rendered(&root);
        let (path, line) = place_of_mistake(&expected).unwrap_or_else(|| panic!("{}: no diagnostic", case.name));
        let text = fs::read_to_string(root.join(&path)).expect("a text");
        let mut client = Client::start(&root);
        type_line(&mut client, &path, &text, line);
        assert_eq!(served(&client), expected, "{}", case.name);
        assert_eq!(client.notices, [] as [&str; 0], "{}", case.name);
        assert_eq!(client.shut_down(), Some(0), "{}", case.name);
    }
}

/// Opens a document without the end of a line, and types it.
fn type_line(client: &mut Client, path: &str, text: &str, line: u64) {
    let written = text.split('\n').nth(line as usize).unwrap_or_default();
    let letters: Vec<char> = written.chars().collect();
    let kept = letters.len().saturating_sub(TYPED);
    let unit = |letters: &[char]| letters.iter().map(|letter| letter.len_utf16() as u64).sum::<u64>();
    let (head, tail) = letters.split_at(kept);
    let lines = text.split('\n').enumerate();
    let before: Vec<String> =
        lines.map(|(index, own)| if index as u64 == line { head.iter().collect() } else { own.to_owned() }).collect();
    client.open(path, &before.join("\n"));
    client.wait_for(path);
    for (index, letter) in tail.iter().enumerate() {
        let column = unit(head) + unit(&tail[..index]);
        client.edit(path, [line, column, line, column], &letter.to_string());
        client.wait_for(path);
    }
}

#[test]
fn the_diagnostics_of_every_case_are_those_of_render() {
    let step = rounds(7, 1);
    let is_plain =
        |case: &Case| case.text("args").is_none() && case.text("setup").is_none() && case.text("stdin").is_none();
    let of_output: BTreeSet<&str> = BTreeSet::from(OF_OUTPUT);
    let cases = case::all().into_iter().filter(|case| is_plain(case) && !case.folder.join("before").is_dir());
    let mut count = 0;
    for case in cases.step_by(step) {
        let scratch = set_up(&case);
        let root = scratch.path().canonicalize().expect("a folder");
        let mut expected = rendered(&root);
        if expected.iter().any(|shown| of_output.contains(shown.code.as_str())) {
            continue;
        }
        let mut client = Client::start(&root);
        client.open("bailiwick.yaml", &fs::read_to_string(root.join("bailiwick.yaml")).expect("a text"));
        client.wait_for("bailiwick.yaml");
        // `render` prints the first of diagnostics with one place and one message.
        expected.dedup();
        assert_eq!(served(&client), expected, "{}", case.name);
        count += 1;
    }
    assert!(count > 60, "{count}");
}

/// Codes about the output folder, which an editor does not compare.
const OF_OUTPUT: [&str; 4] = ["empty-output", "foreign-file", "mass-delete", "edited-by-hand"];

#[test]
fn a_correction_removes_the_diagnostic_that_suggests_it() {
    let mut count = 0;
    for case in case::all().into_iter().filter(|case| case.name.starts_with("mistakes/")) {
        if !case.text("stderr").is_some_and(|text| text.contains("did you mean")) {
            continue;
        }
        let scratch = set_up(&case);
        let root = scratch.path().canonicalize().expect("a folder");
        let (path, _) = place_of_mistake(&rendered(&root)).expect("a place");
        let text = fs::read_to_string(root.join(&path)).expect("a text");
        let mut client = Client::start(&root);
        client.open(&path, &text);
        client.wait_for(&path);
        let before = served(&client);
        let Some(change) = first_correction(&mut client, &path, &before) else { continue };
        let [line, column, end_line, end_column] = change.0;
        client.edit(&path, [line, column, end_line, end_column], &change.1);
        client.wait_for(&path);
        let after = served(&client);
        assert!(!after.iter().any(|shown| before.contains(shown)), "{}: {after:#?}", case.name);
        count += 1;
    }
    assert!(count >= 12, "{count} corrections");
}

/// Returns the range and the text of the first correction at the diagnostics of a document.
fn first_correction(client: &mut Client, path: &str, shown: &[Shown]) -> Option<([u64; 4], String)> {
    let [line, column, end_line, end_column] = shown.iter().find(|shown| shown.path == path)?.range;
    let range = serde_json::json!({
        "start": {"line": line, "character": column}, "end": {"line": end_line, "character": end_column},
    });
    let uri = client.uri(path);
    let parameters = serde_json::json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": []}});
    let actions = client.request("textDocument/codeAction", parameters);
    let edit = &actions.as_array()?.first()?["edit"]["changes"][&uri][0];
    let number = |of: &str, field: &str| edit["range"][of][field].as_u64();
    let range =
        [number("start", "line")?, number("start", "character")?, number("end", "line")?, number("end", "character")?];
    Some((range, edit["newText"].as_str()?.to_owned()))
}
