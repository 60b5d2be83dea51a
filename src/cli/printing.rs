//! Prints diagnostics, failures and wrong usage in the form that `--diagnostics` asks for. No other module of the command
//! line prints an error.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::ValueEnum as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Cli, DiagnosticForm, Global, Outcome};
use crate::app::{Error, Event, FindingRecord, Listener};
use crate::codes;
use crate::diag::{Code, Diagnostic, Files, RunError, Severity, foreign, nearest};
use crate::digest::digest_of_run;
use crate::report::github::{self, Annotation};
use crate::report::run::TestResult;
use crate::report::{ColorChoice, Streams, Terminal, human, json};

/// From how many files on a run is long enough for a progress bar.
const LONG_RUN: usize = 2_000;

/// Returns the function that prints the events of a run: a progress bar, and a line while the run waits.
pub(super) fn listener(terminal: Terminal) -> Listener {
    let bar = Mutex::new(None);
    let is_watched = terminal.is_watched();
    Arc::new(move |event| match event {
        Event::Compiling { target, done, total } if is_watched && total >= LONG_RUN => {
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            bar.get_or_insert_with(|| terminal.progress(target, total)).draw(done);
        }
        Event::Compiling { .. } => {}
        Event::Compiled => {
            if let Some(bar) = bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
                bar.clear();
            }
        }
        Event::Waiting => terminal.problem("waiting for another run that writes the output\n"),
    })
}

/// The diagnostics that a run has printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    seen: HashSet<u128>,
    /// The codes of the errors.
    errors: BTreeSet<Code>,
}

impl Printed {
    /// Adds the codes of the errors of another workspace.
    pub(super) fn absorb(&mut self, other: Self) {
        self.errors.extend(other.errors);
    }

    /// Whether a diagnostic is printed for the first time. Two diagnostics with the same places and the same message are one,
    /// also on different targets: it is printed with the first target.
    fn is_first(&mut self, diagnostic: &Diagnostic, files: &Files) -> bool {
        let Diagnostic { code, severity, message, notes, .. } = diagnostic;
        let mut text = format!("{}\0{severity}\0{message}", code.id());
        let further = diagnostic.labels.iter().map(|label| label.origin);
        for origin in diagnostic.origin.into_iter().chain(further) {
            let (start, end) = (origin.span.start, origin.span.end);
            text.push_str(&format!("\0{}\0{start}\0{end}", files.get(origin.file).path()));
        }
        for note in notes {
            text.push('\0');
            text.push_str(note);
        }
        self.seen.insert(digest_of_run(&text))
    }
}

impl Global {
    /// Returns the diagnostics that this run has printed.
    pub(super) fn printed(&self) -> MutexGuard<'_, Printed> {
        match self.printed.lock() {
            Ok(printed) => printed,
            Err(poisoned) => poisoned.into_inner(),
        }
    }

    /// Whether the details of the notes of a code are printed.
    fn lists(&self, code: Code) -> bool {
        (code == codes::SKIPPED_FILE && self.list_skipped) || (code == codes::SERVER_FIELD && self.list_dropped)
    }
}

/// Prints the diagnostics that this run has not printed yet.
pub(super) fn print(global: &Global, mut diagnostics: Vec<Diagnostic>, files: &Files) {
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Warning) {
        global.warned.store(true, Ordering::Relaxed);
    }
    {
        let mut printed = global.printed();
        diagnostics.retain(|diagnostic| printed.is_first(diagnostic, files));
        let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        printed.errors.extend(errors.map(|diagnostic| diagnostic.code));
    }
    global.record_findings(&diagnostics, files);
    if diagnostics.is_empty() || global.format().is_some() {
        return;
    }
    let terminal = global.terminal();
    match global.diagnostics {
        DiagnosticForm::Human => {
            let (notes, diagnostics): (Vec<_>, Vec<_>) =
                diagnostics.into_iter().partition(|diagnostic| diagnostic.severity == Severity::Note);
            if !diagnostics.is_empty() {
                terminal.coloured_problem(&human::diagnostics(&diagnostics, files));
                terminal.problem(&format!("{}\n", human::tally(&diagnostics)));
            }
            terminal.note(&human::notes(&notes, &|code| global.lists(code)));
        }
        DiagnosticForm::Json | DiagnosticForm::Github => global.tell_machines(&diagnostics, files),
    }
}

/// How many codes the last line names.
const NAMED_CODES: usize = 10;

/// Ends the errors of a run for people: the command that prints more about them, with each code once.
pub(super) fn print_more(global: &Global) {
    if global.diagnostics == DiagnosticForm::Human && global.format().is_none() {
        let printed = global.printed();
        global.terminal().note(&more_about(&printed.errors));
    }
}

fn more_about(errors: &BTreeSet<Code>) -> String {
    let names: Vec<&str> = errors.iter().map(|code| code.id()).take(NAMED_CODES).collect();
    let more = errors.len().saturating_sub(NAMED_CODES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match names.as_slice() {
        [] => String::new(),
        [code] => format!("for more about this error, run `bailiwick explain {code}`\n"),
        codes => format!("for more about an error, run `bailiwick explain CODE`: {}{more}\n", codes.join(", ")),
    }
}

fn print_for_machines(terminal: &Terminal, form: DiagnosticForm, diagnostics: &[Diagnostic], files: &Files) {
    match form {
        DiagnosticForm::Github => {
            let findings = diagnostics.iter().map(|diagnostic| FindingRecord::new(diagnostic, files));
            let list = findings.map(|finding| Annotation::of_finding(&finding)).collect();
            terminal.workflow_commands(&github::annotations(list));
        }
        DiagnosticForm::Human | DiagnosticForm::Json => terminal.problem(&json::diagnostics(diagnostics, files)),
    }
}

impl Global {
    /// Keeps diagnostics for [`print_annotations`], or prints them as JSON.
    fn tell_machines(&self, diagnostics: &[Diagnostic], files: &Files) {
        if self.diagnostics != DiagnosticForm::Github {
            return print_for_machines(&self.terminal(), self.diagnostics, diagnostics, files);
        }
        let paths = self.report_paths();
        let findings = diagnostics.iter().map(|diagnostic| {
            let mut finding = FindingRecord::new(diagnostic, files);
            finding.map_paths(&|path| paths.path(path));
            Annotation::of_finding(&finding)
        });
        self.annotations().extend(findings);
    }

    /// Keeps the failures of AccessTests for [`print_annotations`], if diagnostics are annotations.
    pub(super) fn annotate_tests(&self, tests: &[TestResult]) {
        if self.diagnostics != DiagnosticForm::Github || self.format().is_some() {
            return;
        }
        let paths = self.report_paths();
        for mut test in tests.iter().cloned() {
            test.places.iter_mut().for_each(|place| place.path = paths.path(&place.path));
            self.annotations().extend(test.annotations());
        }
    }

    fn annotations(&self) -> MutexGuard<'_, Vec<Annotation>> {
        self.annotations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints the annotations of a run: GitHub shows only the first of a step, and so the worst come first.
pub(super) fn print_annotations(global: &Global) {
    let list = std::mem::take(&mut *global.annotations());
    if !list.is_empty() {
        global.terminal().workflow_commands(&github::annotations(list));
    }
}

/// Prints why a command is not run as it is written.
pub(super) fn refuse(global: &Global, diagnostic: Diagnostic) -> Outcome {
    print(global, vec![diagnostic], &Files::new());
    Outcome::Invalid
}

/// Refuses as [`refuse`] does, with a message and a remedy.
pub(super) fn refuse_usage(global: &Global, message: impl Into<String>, help: impl Into<String>) -> Outcome {
    refuse(global, Diagnostic::error(codes::INVALID_USAGE, message).help(help))
}

/// Prints the diagnostics of invalid input, for which there is an outcome.
pub(super) fn settle(global: &Global, ended: Result<Outcome, Error>) -> Result<Outcome, Error> {
    match ended {
        Err(error @ Error::Invalid(_)) => Ok(end(global, error)),
        other => other,
    }
}

/// Prints why a command has no result.
pub(super) fn end(global: &Global, error: Error) -> Outcome {
    match error {
        Error::Invalid(diagnostics) => {
            print(global, diagnostics.list, &diagnostics.files);
            Outcome::Invalid
        }
        Error::Run(error) => fail(global, &error),
        internal @ Error::Internal(_) => {
            let help = "open an issue with the command and, if possible, its input";
            fail(global, &RunError::new(internal.to_string()).help(help))
        }
    }
}

/// Prints why a run failed, and adds it to the report of the run.
fn fail(global: &Global, error: &RunError) -> Outcome {
    global.record_findings(&[failure(error)], &Files::new());
    print_failure(global, error)
}

/// Prints why a run failed.
pub(super) fn print_failure(global: &Global, error: &RunError) -> Outcome {
    match global.diagnostics {
        DiagnosticForm::Human => global.terminal().failure(error),
        DiagnosticForm::Json | DiagnosticForm::Github => global.tell_machines(&[failure(error)], &Files::new()),
    }
    Outcome::Failed
}

fn failure(error: &RunError) -> Diagnostic {
    Diagnostic::error(codes::RUN_FAILED, &*error.message).help_maybe(error.help.clone())
}

/// Prints help and version, which are answers, or how the program is used, where it was used wrongly.
pub(super) fn print_usage(error: &clap::Error, arguments: &[OsString], streams: &Streams) -> Outcome {
    let terminal = Terminal::new(ColorChoice::Auto, false).with_streams(streams);
    if !error.use_stderr() {
        terminal.help(&error.render().ansi().to_string());
        return Outcome::Fine;
    }
    // The message repeats arguments: a second reading has them in the form in which they are shown.
    let shown: Vec<String> =
        arguments.iter().map(|argument| foreign::line(&argument.to_string_lossy()).into_owned()).collect();
    let text = match <Cli as clap::Parser>::try_parse_from(&shown).err().filter(clap::Error::use_stderr) {
        Some(mut again) => {
            suggest_command(&mut again);
            again.render().to_string()
        }
        None => error.render().to_string(),
    };
    match form_of(&shown) {
        DiagnosticForm::Human => terminal.problem(&text),
        form => print_for_machines(&terminal, form, &[usage_as_diagnostic(error.kind(), &text)], &Files::new()),
    }
    Outcome::Invalid
}

/// Returns the form of diagnostics that a command line asks for that cannot be read as a whole.
fn form_of(arguments: &[String]) -> DiagnosticForm {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    let mut form = DiagnosticForm::Human;
    for (index, option) in options.enumerate() {
        let value = match option.strip_prefix("--diagnostics") {
            Some("") => arguments.get(index + 1).map(String::as_str),
            Some(value) => value.strip_prefix('='),
            None => None,
        };
        if let Some(Ok(asked)) = value.map(|value| DiagnosticForm::from_str(value, false)) {
            form = asked;
        }
    }
    form
}

/// Returns the message of the parser as data: its first paragraph, its tips, and the way to the help.
fn usage_as_diagnostic(kind: ErrorKind, text: &str) -> Diagnostic {
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Diagnostic::error(codes::INVALID_USAGE, "no command is given")
            .help("run `bailiwick --help` for a list");
    }
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        let lines: Vec<&str> = paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines.join(" ")
    });
    let first = paragraphs.next().unwrap_or_default();
    let told = Diagnostic::error(codes::INVALID_USAGE, first.strip_prefix("error: ").unwrap_or(&first));
    paragraphs.filter(|paragraph| !paragraph.is_empty()).fold(told, |told, paragraph| {
        if let Some(tip) = paragraph.strip_prefix("tip: ") {
            told.help(tip)
        } else if paragraph.starts_with("For more information") {
            told.help("run `bailiwick COMMAND --help` for the options")
        } else {
            told.note(paragraph)
        }
    })
}

/// Words of other tools, and the command that does that here.
const WORDS: [(&str, &[&str]); 8] = [
    ("check", &["ci", "validate", "validation", "verify"]),
    ("render", &["apply", "build", "compile", "generate", "make", "template", "write"]),
    ("diff", &["changes", "compare", "plan"]),
    ("lint", &["analyze", "audit", "scan"]),
    ("init", &["create", "new", "start"]),
    ("explain", &["describe", "doc", "docs", "man-page", "show"]),
    ("can-i", &["auth", "can", "may"]),
    ("migrate", &["convert", "import"]),
];

/// Suggests the command that was meant by a word that is none.
fn suggest_command(error: &mut clap::Error) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let program = <Cli as clap::CommandFactory>::command();
    let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    let meant = WORDS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(command, _)| *command);
    if let Some(name) = meant.or_else(|| nearest(word, names.iter().copied())) {
        let name = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, name);
    } else {
        error.remove(ContextKind::SuggestedSubcommand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_names_each_code_once_and_not_too_many() {
        assert_eq!(more_about(&BTreeSet::new()), "");
        let one = BTreeSet::from([codes::UNKNOWN_FIELD]);
        assert_eq!(more_about(&one), "for more about this error, run `bailiwick explain unknown-field`\n");
        let two = BTreeSet::from([codes::UNKNOWN_FIELD, codes::MISSING_FIELD]);
        let line = "for more about an error, run `bailiwick explain CODE`: missing-field, unknown-field\n";
        assert_eq!(more_about(&two), line);
        let all = more_about(&codes::all().iter().copied().collect());
        assert!(all.ends_with(&format!(" and {} more\n", codes::all().len() - NAMED_CODES)), "{all}");
        assert_eq!(all.matches(", ").count(), NAMED_CODES, "{all}");
    }
}
