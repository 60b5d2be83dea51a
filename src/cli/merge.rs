//! `bailiwick merge`: the parts of a run, judged together.

use crate::codes;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;

use super::diff::Form;
use super::printing::print;
use super::session::{Session, with_targets};
use super::shard::Loss;
use super::summary::{Command, Consent, Summary};
use super::targets::{ObjectsByTarget, TargetChanges};
use super::{DiagnosticForm, Global, Outcome, check, diff, render, unchecked};
use crate::compile::{self, PartRecord};
use crate::diag::{Diagnostic, RunError, Sink};
use crate::emit::totals::Totals;
use crate::model::Target;
use crate::source::manifests;

/// Options of `merge`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The summaries that the parts of the run wrote with `--summary-to`, in any order.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    consent: Consent,
    /// End with 1 if there is a warning.
    #[arg(long)]
    pub(super) deny_warnings: bool,
}

/// A summary with the file it is in.
struct Given {
    path: PathBuf,
    summary: Summary,
}

/// Runs the command: nothing is compiled, and what is printed is what a single run prints.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    with_targets(global, &[], |session, _| {
        let mut sink = Sink::new();
        let given = read(session, &arguments.files, &mut sink)?;
        if !sink.has_errors() {
            find_gaps(&given, &mut sink);
        }
        let files = &session.project.files;
        if sink.has_errors() {
            print(global, sink.into_sorted(files), files);
            return Ok(Outcome::Invalid);
        }
        let command = given.first().map(|first| first.summary.command.clone());
        let named = match &command {
            Some(Command::Render { targets, .. } | Command::Check { targets, .. }) => targets.clone(),
            None => Vec::new(),
        };
        let targets = match session.targets(&named) {
            Ok(targets) => targets,
            Err(outcome) => return Ok(outcome),
        };
        let whole = Whole::of(given.into_iter().map(|given| given.summary).collect());
        Ok(match command {
            Some(Command::Render { mut consent, .. }) => {
                consent.add(&arguments.consent);
                conclude_render(session, &targets, whole, &consent, named.is_empty())
            }
            Some(Command::Check { summary, .. }) => conclude_check(session, &targets, whole, summary, named.is_empty()),
            None => Outcome::Invalid,
        })
    })
}

/// Reads every summary; those that cannot be used are reported.
fn read(session: &Session<'_>, paths: &[PathBuf], sink: &mut Sink) -> Result<Vec<Given>, RunError> {
    let files = &session.project.files;
    let input = files.digest();
    let mut given = Vec::with_capacity(paths.len());
    for path in paths {
        let place = session.global.at(path);
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
        Diagnostic::error(codes::INCOMPLETE_PARTS, message).help("give the summary of each part of one run, each once")
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
                "part {number}/{of} is there twice: `{}` and `{path}`",
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
        session: &Session<'_>,
        target: &Target,
        changes: &mut TargetChanges,
        sink: &mut Sink,
    ) -> Totals {
        let (records, totals) = self.targets.remove(&target.name).unwrap_or_default();
        compile::merge(&session.project, target, records, sink);
        if totals.is_new() {
            changes.add_new(session, &target.name, self.new_objects.remove(&target.name).unwrap_or_default());
        }
        totals
    }
}

fn begin(whole: &mut Whole) -> Sink {
    let mut sink = Sink::new();
    std::mem::take(&mut whole.beside_targets).into_iter().for_each(|diagnostic| sink.push(diagnostic));
    sink
}

/// Reports a whole run of `render`.
fn conclude_render(
    session: &Session<'_>,
    targets: &[&Target],
    mut whole: Whole,
    consent: &Consent,
    with_leftovers: bool,
) -> Outcome {
    let terminal = session.global.terminal();
    let mut sink = begin(&mut whole);
    let mut lines = String::new();
    let mut refused = Sink::new();
    let mut changes = if with_leftovers { whole.take_gone() } else { TargetChanges::default() };
    for target in targets {
        let totals = whole.judge(session, target, &mut changes, &mut sink);
        if !sink.has_errors() {
            render::refuse(target, &totals, Loss::of(&totals), consent, &mut refused);
        }
        session.warn_of_recreation(target, &totals, &mut sink);
        lines.push_str(&render::told(&target.name, &totals, Form::of(session.global, false)));
    }
    if with_leftovers {
        let output = &session.project.workspace.output;
        if !sink.has_errors() {
            changes.refuse(output, consent, &mut refused);
        }
        lines.insert_str(0, &changes.lines(output, false));
    }
    sink.absorb(refused);
    if !session.report(sink) {
        if session.global.diagnostics == DiagnosticForm::Human {
            terminal.problem("the parts make no whole: what some of them wrote is not to be used\n");
        }
        return Outcome::Invalid;
    }
    unchecked::note(session, targets);
    terminal.problem(&lines);
    Outcome::Fine
}

/// Reports a whole run of `check`. The parts printed the differences.
fn conclude_check(
    session: &Session<'_>,
    targets: &[&Target],
    mut whole: Whole,
    summary: bool,
    with_leftovers: bool,
) -> Outcome {
    let terminal = session.global.terminal();
    let mut sink = begin(&mut whole);
    let mut lines = String::new();
    let mut drift = false;
    let mut changes = if with_leftovers { whole.take_gone() } else { TargetChanges::default() };
    let mut renewals = diff::Renewals::default();
    for target in targets {
        let totals = whole.judge(session, target, &mut changes, &mut sink);
        session.warn_of_recreation(target, &totals, &mut sink);
        drift |= totals.is_drift();
        lines.push_str(&diff::told(&target.name, &totals, "", Form::of(session.global, summary)));
        let folder = format!("{}/{}", session.project.workspace.output, target.name);
        renewals.add(&folder, &totals.renewals);
    }
    let judged = session.tell_checked(session.findings(sink));
    if judged == Outcome::Invalid {
        return judged;
    }
    drift |= changes.has_gone();
    lines.insert_str(0, &changes.lines(&session.project.workspace.output, true));
    if summary {
        terminal.result(&lines);
    } else {
        terminal.problem(&lines);
    }
    terminal.note(&renewals.note());
    if drift {
        terminal.note(diff::NOTE_OF_DRIFT);
    }
    unchecked::note(session, targets);
    let outcome = judged.worse(if drift { Outcome::No } else { Outcome::Fine });
    let mut broken = Sink::new();
    whole.isolation.into_iter().for_each(|diagnostic| broken.push(diagnostic));
    check::tell_isolation(session, outcome, broken)
}
