//! `migrate verify`: whether the compiled output of a target admits the pods of a dump.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::workloads::{FoundWorkloads, WorkloadCollector, WorkloadKey};
use crate::access::{Builder, ObjectSource};
use crate::admission::gate::{By, Gate};
use crate::admission::psp::plan::{ObservedWorkload, is_extended};
use crate::admission::workload::{Workload, template_within};
use crate::app::loaded_world::{each_object, each_tree};
use crate::app::pod_inputs::PodInputs;
use crate::app::workspace::Workspace;
use crate::app::{Diagnostics, Error, LoadedWorld, Options, WorldOptions};
use crate::codes;
use crate::diag::{Diagnostic, Files, Sink};
use crate::k8s::absent::{group_and_version, text_at};
use crate::k8s::list;
use crate::migrate::patches::merge;
use crate::model::{Platform, Target};
use crate::yaml::schema::to_json;
use crate::yaml::{self, NodeRef};

/// The inputs of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodVerificationOptions {
    /// The files and folders of the manifests, or standard input (`-`).
    pub from: Vec<PathBuf>,
    /// Files and folders with strategic merge patches. The workloads of the manifests are patched before.
    pub patches: Vec<PathBuf>,
}

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
    /// The patches of workloads that are not among the manifests, as `KIND/NAMESPACE/NAME`.
    pub unused_patches: Vec<String>,
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

/// The pods of a dump, with the objects of the dump that decide about them.
pub struct PodDump {
    /// The warnings about the manifests.
    pub diagnostics: Diagnostics,
    found: FoundWorkloads,
    /// Namespaces, service accounts and PodSecurityPolicies.
    surroundings: Vec<Value>,
    /// Roles and bindings.
    access: Vec<Value>,
    /// The patches by namespace, kind and name of the workload.
    patches: BTreeMap<(String, String, String), Value>,
    not_evaluated: BTreeMap<String, Vec<String>>,
}

impl PodDump {
    /// Reads the manifests and the patches.
    ///
    /// # Errors
    /// When a file cannot be read, or there is no workload.
    pub fn read(run: &Options, options: &PodVerificationOptions) -> Result<Self, Error> {
        let files = Arc::new(Files::new());
        let mut sink = Sink::new();
        let mut workloads = WorkloadCollector::with_objects();
        let (mut surroundings, mut access) = (Vec::new(), Vec::new());
        let mut not_evaluated: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in &options.from {
            each_tree(&run.input_at(path), run, &files, &mut sink, &mut |tree, sink| {
                for object in tree.documents().flat_map(list::objects) {
                    let (kind, name) = (text_at(object, &["kind"]), text_at(object, &["metadata", "name"]));
                    let (group, _) = group_and_version(text_at(object, &["apiVersion"]));
                    match (group, kind) {
                        ("", "Namespace" | "ServiceAccount") | ("policy", "PodSecurityPolicy") => {
                            surroundings.push(to_json(object));
                        }
                        ("rbac.authorization.k8s.io", _) => access.push(to_json(object)),
                        (ADMISSION, kind) if !kind.ends_with("Binding") => {
                            not_evaluated.entry(kind.to_owned()).or_default().push(name.to_owned());
                        }
                        _ => _ = workloads.add(object, sink),
                    }
                }
            })?;
        }
        let mut patches = BTreeMap::new();
        for path in &options.patches {
            each_tree(&run.input_at(path), run, &files, &mut sink, &mut |tree, _| {
                for patch in tree.documents().flat_map(list::objects) {
                    let text = |keys: &[&str]| text_at(patch, keys).to_owned();
                    let key = (text(&["metadata", "namespace"]), text(&["kind"]), text(&["metadata", "name"]));
                    patches.insert(key, to_json(patch));
                }
            })?;
        }
        let found = workloads.finish();
        if found.roots.is_empty() && !sink.has_errors() {
            let names: Vec<String> = options.from.iter().map(|path| format!("`{}`", path.display())).collect();
            let message = format!("there is no pod and no workload in {}", names.join(", "));
            let help = "run `kubectl get pods,deploy,ds,sts,jobs,cronjobs,rs,ns,sa -A -o yaml` in the cluster";
            sink.push(Diagnostic::error(codes::NOTHING_TO_MIGRATE, message).help(help));
        }
        let diagnostics = Diagnostics { list: sink.into_sorted(&files), files };
        if diagnostics.has_errors() {
            return Err(Error::Invalid(diagnostics));
        }
        Ok(Self { diagnostics, found, surroundings, access, patches, not_evaluated })
    }
}

impl PodDump {
    /// Returns the patches without a workload.
    fn unused_patches(&self) -> Vec<String> {
        let roots = self.found.roots.iter().map(|observed| &observed.workload);
        let known: BTreeSet<(&str, &str, &str)> =
            roots.map(|workload| (workload.namespace(), workload.kind, workload.name.as_str())).collect();
        let unused = self
            .patches
            .keys()
            .filter(|(namespace, kind, name)| !known.contains(&(namespace.as_str(), kind.as_str(), name.as_str())));
        unused.map(|(namespace, kind, name)| format!("{kind}/{namespace}/{name}")).collect()
    }
}

/// The API group of admission policies and webhooks.
const ADMISSION: &str = "admissionregistration.k8s.io";

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
        inputs.finish(None, &mut sink);
        let diagnostics = self.diagnostics(sink);
        if diagnostics.has_errors() {
            return Err(Error::Invalid(diagnostics));
        }
        let world = match target.platform {
            Platform::Kubernetes => access.build(),
            Platform::Openshift => LoadedWorld::from_target(self, target, &WorldOptions::default())?.world,
        };
        let gate = Gate::new(&world, &inputs.objects);
        let roots = &dump.found.roots;
        let mut verification = PodVerification {
            target: target.name.clone(),
            workloads: roots.len(),
            pods: roots.iter().map(ObservedWorkload::pods).sum(),
            patched: 0,
            unused_patches: dump.unused_patches(),
            refused: Vec::new(),
            not_in_output: BTreeMap::new(),
            not_evaluated: dump.not_evaluated.clone(),
        };
        let judge = Judge { gate, json: &dump.found.json, patches: &dump.patches };
        for observed in roots {
            let namespace = observed.workload.namespace();
            if !compiled.contains(namespace) {
                *verification.not_in_output.entry(namespace.to_owned()).or_default() += 1;
            }
            let judged = judge.workload(observed);
            verification.patched += usize::from(judged.is_patched);
            verification.refused.extend(judged.refused);
        }
        Ok(verification)
    }
}

/// The admission of a target, with the objects of the dump.
struct Judge<'j> {
    gate: Gate<'j>,
    json: &'j BTreeMap<WorkloadKey, Value>,
    patches: &'j BTreeMap<(String, String, String), Value>,
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
        let patch = self.patches.get(&(key.0.clone(), workload.kind.to_owned(), key.2.clone()));
        let Some(object) = self.json.get(&key) else { return JudgedPods { is_patched: false, refused: Vec::new() } };
        let patched = patch.map(|patch| patched(workload, object, patch));
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
            let Some(object) = self.json.get(&pod_key) else { continue };
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

/// Returns a workload with a patch.
fn patched(workload: &Workload, object: &Value, patch: &Value) -> (Workload, Value) {
    let mut object = object.clone();
    merge(&mut object, patch);
    let tree = yaml::from_json(&object);
    // A patch of another shape leaves the template as it is.
    let read = tree.document(0).and_then(|root: NodeRef<'_>| Workload::read(root).ok().flatten());
    match read {
        Some(read) => (Workload { origin: workload.origin, ..read }, object),
        None => (workload.clone(), object),
    }
}
