//! Takes verbs back from rules.
//!
//! RBAC cannot deny, so a verb is taken back by not granting it: the rule is split into one for the resources that
//! keep all verbs and one for those that lose some. A wildcard cannot be split, and saying so beats granting more
//! than was meant.

use super::{Exception, Rule};
use crate::diag::{Code, Diagnostic, Sink};
use crate::yaml::Spanned;

/// The rules without what the exceptions take back, in the order of the rules.
pub(super) fn take_back(rules: &[Spanned<Rule>], exceptions: &[Spanned<Exception>], sink: &mut Sink) -> Vec<Rule> {
    let mut left: Vec<(Rule, crate::diag::Origin)> =
        rules.iter().map(|rule| (rule.value.clone(), rule.origin)).collect();
    for exception in exceptions {
        let mut used = false;
        left = left
            .into_iter()
            .flat_map(|(rule, origin)| {
                if let Some(wildcard) = wildcard_in_the_way(&rule, exception) {
                    used = true;
                    sink.push(
                        Diagnostic::error(
                            Code::InvalidValue,
                            format!("nothing can be taken back from `*` in `{wildcard}`"),
                        )
                        .at(exception.origin)
                        .and(origin, "the rule with the wildcard")
                        .help(format!("list the {wildcard} of the rule one by one: RBAC has no way to deny")),
                    );
                    return vec![(rule, origin)];
                }
                let (parts, split) = split(rule, exception);
                used |= split;
                parts.into_iter().map(|part| (part, origin)).collect()
            })
            .collect();
        if !used {
            sink.push(
                Diagnostic::error(Code::InvalidValue, "this takes nothing back: no rule grants it")
                    .at(exception.origin)
                    .help("spell groups, resources and verbs as in the rules, or remove the exception"),
            );
        }
    }
    left.into_iter().map(|(rule, _)| rule).collect()
}

/// The field whose wildcard covers something that the exception names.
fn wildcard_in_the_way(rule: &Rule, exception: &Exception) -> Option<&'static str> {
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
fn split(rule: Rule, exception: &Exception) -> (Vec<Rule>, bool) {
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
    let part = |api_groups: &[String], resources: &[String], verbs: &[String]| Rule {
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
    use crate::diag::{FileId, Origin, Span};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(|word| word.trim_matches('-').to_owned()).collect()
    }

    fn rule(groups: &str, resources: &str, verbs: &str) -> Spanned<Rule> {
        let rule = Rule {
            api_groups: words(groups),
            resources: words(resources),
            resource_names: Vec::new(),
            non_resource_urls: Vec::new(),
            verbs: words(verbs),
        };
        Spanned::new(rule, Origin { file: FileId::default(), span: Span::default() })
    }

    fn exception(groups: Option<&str>, resources: &str, verbs: &str) -> Spanned<Exception> {
        let exception = Exception {
            api_groups: groups.map(words).unwrap_or_default(),
            resources: words(resources),
            verbs: words(verbs),
        };
        Spanned::new(exception, Origin { file: FileId::default(), span: Span::default() })
    }

    fn told(rules: &[Rule]) -> Vec<String> {
        rules.iter().map(|rule| format!("{:?} {:?} {:?}", rule.api_groups, rule.resources, rule.verbs)).collect()
    }

    #[test]
    fn a_verb_is_taken_from_one_resource_and_left_to_the_others() {
        let mut sink = Sink::new();
        let rules = [rule("-", "configmaps pods secrets", "get delete deletecollection")];
        let left = take_back(&rules, &[exception(None, "configmaps secrets", "deletecollection")], &mut sink);
        assert!(sink.is_empty(), "{sink:?}");
        assert_eq!(
            told(&left),
            [
                r#"[""] ["pods"] ["get", "delete", "deletecollection"]"#,
                r#"[""] ["configmaps", "secrets"] ["get", "delete"]"#
            ]
        );
    }

    #[test]
    fn a_group_that_is_not_named_keeps_its_verbs() {
        let rules = [rule("apps extensions", "deployments", "get delete")];
        let left = take_back(&rules, &[exception(Some("extensions"), "deployments", "delete")], &mut Sink::new());
        assert_eq!(
            told(&left),
            [r#"["apps"] ["deployments"] ["get", "delete"]"#, r#"["extensions"] ["deployments"] ["get"]"#]
        );
    }

    #[test]
    fn wildcards_and_exceptions_without_effect_are_refused() {
        for (rule, exception) in [
            (rule("-", "*", "get delete"), exception(None, "secrets", "delete")),
            (rule("-", "secrets", "*"), exception(None, "secrets", "delete")),
            (rule("*", "secrets", "get delete"), exception(Some("-"), "secrets", "delete")),
            (rule("-", "secrets", "get"), exception(None, "secrets", "delete")),
            (rule("-", "secrets", "delete"), exception(None, "secret", "delete")),
        ] {
            let mut sink = Sink::new();
            take_back(&[rule], &[exception], &mut sink);
            assert_eq!(sink.len(), 1);
        }
    }
}
