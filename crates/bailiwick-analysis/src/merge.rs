//! Judges the shards of a run together, from the summaries that they wrote. Nothing is compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bailiwick_codes as codes;
use bailiwick_compiler::compile::{self, PartRecord};
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_policy::model::{Part, Target};
use bailiwick_policy::source::NamedFile;
use bailiwick_workspace::left_behind::NotJudged;
use bailiwick_workspace::part_files::{MAXIMUM_DIFF, PartFile, joined_diff, sort};
use bailiwick_workspace::removal::{self, Consent, Loss};
use bailiwick_workspace::shard::{Command, DeliverySummary, Summary, UnusableSummary};
use bailiwick_workspace::target_changes::{ObjectsByTarget, TargetChanges};
use bailiwick_workspace::unclaimed::Unclaimed;
use bailiwick_workspace::workspace::warn_of_recreation;
use bailiwick_workspace::{Diagnostics, Error, Workspace};
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};
use bailiwick_yaml::limits::MAXIMUM_SUMMARY_SIZE;

use crate::compare::{Comparison, TargetComparison};

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
    /// The differences of the targets, with the diagnostics of the whole run. After `render`, the counts alone.
    pub comparison: Comparison,
    /// Assertions about targets that do not hold.
    pub broken: Diagnostics,
    /// The output files outside the output folder that were not judged.
    pub not_judged: NotJudged,
}

/// Judges the shards of a run together.
///
/// # Errors
/// When a summary cannot be used, or a shard is missing.
///
/// # Examples
/// ```no_run
/// # use bailiwick_analysis::MergeOptions;
/// # use bailiwick_analysis::merge;
/// # use bailiwick_workspace::{Error, Options, Workspace};
/// # let options = Options::in_folder("../..");
/// # let workspace = Workspace::open(&options)?;
/// let files = vec!["part-1".into(), "part-2".into()];
/// let merged = merge(&workspace, &MergeOptions { files, ..MergeOptions::default() })?;
/// assert!(!merged.comparison.diagnostics.has_errors());
/// # Ok::<(), Error>(())
/// ```
pub fn merge<'w>(workspace: &'w Workspace, options: &MergeOptions) -> Result<Merged<'w>, Error> {
    let mut sink = Sink::new();
    let given = read(workspace, &options.files, &mut sink)?;
    if !sink.has_errors() {
        find_gaps(&given, &mut sink);
    }
    if !sink.has_errors() {
        find_other_targets(workspace, &given, &mut sink);
    }
    let Some(command) = given.first().map(|first| first.summary.command.clone()).filter(|_| !sink.has_errors()) else {
        let list = sink.into_sorted(&workspace.project().files);
        return Err(Error::Invalid(Diagnostics::new(list, &workspace.project().files)));
    };
    let (Command::Render { targets: named, .. } | Command::Check { targets: named, .. }) = &command;
    let targets = workspace.targets(named)?;
    let consent = match &command {
        Command::Render { consent, .. } => {
            let mut consent = consent.clone();
            consent.add(&options.consent);
            Some(consent)
        }
        Command::Check { .. } => None,
    };
    let whole = Whole::of(given.into_iter().map(|given| given.summary).collect());
    Ok(conclude(workspace, command, targets, whole, consent.as_ref()))
}

fn conclude<'w>(
    workspace: &'w Workspace,
    command: Command,
    targets: Vec<&'w Target>,
    mut whole: Whole,
    consent: Option<&Consent>,
) -> Merged<'w> {
    let (Command::Render { targets: named, .. } | Command::Check { targets: named, .. }) = &command;
    let is_whole = named.is_empty();
    let (mut sink, mut refused) = (Sink::new(), Sink::new());
    workspace.project().check_terms(&mut sink);
    std::mem::take(&mut whole.beside_targets).into_iter().for_each(|diagnostic| sink.push(diagnostic));
    let mut changes = if is_whole { whole.take_gone() } else { TargetChanges::default() };
    let mut compared = JoinedDifferences::default();
    for target in &targets {
        let (totals, files) = whole.judge(workspace, target, &mut changes, &mut sink);
        if let Some(consent) = consent.filter(|_| !sink.has_errors()) {
            removal::refuse(target, &totals, Loss::of(&totals), consent, &mut refused);
        }
        warn_of_recreation(workspace, target, &totals, &mut sink);
        let folder = format!("{}/{}", workspace.project().workspace.output, target.name);
        compared.add(target.name.clone(), &folder, totals, files);
    }
    if let Some((delivery, summary)) = workspace.project().workspace.delivery.as_ref().zip(whole.delivery.take()) {
        let folder = &delivery.folder;
        compared.add(format!("{folder}/"), folder, summary.totals, summary.files);
    }
    if let Some(consent) = consent.filter(|_| is_whole && !sink.has_errors()) {
        changes.refuse(&workspace.project().workspace.output, consent, &mut refused);
    }
    sink.absorb(refused);
    let mut broken = Sink::new();
    whole.isolation.into_iter().for_each(|diagnostic| broken.push(diagnostic));
    let comparison = Comparison {
        diagnostics: workspace.diagnostics(sink),
        targets: compared.targets,
        left_out: compared.left_out,
        changes,
        unclaimed: Unclaimed::default(),
    };
    let broken = workspace.own_diagnostics(broken);
    Merged { command, targets, comparison, broken, not_judged: whole.not_judged }
}

/// The differences of targets, joined from the parts.
#[derive(Default)]
struct JoinedDifferences {
    targets: Vec<TargetComparison>,
    left_out: usize,
    /// How many bytes the differences have.
    length: usize,
}

impl JoinedDifferences {
    /// Adds a target. `folder` is the shown path of the folder with its files.
    fn add(&mut self, target: String, folder: &str, totals: Totals, files: Vec<PartFile>) {
        let (diff, left_out) = joined_diff(files, folder, MAXIMUM_DIFF.saturating_sub(self.length));
        self.length += diff.len();
        self.left_out += left_out;
        self.targets.push(TargetComparison {
            title: target.clone(),
            target,
            totals,
            diff,
            access: None,
            pod_security_policies: Vec::new(),
            upgrades: Vec::new(),
        });
    }
}

/// A summary with the file it is in.
struct Given {
    path: PathBuf,
    summary: Summary,
}

/// Reads every summary and reports unusable summaries.
fn read(workspace: &Workspace, paths: &[PathBuf], sink: &mut Sink) -> Result<Vec<Given>, RunError> {
    let files = &workspace.project().files;
    let input = files.digest();
    let mut given = Vec::with_capacity(paths.len());
    for path in paths {
        let place = workspace.options().at(path);
        let bytes = read_summary(&place).map_err(|error| RunError::io("read", &place, &error))?;
        let summary = bytes.ok_or(UnusableSummary::TooLarge);
        match summary.and_then(|bytes| Summary::from_bytes(&bytes, files, input)) {
            Ok(summary) => given.push(Given { path: path.clone(), summary }),
            Err(why) => sink.push(unusable(path, &why)),
        }
    }
    Ok(given)
}

/// Returns the bytes of a file; none if no summary has as many.
fn read_summary(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match NamedFile::open(path, MAXIMUM_SUMMARY_SIZE as u64).and_then(NamedFile::read_all) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Ok(None),
        Err(error) => Err(error),
    }
}

fn unusable(path: &Path, why: &UnusableSummary) -> Diagnostic {
    Diagnostic::error(codes::UNUSABLE_SUMMARY, format!("`{}` cannot be used: {why}", path.display()))
        .help("run the part again with `--summary-to`, on the same input and with the same program")
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

/// Reports the first summary without one result for each target of the run.
fn find_other_targets(workspace: &Workspace, given: &[Given], sink: &mut Sink) {
    let of_run = |named: &[String]| -> BTreeSet<&str> {
        let all = workspace.project().workspace.targets.iter().map(|target| target.name.as_str());
        all.filter(|name| named.is_empty() || named.iter().any(|named| named == name)).collect()
    };
    for Given { path, summary } in given {
        let (Command::Render { targets: named, .. } | Command::Check { targets: named, .. }) = &summary.command;
        let judged: BTreeSet<&str> = summary.targets.iter().map(|target| target.name.as_str()).collect();
        // `check` always compares the delivery folder, and `render` not after an error.
        let lacks_delivery = matches!(summary.command, Command::Check { .. })
            && summary.part.0 == 1
            && summary.delivery.is_some() != workspace.project().workspace.delivery.is_some();
        if judged.len() != summary.targets.len() || judged != of_run(named) || lacks_delivery {
            return sink.push(unusable(path, &UnusableSummary::OtherTargets));
        }
    }
}

/// The results of a target in all parts.
#[derive(Default)]
struct WholeTarget {
    records: Vec<PartRecord>,
    totals: Totals,
    files: Vec<PartFile>,
}

/// The results of all parts.
#[derive(Default)]
struct Whole {
    targets: BTreeMap<String, WholeTarget>,
    leftovers: BTreeMap<String, Totals>,
    delivery: Option<DeliverySummary>,
    leftover_objects: ObjectsByTarget,
    new_objects: ObjectsByTarget,
    beside_targets: Vec<Diagnostic>,
    isolation: Vec<Diagnostic>,
    not_judged: NotJudged,
}

impl Whole {
    fn of(summaries: Vec<Summary>) -> Self {
        let mut whole = Self::default();
        for summary in summaries {
            let (number, of) = summary.part;
            for target in summary.targets {
                let of_target = whole.targets.entry(target.name).or_default();
                of_target.records.push(target.record);
                of_target.totals.add(target.totals);
                of_target.files.extend(target.files);
            }
            if Part::new(number, of).is_some_and(Part::is_first) {
                whole.not_judged = summary.not_judged;
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

    /// Judges a target, and returns its totals and its differing files. A new target is added to the changes.
    fn judge(
        &mut self,
        workspace: &Workspace,
        target: &Target,
        changes: &mut TargetChanges,
        sink: &mut Sink,
    ) -> (Totals, Vec<PartFile>) {
        let WholeTarget { records, totals, mut files } = self.targets.remove(&target.name).unwrap_or_default();
        sort(&mut files);
        compile::merge(workspace.project(), target, records, sink);
        if totals.is_new() {
            changes.add_new(workspace, &target.name, self.new_objects.remove(&target.name).unwrap_or_default());
        }
        (totals, files)
    }
}
