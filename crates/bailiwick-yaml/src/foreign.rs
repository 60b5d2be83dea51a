//! Texts with other lines or documents for kubectl than for YAML 1.2, and so with another meaning.
//!
//! The differences were found by comparing readings (`tests/yaml/kubectl-readings.jsonl`). Differences inside a
//! document, such as merge keys and the names of anchors, are handled by [`super::full`].

use super::limits::MAXIMUM_REPORTED;
use crate::diag::codes;
use crate::diag::{Diagnostic, FileId, Origin, Sink, Span};

/// Reports the places of a text at byte `shift` of its file.
pub(super) fn check(text: &str, shift: usize, file: FileId, sink: &mut Sink) {
    let mut report = |start: usize, end: usize, message: String, help: String| {
        let origin = Origin { file, span: Span::new(start + shift, end + shift) };
        sink.push(Diagnostic::error(codes::YAML_SYNTAX, message).at(origin).help(help));
    };
    for position in separators(text).take(MAXIMUM_REPORTED) {
        let message = "kubectl takes this line for the end of a document".to_owned();
        let help = "put the text that begins with `---` in quotes, or a line feed behind the dashes".to_owned();
        report(position, position + 3, message, help);
    }
    // One is enough: such a file has nothing else.
    if let Some(position) = lone_carriage_return(text) {
        let message = "a carriage return without a line feed ends this line".to_owned();
        let help = "save the file with line feeds, with or without carriage returns before them".to_owned();
        report(position, position + 1, message, help);
    }
    if text.is_ascii() {
        return;
    }
    let begins_a_line =
        |position: usize| position == 0 || text.get(..position).is_some_and(|before| before.ends_with('\n'));
    let marks = text.match_indices('\u{feff}').filter(|(position, _)| begins_a_line(*position));
    for (position, found) in marks.take(MAXIMUM_REPORTED) {
        let message = "kubectl takes this byte order mark for the first character of a value".to_owned();
        let help = "remove it; a byte order mark can only be at the start of a file".to_owned();
        report(position, position + found.len(), message, help);
    }
    let ends_of_lines = text.char_indices().filter(|(_, found)| matches!(found, '\u{85}' | '\u{2028}' | '\u{2029}'));
    for (position, found) in ends_of_lines.take(MAXIMUM_REPORTED) {
        let code = u32::from(found);
        let message = format!("the character U+{code:04X} ends a line for kubectl, and for most editors does not");
        let help = format!("leave it out, or write it as `\\u{code:04X}` between double quotes");
        report(position, position + found.len_utf8(), message, help);
    }
}

/// Returns the lines of three dashes with text behind them: kubectl splits the text there, or rejects it, before it
/// reads YAML; in YAML such a line begins with a word.
fn separators(text: &str) -> impl Iterator<Item = usize> {
    let mut next = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = next;
        next += line.len();
        let rest = line.strip_prefix("---")?;
        (!rest.is_empty() && !rest.starts_with([' ', '\t', '\r', '\n'])).then_some(start)
    })
}

/// Returns a line end of YAML that is none for kubectl: kubectl would silently drop a `---` behind it.
fn lone_carriage_return(text: &str) -> Option<usize> {
    let feeds = |position: usize| text.get(position + 1..).is_some_and(|rest| rest.starts_with('\n'));
    text.match_indices('\r').map(|(position, _)| position).find(|&position| !feeds(position))
}
