//! Diagnostics and summaries for people.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use bailiwick_compiler::emit::plan::Counts;
pub use bailiwick_workspace::words::{first_names, grouped, more_alike, number};
use bailiwick_yaml::diag::{
    Code, Diagnostic, Files, LineColumn, Origin, Severity, SourceFile, Span, boundary_before, foreign,
};

use super::page::Page;

/// How many diagnostics are shown one by one, to people and as workflow commands.
const MAXIMUM_SHOWN: usize = 200;

/// How many further places, notes and helps of a diagnostic are shown.
const MAXIMUM_DETAILS: usize = 20;

/// How many targets of a diagnostic are named.
const MAXIMUM_TARGETS: usize = 10;

/// How many lines two places of one file may lie apart to be shown in one excerpt, and how many bytes.
const MAXIMUM_EXCERPT: (usize, usize) = (40, 1 << 14);

/// How many columns of a line an excerpt has, and how many of them lie behind the beginning of the place, if there are so many.
const MAXIMUM_COLUMNS: (usize, usize) = (200, 60);

/// The width of the line numbers and of the frame.
const FRAME: usize = 40;

/// The diagnostics that are shown, and how many are not. Errors come before warnings where not all are.
pub(super) struct Shown<'d> {
    pub(super) diagnostics: Vec<&'d Diagnostic>,
    pub(super) more: usize,
}

impl<'d> Shown<'d> {
    pub(super) fn new(list: &'d [Diagnostic]) -> Self {
        let mut diagnostics: Vec<&Diagnostic> = list.iter().collect();
        let more = list.len().saturating_sub(MAXIMUM_SHOWN);
        if more > 0 {
            diagnostics.sort_by_key(|diagnostic| diagnostic.severity);
            diagnostics.truncate(MAXIMUM_SHOWN);
        }
        Self { diagnostics, more }
    }
}

/// Returns the diagnostics as a text with colours, each with its source lines: the first 200, and how many more there are.
pub fn diagnostics(list: &[Diagnostic], files: &Files) -> String {
    let mut text = String::new();
    let shown = Shown::new(list);
    let mut said: HashSet<(Code, &str)> = HashSet::new();
    for diagnostic in shown.diagnostics {
        // The remedy of a rule is printed once: it is long, and a rule has many findings.
        let is_shown = diagnostic.risk.is_none();
        let help = diagnostic.help.iter().map(String::as_str);
        let help: Vec<&str> = help.filter(|help| said.insert((diagnostic.code, *help)) || is_shown).collect();
        text.push_str(&one(diagnostic, &help, files));
        text.push_str("\n\n");
    }
    if shown.more > 0 {
        let _ = writeln!(text, "... and {} more\n", grouped(shown.more));
    }
    text
}

/// Returns the notes, one line each. Further lines have the details of the notes of a code, if they are wanted.
pub fn notes(list: &[Diagnostic], with_details: &dyn Fn(Code) -> bool) -> String {
    let mut text = Page::new();
    for note in list {
        let with_details = with_details(note.code);
        let help = note.help.iter().map(|help| format!("; {help}"));
        let help = help.filter(|_| !with_details).collect::<String>();
        writeln!(text, "note[{}]: {}{help}", note.code.id(), note.message);
        for detail in note.notes.iter().filter(|_| with_details) {
            writeln!(text, "  {detail}");
        }
    }
    text.finish()
}

/// Returns the closing line: how many errors and warnings there are.
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

/// Returns the numbers of objects of a target by their difference.
pub fn counts(counts: Counts) -> String {
    format!(
        "{} created, {} changed, {} deleted, {} unchanged",
        grouped(counts.created),
        grouped(counts.changed),
        grouped(counts.deleted),
        grouped(counts.unchanged)
    )
}

/// Returns the same by kind, one line each, for the kinds that something happens to.
pub fn counts_by_kind(by_kind: &BTreeMap<String, Counts>) -> String {
    let mut text = Page::new();
    for (kind, of_kind) in by_kind.iter().filter(|(_, counts)| counts.is_drift()) {
        writeln!(
            text,
            "  {kind}: {} created, {} changed, {} deleted",
            grouped(of_kind.created),
            grouped(of_kind.changed),
            grouped(of_kind.deleted)
        );
    }
    text.finish()
}

/// Returns one diagnostic with its source lines.
fn one(diagnostic: &Diagnostic, help: &[&str], files: &Files) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.id())
        .elements(Vec::<Snippet<'_, annotate_snippets::Annotation<'_>>>::new());
    let sources: Vec<Source> = excerpts(diagnostic, files).iter().map(Excerpt::source).collect();
    let marks: Vec<String> = (0..sources.len()).map(|number| format!("{MARK}{number}{MARK}")).collect();
    for (source, mark) in sources.iter().zip(&marks) {
        group = group.element(source.snippet(mark));
    }
    let folded = (diagnostic.repeated > 0).then(|| format!("the same {} here", times(diagnostic.repeated)));
    let notes = diagnostic.notes.len().saturating_sub(MAXIMUM_DETAILS);
    let left_out = (notes > 0).then(|| format!("and {}", number(notes, "more note")));
    let targets = on_targets(&diagnostic.targets);
    for note in diagnostic.notes.iter().take(MAXIMUM_DETAILS).chain(&left_out).chain(&folded).chain(&targets) {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for help in help.iter().take(MAXIMUM_DETAILS) {
        group = group.element(Level::HELP.message(*help));
    }
    let groups: [Group<'_>; 1] = [group];
    let renderer = Renderer::styled().decor_style(DecorStyle::Ascii).term_width(MAXIMUM_COLUMNS.0 + FRAME);
    let mut text = renderer.render(&groups);
    for (source, mark) in sources.iter().zip(&marks) {
        source.put_position(mark, &mut text);
    }
    text
}

/// Returns the targets that a diagnostic is about, in words; none where it is about no target in particular.
fn on_targets(targets: &[String]) -> Option<String> {
    let named: Vec<String> = targets.iter().take(MAXIMUM_TARGETS).map(|target| format!("`{target}`")).collect();
    let more = match targets.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {}", number(more, "more target")),
    };
    (!named.is_empty()).then(|| format!("on {}{more}", named.join(", ")))
}

fn times(count: usize) -> String {
    if count == 1 { "once more".to_owned() } else { format!("{} times more", grouped(count)) }
}

/// A place with the words beside it, and whether it is the first of its diagnostic.
struct Place {
    start: usize,
    end: usize,
    label: String,
    primary: bool,
}

/// A few lines of one file with places in them, or a part of a long line.
struct Excerpt {
    file: Arc<SourceFile>,
    start: usize,
    end: usize,
    first_line: usize,
    is_cut_before: bool,
    is_cut_after: bool,
    places: Vec<Place>,
}

/// The placeholder of a position until the rest is rendered. No shown text contains it.
const MARK: char = '\u{fffe}';

/// An excerpt as it is shown: the offsets of the places are those in the shown text.
struct Source {
    /// The path, the line and the column of the place that counts, in the file.
    position: String,
    text: String,
    first_line: usize,
    places: Vec<Place>,
}

impl Source {
    /// Returns the excerpt for the renderer, with a mark in the place of the path.
    fn snippet<'s>(&'s self, mark: &'s str) -> Snippet<'s, annotate_snippets::Annotation<'s>> {
        let annotations = self.places.iter().map(|place| {
            let kind = if place.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let annotation = kind.span(place.start..place.end);
            if place.label.is_empty() { annotation } else { annotation.label(place.label.as_str()) }
        });
        Snippet::source(self.text.as_str()).path(mark).line_start(self.first_line).annotations(annotations)
    }
}

impl Source {
    /// Puts the position into a rendered text: the renderer has escapes and parts of lines, and counts other columns.
    fn put_position(&self, mark: &str, text: &mut String) {
        if let Some(start) = text.find(mark) {
            let from = start + mark.len();
            let counted = text.get(from..).unwrap_or_default();
            let length =
                counted.find(|letter: char| letter != ':' && !letter.is_ascii_digit()).unwrap_or(counted.len());
            text.replace_range(start..from + length, &self.position);
        }
    }
}

impl Excerpt {
    /// Returns the text between the first and the last line's end.
    fn text(&self) -> &str {
        self.file.text().get(self.start..self.end).unwrap_or_default()
    }

    fn last_line(&self) -> usize {
        self.first_line + self.text().matches('\n').count()
    }

    fn is_cut(&self) -> bool {
        self.is_cut_before || self.is_cut_after
    }

    /// Returns whether two places are to be shown in one excerpt.
    fn is_near(&self, other: &Excerpt) -> bool {
        let (lines, bytes) = MAXIMUM_EXCERPT;
        let both = self.end.max(other.end).saturating_sub(self.start.min(other.start));
        !self.is_cut()
            && !other.is_cut()
            && both <= bytes
            && other.first_line + lines > self.first_line
            && other.first_line < self.last_line() + lines
    }

    fn merge(&mut self, other: Excerpt) {
        if other.start < self.start {
            (self.start, self.first_line) = (other.start, other.first_line);
        }
        self.end = self.end.max(other.end);
        self.places.extend(other.places);
    }

    /// Makes the text fit to be shown, and moves the places along.
    fn source(&self) -> Source {
        let mut shown = String::new();
        let mut places: Vec<Place> = self
            .places
            .iter()
            .map(|place| Place {
                start: usize::MAX,
                end: usize::MAX,
                label: place.label.clone(),
                primary: place.primary,
            })
            .collect();
        let mark = |offset: usize, at: usize, places: &mut Vec<Place>| {
            for (place, marked) in self.places.iter().zip(places) {
                if place.start <= offset {
                    marked.start = marked.start.min(at);
                }
                if place.end <= offset {
                    marked.end = marked.end.min(at);
                }
            }
        };
        if self.is_cut_before {
            shown.push_str("...");
        }
        let text = self.text();
        let mut columns = 0;
        for (offset, letter) in text.char_indices() {
            mark(self.start + offset, shown.len(), &mut places);
            if letter == '\n' {
                shown.push('\n');
                columns = 0;
                continue;
            }
            let is_line_end =
                letter == '\r' && text.get(offset + 1..).is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'));
            if is_line_end || columns > MAXIMUM_COLUMNS.0 {
                continue;
            }
            columns += width(text, offset, letter);
            match foreign::escaped(text, offset, letter).filter(|_| letter != '\t') {
                // A line without a place in it may be longer than what is shown of those with one.
                _ if columns > MAXIMUM_COLUMNS.0 => shown.push_str("..."),
                Some(escape) => shown.push_str(&escape),
                None => shown.push(letter),
            }
        }
        mark(self.end, shown.len(), &mut places);
        if self.is_cut_after {
            shown.push_str("...");
        }
        for place in &mut places {
            place.start = place.start.min(shown.len());
            place.end = place.end.clamp(place.start, shown.len());
        }
        Source { position: self.position(), text: shown, first_line: self.first_line, places }
    }

    /// Returns the path, line and column of the primary place, or of the first place.
    fn position(&self) -> String {
        let primary = self.places.iter().find(|place| place.primary);
        let place = primary.or_else(|| self.places.iter().min_by_key(|place| place.start));
        let LineColumn { line, column } = self.file.line_column(place.map_or(0, |place| place.start as u32));
        format!("{}:{line}:{column}", foreign::line(self.file.path()))
    }
}

/// Returns the number of columns a character of an excerpt takes, about.
fn width(text: &str, offset: usize, letter: char) -> usize {
    match letter {
        '\t' => 4,
        _ => foreign::escaped(text, offset, letter).map_or(1, |escape| escape.len()),
    }
}

/// Returns the lines around every place of a diagnostic; places near each other share an excerpt.
fn excerpts(diagnostic: &Diagnostic, files: &Files) -> Vec<Excerpt> {
    let primary = diagnostic.origin.map(|origin| (origin, diagnostic.label.clone(), true));
    let further = diagnostic.labels.iter().map(|label| (label.origin, label.text.clone(), false));
    let mut excerpts: Vec<(Origin, Excerpt)> = Vec::new();
    for (origin, label, is_primary) in primary.into_iter().chain(further.take(MAXIMUM_DETAILS)) {
        let excerpt = around(files.get(origin.file), origin.span, label, is_primary);
        let near = excerpts.iter_mut().find(|(known, other)| known.file == origin.file && excerpt.is_near(other));
        match near {
            Some((_, other)) => other.merge(excerpt),
            None => excerpts.push((origin, excerpt)),
        }
    }
    excerpts.into_iter().map(|(_, excerpt)| excerpt).collect()
}

/// Returns the line of a place, or of a long one the part around it. A place of several lines is underlined in its first one only:
/// the place counts, not the extent.
fn around(file: Arc<SourceFile>, span: Span, label: String, primary: bool) -> Excerpt {
    let (most, least_after) = MAXIMUM_COLUMNS;
    let text = file.text();
    let from = boundary_before(text, span.start as usize);
    let (head, tail) = text.split_at_checked(from).unwrap_or((text, ""));
    let before = reach(head.char_indices().rev(), text, most);
    let after = reach(tail.char_indices().map(|(offset, letter)| (from + offset, letter)), text, most);
    let is_whole = before.is_whole && after.is_whole && before.columns + after.columns <= most;
    let (before, after) = if is_whole {
        (before, after)
    } else {
        let before = reach(head.char_indices().rev(), text, most - after.columns.min(least_after));
        let left = most.saturating_sub(before.columns);
        (before, reach(tail.char_indices().map(|(offset, letter)| (from + offset, letter)), text, left))
    };
    let start = before.last.map_or(from, |(first, _)| first);
    let end = after.last.map_or(from, |(last, letter)| last + letter.len_utf8());
    let first_line = file.line_column(span.start).line;
    let place = Place { start: from, end: (span.end as usize).clamp(from, end), label, primary };
    let (is_cut_before, is_cut_after) = (!before.is_whole, !after.is_whole);
    Excerpt { start, end, first_line, is_cut_before, is_cut_after, places: vec![place], file }
}

/// How far a line goes in one direction.
struct Reach {
    /// The last character that has room, with its offset.
    last: Option<(usize, char)>,
    columns: usize,
    /// True when the line ends there.
    is_whole: bool,
}

fn reach(letters: impl Iterator<Item = (usize, char)>, text: &str, room: usize) -> Reach {
    let mut reach = Reach { last: None, columns: 0, is_whole: true };
    for (offset, letter) in letters {
        if letter == '\n' {
            break;
        }
        let columns = reach.columns + width(text, offset, letter);
        if columns > room {
            reach.is_whole = false;
            break;
        }
        (reach.last, reach.columns) = (Some((offset, letter)), columns);
    }
    reach
}
