//! The fast reader: block YAML with one-line scalars and JSON-like flow, as templates and [`crate::write`] make it.
//!
//! Any other text (anchors, tags, block scalars, tabs, carriage returns, other than ASCII, doubled keys, errors) is
//! refused, and the full reader reads it from the start.
//!
//! INVARIANT: for an accepted text, the full reader returns the same tree. `tests/yaml.rs` compares the two.

use super::limits::MAXIMUM_DEPTH;
use super::scalar::{self, Plain};
use super::tree::{Chain, NodeId, NodeValue, Tree};
use crate::diag::Span;

/// The text is not in the restricted form.
pub(super) struct Refused;

pub(super) type Read<T> = Result<T, Refused>;

pub(super) fn read(text: &str, tree: &mut Tree) -> Read<()> {
    let bytes = text.as_bytes();
    // Without an early exit the compiler looks at many bytes at once.
    let odd = bytes.iter().fold(false, |odd, &byte| odd | ((byte < 0x20) & (byte != b'\n')) | (byte > 0x7e));
    if odd || bytes.len() >= u32::MAX as usize {
        return Err(Refused);
    }
    let mut reader = Reader { text, bytes, position: 0, tree };
    reader.documents()
}

struct Reader<'r> {
    text: &'r str,
    bytes: &'r [u8],
    position: usize,
    tree: &'r mut Tree,
}

/// The next line with content.
#[derive(Clone, Copy)]
struct Line {
    indent: usize,
    start: usize,
}

impl Reader<'_> {
    fn documents(&mut self) -> Read<()> {
        while let Some(line) = self.peek_line() {
            if self.is_separator(line) {
                self.position = line.start + 3;
                self.end_of_line()?;
                continue;
            }
            if line.indent != 0 || self.byte(line.start) == b'%' {
                return Err(Refused);
            }
            let root = if matches!(self.byte(line.start), b'[' | b'{') {
                self.position = line.start;
                let root = self.flow(0)?;
                self.end_of_line()?;
                root
            } else {
                self.block(line, 0)?
            };
            self.tree.add_document(root);
            match self.peek_line() {
                Some(after) if !self.is_separator(after) => return Err(Refused),
                _ => {}
            }
        }
        Ok(())
    }

    fn is_separator(&self, line: Line) -> bool {
        line.indent == 0
            && self.bytes.get(line.start..line.start + 3) == Some(b"---")
            && matches!(self.bytes.get(line.start + 3), None | Some(b'\n' | b' '))
    }

    /// Skips blank lines and comment lines; the position must be at the start of a line.
    fn peek_line(&mut self) -> Option<Line> {
        loop {
            let start = self.position;
            let mut cursor = start;
            while self.bytes.get(cursor) == Some(&b' ') {
                cursor += 1;
            }
            match self.bytes.get(cursor) {
                None => {
                    self.position = cursor;
                    return None;
                }
                Some(b'\n') => self.position = cursor + 1,
                Some(b'#') => self.position = self.line_end(cursor) + 1,
                Some(_) => return Some(Line { indent: cursor - start, start: cursor }),
            }
            if self.position > self.bytes.len() {
                self.position = self.bytes.len();
            }
        }
    }

    fn line_end(&self, from: usize) -> usize {
        self.bytes
            .get(from..)
            .and_then(|rest| rest.iter().position(|&byte| byte == b'\n'))
            .map_or(self.bytes.len(), |found| from + found)
    }

    fn byte(&self, position: usize) -> u8 {
        self.bytes.get(position).copied().unwrap_or(b'\n')
    }

    /// Reads a block collection at `line`.
    fn block(&mut self, line: Line, depth: usize) -> Read<NodeId> {
        if depth >= MAXIMUM_DEPTH {
            return Err(Refused);
        }
        self.position = line.start;
        if self.byte(line.start) == b'-' && matches!(self.byte(line.start + 1), b' ' | b'\n') {
            self.block_sequence(line.indent, depth)
        } else {
            self.block_mapping(line.indent, depth)
        }
    }

    /// Items at `indent`; the position is at the first dash.
    fn block_sequence(&mut self, indent: usize, depth: usize) -> Read<NodeId> {
        let start = self.position;
        let id = self.tree.add_seq(Span::new(start, start));
        let mut items = Chain::new();
        let mut end;
        loop {
            let dash = self.position;
            self.position += 1;
            while self.byte(self.position) == b' ' && self.position < self.bytes.len() {
                self.position += 1;
            }
            let column = indent + (self.position - dash);
            let item = match self.byte(self.position) {
                b'\n' | b'#' => self.nested_value(indent, depth, None)?,
                b'-' if matches!(self.byte(self.position + 1), b' ' | b'\n') => return Err(Refused),
                _ if self.at_key()? => self.block_mapping(column, depth + 1)?,
                _ => self.inline_value(indent, depth)?,
            };
            end = self.tree.at(item).span().end;
            items.push(self.tree, item);
            match self.peek_line() {
                Some(line)
                    if line.indent == indent
                        && self.byte(line.start) == b'-'
                        && matches!(self.byte(line.start + 1), b' ' | b'\n') =>
                {
                    self.position = line.start;
                }
                Some(line) if line.indent > indent => return Err(Refused),
                _ => break,
            }
        }
        self.tree.set(id, items.items());
        self.tree.set_span_end(id, end);
        Ok(id)
    }

    /// Entries at `indent`; the position is at the first key.
    fn block_mapping(&mut self, indent: usize, depth: usize) -> Read<NodeId> {
        if depth >= MAXIMUM_DEPTH {
            return Err(Refused);
        }
        let start = self.position;
        let id = self.tree.add_map(Span::new(start, start));
        let mut entries = Chain::new();
        let mut keys: Vec<NodeId> = Vec::new();
        let mut end;
        loop {
            let key = self.key()?;
            self.refuse_duplicate(&keys, key)?;
            keys.push(key);
            while self.byte(self.position) == b' ' && self.position < self.bytes.len() {
                self.position += 1;
            }
            let value = match self.byte(self.position) {
                b'\n' | b'#' => self.nested_value(indent, depth, Some(key))?,
                _ => self.inline_value(indent, depth)?,
            };
            end = self.tree.at(value).span().end;
            entries.push(self.tree, key);
            entries.push(self.tree, value);
            match self.peek_line() {
                Some(line) if line.indent == indent && !self.is_separator(line) => {
                    if self.byte(line.start) == b'-' && matches!(self.byte(line.start + 1), b' ' | b'\n') {
                        // The dash belongs to an outer sequence only if this mapping began behind one.
                        break;
                    }
                    self.position = line.start;
                }
                Some(line) if line.indent > indent => return Err(Refused),
                _ => break,
            }
        }
        self.tree.set(id, entries.entries());
        self.tree.set_span_end(id, end);
        Ok(id)
    }

    fn refuse_duplicate(&self, keys: &[NodeId], key: NodeId) -> Read<()> {
        // A wide mapping is for the full reader, with a check of linear cost.
        if keys.len() > 64 {
            return Err(Refused);
        }
        let name = self.tree.at(key).as_str();
        if keys.iter().any(|&known| self.tree.at(known).as_str() == name) { Err(Refused) } else { Ok(()) }
    }

    /// Reads the value behind a key or a dash at the end of its line: a deeper block, a sequence at the key's own
    /// indent, or null.
    fn nested_value(&mut self, indent: usize, depth: usize, key: Option<NodeId>) -> Read<NodeId> {
        self.end_of_line()?;
        match self.peek_line() {
            Some(line) if line.indent > indent => {
                if !self.begins_collection(line)? {
                    return Err(Refused);
                }
                self.block(line, depth + 1)
            }
            Some(line)
                if key.is_some()
                    && line.indent == indent
                    && self.byte(line.start) == b'-'
                    && matches!(self.byte(line.start + 1), b' ' | b'\n') =>
            {
                self.block(line, depth + 1)
            }
            _ => {
                // An absent value has the place of the end of its key.
                let end = self.tree.at(key.ok_or(Refused)?).span().end as usize;
                Ok(self.tree.add(NodeValue::Null, Span::new(end, end)))
            }
        }
    }

    fn begins_collection(&mut self, line: Line) -> Read<bool> {
        if self.byte(line.start) == b'-' && matches!(self.byte(line.start + 1), b' ' | b'\n') {
            return Ok(true);
        }
        let saved = self.position;
        self.position = line.start;
        let key = self.at_key()?;
        self.position = saved;
        Ok(key)
    }

    /// Decides whether the position is at `key:`; does not move.
    fn at_key(&self) -> Read<bool> {
        let first = self.byte(self.position);
        if first == b'"' || first == b'\'' {
            let closing = self.closing_quote(self.position)?;
            return Ok(self.byte(closing + 1) == b':' && matches!(self.byte(closing + 2), b' ' | b'\n'));
        }
        if matches!(first, b'[' | b'{') {
            return Ok(false);
        }
        let mut cursor = self.position;
        while cursor < self.bytes.len() {
            match self.byte(cursor) {
                b'\n' => return Ok(false),
                b':' if matches!(self.byte(cursor + 1), b' ' | b'\n') => return Ok(true),
                b'#' if cursor > self.position && self.byte(cursor - 1) == b' ' => return Ok(false),
                _ => cursor += 1,
            }
        }
        Ok(false)
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Read<NodeId> {
        let start = self.position;
        let key = if matches!(self.byte(start), b'"' | b'\'') {
            self.quoted()?
        } else {
            let mut end = start;
            while matches!(self.byte(end), b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'/' | b'$')
                || (self.byte(end) == b'-' && end > start)
            {
                end += 1;
            }
            let name = self.text.get(start..end).filter(|name| !name.is_empty()).ok_or(Refused)?;
            if scalar::resolve(name) != Plain::Str {
                return Err(Refused);
            }
            self.position = end;
            self.tree.add_string(name, Span::new(start, end))
        };
        if self.byte(self.position) != b':'
            || !matches!(self.byte(self.position + 1), b' ' | b'\n')
            || self.position - start > 1000
        {
            return Err(Refused);
        }
        self.position += 1;
        Ok(key)
    }

    /// Reads a scalar or a flow collection up to the end of the line.
    fn inline_value(&mut self, indent: usize, depth: usize) -> Read<NodeId> {
        let value = match self.byte(self.position) {
            b'"' | b'\'' => self.quoted()?,
            b'[' | b'{' => self.flow(depth + 1)?,
            _ => self.plain_line()?,
        };
        self.end_of_line()?;
        // A deeper line would continue a scalar, or be wrong.
        match self.peek_line() {
            Some(line) if line.indent > indent => Err(Refused),
            _ => Ok(value),
        }
    }

    /// Reads a plain scalar up to the end of its line or a comment.
    fn plain_line(&mut self) -> Read<NodeId> {
        let start = self.position;
        self.plain_start(start)?;
        let mut end = start;
        let mut cursor = start;
        while cursor < self.bytes.len() {
            match self.byte(cursor) {
                b'\n' => break,
                b':' if matches!(self.byte(cursor + 1), b' ' | b'\n') => return Err(Refused),
                b' ' if self.byte(cursor + 1) == b'#' => break,
                b' ' => {}
                _ => end = cursor + 1,
            }
            cursor += 1;
        }
        self.position = cursor;
        self.plain(start, end)
    }

    fn plain_start(&self, start: usize) -> Read<()> {
        match self.byte(start) {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'+' | b'$' | b'(' | b'~' | b'^' => Ok(()),
            b'-' if self.byte(start + 1).is_ascii_alphanumeric() || self.byte(start + 1) == b'.' => Ok(()),
            _ => Err(Refused),
        }
    }

    fn plain(&mut self, start: usize, end: usize) -> Read<NodeId> {
        let text = self.text.get(start..end).filter(|text| !text.is_empty()).ok_or(Refused)?;
        // `...` at the start of a line ends a document; leave such texts to the full reader.
        if text.starts_with("...") {
            return Err(Refused);
        }
        let value = match scalar::resolve(text) {
            Plain::Null => NodeValue::Null,
            Plain::Bool(truth) => NodeValue::Bool(truth),
            Plain::Int(number) => NodeValue::Int(number),
            Plain::Float(number) => NodeValue::Float(number),
            Plain::NotFinite => return Err(Refused),
            Plain::Str => self.tree.intern(text),
        };
        Ok(self.tree.add(value, Span::new(start, end)))
    }

    /// Returns the position of the closing quote for the quote at `opening`, on the same line.
    fn closing_quote(&self, opening: usize) -> Read<usize> {
        let quote = self.byte(opening);
        let mut cursor = opening + 1;
        loop {
            match self.bytes.get(cursor) {
                None | Some(b'\n') => return Err(Refused),
                Some(b'\\') if quote == b'"' => cursor += 2,
                Some(&byte) if byte == quote => {
                    if quote == b'\'' && self.byte(cursor + 1) == b'\'' {
                        cursor += 2;
                    } else {
                        return Ok(cursor);
                    }
                }
                Some(_) => cursor += 1,
            }
        }
    }

    /// Reads a quoted scalar; leaves the position behind its closing quote.
    fn quoted(&mut self) -> Read<NodeId> {
        let opening = self.position;
        if let Some(node) = self.double_quoted_without_escapes(opening) {
            return Ok(node);
        }
        let closing = self.closing_quote(opening)?;
        let inner = self.text.get(opening + 1..closing).ok_or(Refused)?;
        let span = Span::new(opening, closing + 1);
        self.position = closing + 1;
        if self.byte(opening) == b'\'' {
            return Ok(if inner.contains('\'') {
                self.tree.add_string(&inner.replace("''", "'"), span)
            } else {
                self.tree.add_string(inner, span)
            });
        }
        if !inner.contains('\\') {
            return Ok(self.tree.add_string(inner, span));
        }
        let decoded = unescape(inner)?;
        Ok(self.tree.add_string(&decoded, span))
    }

    /// Reads a double-quoted scalar without escapes in one pass, the common form in templates.
    fn double_quoted_without_escapes(&mut self, opening: usize) -> Option<NodeId> {
        let rest = self.bytes.get(opening + 1..).filter(|_| self.byte(opening) == b'"')?;
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n'))?;
        if rest.get(length) != Some(&b'"') {
            return None;
        }
        let closing = opening + 1 + length;
        let inner = self.text.get(opening + 1..closing)?;
        self.position = closing + 1;
        Some(self.tree.add_string(inner, Span::new(opening, closing + 1)))
    }

    /// Reads a flow collection on one line; leaves the position behind its closing bracket.
    fn flow(&mut self, depth: usize) -> Read<NodeId> {
        if depth >= MAXIMUM_DEPTH {
            return Err(Refused);
        }
        let start = self.position;
        let is_map = self.byte(start) == b'{';
        let closing = if is_map { b'}' } else { b']' };
        let span = Span::new(start, start + 1);
        let id = if is_map { self.tree.add_map(span) } else { self.tree.add_seq(span) };
        let mut children = Chain::new();
        let mut keys: Vec<NodeId> = Vec::new();
        self.position += 1;
        loop {
            self.spaces();
            if self.byte(self.position) == closing {
                break;
            }
            if is_map {
                let key = self.flow_scalar()?;
                if self.tree.at(key).as_str().is_none()
                    || self.byte(self.position) != b':'
                    || self.byte(self.position + 1) != b' '
                {
                    return Err(Refused);
                }
                self.refuse_duplicate(&keys, key)?;
                keys.push(key);
                self.position += 1;
                self.spaces();
                children.push(self.tree, key);
            }
            let value = match self.byte(self.position) {
                b'[' | b'{' => self.flow(depth + 1)?,
                _ => self.flow_scalar()?,
            };
            children.push(self.tree, value);
            self.spaces();
            match self.byte(self.position) {
                b',' => self.position += 1,
                byte if byte == closing => {}
                _ => return Err(Refused),
            }
        }
        self.position += 1;
        self.tree.set(id, if is_map { children.entries() } else { children.items() });
        self.tree.set_span_end(id, Span::new(0, self.position).end);
        Ok(id)
    }

    fn flow_scalar(&mut self) -> Read<NodeId> {
        let start = self.position;
        if matches!(self.byte(start), b'"' | b'\'') {
            return self.quoted();
        }
        self.plain_start(start)?;
        let is_word = |byte: u8| matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'/' | b'-' | b'+' | b'~');
        let mut end = start;
        // A colon in the middle of a word is a part of it, such as in `oidc:team`.
        while is_word(self.byte(end)) || end > start && self.byte(end) == b':' && is_word(self.byte(end + 1)) {
            end += 1;
        }
        self.position = end;
        if !matches!(self.byte(end), b',' | b']' | b'}' | b' ' | b':') {
            return Err(Refused);
        }
        self.plain(start, end)
    }

    fn spaces(&mut self) {
        while self.byte(self.position) == b' ' && self.position < self.bytes.len() {
            self.position += 1;
        }
    }

    /// Moves to the next line; only blanks and a comment may be left on this one.
    fn end_of_line(&mut self) -> Read<()> {
        let before = self.position;
        self.spaces();
        match self.bytes.get(self.position) {
            None => Ok(()),
            Some(b'\n') => {
                self.position += 1;
                Ok(())
            }
            Some(b'#') if self.position > before || self.position == 0 || self.byte(self.position - 1) == b' ' => {
                self.position = (self.line_end(self.position) + 1).min(self.bytes.len());
                Ok(())
            }
            Some(_) => Err(Refused),
        }
    }
}

/// Decodes the escapes of JSON.
pub(super) fn unescape(inner: &str) -> Read<String> {
    let mut decoded = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            decoded.push(character);
            continue;
        }
        decoded.push(match characters.next().ok_or(Refused)? {
            '"' => '"',
            '\\' => '\\',
            '/' => '/',
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let digits: String = characters.by_ref().take(4).collect();
                if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err(Refused);
                }
                u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).ok_or(Refused)?
            }
            _ => return Err(Refused),
        });
    }
    Ok(decoded)
}
