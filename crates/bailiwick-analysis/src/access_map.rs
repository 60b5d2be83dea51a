//! The map of who can do what: the access of one state, without an earlier state.
//!
//! Subjects with equal access are one class. One namespace of each class of alike namespaces is compiled, and the members of the
//! classes are named afterwards.

mod names;
mod paths;
mod questions;
mod record;
mod subjects;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bailiwick_admission::gate::AdmissionObjects;
use bailiwick_policy::model::{Enforcement, NamespaceProfile, Target};
use bailiwick_workspace::{Error, FindingRecord, Options, Workspace};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Origin, Sink};
use bailiwick_yaml::digest::digest_of_run;

use self::names::SpreadNames;
use self::paths::PathFinder;
pub use self::questions::AccessQuestion;
pub use self::record::{
    API_VERSION, AccessCell, AccessMap, GrantedAccess, NamespaceGroup, ReportedFindings, ReportedPath,
    ReportedPolicies, ReportedPower, SubjectAccess, TargetAccess,
};
use self::subjects::SubjectMap;
use super::account_names::{AccountNames, common_forms};
use super::classes::Spread;
use super::lint::{LintOptions, LintReport, Selection, classes_to_lint, lint_manifests, lint_sample};
use super::loaded_world::{LoadedWorld, WorldOptions, WorldParts, load_target_seen};
use super::subject_classes::{ClassDraft, MemberNumbers, SubjectClass};

/// How many findings are named.
const MAXIMUM_FINDINGS: usize = 20;

/// How many namespaces of a group are its sample.
const SAMPLE: usize = 3;

/// The label with the enforced Pod Security level.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

/// The severities of findings, the worst first.
const SEVERITIES: [&str; 5] = ["critical", "high", "medium", "low", "info"];

/// The targets and the baseline of a map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessMapOptions {
    /// The names of the targets; all targets without names.
    pub targets: Vec<String>,
    /// The baseline in place of the baseline of a target.
    pub baseline: Option<String>,
    /// Whether every namespace is compiled, and not one of each class of alike namespaces. The map is the same.
    pub without_classes: bool,
}

/// Returns the map of who can do what.
///
/// # Errors
/// When no target has one of the names, when policies do not compile, or when the run fails.
///
/// # Examples
/// ```
/// # use bailiwick_analysis::access_map::AccessMapOptions;
/// # use bailiwick_workspace::{Error, Options, Workspace};
/// # use bailiwick_analysis::access_map;
/// # let options = Options::in_folder("../..");
/// let wanted = AccessMapOptions { targets: vec!["modern".to_owned()], ..AccessMapOptions::default() };
/// let map = access_map(&Workspace::open(&options)?, &wanted)?;
/// assert!(!map.targets[0].subjects.is_empty());
/// # Ok::<(), Error>(())
/// ```
pub fn access_map(workspace: &Workspace, options: &AccessMapOptions) -> Result<AccessMap, Error> {
    let (targets, baseline) = (&options.targets, options.baseline.clone());
    let world = WorldOptions { baseline, with_paths: true, ..WorldOptions::default() };
    let spread = match options.without_classes {
        true => Spread::default(),
        false => classes_to_lint(workspace, &Selection::default())?,
    };
    let sampled = workspace.with_sample(spread.sample());
    let mut map = AccessMap::new();
    let mut classes = ClassNumbers::new(&spread);
    for target in sampled.targets(targets)? {
        let (loaded, owners) = load_with_owners(&sampled, target, &world)?;
        // Members have names of namespaces beside the sample, too.
        let accounts = AccountNames::of_target(workspace, target);
        let inputs = TargetInputs { loaded: &loaded, spread: &spread, owners: &owners, accounts: &accounts };
        map.targets.push(target_access(&inputs, &mut classes));
    }
    let options = LintOptions { targets: targets.clone(), world, ..LintOptions::default() };
    Ok(map.finish(classes, lint_sample(&sampled, &options, &spread)?))
}

/// Loads a target, with the policies of each namespace.
fn load_with_owners(
    workspace: &Workspace,
    target: &Target,
    world: &WorldOptions,
) -> Result<(LoadedWorld, Owners), Error> {
    let mut sink = Sink::new();
    let mut owners = Owners::new();
    let profiles = profiles_for_accounts(workspace, target);
    let mut see = |object: NodeRef<'_>, place: Origin| {
        let is_namespace = object.get("kind").and_then(NodeRef::as_str) == Some("Namespace");
        let name = object.path(&["metadata", "name"]).and_then(NodeRef::as_str).filter(|_| is_namespace);
        let owner = name.and_then(|_| workspace.project().policy_at(place));
        owners.extend(name.zip(owner).map(|(name, policy)| {
            let policy = format!("{}/{}", policy.kind, policy.name);
            (
                name.to_owned(),
                NamespaceOwner { policy, profiles: profiles.get(&place).cloned().into_iter().flatten().collect() },
            )
        }));
    };
    match load_target_seen(workspace, target, world, WorldParts::seen_by(&mut see), &mut sink)?
        .filter(|_| !sink.has_errors())
    {
        Some(loaded) => Ok((loaded, owners)),
        None => Err(Error::Invalid(workspace.diagnostics(sink))),
    }
}

/// Returns the profiles that service accounts of namespaces may use, by the place of the namespaces. A target with admission
/// policies has none: there the label of a namespace names its profile.
fn profiles_for_accounts(workspace: &Workspace, target: &Target) -> HashMap<Origin, BTreeSet<String>> {
    let mut profiles: HashMap<Origin, BTreeSet<String>> = HashMap::new();
    let with_users = [Enforcement::PodSecurityPolicy, Enforcement::SecurityContextConstraints];
    let declared = workspace.project().facts.on(&target.name).filter(|_| with_users.contains(&target.enforcement()));
    declared.for_each(|declared: &NamespaceProfile| {
        profiles.entry(declared.namespace).or_default().insert(declared.profile.clone());
    });
    profiles
}

/// Returns the map of who can do what in manifests.
///
/// # Errors
/// When the manifests cannot be read.
///
/// # Examples
/// ```
/// use bailiwick_workspace::{Error, Options};
/// use bailiwick_analysis::{WorldOptions, map_manifests};
/// let options = Options::in_folder("../..");
/// let world = WorldOptions { from: vec!["out/modern".into()], ..WorldOptions::default() };
/// assert_eq!(map_manifests(&options, &world)?.targets.len(), 1);
/// # Ok::<(), Error>(())
/// ```
pub fn map_manifests(run: &Options, world: &WorldOptions) -> Result<AccessMap, Error> {
    let world = WorldOptions { with_paths: true, ..world.clone() };
    let loaded = LoadedWorld::from_manifests(run, &world)?;
    let (spread, owners, accounts) = (Spread::default(), Owners::new(), AccountNames::default());
    let (mut map, mut classes) = (AccessMap::new(), ClassNumbers::new(&spread));
    let inputs = TargetInputs { loaded: &loaded, spread: &spread, owners: &owners, accounts: &accounts };
    map.targets.push(target_access(&inputs, &mut classes));
    let world = WorldOptions { with_paths: false, ..world };
    let found = lint_manifests(run, &LintOptions { world, ..LintOptions::default() })?;
    Ok(map.finish(classes, found))
}

/// The policies of namespaces by name.
type Owners = BTreeMap<String, NamespaceOwner>;

/// The policies of a namespace.
struct NamespaceOwner {
    /// The policy that generates the namespace, such as `Tenancy/teams`.
    policy: String,
    /// The PodSecurityProfiles that its service accounts may use.
    profiles: Vec<String>,
}

/// The common properties of the namespaces of a group.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct NamespaceLikeness {
    policy: Option<String>,
    level: Option<String>,
    profiles: BTreeSet<String>,
}

/// The objects of a target, and the policies and accounts of its namespaces.
struct TargetInputs<'i> {
    loaded: &'i LoadedWorld,
    spread: &'i Spread<'i>,
    owners: &'i Owners,
    accounts: &'i AccountNames<'i>,
}

impl AccessMap {
    fn new() -> Self {
        Self {
            api_version: API_VERSION,
            questions: questions::all(),
            targets: Vec::new(),
            classes: Vec::new(),
            findings: ReportedFindings::default(),
            unanswered: Default::default(),
        }
    }

    fn finish(mut self, classes: ClassNumbers<'_>, found: LintReport) -> Self {
        self.classes = classes.finish();
        let paths = self.targets.iter_mut().flat_map(|target| &mut target.paths);
        paths.enumerate().for_each(|(id, path)| path.id = id);
        let groups = self.targets.iter_mut().flat_map(|target| &mut target.namespaces);
        groups.enumerate().for_each(|(id, group)| group.id = id);
        self.findings = findings(&found);
        self.unanswered = found.unanswered;
        self
    }
}

/// The classes of subjects by their members.
struct ClassNumbers<'s> {
    names: SpreadNames<'s>,
    classes: Vec<ClassDraft>,
    /// The number of each class by the digest of its members.
    by_members: HashMap<u128, usize>,
}

impl<'s> ClassNumbers<'s> {
    fn new(spread: &'s Spread<'s>) -> Self {
        Self { names: SpreadNames::new(spread), classes: Vec::new(), by_members: HashMap::new() }
    }

    /// Returns the number of the class with these members.
    fn number(&mut self, inputs: &TargetInputs<'_>, members: MemberNumbers) -> usize {
        let id = self.classes.len();
        let known = *self.by_members.entry(digest_of_run(&members)).or_insert(id);
        if known == id {
            let scopes = members.iter(&self.names.table);
            let scopes = scopes.flat_map(|member| member.scopes().map(move |scope| (member.subject, scope)));
            let of_accounts = common_forms(std::slice::from_ref(inputs.accounts), scopes);
            self.classes.push(ClassDraft::new(of_accounts, members, &self.names.table));
        }
        known
    }

    /// Returns the classes.
    fn finish(self) -> Vec<SubjectClass> {
        let names = self.names.finish();
        self.classes.into_iter().enumerate().map(|(id, class)| class.finish(id, &names)).collect()
    }
}

/// Returns the access of a target.
fn target_access(inputs: &TargetInputs<'_>, classes: &mut ClassNumbers<'_>) -> TargetAccess {
    let loaded = inputs.loaded;
    let map = SubjectMap::new(inputs, &mut classes.names);
    let paths = PathFinder::new(inputs, &map, &classes.names.table);
    let powers = paths.powers(&mut classes.names);
    let (subjects, default_subjects) = (map.classes(inputs, &powers, classes), map.of_default_policy());
    // The grants and powers of each subject are as large as the names: their memory serves the paths and the namespaces.
    drop((map, powers));
    let paths = paths.reported(classes);
    let namespaces = namespaces(inputs);
    let missing = loaded.world.dangling().into_iter();
    let missing = missing
        .map(|missing| format!("`{}` binds `{}`, which is not among the inputs", missing.binding.name, missing.role));
    let authorizers = loaded.unknown_authorizers().into_iter();
    let authorizers = authorizers.map(|mode| format!("the authorizer `{mode}` of the API server can allow more"));
    TargetAccess {
        target: loaded.target.clone(),
        version: format!("1.{}", loaded.world.minor()),
        namespace_count: namespaces.iter().map(|group| group.count).sum(),
        pod_security_policies: loaded.admission_objects().filter(|_| loaded.target.is_none()).map(reported_policies),
        subjects,
        default_subjects,
        paths,
        namespaces,
        unknown: missing.chain(authorizers).collect(),
    }
}

fn reported_policies(objects: &AdmissionObjects) -> ReportedPolicies {
    ReportedPolicies { evaluated: objects.evaluated_policies(), ignored: objects.ignored_policies() }
}

/// Returns the namespaces by their policies, levels and profiles, the largest group first.
fn namespaces(inputs: &TargetInputs<'_>) -> Vec<NamespaceGroup> {
    let mut groups: BTreeMap<NamespaceLikeness, Vec<Arc<str>>> = BTreeMap::new();
    for (name, labels) in inputs.loaded.world.namespaces() {
        let owner = inputs.owners.get(name);
        let by_label = inputs.loaded.profile_of(labels).map(str::to_owned);
        let likeness = NamespaceLikeness {
            policy: owner.map(|owner| owner.policy.clone()),
            level: labels.get(ENFORCE).map(str::to_owned),
            profiles: owner.into_iter().flat_map(|owner| owner.profiles.iter().cloned()).chain(by_label).collect(),
        };
        groups.entry(likeness).or_default().extend(inputs.spread.shared_namespaces(name));
    }
    let group = |(likeness, mut names): (NamespaceLikeness, Vec<Arc<str>>)| {
        names.sort_unstable();
        NamespaceGroup {
            id: 0,
            policy: likeness.policy,
            level: likeness.level,
            profiles: likeness.profiles.into_iter().collect(),
            count: names.len(),
            sample: names.iter().take(SAMPLE).map(|name| (**name).to_owned()).collect(),
            names,
        }
    };
    let mut groups: Vec<NamespaceGroup> = groups.into_iter().map(group).collect();
    groups.sort_by_key(|group| Reverse(group.count));
    groups
}

/// Counts the findings, and names the worst ones.
fn findings(found: &LintReport) -> ReportedFindings {
    let mut all: Vec<(usize, FindingRecord)> = Vec::new();
    let mut counts = BTreeMap::new();
    for record in found.findings.records() {
        let severity = record.risk.as_ref().map_or(record.severity.as_str(), |risk| &risk.severity);
        *counts.entry(severity.to_owned()).or_default() += 1;
        let rank = SEVERITIES.iter().position(|known| *known == severity).map_or(SEVERITIES.len(), |rank| rank);
        all.push((rank, record));
    }
    all.sort_by_key(|(rank, _)| *rank);
    ReportedFindings { counts, worst: all.into_iter().take(MAXIMUM_FINDINGS).map(|(_, record)| record).collect() }
}
