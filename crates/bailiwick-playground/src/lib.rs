//! The command line of `bailiwick` over files in memory, for a page in a browser.
//!
//! [`answer`] takes a request as JSON and returns a response as JSON. It runs the command by [`run_in_memory`], so that the
//! program has the same texts and the same exit code. `boundary.rs` exports the function to WebAssembly. The crate has no
//! decision of its own, reads no clock and no file, and contacts no host.
//!
//! ```
//! let request = r#"{"arguments": ["lint", "--from", "."], "files": [{"path": "a.yaml", "text": "a: ["}], "today": "2026-01-31"}"#;
//! let response = bailiwick_playground::answer(request.as_bytes());
//! assert!(String::from_utf8_lossy(&response).contains("\"exitCode\":2"));
//! ```

use bailiwick::cli::{MemoryCommand, run_in_memory};
use bailiwick::model::Date;
use bailiwick::source::MemorySource;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

mod boundary;

/// The most bytes of a request.
pub const MAXIMUM_REQUEST: usize = 32 << 20;

/// A command line and its files.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Request {
    /// The arguments behind the name of the program.
    arguments: Vec<String>,
    files: Vec<NamedFile>,
    /// The day on which grants are judged as expired, as `YYYY-MM-DD`.
    today: String,
}

/// A file of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedFile {
    /// The path below the folder of the workspace, with `/` between its parts.
    path: String,
    text: String,
}

/// The result of a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", untagged)]
enum Response {
    /// The command was run.
    #[serde(rename_all = "camelCase")]
    Ended {
        exit_code: u8,
        /// The text that the program prints on standard output.
        stdout: String,
        /// The text that the program prints on standard error.
        stderr: String,
        /// The report of the run, as `--report json=FILE` writes it; none after wrong usage.
        report: Option<Box<RawValue>>,
    },
    /// The request cannot be answered, with the reason.
    Refused { refused: String },
}

/// The reason why a request is refused.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    TooLarge,
    NotARequest(String),
    NotADay(String),
    NotAPath(String),
    Twice(String),
}

impl Refusal {
    fn message(self) -> String {
        match self {
            Self::TooLarge => format!("the files have more than {} MiB", MAXIMUM_REQUEST >> 20),
            Self::NotARequest(reason) => format!("the request is not valid: {reason}"),
            Self::NotADay(text) => format!("`{text}` is no day"),
            Self::NotAPath(path) => {
                format!("`{path}` is no path of a file: write names with `/` between them, without `..`")
            }
            Self::Twice(path) => format!("two files have the path `{path}`"),
        }
    }
}

/// Answers a request in JSON with a response in JSON.
///
/// A request has `arguments`, `files` with `path` and `text`, and `today`. A response has `exitCode`, `stdout`, `stderr` and
/// `report`; the response to an invalid request has `refused`, a sentence.
pub fn answer(request: &[u8]) -> Vec<u8> {
    let response = match run(request) {
        Ok(response) => response,
        Err(refusal) => Response::Refused { refused: refusal.message() },
    };
    match serde_json::to_vec(&response) {
        Ok(bytes) => bytes,
        Err(_) => br#"{"refused":"the response cannot be written"}"#.to_vec(),
    }
}

/// Runs the command of a request.
fn run(request: &[u8]) -> Result<Response, Refusal> {
    if request.len() > MAXIMUM_REQUEST {
        return Err(Refusal::TooLarge);
    }
    let request: Request = serde_json::from_slice(request).map_err(|error| Refusal::NotARequest(error.to_string()))?;
    let Ok(today) = request.today.parse::<Date>() else { return Err(Refusal::NotADay(request.today)) };
    let mut paths: Vec<&str> = request.files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    if let Some(path) = paths.iter().find(|path| !is_path(path)) {
        return Err(Refusal::NotAPath((*path).to_owned()));
    }
    if let Some(pair) = paths.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(Refusal::Twice(pair.iter().take(1).copied().collect()));
    }
    let files = MemorySource::new(request.files.into_iter().map(|file| (file.path, file.text)));
    let ended = run_in_memory(&MemoryCommand { arguments: request.arguments, files, today });
    Ok(Response::Ended {
        exit_code: ended.outcome.code(),
        stdout: ended.texts.stdout,
        stderr: ended.texts.stderr,
        report: RawValue::from_string(ended.report).ok(),
    })
}

/// Whether a path names a file below the folder of the workspace.
fn is_path(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | "..")) && !path.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(request: &Value) -> Value {
        serde_json::from_slice(&answer(request.to_string().as_bytes())).expect("JSON")
    }

    fn refusal(files: &Value) -> String {
        let response = asked(&json!({"arguments": ["lint"], "files": files, "today": "2026-01-31"}));
        response.get("refused").and_then(Value::as_str).unwrap_or_else(|| panic!("{response}")).to_owned()
    }

    #[test]
    fn a_request_that_is_not_valid_is_refused() {
        for request in ["", "{", "[]", "\"x\"", r#"{"arguments": [], "files": [], "today": "2026-01-31", "x": 1}"#] {
            let response = answer(request.as_bytes());
            assert!(response.starts_with(b"{\"refused\":\"the request is not valid: "), "{request}");
        }
        assert!(answer(&[0xff, 0xfe]).starts_with(b"{\"refused\":"));
        assert!(
            answer(&vec![b' '; MAXIMUM_REQUEST + 1]).starts_with(b"{\"refused\":\"the files have more than 32 MiB")
        );
        let response = asked(&json!({"arguments": ["lint"], "files": [], "today": "tomorrow"}));
        assert_eq!(response, json!({"refused": "`tomorrow` is no day"}));
    }

    #[test]
    fn paths_stay_below_the_folder() {
        for path in ["", "/etc/passwd", "../../etc/passwd", "a/../../b", "a//b", "./a", "a/", "a\\b", "a\0b"] {
            let message = refusal(&json!([{"path": path, "text": ""}]));
            assert!(
                message.ends_with("is no path of a file: write names with `/` between them, without `..`"),
                "{path}"
            );
        }
        let twice =
            refusal(&json!([{"path": "ü/a", "text": ""}, {"path": "b", "text": ""}, {"path": "ü/a", "text": ""}]));
        assert_eq!(twice, "two files have the path `ü/a`");
    }

    #[test]
    fn an_answer_has_texts_a_code_and_data() {
        let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, \
            rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}";
        let binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, \
            roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: '<b>'}]}";
        let files = json!([{"path": "a.yaml", "text": format!("{role}\n---\n{binding}\n")}]);
        let arguments = json!(["can-i", "get", "secrets", "--as", "<b>", "--from", "."]);
        let response = asked(&json!({"arguments": arguments, "files": files, "today": "2026-01-31"}));
        assert_eq!(response["exitCode"], 0, "{response}");
        assert!(response["stdout"].as_str().is_some_and(|text| text.starts_with("yes\n")), "{response}");
        assert_eq!(response["report"]["command"], "can-i");
        assert_eq!(response["report"]["exitCode"], 0);
    }
}
