//! Findings about risk as diagnostics.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use bailiwick_access::compare::Affected;
use bailiwick_access::risk::{Finding, Folded, ReachedPower};
use bailiwick_access::who_can::PermissionScope;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_paths::EscalationGraph;
use bailiwick_workspace::Workspace;
use bailiwick_workspace::words::{chain_line, more_alike, number, rule_text};
use bailiwick_yaml::diag::{Diagnostic, Files, FoldedRisk, Origin, Risk};

use super::rule_places::RulePlaces;
use crate::account_names::AccountNames;

/// How many of the findings that one stands for are named.
const MAXIMUM_FOLDED: usize = 5;

/// How many of those a finding concerns are named.
const MAXIMUM_NAMED: usize = 3;

/// The facts with which findings are described.
pub(super) struct FindingWords<'f> {
    files: &'f Files,
    rules: RulePlaces<'f>,
    accounts: &'f AccountNames<'f>,
    /// The graph of permissions, if its objects are known.
    graph: Option<&'f EscalationGraph<'f>>,
}

impl<'f> FindingWords<'f> {
    /// Returns the description of findings about objects in these files.
    pub(super) fn new(
        files: &'f Files,
        workspace: Option<&'f Workspace>,
        accounts: &'f AccountNames<'f>,
        graph: Option<&'f EscalationGraph<'f>>,
    ) -> Self {
        Self { files, rules: RulePlaces::new(files, workspace), accounts, graph }
    }

    /// Returns a finding as a warning with its proof. Its place is the word of the role behind the permission, with the grant
    /// beside it; for a role of the default policy the grant alone.
    pub(super) fn diagnostic(&mut self, finding: &Finding) -> Diagnostic {
        let alike = more_alike(finding.count.saturating_sub(1));
        let words = self.places(finding);
        let is_about_word = finding.rule.condition().is_some() || finding.rule_of_role.is_some();
        let (word, others) = match words.split_first() {
            Some((word, others)) if is_about_word => (Some(word.0), others),
            _ => (None, words.as_slice()),
        };
        let mut diagnostic = Diagnostic::warning(finding.rule.code, format!("{}{alike}", finding.message()))
            .at_maybe(word.or(finding.place))
            .labelled(finding.severity.word())
            .help(finding.help.as_deref().unwrap_or(finding.rule.help))
            .about(about(finding, self.accounts));
        let grant = finding.place.filter(|grant| word.is_some_and(|word| word != *grant));
        let grant = grant.zip(finding.proof.first());
        let grant = grant.map(|(place, chain)| (place, format!("granted by {}", chain.binding.name)));
        for (place, text) in others.iter().cloned().chain(grant) {
            diagnostic = diagnostic.and(place, text);
        }
        let reached = self.graph.and_then(|graph| reached(finding, graph));
        let notes = [others_of(finding), reached, folded(finding), names(finding)];
        let chains = finding.proof.iter().map(|chain| chain_line(chain, self.files));
        let rule = finding.rule_of_role.iter().map(|rule| format!("rule {}: {}", rule.number, rule_text(&rule.rule)));
        notes.into_iter().flatten().chain(chains).chain(rule).fold(diagnostic, Diagnostic::note)
    }

    /// Returns the words of roles behind a finding, each with a text about it: the rule with the problem, or the rules with the
    /// permission.
    fn places(&mut self, finding: &Finding) -> Vec<(Origin, String)> {
        let of_role = finding.rule_of_role.iter().filter_map(|rule| Some((finding.role.as_ref()?, rule)));
        let granting = finding.proof.iter().flat_map(|chain| chain.rules.iter().map(move |rule| (&chain.role, rule)));
        let mut places: Vec<(Origin, String)> = Vec::new();
        for (role, rule) in of_role.chain(granting).take(MAXIMUM_NAMED) {
            let Some(place) = self.rules.of(role, rule) else { continue };
            if places.iter().all(|(known, _)| *known != place) {
                places.push((place, format!("rule {} of {}", rule.number, role.name)));
            }
        }
        places
    }
}

/// Returns the other subjects of a finding.
fn others_of(finding: &Finding) -> Option<String> {
    let further = finding.first.get(1..).filter(|further| !further.is_empty())?;
    let named: Vec<String> = further.iter().take(MAXIMUM_NAMED).map(named).collect();
    let more = if finding.count > named.len() + 1 { ", ..." } else { "" };
    Some(format!("also {}{more}", named.join(", ")))
}

/// Returns the limiting names of a finding, if its message does not have them.
fn names(finding: &Finding) -> Option<String> {
    let is_limited = !finding.names.is_empty() && !finding.has_names();
    is_limited.then(|| format!("limited to the names {}", finding.named()))
}

/// Returns the path to the worst power behind a finding; none where the finding is about the power itself.
fn reached(finding: &Finding, graph: &EscalationGraph<'_>) -> Option<String> {
    let ReachedPower { power, is_proven, .. } = finding.reached?;
    let first = finding.first.first()?;
    let rules = std::iter::once(finding.rule.id).chain(finding.folded.iter().map(|folded| folded.rule.id));
    let paths = rules.filter_map(|rule| graph.path_opened_by(&first.subject, first.scope.namespace(), rule));
    let path = paths.into_iter().find(|path| path.reaches.word() == power)?;
    let (last, before) = path.steps.split_last()?;
    let gains = before.iter().filter(|step| step.to != step.from);
    let gains: Vec<String> = gains.map(|step| format!("`{}`", step.to)).collect();
    let by = match (gains.is_empty(), &last.note) {
        (false, _) => format!(" by {}", gains.join(", ")),
        (true, Some(note)) => format!(": {note}"),
        (true, None) => return None,
    };
    let verb = if is_proven { "reaches" } else { "may reach" };
    Some(format!("{verb} `{power}`{by}"))
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
    let namespace = first.and_then(|first| first.scope.namespace());
    let template = |text: &str| accounts.template(text, namespace);
    let scope = namespace.map_or_else(|| "cluster".to_owned(), template);
    Risk {
        right: right(finding, &template),
        holders: first.map_or_else(String::new, |first| template(&first.subject)),
        scope,
        reaches: finding.reached.iter().map(|reached| reached.power.to_owned()).collect(),
        rule: finding.rule.id.into(),
        severity: finding.severity.word().into(),
        subject: first.map_or_else(String::new, |first| first.subject.clone()),
        namespace: namespace.map(str::to_owned),
        count: finding.count,
        folded: finding.folded.iter().map(|folded| folded.rule.code.id().into()).collect(),
        folded_findings: finding.folded.iter().map(|folded| about_folded(folded, &template)).collect(),
    }
}

/// Returns the data of a folded finding for programs.
fn about_folded(folded: &Folded, template: &dyn Fn(&str) -> String) -> FoldedRisk {
    FoldedRisk {
        code: folded.rule.code.id().into(),
        severity: folded.severity.word().into(),
        right: rules_text(folded.rules.iter(), template),
        reaches: folded.reached.iter().map(|reached| reached.power.to_owned()).collect(),
    }
}

/// Returns the rules with the permission of a finding; for a finding without a rule, its problem in words.
fn right(finding: &Finding, template: &dyn Fn(&str) -> String) -> String {
    let of_role = finding.rule_of_role.iter();
    let rules = finding.proof.iter().flat_map(|chain| &chain.rules).chain(of_role).map(|link| &link.rule);
    match rules_text(rules, template) {
        text if text.is_empty() => template(&finding.what),
        text => text,
    }
}

/// Returns rules as text, whatever their order.
fn rules_text<'r>(rules: impl Iterator<Item = &'r PolicyRule>, template: &dyn Fn(&str) -> String) -> String {
    let rules = rules.map(|rule| {
        let sorted =
            |words: &[String]| -> Vec<String> { words.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect() };
        let PolicyRule { api_groups, resources, verbs, resource_names, non_resource_urls } = rule;
        rule_text(&PolicyRule {
            api_groups: sorted(api_groups),
            resources: sorted(resources),
            verbs: sorted(verbs),
            resource_names: sorted(&resource_names.iter().map(|name| template(name)).collect::<Vec<_>>()),
            non_resource_urls: sorted(non_resource_urls),
        })
    });
    rules.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ")
}

/// Returns the findings that one stands for, the worst first.
fn folded(finding: &Finding) -> Option<String> {
    let mut folded: Vec<&Folded> = finding.folded.iter().collect();
    folded.sort_by_key(|folded| Reverse(folded.severity));
    let named: Vec<&str> = folded.iter().take(MAXIMUM_FOLDED).map(|folded| folded.rule.code.id()).collect();
    let more = match folded.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {}", number(more, "more finding")),
    };
    (!named.is_empty()).then(|| format!("also {}{more}", named.join(", ")))
}
