//! `migrate verify`: whether the compiled output of a target admits the pods of a dump.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::{Builder, ObjectSource, World};
use bailiwick_admission::gate::{By, Gate};
use bailiwick_admission::psp::plan::{ObservedWorkload, is_extended};
use bailiwick_admission::workload::{Workload, template_within};
use bailiwick_analysis::loaded_world::each_object;
use bailiwick_analysis::pod_inputs::PodInputs;
use bailiwick_analysis::{LoadedWorld, WorldOptions};
use bailiwick_compiler::compile;
use bailiwick_kubernetes::absent::text_at;
use bailiwick_policy::model::{DeclaredProfile, Enforcement, Platform, Target};
use bailiwick_workspace::{Error, Workspace};
use bailiwick_yaml::diag::Sink;
use bailiwick_yaml::{self as yaml, NodeRef};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::constraints::{self, ConstraintsJudge, ConstraintsVerification};
use super::dump::PodDump;

/// The verdict of a target about the pods of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodVerification {
    /// The name of the target.
    pub target: String,
    /// The number of workloads, and of pods without a known owner.
    pub workloads: usize,
    /// The number of pods that run.
    pub pods: usize,
    /// The number of workloads that were patched.
    pub patched: usize,
    /// The patches that change no workload of the manifests, as `KIND/NAMESPACE/NAME`.
    pub unused_patches: Vec<String>,
    /// The parts of Pod Security that reject no pod on the target: `levels` without the mode `enforce`, and `profiles` without the
    /// action `Deny`. On OpenShift, `limits` are the limits of profiles that constraints have no field for.
    pub not_enforced: Vec<String>,
    /// The workloads and pods that the target rejects, by namespace, kind and name.
    pub refused: Vec<RefusedPods>,
    /// The namespaces with workloads that are not in the output, with the number of workloads. They were evaluated with the labels of
    /// the manifests.
    pub not_in_output: BTreeMap<String, usize>,
    /// The objects of the manifests that decide about pods and were not evaluated, by kind, with their names.
    pub not_evaluated: BTreeMap<String, Vec<String>>,
    /// The constraints of OpenShift, and the assumptions about its cluster; none for Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openshift: Option<ConstraintsVerification>,
}

/// A workload whose pods are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedPods {
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// The workload that owns the pod, if the pod differs from its template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The number of pods that run.
    pub pods: usize,
    /// The rejections, one for each part of admission.
    pub rejections: Vec<PodRejection>,
}

/// A rejection by one part of admission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodRejection {
    /// The part: `level`, `policies`, `constraints` or `profile`.
    pub by: String,
    /// The reasons of the API server.
    pub reasons: Vec<String>,
    /// The way to admission.
    pub help: String,
}

impl PodRejection {
    /// Returns the rejection by an admission policy beside constraints.
    pub(super) fn by_policy_beside_constraints(reasons: Vec<String>) -> Self {
        let (by, help) = words(By::Profile);
        Self { by: by.to_owned(), reasons, help: help.to_owned() }
    }
}

/// Evaluates the pods of a dump by the compiled objects of a target.
///
/// # Errors
/// When the workspace does not compile.
pub fn verify_pods(workspace: &Workspace, target: &Target, dump: &PodDump) -> Result<PodVerification, Error> {
    let mut sink = Sink::new();
    let mut inputs = PodInputs::new(workspace, target);
    inputs.add_cluster_objects();
    for object in &dump.surroundings {
        // An object of another shape decides nothing.
        yaml::from_json(object).documents().for_each(|object| _ = inputs.objects.add(object));
    }
    // Roles and bindings of the cluster stay until the last stage. Compiled objects come last, in the place of others.
    let minor = target.version.minor();
    let mut access = Builder::new(minor).with_default_policy(minor);
    for object in &dump.access {
        let tree = yaml::from_json(object);
        tree.documents().for_each(|object| _ = access.add(object, ObjectSource::Dump(object.origin())));
    }
    let mut compiled = Compiled::default();
    each_object(workspace, target, &mut sink, &mut |object, place| {
        compiled.add(object);
        _ = access.add(object, ObjectSource::Input(place));
        inputs.add(object, Some(place), &mut Sink::new());
    })?;
    let labels = compile::labels(workspace.project(), target, workspace.compiler(), &mut sink)?;
    inputs.finish(labels.as_ref(), &mut sink);
    let diagnostics = workspace.diagnostics(sink);
    if diagnostics.has_errors() {
        return Err(Error::Invalid(diagnostics));
    }
    let world = match target.platform {
        Platform::Kubernetes => access.build(),
        Platform::Openshift => LoadedWorld::from_target(workspace, target, &WorldOptions::default())?.world,
    };
    let mut judged = Judge::new(&world, &inputs, &compiled, dump).all();
    if let Some(openshift) = &mut judged.openshift {
        let allocated = constraints::allocate(&mut inputs.objects, dump);
        if !allocated.is_empty() {
            let other = Judge::new(&world, &inputs, &compiled, dump).all();
            judged.workloads.iter_mut().zip(other.workloads).for_each(|(judged, other)| judged.add_refused(other));
        }
        openshift.remove_refused(judged.workloads.iter().flat_map(|judged| &judged.refused));
        constraints::add_assumptions(openshift, target, dump, &allocated);
    }
    Ok(verification(workspace, target, dump, &compiled, judged))
}

/// Returns the result for a target.
fn verification(
    workspace: &Workspace,
    target: &Target,
    dump: &PodDump,
    compiled: &Compiled,
    judged: JudgedWorkloads,
) -> PodVerification {
    let roots = &dump.found.roots;
    let mut not_in_output: BTreeMap<String, usize> = BTreeMap::new();
    for namespace in roots.iter().map(|observed| observed.workload.namespace()) {
        if !compiled.namespaces.contains(namespace) {
            *not_in_output.entry(namespace.to_owned()).or_default() += 1;
        }
    }
    let patched = roots.iter().zip(&judged.workloads).filter(|(_, judged)| judged.is_patched);
    let patched: Vec<&Workload> = patched.map(|(observed, _)| &observed.workload).collect();
    PodVerification {
        target: target.name.clone(),
        workloads: roots.len(),
        pods: roots.iter().map(ObservedWorkload::pods).sum(),
        patched: patched.len(),
        unused_patches: dump.unused_patches(&patched),
        not_enforced: not_enforced(workspace, target),
        refused: judged.workloads.into_iter().flat_map(|judged| judged.refused).collect(),
        not_in_output,
        not_evaluated: dump.not_evaluated.clone(),
        openshift: judged.openshift,
    }
}

/// The names of compiled objects.
#[derive(Default)]
struct Compiled {
    namespaces: BTreeSet<String>,
    constraints: BTreeSet<String>,
}

impl Compiled {
    fn add(&mut self, object: NodeRef<'_>) {
        let name = text_at(object, &["metadata", "name"]).to_owned();
        match (text_at(object, &["apiVersion"]), text_at(object, &["kind"])) {
            ("v1", "Namespace") => _ = self.namespaces.insert(name),
            ("security.openshift.io/v1", "SecurityContextConstraints") => _ = self.constraints.insert(name),
            _ => {}
        }
    }
}

/// Returns the parts of Pod Security that reject no pod on a target.
fn not_enforced(workspace: &Workspace, target: &Target) -> Vec<String> {
    let stage = &target.pod_security_stage;
    let has_open_profiles = match target.enforcement() {
        Enforcement::AdmissionPolicy | Enforcement::None => !stage.denies(),
        Enforcement::PodSecurityPolicy | Enforcement::SecurityContextConstraints => false,
    };
    let has_constraints = target.enforcement() == Enforcement::SecurityContextConstraints;
    let mut profiles = workspace.project().facts.on(&target.name);
    let has_open_limits = has_constraints
        && !stage.denies()
        && profiles.any(|declared: &DeclaredProfile| declared.profile.is_limited_beside());
    let parts = [("levels", !stage.enforces()), ("profiles", has_open_profiles), ("limits", has_open_limits)];
    parts.into_iter().filter(|(_, is_open)| *is_open).map(|(part, _)| part.to_owned()).collect()
}

/// The admission of a target, with the objects of the dump.
struct Judge<'j> {
    gate: Gate<'j>,
    /// The constraints of OpenShift; none for Kubernetes.
    constraints: Option<ConstraintsJudge<'j>>,
    dump: &'j PodDump,
}

/// The verdicts about all workloads.
struct JudgedWorkloads {
    /// In the order of the dump.
    workloads: Vec<JudgedPods>,
    openshift: Option<ConstraintsVerification>,
}

/// The verdicts about a workload and its pods.
struct JudgedPods {
    is_patched: bool,
    refused: Vec<RefusedPods>,
}

impl JudgedPods {
    /// Adds the rejections of another evaluation.
    fn add_refused(&mut self, other: Self) {
        let is_new = |refused: &RefusedPods| {
            self.refused.iter().all(|known| (&known.kind, &known.name) != (&refused.kind, &refused.name))
        };
        let new: Vec<RefusedPods> = other.refused.into_iter().filter(is_new).collect();
        self.refused.extend(new);
    }
}

impl<'j> Judge<'j> {
    fn new(world: &'j World, inputs: &'j PodInputs<'_>, compiled: &'j Compiled, dump: &'j PodDump) -> Self {
        let gate = Gate::new(world, &inputs.objects);
        let constraints = inputs.is_openshift().then_some(ConstraintsJudge {
            gate,
            objects: &inputs.objects,
            policies: &inputs.admission_policies,
            of_profiles: &compiled.constraints,
        });
        Self { gate, constraints, dump }
    }

    /// Evaluates all workloads of the dump.
    fn all(&self) -> JudgedWorkloads {
        let mut openshift = self.constraints.as_ref().map(|_| ConstraintsVerification::default());
        let workloads = self.dump.found.roots.iter().map(|observed| self.workload(observed, &mut openshift));
        JudgedWorkloads { workloads: workloads.collect(), openshift }
    }

    /// Evaluates new pods of a workload, and its pods that run with containers or volumes that the template lacks: a webhook adds them.
    fn workload(&self, observed: &ObservedWorkload, openshift: &mut Option<ConstraintsVerification>) -> JudgedPods {
        let workload = &observed.workload;
        let key = (workload.namespace().to_owned(), workload.kind, workload.name.clone());
        let json = &self.dump.found.json;
        let Some(object) = json.get(&key) else { return JudgedPods { is_patched: false, refused: Vec::new() } };
        let patched = self.dump.patched(workload, object);
        let (current, object) = match &patched {
            Some((current, object)) => (current, object),
            None => (workload, object),
        };
        let mut refused = Vec::new();
        if observed.has_template() {
            refused.extend(self.refused(current, object, observed.pods(), openshift));
        }
        for pods in &observed.running {
            let pod_key = (key.0.clone(), "Pod", pods.name.clone());
            let Some(object) = json.get(&pod_key) else { continue };
            let pod = Workload {
                kind: "Pod",
                name: pods.name.clone(),
                namespace: workload.namespace.clone(),
                template: pods.pod.clone(),
                origin: workload.origin,
            };
            let of = observed.has_template().then(|| workload.to_string());
            // The controller replaces pods by pods of the template. The pods of a rejected template are not listed again.
            if of.is_none() || (refused.is_empty() && is_extended(&pods.pod, &workload.template)) {
                let found = self.refused(&pod, object, pods.count, openshift);
                refused.extend(found.map(|refused| RefusedPods { of, ..refused }));
            }
        }
        JudgedPods { is_patched: patched.is_some(), refused }
    }

    fn refused(
        &self,
        workload: &Workload,
        object: &Value,
        pods: usize,
        openshift: &mut Option<ConstraintsVerification>,
    ) -> Option<RefusedPods> {
        let template = template_within(workload.kind, object)?;
        let rejections = self.gate.judge(workload, template).into_iter().map(|refused| {
            let (by, help) = words(refused.by);
            PodRejection { by: by.to_owned(), reasons: refused.reasons, help: help.to_owned() }
        });
        let mut rejections: Vec<PodRejection> = rejections.collect();
        if let (Some(constraints), Some(found)) = (&self.constraints, openshift) {
            rejections.extend(constraints.judge(workload, object, found));
        }
        (!rejections.is_empty()).then(|| RefusedPods {
            kind: workload.kind.to_owned(),
            namespace: workload.namespace().to_owned(),
            name: workload.name.clone(),
            of: None,
            pods,
            rejections,
        })
    }
}

/// Returns the word for a part of admission, and the way to its admission.
fn words(by: By) -> (&'static str, &'static str) {
    match by {
        By::Level => (
            "level",
            "set the fields in the workload, as the patches of `migrate psp --plan` do, or set a looser `level` for the namespace",
        ),
        By::Policies => ("policies", "grant the service account the use of a policy that admits the pods"),
        By::Constraints => ("constraints", "grant the service account the use of constraints that admit the pods"),
        By::Profile => (
            "profile",
            "set the fields in the workload, as the patches of `migrate psp --plan` do, or give its service account another profile",
        ),
    }
}
