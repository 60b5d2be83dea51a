//! Diagnostics and summaries for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::diag::{Diagnostic, Files, Origin, Severity, SourceFile, Span};
use crate::emit::plan::Counts;

/// How many diagnostics are printed in full.
const MAXIMUM_SHOWN: usize = 200;

/// How many lines two places of one file may lie apart to be shown in one excerpt.
const MAXIMUM_EXCERPT: usize = 40;

/// All diagnostics as a text, each with its source lines, and a closing count.
pub fn diagnostics(list: &[Diagnostic], files: &Files) -> String {
    let mut text = String::new();
    let mut order: Vec<&Diagnostic> = list.iter().collect();
    if list.len() > MAXIMUM_SHOWN {
        // No number of warnings hides an error.
        order.sort_by_key(|diagnostic| diagnostic.severity);
    }
    for diagnostic in order.into_iter().take(MAXIMUM_SHOWN) {
        text.push_str(&one(diagnostic, files));
        text.push_str("\n\n");
    }
    if list.len() > MAXIMUM_SHOWN {
        let _ = writeln!(text, "... and {} more\n", list.len() - MAXIMUM_SHOWN);
    }
    text
}

/// The closing line: how many errors and warnings there are.
pub fn tally(list: &[Diagnostic]) -> String {
    let count = |severity| list.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let parts: Vec<String> = [(errors, "error"), (warnings, "warning")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| number(count, noun))
        .collect();
    parts.join(" and ")
}

/// `1 error`, `2 errors`, `1,204 objects`.
pub fn number(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

/// A number with commas.
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What happened to the objects of a target.
pub fn counts(counts: Counts) -> String {
    format!(
        "{} created, {} changed, {} deleted, {} unchanged",
        grouped(counts.created),
        grouped(counts.changed),
        grouped(counts.deleted),
        grouped(counts.unchanged)
    )
}

/// The same by kind, one line each, for the kinds that something happens to.
pub fn counts_by_kind(by_kind: &BTreeMap<String, Counts>) -> String {
    let mut text = String::new();
    for (kind, of_kind) in by_kind.iter().filter(|(_, counts)| counts.is_drift()) {
        let _ = writeln!(
            text,
            "  {kind}: {} created, {} changed, {} deleted",
            grouped(of_kind.created),
            grouped(of_kind.changed),
            grouped(of_kind.deleted)
        );
    }
    text
}

/// One diagnostic with its source lines.
fn one(diagnostic: &Diagnostic, files: &Files) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.id())
        .elements(Vec::<Snippet<'_, annotate_snippets::Annotation<'_>>>::new());
    let excerpts = excerpts(diagnostic, files);
    for excerpt in &excerpts {
        group = group.element(excerpt.snippet());
    }
    let folded = (diagnostic.repeated > 0).then(|| format!("the same {} here", times(diagnostic.repeated)));
    for note in diagnostic.notes.iter().chain(&folded) {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let groups: [Group<'_>; 1] = [group];
    Renderer::styled().decor_style(DecorStyle::Ascii).render(&groups)
}

fn times(count: usize) -> String {
    if count == 1 { "once more".to_owned() } else { format!("{} times more", grouped(count)) }
}

/// A few lines of one file with places in them.
struct Excerpt {
    file: Arc<SourceFile>,
    start: usize,
    end: usize,
    first_line: usize,
    places: Vec<(Span, String, bool)>,
}

impl Excerpt {
    fn snippet(&self) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
        let source = self.file.text().get(self.start..self.end).unwrap_or_default();
        let annotations = self.places.iter().map(|(span, label, primary)| {
            let kind = if *primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let start = (span.start as usize).saturating_sub(self.start).min(source.len());
            let end = (span.end as usize).saturating_sub(self.start).clamp(start, source.len());
            let annotation = kind.span(start..end);
            if label.is_empty() { annotation } else { annotation.label(label.as_str()) }
        });
        Snippet::source(source).path(self.file.path()).line_start(self.first_line).annotations(annotations)
    }
}

/// The lines around every place of a diagnostic; places near each other share an excerpt.
fn excerpts(diagnostic: &Diagnostic, files: &Files) -> Vec<Excerpt> {
    let primary = diagnostic.origin.map(|origin| (origin, diagnostic.label.clone(), true));
    let further = diagnostic.labels.iter().map(|label| (label.origin, label.text.clone(), false));
    let mut excerpts: Vec<(Origin, Excerpt)> = Vec::new();
    for (origin, label, is_primary) in primary.into_iter().chain(further) {
        let file = files.get(origin.file);
        let span = visible(&file, origin.span);
        let excerpt = around(file, span, label.clone(), is_primary);
        let near = excerpts.iter_mut().find(|(known, other)| {
            let last_line = other.first_line + count_lines(other);
            known.file == origin.file
                && excerpt.first_line + MAXIMUM_EXCERPT > other.first_line
                && excerpt.first_line < last_line + MAXIMUM_EXCERPT
        });
        match near {
            Some((_, other)) => {
                if excerpt.start < other.start {
                    (other.start, other.first_line) = (excerpt.start, excerpt.first_line);
                }
                other.end = other.end.max(excerpt.end);
                other.places.extend(excerpt.places);
            }
            None => excerpts.push((origin, excerpt)),
        }
    }
    excerpts.into_iter().map(|(_, excerpt)| excerpt).collect()
}

fn count_lines(excerpt: &Excerpt) -> usize {
    excerpt.file.text().get(excerpt.start..excerpt.end).unwrap_or_default().matches('\n').count()
}

/// A span of several lines is underlined in its first one only: the place counts, not the extent.
fn visible(file: &SourceFile, span: Span) -> Span {
    let text = file.text();
    let start = (span.start as usize).min(text.len());
    let end = (span.end as usize).clamp(start, text.len());
    let first_line = text.get(start..end).and_then(|inside| inside.split('\n').next()).unwrap_or_default();
    Span::new(start, start + first_line.len())
}

fn around(file: Arc<SourceFile>, span: Span, label: String, primary: bool) -> Excerpt {
    let text = file.text();
    let (from, to) = (span.start as usize, span.end as usize);
    let start = text.get(..from).and_then(|head| head.rfind('\n')).map_or(0, |position| position + 1);
    let end = text.get(to..).and_then(|tail| tail.find('\n')).map_or(text.len(), |position| to + position);
    let first_line = file.line_column(span.start).line;
    Excerpt { start, end, first_line, places: vec![(span, label, primary)], file }
}
