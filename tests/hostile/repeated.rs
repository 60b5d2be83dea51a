//! Short texts, repeated: no input takes more than linear time.
//!
//! The limit is processor time, far above the time of any run. Work in the square of an input takes hours.

use std::fs;
use std::process::{Command, Stdio};

use super::inputs::Site;
use crate::runs::git;
use crate::support::rounds;

/// In place of a path: the text goes to standard input.
const STANDARD_INPUT: &str = "-";

/// The inputs of the program: the path of a file in a workspace, and the command line.
const INPUTS: &[(&str, &[&str])] = &[
    ("policies/x.yaml", &["render", "--stdout"]),
    ("policies/tenants.csv", &["render", "--stdout"]),
    ("bailiwick.yaml", &["render", "--stdout"]),
    ("templates/tenancy/namespace.yaml.j2", &["render", "--stdout"]),
    ("out/t/x.yaml", &["check"]),
    (".sourceignore", &["check"]),
    (".gitattributes", &["check"]),
    (".argocd-source.yaml", &["check"]),
    (".git/config", &["check"]),
    (".git/HEAD", &["check"]),
    ("../input", &["lint", "--from", "../input"]),
    ("../input", &["import", "--from", "../input", "--into", "../imported", "--dry-run"]),
    ("../input", &["drift", "--live", "../input"]),
    ("../input.json", &["drift", "--live", "../input.json"]),
    ("../input", &["who-can", "get", "pods", "--from", "../from/a.yaml", "--baseline", "../input"]),
    ("../input", &["can-i", "create", "pods", "--as", "a", "--admission", "../input"]),
    ("../input", &["import", "audit", "--audit", "../input"]),
    ("../input", &["lint", "--from", "../from/a.yaml", "--audit", "../input"]),
    ("../input", &["lint", "--from", "../from/a.yaml", "--audit", "../log", "--audit-policy", "../input"]),
    ("../input", &["merge", "../input"]),
    ("../input", &["migrate", "kubelets", "../input", "--from", "../from/a.yaml"]),
    ("../input", &["migrate", "verify", "--from", "../from/a.yaml", "--patches", "../input"]),
    ("../input", &["review", "--base-dir", ".", "--approved-by", "@../input"]),
    (STANDARD_INPUT, &["lint", "--from", "-"]),
    (STANDARD_INPUT, &["fn"]),
    (STANDARD_INPUT, &["fn", "--stream"]),
    (STANDARD_INPUT, &["ask"]),
    (STANDARD_INPUT, &["lsp"]),
];

/// Texts with a meaning to some reader. The first ones are read in every run of the tests.
const TEXTS: &[&str] = &[
    "\n",
    "a: b\n",
    "---\n",
    "\r\n",
    " ",
    "\t",
    "[",
    "{",
    "]",
    "[],",
    "{}\n",
    "a",
    "a\n",
    ",",
    ",\n",
    "a,b\n",
    "\"",
    "'",
    "\"a\" ",
    "- ",
    "-\n",
    "- a: b\n",
    "? ",
    "? a\n",
    ": ",
    "&a ",
    "*a ",
    "a: &a\n",
    "<<: *a\n",
    "!",
    "!a ",
    "|\n",
    "|\n a\n",
    ">",
    "#\n",
    "# ",
    "%a\n",
    "...\n",
    "--- a\n",
    "---\na: b\n",
    "---\nkind: a\n",
    "kind: List\n",
    "items:\n",
    "\0",
    "\\",
    "/",
    "*",
    "**/",
    "!a\n",
    "/a/**\n",
    "* text\n",
    "[attr]a b\n",
    "{{",
    "{{ a }}",
    "{% if a %}",
    "{# #}",
    "{\"a\":1}",
    "{\"a\":1}\n",
    "{\"kind\":\"Event\"}\n",
    "Content-Length: 2\r\n\r\n{}",
    "Content-Length: 1\r\n",
    "\x1f\x08",
    "\u{e9}",
    "\u{2028}",
    "\u{feff}",
];

#[test]
fn a_repeated_text_takes_linear_time() {
    let texts = TEXTS.get(..rounds(2, TEXTS.len())).unwrap_or(TEXTS);
    for (path, arguments) in INPUTS {
        for text in texts {
            let site = Site::new();
            let workspace = site.path("w");
            git(&workspace, &["init", "--quiet"]);
            fs::write(site.path("log"), "{}\n").expect("a file");
            let is_standard_input = *path == STANDARD_INPUT;
            let file = if is_standard_input { site.path("stdin") } else { workspace.join(path) };
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            // A template has a limit.
            let size = if path.ends_with(".j2") { 60_000 } else { 500_000 };
            fs::write(&file, text.repeat(size / text.len())).expect("a file");
            let input = if is_standard_input { fs::File::open(&file).expect("a file").into() } else { Stdio::null() };
            let run = Command::new("prlimit")
                .arg("--cpu=60")
                .arg(env!("CARGO_BIN_EXE_bailiwick"))
                .args(*arguments)
                .args(["--jobs", "1"])
                .current_dir(&workspace)
                .stdin(input)
                .output()
                .expect("the program starts");
            let printed = String::from_utf8_lossy(&run.stderr);
            let is_right = run.status.code().is_some_and(|code| code <= 3) && !printed.contains("internal error");
            assert!(is_right, "{arguments:?} with {text:?}: {:?}: {printed:.1000}", run.status);
        }
    }
}
