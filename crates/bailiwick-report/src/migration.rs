//! The migration of PodSecurityPolicies, as text, Markdown, HTML or JSON.
//!
//! Text, Markdown and HTML have the same sections, which describe tenants that are alike once, with their number; JSON has each of
//! them.

mod alike;
mod evidence;
pub(crate) mod html;
mod namespaces;
mod openshift;
mod other_controllers;
mod records;
mod stages;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::risk::without_names;
use bailiwick_admission::others::OtherPolicy;
use bailiwick_admission::psp::mapping::Reading;
use bailiwick_admission::psp::migrate::{FieldOutcome, Filled};
use bailiwick_admission::psp::plan::{Plan, PolicyPlan, WorkloadPlan};
use bailiwick_adopt::PspMigration;
use bailiwick_adopt::psp_policies::patches::WorkloadPatches;
use bailiwick_adopt::psp_policies::stages::FinalCluster;
use bailiwick_adopt::psp_policies::superfluous::Superfluous;
use bailiwick_adopt::psp_policies::{Namespace, Policies};
use bailiwick_node::migration::KubeletMigration;
use bailiwick_yaml::diag::foreign;
pub use records::{KubeletMigrationResult, PspMigrationResult};
use serde_json::Value;

use self::alike::AlikeTexts;
use self::namespaces::NamespaceGroup;
use super::human::{first_names, grouped, number};
use super::page::Page;

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
    /// The patches of workloads.
    pub patches: &'r WorkloadPatches,
    /// The cluster at the end of the migration.
    pub to: FinalCluster,
    /// The number of templates that another workload of the manifests owns.
    pub owned_templates: usize,
    /// The policies of other admission controllers.
    pub others: &'r [OtherPolicy],
}

impl<'r> PspMigrationReport<'r> {
    /// Creates the report of a migration.
    pub fn new(migration: &'r PspMigration) -> Self {
        Self {
            plan: &migration.plan,
            policies: &migration.policies,
            declared: &migration.declared,
            superfluous: &migration.superfluous,
            patches: &migration.patches,
            to: migration.to,
            owned_templates: migration.owned_templates,
            others: &migration.others,
        }
    }
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
        out.push_str(&format!("{}\n", section.title));
        let entries = section.first_entries(MOST_ENTRIES);
        entries.iter().for_each(|entry| entry.lines("  ", "", &|text| foreign::line(text).into_owned(), &mut out));
    }
    out
}

/// Returns the report as Markdown.
pub fn markdown(report: &PspMigrationReport<'_>) -> String {
    let mut out = format!("# {TITLE}\n");
    for section in sections(report) {
        out.push_str(&format!("\n## {}\n\n", section.title));
        section
            .first_entries(MOST_ENTRIES)
            .iter()
            .for_each(|entry| entry.lines("", "- ", &foreign::markdown, &mut out));
    }
    out
}

/// Returns the report as a page of HTML.
pub fn html(report: &PspMigrationReport<'_>) -> String {
    html::page(report)
}

/// The title of a report.
pub(crate) const TITLE: &str = "Leaving PodSecurityPolicy behind";

/// A line with the lines that belong to it. A list of names is apart from the words: each form has the first names, and the search
/// of the page has all of them.
struct Entry {
    before: String,
    names: Vec<String>,
    after: String,
    details: Vec<Entry>,
}

impl Entry {
    fn new(text: impl Into<String>) -> Self {
        Self::listed(text, Vec::new(), "")
    }

    /// Creates a line with a list of names between its words.
    fn listed(before: impl Into<String>, names: Vec<String>, after: impl Into<String>) -> Self {
        Self { before: before.into(), names, after: after.into(), details: Vec::new() }
    }

    fn with(self, details: Vec<Entry>) -> Self {
        Self { details, ..self }
    }

    /// Returns the words with the first names.
    fn text(&self) -> String {
        format!("{}{}{}", self.before, some(&self.names), self.after)
    }

    fn lines(&self, indent: &str, mark: &str, shown: &dyn Fn(&str) -> String, out: &mut String) {
        out.push_str(&format!("{indent}{mark}{}\n", shown(&self.text())));
        let inside = format!("{indent}  ");
        self.details.iter().for_each(|entry| entry.lines(&inside, mark, shown, out));
    }
}

/// The lines of a section.
enum SectionContent {
    /// Entries, each with its details.
    Entries(Vec<Entry>),
    /// Groups of namespaces.
    Namespaces(Vec<NamespaceGroup>),
    /// Stages with their steps.
    Stages(Vec<Entry>),
}

/// A part of the report with a title.
struct Section {
    /// The name of the section in addresses.
    id: &'static str,
    title: &'static str,
    content: SectionContent,
}

impl Section {
    fn len(&self) -> usize {
        match &self.content {
            SectionContent::Entries(entries) | SectionContent::Stages(entries) => entries.len(),
            SectionContent::Namespaces(groups) => groups.len(),
        }
    }

    /// Returns the first entries of the section, and the number of the others.
    fn first_entries(self, most: usize) -> Vec<Entry> {
        let more = self.len().saturating_sub(most);
        let mut entries = match self.content {
            SectionContent::Entries(entries) | SectionContent::Stages(entries) => entries,
            SectionContent::Namespaces(groups) => {
                groups.into_iter().take(most).map(NamespaceGroup::into_entry).collect()
            }
        };
        entries.truncate(most);
        if more > 0 {
            entries.push(Entry::new(format!("and {} more; `--format json` has all of them", grouped(more))));
        }
        entries
    }
}

/// Returns the sections with content, in their order.
fn sections(report: &PspMigrationReport<'_>) -> Vec<Section> {
    use SectionContent::{Entries, Namespaces, Stages};
    let all = [
        ("decisions", "To be decided", Entries(decisions(report.plan))),
        ("namespaces", "Namespaces", Namespaces(namespaces::groups(report))),
        ("pods", "Pods", Entries(evidence::pods(report))),
        ("profiles", "Profiles", Entries(profiles(report))),
        ("defaults", "Defaults that workloads rely on", Entries(relying(report))),
        ("stages", "Stages", Stages(stages::checklist(report))),
        ("left-behind", "PodSecurityPolicies that are left behind", Entries(left_behind(report.plan))),
        ("others", "Policies of other admission controllers", Entries(other_controllers::entries(report))),
        ("grants", "Roles and bindings that grant nothing any more", Entries(superfluous(report.superfluous))),
    ];
    let all = all.into_iter().map(|(id, title, content)| Section { id, title, content });
    all.filter(|section| section.len() > 0).collect()
}

/// The number of entries of a section in text and Markdown.
const MOST_ENTRIES: usize = 16;

fn decisions(plan: &Plan) -> Vec<Entry> {
    let mut found = conflicts(plan);
    found.extend(rejected(plan));
    let mut alike = AlikeTexts::default();
    for workload in plan.workloads.iter().filter(|workload| !workload.changes.is_empty()) {
        let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        let changes = workload.changes.iter();
        let changes = changes
            .map(|change| format!("{}: {} today, then {}", change.field, value(&change.before), value(&change.after)));
        let policy = workload.policy.as_deref();
        let policy = policy.map_or_else(String::new, |policy| pattern(policy, &workload.namespace));
        let after = format!(": `{policy}` sets other defaults than the policy of the namespace");
        alike.add(&std::iter::once(after).chain(changes).collect::<Vec<_>>(), shown(workload));
    }
    found.extend(alike.into_lists().map(|(texts, names)| {
        let mut texts = texts.into_iter();
        let after = texts.next().into_iter().collect::<String>();
        Entry::listed("", names, after).with(texts.map(Entry::new).collect())
    }));
    for policy in plan.policies.iter().filter(|policy| policy.is_needed) {
        for (field, reason) in policy.lost() {
            found.push(Entry::new(format!("policy `{}`: `{field}` is lost: {reason}", policy.name)));
        }
    }
    found
}

/// Returns the namespaces with pods of one service account that no single policy admits.
fn conflicts(plan: &Plan) -> Vec<Entry> {
    let mut alike: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for namespace in plan.namespaces.iter().filter(|namespace| namespace.needs.is_conflict()) {
        let among = namespace.needs.disputed().iter().map(|policy| pattern(policy, &namespace.name));
        alike.entry(among.collect()).or_default().push(format!("`{}`", namespace.name));
    }
    let entries = alike.into_iter().map(|(among, names)| {
        let word = if names.len() == 1 { "namespace" } else { "namespaces" };
        let why = format!(": the pods of a service account get {}, and no policy admits all of them", quoted(&among));
        let help = "give the workloads different service accounts, or change them until one policy fits; until then the namespace has a level and no profile";
        Entry::listed(format!("{word} "), names, why).with(vec![Entry::new(help)])
    });
    entries.collect()
}

/// Returns the workloads whose new pods are rejected today.
fn rejected(plan: &Plan) -> Vec<Entry> {
    let mut alike = AlikeTexts::default();
    for workload in plan.workloads.iter().filter(|workload| !workload.refusals.is_empty()) {
        let reasons = workload.refusals.iter().map(|reason| without_namespace(reason, &workload.namespace));
        alike.add(&reasons.collect::<Vec<_>>(), shown(workload));
    }
    let mut alike: Vec<_> = alike.into_lists().collect();
    alike.sort_by_key(|(_, names)| Reverse(names.len()));
    let entries = alike.into_iter().map(|(reasons, names)| {
        let whose = match names.len() {
            1 => "its pods".to_owned(),
            several => format!("pods of {}", number(several, "workload")),
        };
        let entry = Entry::listed("", names, format!(": {whose} are rejected already"));
        entry.with(reasons.into_iter().map(Entry::new).collect())
    });
    entries.collect()
}

/// Replaces the name of a namespace in the quoted names of a text, so that texts about alike namespaces are equal.
fn without_namespace(text: &str, namespace: &str) -> String {
    let parts = text.split('`').enumerate();
    // Each second part is between two marks.
    let parts = parts.map(|(place, part)| if place % 2 == 1 { pattern(part, namespace) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

/// Returns a name with a variable in the place of the name of a namespace, as a whole word.
fn pattern(name: &str, namespace: &str) -> String {
    without_names(name, [namespace, ""]).replace('\0', "{namespace}")
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the first names of a list, and the number of the others.
fn some(names: &[String]) -> String {
    first_names(names, SHOWN)
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
                let before = format!("one for {count} policies, each of one namespace: ");
                details.push(Entry::listed(before, tenants.policies.clone(), ""));
                details.push(Entry::new(format!(
                    "Tenancy `{}`, with the variables of an account: {variables}",
                    tenants.tenancy
                )));
                details.push(Entry::new(format!("the entries describe `{}`, the first policy", policy.name)));
                tenants.profile.as_str()
            }
            None => {
                details.extend(openshift::names(policy, report));
                report.policies.profile_of(&policy.name)
            }
        };
        if !policy.merges.is_empty() {
            let merged = quoted(&policy.merges);
            details.push(Entry::new(format!("a new policy: each limit is the loosest limit of {merged}")));
        }
        details.extend(fates(policy, report.to));
        Some(Entry::new(format!("`{name}`: {}", stated(policy))).with(details))
    });
    told.collect()
}

/// Returns the level that the text of a policy allows, with the fields that decide it.
fn stated(policy: &PolicyPlan) -> String {
    let practical = policy.levels.iter().find(|(reading, _)| *reading == Reading::Practical);
    let deciding = practical.into_iter().flat_map(|(_, mapping)| mapping.deciding());
    let reasons: Vec<String> = deciding.map(|field| format!("{} ({})", field.field, field.reason)).collect();
    let because = if reasons.is_empty() { String::new() } else { format!(" because of {}", reasons.join(", ")) };
    let level = practical.map_or(policy.migration.level, |(_, mapping)| mapping.level);
    let used = policy.migration.level;
    let used = if used == level { String::new() } else { format!("; its namespaces have {used}") };
    format!("level {level} by its text{because}{used}")
}

fn fates(policy: &PolicyPlan, to: FinalCluster) -> Vec<Entry> {
    let mut details = Vec::new();
    let fields = &policy.migration.fields;
    let named = |wanted: &dyn Fn(&FieldOutcome) -> bool| -> Vec<&str> {
        fields.iter().filter(|field| wanted(&field.fate)).map(|field| field.field).collect()
    };
    let by_level = named(&|fate| *fate == FieldOutcome::KeptByLevel);
    if !by_level.is_empty() {
        details.push(Entry::new(format!("kept by the Pod Security level: {}", by_level.join(", "))));
    }
    details.extend(openshift::limits(policy, to));
    let open = named(&|fate| *fate == FieldOutcome::Unlimited);
    if !open.is_empty() {
        details.push(Entry::new(format!("without a limit: {}", open.join(", "))));
    }
    let dropped: Vec<String> = fields
        .iter()
        .filter_map(|field| match &field.fate {
            FieldOutcome::NoEffect(reason) | FieldOutcome::Dropped(reason) => {
                Some(format!("{} ({reason})", field.field))
            }
            _ => None,
        })
        .collect();
    if !dropped.is_empty() {
        details.push(Entry::new(format!("dropped: {}", dropped.join(", "))));
    }
    details.extend(openshift::defaults(policy, to));
    details
}

/// Returns the defaults that workloads rely on. Workloads of one profile with the same fields are one entry.
fn relying(report: &PspMigrationReport<'_>) -> Vec<Entry> {
    let mut alike: BTreeMap<(String, Vec<&str>), Vec<&WorkloadPlan>> = BTreeMap::new();
    for workload in report.plan.workloads.iter().filter(|workload| !workload.relied_on.is_empty()) {
        let policy = workload.policy.as_deref().unwrap_or_default();
        let policy = pattern(report.policies.profile_of(policy), &workload.namespace);
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
            format!("{field}: {value}")
        });
        let values: Vec<String> = values.collect();
        let namespaces: BTreeSet<&String> = workloads.iter().map(|workload| &workload.namespace).collect();
        let policy = match namespaces.first() {
            Some(only) if namespaces.len() == 1 => policy.replace("{namespace}", only),
            _ => policy,
        };
        let before = format!("by `{policy}`, {}: ", number(names.len(), "workload"));
        Entry::listed(before, names, "").with(vec![Entry::new(values.join(", "))])
    });
    let mut told: Vec<Entry> = told.collect();
    let says_all = |workload: &&WorkloadPlan| workload.policy.is_some() && workload.relied_on.is_empty();
    let names: Vec<String> = report.plan.workloads.iter().filter(says_all).map(shown).collect();
    if !names.is_empty() {
        let workloads = number(names.len(), "workload");
        told.push(Entry::listed(format!("nothing is filled in for {workloads}: "), names, ""));
    }
    told
}

fn left_behind(plan: &Plan) -> Vec<Entry> {
    let merging = plan.policies.iter().filter(|policy| policy.is_needed).flat_map(|policy| &policy.merges);
    let merged: BTreeSet<&String> = merging.collect();
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for policy in plan.policies.iter().filter(|policy| !policy.is_needed) {
        let why = match (policy.broken.as_slice(), policy.workloads) {
            ([], _) if merged.contains(&policy.name) => "a merged policy replaces it".to_owned(),
            ([], 0) => "no namespace needs it".to_owned(),
            ([], count) => format!("{} will be held to the policy of the namespace", number(count, "workload")),
            (reasons, _) => format!("no subject can use it: {}", reasons.join("; ")),
        };
        alike.entry(why).or_default().push(format!("`{}`", policy.name));
    }
    alike.into_iter().map(|(why, names)| Entry::listed("", names, format!(": {why}"))).collect()
}

fn superfluous(found: &Superfluous) -> Vec<Entry> {
    let lists = [
        ("role", "", &found.roles),
        ("binding", " to them", &found.bindings),
        ("rule", " of other roles", &found.rules),
    ];
    let told = lists.into_iter().filter(|(_, _, list)| !list.is_empty()).map(|(what, of, list)| {
        let names: Vec<String> = list.iter().cloned().collect();
        Entry::listed(format!("{}{of}: ", number(names.len(), what)), names, "")
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

#[cfg(test)]
mod tests {
    use super::{pattern, without_namespace};

    #[test]
    fn only_quoted_names_lose_the_namespace() {
        let reason = "`spec-psp`: spec.containers[0]: the kind `hostPath` of `a`";
        assert_eq!(without_namespace(reason, "spec"), reason.replace("spec-psp", "{namespace}-psp"));
        assert_eq!(without_namespace(reason, "a"), reason.replace("`a`", "`{namespace}`"));
        assert_eq!(without_namespace(reason, ""), reason);
        assert_eq!(pattern("tool-ann-psp", "tool-ann"), "{namespace}-psp");
        assert_eq!(pattern("annual", "ann"), "annual");
    }
}
