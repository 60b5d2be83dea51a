//! The reader of JSON texts, as `kubectl get -o json` prints them: one object, or several one behind the other.
//!
//! Any other text (an escaped surrogate, a character with a meaning of its own in YAML, doubled keys, errors) is refused, and
//! another reader reads it from the start.
//!
//! INVARIANT: for an accepted text, the full reader returns the same tree. `tests/yaml.rs` compares the two.

use std::borrow::Cow;
use std::collections::HashSet;

use super::fast::{Read, Refused, unescape};
use super::limits::MAXIMUM_DEPTH;
use super::scalar::{self, Plain};
use super::tree::{Chain, NodeId, NodeValue, Tree};
use crate::diag::Span;

/// The longest key in bytes: YAML has a limit of 1,024 characters.
const LONGEST_KEY: usize = 1_000;

/// How many keys of an object are compared with each other. More of them are compared by hash.
const FEW_KEYS: usize = 16;

/// The length from which on a text is refused: places have 32 bits.
pub(super) const LENGTH_REFUSED: usize = u32::MAX as usize;

/// Reads every object of a JSON text.
pub(super) fn read(text: &str, tree: &mut Tree) -> Read<()> {
    if text.len() >= LENGTH_REFUSED {
        return Err(Refused);
    }
    let mut reader = Reader { text, bytes: text.as_bytes(), position: 0, before: 0, tree, keys: Vec::new() };
    reader.blank();
    while reader.position < reader.bytes.len() {
        if reader.byte() != b'{' {
            return Err(Refused);
        }
        let root = reader.collection(0)?;
        reader.tree.add_document(root);
        reader.blank();
    }
    Ok(())
}

/// Reads an object that is a part of a longer text: behind `before` bytes, in `depth` collections. The text is the object alone.
pub(super) fn read_part(text: &str, before: usize, depth: usize, tree: &mut Tree) -> Read<()> {
    let mut reader = Reader { text, bytes: text.as_bytes(), position: 0, before, tree, keys: Vec::new() };
    let root = reader.collection(depth)?;
    if reader.position < text.len() {
        return Err(Refused);
    }
    reader.tree.add_document(root);
    Ok(())
}

/// A text with a position in it.
struct Reader<'r> {
    text: &'r str,
    bytes: &'r [u8],
    position: usize,
    /// How many bytes are before the text.
    before: usize,
    tree: &'r mut Tree,
    /// The keys of the open objects, without escapes; the keys of the innermost object are the last ones.
    keys: Vec<Cow<'r, str>>,
}

impl<'r> Reader<'r> {
    /// Returns the byte at the position; a zero at the end of the text.
    fn byte(&self) -> u8 {
        self.bytes.get(self.position).copied().map_or(0, |byte| byte)
    }

    /// Returns a range of the text as a range of the whole text.
    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.before + start, self.before + end)
    }

    /// Skips blanks and line feeds. A tab or a carriage return can have another meaning in YAML.
    fn blank(&mut self) {
        while matches!(self.byte(), b' ' | b'\n') {
            self.position += 1;
        }
    }

    /// Reads the object or the array at the position.
    fn collection(&mut self, depth: usize) -> Read<NodeId> {
        if depth >= MAXIMUM_DEPTH {
            return Err(Refused);
        }
        let start = self.position;
        let is_object = self.byte() == b'{';
        let closing = if is_object { b'}' } else { b']' };
        let span = self.span(start, start + 1);
        let id = if is_object { self.tree.add_map(span) } else { self.tree.add_seq(span) };
        let mut children = Chain::new();
        let first_key = self.keys.len();
        self.position += 1;
        self.blank();
        if self.byte() != closing {
            loop {
                if is_object {
                    let key = self.key()?;
                    children.push(self.tree, key);
                }
                let value = self.value(depth)?;
                children.push(self.tree, value);
                self.blank();
                match self.byte() {
                    b',' => self.position += 1,
                    byte if byte == closing => break,
                    _ => return Err(Refused),
                }
                self.blank();
            }
        }
        self.position += 1;
        self.refuse_doubled_keys(first_key)?;
        self.tree.set(id, if is_object { children.entries() } else { children.items() });
        let end = self.span(start, self.position).end;
        self.tree.set_span_end(id, end);
        Ok(id)
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Read<NodeId> {
        let start = self.position;
        let end = self.closing_quote(start)?;
        let inner = self.text.get(start + 1..end).ok_or(Refused)?;
        // The keys of managed fields have quotes: `k:{"name":"x"}`.
        let inner = if inner.contains('\\') { Cow::Owned(unescape(inner)?) } else { Cow::Borrowed(inner) };
        self.position = end + 1;
        if self.byte() != b':' || self.position - start > LONGEST_KEY {
            return Err(Refused);
        }
        let span = self.span(start, self.position);
        let key = self.tree.add_string(&inner, span);
        self.keys.push(inner);
        self.position += 1;
        self.blank();
        Ok(key)
    }

    /// Refuses the object with the last keys, and removes them, if two of them are equal.
    fn refuse_doubled_keys(&mut self, first: usize) -> Read<()> {
        let keys = self.keys.get(first..).ok_or(Refused)?;
        let are_unlike = if keys.len() <= FEW_KEYS {
            let mut rest = keys;
            loop {
                let Some((key, others)) = rest.split_first() else { break true };
                if others.contains(key) {
                    break false;
                }
                rest = others;
            }
        } else {
            let mut known = HashSet::with_capacity(keys.len());
            keys.iter().all(|key| known.insert(key))
        };
        self.keys.truncate(first);
        if are_unlike { Ok(()) } else { Err(Refused) }
    }

    fn value(&mut self, depth: usize) -> Read<NodeId> {
        match self.byte() {
            b'"' => self.string(),
            b'{' | b'[' => self.collection(depth + 1),
            _ => self.word(),
        }
    }

    /// Reads a string.
    fn string(&mut self) -> Read<NodeId> {
        let start = self.position;
        let end = self.closing_quote(start)?;
        let inner = self.text.get(start + 1..end).ok_or(Refused)?;
        self.position = end + 1;
        let span = self.span(start, end + 1);
        if inner.contains('\\') {
            let decoded = unescape(inner)?;
            return Ok(self.tree.add_string(&decoded, span));
        }
        Ok(self.tree.add_string(inner, span))
    }

    /// Returns the position of the closing quote. Every character between has the same meaning in JSON and in YAML.
    fn closing_quote(&self, opening: usize) -> Read<usize> {
        if self.byte() != b'"' {
            return Err(Refused);
        }
        let mut cursor = opening + 1;
        loop {
            match self.bytes.get(cursor).ok_or(Refused)? {
                b'"' => return Ok(cursor),
                b'\\' => cursor += 2,
                0x20..=0x7e => cursor += 1,
                0x80.. => cursor += self.wide_character(cursor)?,
                _ => return Err(Refused),
            }
        }
    }

    /// Returns the length of a character beyond ASCII. Control characters, separators of lines and marks are refused.
    fn wide_character(&self, position: usize) -> Read<usize> {
        let character = self.text.get(position..).and_then(|rest| rest.chars().next()).ok_or(Refused)?;
        let is_special =
            matches!(character, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}'..='\u{ffff}');
        if is_special { Err(Refused) } else { Ok(character.len_utf8()) }
    }

    /// Reads `null`, a boolean or a number of JSON.
    fn word(&mut self) -> Read<NodeId> {
        let start = self.position;
        while matches!(self.byte(), b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'E') {
            self.position += 1;
        }
        let text = self.text.get(start..self.position).ok_or(Refused)?;
        let value = match text {
            "null" => NodeValue::Null,
            "true" => NodeValue::Bool(true),
            "false" => NodeValue::Bool(false),
            _ if is_number(text) => match scalar::resolve(text) {
                Plain::Int(number) => NodeValue::Int(number),
                Plain::Float(number) => NodeValue::Float(number),
                _ => return Err(Refused),
            },
            _ => return Err(Refused),
        };
        let span = self.span(start, self.position);
        Ok(self.tree.add(value, span))
    }
}

/// Whether a text is a number of JSON (RFC 8259, section 6).
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let magnitude = text.strip_prefix('-').map_or(text, |magnitude| magnitude);
    let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).map_or(exponent, |rest| rest))),
        None => (magnitude, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}
