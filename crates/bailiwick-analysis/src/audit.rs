//! Audit logs of the API server beside the grants of a cluster.

pub mod evaluate;
mod logs;

use std::path::PathBuf;

use bailiwick_audit::{AuditLog, ENOUGH_DAYS, Timestamp};
use bailiwick_kubernetes::rbac::PolicyRule;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::evaluate::{EvaluatedBinding, EvaluatedLog, EvaluatedSubject, allowed, evaluate, with_further};
pub use self::logs::{AuditInputs, read_inputs};

/// The audit logs of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditOptions {
    /// The logs: files, or standard input (`-`).
    pub logs: Vec<PathBuf>,
    /// The audit policy of the API server.
    pub policy: Option<PathBuf>,
}

/// The requests of audit logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditSummary {
    /// The day of the first event, such as `2026-11-04`; empty if no event has a time.
    pub first_day: String,
    /// The day of the last event.
    pub last_day: String,
    /// The days from the first event to the last one.
    pub days: i64,
    /// The number of days with an event: fewer than `days` if the logs have gaps.
    pub days_with_events: usize,
    /// Whether there are too few days to remove anything: rare work is missing.
    pub is_too_short: bool,
    /// How many requests the authorizer decided.
    pub requests: u64,
    /// How many of their events have no annotation, so that the status code decided.
    pub guessed: u64,
    /// How many events are of requests without a decision.
    pub undecided: u64,
    /// How many requests were not authenticated.
    pub unauthenticated: u64,
    /// How many lines are no audit event.
    pub unreadable: u64,
    /// How many distinct users made requests.
    pub users: usize,
    /// How many allowed requests have no grant in the manifests: another authorizer allowed them, such as the Node authorizer, or the
    /// manifests lack the grant. 0 without manifests.
    pub ungranted: u64,
    /// The denied requests: wanted and not granted.
    pub denied: Vec<DeniedRequest>,
    /// The bindings with requests.
    pub used: Vec<UsedBinding>,
    /// The rights without a request. A wildcard with a request is used as a whole; `narrower` has rights enough for its requests.
    pub unused: Vec<UnusedRights>,
    /// The rights whose use no log can show.
    pub not_observable: Vec<UnobservableRights>,
}

/// The use of the rights of a subject by a binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnusedRights {
    /// The binding, such as `RoleBinding/team-a/ann`.
    pub binding: String,
    /// The bound role, such as `ClusterRole/edit`.
    pub role: String,
    /// The user, group or service account, such as `User/ann`.
    pub subject: String,
    /// Whether the log has a request of the user, or of a member of the group.
    pub is_seen: bool,
    /// The number of used rights.
    pub used: usize,
    /// The number of unused rights.
    pub unused: usize,
    /// The unused rights as rules.
    pub rules: Vec<PolicyRule>,
    /// Rights enough for the requests of the used wildcards, as rules.
    pub narrower: Vec<PolicyRule>,
}

/// A distinct request of a user, with its number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct DeniedRequest {
    /// The user name.
    pub user: String,
    /// The request in words, such as `get pods in namespace team-a`.
    pub request: String,
    /// How often it was denied.
    pub requests: u64,
}

/// A binding with requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsedBinding {
    /// The binding, such as `RoleBinding/team-a/ann`.
    pub binding: String,
    /// The bound role, such as `ClusterRole/edit`.
    pub role: String,
    /// How many requests it allowed.
    pub requests: u64,
    /// The day of the last of them.
    pub last_day: String,
    /// The distinct requests allowed by this binding alone: without it, they are denied.
    pub only_by_it: Vec<DeniedRequest>,
}

/// The rights of a subject whose use no log can show.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct UnobservableRights {
    /// The binding, such as `RoleBinding/team-a/ann`.
    pub binding: String,
    /// The user, group or service account, such as `User/ann`.
    pub subject: String,
    /// The rights as rules.
    pub rules: Vec<PolicyRule>,
    /// Why no log shows them.
    pub reason: String,
}

/// Returns the day of a time, such as `2026-11-04`; empty for none.
fn day(time: Option<Timestamp>) -> String {
    time.map_or_else(String::new, |time| time.date().to_string())
}

/// Returns the window of a log in words: `in 31 days, 2026-11-04 to 2026-12-05`.
pub(super) fn window(log: &AuditLog) -> String {
    let days = bailiwick_workspace::words::number(usize::try_from(log.days()).map_or(0, |days| days), "day");
    match log.window() {
        Some((first, last)) => format!("in {days}, {} to {}", first.date(), last.date()),
        None => "in a log without times".to_owned(),
    }
}

/// Whether a log has too few days to remove anything.
pub(super) fn is_too_short(log: &AuditLog) -> bool {
    log.days() < ENOUGH_DAYS
}
