//! The changed lines of the inputs, and the lines that cause an effect.
//!
//! The inputs of both states are compared line by line. An effect has evidence: the places of the objects that prove it. The cause is
//! the first changed line in the document of such a place.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bailiwick_compiler::compile::WORKSPACE_FILE;
use bailiwick_kubernetes::absent;
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::{Files, Origin, SourceFile};
use similar::{Algorithm, DiffOp, TextDiff};

use super::record::{Cause, CauseKind, Side};

/// The most bytes of a file that is compared line by line. Of a larger one the first and the last equal lines are found.
const MAXIMUM_COMPARED: usize = 4 << 20;

/// How many letters of a changed line are kept.
const MAXIMUM_TEXT: usize = 200;

/// A changed part of a file, as lines from 0. One of the two ranges can be empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hunk {
    base: (usize, usize),
    head: (usize, usize),
}

/// A part of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CausePlace {
    /// The position of the file in the order of the paths.
    file: usize,
    /// The position of the changed part in the file.
    hunk: usize,
    pub(super) kind: CauseKind,
}

impl CausePlace {
    /// Returns the place as another part of the inputs.
    pub(super) fn as_kind(self, kind: CauseKind) -> Self {
        Self { kind, ..self }
    }
}

/// An object in the proof of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Evidence {
    pub(super) side: Side,
    pub(super) place: Origin,
    pub(super) kind: CauseKind,
}

/// A file of the reviewed state with one changed part as in the earlier state.
pub(super) struct RevertedPart<'i> {
    pub(super) path: &'i str,
    /// The first line of the part, from 1.
    pub(super) line: usize,
    /// The text of the file.
    pub(super) text: String,
}

/// A file with changed lines.
struct ChangedFile {
    path: String,
    base: String,
    head: String,
    hunks: Vec<Hunk>,
}

/// The changed lines of the inputs of a workspace.
pub(super) struct InputChanges<'w> {
    base: Option<&'w Workspace>,
    head: &'w Workspace,
    files: Vec<ChangedFile>,
    by_path: BTreeMap<String, usize>,
    /// The folder of the workspace below the root of the git work tree, with a slash; empty for the root.
    prefix: String,
}

impl<'w> InputChanges<'w> {
    /// Compares the inputs of two states.
    pub(super) fn new(base: Option<&'w Workspace>, head: &'w Workspace, below: &str) -> Self {
        let before = base.map_or_else(Inputs::new, inputs);
        let after = inputs(head);
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let mut files = Vec::new();
        for path in paths {
            let (base, head) = (text(&before, path), text(&after, path));
            if base != head {
                let hunks = hunks(&base, &head);
                files.push(ChangedFile { path: path.clone(), base: base.into(), head: head.into(), hunks });
            }
        }
        let by_path = files.iter().enumerate().map(|(position, file)| (file.path.clone(), position)).collect();
        let prefix = if below == "." { String::new() } else { format!("{below}/") };
        Self { base, head, files, by_path, prefix }
    }

    /// Returns the paths of the changed files below the workspace.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    /// Returns the first changed line in the documents of the evidence; the first evidence with a changed line decides.
    pub(super) fn cause_of(&self, evidence: &[Evidence]) -> Option<CausePlace> {
        evidence.iter().find_map(|evidence| self.in_document(*evidence))
    }

    fn in_document(&self, evidence: Evidence) -> Option<CausePlace> {
        let workspace = match evidence.side {
            Side::Base => self.base?,
            Side::Head => self.head,
        };
        let source = workspace.project().files.get(evidence.place.file);
        let position = *self.by_path.get(source.path())?;
        let file = self.files.get(position)?;
        let line = source.line_column(evidence.place.span.start).line.saturating_sub(1);
        let document = document_around(source.text(), line);
        let is_within = |hunk: &&(usize, &Hunk)| {
            let (start, end) = match evidence.side {
                Side::Base => hunk.1.base,
                Side::Head => hunk.1.head,
            };
            start < document.end && end.max(start + 1) > document.start
        };
        let found = file.hunks.iter().enumerate().find(|hunk| is_within(&hunk));
        found.map(|(hunk, _)| CausePlace { file: position, hunk, kind: evidence.kind })
    }

    /// Returns the first changed line of the workspace file that mentions a target, or its first changed line.
    pub(super) fn in_target(&self, target: &str, kind: CauseKind) -> Option<CausePlace> {
        let position = *self.by_path.get(WORKSPACE_FILE)?;
        let file = self.files.get(position)?;
        let lines: Vec<&str> = file.head.lines().collect();
        let named = |line: &str| line.trim_start_matches([' ', '-', '{']).starts_with(&format!("name: {target}"));
        let start = lines.iter().position(|line| named(line)).map_or(0, |start| start);
        let hunk =
            file.hunks.iter().position(|hunk| hunk.head.1 > start || hunk.head.0 >= start).map_or(0, |hunk| hunk);
        Some(CausePlace { file: position, hunk, kind })
    }

    /// Returns the first changed line that holds a word, among the files with a suffix.
    pub(super) fn with_word(&self, word: &str, kind: CauseKind) -> Option<CausePlace> {
        for (position, file) in self.files.iter().enumerate() {
            let has = |text: &str, (start, end): (usize, usize)| {
                text.lines().skip(start).take(end - start).any(|line| line.contains(word))
            };
            let found = file.hunks.iter().position(|hunk| has(&file.head, hunk.head) || has(&file.base, hunk.base));
            if let Some(hunk) = found {
                return Some(CausePlace { file: position, hunk, kind });
            }
        }
        None
    }

    /// Returns the only changed part, or the first changed line of all.
    pub(super) fn first(&self, kind: CauseKind) -> Option<CausePlace> {
        let position = self.files.iter().position(|file| !file.hunks.is_empty())?;
        Some(CausePlace { file: position, hunk: 0, kind: self.kind_of(position, kind) })
    }

    fn kind_of(&self, position: usize, kind: CauseKind) -> CauseKind {
        let path = self.files.get(position).map_or("", |file| file.path.as_str());
        let templates = format!("{}/", self.head.project().workspace.templates);
        match path {
            _ if path.starts_with(&templates) => CauseKind::Template,
            _ if path.ends_with(".csv") => CauseKind::AccountRow,
            _ => kind,
        }
    }

    /// Returns a cause as it is reported.
    pub(super) fn record(&self, place: CausePlace, id: usize) -> Option<Cause> {
        let file = self.files.get(place.file)?;
        let hunk = file.hunks.get(place.hunk)?;
        let (side, (start, end), text) = if hunk.head.0 < hunk.head.1 {
            (Side::Head, hunk.head, &file.head)
        } else {
            (Side::Base, hunk.base, &file.base)
        };
        let first = absent::text(text.lines().nth(start));
        let last = absent::text(text.lines().nth(end.saturating_sub(1)));
        let column = first.chars().take_while(|letter| letter.is_whitespace()).count() + 1;
        Some(Cause {
            id,
            kind: place.kind,
            side,
            path: format!("{}{}", self.prefix, file.path),
            line: start + 1,
            column,
            end_line: end,
            end_column: last.chars().count() + 1,
            text: first.trim().chars().take(MAXIMUM_TEXT).collect(),
        })
    }

    /// Returns the earlier and the present text of a changed file; none for an unchanged file.
    pub(super) fn texts(&self, path: &str) -> Option<[&str; 2]> {
        let file = self.files.get(*self.by_path.get(path)?)?;
        Some([&file.base, &file.head])
    }

    /// Returns a file of the reviewed state without the changed part of a cause, with the path and the first line of the part.
    pub(super) fn without(&self, place: CausePlace) -> Option<RevertedPart<'_>> {
        let file = self.files.get(place.file)?;
        let hunk = file.hunks.get(place.hunk)?;
        let lines = |text: &'_ str, range: Range<usize>| -> String {
            text.split_inclusive('\n').skip(range.start).take(range.len()).collect()
        };
        let before = lines(&file.head, 0..hunk.head.0);
        let earlier = lines(&file.base, hunk.base.0..hunk.base.1);
        let after = lines(&file.head, hunk.head.1..usize::MAX);
        Some(RevertedPart { path: &file.path, line: hunk.head.0 + 1, text: format!("{before}{earlier}{after}") })
    }

    /// Returns a path of the workspace as seen from the root of the git work tree.
    pub(super) fn path_from_root(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

/// Files by their paths.
type Inputs = BTreeMap<String, Arc<SourceFile>>;

/// Returns the inputs of a workspace: the workspace file, policies, account lists, templates and manifests.
fn inputs(workspace: &Workspace) -> Inputs {
    let files: &Files = &workspace.project().files;
    let output = format!("{}/", workspace.project().workspace.output);
    let sources = files.ids().map(|id| files.get(id));
    let own = sources.filter(|source| !source.path().starts_with('<') && !source.path().starts_with(&output));
    own.map(|source| (source.path().to_owned(), source)).collect()
}

/// Returns the text of an input; an empty text for a missing one.
fn text<'i>(inputs: &'i Inputs, path: &str) -> Cow<'i, str> {
    inputs.get(path).map_or(Cow::Borrowed(""), |file| file.passing_text())
}

/// Returns the changed parts of a text.
fn hunks(base: &str, head: &str) -> Vec<Hunk> {
    if base.len().max(head.len()) > MAXIMUM_COMPARED {
        return vec![outer_hunk(base, head)];
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(base, head);
    let changed = diff.ops().iter().filter(|operation| !matches!(operation, DiffOp::Equal { .. }));
    let mut hunks: Vec<Hunk> = Vec::new();
    for operation in changed {
        let (base, head) = (operation.old_range(), operation.new_range());
        let next = Hunk { base: (base.start, base.end), head: (head.start, head.end) };
        match hunks.last_mut().filter(|last| last.base.1 == next.base.0 && last.head.1 == next.head.0) {
            Some(last) => (last.base.1, last.head.1) = (next.base.1, next.head.1),
            None => hunks.push(next),
        }
    }
    hunks
}

/// Returns one part that holds all changes.
fn outer_hunk(base: &str, head: &str) -> Hunk {
    let (old, new): (Vec<&str>, Vec<&str>) = (base.lines().collect(), head.lines().collect());
    let equal = |(left, right): &(&&str, &&str)| left == right;
    let before = old.iter().zip(&new).take_while(equal).count();
    let most = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(most).take_while(equal).count();
    Hunk { base: (before, old.len() - after), head: (before, new.len() - after) }
}

/// Returns the lines of the YAML document around a line.
fn document_around(text: &str, line: usize) -> Range<usize> {
    let mut start = 0;
    let mut count = 0;
    for (position, content) in text.lines().enumerate() {
        count = position + 1;
        if content == "---" || content.starts_with("--- ") {
            if position > line {
                return start..position;
            }
            start = position;
        }
    }
    start..count.max(line + 1)
}
