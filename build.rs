//! Lists the built-in templates for the program.

use std::fmt::Write as _;
use std::path::Path;

/// The folder of the built-in templates.
const TEMPLATES: &str = "templates";

#[expect(clippy::disallowed_methods, reason = "the list goes into the folder of the build")]
fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={TEMPLATES}");
    let mut paths = Vec::new();
    find(Path::new(TEMPLATES), "", &mut paths)?;
    paths.sort_by(|left, right| Path::new(left).cmp(Path::new(right)));
    let mut list = String::from("&[\n");
    for path in paths {
        let source = format!("/{TEMPLATES}/{path}");
        writeln!(list, "    ({path:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {source:?}))),")
            .map_err(std::io::Error::other)?;
    }
    list.push_str("]\n");
    let folder = std::env::var_os("OUT_DIR").ok_or_else(|| std::io::Error::other("Cargo sets OUT_DIR"))?;
    std::fs::write(Path::new(&folder).join("templates.rs"), list)
}

/// Finds the templates below a folder. `above` is the path of the folder below [`TEMPLATES`], with a slash.
fn find(folder: &Path, above: &str, paths: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            find(&entry.path(), &format!("{path}/"), paths)?;
        } else if path.ends_with(".j2") {
            paths.push(path);
        }
    }
    Ok(())
}
