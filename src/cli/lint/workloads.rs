//! Workloads whose pods the cluster would refuse.

use std::collections::BTreeMap;

use super::super::scene::{Scene, each_object};
use super::super::session::Session;
use crate::admission::gate::{By, Gate, Profile, Refused};
use crate::admission::psp::PodSecurityPolicy;
use crate::admission::scc::defaults::{self, Start};
use crate::admission::standards::labels::Mode;
use crate::admission::workload::Workload;
use crate::compile;
use crate::diag::{Code, Diagnostic, Origin, RunError, Sink};
use crate::k8s::list;
use crate::label;
use crate::model::{Enforcement, Platform, PodSecurityProfile, Target};
use crate::yaml::{self, NodeRef};

/// Reports the workloads of a target whose pods would be refused: those that its Manifests bring in or tell of.
pub(super) fn check(session: &Session<'_>, target: &Target, scene: &Scene, sink: &mut Sink) -> Result<(), RunError> {
    let is_openshift = target.platform == Platform::Openshift;
    let mut gate = Gate::new(&scene.world, target.version.minor(), is_openshift);
    if let Some(settings) = label::settings(target) {
        for tree in defaults::trees(Start { release: settings.release, upgraded_from_4_10: false }) {
            // The payload is well-formed; a test reads it.
            tree.documents().for_each(|object| _ = gate.add(object));
        }
    }
    let mut workloads: Vec<(Workload, Origin)> = Vec::new();
    for tree in session.project.baselines.get(&target.name).into_iter().flatten() {
        // Workloads of the cluster's own are not this repository's to mend.
        tree.documents().flat_map(list::objects).for_each(|object| _ = gate.add(object));
    }
    let mut take = |object: NodeRef<'_>, place: Option<Origin>| {
        let added = gate.add(object).and_then(|()| Workload::read(object));
        match added {
            Ok(Some(workload)) => {
                let place = place.unwrap_or(workload.origin);
                workloads.push((workload, place));
            }
            Ok(None) => {}
            Err(problem) => sink.push(
                Diagnostic::error(Code::MalformedObject, problem.message)
                    .at(place.or(problem.origin).unwrap_or_else(|| object.origin()))
                    .help("the API server refuses this object"),
            ),
        }
    };
    for policy in session.project.policies_of(target) {
        policy.judged(&mut |document| list::objects(document).into_iter().for_each(|object| take(object, None)));
    }
    each_object(session, target, &mut Sink::new(), &mut |object, place| take(object, Some(place)))?;
    hold_to_profiles(session, target, &mut gate);
    enforce_defaults(session, target, &mut gate)?;
    for (workload, place) in &workloads {
        for refused in gate.judge(workload) {
            sink.push(refusal(workload, &refused, *place, target));
        }
    }
    Ok(())
}

/// Tells the gate which profile each namespace is held to.
fn hold_to_profiles(session: &Session<'_>, target: &Target, gate: &mut Gate<'_>) {
    if target.enforcement() != Enforcement::AdmissionPolicy {
        return;
    }
    let profiles: BTreeMap<&str, &PodSecurityProfile> = session
        .project
        .policies_of(target)
        .filter_map(|policy| policy.profile())
        .map(|profile| (profile.name(), profile))
        .collect();
    let fills_in = target.mutating_admission_policy().is_some();
    for (_, place) in gate.places() {
        let profile = place.labels.get(PodSecurityProfile::LABEL).and_then(|name| profiles.get(name.as_str()));
        place.profile = profile.map(|profile| Profile { policy: policy_of(profile, &place.annotations), fills_in });
    }
}

/// The PodSecurityPolicy that a profile stands for in a namespace, or why its admission policy refuses every pod there.
fn policy_of(
    profile: &PodSecurityProfile,
    annotations: &BTreeMap<String, String>,
) -> Result<PodSecurityPolicy, String> {
    let missing = |name: &&String| annotations.get(&PodSecurityProfile::annotation(name)).is_none_or(String::is_empty);
    if let Some(name) = profile.variables().iter().find(missing) {
        return Err(format!("the annotation {} of the namespace holds no value", PodSecurityProfile::annotation(name)));
    }
    let tree = yaml::from_json(&profile.policy_for(annotations).unwrap_or_default());
    let root = tree.document(0).ok_or_else(|| "the profile cannot be read".to_owned())?;
    PodSecurityPolicy::read(root).map_err(|problem| problem.message)
}

/// Tells the gate what OpenShift enforces in namespaces that say no level.
fn enforce_defaults(session: &Session<'_>, target: &Target, gate: &mut Gate<'_>) -> Result<(), RunError> {
    let labels = compile::labels(&session.project, target, session.global.options(), &mut Sink::new())?;
    let Some(labels) = labels else { return Ok(()) };
    for (name, place) in gate.places() {
        if let Some(settled) = labels.world().settled(name) {
            let level = settled.enforced.name().to_owned();
            place.labels.entry(Mode::Enforce.label()).or_insert(level);
        }
    }
    Ok(())
}

fn refusal(workload: &Workload, refused: &Refused, place: Origin, target: &Target) -> Diagnostic {
    let (code, by, help) = match refused.by {
        By::Level => (
            Code::RefusedByLevel,
            "the Pod Security level of its namespace refuses",
            "change the pod, or the level of the namespace",
        ),
        By::Policies => (
            Code::RefusedByPolicies,
            "no PodSecurityPolicy that its service account may use admits",
            "change the pod, or grant its service account the use of a policy that admits it",
        ),
        By::Constraints => (
            Code::RefusedByConstraints,
            "no constraints that its service account may use admit",
            "change the pod, or grant its service account the use of constraints that admit it",
        ),
        By::Profile => {
            (Code::RefusedByProfile, "the profile of its namespace refuses", "change the pod, or the profile")
        }
    };
    let what = if workload.is_pod() { "the pod" } else { "the pods of" };
    let name = if workload.is_pod() {
        format!("`{}`", workload.name)
    } else {
        format!("{} `{}`", workload.kind, workload.name)
    };
    let mut diagnostic =
        Diagnostic::warning(code, format!("on `{}`, {by} {what} {name}", target.name)).at(place).help(help);
    for reason in &refused.reasons {
        diagnostic = diagnostic.note(reason.clone());
    }
    diagnostic
}
