//! `bailiwick ask`.

use std::io::{self, BufRead, BufReader, Read};

use clap::Args;

use super::{Global, Outcome};
use crate::app::Error;
use crate::ask::{AskError, Connection};
use crate::diag::RunError;
use crate::yaml::limits::LONGEST_QUESTION;

/// Options of `ask`.
#[derive(Debug, Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(global: &Global, _: &Arguments) -> Result<Outcome, Error> {
    let mut connection = Connection::default();
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin());
    let mut output = global.terminal().answers();
    let mut outcome = Outcome::Fine;
    let mut bytes = Vec::new();
    loop {
        // A client may wait for an answer before it sends the next question.
        if input.buffer().is_empty() {
            output.flush().map_err(cannot_write)?;
        }
        let line = match read_line(&mut input, &mut bytes).map_err(cannot_read)? {
            Line::End => break,
            // Bytes that are not UTF-8 are not JSON, and get the answer for invalid JSON.
            Line::Whole => Ok(String::from_utf8_lossy(&bytes)),
            Line::TooLong => Err(AskError::TooLong(LONGEST_QUESTION)),
        };
        if line.as_ref().is_ok_and(|line| line.trim().is_empty()) {
            continue;
        }
        let question = line.and_then(|line| Ok(serde_json::from_str(&line)?));
        let answer = question.and_then(|question| connection.answer(&question)).unwrap_or_else(|problem| {
            outcome = Outcome::Invalid;
            serde_json::json!({ "error": problem.to_string() })
        });
        output.write(&answer).map_err(cannot_write)?;
    }
    output.flush().map_err(cannot_write)?;
    Ok(outcome)
}

/// A line of standard input.
enum Line {
    /// Nothing: there are no more lines.
    End,
    /// A line, with its line feed if it has one.
    Whole,
    /// A line that is too long; none of it is kept.
    TooLong,
}

/// Reads a line into `bytes`. Of a line that is too long, the rest is passed over.
fn read_line(input: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Line> {
    bytes.clear();
    let length = input.by_ref().take(LONGEST_QUESTION as u64 + 1).read_until(b'\n', bytes)?;
    if length == 0 {
        return Ok(Line::End);
    }
    if length <= LONGEST_QUESTION || bytes.ends_with(b"\n") {
        return Ok(Line::Whole);
    }
    // The memory goes back: one long line is no reason to keep room for another.
    *bytes = Vec::new();
    input.skip_until(b'\n')?;
    Ok(Line::TooLong)
}

fn cannot_read(error: io::Error) -> RunError {
    RunError::new(format!("cannot read standard input: {error}"))
}

fn cannot_write(error: io::Error) -> RunError {
    RunError::new(format!("cannot write to standard output: {error}"))
}
