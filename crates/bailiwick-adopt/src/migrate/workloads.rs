//! The workloads of a dump, each with the pods that run of it.
//!
//! Every pod and every template is in the result: as a workload, or below the workload that owns it.

use std::collections::BTreeMap;

use bailiwick_admission::psp::plan::{ObservedWorkload, OwnerReference, WorkloadOwner};
use bailiwick_admission::workload::Workload;
use bailiwick_analysis::loaded_world::duplicate_object;
use bailiwick_codes as codes;
use bailiwick_kubernetes::absent::{group_and_version, text_at};
use bailiwick_kubernetes::names;
use bailiwick_kubernetes::templates::KINDS;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::DeError;
use bailiwick_yaml::diag::{Diagnostic, Sink};
use bailiwick_yaml::schema::to_json;
use serde_json::{Map, Value};

/// The identity of a workload: namespace, kind and name.
pub(super) type WorkloadKey = (String, &'static str, String);

/// Collects the workloads of a dump.
#[derive(Default)]
pub(super) struct WorkloadCollector {
    objects: BTreeMap<WorkloadKey, Found>,
    /// The objects, if they are asked for.
    json: Option<BTreeMap<WorkloadKey, Value>>,
}

/// A workload, before its owner is known to be among the objects.
struct Found {
    workload: Workload,
    uid: String,
    owner: Option<Owner>,
}

/// An owner reference with `controller: true`.
struct Owner {
    reference: OwnerReference,
    uid: String,
}

/// The workloads of a dump.
pub(super) struct FoundWorkloads {
    /// Each workload that no other workload of the dump owns.
    pub(super) roots: Vec<ObservedWorkload>,
    /// The number of templates that another workload of the dump owns, such as the ReplicaSets of a Deployment.
    pub(super) owned_templates: usize,
    /// The objects without their status; empty unless they were asked for.
    pub(super) json: BTreeMap<WorkloadKey, Value>,
}

impl WorkloadCollector {
    /// Returns a collector that keeps the objects too.
    pub(super) fn with_objects() -> Self {
        Self { json: Some(BTreeMap::new()), ..Self::default() }
    }

    /// Adds an object; an object that brings no pods has no effect. Returns the namespace of a workload.
    pub(super) fn add(&mut self, object: NodeRef<'_>, sink: &mut Sink) -> Option<String> {
        match Workload::read(object) {
            Ok(Some(workload)) => {
                if let Some(problem) = name_problem(&workload) {
                    let error = Diagnostic::error(codes::MALFORMED_OBJECT, problem).at(workload.origin);
                    sink.push(error.help("correct the object: the API server rejects it"));
                    return None;
                }
                let namespace = workload.namespace().to_owned();
                let (key, origin) = ((namespace.clone(), workload.kind, workload.name.clone()), workload.origin);
                if let Some(json) = &mut self.json {
                    json.insert(key.clone(), to_json_without_status(object));
                }
                let uid = text_at(object, &["metadata", "uid"]).to_owned();
                let found = Found { workload, uid, owner: owner_of(object) };
                if let Some(first) = self.objects.insert(key, found) {
                    sink.push(duplicate_object(origin, first.workload.origin));
                }
                Some(namespace)
            }
            Ok(None) => None,
            Err(problem) => {
                sink.push(malformed(problem, object));
                None
            }
        }
    }

    /// Returns the workloads, with the pods below their owners.
    pub(super) fn finish(self) -> FoundWorkloads {
        let is_root = |key: &WorkloadKey| self.root_of(key) == key;
        // The owners of a ring own each other: each of its objects is a workload.
        let root = |key| {
            let last = self.root_of(key);
            if is_root(last) { last } else { key }
        };
        let root_of: BTreeMap<WorkloadKey, WorkloadKey> =
            self.objects.keys().map(|key| (key.clone(), root(key).clone())).collect();
        let mut roots: BTreeMap<WorkloadKey, ObservedWorkload> = BTreeMap::new();
        let mut owned_templates = 0;
        let (of_roots, owned): (Vec<_>, Vec<_>) =
            self.objects.into_iter().partition(|(key, _)| root_of.get(key) == Some(key));
        for (key, found) in of_roots {
            let pod = found.workload.is_pod().then(|| found.workload.template.clone());
            let owner = found.owner.map_or(WorkloadOwner::None, |owner| owner.without_template());
            let mut observed = ObservedWorkload::new(found.workload, owner);
            // A pod without a known owner stands for itself.
            pod.into_iter().for_each(|pod| observed.add_running(&key.2, pod));
            roots.insert(key, observed);
        }
        for (key, Found { workload, owner, .. }) in owned {
            let root = root_of.get(&key).and_then(|root| roots.get_mut(root));
            match (workload.is_pod(), root) {
                (false, _) => owned_templates += 1,
                (true, Some(root)) if root.workload.service_account() == workload.service_account() => {
                    root.add_running(&workload.name, workload.template);
                }
                (true, _) => {
                    let owner = owner.map_or(WorkloadOwner::None, |owner| WorkloadOwner::OtherAccount(owner.reference));
                    let (name, pod) = (workload.name.clone(), workload.template.clone());
                    let mut observed = ObservedWorkload::new(workload, owner);
                    observed.add_running(&name, pod);
                    roots.insert(key, observed);
                }
            }
        }
        FoundWorkloads {
            roots: roots.into_values().collect(),
            owned_templates,
            json: self.json.into_iter().flatten().collect(),
        }
    }

    /// Returns the last owner of an object among the objects; the object itself without one.
    fn root_of<'k>(&'k self, key: &'k WorkloadKey) -> &'k WorkloadKey {
        let mut root = key;
        // A Pod of a Job of a CronJob has the longest chain. A ring of owners ends there too.
        for _ in 0..3 {
            let Some(found) = self.objects.get(root) else { break };
            let Some(owner) = found.owner.as_ref().and_then(|owner| self.owner(&root.0, owner)) else { break };
            root = owner;
        }
        root
    }

    /// Returns an owner among the templates of a namespace.
    fn owner(&self, namespace: &str, owner: &Owner) -> Option<&WorkloadKey> {
        let kind = owner.template_kind()?;
        let wanted = (namespace.to_owned(), kind, owner.reference.name.clone());
        let (key, found) = self.objects.get_key_value(&wanted)?;
        let is_same = owner.uid.is_empty() || found.uid.is_empty() || owner.uid == found.uid;
        is_same.then_some(key)
    }
}

impl Owner {
    /// Returns the kind, if it is a kind of Kubernetes with a template.
    fn template_kind(&self) -> Option<&'static str> {
        let OwnerReference { group, kind, .. } = &self.reference;
        // The group of these kinds before Kubernetes 1.16.
        let group = if group == "extensions" { "apps" } else { group };
        let (_, kind, _) = KINDS.iter().find(|(of, known, _)| *of == group && known == kind && *known != "Pod")?;
        Some(kind)
    }

    /// Returns the owner of an object whose owner has no template among the objects.
    fn without_template(self) -> WorkloadOwner {
        match self.template_kind() {
            Some(_) => WorkloadOwner::Missing(self.reference),
            None => WorkloadOwner::OtherKind(self.reference),
        }
    }
}

/// Returns an object without its status and its managed fields, which decide nothing.
fn to_json_without_status(object: NodeRef<'_>) -> Value {
    let entries = object.entries().filter_map(|(key, value)| match key.as_key() {
        "status" => None,
        "metadata" => {
            let metadata = value.entries().filter(|(key, _)| key.as_key() != "managedFields");
            let metadata: Map<String, Value> =
                metadata.map(|(key, value)| (key.as_key().to_owned(), to_json(value))).collect();
            Some(("metadata".to_owned(), Value::Object(metadata)))
        }
        key => Some((key.to_owned(), to_json(value))),
    });
    Value::Object(entries.collect())
}

/// Returns the problem of the names that the policies and the paths of the plan contain.
fn name_problem(workload: &Workload) -> Option<String> {
    let account = workload.service_account();
    let account = names::dns_subdomain(account).err().map(|_| format!("`{account}` is no name of a service account"));
    names::namespace_problem(workload.namespace()).or(account)
}

/// Returns the owner with `controller: true`. The node is no owner of the mirror of a static pod: the kubelet makes the mirror.
fn owner_of(object: NodeRef<'_>) -> Option<Owner> {
    let owners = object.path(&["metadata", "ownerReferences"]).into_iter().flat_map(NodeRef::items);
    let mut controllers =
        owners.filter(|owner| owner.get("controller").and_then(NodeRef::as_bool) == Some(true)).map(|owner| {
            let text = |key| text_at(owner, &[key]).to_owned();
            let group = group_and_version(text_at(owner, &["apiVersion"])).0.to_owned();
            Owner { reference: OwnerReference { group, kind: text("kind"), name: text("name") }, uid: text("uid") }
        });
    controllers.find(|owner| !(owner.reference.group.is_empty() && owner.reference.kind == "Node"))
}

/// Returns the diagnostic for an object with a field of another type than in the API.
pub(super) fn malformed(problem: DeError, object: NodeRef<'_>) -> Diagnostic {
    Diagnostic::error(codes::MALFORMED_OBJECT, problem.message)
        .at(problem.origin.unwrap_or_else(|| object.origin()))
        .help("correct the object: the API server rejects it")
}
