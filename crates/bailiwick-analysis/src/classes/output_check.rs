//! Compares the committed output with the compiled files while they are divided into classes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use bailiwick_base::parallel::locked;
use bailiwick_compiler::compile::OutputFile;
use bailiwick_compiler::emit::committed::{Committed, Differing, Folder};
use bailiwick_workspace::output::beside_targets;
use bailiwick_workspace::target_changes::TargetChanges;
use bailiwick_workspace::workspace::has_target;
use bailiwick_workspace::{Error, Workspace};
use bailiwick_yaml::diag::{RunError, Sink};
use bailiwick_yaml::digest::digest_of_run;
use hashbrown::HashSet;

use crate::check::compare_output_folder;
use crate::compare::CompareOptions;

/// The committed output of some targets, and the compiled files that it was compared with.
pub struct OutputCheck<'w> {
    workspace: &'w Workspace,
    /// The names of the targets; all targets without names.
    targets: &'w [String],
    output: Folder,
    differs: AtomicBool,
    /// Hashes of the paths of the compiled files, below the output folder.
    compiled: Mutex<HashSet<u128>>,
}

impl<'w> OutputCheck<'w> {
    /// Creates the comparison of some targets; all targets without names. A workspace without output has none to compare.
    pub fn new(workspace: &'w Workspace, targets: &'w [String]) -> Option<Self> {
        let (differs, compiled) = (AtomicBool::new(false), Mutex::default());
        let output = Folder::new(workspace.output());
        workspace.output().is_dir().then_some(Self { workspace, targets, output, differs, compiled })
    }

    /// Compares a compiled file of a target.
    pub(super) fn add(&self, target: &str, file: &OutputFile) -> Result<(), RunError> {
        if !self.targets.is_empty() && !self.targets.iter().any(|name| name == target) {
            return Ok(());
        }
        let path = format!("{target}/{}", file.path);
        if !self.differs.load(Ordering::Relaxed) && self.output.differing(&path, &file.text)? != Differing::Same {
            self.differs.store(true, Ordering::Relaxed);
        }
        locked(&self.compiled).insert(digest_of_run(&path));
        Ok(())
    }

    /// Returns whether the committed output is the compiled output. Without any compiled file, all targets are compiled.
    pub fn is_current(&self) -> Result<bool, Error> {
        if self.differs.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let compiled = std::mem::take(&mut *locked(&self.compiled));
        let is_chosen = |name: &str| self.targets.is_empty() || self.targets.iter().any(|target| target == name);
        let is_left_out = |top: &str| !has_target(self.workspace, top) || !is_chosen(top);
        let entries = self.output.list_except(&is_left_out)?;
        let is_known = |path: &str| compiled.contains(&digest_of_run(path));
        if compiled.is_empty() || entries.iter().any(|entry| !entry.is_file() || !is_known(&entry.path)) {
            // Other entries can be kept, foreign, or deleted with the next run.
            let targets = self.targets.to_vec();
            let options = CompareOptions { targets, without_text: true, ..CompareOptions::default() };
            return Ok(!compare_output_folder(self.workspace, &options, None)?.is_drift());
        }
        if !self.targets.is_empty() {
            return Ok(true);
        }
        let beside = beside_targets(self.workspace, &mut Sink::new())?;
        Ok(!TargetChanges::of_leftovers(self.workspace, &beside)?.has_gone())
    }
}
