//! Patches of workloads that rely on the defaults of a PodSecurityPolicy: the template sets the values itself.
//!
//! `kubectl patch --type strategic` and `patches` in a kustomization.yaml take such patches.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bailiwick_admission::pod::{Container, Pod, SeLinuxOptions};
use bailiwick_admission::psp::PodSecurityPolicy;
use bailiwick_admission::psp::plan::{ObservedWorkload, Plan, WorkloadPlan};
use bailiwick_admission::workload::{Workload, template_path};
use bailiwick_kubernetes::workers::Workers;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::stages::FinalCluster;

/// The patches of a migration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkloadPatches {
    /// The patches of each namespace, in the order of its workloads.
    pub by_namespace: BTreeMap<String, Vec<Value>>,
}

impl WorkloadPatches {
    /// Returns the number of patched workloads.
    pub fn workloads(&self) -> usize {
        self.by_namespace.values().map(Vec::len).sum()
    }

    /// Makes the patches for the workloads of a plan, whose pods end on a cluster.
    pub fn new(
        plan: &Plan,
        workloads: &[ObservedWorkload],
        policies: &[PodSecurityPolicy],
        to: FinalCluster,
        workers: Workers<'_>,
    ) -> Self {
        let policies: BTreeMap<&str, &PodSecurityPolicy> =
            policies.iter().map(|policy| (policy.name(), policy)).collect();
        let workloads: BTreeMap<(&str, &str, &str), &ObservedWorkload> =
            workloads.iter().map(|observed| (key(&observed.workload), observed)).collect();
        let needs: BTreeMap<&str, _> =
            plan.namespaces.iter().map(|namespace| (namespace.name.as_str(), &namespace.needs)).collect();
        let patchable: Vec<&WorkloadPlan> = plan.workloads.iter().filter(|workload| workload.is_patchable).collect();
        let patches = workers.map_each(&patchable, |found| -> Option<Value> {
            let needed = needs.get(found.namespace.as_str()).and_then(|needs| needs.policy_of(&found.account));
            let policy = needed.or(found.policy.as_deref()).and_then(|name| policies.get(name))?;
            let observed = workloads.get(&(found.namespace.as_str(), found.kind, found.name.as_str()))?;
            let stored = found.created(observed, policy)?;
            patch(&observed.workload, &to_be_set(stored, &observed.workload, to))
        });
        let mut by_namespace: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (found, patch) in patchable.iter().zip(patches) {
            if let Some(patch) = patch {
                by_namespace.entry(found.namespace.clone()).or_default().push(patch);
            }
        }
        Self { by_namespace }
    }
}

/// Returns a stored pod without the values that a patch leaves to the cluster: constraints add the SELinux level of the namespace to
/// options without a level, and reject pods that set such options themselves.
fn to_be_set<'p>(stored: Cow<'p, Pod>, workload: &Workload, to: FinalCluster) -> Cow<'p, Pod> {
    if to.release().is_none() {
        return stored;
    }
    let mut stored = stored.into_owned();
    let lacks_level = |options: &Option<SeLinuxOptions>| options.as_ref().is_some_and(|own| own.level.is_empty());
    let written = &workload.template.spec;
    if let Some(context) = &mut stored.spec.security_context
        && lacks_level(&context.se_linux_options)
    {
        let own = written.security_context.as_ref().and_then(|context| context.se_linux_options.clone());
        context.se_linux_options = own;
    }
    let lists = [
        (&mut stored.spec.containers, &written.containers),
        (&mut stored.spec.init_containers, &written.init_containers),
    ];
    for (container, written) in lists.into_iter().flat_map(|(stored, written)| stored.iter_mut().zip(written)) {
        if let Some(context) = &mut container.security_context
            && lacks_level(&context.se_linux_options)
        {
            let own = written.security_context.as_ref().and_then(|context| context.se_linux_options.clone());
            context.se_linux_options = own;
        }
    }
    Cow::Owned(stored)
}

fn key(workload: &Workload) -> (&str, &'static str, &str) {
    (workload.namespace(), workload.kind, &workload.name)
}

/// Returns the patch of a workload with the values of its stored pods; none for a complete template.
fn patch(workload: &Workload, stored: &Pod) -> Option<Value> {
    let template = template_patch(&workload.pod(), stored);
    if template.is_empty() {
        return None;
    }
    let (group, path) = template_path(workload.kind)?;
    let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    let metadata = json!({ "name": workload.name, "namespace": workload.namespace() });
    let mut patch = json!({ "apiVersion": api_version, "kind": workload.kind, "metadata": metadata });
    let within = path.iter().rev().fold(Value::Object(template), |inner, key| json!({ *key: inner }));
    merge(&mut patch, &within);
    Some(patch)
}

/// Returns the values of a stored pod that a template lacks.
fn template_patch(written: &Pod, stored: &Pod) -> Map<String, Value> {
    let context = difference(&written.spec.security_context, &stored.spec.security_context);
    let mut spec: Map<String, Value> =
        context.into_iter().map(|context| ("securityContext".to_owned(), context)).collect();
    if written.spec.runtime_class_name != stored.spec.runtime_class_name
        && let Some(class) = &stored.spec.runtime_class_name
    {
        spec.insert("runtimeClassName".to_owned(), class.as_str().into());
    }
    let lists = [
        ("containers", &written.spec.containers, &stored.spec.containers),
        ("initContainers", &written.spec.init_containers, &stored.spec.init_containers),
    ];
    for (list, written, stored) in lists {
        let patches = written.iter().zip(stored).filter_map(|(written, stored)| container_patch(written, stored));
        let patches: Vec<Value> = patches.collect();
        if !patches.is_empty() {
            spec.insert(list.to_owned(), patches.into());
        }
    }
    let mut template = Map::new();
    let annotations: Map<String, Value> = stored
        .metadata
        .annotations
        .iter()
        // Annotations for seccomp have no effect since 1.27: the field is in the patch.
        .filter(|(key, value)| key.starts_with(APP_ARMOR) && written.metadata.annotations.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), value.as_str().into()))
        .collect();
    if !annotations.is_empty() {
        template.insert("metadata".to_owned(), json!({ "annotations": annotations }));
    }
    if !spec.is_empty() {
        template.insert("spec".to_owned(), spec.into());
    }
    template
}

/// The start of the annotation with the AppArmor profile of a container; from 1.30 on the API server turns it into a field.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

fn container_patch(written: &Container, stored: &Container) -> Option<Value> {
    let context = difference(&written.security_context, &stored.security_context)?;
    Some(json!({ "name": stored.name, "securityContext": context }))
}

/// Returns the fields of a security context that differ; none without a difference.
fn difference<T: Serialize>(written: &Option<T>, stored: &Option<T>) -> Option<Value> {
    // A security context has texts, numbers and lists alone.
    added(&serde_json::to_value(written).ok()?, &serde_json::to_value(stored).ok()?)
}

/// Returns the parts of a value that an earlier value lacks.
fn added(before: &Value, after: &Value) -> Option<Value> {
    match (before, after) {
        (_, Value::Null) => None,
        (before, after) if before == after => None,
        (before, Value::Object(after)) => {
            let entries = after.iter().filter_map(|(key, after)| {
                let before = before.get(key);
                Some((key.clone(), added(before.map_or(&Value::Null, |before| before), after)?))
            });
            let entries: Map<String, Value> = entries.filter(|(_, value)| !is_empty(value)).collect();
            (!entries.is_empty()).then_some(entries.into())
        }
        (_, after) => Some(after.clone()),
    }
}

/// Whether a value counts as absent: the API server leaves out empty lists and texts.
fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_str() == Some("")
}

/// Merges a strategic merge patch into an object: maps by key, containers by name; any other value replaces the earlier one. A null
/// removes the entry.
pub fn merge(object: &mut Value, patch: &Value) {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            for (key, patch) in patch {
                match object.get_mut(key) {
                    _ if patch.is_null() => _ = object.remove(key),
                    Some(value) => merge(value, patch),
                    None => _ = object.insert(key.clone(), patch.clone()),
                }
            }
        }
        (Value::Array(items), Value::Array(patches)) if patches.iter().all(|patch| patch.get("name").is_some()) => {
            for patch in patches {
                match items.iter_mut().find(|item| item.get("name") == patch.get("name")) {
                    Some(item) => merge(item, patch),
                    None => items.push(patch.clone()),
                }
            }
        }
        (object, patch) => *object = patch.clone(),
    }
}
