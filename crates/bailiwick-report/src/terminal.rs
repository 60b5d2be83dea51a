//! Standard output and standard error: the one place that prints.
//!
//! INVARIANT: nothing that this module prints moves a cursor, hides or reorders text, or is a workflow command of GitHub
//! Actions, whatever a caller passes. Exceptions: colours of the program itself, the cleared screen of `--watch`, the commands of
//! `--diagnostics github`, and manifests, which other programs read and which the YAML writer has made.

#![expect(clippy::disallowed_methods, reason = "the one place that prints")]

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use anstream::AutoStream;
use anstream::adapter::strip_str;
use bailiwick_yaml::diag::{RunError, foreign};
use serde::Serialize;

use super::json;
use super::page::Page;
use super::progress::ProgressLine;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Escape codes in every output, also in files and pipes.
    Always,
    /// No escape codes, also on a terminal.
    Never,
}

impl ColorChoice {
    fn stream(self) -> anstream::ColorChoice {
        match self {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
    }

    /// Returns a coloured text as a pipe gets it.
    fn kept(self, text: &str) -> String {
        match self {
            ColorChoice::Always => text.to_owned(),
            ColorChoice::Auto | ColorChoice::Never => strip_str(text).to_string(),
        }
    }
}

/// The texts of a run that prints nothing itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptTexts {
    /// The text for standard output.
    pub stdout: String,
    /// The text for standard error.
    pub stderr: String,
}

/// The place of the texts of a run.
#[derive(Debug, Clone, Default)]
pub enum Streams {
    /// Standard output and standard error.
    #[default]
    Standard,
    /// In memory, for the caller of the run.
    Kept(Arc<Mutex<KeptTexts>>),
}

impl Streams {
    /// Returns an empty place in memory.
    pub fn kept() -> Self {
        Self::Kept(Arc::default())
    }

    /// Returns the texts in memory, and leaves none.
    pub fn take(&self) -> KeptTexts {
        match self {
            Self::Standard => KeptTexts::default(),
            Self::Kept(kept) => std::mem::take(&mut *locked(kept)),
        }
    }

    /// Writes a text for standard output.
    fn write_output(&self, text: &str) {
        match self {
            Self::Standard => write_output(io::stdout().lock(), text),
            Self::Kept(kept) => locked(kept).stdout.push_str(text),
        }
    }

    /// Writes a text for standard error.
    fn write_error(&self, text: &str) {
        match self {
            Self::Standard => write(io::stderr().lock(), text),
            Self::Kept(kept) => locked(kept).stderr.push_str(text),
        }
    }
}

fn locked(kept: &Mutex<KeptTexts>) -> MutexGuard<'_, KeptTexts> {
    match kept.lock() {
        Ok(texts) => texts,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// The streams of results and messages.
#[derive(Debug, Clone)]
pub struct Terminal {
    streams: Streams,
    color: ColorChoice,
    quiet: bool,
    has_results: bool,
}

impl Terminal {
    /// Returns a terminal; a quiet one swallows what is not a result or a problem.
    pub fn new(color: ColorChoice, quiet: bool) -> Self {
        Self { streams: Streams::Standard, color, quiet, has_results: true }
    }

    /// Returns the terminal with another place for its texts.
    #[must_use]
    pub fn with_streams(self, streams: &Streams) -> Self {
        Self { streams: streams.clone(), ..self }
    }

    /// Returns the terminal without its results, which a report has instead.
    #[must_use]
    pub fn without_results(self) -> Self {
        Self { has_results: false, ..self }
    }

    /// Prints a result.
    pub fn result(&self, text: &str) {
        if !self.has_results {
            return;
        }
        self.streams.write_output(&foreign::lines(text));
    }

    /// Prints manifests, byte for byte.
    pub fn manifests(&self, text: &str) {
        self.streams.write_output(text);
    }

    /// Writes bytes for the next program of a pipe, without a change.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub fn pipe(&self, bytes: &[u8]) -> io::Result<()> {
        let mut output = io::stdout().lock();
        output.write_all(bytes).and_then(|()| output.flush())
    }

    /// Prints workflow commands of GitHub Actions, one a line.
    pub fn workflow_commands(&self, commands: &str) {
        let shown: String = commands.lines().map(|command| format!("{}\n", foreign::line(command))).collect();
        self.streams.write_output(&shown);
    }

    /// Prints a problem.
    pub fn problem(&self, text: &str) {
        self.streams.write_error(&foreign::lines(text));
    }

    /// Prints an error without a place, and what to do.
    pub fn failure(&self, error: &RunError) {
        let mut page = Page::new();
        writeln!(page, "error: {}", error.message);
        if let Some(help) = &error.help {
            writeln!(page, "help: {help}");
        }
        self.problem(&page.finish());
    }

    /// Prints a text with colours of this program, such as diagnostics.
    pub fn coloured_problem(&self, text: &str) {
        let text = foreign::coloured_lines(text);
        match &self.streams {
            Streams::Standard => write(AutoStream::new(io::stderr(), self.color.stream()), &text),
            Streams::Kept(_) => self.streams.write_error(&self.color.kept(&text)),
        }
    }

    /// Prints what is good to know.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.problem(text);
        }
    }

    /// Prints help or the version.
    pub fn help(&self, text: &str) {
        let text = foreign::coloured_lines(text);
        match &self.streams {
            Streams::Standard => write_output(AutoStream::new(io::stdout(), self.color.stream()), &text),
            Streams::Kept(_) => self.streams.write_output(&self.color.kept(&text)),
        }
    }

    /// Returns why standard output is not complete, such as a full disk; none if it is complete, or its reader went away.
    pub fn output_failure() -> Option<RunError> {
        let error = RunError::new(format!("standard output is not complete: {}", OUTPUT_FAILURE.get()?));
        Some(error.help("do not use the printed text; run the same command again when standard output can be written"))
    }

    /// Answers that are printed while questions are read.
    pub fn answers(&self) -> Answers {
        Answers { output: BufWriter::with_capacity(1 << 16, io::stdout().lock()) }
    }

    /// Returns a line of progress with a heading, out of sight until it is drawn.
    pub fn progress(&self, heading: &str, total: usize) -> ProgressLine {
        ProgressLine::new(&foreign::line(heading), total)
    }

    /// Clears the screen and moves to its first line, if both streams are a terminal.
    pub fn clear(&self) {
        if io::stdout().is_terminal() && io::stderr().is_terminal() {
            write(io::stdout().lock(), CLEAR);
        }
    }

    /// Returns whether standard error is a terminal and progress is wanted.
    pub fn is_watched(&self) -> bool {
        !self.quiet && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }
}

/// Clears the screen of a terminal with its history, and moves to the first line.
const CLEAR: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

/// Lines of JSON on standard output.
#[derive(Debug)]
pub struct Answers {
    output: BufWriter<StdoutLock<'static>>,
}

impl Answers {
    /// Writes an answer as a line.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub fn write(&mut self, answer: &impl Serialize) -> io::Result<()> {
        self.output.write_all(json::line(answer).as_bytes())
    }

    /// Flushes the written results.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// The first failure to write to standard output.
static OUTPUT_FAILURE: OnceLock<String> = OnceLock::new();

/// Writes a text to standard output, and notes a failure. A reader may go away when it has read enough.
fn write_output(mut stream: impl Write, text: &str) {
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => _ = OUTPUT_FAILURE.get_or_init(|| error.to_string()),
        _ => {}
    }
}

/// Writes a text to standard error. Nothing could report a failure.
fn write(mut stream: impl Write, text: &str) {
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}
