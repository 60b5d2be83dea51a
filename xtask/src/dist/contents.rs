//! The files that packages have beside each other: the program, the plugin of kubectl, texts, completions and man pages.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use super::archive::Entry;
use super::release::Release;
use super::source::{read, succeeded};

/// The shells with a completion script, each with the name of its file.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "bailiwick.bash"), ("zsh", "_bailiwick"), ("fish", "bailiwick.fish")];

/// Files of the repository that belong to the packages.
const TEXTS: [&str; 3] = ["CHANGELOG.md", "LICENSE", "README.md"];

/// The file with the licences of the crates.
const LICENCES: &str = "LICENSE-THIRD-PARTY";
/// The name of the program.
pub(crate) const PROGRAM: &str = "bailiwick";
/// The name of the plugin of kubectl.
const PLUGIN: &str = "kubectl-bailiwick";

/// Returns the files, sorted by path. The program prints the completions and the man pages. If the program runs on another machine, the
/// program of the development profile prints them.
pub(crate) fn gather(release: &Release, program: &Path, runs_here: bool, licences: String) -> io::Result<Vec<Entry>> {
    let root = &release.root;
    let mut entries = vec![
        Entry::program(PROGRAM, fs::read(program)?),
        Entry::program(PLUGIN, read(root, &format!("contrib/{PLUGIN}"))?),
        Entry::text(LICENCES, licences.into_bytes()),
    ];
    for name in TEXTS {
        entries.push(Entry::text(name, read(root, name)?));
    }
    let printer = || {
        if runs_here {
            return Command::new(program);
        }
        let mut cargo = Command::new("cargo");
        cargo.args(["run", "--quiet", "--locked", "--bin", PROGRAM, "--"]).current_dir(root);
        cargo
    };
    for (shell, name) in COMPLETIONS {
        entries.push(Entry::text(format!("completions/{name}"), succeeded(printer().args(["completions", shell]))?));
    }
    let pages = release.stage.join("man");
    succeeded(printer().arg("man").arg("--output").arg(&pages))?;
    for page in fs::read_dir(&pages)? {
        let page = page?;
        let path = format!("man/{}", page.file_name().to_string_lossy());
        entries.push(Entry::text(path, fs::read(page.path())?));
    }
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

/// Returns the bytes of the program.
pub(crate) fn program_of(contents: &[Entry]) -> io::Result<&[u8]> {
    let program = contents.iter().find(|entry| entry.path == PROGRAM);
    program.and_then(|entry| entry.bytes.as_deref()).ok_or_else(|| io::Error::other("there is no program"))
}

/// Writes the files into a folder, for the tools of others.
pub(crate) fn stage(contents: &[Entry], folder: &Path) -> io::Result<()> {
    for entry in contents {
        let path = folder.join(&entry.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        if let Some(bytes) = &entry.bytes {
            fs::write(&path, bytes)?;
        }
        set_mode(&path, entry.mode)?;
    }
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
