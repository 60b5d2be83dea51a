//! Positions of the protocol, and the edits of a document.

use std::ops::Range as Bytes;

use gen_lsp_types::{Position, Range, TextDocumentContentChangeEvent};

use crate::diag::{Span, boundary_before};
use crate::yaml::internal::{number, slice};

/// The unit in which a client counts the characters of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16, as every client counts.
    Utf16,
}

impl Encoding {
    /// Returns the best of the encodings of a client, by their names in the protocol. A client without a list counts units of UTF-16.
    pub(super) fn choose<'n>(mut offered: impl Iterator<Item = &'n str>) -> Self {
        if offered.any(|name| name == Self::Utf8.name()) { Self::Utf8 } else { Self::Utf16 }
    }

    /// Returns the name in the protocol.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
        }
    }

    /// Returns how many units a text has.
    fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }

    /// Returns the byte of a position. A position behind the end of its line is the end of the line, and a line behind the last one
    /// is the end of the text.
    pub(super) fn byte(self, text: &str, position: Position) -> usize {
        let Some(start) = start_of_line(text, position.line as usize) else { return text.len() };
        let rest = slice(text, start..);
        let line = rest.find(['\n', '\r']).map_or(rest, |end| slice(rest, ..end));
        let mut units = 0;
        for (byte, letter) in line.char_indices() {
            if units >= position.character as usize {
                return start + byte;
            }
            units += match self {
                Self::Utf8 => letter.len_utf8(),
                Self::Utf16 => letter.len_utf16(),
            };
        }
        start + line.len()
    }

    /// Returns the position of a byte. A byte within a character has the position of the character.
    pub(super) fn position(self, text: &str, byte: usize) -> Position {
        let before = slice(text, ..boundary_before(text, byte.min(text.len())));
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        let character = self.length(slice(before, start..));
        Position { line: number(line), character: number(character) }
    }

    /// Returns the range of a span.
    pub(super) fn range(self, text: &str, span: Span) -> Range {
        let position = |byte: u32| self.position(text, byte as usize);
        Range { start: position(span.start), end: position(span.end.max(span.start)) }
    }

    /// Returns the bytes of a range.
    pub(super) fn bytes(self, text: &str, range: Range) -> Bytes<usize> {
        let start = self.byte(text, range.start);
        start..self.byte(text, range.end).max(start)
    }

    /// Applies the changes of an edit, one after the other.
    pub(super) fn apply(self, text: &mut String, changes: Vec<TextDocumentContentChangeEvent>) {
        for change in changes {
            match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(change) => {
                    let bytes = self.bytes(text, change.range);
                    text.replace_range(bytes, &change.text);
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(change) => *text = change.text,
            }
        }
    }
}

/// Returns the byte at which a line begins; none behind the last line. Lines end with a line feed.
fn start_of_line(text: &str, line: usize) -> Option<usize> {
    match line {
        0 => Some(0),
        line => text.match_indices('\n').nth(line - 1).map(|(at, _)| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a: ä\nb: 😀x\r\n\nlast";

    #[test]
    fn every_position_of_a_text_comes_back() {
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (byte, letter) in TEXT.char_indices().chain([(TEXT.len(), ' ')]) {
                if letter != '\n' || !TEXT.get(..byte).is_some_and(|before| before.ends_with('\r')) {
                    assert_eq!(encoding.byte(TEXT, encoding.position(TEXT, byte)), byte, "{encoding:?}");
                }
            }
        }
        assert_eq!(Encoding::Utf16.position(TEXT, TEXT.find('x').expect("x")), Position { line: 1, character: 5 });
        assert_eq!(Encoding::Utf8.position(TEXT, TEXT.find('x').expect("x")), Position { line: 1, character: 7 });
    }

    #[test]
    fn a_client_with_utf8_counts_bytes() {
        assert_eq!(Encoding::choose(["utf-16", "utf-8"].into_iter()), Encoding::Utf8);
        assert_eq!(Encoding::choose(["utf-32"].into_iter()), Encoding::Utf16);
        assert_eq!(Encoding::choose(std::iter::empty()), Encoding::Utf16);
    }

    #[test]
    fn positions_outside_the_text_are_its_nearest_ones() {
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            assert_eq!(encoding.byte(TEXT, Position { line: 0, character: 99 }), "a: ä".len());
            assert_eq!(encoding.byte(TEXT, Position { line: 99, character: 99 }), TEXT.len());
            assert_eq!(encoding.position(TEXT, 4), Position { line: 0, character: 3 }, "within a character");
            let backwards =
                Range { start: Position { line: 2, character: 0 }, end: Position { line: 0, character: 0 } };
            assert!(encoding.bytes(TEXT, backwards).is_empty());
        }
    }
}
