//! Lists the built-in templates for the compiler.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The folder of the built-in templates: in the repository a link to its own `templates`, in a published package a copy.
const TEMPLATES: &str = "templates";

#[expect(clippy::disallowed_methods, reason = "the list goes into the folder of the build")]
fn main() -> std::io::Result<()> {
    let folder = folder()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths = Vec::new();
    find(&folder, "", &mut paths)?;
    paths.sort_by(|left, right| Path::new(&left.0).cmp(Path::new(&right.0)));
    let mut list = String::from("&[\n");
    for (path, file) in paths {
        let file = file.to_str().ok_or_else(|| std::io::Error::other("the path of the repository is no text"))?;
        writeln!(list, "    (\"{}\", include_str!(\"{}\")),", path.escape_default(), file.escape_default())
            .map_err(std::io::Error::other)?;
    }
    list.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| std::io::Error::other("Cargo sets OUT_DIR"))?;
    std::fs::write(Path::new(&out).join("templates.rs"), list)
}

/// Returns the folder of the templates. Git writes a link as a file with its target where the system has no links, such as Windows.
#[expect(clippy::disallowed_methods, reason = "the link is a file of the repository")]
fn folder() -> std::io::Result<PathBuf> {
    let link = Path::new(TEMPLATES);
    let folder = if link.is_file() { PathBuf::from(std::fs::read_to_string(link)?) } else { link.to_owned() };
    folder.canonicalize()
}

/// Finds the templates below a folder, with their paths below [`TEMPLATES`] and their files. `above` is the path of the folder, with a slash.
fn find(folder: &Path, above: &str, paths: &mut Vec<(String, PathBuf)>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            find(&entry.path(), &format!("{path}/"), paths)?;
        } else if path.ends_with(".j2") {
            paths.push((path, entry.path()));
        }
    }
    Ok(())
}
