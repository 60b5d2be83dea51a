//! `bailiwick ask`.

use std::io::{BufRead, BufReader, BufWriter, Write};

use clap::Args;
use serde_json::Value;

use super::{Global, Outcome};
use crate::access::Builder;
use crate::access::ask::Asker;
use crate::admission;
use crate::crossplane;
use crate::diag::RunError;
use crate::k8s::catalogue::LAST_MINOR;
use crate::node;

/// Options of `ask`.
#[derive(Debug, Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Global, _: &Arguments) -> Result<Outcome, RunError> {
    let mut asker = Asker::new(Builder::new(LAST_MINOR).build(), false);
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin());
    let mut output = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut outcome = Outcome::Fine;
    let mut bytes = Vec::new();
    loop {
        // Whoever waits for an answer before the next question gets it.
        if input.buffer().is_empty() {
            output.flush().map_err(cannot_write)?;
        }
        bytes.clear();
        let length = input
            .read_until(b'\n', &mut bytes)
            .map_err(|error| RunError::new(format!("cannot read standard input: {error}")))?;
        if length == 0 {
            break;
        }
        // What is not UTF-8 is no JSON either, and is answered as such.
        let line = String::from_utf8_lossy(&bytes);
        if line.trim().is_empty() {
            continue;
        }
        let question = serde_json::from_str(&line).map_err(|error| format!("not JSON: {error}"));
        let answer = question.and_then(|question| answer(&mut asker, &question)).unwrap_or_else(|problem| {
            outcome = Outcome::Invalid;
            serde_json::json!({ "error": problem })
        });
        writeln!(output, "{answer}").map_err(cannot_write)?;
    }
    output.flush().map_err(cannot_write)?;
    Ok(outcome)
}

/// Answers a question that needs no world, or asks the asker.
fn answer(asker: &mut Asker, question: &Value) -> Result<Value, String> {
    let entry = question.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
    let alone = entry.and_then(|(kind, body)| {
        let elsewhere = || crossplane::ask::answer(kind, body).or_else(|| node::ask::answer(kind, body));
        admission::ask::answer(kind, body).or_else(elsewhere)
    });
    alone.unwrap_or_else(|| asker.answer(question))
}

fn cannot_write(error: std::io::Error) -> RunError {
    RunError::new(format!("cannot write to standard output: {error}"))
}
