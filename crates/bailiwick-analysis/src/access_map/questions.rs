//! The questions of the matrix: one request for each chosen row of the risk table.

use bailiwick_access::risk::{self, RiskRule};
use bailiwick_access::{Request, ResourceRequest, cover};
use bailiwick_kubernetes::rbac::PolicyRule;
use schemars::JsonSchema;
use serde::Serialize;

/// The chosen rows of the risk table, each with a verb, an API group and a resource of its condition.
const QUESTIONS: [[&str; 4]; 16] = [
    ["E001", "*", "*", "*"],
    ["S001", "get", "", "secrets"],
    ["S002", "list", "", "secrets"],
    ["W001", "create", "", "pods"],
    ["W002", "patch", "apps", "deployments"],
    ["W004", "create", "", "pods/exec"],
    ["E014", "create", "rbac.authorization.k8s.io", "rolebindings"],
    ["E003", "bind", "rbac.authorization.k8s.io", "clusterroles"],
    ["E002", "escalate", "rbac.authorization.k8s.io", "clusterroles"],
    ["E004", "impersonate", "", "users"],
    ["E009", "create", "", "serviceaccounts/token"],
    ["C001", "create", "", "nodes/proxy"],
    ["C002", "patch", "", "nodes"],
    ["C005", "create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"],
    ["C010", "create", "", "persistentvolumes"],
    ["C015", "patch", "", "namespaces"],
];

/// A question of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessQuestion {
    /// The id of the risk rule, such as `W001`.
    pub rule: String,
    /// The code of the risk rule, such as `create-pods`.
    pub code: String,
    /// The action of the request, such as `create`.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource with its subresource, such as `pods/exec`.
    pub resource: String,
    /// Whether the request is for the whole cluster alone.
    pub cluster_only: bool,
}

impl AccessQuestion {
    fn new(rule: &RiskRule, [_, verb, group, resource]: [&str; 4]) -> Self {
        Self {
            rule: rule.id.to_owned(),
            code: rule.code.id().to_owned(),
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            cluster_only: rule.namespace.is_none(),
        }
    }

    /// Returns the request in a namespace, or for the whole cluster.
    pub fn request(&self, namespace: Option<&str>) -> Request {
        let (resource, subresource) = self.resource.split_once('/').map_or((self.resource.as_str(), ""), |parts| parts);
        Request::Resource(ResourceRequest {
            namespace: namespace.into_iter().collect(),
            verb: self.verb.clone(),
            group: self.group.clone(),
            version: String::new(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            name: String::new(),
        })
    }

    /// Whether one of some rules allows the request.
    pub(super) fn is_allowed_by(&self, rules: &[PolicyRule]) -> bool {
        let wanted = PolicyRule {
            api_groups: vec![self.group.clone()],
            resources: vec![self.resource.clone()],
            verbs: vec![self.verb.clone()],
            ..PolicyRule::default()
        };
        rules.iter().any(|rule| cover::rule_covers(rule, &wanted))
    }
}

/// Returns the questions in the order of the matrix.
pub(super) fn all() -> Vec<AccessQuestion> {
    QUESTIONS.into_iter().filter_map(|row| Some(AccessQuestion::new(risk::of_id(row[0])?, row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_a_part_of_the_condition_of_its_rule() {
        assert_eq!(all().len(), QUESTIONS.len());
        for question in all() {
            let rule = risk::of_id(&question.rule).expect("a rule");
            let condition = rule.condition().expect("a condition");
            let resource = question.resource.as_str();
            for word in [question.verb.as_str(), resource] {
                assert!(condition.contains(word), "{}: {word} in {condition}", question.rule);
            }
        }
    }
}
