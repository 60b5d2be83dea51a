//! The form of a stored object in the API server: the fixpoint of its defaulting and of leaving out zeros.
//!
//! Committed manifests have this form because Argo CD and Flux compare some kinds as plain JSON and would report a
//! permanent difference. Entries are sorted: apiVersion, kind, metadata, then by name, and by name on every level
//! below. Null-valued keys are left out.
//!
//! Left out on purpose: additions of the server outside of manifests; see [`server_owned`], for comparing with a live
//! object.

mod defaults;
mod scc;

use super::quantity::{Quantity, is_plainly_canonical};
use super::schemas;
use super::shape::{ANY, Field, Shape};
use crate::absent;
use bailiwick_yaml::{NodeId, NodeRef, NodeValue, Tree};

pub use defaults::server_owned;
pub use scc::effective_volumes;

/// The treatment of written zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredForm {
    /// Left out if the server does not store them.
    Stored,
    /// Kept as written; equal to the stored form after the server's defaulting.
    Explicit,
}

/// Rewrites a document in place. Of a kind without a schema only the keys are sorted.
pub fn to_stored(tree: &mut Tree, root: NodeId, form: StoredForm) {
    let node = tree.at(root);
    let api_version = node.get("apiVersion").and_then(|value| value.as_str());
    let kind = node.get("kind").and_then(|value| value.as_str());
    let entry = api_version.zip(kind).and_then(|(api_version, kind)| schemas::find(api_version, kind));
    let shape = entry.map_or(&ANY, |entry| {
        defaults::apply(tree, root, entry.kind);
        entry.shape()
    });
    normalize_metadata(tree, root);
    let mut walk = Walk { tree, form, stack: Vec::with_capacity(32) };
    walk.map(root, shape, true);
    if entry.is_some_and(|entry| entry.kind == "ClusterRole") {
        defaults::drop_aggregated_rules(tree, root);
    }
}

/// Leaves out labels and annotations without an entry, and makes an empty text of a null among them, as the server does for
/// every kind. kustomize leaves empty annotations out, and makes the text `null` of a null.
fn normalize_metadata(tree: &mut Tree, root: NodeId) {
    let Some(metadata) = tree.at(root).get("metadata").filter(|metadata| metadata.is_map()) else { return };
    let is_section = |key: NodeRef<'_>| matches!(key.as_key(), "labels" | "annotations");
    let sections = || metadata.entries().filter(|(key, _)| is_section(*key)).map(|(_, section)| section);
    let nulls: Vec<NodeId> = sections()
        .flat_map(NodeRef::entries)
        .filter(|(_, value)| value.is_null())
        .map(|(_, value)| value.id())
        .collect();
    let is_left = |section: NodeRef<'_>| !(section.is_null() || section.is_map() && section.is_empty());
    if !sections().all(is_left) {
        let left = metadata.entries().filter(|(key, value)| !is_section(*key) || is_left(*value));
        let left: Vec<(NodeId, NodeId)> = left.map(|(key, value)| (key.id(), value.id())).collect();
        let metadata = metadata.id();
        tree.set_entries(metadata, &left);
    }
    nulls.into_iter().for_each(|null| tree.set_string(null, ""));
}

/// Sets a label or an annotation; `section` is `labels` or `annotations`.
pub fn put_metadata(tree: &mut Tree, root: NodeId, section: &str, key: &str, value: &str) {
    let metadata = defaults::ensure_map(tree, root, "metadata");
    if let Some(map) = metadata.and_then(|metadata| defaults::ensure_map(tree, metadata, section)) {
        defaults::put_string(tree, map, key, value);
    }
}

/// A walk over one document. The stack has the entries of every open map.
struct Walk<'t> {
    tree: &'t mut Tree,
    form: StoredForm,
    stack: Vec<(NodeId, NodeId)>,
}

impl Walk<'_> {
    fn value(&mut self, id: NodeId, shape: &Shape) {
        match (self.tree.at(id).value(), shape) {
            (NodeValue::Map(_), _) => self.map(id, shape, false),
            (NodeValue::Seq(_), Shape::List(items)) => self.list(id, items),
            (NodeValue::Seq(_), _) => self.list(id, &ANY),
            (_, Shape::Quantity) => self.quantity(id),
            _ => {}
        }
    }

    fn map(&mut self, id: NodeId, shape: &Shape, is_top: bool) {
        let start = self.stack.len();
        self.stack.extend(self.tree.at(id).entries().map(|(key, value)| (key.id(), value.id())));
        let end = self.stack.len();
        let mut kept = start;
        for index in start..end {
            let Some(&(key, value)) = self.stack.get(index) else { break };
            let name = absent::text(self.tree.at(key).as_str());
            let field = shape.field(name);
            let child = match (field, shape) {
                (Some(field), _) => &field.shape,
                (None, Shape::Map(values)) => values,
                (None, _) => &ANY,
            };
            self.value(value, child);
            if matches!(shape, Shape::Map(_)) {
                self.fill_null(value, child);
            }
            if field.is_some_and(|field| self.is_dropped(value, field)) {
                continue;
            }
            if let Some(slot) = self.stack.get_mut(kept) {
                *slot = (key, value);
            }
            kept += 1;
        }
        self.stack.truncate(kept);
        let tree = &mut *self.tree;
        let Some(entries) = self.stack.get_mut(start..) else { return };
        let rank = |tree: &Tree, key: NodeId| match tree.at(key).as_str() {
            Some("apiVersion") if is_top => 0,
            Some("kind") if is_top => 1,
            Some("metadata") if is_top => 2,
            _ => 3,
        };
        let order = |tree: &Tree, left: NodeId, right: NodeId| {
            let names = || tree.at(left).as_str().cmp(&tree.at(right).as_str());
            rank(tree, left).cmp(&rank(tree, right)).then_with(names)
        };
        let sorted = entries.is_sorted_by(|left, right| order(tree, left.0, right.0).is_le());
        if !sorted {
            entries.sort_by(|left, right| order(tree, left.0, right.0));
        }
        if !sorted || kept < end {
            tree.set_entries(id, entries);
        }
        self.stack.truncate(start);
    }

    fn list(&mut self, id: NodeId, items: &Shape) {
        if matches!(items, Shape::Text) {
            let nulls: Vec<NodeId> = self.tree.at(id).items().filter(|item| item.is_null()).map(NodeRef::id).collect();
            for null in nulls {
                self.tree.set_string(null, "");
            }
            return;
        }
        let start = self.stack.len();
        self.stack.extend(self.tree.at(id).items().map(|item| (item.id(), item.id())));
        for index in start..self.stack.len() {
            let Some(&(item, _)) = self.stack.get(index) else { break };
            self.fill_null(item, items);
            self.value(item, items);
        }
        self.stack.truncate(start);
    }

    /// Replaces null inside a list or map by the zero of its type.
    fn fill_null(&mut self, id: NodeId, shape: &Shape) {
        if !self.tree.at(id).is_null() {
            return;
        }
        match shape {
            Shape::Text => self.tree.set_string(id, ""),
            Shape::Quantity => self.tree.set_string(id, "0"),
            Shape::Object(_) => self.tree.set_entries(id, &[]),
            Shape::Any | Shape::Scalar | Shape::List(_) | Shape::Map(_) => {}
        }
    }

    fn quantity(&mut self, id: NodeId) {
        let node = self.tree.at(id);
        let written = node.as_str();
        if node.is_null() || written.is_some_and(is_plainly_canonical) {
            return;
        }
        // A value other than a quantity stays as it is: the rules report it.
        if let Some(quantity) = Quantity::from_node(node)
            && !quantity.is_beyond()
            && !written.is_some_and(|text| quantity.is_canonical(text))
        {
            let text = quantity.to_string();
            self.tree.set_string(id, &text);
        }
    }

    /// Whether a known field is not stored with this value. A zero of another type than the field's stays, for the
    /// schema to report.
    fn is_dropped(&self, id: NodeId, field: &Field) -> bool {
        let node = self.tree.at(id);
        let is_zero = match (node.value(), &field.shape) {
            (NodeValue::Null, _) => return true,
            (NodeValue::Bool(truth), Shape::Scalar) => !truth,
            (NodeValue::Int(number), Shape::Scalar) => number == 0,
            (NodeValue::Float(number), Shape::Scalar) => number == 0.0,
            (NodeValue::Str(_), Shape::Text) => node.as_str() == Some(""),
            (NodeValue::Seq(_), Shape::List(_) | Shape::Any) => node.is_empty(),
            (NodeValue::Map(_), Shape::Map(_) | Shape::Object(_)) => node.is_empty(),
            _ => false,
        };
        is_zero && field.omit_zero && self.form == StoredForm::Stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{Files, Sink};

    /// A document in a form, as text.
    fn written(text: &str, form: StoredForm) -> String {
        let (files, mut sink) = (Files::new(), Sink::new());
        let mut tree = yaml::read(text, files.add("object.yaml", text), &mut sink);
        let root = tree.document(0).unwrap().id();
        to_stored(&mut tree, root, form);
        let mut out = String::new();
        yaml::write::document(tree.at(root), &mut out);
        out
    }

    #[test]
    fn the_explicit_form_keeps_the_zeros_that_were_written() {
        let policy = "kind: PodSecurityPolicy\napiVersion: policy/v1beta1\nspec:\n  privileged: false\n  volumes: []\n  \
                      allowedHostPaths:\n  - readOnly: false\n    pathPrefix: /data\nmetadata:\n  name: a\n";
        let head = "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata:\n  name: a\nspec:\n  \
                    allowPrivilegeEscalation: true\n  allowedHostPaths:\n  - pathPrefix: /data\n";
        assert_eq!(written(policy, StoredForm::Stored), head);
        let kept = format!("{head}    readOnly: false\n  privileged: false\n  volumes: []\n");
        assert_eq!(written(policy, StoredForm::Explicit), kept);
    }

    #[test]
    fn an_aggregated_role_loses_its_empty_rules_and_a_plain_one_keeps_them() {
        let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: a\nrules: []\n";
        assert_eq!(written(role, StoredForm::Stored), role);
        let aggregated = format!("aggregationRule:\n  clusterRoleSelectors:\n  - matchLabels:\n      a: b\n{role}");
        for form in [StoredForm::Stored, StoredForm::Explicit] {
            assert!(!written(&aggregated, form).contains("rules"), "{form:?}");
        }
    }

    #[test]
    fn quantities_take_their_shortest_form() {
        let quota =
            "apiVersion: v1\nkind: ResourceQuota\nspec:\n  hard:\n    cpu: 0.5\n    memory: 1024Mi\n    pods: 10\n";
        let stored =
            "apiVersion: v1\nkind: ResourceQuota\nspec:\n  hard:\n    cpu: 500m\n    memory: 1Gi\n    pods: \"10\"\n";
        assert_eq!(written(quota, StoredForm::Stored), stored);
    }

    #[test]
    fn a_malformed_object_keeps_its_values() {
        for text in [
            "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec: 3\n",
            "apiVersion: v1\nkind: LimitRange\nspec:\n  limits:\n  - default: 3\n    max:\n      cpu: \"1\"\n    type: Container\n",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nroleRef: 3\nsubjects: 4\n",
            "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nspec:\n- 1\n",
        ] {
            assert!(!written(text, StoredForm::Stored).contains("default: {}"));
            let kept = text.lines().filter(|line| line.ends_with(": 3") || line.ends_with("- 1"));
            for line in kept {
                assert!(written(text, StoredForm::Stored).lines().any(|found| found == line), "{text}");
            }
        }
    }

    #[test]
    fn an_unknown_kind_is_only_sorted() {
        let widget = "kind: Widget\nz: null\na:\n  c: false\n  b: []\napiVersion: example.com/v1\n";
        let sorted = "apiVersion: example.com/v1\nkind: Widget\na:\n  b: []\n  c: false\nz: null\n";
        assert_eq!(written(widget, StoredForm::Stored), sorted);
    }
}
