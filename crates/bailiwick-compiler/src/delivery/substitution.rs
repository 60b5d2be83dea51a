//! Texts with the form of variables of Flux.
//!
//! `postBuild` of a Kustomization replaces `${name}` in every text of an object, unless an annotation of the object
//! disables it. Source: `internal/generator/substitute.go` of `fluxcd/pkg/kustomize` 1.2x.

use bailiwick_kubernetes::appliers::FLUX_SUBSTITUTE;
use bailiwick_kubernetes::stored;
use bailiwick_yaml::{NodeId, NodeRef, Tree};

/// The beginning of a variable.
const VARIABLE: &str = "${";

/// Whether a text has the beginning of a variable.
pub fn has_variable(text: &str) -> bool {
    text.contains(VARIABLE)
}

/// Returns the path of the first text of an object with the beginning of a variable, such as `spec.rules[0].verbs[1]`.
pub fn first_variable(node: NodeRef<'_>) -> Option<String> {
    let of_item = |(index, item): (usize, NodeRef<'_>)| Some(joined(&format!("[{index}]"), &first_variable(item)?));
    let of_entry = |(key, value): (NodeRef<'_>, NodeRef<'_>)| {
        let name = key.as_key();
        match has_variable(name) {
            true => Some(name.to_owned()),
            false => Some(joined(name, &first_variable(value)?)),
        }
    };
    match node.as_str() {
        Some(text) => has_variable(text).then(String::new),
        None => node.items().enumerate().find_map(of_item).or_else(|| node.entries().find_map(of_entry)),
    }
}

fn joined(first: &str, rest: &str) -> String {
    if rest.is_empty() || rest.starts_with('[') { format!("{first}{rest}") } else { format!("{first}.{rest}") }
}

/// Adds the annotation for leaving the texts of an object as they are, unless the object states it itself.
pub fn keep_texts(tree: &mut Tree, root: NodeId) {
    let object = tree.at(root);
    let is_stated = object.path(&["metadata", "annotations", FLUX_SUBSTITUTE]).is_some();
    if !is_stated && first_variable(object).is_some() {
        stored::put_metadata(tree, root, "annotations", FLUX_SUBSTITUTE, "disabled");
    }
}
