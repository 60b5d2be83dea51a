//! From a value of an object back to the policy value it came from.
//!
//! Nothing is carried along for the many good objects: for the one bad value the policy that asked is searched for
//! a scalar of the same text whose keys look most like the field's path.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use bailiwick_policy::model::Unit;
use bailiwick_yaml::diag::{FileId, Origin, Span};
use bailiwick_yaml::{NodeRef, Tree};

/// The policies by their files.
#[derive(Debug, Default)]
pub struct Trees {
    trees: HashMap<FileId, Arc<Tree>>,
    /// The workspace file.
    workspace: Option<FileId>,
    /// The deciding labels, collected for the first question about one.
    deciding: OnceLock<DecidingLabels>,
}

/// The labels and annotations that something in the policies decides by.
#[derive(Debug, Default)]
struct DecidingLabels {
    /// The labels that a selector names.
    selected: BTreeSet<String>,
    /// The CEL expressions that use labels or annotations.
    expressions: Vec<String>,
}

impl Trees {
    /// Adds the tree of a file.
    pub fn insert(&mut self, tree: Arc<Tree>) {
        self.deciding.take();
        self.trees.insert(tree.file(), tree);
    }

    /// Returns the trees of the policies and of the workspace file.
    pub fn new(policies: impl Iterator<Item = Arc<Tree>>, workspace: Option<Arc<Tree>>) -> Self {
        let mut trees = Self { workspace: workspace.as_ref().map(|tree| tree.file()), ..Self::default() };
        policies.chain(workspace).for_each(|tree| trees.insert(tree));
        trees
    }

    /// Returns the best place for a problem at `path` of an object whose value there is `value`.
    pub fn place_of(&self, unit: &Unit, path: &str, value: Option<&str>) -> Origin {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return self.place_of_field(unit, path).unwrap_or(unit.content);
        };
        [unit.content, unit.origin]
            .into_iter()
            .find_map(|place| search(self.document(place)?, path, value))
            .or_else(|| self.place_of_field(unit, path))
            .unwrap_or(unit.content)
    }

    /// Returns the place of a text of an object in the policies of the object or in the workspace file; none for a text of
    /// a table, of a template, or of several values.
    pub fn place_of_text(&self, unit: &Unit, path: &str, text: &str) -> Option<Origin> {
        let workspace = self.workspace.and_then(|file| self.trees.get(&file)?.document(0));
        let documents =
            [unit.content, unit.origin].into_iter().filter_map(|place| self.document(place)).chain(workspace);
        documents.into_iter().find_map(|document| search(document, path, text))
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

    /// Whether a label selector or a CEL expression of the policies, or of the manifests that they bring in, names a
    /// label or an annotation.
    pub fn decides_by(&self, label: &str) -> bool {
        let deciding = self.deciding.get_or_init(|| {
            let mut found = DecidingLabels::default();
            self.trees.values().flat_map(|tree| tree.documents()).for_each(|root| found.add(root));
            found
        });
        deciding.selected.contains(label) || deciding.expressions.iter().any(|text| names(text, label))
    }

    /// Returns the node of exactly this span: an object, or an item of a list of objects.
    fn object<'t>(&self, node: NodeRef<'t>, span: Span) -> Option<NodeRef<'t>> {
        if node.span() == span {
            return Some(node);
        }
        node.get("items").into_iter().flat_map(NodeRef::items).find_map(|item| self.object(item, span))
    }

    /// Returns the document of a policy that contains a place.
    pub fn document(&self, place: Origin) -> Option<NodeRef<'_>> {
        self.trees.get(&place.file)?.documents().find(|root| root.span().contains(place.span))
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

/// Returns the place of a text in a document, at the keys most like a path.
fn search(document: NodeRef<'_>, path: &str, value: &str) -> Option<Origin> {
    let wanted = keys_of(path);
    let mut best: Option<(usize, Origin)> = None;
    visit(document, &mut Vec::new(), &mut |keys, node| {
        if node.as_str() == Some(value) {
            let score = common(&wanted, keys);
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, node.origin()));
            }
        }
    });
    best.map(|(_, origin)| origin)
}

impl DecidingLabels {
    /// Adds the labels of a value.
    fn add(&mut self, node: NodeRef<'_>) {
        let labels = node.get("matchLabels").into_iter().flat_map(NodeRef::entries).map(|(key, _)| key);
        let key = node.get("key").filter(|_| node.get("operator").is_some());
        self.selected.extend(labels.chain(key).filter_map(NodeRef::as_str).map(str::to_owned));
        for (key, value) in node.entries() {
            let is_expression = key.as_str().is_some_and(|key| key.to_ascii_lowercase().ends_with("expression"));
            let text = value.as_str().filter(|_| is_expression);
            let by_metadata = text.filter(|text| text.contains("labels") || text.contains("annotations"));
            self.expressions.extend(by_metadata.map(str::to_owned));
            self.add(value);
        }
        node.items().for_each(|item| self.add(item));
    }
}

/// Whether a CEL expression contains a name as a whole word.
fn names(expression: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    expression.match_indices(name).any(|(start, _)| {
        let before = expression.get(..start).and_then(|text| text.chars().next_back());
        let behind = expression.get(start + name.len()..).and_then(|text| text.chars().next());
        before.is_none_or(|letter| letter == '.' || !is_part(letter))
            && behind.is_none_or(|letter| letter == '.' || !is_part(letter))
    })
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
