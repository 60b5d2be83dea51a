//! `migrate verify`: whether the compiled output of a target admits the pods of a dump.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::dump::PodDump;
use crate::access::{Builder, ObjectSource};
use crate::admission::gate::{By, Gate};
use crate::admission::psp::plan::{ObservedWorkload, is_extended};
use crate::admission::workload::{Workload, template_within};
use crate::app::loaded_world::each_object;
use crate::app::pod_inputs::PodInputs;
use crate::app::workspace::Workspace;
use crate::app::{Error, LoadedWorld, WorldOptions};
use crate::compile;
use crate::diag::Sink;
use crate::k8s::absent::text_at;
use crate::model::{Enforcement, Platform, Target};
use crate::yaml;

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
    /// action `Deny`.
    pub not_enforced: Vec<String>,
    /// The workloads and pods that the target rejects, by namespace, kind and name.
    pub refused: Vec<RefusedPods>,
    /// The namespaces with workloads that are not in the output, with the number of workloads. They were evaluated with the labels of
    /// the manifests.
    pub not_in_output: BTreeMap<String, usize>,
    /// The objects of the manifests that decide about pods and were not evaluated, by kind, with their names.
    pub not_evaluated: BTreeMap<String, Vec<String>>,
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

impl Workspace {
    /// Evaluates the pods of a dump by the compiled objects of a target.
    ///
    /// # Errors
    /// When the workspace does not compile.
    pub fn verify_pods(&self, target: &Target, dump: &PodDump) -> Result<PodVerification, Error> {
        let mut sink = Sink::new();
        let mut inputs = PodInputs::new(self, target);
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
        let mut compiled = BTreeSet::new();
        each_object(self, target, &mut sink, &mut |object, place| {
            if (text_at(object, &["apiVersion"]), text_at(object, &["kind"])) == ("v1", "Namespace") {
                compiled.insert(text_at(object, &["metadata", "name"]).to_owned());
            }
            _ = access.add(object, ObjectSource::Input(place));
            inputs.add(object, Some(place), &mut Sink::new());
        })?;
        let labels = compile::labels(&self.project, target, self.compiler(), &mut sink)?;
        inputs.finish(labels.as_ref(), &mut sink);
        let diagnostics = self.diagnostics(sink);
        if diagnostics.has_errors() {
            return Err(Error::Invalid(diagnostics));
        }
        let world = match target.platform {
            Platform::Kubernetes => access.build(),
            Platform::Openshift => LoadedWorld::from_target(self, target, &WorldOptions::default())?.world,
        };
        let gate = Gate::new(&world, &inputs.objects);
        let judge = Judge { gate, dump };
        let roots = &dump.found.roots;
        let mut not_in_output: BTreeMap<String, usize> = BTreeMap::new();
        let (mut patched, mut refused) = (Vec::new(), Vec::new());
        for observed in roots {
            let namespace = observed.workload.namespace();
            if !compiled.contains(namespace) {
                *not_in_output.entry(namespace.to_owned()).or_default() += 1;
            }
            let judged = judge.workload(observed);
            patched.extend(judged.is_patched.then_some(&observed.workload));
            refused.extend(judged.refused);
        }
        Ok(PodVerification {
            target: target.name.clone(),
            workloads: roots.len(),
            pods: roots.iter().map(ObservedWorkload::pods).sum(),
            patched: patched.len(),
            unused_patches: dump.unused_patches(&patched),
            not_enforced: not_enforced(target),
            refused,
            not_in_output,
            not_evaluated: dump.not_evaluated.clone(),
        })
    }
}

/// Returns the parts of Pod Security that reject no pod on a target.
fn not_enforced(target: &Target) -> Vec<String> {
    let stage = &target.pod_security_stage;
    let has_policies = target.enforcement() == Enforcement::AdmissionPolicy || target.has_policies_beside_constraints();
    let parts =
        [("levels", !stage.enforces()), ("profiles", stage.has_levels_alone() || (has_policies && !stage.denies()))];
    parts.into_iter().filter(|(_, is_open)| *is_open).map(|(part, _)| part.to_owned()).collect()
}

/// The admission of a target, with the objects of the dump.
struct Judge<'j> {
    gate: Gate<'j>,
    dump: &'j PodDump,
}

/// The verdicts about a workload and its pods.
struct JudgedPods {
    is_patched: bool,
    refused: Vec<RefusedPods>,
}

impl Judge<'_> {
    /// Evaluates new pods of a workload, and its pods that run with containers or volumes that the template lacks: a webhook adds them.
    fn workload(&self, observed: &ObservedWorkload) -> JudgedPods {
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
            refused.extend(self.refused(current, object, observed.pods()));
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
                refused.extend(self.refused(&pod, object, pods.count).map(|refused| RefusedPods { of, ..refused }));
            }
        }
        JudgedPods { is_patched: patched.is_some(), refused }
    }

    fn refused(&self, workload: &Workload, object: &Value, pods: usize) -> Option<RefusedPods> {
        let template = template_within(workload.kind, object)?;
        let rejections = self.gate.judge(workload, template).into_iter().map(|refused| {
            let (by, help) = words(refused.by);
            PodRejection { by: by.to_owned(), reasons: refused.reasons, help: help.to_owned() }
        });
        let rejections: Vec<PodRejection> = rejections.collect();
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
