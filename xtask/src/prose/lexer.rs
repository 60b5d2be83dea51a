//! Comments and string literals of Rust, which a token stream does not keep with their form.

/// The form of a piece of Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `///`, `//!`, `/** */` and `/*! */`.
    Doc,
    /// Any other comment.
    Comment,
    /// A string literal.
    Literal,
}

/// A comment or a string literal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    /// The line where it begins, from 1.
    pub(crate) line: usize,
    /// Whether only white space stands before it in its line.
    pub(crate) begins_line: bool,
    /// The text without its marks; of a literal, with the simple escapes replaced.
    pub(crate) text: String,
}

/// Finds the comments and string literals of a file.
pub(crate) fn pieces(source: &str) -> Vec<Piece> {
    Lexer { source, position: 0, line: 1, line_start: 0, pieces: Vec::new() }.run()
}

struct Lexer<'s> {
    source: &'s str,
    position: usize,
    line: usize,
    line_start: usize,
    pieces: Vec<Piece>,
}

impl<'s> Lexer<'s> {
    fn run(mut self) -> Vec<Piece> {
        while let Some(letter) = self.rest().chars().next() {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.line_comment();
            } else if rest.starts_with("/*") {
                self.block_comment();
            } else if letter == '"' {
                self.string();
            } else if letter == '\'' {
                self.quote();
            } else if letter.is_alphabetic() || letter == '_' {
                self.word();
            } else {
                self.advance(letter.len_utf8());
            }
        }
        self.pieces
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.position..).unwrap_or_default()
    }

    /// Moves forward by a number of bytes and counts lines.
    fn advance(&mut self, bytes: usize) {
        let end = (self.position + bytes).min(self.source.len());
        let passed = self.source.get(self.position..end).unwrap_or_default();
        self.line += passed.matches('\n').count();
        if let Some(last) = passed.rfind('\n') {
            self.line_start = self.position + last + 1;
        }
        self.position = end;
    }

    fn add(&mut self, kind: Kind, text: String, bytes: usize) {
        let before = self.source.get(self.line_start..self.position).unwrap_or_default();
        let begins_line = before.trim().is_empty();
        self.pieces.push(Piece { kind, line: self.line, begins_line, text });
        self.advance(bytes);
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        let whole = rest.lines().next().unwrap_or_default();
        let marked = whole.strip_prefix("//").unwrap_or_default();
        let (kind, text) = match marked.chars().next() {
            Some('/') if !whole.starts_with("////") => (Kind::Doc, marked.trim_start_matches('/')),
            Some('!') => (Kind::Doc, marked.trim_start_matches('!')),
            _ => (Kind::Comment, marked),
        };
        self.add(kind, text.strip_prefix(' ').unwrap_or(text).to_owned(), whole.len());
    }

    fn block_comment(&mut self) {
        let rest = self.rest();
        let (mut depth, mut end) = (0_usize, 0);
        while let Some(tail) = rest.get(end..).filter(|tail| !tail.is_empty()) {
            if tail.starts_with("/*") {
                (depth, end) = (depth + 1, end + 2);
            } else if tail.starts_with("*/") {
                (depth, end) = (depth.saturating_sub(1), end + 2);
                if depth == 0 {
                    break;
                }
            } else {
                end += tail.chars().next().map_or(1, char::len_utf8);
            }
        }
        let whole = rest.get(..end).unwrap_or(rest);
        let is_doc = whole.len() > 4 && (whole.starts_with("/**") || whole.starts_with("/*!"));
        let text = whole.trim_start_matches(['/', '*', '!']).trim_end_matches(['/', '*']).to_owned();
        self.add(if is_doc { Kind::Doc } else { Kind::Comment }, text, end);
    }

    fn string(&mut self) {
        let rest = self.rest();
        let (mut text, mut end) = (String::new(), 1);
        let mut letters = rest.char_indices().skip(1).peekable();
        while let Some((at, letter)) = letters.next() {
            end = at + letter.len_utf8();
            match letter {
                '"' => break,
                '\\' => match letters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    // A line that goes on: the white space at its beginning is not part of the text.
                    Some((_, '\n')) => while letters.next_if(|(_, next)| next.is_whitespace()).is_some() {},
                    Some((_, 't')) => text.push(' '),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                other => text.push(other),
            }
        }
        self.add(Kind::Literal, text, end);
    }

    /// Reads a word, which may begin a raw string, a byte string or a raw identifier.
    fn word(&mut self) {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        let hashes = tail.len() - tail.trim_start_matches('#').len();
        let is_string = tail.trim_start_matches('#').starts_with('"');
        match word {
            "r" | "br" | "cr" if is_string => {
                let start = end + hashes + 1;
                let close = format!("\"{}", "#".repeat(hashes));
                let body = rest.get(start..).unwrap_or_default();
                let length = body.find(&close).unwrap_or(body.len());
                let text = body.get(..length).unwrap_or_default().to_owned();
                self.add(Kind::Literal, text, start + length + close.len());
            }
            "b" if tail.starts_with('\'') => {
                self.advance(end);
                self.quote();
            }
            _ => self.advance(end),
        }
    }

    /// Reads a quote, which begins a character or a lifetime.
    fn quote(&mut self) {
        let mut letters = self.rest().char_indices().skip(1);
        match letters.next() {
            Some((_, '\\')) => {
                // An escape has at least one character, which may be a quote.
                letters.next();
                let end = letters.find(|(_, letter)| *letter == '\'').map_or(1, |(at, _)| at + 1);
                self.advance(end);
            }
            Some((at, letter)) => {
                let after = at + letter.len_utf8();
                let is_character = self.rest().get(after..).is_some_and(|tail| tail.starts_with('\''));
                self.advance(if is_character { after + 1 } else { 1 });
            }
            None => self.advance(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, pieces};

    #[test]
    fn comments_and_literals_are_found() {
        let source = r####"//! Module.
/// Doc with "quotes" and 'c'.
fn f<'a>(x: &'a str) -> char { // trailing
    let _ = ('"', b'\'', '\\', "a \"b\" \
        c", r#"raw "x""#);
    /* block /* inner */ end */
    '\u{1F600}'
}
//// no doc
"####;
        let found: Vec<(Kind, usize, String)> =
            pieces(source).into_iter().map(|piece| (piece.kind, piece.line, piece.text)).collect();
        let expected = [
            (Kind::Doc, 1, "Module."),
            (Kind::Doc, 2, "Doc with \"quotes\" and 'c'."),
            (Kind::Comment, 3, "trailing"),
            (Kind::Literal, 4, "a \"b\" c"),
            (Kind::Literal, 5, "raw \"x\""),
            (Kind::Comment, 6, " block /* inner */ end "),
            (Kind::Comment, 9, "// no doc"),
        ];
        assert_eq!(found, expected.map(|(kind, line, text)| (kind, line, text.to_owned())));
    }
}
