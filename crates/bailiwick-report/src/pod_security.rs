//! Why pods of a namespace are held to what they are held to, and what a change means for them.

use std::collections::BTreeMap;

use bailiwick_admission::labels::chain::{GrantedBy, Lift};
use bailiwick_admission::labels::control::Reason;
use bailiwick_admission::labels::sync::{Skip, SyncAction, SyncFailure};
use bailiwick_admission::labels::world::SyncOutcome;
use bailiwick_admission::level::Level;
use bailiwick_admission::psp::compare::PspComparison;
use bailiwick_analysis::{ChangedPodSecurityPolicy, SyncedRules};
use bailiwick_yaml::diag::Files;

use super::access::place_text;
use super::human::grouped;
use super::page::Page;

/// How many grants of the same constraints are listed.
const MAXIMUM_GRANTS: usize = 20;

/// How many changes, and how many lines of each, are listed.
const MAXIMUM_CHANGES: usize = 40;

/// Describes the labels that OpenShift computes for a namespace.
pub fn synced(namespace: &str, rules: &SyncedRules, files: &Files) -> String {
    let SyncedRules { release, outcome, settled, lifts } = rules;
    let mut text = Page::new();
    writeln!(text, "namespace `{namespace}` on OpenShift {release}");
    writeln!(text, "  {}", control(outcome));
    if let Some(level) = outcome.levels.sync {
        writeln!(text, "  the cluster labels it `{level}`{}", differing(outcome, level));
    } else if let Some(why) = untold(outcome.action) {
        writeln!(text, "  {why}");
    }
    for lift in lifts {
        text.append(&lifted(lift, files));
    }
    if outcome.levels.sync == Some(Level::Restricted) {
        text.push_str("  no constraints raise it: every service account may use no more than restricted constraints\n");
    }
    let labels: Vec<String> =
        settled.labels.iter().map(|(label, value)| format!("{}={value}", label.short())).collect();
    if labels.is_empty() {
        writeln!(text, "  it has no Pod Security labels; the cluster enforces `{}`", settled.enforced);
    } else {
        writeln!(text, "  final labels: {}", labels.join(" "));
    }
    if !settled.fights.is_empty() {
        let fights: Vec<&str> = settled.fights.iter().map(|label| label.short()).collect();
        writeln!(text, "  the repository and the cluster overwrite each other: {}", fights.join(", "));
    }
    text.finish()
}

/// Returns the meaning of changes of PodSecurityPolicies, by name. Policies with the same changes are one entry.
pub fn policy_changes(changes: &[ChangedPodSecurityPolicy]) -> String {
    let mut alike: BTreeMap<&PspComparison, Vec<&str>> = BTreeMap::new();
    for ChangedPodSecurityPolicy { name, comparison } in changes {
        alike.entry(comparison).or_default().push(name);
    }
    let mut classes: Vec<(Vec<&str>, &PspComparison)> =
        alike.into_iter().map(|(change, names)| (names, change)).collect();
    for (names, _) in &mut classes {
        names.sort_unstable();
    }
    classes.sort_unstable();
    let mut text = Page::new();
    for (names, change) in classes.iter().take(MAXIMUM_CHANGES) {
        match names.as_slice() {
            [first, _, _, _, ..] => {
                writeln!(text, "  {} PodSecurityPolicies, such as {first}:", grouped(names.len()))
            }
            few => writeln!(text, "  PodSecurityPolicy {}:", few.join(", ")),
        };
        let lists = [
            ("+ widened", &change.widened),
            ("- narrowed", &change.narrowed),
            ("~ filled in otherwise", &change.defaults),
            ("= written otherwise", &change.unchanged_meaning),
        ];
        for (sign, list) in lists {
            for entry in list.iter().take(MAXIMUM_CHANGES) {
                writeln!(text, "    {sign}: {entry}");
            }
            if list.len() > MAXIMUM_CHANGES {
                writeln!(text, "    {sign}: and {} more", grouped(list.len() - MAXIMUM_CHANGES));
            }
        }
    }
    if classes.len() > MAXIMUM_CHANGES {
        writeln!(text, "  and {} more classes of changes", grouped(classes.len() - MAXIMUM_CHANGES));
    }
    text.finish()
}

fn control(outcome: &SyncOutcome) -> &'static str {
    match outcome.control.reason {
        Reason::Exempt => "the cluster leaves its labels alone: it belongs to the platform",
        Reason::OptedIn => "the cluster overwrites its labels: it opts in",
        Reason::OpenshiftPrefix => "the cluster leaves its labels alone: its name begins with `openshift-`",
        Reason::UnreadableManagers => "the cluster leaves its labels alone: the managers of its fields cannot be read",
        Reason::AllLabelsForeign => "the cluster leaves its labels alone: all of them are declared",
        Reason::OptedOut => "the cluster leaves its labels alone: it opts out",
        Reason::NoOpinion => "the cluster fills in what labels are missing: it neither opts in nor out",
    }
}

/// Returns the levels of the other two readings where they differ.
fn differing(outcome: &SyncOutcome, level: Level) -> String {
    let mut told = Vec::new();
    if let Some(rbac) = outcome.levels.rbac.filter(|rbac| *rbac != level) {
        told.push(format!("`{rbac}` with everything that RBAC really grants"));
    }
    if let Some(semantic) = outcome.levels.semantic.filter(|semantic| *semantic != level) {
        told.push(format!("`{semantic}` is what its constraints really guarantee"));
    }
    if told.is_empty() { String::new() } else { format!("; {}", told.join(", and ")) }
}

fn untold(action: SyncAction) -> Option<&'static str> {
    match action {
        SyncAction::Skip(Skip::Terminating) => Some("it is being deleted"),
        SyncAction::Skip(Skip::NoUidRange) => Some("it has no range of user ids yet"),
        SyncAction::Skip(Skip::NoServiceAccounts) => Some("it has no service account"),
        SyncAction::Fail(SyncFailure::UnreadableManagers) => Some("the managers of its fields cannot be read"),
        SyncAction::Fail(SyncFailure::NoUsableScc) => Some("its service accounts can use no constraints"),
        SyncAction::Fail(SyncFailure::ConversionFailed) => {
            Some("constraints of its service accounts have no level, and the cluster fails to label it")
        }
        _ => None,
    }
}

fn lifted(lift: &Lift, files: &Files) -> String {
    let mut text = Page::new();
    let fields: Vec<&str> = lift.findings.iter().map(|finding| finding.field).collect();
    let without = lift.without.map_or("none".to_owned(), |level| format!("`{level}`"));
    writeln!(
        text,
        "  constraints `{}` lift it to `{}` by {}; without them: {without}",
        lift.scc,
        lift.level,
        fields.join(", ")
    );
    for grant in lift.grants.iter().take(MAXIMUM_GRANTS) {
        let account = grant.account.as_ref().map_or("every service account".to_owned(), |name| format!("`{name}`"));
        writeln!(text, "    {account} <- {}", way(&grant.by, files));
    }
    if lift.grants.len() > MAXIMUM_GRANTS {
        writeln!(text, "    and {} more ways", lift.grants.len() - MAXIMUM_GRANTS);
    }
    text.finish()
}

fn way(by: &GrantedBy, files: &Files) -> String {
    match by {
        GrantedBy::Users => "their list `users`".to_owned(),
        GrantedBy::Groups(group) => format!("their list `groups` with `{group}`"),
        GrantedBy::Binding { binding, role, rules, place } => {
            let place = place.map(|origin| format!(" ({})", place_text(origin, files))).unwrap_or_default();
            let rules: Vec<String> = rules.iter().map(|rule| (rule + 1).to_string()).collect();
            let plural = if rules.len() > 1 { "s" } else { "" };
            format!("{binding}{place} <- {role}, rule{plural} {}", rules.join(", "))
        }
    }
}
