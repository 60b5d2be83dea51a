//! `bailiwick render`.

use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::every_workspace::WorkspacesArguments;
use super::plugin_parameters;
use super::printing::refuse_usage;
use super::reporting::{Formats, OutputFormat, ReportArguments};
use super::sandbox::Paths;
use super::workspaces::{ConsentArguments, ShardArguments, finish, note_partly_checked, tell, with_part};
use super::{DiagnosticForm, Global, Outcome};
use crate::app::{CompiledFile, Error, RenderOptions, ShardCommand, Workspace};
use crate::model::Target;
use crate::report::comparison::{Form, target_changes, written};
use crate::report::objects;

/// Options of `render`.
#[derive(Debug, Default, Args)]
pub(super) struct Arguments {
    /// Compile only this target; may be repeated. With --stdout in a plugin of Argo CD, the default is the parameter `target`.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    #[command(flatten)]
    pub(super) workspaces: WorkspacesArguments,
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
    /// Output format of the results. With `--stdout`, the format of the objects, yaml or json. Default: text; with
    /// `--stdout`, yaml.
    #[arg(long, value_name = "FORM")]
    format: Option<RenderFormat>,
    #[command(flatten)]
    report: ReportArguments,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths { writes: self.shard.summary().cloned().collect(), ..Paths::default() }
    }

    /// Whether the run writes the output.
    pub(super) fn writes_output(&self) -> bool {
        !self.stdout
    }
}

/// A value of `--format` of `render`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RenderFormat {
    /// The files, one after the other.
    Yaml,
    /// A format of every command.
    Other(OutputFormat),
}

impl ValueEnum for RenderFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static VARIANTS: LazyLock<Vec<RenderFormat>> = LazyLock::new(|| {
            let others = OutputFormat::value_variants().iter().copied().map(RenderFormat::Other);
            others.chain([RenderFormat::Yaml]).collect()
        });
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Yaml => Some(PossibleValue::new("yaml").help("With `--stdout`: the files, one after the other")),
            Self::Other(format) => format.to_possible_value(),
        }
    }
}

impl Arguments {
    /// Returns the options of a run that writes the output of every target.
    pub(super) fn of_all_targets(consent: ConsentArguments) -> Self {
        Self { consent, ..Self::default() }
    }

    /// Returns the formats of the results, and the reports to write.
    pub(super) fn formats(&self) -> Formats {
        let format = match self.format {
            Some(RenderFormat::Other(format)) => format,
            Some(RenderFormat::Yaml) | None => OutputFormat::Text,
        };
        Formats { format, is_own: self.stdout, reports: self.report.reports.clone(), ..Formats::default() }
    }

    /// Returns the option that has no meaning for several workspaces.
    pub(super) fn mismatch_with_workspaces(&self) -> Option<&'static str> {
        match (self.stdout, self.shard.is_part()) {
            (true, _) => Some("`--stdout`"),
            (false, true) => Some("`--shard`"),
            (false, false) => None,
        }
    }

    /// Describes why the format does not fit the command; none if it does.
    fn format_mismatch(&self) -> Option<(&'static str, &'static str)> {
        match (self.stdout, self.format) {
            (true, None | Some(RenderFormat::Yaml | RenderFormat::Other(OutputFormat::JSON))) => None,
            (true, Some(RenderFormat::Other(_))) => {
                Some(("`--stdout` prints objects as yaml or json", "write a report with `--report FORM=FILE`"))
            }
            (false, Some(RenderFormat::Yaml)) => Some(("`--format yaml` prints objects", "add `--stdout`")),
            (false, _) => None,
        }
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    if let Some((message, help)) = arguments.format_mismatch() {
        return Ok(refuse_usage(global, message, help));
    }
    with_part(global, &arguments.targets, &arguments.shard, |workspace, targets| {
        let options = RenderOptions { targets: arguments.targets.clone(), consent: (&arguments.consent).into() };
        let outcome = if arguments.stdout {
            print_objects(
                global,
                workspace,
                arguments,
                &plugin_parameters::targets(global, &arguments.targets, targets)?,
            )?
        } else {
            write(global, workspace, targets, &options)?
        };
        let RenderOptions { targets, consent } = options;
        finish(global, workspace, outcome, ShardCommand::Render { targets, consent })
    })
}

fn write(
    global: &Global,
    workspace: &Workspace,
    targets: &[&Target],
    options: &RenderOptions,
) -> Result<Outcome, Error> {
    let terminal = global.terminal();
    let mut staged = workspace.stage_output(options)?;
    let outcome = tell(global, staged.take_diagnostics());
    if outcome == Outcome::Invalid {
        if global.diagnostics == DiagnosticForm::Human {
            terminal.problem("nothing was written\n");
        }
        return Ok(outcome);
    }
    let output = staged.commit()?;
    note_partly_checked(global, workspace, targets);
    terminal.problem(&target_changes(&output.target_changes));
    global.record_changes(output.targets.iter().map(|(title, totals)| (&**title, totals.counts)));
    for (title, totals) in &output.targets {
        terminal.problem(&written(title, totals, Form::new(global.quiet, false)));
    }
    Ok(Outcome::Fine)
}

/// How many bytes of manifests are kept until the last one is known to be valid. A larger output is compiled twice: nothing is printed of an
/// invalid output, and memory does not grow with the output.
const MAXIMUM_KEPT: usize = 16 << 20;

/// How many bytes of manifests are printed at once.
const PRINTED_AT_ONCE: usize = 1 << 20;

fn print_objects(
    global: &Global,
    workspace: &Workspace,
    arguments: &Arguments,
    targets: &[String],
) -> Result<Outcome, Error> {
    let is_json = arguments.format == Some(RenderFormat::Other(OutputFormat::JSON));
    let add = |file: &CompiledFile, text: &mut String| {
        if is_json {
            text.push_str(&objects::json_lines(file));
        } else {
            text.push_str("---\n");
            text.push_str(&file.text);
        }
    };
    let (mut text, mut is_kept) = (String::new(), true);
    let diagnostics = workspace.each_compiled_file(targets, is_json, &mut |file| {
        if is_kept {
            add(&file, &mut text);
        }
        if text.len() > MAXIMUM_KEPT {
            (text, is_kept) = (String::new(), false);
        }
    })?;
    let outcome = tell(global, diagnostics);
    if outcome == Outcome::Invalid {
        return Ok(outcome);
    }
    let terminal = global.terminal();
    if !is_kept {
        workspace.each_compiled_file(targets, is_json, &mut |file| {
            add(&file, &mut text);
            if text.len() >= PRINTED_AT_ONCE {
                terminal.manifests(&text);
                text.clear();
            }
        })?;
    }
    terminal.manifests(&text);
    Ok(outcome)
}
