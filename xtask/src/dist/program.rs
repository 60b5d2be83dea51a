//! Builds the program, and proves that it needs no library of the system.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::package::{Package, Platform};
use super::release::Release;
use super::source::succeeded;

/// A build of the program. Every tool that calls Cargo gets the same flags and the same folder, so that nothing is compiled twice.
#[derive(Debug)]
pub(crate) struct Build<'a> {
    pub(crate) release: &'a Release,
    pub(crate) platform: &'a Platform,
    pub(crate) profile: &'a str,
    /// Folders of the machine whose names are kept out of the program.
    pub(crate) hidden: BTreeSet<&'a Path>,
}

impl Build<'_> {
    /// Builds the program, and returns its path.
    ///
    /// # Errors
    /// When the build fails, or the program for Linux needs a library or a loader of the system.
    pub(crate) fn run(&self) -> io::Result<PathBuf> {
        let target = self.platform.target;
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--locked", "--package", "bailiwick", "--bin", "bailiwick"]);
        cargo.args(["--profile", self.profile, "--target", target]).current_dir(&self.release.root);
        succeeded(self.with_environment(&mut cargo))?;
        // The profile `dev` has the folder of its former name.
        let folder = if self.profile == "dev" { "debug" } else { self.profile };
        let program = self.release.root.join("target").join(target).join(folder).join("bailiwick");
        if self.platform.is_static() && !is_static(&fs::read(&program)?)? {
            return Err(io::Error::other(format!("{} needs a library of the system", program.display())));
        }
        Ok(program)
    }

    /// Sets the environment of a program that calls Cargo.
    pub(crate) fn with_environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let mut flags: Vec<String> = Vec::new();
        if self.platform.is_static() {
            flags.push("-Ctarget-feature=+crt-static".to_owned());
        }
        let root = self.release.root.as_path();
        let hidden = self.hidden.iter().map(|folder| (*folder, "/crates")).chain([(root, "/bailiwick")]);
        flags.extend(hidden.map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display())));
        command.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        command.env("CARGO_TARGET_DIR", root.join("target"));
        command.env("SOURCE_DATE_EPOCH", self.release.time.to_string());
        if !self.platform.oldest_macos.is_empty() {
            command.env("MACOSX_DEPLOYMENT_TARGET", self.platform.oldest_macos);
        }
        // `bailiwick init --ci` writes the address into workflows, and their runners are Linux on x86_64.
        let runner = Platform::ALL.iter().find(|platform| platform.target == "x86_64-unknown-linux-gnu");
        match runner.and_then(|platform| self.release.address(Package::Archive, platform)) {
            Some(address) => command.env("BAILIWICK_URL", address),
            None => command.env_remove("BAILIWICK_URL"),
        }
    }
}

/// Returns the target triple of this machine.
pub(crate) fn host() -> io::Result<String> {
    let version = succeeded(Command::new("rustc").arg("-vV"))?;
    let version = String::from_utf8_lossy(&version).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| io::Error::other("`rustc -vV` names no host"))
}

/// Returns whether an ELF program for a 64-bit machine has no interpreter and needs no library. Source: the program headers of the System V ABI;
/// a static program that is independent of its position has a dynamic section, too.
///
/// # Errors
/// When the bytes are no such program.
fn is_static(bytes: &[u8]) -> io::Result<bool> {
    const LOADER: u64 = 3;
    const DYNAMIC: u64 = 2;
    const NEEDED: u64 = 1;
    let read = || {
        let headers = number(bytes, 0x20, 8)?;
        let (size, count) = (number(bytes, 0x36, 2)?, number(bytes, 0x38, 2)?);
        let mut is_static = true;
        for index in 0..count {
            let header = headers.checked_add(index * size)?;
            match number(bytes, header, 4)? {
                LOADER => is_static = false,
                DYNAMIC => {
                    let (start, length) = (number(bytes, header + 8, 8)?, number(bytes, header + 32, 8)?);
                    let mut tags = (0..length / 16).map(|entry| number(bytes, start.checked_add(entry * 16)?, 8));
                    is_static &= !tags.any(|tag| tag == Some(NEEDED));
                }
                _ => {}
            }
        }
        Some(is_static)
    };
    let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
    is_elf.then(read).flatten().ok_or_else(|| io::Error::other("the program is no ELF program for a 64-bit machine"))
}

/// Returns a little-endian number of so many bytes.
fn number(bytes: &[u8], at: u64, length: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a program with a dynamic section of these tags, and with these further program headers.
    fn elf(tags: &[u64], headers: &[u32]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(0x40, 0);
        bytes[0x20] = 0x40;
        bytes[0x36] = 56;
        bytes[0x38] = u8::try_from(headers.len() + 1).expect("few headers");
        let end = 0x40 + 56 * (headers.len() as u64 + 1);
        for header in [2].iter().chain(headers) {
            bytes.extend(header.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(end.to_le_bytes());
            bytes.extend([0; 16]);
            bytes.extend((tags.len() as u64 * 16).to_le_bytes());
            bytes.extend([0; 16]);
        }
        bytes.extend(tags.iter().flat_map(|tag| [tag.to_le_bytes(), [0; 8]].concat()));
        bytes
    }

    #[test]
    fn a_loader_or_a_library_is_found() {
        assert!(is_static(&elf(&[4, 5, 0], &[1, 6])).expect("a program"));
        assert!(!is_static(&elf(&[4, 1, 0], &[1, 6])).expect("a program"), "a library");
        assert!(!is_static(&elf(&[4, 5, 0], &[1, 3])).expect("a program"), "a loader");
        assert!(is_static(&elf(&[4, 5, 0], &[1])[..100]).is_err(), "a truncated program");
        assert!(is_static(b"#!/bin/sh\n").is_err());
    }

    #[cfg(all(target_os = "linux", not(target_feature = "crt-static")))]
    #[test]
    fn this_test_is_not_static() {
        let program = std::env::current_exe().and_then(fs::read).expect("a program");
        assert!(!is_static(&program).expect("a program"));
    }
}
