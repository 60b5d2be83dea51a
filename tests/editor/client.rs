//! An editor: starts the language server, sends edits, and reads its messages.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use serde_json::{Value, json};

/// Far more than an answer needs.
const LONG: Duration = Duration::from_secs(60);

/// A diagnostic as the editor shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shown {
    /// The path below the root.
    pub(crate) path: String,
    /// The first line and column, and the last line and column; columns count units of UTF-16, and all begin at 0.
    pub(crate) range: [u64; 4],
    pub(crate) code: String,
    pub(crate) severity: u64,
    /// The first line of the message.
    pub(crate) message: String,
}

/// An editor with the language server.
pub(crate) struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    pub(crate) root: PathBuf,
    next_id: u64,
    versions: BTreeMap<String, i64>,
    /// The newest diagnostics of each file, by its URI.
    shown: BTreeMap<String, Value>,
    /// The messages to the user.
    pub(crate) notices: Vec<String>,
}

impl Client {
    /// Starts the server for a folder.
    pub(crate) fn start(root: &Path) -> Self {
        let root = root.canonicalize().expect("a folder");
        let mut server = Command::new(env!("CARGO_BIN_EXE_bailiwick"))
            .arg("lsp")
            .current_dir(&root)
            .env_clear()
            .env("BAILIWICK_JOBS", "2")
            .env("BAILIWICK_TODAY", "2026-01-01")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the server starts");
        let mut stdout = BufReader::new(server.stdout.take().expect("an output"));
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut stdout) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = server.stdin.take();
        let (versions, shown) = Default::default();
        let mut client = Self { server, stdin, messages, root, next_id: 0, versions, shown, notices: Vec::new() };
        let folder = client.uri("");
        let capabilities = json!({"general": {"positionEncodings": ["utf-16"]}});
        let folders = json!([{"uri": folder.trim_end_matches('/'), "name": "workspace"}]);
        let answer = client.request(
            "initialize",
            json!({"processId": null, "rootUri": null, "capabilities": capabilities, "workspaceFolders": folders}),
        );
        assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");
        client.notify("initialized", json!({}));
        client
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.root.display())
    }

    /// Opens a file with a text.
    pub(crate) fn open(&mut self, path: &str, text: &str) {
        let uri = self.uri(path);
        self.versions.insert(path.to_owned(), 1);
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces a range of lines and columns of an open document.
    pub(crate) fn edit(&mut self, path: &str, range: [u64; 4], text: &str) {
        let [line, character, end_line, end_character] = range;
        let start = json!({"line": line, "character": character});
        let end = json!({"line": end_line, "character": end_character});
        self.change(path, json!({"range": {"start": start, "end": end}, "text": text}));
    }

    /// Replaces the text of an open document.
    pub(crate) fn replace(&mut self, path: &str, text: &str) {
        self.change(path, json!({"text": text}));
    }

    fn change(&mut self, path: &str, change: Value) {
        let uri = self.uri(path);
        let version = self.versions.get_mut(path).expect("an open document");
        *version += 1;
        let document = json!({"uri": uri, "version": *version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
    }

    pub(crate) fn close(&mut self, path: &str) {
        let uri = self.uri(path);
        self.versions.remove(path);
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }

    pub(crate) fn notify(&mut self, method: &str, parameters: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": parameters}));
    }

    /// Sends a request, and returns the result. An error is a failure.
    pub(crate) fn request(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.answer(method, parameters);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer.get("result").cloned().unwrap_or(Value::Null)
    }

    /// Sends a request, and returns the whole response.
    pub(crate) fn answer(&mut self, method: &str, parameters: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}));
        loop {
            let message = self.receive(LONG).unwrap_or_else(|| panic!("no answer to {method}"));
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    /// Sends a request about a place of an open document.
    pub(crate) fn request_at(&mut self, method: &str, path: &str, line: u64, character: u64) -> Value {
        let document = json!({"uri": self.uri(path)});
        self.request(method, json!({"textDocument": document, "position": {"line": line, "character": character}}))
    }

    /// Waits until the newest version of a document has diagnostics.
    pub(crate) fn wait_for(&mut self, path: &str) {
        let (uri, version) = (self.uri(path), self.versions[path]);
        while self.shown.get(&uri).is_none_or(|shown| shown["version"] != json!(version)) {
            self.receive(LONG).unwrap_or_else(|| panic!("no diagnostics of {path} at version {version}"));
        }
    }

    /// Waits until the diagnostics fulfil a condition.
    pub(crate) fn wait_until(&mut self, is_so: impl Fn(&[Shown]) -> bool) -> Vec<Shown> {
        loop {
            let shown = self.shown();
            if is_so(&shown) {
                return shown;
            }
            self.receive(LONG).unwrap_or_else(|| panic!("the diagnostics stay {shown:#?}"));
        }
    }

    /// Returns the newest diagnostics of all files, sorted, without findings of `lint`.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let mut all = Vec::new();
        for (uri, shown) in &self.shown {
            let path = uri.strip_prefix(&self.uri("")).expect("a file of the workspace").to_owned();
            let diagnostics = shown["diagnostics"].as_array().expect("a list").iter();
            for diagnostic in diagnostics.filter(|diagnostic| diagnostic["source"] == "bailiwick") {
                let number = |of: &str, field: &str| diagnostic["range"][of][field].as_u64().expect("a number");
                let message = diagnostic["message"].as_str().expect("a text");
                all.push(Shown {
                    path: path.clone(),
                    range: [
                        number("start", "line"),
                        number("start", "character"),
                        number("end", "line"),
                        number("end", "character"),
                    ],
                    code: diagnostic["code"].as_str().expect("a code").to_owned(),
                    severity: diagnostic["severity"].as_u64().expect("a severity"),
                    message: message.lines().next().unwrap_or_default().to_owned(),
                });
            }
        }
        all.sort();
        all
    }

    /// Reads one message; none when the time passes, or the server ended.
    fn receive(&mut self, most: Duration) -> Option<Value> {
        let message = match self.messages.recv_timeout(most) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        match message["method"].as_str() {
            Some("textDocument/publishDiagnostics") => {
                let uri = message["params"]["uri"].as_str().expect("a URI").to_owned();
                self.shown.insert(uri, message["params"].clone());
            }
            Some("window/showMessage") => {
                self.notices.push(message["params"]["message"].as_str().expect("a text").to_owned());
            }
            _ => {}
        }
        Some(message)
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("a connection");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    /// Shuts the server down, and returns its exit code.
    pub(crate) fn shut_down(mut self) -> Option<i32> {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.server.wait().expect("the server ends").code()
    }

    /// Ends the connection without a shutdown, and returns the exit code of the server.
    pub(crate) fn hang_up(mut self) -> Option<i32> {
        self.stdin = None;
        self.server.wait().expect("the server ends").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that fails leaves no server behind.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Reads one message; none at the end.
fn read(input: &mut impl std::io::BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("Content-Length: ") {
            length = number.parse().ok()?;
        }
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
