//! The objects of a dump, and what they show about their writers and owners.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::app::Options;
use crate::app::loaded_world::{duplicate, each_tree};
use crate::app::object_key::ObjectKey;
use crate::diag::{Files, RunError, Sink};
use crate::k8s::list;
use crate::yaml::{NodeId, NodeRef, Tree};

/// The objects of a dump.
pub(super) struct LiveObjects {
    trees: Vec<Tree>,
    objects: Vec<LiveObject>,
    positions: HashMap<ObjectKey, usize>,
    kinds: BTreeSet<(String, String)>,
}

/// The place of an object in the trees of a dump.
struct LiveObject {
    key: ObjectKey,
    tree: usize,
    node: NodeId,
}

impl LiveObjects {
    /// Reads a file, a folder or standard input. Of two objects with one identity, the last one counts.
    pub(super) fn read(run: &Options, path: &Path, files: &Arc<Files>, sink: &mut Sink) -> Result<Self, RunError> {
        let mut live =
            Self { trees: Vec::new(), objects: Vec::new(), positions: HashMap::new(), kinds: BTreeSet::new() };
        each_tree(&run.input_at(path), run, files, sink, &mut |tree, sink| {
            let file = tree.file();
            let tree = std::mem::replace(tree, Tree::new(file));
            live.add(list::with_types(&tree).map_or(tree, |typed| typed), sink);
        })?;
        Ok(live)
    }

    fn add(&mut self, tree: Tree, sink: &mut Sink) {
        let position = self.trees.len();
        for object in tree.documents().flat_map(list::objects).filter(|object| object.is_map()) {
            let key = ObjectKey::of(object);
            let (group, kind) = key.kind();
            if !self.has_kind(group, kind) {
                self.kinds.insert((group.to_owned(), kind.to_owned()));
            }
            let live = LiveObject { key: key.clone(), tree: position, node: object.id() };
            match self.positions.entry(key) {
                Entry::Vacant(free) => {
                    free.insert(self.objects.len());
                    self.objects.push(live);
                }
                Entry::Occupied(known) => {
                    let Some(first) = self.objects.get_mut(*known.get()) else { continue };
                    let first_tree = self.trees.get(first.tree).map_or(&tree, |earlier| earlier);
                    sink.push(duplicate(object.origin(), first_tree.at(first.node).origin()));
                    *first = live;
                }
            }
        }
        self.trees.push(tree);
    }

    /// Whether the dump has an object of a kind.
    pub(super) fn has_kind(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|(known_group, known)| known == kind && known_group == group)
    }

    /// Whether the dump has an object.
    pub(super) fn contains(&self, key: &ObjectKey) -> bool {
        self.positions.contains_key(key)
    }

    /// Returns the number of objects.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns an object by its position.
    pub(super) fn at(&self, position: usize) -> Option<(&ObjectKey, NodeRef<'_>)> {
        let live = self.objects.get(position)?;
        Some((&live.key, self.trees.get(live.tree)?.at(live.node)))
    }

    /// Returns each object.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, NodeRef<'_>)> {
        (0..self.len()).filter_map(|position| self.at(position))
    }

    /// Returns the trees of the files.
    pub(super) fn trees(&self) -> &[Tree] {
        &self.trees
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

/// Returns the subjects of a binding, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
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
        _ => format!("{kind}/{name}"),
    }
}
