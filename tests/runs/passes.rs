//! How often a command compiles.

use super::{bailiwick, stderr};

/// A namespace is explained by one compilation, whichever objects decide about its pods.
#[test]
fn a_namespace_is_explained_by_one_compilation() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("policies")).expect("a folder");
    let policy = "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: teams}\nspec:\n  namespaces: [{name: team-a}, {name: team-b}, {name: team-c}]\n";
    std::fs::write(folder.path().join("policies/a.yaml"), policy).expect("a file");
    for target in ["version: \"1.21\"", "version: \"1.37\"", "platform: openshift, version: \"4.20\""] {
        let workspace = format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {{name: w}}\nspec: {{targets: [{{name: t, {target}}}]}}\n"
        );
        std::fs::write(folder.path().join("bailiwick.yaml"), workspace).expect("a file");
        let run = bailiwick(folder.path(), &["explain", "namespace", "team-b", "--stats"]);
        let told = stderr(&run);
        assert!(run.status.success(), "{target}: {told}");
        let expanded =
            told.lines().find_map(|line| line.strip_prefix("expand")).and_then(|line| line.split_whitespace().next());
        assert_eq!(expanded, Some("3"), "{target}: {told}");
    }
}
