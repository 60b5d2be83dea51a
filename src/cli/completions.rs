//! `bailiwick completions`, and the values that its scripts ask for while the user types.
//!
//! A script calls the program with [`VARIABLE`] in the environment. The program then prints candidates in place of a run: targets of the
//! workspace, names of findings, and the topics of `explain`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use super::{Cli, Global, Outcome};
use crate::app::manual::TEMPLATES;
use crate::app::{Error, Options, target_names};
use crate::codes;
use crate::diag::RunError;
use crate::kinds;
use crate::report::json;

/// The environment variable of a call by a completion script; the value is the shell.
const VARIABLE: &str = "BAILIWICK_COMPLETE";

/// The name of the program in the scripts.
const PROGRAM: &str = "bailiwick";

/// Options of `completions`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Shell to print the completion script for
    shell: Shell,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let shells = Shells::builtins();
    let name = arguments.shell.to_string();
    let Some(shell) = shells.completer(&name) else {
        return Err(RunError::new(format!("there is no completion script for {name}")).into());
    };
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| RunError::new(format!("the completion script for {name} cannot be written: {error}")))?;
    global.terminal().result(&String::from_utf8_lossy(&script));
    Ok(Outcome::Fine)
}

/// Prints the candidates for a completion script; none if no script calls the program.
pub(super) fn answer(arguments: &[OsString]) -> Option<Outcome> {
    std::env::var_os(VARIABLE)?;
    let directory = directory(arguments);
    let command = || with_candidates(Cli::command(), &directory);
    let environment = CompleteEnv::with_factory(command).var(VARIABLE).bin(PROGRAM).completer(PROGRAM);
    let current = std::env::current_dir().ok();
    // After an error there are no candidates: the line of the user is no place for a message.
    _ = environment.try_complete(arguments.to_vec(), current.as_deref());
    Some(Outcome::Fine)
}

/// Returns the folder in the line of the user, after `-C` or `--directory`.
fn directory(arguments: &[OsString]) -> Option<PathBuf> {
    let mut words = arguments.iter().map(|word| word.to_str());
    while let Some(word) = words.next() {
        let value = match word {
            Some("-C" | "--directory") => words.next().flatten(),
            Some(word) => word.strip_prefix("--directory="),
            None => None,
        };
        if let Some(value) = value {
            return Some(PathBuf::from(value));
        }
    }
    std::env::var_os("BAILIWICK_DIRECTORY").map(PathBuf::from)
}

/// Adds the candidates to the arguments of a command and of its subcommands.
fn with_candidates(command: Command, directory: &Option<PathBuf>) -> Command {
    let (is_explain, is_schema) = (command.get_name() == "explain", command.get_name() == "schema");
    let command = command.mut_args(|argument| match argument.get_id().as_str() {
        "targets" | "target" => {
            let directory = directory.clone();
            argument.add(ArgValueCandidates::new(move || targets(directory.clone())))
        }
        "select" | "ignore" => argument.add(ArgValueCandidates::new(findings)),
        "kind" if is_schema => argument.add(ArgValueCandidates::new(schemas)),
        "words" if is_explain => argument.add(ArgValueCandidates::new(topics)),
        _ => argument,
    });
    command.mut_subcommands(|subcommand| with_candidates(subcommand, directory))
}

/// Returns the targets of the workspace; none for a workspace with errors.
fn targets(directory: Option<PathBuf>) -> Vec<CompletionCandidate> {
    let options = Options { directory, ..Options::default() };
    target_names(&options).into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the names of the findings of `lint`.
fn findings() -> Vec<CompletionCandidate> {
    codes::all().iter().map(|code| CompletionCandidate::new(code.id())).collect()
}

/// Returns the policy kinds, the diagnostics and the other pages of the manual.
fn topics() -> Vec<CompletionCandidate> {
    let kinds = kinds::ALL.iter().map(|kind| CompletionCandidate::new(kind.name));
    kinds.chain([CompletionCandidate::new(TEMPLATES)]).chain(findings()).collect()
}

/// Returns the names that `schema` takes.
fn schemas() -> Vec<CompletionCandidate> {
    let results = json::schemas().into_iter().map(|(name, _)| CompletionCandidate::new(name));
    kinds::names().map(CompletionCandidate::new).chain(results).collect()
}
