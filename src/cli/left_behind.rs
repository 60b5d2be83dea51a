//! Output files outside the output folder: the output was elsewhere before, and an applier may still read them there.
//!
//! Another workspace below the root has output of its own, which its own `check` judges. A workspace file excuses only
//! what it can have written: files at the places of the layout, below its output folder, of targets that it declares.
//! An attacker can write a fitting workspace file, so each workspace that excuses a file is named.

use crate::codes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::session::Session;
use super::unclaimed::is_manifest_name;
use crate::compile::{WORKSPACE_FILE, load_workspace};
use crate::diag::{Diagnostic, Files, Sink, foreign};
use crate::emit::committed::Folder;
use crate::emit::file;
use crate::model::Workspace;
use crate::report::human::number;
use crate::source::{DiskWorld, Sources};

/// How many bytes of a file are read to find the header.
const HEAD: usize = 4096;

/// How many workspaces are named.
const NAMED: usize = 5;

/// Reports the files of these paths below the root that bear our header, and notes those that are not judged here.
pub(super) fn judge(session: &Session<'_>, paths: &BTreeSet<String>, sink: &mut Sink) {
    let root = Folder::new(session.root.clone());
    let Workspace { output, fixtures, .. } = &session.project.workspace;
    let bears_header = |path: &str| root.head(path, HEAD).is_some_and(|head| file::bears_header(&head));
    let mut nested = NestedWorkspaces { session, root: &root, known: BTreeMap::new(), files: BTreeMap::new() };
    let mut fixed = 0;
    for path in paths.iter().filter(|path| is_manifest_name(path) && bears_header(path)) {
        if fixtures.is_match(path) {
            fixed += 1;
            continue;
        }
        let others = match nested.claim(path) {
            Claim::Written => continue,
            Claim::NotWritten(others) => others,
        };
        let message = format!("`{path}` is an output file outside the output folder `{output}`");
        let found = Diagnostic::error(codes::LEFT_BEHIND, message);
        let found = others
            .iter()
            .fold(found, |found, folder| found.note(format!("the workspace `{folder}` does not write a file there")));
        sink.push(found.help("remove it: an applier of the folder still reads it"));
    }
    // Whoever runs this quietly relies on the exit code, which says nothing about another workspace.
    session.global.terminal().problem(&nested.note());
    session.global.terminal().note(&note_of_fixtures(fixed));
}

fn note_of_fixtures(count: usize) -> String {
    match count {
        0 => String::new(),
        _ => format!("not checked: {}, by `spec.fixtures`\n", number(count, "output file")),
    }
}

/// The workspaces below the root.
struct NestedWorkspaces<'s> {
    session: &'s Session<'s>,
    root: &'s Folder,
    /// By folder; none where the workspace file cannot be used.
    known: BTreeMap<String, Option<Workspace>>,
    /// How many files were found that each may have written.
    files: BTreeMap<String, usize>,
}

/// Whether another workspace accounts for a file.
enum Claim {
    /// One may have written it.
    Written,
    /// None does; these are above it.
    NotWritten(Vec<String>),
}

impl NestedWorkspaces<'_> {
    fn claim(&mut self, path: &str) -> Claim {
        let mut above = Vec::new();
        for (end, _) in path.match_indices('/') {
            let (Some(folder), Some(below)) = (path.get(..end), path.get(end + 1..)) else { continue };
            if self.root.stat(&format!("{folder}/{WORKSPACE_FILE}")).is_none() {
                continue;
            }
            let workspace = self.known.entry(folder.to_owned()).or_insert_with(|| load(self.session, folder));
            if workspace.as_ref().is_some_and(|workspace| writes(workspace, below)) {
                *self.files.entry(folder.to_owned()).or_default() += 1;
                return Claim::Written;
            }
            above.push(folder.to_owned());
        }
        Claim::NotWritten(above)
    }

    /// Names the workspaces that account for files; empty without any.
    fn note(&self) -> String {
        let count: usize = self.files.values().sum();
        let first: Vec<String> =
            self.files.keys().take(NAMED).map(|folder| format!("`{}`", foreign::line(folder))).collect();
        let more = self.files.len() - first.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (workspace, files) = (if self.files.len() == 1 { "workspace" } else { "workspaces" }, "output file");
        match count {
            0 => String::new(),
            _ => format!("not checked here: {} of the {workspace} {}{more}\n", number(count, files), first.join(", ")),
        }
    }
}

fn load(session: &Session<'_>, folder: &str) -> Option<Workspace> {
    let world = DiskWorld::new(session.root.join(folder));
    let mut sources = Sources::new(Box::new(world), Arc::new(Files::new()));
    load_workspace(&mut sources, &mut Sink::new()).ok().flatten()
}

/// Whether a workspace may write a file at a path below its folder.
fn writes(workspace: &Workspace, path: &str) -> bool {
    let below = path.strip_prefix(&workspace.output).and_then(|rest| rest.strip_prefix('/'));
    below.and_then(|below| below.split_once('/')).is_some_and(|(target, place)| {
        workspace.targets.iter().any(|declared| declared.name == target) && file::is_place(place)
    })
}
