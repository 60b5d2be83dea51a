//! The reader of a long list in JSON, as `kubectl get -o json` prints it: item by item, in the memory of the longest item.
//!
//! A text of another form is refused, also behind its first items: then the items do not count, and [`super::read`] reads the text
//! from the start.
//!
//! INVARIANT: for an accepted text, [`super::read`] returns a list with these items at the same places.

use std::collections::BTreeSet;
use std::io;

use super::fast::{Read, Refused};
use super::json_text::{self, LENGTH_REFUSED};
use super::tree::{NodeRef, Tree};
use crate::diag::FileId;

/// How many bytes are read at a time.
const CHUNK: usize = 1 << 18;

/// How many collections are around an item.
const ITEM_DEPTH: usize = 2;

/// The fields of the metadata of a list that ends before its last object.
const PAGE_FIELDS: [&str; 2] = ["continue", "remainingItemCount"];

/// The form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListForm {
    /// One list in JSON: its items were visited.
    Items,
    /// Another form: the visited items do not count.
    Other,
}

/// Reads a text as one JSON object whose `kind` ends with `List`, and visits each of its `items`, the one document of a tree. The
/// visitor returns false for an item that it refuses: then the text is of another form.
///
/// # Errors
/// When the input cannot be read.
pub fn each_item(input: &mut dyn io::Read, file: FileId, visit: &mut dyn FnMut(&Tree) -> bool) -> io::Result<ListForm> {
    let mut reader =
        ListReader { input, window: Vec::new(), position: 0, before: 0, tree: Tree::new(file), visit, failed: None };
    let read = reader.list();
    match (reader.failed, read) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(ListForm::Items),
        (None, Err(Refused)) => Ok(ListForm::Other),
    }
}

/// A text of which a part is in memory.
struct ListReader<'r> {
    input: &'r mut dyn io::Read,
    /// The part in memory, and the position in it.
    window: Vec<u8>,
    position: usize,
    /// How many bytes of the text are before the window.
    before: usize,
    /// The tree of the present item.
    tree: Tree,
    visit: &'r mut dyn FnMut(&Tree) -> bool,
    failed: Option<io::Error>,
}

impl ListReader<'_> {
    fn list(&mut self) -> Read<()> {
        self.expect(b'{')?;
        let (mut keys, mut is_list, mut has_items) = (BTreeSet::new(), false, false);
        loop {
            self.blank()?;
            let key = self.value_end()?;
            let text = self.text(key)?;
            if text.contains('\\') || !keys.insert(text.to_owned()) {
                return Err(Refused);
            }
            if text == "\"items\"" {
                has_items = true;
                self.position = key;
                self.expect(b':')?;
                self.blank()?;
                self.items()?;
            } else {
                is_list |= self.entry(key)?;
            }
            self.blank()?;
            if self.byte()? != Some(b',') {
                break;
            }
            self.position += 1;
        }
        self.expect(b'}')?;
        self.blank()?;
        if self.byte()?.is_none() && is_list && has_items { Ok(()) } else { Err(Refused) }
    }

    /// Reads an entry beside the items whose key ends at a position. Returns whether it states the kind of a list.
    fn entry(&mut self, key_end: usize) -> Read<bool> {
        let start = std::mem::replace(&mut self.position, key_end);
        self.expect(b':')?;
        self.blank()?;
        let end = self.value_end()?;
        self.position = start;
        let entry = format!("{{{}}}", self.text(end)?);
        self.position = end;
        self.tree.clear();
        json_text::read(&entry, &mut self.tree)?;
        let root = self.tree.document(0).ok_or(Refused)?;
        // One entry, and not a text with a brace of its own.
        if root.len() != 1 || self.tree.documents().count() != 1 {
            return Err(Refused);
        }
        // The reader of whole texts reads such a list whole, with the number of the missing objects.
        let is_page = |metadata: NodeRef<'_>| PAGE_FIELDS.iter().any(|field| metadata.get(field).is_some());
        if root.get("metadata").is_some_and(is_page) {
            return Err(Refused);
        }
        Ok(root.text_at("kind").ends_with("List"))
    }

    fn items(&mut self) -> Read<()> {
        self.expect(b'[')?;
        self.blank()?;
        if self.byte()? == Some(b']') {
            self.position += 1;
            return Ok(());
        }
        loop {
            self.forget();
            if self.byte()? != Some(b'{') {
                return Err(Refused);
            }
            let end = self.value_end()?;
            self.tree.clear();
            let item = self.window.get(self.position..end).ok_or(Refused)?;
            let item = std::str::from_utf8(item).map_err(|_| Refused)?;
            json_text::read_part(item, self.before + self.position, ITEM_DEPTH, &mut self.tree)?;
            if !(self.visit)(&self.tree) {
                return Err(Refused);
            }
            self.position = end;
            self.blank()?;
            match self.byte()? {
                Some(b',') => self.position += 1,
                Some(b']') => break,
                _ => return Err(Refused),
            }
            self.blank()?;
        }
        self.position += 1;
        Ok(())
    }

    /// Returns the end of the string, collection or word at the position. Its content is not looked at.
    fn value_end(&mut self) -> Read<usize> {
        let (mut cursor, mut depth, mut is_in_string) = (self.position, 0_usize, false);
        loop {
            let Some(byte) = self.at(cursor)? else { return Err(Refused) };
            cursor += 1;
            match byte {
                b'\\' if is_in_string => cursor += 1,
                b'"' => {
                    is_in_string = !is_in_string;
                    if !is_in_string && depth == 0 {
                        return Ok(cursor);
                    }
                }
                _ if is_in_string => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' | b',' | b' ' | b'\n' if depth == 0 => return Ok(cursor - 1),
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(cursor);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the text between the position and an end.
    fn text(&self, end: usize) -> Read<&str> {
        let bytes = self.window.get(self.position..end).ok_or(Refused)?;
        std::str::from_utf8(bytes).map_err(|_| Refused)
    }

    /// Skips blanks and line feeds, as the reader of whole texts does.
    fn blank(&mut self) -> Read<()> {
        while matches!(self.byte()?, Some(b' ' | b'\n')) {
            self.position += 1;
        }
        Ok(())
    }

    /// Skips a byte, and refuses any other one.
    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.byte()? != Some(byte) {
            return Err(Refused);
        }
        self.position += 1;
        Ok(())
    }

    /// Returns the byte at the position; none at the end of the text.
    fn byte(&mut self) -> Read<Option<u8>> {
        self.at(self.position)
    }

    /// Returns a byte of the window; none behind the end of the text.
    fn at(&mut self, index: usize) -> Read<Option<u8>> {
        while self.window.len() <= index {
            if !self.fill()? {
                return Ok(None);
            }
        }
        Ok(self.window.get(index).copied())
    }

    /// Reads more of the text into the window; false at its end.
    fn fill(&mut self) -> Read<bool> {
        let known = self.window.len();
        let read = io::Read::read_to_end(&mut io::Read::take(&mut *self.input, CHUNK as u64), &mut self.window);
        if let Err(error) = read {
            self.failed = Some(error);
            return Err(Refused);
        }
        if self.before + self.window.len() >= LENGTH_REFUSED {
            return Err(Refused);
        }
        Ok(self.window.len() > known)
    }

    /// Forgets the read part of the window, if it is long.
    fn forget(&mut self) {
        if self.position >= CHUNK {
            self.window.drain(..self.position);
            self.before += self.position;
            self.position = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Sink;
    use crate::schema::to_json;

    /// Returns the items of a text with their places, read in small pieces; none for another form.
    fn items(text: &[u8]) -> Option<Vec<String>> {
        /// Gives one byte at a time.
        struct Slow<'s>(&'s [u8]);
        impl io::Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = buffer.len().min(1);
                io::Read::read(&mut self.0, buffer.get_mut(..length).unwrap_or_default())
            }
        }
        let mut found = Vec::new();
        let form = each_item(&mut Slow(text), FileId::default(), &mut |tree| {
            found.extend(tree.documents().map(|item| format!("{:?} {}", item.span(), to_json(item))));
            true
        });
        (form.expect("bytes in memory") == ListForm::Items).then_some(found)
    }

    /// Returns the items of a text by the reader of whole texts.
    fn items_of_whole(text: &str) -> Vec<String> {
        let tree = crate::read(text, FileId::default(), &mut Sink::new());
        let items = tree.document(0).and_then(|root| root.get("items")).expect("items");
        items.items().map(|item| format!("{:?} {}", item.span(), to_json(item))).collect()
    }

    #[test]
    fn items_are_as_in_the_whole_text() {
        let texts = [
            r#"{"apiVersion": "v1", "items": [{"a": 1}, {"b": [{"c": "]}\"é"}]}], "kind": "List", "metadata": {"x": "}"}}"#,
            "{\"kind\":\"RoleList\",\"items\":[\n {\"a\":{\"b\":null}}\n ]}\n",
            r#"{"items": [], "kind": "List"}"#,
        ];
        for text in texts {
            assert_eq!(items(text.as_bytes()), Some(items_of_whole(text)), "{text}");
        }
        let long = format!(r#"{{"items": [{}], "kind": "List"}}"#, vec![r#"{"a": "b"}"#; CHUNK / 3].join(", "));
        assert_eq!(items(long.as_bytes()), Some(items_of_whole(&long)));
    }

    /// A text that the reader of JSON refuses, or that has more than its items, is never read in part.
    #[test]
    fn other_texts_are_refused() {
        let refused: [&[u8]; 23] = [
            b"",
            b"{",
            b"{}",
            b" {\"items\": [], \"kind\": \"List\"}",
            b"{\"items\": [], \"kind\": \"Pod\"}",
            b"{\"items\": []}",
            b"{\"kind\": \"List\"}",
            b"{\"items\": null, \"kind\": \"List\"}",
            b"{\"items\": [1], \"kind\": \"List\"}",
            b"{\"items\": [{\"a\": 1},], \"kind\": \"List\"}",
            b"{\"items\": [{\"a\": 1, \"a\": 2}], \"kind\": \"List\"}",
            b"{\"items\": [{\"a\": 1]}], \"kind\": \"List\"}",
            b"{\"items\": [{\"a\": \"\xff\"}], \"kind\": \"List\"}",
            b"{\"items\": [{\"a\": 1}], \"items\": [], \"kind\": \"List\"}",
            b"{\"items\": [{\"a\": 1}], \"it\\u0065ms\": [], \"kind\": \"List\"}",
            b"{\"items\": [{\"a\": 1}], \"kind\": \"List\", \"kind\": \"Pod\"}",
            b"{\"items\": [{\"a\": 1}], \"kind\": \"List\"} {\"kind\": \"Pod\"}",
            b"{\"items\": [{\"a\": 1}], \"kind\": \"List\"}\n---\na: b\n",
            b"{\"items\": [{\"a\": 1}] \"kind\": \"List\"}",
            b"{\"items\": [{\"a\": 1}], \"kind\": \"List\", \"a\" : 1}",
            b"{\"items\": [{\"a\": 1}], \"kind\": \"List\", \"a\": x}",
            b"{\"items\": [{\"a\": 1}], \"kind\": \"List\", \"metadata\": {\"continue\": \"a\"}}",
            b"{\"metadata\": {\"remainingItemCount\": 1}, \"items\": [{\"a\": 1}], \"kind\": \"List\"}",
        ];
        for text in refused {
            assert_eq!(items(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
