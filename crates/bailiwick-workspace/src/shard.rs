//! A part of a run, with the summary that it leaves for the merge.

mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use bailiwick_base::parallel;
use bailiwick_compiler::compile::ShardSummary;
use bailiwick_compiler::emit::plan::TargetPlan;
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_compiler::emit::writer;
use bailiwick_policy::model::{Part, Target};
use bailiwick_yaml::diag::{Diagnostic, Files, RunError};
use bailiwick_yaml::digest::Digest;
use bailiwick_yaml::limits::{MAXIMUM_SUMMARY_SIZE, written_size};

pub use self::summary::{Command, DeliverySummary, Summary, TargetSummary, UnusableSummary};
use super::left_behind::NotJudged;
use super::part_files::{MAXIMUM_KEPT, PartFile, PartFiles};
use super::target_changes::ObjectsByTarget;
use super::workspace::Workspace;

/// The part of the run, with its results so far.
pub struct Shard {
    /// The number of this shard and of all shards.
    pub part: Part,
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
    delivery: Option<DeliverySummary>,
    leftover_objects: ObjectsByTarget,
    new_objects: ObjectsByTarget,
    beside_targets: Vec<Diagnostic>,
    isolation: Vec<Diagnostic>,
    not_judged: NotJudged,
    /// How many bytes of differences are kept.
    kept: usize,
}

impl Found {
    /// Counts the texts of files, and returns the files.
    fn kept(&mut self, files: PartFiles) -> Vec<PartFile> {
        let files = files.into_files();
        self.kept += files.iter().map(PartFile::kept).sum::<usize>();
        files
    }
}

impl Shard {
    /// Begins a shard of a run on a workspace of which these texts were read. Without a path no summary is kept.
    pub fn new(part: Part, summary_to: Option<PathBuf>, files: &Files) -> Self {
        // The hash is for the summary alone.
        let input = summary_to.as_ref().map_or([0; 32], |_| files.digest());
        Self { part, summary_to, input, known_files: files.count(), found: Mutex::default() }
    }

    fn note(&self, add: impl FnOnce(&mut Found)) {
        if self.summary_to.is_some() {
            add(&mut parallel::locked(&self.found));
        }
    }

    /// Notes the results in a target: its diagnostics, and the plan.
    pub(crate) fn note_target(&self, target: &Target, ledger: ShardSummary, told: &[Diagnostic], plan: &TargetPlan) {
        self.note(|found| {
            let record = ledger.record(target, told);
            let (name, totals) = (target.name.clone(), Totals::of_part(plan));
            found.targets.push(TargetSummary { name, record, totals, files: Vec::new() });
        });
    }

    /// Notes the entries beside the folders of the targets.
    pub(crate) fn note_beside_targets(&self, told: &[Diagnostic], leftovers: &TargetPlan) {
        self.note(|found| {
            found.beside_targets = told.to_vec();
            found.leftovers = Totals::by_folder(leftovers);
        });
    }

    /// Returns an empty list for the differing files of a target; none without a summary.
    pub fn part_files(&self) -> Option<PartFiles> {
        self.summary_to.as_ref()?;
        let found = parallel::locked(&self.found);
        Some(PartFiles::new(MAXIMUM_KEPT.saturating_sub(found.kept)))
    }

    /// Notes the differing files of a target that was noted before.
    pub fn note_files(&self, target: &str, files: PartFiles) {
        self.note(|found| {
            let files = found.kept(files);
            if let Some(noted) = found.targets.iter_mut().find(|noted| noted.name == target) {
                noted.files = files;
            }
        });
    }

    /// Notes the differences of the delivery folder.
    pub fn note_delivery(&self, totals: &Totals, files: Option<PartFiles>) {
        self.note(|found| {
            let files = files.map_or_else(Vec::new, |files| found.kept(files));
            found.delivery = Some(DeliverySummary { totals: totals.clone(), files });
        });
    }

    /// Notes the output files outside the output folder that are not judged.
    pub fn note_not_judged(&self, not_judged: &NotJudged) {
        self.note(|found| found.not_judged = not_judged.clone());
    }

    /// Notes the objects of targets that are gone.
    pub(crate) fn note_leftover_objects(&self, objects: ObjectsByTarget) {
        self.note(|found| found.leftover_objects = objects);
    }

    /// Notes the objects of this part of a target that may be new.
    pub(crate) fn note_new_objects(&self, target: &str, objects: &BTreeSet<Digest>) {
        self.note(|found| _ = found.new_objects.insert(target.to_owned(), objects.clone()));
    }

    /// Notes what of the output folder no policy accounts for, and which isolations of nodes do not hold.
    pub fn note_isolation(&self, told: &[Diagnostic]) {
        self.note(|found| found.isolation = told.to_vec());
    }

    /// Writes the summary of the shard for the merge. Returns whether there is one.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(&self, workspace: &Workspace, command: Command) -> Result<bool, RunError> {
        let Some(path) = &self.summary_to else { return Ok(false) };
        let found = std::mem::take(&mut *parallel::locked(&self.found));
        let summary = Summary {
            part: (self.part.number(), self.part.count()),
            input: self.input,
            command,
            targets: found.targets,
            leftovers: found.leftovers,
            delivery: found.delivery,
            leftover_objects: found.leftover_objects,
            new_objects: found.new_objects,
            beside_targets: found.beside_targets,
            isolation: found.isolation,
            not_judged: found.not_judged,
            texts: Vec::new(),
        };
        let bytes = summary
            .into_bytes(&workspace.project.files, self.known_files)
            .map_err(|why| RunError::new(why.to_string()))?;
        if bytes.len() > MAXIMUM_SUMMARY_SIZE {
            return Err(RunError::new(format!(
                "the summary of the part is larger than {}",
                written_size(MAXIMUM_SUMMARY_SIZE as u64)
            ))
            .help("use more parts"));
        }
        let path = workspace.options.at(path);
        writer::replace(&path, &bytes).map_err(|error| RunError::io("write", &path, &error))?;
        Ok(true)
    }
}
