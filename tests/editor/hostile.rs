//! Hostile texts and links, changes of files, and broken clients.

use std::fs;

use serde_json::{Value, json};

use super::client::Client;

const WORKSPACE: &str = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  targets: [{name: t, version: \"1.37\"}]\n";

fn workspace() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a folder");
    fs::create_dir(scratch.path().join("policies")).expect("a folder");
    fs::write(scratch.path().join("bailiwick.yaml"), WORKSPACE).expect("a file");
    scratch
}

#[test]
fn a_file_that_changes_on_disk_is_noticed() {
    let scratch = workspace();
    let mut client = Client::start(scratch.path());
    client.wait_until(|shown| shown.is_empty());
    fs::write(scratch.path().join("policies/a.yaml"), "apiVersion: bailiwick.dev/v1alpha1\nkind: Grnat\n")
        .expect("a file");
    let shown = client.wait_until(|shown| shown.iter().any(|shown| shown.code == "unknown-kind"));
    assert_eq!(shown[0].path, "policies/a.yaml");
    fs::remove_file(scratch.path().join("policies/a.yaml")).expect("a removal");
    client.wait_until(|shown| shown.iter().all(|shown| shown.code != "unknown-kind"));
    assert_eq!(client.shut_down(), Some(0));
}

#[test]
fn hostile_texts_end_in_diagnostics() {
    let scratch = workspace();
    let mut client = Client::start(scratch.path());
    let bomb: String = (0..30).map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)).collect();
    let texts = [
        format!("a-1: &a-1 x\n{bomb}"),
        "[".repeat(100_000),
        format!("kind: {}", "x".repeat(3_000_000)),
        "\u{0}\u{feff}\u{202e}".to_owned(),
        "- ".repeat(20_000),
        "{{ '{{' * 1000000 }}".to_owned(),
        String::new(),
    ];
    client.open("policies/a.yaml", "");
    for text in texts {
        client.replace("policies/a.yaml", &text);
        client.wait_for("policies/a.yaml");
        for method in ["textDocument/completion", "textDocument/hover", "textDocument/definition"] {
            for (line, column) in [(0, 0), (0, 5), (99, 99)] {
                client.request_at(method, "policies/a.yaml", line, column);
            }
        }
    }
    assert_eq!(client.shut_down(), Some(0));
}

#[cfg(unix)]
#[test]
fn no_file_outside_of_the_workspace_is_read() {
    let (scratch, other) = (workspace(), tempfile::tempdir().expect("a folder"));
    fs::write(other.path().join("secret.yaml"), "kind: SecretWord\napiVersion: bailiwick.dev/v1alpha1\n")
        .expect("a file");
    std::os::unix::fs::symlink(other.path().join("secret.yaml"), scratch.path().join("policies/link.yaml"))
        .expect("a link");
    let mut client = Client::start(scratch.path());
    let shown = client.wait_until(|shown| !shown.is_empty());
    assert_eq!(shown.iter().map(|shown| shown.code.as_str()).collect::<Vec<_>>(), ["path-outside-workspace"]);
    assert!(!format!("{shown:?}").contains("SecretWord"));
    // A path of a policy that leaves the workspace.
    let text = "apiVersion: bailiwick.dev/v1alpha1\nkind: Manifests\nmetadata: {name: m}\nspec:\n  files: [../../../etc/passwd]\n";
    client.open("policies/m.yaml", text);
    client.wait_for("policies/m.yaml");
    let found = client.request_at("textDocument/definition", "policies/m.yaml", 4, 15);
    assert_eq!(found, json!([]));
}

#[test]
fn a_document_outside_of_a_workspace_has_no_answers() {
    let (scratch, other) = (workspace(), tempfile::tempdir().expect("a folder"));
    let mut client = Client::start(scratch.path());
    for uri in
        [format!("file://{}/a.yaml", other.path().display()), "untitled:a".to_owned(), "file://host/a".to_owned()]
    {
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": "kind: Grant"});
        client.notify("textDocument/didOpen", json!({"textDocument": document}));
        let parameters = json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}});
        assert_eq!(client.request("textDocument/completion", parameters.clone()), json!([]));
        assert_eq!(client.request("textDocument/hover", parameters), Value::Null);
    }
    assert_eq!(client.shut_down(), Some(0));
}

#[test]
fn wrong_messages_are_refused_and_the_server_goes_on() {
    let scratch = workspace();
    let mut client = Client::start(scratch.path());
    let unknown = client.answer("workspace/everything", Value::Null);
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let wrong = client.answer("textDocument/hover", json!({"position": "here"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    client.notify("textDocument/didChange", json!({"textDocument": 5}));
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": "file:///none"}}));
    client.open("policies/a.yaml", "kind: x\n");
    client.edit("policies/a.yaml", [9, 9, 2, 0], "y");
    client.wait_for("policies/a.yaml");
    assert_eq!(client.shut_down(), Some(0));
}

#[test]
fn an_editor_that_is_gone_ends_the_server() {
    let scratch = workspace();
    assert_eq!(Client::start(scratch.path()).hang_up(), Some(1));
    let mut client = Client::start(scratch.path());
    client.send_bytes(b"Content-Length: 9\r\n\r\nnot json!");
    assert_eq!(client.hang_up(), Some(3));
}

#[test]
fn a_closed_document_is_its_file_again() {
    let scratch = workspace();
    let good = "apiVersion: bailiwick.dev/v1alpha1\nkind: NamespaceSet\nmetadata: {name: a}\nspec:\n  namespaces: [{name: a}]\n";
    fs::write(scratch.path().join("policies/a.yaml"), good).expect("a file");
    let mut client = Client::start(scratch.path());
    client.open("policies/a.yaml", "kind: [");
    client.wait_until(|shown| !shown.is_empty());
    client.close("policies/a.yaml");
    client.wait_until(|shown| shown.is_empty());
    assert_eq!(client.shut_down(), Some(0));
}
