//! Examples on the pages of diagnostics: `## Bad` reports the code of the page, and `## Good` does not.
//!
//! | in a section | is |
//! |---|---|
//! | a fence `yaml` | manifests: `manifests.yaml`, for `bailiwick lint --from manifests.yaml --severity info` |
//! | a fence `yaml PATH` (or `csv PATH`, ..) | a file of a workspace, for `bailiwick check` after `bailiwick render` |
//! | a fence `console` | commands to run instead, each after `$ `; the output of the last one counts |
//! | a fence `text` | the output, without counts and notes where no command is given |
//! | `` `code` `` in the prose | another diagnostic that the example reports, too |
//!
//! A workspace without `bailiwick.yaml` has one target, `t`, with version 1.36. The files of `## Bad` that `## Good` does
//! not replace are a part of it. A file below `out/` is the committed output, which no `render` then writes. `UPDATE=1`
//! rewrites the outputs (the generated pages need a second run), and `PAGE=text` chooses pages by id. `cargo xtask tidy`
//! counts the pages without examples.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use bailiwick::codes;
use bailiwick::emit::diff::unified;

use crate::support::repository;

/// The workspace of examples that have none.
const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: example
spec:
  targets:
  - name: t
    version: \"1.36\"
";

/// The file of manifests that have no path.
const MANIFESTS: &str = "manifests.yaml";

/// Beginnings of paths of a machine.
const MACHINE: [&str; 6] = ["/home/", "/root/", "/tmp/", "/Users/", "/work/", "C:\\"];

#[test]
fn examples_of_diagnostics_report_what_their_pages_state() {
    let wanted = std::env::var("PAGE").unwrap_or_default();
    let pages: Vec<Page> = all().into_iter().filter(|page| page.id.contains(&wanted)).collect();
    let queue = Mutex::new(pages.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(page) = next else { break };
                    failures
                        .lock()
                        .unwrap()
                        .extend(page.failures().into_iter().map(|why| format!("{}: {why}", page.id)));
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(failures.is_empty(), "{} faults:\n{}", failures.len(), failures.join("\n\n"));
}

/// The page of a code.
struct Page {
    id: &'static str,
    path: PathBuf,
    text: String,
}

/// A part of a page under a heading of the second level.
struct Section {
    prose: String,
    fences: Vec<Fence>,
    /// The number of the line after the last one with text.
    end: usize,
}

/// A fenced block.
struct Fence {
    /// The language, and the rest of the line.
    info: (String, String),
    body: String,
    /// The lines of the body.
    lines: Range<usize>,
}

/// The output of an example.
struct Run {
    output: String,
    status: Option<i32>,
}

/// Returns every page, as it is on the disk.
fn all() -> Vec<Page> {
    let mut paths = BTreeMap::new();
    for root in ["src", "crates"] {
        for entry in walkdir::WalkDir::new(repository().join(root)).into_iter().flatten() {
            let path = entry.into_path();
            let is_page = path.parent().is_some_and(|folder| folder.ends_with("codes"))
                && path.extension().is_some_and(|extension| extension == "md");
            if is_page {
                paths.insert(path.file_stem().unwrap().to_string_lossy().into_owned(), path);
            }
        }
    }
    let page = |id: &'static str| {
        let path = paths.get(id).unwrap_or_else(|| panic!("no page {id}.md")).clone();
        let text = fs::read_to_string(&path).expect("a page");
        Page { id, path, text }
    };
    codes::all().iter().map(|code| page(code.id())).collect()
}

impl Page {
    /// Returns the section with a heading.
    fn section(&self, heading: &str) -> Option<Section> {
        let lines: Vec<&str> = self.text.lines().collect();
        let mut section: Option<Section> = None;
        let mut open: Option<((String, String), usize)> = None;
        for (number, line) in lines.iter().enumerate() {
            match (&open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
                    open = Some(((language.to_owned(), rest.to_owned()), number + 1));
                }
                (Some((info, start)), Some("")) => {
                    if let Some(section) = &mut section {
                        let body = lines[*start..number].iter().flat_map(|line| [line, "\n"]).collect();
                        section.fences.push(Fence { info: info.clone(), body, lines: *start..number });
                        section.end = number + 1;
                    }
                    open = None;
                }
                (Some(_), _) => {}
                (None, None) => {
                    if let Some(title) = line.strip_prefix("## ") {
                        if section.is_some() {
                            return section;
                        }
                        section = (title == heading).then(|| Section {
                            prose: String::new(),
                            fences: Vec::new(),
                            end: number + 1,
                        });
                    } else if let Some(section) = section.as_mut().filter(|_| !line.is_empty()) {
                        section.prose.extend([line, "\n"]);
                        section.end = number + 1;
                    }
                }
            }
        }
        assert!(open.is_none(), "{}: a fence without an end", self.id);
        section
    }

    /// Checks the examples, where the page has any.
    fn failures(&self) -> Vec<String> {
        let mut failures: Vec<String> = MACHINE
            .iter()
            .filter(|path| self.text.contains(*path))
            .map(|path| format!("the page has {path}"))
            .collect();
        let (bad, good) = match (self.section("Bad"), self.section("Good")) {
            (Some(bad), Some(good)) => (bad, good),
            (None, None) => return failures,
            _ => return vec!["a page has both of `## Bad` and `## Good`, or neither".to_owned()],
        };
        let files = bad.files();
        let found = run(&files, bad.commands(), files.contains_key(MANIFESTS));
        failures.extend(self.output_failure(&bad, &found));
        if !reported(&found.output).contains(self.id) && !is_folded(&found.output, self.id) {
            failures.push(format!("`## Bad` does not report it:\n{}", found.output));
        }
        failures.extend(self.other_codes("Bad", &bad, &found.output));

        let own = good.files();
        if own.is_empty() && good.commands().is_empty() {
            failures.push("`## Good` has no input".to_owned());
        }
        let is_of_manifests = if own.is_empty() { files.contains_key(MANIFESTS) } else { own.contains_key(MANIFESTS) };
        let files = files.into_iter().chain(own).collect();
        let found = run(&files, good.commands(), is_of_manifests);
        if good.output().is_some() {
            failures.extend(self.output_failure(&good, &found));
        }
        let is_error = matches!(found.status, Some(2 | 3) | None) || found.output.contains("error[");
        if is_error || reported(&found.output).contains(self.id) || is_folded(&found.output, self.id) {
            failures.push(format!("`## Good` is not good ({:?}):\n{}", found.status, found.output));
        }
        failures.extend(self.other_codes("Good", &good, &found.output));
        failures
    }

    /// Compares the output of an example with the page, or writes it there.
    fn output_failure(&self, section: &Section, found: &Run) -> Option<String> {
        let expected = section.output().map(|fence| fence.body.as_str());
        if expected == Some(&found.output) {
            return None;
        }
        if std::env::var_os("UPDATE").is_none() {
            return Some(unified(&format!("{}.md", self.id), expected, Some(&found.output)));
        }
        // An output of `## Good` moves with the one above it.
        let text = fs::read_to_string(&self.path).expect("a page");
        let mut lines: Vec<&str> = text.lines().collect();
        let shift = |line: usize| line + lines.len() - self.text.lines().count();
        match section.output() {
            Some(fence) => _ = lines.splice(shift(fence.lines.start)..shift(fence.lines.end), found.output.lines()),
            None => {
                let block = ["", "```text"].into_iter().chain(found.output.lines()).chain(["```"]);
                let end = shift(section.end);
                lines.splice(end..end, block);
            }
        }
        fs::write(&self.path, lines.join("\n") + "\n").expect("a page");
        None
    }

    /// Reports codes that an example prints and its prose does not name.
    fn other_codes(&self, heading: &str, section: &Section, output: &str) -> Option<String> {
        let codes = reported(output);
        let is_named = |code: &&str| *code == self.id || section.prose.contains(&format!("`{code}`"));
        let others: Vec<&str> = codes.into_iter().filter(|code| !is_named(code)).collect();
        (!others.is_empty()).then(|| format!("`## {heading}` reports {others:?}, too:\n{output}"))
    }
}

impl Section {
    /// Returns the input files by path.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for fence in self.fences.iter().filter(|fence| !matches!(fence.info.0.as_str(), "text" | "console")) {
            let path = if fence.info.1.is_empty() { MANIFESTS } else { fence.info.1.as_str() };
            let known = files.insert(path.to_owned(), fence.body.clone());
            assert!(known.is_none(), "two fences with {path}:\n{}", fence.body);
        }
        files
    }

    /// Returns the commands to run.
    fn commands(&self) -> Vec<&str> {
        let consoles = self.fences.iter().filter(|fence| fence.info.0 == "console");
        let lines = consoles.flat_map(|fence| fence.body.lines());
        lines.map(|line| line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {line}"))).collect()
    }

    /// Returns the stated output.
    fn output(&self) -> Option<&Fence> {
        self.fences.iter().find(|fence| fence.info.0 == "text")
    }
}

/// Runs the commands of an example in a folder of its own, or the commands for its kind.
fn run(files: &BTreeMap<String, String>, mut commands: Vec<&str>, of_manifests: bool) -> Run {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let root = scratch.path().canonicalize().expect("a temporary folder");
    let default = [("bailiwick.yaml".to_owned(), WORKSPACE.to_owned())];
    let is_workspace = files.keys().any(|path| path != MANIFESTS);
    for (path, text) in default.iter().filter(|_| is_workspace).map(|(path, text)| (path, text)).chain(files) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    if commands.is_empty() && of_manifests {
        commands.push("bailiwick lint --quiet --severity info --from manifests.yaml");
    } else if commands.is_empty() {
        if !root.join("out").exists() {
            commands.push("bailiwick render --quiet");
        }
        commands.push("bailiwick check --quiet");
    }
    let mut last = None;
    for command in commands {
        last = Some(shell(&root, command));
    }
    last.expect("a command")
}

/// Runs a command line as a terminal shows it.
fn shell(root: &Path, command: &str) -> Run {
    let program = Path::new(env!("CARGO_BIN_EXE_bailiwick")).parent().expect("a folder");
    let output = Command::new("/bin/sh")
        .args(["-c", &format!("{command} 2>&1")])
        .stdin(Stdio::null())
        .current_dir(root)
        .env_clear()
        .env("BAILIWICK_JOBS", "1")
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .output()
        .expect("a shell");
    let text = String::from_utf8(output.stdout).expect("UTF-8 is printed");
    Run { output: text.replace(&format!("{}/", root.display()), ""), status: output.status.code() }
}

/// Returns the codes of the diagnostics in an output.
fn reported(output: &str) -> BTreeSet<&str> {
    let codes = output.lines().filter_map(|line| {
        let rest = ["error[", "warning[", "note["].iter().find_map(|severity| line.strip_prefix(severity))?;
        rest.split_once("]: ").map(|(code, _)| code)
    });
    codes.collect()
}

/// Whether the note of a finding names a code: a finding of this code has the same cause.
fn is_folded(output: &str, code: &str) -> bool {
    let notes = output.lines().filter_map(|line| line.split_once("= note: also ").map(|(_, others)| others));
    notes.flat_map(|others| others.split(", ")).any(|other| other == code)
}
