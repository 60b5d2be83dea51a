//! Workloads whose pods the cluster would refuse.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::LintedTarget;
use super::alike::{Alike, shape};
use super::installed::{self, AdmissionPolicies, Unanswered};
use crate::admission::gate::{AdmissionObjects, By, Gate, Profile, Refused};
use crate::admission::installed::InstalledPolicies;
use crate::admission::policy::Patches;
use crate::admission::scc::defaults::{self, Start};
use crate::admission::standards::labels::PodSecurityMode;
use crate::admission::workload::{Workload, template_within};
use crate::app::loaded_world::{LoadedWorld, each_object};
use crate::app::workspace::Workspace;
use crate::codes;
use crate::diag::{Diagnostic, Origin, RunError, Sink};
use crate::k8s::list;
use crate::label::{self, NamespaceLabels};
use crate::model::{DeclaredProfile, Enforcement, InstalledStack, Platform, PodSecurityProfile, Target};
use crate::yaml::schema::to_json;
use crate::yaml::{self, NodeRef};

/// Reports the workloads of a target whose pods would be rejected: the workloads of its Manifests policies.
pub(super) fn check(
    linted: &LintedTarget<'_>,
    labels: Option<&NamespaceLabels>,
    unanswered: &mut Unanswered,
    sink: &mut Sink,
) -> Result<(), RunError> {
    let LintedTarget { workspace, target, loaded } = *linted;
    let mut inputs = WorkloadInputs::new(workspace, target, loaded);
    inputs.add_cluster_objects();
    for document in workspace.project.analyzed_documents(target) {
        list::objects(document).into_iter().for_each(|object| inputs.add(object, None, sink));
    }
    each_object(workspace, target, &mut Sink::new(), &mut |object, place| inputs.add(object, Some(place), sink))?;
    for InstalledStack { stack, .. } in workspace.project.facts.on(&target.name) {
        for controller in &stack.package.controllers {
            let tree = yaml::from_json(&controller.made_for(&stack.install, stack.revision));
            tree.documents().for_each(|object| inputs.add(object, Some(controller.origin), sink));
        }
    }
    hold_to_profiles(workspace, target, &mut inputs.objects);
    enforce_defaults(labels, &mut inputs.objects);
    inputs.judge(unanswered, sink);
    Ok(())
}

/// The workloads of a target, and the objects that decide whether their pods are admitted.
struct WorkloadInputs<'i> {
    workspace: &'i Workspace,
    target: &'i Target,
    loaded: &'i LoadedWorld,
    objects: AdmissionObjects,
    /// The admission policies that no policy of the workspace makes.
    admission_policies: InstalledPolicies,
    workloads: Vec<JudgedWorkload>,
}

impl<'i> WorkloadInputs<'i> {
    fn new(workspace: &'i Workspace, target: &'i Target, loaded: &'i LoadedWorld) -> Self {
        let minor = target.version.minor();
        Self {
            workspace,
            target,
            loaded,
            objects: AdmissionObjects::new(minor, target.platform == Platform::Openshift),
            admission_policies: InstalledPolicies::new(minor),
            workloads: Vec::new(),
        }
    }

    /// Adds the constraints of OpenShift and the objects of the baseline. Their workloads belong to the cluster and are not
    /// judged.
    fn add_cluster_objects(&mut self) {
        if let Some(settings) = label::settings(self.target) {
            for tree in defaults::trees(Start { release: settings.release, upgraded_from_4_10: false }) {
                // The payload is well-formed; a test reads it.
                tree.documents().for_each(|object| _ = self.objects.add(object));
            }
        }
        for tree in self.workspace.project.baselines.get(&self.target.name).into_iter().flatten() {
            tree.documents().flat_map(list::objects).for_each(|object| _ = self.objects.add(object));
        }
    }

    /// Adds an object of the inputs or of the output. Objects of the output have the place of their policy.
    fn add(&mut self, object: NodeRef<'_>, place: Option<Origin>, sink: &mut Sink) {
        if self.target.enforcement() == Enforcement::AdmissionPolicy && place.is_some() {
            // The output has nothing that cannot be read.
            _ = self.objects.add_admission_policy(object);
        }
        // Policies that are compiled from profiles and agents are judged with them.
        let serves_policies = self.serves_admission_policies();
        if serves_policies && !is_compiled_policy(self.workspace, object, place) {
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

    fn serves_admission_policies(&self) -> bool {
        self.target.version.minor() >= installed::FIRST_MINOR
    }

    /// Reports the workloads whose pods are refused. Findings that differ in names alone are reported once.
    fn judge(&self, unanswered: &mut Unanswered, sink: &mut Sink) {
        let gate = Gate::new(&self.loaded.world, &self.objects);
        let policies = AdmissionPolicies { installed: &self.admission_policies, gate };
        let mut alike = Alike::default();
        // A finding that a policy accepts is no finding, and represents no other.
        let mut add = |shape, workload: &Workload, finding| {
            if !self.workspace.project.accepts(&finding) {
                alike.add(shape, &workload.to_string(), finding);
            }
        };
        for JudgedWorkload { workload, json, place } in &self.workloads {
            if !self.admission_policies.is_empty() {
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
        if !self.workloads.is_empty() {
            unanswered.add(self.admission_policies.unreadable());
        }
        alike.finish(sink);
    }
}

/// Whether an object is an admission policy or a related object that is compiled from a policy of the workspace.
fn is_compiled_policy(workspace: &Workspace, object: NodeRef<'_>, place: Option<Origin>) -> bool {
    let api_version = object.get("apiVersion").and_then(NodeRef::as_str).unwrap_or_default();
    api_version.starts_with("admissionregistration.k8s.io/")
        && place.is_some_and(|place| workspace.project.policy_at(place).is_some())
}

/// A workload of the target.
struct JudgedWorkload {
    workload: Workload,
    /// The object, where admission policies are asked.
    json: serde_json::Value,
    place: Origin,
}

/// Adds the profile of each namespace to the gate.
fn hold_to_profiles(workspace: &Workspace, target: &Target, objects: &mut AdmissionObjects) {
    if target.enforcement() != Enforcement::AdmissionPolicy {
        return;
    }
    let minor = target.version.minor();
    let compiled = |profile: &PodSecurityProfile| {
        let defaults = profile.defaults();
        let patches = defaults.patches.get(&target.name).filter(|patches| !patches.is_empty());
        let patches = patches.map(|patches| Arc::new(Patches::compile(&defaults.variables, patches, minor)));
        Profile { policy: PodSecurityProfile::admission_policy(profile.name()), patches }
    };
    let profiles: BTreeMap<&str, Profile> = workspace
        .project
        .facts
        .on(&target.name)
        .map(|declared: &DeclaredProfile| (declared.profile.name(), compiled(&declared.profile)))
        .collect();
    for (_, place) in objects.places() {
        let profile = place.labels.get(PodSecurityProfile::LABEL);
        place.profile = profile.and_then(|name| profiles.get(name.as_str())).cloned();
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
