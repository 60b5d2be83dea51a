//! The files of the repository that a release has.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads a file of the repository by its path with `/`.
///
/// # Errors
/// When the file or a folder above it is a link: a release has no file from elsewhere.
pub(crate) fn read(root: &Path, path: &str) -> io::Result<Vec<u8>> {
    let mut place = root.to_owned();
    for part in path.split('/') {
        place.push(part);
        let kind = fs::symlink_metadata(&place).map_err(|error| named(path, &error))?.file_type();
        if part == ".." || !(kind.is_file() || kind.is_dir()) {
            return Err(io::Error::other(format!("`{path}` is no file of the repository")));
        }
    }
    fs::read(&place).map_err(|error| named(path, &error))
}

/// Reads a text of the repository.
pub(crate) fn read_text(root: &Path, path: &str) -> io::Result<String> {
    String::from_utf8(read(root, path)?).map_err(|error| io::Error::other(format!("`{path}`: {error}")))
}

fn named(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{path}`: {error}"))
}

/// Returns the time of the source in seconds since 1970: `SOURCE_DATE_EPOCH`, or the time of the last commit.
pub(crate) fn time(root: &Path) -> io::Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(time) => time,
        Err(_) => {
            let mut git = Command::new("git");
            git.args(["-c", "log.showSignature=false", "log", "-1", "--format=%ct"]).current_dir(root);
            String::from_utf8_lossy(&succeeded(&mut git)?).into_owned()
        }
    };
    text.trim().parse().map_err(|_| io::Error::other(format!("`{}` is no number of seconds since 1970", text.trim())))
}

/// Runs a program, and returns its standard output.
///
/// # Errors
/// When the program cannot be started, or ends with another exit code than 0.
pub(crate) fn succeeded(command: &mut Command) -> io::Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| named(&program, &error))?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.as_mut() {
        stdout.read_to_end(&mut output)?;
    }
    let status = child.wait()?;
    if status.success() { Ok(output) } else { Err(io::Error::other(format!("`{program}` ended with {status}"))) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_not_read() {
        let root = std::env::temp_dir().join(format!("bailiwick-dist-{}", std::process::id()));
        fs::create_dir_all(root.join("inside")).expect("a folder");
        fs::write(root.join("inside/file"), "text").expect("a file");
        std::os::unix::fs::symlink("/etc/hostname", root.join("LICENSE")).expect("a link");
        std::os::unix::fs::symlink("/etc", root.join("packaging")).expect("a link");
        let results = ["inside/file", "LICENSE", "packaging/hostname", "inside/../inside/file", "inside/none"]
            .map(|path| read(&root, path).map_err(|error| error.to_string()));
        fs::remove_dir_all(&root).expect("the folder");
        let [file, link, below_link, parent, missing] = results;
        assert_eq!(file.expect("a file"), b"text");
        assert_eq!(link.expect_err("a link"), "`LICENSE` is no file of the repository");
        assert_eq!(below_link.expect_err("a link"), "`packaging/hostname` is no file of the repository");
        assert_eq!(parent.expect_err("a parent"), "`inside/../inside/file` is no file of the repository");
        assert!(missing.expect_err("no file").starts_with("`inside/none`: "));
    }
}
