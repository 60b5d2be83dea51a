//! The migration of PodSecurityPolicies, as text, Markdown or JSON.
//!
//! The text describes tenants that are alike once, with their number; JSON has each of them.

mod other_controllers;
mod records;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::human::number;
use super::page::Page;
use crate::admission::level::Level;
use crate::admission::psp::mapping::Reading;
use crate::admission::psp::migrate::{FieldOutcome, Filled};
use crate::admission::psp::plan::{NamespacePlan, Need, Plan, PolicyPlan, WorkloadPlan};
use crate::app::OtherControllers;
use crate::diag::foreign;
use crate::migrate::superfluous::Superfluous;
use crate::migrate::{Namespace, Policies};
use crate::node::migration::KubeletMigration;

pub use records::{KubeletMigrationResult, PspMigrationResult};

/// The report of a migration from PodSecurityPolicy.
#[derive(Debug, Clone, Copy)]
pub struct PspMigrationReport<'r> {
    /// The replacement of each PodSecurityPolicy and the level of each namespace.
    pub plan: &'r Plan,
    /// The policies that were made for it.
    pub policies: &'r Policies,
    /// The labels and annotations of the Namespaces.
    pub declared: &'r BTreeMap<String, Namespace>,
    /// The grants of policies without effect after the migration.
    pub superfluous: &'r Superfluous,
    /// How many pods and other objects were passed over because another object had made them.
    pub made_by_others: usize,
    /// The policies of other admission controllers.
    pub others: &'r OtherControllers,
}

/// How many names of a list are printed.
const SHOWN: usize = 3;

/// Returns the report as lines.
pub fn text(report: &PspMigrationReport<'_>) -> String {
    let mut out = String::new();
    for section in sections(report) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{}\n", section.text));
        section
            .details
            .iter()
            .for_each(|entry| entry.lines("  ", "", &|text| foreign::line(text).into_owned(), &mut out));
    }
    out
}

/// Returns the report as Markdown.
pub fn markdown(report: &PspMigrationReport<'_>) -> String {
    let mut out = "# Leaving PodSecurityPolicy behind\n".to_owned();
    for section in sections(report) {
        out.push_str(&format!("\n## {}\n\n", section.text));
        section.details.iter().for_each(|entry| entry.lines("", "- ", &foreign::markdown, &mut out));
    }
    out
}

/// A line with what belongs to it.
struct Entry {
    text: String,
    details: Vec<Entry>,
}

impl Entry {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), details: Vec::new() }
    }

    fn with(text: impl Into<String>, details: Vec<Entry>) -> Self {
        Self { text: text.into(), details }
    }

    fn lines(&self, indent: &str, mark: &str, shown: &dyn Fn(&str) -> String, out: &mut String) {
        out.push_str(&format!("{indent}{mark}{}\n", shown(&self.text)));
        let inside = format!("{indent}  ");
        self.details.iter().for_each(|entry| entry.lines(&inside, mark, shown, out));
    }
}

fn sections(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let all = [
        ("To be decided", decisions(report.plan)),
        ("Profiles", profiles(report)),
        ("Namespaces", namespaces(report)),
        ("Defaults that workloads rely on", relying(report)),
        ("PodSecurityPolicies that are left behind", left_behind(report.plan)),
        ("Policies of other admission controllers", other_controllers::entries(report)),
        ("Roles and bindings that grant nothing any more", superfluous(report.superfluous)),
    ];
    let mut sections: Vec<Entry> = all
        .into_iter()
        .filter(|(_, entries)| !entries.is_empty())
        .map(|(title, all)| Entry::with(title, all))
        .collect();
    if report.made_by_others > 0
        && let Some(last) = sections.iter_mut().find(|section| section.text == "Namespaces")
    {
        let passed = number(report.made_by_others, "object");
        last.details.push(Entry::new(format!("passed over: {passed} that another object has made")));
    }
    sections
}

fn decisions(plan: &Plan) -> Vec<Entry> {
    let mut found = Vec::new();
    for namespace in &plan.namespaces {
        if let Need::Conflict(among) = &namespace.need {
            let text = format!(
                "namespace `{}`: its pods get {}, and no policy admits all of them",
                namespace.name,
                quoted(among)
            );
            let help = "split the namespace, or change workloads until one policy fits; it is left out of the policies";
            found.push(Entry::with(text, vec![Entry::new(help)]));
        }
    }
    for workload in plan.workloads.iter().filter(|workload| workload.policy.is_none()) {
        let reasons = workload.refusals.iter().map(Entry::new).collect();
        found.push(Entry::with(format!("{}: its pods are refused already", shown(workload)), reasons));
    }
    for workload in plan.workloads.iter().filter(|workload| !workload.changes.is_empty()) {
        let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        let changes = workload.changes.iter();
        let changes = changes.map(|change| {
            Entry::new(format!("{}: {} today, then {}", change.field, value(&change.before), value(&change.after)))
        });
        let policy = workload.policy.as_deref().unwrap_or_default();
        let text = format!("{}: `{policy}` fills in other things than the policy of its namespace", shown(workload));
        found.push(Entry::with(text, changes.collect()));
    }
    for policy in plan.policies.iter().filter(|policy| policy.is_needed) {
        for (field, reason) in policy.lost() {
            found.push(Entry::new(format!("policy `{}`: `{field}` is lost: {reason}", policy.name)));
        }
    }
    found
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the first names of a list, and how many there are besides.
fn some(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

fn shown(workload: &WorkloadPlan) -> String {
    format!("{}/{}/{}", workload.kind, workload.namespace, workload.name)
}

fn profiles(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let needed = report.plan.policies.iter().filter(|policy| policy.is_needed);
    let told = needed.filter_map(|policy| {
        let mut details = Vec::new();
        let name = match report.policies.tenants_of(&policy.name) {
            // All of them are alike: the first one stands for all.
            Some(tenants) if tenants.policies.first() != Some(&policy.name) => return None,
            Some(tenants) => {
                let count = tenants.namespaces.len();
                let variables =
                    if tenants.variables.is_empty() { "name".to_owned() } else { tenants.variables.join(", ") };
                details.push(Entry::new(format!(
                    "one for {count} policies, each of one namespace: {}",
                    some(&tenants.policies)
                )));
                details.push(Entry::new(format!(
                    "Tenancy `{}`, with the variables of an account: {variables}",
                    tenants.tenancy
                )));
                details.push(Entry::new(format!("the entries describe `{}`, the first policy", policy.name)));
                tenants.profile.as_str()
            }
            None => &policy.name,
        };
        details.extend(fates(policy));
        Some(Entry::with(format!("`{name}`: level {}", policy.migration.level), details))
    });
    told.collect()
}

fn fates(policy: &PolicyPlan) -> Vec<Entry> {
    let mut details = Vec::new();
    for (reading, mapping) in &policy.levels {
        let reasons: Vec<String> =
            mapping.deciding().map(|field| format!("{} ({})", field.field, field.reason)).collect();
        let because = if reasons.is_empty() { String::new() } else { format!(", by {}", reasons.join(", ")) };
        details.push(Entry::new(format!("{}: {}{because}", reading_text(*reading), mapping.level)));
    }
    let fields = &policy.migration.fields;
    let named = |wanted: &dyn Fn(&FieldOutcome) -> bool| -> Vec<&str> {
        fields.iter().filter(|field| wanted(&field.fate)).map(|field| field.field).collect()
    };
    let by_level = named(&|fate| *fate == FieldOutcome::KeptByLevel);
    if !by_level.is_empty() {
        details.push(Entry::new(format!("kept by the Pod Security level: {}", by_level.join(", "))));
    }
    let limits: Vec<Entry> =
        policy.migration.for_policy().map(|(field, limit)| Entry::new(format!("{field}: {limit}"))).collect();
    if !limits.is_empty() {
        details.push(Entry::with("kept by the admission policy:", limits));
    }
    let open = named(&|fate| *fate == FieldOutcome::Unlimited);
    if !open.is_empty() {
        details.push(Entry::new(format!("without a limit: {}", open.join(", "))));
    }
    let dropped: Vec<Entry> = fields
        .iter()
        .filter_map(|field| match &field.fate {
            FieldOutcome::NoEffect(reason) | FieldOutcome::Dropped(reason) => {
                Some(Entry::new(format!("{}: {reason}", field.field)))
            }
            _ => None,
        })
        .collect();
    if !dropped.is_empty() {
        details.push(Entry::with("dropped:", dropped));
    }
    let filled: Vec<Entry> = policy
        .migration
        .mutating
        .iter()
        .map(|filling| Entry::new(format!("{}: {}", filling.field, filling.what)))
        .collect();
    if !filled.is_empty() {
        details.push(Entry::with(
            "defaults, set by a MutatingAdmissionPolicy from Kubernetes 1.36 on; before, pods have to set the fields themselves:",
            filled,
        ));
    }
    details
}

/// Returns a reading of the mapping, in words.
fn reading_text(reading: Reading) -> &'static str {
    match reading {
        Reading::Practical => "as clusters are run (this one counts)",
        Reading::Table => "by the letter of the documentation",
        Reading::SeLinuxIgnored => "on nodes without SELinux",
    }
}

/// Returns the level that a namespace gets.
fn level(plan: &Plan, need: &Need) -> Option<Level> {
    match need {
        Need::Nothing => Some(Level::Restricted),
        Need::Conflict(_) => None,
        Need::One(_) | Need::Chosen { .. } => {
            let found = plan.policies.binary_search_by_key(&need.policy(), |policy| Some(policy.name.as_str()));
            found.ok().and_then(|place| plan.policies.get(place)).map(|policy| policy.migration.level)
        }
    }
}

fn namespaces(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let plan = report.plan;
    let mut told = Vec::new();
    let plans: BTreeMap<&String, &NamespacePlan> = plan.namespaces.iter().map(|plan| (&plan.name, plan)).collect();
    for tenants in &report.policies.tenancies {
        let of: Vec<&NamespacePlan> = tenants.namespaces.iter().filter_map(|name| plans.get(name).copied()).collect();
        let workloads = of.iter().map(|namespace| namespace.workloads).sum();
        let level = of.first().and_then(|namespace| level(plan, &namespace.need)).unwrap_or(Level::Privileged);
        told.push(Entry::new(format!(
            "{} of the Tenancy `{}`: profile `{}`, level {level}, {}: {}",
            number(tenants.namespaces.len(), "namespace"),
            tenants.tenancy,
            tenants.profile,
            number(workloads, "workload"),
            some(&tenants.namespaces)
        )));
    }
    let of_tenants: BTreeSet<&String> =
        report.policies.tenancies.iter().flat_map(|tenants| &tenants.namespaces).collect();
    for namespace in plan.namespaces.iter().filter(|namespace| !of_tenants.contains(&namespace.name)) {
        let (name, workloads) = (&namespace.name, number(namespace.workloads, "workload"));
        let level = level(plan, &namespace.need).map_or_else(String::new, |level| format!("level {level}, "));
        let (text, mut details) = match &namespace.need {
            Need::One(policy) => (format!("`{name}`: profile `{policy}`, {level}{workloads}"), Vec::new()),
            Need::Chosen { policy, among, widened } => {
                let today = format!("its pods get {} today; this one admits them all", quoted(among));
                let mut details = vec![Entry::new(today)];
                if !widened.is_empty() {
                    let accounts = quoted(widened);
                    details.push(Entry::new(format!("service accounts that may not use it today: {accounts}")));
                }
                (format!("`{name}`: profile `{policy}`, {level}{workloads}"), details)
            }
            Need::Nothing => (format!("`{name}`: no pod gets in today; {level}{workloads}"), Vec::new()),
            Need::Conflict(_) => (format!("`{name}`: to be decided, {workloads}"), Vec::new()),
        };
        let own = own_levels(report, name);
        if !own.is_empty() {
            details.push(Entry::new(format!("keeps its own labels, which win over the level: {}", own.join(", "))));
        }
        told.push(Entry::with(text, details));
    }
    told
}

/// Returns the Pod Security labels that a Namespace has already.
fn own_levels(report: &PspMigrationReport<'_>, namespace: &str) -> Vec<String> {
    let labels = report.declared.get(namespace).into_iter().flat_map(|declared| &declared.labels);
    let own = labels.filter(|(key, _)| key.starts_with("pod-security.kubernetes.io/"));
    own.map(|(key, value)| format!("{key}={value}")).collect()
}

/// Returns the defaults that workloads rely on. Workloads of one profile with the same fields are one entry.
fn relying(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let mut alike: BTreeMap<(&str, Vec<&str>), Vec<&WorkloadPlan>> = BTreeMap::new();
    for workload in report.plan.workloads.iter().filter(|workload| !workload.relied_on.is_empty()) {
        let policy = workload.policy.as_deref().unwrap_or_default();
        let policy = report.policies.tenants_of(policy).map_or(policy, |tenants| &tenants.profile);
        let fields = workload.relied_on.iter().map(|filled| filled.field.as_str()).collect();
        alike.entry((policy, fields)).or_default().push(workload);
    }
    let told = alike.into_iter().map(|((policy, fields), workloads)| {
        let names: Vec<String> = workloads.iter().map(|workload| shown(workload)).collect();
        let values = fields.iter().enumerate().map(|(index, field)| {
            let mut values = workloads.iter().filter_map(|workload| workload.relied_on.get(index));
            let first = values.next().map(|filled| &filled.value);
            let is_same = values.all(|filled: &Filled| Some(&filled.value) == first);
            let value = first.filter(|_| is_same).map_or_else(|| "another for each".to_owned(), Value::to_string);
            Entry::new(format!("{field}: {value}"))
        });
        Entry::with(format!("by `{policy}`, {}: {}", number(names.len(), "workload"), some(&names)), values.collect())
    });
    let mut told: Vec<Entry> = told.collect();
    let says_all = |workload: &&WorkloadPlan| workload.policy.is_some() && workload.relied_on.is_empty();
    let names: Vec<String> = report.plan.workloads.iter().filter(says_all).map(shown).collect();
    if !names.is_empty() {
        let workloads = number(names.len(), "workload");
        told.push(Entry::new(format!("nothing is filled in for {workloads}: {}", some(&names))));
    }
    told
}

fn left_behind(plan: &Plan) -> Vec<Entry> {
    let left = plan.policies.iter().filter(|policy| !policy.is_needed);
    let told = left.map(|policy| {
        let why = match (policy.broken.as_slice(), policy.workloads) {
            ([], 0) => "no namespace needs it".to_owned(),
            ([], count) => format!("{} will be held to the policy of the namespace", number(count, "workload")),
            (reasons, _) => format!("no subject can use it: {}", reasons.join("; ")),
        };
        Entry::new(format!("`{}`: {why}", policy.name))
    });
    told.collect()
}

fn superfluous(found: &Superfluous) -> Vec<Entry> {
    let lists = [
        ("role", "", &found.roles),
        ("binding", " to them", &found.bindings),
        ("rule", " of other roles", &found.rules),
    ];
    let told = lists.into_iter().filter(|(_, _, list)| !list.is_empty()).map(|(what, of, list)| {
        let names: Vec<String> = list.iter().cloned().collect();
        Entry::new(format!("{}{of}: {}", number(names.len(), what), some(&names)))
    });
    told.collect()
}

/// Returns the progress of a migration of kubelets as lines.
pub fn kubelets(report: &KubeletMigration) -> String {
    let mut text = Page::new();
    text.push_str("kubelets\n");
    for kubelet in &report.kubelets {
        let class = serde_json::to_value(kubelet.class).unwrap_or_default();
        writeln!(text, "  `{}`: {}", kubelet.user, class.as_str().unwrap_or_default());
        for (what, told) in
            [("Node authorizer", kubelet.node_authorizer), ("NodeRestriction", kubelet.node_restriction)]
        {
            told.iter().for_each(|told| writeln!(text, "    {what}: {told}"));
        }
        kubelet.also.iter().for_each(|also| writeln!(text, "    {also}"));
        kubelet.kept_by.iter().for_each(|kept| writeln!(text, "    kept going by {kept}"));
    }
    if !report.nodes_without_identity.is_empty() {
        writeln!(text, "nodes without a kubelet of their name: {}", report.nodes_without_identity.join(", "));
    }
    text.push_str("steps\n");
    for step in &report.steps {
        let state = serde_json::to_value(step.state).unwrap_or_default();
        let by = if step.blocked_by.is_empty() { String::new() } else { format!(" by {}", step.blocked_by.join(", ")) };
        writeln!(text, "  {}. {}{by}: {}", step.step, state.as_str().unwrap_or_default(), step.what);
    }
    text.finish()
}
