//! A dump of a cluster, for several readings: a list in JSON is read item by item, and any other dump is kept as trees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bailiwick_compiler::compile::report_page;
use bailiwick_kubernetes::list;
use bailiwick_policy::source::{InputFiles, NamedFile, manifests};
use bailiwick_yaml::diag::{FileId, Files, RunError, Sink};
use bailiwick_yaml::limits::MAXIMUM_LIST_SIZE;
use bailiwick_yaml::{self as yaml, ListForm, NodeRef, Tree};

use crate::loaded_world::{ManifestReading, each_filtered_tree, standard_input};

/// A dump of a cluster.
pub(super) enum Dump {
    /// A list in JSON, as far as its beginning shows.
    List(ListText),
    /// The trees of the files.
    Trees(Vec<Tree>),
}

/// A list on disk or in memory.
pub(super) struct ListText {
    file: FileId,
    files: Arc<Files>,
    /// The file on disk; none for a text in memory.
    path: Option<PathBuf>,
}

impl Dump {
    /// Opens a file, a folder or standard input.
    ///
    /// # Errors
    /// When there is nothing at the path, or it cannot be read.
    pub(super) fn open(reading: ManifestReading<'_>, path: &Path, sink: &mut Sink) -> Result<Self, RunError> {
        let ManifestReading { run, files, .. } = reading;
        let text = |file, path| Self::List(ListText { file, files: Arc::clone(files), path });
        if path.as_os_str() == "-" {
            return Ok(standard_input(files, sink)?.map_or_else(|| Self::Trees(Vec::new()), |file| text(file, None)));
        }
        let path = run.input_at(path);
        let is_file = || std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if matches!(run.inputs, InputFiles::Disk) && is_file() {
            return Ok(text(manifests::register(&path, MAXIMUM_LIST_SIZE, files), Some(path)));
        }
        Self::read_trees(reading, &path, sink)
    }

    /// Reads the trees of a dump that is no list in JSON.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn into_trees(self, reading: ManifestReading<'_>, sink: &mut Sink) -> Result<Self, RunError> {
        match self {
            Self::Trees(_) => Ok(self),
            Self::List(ListText { path: Some(path), .. }) => Self::read_trees(reading, &path, sink),
            Self::List(ListText { file, files, path: None }) => {
                let tree = yaml::read(files.get(file).text(), file, sink);
                report_page(&tree, sink);
                Ok(Self::Trees(vec![with_types(tree)]))
            }
        }
    }

    fn read_trees(reading: ManifestReading<'_>, path: &Path, sink: &mut Sink) -> Result<Self, RunError> {
        let mut trees = Vec::new();
        each_filtered_tree(path, reading, sink, &mut |tree, _| {
            let file = tree.file();
            trees.push(with_types(std::mem::replace(tree, Tree::new(file))));
        })?;
        Ok(Self::Trees(trees))
    }

    /// Visits each tree of the dump, in order. A list that has another form than its beginning shows is not read to its end: then
    /// the visited trees do not count.
    ///
    /// # Errors
    /// When a file can no longer be read.
    pub(super) fn each_tree(&self, visit: &mut dyn FnMut(&Tree)) -> Result<ListForm, RunError> {
        let text = match self {
            Self::Trees(trees) => {
                trees.iter().for_each(visit);
                return Ok(ListForm::Items);
            }
            Self::List(text) => text,
        };
        let mut visit_typed = |tree: &Tree| {
            let is_typed = tree.documents().all(has_type);
            if is_typed {
                visit(tree);
            }
            is_typed
        };
        match &text.path {
            None => {
                let known = text.files.get(text.file);
                let read = yaml::each_item(&mut known.text().as_bytes(), text.file, &mut visit_typed);
                read.map_err(|error| RunError::new(format!("cannot read standard input: {error}")))
            }
            Some(path) => {
                let failed = |error: std::io::Error| RunError::io("read", path, &error);
                let mut input = NamedFile::open(path, MAXIMUM_LIST_SIZE).map_err(failed)?;
                yaml::each_item(&mut input, text.file, &mut visit_typed).map_err(failed)
            }
        }
    }
}

/// Returns a tree whose objects have the types that they take from their lists.
fn with_types(tree: Tree) -> Tree {
    list::with_types(&tree).map_or(tree, |typed| typed)
}

/// Whether an item takes nothing from its list.
fn has_type(item: NodeRef<'_>) -> bool {
    item.get("items").is_none() && !item.text_at("apiVersion").is_empty() && !item.text_at("kind").is_empty()
}
