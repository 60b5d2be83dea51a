//! Levels and profiles that reject no pod: the stages before the last one of a rollout.

use bailiwick_access::risk::RiskSeverity;
use bailiwick_admission::level::Level;
use bailiwick_admission::standards::labels::PodSecurityMode;
use bailiwick_codes as codes;
use bailiwick_policy::model::{DeclaredProfile, Enforcement, Platform};
use bailiwick_yaml::diag::{Diagnostic, Sink};

use super::selection::Selection;
use super::{LintedTarget, severity};
use crate::pod_inputs::PodInputs;

/// Reports the levels and the profiles of a target that reject no pod.
pub(super) fn check(linted: &LintedTarget<'_>, pods: &PodInputs<'_>, selection: &Selection, sink: &mut Sink) {
    let setting = linted.workspace.project().workspace.diagnostics.of_finding(codes::UNENFORCED_POD_SECURITY);
    let severity = severity(setting, RiskSeverity::High);
    if severity < selection.least() {
        return;
    }
    let findings = levels(linted, pods).into_iter().chain(profiles(linted));
    findings.for_each(|finding| sink.push(finding.labelled(severity.word())));
}

/// Returns the finding about namespaces with levels, and no label to enforce them.
fn levels(linted: &LintedTarget<'_>, pods: &PodInputs<'_>) -> Option<Diagnostic> {
    let stage = &linted.target.pod_security_stage;
    if stage.enforces() {
        return None;
    }
    let (first, level) = pods.objects.known_places().find_map(|(name, place)| {
        let observed = [PodSecurityMode::Audit, PodSecurityMode::Warn].iter().filter_map(|mode| {
            let level = Level::parse(place.labels.get(&mode.label())?)?;
            (level < pods.objects.enforced_level(name, place)?.level).then_some(level)
        });
        Some((name, observed.min()?))
    })?;
    let finding =
        Diagnostic::warning(codes::UNENFORCED_POD_SECURITY, "the Pod Security levels of policies are not enforced")
            .at_maybe(stage.origin)
            .note(format!("such as the level `{level}` of the namespace `{first}`"));
    Some(finding.help("add `enforce` to `modes` when the pods fit their levels"))
}

/// Returns the finding about profiles whose bindings have no `Deny`.
fn profiles(linted: &LintedTarget<'_>) -> Option<Diagnostic> {
    let target = linted.target;
    let stage = &target.pod_security_stage;
    let has_policy = |declared: &&DeclaredProfile| match target.enforcement() {
        Enforcement::AdmissionPolicy => true,
        Enforcement::SecurityContextConstraints => {
            (target.has_policies_beside_constraints() || stage.has_no_policies())
                && declared.profile.is_limited_beside()
        }
        // Levels alone.
        Enforcement::None => true,
        Enforcement::PodSecurityPolicy => false,
    };
    let mut declared = linted.workspace.project().facts.on(&target.name).filter(has_policy);
    let first = declared.next().filter(|_| !stage.denies())?;
    let name = first.profile.name();
    let (message, note, help) = if stage.has_no_policies() && target.platform == Platform::Openshift {
        (
            "the PodSecurityProfiles of policies have no limit but their constraints",
            format!("such as the profile `{name}`: OpenShift before 4.17 has no admission policy for its other limits"),
            "upgrade to OpenShift 4.17, and remove `validationActions: []`",
        )
    } else if stage.has_no_policies() {
        (
            "the PodSecurityProfiles of policies have no limit but the levels of their namespaces",
            format!("such as the profile `{name}`: Kubernetes {} has no admission policy", target.version),
            "upgrade to Kubernetes 1.30, and remove `validationActions: []`",
        )
    } else {
        (
            "the PodSecurityProfiles of policies are not enforced",
            format!("such as the profile `{name}`: its binding has `{}`", stage.action_names().join("`, `")),
            "add `Deny` to `validationActions`, in place of `Warn`, when the pods fit their profiles",
        )
    };
    let finding = Diagnostic::warning(codes::UNENFORCED_POD_SECURITY, message).at_maybe(stage.origin).note(note);
    Some(finding.help(help))
}
