//! Smaller changes that may close a path, from narrow to wide: edits that take a part of the change back.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_kubernetes::absent;
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::schema::to_json;
use bailiwick_yaml::{self as yaml, NodeId, NodeRef};
use serde_json::Value;

use super::edit::{with_entry, without_item};
use super::rules::{NeededItems, RuleVerbs, needed_verbs};
use crate::paths::NeededRule;

/// The most bytes of a file that is edited.
const MAXIMUM_EDITED: usize = 4 << 20;

/// A changed file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangedText<'t> {
    pub(super) path: &'t str,
    pub(super) base: &'t str,
    pub(super) head: &'t str,
}

/// An edit of a file, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) words: String,
}

/// A path to close.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'w> {
    pub(super) subject: &'w str,
    pub(super) needs: &'w [NeededRule],
}

/// Returns the edits of a changed file that may close a path, the narrowest first.
pub(super) fn candidates(file: ChangedText<'_>, wanted: Wanted<'_>) -> Vec<Candidate> {
    if file.base.len().max(file.head.len()) > MAXIMUM_EDITED {
        return Vec::new();
    }
    let read = |text| yaml::read(text, FileId::default(), &mut Sink::new());
    let (base, head) = (read(file.base), read(file.head));
    // An alias repeats a node at another place.
    if base.has_aliases() || head.has_aliases() {
        return Vec::new();
    }
    let earlier: BTreeMap<String, NodeRef<'_>> = base.documents().map(|root| (document_name(root), root)).collect();
    let is_evidence = |root: &NodeRef<'_>| {
        let places = wanted.needs.iter().flat_map(|need| &need.places).filter(|place| place.path == file.path);
        let span = root.span();
        places.into_iter().any(|place| (span.start as usize..=span.end as usize).contains(&place.start))
    };
    let documents: Vec<ChangedDocument<'_>> = head
        .documents()
        .filter(is_evidence)
        .map(|root| ChangedDocument::new(file, root, earlier.get(&document_name(root)).copied()))
        .collect();
    let mut found: Vec<Candidate> = documents.iter().flat_map(|document| document.rules(wanted.needs)).collect();
    found.extend(documents.iter().flat_map(|document| document.named_items(wanted)));
    found.extend(documents.iter().flat_map(ChangedDocument::added_items));
    let mut seen = BTreeSet::new();
    found.retain(|candidate| seen.insert(candidate.text.clone()));
    found
}

/// Returns the kind and the name of a document.
fn document_name(root: NodeRef<'_>) -> String {
    let name = root.path(&["metadata", "name"]).and_then(NodeRef::as_str);
    format!("{}/{}", root.text_at("kind"), absent::text(name))
}

/// A document with the nodes that the earlier state does not have.
struct ChangedDocument<'t> {
    file: ChangedText<'t>,
    root: NodeRef<'t>,
    added: BTreeSet<NodeId>,
}

/// Rights that a step needs: one of the verbs on one of the resources.
struct NeededRights<'n> {
    verbs: BTreeSet<String>,
    resources: &'n [String],
}

impl<'t> ChangedDocument<'t> {
    fn new(file: ChangedText<'t>, root: NodeRef<'t>, base: Option<NodeRef<'_>>) -> Self {
        let mut added = BTreeSet::new();
        match base {
            Some(base) => add_new_nodes(base, root, &mut added),
            None => add_all(root, &mut added),
        }
        Self { file, root, added }
    }

    fn is_new(&self, node: NodeRef<'_>) -> bool {
        self.added.contains(&node.id())
    }

    fn candidate(&self, text: Option<String>, words: String) -> Option<Candidate> {
        text.map(|text| Candidate { path: self.file.path.to_owned(), text, words })
    }

    /// Returns the edits that take the needed rights from the rules of the document.
    fn rules(&self, needs: &[NeededRule]) -> Vec<Candidate> {
        let lists = [self.root.path(&["spec", "rules"]), self.root.get("rules")];
        let mut found = Vec::new();
        for list in lists.into_iter().flatten() {
            for need in needs {
                for verbs in needed_verbs(need) {
                    let rights = NeededRights { verbs, resources: &need.rule.resources };
                    let narrower = |(index, rule)| self.narrower_rule(&rights, list, index, rule);
                    found.extend(list.items().enumerate().flat_map(narrower));
                }
            }
        }
        found
    }

    /// Returns the edits of a rule that take needed rights away.
    fn narrower_rule(
        &self,
        needed: &NeededRights<'_>,
        list: NodeRef<'t>,
        index: usize,
        rule: NodeRef<'t>,
    ) -> Vec<Candidate> {
        let is_resource = |name: &str| name == "*" || needed.resources.iter().any(|own| own == "*" || own == name);
        let resources = NeededItems::find(rule, "resources", is_resource);
        let (Some(verbs), Some(resources)) = (RuleVerbs::find(rule, &needed.verbs), resources) else {
            return Vec::new();
        };
        let words = format!(
            "take {} on {} away from `{}`",
            listed(&verbs.taken),
            listed(&resources.texts()),
            document_name(self.root)
        );
        let text = self.file.head;
        // Rights on a subresource alone are no use.
        let is_below = |other: &str| resources.texts().iter().any(|own| is_subresource(other, own));
        let has_other_resources = resources.others().any(|other| !is_below(other));
        let has_other_verbs = !verbs.rest.is_empty();
        let is_new = |nodes: Vec<NodeRef<'_>>| nodes.into_iter().all(|node| self.is_new(node));
        let (new_verbs, new_resources) = (is_new(verbs.nodes()), is_new(resources.nodes()));
        let mut texts: Vec<Option<String>> = Vec::new();
        if self.is_new(rule) && !has_other_verbs && resources.is_all() {
            texts.push(without_item(text, list, index));
        }
        if has_other_verbs && has_other_resources && (new_verbs || new_resources) {
            texts.push(self.with_exception(&resources.texts(), &verbs.taken));
        }
        if has_other_verbs && new_verbs {
            texts.push(verbs.removed(text));
        }
        if !resources.is_all() && new_resources {
            texts.push(resources.removed(text));
        }
        texts.into_iter().filter_map(|text| self.candidate(text, words.clone())).collect()
    }

    /// Returns the text with an exception to the rules of a PermissionSet.
    fn with_exception(&self, resources: &[&str], verbs: &[&str]) -> Option<String> {
        let spec = self
            .root
            .get("spec")
            .filter(|spec| self.root.text_at("kind") == "PermissionSet" && spec.get("except").is_none())?;
        let is_plain =
            |word: &&str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/-.".contains(letter));
        if !resources.iter().chain(verbs).all(is_plain) {
            return None;
        }
        let entry = format!("- {{resources: [{}], verbs: [{}]}}", resources.join(", "), verbs.join(", "));
        with_entry(self.file.head, spec, &["except:".to_owned(), entry])
    }

    /// Returns the edits that leave the subject or the namespace of a needed right out of a new part.
    fn named_items(&self, wanted: Wanted<'_>) -> Vec<Candidate> {
        let namespaces = wanted.needs.iter().filter_map(|need| need.namespace.as_deref());
        let subject = wanted.subject.rsplit('/').next();
        let names: BTreeSet<&str> = namespaces.chain(subject).collect();
        let is_named = |item: NodeRef<'_>| {
            let name = item.as_str().or_else(|| item.get("name").and_then(NodeRef::as_str));
            name.is_some_and(|name| names.contains(name))
        };
        self.items_without(&is_named)
    }

    /// Returns the edits that leave one new item out.
    fn added_items(&self) -> Vec<Candidate> {
        self.items_without(&|_| true)
    }

    fn items_without(&self, is_wanted: &dyn Fn(NodeRef<'t>) -> bool) -> Vec<Candidate> {
        let mut lists = Vec::new();
        lists_below(self.root, "", &mut lists);
        let mut found = Vec::new();
        for (key, list) in lists {
            for (index, item) in list.items().enumerate().filter(|(_, item)| self.is_new(*item) && is_wanted(*item)) {
                let name = item.as_str().or_else(|| item.get("name").and_then(NodeRef::as_str));
                let what = name.map_or_else(|| "the new entry".to_owned(), |name| format!("`{name}`"));
                let words = format!("leave {what} out of `{key}` of `{}`", document_name(self.root));
                found.extend(self.candidate(without_item(self.file.head, list, index), words));
            }
        }
        found
    }
}

/// Adds the lists in a node, each with its key.
pub(super) fn lists_below<'t>(node: NodeRef<'t>, key: &'t str, lists: &mut Vec<(&'t str, NodeRef<'t>)>) {
    if node.is_seq() {
        lists.push((key, node));
        node.items().for_each(|item| lists_below(item, key, lists));
    }
    node.entries().for_each(|(key, value)| lists_below(value, key.as_key(), lists));
}

fn add_all(node: NodeRef<'_>, added: &mut BTreeSet<NodeId>) {
    added.insert(node.id());
    node.items().for_each(|item| add_all(item, added));
    node.entries().for_each(|(_, value)| add_all(value, added));
}

/// Adds the nodes of a document that the earlier document does not have. Items of lists are compared without their order.
fn add_new_nodes(base: NodeRef<'_>, head: NodeRef<'_>, added: &mut BTreeSet<NodeId>) {
    if base.is_map() && head.is_map() {
        for (key, value) in head.entries() {
            match base.get(key.as_key()) {
                Some(earlier) => add_new_nodes(earlier, value, added),
                None => add_all(value, added),
            }
        }
    } else if base.is_seq() && head.is_seq() {
        add_new_items(base, head, added);
    } else if to_json(base) != to_json(head) {
        add_all(head, added);
    }
}

fn add_new_items(base: NodeRef<'_>, head: NodeRef<'_>, added: &mut BTreeSet<NodeId>) {
    let mut earlier: BTreeMap<String, Vec<NodeRef<'_>>> = BTreeMap::new();
    base.items().for_each(|item| earlier.entry(to_json(item).to_string()).or_default().push(item));
    let mut unknown: Vec<NodeRef<'_>> = Vec::new();
    for item in head.items() {
        let known = earlier.get_mut(&to_json(item).to_string()).and_then(Vec::pop);
        if known.is_none() {
            unknown.push(item);
        }
    }
    let mut gone: Vec<NodeRef<'_>> = earlier.into_values().flatten().filter(|item| item.is_map()).collect();
    gone.sort_by_key(|item| item.span().start);
    for item in unknown {
        // A changed item shares an entry with an earlier one.
        let shared = |earlier: &NodeRef<'_>| shares_entry(*earlier, item);
        match gone.iter().position(shared) {
            Some(position) => add_new_nodes(gone.remove(position), item, added),
            None => add_all(item, added),
        }
    }
}

fn shares_entry(base: NodeRef<'_>, head: NodeRef<'_>) -> bool {
    let json = |node: Option<NodeRef<'_>>| node.map(to_json);
    head.is_map() && head.entries().any(|(key, value)| json(base.get(key.as_key())) == Some::<Value>(to_json(value)))
}

/// Whether a resource is a subresource of another one.
fn is_subresource(resource: &str, of: &str) -> bool {
    resource.split_once('/').is_some_and(|(parent, _)| parent == of)
}

/// Returns names as a list in words.
fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
