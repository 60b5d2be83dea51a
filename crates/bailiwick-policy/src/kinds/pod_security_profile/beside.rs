//! Limits without a field in SecurityContextConstraints, as an admission policy beside them: OpenShift since 4.17.
//!
//! The policy has these limits alone, and applies to the pods of the constraints of the profile. Admission by constraints
//! writes their name into an annotation of the pod (`pkg/securitycontextconstraints/sccadmission/admission.go` of
//! openshift/apiserver-library-go), in place of a value of the author, and runs before validating policies. Other constraints do
//! not admit a rejected pod.

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, Sink};

use super::admission::{self, WrittenProfile};
use super::cel::quoted;
use super::checks;
use super::judged;
use super::{GroupRule, PodSecurityProfileSpec, ProfileGroupStrategy, Range, UserRule};
use crate::model::{
    Blueprint, Data, Enforcement, NumberOrVariable, ObjectBlueprint, PodSecurityProfile, RawDocument, Target,
    account_variables,
};

/// A limit without a field in the constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    HostPorts,
    HostPaths,
    UserRanges,
    RunAsGroup,
    FsGroup,
    SupplementalGroups,
    CsiDrivers,
    RuntimeClasses,
    AppArmor,
}

impl Limit {
    /// Returns the limits of a profile.
    pub(super) fn of(spec: &PodSecurityProfileSpec) -> Vec<Self> {
        let every_port =
            |range: &Range| range.min == NumberOrVariable::Literal(0) && range.max == NumberOrVariable::Literal(65535);
        let any_group = spec.run_as_group.as_ref().is_none_or(|strategy| matches!(strategy.rule, GroupRule::RunAsAny));
        let may = |strategy: &ProfileGroupStrategy| matches!(strategy.rule, GroupRule::MayRunAs);
        let limits = [
            (Self::HostPorts, !spec.host_ports.is_empty() && !spec.host_ports.iter().any(every_port)),
            (Self::HostPaths, !spec.host_paths.is_empty()),
            (Self::UserRanges, user_ranges(spec).len() > 1 && whole_range(user_ranges(spec)).is_some()),
            (Self::RunAsGroup, !any_group),
            (Self::FsGroup, may(&spec.fs_group)),
            (Self::SupplementalGroups, may(&spec.supplemental_groups)),
            (Self::CsiDrivers, !spec.csi_drivers.is_empty()),
            (Self::RuntimeClasses, spec.runtime_classes.is_some()),
            (Self::AppArmor, spec.app_armor.is_some()),
        ];
        limits.into_iter().filter(|(_, is_set)| *is_set).map(|(limit, _)| limit).collect()
    }

    /// Returns the field of the profile.
    pub(super) fn field(self) -> &'static str {
        self.words().0
    }

    /// Returns the field of the profile, and what the constraints lack in words.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::HostPorts => ("hostPorts", "cannot limit ports of the node"),
            Self::HostPaths => ("hostPaths", "cannot limit host paths"),
            Self::UserRanges => ("runAsUser", "have one range of user ids"),
            Self::RunAsGroup => ("runAsGroup", "cannot limit primary groups"),
            Self::FsGroup => ("fsGroup", "cannot limit groups without a default"),
            Self::SupplementalGroups => ("supplementalGroups", "cannot limit groups without a default"),
            Self::CsiDrivers => ("csiDrivers", "cannot limit CSI drivers"),
            Self::RuntimeClasses => ("runtimeClasses", "cannot limit RuntimeClasses"),
            Self::AppArmor => ("appArmor", "cannot limit AppArmor profiles"),
        }
    }
}

/// Returns the ranges of user ids that containers must have.
fn user_ranges(spec: &PodSecurityProfileSpec) -> &[Range] {
    if matches!(spec.run_as_user.rule, UserRule::MustRunAs) { &spec.run_as_user.ranges } else { &[] }
}

/// Returns the range of the constraints for some ranges: all ids from the least to the greatest one. None with a variable.
pub(super) fn whole_range(ranges: &[Range]) -> Option<(i64, i64)> {
    let number = |bound: &NumberOrVariable| match bound {
        NumberOrVariable::Literal(number) => Some(*number),
        NumberOrVariable::Variable(_) => None,
    };
    let bounds: Option<Vec<(i64, i64)>> =
        ranges.iter().map(|one| Some((number(&one.min)?, number(&one.max)?))).collect();
    let bounds = bounds?;
    Some((bounds.iter().map(|one| one.0).min()?, bounds.iter().map(|one| one.1).max()?))
}

/// Checks the limits of a profile: no policy beside the constraints can have them on an older OpenShift, or with account
/// variables.
pub(super) fn check(
    limits: &[Limit],
    spec: &PodSecurityProfileSpec,
    document: &RawDocument<'_>,
    targets: &[Target],
    sink: &mut Sink,
) {
    if limits.is_empty() {
        return;
    }
    judged::check_values(spec, document, sink);
    let has_constraints = |target: &&Target| target.enforcement() == Enforcement::SecurityContextConstraints;
    // Such a target states that the constraints are enough.
    if targets.iter().filter(has_constraints).all(|target| target.pod_security_stage.has_no_policies()) {
        return;
    }
    let is_old = |target: &&Target| {
        has_constraints(target)
            && !target.has_policies_beside_constraints()
            && !target.pod_security_stage.has_no_policies()
    };
    let old = targets.iter().find(is_old);
    let reason = match (old, account_variables(document.spec).first()) {
        (Some(target), _) => {
            format!("an admission policy beside them needs OpenShift 4.17, and the target `{}` is older", target.name)
        }
        (None, Some(variable)) => {
            format!("an admission policy beside them cannot have the account variable `{variable}` of the profile")
        }
        (None, None) => return,
    };
    for (field, what) in limits.iter().map(|limit| limit.words()) {
        let place = document.spec.get(field).map_or(document.meta.origin, |node| node.origin());
        let message = format!("SecurityContextConstraints {what}");
        let diagnostic = Diagnostic::error(codes::INEXPRESSIBLE_LIMIT, message).at(place).note(reason.clone());
        let diagnostic =
            diagnostic.help("exclude the OpenShift targets with `targets`, and write a separate profile for them");
        sink.push(match old {
            Some(_) => {
                diagnostic.help("write `podSecurity: {validationActions: []}` at the target for constraints alone")
            }
            None => diagnostic,
        });
    }
}

/// Builds the admission policy with the limits, and its binding.
pub(super) fn objects(limits: &[Limit], profile: WrittenProfile<'_>) -> Vec<ObjectBlueprint> {
    if limits.is_empty() {
        return Vec::new();
    }
    let has_policy = |target: &&Target| target.has_policies_beside_constraints();
    let each = profile.targets.iter().filter(has_policy).map(|target| {
        let found = checks::of_limits(limits, profile.spec, target);
        let found = found.into_iter().map(|check| check.data(&profile.meta.name));
        (target.name.clone(), Blueprint::Constant(Data::List(found.collect())))
    });
    let checks = Blueprint::by_target(each.collect());
    let annotation = format!("object.metadata.?annotations[?{}].orValue('')", quoted(PodSecurityProfile::CONSTRAINTS));
    let admitted = format!("{annotation} == {}", quoted(&profile.meta.name));
    let objects = admission::validating(profile, checks, Blueprint::Constant(checks::variables()));
    objects.into_iter().map(|object| object.with("admitted", Blueprint::Constant(Data::text(&*admitted)))).collect()
}
