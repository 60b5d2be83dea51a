//! Workloads whose pods the cluster would refuse.

use bailiwick_admission::gate::{By, Gate, Refused};
use bailiwick_admission::workload::{Workload, template_within};
use bailiwick_codes as codes;
use bailiwick_compiler::label::NamespaceLabels;
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Sink};

use super::LintedTarget;
use super::alike::{Alike, shape};
use super::installed::{AdmissionPolicies, Unanswered};
use crate::loaded_world::each_object;
use crate::pod_inputs::{JudgedWorkload, PodInputs};

/// Returns the workloads of the Manifests policies of a target, and the objects that decide about their pods.
pub(super) fn inputs<'l>(
    linted: &LintedTarget<'l>,
    labels: Option<&NamespaceLabels>,
    sink: &mut Sink,
) -> Result<PodInputs<'l>, RunError> {
    let LintedTarget { workspace, target, .. } = *linted;
    let mut inputs = PodInputs::new(workspace, target);
    inputs.add_cluster_objects();
    inputs.add_analyzed_documents(sink);
    each_object(workspace, target, &mut Sink::new(), &mut |object, place| inputs.add(object, Some(place), sink))?;
    inputs.finish(labels, sink);
    Ok(inputs)
}

/// Reports the workloads whose pods are refused. Findings that differ in names alone are reported once.
pub(super) fn check(linted: &LintedTarget<'_>, inputs: &PodInputs<'_>, unanswered: &mut Unanswered, sink: &mut Sink) {
    let gate = Gate::new(&linted.loaded.world, &inputs.objects);
    let policies = AdmissionPolicies { installed: &inputs.admission_policies, gate };
    let mut alike = Alike::of_classes(linted.spread);
    // A finding that a policy accepts is no finding, and represents no other.
    let mut add = |shape, workload: &Workload, finding| {
        if !linted.workspace.project().accepts(&finding) {
            alike.add(shape, &workload.to_string(), &workload.namespace, finding);
        }
    };
    for JudgedWorkload { workload, json, place } in &inputs.workloads {
        if !inputs.admission_policies.is_empty() {
            for (shape, finding) in policies.judge(workload, json, *place, unanswered) {
                add(shape, workload, finding);
            }
        }
        let template = template_within(workload.kind, json).unwrap_or(&serde_json::Value::Null);
        for refused in gate.judge(workload, template) {
            let shape = shape(&[&workload.namespace, &workload.name], &refused.reasons.join("\n"));
            add(shape, workload, refusal(workload, &refused, *place));
        }
    }
    if !inputs.workloads.is_empty() {
        unanswered.add(inputs.admission_policies.unreadable());
    }
    alike.finish(sink);
}

fn refusal(workload: &Workload, refused: &Refused, place: Origin) -> Diagnostic {
    let (code, by, help) = match refused.by {
        By::Level => (
            codes::REFUSED_BY_LEVEL,
            "the Pod Security level of its namespace rejects",
            "change the pod, or the level of the namespace",
        ),
        By::Policies => (
            codes::REFUSED_BY_POLICIES,
            "no PodSecurityPolicy that its service account may use admits",
            "change the pod, or grant its service account the use of a policy that admits it",
        ),
        By::Constraints => (
            codes::REFUSED_BY_CONSTRAINTS,
            "no constraints that its service account may use admit",
            "change the pod, or grant its service account the use of constraints that admit it",
        ),
        By::Profile => {
            (codes::REFUSED_BY_PROFILE, "the profile of its namespace rejects", "change the pod, or the profile")
        }
    };
    let what = if workload.is_pod() { "the pod" } else { "the pods of" };
    let name = if workload.is_pod() {
        format!("`{}`", workload.name)
    } else {
        format!("{} `{}`", workload.kind, workload.name)
    };
    let mut diagnostic = Diagnostic::warning(code, format!("{by} {what} {name}")).at(place).help(help);
    for reason in &refused.reasons {
        diagnostic = diagnostic.note(reason.clone());
    }
    diagnostic
}
