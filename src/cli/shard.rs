//! `--shard K/N`: one part of a run, and what it leaves for `bailiwick merge`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use clap::Args;

use super::session::Session;
use super::summary::{Command, Summary, TargetSummary};
use super::targets::ObjectsByTarget;
use super::{Global, Outcome};
use crate::compile::{self, Ledger};
use crate::diag::{Diagnostic, Files, RunError};
use crate::digest::Digest;
use crate::emit::committed::Committed;
use crate::emit::plan::{Action, TargetPlan};
use crate::emit::totals::Totals;
use crate::emit::{file, write};
use crate::model::{Part, Target};

/// Options of the commands that can do a part of their work.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct ShardArguments {
    /// Only the K-th of N parts of the namespaces. The first part also has the cluster-scoped objects.
    #[arg(long, value_name = "K/N")]
    shard: Option<Part>,
    /// Write the summary of the part for `bailiwick merge` to this file.
    #[arg(long, value_name = "FILE", requires = "shard")]
    summary_to: Option<PathBuf>,
}

/// The part of the run, with its results so far.
pub(super) struct Shard {
    /// The part.
    pub(super) part: Part,
    summary_to: Option<PathBuf>,
    /// The hash of the input before compilation.
    input: Digest,
    known_files: usize,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    targets: Vec<TargetSummary>,
    leftovers: BTreeMap<String, Totals>,
    leftover_objects: ObjectsByTarget,
    new_objects: ObjectsByTarget,
    beside_targets: Vec<Diagnostic>,
    isolation: Vec<Diagnostic>,
}

impl ShardArguments {
    /// Whether the run does a part of the work only.
    pub(super) fn is_part(&self) -> bool {
        self.shard.is_some()
    }

    /// The files that the options name.
    pub(super) fn written(&self, global: &Global) -> Vec<PathBuf> {
        self.summary_to.iter().map(|path| global.at(path)).collect()
    }

    /// The part that was asked for, in a workspace of which these texts were read.
    pub(super) fn open(&self, files: &Files) -> Option<Shard> {
        let part = self.shard?;
        // Nobody asks for the hash without a summary.
        let input = self.summary_to.as_ref().map_or([0; 32], |_| files.digest());
        let known_files = files.count();
        Some(Shard { part, summary_to: self.summary_to.clone(), input, known_files, found: Mutex::default() })
    }
}

impl Shard {
    fn note(&self, add: impl FnOnce(&mut Found)) {
        if self.summary_to.is_some() {
            add(&mut self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        }
    }

    /// Notes the results in a target: its diagnostics, and the plan.
    pub(super) fn note_target(&self, target: &Target, ledger: Ledger, told: &[Diagnostic], plan: &TargetPlan) {
        self.note(|found| {
            let record = ledger.record(target, told);
            found.targets.push(TargetSummary { name: target.name.clone(), record, totals: Totals::of(plan) });
        });
    }

    /// Notes the entries beside the folders of the targets.
    pub(super) fn note_beside_targets(&self, told: &[Diagnostic], leftovers: &TargetPlan) {
        self.note(|found| {
            found.beside_targets = told.to_vec();
            found.leftovers = Totals::by_folder(leftovers);
        });
    }

    /// Notes the objects of targets that are gone.
    pub(super) fn note_leftover_objects(&self, objects: ObjectsByTarget) {
        self.note(|found| found.leftover_objects = objects);
    }

    /// Notes the objects of this part of a target that may be new.
    pub(super) fn note_new_objects(&self, target: &str, objects: &BTreeSet<Digest>) {
        self.note(|found| _ = found.new_objects.insert(target.to_owned(), objects.clone()));
    }

    /// Notes what of the output folder no policy accounts for, and which isolations of nodes do not hold.
    pub(super) fn note_isolation(&self, told: &[Diagnostic]) {
        self.note(|found| found.isolation = told.to_vec());
    }

    /// Writes the summary, or says what is still to be judged.
    pub(super) fn finish(&self, global: &Global, files: &Files, command: Command) -> Result<(), RunError> {
        let Some(path) = &self.summary_to else {
            global.terminal().note(&format!(
                "part {}: what one namespace says of another is not judged yet; `--summary-to FILE` and `bailiwick merge` do\n",
                self.part
            ));
            return Ok(());
        };
        let found = std::mem::take(&mut *self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let summary = Summary {
            part: (self.part.number(), self.part.of()),
            input: self.input,
            command,
            targets: found.targets,
            leftovers: found.leftovers,
            leftover_objects: found.leftover_objects,
            new_objects: found.new_objects,
            beside_targets: found.beside_targets,
            isolation: found.isolation,
            texts: Vec::new(),
        };
        let bytes = summary.into_bytes(files, self.known_files).map_err(RunError::new)?;
        let path = global.at(path);
        write::replace(&path, &bytes).map_err(|error| RunError::io("write", &path, &error))
    }
}

/// The loss that decides whether a run deletes too much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loss {
    /// True when no object is left, and some were there.
    pub(super) everything: bool,
    /// How many namespaces go.
    pub(super) gone: usize,
    /// How many there were.
    pub(super) before: usize,
}

impl Loss {
    /// Returns the loss of a whole target.
    pub(super) fn of(totals: &Totals) -> Self {
        Self {
            everything: totals.counts.total() == 0 && totals.counts.deleted > 0,
            gone: totals.gone_namespaces,
            before: totals.namespaces_before,
        }
    }

    /// Returns the loss of the whole target, from the names of its files, for a part with this plan: the deletions of a part
    /// do not show the loss of the target. A part that deletes nothing leaves the decision to the other parts.
    pub(super) fn of_part(
        session: &Session<'_>,
        target: &Target,
        committed: &dyn Committed,
        plan: &TargetPlan,
    ) -> Result<Self, RunError> {
        let mut loss = Self { everything: false, gone: 0, before: 0 };
        // An empty file, which a crash leaves, goes without an object.
        if plan.counts.deleted == 0 && !plan.changes.iter().any(|file| file.action == Action::Delete) {
            return Ok(loss);
        }
        let homes = compile::homes(&session.project, target);
        let shards = session.project.workspace.shards;
        for entry in committed.list()?.iter().filter(|entry| entry.is_file() && !session.is_kept(target, &entry.path)) {
            if homes.is_empty() && !loss.everything {
                loss.everything = committed.read(&entry.path)?.is_some_and(|bytes| !bytes.is_empty());
            }
            if !entry.path.starts_with("namespaces/") {
                continue;
            }
            loss.before += 1;
            let stays = Part::namespace_of(&entry.path)
                .is_some_and(|name| homes.has_namespace(name) && file::path(Some(name), "", shards) == entry.path);
            loss.gone += usize::from(!stays);
        }
        Ok(loss)
    }
}

/// Ends a command: a part leaves what the merge needs.
pub(super) fn finish(session: &Session<'_>, outcome: Outcome, command: Command) -> Result<Outcome, RunError> {
    if let Some(shard) = &session.shard {
        shard.finish(session.global, &session.project.files, command)?;
    }
    Ok(outcome)
}
