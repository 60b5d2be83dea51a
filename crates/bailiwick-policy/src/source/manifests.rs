//! Kubernetes manifests from anywhere: a file, a folder, or what a pipe brings.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::words::{grouped, number};
use bailiwick_yaml::diag::{Diagnostic, FileId, Files, Origin, Sink, Span};
use bailiwick_yaml::limits::MAXIMUM_FILE_SIZE;
use bailiwick_yaml::{NodeRef, Tree};
use globset::GlobSet;

use super::{NamedFile, ReadRefusal, decode, glob, refused, text_of};

/// The endings of files that hold manifests.
const ENDINGS: &[&str] = &["json", "yaml", "yml"];

/// Whether a file has the name of a manifest.
fn is_manifest(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
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
    /// The hidden files and folders.
    hidden: Vec<String>,
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

    /// Counts a hidden file or folder. Nothing of it is read.
    pub fn add_hidden(&mut self, path: String) {
        self.hidden.push(path);
    }

    /// Returns the number of files among the `searched` ones, with their paths as details; none without such a file. `of` names
    /// the policy with the files: ` of Manifests/plain`.
    pub fn note(self, searched: usize, of: &str) -> Option<Diagnostic> {
        let Self { whole, in_part, hidden } = self;
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
        if !hidden.is_empty() {
            let are = if hidden.len() == 1 { "is" } else { "are" };
            parts.push(format!("{} {are} not read", number(hidden.len(), "hidden path")));
        }
        let whole =
            whole.into_iter().flat_map(|(cause, paths)| paths.into_iter().map(move |path| (path, cause.word())));
        let skipped = whole.chain(in_part.into_iter().map(|path| (path, "in part")));
        let skipped = skipped.chain(hidden.into_iter().map(|path| (path, "hidden")));
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
        is_manifest(below) && self.reads(below) && !below.iter().any(is_hidden_name)
    }

    /// Whether a hidden file or folder can hold manifests, by its path below the folder; a folder has a slash at the end.
    pub(super) fn hides(&self, path: &str) -> bool {
        let below = Path::new(path);
        let can_hold = path.ends_with('/') || (is_manifest(below) && self.reads(below));
        can_hold && !self.exclude.is_match(below) && below.iter().any(is_hidden_name)
    }

    /// Whether something that is not read can have been a file or a folder of manifests, by its path below the folder.
    pub(super) fn can_miss(&self, below: &Path) -> bool {
        !self.exclude.is_match(below) && !below.iter().any(is_hidden_name)
    }

    /// Whether a file is read. An excluded file is not read, even if it is included.
    fn reads(&self, path: &Path) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(path)) && !self.exclude.is_match(path)
    }
}

/// Returns globs of the command line, of paths or of names; reports invalid globs.
pub fn glob_set(globs: &[String], is_of_paths: bool, sink: &mut Sink) -> GlobSet {
    let mut compiled = Vec::with_capacity(globs.len());
    let matched = if is_of_paths { "a part of a name, `**` folders" } else { "any text" };
    for written in globs {
        match glob::compile(written, is_of_paths) {
            Ok(glob) => compiled.push(glob),
            Err(error) => sink.push(
                Diagnostic::error(codes::INVALID_USAGE, format!("`{written}` is not a glob: {error}"))
                    .help(format!("`*` matches {matched}; close every `[` and `{{`")),
            ),
        }
    }
    match glob::set(&compiled) {
        Ok(set) => set,
        Err(error) => {
            sink.push(Diagnostic::error(codes::INVALID_USAGE, error.to_string()));
            GlobSet::empty()
        }
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
        "kustomize.config.k8s.io" if ["Component", "Kustomization"].contains(&kind) => Some(SkipCause::Kustomization),
        "bailiwick.dev" => Some(SkipCause::Policy),
        "rbac.authorization.k8s.io" | "authorization.openshift.io" => None,
        "" if ["Namespace", "ServiceAccount"].contains(&kind) => None,
        _ if text(&["metadata", "name"]).or_else(|| text(&["metadata", "generateName"])).is_some() => None,
        // A patch of kustomize has the name of its object in another file.
        _ => Some(SkipCause::NotAnObject),
    }
}

/// Registers a file of the command line without its text, which a diagnostic with a place loads.
pub fn register(path: &Path, most: u64, files: &Files) -> FileId {
    let from = path.to_owned();
    let load = move || match NamedFile::open(&from, most).and_then(NamedFile::read_all) {
        Ok(bytes) => text_of(bytes),
        Err(_) => String::new(),
    };
    files.add_loaded(path.to_string_lossy(), Box::new(load))
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
