//! Whole runs of the program in a folder.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use arbitrary::Unstructured;
use bailiwick::cli;
use bailiwick::yaml;
use serde_json::{Value, json};

use crate::schema;

/// Generates a policy of any kind.
///
/// # Errors
/// When the bytes of the fuzzer end.
pub fn policy(number: usize, input: &mut Unstructured<'_>) -> arbitrary::Result<Value> {
    let kinds: Vec<&str> = bailiwick::kinds::names().filter(|name| *name != "Workspace").collect();
    let kind = *input.choose(&kinds)?;
    let document = bailiwick::kinds::schema_of(kind).unwrap_or_default();
    let mut policy = schema::value(&document, &document, 0, input)?;
    if let Value::Object(map) = &mut policy {
        map.insert("apiVersion".to_owned(), json!("bailiwick.dev/v1alpha1"));
        map.insert("kind".to_owned(), json!(kind));
        let name = if input.ratio(1_u8, 8)? { schema::text(input)? } else { format!("p{number}") };
        map.insert("metadata".to_owned(), json!({ "name": name }));
    }
    Ok(policy)
}

/// Returns an empty folder of this process.
pub fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bailiwick-fuzz-{}", std::process::id()));
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Writes files by their paths below a folder.
pub fn write(folder: &std::path::Path, files: &[(String, String)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

/// Runs the program: it ends with an exit code of its own, and without an internal error.
pub fn program(folder: &std::path::Path, arguments: &[&str]) {
    let start = ["bailiwick".into(), "-C".into(), folder.into(), "--sandbox=off".into()];
    let code = cli::run(start.into_iter().chain(arguments.iter().map(OsString::from))).code();
    assert!(code <= 3, "exit code {code}");
    assert_eq!(yaml::internal::first(), None);
}
