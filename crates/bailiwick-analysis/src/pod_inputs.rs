//! The objects of a target that decide about its pods, and its workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_admission::gate::{AdmissionObjects, Profile};
use bailiwick_admission::installed::InstalledPolicies;
use bailiwick_admission::policy::Patches;
use bailiwick_admission::scc::defaults::{self, Start};
use bailiwick_admission::standards::labels::PodSecurityMode;
use bailiwick_admission::workload::Workload;
use bailiwick_codes as codes;
use bailiwick_compiler::label::NamespaceLabels;
use bailiwick_kubernetes::list;
use bailiwick_policy::kinds::pod_security_profile::PodSecurityProfileKind;
use bailiwick_policy::model::{
    DeclaredProfile, Enforcement, InstalledStack, Kind, NamespaceProfile, Platform, PodSecurityProfile,
    ProfileAccounts, Target,
};
use bailiwick_workspace::Workspace;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::schema::to_json;
use bailiwick_yaml::{self as yaml, NodeRef};

/// The first minor that serves `admissionregistration.k8s.io/v1` for admission policies.
pub(crate) const FIRST_MINOR_WITH_POLICIES: u32 = 30;

/// The workloads of a target, and the objects that decide whether their pods are admitted.
pub struct PodInputs<'i> {
    workspace: &'i Workspace,
    target: &'i Target,
    /// The namespaces, constraints and policies.
    pub objects: AdmissionObjects,
    /// The admission policies that no policy of the workspace makes.
    pub admission_policies: InstalledPolicies,
    /// The objects with pod templates.
    pub workloads: Vec<JudgedWorkload>,
}

impl<'i> PodInputs<'i> {
    /// Creates the inputs of a target without objects.
    pub fn new(workspace: &'i Workspace, target: &'i Target) -> Self {
        let minor = target.version.minor();
        let mut objects = AdmissionObjects::new(minor, target.platform == Platform::Openshift);
        objects.configure(target.pod_security.clone());
        Self { workspace, target, objects, admission_policies: InstalledPolicies::new(minor), workloads: Vec::new() }
    }

    /// Adds the constraints of OpenShift and the objects of the baseline. Their workloads belong to the cluster and are not
    /// judged.
    pub fn add_cluster_objects(&mut self) {
        for tree in self.target.version.release().map(Start::new).into_iter().flat_map(defaults::trees) {
            // The payload is well-formed; a test reads it.
            tree.documents().for_each(|object| _ = self.objects.add(object));
        }
        for tree in self.workspace.project().baselines.get(&self.target.name).into_iter().flatten() {
            tree.documents().flat_map(list::objects).for_each(|object| _ = self.objects.add(object));
        }
    }

    /// Adds an object of the inputs or of the output. Objects of the output have the place of their policy.
    pub fn add(&mut self, object: NodeRef<'_>, place: Option<Origin>, sink: &mut Sink) {
        if self.target.enforcement() == Enforcement::AdmissionPolicy && place.is_some() {
            // The output has nothing that cannot be read.
            _ = self.objects.add_admission_policy(object);
        }
        // Policies that are compiled from profiles and agents are judged with them; a policy beside constraints applies to the
        // pods of any namespace.
        let serves_policies = self.serves_admission_policies();
        if serves_policies && (!is_compiled_policy(self.workspace, object, place) || self.is_beside_constraints(place))
        {
            self.admission_policies.add(object);
        }
        match self.objects.add(object).and_then(|()| Workload::read(object)) {
            Ok(Some(workload)) => {
                let place = place.unwrap_or(workload.origin);
                let json = if serves_policies { to_json(object) } else { serde_json::Value::Null };
                self.workloads.push(JudgedWorkload { workload, json, place });
            }
            Ok(None) => {}
            Err(problem) => sink.push(
                Diagnostic::error(codes::MALFORMED_OBJECT, problem.message)
                    .at(place.or(problem.origin).unwrap_or_else(|| object.origin()))
                    .help("correct the object: the API server rejects it"),
            ),
        }
    }

    /// Whether the target is a cluster of OpenShift.
    pub fn is_openshift(&self) -> bool {
        self.target.platform == Platform::Openshift
    }

    /// Whether the policy at a place is of a profile whose pods constraints admit.
    fn is_beside_constraints(&self, place: Option<Origin>) -> bool {
        let policy = place.and_then(|place| self.workspace.project().policy_at(place));
        self.target.has_policies_beside_constraints()
            && policy.is_some_and(|policy| policy.kind == PodSecurityProfileKind::NAME)
    }

    fn serves_admission_policies(&self) -> bool {
        self.target.version.minor() >= FIRST_MINOR_WITH_POLICIES
    }

    /// Adds the documents of the Manifests policies, which are in the cluster without being compiled.
    pub fn add_analyzed_documents(&mut self, sink: &mut Sink) {
        let (workspace, target) = (self.workspace, self.target);
        for document in workspace.project().analyzed_documents(target) {
            list::objects(document).into_iter().for_each(|object| self.add(object, None, sink));
        }
    }

    /// Adds the controllers of installed stacks, sets the profile of each namespace, and the default levels of OpenShift. All
    /// other objects were added before.
    pub fn finish(&mut self, labels: Option<&NamespaceLabels>, sink: &mut Sink) {
        let (workspace, target) = (self.workspace, self.target);
        for InstalledStack { stack, .. } in workspace.project().facts.on(&target.name) {
            for controller in &stack.package.controllers {
                let tree = yaml::from_json(&controller.made_for(&stack.install, stack.revision));
                tree.documents().for_each(|object| self.add(object, Some(controller.origin), sink));
            }
        }
        hold_to_profiles(workspace, target, &mut self.objects);
        enforce_defaults(labels, &mut self.objects);
    }
}

/// Whether an object is an admission policy or a related object that is compiled from a policy of the workspace.
fn is_compiled_policy(workspace: &Workspace, object: NodeRef<'_>, place: Option<Origin>) -> bool {
    let api_version = object.get("apiVersion").and_then(NodeRef::as_str).unwrap_or_default();
    api_version.starts_with("admissionregistration.k8s.io/")
        && place.is_some_and(|place| workspace.project().policy_at(place).is_some())
}

/// A workload of the target.
pub struct JudgedWorkload {
    /// The workload with its pod template.
    pub workload: Workload,
    /// The object, where admission policies are asked.
    pub json: serde_json::Value,
    pub(crate) place: Origin,
}

/// Adds the profile of each namespace to the gate.
fn hold_to_profiles(workspace: &Workspace, target: &Target, objects: &mut AdmissionObjects) {
    if target.enforcement() != Enforcement::AdmissionPolicy {
        return;
    }
    let minor = target.version.minor();
    let used = || workspace.project().facts.on(&target.name);
    let by_account = used().filter(|used: &&NamespaceProfile| used.accounts != ProfileAccounts::All);
    let by_account: BTreeSet<&str> = by_account.map(|used| used.profile.as_str()).collect();
    let compiled = |profile: &PodSecurityProfile| {
        let is_by_account = by_account.contains(profile.name());
        let defaults = if is_by_account { profile.defaults_by_account() } else { profile.defaults() };
        let patches = defaults.patches.get(&target.name).filter(|patches| !patches.is_empty());
        let patches = patches.map(|patches| Arc::new(Patches::compile(&defaults.variables, patches, minor)));
        Profile { policy: PodSecurityProfile::admission_policy(profile.name()), patches }
    };
    let profiles: BTreeMap<&str, Profile> = workspace
        .project()
        .facts
        .on(&target.name)
        .map(|declared: &DeclaredProfile| (declared.profile.name(), compiled(&declared.profile)))
        .collect();
    for (_, place) in objects.places() {
        let by_account = PodSecurityProfile::by_account(&place.labels, &place.annotations);
        let names: BTreeSet<&str> = by_account.values().flatten().copied().collect();
        // The empty name is the first: the other accounts come first.
        let mut known: BTreeSet<&BTreeSet<&str>> = BTreeSet::new();
        let apart = by_account.iter().filter(|(name, profiles)| known.insert(profiles) && !name.is_empty());
        let accounts = apart.map(|(&name, _)| name.to_owned()).collect();
        place.profiles = names.into_iter().filter_map(|name| profiles.get(name)).cloned().collect();
        place.accounts = accounts;
    }
}

/// Adds the default levels of OpenShift to the gate, for namespaces without a level.
fn enforce_defaults(labels: Option<&NamespaceLabels>, objects: &mut AdmissionObjects) {
    let Some(labels) = labels else { return };
    for (name, place) in objects.places() {
        if let Some(settled) = labels.world().settled(name) {
            let level = settled.enforced.name().to_owned();
            place.labels.entry(PodSecurityMode::Enforce.label()).or_insert(level);
        }
    }
}
