//! `migrate verify` on OpenShift: the constraints that admit pods, the admission policies beside them, and the assumptions about the
//! cluster that no manifest has.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::request::Identity;
use bailiwick_access::world::account_user;
use bailiwick_admission::gate::{AdmissionObjects, Gate};
use bailiwick_admission::installed::InstalledPolicies;
use bailiwick_admission::labels::namespace::RUN_LEVEL_LABEL;
use bailiwick_admission::labels::neighbours::skips_constraints;
use bailiwick_admission::scc::range;
use bailiwick_admission::workload::{Workload, template_within};
use bailiwick_policy::model::Target;
use bailiwick_yaml as yaml;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::dump::PodDump;
use super::verify::{PodRejection, RefusedPods};

/// The verdict about constraints, and its assumptions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConstraintsVerification {
    /// The admitted workloads whose pods have constraints of the platform in place of the constraints of a profile, as
    /// `KIND/NAMESPACE/NAME`, by the name of the constraints.
    pub other_constraints: BTreeMap<String, Vec<String>>,
    /// The namespaces with workloads whose pods OpenShift does not evaluate by constraints: the run levels 0 and 1.
    pub without_constraints: BTreeSet<String>,
    /// The pods without a template, evaluated by the constraints of their service account. OpenShift also counts the constraints of the
    /// person or the operator that creates them.
    pub by_account_alone: Vec<String>,
    /// The namespaces with workloads and without a range of user ids or an SELinux level. OpenShift allocates both. The pods were
    /// evaluated with two allocations, and a pod rejected with one of them counts as rejected.
    pub without_ranges: BTreeSet<String>,
    /// The admission policies without an answer, each with the first reason.
    pub undecided: BTreeMap<String, String>,
    /// Whether the constraints of the platform are unknown: before OpenShift 4.11.
    pub without_platform_constraints: bool,
    /// The number of roles and bindings of the manifests. They were not counted: OpenShift is another cluster.
    pub grants_not_counted: usize,
}

/// Another allocation than the evaluation of constraints assumes: the range of user ids, and the SELinux level.
const OTHER_ALLOCATION: [(&str, &str); 2] = [(range::UID_RANGE, "1500000000/10000"), (range::MCS, "s0:c271,c270")];

/// Allocates ranges for the namespaces without them, and for namespaces of a dump without a Namespace. Returns the names of these
/// namespaces.
pub(super) fn allocate(objects: &mut AdmissionObjects, dump: &PodDump) -> BTreeSet<String> {
    for namespace in dump.found.roots.iter().map(|root| root.workload.namespace()) {
        if objects.place(namespace).is_none() {
            let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
            // A Namespace is readable.
            yaml::from_json(&object).documents().for_each(|object| _ = objects.add(object));
        }
    }
    let mut allocated = BTreeSet::new();
    for (name, place) in objects.places() {
        for (key, value) in OTHER_ALLOCATION {
            if !place.annotations.contains_key(key) {
                place.annotations.insert(key.to_owned(), value.to_owned());
                allocated.insert(name.to_owned());
            }
        }
    }
    allocated
}

/// The admission of OpenShift beside the gate, and the findings about it.
pub(super) struct ConstraintsJudge<'j> {
    pub(super) gate: Gate<'j>,
    pub(super) objects: &'j AdmissionObjects,
    /// The admission policies beside the constraints.
    pub(super) policies: &'j InstalledPolicies,
    /// The names of the constraints of profiles.
    pub(super) of_profiles: &'j BTreeSet<String>,
}

impl ConstraintsJudge<'_> {
    /// Evaluates the pods of a workload that constraints admit by the admission policies beside them, and notes the constraints.
    pub(super) fn judge(
        &self,
        workload: &Workload,
        object: &Value,
        found: &mut ConstraintsVerification,
    ) -> Option<PodRejection> {
        let namespace = workload.namespace();
        let labels = self.objects.place(namespace).map(|place| &place.labels);
        let run_level = labels.and_then(|labels| labels.get(RUN_LEVEL_LABEL)).map(String::as_str);
        if skips_constraints(namespace, run_level) {
            found.without_constraints.insert(namespace.to_owned());
        }
        let account = Identity::from_user(&account_user(namespace, workload.service_account()));
        let admitting = self.gate.constraints_for(&account, namespace, &workload.pod());
        let name = admitting.ok()??.name;
        if !self.of_profiles.contains(&name) {
            found.other_constraints.entry(name).or_default().push(workload.to_string());
        }
        let pod = self.gate.created_pod(workload, template_within(workload.kind, object)?);
        let namespace = self.gate.namespace_object(workload);
        let decisions = self.policies.judge(workload, object, pod, namespace.as_ref());
        found.undecided.extend(decisions.unknown);
        let reasons: Vec<String> = decisions.rejections.into_iter().flat_map(|rejection| rejection.reasons).collect();
        (!reasons.is_empty()).then(|| PodRejection::by_policy_beside_constraints(reasons))
    }
}

impl ConstraintsVerification {
    /// Leaves out rejected workloads: with the other allocation, constraints of the platform can reject a pod.
    pub(super) fn remove_refused<'r>(&mut self, refused: impl Iterator<Item = &'r RefusedPods>) {
        let refused: BTreeSet<String> =
            refused.map(|refused| format!("{}/{}/{}", refused.kind, refused.namespace, refused.name)).collect();
        for workloads in self.other_constraints.values_mut() {
            workloads.retain(|workload| !refused.contains(workload));
        }
        self.other_constraints.retain(|_, workloads| !workloads.is_empty());
    }
}

/// Adds the assumptions that no single workload decides.
pub(super) fn add_assumptions(
    found: &mut ConstraintsVerification,
    target: &Target,
    dump: &PodDump,
    allocated: &BTreeSet<String>,
) {
    found.without_platform_constraints = target.release_with_defaults().is_none();
    let used: BTreeSet<&str> = dump.found.roots.iter().map(|root| root.workload.namespace()).collect();
    found.without_ranges = allocated.iter().filter(|name| used.contains(name.as_str())).cloned().collect();
    found.grants_not_counted = dump.access.len();
    let pods = dump.found.roots.iter().map(|root| &root.workload).filter(|workload| workload.is_pod());
    let pods = pods.filter(|pod| !found.without_constraints.contains(pod.namespace()));
    found.by_account_alone = pods.map(ToString::to_string).collect();
}
