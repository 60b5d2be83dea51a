//! The texts behind the places of diagnostics.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use serde::{Deserialize, Serialize};

use super::Origin;
use crate::internal;

/// Names a registered text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct FileId(u32);

impl FileId {
    /// Returns the bare number, to write an id with serde.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns the id of a bare number; an unused number names the nameless empty text.
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// A text with the path it is known by.
pub struct SourceFile {
    path: String,
    text: OnceLock<HeldText>,
    blocks: OnceLock<Vec<Block>>,
    /// The source of a text that is not kept.
    load: Option<Loader>,
}

/// A text in memory: a copy would need the memory of the longest file once more.
pub enum HeldText {
    /// A text of this table alone.
    Own(String),
    /// A text that the source of the files keeps, too.
    Shared(Arc<str>),
}

impl HeldText {
    fn as_str(&self) -> &str {
        match self {
            Self::Own(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl From<String> for HeldText {
    fn from(text: String) -> Self {
        Self::Own(text)
    }
}

impl From<&str> for HeldText {
    fn from(text: &str) -> Self {
        Self::Own(text.to_owned())
    }
}

impl From<Arc<str>> for HeldText {
    fn from(text: Arc<str>) -> Self {
        Self::Shared(text)
    }
}

/// Gets a text when it is first asked for.
pub type Loader = Box<dyn Fn() -> String + Send + Sync>;

impl fmt::Debug for SourceFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SourceFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SourceFile {
    fn of(path: impl Into<String>, text: HeldText) -> Self {
        Self { path: path.into(), text: OnceLock::from(text), blocks: OnceLock::new(), load: None }
    }

    /// Returns the path, relative to the workspace, with forward slashes.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| self.load.as_ref().map_or_else(String::new, |load| load()).into()).as_str()
    }

    /// Loads the text of a file that is loaded on demand, and does not keep it. None for a text that is kept.
    pub fn load(&self) -> Option<String> {
        self.load.as_ref().filter(|_| self.text.get().is_none()).map(|load| load())
    }

    /// Returns the whole text for a single use: a text that is loaded on demand is not kept. Each call loads it anew.
    pub fn passing_text(&self) -> Cow<'_, str> {
        self.load().map_or_else(|| Cow::Borrowed(self.text()), Cow::Owned)
    }

    /// Returns line and column of a byte, both counted from 1; the column counts characters.
    ///
    /// The cost does not depend on the position: a file may have as many diagnostics as lines, or all in one line.
    pub fn line_column(&self, byte: u32) -> LineColumn {
        let text = self.text();
        let end = boundary_before(text, byte as usize);
        let (block, inside) = self.block_of(end);
        let line = block.line_feeds + inside.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let line_start = inside
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(block.line_start, |position| end - inside.len() + position + 1);
        let column = self.characters_before(end) - self.characters_before(line_start) + 1;
        LineColumn { line, column }
    }

    fn characters_before(&self, end: usize) -> usize {
        let (block, inside) = self.block_of(end);
        block.characters + inside.iter().filter(|&&byte| is_first(byte)).count()
    }

    /// Returns the position before the block of a byte, and the bytes of the block before it.
    fn block_of(&self, end: usize) -> (Block, &[u8]) {
        let text = self.text().as_bytes();
        let blocks = self.blocks.get_or_init(|| blocks(text));
        let start = end - end % BLOCK;
        let block = internal::value(blocks.get(end / BLOCK).copied(), "a position is behind the blocks of its text");
        (block, internal::items(text, start..end))
    }
}

/// Returns the last boundary between characters at or before a byte.
pub fn boundary_before(text: &str, byte: usize) -> usize {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// How many bytes a block has.
const BLOCK: usize = 1024;

/// The position before a block of a text.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    line_feeds: usize,
    characters: usize,
    /// The first byte of the line across the beginning of the block.
    line_start: usize,
}

fn blocks(text: &[u8]) -> Vec<Block> {
    let mut next = Block::default();
    let mut blocks = vec![next];
    for (index, block) in text.chunks(BLOCK).enumerate() {
        next.line_feeds += block.iter().filter(|&&byte| byte == b'\n').count();
        next.characters += block.iter().filter(|&&byte| is_first(byte)).count();
        if let Some(position) = block.iter().rposition(|&byte| byte == b'\n') {
            next.line_start = index * BLOCK + position + 1;
        }
        blocks.push(next);
    }
    blocks
}

/// Whether a byte is the first of a character in UTF-8.
fn is_first(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// A position for people, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: usize,
    /// Column in characters.
    pub column: usize,
}

/// All texts with places of diagnostics. Threads may add texts; no text is removed.
#[derive(Debug)]
pub struct Files {
    list: RwLock<Vec<Arc<SourceFile>>>,
    nameless: Arc<SourceFile>,
}

impl Default for Files {
    fn default() -> Self {
        Self::new()
    }
}

impl Files {
    /// Creates a table with one nameless empty text, the text of [`FileId::default`].
    pub fn new() -> Self {
        let nameless = Arc::new(SourceFile::of("", "".into()));
        Self { list: RwLock::new(vec![Arc::clone(&nameless)]), nameless }
    }

    /// Registers a text.
    pub fn add(&self, path: impl Into<String>, text: impl Into<HeldText>) -> FileId {
        self.push(SourceFile::of(path, text.into()))
    }

    /// Registers a text that is loaded on demand and not kept, for inputs with few printed places.
    pub fn add_loaded(&self, path: impl Into<String>, load: Loader) -> FileId {
        self.push(SourceFile { path: path.into(), text: OnceLock::new(), blocks: OnceLock::new(), load: Some(load) })
    }

    fn push(&self, file: SourceFile) -> FileId {
        let file = Arc::new(file);
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        list.push(file);
        FileId(internal::number(list.len() - 1))
    }

    /// Returns the list. A thread that panicked has left it whole: its one change is an addition at the end.
    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<SourceFile>>> {
        self.list.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of texts.
    pub fn count(&self) -> usize {
        self.read().len()
    }

    /// Returns the ids of the present texts.
    pub fn ids(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..self.count()).filter_map(|number| u32::try_from(number).ok().map(FileId))
    }

    /// Returns the path of every text, in the order of their ids.
    pub fn paths(&self) -> Vec<String> {
        let list = self.read();
        list.iter().map(|file| file.path().to_owned()).collect()
    }

    /// Returns a hash of every path and text, in the order of their ids. Runs with the same hash have the same ids.
    pub fn digest(&self) -> [u8; 32] {
        let list = self.read().clone();
        let mut hasher = blake3::Hasher::new();
        for file in &list {
            for text in [file.path(), file.text()] {
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
            }
        }
        hasher.finalize().into()
    }

    /// Whether a place is a part of a registered text.
    pub fn has(&self, place: Origin) -> bool {
        let (start, end) = (place.span.start as usize, place.span.end as usize);
        (place.file.0 as usize) < self.count() && self.get(place.file).text().get(start..end).is_some()
    }

    /// Returns the text of an id.
    pub fn get(&self, id: FileId) -> Arc<SourceFile> {
        match self.read().get(id.0 as usize) {
            Some(file) => Arc::clone(file),
            None => Arc::clone(&self.nameless),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_not_bytes() {
        let files = Files::new();
        let id = files.add("a.yaml", "é: x\nname: ü!\n");
        let at = files.get(id).line_column(15);
        assert_eq!((at.line, at.column), (2, 9));
    }

    #[test]
    fn a_passing_text_is_not_kept() {
        let files = Files::new();
        let file = files.get(files.add_loaded("a.csv", Box::new(|| "name\n".to_owned())));
        assert_eq!((&*file.passing_text(), file.load().as_deref()), ("name\n", Some("name\n")));
        assert_eq!((file.text(), file.load(), &*file.passing_text()), ("name\n", None, "name\n"));
    }

    #[test]
    fn places_are_the_same_in_every_block() {
        let text: String =
            (0..400).map(|line| "é".repeat(line % 40) + if line % 7 == 0 { "\n" } else { "-" }).collect();
        let files = Files::new();
        let file = files.get(files.add("a.yaml", text.as_str()));
        for (byte, _) in text.char_indices() {
            let before = text.get(..byte).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            assert_eq!(file.line_column(byte as u32), LineColumn { line, column }, "{byte}");
        }
    }
}
