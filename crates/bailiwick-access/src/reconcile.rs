//! Reconciliation of an RBAC object with an expected one, as the API server does with its default policy at every
//! start, and `kubectl auth reconcile` with a file (`pkg/registry/rbac/reconciliation`).

use serde_json::{Map, Value, json};

use super::cover;
use bailiwick_kubernetes::rbac::{GROUP, PolicyRule};
use bailiwick_yaml::schema::to_json;
use bailiwick_yaml::{self as yaml, NodeRef};

/// The annotation against reconciliation, with the value `false`.
pub const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// The operation of a reconciliation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconcileOperation {
    /// Nothing.
    None,
    /// The object is not there.
    Create,
    /// It lacks something, or has too much.
    Update,
    /// Another role, which cannot be changed: the binding is deleted and created anew.
    Recreate,
}

impl ReconcileOperation {
    /// Returns the operation in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            ReconcileOperation::None => "none",
            ReconcileOperation::Create => "create",
            ReconcileOperation::Update => "update",
            ReconcileOperation::Recreate => "recreate",
        }
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconciliation {
    /// The operation to perform.
    pub operation: ReconcileOperation,
    /// Whether the object excludes itself from reconciliation.
    pub protected: bool,
    /// Expected rules, selectors or subjects that are missing.
    pub missing: Map<String, Value>,
    /// Present ones beyond the expected.
    pub extra: Map<String, Value>,
    /// The object as it would be.
    pub result: Value,
}

/// Compares an expected role or binding with the present one. `remove_extra` also removes unexpected parts.
pub fn reconcile(expected: NodeRef<'_>, existing: Option<NodeRef<'_>>, remove_extra: bool) -> Reconciliation {
    let (expected, existing) = (defaulted(expected), existing.map(defaulted));
    let (expected, existing) = (yaml::from_json(&expected), existing.as_ref().map(yaml::from_json));
    match expected.document(0) {
        Some(expected) => compare(expected, existing.as_ref().and_then(|tree| tree.document(0)), remove_extra),
        None => Reconciliation {
            operation: ReconcileOperation::None,
            protected: false,
            missing: Map::new(),
            extra: Map::new(),
            result: Value::Null,
        },
    }
}

/// Returns an object with the server's defaults for API groups.
pub(super) fn defaulted(object: NodeRef<'_>) -> Value {
    let mut json = to_json(object);
    let fill = |value: &mut Value, group: &str| {
        if let Some(map) = value.as_object_mut().filter(|map| map.get("apiGroup").is_none_or(|group| group == "")) {
            map.insert("apiGroup".to_owned(), group.into());
        }
    };
    if let Some(role_ref) = json.get_mut("roleRef") {
        fill(role_ref, GROUP);
    }
    for subject in json.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        // An account is of the core group, written by omission.
        if subject.get("kind").is_some_and(|kind| kind == "User" || kind == "Group") {
            fill(subject, GROUP);
        }
    }
    json
}

/// Whether an object excludes itself from reconciliation.
pub(super) fn is_kept(object: NodeRef<'_>) -> bool {
    object.path(&["metadata", "annotations", AUTOUPDATE]).and_then(NodeRef::as_str) == Some("false")
}

fn compare(expected: NodeRef<'_>, existing: Option<NodeRef<'_>>, remove_extra: bool) -> Reconciliation {
    let is_binding = expected.get("roleRef").is_some();
    let Some(existing) = existing else {
        let mut missing = Map::new();
        if is_binding {
            insert(&mut missing, "subjects", subjects(expected));
        } else {
            insert(&mut missing, "rules", rules_json(&rules(expected)));
            insert(&mut missing, "selectors", selectors(expected));
        }
        return Reconciliation {
            operation: ReconcileOperation::Create,
            protected: false,
            missing,
            extra: Map::new(),
            result: to_json(expected),
        };
    };
    let mut reconciliation = Reconciliation {
        operation: ReconcileOperation::None,
        protected: is_kept(existing),
        missing: Map::new(),
        extra: Map::new(),
        result: to_json(existing),
    };
    let changed = if is_binding {
        if role_ref(expected) != role_ref(existing) {
            reconciliation.operation = ReconcileOperation::Recreate;
            reconciliation.result = to_json(expected);
            return reconciliation;
        }
        reconcile_subjects(expected, existing, remove_extra, &mut reconciliation)
    } else {
        reconcile_role(expected, existing, remove_extra, &mut reconciliation)
    };
    let relabelled = merge(expected, "labels", &mut reconciliation.result);
    let annotated = merge(expected, "annotations", &mut reconciliation.result);
    if changed || relabelled || annotated {
        reconciliation.operation = ReconcileOperation::Update;
    }
    reconciliation
}

fn reconcile_role(
    expected: NodeRef<'_>,
    existing: NodeRef<'_>,
    remove_extra: bool,
    reconciliation: &mut Reconciliation,
) -> bool {
    let (wanted, own) = (rules(expected), rules(existing));
    let (wanted_selectors, own_selectors) = (selectors(expected), selectors(existing));
    let is_aggregated = |object: NodeRef<'_>| object.get("aggregationRule").is_some_and(|rule| !rule.is_null());
    let missing_rules = cover::uncovered(&own, &wanted);
    // The controller fills in the rules of an aggregated role.
    let both_aggregated = is_aggregated(expected) && is_aggregated(existing);
    let extra_rules = if both_aggregated { Vec::new() } else { cover::uncovered(&wanted, &own) };
    let beyond = |list: &[Value], other: &[Value]| -> Vec<Value> {
        list.iter().filter(|selector| !other.contains(selector)).cloned().collect()
    };
    let missing_selectors = beyond(&wanted_selectors, &own_selectors);
    let extra_selectors = beyond(&own_selectors, &wanted_selectors);
    insert(&mut reconciliation.missing, "rules", rules_json(&missing_rules));
    insert(&mut reconciliation.extra, "rules", rules_json(&extra_rules));
    insert(&mut reconciliation.missing, "selectors", missing_selectors.clone());
    insert(&mut reconciliation.extra, "selectors", extra_selectors.clone());
    let Some(result) = reconciliation.result.as_object_mut() else { return false };
    let mut changed = false;
    if remove_extra && (!missing_rules.is_empty() || !extra_rules.is_empty()) {
        result.insert("rules".to_owned(), rules_json(&wanted).into());
        changed = true;
    } else if !missing_rules.is_empty() {
        let all: Vec<PolicyRule> = own.iter().chain(&missing_rules).cloned().collect();
        result.insert("rules".to_owned(), rules_json(&all).into());
        changed = true;
    }
    let with = |list: Vec<Value>| json!({ "clusterRoleSelectors": list });
    if !is_aggregated(expected) && is_aggregated(existing) {
        result.shift_remove("aggregationRule");
        changed = true;
    } else if remove_extra && (!missing_selectors.is_empty() || !extra_selectors.is_empty()) {
        result.insert("aggregationRule".to_owned(), with(wanted_selectors));
        changed = true;
    } else if !missing_selectors.is_empty() {
        let all = own_selectors.into_iter().chain(missing_selectors).collect();
        result.insert("aggregationRule".to_owned(), with(all));
        changed = true;
    }
    changed
}

fn reconcile_subjects(
    expected: NodeRef<'_>,
    existing: NodeRef<'_>,
    remove_extra: bool,
    reconciliation: &mut Reconciliation,
) -> bool {
    let (wanted, own) = (subjects(expected), subjects(existing));
    let missing = difference(&wanted, &own);
    let extra = difference(&own, &wanted);
    insert(&mut reconciliation.missing, "subjects", missing.clone());
    insert(&mut reconciliation.extra, "subjects", extra.clone());
    let Some(result) = reconciliation.result.as_object_mut() else { return false };
    if remove_extra && (!missing.is_empty() || !extra.is_empty()) {
        result.insert("subjects".to_owned(), wanted.into());
        return true;
    }
    if !missing.is_empty() {
        let all: Vec<Value> = own.into_iter().chain(missing).collect();
        result.insert("subjects".to_owned(), all.into());
        return true;
    }
    false
}

/// Adds expected labels or annotations; present ones keep their values.
fn merge(expected: NodeRef<'_>, key: &str, result: &mut Value) -> bool {
    let mut changed = false;
    for (name, value) in expected.path(&["metadata", key]).into_iter().flat_map(NodeRef::entries) {
        let (Some(name), Some(value)) = (name.as_str(), value.as_str()) else { continue };
        let Some(metadata) = result.get_mut("metadata").and_then(Value::as_object_mut) else { break };
        let map = metadata.entry(key).or_insert_with(|| Map::new().into());
        if let Some(map) = map.as_object_mut().filter(|map| !map.contains_key(name)) {
            map.insert(name.to_owned(), value.into());
            changed = true;
        }
    }
    changed
}

fn insert(map: &mut Map<String, Value>, key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        map.insert(key.to_owned(), list.into());
    }
}

/// Returns the items of the first list missing in the second; a repetition counts once.
fn difference(list: &[Value], other: &[Value]) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for value in list {
        if !other.contains(value) && !found.contains(value) {
            found.push(value.clone());
        }
    }
    found
}

fn rules(object: NodeRef<'_>) -> Vec<PolicyRule> {
    object.get("rules").into_iter().flat_map(NodeRef::items).map(PolicyRule::from_node).collect()
}

fn rules_json(rules: &[PolicyRule]) -> Vec<Value> {
    rules.iter().filter_map(|rule| serde_json::to_value(rule).ok()).collect()
}

fn selectors(object: NodeRef<'_>) -> Vec<Value> {
    let list = object.path(&["aggregationRule", "clusterRoleSelectors"]);
    list.into_iter().flat_map(NodeRef::items).map(to_json).collect()
}

fn subjects(object: NodeRef<'_>) -> Vec<Value> {
    object.get("subjects").into_iter().flat_map(NodeRef::items).map(to_json).collect()
}

fn role_ref(object: NodeRef<'_>) -> Option<Value> {
    object.get("roleRef").map(to_json)
}
