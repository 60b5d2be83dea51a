//! The rules for the sentences of a file.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::passage::{Origin, Passage, Sentence, words};
use super::words::Words;
use crate::finding::Finding;
use crate::repository::{File, Repository};

/// A name of a Markdown file, with or without folders.
#[expect(clippy::expect_used, reason = "a constant pattern")]
static PAGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9_./-]+\.md\b").expect("a pattern"));

/// The paths of the Markdown files of the repository.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    paths: BTreeSet<String>,
}

impl Pages {
    /// Lists the Markdown files.
    pub(crate) fn new(repository: &Repository) -> Self {
        let paths = repository.files.iter().filter(|file| file.is_markdown()).map(|file| file.path.clone());
        Self { paths: paths.collect() }
    }

    /// Whether the repository has a page of this name, at any place.
    fn has(&self, name: &str) -> bool {
        let name = name.trim_start_matches(['.', '/']);
        self.paths.iter().any(|path| path == name || path.strip_suffix(name).is_some_and(|front| front.ends_with('/')))
    }
}

/// Checks the sentences of a passage.
pub(crate) fn check(file: &File, passage: &Passage, words: &Words, pages: &Pages, findings: &mut Vec<Finding>) {
    for sentence in passage.sentences() {
        beginnings(file, passage, sentence, words, findings);
        length(file, passage, sentence, words, findings);
    }
    references(file, passage, words, pages, findings);
    for avoided in &words.avoided {
        for found in avoided.pattern.find_iter(&passage.masked) {
            if is_part_of_id(&passage.masked, &found) || is_fixed(&passage.masked, &found, words) {
                continue;
            }
            let text = format!("`{}`: {}", passage.shown.get(found.range()).unwrap_or_default(), avoided.instead);
            findings.push(finding(file, passage.line_at(found.start()), "word", text));
        }
    }
}

/// Whether the word is in a phrase that is part of an interface.
fn is_fixed(text: &str, found: &regex::Match<'_>, words: &Words) -> bool {
    words.fixed.iter().any(|phrase| {
        let mut places = text.match_indices(phrase.as_str());
        places.any(|(start, _)| start <= found.start() && found.end() <= start + phrase.len())
    })
}

/// Whether the word is a part of an id such as `everybody-subject`.
fn is_part_of_id(text: &str, found: &regex::Match<'_>) -> bool {
    let joins =
        |text: Option<&str>| text.is_some_and(|text| text.starts_with(|first: char| first.is_ascii_lowercase()));
    joins(text.get(found.end()..).and_then(|after| after.strip_prefix('-')))
}

fn finding(file: &File, line: usize, rule: &'static str, text: String) -> Finding {
    Finding { path: file.path.clone(), line, rule, area: file.area().to_owned(), text }
}

/// Returns the first words of a sentence.
fn start_of(sentence: &str) -> String {
    let short: String = sentence.chars().take(70).collect();
    if short.len() < sentence.len() { format!("{short}..") } else { short }
}

fn beginnings(file: &File, passage: &Passage, sentence: Sentence<'_>, words: &Words, findings: &mut Vec<Finding>) {
    if passage.is_heading || sentence.masked.ends_with('?') {
        return;
    }
    // A description after a colon is a sentence, too, as in the list of the fields of a kind.
    let after_colons = sentence.masked.match_indices(": ").map(|(at, _)| at + 2);
    let starts = std::iter::once(0).chain(
        after_colons.filter(|at| sentence.masked.get(*at..).is_some_and(|tail| tail.starts_with(char::is_uppercase))),
    );
    for start in starts {
        let tail = sentence.masked.get(start..).unwrap_or_default();
        // The name of a command such as `who-can` in a table is no pronoun.
        let is_avoided = |word: regex::Match<'_>| tail.get(word.end()..).is_none_or(|rest| !rest.starts_with('-'));
        if words.beginnings.find(tail).is_some_and(is_avoided) {
            let text = start_of(sentence.shown.get(start..).unwrap_or_default());
            findings.push(finding(
                file,
                sentence.line,
                "beginning",
                format!("begin with the noun or the verb: {text}"),
            ));
        }
    }
}

fn length(file: &File, passage: &Passage, sentence: Sentence<'_>, limits: &Words, findings: &mut Vec<Finding>) {
    let count = words(sentence.masked).len();
    if !passage.is_heading && count > limits.longest_sentence {
        let text = format!("{count} words, more than {}: {}", limits.longest_sentence, start_of(sentence.shown));
        findings.push(finding(file, sentence.line, "long", text));
    }
}

fn references(file: &File, passage: &Passage, words: &Words, pages: &Pages, findings: &mut Vec<Finding>) {
    let mut add = |name: regex::Match<'_>| {
        let text = format!("`{}` is not in this repository", name.as_str());
        findings.push(finding(file, passage.line_at(name.start()), "reference", text));
    };
    for pattern in &words.references {
        pattern.find_iter(&passage.shown).for_each(&mut add);
    }
    // The program writes and reads files of other names.
    if passage.origin == Origin::Text {
        return;
    }
    for found in PAGE.find_iter(&passage.shown) {
        let before = passage.shown.get(..found.start()).unwrap_or_default();
        let to_end = passage.shown.get(..found.end()).unwrap_or_default();
        let is_address = to_end.rsplit(char::is_whitespace).next().is_some_and(|word| word.contains("://"));
        let is_pattern = before.ends_with(['*', '<', '>', '{', '}']);
        let is_listed = words.references.iter().any(|pattern| pattern.is_match(found.as_str()));
        if !is_address && !is_pattern && !is_listed && !pages.has(found.as_str()) {
            add(found);
        }
    }
}
