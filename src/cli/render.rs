//! `bailiwick render`.

use crate::codes;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use clap::{Args, ValueEnum};

use super::diff::Form;
use super::recall::{Recall, unless_unchanged};
use super::sandbox::{Paths, SandboxArguments};
use super::session::{Comparison, Found, Session, with_part};
use super::shard::{self, Loss, ShardArguments};
use super::summary::{Command, Consent};
use super::targets::TargetChanges;
use super::{DiagnosticForm, Global, Outcome, removal, unchecked};
use crate::cache::KeptTarget;
use crate::compile::{OutputFile, Wanted};
use crate::diag::{Diagnostic, RunError, Sink, foreign};
use crate::emit::committed::{Committed, Folder};
use crate::emit::objects::Depth;
use crate::emit::plan::{Action, TargetPlan, object_digests};
use crate::emit::totals::Totals;
use crate::emit::write::{StagedFile, Stager};
use crate::model::Target;
use crate::report::human;
use crate::stats::Stage;

/// Options of `render`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only these targets.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    #[command(flatten)]
    consent: Consent,
    /// No effect; accepted for older scripts.
    #[arg(long, hide = true)]
    force: bool,
    #[command(flatten)]
    shard: ShardArguments,
    /// Print the objects instead of writing files.
    #[arg(long, conflicts_with = "summary_to")]
    stdout: bool,
    /// Output format of `--stdout`.
    #[arg(long, value_name = "FORM", default_value = "yaml", requires = "stdout")]
    format: ObjectForm,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

impl Arguments {
    /// Confines the process, if it is to be: a run that writes the output is not.
    pub(super) fn confine(&self, global: &Global) -> Result<Outcome, RunError> {
        if self.stdout {
            return self.sandbox.apply(global, Paths::default());
        }
        Ok(self.sandbox.refuse(global, "`render` writes the output; `render --stdout` can be confined"))
    }
}

/// The forms in which objects are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ObjectForm {
    /// The files, one after the other.
    Yaml,
    /// One JSON object a line, with the path of its file and its position there.
    Json,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    // The cache is for whole runs.
    let recall = if arguments.stdout || arguments.shard.is_part() { None } else { Recall::open(global)? };
    let recall = recall.as_ref();
    let done = |target: &KeptTarget| told(&target.name, &target.totals(), Form::of(global, false));
    unless_unchanged(global, recall, &arguments.targets, done, || {
        with_part(global, &arguments.targets, &arguments.shard, |session, targets| {
            let outcome = if arguments.stdout {
                print_objects(session, targets, arguments.format)?
            } else {
                write(session, targets, arguments, recall)?
            };
            let command = Command::Render { targets: arguments.targets.clone(), consent: arguments.consent.clone() };
            shard::finish(session, outcome, command)
        })
    })
}

fn write(
    session: &Session<'_>,
    targets: &[&Target],
    arguments: &Arguments,
    recall: Option<&Recall>,
) -> Result<Outcome, RunError> {
    let terminal = session.global.terminal();
    let output = session.output();
    let waiting = || terminal.problem("waiting for another run that writes the output\n");
    let stager = Stager::open(&session.root, &session.project.workspace.output, &waiting)?;
    let mut sink = Sink::new();
    let mut staged: Vec<StagedFile> = Vec::new();
    let mut removed: Vec<String> = Vec::new();
    let mut plans: Vec<(&Target, TargetPlan)> = Vec::new();
    let mut refused = Sink::new();
    if let Some(recall) = recall {
        recall.look_beside(&session.project)?;
    }
    let beside = session.beside_targets(&mut sink)?;
    let is_whole = arguments.targets.is_empty();
    let mut changes = if is_whole { TargetChanges::of_leftovers(session, &beside)? } else { TargetChanges::default() };
    // Another part may have removed them already.
    if session.shard.is_some() && !arguments.consent.remove_target.is_empty() {
        changes.ask_for_objects();
    }
    let folder = &session.project.workspace.output;
    let changed = Mutex::new(Vec::new());
    for target in targets {
        let folder = || Folder::new(output.join(&target.name));
        let watched = recall.map(|recall| recall.watch(folder(), target));
        let committed: Box<dyn Committed + '_> = match &watched {
            Some(watched) => Box::new(watched),
            None => Box::new(folder()),
        };
        let stage = |file: &OutputFile, replaces: bool| {
            stager.stage(&format!("{}/{}", target.name, file.path), &file.text, replaces)
        };
        let created = Mutex::new(BTreeSet::new());
        let stage = |found: &Found<'_>| {
            if let (Some(watched), Some(old)) = (&watched, found.old)
                && watched.was_changed(&found.change.plan.path, old)
            {
                let path = format!("{}/{}", target.name, found.change.plan.path);
                changed.lock().unwrap_or_else(PoisonError::into_inner).push((path, found.file.is_some()));
            }
            if let (Some(file), None, true) = (found.file, found.old, changes.asks_for_objects()) {
                created.lock().unwrap_or_else(PoisonError::into_inner).extend(object_digests(&file.text));
            }
            found.file.map(|file| stage(file, found.old.is_some())).transpose()
        };
        let mut keep = |file: Option<StagedFile>| staged.extend(file);
        let compared = session.compare(target, &*committed, Depth::Plan, &stage, &mut keep, &mut sink)?;
        let Comparison { plan, others, .. } = compared;
        if let (Some(recall), Some(watched)) = (recall, &watched) {
            recall.found(target, plan.counts.total(), watched.take_files(), &others);
        }
        let totals = Totals::of(&plan);
        if totals.is_new() {
            changes.add_new(session, &target.name, created.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        let loss = match session.part() {
            Some(_) => Loss::of_part(session, target, &*committed, &plan)?,
            None => Loss::of(&totals),
        };
        if !sink.has_errors() {
            refuse(target, &totals, loss, &arguments.consent, &mut refused);
        }
        session.warn_of_recreation(target, &totals, &mut sink);
        let gone = plan.changes.iter().filter(|file| file.action == Action::Delete);
        removed.extend(gone.map(|file| format!("{}/{}", target.name, file.path)));
        plans.push((target, plan));
    }
    if is_whole {
        if !sink.has_errors() {
            changes.refuse(folder, &arguments.consent, &mut refused);
        }
        removed.extend(beside.leftovers.changes.iter().map(|file| file.path.clone()));
    }
    sink.absorb(refused);
    let findings = session.findings(sink);
    if let Some(recall) = recall {
        recall.told(&findings, &session.project.files);
    }
    if !session.tell(findings) {
        if session.global.diagnostics == DiagnosticForm::Human {
            terminal.problem("nothing was written\n");
        }
        return Ok(Outcome::Invalid);
    }
    refuse_read_only(&output, &plans)?;
    let files = staged.len();
    let is_done = files == 0 && removed.is_empty() && arguments.targets.is_empty();
    if let Some(recall) = recall.filter(|_| is_done) {
        recall.keep(session.global, &session.project, &session.answers);
    }
    let is_writing = files > 0 || !removed.is_empty();
    recall.filter(|_| is_writing).into_iter().for_each(Recall::forget);
    session.global.stats().time(Stage::Commit, || stager.commit(staged, &removed), |_| (files, 0))?;
    recall.filter(|_| is_writing).into_iter().for_each(|recall| recall.keep_written(&session.project));
    let changed = changed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (written, gone): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, is_written)| *is_written);
    terminal.note(&changed_since(folder, written, "written anew"));
    terminal.note(&changed_since(folder, gone, "removed"));
    unchecked::note(session, targets);
    terminal.problem(&changes.lines(folder, false));
    for (target, plan) in plans {
        terminal.problem(&told(&session.title(target), &Totals::of(&plan), Form::of(session.global, false)));
    }
    Ok(Outcome::Fine)
}

/// How many paths a note names.
const MOST_NAMED: usize = 10;

/// A note of the files that somebody changed after the last `render` wrote them, and of what this run does with them. The
/// paths are below the output folder.
fn changed_since(folder: &str, files: Vec<(String, bool)>, done: &str) -> String {
    let mut paths: Vec<String> = files.into_iter().map(|(path, _)| path).collect();
    if paths.is_empty() {
        return String::new();
    }
    paths.sort();
    let named: Vec<String> = paths.iter().take(MOST_NAMED).map(|path| format!("{folder}/{path}")).collect();
    let more = match paths.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {} more", human::grouped(more)),
    };
    let files = human::number(paths.len(), "file");
    let (were, are) = if paths.len() == 1 { ("was", "is") } else { ("were", "are") };
    let named = named.join(", ");
    format!("note: {files} {were} changed since the last render and {are} {done}: {named}{more}\n")
}

/// Describes what was written of a target.
pub(super) fn told(title: &str, totals: &Totals, form: Form) -> String {
    let objects = human::number(totals.counts.total(), "object");
    let files = human::number(totals.files, "file");
    let counts = format!("{objects} in {files}: {}", human::counts(totals.counts));
    form.headed(title, &counts, &removal::namespaces(totals))
}

/// Refuses to delete namespaces that nobody named, and nearly everything.
pub(super) fn refuse(target: &Target, totals: &Totals, loss: Loss, consent: &Consent, sink: &mut Sink) {
    removal::refuse_namespaces(target, totals, loss, consent, sink);
    let Loss { everything, gone, before } = loss;
    if everything && !consent.allow_empty {
        sink.push(
            Diagnostic::error(
                codes::EMPTY_OUTPUT,
                format!("every object of the target `{}` would be deleted", target.name),
            )
            .help("`bailiwick render --allow-empty` says that it is meant"),
        );
    } else if gone > 1 && gone * 2 > before && !consent.allow_mass_delete && !consent.allow_empty {
        sink.push(
            Diagnostic::error(
                codes::MASS_DELETE,
                format!(
                    "{} of the target `{}` would be deleted, of {before}",
                    human::number(gone, "namespace"),
                    target.name
                ),
            )
            .help("`bailiwick render --allow-mass-delete` says that it is meant"),
        );
    }
}

/// A file whose mode forbids writing was protected by somebody; a rename would not even notice.
fn refuse_read_only(output: &std::path::Path, plans: &[(&Target, TargetPlan)]) -> Result<(), RunError> {
    for (target, plan) in plans {
        for file in plan.changes.iter().filter(|file| file.action != Action::Create) {
            let path = output.join(&target.name).join(&file.path);
            if std::fs::metadata(&path).is_ok_and(|metadata| metadata.permissions().readonly()) {
                return Err(RunError::new(format!("cannot replace `{}`: the file is read-only", path.display()))
                    .help("make it writable and run the same command again; nothing was written"));
            }
        }
    }
    Ok(())
}

fn print_objects(session: &Session<'_>, targets: &[&Target], form: ObjectForm) -> Result<Outcome, RunError> {
    let terminal = session.global.terminal();
    let mut sink = Sink::new();
    let mut text = String::new();
    for target in targets {
        let one = |file: OutputFile| Ok(file);
        let wanted = if form == ObjectForm::Json { Wanted::Json } else { Wanted::Text };
        let mut told = Sink::new();
        session.compile_part(
            target,
            (wanted, session.part()),
            &one,
            &mut |file| match form {
                ObjectForm::Yaml => {
                    text.push_str("---\n");
                    text.push_str(&file.text);
                }
                ObjectForm::Json => {
                    for (index, object) in file.json.iter().enumerate() {
                        let path = serde_json::Value::from(file.path.as_str());
                        let line = format!("{{\"path\": {path}, \"index\": {index}, \"object\": {object}}}\n");
                        text.push_str(&foreign::json(&line));
                    }
                }
            },
            &mut told,
        )?;
        sink.absorb(told);
    }
    if !session.report(sink) {
        return Ok(Outcome::Invalid);
    }
    terminal.manifests(&text);
    Ok(Outcome::Fine)
}
