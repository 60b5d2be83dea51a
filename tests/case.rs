//! A case: a folder with a workspace, arguments, and the expected output of the program.
//!
//! | in the folder | is |
//! |---|---|
//! | `bailiwick.yaml` | the workspace; without it, one with the target `t` at 1.21 |
//! | `policies/`, `templates/` | as in any workspace |
//! | `before/` | the output folder as it is before the run |
//! | `setup` | files that git does not keep well, one line each; see [`Step`] |
//! | `elsewhere/` | files beside the workspace's own |
//! | `stdin` | the standard input |
//! | `args` | the arguments, one a line; without it, `render` |
//! | `stdout`, `stderr` | the printed texts; without the file, none |
//! | `status` | the exit code; without it, 0 for `ok-` and 2 for `err-` |
//! | `out/` | `ok-` only: the whole output folder afterwards |

#![allow(dead_code, reason = "the tests `cases` and `main` share the module")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a case that cannot be set up is a failure of the test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The workspace of a case without one.
const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: case
spec:
  targets:
  - name: t
    version: \"1.21\"
";

/// A case by its folder.
pub(crate) struct Case {
    /// `<kind>/<case>`, or `hostile/<topic>/<case>`.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

/// Returns every case, sorted by name.
pub(crate) fn all() -> Vec<Case> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder of cases").map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let mut cases = Vec::new();
    for (root, prefix) in [("cases", ""), ("hostile", "hostile/")] {
        for folder in folders(&tests.join(root)).iter().flat_map(|kind| folders(kind)) {
            let path = folder.strip_prefix(tests.join(root)).unwrap();
            cases.push(Case { name: format!("{prefix}{}", path.display()), folder });
        }
    }
    cases.sort_by(|left, right| left.name.cmp(&right.name));
    cases
}

impl Case {
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    pub(crate) fn arguments(&self) -> Vec<String> {
        self.text("args").unwrap_or_else(|| "render\n".to_owned()).lines().map(str::to_owned).collect()
    }

    /// Lays out the workspace of the case.
    pub(crate) fn set_up(&self, root: &Path) {
        for name in ["policies", "templates", "elsewhere"] {
            copy(&self.folder.join(name), &root.join(name));
        }
        copy(&self.folder.join("before"), &root.join("out"));
        let workspace = self.text("bailiwick.yaml").unwrap_or_else(|| WORKSPACE.to_owned());
        fs::write(root.join("bailiwick.yaml"), workspace).unwrap();
        for line in self.text("setup").unwrap_or_default().lines() {
            Step::parse(line).unwrap_or_else(|| panic!("{}: setup: {line}", self.name)).apply(root);
        }
    }
}

/// A line of `setup`.
enum Step<'l> {
    /// `crlf PATH`: every line feed becomes CR LF.
    Crlf(&'l str),
    /// `bom PATH`: a byte order mark in front.
    Bom(&'l str),
    /// `utf16 PATH`: the text in UTF-16, with its mark.
    Utf16(&'l str),
    /// `bytes PATH HEX`: a file of these bytes.
    Bytes(&'l str, &'l str),
    /// `replace PATH HEX HEX`: the first bytes, wherever they stand, become the second.
    Replace(&'l str, &'l str, &'l str),
    /// `size PATH BYTES`: a file of so many zero bytes, which takes no room on the disk.
    Size(&'l str, u64),
    /// `symlink PATH -> TARGET`.
    Link(&'l str, &'l str),
    /// `readonly PATH`.
    ReadOnly(&'l str),
    /// `remove PATH`.
    Remove(&'l str),
}

impl<'l> Step<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words.as_slice() {
            ["crlf", path] => Step::Crlf(path),
            ["bom", path] => Step::Bom(path),
            ["utf16", path] => Step::Utf16(path),
            ["bytes", path, hex] => Step::Bytes(path, hex),
            ["replace", path, old, new] => Step::Replace(path, old, new),
            ["size", path, size] => Step::Size(path, size.parse().ok()?),
            ["symlink", path, "->", target] => Step::Link(path, target),
            ["readonly", path] => Step::ReadOnly(path),
            ["remove", path] => Step::Remove(path),
            _ => return None,
        })
    }

    fn apply(&self, root: &Path) {
        match *self {
            Step::Crlf(path) => {
                rewrite(&root.join(path), |bytes| String::from_utf8(bytes).unwrap().replace('\n', "\r\n").into())
            }
            Step::Bom(path) => rewrite(&root.join(path), |bytes| [b"\xef\xbb\xbf".as_slice(), &bytes].concat()),
            Step::Utf16(path) => rewrite(&root.join(path), |bytes| {
                let text = String::from_utf8(bytes).unwrap();
                std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
            }),
            Step::Bytes(path, hex) => write(&root.join(path), &unhex(hex)),
            Step::Replace(path, old, new) => rewrite(&root.join(path), |bytes| {
                let (old, new) = (unhex(old), unhex(new));
                let at = bytes.windows(old.len()).position(|window| window == old).expect("the bytes to replace");
                [bytes.get(..at).unwrap(), &new, bytes.get(at + old.len()..).unwrap()].concat()
            }),
            Step::Size(path, size) => {
                write(&root.join(path), b"");
                fs::File::options().write(true).open(root.join(path)).unwrap().set_len(size).unwrap();
            }
            Step::Link(path, target) => {
                let _ = fs::remove_file(root.join(path));
                fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(target, root.join(path)).unwrap();
            }
            Step::ReadOnly(path) => {
                let mut permissions = fs::metadata(root.join(path)).unwrap().permissions();
                permissions.set_readonly(true);
                fs::set_permissions(root.join(path), permissions).unwrap();
            }
            Step::Remove(path) => fs::remove_file(root.join(path)).unwrap(),
        }
    }
}

fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("hexadecimal bytes"))
        .collect()
}

fn rewrite(path: &Path, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    write(path, &change(fs::read(path).unwrap()));
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Copies a folder, if it is there.
fn copy(from: &Path, to: &Path) {
    for (path, bytes) in tree(from) {
        write(&to.join(path), &bytes);
    }
}

/// Returns every file below a folder; a link is represented by its destination.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().map(Result::unwrap) {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            let bytes = if kind.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display()).into_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            files.insert(name, bytes);
        }
    }
    files
}

/// A diagnostic as it was printed.
pub(crate) struct Told {
    pub(crate) severity: &'static str,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) text: String,
}

/// Returns the diagnostics of a text.
pub(crate) fn diagnostics(stderr: &str) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for line in stderr.lines() {
        let head = ["error", "warning", "note"].into_iter().find_map(|severity| {
            let (code, message) = line.strip_prefix(severity)?.strip_prefix('[')?.split_once("]: ")?;
            Some((severity, code, message))
        });
        match (head, all.last_mut()) {
            (Some((severity, code, message)), _) => {
                all.push(Told { severity, code: code.to_owned(), message: message.to_owned(), text: String::new() });
            }
            (None, Some(last)) => last.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    all
}
