//! The licences of the crates in the program. Most of them ask for their text in every copy.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;

use super::graph::{Crate, Graph};

/// The beginnings of the names of files with a licence or a notice, in small letters.
const NAMES: [&str; 6] = ["licen", "copying", "copyright", "notice", "unlicense", "authors"];

/// Returns the crates with their licences, and then each text once with the crates that have it.
pub(crate) fn text(graph: &Graph) -> io::Result<String> {
    let mut text = "The program has parts of the standard library of Rust (MIT OR Apache-2.0). Programs for Linux are linked with the GNU C\n\
        Library (LGPL-2.1-or-later); the sources of the program and `cargo xtask dist` link it with another.\n\n\
        The program has these crates, by name, version and licence:\n\n"
        .to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in graph.crates.iter().filter(|package| package.checksum.is_some()) {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_ref().map_or("no licence is named", String::as_str);
        let _ = writeln!(text, "- {name}: {licence}");
        for licence in licences(package)? {
            texts.entry(licence).or_default().push(name.clone());
        }
    }
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|one, other| one.1.cmp(&other.1));
    for (licence, packages) in texts {
        let _ = write!(text, "\n{}\n{}\n\n{licence}\n", "-".repeat(80), packages.join(", "));
    }
    Ok(text)
}

/// Returns the texts of a crate as Cargo has unpacked it.
fn licences(package: &Crate) -> io::Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(&package.folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.file_type()?.is_file() && NAMES.iter().any(|beginning| name.starts_with(beginning)) {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n");
            texts.push(text.trim().to_owned());
        }
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}
