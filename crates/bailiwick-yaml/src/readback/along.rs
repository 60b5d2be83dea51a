//! Reading a text along its intended object: nearly every document is proven right without a tree.
//!
//! The text is read from the front, in the block style with one line for each scalar. A text in another style, or
//! with a difference, is left open: the caller then reads it in full.
//!
//! INVARIANT: [`super::ReadBack::compare`] accepts every text accepted here. The tests compare the two.

use super::super::scalar::{self, Plain};
use super::super::tree::{NodeRef, NodeValue};
use super::is_of_other_type;

/// Whether a text is proven to be the object at `root`; if not, a reader has to decide.
pub(super) fn is_object(text: &str, root: NodeRef<'_>) -> bool {
    let mut reader = Along { text: text.as_bytes(), position: 0 };
    let is_read = match root.value() {
        NodeValue::Map(_) if !root.is_empty() => reader.map(root, 0, false),
        _ => false,
    };
    is_read && reader.position == reader.text.len()
}

struct Along<'t> {
    text: &'t [u8],
    position: usize,
}

impl Along<'_> {
    /// Reads the entries of a map at an indent; behind a dash the first key is on its line.
    fn map(&mut self, node: NodeRef<'_>, indent: usize, behind_dash: bool) -> bool {
        node.entries().enumerate().all(|(index, (key, value))| {
            ((index == 0 && behind_dash) || self.spaces(indent))
                && key.as_str().is_some_and(|key| self.string(key, b':'))
                && match value.value() {
                    NodeValue::Map(_) if !value.is_empty() => self.take(b"\n") && self.map(value, indent + 2, false),
                    NodeValue::Seq(_) if !value.is_empty() => self.take(b"\n") && self.sequence(value, indent),
                    _ => self.take(b" ") && self.scalar(value),
                }
        })
    }

    /// Reads the items of a sequence, each behind its dash.
    fn sequence(&mut self, node: NodeRef<'_>, indent: usize) -> bool {
        node.items().all(|item| {
            self.spaces(indent)
                && self.take(b"- ")
                && match item.value() {
                    NodeValue::Map(_) if !item.is_empty() => self.map(item, indent + 2, true),
                    NodeValue::Seq(_) if !item.is_empty() => false,
                    _ => self.scalar(item),
                }
        })
    }

    /// Reads a scalar or an empty collection, with the end of its line.
    fn scalar(&mut self, node: NodeRef<'_>) -> bool {
        match node.value() {
            NodeValue::Null => self.take(b"null\n"),
            NodeValue::Bool(truth) => self.take(if truth { b"true\n" } else { b"false\n" }),
            NodeValue::Int(number) => self.take(number.to_string().as_bytes()) && self.take(b"\n"),
            NodeValue::Float(_) => false,
            NodeValue::Str(_) => node.as_str().is_some_and(|text| self.string(text, b'\n')),
            NodeValue::Seq(_) => self.take(b"[]\n"),
            NodeValue::Map(_) => self.take(b"{}\n"),
        }
    }

    /// Reads a string on its line, without escapes, and the byte behind it.
    fn string(&mut self, meant: &str, behind: u8) -> bool {
        let quote = self.text.get(self.position).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        self.position += usize::from(quote.is_some());
        let is_there = self.take(meant.as_bytes());
        let ends_here = match quote {
            Some(quote) => is_same_between(quote, meant) && self.take(&[quote]),
            None => is_plain_string(meant),
        };
        is_there && ends_here && self.take(&[behind])
    }

    fn spaces(&mut self, count: usize) -> bool {
        let end = self.position + count;
        let is_blank = self.text.get(self.position..end).is_some_and(|part| part.iter().all(|&byte| byte == b' '));
        self.position = end;
        is_blank && self.text.get(end).is_some_and(|&next| next != b' ')
    }

    fn take(&mut self, expected: &[u8]) -> bool {
        let is_there = self.text.get(self.position..).is_some_and(|rest| rest.starts_with(expected));
        self.position += if is_there { expected.len() } else { 0 };
        is_there
    }
}

/// Whether a string consists of visible characters that are literal between quotes of this kind.
fn is_same_between(quote: u8, text: &str) -> bool {
    let is_special = |byte: u8| byte == quote || (byte == b'\\' && quote == b'"');
    text.bytes().fold(true, |same, byte| same & (b' '..=b'~').contains(&byte) & !is_special(byte))
}

/// Whether a string consists of words of no other type and no part of YAML's syntax.
fn is_plain_string(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(&first) = bytes.first() else { return false };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'.' | b'-' | b'*');
    let starts_as_word = first.is_ascii_alphanumeric() || first == b'/';
    let is_one_word = bytes.iter().fold(starts_as_word, |fine, &byte| fine & is_word(byte));
    // The common case. No word of another type that begins with a letter is longer than `false`.
    if is_one_word && bytes.len() > 5 && !first.is_ascii_digit() {
        return true;
    }
    // A colon before a space is the end of a key, and a space before the end of a line is none.
    let word_follows = |index: usize| bytes.get(index + 1).is_some_and(|&next| is_word(next));
    let is_joined =
        |(index, &byte): (usize, &u8)| is_word(byte) || (matches!(byte, b':' | b' ') && word_follows(index));
    let is_one_line = is_one_word || (starts_as_word && bytes.iter().enumerate().all(is_joined));
    is_one_line && scalar::resolve(text) == Plain::Str && !is_of_other_type(text)
}
