//! The ClusterRole `system:node` and its binding, by version
//! (`plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go`).

use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::identity::NODES;
use super::version::{FeatureGate, ServerVersion};
use bailiwick_kubernetes::rbac::{GROUP, PolicyRule};
use bailiwick_yaml::de::from_node;
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::{self as yaml, NodeRef};

/// The name of both.
pub const NAME: &str = "system:node";

/// A rule of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    /// The first minor with it.
    #[serde(default)]
    since: Option<u32>,
    /// The last one.
    #[serde(default)]
    until: Option<u32>,
    /// The gate for its presence.
    #[serde(default)]
    gate: Option<FeatureGate>,
}

impl Row {
    fn is_of(&self, minor: u32) -> bool {
        self.since.is_none_or(|since| minor >= since) && self.until.is_none_or(|until| minor <= until)
    }

    fn holds(&self, version: &ServerVersion) -> bool {
        self.is_of(version.minor()) && self.gate.is_none_or(|gate| version.is_on(gate))
    }

    fn rule(&self) -> PolicyRule {
        PolicyRule {
            api_groups: self.groups.clone(),
            resources: self.resources.clone(),
            verbs: self.verbs.clone(),
            ..PolicyRule::default()
        }
    }
}

fn table() -> &'static [Row] {
    static TABLE: OnceLock<Vec<Row>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let tree = yaml::read(include_str!("facts/system-node.yaml"), FileId::default(), &mut Sink::new());
        let rows = tree.document(0).and_then(|root| root.get("rules"));
        // The test below reads every row.
        rows.into_iter().flat_map(NodeRef::items).filter_map(|row| from_node(row).ok()).collect()
    })
}

/// Returns the rules of the role.
pub fn rules(version: &ServerVersion) -> Vec<PolicyRule> {
    table().iter().filter(|row| row.holds(version)).map(Row::rule).collect()
}

/// Returns the rules possible for the role with any gates.
pub fn possible_rules(version: &ServerVersion) -> Vec<PolicyRule> {
    let known = table().iter().filter(|row| row.is_of(version.minor()));
    known.map(Row::rule).collect()
}

/// Returns the version of the RBAC API for the role and the binding.
pub fn api_version(version: &ServerVersion) -> String {
    format!("{GROUP}/{}", if version.since(8) { "v1" } else { "v1beta1" })
}

/// The source of the binding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// The API server: from 1.8 on, and in 1.7 with the Node authorizer, a binding without subjects.
    #[default]
    Upstream,
    /// The Kubernetes design proposal for the Node authorizer: no binding without subjects.
    Seed,
}

/// The state of the binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemNodeBinding {
    /// It binds the group `system:nodes`.
    Bound,
    /// The binding exists without subjects, for the removal of an old subject by the server.
    Empty,
    /// There is none.
    Absent,
}

/// Returns the binding of a new cluster.
pub fn binding(version: &ServerVersion, style: Style, has_node_authorizer: bool) -> SystemNodeBinding {
    let is_bound = !version.since(7) || version.minor() == 7 && !has_node_authorizer;
    match (is_bound, style) {
        (true, _) => SystemNodeBinding::Bound,
        (false, Style::Upstream) => SystemNodeBinding::Empty,
        (false, Style::Seed) => SystemNodeBinding::Absent,
    }
}

/// Returns the permissions opened to every node by a binding of the group `system:nodes` to the role: short texts, the
/// worst first.
pub fn opened_by_stale_binding(version: &ServerVersion) -> Vec<&'static str> {
    let mut opened = Vec::new();
    let rules = rules(version);
    let allows = |resource: &str, verb: &str| {
        let has = |list: &[String], wanted: &str| list.iter().any(|entry| entry == wanted);
        rules.iter().any(|rule| has(&rule.resources, resource) && has(&rule.verbs, verb))
    };
    if allows("serviceaccounts/token", "create") {
        opened.push("makes tokens of any service account");
    }
    if allows("secrets", "list") {
        opened.push("lists every Secret");
    } else if allows("secrets", "get") {
        opened.push("gets every Secret with a known name");
    }
    if allows("nodes", "delete") {
        opened.push("deletes any Node");
    }
    opened.push("reads every pod, and every ConfigMap");
    opened
}

/// Returns the role `system:node` of a version and its binding, as manifests.
pub fn objects(version: &ServerVersion, binding: SystemNodeBinding) -> Vec<Value> {
    let metadata = json!({
        "name": NAME,
        "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
        "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
    });
    let api_version = api_version(version);
    let mut objects = vec![json!({
        "apiVersion": api_version, "kind": "ClusterRole", "metadata": metadata, "rules": rules(version),
    })];
    if binding != SystemNodeBinding::Absent {
        let mut object = json!({
            "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": NAME },
        });
        if let (SystemNodeBinding::Bound, Some(map)) = (binding, object.as_object_mut()) {
            let subject = json!({ "apiGroup": GROUP, "kind": "Group", "name": NODES });
            map.insert("subjects".to_owned(), json!([subject]));
        }
        objects.push(object);
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        let tree = yaml::read(include_str!("facts/system-node.yaml"), FileId::default(), &mut Sink::new());
        let root = tree.document(0).expect("a document");
        assert_eq!(root.get("lastMinor").and_then(NodeRef::as_int), Some(super::super::version::LAST_MINOR.into()));
        let rows = root.get("rules").expect("rules");
        for row in rows.items() {
            from_node::<Row>(row).expect("a row");
        }
        assert_eq!(table().len(), rows.len());
    }

    #[test]
    fn the_binding_has_its_history() {
        let binding = |minor, style, mode| binding(&ServerVersion::new(minor).expect("known"), style, mode);
        assert_eq!(binding(6, Style::Seed, true), SystemNodeBinding::Bound);
        assert_eq!(binding(7, Style::Upstream, false), SystemNodeBinding::Bound);
        assert_eq!(binding(7, Style::Upstream, true), SystemNodeBinding::Empty);
        assert_eq!(binding(7, Style::Seed, true), SystemNodeBinding::Absent);
        assert_eq!(binding(36, Style::Upstream, false), SystemNodeBinding::Empty);
        assert_eq!(binding(8, Style::Seed, false), SystemNodeBinding::Absent);
    }

    #[test]
    fn a_stale_binding_opens_more_from_minor_to_minor() {
        let opened = |minor| opened_by_stale_binding(&ServerVersion::new(minor).expect("known"));
        assert!(opened(10).contains(&"gets every Secret with a known name"));
        assert!(
            opened(11).contains(&"lists every Secret") && !opened(11).contains(&"makes tokens of any service account")
        );
        assert_eq!(opened(12).first(), Some(&"makes tokens of any service account"));
    }
}
