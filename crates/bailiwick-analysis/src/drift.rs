//! Compares the live objects of a cluster with the policies: the objects, and the access by the difference.
//!
//! The input is a dump of the cluster. No cluster is contacted. Every text of a dump is a text of a tenant.

mod accepted;
mod access;
mod comparison;
mod diagnostics;
mod dump;
mod fields;
mod grants;
mod live;
mod live_tests;
mod prints;
mod table;
mod unmanaged;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use bailiwick_access::compare::Change;
use bailiwick_codes as codes;
use bailiwick_policy::model::Target;
use bailiwick_workspace::identity_key::IdentityKey;
use bailiwick_workspace::{Diagnostics, Error, Workspace};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::words::first_names;
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink};
use schemars::JsonSchema;
use serde::Serialize;

use self::accepted::AcceptList;
use self::comparison::{LiveComparison, ObjectFindings};
use self::fields::FieldDifference;
use self::live::{LastWriter, LiveInputs, LiveObjects};
use self::unmanaged::Surroundings;
use self::wanted::WantedObjects;
use super::loaded_world::{LoadedWorld, ManifestReading, WorldContent, WorldParts, each_object, load_target_seen};
use super::test::{TestEvent, TestRun, test_checks};
use crate::isolation;

/// The options of a comparison with a live cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriftOptions {
    /// The dump of the cluster: a file, a folder, or standard input (`-`).
    pub live: PathBuf,
    /// The name of the target; none for the only one.
    pub target: Option<String>,
    /// Whether a kind without any object in the dump is left out of the comparison.
    pub is_partial: bool,
}

/// The difference between the policies and a live cluster.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// The name of the target.
    pub target: String,
    /// How many objects the policies want.
    pub wanted: usize,
    /// How many of them are live as they should be.
    pub equal: usize,
    /// How many objects differ, and are accepted by `spec.drift.accept`.
    pub accepted: usize,
    /// The differences, in order of class and object.
    pub findings: Vec<DriftFinding>,
    /// The number of unmanaged objects by owner: a Helm release, an operator, or another application of an applier.
    pub owned: BTreeMap<String, usize>,
    /// The kinds without an object in the dump, which are not compared, with `partial`.
    pub not_compared: Vec<String>,
    /// The permissions of the live cluster beyond the policies (`gained`), and the permissions of the policies missing there
    /// (`lost`), by the objects of the policies and the unmanaged objects near them.
    pub access: Vec<AccessDifference>,
    /// How many questions of AccessTests were asked of the live objects.
    pub questions: usize,
    /// How many of them have another answer than the expected one.
    pub failures: usize,
}

/// An object with a difference from the policies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriftFinding {
    /// The kind of the difference.
    pub class: DriftClass,
    /// The object, as `Kind/namespace/name` or `Kind/name`.
    pub object: String,
    /// The role of a live binding, as `Kind/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The subjects of a live binding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// The differing fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldDifference>,
    /// The last writer of the live object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<LastWriter>,
    /// The owner of an unmanaged object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whether the object concerns the policies: it is one of theirs, is in one of their namespaces, or names one of their
    /// subjects. Other unmanaged objects do not fail the command.
    pub concerns_policies: bool,
    /// The place of the policy.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) origin: Option<Origin>,
}

/// Access of a class of subjects in the cluster beside the access by the policies, or without it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessDifference {
    /// The permissions with their subjects.
    #[serde(flatten)]
    pub change: Change,
    /// The bindings and roles that give them to the first subject, as `RoleBinding/team-a/x <- ClusterRole/y`: for gained permissions in
    /// the cluster, for lost ones in the policies.
    pub by: Vec<String>,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DriftClass {
    /// An object of the policies is not live.
    Missing,
    /// A live object of the policies has other fields.
    Changed,
    /// A live object of the policies is being deleted.
    Terminating,
    /// A live object is not an object of the policies.
    Unmanaged,
}

impl DriftClass {
    /// Returns the word for the class.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Changed => "changed",
            Self::Terminating => "terminating",
            Self::Unmanaged => "unmanaged",
        }
    }
}

impl Drift {
    /// Returns the findings of a class.
    pub fn of_class(&self, class: DriftClass) -> impl Iterator<Item = &DriftFinding> {
        self.findings.iter().filter(move |finding| finding.class == class)
    }

    /// Whether the cluster is as the policies want it: no object of theirs differs, no object near them is unmanaged, no
    /// access differs, and every AccessTest passes.
    pub fn is_as_wanted(&self) -> bool {
        !self.findings.iter().any(DriftFinding::fails) && self.access.is_empty() && self.failures == 0
    }
}

impl DriftFinding {
    /// Whether the finding fails the command: it concerns the policies, and has no owner. The access by an object with an
    /// owner fails it, too.
    pub fn fails(&self) -> bool {
        self.concerns_policies && self.owner.is_none()
    }

    /// Describes the differing fields.
    pub fn differences(&self) -> String {
        let shown = |value: &Option<String>| value.as_ref().map_or_else(|| "none".to_owned(), String::clone);
        let field = |field: &FieldDifference| {
            format!("{}: wanted {}, live {}", field.path, shown(&field.wanted), shown(&field.live))
        };
        self.fields.iter().map(field).collect::<Vec<_>>().join("; ")
    }
}

/// A comparison with its diagnostics, and the broken assertions about the live objects.
pub struct DriftOutcome {
    /// The comparison.
    pub drift: Drift,
    /// The warnings about the policies and the dump.
    pub diagnostics: Diagnostics,
    /// The findings as diagnostics, and the broken isolations of nodes.
    pub broken: Diagnostics,
    /// The AccessTests of the run.
    pub tests: TestRun,
}

/// Why a comparison is with one target.
const ONE_CLUSTER: &str = "a dump is of one cluster";

/// How many missing kinds are named.
const MISSING_SHOWN: usize = 3;

/// How a complete dump is made.
const DUMP_HELP: &str = "dump every kind that `bailiwick drift --resources` prints: `kubectl get KINDS -A -o json`";

/// The kinds of the core group on escalation paths through nodes.
const KINDS_OF_PATHS: [&str; 5] = ["Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "Secret"];

/// Compares a dump of a cluster with the objects of a target. `each` is called with every failed AccessTest.
///
/// # Errors
/// When the target is not known, the policies do not compile, or the dump cannot be read or is not complete.
pub fn drift(
    workspace: &Workspace,
    options: &DriftOptions,
    each: &mut dyn FnMut(TestEvent<'_>),
) -> Result<DriftOutcome, Error> {
    let target = workspace.only_target(options.target.as_deref(), ONE_CLUSTER)?;
    let (mut sink, mut wanted) = (Sink::new(), WantedObjects::default());
    let desired = load_wanted(workspace, target, &mut wanted, &mut sink);
    let table = std::mem::take(&mut wanted.table);
    let surroundings = Surroundings::new(workspace, target, &wanted);
    let reading = ManifestReading::of_all(workspace.options(), &workspace.project().files);
    let inputs = LiveInputs { reading, wanted: &wanted, surroundings: &surroundings };
    let (live, dump) = LiveObjects::read(inputs, &options.live, table, &mut sink)?;
    let desired = desired?;
    let Some(desired) = desired.filter(|_| !sink.has_errors()) else {
        return Err(Error::Invalid(workspace.diagnostics(sink)));
    };
    let not_compared = missing_kinds(&surroundings, &live, options.is_partial, &mut sink);
    if sink.has_errors() {
        return Err(Error::Invalid(workspace.diagnostics(sink)));
    }
    let accept = AcceptList::new(workspace, target, &mut sink);
    let mut comparison =
        LiveComparison { workspace, target, wanted: &wanted, live, dump, not_compared: &not_compared, accept: &accept };
    let found = comparison.findings()?;
    accept.report_unused(&mut sink);
    let diagnostics = workspace.diagnostics(sink);
    if diagnostics.has_errors() {
        return Err(Error::Invalid(diagnostics));
    }
    let access = access::difference(&comparison, &found)?;
    let ObjectFindings { equal, accepted, findings, owned, .. } = found;
    let mut drift = Drift {
        target: target.name.clone(),
        wanted: wanted.count,
        equal,
        accepted: accepted.len(),
        findings,
        owned,
        not_compared: not_compared.clone(),
        access,
        questions: 0,
        failures: 0,
    };
    let mut broken = Sink::new();
    drift.to_diagnostics().into_iter().for_each(|found| broken.push(found));
    let tests = live_tests::judge_live(&comparison, &desired, each, &mut broken)?;
    (drift.questions, drift.failures) = (tests.questions, tests.failures);
    Ok(DriftOutcome { drift, diagnostics, broken: workspace.own_diagnostics(broken), tests })
}

/// Compiles the policies of a target, and collects their objects. The world has all of them if AccessTests are asked of it.
fn load_wanted(
    workspace: &Workspace,
    target: &Target,
    wanted: &mut WantedObjects,
    sink: &mut Sink,
) -> Result<Option<LoadedWorld>, RunError> {
    let mut see = |object: NodeRef<'_>, _| wanted.add(object);
    let content =
        if live_tests::are_asked(workspace, target) { WorldContent::Whole } else { WorldContent::ClusterRoles };
    let parts = WorldParts { content, ..WorldParts::seen_by(&mut see) };
    let loaded = load_target_seen(workspace, target, &test_checks(workspace, target, &[]).world_options(), parts, sink);
    wanted.finish();
    loaded
}

/// Returns the resources for a dump of the cluster of a target, as kubectl names them, sorted.
///
/// # Errors
/// When the target is not known, or the policies do not compile.
pub fn resources_to_dump(workspace: &Workspace, target: Option<&String>) -> Result<Vec<String>, Error> {
    let target = workspace.only_target(target.map(String::as_str), ONE_CLUSTER)?;
    let mut sink = Sink::new();
    let mut kinds: BTreeSet<(String, String)> = unmanaged::watched_kinds(target);
    each_object(workspace, target, &mut sink, &mut |object, _| {
        let key = IdentityKey::of(object);
        let (group, kind) = key.kind();
        kinds.insert((group.to_owned(), kind.to_owned()));
    })?;
    if sink.has_errors() {
        return Err(Error::Invalid(workspace.diagnostics(sink)));
    }
    let judges_pods =
        isolation::is_asserted(workspace, target) || !test_checks(workspace, target, &[]).paths.is_empty();
    let further: &[&str] = if judges_pods { &KINDS_OF_PATHS } else { &[] };
    kinds.extend(further.iter().map(|kind| (String::new(), (*kind).to_owned())));
    let api = workspace.project().api(target);
    let resource = |(group, kind): &(String, String)| {
        let builtin = api.catalogue().find_kind(group, kind).map(|entry| entry.resource.clone());
        let custom = || api.custom().find(|known| known.group == *group && known.kind == *kind);
        let name = builtin.or_else(|| custom().map(|known| known.resource.clone()))?;
        Some(if group.is_empty() { name } else { format!("{name}.{group}") })
    };
    let resources: BTreeSet<String> = kinds.iter().filter_map(resource).collect();
    Ok(resources.into_iter().collect())
}

/// Reports the kinds of the policies without an object in the dump, and a dump without an object to compare. Returns the kinds if they
/// are left out.
fn missing_kinds(
    surroundings: &Surroundings<'_>,
    live: &LiveObjects,
    is_partial: bool,
    sink: &mut Sink,
) -> Vec<String> {
    let missing = surroundings.wanted.kinds.iter().filter(|(group, kind)| !live.has_kind(group, kind));
    let missing: Vec<String> = missing.map(|(_, kind)| kind.clone()).collect();
    if !missing.is_empty() && !is_partial {
        let names: Vec<String> = missing.iter().map(|kind| format!("`{kind}`")).collect();
        let kinds = if names.len() == 1 { "kind" } else { "kinds" };
        let names = first_names(&names, MISSING_SHOWN);
        let message = format!("the dump has no object of the {kinds} {names}, and the policies write some");
        let help = format!("{DUMP_HELP}; `--partial` leaves such kinds out");
        sink.push(Diagnostic::error(codes::INCOMPLETE_DUMP, message).help(help));
    } else if !live.kinds().any(|(group, kind)| surroundings.watches(group, kind)) {
        sink.push(Diagnostic::error(codes::INCOMPLETE_DUMP, "the dump has no object to compare").help(DUMP_HELP));
    }
    missing
}
