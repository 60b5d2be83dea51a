//! The stacks of a cluster, for people and for programs.

use std::collections::BTreeMap;

use bailiwick_access::cover::compacted;
use bailiwick_access::who_can::PermissionScope;
use bailiwick_analysis::stacks::{ManagerReport, StackReport, StacksReport};
use bailiwick_crossplane::object::ServiceAccountName;
use bailiwick_crossplane::stack::Stack;
use bailiwick_crossplane::upgrade::{Replacement, Upgrade};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::access::{chain_text, place_text, rule_text};
use super::human;
use super::page::Page;

/// The stacks of a target.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StacksRecord {
    /// The stacks in the order of installation.
    pub stacks: Vec<StackRecord>,
    /// The definitions that several stacks bring, with these stacks.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub shared_definitions: Map<String, Value>,
    /// By kind of install the subjects that may request it.
    #[schemars(with = "BTreeMap<String, Vec<RequesterRecord>>")]
    pub requesters: Map<String, Value>,
    /// The accounts that install the stacks.
    pub managers: Vec<ManagerRecord>,
    /// The target; absent for manifests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// An installed package.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StackRecord {
    /// The kind of the install.
    pub kind: String,
    /// The namespace of the install.
    pub namespace: String,
    /// The name of the install.
    pub name: String,
    /// The version of the package.
    pub version: Option<String>,
    /// The place of the install, as `path:line:column`.
    pub place: String,
    /// By required stack the definitions that it brings.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub needs: Map<String, Value>,
    /// Whether the stack and a required stack require each other.
    pub in_ring: bool,
    /// Whether its permissions end at its namespace.
    pub isolated: bool,
    /// The bindings with permissions outside of its namespace.
    pub outside: Vec<String>,
    /// The service accounts whose tokens it can make and read.
    pub can_become: Vec<String>,
    /// Whether it reads every Secret.
    pub reads_every_secret: bool,
    /// Whether it can request packages for the whole cluster.
    pub requests_cluster_packages: bool,
    /// The workloads that run the package.
    pub controllers: Vec<ControllerRecord>,
}

/// A controller of a stack.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControllerRecord {
    /// The place, as `path:line:column`.
    pub place: String,
    /// The parts of the node that it uses.
    pub on_node: Vec<String>,
    /// The service account that it names.
    pub named_account: Option<String>,
}

/// A subject that may request installs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RequesterRecord {
    /// A user, group or service account.
    pub subject: String,
    /// The namespace; none for all of them.
    pub namespace: Option<String>,
}

/// An account that installs stacks.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ManagerRecord {
    /// The account, as `namespace/name`.
    pub account: String,
    /// The number of objects of the stacks.
    pub objects: usize,
    /// The objects that it cannot create.
    pub refused: Vec<String>,
}

/// Returns the report as text, section by section.
pub fn text(report: &StacksReport<'_>) -> String {
    let mut text = Page::new();
    text.push_str("order of installation\n");
    for (number, stack_report) in (1..).zip(&report.stacks) {
        let install = &stack_report.stack.install;
        let place = place_text(install.origin, report.files);
        let version = stack_report.stack.package.shown_version();
        writeln!(text, "  {number}. {install} {version} ({place})");
        for (provider, names) in &stack_report.step.needs {
            let Some(provider) = report.all.get(*provider) else { continue };
            writeln!(text, "     needs {} for {}", provider.install, names.join(", "));
        }
        if stack_report.step.is_in_ring {
            text.push_str("     it and its dependencies need each other: install the definitions first\n");
        }
    }
    shared_definitions(report, &mut text);
    text.push_str("reach\n");
    for stack_report in &report.stacks {
        reach_of(report, stack_report, &mut text);
        controllers_of(report, stack_report.stack, &mut text);
    }
    requests(report, &mut text);
    report.managers.iter().for_each(|manager| manager_line(manager, &mut text));
    text.finish()
}

fn shared_definitions(report: &StacksReport<'_>, text: &mut Page) {
    let shared: Vec<_> = report.owners.iter().filter(|owners| owners.len() > 1).collect();
    if !shared.is_empty() {
        text.push_str("definitions of several stacks; a definition is deleted with the last of its stacks\n");
    }
    for owners in shared {
        let Some(first) = owners.first() else { continue };
        let owning: Vec<String> = owners
            .iter()
            .filter_map(|owner| {
                let versions: Vec<&str> = owner.definition.versions.keys().map(String::as_str).collect();
                Some(format!("{} ({})", report.all.get(owner.stack)?.install.id(), versions.join(", ")))
            })
            .collect();
        writeln!(text, "  {}: {}", first.definition.name, owning.join("; "));
    }
}

fn controllers_of(report: &StacksReport<'_>, stack: &Stack, text: &mut Page) {
    for controller in &stack.package.controllers {
        let place = place_text(controller.origin, report.files);
        let parts = controller.on_node(stack.revision);
        if !parts.is_empty() {
            writeln!(text, "    its controller uses {} ({place})", parts.join(", "));
        }
        let replaced = controller.named_account().filter(|named| *named != stack.install.name);
        if let Some(named) = replaced {
            let own = &stack.install.name;
            writeln!(
                text,
                "    its controller runs as `{own}` and not as `{named}`, which the manager replaces ({place})"
            );
        }
    }
}

fn reach_of(report: &StacksReport<'_>, stack_report: &StackReport<'_>, text: &mut Page) {
    let install = &stack_report.stack.install;
    let reach = &stack_report.reach;
    if !stack_report.stack.is_cluster() && reach.is_isolated() {
        writeln!(text, "  {install}: nothing outside `{}`", install.namespace);
        return;
    }
    if reach.reads_every_secret {
        writeln!(text, "  {install}: every namespace; it reads every Secret, and so can act as any account");
    } else if reach.outside.is_empty() {
        writeln!(text, "  {install}: `{}`", install.namespace);
    } else {
        writeln!(text, "  {install}: beyond `{}`", install.namespace);
    }
    if reach.requests_cluster_packages {
        text.push_str("    it can request packages for the whole cluster, and so gain their permissions\n");
    }
    for chain in &reach.outside {
        writeln!(text, "    {}", chain_text(chain, report.files));
    }
    for (account, chains) in reach.stepping_stones.iter().take(MAXIMUM_LINES) {
        writeln!(text, "    through the account `{}`, whose token it can create and read", account.name);
        for chain in chains {
            writeln!(text, "      {}", chain_text(chain, report.files));
        }
    }
    let more = reach.stepping_stones.len().saturating_sub(MAXIMUM_LINES);
    if more > 0 {
        writeln!(text, "    and through {}", human::number(more, "other account"));
    }
}

fn requests(report: &StacksReport<'_>, text: &mut Page) {
    text.push_str("subjects that may request them\n");
    for (kind, requesters) in &report.requesters {
        for (scope, subject) in requesters {
            let place = match scope {
                PermissionScope::Cluster if kind.is_cluster() => String::new(),
                PermissionScope::Cluster => " in every namespace".to_owned(),
                PermissionScope::Namespace(namespace) => format!(" in `{namespace}`"),
            };
            writeln!(text, "  {}{place}: {subject}", kind.name());
        }
    }
}

/// Returns the report as JSON.
pub fn record(report: &StacksReport<'_>, target: Option<String>) -> StacksRecord {
    let shared = report.owners.iter().filter(|owners| owners.len() > 1).filter_map(|owners| {
        let ids = owners.iter().filter_map(|owner| Some(report.all.get(owner.stack)?.install.id()));
        Some((owners.first()?.definition.name.clone(), json!(ids.collect::<Vec<_>>())))
    });
    let requesters = report.requesters.iter().map(|(kind, requesters)| {
        let requesters: Vec<RequesterRecord> =
            requesters.iter().map(|(scope, subject)| RequesterRecord::new(scope, subject)).collect();
        (kind.name().to_owned(), json!(requesters))
    });
    let managers = report.managers.iter().map(|manager| ManagerRecord {
        account: format!("{}/{}", manager.account.namespace, manager.account.name),
        objects: manager.objects,
        refused: manager.refused.clone(),
    });
    StacksRecord {
        stacks: report.stacks.iter().map(|stack| stack_record(report, stack)).collect(),
        shared_definitions: shared.collect(),
        requesters: requesters.collect(),
        managers: managers.collect(),
        target,
    }
}

fn stack_record(report: &StacksReport<'_>, stack_report: &StackReport<'_>) -> StackRecord {
    let StackReport { stack, step, reach } = stack_report;
    let install = &stack.install;
    let needs =
        step.needs.iter().filter_map(|(provider, names)| Some((report.all.get(*provider)?.install.id(), json!(names))));
    let controllers = stack.package.controllers.iter().map(|controller| ControllerRecord {
        place: place_text(controller.origin, report.files),
        on_node: controller.on_node(stack.revision).into_iter().map(str::to_owned).collect(),
        named_account: controller.named_account().map(str::to_owned),
    });
    StackRecord {
        kind: install.kind.name().to_owned(),
        namespace: install.namespace.clone(),
        name: install.name.clone(),
        version: stack.package.version.clone(),
        place: place_text(install.origin, report.files),
        needs: needs.collect(),
        in_ring: step.is_in_ring,
        isolated: reach.is_isolated(),
        outside: reach.outside.iter().map(|chain| chain.binding.name.clone()).collect(),
        can_become: reach.stepping_stones.iter().map(|(account, _)| account.name.clone()).collect(),
        reads_every_secret: reach.reads_every_secret,
        requests_cluster_packages: reach.requests_cluster_packages,
        controllers: controllers.collect(),
    }
}

impl RequesterRecord {
    fn new(scope: &PermissionScope, subject: &str) -> Self {
        Self { subject: subject.to_owned(), namespace: scope.namespace().map(str::to_owned) }
    }
}

/// How many accounts, and how many gained or lost permissions, of a stack are listed.
const MAXIMUM_LINES: usize = 10;

/// Returns the changes of new versions of stacks, by stack.
pub fn upgrades(upgrades: &[Upgrade]) -> String {
    let mut text = Page::new();
    for upgrade in upgrades {
        let Upgrade { namespace, name, old_version, new_version, .. } = upgrade;
        let versions = match (old_version, new_version) {
            (Some(old), Some(new)) if old != new => format!(": {old} becomes {new}"),
            _ => String::new(),
        };
        writeln!(text, "  stack {namespace}/{name}{versions}");
        for Replacement { old, new } in &upgrade.renamed {
            writeln!(text, "    {old} is deleted, {new} created");
        }
        if upgrade.widened {
            text.push_str("    its permissions are cluster-wide now\n");
        }
        for binding in &upgrade.rebound {
            writeln!(text, "    {binding} is deleted and created anew: its role cannot be changed");
        }
        for (word, rules) in [("gains", &upgrade.gained), ("loses", &upgrade.lost)] {
            let compact = compacted(rules);
            for rule in compact.iter().take(MAXIMUM_LINES) {
                writeln!(text, "    {word} {}", rule_text(rule));
            }
            if compact.len() > MAXIMUM_LINES {
                writeln!(text, "    {word} {} more", compact.len() - MAXIMUM_LINES);
            }
        }
    }
    text.finish()
}

fn manager_line(manager: &ManagerReport, text: &mut Page) {
    let ServiceAccountName { namespace, name } = &manager.account;
    if manager.refused.is_empty() {
        let objects = human::number(manager.objects, "object");
        writeln!(text, "`{namespace}/{name}` installs them: it can create all their {objects}");
        return;
    }
    writeln!(text, "`{namespace}/{name}` cannot create");
    manager.refused.iter().for_each(|object| writeln!(text, "  {object}"));
}
