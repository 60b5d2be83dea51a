//! `bailiwick render`.

use clap::{Args, ValueEnum};

use super::session::{Found, Session, with_targets};
use super::{DiagnosticForm, Global, Outcome};
use crate::compile::OutputFile;
use crate::diag::{Code, Diagnostic, RunError, Sink};
use crate::emit::committed::Folder;
use crate::emit::file::Ownership;
use crate::emit::plan::{Action, TargetPlan};
use crate::emit::write::{StagedFile, Stager};
use crate::model::Target;
use crate::report::human;

/// Options of `render`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only these targets.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Overwrite files of the output that were changed by hand.
    #[arg(long)]
    force: bool,
    /// Accept that a target has no objects any more.
    #[arg(long)]
    allow_empty: bool,
    /// Accept that more than half of a target's namespaces go.
    #[arg(long)]
    allow_mass_delete: bool,
    /// Print the objects instead of writing files.
    #[arg(long)]
    stdout: bool,
    /// In which form objects are printed with `--stdout`.
    #[arg(long, value_name = "FORM", default_value = "yaml", requires = "stdout")]
    format: ObjectForm,
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
    with_targets(global, &arguments.targets, |session, targets| {
        if arguments.stdout {
            print_objects(session, targets, arguments.format)
        } else {
            write(session, targets, arguments)
        }
    })
}

fn write(session: &Session<'_>, targets: &[&Target], arguments: &Arguments) -> Result<Outcome, RunError> {
    let terminal = session.global.terminal();
    let output = session.output();
    let stager = Stager::open(&output, &|| terminal.problem("waiting for another run that writes the output\n"))?;
    let mut sink = Sink::new();
    let mut staged: Vec<StagedFile> = Vec::new();
    let mut removed: Vec<String> = Vec::new();
    let mut plans: Vec<(&Target, TargetPlan)> = Vec::new();
    let leftovers = session.beside_targets(&mut sink)?;
    for target in targets {
        let committed = Folder::new(output.join(&target.name));
        let stage = |file: &OutputFile, replaces: bool| {
            stager.stage(&format!("{}/{}", target.name, file.path), &file.text, replaces)
        };
        let stage = |found: &Found<'_>| found.file.map(|file| stage(file, found.old.is_some())).transpose();
        let mut keep = |file: Option<StagedFile>| staged.extend(file);
        let plan = session.compare(target, &committed, &stage, &mut keep, &mut sink)?;
        refuse(session, target, &plan, arguments, &mut sink);
        session.warn_of_recreation(target, &plan, &mut sink);
        let gone = plan.changes.iter().filter(|file| file.action == Action::Delete);
        removed.extend(gone.map(|file| format!("{}/{}", target.name, file.path)));
        plans.push((target, plan));
    }
    if arguments.targets.is_empty() {
        refuse_edited(session, "", &leftovers, arguments, &mut sink);
        removed.extend(leftovers.changes.iter().map(|file| file.path.clone()));
    }
    if !session.report(sink) {
        if session.global.diagnostics == DiagnosticForm::Human {
            terminal.problem("nothing was written\n");
        }
        return Ok(Outcome::Invalid);
    }
    refuse_read_only(&output, &plans)?;
    stager.commit(staged, &removed)?;
    if arguments.targets.is_empty() && leftovers.is_drift() {
        terminal
            .note(&format!("targets that are gone: {} deleted\n", human::number(leftovers.counts.deleted, "object")));
    }
    for (target, plan) in plans {
        let files = plan.kept_files + plan.changes.iter().filter(|file| file.action != Action::Delete).count();
        terminal.note(&format!(
            "{}: {} in {}: {}\n",
            target.name,
            human::number(plan.counts.total(), "object"),
            human::number(files, "file"),
            human::counts(plan.counts)
        ));
    }
    Ok(Outcome::Fine)
}

/// Refuses to overwrite what was changed by hand, and to delete nearly everything.
fn refuse(session: &Session<'_>, target: &Target, plan: &TargetPlan, arguments: &Arguments, sink: &mut Sink) {
    if sink.has_errors() {
        return;
    }
    refuse_edited(session, &format!("{}/", target.name), plan, arguments, sink);
    let namespaces = |action: fn(Action) -> bool| {
        plan.changes.iter().filter(|file| action(file.action) && file.path.starts_with("namespaces/")).count()
    };
    let gone = namespaces(|action| action == Action::Delete);
    let before = gone + plan.kept_namespaces + namespaces(|action| action == Action::Change);
    if plan.counts.total() == 0 && plan.counts.deleted > 0 && !arguments.allow_empty {
        sink.push(
            Diagnostic::error(
                Code::EmptyOutput,
                format!("every object of the target `{}` would be deleted", target.name),
            )
            .help("`bailiwick render --allow-empty` says that it is meant"),
        );
    } else if gone > 1 && gone * 2 > before && !arguments.allow_mass_delete && !arguments.allow_empty {
        sink.push(
            Diagnostic::error(
                Code::MassDelete,
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

/// Refuses to overwrite or remove what was changed by hand; `folder` is where the plan's paths begin.
fn refuse_edited(session: &Session<'_>, folder: &str, plan: &TargetPlan, arguments: &Arguments, sink: &mut Sink) {
    let output = &session.project.workspace.output;
    for file in plan.changes.iter().filter(|file| file.ownership == Some(Ownership::Edited) && !arguments.force) {
        sink.push(
            Diagnostic::error(Code::EditedByHand, format!("`{output}/{folder}{}` was changed by hand", file.path))
                .help("change the policies instead; `bailiwick diff` shows what differs")
                .help("`bailiwick render --force` overwrites the file"),
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
        session.compile(
            target,
            form == ObjectForm::Json,
            &one,
            &mut |file| match form {
                ObjectForm::Yaml => {
                    text.push_str("---\n");
                    text.push_str(&file.text);
                }
                ObjectForm::Json => {
                    for (index, object) in file.json.iter().enumerate() {
                        let path = serde_json::Value::from(file.path.as_str());
                        text.push_str(&format!("{{\"path\": {path}, \"index\": {index}, \"object\": {object}}}\n"));
                    }
                }
            },
            &mut sink,
        )?;
    }
    if !session.report(sink) {
        return Ok(Outcome::Invalid);
    }
    terminal.result(&text);
    Ok(Outcome::Fine)
}
