//! `cargo xtask dist`: the program as it is published, in an archive with a checksum.
//!
//! The same commit and the same toolchain give the same bytes: entries are sorted, and every entry has the time of the commit
//! and the owner 0.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};

/// The shells with a completion script, each with the name of its file.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "bailiwick.bash"), ("zsh", "_bailiwick"), ("fish", "bailiwick.fish")];

/// Files of the repository that belong to the archive.
const TEXTS: [&str; 3] = ["CHANGELOG.md", "LICENSE", "README.md"];

/// Build the program for publication, and pack it with its completions and man pages
///
/// Writes bailiwick-VERSION-TARGET.tar.gz and SHA256SUMS to target/dist-files. Entries of the archive have the time of
/// SOURCE_DATE_EPOCH, or of the last commit. Ends with 0 on success, 3 when a step fails.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Target triple to build for; the machine's own by default
    #[arg(long)]
    target: Option<String>,
    /// Build profile; `dist` is the published one
    #[arg(long, default_value = "dist")]
    profile: String,
}

/// Builds and packs the program.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let target = match &arguments.target {
        Some(target) => target.clone(),
        None => host()?,
    };
    let program = build(root, &target, &arguments.profile)?;
    let name = format!("bailiwick-{}-{target}", env!("CARGO_PKG_VERSION"));
    let folder = root.join("target/dist-files");
    let entries = entries(root, &program, &folder.join("man"))?;
    let archive = archive(&name, &entries, time_of_source(root)?)?;
    let sum: String = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = format!("{name}.tar.gz");
    fs::write(folder.join(&file), &archive)?;
    fs::write(folder.join("SHA256SUMS"), format!("{sum}  {file}\n"))?;
    println!("{sum}  target/dist-files/{file}");
    Ok(ExitCode::SUCCESS)
}

/// Builds the program for a target, and returns its path. A program for Linux needs no library of the system.
fn build(root: &Path, target: &str, profile: &str) -> io::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--bin", "bailiwick", "--profile", profile, "--target", target]).current_dir(root);
    if target.contains("-linux-") {
        cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    }
    succeeded(&mut cargo)?;
    let name = if target.contains("-windows-") { "bailiwick.exe" } else { "bailiwick" };
    Ok(root.join("target").join(target).join(profile).join(name))
}

/// A file of the archive.
struct Entry {
    /// The path below the folder of the archive.
    path: String,
    bytes: Vec<u8>,
    mode: u32,
}

impl Entry {
    fn text(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes, mode: 0o644 }
    }
}

/// Returns the files of the archive, sorted by path. `man` is a folder for the man pages. The completions and the man pages are
/// printed by the program of the development profile, which runs on this machine.
fn entries(root: &Path, program: &Path, man: &Path) -> io::Result<Vec<Entry>> {
    let name = program.file_name().map(|name| name.to_string_lossy()).into_iter().collect::<String>();
    let mut entries = vec![Entry { path: name, bytes: fs::read(program)?, mode: 0o755 }];
    for name in TEXTS {
        entries.push(Entry::text(name, fs::read(root.join(name))?));
    }
    for (shell, name) in COMPLETIONS {
        let script = succeeded(own_program(root).args(["completions", shell]))?;
        entries.push(Entry::text(format!("completions/{name}"), script));
    }
    if man.exists() {
        fs::remove_dir_all(man)?;
    }
    succeeded(own_program(root).arg("man").arg("--output").arg(man))?;
    for page in fs::read_dir(man)? {
        let page = page?;
        let path = format!("man/{}", page.file_name().to_string_lossy());
        entries.push(Entry::text(path, fs::read(page.path())?));
    }
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

fn own_program(root: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--locked", "--bin", "bailiwick", "--"]).current_dir(root);
    cargo
}

/// Returns a gzipped tar archive with the entries below one folder. `time` is in seconds since 1970.
fn archive(folder: &str, entries: &[Entry], time: u64) -> io::Result<Vec<u8>> {
    // The header of gzip has no time and no name.
    let mut archive = tar::Builder::new(GzBuilder::new().write(Vec::new(), Compression::best()));
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        header.set_mode(entry.mode);
        header.set_mtime(time);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(entry.bytes.len() as u64);
        archive.append_data(&mut header, format!("{folder}/{}", entry.path), entry.bytes.as_slice())?;
    }
    archive.into_inner()?.finish()
}

/// Returns the time of the source: `SOURCE_DATE_EPOCH`, or the time of the last commit.
fn time_of_source(root: &Path) -> io::Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(time) => time,
        Err(_) => {
            let time = succeeded(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
            String::from_utf8_lossy(&time).into_owned()
        }
    };
    text.trim().parse().map_err(|_| io::Error::other(format!("`{}` is no number of seconds since 1970", text.trim())))
}

/// Returns the target triple of this machine.
fn host() -> io::Result<String> {
    let version = succeeded(Command::new("rustc").arg("-vV"))?;
    let version = String::from_utf8_lossy(&version).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| io::Error::other("`rustc -vV` names no host"))
}

/// Runs a program, and returns its standard output.
///
/// # Errors
/// When the program cannot be started, or ends with another exit code than 0.
fn succeeded(command: &mut Command) -> io::Result<Vec<u8>> {
    let mut child = command.stdout(std::process::Stdio::piped()).spawn()?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.as_mut() {
        stdout.read_to_end(&mut output)?;
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(output);
    }
    let program = command.get_program().to_string_lossy();
    Err(io::Error::other(format!("`{program}` ended with {status}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(time: u64) -> Vec<u8> {
        let program = Entry { path: "bailiwick".to_owned(), bytes: b"program".to_vec(), mode: 0o755 };
        archive("bailiwick-0", &[program, Entry::text("man/a.1", b"page".to_vec())], time).expect("an archive")
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        assert_eq!(packed(7), packed(7));
        assert_ne!(packed(7), packed(8));
    }

    #[test]
    fn the_program_is_executable_and_belongs_to_nobody() {
        let bytes = packed(7);
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let entries: Vec<(String, u32, u64, u64)> = archive
            .entries()
            .expect("entries")
            .map(|entry| {
                let entry = entry.expect("an entry");
                let header = entry.header();
                let path = entry.path().expect("a path").to_string_lossy().into_owned();
                let number = |value: io::Result<u64>| value.expect("a number");
                (path, header.mode().expect("a mode"), number(header.mtime()), number(header.uid()))
            })
            .collect();
        let expected = [("bailiwick-0/bailiwick", 0o755), ("bailiwick-0/man/a.1", 0o644)];
        assert_eq!(entries, expected.map(|(path, mode)| (path.to_owned(), mode, 7, 0)));
    }
}
