//! Findings about a workspace or about manifests: grants that are dangerous, dead, or cannot be applied.

mod accepted;
mod alike;
mod applier;
mod change;
mod comparison;
mod constraints;
mod delivery;
mod guard;
mod installed;
mod nodes;
mod pod_security_stage;
mod risks;
mod rule_places;
mod selection;
mod stacks;
mod tenants;
mod usage;
mod workloads;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_access::compare::Affected;
use bailiwick_access::risk::{self, ReachedPowers, RiskContext, Tenants};
use bailiwick_access::who_can::PermissionScope;
use bailiwick_codes as codes;
use bailiwick_compiler::compile::{self, AllowEntry};
use bailiwick_node::ServerVersion;
use bailiwick_policy::model::{DiagnosticSetting, InstalledStack, PlacedAgent, Target};
use bailiwick_workspace::{Diagnostics, Error, Options, Workspace};
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Sink};
use schemars::JsonSchema;
use serde::Serialize;

pub use self::accepted::{Acceptance, AcceptedFinding, AcceptedPowers, acceptances};
use self::accepted::{AcceptedFindings, Decided, Decisions};
pub use self::change::{FindingChange, lint_change};
pub use self::comparison::MatchedFindings;
pub use self::installed::Unanswered;
use self::risks::FindingWords;
pub use self::selection::Selection;
use super::account_names::AccountNames;
use super::audit::{self, AuditOptions, AuditSummary};
use super::classes::{self, Spread};
use super::loaded_world::{LoadedWorld, WorldOptions, load_manifests, load_target};

/// How many subjects of a finding are known by name.
const MAXIMUM_FIRST: usize = 8;

/// How many missing permissions a finding names.
const MAXIMUM_RIGHTS: usize = 5;

/// The options of a search for findings.
#[derive(Debug, Clone, Default)]
pub struct LintOptions {
    /// The names of the targets of the workspace; all targets without names.
    pub targets: Vec<String>,
    /// The objects to search.
    pub world: WorldOptions,
    /// The findings that are reported.
    pub selection: Selection,
    /// Folders of static pods of a kubelet, or files in them, that are searched too.
    pub static_pods: Vec<PathBuf>,
    /// The audit logs of the cluster of the manifests: unused grants are findings.
    pub audit: AuditOptions,
    /// Whether every namespace is searched, and not one of each class of alike namespaces. The findings are the same, but for the
    /// examples of alike subjects.
    pub without_classes: bool,
}

/// The findings about a workspace or about manifests.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LintReport {
    /// The findings. An error among them is about the input, and not about a grant.
    pub findings: Diagnostics,
    /// The findings accepted by `metadata.allow` of a policy, or by the setting of a code.
    pub accepted: Vec<AcceptedFinding>,
    /// The admission policies that are not evaluated for every workload.
    pub unanswered: Unanswered,
    /// Whether the objects could be read.
    pub is_readable: bool,
    /// The comparison with an earlier state of the workspace; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<FindingChange>,
    /// The requests of the audit logs; none without logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditSummary>,
}

/// Searches the targets for findings.
///
/// # Errors
/// When no target has one of the names, or the run fails. Invalid policies are among the findings.
///
/// # Examples
/// ```
/// # use bailiwick_workspace::{Error, Options, Workspace};
/// # use bailiwick_analysis::{LintOptions, lint};
/// # let options = Options::in_folder("../..");
/// # let workspace = Workspace::open(&options)?;
/// let report = lint(&workspace, &LintOptions::default())?;
/// assert!(report.is_readable && !report.findings.has_errors());
/// # Ok::<(), Error>(())
/// ```
pub fn lint(workspace: &Workspace, options: &LintOptions) -> Result<LintReport, Error> {
    let spread =
        if options.without_classes { Spread::default() } else { classes_to_lint(workspace, &options.selection)? };
    let mut report = lint_sample(&workspace.with_sample(spread.sample()), options, &spread)?;
    let is_asked = options.targets.is_empty() && options.selection.chooses(codes::UNUSED_ALLOW);
    if is_asked && !report.findings.has_errors() {
        if !options.selection.is_whole() {
            // An entry can accept a finding that was not chosen.
            let all = LintOptions { selection: Selection::default(), ..options.clone() };
            lint_sample(&workspace.with_sample(spread.sample()), &all, &spread)?;
        }
        let mut sink = Sink::new();
        let found = std::mem::take(&mut report.findings.list);
        found.into_iter().chain(unused_acceptances(workspace)).for_each(|finding| sink.push(finding));
        report.findings.list = sink.into_sorted(&workspace.project().files);
    }
    Ok(report)
}

/// Returns the warnings about entries of `metadata.allow` that accepted nothing, after a search of all targets.
fn unused_acceptances(workspace: &Workspace) -> Vec<Diagnostic> {
    let project = &workspace.project();
    let unused = project.allow_entries().filter(|entry| {
        let is_over = project.today.is_some_and(|today| entry.is_over(today));
        !entry.is_used() && !is_over
    });
    project.without_accepted(unused.map(AllowEntry::unused).collect())
}

/// Returns the classes of alike namespaces: one namespace of each class is searched.
pub(super) fn classes_to_lint<'w>(workspace: &'w Workspace, selection: &Selection) -> Result<Spread<'w>, RunError> {
    let facts = &workspace.project().facts;
    // The findings about stacks and agents name subjects of all namespaces.
    let has_named = facts.all::<InstalledStack>().next().is_some() || facts.all::<PlacedAgent>().next().is_some();
    if has_named || counts_bindings(workspace, selection) {
        return Ok(Spread::default());
    }
    classes::spread(None, workspace, None, &[])
}

/// Whether a selected finding counts the bindings of a subject in all namespaces.
pub fn counts_bindings(workspace: &Workspace, selection: &Selection) -> bool {
    let settings = &workspace.project().workspace.diagnostics;
    selection.rules().filter(|rule| rule.counts_bindings()).any(|rule| match settings.of_finding(rule.code) {
        Some(DiagnosticSetting::Ignore) => false,
        setting => rule.worst().is_some_and(|worst| severity(setting, worst) >= selection.least()),
    })
}

/// Searches the targets for findings in the namespaces of a sample, which stand for their classes.
pub fn lint_sample(workspace: &Workspace, options: &LintOptions, spread: &Spread<'_>) -> Result<LintReport, Error> {
    let targets = workspace.targets(&options.targets)?;
    let mut all = Sink::new();
    let (mut unanswered, mut accepted) = (Unanswered::default(), AcceptedFindings::default());
    let world_options = WorldOptions { with_surroundings: true, with_paths: true, ..options.world.clone() };
    for target in &targets {
        let mut sink = Sink::new();
        let loaded = load_target(workspace, target, &world_options, &mut sink)?;
        let mut sink = spread.with_all_warnings(workspace, target, sink);
        if let Some(loaded) = loaded.filter(|_| !sink.has_errors() && !all.has_errors()) {
            let linted = LintedTarget { workspace, target, loaded: &loaded, spread };
            linted.find(&options.selection, &mut unanswered, &mut accepted, &mut sink)?;
        }
        all.absorb_of_target(sink, &target.name);
    }
    let mut sink = all.with_targets_together();
    if let Some(target) = targets.first() {
        let version = version_of(target.version.minor())?;
        nodes::check_static_pods(
            workspace.options(),
            &options.static_pods,
            &version,
            &workspace.project().files,
            &mut sink,
        )?;
    }
    let list = options.selection.choose(workspace.findings(sink));
    let accepted = accepted.into_list(&workspace.project().files, |finding| options.selection.keeps(finding));
    let findings = Diagnostics::new(list, &workspace.project().files);
    Ok(LintReport { findings, accepted, unanswered, is_readable: true, change: None, audit: None })
}

/// Searches manifests for findings.
///
/// # Errors
/// When the run fails. Invalid manifests are among the findings.
///
/// # Examples
/// ```
/// use bailiwick_workspace::{Error, Options};
/// use bailiwick_analysis::{LintOptions, WorldOptions, lint_manifests};
/// let options = Options::in_folder("../..");
/// let world = WorldOptions { from: vec!["out/modern".into()], ..WorldOptions::default() };
/// let report = lint_manifests(&options, &LintOptions { world, ..LintOptions::default() })?;
/// assert!(report.is_readable);
/// # Ok::<(), Error>(())
/// ```
pub fn lint_manifests(run: &Options, options: &LintOptions) -> Result<LintReport, Error> {
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let mut unanswered = Unanswered::default();
    let mut audit = None;
    let world = WorldOptions { with_paths: true, ..options.world.clone() };
    let loaded = load_manifests(run, &world, &files, &mut sink)?;
    if let Some(loaded) = &loaded {
        find_risks(loaded, &options.selection, &mut sink);
        nodes::check_role(loaded, &mut sink);
        constraints::check_manifests(loaded, &mut sink);
        unanswered = installed::check_manifests(loaded, &mut sink);
        let version = version_of(loaded.world.minor())?;
        nodes::check_static_pods(run, &options.static_pods, &version, &files, &mut sink)?;
        if !options.audit.logs.is_empty() {
            let inputs = audit::read_inputs(run, &options.audit, &files, &mut sink)?;
            audit = inputs.map(|inputs| usage::check(loaded, &inputs, &options.selection, &mut sink).summary);
        }
    }
    let list = options.selection.choose(sink.into_sorted(&files));
    let (findings, is_readable) = (Diagnostics { list, files }, loaded.is_some());
    Ok(LintReport { findings, accepted: Vec::new(), unanswered, is_readable, change: None, audit })
}

fn version_of(minor: u32) -> Result<ServerVersion, RunError> {
    ServerVersion::new(minor).map_err(|error| RunError::new(error.to_string()))
}

/// Describes the objects that the applier of a target may not write.
pub fn applier_problems(
    workspace: &Workspace,
    target: &Target,
    loaded: &LoadedWorld,
    spread: &Spread<'_>,
) -> Result<Vec<String>, RunError> {
    let mut sink = Sink::new();
    applier::check(workspace, target, loaded, spread, &mut sink)?;
    Ok(sink.diagnostics().iter().map(|found| found.message.clone()).collect())
}

/// A target that is searched for findings.
struct LintedTarget<'l> {
    workspace: &'l Workspace,
    target: &'l Target,
    loaded: &'l LoadedWorld,
    /// The classes of the namespaces.
    spread: &'l Spread<'l>,
}

impl LintedTarget<'_> {
    fn find(
        &self,
        selection: &Selection,
        unanswered: &mut Unanswered,
        accepted: &mut AcceptedFindings,
        sink: &mut Sink,
    ) -> Result<(), RunError> {
        let Self { workspace, target, loaded, spread } = *self;
        let facts = &workspace.project().facts;
        applier::check(workspace, target, loaded, spread, sink)?;
        let labels = compile::labels(workspace.project(), target, workspace.compiler(), &mut Sink::new())?;
        let pods = workloads::inputs(self, labels.as_ref(), sink)?;
        workloads::check(self, &pods, unanswered, sink);
        pod_security_stage::check(self, &pods, selection, sink);
        if let Some(labels) = &labels {
            constraints::check(labels.world(), spread, &|finding| workspace.project().accepts(finding), sink);
        }
        stacks::check(workspace, target, loaded, sink)?;
        expansions::check(workspace, target, selection, sink);
        delivery::check(self, selection, sink)?;
        guard::check(workspace, target, loaded, sink)?;
        nodes::check_role(loaded, sink);
        nodes::check_agents(loaded, facts.on(&target.name), sink);
        nodes::check_selectors(loaded, facts.on(&target.name), sink);
        self.find_risks(selection, accepted, sink);
        Ok(())
    }

    /// Reports the findings of the risk rules, with the severities of the workspace.
    fn find_risks(&self, selection: &Selection, accepted: &mut AcceptedFindings, sink: &mut Sink) {
        let Self { workspace, target, loaded, spread } = *self;
        let mut options = selection.options_of_workspace();
        // A finding about tenants represents others: where it is ignored, the others are reported.
        let settings = &workspace.project().workspace.diagnostics;
        let is_ignored = |rule: &risk::RiskRule| settings.of_finding(rule.code) == Some(DiagnosticSetting::Ignore);
        options.rules.retain(|rule| !rule.is_about_tenants() || !is_ignored(rule));
        let places = tenants::Places::of(workspace.project());
        let is_own = |place| places.is_of_tenancy(place);
        let is_accepted = |code, place| workspace.project().accepts_at(code, place);
        let weight = |namespace: &str| workspace.sample().weight(namespace);
        let tenants = Tenants::new(&is_own, &is_accepted);
        let tenants = if workspace.sample().is_whole() { tenants } else { tenants.with_weight(&weight) };
        let tenants = tenants::of_target(workspace, target, tenants);
        let accounts = AccountNames::of_target(workspace, target);
        let graph = loaded.escalation_graph();
        let powers = graph.as_ref().map(|graph| graph as &dyn ReachedPowers);
        let mut words = FindingWords::new(&loaded.files, Some(workspace), &accounts, graph.as_ref());
        let decisions = Decisions::new(workspace, selection.least());
        let decide = |rule: &risk::RiskRule, place, severity| decisions.about(rule, place, severity);
        let context = RiskContext { tenants: Some(&tenants), powers, decisions: Some(&decide) };
        for mut finding in loaded.world.findings_among(context, &options) {
            finding.first = first_of_classes(finding.first, spread);
            match decisions.decide(finding) {
                Decided::Reported(finding) if selection.shows(&finding) => sink.push(words.diagnostic(&finding)),
                Decided::Accepted { by, finding } if selection.shows(&finding) => {
                    accepted.add(by, words.diagnostic(&finding), &target.name);
                }
                Decided::Reported(_) | Decided::Accepted { .. } => {}
            }
        }
    }
}

/// Returns the first subjects of a finding, with the subjects in the other namespaces of their classes: users and service
/// accounts, then groups. The very first one stays the first.
fn first_of_classes(first: Vec<Affected>, spread: &Spread<'_>) -> Vec<Affected> {
    let Some(very_first) = first.first().filter(|_| !spread.sample().is_whole()).cloned() else { return first };
    let count = first.len().max(MAXIMUM_FIRST);
    let mut all: BTreeSet<(bool, Affected)> = BTreeSet::new();
    let mut add = |affected: Affected| _ = all.insert((affected.subject.starts_with("Group/"), affected));
    for affected in &first {
        let Some(namespace) = affected.namespace() else {
            add(affected.clone());
            continue;
        };
        for (subject, namespace) in spread.in_class(&affected.subject, namespace).take(count) {
            let is_wide = affected.scope.namespace().is_none();
            let scope =
                if is_wide { PermissionScope::Cluster } else { PermissionScope::Namespace(namespace.to_owned()) };
            add(Affected { subject, scope });
        }
    }
    let others = all.into_iter().map(|(_, affected)| affected).filter(|affected| *affected != very_first);
    std::iter::once(very_first.clone()).chain(others).take(count).collect()
}

/// Reports the findings of the world of manifests.
fn find_risks(loaded: &LoadedWorld, selection: &Selection, sink: &mut Sink) {
    let (graph, accounts) = (loaded.escalation_graph(), AccountNames::default());
    let powers = graph.as_ref().map(|graph| graph as &dyn ReachedPowers);
    let mut words = FindingWords::new(&loaded.files, None, &accounts, graph.as_ref());
    for finding in loaded.world.findings_among(RiskContext { powers, ..RiskContext::default() }, &selection.options()) {
        if selection.shows(&finding) {
            sink.push(words.diagnostic(&finding));
        }
    }
}

/// Returns the severity of a setting, or this one.
fn severity(setting: Option<DiagnosticSetting>, severity: risk::RiskSeverity) -> risk::RiskSeverity {
    match setting {
        Some(DiagnosticSetting::Critical) => risk::RiskSeverity::Critical,
        Some(DiagnosticSetting::High) => risk::RiskSeverity::High,
        Some(DiagnosticSetting::Medium) => risk::RiskSeverity::Medium,
        Some(DiagnosticSetting::Low) => risk::RiskSeverity::Low,
        Some(DiagnosticSetting::Info) => risk::RiskSeverity::Info,
        Some(DiagnosticSetting::Error | DiagnosticSetting::Warning | DiagnosticSetting::Ignore) | None => severity,
    }
}

mod expansions {
    //! Permission sets that name what a target serves, in place of wildcards.

    use bailiwick_access::risk::RiskSeverity;
    use bailiwick_codes as codes;
    use bailiwick_policy::model::{ExpandedSet, Target};
    use bailiwick_workspace::Workspace;
    use bailiwick_yaml::diag::{Diagnostic, Sink};

    use super::selection::Selection;
    use super::severity;

    /// Reports the sets of a target. The finding is the same on every target of a set.
    pub(super) fn check(workspace: &Workspace, target: &Target, selection: &Selection, sink: &mut Sink) {
        let setting = workspace.project().workspace.diagnostics.of_finding(codes::EXPANDED_WILDCARD);
        let severity = severity(setting, RiskSeverity::Low);
        if severity < selection.least() {
            return;
        }
        for set in workspace.project().facts.on::<ExpandedSet>(&target.name) {
            let count = match set.resources {
                (least, greatest) if least == greatest => least.to_string(),
                (least, greatest) => format!("{least} to {greatest}"),
            };
            let message = format!("{} `{}` grants {count} resources by name", set.policy.kind, set.policy.name);
            sink.push(
                Diagnostic::warning(codes::EXPANDED_WILDCARD, message)
                    .at(set.origin)
                    .labelled(severity.word())
                    .note("a resource of a later version or CustomResourceDefinition is not among them")
                    .help("render again after such a change, and review the new resources"),
            );
        }
    }
}
