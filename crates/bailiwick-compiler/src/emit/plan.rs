//! The changes of a run: by file, and by object within a file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_kubernetes::grants::{Grant, grants};
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::digest::{Digest, digest};
use bailiwick_yaml::{self as yaml, NodeRef, NodeValue, Tree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{self, FileOwnership, differs_in_header_alone, ownership};
use super::first_lines::FirstLines;
use super::identity::WrittenIdentity;
use super::namespaces::NamespaceChanges;
use super::objects;
use super::paths::Paths;
use super::pods::changed_pods;

/// The number of objects by their difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Objects that only the policies have.
    pub created: usize,
    /// Objects that differ.
    pub changed: usize,
    /// Objects that only the earlier output has.
    pub deleted: usize,
    /// Equal objects.
    pub unchanged: usize,
}

impl Counts {
    /// Adds other counts.
    pub fn add(&mut self, other: Counts) {
        self.created += other.created;
        self.changed += other.changed;
        self.deleted += other.deleted;
        self.unchanged += other.unchanged;
    }

    /// Returns the counts of so many files with these counts each.
    #[must_use]
    pub fn times(self, files: usize) -> Self {
        let Self { created, changed, deleted, unchanged } = self;
        Self {
            created: created * files,
            changed: changed * files,
            deleted: deleted * files,
            unchanged: unchanged * files,
        }
    }

    /// Returns the number of objects after the run.
    pub fn total(&self) -> usize {
        self.created + self.changed + self.unchanged
    }

    /// Returns whether a change is needed.
    pub fn is_drift(&self) -> bool {
        self.created + self.changed + self.deleted > 0
    }
}

/// The change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// It is new.
    Create,
    /// It is there, and different.
    Change,
    /// It stays as it is.
    Keep,
    /// It goes.
    Delete,
}

/// The comparison of one file with what is there.
#[derive(Debug, Clone)]
pub struct FilePlan {
    /// Path below the target's folder.
    pub path: String,
    /// The change of the file.
    pub action: FileAction,
    /// The changes of its objects.
    pub counts: Counts,
    /// Counts by kind, for summaries; empty for a file that stays or is new as a whole.
    pub by_kind: BTreeMap<Arc<str>, Counts>,
    /// The owner of the committed file; none for a new file.
    pub ownership: Option<FileOwnership>,
    /// Whether the file differs only in the header, and the header is the header of an earlier version.
    pub is_renewal: bool,
    /// Bindings whose role changes under the same name, as `Kind namespace/name`.
    pub changed_role_refs: Vec<String>,
    /// Roles whose rules grant more or less than before, each in words.
    pub changed_roles: Vec<String>,
    /// Objects that admit other pods than before, each as a phrase.
    pub changed_pods: Vec<String>,
    /// Namespace objects that come and go.
    pub namespaces: NamespaceChanges,
    /// How many files this file stands for, itself included: more than one in a sample.
    pub files: usize,
}

impl FilePlan {
    /// Creates the plan of an unchanged file with a number of objects.
    pub fn keep(path: &str, objects: usize) -> Self {
        Self {
            path: path.to_owned(),
            action: FileAction::Keep,
            counts: Counts { unchanged: objects, ..Counts::default() },
            by_kind: BTreeMap::new(),
            ownership: Some(FileOwnership::Ours),
            is_renewal: false,
            changed_role_refs: Vec::new(),
            changed_roles: Vec::new(),
            changed_pods: Vec::new(),
            namespaces: NamespaceChanges::default(),
            files: 1,
        }
    }

    /// Compares a file's new text, with the kinds of its objects, and its old bytes; one of the two is there.
    pub fn compare(path: &str, new: Option<(&str, &[Arc<str>])>, old: Option<&[u8]>) -> Self {
        if let (Some((new, kinds)), Some(old)) = (new, old)
            && new.as_bytes() == old
        {
            return Self::keep(path, kinds.len());
        }
        if let (Some((new, kinds)), Some(old)) = (new, old)
            && differs_in_header_alone(old, new)
        {
            return Self { action: FileAction::Change, is_renewal: true, ..Self::keep(path, kinds.len()) };
        }
        let mut plan = Self::keep(path, 0);
        plan.action = match (new, old) {
            (Some(_), Some(_)) => FileAction::Change,
            (Some(_), None) => FileAction::Create,
            _ => FileAction::Delete,
        };
        plan.ownership = old.map(|old| ownership(path, old));
        if let (FileAction::Create, Some((text, kinds))) = (plan.action, new) {
            plan.counts.created = kinds.len();
            for kind in kinds {
                plan.by_kind.entry(Arc::clone(kind)).or_default().created += 1;
            }
            if kinds.iter().any(|kind| &**kind == "Namespace") {
                plan.namespaces = match objects::keys(text) {
                    Some(keys) => NamespaceChanges::compare(&[], &keys),
                    None => NamespaceChanges::compare(
                        &[],
                        &parse(text).documents().map(WrittenIdentity::of).collect::<Vec<_>>(),
                    ),
                };
            }
            return plan;
        }
        let new_tree = parse(new.map_or("", |(text, _)| text));
        let old_text = old.map(String::from_utf8_lossy).unwrap_or_default();
        let mut faults = Sink::new();
        plan.compare_objects(&new_tree, &yaml::read(&old_text, FileId::default(), &mut faults));
        // Half a merge, for example: its objects are not known, and its namespace is there all the same.
        let is_new = |name: &str| {
            new_tree.documents().map(WrittenIdentity::of).any(|key| key.is_namespace() && key.name == name)
        };
        if let Some(name) = file::namespace(path)
            && !faults.is_empty()
            && old_text.lines().any(|line| line.trim() == "kind: Namespace")
            && !is_new(name)
        {
            plan.namespaces.lose(name);
        }
        plan
    }

    /// Returns the namespace that comes with a plain file: the digest of its objects, or none if no namespace comes. Of a plain file
    /// only the path is of interest, and the namespace has its name. The outer option is empty for other files.
    fn plain_namespace(&self) -> Option<NewNamespace> {
        if self.files != 1 || self.ownership == Some(FileOwnership::Foreign) {
            return None;
        }
        if self.namespaces.is_empty() {
            return Some(None);
        }
        self.namespaces.gains_only(file::namespace(&self.path)?).map(Some)
    }

    fn compare_objects(&mut self, new: &Tree, old: &Tree) {
        let new_objects = by_identity(new);
        let old_objects = by_identity(old);
        let keys: BTreeSet<&WrittenIdentity<'_>> = new_objects.keys().chain(old_objects.keys()).collect();
        let (old_keys, new_keys): (Vec<_>, Vec<_>) =
            (old_objects.keys().copied().collect(), new_objects.keys().copied().collect());
        self.namespaces = NamespaceChanges::compare(&old_keys, &new_keys);
        let lost = old_objects.iter().filter(|(key, _)| key.is_namespace());
        lost.for_each(|(_, object)| self.namespaces.note_keepers(*object));
        for key in keys {
            let mut counts = Counts::default();
            match (new_objects.get(key), old_objects.get(key)) {
                (Some(new), Some(old)) if same(*new, *old) => counts.unchanged = 1,
                (Some(new), Some(old)) => {
                    let role = |object: &NodeRef<'_>| object.get("roleRef").map(yaml::schema::to_json);
                    if role(new) == role(old) {
                        counts.changed = 1;
                    } else {
                        // The immutable part changed, so the cluster deletes one object and creates another.
                        counts = Counts { created: 1, deleted: 1, ..Counts::default() };
                        self.changed_role_refs.push(key.to_string());
                    }
                    self.changed_roles.extend(changed_grants(*new, *old).map(|change| format!("{key} {change}")));
                    self.changed_pods.extend(changed_pods(*new, *old).map(|change| format!("{key} {change}")));
                }
                (Some(_), None) => counts.created = 1,
                _ => counts.deleted = 1,
            }
            self.counts.add(counts);
            self.by_kind.entry(key.kind.into()).or_default().add(counts);
        }
    }
}

/// Returns the rules that a role gains or loses, compared as text; none for equal rules.
pub fn changed_grants(new: NodeRef<'_>, old: NodeRef<'_>) -> Option<String> {
    let of = |role: NodeRef<'_>| -> BTreeSet<(String, String)> {
        let grants = role.get("rules").map(grants).unwrap_or_default();
        let name = |grant: &Grant<'_>| match grant.group {
            "" => grant.resource.to_owned(),
            group => format!("{}.{group}", grant.resource),
        };
        grants.iter().map(|grant| (grant.verb.to_owned(), name(grant))).collect()
    };
    let (new, old) = (of(new), of(old));
    let listed = |grants: Vec<&(String, String)>| {
        let mut by_verb: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        grants.iter().for_each(|(verb, resource)| by_verb.entry(verb).or_default().push(resource));
        let verbs: Vec<String> =
            by_verb.iter().map(|(verb, resources)| format!("{verb} on {}", resources.join(", "))).collect();
        verbs.join("; ")
    };
    let (gained, lost) = (listed(new.difference(&old).collect()), listed(old.difference(&new).collect()));
    match (gained.is_empty(), lost.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("is narrower: without {lost}")),
        (false, true) => Some(format!("is wider: with {gained}")),
        (false, false) => Some(format!("is another: with {gained}; without {lost}")),
    }
}

/// Returns a digest of the identity of each object in a text: of its group, kind, namespace and name. It is the same in
/// every run.
pub fn object_digests(text: &str) -> Vec<Digest> {
    let identity = |key: WrittenIdentity<'_>| digest(format!("{} {key}", key.group).as_bytes());
    match objects::keys(text) {
        Some(keys) => keys.into_iter().map(identity).collect(),
        None => parse(text).documents().map(|root| identity(WrittenIdentity::of(root))).collect(),
    }
}

fn parse(text: &str) -> Tree {
    yaml::read(text, FileId::default(), &mut Sink::new())
}

fn by_identity(tree: &Tree) -> BTreeMap<WrittenIdentity<'_>, NodeRef<'_>> {
    tree.documents().filter(|root| root.is_map()).map(|root| (WrittenIdentity::of(root), root)).collect()
}

/// Returns whether two nodes hold the same data; the order of keys is irrelevant.
pub(super) fn same(left: NodeRef<'_>, right: NodeRef<'_>) -> bool {
    match (left.value(), right.value()) {
        (NodeValue::Seq(_), NodeValue::Seq(_)) => {
            left.len() == right.len() && left.items().zip(right.items()).all(|(left, right)| same(left, right))
        }
        (NodeValue::Map(_), NodeValue::Map(_)) => {
            left.len() == right.len()
                && left.entries().all(|(key, value)| {
                    right.get(key.as_str().unwrap_or_default()).is_some_and(|other| same(value, other))
                })
        }
        (NodeValue::Str(_), NodeValue::Str(_)) => left.as_str() == right.as_str(),
        (left, right) => left == right,
    }
}

/// The namespace that comes with a file: the digest of the objects in it, if there are any; none where no namespace comes.
type NewNamespace = Option<Option<Digest>>;

/// The changes of a run to the output of one target.
#[derive(Debug, Default)]
pub struct TargetPlan {
    /// The changes of the objects.
    pub counts: Counts,
    /// The same by kind; unchanged files do not count here.
    pub by_kind: BTreeMap<Arc<str>, Counts>,
    /// Files that go, and other files of which more than the path is of interest, by path.
    pub changes: Vec<FilePlan>,
    /// The other files that come, by the digest of the objects in the namespace of the same name if that comes with them. There may
    /// be a million of them.
    created: BTreeMap<NewNamespace, Paths>,
    /// The other changed files.
    changed: Paths,
    /// Paths of files that differ only in the header, and the header is the header of an earlier version.
    pub(super) renewals: FirstLines,
    /// Roles whose rules grant more or less than before.
    pub(super) changed_roles: FirstLines,
    /// Objects that admit other pods than before.
    pub(super) changed_pods: FirstLines,
    /// Bindings whose role changes under the same name.
    pub(super) changed_role_refs: FirstLines,
    /// How many files stay.
    pub kept_files: usize,
    /// The number of kept Namespaces.
    pub kept_namespaces: usize,
    /// In how many files an object of a kind goes while another of the same kind comes: a rename.
    pub renamed: BTreeMap<String, usize>,
}

impl TargetPlan {
    /// Adds a file.
    pub fn add(&mut self, mut file: FilePlan) {
        if file.action != FileAction::Keep {
            self.counts.add(file.counts.times(file.files));
        }
        // The counts by kind of single files are not kept: there may be a hundred thousand of them.
        for (kind, counts) in std::mem::take(&mut file.by_kind) {
            // A binding that is created again under its own name for another role is reported separately.
            let is_of_kind = |name: &&String| name.strip_prefix(&*kind).is_some_and(|rest| rest.starts_with(' '));
            let same_name = file.changed_role_refs.iter().filter(is_of_kind).count();
            if counts.created > same_name && counts.deleted > same_name {
                *self.renamed.entry(kind.to_string()).or_default() += file.files;
            }
            self.by_kind.entry(kind).or_default().add(counts.times(file.files));
        }
        self.add_lines(&mut file);
        match (file.action, file.plain_namespace()) {
            (FileAction::Keep, _) => {
                self.keep(file.counts.unchanged, file.path.starts_with("namespaces/"), file.files);
            }
            (FileAction::Create, Some(namespace)) => self.created.entry(namespace).or_default().add(&file.path),
            (FileAction::Change, Some(None)) => self.changed.add(&file.path),
            _ => self.changes.push(file),
        }
    }

    /// Moves the lines about a file to the lines about all files.
    fn add_lines(&mut self, file: &mut FilePlan) {
        let FilePlan { path, files, is_renewal, changed_roles, changed_pods, changed_role_refs, .. } = file;
        if *is_renewal {
            self.renewals.add_file(path, std::slice::from_ref(path), *files);
        }
        self.changed_roles.add_file(path, &std::mem::take(changed_roles), *files);
        self.changed_pods.add_file(path, &std::mem::take(changed_pods), *files);
        self.changed_role_refs.add_file(path, &std::mem::take(changed_role_refs), *files);
    }

    /// Returns the paths of the new files.
    pub fn created(&self) -> impl Iterator<Item = String> {
        self.created.values().flat_map(Paths::iter).chain(self.paths(FileAction::Create))
    }

    /// Returns the paths of the changed files.
    pub fn changed(&self) -> impl Iterator<Item = String> {
        self.changed.iter().chain(self.paths(FileAction::Change))
    }

    /// Returns the paths of the deleted files.
    pub fn deleted(&self) -> impl Iterator<Item = String> {
        self.paths(FileAction::Delete)
    }

    fn paths(&self, action: FileAction) -> impl Iterator<Item = String> {
        self.changes.iter().filter(move |file| file.action == action).map(|file| file.path.clone())
    }

    /// Returns the number of files with an action and a path that begins with a text.
    pub(super) fn count(&self, action: FileAction, prefix: &str) -> usize {
        let plain: &mut dyn Iterator<Item = &Paths> = match action {
            FileAction::Create => &mut self.created.values(),
            FileAction::Change => &mut std::iter::once(&self.changed),
            FileAction::Keep | FileAction::Delete => &mut std::iter::empty(),
        };
        let others = self.changes.iter().filter(|file| file.action == action && file.path.starts_with(prefix));
        plain.map(|paths| paths.count_below(prefix)).sum::<usize>() + others.map(|file| file.files).sum::<usize>()
    }

    /// Returns the namespaces that files lose and gain. The namespaces that they gain matter for the namespaces that they lose, so
    /// they are left out where none is lost, unless `is_part`: it may be lost in another part.
    pub(super) fn namespaces(&self, is_part: bool) -> NamespaceChanges {
        let mut namespaces = NamespaceChanges::default();
        self.changes.iter().for_each(|file| namespaces.add(&file.namespaces));
        if is_part || namespaces.lost().next().is_some() {
            for (digest, paths) in self.created.iter().filter_map(|(digest, paths)| Some(((*digest)?, paths))) {
                for path in paths.iter() {
                    file::namespace(&path).into_iter().for_each(|name| namespaces.gain(name, digest));
                }
            }
        }
        namespaces
    }

    /// Adds files that stay as they are, with so many objects each.
    pub fn keep(&mut self, objects: usize, is_of_namespace: bool, files: usize) {
        self.counts.unchanged += objects * files;
        self.kept_files += files;
        self.kept_namespaces += if is_of_namespace { files } else { 0 };
    }

    /// Returns whether a change is needed.
    pub fn is_drift(&self) -> bool {
        !self.changes.is_empty() || !self.created.is_empty() || !self.changed.is_empty()
    }
}
