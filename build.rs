//! Gives the program the id of its build, since a cache belongs to one program, and the list of its templates.

use std::fmt::Write as _;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

/// The folder of the built-in templates.
const TEMPLATES: &str = "templates";

/// Files and folders that the program is built from.
const PARTS: [&str; 6] = ["src", "crates", "templates", "Cargo.toml", "Cargo.lock", "build.rs"];

/// Settings of the build that change the program.
const VARIABLES: [&str; 5] = ["TARGET", "PROFILE", "OPT_LEVEL", "DEBUG", "CARGO_ENCODED_RUSTFLAGS"];

fn main() -> std::io::Result<()> {
    let mut files = Vec::new();
    // A published package has no `crates`: the crates beside it are in its Cargo.lock.
    for part in PARTS.into_iter().filter(|part| *part != "crates" || Path::new(part).exists()) {
        println!("cargo::rerun-if-changed={part}");
        find(Path::new(part), &mut files)?;
    }
    files.sort();
    list_templates(&files)?;
    // Two hashes of one function suffice: only the builder chooses the input.
    let mut hashers = [0_u8, 1].map(|number| {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u8(number);
        hasher
    });
    let mut add = |bytes: &[u8]| {
        for hasher in &mut hashers {
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
        }
    };
    for path in files {
        #[expect(clippy::disallowed_methods, reason = "the sources of the program")]
        let text = std::fs::read(&path)?;
        add(path.as_os_str().as_encoded_bytes());
        add(&text);
    }
    for variable in VARIABLES {
        println!("cargo::rerun-if-env-changed={variable}");
        let value = std::env::var_os(variable).unwrap_or_default();
        // A flag that removes the folders of the machine from the program has their names.
        let flags = value.as_encoded_bytes().split(|byte| *byte == 0x1f);
        flags.filter(|flag| !flag.starts_with(b"--remap-path-prefix=")).for_each(&mut add);
    }
    let [first, second] = hashers.map(|hasher| hasher.finish());
    println!("cargo::rustc-env=BAILIWICK_BUILD={first:016x}{second:016x}");
    Ok(())
}

/// Writes the list of the built-in templates: the path below the folder and the source of each.
#[expect(clippy::disallowed_methods, reason = "the list goes into the folder of the build")]
fn list_templates(files: &[PathBuf]) -> std::io::Result<()> {
    let mut list = String::from("&[\n");
    let templates = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "j2"));
    for path in templates.filter_map(|path| path.strip_prefix(TEMPLATES).ok()) {
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        let path = parts.join("/");
        let file = format!("/{TEMPLATES}/{path}");
        writeln!(list, "    ({path:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {file:?}))),")
            .map_err(std::io::Error::other)?;
    }
    list.push_str("]\n");
    let folder = std::env::var_os("OUT_DIR").ok_or_else(|| std::io::Error::other("Cargo sets OUT_DIR"))?;
    std::fs::write(Path::new(&folder).join("templates.rs"), list)
}

/// Finds every file at or below a path.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        find(&entry?.path(), files)?;
    }
    Ok(())
}
