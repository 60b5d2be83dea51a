//! A profile checked by the rules of its PodSecurityPolicy.
//!
//! For an admission policy no server reports an unknown volume type or an inverted range: the expressions would be
//! valid, and reject every pod or none.

use bailiwick_codes as codes;
use bailiwick_kubernetes::validation;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::{self as yaml, NodeRef};

use super::{GroupRule, PodSecurityProfileSpec, ProfileGroupStrategy, SeLinuxRule, level};
use crate::model::{NumberOrVariable, PodSecurityProfile, RawDocument, account_variables};

/// The last minor with PodSecurityPolicy, the source of the rules.
const LAST_WITH_POLICIES: u32 = 24;

/// Fields of a PodSecurityPolicy with another name in a profile.
const FIELDS: [(&str, &str); 12] = [
    ("allowedCapabilities", "capabilities"),
    ("defaultAddCapabilities", "capabilities"),
    ("requiredDropCapabilities", "capabilities"),
    ("allowedHostPaths", "hostPaths"),
    ("allowedUnsafeSysctls", "sysctls"),
    ("forbiddenSysctls", "sysctls"),
    ("allowedProcMountTypes", "procMountTypes"),
    ("allowedFlexVolumes", "flexVolumeDrivers"),
    ("allowedCSIDrivers", "csiDrivers"),
    ("runtimeClass", "runtimeClasses"),
    ("seccomp.security.alpha.kubernetes.io", "seccomp"),
    ("apparmor.security.beta.kubernetes.io", "appArmor"),
];

/// Reports values invalid in a PodSecurityPolicy, and settings that reject every pod.
pub(super) fn check(spec: &PodSecurityProfileSpec, document: &RawDocument<'_>, sink: &mut Sink) {
    check_values(spec, document, sink);
    if matches!(spec.se_linux.rule, SeLinuxRule::MustRunAs) && spec.se_linux.se_linux_options.is_none() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "`seLinux` requires a context, but has no options")
                .at(place(document, "spec.seLinux"))
                .help("add `seLinuxOptions`; only OpenShift uses the options of the namespace as the default"),
        );
    }
}

/// Reports values invalid in a PodSecurityPolicy.
pub(super) fn check_values(spec: &PodSecurityProfileSpec, document: &RawDocument<'_>, sink: &mut Sink) {
    let policy = PodSecurityProfile::filled(level::policy(spec), &|_| Some("1".to_owned()));
    let tree = yaml::from_json(&policy);
    let Some(root) = tree.document(0) else { return };
    let mut errors = Vec::new();
    validation::check(root, None, LAST_WITH_POLICIES, &mut errors);
    for error in errors {
        let remedy = error.help.clone().unwrap_or_else(|| error.kind.remedy().to_owned());
        sink.push(
            Diagnostic::error(codes::INVALID_OBJECT, error.message)
                .at(place(document, &error.path))
                .help(remedy)
                .note(format!("`{}` of the PodSecurityPolicy of the profile", error.path)),
        );
    }
}

/// Warns of settings that are probably unintended, with the advice for a PodSecurityPolicy.
pub(super) fn advise(spec: &PodSecurityProfileSpec, document: &RawDocument<'_>, sink: &mut Sink) {
    let mut warn = |code, field: &str, message: String, help: &str| {
        let origin = place(document, &format!("spec.{field}"));
        sink.push(Diagnostic::warning(code, message).at(origin).help(help));
    };
    let host_path = spec.volumes.iter().any(|kind| matches!(kind.as_str(), "hostPath" | "*"));
    if !spec.host_paths.is_empty() && !host_path {
        let message = "no pod can mount these host paths: `volumes` has no `hostPath`".to_owned();
        let help = "add `hostPath` to the volumes, or remove the paths";
        warn(codes::ALLOWED_HOST_PATHS_WITHOUT_VOLUME, "hostPaths", message, help);
    }
    if host_path && spec.host_paths.is_empty() && !spec.privileged {
        let message = "`hostPath` without a list of paths lets pods mount every path of the node".to_owned();
        let help = "list the paths, or remove `hostPath` from the volumes";
        warn(codes::HOST_PATH_WITHOUT_PATHS, "volumes", message, help);
    }
    let is_a_tenants = !account_variables(document.spec).is_empty();
    let with_root = |strategy: &ProfileGroupStrategy| {
        matches!(strategy.rule, GroupRule::RunAsAny)
            || strategy.ranges.iter().any(|range| range.min == NumberOrVariable::Literal(0))
    };
    let groups = [("supplementalGroups", &spec.supplemental_groups), ("fsGroup", &spec.fs_group)];
    for (field, _) in groups.into_iter().filter(|(_, strategy)| is_a_tenants && with_root(strategy)) {
        let message = format!("`{field}` lets the pods of a tenant join the root group");
        warn(codes::GROUP_RANGE_WITH_ROOT, field, message, "use `MustRunAs` with ranges that begin at 1");
    }
}

/// Returns the field of the profile for a path of the PodSecurityPolicy.
fn place(document: &RawDocument<'_>, path: &str) -> Origin {
    let inside = path.strip_prefix("spec.").unwrap_or(path);
    let field = inside.split(['.', '[']).next().unwrap_or_default();
    let known = FIELDS.iter().find(|(theirs, _)| path.contains(theirs)).map_or(field, |(_, ours)| ours);
    document.spec.get(known).map_or(document.meta.origin, NodeRef::origin)
}
