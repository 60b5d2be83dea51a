//! Messages of an editor: the server answers or ends, and none panics.

#![no_main]

use std::fs;
use std::io::{self, BufRead as _};
use std::os::fd::AsRawFd as _;

use arbitrary::Unstructured;
use fuzzing::run::{folder, program, write};
use fuzzing::schema::{any, text};
use fuzzing::workspace::WORKSPACE;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

unsafe extern "C" {
    fn dup2(from: i32, to: i32) -> i32;
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    if let Ok((policy, messages)) = messages(&mut input) {
        let folder = folder();
        write(&folder, &[
            ("bailiwick.yaml".to_owned(), WORKSPACE.to_owned()),
            ("policies/p.yaml".to_owned(), policy),
            ("messages".to_owned(), messages.replace("FOLDER", &folder.to_string_lossy())),
        ]);
        let file = fs::File::open(folder.join("messages")).expect("a file");
        // SAFETY: both are open, and nothing else reads standard input now.
        assert_eq!(unsafe { dup2(file.as_raw_fd(), 0) }, 0);
        program(&folder, &["lsp"]);
        // A message that the server did not read is none of the next input.
        let mut left = io::stdin().lock();
        while left.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
            let read = left.fill_buf().map_or(0, <[u8]>::len);
            left.consume(read);
        }
    }
});

/// Generates the text of a policy, and a stream of messages with it.
fn messages(input: &mut Unstructured<'_>) -> arbitrary::Result<(String, String)> {
    let mut policy = format!("apiVersion: bailiwick.dev/v1alpha1\nkind: {}\nmetadata: {{name: {}}}\nspec:\n", text(input)?, text(input)?);
    for _ in 0..input.int_in_range(0..=6)? {
        policy.push_str(&format!("  {}: {}\n", text(input)?, any(0, input)?));
    }
    let uri = "file://FOLDER/policies/p.yaml";
    let mut stream = String::new();
    let mut send = |message: Value| {
        let text = message.to_string();
        stream.push_str(&format!("Content-Length: {}\r\n\r\n{text}", text.replace("FOLDER", &folder_text()).len()));
    };
    send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}, "rootUri": "file://FOLDER"}}));
    send(json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
    send(json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": policy.as_str()}}}));
    for id in 1..=input.int_in_range(1..=6)? {
        let position = json!({"line": input.int_in_range(0..=12)?, "character": input.int_in_range(0..=80)?});
        let method = *input.choose(&["completion", "hover", "definition", "codeAction", "didChange", "didSave", "didClose"])?;
        let mut params = json!({
            "textDocument": {"uri": uri, "version": id}, "position": position.clone(), "range": {"start": position.clone(), "end": position.clone()},
            "context": {"diagnostics": []},
            "contentChanges": [{"range": {"start": position, "end": {"line": input.int_in_range(0..=12)?, "character": 3}}, "text": text(input)?}],
        });
        if let (true, Value::Object(map)) = (input.ratio(1_u8, 4)?, &mut params) {
            let key = map.keys().nth(input.choose_index(map.len())?).cloned().unwrap_or_default();
            map.insert(key, any(0, input)?);
        }
        let mut message = json!({"jsonrpc": "2.0", "method": format!("textDocument/{method}"), "params": params});
        if let (false, Value::Object(map)) = (method.starts_with("did"), &mut message) {
            map.insert("id".to_owned(), json!(id));
        }
        send(message);
    }
    if input.ratio(3_u8, 4)? {
        send(json!({"jsonrpc": "2.0", "id": 99, "method": "shutdown"}));
        send(json!({"jsonrpc": "2.0", "method": "exit"}));
    }
    Ok((policy, stream))
}

/// Returns the path of the folder of this process.
fn folder_text() -> String {
    std::env::temp_dir().join(format!("bailiwick-fuzz-{}", std::process::id())).to_string_lossy().into_owned()
}
