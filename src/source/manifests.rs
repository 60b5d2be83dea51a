//! Kubernetes manifests from anywhere: a file, a folder, or what a pipe brings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::WalkDir;

use super::decode;
use crate::diag::{FileId, Files, RunError, Sink};

/// The endings of files that hold manifests.
const ENDINGS: &[&str] = &["json", "yaml", "yml"];

/// The manifest files at a path: the file itself, or every one below the folder, sorted. Hidden ones are left out.
///
/// # Errors
/// When there is nothing at the path, or a folder cannot be listed.
pub fn find(path: &Path) -> Result<Vec<PathBuf>, RunError> {
    let metadata = std::fs::metadata(path).map_err(|error| RunError::io("read", path, &error))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let visible =
        |entry: &walkdir::DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
    let mut found = Vec::new();
    for entry in WalkDir::new(path).into_iter().filter_entry(visible) {
        let entry = entry.map_err(|error| RunError::new(format!("cannot list `{}`: {error}", path.display())))?;
        let ending = entry.path().extension().map(|ending| ending.to_string_lossy().to_lowercase());
        if !entry.file_type().is_dir() && ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
            found.push(entry.into_path());
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a file without keeping its text: only the id is registered, and whoever wants to show a place loads the text
/// anew. None when it is no text; why is then in the sink.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path, files: &Files, sink: &mut Sink) -> Result<Option<(FileId, String)>, RunError> {
    let bytes = std::fs::read(path).map_err(|error| RunError::io("read", path, &error))?;
    match String::from_utf8(bytes) {
        Ok(text) => {
            let from = path.to_owned();
            let load = move || Arc::from(std::fs::read_to_string(&from).unwrap_or_default());
            let id = files.add_loaded(path.to_string_lossy(), Box::new(load));
            Ok(Some((id, text)))
        }
        Err(error) => {
            decode(error.into_bytes(), &path.to_string_lossy(), files, sink);
            Ok(None)
        }
    }
}

/// Takes text from a pipe. None when it is no text; why is then in the sink.
pub fn take(bytes: Vec<u8>, files: &Files, sink: &mut Sink) -> Option<FileId> {
    decode(bytes, "standard input", files, sink)
}
