//! Kyverno's ClusterPolicy and Policy (`kyverno.io`), rule by rule.
//!
//! From `api/kyverno/v1` of Kyverno 1.19. A rule about pods also holds for the pod templates of workloads (*autogen*), which
//! does not change the pods.

use bailiwick_kubernetes::selector::LabelSelector;
use bailiwick_yaml::NodeRef;

use super::{
    Demand, OtherController, OtherRule, RuleAction, RuleContent, RuleScope, UnreadRule, conditions, expressions,
    pattern,
};
use crate::level::{Level, PolicyVersion};
use crate::standards::labels::LevelVersion;

/// The most rules of a policy that are read.
const MOST_RULES: usize = 200;

/// The most names or filters of a block that are read.
const MOST_FILTERS: usize = 1_000;

/// The fields of a rule without influence on its demands.
const FIELDS_OF_RULE: [&str; 7] =
    ["name", "match", "exclude", "preconditions", "validate", "skipBackgroundRequests", "context"];

/// The fields of `validate` without influence on its demands.
const FIELDS_OF_VALIDATE: [&str; 4] = ["message", "failureAction", "failureActionOverrides", "allowExistingViolations"];

/// Reads the rules of a policy.
pub(super) fn read(policy: NodeRef<'_>) -> Vec<OtherRule> {
    let list = policy.path(&["spec", "rules"]);
    let rules: Vec<NodeRef<'_>> = list.into_iter().flat_map(NodeRef::items).take(MOST_RULES + 1).collect();
    if rules.is_empty() || rules.len() > MOST_RULES {
        let content = RuleContent::NotCompared(format!("has no rules, or more than {MOST_RULES}"));
        return vec![OtherRule { content, ..named(policy, None) }];
    }
    let several = rules.len() > 1;
    rules.into_iter().map(|rule| read_rule(policy, rule, several)).collect()
}

/// Returns a rule with the identity of its policy, and nothing read yet.
pub(super) fn named(policy: NodeRef<'_>, rule: Option<&str>) -> OtherRule {
    let metadata = |key| policy.get("metadata").map_or("", |metadata| metadata.text_at(key)).to_owned();
    OtherRule {
        controller: OtherController::Kyverno,
        kind: policy.text_at("kind").to_owned(),
        namespace: metadata("namespace"),
        name: metadata("name"),
        rule: rule.filter(|rule| !rule.is_empty()).map(str::to_owned),
        content: RuleContent::NotCompared(String::new()),
        action: RuleAction::Reports,
        scope: RuleScope::everything(),
    }
}

fn read_rule(policy: NodeRef<'_>, rule: NodeRef<'_>, several: bool) -> OtherRule {
    let named = named(policy, Some(rule.text_at("name")));
    let mut scopes = Vec::new();
    if policy.text_at("kind") == "Policy" {
        scopes.push(RuleScope::Names(vec![named.namespace.clone()]));
    }
    scopes.extend([matched(rule), RuleScope::Not(Box::new(excluded(rule)))]);
    let precondition = rule.get("preconditions").filter(|conditions| !conditions::is_about_deletion(*conditions));
    scopes.extend(precondition.map(|_| RuleScope::Some("only pods that fulfil its preconditions".to_owned())));
    let spec = |key: &str| policy.path(&["spec", key]);
    if several && spec("applyRules").and_then(NodeRef::as_str) == Some("One") {
        scopes.push(RuleScope::Some("only pods that no earlier rule of the policy selects".to_owned()));
    }
    if policy.path(&["spec", "webhookConfiguration", "matchConditions"]).is_some() {
        scopes.push(RuleScope::Some("only requests that fulfil its matchConditions".to_owned()));
    }
    let content = match demands(rule) {
        Ok(demands) => RuleContent::Stated(demands),
        Err(UnreadRule(reason)) => RuleContent::NotCompared(reason),
    };
    OtherRule { content, action: action(policy, rule), scope: RuleScope::All(scopes), ..named }
}

/// Returns the demands of a rule, or the reason why they were not compared.
fn demands(rule: NodeRef<'_>) -> Result<Vec<Demand>, UnreadRule> {
    let Some(validate) = rule.get("validate").filter(|validate| validate.is_map()) else {
        return Err("a rule without `validate`".into());
    };
    let unread = |fields: &[&str], map: NodeRef<'_>| -> Vec<String> {
        let keys = map.entries().map(|(key, _)| key.as_key()).filter(|key| !fields.contains(key));
        keys.take(2).map(str::to_owned).collect()
    };
    if !unread(&FIELDS_OF_RULE, rule).is_empty() {
        return Err("a field of the rule that is not read".into());
    }
    let stated = unread(&FIELDS_OF_VALIDATE, validate);
    let [field] = stated.as_slice() else { return Err("not exactly one way to validate".into()) };
    let Some(value) = validate.get(field) else { return Err("not exactly one way to validate".into()) };
    match field.as_str() {
        "pattern" => pattern::read(value),
        "anyPattern" => pattern::read_any(value),
        "deny" => conditions::read_deny(value),
        "foreach" => conditions::read_each(value),
        "podSecurity" => level(value),
        "cel" => match value.get("expressions") {
            Some(expressions) if value.get("paramKind").is_none() => {
                expressions::read(value.get("variables"), expressions)
            }
            _ => Err("CEL with parameters or without expressions".into()),
        },
        _ => Err("a way to validate that is not read".into()),
    }
}

/// Reads `podSecurity`. A rule with excluded controls is not compared.
fn level(rule: NodeRef<'_>) -> Result<Vec<Demand>, UnreadRule> {
    let level = Level::parse(rule.text_at("level")).ok_or_else(|| UnreadRule::from("a level that does not exist"))?;
    let version = match rule.text_at("version") {
        "" => PolicyVersion::Latest,
        text => PolicyVersion::parse(text).ok_or_else(|| UnreadRule::from("a version that does not exist"))?,
    };
    if rule.get("exclude").is_some_and(|exclude| !exclude.is_empty()) {
        return Err(format!("level {level} without the controls in its `exclude`").into());
    }
    Ok(vec![Demand::Level(LevelVersion { level, version })])
}

/// Reads the effect of a violation: of the rule, or else of the policy.
fn action(policy: NodeRef<'_>, rule: NodeRef<'_>) -> RuleAction {
    let of_policy = |key: &str| policy.path(&["spec", key]);
    let of_rule = |key: &str| rule.path(&["validate", key]);
    let is_listed = |list: Option<NodeRef<'_>>| list.is_some_and(|list| !list.is_empty());
    if of_policy("admission").and_then(NodeRef::as_bool) == Some(false) {
        return RuleAction::Reports;
    }
    if is_listed(of_rule("failureActionOverrides")) || is_listed(of_policy("validationFailureActionOverrides")) {
        return RuleAction::Undecided("the action depends on the namespace".to_owned());
    }
    let written = of_rule("failureAction").or_else(|| of_policy("validationFailureAction"));
    match written.map(|action| action.as_str()) {
        // The default of the API.
        None | Some(Some("Audit" | "audit" | "")) => RuleAction::Reports,
        Some(Some("Enforce" | "enforce")) => RuleAction::Refuses,
        Some(_) => RuleAction::Undecided("the action has an unknown value".to_owned()),
    }
}

fn matched(rule: NodeRef<'_>) -> RuleScope {
    rule.get("match").map_or_else(RuleScope::nothing, block)
}

/// Reads `exclude`; none excludes nothing.
fn excluded(rule: NodeRef<'_>) -> RuleScope {
    let exclude = rule.get("exclude").filter(|exclude| !exclude.is_empty());
    exclude.map_or_else(RuleScope::nothing, block)
}

/// Reads a block of `match` or `exclude`: `any`, `all`, or one filter.
fn block(block: NodeRef<'_>) -> RuleScope {
    let filters = |list: NodeRef<'_>| -> Vec<RuleScope> { list.items().take(MOST_FILTERS).map(filter).collect() };
    match (block.get("any"), block.get("all")) {
        (Some(any), None) => RuleScope::Any(filters(any)),
        (None, Some(all)) if !all.is_empty() => RuleScope::All(filters(all)),
        (None, None) => filter(block),
        _ => RuleScope::Some("`any` and `all` in one block".to_owned()),
    }
}

/// Reads a filter. Conditions besides kinds and namespaces select only some pods.
fn filter(filter: NodeRef<'_>) -> RuleScope {
    let Some(resources) = filter.get("resources").filter(|resources| !resources.is_empty()) else {
        return RuleScope::Some("only requests of some subjects".to_owned());
    };
    let mut scopes = Vec::new();
    for (key, value) in resources.entries() {
        match key.as_key() {
            "kinds" => scopes.push(kinds(value)),
            "namespaces" => scopes.push(names(value)),
            "namespaceSelector" => scopes.push(selector(value)),
            "operations" if has_creation(value) => {}
            _ => scopes.push(RuleScope::Some("only some pods, by their names, labels or operations".to_owned())),
        }
    }
    let is_further = filter.entries().any(|(key, value)| key.as_key() != "resources" && !value.is_empty());
    if is_further {
        scopes.push(RuleScope::Some("only requests of some subjects".to_owned()));
    }
    RuleScope::All(scopes)
}

fn kinds(list: NodeRef<'_>) -> RuleScope {
    let kinds: Vec<&str> = list.items().take(MOST_FILTERS).filter_map(NodeRef::as_str).collect();
    if kinds.iter().any(|kind| matches!(*kind, "Pod" | "v1/Pod" | "*/Pod" | "*/v1/Pod" | "*" | "*/*")) {
        RuleScope::everything()
    } else if kinds.iter().any(|kind| kind.contains(['*', '?'])) {
        RuleScope::Some("a kind with wildcards".to_owned())
    } else {
        RuleScope::nothing()
    }
}

fn has_creation(list: NodeRef<'_>) -> bool {
    list.items().take(MOST_FILTERS).any(|operation| operation.as_str() == Some("CREATE"))
}

pub(super) fn names(list: NodeRef<'_>) -> RuleScope {
    let names = list.items().take(MOST_FILTERS).filter_map(NodeRef::as_str).map(str::to_owned);
    if list.len() > MOST_FILTERS {
        return RuleScope::Some(format!("more than {MOST_FILTERS} namespaces"));
    }
    RuleScope::Names(names.collect())
}

/// Reads a selector of namespaces. Kyverno has wildcards in the labels, which are not read.
fn selector(selector: NodeRef<'_>) -> RuleScope {
    let labels = selector.get("matchLabels").into_iter().flat_map(NodeRef::entries);
    let has_wildcard = |text: Option<&str>| text.is_none_or(|text| text.contains(['*', '?']));
    if labels.take(MOST_FILTERS).any(|(key, value)| has_wildcard(key.as_str()) || has_wildcard(value.as_str())) {
        return RuleScope::Some("namespaces with labels like a wildcard".to_owned());
    }
    RuleScope::Labels(LabelSelector::from_node(selector))
}
