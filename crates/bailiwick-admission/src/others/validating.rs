//! Kyverno's ValidatingPolicy and NamespacedValidatingPolicy (`policies.kyverno.io`), whose expressions are CEL.
//!
//! From `api/policies.kyverno.io` of Kyverno 1.19.

use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_yaml::NodeRef;

use super::{OtherRule, RuleAction, RuleContent, RuleScope, UnreadRule, expressions, kyverno};

/// The most items of a list that are read.
const MOST_ITEMS: usize = 200;

/// Reads a policy as one rule.
pub(super) fn read(policy: NodeRef<'_>) -> OtherRule {
    let named = kyverno::named(policy, None);
    let spec = |key: &str| policy.path(&["spec", key]);
    let stated = match spec("validations") {
        Some(validations) => expressions::read(spec("variables"), validations),
        None => Err("has no `validations`".into()),
    };
    let content = match stated {
        Ok(demands) => RuleContent::Stated(demands),
        Err(UnreadRule(reason)) => RuleContent::NotCompared(reason),
    };
    let mut scopes = vec![constraints(policy.path(&["spec", "matchConstraints"]))];
    if policy.text_at("kind") == "NamespacedValidatingPolicy" {
        scopes.push(RuleScope::Names(vec![named.namespace.clone()]));
    }
    if spec("matchConditions").is_some_and(|conditions| !conditions.is_empty()) {
        scopes.push(RuleScope::Some("only requests that fulfil its matchConditions".to_owned()));
    }
    OtherRule { content, action: action(policy), scope: RuleScope::All(scopes), ..named }
}

fn constraints(constraints: Option<NodeRef<'_>>) -> RuleScope {
    let Some(constraints) = constraints else { return RuleScope::nothing() };
    let rules = |key: &str| constraints.get(key).into_iter().flat_map(NodeRef::items).take(MOST_ITEMS);
    let mut scopes = vec![RuleScope::Any(rules("resourceRules").map(resource_rule).collect())];
    if rules("excludeResourceRules").next().is_some() {
        scopes.push(RuleScope::Some("without the resources of excludeResourceRules".to_owned()));
    }
    scopes.extend(
        constraints.get("namespaceSelector").map(|selector| RuleScope::Labels(LabelSelector::from_node(selector))),
    );
    if constraints.get("objectSelector").is_some_and(|selector| !selector.is_empty()) {
        scopes.push(RuleScope::Some("only pods with some labels".to_owned()));
    }
    RuleScope::All(scopes)
}

/// Reads a rule about resources: whether it selects the creation of pods.
fn resource_rule(rule: NodeRef<'_>) -> RuleScope {
    let has = |key: &str, wanted: &str| {
        let list = rule.get(key).into_iter().flat_map(NodeRef::items).take(MOST_ITEMS);
        list.filter_map(NodeRef::as_str).any(|item| item == wanted || item == "*")
    };
    if !has("apiGroups", "") || !has("apiVersions", "v1") || !has("operations", "CREATE") || !has("resources", "pods") {
        return RuleScope::nothing();
    }
    let is_limited = rule.get("resourceNames").is_some_and(|names| !names.is_empty());
    if is_limited { RuleScope::Some("only pods with some names".to_owned()) } else { RuleScope::everything() }
}

/// Reads the effect of a violation; the default is to refuse.
fn action(policy: NodeRef<'_>) -> RuleAction {
    if policy.path(&["spec", "evaluation", "admission", "enabled"]).and_then(NodeRef::as_bool) == Some(false) {
        return RuleAction::Reports;
    }
    let Some(actions) = policy.path(&["spec", "validationActions"]).filter(|actions| !actions.is_empty()) else {
        return RuleAction::Refuses;
    };
    let mut names = actions.items().take(MOST_ITEMS).map(NodeRef::as_str);
    if names.clone().any(|name| !matches!(name, Some("Deny" | "Audit" | "Warn"))) {
        return RuleAction::Undecided("the action has an unknown value".to_owned());
    }
    if names.any(|name| name == Some("Deny")) { RuleAction::Refuses } else { RuleAction::Reports }
}
