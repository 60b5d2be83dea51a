//! Reads what people wrote: the only module that opens policies, templates and account lists.
//!
//! Everything comes through a [`World`], so that tests compile from memory and nothing else of the machine can
//! leak into the output.

pub mod manifests;
mod recorded;
mod table;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use recorded::{Answered, Answers, RecordedWorld};
pub use table::{Cell, Row, read_csv, read_list};
pub use world::{DiskWorld, MemoryWorld, World};

use crate::diag::{Code, Diagnostic, FileId, Files, Origin, RunError, Sink, Span};
use crate::yaml::{self, Tree};

/// The largest file that is read, in bytes.
pub const MAXIMUM_FILE_SIZE: usize = 512 << 20;

/// The texts of a workspace: each is read once.
pub struct Sources {
    world: Arc<dyn World>,
    files: Arc<Files>,
    texts: BTreeMap<String, Option<FileId>>,
    trees: BTreeMap<String, Arc<Tree>>,
}

impl Sources {
    /// The texts of a world, registered in `files`.
    pub fn new(world: Box<dyn World>, files: Arc<Files>) -> Self {
        Self { world: Arc::from(world), files, texts: BTreeMap::new(), trees: BTreeMap::new() }
    }

    /// The registered texts.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Gives back the memory of a tree that nobody will ask for again.
    pub fn forget_tree(&mut self, path: &str) {
        self.trees.remove(path);
    }

    /// Every file below a folder, sorted; none when the folder is not there.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn list(&self, folder: &str) -> Result<Vec<String>, RunError> {
        self.world.list(folder)
    }

    /// Reads a text. None when it cannot be used; why is then in the sink.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn text(&mut self, path: &str, sink: &mut Sink) -> Result<Option<FileId>, RunError> {
        if let Some(known) = self.texts.get(path) {
            return Ok(*known);
        }
        if !self.is_within_bounds(path, sink) {
            self.texts.insert(path.to_owned(), None);
            return Ok(None);
        }
        let Some(bytes) = self.world.read(path)? else {
            return Ok(None);
        };
        let id = decode(bytes, path, &self.files, sink);
        self.texts.insert(path.to_owned(), id);
        Ok(id)
    }

    /// True for a file inside the workspace that is not too large to be read; otherwise the reason is in the sink.
    fn is_within_bounds(&self, path: &str, sink: &mut Sink) -> bool {
        if self.world.leads_outside(path) {
            let id = self.files.add(path, "");
            sink.push(
                Diagnostic::error(Code::PathOutside, format!("`{path}` is a link that leaves the workspace"))
                    .at(Origin { file: id, span: Span::default() })
                    .help("copy the file: what decides the output lies where a review sees it"),
            );
            return false;
        }
        if let Some(size) = self.world.size(path).filter(|&size| size > MAXIMUM_FILE_SIZE as u64) {
            too_large(size, path, &self.files, sink);
            return false;
        }
        true
    }

    /// Reads a YAML text. None when there is no such file or no text in it.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn tree(&mut self, path: &str, sink: &mut Sink) -> Result<Option<Arc<Tree>>, RunError> {
        if let Some(known) = self.trees.get(path) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(id) = self.text(path, sink)? else {
            return Ok(None);
        };
        let tree = Arc::new(yaml::read(self.files.get(id).text(), id, sink));
        self.trees.insert(path.to_owned(), Arc::clone(&tree));
        Ok(Some(tree))
    }

    /// Reads a text for as long as it takes to go through it: it is not kept, and read again where a diagnostic shows a
    /// part of it. None when it cannot be used, as with [`Sources::text`].
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn passing_text(&mut self, path: &str, sink: &mut Sink) -> Result<Option<(FileId, String)>, RunError> {
        if self.texts.get(path) == Some(&None) {
            return Ok(None);
        }
        if !self.is_within_bounds(path, sink) {
            self.texts.insert(path.to_owned(), None);
            return Ok(None);
        }
        let Some(bytes) = self.world.read(path)? else { return Ok(None) };
        match String::from_utf8(bytes) {
            Ok(text) if text.len() <= MAXIMUM_FILE_SIZE => {
                let (world, place) = (Arc::clone(&self.world), path.to_owned());
                let load = move || -> Arc<str> {
                    let bytes = world.read(&place).ok().flatten().unwrap_or_default();
                    String::from_utf8_lossy(&bytes).into()
                };
                Ok(Some((self.files.add_loaded(path, Box::new(load)), text)))
            }
            refused => {
                let bytes = refused.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
                decode(bytes, path, &self.files, sink);
                self.texts.insert(path.to_owned(), None);
                Ok(None)
            }
        }
    }

    /// True when a file is there.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn exists(&mut self, path: &str) -> Result<bool, RunError> {
        self.world.exists(path)
    }

    /// A path written in a file, relative to that file's folder, as a path of the workspace.
    pub fn resolve(from: &str, written: &str) -> Option<String> {
        if written.starts_with('/') || written.contains('\\') {
            return None;
        }
        let mut parts: Vec<&str> = from.split('/').collect();
        parts.pop();
        for part in written.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                name => parts.push(name),
            }
        }
        (!parts.is_empty()).then(|| parts.join("/"))
    }
}

/// Checks size and encoding, and registers the text.
fn decode(bytes: Vec<u8>, path: &str, files: &Files, sink: &mut Sink) -> Option<FileId> {
    if bytes.len() > MAXIMUM_FILE_SIZE {
        too_large(bytes.len() as u64, path, files, sink);
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(files.add(path, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
            let wrong = bytes.get(valid).copied().unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let id = files.add(path, text);
            let message =
                if utf16 { "this file is UTF-16".to_owned() } else { format!("the byte 0x{wrong:02X} is not UTF-8") };
            sink.push(
                Diagnostic::error(Code::InvalidUtf8, message)
                    .at(Origin { file: id, span: Span::new(valid, valid + 1) })
                    .help("save the file as UTF-8"),
            );
            None
        }
    }
}

fn too_large(size: u64, path: &str, files: &Files, sink: &mut Sink) {
    let id = files.add(path, "");
    sink.push(
        Diagnostic::error(Code::FileTooLarge, format!("`{path}` has {} MiB", size >> 20))
            .at(Origin { file: id, span: Span::default() })
            .help(format!("at most {} MiB are read; split the file", MAXIMUM_FILE_SIZE >> 20)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_cannot_leave_the_workspace() {
        assert_eq!(Sources::resolve("policies/a/b.yaml", "../c.csv").as_deref(), Some("policies/c.csv"));
        assert_eq!(Sources::resolve("policies/a.yaml", "../../x"), None);
        assert_eq!(Sources::resolve("policies/a.yaml", "/etc/passwd"), None);
        assert_eq!(Sources::resolve("a.yaml", "./b//c"), Some("b/c".to_owned()));
    }
}
