//! `bailiwick render`.

use clap::{Args, ValueEnum};

use super::reporting::ReportArguments;
use super::sandbox::{Paths, SandboxArguments};
use super::workspaces::{ConsentArguments, ShardArguments, finish, note_partly_checked, tell, with_part};
use super::{CacheFolder, DiagnosticForm, Global, Outcome};
use crate::app::run_cache::{CacheOptions, OpenedCache, RunCache};
use crate::app::{Error, RenderOptions, ShardCommand, Workspace};
use crate::cache::KeptTarget;
use crate::diag::{RunError, foreign};
use crate::model::Target;
use crate::report::comparison::{Form, changed_since, target_changes, written};
use crate::stats::Stage;

/// Options of `render`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Only these targets.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    #[command(flatten)]
    consent: ConsentArguments,
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
    pub(super) report: ReportArguments,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

impl Arguments {
    /// Confines the process, if it is to be: a run that writes the output is not.
    pub(super) fn confine(&self, global: &Global) -> Result<Outcome, Error> {
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
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    // The cache is for whole runs.
    let cache = if arguments.stdout || arguments.shard.is_part() { None } else { open_cache(global)? };
    let look = || cache.as_ref().map_or(Ok(None), |cache| cache.unchanged(&global.options(), &arguments.targets));
    if let Some(unchanged) = global.stats().time(Stage::Recall, look, |_| (1, 0))? {
        tell(global, unchanged.diagnostics);
        global.stats().note(|| "nothing changed since an earlier run".to_owned());
        global.record_changes(unchanged.targets.iter().map(|target| (&*target.name, target.totals().counts)));
        let form = Form::new(global.quiet, false);
        let line = |target: &KeptTarget| written(&target.name, &target.totals(), form);
        global.terminal().note(&unchanged.targets.into_iter().map(line).collect::<String>());
        return Ok(Outcome::Fine);
    }
    with_part(global, &arguments.targets, &arguments.shard, |workspace, targets| {
        let options = RenderOptions { targets: arguments.targets.clone(), consent: (&arguments.consent).into() };
        let outcome = if arguments.stdout {
            print_objects(global, workspace, arguments)?
        } else {
            write(global, (workspace, targets), &options, cache.as_ref())?
        };
        let RenderOptions { targets, consent } = options;
        finish(global, workspace, outcome, ShardCommand::Render { targets, consent })
    })
}

/// Opens the cache for the workspace of the command; none without a workspace, or if no cache may be used. If a cache that
/// the user asked for is not used, a note gives the reason.
fn open_cache(global: &Global) -> Result<Option<RunCache>, RunError> {
    let (folder, is_asked_for) = match global.cache_folder() {
        CacheFolder::Asked(folder) => (folder, true),
        CacheFolder::Usual(folder) => (folder, false),
        CacheFolder::None(why) => {
            if Workspace::find_root(&global.options())?.is_some() {
                global.terminal().note(why);
            }
            return Ok(None);
        }
    };
    let options = CacheOptions { folder: folder.clone(), now: global.nanoseconds(), verify: global.verify };
    Ok(match RunCache::open(&global.options(), options)? {
        OpenedCache::Open(cache) => Some(*cache),
        OpenedCache::NoWorkspace => None,
        OpenedCache::Refused(why) => {
            if is_asked_for {
                global.terminal().note(&format!("no cache is used in `{}`: {why}\n", folder.display()));
            }
            None
        }
    })
}

fn write(
    global: &Global,
    (workspace, targets): (&Workspace, &[&Target]),
    options: &RenderOptions,
    cache: Option<&RunCache>,
) -> Result<Outcome, Error> {
    let terminal = global.terminal();
    let mut staged = workspace.stage_output_with(options, cache)?;
    let outcome = tell(global, staged.take_diagnostics());
    if outcome == Outcome::Invalid {
        if global.diagnostics == DiagnosticForm::Human {
            terminal.problem("nothing was written\n");
        }
        return Ok(outcome);
    }
    let output = staged.commit()?;
    let folder = &workspace.project.workspace.output;
    terminal.note(&changed_since(folder, &output.overwritten, "written anew"));
    terminal.note(&changed_since(folder, &output.removed, "removed"));
    note_partly_checked(global, workspace, targets);
    terminal.problem(&target_changes(&output.target_changes));
    global.record_changes(output.targets.iter().map(|(title, totals)| (&**title, totals.counts)));
    for (title, totals) in &output.targets {
        terminal.problem(&written(title, totals, Form::new(global.quiet, false)));
    }
    Ok(Outcome::Fine)
}

fn print_objects(global: &Global, workspace: &Workspace, arguments: &Arguments) -> Result<Outcome, Error> {
    let form = arguments.format;
    let compiled = workspace.compile(&arguments.targets, form == ObjectForm::Json)?;
    let outcome = tell(global, compiled.diagnostics);
    if outcome == Outcome::Invalid {
        return Ok(outcome);
    }
    let mut text = String::new();
    for file in compiled.files {
        match form {
            ObjectForm::Yaml => {
                text.push_str("---\n");
                text.push_str(&file.text);
            }
            ObjectForm::Json => {
                for (index, object) in file.objects.iter().enumerate() {
                    let path = serde_json::Value::from(file.path.as_str());
                    let line = format!("{{\"path\": {path}, \"index\": {index}, \"object\": {object}}}\n");
                    text.push_str(&foreign::json(&line));
                }
            }
        }
    }
    global.terminal().manifests(&text);
    Ok(outcome)
}
