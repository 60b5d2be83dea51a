//! The shapes of the output files of the namespaces of a state.

use std::sync::{Arc, Mutex};

use hashbrown::HashMap;

use super::known::KnownShapes;
use super::output_check::OutputCheck;
use crate::alike::{Hints, Hole, Shape};
use crate::app::workspace::Workspace;
use crate::compile::{ObjectForm, OutputFile, TenantAccount};
use crate::diag::{Diagnostic, FileId, RunError, Sink};
use crate::digest::digest_of_run;
use crate::emit::file;
use crate::parallel::locked;
use crate::yaml::{self, NodeRef};

/// The column of the name of the namespace, which no account list has.
pub(super) const NAME: u128 = 0;

/// The fields with names that join the objects of different namespaces: subjects of bindings, users of constraints, and names of
/// objects in rules.
const JOINING_FIELDS: [&str; 4] = ["groups", "resourceNames", "subjects", "users"];

/// The shapes of the namespaces of a state.
pub(super) struct Shapes<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) namespaces: HashMap<Arc<str>, NamespaceShape>,
    /// The columns with values at joining places, by the shape of a file.
    joining: HashMap<u128, Vec<u128>>,
    /// The warnings of the compiler about each target.
    warnings: HashMap<String, Vec<Diagnostic>>,
}

/// The shape of the files of a namespace on all targets.
#[derive(Debug, Clone)]
pub(super) struct NamespaceShape {
    /// The same for namespaces whose files have the same shape.
    pub(super) digest: u128,
    /// The digests of its files without names.
    files: Vec<u128>,
    /// The account of the files.
    account: Option<TenantAccount>,
    /// Whether files of different accounts are in the namespace.
    pub(super) is_apart: bool,
}

/// A file of a namespace after it is split.
struct FileShape {
    namespace: Arc<str>,
    digest: u128,
    account: Option<TenantAccount>,
}

impl<'w> Shapes<'w> {
    /// Compiles all targets of a workspace and splits the files of namespaces; none for policies that do not compile.
    /// `reads_annotations` is whether the values of annotations belong to a shape, and `check` compares the committed output.
    pub(super) fn of(
        workspace: &'w Workspace,
        reads_annotations: bool,
        check: Option<&OutputCheck<'_>>,
    ) -> Result<Option<Self>, RunError> {
        let mut shapes =
            Self { workspace, namespaces: HashMap::new(), joining: HashMap::new(), warnings: HashMap::new() };
        let joining: Mutex<HashMap<u128, Vec<u128>>> = Mutex::default();
        let known = KnownShapes::default();
        for target in &workspace.project.workspace.targets {
            let split = |file: OutputFile| {
                check.map_or(Ok(()), |check| check.add(&target.name, &file))?;
                let Some(namespace) = file::namespace(&file.path) else { return Ok(None) };
                let columns = workspace.project.columns_of(&file);
                let found =
                    |digest| Ok(Some(FileShape { namespace: namespace.into(), digest, account: file.tenant() }));
                if let Some(digest) = known.find(&file.text, namespace, &columns) {
                    return found(digest);
                }
                let hints = Hints::of_names(&[namespace]).with_columns(&columns);
                let (shape, values) = Shape::split(&file.text, &hints);
                let notes = values.own.notes.iter();
                let notes: Vec<(&str, &str)> =
                    notes.map(|note| (&*note.key, if reads_annotations { &*note.value } else { "" })).collect();
                let digest = digest_of_run(&(&shape, &notes));
                let mut joining = locked(&joining);
                if !joining.contains_key(&digest) {
                    joining.insert(digest, joining_columns(&file.text, &hints));
                    if !reads_annotations {
                        known.add(shape, digest, &columns);
                    }
                }
                found(digest)
            };
            let mut sink = Sink::new();
            let mut add =
                |shape: Option<FileShape>| shape.into_iter().for_each(|shape| shapes.add(&target.name, shape));
            workspace.compile_files(target, ObjectForm::Text, &split, &mut add, &mut sink)?;
            if sink.has_errors() {
                return Ok(None);
            }
            shapes.warnings.insert(target.name.clone(), sink.into_list());
        }
        shapes.joining = std::mem::take(&mut *locked(&joining));
        Ok(Some(shapes))
    }

    fn add(&mut self, target: &str, file: FileShape) {
        let digest = digest_of_run(&(target, file.digest));
        match self.namespaces.get_mut(&file.namespace) {
            Some(known) => {
                known.digest = digest_of_run(&(known.digest, digest));
                known.is_apart |= known.account != file.account;
                known.files.push(file.digest);
            }
            None => {
                let shape = NamespaceShape { digest, files: vec![file.digest], account: file.account, is_apart: false };
                self.namespaces.insert(file.namespace, shape);
            }
        }
    }

    /// Returns the warnings of the compiler about a target.
    pub(super) fn warnings(&self, target: &str) -> &[Diagnostic] {
        self.warnings.get(target).map_or(&[], Vec::as_slice)
    }

    /// Returns the columns of a namespace with values at joining places.
    pub(super) fn joining_columns(&self, shape: &NamespaceShape) -> Vec<u128> {
        shape.files.iter().filter_map(|file| self.joining.get(file)).flatten().copied().collect()
    }

    /// Returns the columns with texts of the account of a namespace, each with its value.
    pub(super) fn columns_of(&self, shape: &NamespaceShape) -> Vec<(&str, &str)> {
        shape.account.map_or_else(Vec::new, |account| self.workspace.project.texts_of(account))
    }
}

/// Returns the columns whose values stand at a joining place of a file.
fn joining_columns(text: &str, hints: &Hints<'_>) -> Vec<u128> {
    let tree = yaml::read(text, FileId::default(), &mut Sink::new());
    let mut columns = Vec::new();
    tree.documents().for_each(|document| add_columns(document, false, hints, &mut columns));
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn add_columns(node: NodeRef<'_>, is_joining: bool, hints: &Hints<'_>, columns: &mut Vec<u128>) {
    if let Some(text) = node.as_str().filter(|_| is_joining) {
        let (shape, _) = Shape::split_message(text, hints);
        columns.extend(shape.holes().filter_map(|hole| match hole {
            Hole::Column(column) => Some(*column),
            _ => None,
        }));
    }
    node.items().for_each(|item| add_columns(item, is_joining, hints, columns));
    for (key, value) in node.entries() {
        let is_joining = is_joining || JOINING_FIELDS.contains(&key.as_key());
        add_columns(value, is_joining, hints, columns);
    }
}
