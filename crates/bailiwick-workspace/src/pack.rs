//! The objects of a target as an image layout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bailiwick_codes as codes;
use bailiwick_compiler::emit::oci::ImageLayout;
use bailiwick_yaml::diag::{Diagnostic, RunError};

use super::workspace::Workspace;
use super::{Diagnostics, Error};

/// The options of an image layout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackOptions {
    /// The name of the target.
    pub target: String,
    /// The folder of the layout. It does not exist, or is empty.
    pub output: PathBuf,
    /// The revision of the sources, for the annotation `org.opencontainers.image.revision`.
    pub revision: Option<String>,
    /// The address of the sources, for the annotation `org.opencontainers.image.source`.
    pub source: Option<String>,
}

/// An image layout that was written.
#[derive(Debug, Clone)]
pub struct Packed {
    /// The diagnostics of the policies. After an error nothing is written.
    pub diagnostics: Diagnostics,
    /// The number of files of the target.
    pub files: usize,
    /// The digest of the manifest, as `sha256:HEX`.
    pub digest: String,
}

/// Compiles a target, and writes its files as an image layout. The output folder is not read.
///
/// # Errors
/// When there is no such target, it has no object, the folder is not empty, or the layout cannot be written.
pub fn pack(workspace: &Workspace, options: &PackOptions) -> Result<Packed, Error> {
    let PackOptions { target, output, revision, source } = options;
    let output = workspace.options.at(output);
    if !is_free(&output)? {
        let message = format!("`{}` exists and is not an empty folder", output.display());
        let help = "name a new folder for `--output`, or remove that folder";
        return Err(Error::invalid(Diagnostic::error(codes::INVALID_USAGE, message).help(help)));
    }
    let compiled = workspace.compile(std::slice::from_ref(target), false)?;
    let diagnostics = compiled.diagnostics.checked()?;
    let files: BTreeMap<&str, &str> = compiled.files.iter().map(|file| (&*file.path, &*file.text)).collect();
    if files.is_empty() {
        let message =
            format!("the target `{target}` has no object, and an applier of an empty image deletes everything");
        let help = "`bailiwick render` shows the objects of each target";
        return Err(Error::invalid(Diagnostic::error(codes::NOTHING_TO_JUDGE, message).help(help)));
    }
    let revision = revision.iter().map(|value| ("org.opencontainers.image.revision", value.as_str()));
    let source = source.iter().map(|value| ("org.opencontainers.image.source", value.as_str()));
    let layout = ImageLayout::new(&files, &revision.chain(source).collect::<Vec<_>>())?;
    layout.write_to(&output)?;
    Ok(Packed { diagnostics, files: files.len(), digest: layout.digest })
}

/// Returns whether nothing is at a path, or an empty folder. A link is something.
fn is_free(path: &Path) -> Result<bool, RunError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(RunError::io("read", path, &error)),
        Ok(metadata) if metadata.is_dir() => {
            let mut entries = fs::read_dir(path).map_err(|error| RunError::io("list", path, &error))?;
            Ok(entries.next().is_none())
        }
        Ok(_) => Ok(false),
    }
}
