//! Object ids: the hash of the kind, the size and the content of an object.
//!
//! An equal id is taken for equal content, so SHA-1 is computed with collision detection, as git computes it: a content that
//! belongs to a known kind of collision attack has no id. `Documentation/technical/hash-function-transition.adoc` in git 2.52
//! describes both formats.

use std::fmt;

use sha1_checked::Sha1;
use sha2::{Digest as _, Sha256};

/// The object format of a repository, by its setting `extensions.objectFormat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// Ids of 20 bytes.
    Sha1,
    /// Ids of 32 bytes.
    Sha256,
}

/// The kinds of objects that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitObjectKind {
    /// The content of a file, or the target of a link.
    Blob,
    /// A state of the repository: its tree and its parents.
    Commit,
    /// The entries of a folder.
    Tree,
}

/// The id of an object. The format of the repository decides how many of the bytes count; the others are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GitObjectId {
    is_long: bool,
    bytes: [u8; ObjectFormat::LONGEST],
}

/// A content that a SHA-1 collision attack has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its bytes are part of a SHA-1 collision")]
pub struct CollisionError;

impl ObjectFormat {
    /// The bytes of the longest id.
    const LONGEST: usize = 32;

    /// Returns the number of bytes of an id.
    pub fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => Self::LONGEST,
        }
    }

    /// Computes the id of an object.
    ///
    /// # Errors
    /// When a SHA-1 collision is detected.
    ///
    /// # Examples
    /// ```
    /// use bailiwick_git::{ObjectFormat, GitObjectKind};
    /// // `git hash-object -t blob /dev/null`
    /// let id = ObjectFormat::Sha1.id(GitObjectKind::Blob, b"")?;
    /// assert_eq!(id.to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    /// # Ok::<(), bailiwick_git::CollisionError>(())
    /// ```
    pub fn id(self, kind: GitObjectKind, content: &[u8]) -> Result<GitObjectId, CollisionError> {
        let header = format!("{kind} {}\0", content.len());
        self.hash(&[header.as_bytes(), content])
    }

    /// Computes the hash of some bytes.
    fn hash(self, parts: &[&[u8]]) -> Result<GitObjectId, CollisionError> {
        let mut bytes = [0; Self::LONGEST];
        match self {
            Self::Sha1 => {
                let mut hash = Sha1::new();
                parts.iter().for_each(|part| sha1_checked::Digest::update(&mut hash, part));
                let found = hash.try_finalize();
                if found.has_collision() {
                    return Err(CollisionError);
                }
                bytes.iter_mut().zip(found.hash()).for_each(|(byte, hashed)| *byte = *hashed);
            }
            Self::Sha256 => {
                let mut hash = Sha256::new();
                parts.iter().for_each(|part| hash.update(part));
                bytes.copy_from_slice(&hash.finalize());
            }
        }
        Ok(GitObjectId { is_long: self == Self::Sha256, bytes })
    }
}

impl GitObjectId {
    /// Returns the id with these bytes; none if no format has as many.
    pub fn from_bytes(id: &[u8]) -> Option<Self> {
        let is_long = id.len() == ObjectFormat::Sha256.length();
        if !is_long && id.len() != ObjectFormat::Sha1.length() {
            return None;
        }
        let mut bytes = [0; ObjectFormat::LONGEST];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(Self { is_long, bytes })
    }

    /// Returns the bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.format().length()).map_or(&[], |bytes| bytes)
    }

    /// Reads an id in hexadecimal digits, as git prints it; none for another text.
    pub fn parse(text: &str) -> Option<Self> {
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
        Self::from_bytes(&bytes?)
    }

    /// Returns the format of the id.
    pub fn format(&self) -> ObjectFormat {
        if self.is_long { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 }
    }
}

impl fmt::Display for GitObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Display for GitObjectKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Blob => "blob",
            Self::Commit => "commit",
            Self::Tree => "tree",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 320 bytes of the first file of the collision of 2017, up to the end of the two blocks that collide.
    const COLLISION: [&str; 10] = [
        "255044462d312e330a25e2e3cfd30a0a0a312030206f626a0a3c3c2f57696474",
        "682032203020522f4865696768742033203020522f547970652034203020522f",
        "537562747970652035203020522f46696c7465722036203020522f436f6c6f72",
        "53706163652037203020522f4c656e6774682038203020522f42697473506572",
        "436f6d706f6e656e7420383e3e0a73747265616d0affd8fffe00245348412d31",
        "20697320646561642121212121852fec092339759c39b1a1c63c4c97e1fffe01",
        "7346dc9166b67e118f029ab621b2560ff9ca67cca8c7f85ba84c79030c2b3de2",
        "18f86db3a90901d5df45c14f26fedfb3dc38e96ac22fe7bd728f0e45bce046d2",
        "3c570feb141398bb552ef5a0a82be331fea48037b8b5d71f0e332edf93ac3500",
        "eb4ddc0decc1a864790c782c76215660dd309791d06bd0af3f98cda4bc4629b1",
    ];

    #[test]
    fn a_collision_has_no_id() {
        let text = COLLISION.concat();
        let (pairs, _) = text.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("a byte");
        let mut bytes: Vec<u8> = pairs.iter().map(byte).collect();
        assert_eq!(ObjectFormat::Sha1.hash(&[&bytes]), Err(CollisionError));
        assert_eq!(ObjectFormat::Sha1.hash(&[&bytes, b"more"]), Err(CollisionError), "with any end");
        assert!(ObjectFormat::Sha256.hash(&[&bytes]).is_ok());
        bytes[300] ^= 1;
        assert!(ObjectFormat::Sha1.hash(&[&bytes]).is_ok());
    }

    #[test]
    fn ids_are_the_ids_of_git() {
        // `printf 'kind: Role\n' | git hash-object --stdin`, in a repository of each format.
        for (format, id) in [
            (ObjectFormat::Sha1, "5429bb50d0780b5ace29ce820a4e13200e758a25"),
            (ObjectFormat::Sha256, "4f427619a4b44d4f2b0a985138a1e382bbbca1353121323963edeac374363841"),
        ] {
            let computed = format.id(GitObjectKind::Blob, b"kind: Role\n").expect("no collision");
            assert_eq!(computed.to_string(), id);
            assert_eq!(GitObjectId::parse(id), Some(computed));
            assert_eq!(GitObjectId::parse(&format!("{id}00")), None, "longer than an id");
            assert_eq!(GitObjectId::parse(&id.replace('4', "x")), None, "no digit");
        }
    }
}
