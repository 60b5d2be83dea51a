//! SHA256SUMS: the checksums of all files of a release.

use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::image::hexadecimal;

/// The name of the file.
pub(crate) const NAME: &str = "SHA256SUMS";

/// Writes the checksums of files of a folder, and returns the lines.
///
/// # Errors
/// When another file is in the folder: it would be published without a checksum.
pub(crate) fn write(folder: &Path, mut names: Vec<String>) -> io::Result<Vec<String>> {
    names.sort();
    let found = files(folder)?;
    if let Some(name) = found.iter().find(|name| !names.contains(name) && *name != NAME) {
        return Err(io::Error::other(format!("`{name}` in {} has no checksum", folder.display())));
    }
    let mut lines = Vec::new();
    for name in names {
        lines.push(format!("{}  {name}", checksum(folder, &name)?));
    }
    fs::write(folder.join(NAME), lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    Ok(lines)
}

/// Returns the SHA-256 of a file.
pub(crate) fn checksum(folder: &Path, name: &str) -> io::Result<String> {
    let bytes =
        fs::read(folder.join(name)).map_err(|error| io::Error::new(error.kind(), format!("`{name}`: {error}")))?;
    Ok(hexadecimal(&Sha256::digest(bytes)))
}

/// Returns the names of the files of a folder, sorted.
///
/// # Errors
/// When an entry is no file, such as a link or a folder.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_file() {
            return Err(io::Error::other(format!("`{name}` in {} is no file", folder.display())));
        }
        names.push(name);
    }
    names.sort();
    Ok(names)
}
