//! From a value of an object back to the policy value it came from.
//!
//! Nothing is carried along for the many good objects: for the one bad value the policy that asked is searched for
//! a scalar of the same text whose keys look most like the field's path.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diag::{FileId, Origin, Span};
use crate::model::Unit;
use crate::yaml::{NodeRef, Tree};

/// The policies by their files.
#[derive(Debug, Default)]
pub struct Trees {
    trees: HashMap<FileId, Arc<Tree>>,
}

impl Trees {
    /// Adds the tree of a file.
    pub fn insert(&mut self, tree: Arc<Tree>) {
        self.trees.insert(tree.file(), tree);
    }

    /// Returns the best place for a problem at `path` of an object whose value there is `value`.
    pub fn place_of(&self, unit: &Unit, path: &str, value: Option<&str>) -> Origin {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return self.place_of_field(unit, path).unwrap_or(unit.content);
        };
        [unit.content, unit.origin]
            .into_iter()
            .find_map(|place| self.search(place, path, value))
            .or_else(|| self.place_of_field(unit, path))
            .unwrap_or(unit.content)
    }

    /// Returns the place of `path` in a kept object, if the path is in a file of the object.
    pub fn place_in(&self, unit: &Unit, path: &str) -> Option<Origin> {
        let mut node = self.object(self.document(unit.content)?, unit.content.span)?;
        for step in path.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
            node = match step.parse::<usize>() {
                Ok(index) => node.items().nth(index)?,
                Err(_) => node.get(step)?,
            };
        }
        Some(node.origin())
    }

    /// Returns whether two places are in one document.
    pub fn share_document(&self, left: Origin, right: Origin) -> bool {
        left.file == right.file && self.document(left).is_some_and(|document| document.span().contains(right.span))
    }

    /// Returns the name of the field whose value is or contains a place.
    pub fn field_around(&self, place: Origin) -> Option<&str> {
        let mut node = self.document(place)?;
        let mut name = None;
        loop {
            let entry = node
                .entries()
                .find(|(key, value)| value.span().contains(place.span) || key.span().contains(place.span));
            let item = node.items().find(|item| item.span().contains(place.span));
            match (entry, item) {
                (Some((key, value)), _) => (name, node) = (key.as_str(), value),
                (None, Some(item)) => node = item,
                (None, None) => return name,
            }
        }
    }

    /// Whether a label selector of the policies, or of the manifests that they bring in, names a label.
    pub fn is_selected(&self, label: &str) -> bool {
        let documents = self.trees.values().flat_map(|tree| tree.documents());
        documents.into_iter().any(|root| selects(root, label))
    }

    /// Returns the node of exactly this span: an object, or an item of a list of objects.
    fn object<'t>(&self, node: NodeRef<'t>, span: Span) -> Option<NodeRef<'t>> {
        if node.span() == span {
            return Some(node);
        }
        node.get("items").into_iter().flat_map(NodeRef::items).find_map(|item| self.object(item, span))
    }

    /// Returns the document of a policy that contains a place.
    fn document(&self, place: Origin) -> Option<NodeRef<'_>> {
        self.trees.get(&place.file)?.documents().find(|root| root.span().contains(place.span))
    }

    fn search(&self, place: Origin, path: &str, value: &str) -> Option<Origin> {
        let wanted = keys_of(path);
        let mut best: Option<(usize, Origin)> = None;
        visit(self.document(place)?, &mut Vec::new(), &mut |keys, node| {
            if node.as_str() == Some(value) {
                let score = common(&wanted, keys);
                if best.is_none_or(|(known, _)| score > known) {
                    best = Some((score, node.origin()));
                }
            }
        });
        best.map(|(_, origin)| origin)
    }

    /// Returns the deepest part of `path` that the policy with the content has: of `rules[0].verbs` the rule, if the
    /// rule has no verbs. The path is the object's path; its first steps can have other names in the policy.
    fn place_of_field(&self, unit: &Unit, path: &str) -> Option<Origin> {
        let document = self.document(unit.content)?;
        // A policy that is used under another's name has its own name as the place of its content.
        let name = document.path(&["metadata", "name"]).map(NodeRef::origin);
        let within =
            if name == Some(unit.content) { document.get("spec")?.span() } else { around(document, unit.content.span) };
        let steps: Vec<&str> = path.split(['.', '[', ']']).filter(|step| !step.is_empty()).collect();
        (0..steps.len()).find_map(|first| {
            let (name, rest) = steps.get(first..)?.split_first()?;
            let mut node = value_named(document, name, within)?;
            for step in rest {
                let next = match step.parse::<usize>() {
                    Ok(index) => node.items().nth(index),
                    Err(_) => node.get(step),
                };
                let Some(next) = next else { break };
                node = next;
            }
            Some(node.origin())
        })
    }
}

/// Whether a selector somewhere in a value names a label.
fn selects(node: NodeRef<'_>, label: &str) -> bool {
    let is_key = || node.get("operator").is_some() && node.get("key").and_then(NodeRef::as_str) == Some(label);
    let by_match = || node.get("matchLabels").is_some_and(|labels| labels.entry(label).is_some());
    by_match()
        || is_key()
        || node.items().chain(node.entries().map(|(_, value)| value)).any(|child| selects(child, label))
}

/// Returns the innermost map around a span: the description of an object is beside its name.
fn around(node: NodeRef<'_>, span: Span) -> Span {
    let mut children = node.items().chain(node.entries().map(|(_, value)| value));
    let inner = children.find(|child| child.span().contains(span) && (child.is_map() || child.is_seq()));
    match inner {
        Some(inner) if inner.is_map() || inner.items().any(|item| item.is_map() && item.span().contains(span)) => {
            around(inner, span)
        }
        _ => node.span(),
    }
}

/// Returns the first value of a name below a node whose key is within a span.
fn value_named<'t>(node: NodeRef<'t>, name: &str, within: Span) -> Option<NodeRef<'t>> {
    if let Some((_, value)) = node.entry(name).filter(|(key, _)| within.contains(key.span())) {
        return Some(value);
    }
    node.items().chain(node.entries().map(|(_, value)| value)).find_map(|child| value_named(child, name, within))
}

/// Returns the names of a path: `rules` and `verbs` for `rules[0].verbs`.
fn keys_of(path: &str) -> Vec<&str> {
    path.split(['.', '[', ']']).filter(|part| !part.is_empty() && part.parse::<usize>().is_err()).collect()
}

/// Returns the number of names that the ends of two paths share.
fn common(wanted: &[&str], keys: &[&str]) -> usize {
    wanted.iter().filter(|name| keys.contains(name)).count()
}

fn visit<'t>(node: NodeRef<'t>, keys: &mut Vec<&'t str>, see: &mut dyn FnMut(&[&str], NodeRef<'t>)) {
    see(keys, node);
    node.items().for_each(|item| visit(item, keys, see));
    for (key, value) in node.entries() {
        keys.push(key.as_str().unwrap_or_default());
        see(keys, key);
        visit(value, keys, see);
        keys.pop();
    }
}
