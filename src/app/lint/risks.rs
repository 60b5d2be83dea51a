//! Findings about risk as diagnostics.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::rule_places::RulePlaces;
use crate::access::compare::Affected;
use crate::access::proof::Link;
use crate::access::risk::Finding;
use crate::access::who_can::PermissionScope;
use crate::app::account_names::AccountNames;
use crate::app::words::{chain_line, more_alike, number, rule_text};
use crate::diag::{Diagnostic, Files, Risk};
use crate::k8s::rbac::PolicyRule;

/// How many of the findings that one stands for are named.
const MAXIMUM_FOLDED: usize = 5;

/// How many of those a finding concerns are named.
const MAXIMUM_NAMED: usize = 3;

/// Returns a finding as a warning with its proof. Its place is the rule of its role, if known; a finding about a
/// binding has the place of the binding, with the rule beside it.
pub(super) fn diagnostic(
    finding: &Finding,
    files: &Files,
    rules: &mut RulePlaces<'_>,
    accounts: &AccountNames<'_>,
) -> Diagnostic {
    let alike = more_alike(finding.count.saturating_sub(1));
    let mut place_of = |role: Option<&Link>, rule| rules.of(role?.place?, rule);
    let of_rule = finding.rule_of_role.as_ref().and_then(|rule| place_of(finding.role.as_ref(), rule));
    let mut diagnostic = Diagnostic::warning(finding.rule.code, format!("{}{alike}", finding.message()))
        .at_maybe(of_rule.or(finding.place))
        .labelled(finding.severity.word())
        .help(finding.help.as_deref().unwrap_or(finding.rule.help))
        .about(about(finding, accounts));
    if let [_, further @ ..] = finding.first.as_slice()
        && !further.is_empty()
    {
        let named: Vec<String> = further.iter().take(MAXIMUM_NAMED).map(named).collect();
        let more = if finding.count > named.len() + 1 { ", ..." } else { "" };
        diagnostic = diagnostic.note(format!("also {}{more}", named.join(", ")));
    }
    if let Some(note) = folded(finding) {
        diagnostic = diagnostic.note(note);
    }
    if !finding.names.is_empty() && !finding.has_names() {
        diagnostic = diagnostic.note(format!("limited to the names {}", finding.named()));
    }
    let granting = finding.proof.iter().flat_map(|chain| chain.rules.iter().map(move |rule| (&chain.role, rule)));
    for (role, rule) in granting.take(MAXIMUM_NAMED) {
        if let Some(place) = place_of(Some(role), rule) {
            diagnostic = diagnostic.and(place, format!("rule {} of {}", rule.number, role.name));
        }
    }
    for chain in &finding.proof {
        diagnostic = diagnostic.note(chain_line(chain, files));
    }
    if let Some(rule) = &finding.rule_of_role {
        diagnostic = diagnostic.note(format!("rule {}: {}", rule.number, rule_text(&rule.rule)));
    }
    diagnostic
}

/// Returns a subject, and the namespace of its permissions if its name does not contain the namespace.
fn named(affected: &Affected) -> String {
    match &affected.scope {
        PermissionScope::Namespace(namespace) if !affected.subject.contains(&format!("/{namespace}/")) => {
            format!("{} in `{namespace}`", affected.subject)
        }
        _ => affected.subject.clone(),
    }
}

/// Returns the data of a finding for programs.
fn about(finding: &Finding, accounts: &AccountNames<'_>) -> Risk {
    let first = finding.first.first();
    let namespace = first.and_then(|first| first.scope.namespace()).map(str::to_owned);
    let template = |text: &str| accounts.template(text, namespace.as_deref());
    let scope = namespace.as_deref().map_or_else(|| "cluster".to_owned(), template);
    Risk {
        right: right(finding, &template),
        holders: first.map_or_else(String::new, |first| template(&first.subject)),
        scope,
        reaches: Vec::new(),
        rule: finding.rule.id.into(),
        severity: finding.severity.word().into(),
        subject: first.map_or_else(String::new, |first| first.subject.clone()),
        namespace,
        count: finding.count,
        folded: finding.folded.iter().map(|folded| folded.rule.code.id().into()).collect(),
    }
}

/// Returns the rules that give the permission of a finding, whatever their order; for a finding without a rule, its
/// problem in words.
fn right(finding: &Finding, template: &dyn Fn(&str) -> String) -> String {
    let of_role = finding.rule_of_role.iter();
    let rules = finding.proof.iter().flat_map(|chain| &chain.rules).chain(of_role).map(|link| {
        let sorted =
            |words: &[String]| -> Vec<String> { words.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect() };
        let PolicyRule { api_groups, resources, verbs, resource_names, non_resource_urls } = &link.rule;
        rule_text(&PolicyRule {
            api_groups: sorted(api_groups),
            resources: sorted(resources),
            verbs: sorted(verbs),
            resource_names: sorted(&resource_names.iter().map(|name| template(name)).collect::<Vec<_>>()),
            non_resource_urls: sorted(non_resource_urls),
        })
    });
    let rules: BTreeSet<String> = rules.collect();
    if rules.is_empty() { template(&finding.what) } else { rules.into_iter().collect::<Vec<_>>().join("; ") }
}

/// Returns the findings that one stands for, the worst first.
fn folded(finding: &Finding) -> Option<String> {
    let mut folded = finding.folded.clone();
    folded.sort_by_key(|folded| Reverse(folded.severity));
    let named: Vec<&str> = folded.iter().take(MAXIMUM_FOLDED).map(|folded| folded.rule.code.id()).collect();
    let more = match folded.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {}", number(more, "more finding")),
    };
    (!named.is_empty()).then(|| format!("this finding replaces {}{more}", named.join(", ")))
}
