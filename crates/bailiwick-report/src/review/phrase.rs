//! Texts in which names are marked, so that each form makes them harmless in its own way.

use std::borrow::Cow;

use bailiwick_yaml::diag::foreign;

/// The most characters of a sentence from the value.
const MAXIMUM_SENTENCE: usize = 600;

/// A line of a file, or a whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePlace {
    /// The path from the root of the git work tree.
    pub(crate) path: String,
    /// The line, from 1; none for the whole file.
    pub(crate) line: Option<usize>,
    /// The URL on the forge; none without a known prefix.
    pub(crate) address: Option<String>,
}

impl FilePlace {
    /// Returns the place as `path:line`.
    pub(crate) fn text(&self) -> String {
        with_line(&self.path, self.line)
    }

    /// Returns the name of the file with the line.
    pub(crate) fn short_text(&self) -> String {
        with_line(self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name), self.line)
    }
}

fn with_line(path: &str, line: Option<usize>) -> String {
    line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"))
}

/// A part of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Words of this program.
    Words(Cow<'static, str>),
    /// Words of this program with weight.
    Strong(Cow<'static, str>),
    /// A name by any author.
    Name(String),
    /// A sentence with names by any author, some of them in backticks.
    Sentence(String),
    /// A place in a file.
    Place(FilePlace),
}

/// A text with marked names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Phrase(Vec<Piece>);

impl Phrase {
    /// Returns a phrase that begins with words of this program.
    pub(crate) fn new(words: impl Into<Cow<'static, str>>) -> Self {
        Self::default().words(words)
    }

    /// Returns a phrase of one sentence.
    pub(crate) fn sentence(text: &str) -> Self {
        Self(vec![Piece::Sentence(text.to_owned())])
    }

    /// Adds words of this program.
    pub(crate) fn words(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        let words = words.into();
        if !words.is_empty() {
            self.0.push(Piece::Words(words));
        }
        self
    }

    /// Adds words of this program with weight.
    pub(crate) fn strong(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Piece::Strong(words.into()));
        self
    }

    /// Adds a name.
    pub(crate) fn name(mut self, name: impl Into<String>) -> Self {
        self.0.push(Piece::Name(name.into()));
        self
    }

    /// Adds the first names of a list, and the number of the others.
    pub(crate) fn names<'n>(mut self, names: impl IntoIterator<Item = &'n str>, most: usize) -> Self {
        let mut more = 0;
        for (index, name) in names.into_iter().enumerate() {
            if index >= most {
                more += 1;
                continue;
            }
            self = self.words(if index > 0 { ", " } else { "" }).name(name);
        }
        self.words(if more > 0 { format!(" and {} more", super::words::grouped(more)) } else { String::new() })
    }

    /// Adds a place.
    pub(crate) fn place(mut self, place: FilePlace) -> Self {
        self.0.push(Piece::Place(place));
        self
    }

    /// Adds another phrase.
    pub(crate) fn then(mut self, other: Phrase) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Whether the phrase has no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the phrase as a line for people. Names with other characters than usual are in backticks.
    pub(crate) fn plain(&self) -> String {
        let text: String = self.0.iter().map(|piece| plain_piece(piece).into_owned()).collect();
        foreign::line(&text).into_owned()
    }

    /// Returns the phrase in Markdown.
    pub(crate) fn markdown(&self) -> String {
        self.0.iter().map(markdown_piece).collect()
    }

    /// Returns the phrase as a cell of a table in Markdown.
    pub(crate) fn markdown_cell(&self) -> String {
        foreign::markdown_row_part(&self.markdown())
    }

    /// Returns the phrase in HTML.
    pub(crate) fn html(&self) -> String {
        self.0.iter().map(html_piece).collect()
    }
}

fn plain_piece(piece: &Piece) -> Cow<'_, str> {
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "-._:/@{}*+".contains(letter);
    match piece {
        Piece::Words(words) | Piece::Strong(words) => Cow::Borrowed(words),
        Piece::Name(name) if !name.is_empty() && name.chars().all(is_usual) => Cow::Borrowed(name),
        Piece::Name(name) => format!("`{name}`").into(),
        Piece::Sentence(text) => Cow::Borrowed(text),
        Piece::Place(place) => place.text().into(),
    }
}

fn markdown_piece(piece: &Piece) -> String {
    match piece {
        Piece::Words(words) => words.to_string(),
        Piece::Strong(words) => format!("**{words}**"),
        Piece::Name(name) => foreign::markdown_name(name),
        Piece::Sentence(text) => sentence(text),
        Piece::Place(place) => match &place.address {
            Some(address) => format!("[{}]({address})", foreign::markdown_name(&place.short_text())),
            None => foreign::markdown_name(&place.text()),
        },
    }
}

/// Returns a sentence of the value in Markdown. Spaces at the beginning would make it a block of code.
pub(crate) fn sentence(text: &str) -> String {
    foreign::markdown(&foreign::shortened(text, MAXIMUM_SENTENCE)).trim().to_owned()
}

fn html_piece(piece: &Piece) -> String {
    match piece {
        Piece::Words(words) => escaped(words),
        Piece::Strong(words) => format!("<strong>{}</strong>", escaped(words)),
        Piece::Name(name) => code(name),
        Piece::Sentence(text) => html_sentence(text),
        Piece::Place(place) => {
            // A long path may be broken after a slash.
            let text = code(&place.text()).replace('/', "/<wbr>").replace("</<wbr>", "</");
            match &place.address {
                Some(address) => format!("<a href=\"{}\">{text}</a>", escaped(address)),
                None => text,
            }
        }
    }
}

/// Returns a sentence in HTML. Names in backticks become code.
pub(crate) fn html_sentence(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let shown = parts.iter().enumerate();
    shown.map(|(index, part)| if index.is_multiple_of(2) { escaped(part) } else { code(part) }).collect()
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// Returns a text for HTML: visible, and without markup.
pub(crate) fn escaped(text: &str) -> String {
    foreign::line(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_makes_a_name_harmless() {
        let phrase = Phrase::new("by ").name("a|`<b>\u{202e}");
        assert_eq!(phrase.plain(), "by `a|`<b>\\u{202e}`");
        assert_eq!(phrase.markdown(), "by ``a|`<b>\\u{202e}``");
        assert_eq!(phrase.markdown_cell(), "by ``a\\|`<b>\\u{202e}``");
        assert_eq!(phrase.html(), "by <code>a|`&lt;b&gt;\\u{202e}</code>");
    }

    #[test]
    fn a_place_is_a_link_if_it_has_an_address() {
        let place = FilePlace { path: "a/b c.yaml".to_owned(), line: Some(3), address: None };
        assert_eq!(Phrase::default().place(place.clone()).markdown(), "`a/b c.yaml:3`");
        let place = FilePlace { address: Some("https://example.com/a/b%20c.yaml#L3".to_owned()), ..place };
        assert_eq!(Phrase::default().place(place).markdown(), "[`b c.yaml:3`](https://example.com/a/b%20c.yaml#L3)");
    }
}
