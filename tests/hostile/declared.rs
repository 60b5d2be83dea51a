//! Undeclared names.

use bailiwick::codes;
use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick::compile;
use bailiwick::diag::{FileId, Files, Origin, Sink};
use bailiwick::source::MemorySource;
use bailiwick::yaml::{self, NodeRef};

use crate::runs::{bailiwick, stderr};
use crate::support::{repository, rounds};

/// Returns the places of the subjects and namespaces that a text of policies mentions, with the names.
fn mentions(text: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let tree = yaml::read(text, FileId::default(), &mut Sink::new());
    let mut found = Vec::new();
    for root in tree.documents() {
        let kind = root.get("kind").and_then(NodeRef::as_str).unwrap_or_default();
        if let Some(spec) = root.get("spec").filter(|_| matches!(kind, "Grant" | "Tenancy" | "AccessTest")) {
            collect(spec, "", &mut found);
        }
    }
    found.retain(|(_, name)| !name.contains('{') && name != "*");
    found
}

fn collect(node: NodeRef<'_>, key: &str, found: &mut Vec<(std::ops::Range<usize>, String)>) {
    let is_name = matches!(key, "users" | "groups" | "namespaces");
    for item in node.items() {
        match item.as_str().filter(|_| is_name) {
            Some(name) => found.push((item.span().start as usize..item.span().end as usize, name.to_owned())),
            None => collect(item, key, found),
        }
    }
    for (name, value) in node.entries() {
        let name = name.as_str().unwrap_or_default();
        match value.as_str().filter(|_| key == "serviceAccounts" && name == "namespace") {
            Some(text) => found.push((value.span().start as usize..value.span().end as usize, text.to_owned())),
            None => collect(value, name, found),
        }
    }
}

/// Returns a name with another letter, one letter less, or one letter more at a position; none behind its end.
fn changed(name: &str, position: usize, letter: Option<char>, insert: bool) -> Option<String> {
    let letters: Vec<char> = name.chars().collect();
    let kept = if insert { position } else { position + 1 };
    let rest = letters.get(kept..).filter(|_| position < letters.len())?;
    let new: String = letters[..position].iter().copied().chain(letter).chain(rest.iter().copied()).collect();
    (new != name && !new.is_empty()).then_some(new)
}

/// Returns every file of the repository's workspace that loading it may read.
fn workspace() -> Vec<(String, String)> {
    let mut files = vec![("bailiwick.yaml".to_owned(), repository().join("bailiwick.yaml"))];
    for folder in ["policies", "templates"] {
        let entries = walkdir::WalkDir::new(repository().join(folder)).into_iter().flatten();
        files.extend(entries.filter(|entry| entry.file_type().is_file()).map(|entry| {
            let path = entry.path().strip_prefix(repository()).expect("below the root").to_string_lossy().into_owned();
            (path, entry.into_path())
        }));
    }
    files.into_iter().map(|(path, place)| (path, std::fs::read_to_string(place).expect("a text"))).collect()
}

/// Loads a workspace and returns the places, as paths and bytes, of names that are not known.
fn unknown(files: &[(String, String)]) -> BTreeSet<(String, usize, usize)> {
    let texts = Arc::new(Files::new());
    let mut sink = Sink::new();
    let world = Box::new(MemorySource::new(files.iter().cloned()));
    drop(compile::load(world, Arc::clone(&texts), &mut sink).expect("a run"));
    let place = |origin: Origin| {
        (texts.get(origin.file).path().to_owned(), origin.span.start as usize, origin.span.end as usize)
    };
    let is_wanted = |code| [codes::UNKNOWN_SUBJECT, codes::UNKNOWN_NAMESPACE].contains(&code);
    let found = sink.diagnostics().iter().filter(|found| is_wanted(found.code));
    found.filter_map(|found| found.origin.map(place)).collect()
}

#[test]
fn every_letter_of_a_name_counts() {
    let files = workspace();
    let mut known: BTreeSet<String> = files.iter().flat_map(|(_, text)| mentions(text)).map(|(_, name)| name).collect();
    assert!(known.len() > 15, "{known:?}");
    assert_eq!(unknown(&files), BTreeSet::new(), "the repository's own names are known");
    let tools = &files.iter().find(|(path, _)| path == "policies/toolforge/tools.csv").expect("the tools").1;
    known.extend(
        tools
            .lines()
            .filter_map(|line| line.split(',').next())
            .flat_map(|name| [name.to_owned(), format!("tool-{name}")]),
    );
    let letters = rounds("q", "qe-0");
    let longest = known.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut tried = 0;
    for position in (0..longest).step_by(rounds(5, 1)) {
        let ways = letters.chars().flat_map(|letter| [(Some(letter), false), (Some(letter), true)]);
        for (letter, insert) in ways.chain([(None, false)]) {
            let mut edited = files.clone();
            let mut expected = BTreeSet::new();
            for (path, text) in &mut edited {
                let original = text.clone();
                for (range, name) in mentions(&original).into_iter().rev() {
                    if let Some(new) = changed(&name, position, letter, insert) {
                        text.replace_range(range, &format!("\"{new}\""));
                    }
                }
                let both = mentions(&original).into_iter().zip(mentions(text));
                expected.extend(both.filter(|((_, old), (_, new))| old != new).filter_map(|(_, (range, new))| {
                    let is_known =
                        known.contains(&new) || new.strip_prefix("system:node:").is_some_and(|n| !n.is_empty());
                    (!is_known).then(|| (path.clone(), range.start, range.end))
                }));
            }
            tried += expected.len();
            assert_eq!(unknown(&edited), expected, "position {position}, {letter:?}, insert: {insert}");
        }
    }
    assert!(tried > rounds(100, 3_000), "{tried}");
}

/// Writes a workspace with closed groups and a number of accounts. The last account has a mistyped team.
fn tenants(folder: &std::path::Path, count: usize) {
    std::fs::create_dir_all(folder.join("policies")).expect("a folder");
    let workspace = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  \
                     known: {groups: [\"oidc:payments\"]}\n  targets: [{name: t, version: \"1.36\"}]\n";
    let policy = "apiVersion: bailiwick.dev/v1alpha1\nkind: Tenancy\nmetadata: {name: teams}\nspec:\n  \
                  accounts: {file: teams.csv}\n  variables: {name: {type: string}, team: {type: string}}\n  class:\n    \
                  namespace: {name: \"team-{name}\"}\n    grants:\n    - name: developers\n      clusterRole: view\n      \
                  to: {groups: [\"oidc:{team}\"]}\n";
    let rows: String = (1..count).map(|number| format!("a{number},payments\n")).collect();
    std::fs::write(folder.join("bailiwick.yaml"), workspace).expect("a file");
    std::fs::write(folder.join("policies/teams.yaml"), policy).expect("a file");
    std::fs::write(folder.join("policies/teams.csv"), format!("name,team\n{rows}z,paymnts\n")).expect("a file");
}

#[test]
fn a_name_in_a_cell_is_reported_however_objects_are_made() {
    let folder = tempfile::tempdir().expect("a folder");
    tenants(folder.path(), 300);
    let whole = bailiwick(folder.path(), &["render"]);
    assert_eq!(whole.status.code(), Some(2));
    let text = stderr(&whole);
    assert!(text.contains("error[unknown-subject]: the group `oidc:paymnts` is not declared"), "{text}");
    assert!(text.contains("policies/teams.csv:301:3") && text.contains("did you mean `oidc:payments`?"), "{text}");
    for arguments in [&["render", "--jobs", "8"][..], &["render", "--shard", "1/2"]] {
        let other = bailiwick(folder.path(), arguments);
        assert_eq!((other.status.code(), stderr(&other)), (Some(2), text.clone()), "{arguments:?}");
    }
}

#[test]
fn a_typo_in_a_new_workspace_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(bailiwick(folder.path(), &["init"]).status.success());
    let policy = folder.path().join("policies/team.yaml");
    let text = std::fs::read_to_string(&policy).expect("the example");
    assert!(bailiwick(folder.path(), &["render"]).status.success());
    for (from, to, code) in [
        ("groups: [team-a]\n    serviceAccounts", "groups: [team-aa]\n    serviceAccounts", "unknown-subject"),
        (
            "clusterRoles: [view]\n  namespaces: [team-a]",
            "clusterRoles: [view]\n  namespaces: [team-c]",
            "unknown-namespace",
        ),
        ("groups: [team-a]\n  must", "groups: [team-b]\n  must", "unknown-subject"),
        ("namespaces: [team-b]", "namespaces: [teamb]", "unknown-namespace"),
        ("clusterRoles: [view]", "clusterRoles: [veiw]", "unresolved-reference"),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&policy, text.replacen(from, to, 1)).expect("a file");
        let output = bailiwick(folder.path(), &["check"]);
        assert_eq!(output.status.code(), Some(2), "{to}");
        assert!(stderr(&output).contains(&format!("error[{code}]")), "{to}: {}", stderr(&output));
    }
}
