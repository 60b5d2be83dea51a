//! Workloads that a ValidatingAdmissionPolicy of the inputs rejects, and a note of the policies that give no answer.

use std::collections::BTreeMap;

use bailiwick_admission::gate::{AdmissionObjects, Gate};
use bailiwick_admission::installed::{InstalledPolicies, Rejection};
use bailiwick_admission::workload::{Workload, template_within};
use bailiwick_codes as codes;
use bailiwick_kubernetes::list;
use bailiwick_yaml as yaml;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::schema::to_json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::alike::{Alike, shape};
use crate::loaded_world::LoadedWorld;
use crate::pod_inputs::FIRST_MINOR_WITH_POLICIES;

/// A word of every file with an admission policy.
const KIND: &str = "ValidatingAdmissionPolicy";

/// The admission policies that are not evaluated for every workload, each with the first reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Unanswered(pub BTreeMap<String, String>);

impl Unanswered {
    /// Adds policies with their reasons.
    pub(super) fn add(&mut self, policies: impl IntoIterator<Item = (String, String)>) {
        for (name, reason) in policies {
            self.0.entry(name).or_insert(reason);
        }
    }
}

/// The admission policies among the inputs, with the gate that has the namespaces of workloads.
pub(super) struct AdmissionPolicies<'p> {
    pub(super) installed: &'p InstalledPolicies,
    pub(super) gate: Gate<'p>,
}

impl AdmissionPolicies<'_> {
    /// Asks the policies about a workload, given as JSON, and returns the findings, each with its shape.
    pub(super) fn judge(
        &self,
        workload: &Workload,
        object: &Json,
        place: Origin,
        unanswered: &mut Unanswered,
    ) -> Vec<(u128, Diagnostic)> {
        let Self { installed, gate } = *self;
        let namespace = gate.namespace_object(workload);
        let pod = template_within(workload.kind, object).and_then(|template| gate.created_pod(workload, template));
        let decisions = installed.judge(workload, object, pod, namespace.as_ref());
        unanswered.add(decisions.unknown);
        let finding = |rejection: Rejection| {
            let shape = shape(&[&workload.namespace, &workload.name], &rejection.reasons.join("\n"));
            (shape, rejected(workload, rejection, installed.may_change(), place))
        };
        decisions.rejections.into_iter().map(finding).collect()
    }
}

fn rejected(workload: &Workload, rejection: Rejection, may_change: bool, place: Origin) -> Diagnostic {
    let what = match (workload.is_pod(), rejection.is_workload) {
        (true, _) => format!("the pod `{}`", workload.name),
        (false, true) => format!("the {} `{}`", workload.kind, workload.name),
        (false, false) => format!("the pods of {} `{}`", workload.kind, workload.name),
    };
    let message = format!("the admission policy `{}` rejects {what}", rejection.policy);
    let mut finding = Diagnostic::warning(codes::REFUSED_BY_ADMISSION_POLICY, message)
        .at(place)
        .help("change the workload, or the policy and its binding");
    for reason in rejection.reasons {
        finding = finding.note(reason);
    }
    if may_change {
        finding = finding.note("a mutating policy or webhook of the inputs may change the object before");
    }
    finding
}

/// Reports the workloads among manifests that the policies among them reject.
pub(super) fn check_manifests(loaded: &LoadedWorld, sink: &mut Sink) -> Unanswered {
    let mut unanswered = Unanswered::default();
    let files = &loaded.files;
    let minor = loaded.world.minor();
    if !files.ids().any(|id| files.get(id).passing_text().contains(KIND)) {
        return unanswered;
    }
    let mut objects = AdmissionObjects::new(minor, false);
    let mut installed = InstalledPolicies::new(minor);
    let mut workloads: Vec<(Workload, Json)> = Vec::new();
    for id in files.ids() {
        // Reading the file reported its errors before.
        let tree = yaml::read(&files.get(id).passing_text(), id, &mut Sink::new());
        for object in tree.documents().flat_map(list::objects) {
            installed.add(object);
            // An object that cannot be read is for `check` to report.
            if let (Ok(()), Ok(Some(workload))) = (objects.add(object), Workload::read(object)) {
                workloads.push((workload, to_json(object)));
            }
        }
    }
    if workloads.is_empty() {
        return unanswered;
    }
    if minor < FIRST_MINOR_WITH_POLICIES {
        unanswered.add(installed.bound().map(|name| {
            (name.to_owned(), format!("Kubernetes 1.{minor} does not serve `admissionregistration.k8s.io/v1` policies"))
        }));
        return unanswered;
    }
    let policies = AdmissionPolicies { installed: &installed, gate: Gate::new(&loaded.world, &objects) };
    let mut alike = Alike::default();
    for (workload, object) in &workloads {
        let found = policies.judge(workload, object, workload.origin, &mut unanswered);
        found.into_iter().for_each(|(shape, finding)| {
            alike.add(shape, &workload.to_string(), &workload.namespace, finding);
        });
    }
    unanswered.add(installed.unreadable());
    alike.finish(sink);
    unanswered
}
