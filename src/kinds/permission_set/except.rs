//! Takes verbs back from rules.
//!
//! RBAC cannot deny, so a verb is taken back by not granting it: the rule is split into one for the resources that
//! keep all verbs and one for those that lose some. A wildcard cannot be split, and saying so beats granting more
//! than was meant.

use super::Exception;
use super::resolve::Report;
use crate::diag::{Code, Diagnostic, Origin};
use crate::k8s::rbac::PolicyRule;
use crate::model::{Pattern, Target};
use crate::yaml::Spanned;

/// Takes back from the rules what an exception names; false when no rule grants it.
pub(super) fn take_back(
    rules: &mut Vec<(PolicyRule, Origin)>,
    exception: &Spanned<Exception>,
    target: &Target,
    report: Report<'_>,
) -> bool {
    let at_target = |texts: &[String]| texts.iter().map(|text| Pattern::at_target(text, target)).collect();
    let exact = Exception {
        api_groups: at_target(&exception.api_groups),
        resources: at_target(&exception.resources),
        verbs: at_target(&exception.verbs),
    };
    let mut used = false;
    for (rule, origin) in std::mem::take(rules) {
        if let Some(wildcard) = wildcard_in_the_way(&rule, &exact) {
            used = true;
            report(
                Diagnostic::error(Code::InvalidValue, format!("nothing can be taken back from `*` in `{wildcard}`"))
                    .at(exception.origin)
                    .and(origin, "the rule with the wildcard")
                    .help(format!("list the {wildcard} of the rule one by one: RBAC has no way to deny")),
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

/// The field whose wildcard covers something that the exception names.
fn wildcard_in_the_way(rule: &PolicyRule, exception: &Exception) -> Option<&'static str> {
    let star = |list: &[String]| list.iter().any(|entry| entry == "*");
    let shares = |list: &[String], wanted: &[String]| list.iter().any(|entry| wanted.contains(entry));
    let group =
        exception.api_groups.is_empty() || star(&rule.api_groups) || shares(&rule.api_groups, &exception.api_groups);
    let resource = star(&rule.resources) || shares(&rule.resources, &exception.resources);
    let verb = star(&rule.verbs) || shares(&rule.verbs, &exception.verbs);
    if !(group && resource && verb) {
        return None;
    }
    if star(&rule.resources) {
        Some("resources")
    } else if star(&rule.verbs) && !star(&exception.verbs) {
        Some("verbs")
    } else if star(&rule.api_groups) && !exception.api_groups.is_empty() {
        Some("apiGroups")
    } else {
        None
    }
}

/// The parts of a rule after an exception, and whether it took anything.
fn split(rule: PolicyRule, exception: &Exception) -> (Vec<PolicyRule>, bool) {
    let names = |list: &[String], wanted: &[String]| -> (Vec<String>, Vec<String>) {
        list.iter().cloned().partition(|entry| wanted.contains(entry))
    };
    let (verbs_lost, verbs_kept) = names(&rule.verbs, &exception.verbs);
    let (resources_hit, resources_spared) = names(&rule.resources, &exception.resources);
    let (groups_hit, groups_spared) = if exception.api_groups.is_empty() {
        (rule.api_groups.clone(), Vec::new())
    } else {
        names(&rule.api_groups, &exception.api_groups)
    };
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
    use crate::diag::{FileId, Span};

    const PLACE: fn() -> Origin = || Origin { file: FileId::default(), span: Span::default() };

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(|word| word.trim_matches('-').to_owned()).collect()
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
            resources: words(resources),
            verbs: words(verbs),
        };
        Spanned::new(exception, PLACE())
    }

    /// What is left of a rule, whether anything was taken, and how many complaints there were.
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
            (rule("-", "secrets", "get"), exception(None, "secrets", "delete"), false),
            (rule("-", "secrets", "delete"), exception(None, "secret", "delete"), false),
        ] {
            let (_, used, told) = left(rule, &exception);
            assert_eq!((used, told == 1), (is_wildcard, is_wildcard));
        }
    }
}
