//! Takes over the objects of clusters as policies, with the proof that the policies compile to the same objects.

mod inputs;
mod place;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_access::{Builder, World};
use bailiwick_admission::scc::bootstrap;
use bailiwick_base::parallel;
use bailiwick_import::fold::{FoldDecisions, FoldedCluster, PolicyKind, fold};
use bailiwick_import::layout::{PolicyFiles, arrange, workspace_file};
use bailiwick_import::{ClusterObjects, ControlPlane, InternedValues, ObjectKey};
use bailiwick_kubernetes::default_policy;
use bailiwick_kubernetes::workers::Workers;
use bailiwick_policy::model::{Platform, Target};
use bailiwick_policy::source::Sources;
use bailiwick_policy::source::manifests::glob_set;
use bailiwick_workspace::{Diagnostics, Error, Options};
use bailiwick_yaml::diag::{Files, RunError, Sink};
use globset::GlobSet;
use schemars::JsonSchema;
use serde::Serialize;

use self::inputs::{Input, Inputs};
pub(super) use self::place::{ImportPlace, new_workspace};
pub(super) use self::verify::{ImportedFiles, compiled_world};
use self::verify::{Outcome, Verification, changed_subjects};

/// How often the policies are folded at most. Each fold but the last moves objects into Manifests, and the second fold has
/// nothing left to move unless an object that moved refers to others.
const MOST_FOLDS: usize = 50;

/// A source of objects for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSource {
    /// The target; none for the only one.
    pub target: Option<String>,
    /// The file or folder, or standard input (`-`).
    pub path: PathBuf,
}

impl ImportSource {
    fn is_of(&self, target: &Target, targets: &[Target]) -> bool {
        self.target.as_ref().map_or(targets.len() == 1, |name| *name == target.name)
    }
}

/// The inputs, the folder and the form of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The objects of the targets.
    pub from: Vec<ImportSource>,
    /// The folder of the workspace; it may not exist yet.
    pub into: PathBuf,
    /// Globs of the files of a folder to read, relative to the folder. Default: all manifests.
    pub include: Vec<String>,
    /// Globs of the files of a folder to leave out.
    pub exclude: Vec<String>,
    /// The namespace of namespaced objects without one.
    pub default_namespace: Option<String>,
    /// The platform of a new target. Default: Kubernetes.
    pub platform: Option<Platform>,
    /// The version of a new target.
    pub version: Option<String>,
    /// Whether a policy has to compile to the stored form of its objects, with the order of rules and subjects.
    pub is_exact: bool,
    /// Globs of objects, as `Kind/namespace/name`, for Manifests.
    pub keep: Vec<String>,
    /// Whether nothing is written.
    pub is_dry_run: bool,
}

/// The outcome of an import.
pub struct Import {
    /// The warnings about the input.
    pub diagnostics: Diagnostics,
    /// The outcome for each target.
    pub targets: Vec<ImportedTarget>,
    /// The paths of the written files, or of the files of a dry run, with their numbers of lines.
    pub files: BTreeMap<String, usize>,
}

/// The outcome of an import for a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedTarget {
    /// The name of the target.
    pub target: String,
    /// How many objects were read.
    pub read: usize,
    /// How many of them are about access: RBAC, namespaces, service accounts, quotas and limits.
    pub about_access: usize,
    /// How many objects the policies compile to as they are stored.
    pub equal: usize,
    /// The objects with another form and the same access.
    pub equal_access: Vec<ListedObject>,
    /// The objects that compile to another object, or to none.
    pub different: Vec<ListedObject>,
    /// The objects in Manifests.
    pub manifests: Vec<ListedObject>,
    /// The objects that controllers make. They are in Manifests and are not written.
    pub unwritten: Vec<ListedObject>,
    /// The objects that the checks refuse. They are in Manifests and are not written.
    pub refused: Vec<ListedObject>,
    /// The objects in no policy: objects of the control plane and its controllers, and Secrets of a running cluster.
    pub omitted: Vec<ListedObject>,
    /// How many fields of the server were left out, by path.
    pub dropped: BTreeMap<String, usize>,
    /// How many comments are in no policy, because the objects of the policy have different ones.
    pub dropped_comments: usize,
    /// The bound roles from elsewhere: neither among the objects nor on the platform.
    pub unknown_roles: BTreeSet<String>,
    /// The comparison of access.
    pub access: AccessComparison,
    /// How many policies there are beside Manifests.
    pub policies: usize,
    /// The lines of the policies of the target about access, with their tables. Objects in Manifests are in neither count of lines.
    pub lines: usize,
    /// The lines of the objects of these policies.
    pub object_lines: usize,
    /// The policy of each object.
    pub homes: BTreeMap<String, String>,
}

/// An object with a reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ListedObject {
    /// The object, as `Kind/namespace/name` or `Kind/name`.
    pub object: String,
    /// Why it is in the list.
    pub reason: String,
}

/// The comparison of the access of the objects with the access of the policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccessComparison {
    /// Whether no access differs.
    pub none: bool,
    /// The subjects whose access differs.
    pub subjects: BTreeSet<String>,
}

/// Imports the objects of clusters.
///
/// # Errors
/// When the input or the folder cannot be used, or a file cannot be read or written.
pub fn import(run: &Options, options: &ImportOptions) -> Result<Import, Error> {
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let outcome = import_into(run, options, &files, &mut sink);
    let diagnostics = Diagnostics { list: sink.into_sorted(&files), files };
    match outcome? {
        Some((targets, files)) if !diagnostics.has_errors() => Ok(Import { diagnostics, targets, files }),
        _ => Err(Error::Invalid(diagnostics)),
    }
}

type Written = (Vec<ImportedTarget>, BTreeMap<String, usize>);

fn import_into(
    run: &Options,
    options: &ImportOptions,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<Written>, RunError> {
    let kept = glob_set(&options.keep, false, sink);
    let Some(place) = ImportPlace::open(run, options, files, sink)? else { return Ok(None) };
    let mut values = InternedValues::default();
    let mut sources = Sources::new(place.disk_source(), Arc::clone(files));
    let inputs = Inputs { run, options, targets: &place.targets, sources: &mut sources, files };
    let inputs = inputs::read(inputs, &mut values, sink)?;
    inputs
        .iter()
        .filter_map(|input| place.unstated_platform(options, &input.cluster))
        .for_each(|found| sink.push(found));
    if sink.has_errors() {
        return Ok(None);
    }
    let mut worlds = Vec::new();
    let mut clusters = Vec::new();
    for Input { cluster, world, dropped } in inputs {
        worlds.push((world, dropped));
        clusters.push(cluster);
    }
    let mut folds = Folds { run, options, place: &place, clusters: &clusters, values, kept };
    let Some(finished) = folds.repeat(&mut sources, sink)? else { return Ok(None) };
    let (values, kept) = (folds.values, folds.kept);
    let mut targets = Vec::new();
    let Finished { layout, folded, decisions, outcomes, imported } = finished;
    for (position, ((world, dropped), outcome)) in worlds.into_iter().zip(outcomes).enumerate() {
        let jobs = run.threads();
        let record = Record { clusters: &clusters, position, layout: &layout, values: &values, kept: &kept, jobs };
        if let (Some(folded), Some(decisions)) = (folded.get(position), decisions.get(position)) {
            targets.push(record.finish(folded, decisions, outcome, world, dropped));
        }
    }
    let lines = imported.texts().map(|(path, text)| (path.to_owned(), text.lines().count())).collect();
    if !options.is_dry_run {
        place.write(&imported)?;
    }
    Ok(Some((targets, lines)))
}

/// The folds of an import until the policies compile to the objects.
struct Folds<'f> {
    run: &'f Options,
    options: &'f ImportOptions,
    place: &'f ImportPlace,
    clusters: &'f [ClusterObjects],
    values: InternedValues,
    kept: GlobSet,
}

/// The last fold.
struct Finished {
    layout: PolicyFiles,
    folded: Vec<FoldedCluster>,
    decisions: Vec<FoldDecisions>,
    outcomes: Vec<Outcome>,
    imported: ImportedFiles,
}

impl Folds<'_> {
    /// Folds until nothing moves into Manifests. None after an error that no policy has.
    fn repeat(&mut self, sources: &mut Sources, sink: &mut Sink) -> Result<Option<Finished>, RunError> {
        let mut platforms = Vec::new();
        for target in &self.place.targets {
            platforms.push(inputs::start_world(target, sources, sink)?.build());
        }
        let mut decisions = self.first_decisions();
        let mut is_screened = false;
        for _ in 0..MOST_FOLDS {
            let finished = self.fold_once(&decisions, &platforms, sink)?;
            if sink.has_errors() {
                return Ok(None);
            }
            let has_errors = finished.outcomes.iter().any(|outcome| outcome.has_errors);
            if has_errors && !std::mem::replace(&mut is_screened, true) {
                self.screen(&mut decisions, &platforms, sink)?;
            } else if !learn(&mut decisions, &finished.outcomes) {
                return Ok(Some(Finished { decisions, ..finished }));
            }
        }
        Err(RunError::new("the policies of the import do not settle").help("report this, with the input if possible"))
    }

    /// Folds, compiles and compares.
    fn fold_once(
        &mut self,
        decisions: &[FoldDecisions],
        platforms: &[World],
        sink: &mut Sink,
    ) -> Result<Finished, RunError> {
        let mut folded = Vec::new();
        let for_each = parallel::for_each(self.run.threads());
        let workers = Workers(&for_each);
        for ((cluster, decisions), platform) in self.clusters.iter().zip(decisions).zip(platforms) {
            let has_role = |name: &str| platform.has_cluster_role(name);
            folded.push(fold(cluster, &mut self.values, decisions, &has_role, workers));
        }
        let mut layout = arrange(self.clusters, &folded, self.place.targets.len(), workers);
        let imported = self.files(std::mem::take(&mut layout.files), &folded);
        // The texts of the policies are in the files now.
        folded.iter_mut().for_each(FoldedCluster::forget_texts);
        let verification = Verification {
            run: self.run,
            files: &imported,
            layout: &layout,
            clusters: self.clusters,
            decisions,
            is_exact: self.options.is_exact,
        };
        let outcomes = verification.run(&mut self.values, sink)?;
        Ok(Finished { layout, folded, decisions: Vec::new(), outcomes, imported })
    }

    /// Finds the refused objects with all objects in Manifests: there, an error has one object. The error of a policy can be the
    /// error of one of many objects.
    fn screen(
        &mut self,
        decisions: &mut [FoldDecisions],
        platforms: &[World],
        sink: &mut Sink,
    ) -> Result<(), RunError> {
        let mut all: Vec<FoldDecisions> = decisions.to_vec();
        for (decisions, cluster) in all.iter_mut().zip(self.clusters) {
            decisions.kept.extend(0..cluster.objects.len());
        }
        loop {
            let finished = self.fold_once(&all, platforms, sink)?;
            if sink.has_errors() || !learn(&mut all, &finished.outcomes) {
                break;
            }
        }
        for (decisions, screened) in decisions.iter_mut().zip(all) {
            decisions.refused = screened.refused;
        }
        Ok(())
    }

    /// Returns the decisions that the objects themselves lead to.
    fn first_decisions(&mut self) -> Vec<FoldDecisions> {
        let mut all = Vec::new();
        for (cluster, target) in self.clusters.iter().zip(&self.place.targets) {
            let minor = target.version.minor();
            let platform = target.version.release().into_iter().flat_map(bootstrap::objects);
            let policy = default_policy::objects(minor).chain(platform);
            let control_plane = ControlPlane::new(minor, policy, &mut self.values);
            let mut decisions = FoldDecisions::default();
            for (index, object) in cluster.objects.iter().enumerate() {
                if self.kept.is_match(written(&object.identity)) {
                    decisions.kept.insert(index);
                } else if let Some(reason) = control_plane.reason_to_omit(&self.values, object) {
                    decisions.omitted.insert(index, reason);
                }
            }
            all.push(decisions);
        }
        all
    }

    /// Returns the files of the workspace, with the policies by their paths from the folder of the policies.
    fn files(&self, below: BTreeMap<String, String>, folded: &[FoldedCluster]) -> ImportedFiles {
        let ImportPlace { root, policies, new_workspace, .. } = self.place;
        let mut texts: BTreeMap<String, String> =
            below.into_iter().map(|(path, text)| (format!("{policies}/{path}"), text)).collect();
        if let Some(new) = new_workspace {
            let known = folded.iter().map(|folded| (&folded.unknown_cluster_roles, &folded.unknown_roles));
            texts.insert(bailiwick_compiler::compile::WORKSPACE_FILE.to_owned(), workspace_file(new, known));
        }
        ImportedFiles::new(root, policies, texts)
    }
}

/// Adds the outcomes to the decisions. Returns false if they have nothing new.
fn learn(decisions: &mut [FoldDecisions], outcomes: &[Outcome]) -> bool {
    let mut has_news = false;
    for (decisions, outcome) in decisions.iter_mut().zip(outcomes) {
        for index in &outcome.different {
            has_news |= !decisions.refused.contains_key(index) && decisions.kept.insert(*index);
        }
        for (index, reason) in &outcome.refused {
            has_news |= decisions.refused.insert(*index, reason.clone()).is_none();
        }
    }
    has_news
}

/// Returns an identity as `Kind/namespace/name`, or as `Kind/name` for an object without a namespace.
fn written(identity: &ObjectKey) -> String {
    let ObjectKey { kind, namespace, name, .. } = identity;
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

/// The parts of the record of a target.
struct Record<'r> {
    clusters: &'r [ClusterObjects],
    position: usize,
    layout: &'r PolicyFiles,
    values: &'r InternedValues,
    /// The globs of `--keep`.
    kept: &'r GlobSet,
    jobs: usize,
}

impl<'r> Record<'r> {
    fn objects(&self) -> &'r [bailiwick_import::Object] {
        self.clusters.get(self.position).map_or(&[], |cluster| &cluster.objects)
    }

    fn namespaces(&self) -> BTreeSet<&'r str> {
        let is_namespace = |identity: &ObjectKey| identity.group().is_empty() && &*identity.kind == "Namespace";
        let identities = self.objects().iter().map(|object| &object.identity);
        identities.filter(|identity| is_namespace(identity)).map(|identity| &*identity.name).collect()
    }

    fn finish(
        &self,
        folded: &FoldedCluster,
        decisions: &FoldDecisions,
        outcome: Outcome,
        world: Builder,
        dropped: BTreeMap<String, usize>,
    ) -> ImportedTarget {
        let objects = self.objects();
        let listed = |index: &usize, reason: &str| self.listed(*index, reason);
        let about_access: Vec<usize> = (0..objects.len())
            .filter(|index| objects.get(*index).is_some_and(|object| is_about_access(&object.identity)))
            .collect();
        let of_kind = |is_manifests: bool| {
            folded.policies.iter().filter(move |policy| (policy.kind == PolicyKind::Manifests) == is_manifests)
        };
        let in_manifests: BTreeSet<usize> = of_kind(true).flat_map(|policy| policy.objects.iter().copied()).collect();
        let lines_of = |index: &usize| objects.get(*index).map_or(0, |object| self.values.lines(object.value));
        let (manifests, unwritten) = self.left(&in_manifests, decisions);
        let homes = folded.policies.iter().flat_map(|policy| {
            let home = format!("{}/{}", policy.kind.name(), policy.name);
            policy.objects.iter().map(move |index| (self.name(*index), home.clone()))
        });
        let homes = homes.collect();
        let different: BTreeSet<&usize> = outcome.different.iter().collect();
        let subjects = outcome.world.map_or_else(BTreeSet::new, |after| changed_subjects(self.jobs, world, after));
        ImportedTarget {
            target: self.clusters.get(self.position).map_or_else(String::new, |cluster| cluster.target.clone()),
            read: objects.len(),
            about_access: about_access.len(),
            equal: outcome.equal,
            equal_access: outcome.equal_in_access.iter().map(|(index, reason)| listed(index, reason)).collect(),
            different: different
                .into_iter()
                .map(|index| listed(index, "compiles to another object, or to none"))
                .collect(),
            manifests,
            unwritten,
            refused: decisions.refused.iter().map(|(index, reason)| listed(index, reason)).collect(),
            omitted: {
                let omitted: BTreeMap<&usize, &&str> = decisions.omitted.iter().collect();
                omitted.into_iter().map(|(index, reason)| listed(index, reason)).collect()
            },
            dropped,
            dropped_comments: self.layout.dropped_comments,
            unknown_roles: folded.unknown_cluster_roles.union(&folded.unknown_roles).cloned().collect(),
            access: AccessComparison { none: subjects.is_empty(), subjects },
            policies: of_kind(false).count(),
            lines: self.layout.lines_about_access.get(self.position).map_or(0, |lines| *lines),
            object_lines: about_access
                .iter()
                .filter(|index| !in_manifests.contains(index) && !decisions.omitted.contains_key(*index))
                .map(lines_of)
                .sum(),
            homes,
        }
    }

    /// Returns the name of an object.
    fn name(&self, index: usize) -> String {
        self.objects().get(index).map_or_else(String::new, |object| written(&object.identity))
    }

    fn listed(&self, index: usize, reason: &str) -> ListedObject {
        ListedObject { object: self.name(index), reason: reason.to_owned() }
    }

    /// Returns the objects of Manifests that the checks accept: the written objects, and the objects that controllers make.
    fn left(
        &self,
        in_manifests: &BTreeSet<usize>,
        decisions: &FoldDecisions,
    ) -> (Vec<ListedObject>, Vec<ListedObject>) {
        let namespaces = self.namespaces();
        let (mut written, mut unwritten) = (Vec::new(), Vec::new());
        for index in in_manifests.iter().filter(|index| !decisions.refused.contains_key(*index)) {
            match self.layout.unwritten.contains(&(self.position, *index)) {
                true => unwritten.push(self.listed(*index, "a controller makes it")),
                false => written.push(self.listed(*index, self.reason(decisions, &namespaces, *index))),
            }
        }
        (written, unwritten)
    }

    /// Returns the reason why an object is in Manifests. `namespaces` are the Namespaces among the objects.
    fn reason(&self, decisions: &FoldDecisions, namespaces: &BTreeSet<&str>, index: usize) -> &'static str {
        let Some(object) = self.objects().get(index) else { return "" };
        match () {
            () if !is_about_access(&object.identity) => "not about access",
            () if self.kept.is_match(written(&object.identity)) => "`--keep` names it",
            () if decisions.kept.contains(&index) => "no policy compiles to it",
            () if is_in_namespace_set(&object.identity) && !namespaces.contains(&*object.identity.namespace) => {
                "its namespace is not among the objects"
            }
            () => "no policy has its fields",
        }
    }
}

/// Whether a NamespaceSet states objects of this kind with their namespace.
fn is_in_namespace_set(identity: &ObjectKey) -> bool {
    identity.group().is_empty() && ["ServiceAccount", "ResourceQuota", "LimitRange"].contains(&&*identity.kind)
}

/// Whether an object is about access: RBAC, a namespace, a service account, a quota or limits.
fn is_about_access(identity: &ObjectKey) -> bool {
    match identity.group() {
        "rbac.authorization.k8s.io" | "authorization.openshift.io" => true,
        "" => ["Namespace", "ServiceAccount", "ResourceQuota", "LimitRange"].contains(&&*identity.kind),
        _ => false,
    }
}
