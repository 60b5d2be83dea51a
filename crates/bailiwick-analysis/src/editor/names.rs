//! The names in the texts of a workspace, for completions and definitions: policies, targets, and the names that fields have
//! elsewhere. The texts need not be valid.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_policy::kinds;
use bailiwick_yaml::diag::{FileId, Files, Origin, Sink};
use bailiwick_yaml::internal::slice;
use bailiwick_yaml::{self as yaml, NodeRef};

/// The names of the policies and targets of a workspace, and the texts of some fields.
#[derive(Debug, Default)]
pub(super) struct WorkspaceNames {
    /// The places of the names of policies, by kind and name.
    policies: BTreeMap<(String, String), Vec<Origin>>,
    /// The places of the names of targets.
    targets: BTreeMap<String, Origin>,
    /// The texts of the fields in [`LEARNED`].
    learned: BTreeMap<&'static str, BTreeSet<String>>,
}

/// Fields with names of users, groups, namespaces and roles. A completion offers the names that the same field has elsewhere.
const LEARNED: [&str; 5] = ["users", "groups", "namespaces", "clusterRoles", "clusterRole"];

impl WorkspaceNames {
    /// Reads the policies and the workspace file among the texts of a workspace.
    pub(super) fn read(files: &Files) -> Self {
        let mut names = Self::default();
        for id in files.ids() {
            let file = files.get(id);
            let is_yaml = [".yaml", ".yml"].iter().any(|end| file.path().ends_with(end));
            if !is_yaml || !file.text().contains(kinds::API_VERSION) {
                continue;
            }
            let mut sink = Sink::new();
            let tree = yaml::read(file.text(), id, &mut sink);
            match sink.has_errors() {
                true => each_document(file.text(), id, &mut |root| names.add(root)),
                false => tree.documents().for_each(|root| names.add(root)),
            }
        }
        names
    }

    fn add(&mut self, root: NodeRef<'_>) {
        if root.text_at("apiVersion") != kinds::API_VERSION {
            return;
        }
        let kind = root.text_at("kind");
        if let Some((name, node)) = root.path(&["metadata", "name"]).and_then(|node| Some((node.as_str()?, node))) {
            self.policies.entry((kind.to_owned(), name.to_owned())).or_default().push(node.origin());
        }
        if kind == kinds::WORKSPACE {
            for node in root.path(&["spec", "targets"]).into_iter().flat_map(NodeRef::items) {
                let name = node.get("name").and_then(|node| Some((node.as_str()?.to_owned(), node.origin())));
                self.targets.extend(name);
            }
        }
        root.get("spec").into_iter().for_each(|spec| self.learn(spec));
    }

    /// Learns the texts of fields in a node.
    fn learn(&mut self, node: NodeRef<'_>) {
        node.items().for_each(|item| self.learn(item));
        for (key, value) in node.entries() {
            match LEARNED.iter().find(|name| **name == key.as_key()) {
                Some(name) => {
                    // A list of namespaces has names, or maps with names.
                    let items = value.items().flat_map(|item| [Some(item), item.get("name")]);
                    let texts = items.chain([Some(value)]).flatten().filter_map(NodeRef::as_str);
                    let names = texts.filter(|text| !text.contains(['*', '{'])).map(str::to_owned);
                    self.learned.entry(name).or_default().extend(names);
                }
                None => self.learn(value),
            }
        }
    }

    /// Returns the names of the policies of a kind.
    pub(super) fn policies(&self, kind: &str) -> Vec<&str> {
        self.policies.keys().filter(|(own, _)| own == kind).map(|(_, name)| name.as_str()).collect()
    }

    /// Returns the places of the names of policies with a kind and a name.
    pub(super) fn policy(&self, kind: &str, name: &str) -> &[Origin] {
        let found = self.policies.get(&(kind.to_owned(), name.to_owned()));
        found.map_or(&[], Vec::as_slice)
    }

    /// Returns the names of the targets with their places.
    pub(super) fn targets(&self) -> &BTreeMap<String, Origin> {
        &self.targets
    }

    /// Returns the names that fields have, each once.
    pub(super) fn learned(&self, fields: &[&'static str]) -> BTreeSet<&str> {
        let found = fields.iter().filter_map(|field| self.learned.get(field)).flatten();
        found.map(String::as_str).collect()
    }
}

/// The most documents of a text with errors that are read: each of them takes as long as the whole text.
const MAXIMUM_DOCUMENTS: usize = 100;

/// Reads the documents of a text one by one, since an error in a document makes the text unreadable. Their places are in the whole
/// text.
fn each_document(text: &str, file: FileId, see: &mut dyn FnMut(NodeRef<'_>)) {
    let starts = text.match_indices("\n---").map(|(at, _)| at + 1);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).take(MAXIMUM_DOCUMENTS).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    for (start, end) in starts.iter().zip(ends) {
        let alone = format!("{}{}", "\n".repeat(*start), slice(text, *start..end));
        let mut sink = Sink::new();
        let tree = yaml::read(&alone, file, &mut sink);
        tree.documents().filter(|_| !sink.has_errors()).for_each(&mut *see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_document_hides_no_other_document() {
        let head = "apiVersion: bailiwick.dev/v1alpha1\n";
        let good = |name: &str| format!("{head}kind: PermissionSet\nmetadata: {{name: {name}}}\n");
        let text = format!("{}---\n{head}kind: Grant\nspec: [\n---\n{}", good("one"), good("two"));
        let files = Files::new();
        files.add("policies/a.yaml", text.as_str());
        let names = WorkspaceNames::read(&files);
        assert_eq!(names.policies("PermissionSet"), ["one", "two"]);
        let [origin] = names.policy("PermissionSet", "two") else { panic!("one place") };
        assert_eq!(text.get(origin.span.start as usize..origin.span.end as usize), Some("two"));
    }
}
