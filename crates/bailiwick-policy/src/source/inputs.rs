//! The files that the options of a run name: on disk, or in memory.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, FileId, Files, Origin, RunError, Sink, Span};
use bailiwick_yaml::limits::{MAXIMUM_FILE_SIZE, MAXIMUM_PATH_LINKS};

use super::manifests::{self, FileFilter};
use super::named::check_git;
use super::{
    DiskSource, FileContent, FileSource, Listing, MemorySource, NamedFile, ReadRefusal, decode, refused, text_of,
};

/// The files of a run, by paths from the folder in which the run starts.
#[derive(Debug, Clone, Default)]
pub enum InputFiles {
    /// The files of the system.
    #[default]
    Disk,
    /// Files in memory. Nothing outside of them exists.
    Memory(Arc<MemorySource>),
}

impl InputFiles {
    /// Whether a path is a folder.
    pub fn is_folder(&self, path: &Path) -> bool {
        match self {
            Self::Disk => path.is_dir(),
            Self::Memory(files) => key(path).is_some_and(|key| key.is_empty() || files.has_folder(&key)),
        }
    }

    /// Whether there is a file or a folder at a path.
    pub fn has(&self, path: &Path) -> bool {
        match self {
            Self::Disk => path.exists(),
            Self::Memory(files) => self.is_folder(path) || key(path).is_some_and(|key| files.has_file(&key)),
        }
    }

    /// Returns the manifest files at a path: the file itself, or those below the folder that the filter reads. Hidden files are left out, and
    /// no link leaves the folder.
    ///
    /// # Errors
    /// When there is nothing at the path, or a folder cannot be listed.
    pub fn find(&self, path: &Path, filter: &FileFilter) -> Result<FoundFiles, RunError> {
        let named = |source: Option<Arc<dyn FileSource>>, prefix: String| FoundFiles {
            path: path.to_owned(),
            source,
            prefix,
            files: vec![String::new()],
            is_folder: false,
            unread: Vec::new(),
            hidden: Vec::new(),
        };
        let (source, prefix): (Arc<dyn FileSource>, String) = match self {
            Self::Disk => {
                let failed = |error: io::Error| RunError::io("read", path, &error);
                check_git(path).map_err(failed)?;
                if !std::fs::metadata(path).map_err(failed)?.is_dir() {
                    return Ok(named(None, String::new()));
                }
                (Arc::new(DiskSource::shown_as(path, path)), String::new())
            }
            Self::Memory(files) => {
                let files = Arc::clone(files);
                match key(path).filter(|_| self.has(path)) {
                    None => return Err(absent(path)),
                    Some(key) if !self.is_folder(path) => return Ok(named(Some(files), key)),
                    Some(key) if key.is_empty() => (files, key),
                    Some(key) => (files, format!("{key}/")),
                }
            }
        };
        let Listing { mut files, mut refused, mut hidden } = source.list(prefix.trim_end_matches('/'))?;
        let below = |path: &mut String| _ = path.drain(..prefix.len());
        files.iter_mut().chain(&mut hidden).for_each(below);
        refused.iter_mut().for_each(|(path, _)| below(path));
        hidden.extend(files.iter().filter_map(|path| hidden_entry(path)));
        hidden.retain(|path| filter.hides(path));
        hidden.sort();
        hidden.dedup();
        files.retain(|file| filter.finds(Path::new(file)));
        refused.retain(|(path, _)| filter.can_miss(Path::new(path)));
        files.sort_by(|left, right| Path::new(left).cmp(Path::new(right)));
        Ok(FoundFiles {
            path: path.to_owned(),
            source: Some(source),
            prefix,
            files,
            is_folder: true,
            unread: refused,
            hidden,
        })
    }

    /// Returns the bytes of a file in memory; none for a path without a file, and for the files of the system.
    pub fn bytes_in_memory(&self, path: &Path) -> Option<Vec<u8>> {
        match self {
            Self::Disk => None,
            Self::Memory(files) => bytes(files, path),
        }
    }
}

/// Returns the path up to its first hidden file or folder, a folder with a slash at the end; none if nothing is hidden.
fn hidden_entry(path: &str) -> Option<String> {
    let start = if path.starts_with('.') { 0 } else { path.find("/.")? + 1 };
    let entry = match path.get(start..)?.find('/') {
        Some(slash) => path.get(..=start + slash)?,
        None => path,
    };
    Some(entry.to_owned())
}

/// The manifest files at a path.
pub struct FoundFiles {
    path: PathBuf,
    /// The files of a folder, or of memory; none for a file of the command line.
    source: Option<Arc<dyn FileSource>>,
    /// The start of the paths in the source.
    prefix: String,
    /// The paths below the folder, sorted; one empty path for a file.
    files: Vec<String>,
    is_folder: bool,
    /// The links without a reader, with the reasons.
    unread: Vec<(String, ReadRefusal)>,
    /// The hidden files and folders below the folder.
    hidden: Vec<String>,
}

impl FoundFiles {
    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether the path is a folder.
    pub fn is_folder(&self) -> bool {
        self.is_folder
    }

    /// Returns the path of a file.
    pub fn path(&self, position: usize) -> PathBuf {
        match self.files.get(position).filter(|below| !below.is_empty()) {
            Some(below) => self.path.join(below),
            None => self.path.clone(),
        }
    }

    /// Returns the paths of the hidden files and folders, which are not read.
    pub fn hidden(&self) -> impl Iterator<Item = PathBuf> {
        self.hidden.iter().map(|below| self.path.join(below))
    }

    /// Reports the links of the folder that are not followed.
    pub fn report_unread(&self, files: &Files, sink: &mut Sink) {
        for (below, refusal) in &self.unread {
            sink.push(unread(&self.path.join(below).to_string_lossy(), *refusal, files));
        }
    }

    /// Reads a file without keeping its text: only the id is registered, and a diagnostic that shows a place loads the text again. The text of
    /// a pipe is kept, since a pipe can be read once. None for a file that is not read or no text; the reason is in the sink.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, position: usize, files: &Files, sink: &mut Sink) -> Result<Option<(FileId, String)>, RunError> {
        let path = self.path(position);
        let shown = path.to_string_lossy();
        let most = MAXIMUM_FILE_SIZE as u64;
        let Some(source) = &self.source else { return read_named(&path, files, sink) };
        let place = format!("{}{}", self.prefix, self.files.get(position).map_or("", String::as_str));
        let bytes = match source.read(&place, most)? {
            FileContent::Bytes(bytes) => bytes,
            FileContent::Text(text) => text.as_bytes().to_vec(),
            FileContent::Missing => return Err(absent(&path)),
            FileContent::Refused(refusal @ ReadRefusal::TooLarge(_)) => {
                let origin = Origin { file: files.add(&*shown, ""), span: Span::default() };
                sink.push(refused(&shown, refusal, MAXIMUM_FILE_SIZE).at(origin));
                return Ok(None);
            }
            FileContent::Refused(refusal) => {
                sink.push(unread(&shown, refusal, files));
                return Ok(None);
            }
        };
        let load = {
            let source = Arc::clone(source);
            move || match source.read(&place, most) {
                Ok(FileContent::Bytes(bytes)) => text_of(bytes),
                Ok(FileContent::Text(text)) => text.as_ref().to_owned(),
                _ => String::new(),
            }
        };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some((files.add_loaded(shown, Box::new(load)), text))),
            Err(error) => {
                decode(error.into_bytes(), &shown, files, sink);
                Ok(None)
            }
        }
    }
}

/// Reads a file of the command line.
fn read_named(path: &Path, files: &Files, sink: &mut Sink) -> Result<Option<(FileId, String)>, RunError> {
    let most = MAXIMUM_FILE_SIZE as u64;
    let failed = |error: io::Error| RunError::io("read", path, &error);
    let file = NamedFile::open(path, most).map_err(failed)?;
    let is_regular = file.is_regular();
    let shown = path.to_string_lossy();
    match String::from_utf8(file.read_all().map_err(failed)?) {
        Ok(text) if is_regular => Ok(Some((manifests::register(path, most, files), text))),
        Ok(text) => Ok(Some((files.add(shown, text.as_str()), text))),
        Err(error) => {
            decode(error.into_bytes(), &shown, files, sink);
            Ok(None)
        }
    }
}

/// Returns the warning for something in a folder that is not read. Nothing of its content is shown.
fn unread(path: &str, refusal: ReadRefusal, files: &Files) -> Diagnostic {
    let reason = match refusal {
        ReadRefusal::Outside => "is a link that leaves the folder".to_owned(),
        ReadRefusal::Git => "leads into a git repository".to_owned(),
        ReadRefusal::Nowhere => "is a broken link".to_owned(),
        ReadRefusal::Links => format!("passes through more than {MAXIMUM_PATH_LINKS} links"),
        ReadRefusal::NoFile(kind) => format!("is {kind}"),
        ReadRefusal::NotText => "has a path that is not UTF-8".to_owned(),
        ReadRefusal::Pointer => "is a pointer of Git LFS".to_owned(),
        ReadRefusal::TooLarge(_) => "is too large".to_owned(),
    };
    Diagnostic::warning(codes::UNREADABLE_FILE, format!("`{path}` {reason}, and is not read"))
        .at(Origin { file: files.add(path, ""), span: Span::default() })
        .help("the answers leave it out: copy the file into the folder, or name it on the command line")
}

/// Returns the bytes of a file in memory.
fn bytes(files: &MemorySource, path: &Path) -> Option<Vec<u8>> {
    let content = files.read(&key(path)?, MAXIMUM_FILE_SIZE as u64).ok()?;
    content.bytes().map(<[u8]>::to_vec)
}

/// Returns the error for a path in memory without a file.
fn absent(path: &Path) -> RunError {
    RunError::io("read", path, &io::Error::new(io::ErrorKind::NotFound, "no such file or directory"))
}

/// Returns the path of a file in memory; none for a path that leaves the files.
fn key(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = parts.pop()?,
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(paths: &[&str]) -> InputFiles {
        InputFiles::Memory(Arc::new(MemorySource::new(paths.iter().map(|path| (*path, "a: b\n")))))
    }

    fn found(files: &InputFiles, path: &str) -> Result<Vec<String>, String> {
        let found = files.find(path.as_ref(), &FileFilter::default()).map_err(|error| error.message)?;
        Ok((0..found.len()).map(|position| found.path(position).display().to_string()).collect())
    }

    #[test]
    fn files_in_memory_are_found_as_on_disk() {
        let scratch = tempfile::tempdir().expect("a folder");
        let paths = ["a.yaml", "b/c.yml", "b/.d/e.yaml", "b/.f.yaml", "b/g.txt", "b/H.JSON"];
        for path in paths {
            let path = scratch.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, "a: b\n").expect("a file");
        }
        let files = memory(&paths);
        for path in ["b", "b/", "a.yaml", "b/g.txt", "b/../b", "nowhere", "nowhere/a.yaml"] {
            let on_disk = found(&InputFiles::Disk, &format!("{}/{path}", scratch.path().display()));
            let without_folder = |text: String| text.replace(&format!("{}/", scratch.path().display()), "");
            let on_disk = match on_disk {
                Ok(found) => Ok(found.into_iter().map(without_folder).collect()),
                Err(message) => Err(without_folder(message)),
            };
            assert_eq!(found(&files, path), on_disk, "{path}");
        }
        assert_eq!(found(&files, "."), Ok(vec!["./a.yaml".into(), "./b/H.JSON".into(), "./b/c.yml".into()]));
    }

    #[test]
    fn no_path_leaves_the_files_in_memory() {
        let files = memory(&["a.yaml", "etc/passwd"]);
        for path in ["../a.yaml", "/etc/passwd", "b/../../etc/passwd", "/", ".."] {
            assert!(!files.has(path.as_ref()), "{path}");
            assert!(found(&files, path).is_err(), "{path}");
        }
    }

    /// The files found in a folder with a file, a folder and a link, and the warnings.
    #[cfg(unix)]
    fn found_with(link: &str, target: &str) -> Result<(Vec<String>, Vec<String>), String> {
        let scratch = tempfile::tempdir().expect("a folder");
        let root = scratch.path();
        for file in ["dump/sub/a.yaml", "dump/other/c.yaml", "beside/b.yaml"] {
            std::fs::create_dir_all(root.join(file).parent().expect("a folder")).expect("a folder");
            std::fs::write(root.join(file), "").expect("a file");
        }
        std::os::unix::fs::symlink(target, root.join("dump").join(link)).expect("a link");
        let strip = |text: String| text.replace(&format!("{}/", root.display()), "");
        let found = InputFiles::Disk.find(&root.join("dump"), &FileFilter::default());
        let found = found.map_err(|error| strip(error.message))?;
        let mut sink = Sink::new();
        found.report_unread(&Files::new(), &mut sink);
        let warnings = sink.diagnostics().iter().map(|warning| strip(warning.message.clone())).collect();
        let files = (0..found.len()).map(|position| strip(found.path(position).display().to_string())).collect();
        Ok((files, warnings))
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leaves_the_folder() {
        let two = ["dump/other/c.yaml", "dump/sub/a.yaml"].map(str::to_owned).to_vec();
        let warned = |text: &str| Ok((two.clone(), vec![text.to_owned()]));
        for (link, target, reason) in [
            ("linked", "../beside", "is a link that leaves the folder"),
            ("x.yaml", "../beside/b.yaml", "is a link that leaves the folder"),
            ("x.yaml", "/dev/zero", "is a link that leaves the folder"),
            ("lost", "gone", "is a broken link"),
        ] {
            assert_eq!(found_with(link, target), warned(&format!("`dump/{link}` {reason}, and is not read")));
        }
        let three = ["dump/linked/c.yaml", "dump/other/c.yaml", "dump/sub/a.yaml"].map(str::to_owned).to_vec();
        assert_eq!(found_with("linked", "other"), Ok((three, Vec::new())), "a link inside is followed");
        let circle = "cannot list `dump`: a link is circular";
        assert_eq!(found_with("sub/up", ".."), Err(circle.to_owned()));
        assert_eq!(found_with(".#a.yaml", "me@here.1"), Ok((two.clone(), Vec::new())), "the lock file of an editor");
    }

    #[cfg(unix)]
    #[test]
    fn the_text_of_a_pipe_is_kept() {
        use std::io::Write as _;
        use std::os::fd::AsRawFd as _;
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(b"a: b\n").expect("room in the pipe");
        drop(writer);
        let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
        let files = Files::new();
        let found = InputFiles::Disk.find(&path, &FileFilter::default()).expect("a pipe");
        let (id, text) = found.read(0, &files, &mut Sink::new()).expect("a pipe").expect("text");
        assert_eq!((text.as_str(), files.get(id).text()), ("a: b\n", "a: b\n"));
    }
}
