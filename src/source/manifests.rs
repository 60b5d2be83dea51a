//! Kubernetes manifests from anywhere: a file, a folder, or what a pipe brings.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::WalkDir;

use super::{MAXIMUM_FILE_SIZE, ReadRefusal, decode, refused};
use crate::codes;
use crate::diag::words::{grouped, number};
use crate::diag::{Diagnostic, FileId, Files, Origin, RunError, Sink, Span};
use crate::yaml::{NodeRef, Tree};

/// The endings of files that hold manifests.
const ENDINGS: &[&str] = &["json", "yaml", "yml"];

/// Returns the manifest files at a path: the file itself, or those below the folder that the filter reads, sorted. Links are followed, and hidden
/// ones are left out.
///
/// # Errors
/// When there is nothing at the path, a folder cannot be listed, or a link leads nowhere or in a circle: what is not
/// read would be taken for what is not granted.
pub fn find(path: &Path, filter: &FileFilter) -> Result<Vec<PathBuf>, RunError> {
    let metadata = std::fs::metadata(path).map_err(|error| RunError::io("read", path, &error))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let is_hidden = |depth: usize, path: &Path| depth > 0 && path.file_name().is_some_and(is_hidden_name);
    let mut found = Vec::new();
    let walk = WalkDir::new(path).follow_links(true).into_iter();
    for entry in walk.filter_entry(|entry| !is_hidden(entry.depth(), entry.path())) {
        let entry = match entry {
            Ok(entry) => entry,
            // The lock files of an editor are links that lead nowhere.
            Err(error) if error.path().is_some_and(|at| is_hidden(error.depth(), at)) => continue,
            Err(error) => return Err(unlisted(path, &error)),
        };
        let is_found = entry.path().strip_prefix(path).is_ok_and(|below| filter.finds(below));
        if is_found && !entry.file_type().is_dir() {
            found.push(entry.into_path());
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a name of a file or a folder is hidden.
fn is_hidden_name(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with('.')
}

/// The reason why a file of a folder holds no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipCause {
    /// A file of kustomize.
    Kustomization,
    /// YAML or JSON that is no object, or an object without a name and without a meaning for access.
    NotAnObject,
    /// A template that is no YAML.
    Template,
    /// A policy of this program.
    Policy,
    /// No document.
    Empty,
}

impl SkipCause {
    /// Returns the word for the cause.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kustomization => "kustomization",
            Self::NotAnObject => "not-an-object",
            Self::Template => "template",
            Self::Policy => "policy",
            Self::Empty => "empty",
        }
    }
}

/// The files of a folder that are skipped, whole or in part.
#[derive(Debug, Default)]
pub struct SkippedFiles {
    /// The files without an object, by cause.
    whole: BTreeMap<SkipCause, Vec<String>>,
    /// The files with objects and with other documents.
    in_part: Vec<String>,
}

impl SkippedFiles {
    /// Counts a file under its cause.
    pub fn add(&mut self, cause: SkipCause, path: String) {
        self.whole.entry(cause).or_default().push(path);
    }

    /// Counts a file with objects whose other documents are skipped.
    pub fn add_in_part(&mut self, path: String) {
        self.in_part.push(path);
    }

    /// Returns the number of files among the `searched` ones, with their paths as details; none without such a file. `of` names
    /// the policy with the files: ` of Manifests/plain`.
    pub fn note(self, searched: usize, of: &str) -> Option<Diagnostic> {
        let Self { whole, in_part } = self;
        let mut parts = Vec::new();
        if !whole.is_empty() {
            let count: usize = whole.values().map(Vec::len).sum();
            let causes: Vec<String> =
                whole.iter().map(|(cause, paths)| format!("{} {}", grouped(paths.len()), cause.word())).collect();
            let hold = if count == 1 { "holds" } else { "hold" };
            let (count, searched) = (grouped(count), number(searched, "file"));
            parts.push(format!("{count} of {searched}{of} {hold} no objects: {}", causes.join(", ")));
        }
        if !in_part.is_empty() {
            let have = if in_part.len() == 1 { "has" } else { "have" };
            parts.push(format!("{} {have} objects and other documents", number(in_part.len(), "file")));
        }
        let whole =
            whole.into_iter().flat_map(|(cause, paths)| paths.into_iter().map(move |path| (path, cause.word())));
        let skipped = whole.chain(in_part.into_iter().map(|path| (path, "in part")));
        let note = skipped.fold(Diagnostic::remark(codes::SKIPPED_FILE, parts.join("; ")), |note, (path, word)| {
            note.note(format!("{path}: {word}"))
        });
        (!parts.is_empty()).then(|| note.help("`--list-skipped` names them"))
    }
}

/// The files of a folder that are read, by globs relative to the folder.
#[derive(Debug, Clone)]
pub struct FileFilter {
    /// None for all files.
    include: Option<GlobSet>,
    exclude: GlobSet,
    /// The globs of both, as they are written.
    included: Vec<String>,
    excluded: Vec<String>,
}

impl Default for FileFilter {
    fn default() -> Self {
        Self { include: None, exclude: GlobSet::empty(), included: Vec::new(), excluded: Vec::new() }
    }
}

impl FileFilter {
    /// Returns the filter of the options `--include` and `--exclude`; reports invalid globs.
    pub fn new(include_globs: &[String], exclude: &[String], sink: &mut Sink) -> Self {
        let include = (!include_globs.is_empty()).then(|| glob_set(include_globs, true, sink));
        let (included, excluded) = (include_globs.to_vec(), exclude.to_vec());
        Self { include, exclude: glob_set(exclude, true, sink), included, excluded }
    }

    /// Returns the error of a folder without a file that is read, if the globs can be the reason.
    pub fn nothing_left(&self, folder: &str) -> Option<Diagnostic> {
        let quoted = |globs: &[String]| globs.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ");
        let message = match (self.included.as_slice(), self.excluded.as_slice()) {
            ([], []) => return None,
            ([], excluded) => format!("`--exclude` leaves no file in `{folder}`: {}", quoted(excluded)),
            (included, []) => format!("no file in `{folder}` matches `--include`: {}", quoted(included)),
            (included, excluded) => format!(
                "no file in `{folder}` matches `--include` and not `--exclude`: {}, not {}",
                quoted(included),
                quoted(excluded)
            ),
        };
        let found = Diagnostic::error(codes::NOTHING_TO_JUDGE, message);
        Some(found.help("write globs of paths relative to the folder: `*` matches a part of a name, `**` folders"))
    }

    /// Whether a file of a folder is read, by its path below the folder: a manifest that is not hidden.
    pub(super) fn finds(&self, below: &Path) -> bool {
        let ending = below.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let is_manifest = ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()));
        is_manifest && self.reads(below) && !below.iter().any(is_hidden_name)
    }

    /// Whether a file is read. An excluded file is not read, even if it is included.
    fn reads(&self, path: &Path) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(path)) && !self.exclude.is_match(path)
    }
}

/// Returns globs of the command line, of paths or of names; reports invalid globs.
pub fn glob_set(globs: &[String], is_of_paths: bool, sink: &mut Sink) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    let matched = if is_of_paths { "a part of a name, `**` folders" } else { "any text" };
    for glob in globs {
        match GlobBuilder::new(glob).literal_separator(is_of_paths).build() {
            Ok(glob) => _ = set.add(glob),
            Err(error) => sink.push(
                Diagnostic::error(codes::INVALID_USAGE, format!("`{glob}` is not a glob: {}", error.kind()))
                    .help(format!("`*` matches {matched}; close every `[` and `{{`")),
            ),
        }
    }
    match set.build() {
        Ok(set) => set,
        Err(_) => GlobSet::empty(),
    }
}

/// The part of a file of a folder that holds objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// All of it.
    Whole,
    /// Some documents.
    InPart,
    /// No document, for this cause.
    Nothing(SkipCause),
}

/// Removes the documents of a file of a folder that are no objects.
pub fn retain_objects(path: &Path, text: &str, tree: &mut Tree, sink: &mut Sink) -> Held {
    let had_templates = text.contains("{{") && remove_templates(tree, sink);
    if had_templates && tree.documents().next().is_none() && !sink.has_errors() {
        return Held::Nothing(SkipCause::Template);
    }
    if let Some(cause) = cause_to_skip(path, text, tree, sink) {
        return Held::Nothing(cause);
    }
    let all = tree.documents().count();
    tree.retain_documents(|root| skip_cause(root, false).is_none());
    if had_templates || tree.documents().count() < all { Held::InPart } else { Held::Whole }
}

/// Removes the documents with an action of a template in the place of a value, with their errors: YAML reads `{{ .Values.name }}`
/// as a map with a map as its key. No client converts such a document to JSON, so none of them applies it.
fn remove_templates(tree: &mut Tree, sink: &mut Sink) -> bool {
    let is_action = |found: &Diagnostic| found.code == codes::KEY_NOT_STRING && found.message.ends_with(" a map");
    let actions = sink.diagnostics().iter().filter(|found| is_action(found)).filter_map(|found| found.origin);
    let actions: Vec<Span> = actions.map(|origin| origin.span).collect();
    let is_template = |document: Span| actions.iter().any(|action| document.contains(*action));
    let removed: Vec<Span> = tree.documents().map(NodeRef::span).filter(|document| is_template(*document)).collect();
    if removed.is_empty() {
        return false;
    }
    tree.retain_documents(|root| !removed.contains(&root.span()));
    let is_of_template =
        |found: &Diagnostic| found.origin.is_some_and(|at| removed.iter().any(|document| document.contains(at.span)));
    for found in std::mem::take(sink).into_list().into_iter().filter(|found| !is_of_template(found)) {
        sink.push(found);
    }
    true
}

/// Returns the cause for a file of a folder without an object; then the errors of a template are removed.
pub fn cause_to_skip(path: &Path, text: &str, tree: &Tree, sink: &mut Sink) -> Option<SkipCause> {
    let is_kustomization = path.file_stem().is_some_and(|stem| stem == "kustomization");
    let causes: Vec<Option<SkipCause>> = tree.documents().map(|root| skip_cause(root, is_kustomization)).collect();
    if causes.contains(&None) {
        return None;
    }
    let cause = causes.into_iter().flatten().next();
    // The reader goes on behind such a key or tag: no object behind it is lost.
    let is_odd =
        |found: &Diagnostic| [codes::KEY_NOT_STRING, codes::DUPLICATE_KEY, codes::YAML_TAG].contains(&found.code);
    if cause.is_some() && sink.diagnostics().iter().all(is_odd) {
        *sink = Sink::new();
        return cause;
    }
    if sink.has_errors() {
        let is_template = text.contains("{{");
        if is_template {
            *sink = Sink::new();
        }
        return is_template.then_some(SkipCause::Template);
    }
    Some(cause.map_or(SkipCause::Empty, |cause| cause))
}

/// Returns the reason why a document is no object; none for an object. An object about access counts in every form: a controller
/// may apply it.
fn skip_cause(root: NodeRef<'_>, is_kustomization: bool) -> Option<SkipCause> {
    let text = |path: &[&str]| root.path(path).and_then(NodeRef::as_str).filter(|text| !text.is_empty());
    // Clients open an object with items, whatever its kind, and with or without an API version.
    if text(&["kind"]).is_some() && root.get("items").is_some() {
        return None;
    }
    let (Some(api_version), Some(kind)) = (text(&["apiVersion"]), text(&["kind"])) else {
        return Some(if is_kustomization { SkipCause::Kustomization } else { SkipCause::NotAnObject });
    };
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    match group {
        "kustomize.config.k8s.io" => Some(SkipCause::Kustomization),
        "bailiwick.dev" => Some(SkipCause::Policy),
        "rbac.authorization.k8s.io" | "authorization.openshift.io" => None,
        "" if ["Namespace", "ServiceAccount"].contains(&kind) => None,
        _ if text(&["metadata", "name"]).or_else(|| text(&["metadata", "generateName"])).is_some() => None,
        // A patch of kustomize has the name of its object in another file.
        _ => Some(SkipCause::NotAnObject),
    }
}

/// Returns the error for a folder that cannot be listed.
fn unlisted(folder: &Path, error: &walkdir::Error) -> RunError {
    let at = error.path().unwrap_or(folder);
    if let Some(ancestor) = error.loop_ancestor() {
        return RunError::new(format!(
            "cannot list `{}`: the link `{}` is circular, back to `{}`",
            folder.display(),
            at.display(),
            ancestor.display()
        ))
        .help("remove the link, or list the files");
    }
    let Some(cause) = error.io_error() else {
        return RunError::new(format!("cannot list `{}`: {error}", folder.display()));
    };
    let is_broken = cause.kind() == std::io::ErrorKind::NotFound && at.is_symlink();
    let doing = if is_broken { "follow the link" } else { "read" };
    let told = RunError::io(doing, at, cause);
    if is_broken { told.help("remove the link, or restore its target") } else { told }
}

/// Reads a file without keeping its text: only the id is registered, and a diagnostic that shows a place loads the text
/// again. The text of a pipe is kept, since a pipe can be read once. None for a file that is not a text; the reason is in
/// the sink.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path, files: &Files, sink: &mut Sink) -> Result<Option<(FileId, String)>, RunError> {
    let failed = |error| RunError::io("read", path, &error);
    let mut file = open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.read_to_end(&mut bytes).map_err(failed)?;
    match String::from_utf8(bytes) {
        Ok(text) if !metadata.is_file() => Ok(Some((files.add(path.to_string_lossy(), text.as_str()), text))),
        Ok(text) => Ok(Some((register(path, files), text))),
        Err(error) => {
            decode(error.into_bytes(), &path.to_string_lossy(), files, sink);
            Ok(None)
        }
    }
}

/// Registers a file without its text, which a diagnostic with a place loads.
pub fn register(path: &Path, files: &Files) -> FileId {
    let from = path.to_owned();
    let load = move || {
        let mut text = String::new();
        let read = open(&from).and_then(|mut file| file.read_to_string(&mut text));
        read.map_or_else(|_| String::new(), |_| text)
    };
    files.add_loaded(path.to_string_lossy(), Box::new(load))
}

/// Opens a file that the command line names, wherever it lies; a pipe too.
///
/// # Errors
/// When it cannot be opened.
#[expect(clippy::disallowed_methods, reason = "the user names the file, not an author of the workspace")]
pub fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Takes text from a pipe. None when it is no text; why is then in the sink.
pub fn take(bytes: Vec<u8>, files: &Files, sink: &mut Sink) -> Option<FileId> {
    let (path, most) = ("standard input", MAXIMUM_FILE_SIZE);
    if bytes.len() > most {
        let origin = Origin { file: files.add(path, ""), span: Span::default() };
        sink.push(refused(path, ReadRefusal::TooLarge(bytes.len() as u64), most).at(origin));
        return None;
    }
    decode(bytes, path, files, sink)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The files found in a folder with a file, a folder and a link.
    fn found(link: &str, target: &str) -> Result<Vec<PathBuf>, String> {
        let scratch = tempfile::tempdir().expect("a folder");
        let root = scratch.path();
        std::fs::create_dir_all(root.join("dump/sub")).expect("a folder");
        std::fs::create_dir_all(root.join("beside")).expect("a folder");
        for file in ["dump/sub/a.yaml", "beside/b.yaml"] {
            std::fs::write(root.join(file), "").expect("a file");
        }
        symlink(target, root.join("dump").join(link)).expect("a link");
        let strip = |path: PathBuf| path.strip_prefix(root).map(Path::to_owned).unwrap_or_default();
        find(&root.join("dump"), &FileFilter::default())
            .map(|paths| paths.into_iter().map(strip).collect())
            .map_err(|error| error.message.replace(&format!("{}/", root.display()), ""))
    }

    #[test]
    fn links_are_followed() {
        let both = ["dump/linked/b.yaml", "dump/sub/a.yaml"].map(PathBuf::from).to_vec();
        assert_eq!(found("linked", "../beside"), Ok(both));
        let circle = "cannot list `dump`: the link `dump/sub/up` is circular, back to `dump`";
        assert_eq!(found("sub/up", ".."), Err(circle.to_owned()));
        let broken = "cannot follow the link `dump/lost`: no such file or directory";
        assert_eq!(found("lost", "gone"), Err(broken.to_owned()));
        assert_eq!(found(".#a.yaml", "me@here.1"), Ok(vec![PathBuf::from("dump/sub/a.yaml")]));
    }

    #[test]
    fn the_text_of_a_pipe_is_kept() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(b"a: b\n").expect("room in the pipe");
        drop(writer);
        let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
        let files = Files::new();
        let (id, text) = read(&path, &files, &mut Sink::new()).expect("a pipe").expect("text");
        assert_eq!((text.as_str(), files.get(id).text()), ("a: b\n", "a: b\n"));
    }
}
