//! Judges the shards of a run together, from the summaries that they wrote. Nothing is compiled.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;

use super::removal;
use super::shard::Loss;
use super::summary::{Command, Consent, Summary};
use super::target_changes::{ObjectsByTarget, TargetChanges};
use super::workspace::Workspace;
use super::{Diagnostics, Error};
use crate::codes;
use crate::compile::{self, PartRecord};
use crate::diag::{Diagnostic, RunError, Sink};
use crate::emit::totals::Totals;
use crate::model::Target;
use crate::source::manifests;

/// The shards to join, and the reports to write about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// The summaries of the shards, in any order.
    pub files: Vec<PathBuf>,
    /// The accepted deletions, beside the deletions that the shards accepted.
    pub consent: Consent,
}

/// The result of the shards of a run together.
pub struct Merged<'w> {
    /// The command of the shards.
    pub command: Command,
    /// The targets of the run.
    pub targets: Vec<&'w Target>,
    /// The diagnostics of the whole run.
    pub diagnostics: Diagnostics,
    /// The counts of the targets that could be judged, by name.
    pub totals: Vec<(String, Totals)>,
    /// Assertions about targets that do not hold.
    pub broken: Diagnostics,
    changes: TargetChanges,
}

impl Merged<'_> {
    /// Names the targets that only one side has, a sentence for each; `output` is the path of the output folder.
    pub fn target_changes(&self, output: &str, with_new: bool) -> Vec<String> {
        self.changes.sentences(output, with_new)
    }

    /// Whether an output file or a target differs.
    pub fn is_drift(&self) -> bool {
        self.changes.has_gone() || self.totals.iter().any(|(_, totals)| totals.is_drift())
    }
}

impl Workspace {
    /// Judges the shards of a run together.
    ///
    /// # Errors
    /// When a summary cannot be used, or a shard is missing.
    ///
    /// # Examples
    /// ```no_run
    /// # use bailiwick::app::MergeOptions;
    /// # use bailiwick::{Error, Options, Workspace};
    /// # let options = Options::in_folder(env!("CARGO_MANIFEST_DIR"));
    /// # let workspace = Workspace::open(&options)?;
    /// let files = vec!["part-1".into(), "part-2".into()];
    /// let merged = workspace.merge(&MergeOptions { files, ..MergeOptions::default() })?;
    /// assert!(!merged.diagnostics.has_errors());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn merge(&self, options: &MergeOptions) -> Result<Merged<'_>, Error> {
        let mut sink = Sink::new();
        let given = read(self, &options.files, &mut sink)?;
        if !sink.has_errors() {
            find_gaps(&given, &mut sink);
        }
        let Some(command) = given.first().map(|first| first.summary.command.clone()).filter(|_| !sink.has_errors())
        else {
            let list = sink.into_sorted(&self.project.files);
            return Err(Error::Invalid(Diagnostics::new(list, &self.project.files)));
        };
        let (Command::Render { targets: named, .. } | Command::Check { targets: named, .. }) = &command;
        let targets = self.targets(named)?;
        let consent = match &command {
            Command::Render { consent, .. } => {
                let mut consent = consent.clone();
                consent.add(&options.consent);
                Some(consent)
            }
            Command::Check { .. } => None,
        };
        let is_whole = named.is_empty();
        let whole = Whole::of(given.into_iter().map(|given| given.summary).collect());
        Ok(self.conclude(command, targets, whole, consent.as_ref(), is_whole))
    }

    fn conclude<'w>(
        &'w self,
        command: Command,
        targets: Vec<&'w Target>,
        mut whole: Whole,
        consent: Option<&Consent>,
        is_whole: bool,
    ) -> Merged<'w> {
        let (mut sink, mut refused) = (Sink::new(), Sink::new());
        self.project.check_terms(&mut sink);
        std::mem::take(&mut whole.beside_targets).into_iter().for_each(|diagnostic| sink.push(diagnostic));
        let mut changes = if is_whole { whole.take_gone() } else { TargetChanges::default() };
        let mut all = Vec::new();
        for target in &targets {
            let totals = whole.judge(self, target, &mut changes, &mut sink);
            if let Some(consent) = consent.filter(|_| !sink.has_errors()) {
                removal::refuse(target, &totals, Loss::of(&totals), consent, &mut refused);
            }
            self.warn_of_recreation(target, &totals, &mut sink);
            all.push((target.name.clone(), totals));
        }
        let folder = self.project.workspace.delivery.as_ref().map(|delivery| format!("{}/", delivery.folder));
        all.extend(folder.zip(whole.delivery.take()));
        if let Some(consent) = consent.filter(|_| is_whole && !sink.has_errors()) {
            changes.refuse(&self.project.workspace.output, consent, &mut refused);
        }
        sink.absorb(refused);
        let mut broken = Sink::new();
        whole.isolation.into_iter().for_each(|diagnostic| broken.push(diagnostic));
        Merged {
            command,
            targets,
            diagnostics: self.diagnostics(sink),
            totals: all,
            broken: self.own_diagnostics(broken),
            changes,
        }
    }
}

/// A summary with the file it is in.
struct Given {
    path: PathBuf,
    summary: Summary,
}

/// Reads every summary and reports unusable summaries.
fn read(workspace: &Workspace, paths: &[PathBuf], sink: &mut Sink) -> Result<Vec<Given>, RunError> {
    let files = &workspace.project.files;
    let input = files.digest();
    let mut given = Vec::with_capacity(paths.len());
    for path in paths {
        let place = workspace.options.at(path);
        let mut bytes = Vec::new();
        let read = manifests::open(&place).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| RunError::io("read", &place, &error))?;
        match Summary::from_bytes(&bytes, files, input) {
            Ok(summary) => given.push(Given { path: path.clone(), summary }),
            Err(why) => sink.push(
                Diagnostic::error(codes::UNUSABLE_SUMMARY, format!("`{}` cannot be used: {why}", path.display()))
                    .help("run the part again with `--summary-to`, on the same input and with the same program"),
            ),
        }
    }
    Ok(given)
}

/// Reports parts that are missing, there twice, or not of one run.
fn find_gaps(given: &[Given], sink: &mut Sink) {
    let Some(first) = given.first() else { return };
    let (_, of) = first.summary.part;
    let incomplete = |message: String| {
        Diagnostic::error(codes::INCOMPLETE_PARTS, message).help("pass the summary of every part of one run, each once")
    };
    let mut seen: BTreeMap<u16, &Given> = BTreeMap::new();
    for one in given {
        let (number, of_other) = one.summary.part;
        let (path, first_path) = (one.path.display(), first.path.display());
        if of_other != of {
            sink.push(incomplete(format!("`{path}` is part {number}/{of_other}, and `{first_path}` is one of {of}")));
        } else if one.summary.command != first.summary.command {
            sink.push(incomplete(format!("`{path}` and `{first_path}` are of different commands or options")));
        } else if let Some(earlier) = seen.insert(number, one) {
            sink.push(incomplete(format!(
                "part {number}/{of} occurs twice: `{}` and `{path}`",
                earlier.path.display()
            )));
        }
    }
    let missing: Vec<String> =
        (1..=of).filter(|number| !seen.contains_key(number)).map(|number| format!("{number}/{of}")).collect();
    match (sink.has_errors(), missing.as_slice()) {
        (true, _) | (false, []) => {}
        (false, [one]) => sink.push(incomplete(format!("part {one} is missing"))),
        (false, several) => sink.push(incomplete(format!("the parts {} are missing", several.join(", ")))),
    }
}

/// The results of all parts.
#[derive(Default)]
struct Whole {
    targets: BTreeMap<String, (Vec<PartRecord>, Totals)>,
    leftovers: BTreeMap<String, Totals>,
    delivery: Option<Totals>,
    leftover_objects: ObjectsByTarget,
    new_objects: ObjectsByTarget,
    beside_targets: Vec<Diagnostic>,
    isolation: Vec<Diagnostic>,
}

impl Whole {
    fn of(summaries: Vec<Summary>) -> Self {
        let mut whole = Self::default();
        for summary in summaries {
            for target in summary.targets {
                let (records, totals) = whole.targets.entry(target.name).or_default();
                records.push(target.record);
                totals.add(target.totals);
            }
            whole.delivery = whole.delivery.or(summary.delivery);
            for (target, totals) in summary.leftovers {
                whole.leftovers.entry(target).or_default().add(totals);
            }
            for (target, objects) in summary.leftover_objects {
                whole.leftover_objects.entry(target).or_default().extend(objects);
            }
            for (target, objects) in summary.new_objects {
                whole.new_objects.entry(target).or_default().extend(objects);
            }
            whole.beside_targets.extend(summary.beside_targets);
            whole.isolation.extend(summary.isolation);
        }
        whole
    }

    /// Takes the targets that are gone.
    fn take_gone(&mut self) -> TargetChanges {
        TargetChanges::of_gone(std::mem::take(&mut self.leftovers), std::mem::take(&mut self.leftover_objects))
    }

    /// Judges a target, and returns its totals. A new target is added to the changes.
    fn judge(
        &mut self,
        workspace: &Workspace,
        target: &Target,
        changes: &mut TargetChanges,
        sink: &mut Sink,
    ) -> Totals {
        let (records, totals) = self.targets.remove(&target.name).unwrap_or_default();
        compile::merge(&workspace.project, target, records, sink);
        if totals.is_new() {
            changes.add_new(workspace, &target.name, self.new_objects.remove(&target.name).unwrap_or_default());
        }
        totals
    }
}
