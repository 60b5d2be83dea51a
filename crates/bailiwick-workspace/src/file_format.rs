//! Files that this program writes for its own use: a mark for the type of the file, the version of its format, the
//! content, and a checksum over all of that. A file that is foreign, truncated, changed or of another version is
//! refused.

use std::fmt;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Length of the checksum at the end, in bytes.
const CHECKSUM: usize = size_of::<u64>();

/// A kind of such files.
#[derive(Debug, Clone, Copy)]
pub struct FileFormat {
    mark: &'static str,
    version: &'static str,
}

/// A value that cannot be encoded: the memory does not suffice, or its type does not fit the format.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct EncodeError(#[from] postcard::Error);

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// It does not begin with the mark.
    Foreign,
    /// It has another version.
    OtherVersion,
    /// It is shorter than any such file.
    TooShort,
    /// Its checksum does not fit.
    Changed,
    /// It holds something else.
    Unreadable(String),
}

impl FileFormat {
    /// A file that `bailiwick index` writes.
    pub const INDEX: Self = Self::new("bailiwick world", "\x04");

    /// Creates the format with a mark and a version. Neither is the beginning of another mark or version.
    pub const fn new(mark: &'static str, version: &'static str) -> Self {
        Self { mark, version }
    }

    /// Returns the number of bytes that identify a file of this format.
    pub const fn mark_length(self) -> usize {
        self.mark.len()
    }

    /// Returns whether a file has this format, in any version; its first [`FileFormat::mark_length`] bytes are enough.
    pub fn is_on(self, bytes: &[u8]) -> bool {
        bytes.starts_with(self.mark.as_bytes())
    }

    /// Returns the bytes of a file with a value.
    ///
    /// # Errors
    /// When the value cannot be encoded.
    pub fn close<T: Serialize>(self, value: &T) -> Result<Vec<u8>, EncodeError> {
        let head = [self.mark, self.version].concat().into_bytes();
        let mut bytes = postcard::to_extend(value, head)?;
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        Ok(bytes)
    }

    /// Writes a file with a value, a few bytes after the others: the bytes of [`FileFormat::close`].
    ///
    /// # Errors
    /// When the value cannot be encoded, or the file cannot be written.
    pub fn write<T: Serialize>(self, value: &T, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(Hashed { out, hash: Xxh3::new() });
        out.write_all(self.mark.as_bytes())?;
        out.write_all(self.version.as_bytes())?;
        postcard::to_io(value, &mut out).map_err(io::Error::other)?;
        let Hashed { out, hash } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.write_all(&hash.digest().to_le_bytes())
    }

    /// Reads the content of a file. The checksum detects accidents only: the caller checks that the values are
    /// consistent.
    ///
    /// # Errors
    /// The reason why the file cannot be used.
    pub fn open<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, Broken> {
        let rest = bytes.strip_prefix(self.mark.as_bytes()).ok_or(Broken::Foreign)?;
        let version = self.version.as_bytes();
        let other = if version.starts_with(rest) { Broken::TooShort } else { Broken::OtherVersion };
        let rest = rest.strip_prefix(version).ok_or(other)?;
        let (content, checksum) = rest.split_last_chunk::<CHECKSUM>().ok_or(Broken::TooShort)?;
        let checked = bytes.get(..bytes.len() - CHECKSUM).unwrap_or_default();
        if xxh3_64(checked).to_le_bytes() != *checksum {
            return Err(Broken::Changed);
        }
        let (value, behind) =
            postcard::take_from_bytes(content).map_err(|error| Broken::Unreadable(error.to_string()))?;
        if behind.is_empty() { Ok(value) } else { Err(Broken::Unreadable("there is more behind it".to_owned())) }
    }
}

/// A writer that computes the checksum of the written bytes.
struct Hashed<'w> {
    out: &'w mut dyn Write,
    hash: Xxh3,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        bytes.get(..written).into_iter().for_each(|written| self.hash.update(written));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl std::error::Error for Broken {}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Foreign => formatter.write_str("this program did not write it"),
            Broken::OtherVersion => formatter.write_str("it was written by another version of this program"),
            Broken::TooShort => formatter.write_str("it ends too early"),
            Broken::Changed => formatter.write_str("its checksum does not fit: it was cut off or changed"),
            Broken::Unreadable(why) => write!(formatter, "it cannot be read: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: FileFormat = FileFormat::new("a test\0", "1\n");

    #[test]
    fn what_was_closed_opens_and_nothing_else_does() {
        let value = (7_u32, "text".to_owned(), vec![1_u8; 40]);
        let bytes = FORMAT.close(&value).expect("room");
        let mut written = Vec::new();
        FORMAT.write(&value, &mut written).expect("room");
        assert_eq!(written, bytes);
        assert_eq!(FORMAT.open(&bytes), Ok(value));
        let open = |bytes: &[u8]| FORMAT.open::<(u32, String, Vec<u8>)>(bytes);
        for length in 0..bytes.len() {
            assert!(open(&bytes[..length]).is_err(), "{length} bytes");
        }
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 0x10;
            assert!(open(&changed).is_err(), "byte {position}");
        }
        assert_eq!(open(&[bytes.as_slice(), &[0]].concat()), Err(Broken::Changed));
    }

    #[test]
    fn it_tells_what_is_wrong() {
        let bytes = FORMAT.close(&"text").expect("room");
        let open = |bytes: &[u8]| FORMAT.open::<String>(bytes).expect_err("broken");
        assert_eq!(open(b"something else"), Broken::Foreign);
        assert_eq!(open(&FileFormat::new("a test\0", "2\n").close(&"text").expect("room")), Broken::OtherVersion);
        assert_eq!(open(&bytes[..8]), Broken::TooShort, "within the version");
        assert_eq!(open(&bytes[..12]), Broken::TooShort, "within the checksum");
        assert_eq!(open(&bytes[..bytes.len() - 1]), Broken::Changed);
        assert!(matches!(open(&FORMAT.close(&0xff_u8).expect("room")), Broken::Unreadable(_)));
        assert!(matches!(open(&FORMAT.close(&("text", 1_u8)).expect("room")), Broken::Unreadable(_)));
        assert!(FORMAT.is_on(&bytes[..FORMAT.mark_length()]) && !FORMAT.is_on(&bytes[1..]));
    }
}
