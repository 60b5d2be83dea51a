//! Archives whose bytes depend on their entries alone.

use std::io;

use flate2::{Compression, GzBuilder};

/// A file or a folder of an archive.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) path: String,
    /// The content of a file; none for a folder.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) mode: u32,
    /// The number of the user and of the group.
    pub(crate) owner: u64,
}

impl Entry {
    pub(crate) fn program(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes: Some(bytes), mode: 0o755, owner: 0 }
    }

    pub(crate) fn text(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes: Some(bytes), mode: 0o644, owner: 0 }
    }

    pub(crate) fn folder(path: impl Into<String>, mode: u32, owner: u64) -> Self {
        Self { path: path.into(), bytes: None, mode, owner }
    }
}

/// Returns a tar archive of the entries in their order. `time` is in seconds since 1970.
pub(crate) fn tarred(entries: &[Entry], time: u64) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for entry in entries {
        let bytes = entry.bytes.as_deref();
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(if bytes.is_some() { tar::EntryType::Regular } else { tar::EntryType::Directory });
        header.set_mode(entry.mode);
        header.set_mtime(time);
        header.set_uid(entry.owner);
        header.set_gid(entry.owner);
        let bytes = bytes.map_or(&[][..], |bytes| bytes);
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, &entry.path, bytes)?;
    }
    archive.into_inner()
}

/// Returns a compressed tar archive of the entries in their order.
pub(crate) fn gzipped(entries: &[Entry], time: u64) -> io::Result<Vec<u8>> {
    compressed(&tarred(entries, time)?)
}

/// Returns bytes in the form of gzip, without a time, a name and a system.
pub(crate) fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().operating_system(255).write(Vec::new(), Compression::best());
    io::Write::write_all(&mut gzip, bytes)?;
    gzip.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(time: u64) -> Vec<u8> {
        let program = Entry::program("bailiwick", b"program".to_vec());
        let folder = Entry::folder("workspace/", 0o755, 65_532);
        gzipped(&[program, Entry::text("man/a.1", b"page".to_vec()), folder], time).expect("an archive")
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        assert_eq!(packed(7), packed(7));
        assert_ne!(packed(7), packed(8));
    }

    #[test]
    fn entries_have_their_modes_owners_and_the_time() {
        let bytes = packed(7);
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let entries: Vec<(String, u32, u64, u64)> = archive
            .entries()
            .expect("entries")
            .map(|entry| {
                let entry = entry.expect("an entry");
                let header = entry.header();
                let path = entry.path().expect("a path").to_string_lossy().into_owned();
                let number = |value: io::Result<u64>| value.expect("a number");
                (path, header.mode().expect("a mode"), number(header.mtime()), number(header.uid()))
            })
            .collect();
        let expected = [("bailiwick", 0o755, 0), ("man/a.1", 0o644, 0), ("workspace/", 0o755, 65_532)];
        assert_eq!(entries, expected.map(|(path, mode, owner)| (path.to_owned(), mode, 7, owner)));
    }
}
