//! The command line: options, one file per command, exit codes. Nothing but reading options and choosing a report.

mod ask;
mod book;
mod can_i;
mod check;
mod completions;
mod diff;
mod drift;
mod every_workspace;
mod expire;
mod explain;
mod form_file;
mod function;
mod import;
mod in_memory;
mod index;
mod init;
mod lint;
mod lsp;
mod man;
mod merge;
mod migrate;
mod node_reach;
mod pack;
mod path_prefix;
mod plugin_parameters;
mod printing;
mod question;
mod render;
mod report;
mod reporting;
mod review;
mod sandbox;
mod schema;
mod step_outputs;
mod table;
mod test;
mod watch;
mod who_can;
mod workspaces;
mod worlds;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use clap::{Args, FromArgMatches as _, Parser, Subcommand, ValueEnum};

pub use self::in_memory::{MemoryCommand, MemoryOutcome, run_in_memory};
use self::reporting::Formats;
use self::sandbox::SandboxArguments;
use crate::app::{Error, Options, manual};
use crate::diag::RunError;
use crate::emit::writer;
use crate::model::Date;
use crate::parallel;
use crate::report::github::Annotation;
use crate::report::{ColorChoice, RunReport, Streams, Terminal};
use crate::source::InputFiles;
use crate::stats::Stats;

/// The outcome of a run. The numbers are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Fine,
    /// The answer is no: drift, or a finding at or above the gate.
    No,
    /// Wrong usage or invalid input.
    Invalid,
    /// The run failed: disk, permissions, git, or a mistake of this program.
    Failed,
}

impl Outcome {
    /// Returns the outcome with the higher code: invalid input outweighs a no.
    pub fn worse(self, other: Self) -> Self {
        if other.code() > self.code() { other } else { self }
    }

    /// Describes the outcome for the manual.
    fn meaning(self) -> &'static str {
        match self {
            Outcome::Fine => "success; the answer is yes",
            Outcome::No => "the answer is no: a difference, a finding, a denied request, a failed test",
            Outcome::Invalid => "wrong usage or invalid input",
            Outcome::Failed => "the run failed: disk, permissions, git, or a fault of the program",
        }
    }

    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Outcome::Fine => 0,
            Outcome::No => 1,
            Outcome::Invalid => 2,
            Outcome::Failed => 3,
        }
    }
}

/// Compiles declarative access policy for Kubernetes clusters into validated manifests.
///
/// Run each command inside a workspace.
///
/// Exit codes: 0 success; 1 the answer is no (drift, a finding, a denied request, a failed test); 2 wrong usage or invalid input; 3 the run failed.
#[derive(Debug, Parser)]
#[command(name = "bailiwick", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Run as if started in this folder.
    #[arg(short = 'C', long, global = true, value_name = "DIR", env = "BAILIWICK_DIRECTORY")]
    directory: Option<PathBuf>,
    /// When to print colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", env = "BAILIWICK_COLOR")]
    color: ColorChoice,
    /// Hide counts and progress.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print the paths of the files of a folder that hold no objects.
    #[arg(long, global = true)]
    list_skipped: bool,
    /// Print the fields that are left out of objects of manifests because the API server sets them.
    #[arg(long, global = true)]
    list_dropped: bool,
    /// Number of threads. Default: one for each core.
    #[arg(short, long, global = true, value_name = "N", env = "BAILIWICK_JOBS", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Has no effect. Accepted because earlier versions had it.
    #[arg(long, global = true, hide = true)]
    no_classes: bool,
    /// Has no effect. Accepted because earlier versions had a cache.
    #[arg(long, global = true, hide = true)]
    no_cache: bool,
    /// Has no effect. Accepted because earlier versions had a cache.
    #[arg(long, global = true, hide = true, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Compare the content of every file in `check --tree`. Without it the ids of git decide there.
    #[arg(long, global = true)]
    verify: bool,
    /// Print the time, documents and bytes of each stage.
    #[arg(long, global = true)]
    stats: bool,
    /// Write a profile of the run, for browsers and Perfetto.
    #[arg(long, global = true, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[arg(skip)]
    measured: Arc<Stats>,
    /// Whether a warning was printed.
    #[arg(skip)]
    warned: Arc<AtomicBool>,
    #[arg(skip)]
    printed: Arc<Mutex<printing::Printed>>,
    /// Whether the command runs in several workspaces.
    #[arg(skip)]
    is_one_of_several: bool,
    /// Date for the expiry of grants. Default: the current date in UTC.
    #[arg(long, global = true, value_name = "YYYY-MM-DD", env = "BAILIWICK_TODAY")]
    today: Option<Date>,
    #[command(flatten)]
    sandbox: SandboxArguments,
    /// Output format of diagnostics.
    #[arg(long, global = true, value_name = "FORM", default_value = "human")]
    diagnostics: DiagnosticForm,
    /// Folder before the paths in annotations and in sarif, gitlab and markdown; an empty text for none. Default: the path from
    /// the root of the git work tree to the workspace.
    #[arg(long, global = true, value_name = "PATH")]
    path_prefix: Option<String>,
    /// Whether the command reads manifests in place of a workspace.
    #[arg(skip)]
    reads_manifests: bool,
    /// The files that the options name, and the workspace.
    #[arg(skip)]
    inputs: InputFiles,
    /// The place of the texts of the run.
    #[arg(skip)]
    streams: Streams,
    /// The annotations of the run, which are printed at its end.
    #[arg(skip)]
    annotations: Arc<Mutex<Vec<Annotation>>>,
    /// The formats that the command asks for.
    #[arg(skip)]
    formats: Formats,
    /// The results of the run, for the reports.
    #[arg(skip = Arc::new(Mutex::new(RunReport::new(""))))]
    collected: Arc<Mutex<RunReport>>,
}

/// The output formats of diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiagnosticForm {
    /// With source lines; the first 200, errors before warnings.
    Human,
    /// One JSON object per line, without a limit.
    Json,
    /// Workflow commands of GitHub Actions at the end of the run; the ten worst errors and warnings.
    Github,
}

impl Global {
    fn terminal(&self) -> Terminal {
        let terminal = self.terminal_of_reports();
        if self.format().is_some() { terminal.without_results() } else { terminal }
    }

    /// Returns the terminal for the report of the run.
    fn terminal_of_reports(&self) -> Terminal {
        Terminal::new(self.color, self.quiet).with_streams(&self.streams)
    }

    /// Returns the options of a run that starts in a folder.
    fn in_folder(&self, folder: &Path) -> Self {
        Self { directory: Some(folder.to_owned()), ..self.clone() }
    }

    /// Returns a path that was given to the program: as if started in the folder of `-C`.
    fn at(&self, path: &Path) -> PathBuf {
        self.directory.as_ref().map_or_else(|| path.to_owned(), |start| start.join(path))
    }

    /// Returns the path of an input as [`Global::at`] does; `-` is standard input.
    fn input_at(&self, path: &Path) -> PathBuf {
        if path.as_os_str() == "-" { path.to_owned() } else { self.at(path) }
    }

    /// Returns a variable of the environment that is not empty. A run over files in memory has no environment.
    fn variable(&self, name: &str) -> Option<OsString> {
        match self.inputs {
            InputFiles::Disk => std::env::var_os(name).filter(|value| !value.is_empty()),
            InputFiles::Memory(_) => None,
        }
    }

    /// Whether the run is one of continuous integration, by the variable that every service sets.
    fn is_in_ci(&self) -> bool {
        self.variable("CI").is_some_and(|value| !value.eq_ignore_ascii_case("false"))
    }

    /// Returns the current day. No other function reads a clock; the stages receive the day, and the output does not depend on it.
    #[expect(clippy::disallowed_methods, reason = "the day decides about warnings, never about the output")]
    fn today(&self) -> Date {
        self.today.unwrap_or_else(|| {
            let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Date::from_days(since_1970.as_secs() / 86_400)
        })
    }

    /// Returns the name of an option or variable of the cache that earlier versions had, if the run has one.
    fn option_of_removed_cache(&self) -> Option<&'static str> {
        let given = [
            ("--no-cache", self.no_cache),
            ("--cache-dir", self.cache_dir.is_some()),
            ("BAILIWICK_NO_CACHE", self.variable("BAILIWICK_NO_CACHE").is_some()),
            ("BAILIWICK_CACHE_DIR", self.variable("BAILIWICK_CACHE_DIR").is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// Returns the options of the application.
    fn options(&self) -> Options {
        Options {
            directory: self.directory.clone(),
            inputs: self.inputs.clone(),
            jobs: self.jobs.map(usize::from),
            today: Some(self.today()),
            stats: Arc::clone(&self.measured),
            listener: Some(printing::listener(self.terminal())),
        }
    }

    fn jobs(&self) -> usize {
        self.options().threads()
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a workspace with an example policy.
    Init(init::Arguments),
    /// Compile the policies and write the output.
    Render(render::Arguments),
    /// Leave expired grants out of the output: move `spec.expiry.asOf` to the current day, and render.
    ///
    /// The command changes the day in `bailiwick.yaml` and nothing else in the file. If the output cannot be written, the day
    /// stays changed.
    Expire(expire::Arguments),
    /// Compare the compiled policies with the output, and run every AccessTest, for CI.
    Check(check::Arguments),
    /// Check the parts of a `render` or `check` as one run, from their summaries.
    Merge(merge::Arguments),
    /// Print the differences between the compiled policies and earlier output.
    ///
    /// Control characters and invisible characters are printed as escapes, such as `\u{1b}`, on a terminal and in a file. So
    /// `patch` cannot apply the differences.
    Diff(diff::Arguments),
    /// Review a change: what it grants, where that leads, and proof when it has no effect.
    Review(review::Arguments),
    /// Map who can do what, for an audit: permissions, escalation paths and findings of one state.
    Report(report::Arguments),
    /// Print the permissions of a role as a table, and mark dead permissions.
    Table(table::Arguments),
    /// Report grants that are dangerous, have no effect, or cannot be applied.
    Lint(lint::Arguments),
    /// Run every AccessTest.
    Test(test::Arguments),
    /// Print whether a subject can make a request, with the proof.
    CanI(can_i::Arguments),
    /// List the subjects that can make a request.
    WhoCan(who_can::Arguments),
    /// Print the Secrets and permissions that an attacker on a node can reach.
    NodeReach(node_reach::Arguments),
    /// Write an index file, for fast questions about access.
    Index(index::Arguments),
    /// Answer questions on standard input, one JSON object per line.
    Ask(ask::Arguments),
    /// Take over the objects of clusters as policies, with the proof that they compile to the same objects.
    ///
    /// Exit codes: 0 the policies compile to the objects; 1 the checks refuse an object; 2 wrong usage or invalid input; 3 the run failed.
    Import(import::Arguments),
    /// Compare a dump of a live cluster with the policies: objects, access and AccessTests.
    ///
    /// Reports missing and changed objects, and unmanaged objects in the namespaces of the policies or with their subjects. Then
    /// compares the access that both give, and asks the AccessTests of the live objects. No cluster is contacted.
    ///
    /// Exit codes: 0 the cluster is as the policies want it; 1 it is not; 2 wrong usage, invalid input, or a dump that is not
    /// complete; 3 the run failed.
    Drift(drift::Arguments),
    /// Run as a KRM function of kustomize and kpt, or as a post-renderer of Helm.
    ///
    /// Reads a ResourceList from standard input. With a `functionConfig` of the kind Bailiwick, adds the objects of a target. With an
    /// AccessTest, tests the items, and prints failures as `results`. With --stream, reads plain manifests, runs the AccessTests of
    /// the workspace with them, and prints the same bytes if no test fails.
    ///
    /// Exit codes: 0 success; 1 a test failed; 2 wrong usage or invalid input, with nothing on standard output; 3 the run failed.
    Fn(function::Arguments),
    /// Write the objects of a target as an OCI image layout, for Argo CD and Flux.
    ///
    /// The layer has the compiled files of the target, not the files of the output folder. The same policies give the same digest.
    Pack(pack::Arguments),
    /// Convert objects of a cluster into policies, and report the result for each object.
    Migrate(migrate::Arguments),
    /// Serve an editor, by the Language Server Protocol on standard input and output.
    ///
    /// Exit codes: 0 the editor shut the server down; 1 the editor is gone without a shutdown; 3 the run failed.
    Lsp(lsp::Arguments),
    /// Explain a policy kind, a diagnostic, an object or a decision.
    Explain(explain::Arguments),
    /// Print the JSON Schema of policies or results.
    Schema(schema::Arguments),
    /// Print a completion script for a shell.
    Completions(completions::Arguments),
    /// Print the manual page of the program, or write one for each command.
    Man(man::Arguments),
}

/// Implements what every command has, from its variant, its name and its module.
macro_rules! commands {
    ($($variant:ident $name:literal $module:ident,)*) => {
        impl Command {
            /// Returns the name on the command line.
            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Returns the parser of the command with a name.
            fn parser(name: &str) -> Option<clap::Command> {
                match name {
                    $($name => Some($module::Arguments::augment_args(clap::Command::new($name))),)*
                    _ => None,
                }
            }

            /// Runs the command in the workspace of its options.
            fn run(&self, global: &Global) -> Result<Outcome, Error> {
                match self {
                    $(Self::$variant(arguments) => $module::run(global, arguments),)*
                }
            }
        }
    };
}

commands! {
    Init "init" init,
    Render "render" render,
    Expire "expire" expire,
    Check "check" check,
    Merge "merge" merge,
    Diff "diff" diff,
    Review "review" review,
    Report "report" report,
    Table "table" table,
    Lint "lint" lint,
    Test "test" test,
    CanI "can-i" can_i,
    WhoCan "who-can" who_can,
    NodeReach "node-reach" node_reach,
    Index "index" index,
    Ask "ask" ask,
    Import "import" import,
    Drift "drift" drift,
    Fn "fn" function,
    Pack "pack" pack,
    Migrate "migrate" migrate,
    Lsp "lsp" lsp,
    Explain "explain" explain,
    Schema "schema" schema,
    Completions "completions" completions,
    Man "man" man,
}

impl Command {
    /// Returns the formats of the results, and the reports to write.
    fn formats(&self) -> Formats {
        match self {
            Self::Render(arguments) => arguments.formats(),
            Self::Check(arguments) => Formats::of_run(&arguments.gate.format),
            Self::Merge(arguments) => Formats::of_run(&arguments.format),
            Self::Diff(arguments) => Formats::of_run(&arguments.gate.format),
            Self::Lint(arguments) => Formats::of_run(&arguments.format),
            Self::Table(arguments) => arguments.formats(),
            Self::Import(arguments) => arguments.formats(),
            Self::Drift(arguments) => Formats::of_results(&arguments.format),
            Self::Migrate(arguments) => arguments.formats(),
            Self::Test(arguments) => Formats::of_results(&arguments.format),
            Self::CanI(arguments) => Formats::of_results(&arguments.format),
            Self::WhoCan(arguments) => Formats::of_results(&arguments.format),
            Self::NodeReach(arguments) => Formats::of_results(&arguments.format),
            Self::Index(arguments) => Formats::of_results(&arguments.format),
            Self::Explain(arguments) => Formats::of_results(&arguments.format),
            Self::Init(_)
            | Self::Expire(_)
            | Self::Review(_)
            | Self::Report(_)
            | Self::Ask(_)
            | Self::Fn(_)
            | Self::Pack(_)
            | Self::Lsp(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_) => Formats::default(),
        }
    }

    /// Whether the command reads manifests in place of a workspace.
    fn reads_manifests(&self) -> bool {
        let world = match self {
            Self::Lint(arguments) => return arguments.reads_manifests(),
            Self::CanI(arguments) => &arguments.world,
            Self::WhoCan(arguments) => &arguments.world,
            Self::NodeReach(arguments) => &arguments.world,
            Self::Index(arguments) => &arguments.world,
            Self::Migrate(_) => return true,
            _ => return false,
        };
        !world.options(false).is_workspace()
    }

    /// Returns the folder with the workspaces; none for a run in one workspace.
    fn workspaces(&self, global: &Global) -> Option<PathBuf> {
        match self {
            Self::Render(arguments) => arguments.workspaces.folder(global),
            Self::Check(arguments) => arguments.workspaces.folder(global),
            Self::Lint(arguments) => arguments.workspaces.folder(global),
            Self::Test(arguments) => arguments.workspaces.folder(global),
            _ => None,
        }
    }

    /// Whether the command runs again after each change.
    fn is_watching(&self) -> bool {
        matches!(self, Self::Check(arguments) if arguments.watch)
    }

    /// Whether a warning makes the answer no.
    fn denies_warnings(&self) -> bool {
        match self {
            Self::Check(arguments) => arguments.gate.deny_warnings,
            Self::Merge(arguments) => arguments.deny_warnings,
            Self::Diff(arguments) => arguments.gate.deny_warnings,
            Self::Test(arguments) => arguments.deny_warnings,
            _ => false,
        }
    }
}

/// Returns every generated file below `docs/`, with its path there: what `explain` and `schema` print.
pub fn generated_docs() -> Vec<(String, String)> {
    let mut files = book::pages();
    files.extend(manual::pages());
    files.extend(schema::files().into_iter().map(|(name, text)| (format!("schema/{name}"), text)));
    files
}

/// Runs the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(outcome) = completions::answer(&arguments) {
        return outcome;
    }
    let parsed = match parse_one_command(&arguments) {
        Some(cli) => Ok(cli),
        None => Cli::try_parse_from(&arguments),
    };
    let outcome = match parsed {
        Ok(mut cli) => run_parsed(&mut cli),
        Err(error) => printing::print_usage(&error, &arguments, &Streams::Standard),
    };
    match Terminal::output_failure() {
        Some(error) => {
            Terminal::new(ColorChoice::Never, false).failure(&error);
            Outcome::Failed
        }
        None => outcome,
    }
}

/// Parses a command line that begins with a command, by the options of this command: the options of all commands take longer than the run
/// of a small workspace. Returns none for another command line, for help, and for wrong usage, which the whole program describes.
fn parse_one_command(arguments: &[OsString]) -> Option<Cli> {
    let command = Command::parser(arguments.get(1)?.to_str()?)?;
    let program = Global::augment_args(clap::Command::new("bailiwick")).subcommand(command);
    Cli::from_arg_matches(&program.try_get_matches_from(arguments).ok()?).ok()
}

/// Runs the command of a command line.
fn run_parsed(cli: &mut Cli) -> Outcome {
    cli.prepare();
    let folder = cli.command.workspaces(&cli.global);
    let confined = folder.as_ref().map_or_else(|| cli.global.clone(), |folder| cli.global.in_folder(folder));
    // A new thread inherits the restrictions of its parent, so this comes before the first one starts.
    match sandbox::confine_run(&confined, &cli.command, folder.as_deref()) {
        Ok(Outcome::Fine) if cli.command.is_watching() => watch::run(cli),
        Ok(Outcome::Fine) => cli.run_once(folder.as_deref()),
        Ok(outcome) => cli.conclude(outcome),
        Err(error) => cli.conclude(printing::end(&cli.global, error)),
    }
}

impl Cli {
    /// Forgets the measurements and the results of an earlier run.
    fn prepare(&mut self) {
        let Self { global, command } = self;
        global.measured = Arc::new(Stats::new(global.stats, global.trace.is_some()));
        global.formats = command.formats();
        global.formats.has_step_outputs = step_outputs::are_of(command.name()) && step_outputs::file(global).is_some();
        global.formats.is_kept = matches!(global.streams, Streams::Kept(_));
        global.reads_manifests = command.reads_manifests();
        global.collected = Arc::new(Mutex::new(RunReport::new(command.name())));
        (global.warned, global.printed, global.annotations) = Default::default();
    }

    /// Runs the command, and prints what comes at the end of a run.
    fn run_once(&self, workspaces: Option<&Path>) -> Outcome {
        if let Some(option) = self.global.option_of_removed_cache() {
            self.global.terminal().note(&format!("note: `{option}` has no effect: `render` has no cache\n"));
        }
        self.conclude(parallel::with_room(|| run_command(self, workspaces)))
    }

    /// Prints what comes at the end of a run.
    fn conclude(&self, outcome: Outcome) -> Outcome {
        let outcome = match Error::check_internal() {
            Err(error) if outcome != Outcome::Failed => printing::end(&self.global, error),
            _ => outcome,
        };
        printing::print_more(&self.global);
        let outcome = reporting::finish(&self.global, outcome);
        printing::print_annotations(&self.global);
        outcome
    }
}

fn run_command(cli: &Cli, workspaces: Option<&Path>) -> Outcome {
    let Cli { global, command } = cli;
    let outcome = match workspaces {
        Some(folder) => every_workspace::run(global, command, folder),
        None => run_in_workspace(global, command),
    };
    let outcome = outcome.and_then(|outcome| tell_stats(global).map(|()| outcome).map_err(Error::from));
    outcome.unwrap_or_else(|error| printing::end(global, error))
}

/// Runs a command in the workspace of its options.
fn run_in_workspace(global: &Global, command: &Command) -> Result<Outcome, Error> {
    let outcome = command.run(global);
    printing::settle(global, outcome).map(|outcome| {
        let is_denied = command.denies_warnings() && global.warned.load(Ordering::Relaxed);
        if is_denied { outcome.worse(Outcome::No) } else { outcome }
    })
}

/// Prints and writes what was measured.
fn tell_stats(global: &Global) -> Result<(), RunError> {
    if global.stats {
        global.terminal().problem(&global.measured.table());
    }
    if let Some(path) = global.trace.as_ref().map(|path| global.at(path)) {
        let profile = format!("{}\n", global.measured.profile());
        writer::replace(&path, profile.as_bytes()).map_err(|error| RunError::io("write", &path, &error))?;
    }
    Ok(())
}

mod bases {
    //! The base of a comparison with an earlier state of the workspace.

    use std::path::Path;

    use crate::app::review::{BaseRevision, ReviewBase};

    /// Returns the base that the options choose: a folder, a revision, or the usual base without either.
    pub(super) fn chosen(revision: Option<&str>, folder: Option<&Path>) -> ReviewBase {
        match (revision, folder) {
            (_, Some(folder)) => ReviewBase::Folder(folder.to_owned()),
            (Some(name), None) => ReviewBase::Revision(vec![BaseRevision::Named(name.to_owned())]),
            (None, None) => ReviewBase::Revision(usual_bases()),
        }
    }

    /// Returns the revisions that can be the base, in the order of their use: the base that the CI names, and the default branch.
    fn usual_bases() -> Vec<BaseRevision> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut bases = Vec::new();
        bases.extend(variable("CI_MERGE_REQUEST_DIFF_BASE_SHA").map(BaseRevision::Named));
        if let Some(branch) = variable("GITHUB_BASE_REF") {
            let branch = format!("refs/remotes/origin/{branch}");
            bases.push(BaseRevision::FirstParentOfMerge(branch.clone()));
            bases.push(BaseRevision::MergeBase(branch));
        }
        bases.push(BaseRevision::MergeBase(BaseRevision::DEFAULT_BRANCH.to_owned()));
        bases
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Returns the arguments of a command, and of its own commands.
    fn arguments(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().map(|argument| format!("{argument:?}"));
        own.chain(command.get_subcommands().flat_map(arguments)).collect()
    }

    #[test]
    fn the_parser_of_a_command_has_the_arguments_of_the_whole_program() {
        let program = Cli::command();
        assert!(program.get_subcommands().count() > 20);
        for command in program.get_subcommands() {
            let alone = Command::parser(command.get_name()).unwrap();
            assert_eq!(arguments(&alone), arguments(command), "{}", command.get_name());
        }
        assert_eq!(arguments(&Global::augment_args(clap::Command::new("bailiwick"))), {
            let own = program.get_arguments().map(|argument| format!("{argument:?}"));
            own.collect::<Vec<_>>()
        });
    }

    #[test]
    fn a_command_line_is_parsed_by_one_command_as_by_the_whole_program() {
        let line = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        for words in [
            "bailiwick check --verify -q --jobs 2 --format json",
            "bailiwick who-can get secrets --color never --from a --from b",
            "bailiwick can-i get pods/log -n a --as=b",
            "bailiwick render --stdout -qC render",
        ] {
            let whole = Cli::try_parse_from(line(words)).unwrap();
            let alone = parse_one_command(&line(words)).unwrap();
            assert_eq!(format!("{alone:?}"), format!("{whole:?}"), "{words}");
        }
        let others = ["", " help", " check --help", " check --nothing", " --version", " -C check render", " nothing"];
        for words in others.map(|words| format!("bailiwick{words}")) {
            let words = words.as_str();
            assert!(parse_one_command(&line(words)).is_none(), "{words}");
        }
    }

    #[test]
    fn help_lists_the_options_of_a_command_apart_from_the_global_options() {
        let mut program = Cli::command();
        program.build();
        let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        assert!(names.len() > 15);
        for name in names.iter().filter(|name| *name != "help") {
            let help = program.find_subcommand_mut(name).expect("a command").render_help().to_string();
            let (own, global) = help.split_once("\nGlobal options:\n").unwrap_or_else(|| panic!("{name}: {help}"));
            for option in ["--directory <DIR>", "--quiet", "--stats", "--diagnostics <FORM>"] {
                assert!(!own.contains(option) && global.contains(option), "{name}: {option}");
            }
            assert!(own.contains("--help") && !global.contains("--help"), "{name}");
        }
    }
}
