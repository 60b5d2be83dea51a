//! Names of input files that could become objects, and files that readers take in different ways.

use std::fs;
use std::path::Path;

use crate::runs::{bailiwick, snapshot, stderr};

/// Parts of names that end a line for some reader, or that do not show.
const HIDDEN: [&str; 8] = ["\n", "\u{85}", "\u{2028}", "\u{2029}", "\u{202e}", "\u{200b}", "\u{1b}[2J", "\u{e0041}"];

/// An object in a name.
const OBJECT: &str = "kind: ClusterRoleBinding";

/// Returns a name as a scalar of YAML without hidden characters.
fn quoted(name: &str) -> String {
    let show = |letter: char| match letter {
        ' '..='~' => letter.to_string(),
        _ => format!("\\U{:08X}", u32::from(letter)),
    };
    format!("\"{}\"", name.chars().map(show).collect::<String>())
}

fn workspace(root: &Path, folder: &str, policy: &str, accounts: &str) {
    let policies = root.join(folder);
    fs::create_dir_all(&policies).expect("a folder");
    let folder = quoted(folder);
    let text = format!(
        "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {{name: test}}\nspec:\n  policies: {folder}\n  targets: [{{name: t, version: \"1.21\"}}]\n"
    );
    fs::write(root.join("bailiwick.yaml"), text).expect("a file");
    let named = quoted(accounts);
    let text = include_str!("../runs/tenants.yaml").replace("tenants.csv", &named);
    assert!(text.contains(&named), "the policy names the list");
    fs::write(policies.join(policy), text).expect("a file");
    fs::write(policies.join(accounts), "name,uid\ntenant-0,1000\n").expect("a file");
}

#[test]
fn a_name_with_hidden_characters_is_refused() {
    for hidden in HIDDEN {
        let name = format!("a{hidden}{OBJECT}");
        let (yaml, csv) = (format!("{name}.yaml"), format!("{name}.csv"));
        let ways = [("policies", &*yaml, "a.csv"), ("policies", "a.yaml", &*csv), (&*name, "a.yaml", "a.csv")];
        for (folder, policy, accounts) in ways {
            let directory = tempfile::tempdir().expect("a folder");
            let root = directory.path();
            workspace(root, folder, policy, accounts);
            for command in ["render", "check", "lint"] {
                let run = bailiwick(root, &[command]);
                let told = stderr(&run);
                assert_eq!(run.status.code(), Some(2), "{command} {folder:?} {policy:?} {accounts:?}: {told}");
                assert!(told.contains("error[hidden-character-in-name]"), "{told}");
                let letter = hidden.chars().next().expect("a character");
                assert!(told.contains(&letter.escape_unicode().to_string()), "{told}");
            }
            assert!(!root.join("out").exists(), "nothing is written");
        }
    }
}

/// Nothing of the workspace is in a comment of the output.
#[test]
fn no_part_of_a_name_is_in_the_output() {
    for name in ["a #b", "a: b", "- x", "{{ x }}", "équipe", "%YAML 1.1", "---"] {
        let directory = tempfile::tempdir().expect("a folder");
        let root = directory.path();
        workspace(root, "policies", &format!("{name}-policy.yaml"), &format!("{name}-list.csv"));
        let run = bailiwick(root, &["render"]);
        assert!(run.status.success(), "{}", stderr(&run));
        for (path, bytes) in snapshot(&root.join("out")) {
            let text = String::from_utf8(bytes).expect("text");
            assert!(!text.contains("-policy") && !text.contains("-list"), "{path}:\n{text}");
            assert_eq!(text.lines().filter(|line| line.contains('#')).count(), 1, "{path}:\n{text}");
        }
    }
}
