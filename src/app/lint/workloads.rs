//! Workloads whose pods the cluster would refuse.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::alike::{Alike, shape};
use super::installed::{self, Unanswered};
use crate::admission::gate::{By, Gate, Profile, Refused};
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
use crate::label::{self, Labels};
use crate::model::{DeclaredProfile, Enforcement, InstalledStack, Platform, PodSecurityProfile, Target};
use crate::yaml::schema::to_json;
use crate::yaml::{self, NodeRef};

/// Reports the workloads of a target whose pods would be rejected: the workloads of its Manifests policies.
pub(super) fn check(
    workspace: &Workspace,
    target: &Target,
    (loaded, labels): (&LoadedWorld, Option<&Labels>),
    unanswered: &mut Unanswered,
    sink: &mut Sink,
) -> Result<(), RunError> {
    let is_openshift = target.platform == Platform::Openshift;
    let mut gate = Gate::new(&loaded.world, target.version.minor(), is_openshift);
    if let Some(settings) = label::settings(target) {
        for tree in defaults::trees(Start { release: settings.release, upgraded_from_4_10: false }) {
            // The payload is well-formed; a test reads it.
            tree.documents().for_each(|object| _ = gate.add(object));
        }
    }
    let mut workloads: Vec<Brought> = Vec::new();
    for tree in workspace.project.baselines.get(&target.name).into_iter().flatten() {
        // Workloads of the cluster's own are not this repository's to mend.
        tree.documents().flat_map(list::objects).for_each(|object| _ = gate.add(object));
    }
    let has_admission_policies = target.enforcement() == Enforcement::AdmissionPolicy;
    let serves_admission_policies = target.version.minor() >= installed::FIRST_MINOR;
    let mut brought_in = InstalledPolicies::new(target.version.minor());
    let mut take = |object: NodeRef<'_>, place: Option<Origin>| {
        if has_admission_policies && place.is_some() {
            // The output has nothing that cannot be read.
            _ = gate.add_admission_policy(object);
        }
        // Policies that are compiled from profiles and agents are judged with them.
        if serves_admission_policies && !is_compiled_policy(workspace, object, place) {
            brought_in.add(object);
        }
        let added = gate.add(object).and_then(|()| Workload::read(object));
        match added {
            Ok(Some(workload)) => {
                let place = place.unwrap_or(workload.origin);
                let json = if serves_admission_policies { to_json(object) } else { serde_json::Value::Null };
                workloads.push(Brought { workload, json, place });
            }
            Ok(None) => {}
            Err(problem) => sink.push(
                Diagnostic::error(codes::MALFORMED_OBJECT, problem.message)
                    .at(place.or(problem.origin).unwrap_or_else(|| object.origin()))
                    .help("the API server refuses this object"),
            ),
        }
    };
    for document in workspace.project.analyzed_documents(target) {
        list::objects(document).into_iter().for_each(|object| take(object, None));
    }
    each_object(workspace, target, &mut Sink::new(), &mut |object, place| take(object, Some(place)))?;
    for InstalledStack { stack, .. } in workspace.project.facts.on(&target.name) {
        for controller in &stack.package.controllers {
            let tree = yaml::from_json(&controller.made_for(&stack.install, stack.revision));
            tree.documents().for_each(|object| take(object, Some(controller.origin)));
        }
    }
    hold_to_profiles(workspace, target, &mut gate);
    enforce_defaults(labels, &mut gate);
    let mut alike = Alike::default();
    for Brought { workload, json, place } in &workloads {
        if !brought_in.is_empty() {
            for (shape, finding) in installed::judge((&brought_in, &gate), workload, json, *place, unanswered) {
                if !workspace.project.accepts(&finding) {
                    alike.add(shape, &workload.to_string(), finding);
                }
            }
        }
        let template = template_within(workload.kind, json).unwrap_or(&serde_json::Value::Null);
        for refused in gate.judge(workload, template) {
            let diagnostic = refusal(workload, &refused, *place);
            // A finding that a policy accepts is no finding, and represents no other.
            if !workspace.project.accepts(&diagnostic) {
                let shape = shape(&[&workload.namespace, &workload.name], &refused.reasons.join("\n"));
                alike.add(shape, &workload.to_string(), diagnostic);
            }
        }
    }
    if !workloads.is_empty() {
        unanswered.add(brought_in.unreadable());
    }
    alike.finish(sink);
    Ok(())
}

/// Whether an object is an admission policy or a related object that is compiled from a policy of the workspace.
fn is_compiled_policy(workspace: &Workspace, object: NodeRef<'_>, place: Option<Origin>) -> bool {
    let api_version = object.get("apiVersion").and_then(NodeRef::as_str).unwrap_or_default();
    api_version.starts_with("admissionregistration.k8s.io/")
        && place.is_some_and(|place| workspace.project.policy_at(place).is_some())
}

/// A workload of the target.
struct Brought {
    workload: Workload,
    /// The object, where admission policies are asked.
    json: serde_json::Value,
    place: Origin,
}

/// Adds the profile of each namespace to the gate.
fn hold_to_profiles(workspace: &Workspace, target: &Target, gate: &mut Gate<'_>) {
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
    for (_, place) in gate.places() {
        let profile = place.labels.get(PodSecurityProfile::LABEL);
        place.profile = profile.and_then(|name| profiles.get(name.as_str())).cloned();
    }
}

/// Adds the default levels of OpenShift to the gate, for namespaces without a level.
fn enforce_defaults(labels: Option<&Labels>, gate: &mut Gate<'_>) {
    let Some(labels) = labels else { return };
    for (name, place) in gate.places() {
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
            "the Pod Security level of its namespace refuses",
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
            (codes::REFUSED_BY_PROFILE, "the profile of its namespace refuses", "change the pod, or the profile")
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
