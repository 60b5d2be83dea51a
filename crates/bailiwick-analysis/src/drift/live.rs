//! The objects of a dump, and what they show about their writers and owners.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use bailiwick_access::risk::subject_of_user;
use bailiwick_compiler::emit::identity::WrittenIdentity;
use bailiwick_kubernetes::list;
use bailiwick_kubernetes::stored::{StoredForm, to_stored};
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_yaml::diag::{RunError, Sink};
use bailiwick_yaml::{ListForm, NodeRef, Tree};
use schemars::JsonSchema;
use serde::Serialize;

use super::dump::Dump;
use super::fields::DecidingKeys;
use super::grants::{is_binding, is_role};
use super::prints::{Print, Printer};
use super::table::{LiveState, ObjectNumber, ObjectTable};
use super::unmanaged::{Surroundings, UnmanagedScope};
use super::wanted::WantedObjects;
use super::{DriftFinding, comparison};
use crate::loaded_world::{ManifestReading, duplicate_object};

/// The objects of a dump: the kept ones whole, and all others as entries of the table.
pub(super) struct LiveObjects {
    /// The wanted and the live objects.
    pub(super) table: ObjectTable,
    /// The objects that may differ, and the roles and bindings beside the policies.
    pub(super) kept: BTreeMap<ObjectNumber, LiveObject>,
    /// The keys of labels in the selectors of the wanted and the live objects.
    pub(super) keys: DecidingKeys,
    kinds: BTreeSet<(String, String)>,
}

/// A live object that is kept.
pub(super) struct LiveObject {
    pub(super) key: IdentityKey,
    /// The object, if it is an object of the policies, or a role or a binding.
    pub(super) tree: Option<Tree>,
    /// The difference from the policies.
    pub(super) finding: Option<DriftFinding>,
    /// Whether the policies want an object of this identity.
    pub(super) is_wanted: bool,
    /// Whether it is an object of the platform, as the platform makes it.
    pub(super) is_of_platform: bool,
}

impl LiveObject {
    /// Returns the root of the object.
    pub(super) fn root(&self) -> Option<NodeRef<'_>> {
        self.tree.as_ref().and_then(|tree| tree.document(0))
    }
}

/// The sides of a reading of a dump.
#[derive(Clone, Copy)]
pub(super) struct LiveInputs<'r> {
    pub(super) reading: ManifestReading<'r>,
    pub(super) wanted: &'r WantedObjects,
    pub(super) surroundings: &'r Surroundings<'r>,
}

/// How often a dump is read at most: once for each reason to read it again.
const MOST_READINGS: usize = 6;

impl LiveObjects {
    /// Reads a file, a folder or standard input. Of two objects with one identity, the last one counts.
    ///
    /// # Errors
    /// When the dump cannot be read.
    pub(super) fn read(
        inputs: LiveInputs<'_>,
        path: &Path,
        table: ObjectTable,
        sink: &mut Sink,
    ) -> Result<(Self, Dump), RunError> {
        let LiveInputs { reading, wanted, .. } = inputs;
        let mut dump = Dump::open(reading, path, sink)?;
        let mut reader = LiveReader::new(inputs, table);
        let mut warnings = None;
        for _ in 0..MOST_READINGS {
            reader.start();
            if dump.each_tree(&mut |tree| reader.add(tree))? == ListForm::Other {
                dump = dump.into_trees(reading, sink)?;
                reader.last.clear();
                reader.live.keys = wanted.keys.clone();
                continue;
            }
            // Only the first reading meets every object.
            warnings.get_or_insert_with(|| std::mem::take(&mut reader.warnings));
            if !reader.repeats() {
                warnings.into_iter().for_each(|warnings| sink.absorb(warnings));
                return Ok((reader.live, dump));
            }
        }
        Err(RunError::new(format!("`{}` changes while it is read", path.display())))
    }

    /// Returns the groups and kinds of the objects.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &(String, String)> {
        self.kinds.iter()
    }

    /// Whether the dump has an object of a kind.
    pub(super) fn has_kind(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|(known_group, known)| known == kind && known_group == group)
    }
}

/// Reads the objects of a dump, and keeps each object that may differ.
struct LiveReader<'r> {
    inputs: LiveInputs<'r>,
    live: LiveObjects,
    printer: Printer,
    /// The keys of further labels and annotations of the objects as wanted.
    further: BTreeSet<String>,
    /// The number of objects so far.
    objects: usize,
    /// The position of the last object of each identity that occurs several times.
    last: HashMap<Print, usize>,
    /// The same by the present reading.
    found_last: HashMap<Print, usize>,
    warnings: Sink,
}

impl<'r> LiveReader<'r> {
    fn new(inputs: LiveInputs<'r>, table: ObjectTable) -> Self {
        let keys = inputs.wanted.keys.clone();
        Self {
            inputs,
            live: LiveObjects { table, kept: BTreeMap::new(), keys, kinds: BTreeSet::new() },
            printer: Printer::default(),
            further: BTreeSet::new(),
            objects: 0,
            last: HashMap::new(),
            found_last: HashMap::new(),
            warnings: Sink::new(),
        }
    }

    /// Begins a reading.
    fn start(&mut self) {
        self.live.table.forget_live(self.inputs.wanted.count);
        self.live.kept.clear();
        self.live.kinds.clear();
        self.further.clear();
        self.objects = 0;
        self.found_last.clear();
        self.warnings = Sink::new();
    }

    /// Whether the dump has to be read again: an object that was judged does not count, or a selector of a later object has a key
    /// that was left out of the comparison.
    fn repeats(&mut self) -> bool {
        if !self.found_last.is_empty() {
            self.last = std::mem::take(&mut self.found_last);
            self.live.keys = self.inputs.wanted.keys.clone();
            return true;
        }
        self.further.iter().any(|key| self.live.keys.decides(key))
    }

    fn add(&mut self, tree: &Tree) {
        for object in tree.documents().flat_map(list::objects).filter(|object| object.is_map()) {
            self.objects += 1;
            let identity = Print::of_identity(object);
            if self.last.get(&identity).is_some_and(|last| *last != self.objects) {
                continue;
            }
            let WrittenIdentity { group, kind, .. } = WrittenIdentity::of(object);
            if !self.live.has_kind(group, kind) {
                self.live.kinds.insert((group.to_owned(), kind.to_owned()));
            }
            let (number, earlier) = self.live.table.add_live(identity, object.origin());
            if let Some(first) = earlier {
                self.warnings.push(duplicate_object(object.origin(), first));
                self.found_last.insert(identity, self.objects);
                continue;
            }
            self.live.keys.add(object);
            self.judge(number, object);
        }
    }

    fn judge(&mut self, number: ObjectNumber, object: NodeRef<'_>) {
        let is_wanted = number.index() < self.inputs.wanted.count;
        if is_wanted && self.is_as_wanted(number, object) {
            self.live.table.set(number, LiveState::AsWanted);
            return;
        }
        let key = IdentityKey::of(object);
        let whole = || Some(Tree::copy_of(object));
        if is_wanted {
            let own = LiveObject { key, tree: whole(), finding: None, is_wanted, is_of_platform: false };
            self.live.kept.insert(number, own);
            return;
        }
        let surroundings = self.inputs.surroundings;
        let scope = surroundings.scope_of(object, &key);
        let is_of_access = is_role(key.kind().1) || is_binding(key.kind().1);
        let is_expected = scope == UnmanagedScope::Expected;
        if is_expected && !is_of_access {
            return;
        }
        let finding = (!is_expected).then(|| comparison::unmanaged_object(object, &key, scope));
        let is_of_platform = is_expected && surroundings.is_of_new_cluster(object, &key);
        let tree = if is_of_access { whole() } else { None };
        self.live.kept.insert(number, LiveObject { key, tree, finding, is_wanted, is_of_platform });
    }

    /// Whether a live object has the print of the wanted one. Any other object is compared by its fields.
    fn is_as_wanted(&mut self, number: ObjectNumber, object: NodeRef<'_>) -> bool {
        let Some((shape, wanted)) = self.live.table.wanted(number) else { return false };
        let Some(shape) = self.inputs.wanted.shapes.get(shape).filter(|_| !comparison::is_terminating(object)) else {
            return false;
        };
        let kind = object.text_at("kind");
        let is_of_access = is_role(kind) || is_binding(kind);
        let mut decides = false;
        shape.each_further_key(object, &mut |key| {
            decides |= self.live.keys.decides(key) || (is_of_access && self.inputs.surroundings.changes_access(key));
            if !decides && !self.further.contains(key) {
                self.further.insert(key.to_owned());
            }
        });
        if decides {
            return false;
        }
        if self.printer.print(object, shape) == wanted {
            return true;
        }
        let mut stored = Tree::copy_of(object);
        let Some(root) = stored.document(0).map(NodeRef::id) else { return false };
        to_stored(&mut stored, root, StoredForm::Stored);
        self.printer.print(stored.at(root), shape) == wanted
    }
}

/// The last writer of an object, by its managed fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct LastWriter {
    /// The name of the field manager, such as `kubectl-create`.
    pub manager: String,
    /// The day in UTC, as `2026-11-22`; none without a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
}

impl LastWriter {
    /// Returns the writer of the newest entry of `metadata.managedFields`, without writers of the status; none without entries.
    pub(super) fn of(object: NodeRef<'_>) -> Option<Self> {
        let entries = object.path(&["metadata", "managedFields"]).into_iter().flat_map(NodeRef::items);
        let writers = entries.filter(|entry| entry.text_at("subresource").is_empty());
        let newest = writers.max_by_key(|entry| entry.text_at("time"))?;
        let day = newest.text_at("time").split_once('T').map(|(day, _)| day.to_owned());
        Some(Self { manager: newest.text_at("manager").to_owned(), day })
    }
}

/// Returns the owner of an object: an object of the cluster, a Helm release, an operator, or an application of an applier.
///
/// Sources: `meta.helm.sh` of Helm 3, `olm.owner` of the Operator Lifecycle Manager, and the tracking of Argo CD and Flux.
pub(super) fn owner(object: NodeRef<'_>) -> Option<String> {
    let metadata = object.get("metadata")?;
    let text = |section: &str, key: &str| metadata.path(&[section, key]).and_then(NodeRef::as_str);
    let owners = metadata.get("ownerReferences").into_iter().flat_map(NodeRef::items);
    let by_reference = owners.map(|owner| format!("{}/{}", owner.text_at("kind"), owner.text_at("name"))).next();
    let helm =
        || text("annotations", "meta.helm.sh/release-name").map(|release| format!("the Helm release `{release}`"));
    let olm = || text("labels", "olm.owner").map(|owner| format!("the operator `{owner}`"));
    let argocd = || {
        let tracked = text("annotations", "argocd.argoproj.io/tracking-id")?;
        Some(format!("the Application `{}`", tracked.split_once(':').map_or(tracked, |(name, _)| name)))
    };
    let flux = || text("labels", "kustomize.toolkit.fluxcd.io/name").map(|name| format!("the Kustomization `{name}`"));
    by_reference.or_else(helm).or_else(olm).or_else(argocd).or_else(flux)
}

/// Returns the role of a binding, as `Kind/name`; none for another object.
pub(super) fn role(object: NodeRef<'_>) -> Option<String> {
    let role = object.get("roleRef")?;
    Some(format!("{}/{}", role.text_at("kind"), role.text_at("name")))
}

/// Returns the subjects of a binding, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`. A user with the name of a service
/// account is the service account, as for the authorizer (`appliesToUser` in `pkg/registry/rbac/validation/rule.go`, 1.37).
pub(super) fn subjects(object: NodeRef<'_>) -> Vec<String> {
    if object.get("roleRef").is_none() {
        return Vec::new();
    }
    let own = object.path(&["metadata", "namespace"]).and_then(NodeRef::as_str).map_or("", |namespace| namespace);
    let subjects = object.get("subjects").into_iter().flat_map(NodeRef::items);
    subjects.map(|subject| subject_text(subject, own)).collect()
}

fn subject_text(subject: NodeRef<'_>, own_namespace: &str) -> String {
    let (kind, name) = (subject.text_at("kind"), subject.text_at("name"));
    match (kind, subject.text_at("namespace")) {
        ("ServiceAccount", "") => format!("{kind}/{own_namespace}/{name}"),
        ("ServiceAccount", namespace) => format!("{kind}/{namespace}/{name}"),
        ("User", _) => subject_of_user(name),
        _ => format!("{kind}/{name}"),
    }
}
