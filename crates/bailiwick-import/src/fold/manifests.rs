//! The other objects as Manifests: objects of other kinds, of vendors and controllers, and objects
//! without a policy of Bailiwick's own kinds.

use std::collections::BTreeMap;

use bailiwick_kubernetes::readers::file_name;
use bailiwick_yaml::{from_json, write};
use serde_json::{Map, Value};

use super::{FoldedPolicy, Folding, Names, PolicyKind, dns_label};
use crate::object::Object;
use crate::values::InternedValues;

/// The folder of the objects, below the folder of the policies.
const FOLDER: &str = "manifests";

/// The maker of a generated object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Vendor {
    /// A release of Helm.
    Release(String),
    /// An operator of the Operator Lifecycle Manager.
    Operator(String),
    /// The controller of another object.
    Owner(String),
}

/// Returns the vendor of an object.
pub(super) fn vendor(values: &InternedValues, object: &Object) -> Option<Vendor> {
    let text = |path: &[&str]| values.text_at(object.value, path);
    let owners = values.at(object.value, &["metadata", "ownerReferences"]);
    let owner = owners.and_then(|owners| values.items(owners).first().copied());
    let release = text(&["metadata", "annotations", "meta.helm.sh/release-name"]);
    let is_of_helm = text(&["metadata", "labels", "app.kubernetes.io/managed-by"]) == "Helm" && !release.is_empty();
    let operator = text(&["metadata", "labels", "olm.owner"]);
    match owner {
        Some(owner) => Some(Vendor::Owner(values.text_at(owner, &["name"]).to_owned())),
        None if is_of_helm => Some(Vendor::Release(release.to_owned())),
        None if !operator.is_empty() => Some(Vendor::Operator(operator.to_owned())),
        None => None,
    }
}

/// The common part of the objects of a policy. The order is the order in which policies get their names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    /// False for objects of controllers and for refused objects.
    is_written: bool,
    /// The name of the policy, before it is unique.
    name: String,
}

/// Folds all other objects.
pub(super) fn fold(folding: &mut Folding<'_>) {
    let folded = folding.folded.policies.iter().flat_map(|policy| policy.objects.iter().copied());
    let mut is_folded = vec![false; folding.cluster.objects.len()];
    folded.for_each(|index| is_folded.get_mut(index).into_iter().for_each(|is_folded| *is_folded = true));
    let mut groups: BTreeMap<(bool, Group), Vec<usize>> = BTreeMap::new();
    for (index, object) in folding.cluster.objects.iter().enumerate() {
        let is_there = is_folded.get(index).is_some_and(|is_folded| !is_folded);
        if !is_there || folding.decisions.omitted.contains_key(&index) {
            continue;
        }
        let group = group(folding, index, object);
        groups.entry((!group.is_written, group)).or_default().push(index);
    }
    let mut names = Names::default();
    for ((_, Group { is_written, name }), objects) in groups {
        let name = names.take(&dns_label(&name));
        let file = format!("{FOLDER}/{}/{}", dns_label(&folding.cluster.target), file_name(&name));
        let mut spec = Map::new();
        spec.insert("files".to_owned(), vec![file.clone()].into());
        if !is_written {
            spec.insert("emit".to_owned(), false.into());
        }
        let files = vec![(file, text(folding, &objects))];
        folding.folded.policies.push(FoldedPolicy {
            kind: PolicyKind::Manifests,
            name,
            spec: spec.into(),
            objects,
            files,
            rows: Vec::new(),
        });
    }
}

fn group(folding: &Folding<'_>, index: usize, object: &Object) -> Group {
    let identity = &object.identity;
    let is_namespace = identity.is("", "Namespace");
    let place = match &*identity.namespace {
        _ if is_namespace => &*identity.name,
        "" => "cluster",
        namespace => namespace,
    };
    let vendor = vendor(folding.values, object);
    if folding.decisions.refused.contains_key(&index) {
        return Group { is_written: false, name: format!("{place}-refused") };
    }
    match vendor {
        Some(Vendor::Owner(name)) => Group { is_written: false, name: format!("{name}-controlled") },
        Some(Vendor::Release(name) | Vendor::Operator(name)) => Group { is_written: true, name },
        None => Group { is_written: true, name: place.to_owned() },
    }
}

/// Returns the text of a file of objects.
fn text(folding: &Folding<'_>, objects: &[usize]) -> String {
    let mut text = String::new();
    for object in objects.iter().filter_map(|index| folding.object(*index)) {
        if !text.is_empty() {
            text.push_str(write::SEPARATOR);
        }
        for comment in &object.comments {
            text.push_str(comment);
            text.push('\n');
        }
        let value: Value = folding.values.to_json(object.value, &str::to_owned);
        let tree = from_json(&value);
        tree.documents().for_each(|root| write::document(root, &mut text));
    }
    text
}
