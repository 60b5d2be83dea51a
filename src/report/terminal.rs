//! Standard output and standard error: the one place that prints.
//!
//! INVARIANT: nothing that this module prints moves a cursor, hides or reorders text, or is a workflow command of GitHub
//! Actions, whatever a caller passes. Exceptions: colours of the program itself, the cleared screen of `--watch`, the commands of
//! `--diagnostics github`, and manifests, which other programs read and which the YAML writer has made.

#![expect(clippy::disallowed_methods, reason = "the one place that prints")]

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::time::Duration;

use anstream::AutoStream;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde::Serialize;

use super::json;
use super::page::Page;
use crate::diag::{RunError, foreign};

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
}

/// The streams of results and messages.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    color: ColorChoice,
    quiet: bool,
    has_results: bool,
}

impl Terminal {
    /// Returns a terminal; a quiet one swallows what is not a result or a problem.
    pub fn new(color: ColorChoice, quiet: bool) -> Self {
        Self { color, quiet, has_results: true }
    }

    /// Returns the terminal without its results, which a report has instead.
    #[must_use]
    pub fn without_results(self) -> Self {
        Self { has_results: false, ..self }
    }

    /// Prints a result.
    pub fn result(self, text: &str) {
        if !self.has_results {
            return;
        }
        write(io::stdout().lock(), &foreign::lines(text));
    }

    /// Prints manifests, byte for byte.
    pub fn manifests(self, text: &str) {
        write(io::stdout().lock(), text);
    }

    /// Writes bytes for the next program of a pipe, without a change.
    ///
    /// # Errors
    /// Standard output cannot be written to.
    pub fn pipe(self, bytes: &[u8]) -> io::Result<()> {
        let mut output = io::stdout().lock();
        output.write_all(bytes).and_then(|()| output.flush())
    }

    /// Prints workflow commands of GitHub Actions, one a line.
    pub fn workflow_commands(self, commands: &str) {
        let shown: String = commands.lines().map(|command| format!("{}\n", foreign::line(command))).collect();
        write(io::stdout().lock(), &shown);
    }

    /// Prints a problem.
    pub fn problem(self, text: &str) {
        write(io::stderr().lock(), &foreign::lines(text));
    }

    /// Prints an error without a place, and what to do.
    pub fn failure(self, error: &RunError) {
        let mut page = Page::new();
        writeln!(page, "error: {}", error.message);
        if let Some(help) = &error.help {
            writeln!(page, "help: {help}");
        }
        self.problem(&page.finish());
    }

    /// Prints a text with colours of this program, such as diagnostics.
    pub fn coloured_problem(self, text: &str) {
        write(AutoStream::new(io::stderr(), self.color.stream()), &foreign::coloured_lines(text));
    }

    /// Prints what is good to know.
    pub fn note(self, text: &str) {
        if !self.quiet {
            self.problem(text);
        }
    }

    /// Prints help or the version.
    pub fn help(self, text: &str) {
        write(AutoStream::new(io::stdout(), self.color.stream()), &foreign::coloured_lines(text));
    }

    /// Answers that are printed while questions are read.
    pub fn answers(self) -> Answers {
        Answers { output: BufWriter::with_capacity(1 << 16, io::stdout().lock()) }
    }

    /// Returns a progress bar with a heading, out of sight until it is drawn.
    pub fn progress(self, heading: &str, total: usize) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
        let heading = foreign::line(heading).into_owned();
        if let Ok(style) = ProgressStyle::with_template("{line}") {
            bar.set_style(style.with_key("line", move |state: &ProgressState, line: &mut dyn fmt::Write| {
                let progress = Progress {
                    done: state.pos(),
                    total: state.len().unwrap_or_default(),
                    per_second: state.per_sec(),
                    left: state.eta(),
                };
                let _ = line.write_str(&progress_line(&heading, &progress));
            }));
        }
        bar
    }

    /// Clears the screen and moves to its first line, if both streams are a terminal.
    pub fn clear(self) {
        if io::stdout().is_terminal() && io::stderr().is_terminal() {
            write(io::stdout().lock(), CLEAR);
        }
    }

    /// Returns whether standard error is a terminal and progress is wanted.
    pub fn is_watched(self) -> bool {
        !self.quiet && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }
}

/// Clears the screen of a terminal with its history, and moves to the first line.
const CLEAR: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

/// The most columns of a line of progress.
const COLUMNS: usize = 60;

/// The progress of a run.
struct Progress {
    /// The number of finished namespaces.
    done: u64,
    /// The number of all namespaces.
    total: u64,
    per_second: f64,
    left: Duration,
}

/// Returns a line of progress with the numbers of finished and of all namespaces, without fractions. The bar takes the columns
/// that are left.
fn progress_line(heading: &str, progress: &Progress) -> String {
    let Progress { done, total, per_second, left } = *progress;
    // A run that has just begun may seem to take years.
    let per_second = HumanCount(per_second.clamp(0.0, 9_999_999.0).round() as u64);
    let left = left.min(Duration::from_secs(99 * 3600));
    let numbers = format!("{}/{}, {per_second}/s, {:#} left", HumanCount(done), HumanCount(total), HumanDuration(left));
    let room = COLUMNS.saturating_sub(numbers.len() + 2);
    let heading: String = heading.chars().take(room / 2).collect();
    let width = room.saturating_sub(heading.chars().count()).min(24);
    let filled = (done.min(total) as usize * width).checked_div(total as usize).unwrap_or_default();
    format!("{heading} {}{} {numbers}", "#".repeat(filled), "-".repeat(width - filled))
}

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

/// Writes a text. A reader that went away is not our problem.
fn write(mut stream: impl Write, text: &str) {
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_is_short_and_has_whole_numbers() {
        let line = |heading, done, per_second, seconds| {
            let left = Duration::from_secs(seconds);
            progress_line(heading, &Progress { done, total: 1_000_000, per_second, left })
        };
        assert_eq!(
            line("production", 250_000, 1234.5678, 607),
            "production ###--------- 250,000/1,000,000, 1,235/s, 10m left"
        );
        for heading in ["t", "production", &"long".repeat(20)] {
            for (done, per_second, seconds) in
                [(0, 0.0, 0), (1, 0.3, 86_400 * 400), (999_999, 123_456.7, 1), (1_000_000, 9e15, u64::MAX)]
            {
                let line = line(heading, done, per_second, seconds);
                assert!(line.chars().count() <= COLUMNS, "{line}");
                assert!(!line.contains('.'), "{line}");
            }
        }
    }
}
