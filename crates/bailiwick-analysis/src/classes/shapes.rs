//! The shapes of the output files of the namespaces of a state.

use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex};

use bailiwick_base::alike::{Hints, Hole, Shape};
use bailiwick_base::parallel::locked;
use bailiwick_compiler::compile::{ObjectForm, OutputFile, TenantAccount};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::{Diagnostic, FileId, RunError, Sink};
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::{self as yaml, NodeRef, internal};
use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};

use super::known::KnownShapes;
use super::output_check::OutputCheck;

/// The column of the name of the namespace, which no account list has.
pub(super) const NAME: u128 = 0;

/// The fields with names that join the objects of different namespaces: subjects of bindings, users of constraints, and names of
/// objects in rules.
const JOINING_FIELDS: [&str; 4] = ["groups", "resourceNames", "subjects", "users"];

/// The shapes of the namespaces of a state.
pub(super) struct Shapes<'w> {
    pub(super) workspace: &'w Workspace,
    /// The namespaces with the shapes of their files, in the order of names.
    namespaces: Vec<(Arc<str>, NamespaceShape)>,
    forms: Vec<NamespaceForm>,
    /// The different lines of the files that belong to no account.
    pub(super) lines_without_account: HashSet<Box<str>>,
    /// The warnings of the compiler about each target.
    warnings: HashMap<String, Vec<Diagnostic>>,
}

/// The shape of the files of a namespace on all targets.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamespaceShape {
    /// The position of its form.
    form: u32,
    /// The account of the files.
    pub(super) account: Option<TenantAccount>,
    /// Whether files of different accounts are in the namespace.
    pub(super) is_apart: bool,
}

/// The form of namespaces whose files have the same shapes.
#[derive(Debug)]
pub(super) struct NamespaceForm {
    pub(super) digest: u128,
    /// The digests of the files without names.
    files: Vec<u128>,
    /// The columns with values at joining places.
    pub(super) joining: Vec<u128>,
}

/// Namespaces with their shapes. The hash table has positions, so that its free slots take little memory.
#[derive(Default)]
struct NamespaceShapes {
    list: Vec<(Arc<str>, NamespaceShape)>,
    positions: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// The namespaces with their forms, collected so far.
#[derive(Default)]
struct CollectedShapes {
    namespaces: NamespaceShapes,
    forms: Vec<NamespaceForm>,
    /// The positions of the forms by digest.
    positions: HashMap<u128, u32>,
}

/// A file of a namespace after it is split.
struct FileShape {
    namespace: Arc<str>,
    digest: u128,
    account: Option<TenantAccount>,
}

/// Collects the shapes of the output files of a workspace while the files are compiled, on any number of threads. A namespace
/// has one file on each target.
pub(crate) struct ShapeCollector {
    /// Whether the values of annotations belong to a shape.
    reads_annotations: bool,
    known: KnownShapes,
    joining: Mutex<HashMap<u128, Vec<u128>>>,
    collected: Mutex<CollectedShapes>,
    lines_without_account: Mutex<HashSet<Box<str>>>,
}

impl NamespaceShapes {
    fn with_capacity(count: usize) -> Self {
        let (list, positions) = (Vec::with_capacity(count), HashTable::with_capacity(count));
        Self { list, positions, hasher: DefaultHashBuilder::default() }
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut NamespaceShape> {
        let is_it = |position: &u32| self.list.get(*position as usize).is_some_and(|(known, _)| **known == *name);
        let position = *self.positions.find(self.hasher.hash_one(name), is_it)?;
        self.list.get_mut(position as usize).map(|(_, shape)| shape)
    }

    /// Adds a namespace that is not in the list.
    fn add(&mut self, name: Arc<str>, shape: NamespaceShape) {
        let Self { list, positions, hasher } = self;
        let (hash, position) = (hasher.hash_one(&*name), internal::number(list.len()));
        list.push((name, shape));
        let hash_of = |position: &u32| list.get(*position as usize).map_or(0, |(name, _)| hasher.hash_one(&**name));
        positions.insert_unique(hash, position, hash_of);
    }
}

impl ShapeCollector {
    /// Creates a collector for about so many files. `reads_annotations` is whether the values of annotations belong to a shape.
    pub(super) fn new(reads_annotations: bool, files: usize) -> Self {
        Self {
            reads_annotations,
            known: KnownShapes::default(),
            joining: Mutex::default(),
            collected: Mutex::new(CollectedShapes {
                namespaces: NamespaceShapes::with_capacity(files),
                ..CollectedShapes::default()
            }),
            lines_without_account: Mutex::default(),
        }
    }

    /// Adds a compiled file of a target. The files of a target are added before the files of the next target.
    pub(crate) fn add(&self, workspace: &Workspace, target: &str, file: &OutputFile) {
        if file.tenant().is_none() {
            self.add_lines(&file.text);
        }
        let Some(shape) = self.split(workspace, file) else { return };
        let digest = digest_of_run(&(target, shape.digest));
        let CollectedShapes { namespaces, forms, positions } = &mut *locked(&self.collected);
        let known = namespaces.get_mut(&shape.namespace);
        let before = known.as_ref().map(|known| known.form as usize);
        let of_before = before.and_then(|before| forms.get(before));
        let digest = of_before.map_or(digest, |before| digest_of_run(&(before.digest, digest)));
        let form = *positions.entry(digest).or_insert_with(|| {
            let mut files =
                before.and_then(|before| forms.get(before)).map_or_else(Vec::new, |form| form.files.clone());
            files.push(shape.digest);
            forms.push(NamespaceForm { digest, files, joining: Vec::new() });
            internal::number(forms.len() - 1)
        });
        match known {
            Some(known) => {
                known.form = form;
                known.is_apart |= known.account != shape.account;
            }
            None => {
                let first = NamespaceShape { form, account: shape.account, is_apart: false };
                namespaces.add(shape.namespace, first);
            }
        }
    }

    /// Adds the lines of a file that belongs to no account. Variables can make the name of an account, which is then in no input.
    fn add_lines(&self, text: &str) {
        let mut lines = locked(&self.lines_without_account);
        let mut add = |line: &str| {
            if !lines.contains(line) {
                lines.insert(line.into());
            }
        };
        text.lines().for_each(&mut add);
        if text.contains('\\') {
            // A value can have escapes.
            let tree = yaml::read(text, FileId::default(), &mut Sink::new());
            tree.documents().for_each(|document| each_string(document, &mut add));
        }
    }

    /// Returns the shape of a file; none for a file of cluster-scoped objects.
    fn split(&self, workspace: &Workspace, file: &OutputFile) -> Option<FileShape> {
        let namespace = file.namespace()?;
        let columns = workspace.project().columns_of(file);
        let found = |digest| Some(FileShape { namespace: Arc::clone(namespace), digest, account: file.tenant() });
        if let Some(digest) = self.known.find(&file.text, namespace, &columns) {
            return found(digest);
        }
        let hints = Hints::of_names(&[namespace]).with_columns(&columns);
        let (shape, values) = Shape::split(&file.text, &hints);
        let notes = values.own.notes.iter();
        let notes: Vec<(&str, &str)> =
            notes.map(|note| (&*note.key, if self.reads_annotations { &*note.value } else { "" })).collect();
        let digest = digest_of_run(&(&shape, &notes));
        let mut joining = locked(&self.joining);
        if !joining.contains_key(&digest) {
            joining.insert(digest, joining_columns(&file.text, &hints));
            if !self.reads_annotations {
                self.known.add(shape, digest, &columns);
            }
        }
        found(digest)
    }

    /// Returns the shapes collected so far, without the warnings of the compiler. The collector is empty afterwards.
    pub(super) fn take<'w>(&self, workspace: &'w Workspace) -> Shapes<'w> {
        let CollectedShapes { namespaces, mut forms, .. } = std::mem::take(&mut *locked(&self.collected));
        let joining = std::mem::take(&mut *locked(&self.joining));
        let lines_without_account = std::mem::take(&mut *locked(&self.lines_without_account));
        for form in &mut forms {
            form.joining = form.files.iter().filter_map(|file| joining.get(file)).flatten().copied().collect();
        }
        let NamespaceShapes { list: mut namespaces, .. } = namespaces;
        namespaces.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Shapes { workspace, namespaces, forms, lines_without_account, warnings: HashMap::new() }
    }
}

impl<'w> Shapes<'w> {
    /// Compiles all targets of a workspace and splits the files of namespaces; none for policies that do not compile.
    /// `check` compares the committed output.
    pub(super) fn of(
        workspace: &'w Workspace,
        collector: ShapeCollector,
        check: Option<&OutputCheck<'_>>,
    ) -> Result<Option<Self>, RunError> {
        let mut warnings = HashMap::new();
        for target in &workspace.project().workspace.targets {
            let add = |file: OutputFile| {
                check.map_or(Ok(()), |check| check.add(&target.name, &file))?;
                collector.add(workspace, &target.name, &file);
                Ok(())
            };
            let mut sink = Sink::new();
            workspace.compile_files(target, ObjectForm::Text, &add, &mut |()| {}, &mut sink)?;
            if sink.has_errors() {
                return Ok(None);
            }
            warnings.insert(target.name.clone(), sink.into_list());
        }
        Ok(Some(Self { warnings, ..collector.take(workspace) }))
    }

    /// Releases the names of the namespaces and the lines, after the namespaces are divided into classes.
    pub(super) fn release(&mut self) {
        (self.namespaces, self.lines_without_account) = (Vec::new(), HashSet::new());
    }

    /// Returns the warnings of the compiler about a target.
    pub(super) fn warnings(&self, target: &str) -> &[Diagnostic] {
        self.warnings.get(target).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the namespaces with the shapes of their files, in the order of names.
    pub(super) fn namespaces(&self) -> impl ExactSizeIterator<Item = &(Arc<str>, NamespaceShape)> {
        self.namespaces.iter()
    }

    /// Returns the shape of the files of a namespace.
    pub(super) fn namespace(&self, name: &str) -> Option<&NamespaceShape> {
        let position = self.namespaces.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.namespaces.get(position).map(|(_, shape)| shape)
    }

    /// Returns the form of the files of a namespace.
    pub(super) fn form_of(&self, shape: &NamespaceShape) -> Option<&NamespaceForm> {
        self.forms.get(shape.form as usize)
    }

    /// Returns the columns with texts of the account of a namespace, each with its value.
    pub(super) fn columns_of(&self, shape: &NamespaceShape) -> Vec<(&str, &str)> {
        shape.account.map_or_else(Vec::new, |account| self.workspace.project().texts_of(account))
    }
}

/// Calls a function with each string of a node, keys included.
fn each_string(node: NodeRef<'_>, add: &mut dyn FnMut(&str)) {
    node.as_str().into_iter().for_each(&mut *add);
    node.items().for_each(|item| each_string(item, add));
    for (key, value) in node.entries() {
        add(key.as_key());
        each_string(value, add);
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
