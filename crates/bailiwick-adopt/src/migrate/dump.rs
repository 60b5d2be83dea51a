//! The pods of a dump, and the patches of their workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use bailiwick_admission::workload::Workload;
use bailiwick_analysis::loaded_world::each_tree;
use bailiwick_codes as codes;
use bailiwick_kubernetes::absent::{group_and_version, text_at};
use bailiwick_kubernetes::list;
use bailiwick_workspace::{Diagnostics, Error, Options};
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Sink};
use bailiwick_yaml::schema::to_json;
use bailiwick_yaml::{self as yaml, NodeRef};
use serde_json::Value;

use super::workloads::{FoundWorkloads, WorkloadCollector};
use crate::psp_policies::patches::merge;

/// The inputs of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodVerificationOptions {
    /// The files and folders of the manifests, or standard input (`-`).
    pub from: Vec<PathBuf>,
    /// Files and folders with strategic merge patches. The workloads of the manifests are patched before.
    pub patches: Vec<PathBuf>,
}

/// The namespace, kind and name of a patched workload.
type PatchKey = (String, String, String);

/// The pods of a dump, with the objects of the dump that decide about them.
pub struct PodDump {
    /// The warnings about the manifests.
    pub diagnostics: Diagnostics,
    pub(super) found: FoundWorkloads,
    /// Namespaces, service accounts and PodSecurityPolicies.
    pub(super) surroundings: Vec<Value>,
    /// Roles and bindings.
    pub(super) access: Vec<Value>,
    /// The other objects that decide about pods, by kind, with their names.
    pub(super) not_evaluated: BTreeMap<String, Vec<String>>,
    /// The patches of each workload, in the order of their files.
    patches: BTreeMap<PatchKey, Vec<Value>>,
}

/// The API group of admission policies and webhooks.
const ADMISSION: &str = "admissionregistration.k8s.io";

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
        let patches = read_patches(run, options, &files, &mut sink)?;
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
        Ok(Self { diagnostics, found, surroundings, access, not_evaluated, patches })
    }

    /// Returns a workload with its patches, and the object; none without a patch, or if a patch leaves no readable template.
    pub(super) fn patched(&self, workload: &Workload, object: &Value) -> Option<(Workload, Value)> {
        let patches = self.patches.get(&key(workload))?;
        let mut object = object.clone();
        patches.iter().for_each(|patch| merge(&mut object, patch));
        let tree = yaml::from_json(&object);
        let read = tree.document(0).and_then(|root: NodeRef<'_>| Workload::read(root).ok().flatten())?;
        Some((Workload { origin: workload.origin, ..read }, object))
    }

    /// Returns the patches that change no workload, as `KIND/NAMESPACE/NAME`. `patched` are the patched workloads.
    pub(super) fn unused_patches(&self, patched: &[&Workload]) -> Vec<String> {
        let used: BTreeSet<PatchKey> = patched.iter().map(|workload| key(workload)).collect();
        let unused = self.patches.keys().filter(|key| !used.contains(*key));
        unused.map(|(namespace, kind, name)| format!("{kind}/{namespace}/{name}")).collect()
    }
}

fn key(workload: &Workload) -> PatchKey {
    (workload.namespace().to_owned(), workload.kind.to_owned(), workload.name.clone())
}

/// Reads the patches of all files.
fn read_patches(
    run: &Options,
    options: &PodVerificationOptions,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<BTreeMap<PatchKey, Vec<Value>>, RunError> {
    let mut patches: BTreeMap<PatchKey, Vec<Value>> = BTreeMap::new();
    for path in &options.patches {
        each_tree(&run.input_at(path), run, files, sink, &mut |tree, _| {
            for patch in tree.documents().flat_map(list::objects) {
                let text = |keys: &[&str]| text_at(patch, keys).to_owned();
                let namespace = text(&["metadata", "namespace"]);
                let namespace = if namespace.is_empty() { "default".to_owned() } else { namespace };
                let key = (namespace, text(&["kind"]), text(&["metadata", "name"]));
                patches.entry(key).or_default().push(to_json(patch));
            }
        })?;
    }
    Ok(patches)
}
