//! The requests of audit logs and the least permissions for them, as text, Markdown or JSON.

use bailiwick_adopt::{LeastGrants, LeastProof, LeastSet, LeftOutSubject, LostRights, NeededGrant};
use bailiwick_analysis::{AuditSummary, DeniedRequest, UsedBinding};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_workspace::words::{grouped, rule_text};
use bailiwick_yaml::diag::foreign;
use schemars::JsonSchema;
use serde::Serialize;

use super::human::number;
use super::page::Page;
use super::result::CommandResult;

/// How many entries of a list are printed.
const SHOWN: usize = 10;

/// The limits of every audit log, in words.
const CAVEATS: [&str; 3] = [
    "a log lacks the requests that the audit policy leaves out, and events that a full buffer dropped",
    "a log lacks rare work: rotation of keys, upgrades, restores, and access in an incident",
    "a webhook can allow requests that no grant allows",
];

/// The requests of the audit logs of `lint`, for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LintAuditResult {
    /// The requests of the logs.
    audit: AuditSummary,
    /// The limits of every audit log.
    caveats: Vec<String>,
}

impl LintAuditResult {
    /// Returns the result of a search.
    pub fn new(summary: &AuditSummary) -> Self {
        Self { audit: summary.clone(), caveats: caveats() }
    }
}

impl CommandResult for LintAuditResult {
    const NAME: &'static str = "lint-audit";
}

/// The least permissions, for programs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeastGrantsResult {
    /// The requests of the logs.
    audit: AuditSummary,
    /// The sets of rights.
    permission_sets: Vec<LeastSet>,
    /// The grants of the sets.
    grants: Vec<NeededGrant>,
    /// The replay of the requests, and the comparison with the grants.
    proof: LeastProof,
    /// The granted rights of the users outside of the policies.
    lost: Vec<LostRights>,
    /// The users of the log without a grant.
    left_out: Vec<LeftOutSubject>,
    /// The text of the policies.
    policies: String,
    /// The limits of every audit log.
    caveats: Vec<String>,
}

impl LeastGrantsResult {
    /// Returns the result of `import audit`.
    pub fn new(found: &LeastGrants) -> Self {
        Self {
            audit: found.summary.clone(),
            permission_sets: found.sets.clone(),
            grants: found.grants.clone(),
            proof: found.proof.clone(),
            lost: found.lost.clone(),
            left_out: found.left_out.clone(),
            policies: found.policies.clone(),
            caveats: caveats(),
        }
    }
}

impl CommandResult for LeastGrantsResult {
    const NAME: &'static str = "import-audit";
}

fn caveats() -> Vec<String> {
    CAVEATS.iter().map(|caveat| (*caveat).to_owned()).collect()
}

/// Returns the note about the audit logs behind the findings.
pub fn note(summary: &AuditSummary) -> String {
    let mut page = Page::new();
    writeln!(page, "note: audit log: {}", counts(summary));
    if summary.is_too_short {
        writeln!(page, "  too short to remove anything: use 30 days of events");
    }
    for (label, count, noun) in [
        ("denied", summary.denied.len(), "distinct request"),
        ("not observable", summary.not_observable.len(), "subject with rights that no log shows"),
    ] {
        if count > 0 {
            writeln!(page, "  {label}: {}; `--report json=FILE` lists them", plural(count, noun));
        }
    }
    CAVEATS.iter().for_each(|caveat| writeln!(page, "  {caveat}"));
    page.finish()
}

/// Counts subjects with rights, or another noun.
fn plural(count: usize, noun: &str) -> String {
    match noun.split_once(" with ") {
        Some((noun, rest)) => format!("{} with {rest}", number(count, noun)),
        None => number(count, noun),
    }
}

/// Returns the counts of a log in a sentence.
fn counts(summary: &AuditSummary) -> String {
    let AuditSummary { first_day, last_day, days, requests, users, .. } = summary;
    let count = |count: u64| usize::try_from(count).map_or(usize::MAX, |count| count);
    let days = number(count(u64::try_from(*days).map_or(0, |days| days)), "day");
    let gaps = match usize::try_from(summary.days).is_ok_and(|days| summary.days_with_events < days) {
        true => format!(", with events on {}", number(summary.days_with_events, "day")),
        false => String::new(),
    };
    let mut text = format!(
        "{days}, {first_day} to {last_day}{gaps}; {} of {}",
        number(count(*requests), "request"),
        number(*users, "user")
    );
    for (what, number) in [
        ("decided by the status code alone", summary.guessed),
        ("without a decision", summary.undecided),
        ("not authenticated", summary.unauthenticated),
        ("allowed without a grant in the manifests", summary.ungranted),
        ("on unreadable lines", summary.unreadable),
    ] {
        if number > 0 {
            text.push_str(&format!("; {} {what}", grouped(count(number))));
        }
    }
    text
}

/// Returns the least permissions as text. `folder` is the folder of the written workspace.
pub fn text(found: &LeastGrants, folder: Option<&str>) -> String {
    let mut page = Page::new();
    if found.summary.is_too_short {
        writeln!(page, "too short to remove anything: the log has {}", number_of_days(&found.summary));
    }
    for (heading, lines) in sections(found) {
        writeln!(page, "{heading}");
        let more = lines.len().saturating_sub(SHOWN);
        lines.iter().take(SHOWN).for_each(|line| writeln!(page, "  {}", foreign::line(line)));
        if more > 0 {
            writeln!(page, "  and {} more", grouped(more));
        }
    }
    match folder {
        Some(folder) => writeln!(page, "next: bailiwick -C {} render", foreign::line(folder)),
        None => writeln!(page, "nothing was written; `--into DIR` writes the policies"),
    }
    page.finish()
}

fn number_of_days(summary: &AuditSummary) -> String {
    format!("{} of events, not 30", number(usize::try_from(summary.days).map_or(0, |days| days), "day"))
}

/// Returns the least permissions as Markdown.
pub fn markdown(found: &LeastGrants) -> String {
    let mut page = Page::new();
    let heading = if found.summary.is_too_short { "Too short to remove anything" } else { "Least permissions" };
    writeln!(page, "## {heading}");
    for (heading, lines) in sections(found) {
        writeln!(page);
        writeln!(page, "{}", foreign::markdown(&heading));
        writeln!(page);
        lines.iter().for_each(|line| writeln!(page, "- {}", foreign::markdown(line)));
    }
    page.finish()
}

/// Returns the parts of the report: a sentence, and its list.
fn sections(found: &LeastGrants) -> Vec<(String, Vec<String>)> {
    let LeastGrants { summary, sets, grants, proof, left_out, lost, .. } = found;
    let mut sections = vec![(format!("audit log: {}", counts(summary)), Vec::new())];
    let in_sets: Vec<String> = sets.iter().map(set_line).collect();
    sections.push((format!("{}, {}:", number(sets.len(), "permission set"), number(grants.len(), "grant")), in_sets));
    let replayed = grouped(proof.replayed);
    sections.push(match proof.denied.len() {
        0 => (format!("replay: {replayed} of {replayed} distinct requests are allowed"), Vec::new()),
        denied => {
            (format!("replay: {} of {replayed} distinct requests are denied:", grouped(denied)), proof.denied.clone())
        }
    });
    sections.push(match (proof.is_compared, proof.wider.len()) {
        (false, _) => ("grants: not compared; `--from CLUSTER` compares them".to_owned(), Vec::new()),
        (true, 0) => ("grants: the cluster grants every permission of the policies".to_owned(), Vec::new()),
        (true, _) => ("grants: the cluster does not grant:".to_owned(), proof.wider.clone()),
    });
    let only: Vec<String> = summary.used.iter().filter(|used| !used.only_by_it.is_empty()).map(only_line).collect();
    for (heading, lines) in [
        ("lost with the present grants:", lost.iter().map(lost_line).collect::<Vec<_>>()),
        ("needed: without the binding, the requests are denied:", only),
        ("wanted and denied:", summary.denied.iter().map(denied_line).collect()),
        ("left out:", left_out.iter().map(|left| format!("{}: {}", left.user, left.reason)).collect()),
    ] {
        if !lines.is_empty() {
            sections.push((heading.to_owned(), lines));
        }
    }
    sections.push(("caveats:".to_owned(), caveats()));
    sections
}

fn set_line(set: &LeastSet) -> String {
    format!("{}: {}", set.name, rules_text(&set.rules))
}

fn rules_text(rules: &[PolicyRule]) -> String {
    rules.iter().map(rule_text).collect::<Vec<_>>().join("; ")
}

fn lost_line(lost: &LostRights) -> String {
    let LostRights { subject, binding, unused, not_observable } = lost;
    let mut parts = Vec::new();
    if !unused.is_empty() {
        parts.push(format!("unused {}", rules_text(unused)));
    }
    if !not_observable.is_empty() {
        parts.push(format!("in no log {}", rules_text(not_observable)));
    }
    format!("{subject} by {binding}: {}", parts.join(" | "))
}

fn only_line(used: &UsedBinding) -> String {
    let requests: Vec<String> =
        used.only_by_it.iter().take(SHOWN).map(|denied| format!("{} ({})", denied.request, denied.user)).collect();
    let more = used.only_by_it.len().saturating_sub(requests.len());
    let more = if more > 0 { format!("; and {} more", grouped(more)) } else { String::new() };
    format!("{}, last on {}: {}{more}", used.binding, used.last_day, requests.join("; "))
}

fn denied_line(denied: &DeniedRequest) -> String {
    let times = number(usize::try_from(denied.requests).map_or(usize::MAX, |count| count), "time");
    format!("{}: {}, {times}", denied.user, denied.request)
}
