//! The differing fields of a live object and the wanted object.
//!
//! Both are in the stored form of the API server. Left out are the fields of the server and its controllers, and further labels
//! and annotations without an effect on a decision. The table is in `docs/drift.md`.

use std::collections::BTreeSet;

use bailiwick_kubernetes::stored::{StoredForm, to_stored};
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, NodeValue, schema};
use schemars::JsonSchema;
use serde::Serialize;

/// How many characters of a value are shown.
const MOST_SHOWN: usize = 120;

/// How many fields of an object are listed.
const MOST_FIELDS: usize = 20;

/// A differing field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct FieldDifference {
    /// The path, such as `spec.hard.pods`.
    pub path: String,
    /// The wanted value as JSON; none if the policies do not write the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// The live value as JSON; none if the live object does not have the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<String>,
}

/// The fields of `metadata` with the identity of the object, or set by the server and its controllers.
pub(super) const METADATA_OF_SERVER: [&str; 14] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "uid",
];

/// The prefixes of labels and annotations with an effect on access or admission.
const DECIDING_PREFIXES: [&str; 3] =
    ["pod-security.kubernetes.io/", "security.openshift.io/", "rbac.authorization.k8s.io/aggregate-to-"];

/// The annotation of OpenShift with the level of its label synchronization: no decision reads it.
const COMPUTED_LEVEL: &str = "security.openshift.io/MinimallySufficientPodSecurityStandard";

/// The keys of labels with an effect, beside the keys with fixed prefixes: keys in selectors of aggregated roles,
/// admission policies and their bindings.
#[derive(Debug, Clone, Default)]
pub(super) struct DecidingKeys(BTreeSet<String>);

impl DecidingKeys {
    /// Adds the keys of the selectors of an object.
    pub(super) fn add(&mut self, object: NodeRef<'_>) {
        let kind = object.text_at("kind");
        let is_aggregated = || object.get("aggregationRule").is_some();
        let selects = kind.contains("AdmissionPolicy") || kind.contains("WebhookConfiguration");
        if selects || (kind == "ClusterRole" && is_aggregated()) {
            self.add_selectors(object);
        }
    }

    fn add_selectors(&mut self, node: NodeRef<'_>) {
        node.items().for_each(|item| self.add_selectors(item));
        for (key, value) in node.entries() {
            match key.as_key() {
                "matchLabels" => self.0.extend(value.entries().map(|(label, _)| label.as_key().to_owned())),
                "matchExpressions" => {
                    self.0.extend(value.items().map(|expression| expression.text_at("key").to_owned()));
                }
                _ => self.add_selectors(value),
            }
        }
    }

    /// Whether a label or an annotation of a key can change a decision.
    pub(super) fn decides(&self, key: &str) -> bool {
        key != COMPUTED_LEVEL
            && (DECIDING_PREFIXES.iter().any(|prefix| key.starts_with(prefix)) || self.0.contains(key))
    }
}

/// Returns the differences of a live object from the text of the wanted one.
pub(super) fn differences(wanted: &str, live: NodeRef<'_>, keys: &DecidingKeys) -> Vec<FieldDifference> {
    let wanted = yaml::read(wanted, FileId::default(), &mut Sink::new());
    let Some(wanted) = wanted.document(0) else { return Vec::new() };
    let found = compare_objects(wanted, live, keys);
    if found.is_empty() {
        return found;
    }
    // The API server stores this form; a dump of another version of the API may have another one.
    let mut text = String::new();
    yaml::write::document(live, &mut text);
    let mut tree = yaml::read(&text, FileId::default(), &mut Sink::new());
    let Some(root) = tree.document(0).map(NodeRef::id) else { return found };
    to_stored(&mut tree, root, StoredForm::Stored);
    compare_objects(wanted, tree.at(root), keys)
}

fn compare_objects(wanted: NodeRef<'_>, live: NodeRef<'_>, keys: &DecidingKeys) -> Vec<FieldDifference> {
    let mut comparison = FieldComparison { found: Vec::new(), kind: wanted.text_at("kind") };
    comparison.metadata(wanted.get("metadata"), live.get("metadata"), keys);
    let is_aggregated = wanted.get("aggregationRule").is_some();
    for key in all_keys(Some(wanted), Some(live)).into_iter().filter(|key| is_compared(key)) {
        // The controller computes the rules of an aggregated role from the labels of other roles.
        if key == "rules" && is_aggregated {
            continue;
        }
        comparison.field(key, wanted.get(key), live.get(key));
    }
    comparison.found.truncate(MOST_FIELDS);
    comparison.found
}

/// The differences of two objects of a kind.
struct FieldComparison<'c> {
    found: Vec<FieldDifference>,
    kind: &'c str,
}

impl FieldComparison<'_> {
    fn metadata(&mut self, wanted: Option<NodeRef<'_>>, live: Option<NodeRef<'_>>, keys: &DecidingKeys) {
        for section in ["labels", "annotations"] {
            let (written, there) = (entry(wanted, section), entry(live, section));
            for key in all_keys(written, there) {
                let (before, after) = (entry(written, key), entry(there, key));
                if before.is_some() || keys.decides(key) {
                    self.field(&format!("metadata.{section}.{key}"), before, after);
                }
            }
        }
        for key in all_keys(wanted, live).into_iter().filter(|key| !METADATA_OF_SERVER.contains(key)) {
            self.field(&format!("metadata.{key}"), entry(wanted, key), entry(live, key));
        }
    }

    fn field(&mut self, path: &str, wanted: Option<NodeRef<'_>>, live: Option<NodeRef<'_>>) {
        let is_map = |side: Option<NodeRef<'_>>| side.is_some_and(NodeRef::is_map);
        match (wanted, live) {
            (None, Some(_)) if is_set_by_server(self.kind, path) => {}
            (Some(before), Some(after)) if is_map(wanted) && is_map(live) => {
                for key in all_keys(Some(before), Some(after)) {
                    self.field(&format!("{path}.{key}"), before.get(key), after.get(key));
                }
            }
            (before, after) if is_same(before, after) => {}
            (before, after) => self.found.push(FieldDifference {
                path: path.to_owned(),
                wanted: before.map(shown),
                live: after.map(shown),
            }),
        }
    }
}

/// Whether the server or a controller sets a field of a kind beside the policies.
pub(super) fn is_set_by_server(kind: &str, path: &str) -> bool {
    matches!(
        (kind, path),
        ("Namespace", "spec" | "spec.finalizers")
            | ("ServiceAccount", "secrets" | "imagePullSecrets")
            | (_, "metadata.selfLink")
    )
}

/// Whether a field of an object is compared, beside its metadata.
pub(super) fn is_compared(key: &str) -> bool {
    !matches!(key, "apiVersion" | "kind" | "metadata" | "status")
}

/// Returns an entry of an optional map.
fn entry<'t>(map: Option<NodeRef<'t>>, key: &str) -> Option<NodeRef<'t>> {
    map?.get(key)
}

/// Returns the keys of two maps, sorted.
fn all_keys<'t>(left: Option<NodeRef<'t>>, right: Option<NodeRef<'t>>) -> BTreeSet<&'t str> {
    [left, right].into_iter().flatten().flat_map(NodeRef::entries).map(|(key, _)| key.as_key()).collect()
}

/// Whether two values are equal. An absent value and a null are equal.
fn is_same(left: Option<NodeRef<'_>>, right: Option<NodeRef<'_>>) -> bool {
    let present = |side: Option<NodeRef<'_>>| side.filter(|value| !value.is_null()).is_some();
    match (left, right) {
        (Some(left), Some(right)) => are_equal(left, right),
        _ => !present(left) && !present(right),
    }
}

fn are_equal(left: NodeRef<'_>, right: NodeRef<'_>) -> bool {
    match (left.value(), right.value()) {
        (NodeValue::Seq(_), NodeValue::Seq(_)) => {
            left.len() == right.len() && left.items().zip(right.items()).all(|(left, right)| are_equal(left, right))
        }
        (NodeValue::Map(_), NodeValue::Map(_)) => {
            all_keys(Some(left), Some(right)).into_iter().all(|key| is_same(left.get(key), right.get(key)))
        }
        (NodeValue::Str(_), NodeValue::Str(_)) => left.as_str() == right.as_str(),
        (left, right) => left == right,
    }
}

/// Returns a value as JSON, shortened.
fn shown(value: NodeRef<'_>) -> String {
    let text = schema::to_json(value).to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}...", yaml::internal::slice(&text, ..end)),
        None => text,
    }
}
