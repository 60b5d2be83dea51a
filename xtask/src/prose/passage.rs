//! Passages: the paragraphs, headings, list items and cells of a text, and their sentences.

use std::ops::RangeInclusive;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::lexer::{self, Kind, Piece};
use crate::repository::File;
use crate::tests_of;

/// The kind of text that a passage is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// A Markdown file.
    Markdown,
    /// A doc comment, the help of an option included.
    Doc,
    /// Another comment.
    Comment,
    /// A string literal of the program: a diagnostic, a note, a help text.
    Text,
}

/// A paragraph, heading, list item or cell.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) origin: Origin,
    pub(crate) is_heading: bool,
    /// The text as it is printed in findings.
    pub(crate) shown: String,
    /// The same text with every byte of code and of addresses replaced by `x`: what the rules for words look at.
    pub(crate) masked: String,
    /// The places in the text where a line of the file begins.
    starts: Vec<Start>,
}

#[derive(Debug)]
struct Start {
    offset: usize,
    line: usize,
}

/// A sentence of a passage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sentence<'p> {
    pub(crate) line: usize,
    pub(crate) shown: &'p str,
    pub(crate) masked: &'p str,
}

impl Passage {
    /// Returns the line of the file at an offset of the text.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        let before = self.starts.iter().rev().find(|start| start.offset <= offset);
        before.or(self.starts.first()).map_or(1, |start| start.line)
    }

    /// Splits the passage at the stops that end a sentence.
    pub(crate) fn sentences(&self) -> Vec<Sentence<'_>> {
        let mut sentences = Vec::new();
        let mut begin = 0;
        for (at, letter) in self.masked.char_indices() {
            if matches!(letter, '.' | '?' | '!') && self.ends_sentence(at) {
                self.add_sentence(begin, at + 1, &mut sentences);
                begin = at + 1;
            }
        }
        self.add_sentence(begin, self.masked.len(), &mut sentences);
        sentences
    }

    fn add_sentence<'p>(&'p self, begin: usize, end: usize, sentences: &mut Vec<Sentence<'p>>) {
        let all = self.masked.get(begin..end).unwrap_or_default();
        let marks = |letter: char| letter.is_whitespace() || "()\"'*_".contains(letter);
        let begin = begin + (all.len() - all.trim_start_matches(marks).len());
        let (Some(masked), Some(shown)) = (self.masked.get(begin..end), self.shown.get(begin..end)) else { return };
        if masked.chars().any(char::is_alphabetic) {
            sentences.push(Sentence { line: self.line_at(begin), shown: shown.trim(), masked: masked.trim() });
        }
    }

    /// Whether the stop at an offset ends a sentence.
    fn ends_sentence(&self, at: usize) -> bool {
        let before = self.masked.get(..at).unwrap_or_default();
        let after = self.masked.get(at + 1..).unwrap_or_default().trim_start_matches([')', '"', '\'', '*', '_', '`']);
        if !after.is_empty() && !after.starts_with(char::is_whitespace) {
            return false;
        }
        let word = before.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or_default();
        let is_short = matches!(word.to_ascii_lowercase().as_str(), "e.g" | "i.e" | "etc" | "vs" | "cf" | "no");
        let next = after.trim_start().chars().next();
        let goes_on = next.is_some_and(char::is_lowercase);
        !(goes_on || is_short && next.is_some())
    }
}

/// Finds the passages of a Markdown or Rust file.
pub(crate) fn passages(file: &File, syntax: Option<&syn::File>) -> Vec<Passage> {
    let mut passages = Vec::new();
    if file.is_markdown() {
        markdown(Origin::Markdown, &file.text, &|line| line, &mut passages);
    } else if file.is_rust() {
        let tests = syntax.map(tests_of::lines).unwrap_or_default();
        rust(file, &tests, &mut passages);
    }
    passages
}

/// Finds the passages of a Rust file; texts in the lines of tests are no texts of the program.
fn rust(file: &File, tests: &[RangeInclusive<usize>], passages: &mut Vec<Passage>) {
    let pieces = lexer::pieces(&file.text);
    let mut pieces = pieces.iter().peekable();
    while let Some(piece) = pieces.next() {
        if piece.kind == Kind::Literal {
            let is_test = !file.is_product() || tests.iter().any(|range| range.contains(&piece.line));
            if !is_test && is_prose(&piece.text) {
                markdown(Origin::Text, &without_placeholders(&piece.text), &|_| piece.line, passages);
            }
            continue;
        }
        // Comments of one kind in consecutive lines are one text.
        let mut block = vec![piece];
        let mut last = piece;
        while let Some(next) = pieces.next_if(|next| piece.begins_line && goes_on(last, next)) {
            block.push(next);
            last = next;
        }
        let text = block.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join("\n");
        let origin = if piece.kind == Kind::Doc { Origin::Doc } else { Origin::Comment };
        markdown(origin, &text, &|line| piece.line + line - 1, passages);
    }
}

/// Whether a comment belongs to the text of the comment before it.
fn goes_on(last: &Piece, next: &Piece) -> bool {
    next.kind == last.kind && next.begins_line && next.line == last.line + 1 && !last.text.contains('\n')
}

/// Whether a literal is a text for people: at least three words, and no YAML, path or pattern.
fn is_prose(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| {
        let word = word.trim_matches(|letter: char| ",.;:()`'\"".contains(letter));
        word.len() > 1 && word.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-' || letter == '\'')
    });
    let is_data = ["apiVersion:", "kind:", "::", "=>", "{%", "- name"].iter().any(|mark| text.contains(mark));
    !is_data && words.take(3).count() == 3
}

/// Puts the placeholders of a format string in backticks, so that they count as code.
fn without_placeholders(text: &str) -> String {
    let (mut result, mut rest) = (String::new(), text);
    while let Some(open) = rest.find('{') {
        let (before, tail) = rest.split_at(open);
        result.push_str(before);
        match tail.find('}') {
            Some(close) if !tail.get(..close).is_some_and(|inner| inner.contains(char::is_whitespace)) => {
                result.push('X');
                rest = tail.get(close + 1..).unwrap_or_default();
            }
            _ => {
                result.push('{');
                rest = tail.get(1..).unwrap_or_default();
            }
        }
    }
    result + rest
}

/// Collects the text of one passage.
struct Builder<'l> {
    origin: Origin,
    /// The line of the file for a line of the text, both from 1.
    line_of: &'l dyn Fn(usize) -> usize,
    /// The offsets in the text where its lines begin.
    lines: Vec<usize>,
    shown: String,
    masked: String,
    starts: Vec<Start>,
    is_heading: bool,
}

impl Builder<'_> {
    fn add(&mut self, text: &str, offset: usize, is_masked: bool) {
        let line = (self.line_of)(self.lines.partition_point(|start| *start <= offset));
        if self.starts.last().is_none_or(|start| start.line != line) {
            self.starts.push(Start { offset: self.shown.len(), line });
        }
        self.shown.push_str(text);
        if is_masked {
            self.masked.extend(std::iter::repeat_n('x', text.len()));
        } else {
            self.masked.push_str(&without_addresses(text));
        }
    }

    fn flush(&mut self, passages: &mut Vec<Passage>) {
        let (shown, masked) = (std::mem::take(&mut self.shown), std::mem::take(&mut self.masked));
        let starts = std::mem::take(&mut self.starts);
        if !shown.trim().is_empty() {
            passages.push(Passage { origin: self.origin, is_heading: self.is_heading, shown, masked, starts });
        }
    }
}

/// Replaces the bytes of each URL by `x`.
fn without_addresses(text: &str) -> String {
    let mut masked = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        match word.find("http") {
            Some(at) if word.contains("://") => {
                let (before, address) = word.split_at(at);
                let end =
                    address.trim_end_matches(|letter: char| letter.is_whitespace() || ".,;:)".contains(letter)).len();
                masked.push_str(before);
                masked.extend(std::iter::repeat_n('x', end));
                masked.push_str(address.get(end..).unwrap_or_default());
            }
            _ => masked.push_str(word),
        }
    }
    masked
}

/// Finds the passages of a Markdown text.
fn markdown(origin: Origin, text: &str, line_of: &dyn Fn(usize) -> usize, passages: &mut Vec<Passage>) {
    let mut lines = vec![0];
    lines.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    let mut builder = Builder {
        origin,
        line_of,
        lines,
        shown: String::new(),
        masked: String::new(),
        starts: Vec::new(),
        is_heading: false,
    };
    let (mut in_code, mut in_address) = (false, false);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                builder.flush(passages);
                in_code = true;
            }
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. }) => in_address = true,
            Event::End(TagEnd::Link) => in_address = false,
            Event::Start(tag) if is_block(&tag) => {
                builder.flush(passages);
                builder.is_heading = matches!(tag, Tag::Heading { .. });
            }
            Event::End(tag) if is_block_end(tag) => {
                builder.flush(passages);
                builder.is_heading = false;
            }
            Event::Text(part) if !in_code => builder.add(&part, range.start, in_address),
            Event::Code(part) => {
                builder.add("`", range.start, false);
                builder.add(&part, range.start, true);
                builder.add("`", range.start, false);
            }
            Event::SoftBreak | Event::HardBreak => builder.add(" ", range.start, false),
            _ => {}
        }
    }
    builder.flush(passages);
}

fn is_block(tag: &Tag<'_>) -> bool {
    !matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. })
}

fn is_block_end(tag: TagEnd) -> bool {
    !matches!(tag, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image)
}

/// Returns the words of a masked text in lower case; a piece of code is one word.
pub(crate) fn words(masked: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), masked);
    while let Some(begin) = rest.find(|letter: char| letter == '`' || letter.is_ascii_alphabetic()) {
        let tail = rest.get(begin..).unwrap_or_default();
        let end = if tail.starts_with('`') {
            tail.get(1..).and_then(|tail| tail.find('`')).map_or(tail.len(), |end| end + 2)
        } else {
            let is_part = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '\'' | '’' | '-');
            tail.find(|letter| !is_part(letter)).unwrap_or(tail.len())
        };
        let (word, after) = tail.split_at(end);
        words.push(word.to_lowercase());
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<Passage> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        passages(&file, syn::parse_file(text).ok().as_ref())
    }

    #[test]
    fn markdown_has_headings_items_cells_and_no_code() {
        let found = of(
            "a.md",
            "# Head\n\nOne `code x` two\nthree.\n\n```yaml\nno: prose\n```\n\n- item\n\n| a | b |\n|---|---|\n| c | d |\n",
        );
        let shown: Vec<&str> = found.iter().map(|passage| passage.shown.as_str()).collect();
        assert_eq!(shown, ["Head", "One `code x` two three.", "item", "a", "b", "c", "d"]);
        assert_eq!(found[1].masked, "One `xxxxxx` two three.");
        assert_eq!(found[1].line_at(15), 3);
        assert_eq!(found[1].line_at(19), 4);
        assert!(found[0].is_heading && !found[1].is_heading);
    }

    #[test]
    fn sentences_end_at_stops_only() {
        let found =
            of("a.md", "The first, e.g. this one. The `a. B` second, 1.37.0 and so on.. yes. (The third?) \"Fourth.\"");
        let sentences: Vec<&str> = found[0].sentences().iter().map(|sentence| sentence.shown).collect();
        assert_eq!(
            sentences,
            ["The first, e.g. this one.", "The `a. B` second, 1.37.0 and so on.. yes.", "The third?", "Fourth."]
        );
    }

    #[test]
    fn rust_has_comments_and_texts_of_the_program() {
        let source = "//! One.\n//! Two.\n\nfn f() {\n    // Three.\n    g(\"no such {thing} here\");\n}\n\n#[cfg(test)]\nmod tests {\n    const A: &str = \"a text of tests\";\n}\n";
        let found = of("src/a.rs", source);
        let seen: Vec<_> =
            found.iter().map(|passage| (passage.origin, passage.shown.as_str(), passage.line_at(0))).collect();
        assert_eq!(
            seen,
            [(Origin::Doc, "One. Two.", 1), (Origin::Comment, "Three.", 5), (Origin::Text, "no such X here", 6)]
        );
    }
}
