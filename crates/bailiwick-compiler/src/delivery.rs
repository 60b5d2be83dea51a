//! The delivery objects of a target: Applications or an ApplicationSet of Argo CD, and Kustomizations of Flux. Each
//! applies one folder of the output.
//!
//! No object has a finalizer or deletes the applied objects: with a folder or a target, only the delivery object
//! goes, and everything in the cluster stays.

mod argocd;
mod flux;
mod pruned;
mod source_ignore;
mod substitution;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_kubernetes::readers::file_name;
use bailiwick_policy::model::TargetDelivery;
use bailiwick_yaml::{self as yaml, internal};
use serde_json::Value;

use crate::emit::file;
pub use pruned::pruned_folder;
pub use source_ignore::{SOURCE_IGNORE, SourceIgnore};
pub use substitution::{first_variable, has_variable, keep_texts};

/// A folder of a target's output with one delivery object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveredFolder {
    /// The path below the folder of the target; empty for the whole target.
    below: String,
}

/// A file with one delivery object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFile {
    /// The path below the folder of the target in the delivery folder.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The kind of the object.
    pub kinds: [Arc<str>; 1],
}

impl DeliveredFolder {
    /// Returns the folders of a target, in order of path: the whole target, or with shards the folder of the cluster-scoped
    /// objects and each folder of namespaces. A folder without a file has no delivery object: git has no empty folders, and
    /// appliers fail without a folder.
    pub fn all<'n>(namespaces: impl Iterator<Item = &'n str>, has_cluster: bool, shards: Option<u32>) -> Vec<Self> {
        let cluster = has_cluster.then(|| Self { below: "cluster".to_owned() });
        let of_namespaces: BTreeSet<Self> = match shards {
            Some(shards) => namespaces.map(|name| Self { below: file::shard(name, shards) }).collect(),
            None => {
                let is_empty = cluster.is_none() && namespaces.into_iter().next().is_none();
                return (!is_empty).then(|| Self { below: String::new() }).into_iter().collect();
            }
        };
        cluster.into_iter().chain(of_namespaces).collect()
    }

    /// Returns the path of the folder in the repository, without a slash at its ends.
    fn path(&self, delivery: &TargetDelivery) -> String {
        [delivery.path.as_str(), &self.below].join("/").trim_end_matches('/').to_owned()
    }

    /// Returns the name of the delivery object of the folder.
    fn name(&self, delivery: &TargetDelivery) -> String {
        [delivery.name.as_str(), &self.below.replace('/', "-")].join("-").trim_end_matches('-').to_owned()
    }

    /// Returns the order of the folder: cluster-scoped objects come first; none for a whole target.
    fn wave(&self) -> Option<&'static str> {
        match self.below.as_str() {
            "" => None,
            "cluster" => Some("0"),
            _ => Some("1"),
        }
    }

    /// Whether the folder has the cluster-scoped objects and no namespaces.
    fn is_cluster(&self) -> bool {
        self.below == "cluster"
    }
}

/// Returns the files with the delivery objects of a target, in order of path.
pub fn files(delivery: &TargetDelivery, folders: &[DeliveredFolder]) -> Vec<DeliveryFile> {
    let argocd = delivery.argocd.as_ref().map(|argocd| argocd::objects(delivery, argocd, folders));
    let flux = delivery.flux.as_ref().map(|flux| flux::objects(delivery, flux, folders));
    let of_argocd = argocd.into_iter().flatten().map(|object| file("argocd", &object));
    let mut files: Vec<DeliveryFile> =
        of_argocd.chain(flux.into_iter().flatten().map(|object| file("flux", &object))).collect();
    files.sort_by(|left, right| left.path.cmp(&right.path));
    files
}

/// Returns a value with the entries of its maps in alphabetical order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let entries: BTreeMap<&String, Value> = entries.iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Returns the file of a delivery object. The alphabetical order of its entries puts `apiVersion`, `kind` and `metadata` first.
fn file(applier: &str, object: &Value) -> DeliveryFile {
    let text = |keys: &[&str]| {
        let found = keys.iter().try_fold(object, |value, key| value.get(key)).and_then(Value::as_str);
        internal::value(found, "a delivery object has no kind or name")
    };
    let tree = yaml::from_json(&sorted(object));
    let mut body = String::new();
    tree.documents().for_each(|root| yaml::write::document(root, &mut body));
    DeliveryFile {
        path: format!("{applier}/{}", file_name(text(&["metadata", "name"]))),
        text: file::assemble(&body),
        kinds: [text(&["kind"]).into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(namespaces: &[&str], has_cluster: bool, shards: Option<u32>) -> Vec<String> {
        let folders = DeliveredFolder::all(namespaces.iter().copied(), has_cluster, shards);
        folders.into_iter().map(|folder| folder.below).collect()
    }

    #[test]
    fn each_folder_with_a_file_is_delivered_once() {
        assert_eq!(folders(&["tool-a", "tool-b"], true, None), [""]);
        assert_eq!(folders(&[], true, None), [""]);
        assert_eq!(folders(&[], false, None), [""; 0]);
        assert_eq!(folders(&["tool-a", "tool-a"], true, Some(64)), ["cluster", "namespaces/10"]);
        assert_eq!(folders(&[], true, Some(64)), ["cluster"]);
        assert_eq!(folders(&["tool-a"], false, Some(1)), ["namespaces/00"]);
    }
}
