//! Removes verbs from rules.
//!
//! RBAC cannot deny, so the rule is split in two: one for the resources with all verbs, and one for the resources with
//! fewer verbs. A wildcard in a rule that covers more than the exception cannot be split and is reported, so that the
//! role never has more permissions than intended. A wildcard in the exception removes all verbs it covers.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_codes as codes;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};

use super::Exception;
use super::resolve::{Report, TargetApi};
use crate::model::{Pattern, Target};

/// An exception on a target.
struct Exact {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
}

/// The words of exceptions to expanded rules: an unknown word among known ones would leave a permission in the role.
#[derive(Default)]
pub(super) struct Words {
    /// The places of the words with a meaning on some target.
    known: BTreeSet<Origin>,
    /// Similar words of some target, by place.
    near: BTreeMap<Origin, String>,
}

impl Words {
    /// Looks the words up among the rules of a target, and resources among its API.
    pub(super) fn look_up(
        &mut self,
        exceptions: &[Spanned<Exception>],
        on: &TargetApi<'_>,
        rules: &[(PolicyRule, Origin)],
    ) {
        let verbs: BTreeSet<&str> = rules.iter().flat_map(|(rule, _)| &rule.verbs).map(String::as_str).collect();
        for exception in exceptions {
            for resource in &exception.resources {
                let text = Pattern::at_target(resource, on.target);
                let mut resources = rules.iter().flat_map(|(rule, _)| &rule.resources);
                let is_served = || !on.api.look_up(&text, &[]).is_unknown();
                if resources.any(|granted| covers(&text, granted) || covers(granted, &text)) || is_served() {
                    self.known.insert(resource.origin);
                } else if let Some(near) = on.api.nearest_resource(&text) {
                    self.near.insert(resource.origin, near);
                }
            }
            for verb in &exception.verbs {
                let text = Pattern::at_target(verb, on.target);
                if text == "*" || verbs.contains("*") || verbs.contains(text.as_str()) {
                    self.known.insert(verb.origin);
                } else if let Some(near) = nearest(&text, verbs.iter().copied()) {
                    self.near.insert(verb.origin, near.to_owned());
                }
            }
        }
    }

    /// Reports the words without a meaning on every target.
    pub(super) fn report(&self, exceptions: &[Spanned<Exception>], sink: &mut Sink) {
        let resources = exceptions.iter().flat_map(|exception| &exception.resources);
        let resources = resources.map(|word| (word, codes::UNKNOWN_RESOURCE, "no group serves"));
        let verbs = exceptions.iter().flat_map(|exception| &exception.verbs);
        let verbs = verbs.map(|word| (word, codes::INVALID_VALUE, "no rule grants the verb"));
        for (word, code, message) in resources.chain(verbs) {
            if !self.known.contains(&word.origin) {
                let error = Diagnostic::error(code, format!("{message} `{}`", word.value)).at(word.origin);
                sink.push(error.help(self.near.get(&word.origin).map_or_else(
                    || "remove it from the exception".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                )));
            }
        }
    }
}

/// Removes the verbs of an exception from the rules; returns false if no rule grants them.
pub(super) fn take_back(
    rules: &mut Vec<(PolicyRule, Origin)>,
    exception: &Spanned<Exception>,
    target: &Target,
    report: Report<'_>,
) -> bool {
    let every = || vec!["*".to_owned()];
    let groups = exception.api_groups.iter().map(|text| Pattern::at_target(text, target));
    let words = |texts: &[Spanned<String>]| texts.iter().map(|text| Pattern::at_target(text, target)).collect();
    let exact = Exact {
        api_groups: if exception.api_groups.is_empty() { every() } else { groups.collect() },
        resources: words(&exception.resources),
        verbs: words(&exception.verbs),
    };
    let mut used = false;
    for (rule, origin) in std::mem::take(rules) {
        if let Some((field, wildcard)) = wildcard_in_the_way(&rule, &exact) {
            used = true;
            report(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    format!("an exception to `{wildcard}` in `{field}` is not possible"),
                )
                .at(exception.origin)
                .and(origin, "the rule with the wildcard")
                .help(format!(
                    "list the {field} of the rule: RBAC cannot deny a permission; or add `expand: true` to list what the target serves"
                )),
            );
            rules.push((rule, origin));
            continue;
        }
        let (parts, split) = split(rule, &exact);
        used |= split;
        rules.extend(parts.into_iter().map(|part| (part, origin)));
    }
    used
}

/// Whether one entry of a list covers another entry.
///
/// Besides `*`, resources have `*/scale`: this subresource of every resource (Kubernetes, `ResourceMatches` in
/// pkg/apis/rbac/v1/evaluation_helpers.go). Groups and verbs have no slash.
pub fn covers(wide: &str, narrow: &str) -> bool {
    let subresource = |text| str::split_once(text, '/').map(|(_, subresource)| subresource);
    wide == "*"
        || wide == narrow
        || wide.strip_prefix("*/").is_some_and(|wanted| subresource(narrow).is_some_and(|found| found == wanted))
}

/// Whether an exception covers an entry of a rule completely.
fn takes(wanted: &[String], entry: &str) -> bool {
    wanted.iter().any(|wanted| covers(wanted, entry))
}

/// Returns the field and its wildcard that covers the exception and more.
fn wildcard_in_the_way<'r>(rule: &'r PolicyRule, exception: &Exact) -> Option<(&'static str, &'r str)> {
    let fields = [
        ("resources", &rule.resources, &exception.resources),
        ("verbs", &rule.verbs, &exception.verbs),
        ("apiGroups", &rule.api_groups, &exception.api_groups),
    ];
    let meets =
        |entry: &str, wanted: &[String]| takes(wanted, entry) || wanted.iter().any(|wanted| covers(entry, wanted));
    if !fields.iter().all(|(_, list, wanted)| list.iter().any(|entry| meets(entry, wanted))) {
        return None;
    }
    fields.into_iter().find_map(|(field, list, wanted)| {
        let wildcard = list.iter().find(|entry| meets(entry, wanted) && !takes(wanted, entry))?;
        Some((field, wildcard.as_str()))
    })
}

/// Splits a rule by an exception, and returns whether the rule changed.
fn split(rule: PolicyRule, exception: &Exact) -> (Vec<PolicyRule>, bool) {
    let names = |list: &[String], wanted: &[String]| -> (Vec<String>, Vec<String>) {
        list.iter().cloned().partition(|entry| takes(wanted, entry))
    };
    let (verbs_lost, verbs_kept) = names(&rule.verbs, &exception.verbs);
    let (resources_hit, resources_spared) = names(&rule.resources, &exception.resources);
    let (groups_hit, groups_spared) = names(&rule.api_groups, &exception.api_groups);
    if verbs_lost.is_empty() || resources_hit.is_empty() || groups_hit.is_empty() {
        return (vec![rule], false);
    }
    let part = |api_groups: &[String], resources: &[String], verbs: &[String]| PolicyRule {
        api_groups: api_groups.to_vec(),
        resources: resources.to_vec(),
        verbs: verbs.to_vec(),
        ..rule.clone()
    };
    let parts = [
        part(&groups_spared, &rule.resources, &rule.verbs),
        part(&groups_hit, &resources_spared, &rule.verbs),
        part(&groups_hit, &resources_hit, &verbs_kept),
    ];
    let parts = parts.into_iter();
    (
        parts
            .filter(|part| !part.api_groups.is_empty() && !part.resources.is_empty() && !part.verbs.is_empty())
            .collect(),
        true,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::{FileId, Span};

    const PLACE: fn() -> Origin = || Origin { file: FileId::default(), span: Span::default() };

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(|word| word.trim_matches('-').to_owned()).collect()
    }

    fn spanned(text: &str) -> Vec<Spanned<String>> {
        words(text).into_iter().map(|word| Spanned::new(word, PLACE())).collect()
    }

    fn rule(groups: &str, resources: &str, verbs: &str) -> PolicyRule {
        PolicyRule {
            api_groups: words(groups),
            resources: words(resources),
            verbs: words(verbs),
            ..PolicyRule::default()
        }
    }

    fn exception(groups: Option<&str>, resources: &str, verbs: &str) -> Spanned<Exception> {
        let exception = Exception {
            api_groups: groups.map(words).unwrap_or_default(),
            resources: spanned(resources),
            verbs: spanned(verbs),
        };
        Spanned::new(exception, PLACE())
    }

    /// Returns the remaining rules, whether a rule changed, and the number of diagnostics.
    fn left(rule: PolicyRule, exception: &Spanned<Exception>) -> (Vec<PolicyRule>, bool, usize) {
        let mut rules = vec![(rule, PLACE())];
        let mut told = 0;
        let used = take_back(&mut rules, exception, &Target::plain("t", 36), &mut |_| told += 1);
        (rules.into_iter().map(|(rule, _)| rule).collect(), used, told)
    }

    #[test]
    fn a_verb_is_taken_from_one_resource_and_left_to_the_others() {
        let all = rule("-", "configmaps pods secrets", "get delete deletecollection");
        let (left, used, told) = left(all, &exception(None, "configmaps secrets", "deletecollection"));
        assert_eq!(
            left,
            [rule("-", "pods", "get delete deletecollection"), rule("-", "configmaps secrets", "get delete")]
        );
        assert!(used && told == 0);
    }

    #[test]
    fn a_group_that_is_not_named_keeps_its_verbs() {
        let all = rule("apps extensions", "deployments", "get delete");
        let (left, ..) = left(all, &exception(Some("extensions"), "deployments", "delete"));
        assert_eq!(left, [rule("apps", "deployments", "get delete"), rule("extensions", "deployments", "get")]);
    }

    #[test]
    fn wildcards_and_exceptions_without_effect_are_refused() {
        for (rule, exception, is_wildcard) in [
            (rule("-", "*", "get delete"), exception(None, "secrets", "delete"), true),
            (rule("-", "secrets", "*"), exception(None, "secrets", "delete"), true),
            (rule("*", "secrets", "get delete"), exception(Some("-"), "secrets", "delete"), true),
            (rule("apps", "*/scale", "update"), exception(None, "deployments/scale", "update"), true),
            (rule("apps", "*", "update"), exception(None, "*/scale", "update"), true),
            (rule("apps", "deployments */scale", "update"), exception(None, "deployments/scale", "update"), true),
            (rule("apps", "*/scale", "*"), exception(None, "*/scale", "update"), true),
            (rule("apps", "*/scale", "update"), exception(None, "deployments", "update"), false),
            (rule("apps", "*/scale", "update"), exception(None, "deployments/status", "update"), false),
            (rule("apps", "*/scale", "update"), exception(Some("batch"), "deployments/scale", "update"), false),
            (rule("apps", "*/scale", "get"), exception(None, "deployments/scale", "update"), false),
            (rule("-", "secrets", "get"), exception(None, "secrets", "delete"), false),
            (rule("-", "secrets", "delete"), exception(None, "secret", "delete"), false),
        ] {
            let (_, used, told) = left(rule, &exception);
            assert_eq!((used, told == 1), (is_wildcard, is_wildcard));
        }
    }
    #[test]
    fn a_wildcard_in_an_exception_takes_all_that_it_covers() {
        for (before, exception, after) in [
            (rule("-", "pods secrets", "get *"), exception(None, "secrets", "*"), vec![rule("-", "pods", "get *")]),
            (rule("-", "secrets", "get list"), exception(None, "secrets", "*"), vec![]),
            (rule("-", "* pods", "get delete"), exception(None, "*", "delete"), vec![rule("-", "* pods", "get")]),
            (
                rule("apps", "deployments deployments/scale */scale", "get update"),
                exception(None, "*/scale", "update"),
                vec![rule("apps", "deployments", "get update"), rule("apps", "deployments/scale */scale", "get")],
            ),
            (
                rule("* apps", "pods", "get delete"),
                exception(Some("*"), "pods", "delete"),
                vec![rule("* apps", "pods", "get")],
            ),
        ] {
            assert_eq!(left(before, &exception), (after, true, 0));
        }
    }

    #[test]
    fn urls_are_left_alone() {
        let urls = PolicyRule { non_resource_urls: words("/healthz"), verbs: words("get"), ..PolicyRule::default() };
        assert_eq!(left(urls.clone(), &exception(None, "*", "*")), (vec![urls], false, 0));
    }
}
