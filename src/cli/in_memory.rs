//! A command over files in memory: nothing of the system is read, written or printed.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory as _, FromArgMatches as _};

use super::printing::{print_usage, refuse_usage};
use super::{Cli, Outcome, run_parsed};
use crate::model::Date;
use crate::report::{KeptTexts, ReportFormat, Streams};
use crate::source::{InputFiles, MemorySource};

/// The commands that need nothing beside their inputs.
const COMMANDS: [&str; 7] = ["can-i", "explain", "lint", "render", "table", "test", "who-can"];

/// The arguments of these commands that read and write no file of the system, by their names in the parser. Every other
/// option is refused.
const ARGUMENTS: [&str; 42] = [
    "all_namespaces",
    "any_resource",
    "baseline",
    "bindings",
    "color",
    "complete",
    "default_namespace",
    "deny_warnings",
    "diagnostics",
    "exclude",
    "external",
    "field_selector",
    "format",
    "from",
    "groups",
    "http",
    "ignore",
    "include",
    "jobs",
    "kubernetes_version",
    "list",
    "list_dropped",
    "list_skipped",
    "name",
    "names",
    "namespace",
    "path",
    "platform",
    "quiet",
    "resource",
    "role",
    "select",
    "severity",
    "static_pods",
    "stdout",
    "subresource",
    "target",
    "targets",
    "today",
    "user",
    "verb",
    "words",
];

/// A command line with its files.
#[derive(Debug, Clone)]
pub struct MemoryCommand {
    /// The arguments behind the name of the program.
    pub arguments: Vec<String>,
    /// The files, by paths from the folder of the workspace.
    pub files: MemorySource,
    /// The day on which grants are judged as expired, without `--today`.
    pub today: Date,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryOutcome {
    /// The outcome, with the exit code.
    pub outcome: Outcome,
    /// The texts that the program prints.
    pub texts: KeptTexts,
    /// The report of the run in JSON, as `--report json=FILE` writes it.
    pub report: String,
}

/// Runs a command over files in memory. The program has the same texts and the same outcome in a folder with these files.
///
/// Refuses commands and options that read or write other files.
///
/// # Examples
/// ```
/// use bailiwick::cli::{MemoryCommand, run_in_memory};
/// use bailiwick::source::MemorySource;
/// let role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a},
///     roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, name: ann}]}";
/// let arguments = ["can-i", "list", "pods", "--as", "ann", "--from", "."].map(str::to_owned).into();
/// let files = MemorySource::new([("role.yaml", role)]);
/// let answer = run_in_memory(&MemoryCommand { arguments, files, today: bailiwick::model::Date::from_days(20_000) });
/// assert!(answer.texts.stdout.starts_with("yes"), "{answer:?}");
/// assert_eq!(answer.outcome.code(), 0);
/// ```
pub fn run_in_memory(command: &MemoryCommand) -> MemoryOutcome {
    let streams = Streams::kept();
    let words = std::iter::once("bailiwick").chain(command.arguments.iter().map(String::as_str));
    let arguments: Vec<OsString> = words.map(OsString::from).collect();
    let (outcome, report) = match parse(&arguments) {
        Err(error) => (print_usage(&error, &arguments, &streams), String::new()),
        Ok((matches, mut cli)) => {
            let global = &mut cli.global;
            global.streams = streams.clone();
            global.inputs = InputFiles::Memory(Arc::new(command.files.clone()));
            global.directory = None;
            global.today.get_or_insert(command.today);
            global.path_prefix = Some(String::new());
            let outcome = match refusal(&matches) {
                Some(refused) => {
                    let help = "run the program itself for other files";
                    refuse_usage(global, format!("{refused} cannot be used with files in memory"), help)
                }
                None => run_parsed(&mut cli),
            };
            let report = ReportFormat::Json.text(&*cli.global.collected());
            (outcome, report)
        }
    };
    MemoryOutcome { outcome, texts: streams.take(), report }
}

/// Parses a command line, and returns the matches of its command.
fn parse(arguments: &[OsString]) -> Result<(ArgMatches, Cli), clap::Error> {
    // A variable of the environment gives a value to an option of another run.
    let mut program =
        Cli::command().mut_args(without_variable).mut_subcommands(|command| command.mut_args(without_variable));
    let matches = program.try_get_matches_from_mut(arguments)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut program))?;
    Ok((matches, cli))
}

fn without_variable(argument: Arg) -> Arg {
    argument.env(Resettable::Reset)
}

/// Returns the first part of a command line that needs more than files in memory.
fn refusal(matches: &ArgMatches) -> Option<String> {
    let (name, matches) = matches.subcommand()?;
    if !COMMANDS.contains(&name) {
        return Some(format!("`{name}`"));
    }
    if name == "render" && !matches.get_flag("stdout") {
        return Some("`render` without `--stdout`".to_owned());
    }
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let program = Cli::command();
    let known = program.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
    for argument in known.chain(program.get_arguments()) {
        let id = argument.get_id().as_str();
        if is_given(id) && !ARGUMENTS.contains(&id) {
            return Some(argument.get_long().map_or_else(|| format!("`{id}`"), |long| format!("`--{long}`")));
        }
    }
    let is_pipe = |id: &str| {
        let values = matches.try_get_raw(id).ok().flatten();
        values.is_some_and(|mut values| values.any(|value| Path::new(value) == Path::new("-")))
    };
    ["from", "baseline", "static_pods"].into_iter().any(is_pipe).then(|| "standard input".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> MemoryOutcome {
        let arguments = words.iter().map(|word| (*word).to_owned()).collect();
        let files = MemorySource::new([("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")]);
        run_in_memory(&MemoryCommand { arguments, files, today: Date::from_days(20_000) })
    }

    #[test]
    fn other_files_are_refused() {
        let question = ["who-can", "get", "pods", "--from", "."];
        for (words, refused) in [
            (&["render"][..], "`render` without `--stdout`"),
            (&["check"], "`check`"),
            (&["init"], "`init`"),
            (&["completions", "bash"], "`completions`"),
            (&["render", "--stdout", "--report", "json=/tmp/x"], "`--report`"),
            (&["render", "--stdout", "-C", "/"], "`--directory`"),
            (&["render", "--stdout", "--trace", "/tmp/x"], "`--trace`"),
            (&["render", "--stdout", "--stats"], "`--stats`"),
            (&["-C", "/", "render", "--stdout"], "`--directory`"),
            (&["lint", "--base", "HEAD"], "`--base`"),
            (&["lint", "--workspaces", "/"], "`--workspaces`"),
            (&["lint", "--from", ".", "--audit", "/x"], "`--audit`"),
            (&["can-i", "create", "pods", "--as", "a", "--admission", "/x"], "`--admission`"),
            (&["who-can", "get", "pods", "--from", "-"], "standard input"),
        ] {
            let ended = run(words);
            let wanted = format!("error[invalid-usage]: {refused} cannot be used with files in memory");
            assert!(ended.texts.stderr.starts_with(&wanted), "{words:?}: {ended:?}");
            assert_eq!((ended.outcome, ended.texts.stdout.as_str()), (Outcome::Invalid, ""), "{words:?}");
        }
        assert_eq!(run(&question).outcome, Outcome::Fine);
    }

    #[test]
    fn no_other_file_is_read() {
        for path in ["/etc/passwd", "../Cargo.toml", "/", "b"] {
            let ended = run(&["who-can", "get", "pods", "--from", path]);
            assert_eq!(
                ended.texts.stderr,
                format!("error: cannot read `{path}`: no such file or directory\n"),
                "{path}"
            );
            assert_eq!(ended.outcome, Outcome::Failed, "{path}");
        }
    }

    #[test]
    fn the_lists_name_commands_and_arguments() {
        let program = Cli::command();
        let mut arguments: Vec<&str> = program.get_arguments().map(|argument| argument.get_id().as_str()).collect();
        for name in COMMANDS {
            let command = program.find_subcommand(name).unwrap_or_else(|| panic!("no command {name}"));
            arguments.extend(command.get_arguments().map(|argument| argument.get_id().as_str()));
        }
        for name in ARGUMENTS {
            assert!(arguments.contains(&name), "no argument {name}: {arguments:?}");
        }
    }

    #[test]
    fn wrong_usage_is_kept() {
        let ended = run(&["can-i", "--nothing"]);
        assert!(ended.texts.stderr.starts_with("error: unexpected argument '--nothing' found"), "{ended:?}");
        assert_eq!(ended.outcome, Outcome::Invalid);
        let help = run(&["can-i", "--help"]);
        assert!(
            help.texts.stdout.contains("Usage: bailiwick can-i") && !help.texts.stdout.contains('\u{1b}'),
            "{help:?}"
        );
    }
}
