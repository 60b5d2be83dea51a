//! The YAML reader and writer.
//!
//! If the fast reader accepts a text, the full parser reads the same data. A text that is read and written is read back
//! unchanged. If both accept a text, go-yaml, as used by kubectl, reads the same data. `FUZZ_GOYAML` names the program
//! of `tests/conformance/cmd/readstream`; without it this comparison is left out.

#![no_main]

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use bailiwick::diag::{FileId, Sink};
use bailiwick::yaml::{self, ReadBack, Tree};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut sink = Sink::new();
    let full = yaml::read_full(text, FileId::default(), &mut sink);
    assert_eq!(yaml::internal::first(), None);
    if let Some(fast) = yaml::read_fast(text, FileId::default()) {
        assert!(sink.is_empty(), "the fast reader accepts what the full parser does not: {sink:?}");
        assert_eq!(documents(&fast), documents(&full), "the fast reader and the full parser differ");
    }
    if !sink.is_empty() {
        return;
    }
    let read = documents(&full);
    let mut written = String::new();
    for document in full.documents() {
        let mut one = String::new();
        yaml::write::document(document, &mut one);
        assert_eq!(ReadBack::default().compare(&one, document), Ok(()), "what was written is not read back\n{one}");
        written.push_str("---\n");
        written.push_str(&one);
    }
    let mut sink = Sink::new();
    let again = yaml::read(&written, FileId::default(), &mut sink);
    assert!(sink.is_empty(), "what was written cannot be read: {sink:?}\n{written}");
    assert_eq!(read, documents(&again), "what was written reads otherwise\n{written}");
    if let Some(theirs) = go_reading(&written) {
        assert_eq!(Some(&read), theirs.as_ref(), "go-yaml reads what we write otherwise\n{written}");
    }
    if let Some(Some(theirs)) = go_reading(text) {
        assert_eq!(read, theirs, "go-yaml reads the text otherwise");
    }
});

fn documents(tree: &Tree) -> Vec<Value> {
    tree.documents()
        .map(|document| normal(yaml::schema::to_json(document)))
        .filter(|document| !document.is_null())
        .collect()
}

/// Returns a value with numbers as Kubernetes keeps them: `1e3` and `1000` are one number in JSON, and a whole number that no 64 bits
/// with a sign hold is a floating-point number. Source: apimachinery `pkg/util/json`, 1.36.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let Some(float) = number.as_f64().filter(|_| number.as_i64().is_none()) else { return Value::Number(number) };
            // Go writes a float without an exponent below 1e21, and reads the digits again.
            match format!("{float}").parse::<i64>() {
                Ok(whole) if float.abs() < 1e21 => Value::from(whole),
                _ => Value::from(float),
            }
        }
        Value::Array(items) => items.into_iter().map(normal).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, normal(value))).collect(),
        other => other,
    }
}

/// Asks go-yaml for the documents of a text. None without the program; inside, none where go-yaml refuses the text.
fn go_reading(text: &str) -> Option<Option<Vec<Value>>> {
    static READER: OnceLock<Option<Mutex<Child>>> = OnceLock::new();
    let start = || {
        let program = std::env::var_os("FUZZ_GOYAML")?;
        let child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Some(Mutex::new(child.expect("the reader of go-yaml starts")))
    };
    let mut child = READER.get_or_init(start).as_ref()?.lock().expect("no panic while a text is read");
    let input = child.stdin.as_mut().expect("a pipe");
    input.write_all(&u32::try_from(text.len()).expect("a short text").to_le_bytes()).expect("a reader");
    input.write_all(text.as_bytes()).and_then(|()| input.flush()).expect("a reader");
    let output = child.stdout.as_mut().expect("a pipe");
    let mut length = [0; 4];
    output.read_exact(&mut length).expect("an answer");
    let mut answer = vec![0; u32::from_le_bytes(length) as usize];
    output.read_exact(&mut answer).expect("an answer");
    let answer = serde_json::from_slice::<Option<Vec<Value>>>(&answer).expect("JSON");
    Some(answer.map(|documents| documents.into_iter().map(normal).collect()))
}
