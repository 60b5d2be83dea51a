//! `PodSecurityProfile`: permissions of pods, for every platform.

mod admission;
mod beside;
mod cel;
mod checks;
mod constraints;
mod defaults;
mod held;
mod judged;
mod level;

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_admission::scc::defaults::role_name;
use bailiwick_codes as codes;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::admission::WrittenProfile;
use self::beside::Limit;
use self::held::Holding;
use super::shared::{RBAC, StringMap};
use crate::model::{
    Blueprint, CommonMetadataSpec, Contribution, Data, DeclaredProfile, DependentPolicy, Enforcement, Kind, Linker,
    NamespaceProfile, NumberOrVariable, ObjectBlueprint, Offer, OutputFileKey, Pattern, Patterns, PodSecurityProfile,
    PodSecurityProfileParts, Policy, PolicyMeta, ProfileAccounts, RawDocument, Shared, Surroundings, Target, Unit,
    account_variables,
};
pub(super) use cel::quoted;

/// The policy kind `PodSecurityProfile`.
pub struct PodSecurityProfileKind;

/// Security settings that pods may use: users and groups, access to the host, volumes.
///
/// The result depends on the target:
///
/// - up to Kubernetes 1.24, a PodSecurityPolicy with the name of the profile;
/// - on OpenShift, SecurityContextConstraints with the name of the profile, and the ClusterRole
///   `system:openshift:scc:<name>` for their use; since 4.17 also a ValidatingAdmissionPolicy with the limits for which
///   constraints have no field;
/// - since Kubernetes 1.30, a ValidatingAdmissionPolicy that rejects everything outside the profile, and since 1.36 a
///   MutatingAdmissionPolicy that sets its defaults. They apply to the namespaces of each NamespaceSet or Tenancy that
///   uses the profile. These namespaces also get the matching Pod Security level.
///
/// On OpenShift, constraints have no field for host paths, ranges of ports, several ranges of user ids, primary groups,
/// groups without a default, CSI drivers, RuntimeClasses and AppArmor. The policy beside them has these limits alone, and
/// applies to the pods of these constraints. OpenShift chooses constraints first: other constraints do not admit a rejected
/// pod, and constraints earlier in the order admit pods without these limits.
/// OpenShift 4.16, and a profile with account variables, report
/// [inexpressible-limit](../diagnostics/inexpressible-limit.md).
///
/// `podSecurity.serviceAccounts` of a namespace sets another profile for single service accounts. The lists of accounts are
/// annotations of the namespace, and the policies of such a profile apply to pods of these accounts alone.
///
/// Several profiles can have the same name, each with its own `targets`: a namespace has the profile of its target.
///
/// A profile with account variables in its texts, such as `"{uid}"`, becomes a PodSecurityPolicy, or constraints, for
/// each tenant of the Tenancy that uses it. Its admission policy stays a single object and reads the variables from
/// annotations of the namespaces. Everything without permission in the profile is forbidden.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: PodSecurityProfile
/// metadata:
///   name: tenant
/// spec:
///   allowPrivilegeEscalation: false
///   runAsUser: {rule: MustRunAs, ranges: [{min: "{uid}", max: "{uid}"}]}
///   fsGroup: {rule: MustRunAs, ranges: [{min: 1, max: 65535}]}
///   supplementalGroups: {rule: MustRunAs, ranges: [{min: 1, max: 65535}]}
///   seLinux: {rule: RunAsAny}
///   volumes: [configMap, emptyDir, secret]
/// ```
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PodSecurityProfileSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default, skip_serializing)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default, skip_serializing)]
    pub common_metadata: CommonMetadataSpec,
    /// Labels of the emitted object.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the emitted object, beside those the profile itself needs.
    #[serde(default, skip_serializing)]
    pub annotations: StringMap,
    /// Whether containers may be privileged: all capabilities, all devices.
    #[serde(default)]
    pub privileged: bool,
    /// Whether pods may use the node's network.
    #[serde(default)]
    pub host_network: bool,
    /// Whether pods may see the node's processes.
    #[serde(default, rename = "hostPID")]
    pub host_pid: bool,
    /// Whether pods may use the node's inter-process communication.
    #[serde(default, rename = "hostIPC")]
    pub host_ipc: bool,
    /// Ports of the node that containers may bind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_ports: Vec<Range>,
    /// Whether a process may gain more privileges than its parent. Default: the default of the platform, true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_privilege_escalation: Option<bool>,
    /// The default of `allowPrivilegeEscalation` for containers without the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_allow_privilege_escalation: Option<bool>,
    /// Whether the root file system of every container has to be read-only.
    #[serde(default)]
    pub read_only_root_filesystem: bool,
    /// Linux capabilities.
    #[serde(default)]
    pub capabilities: ProfileCapabilities,
    /// Types of volumes for pods, in the spelling of PodSecurityPolicy; `*` allows all types.
    #[serde(default)]
    pub volumes: Vec<String>,
    /// The only paths of the node for hostPath volumes. Requires `hostPath` in `volumes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_paths: Vec<ProfileHostPath>,
    /// User ids of containers.
    pub run_as_user: UserStrategy,
    /// Primary group ids of containers. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as_group: Option<ProfileGroupStrategy>,
    /// The group of the volumes of a pod.
    pub fs_group: ProfileGroupStrategy,
    /// Further group ids.
    pub supplemental_groups: ProfileGroupStrategy,
    /// SELinux context.
    pub se_linux: ProfileSeLinuxStrategy,
    /// Seccomp profiles of containers.
    #[serde(default, skip_serializing)]
    pub seccomp: Option<SyscallProfiles>,
    /// AppArmor profiles of containers.
    #[serde(default, skip_serializing)]
    pub app_armor: Option<SyscallProfiles>,
    /// Kernel parameters.
    #[serde(default)]
    pub sysctls: Sysctls,
    /// Allowed FlexVolume drivers. Default: all drivers, if `volumes` allows flexVolume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flex_volume_drivers: Vec<String>,
    /// Allowed CSI drivers of inline volumes. Default: all drivers, if `volumes` allows csi.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub csi_drivers: Vec<String>,
    /// Ways to mount /proc beside the default one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proc_mount_types: Vec<String>,
    /// Allowed RuntimeClasses of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_classes: Option<RuntimeClasses>,
    /// Settings that only SecurityContextConstraints have.
    #[serde(default, skip_serializing)]
    pub openshift: OpenshiftPart,
}

/// Settings that only SecurityContextConstraints have.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OpenshiftPart {
    /// Constraints with a higher priority are tried first. Default: 0, the priority of the constraints of the platform
    /// except `anyuid`.
    #[serde(default)]
    pub priority: Option<i32>,
    /// Whether pods have to bring a user namespace of their own, since 4.20.
    #[serde(default)]
    pub user_namespace: Option<UserNamespace>,
}

/// Whether pods have to bring a user namespace of their own.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UserNamespace {
    /// They may use the node's.
    Optional,
    /// They have to set `hostUsers: false`.
    Required,
}

impl UserNamespace {
    /// Returns the value of `userNamespaceLevel`.
    fn constraint(self) -> &'static str {
        match self {
            UserNamespace::Optional => "AllowHostLevel",
            UserNamespace::Required => "RequirePodLevel",
        }
    }
}

/// Numbers from `min` to `max`, both included.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The least.
    pub min: NumberOrVariable,
    /// The most.
    pub max: NumberOrVariable,
}

/// Linux capabilities, without the `CAP_` in front.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Capabilities")]
pub struct ProfileCapabilities {
    /// Capabilities that containers may add to the default set of the runtime; `*` allows all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// Capabilities that every container gets unless it drops them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_add: Vec<String>,
    /// Capabilities that every container drops; `ALL` for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_drop: Vec<String>,
}

/// A path of the node.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "HostPath")]
pub struct ProfileHostPath {
    /// The path; it and everything below it may be mounted.
    pub path_prefix: String,
    /// Whether it may be mounted read-only and not otherwise.
    #[serde(default)]
    pub read_only: bool,
}

/// How a user id is chosen.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserStrategy {
    /// The strategy for user ids.
    pub rule: UserRule,
    /// The allowed ids; the first one is the default. Without ranges, OpenShift uses the range of the pod's namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<Range>,
}

/// Rules for user ids.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub enum UserRule {
    /// One of the ranges.
    MustRunAs,
    /// Any but root.
    MustRunAsNonRoot,
    /// Every user id.
    RunAsAny,
}

/// How a group id is chosen.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GroupStrategy")]
pub struct ProfileGroupStrategy {
    /// The strategy for group ids.
    pub rule: GroupRule,
    /// The allowed ids; the first one is the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<Range>,
}

/// Rules for group ids.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub enum GroupRule {
    /// An id in one of the ranges, with a default.
    MustRunAs,
    /// An id in one of the ranges, without a default.
    MayRunAs,
    /// Every group id.
    RunAsAny,
}

/// How the SELinux context is chosen.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "SeLinuxStrategy")]
pub struct ProfileSeLinuxStrategy {
    /// The strategy for SELinux contexts.
    pub rule: SeLinuxRule,
    /// The context required by `MustRunAs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub se_linux_options: Option<ProfileSeLinuxOptions>,
}

/// Rules for the SELinux context.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub enum SeLinuxRule {
    /// The context given.
    MustRunAs,
    /// Every SELinux context.
    RunAsAny,
}

/// An SELinux context.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SeLinuxOptions")]
pub struct ProfileSeLinuxOptions {
    /// SELinux user label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// SELinux role label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// SELinux type label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// SELinux level label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
}

/// Profiles of seccomp or AppArmor, as pods name them: `RuntimeDefault`, `Unconfined`, `Localhost/profile`, or `*`
/// for any.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyscallProfiles {
    /// Profiles that pods may set.
    pub allowed: Vec<String>,
    /// The default for pods without a profile.
    #[serde(default)]
    pub default: Option<String>,
}

/// Kernel parameters that pods may set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Sysctls {
    /// Allowed unsafe sysctls: names, or prefixes that end in `*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_unsafe: Vec<String>,
    /// Forbidden safe sysctls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<String>,
}

/// RuntimeClasses that pods may use.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuntimeClasses {
    /// Their names; `*` for any.
    pub allowed: Vec<String>,
    /// The default for pods without a RuntimeClass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Returns the annotations of a PodSecurityPolicy for seccomp and AppArmor profiles.
fn profile_annotations(spec: &PodSecurityProfileSpec) -> StringMap {
    let mut annotations = spec.annotations.clone();
    let sources = [
        ("seccomp.security.alpha.kubernetes.io", &spec.seccomp),
        ("apparmor.security.beta.kubernetes.io", &spec.app_armor),
    ];
    for (prefix, profiles) in sources {
        let Some(profiles) = profiles else { continue };
        let allowed: Vec<String> = profiles.allowed.iter().map(|name| annotation_value(name)).collect();
        // AppArmor has no name for all profiles: without the annotation, all of them are allowed.
        let is_any = prefix.starts_with("apparmor") && allowed.iter().any(|name| name == "*");
        if !is_any {
            annotations.insert(format!("{prefix}/allowedProfileNames"), allowed.join(","));
        }
        if let Some(default) = &profiles.default {
            annotations.insert(format!("{prefix}/defaultProfileName"), annotation_value(default));
        }
    }
    annotations
}

/// Converts the name of a profile to the spelling of the annotations; they are older than the fields of pods.
fn annotation_value(name: &str) -> String {
    match name {
        "RuntimeDefault" => "runtime/default".to_owned(),
        "DockerDefault" => "docker/default".to_owned(),
        "Unconfined" => "unconfined".to_owned(),
        other => other.strip_prefix("Localhost/").map_or_else(|| other.to_owned(), |path| format!("localhost/{path}")),
    }
}

const PSP_TEMPLATE: &str = "pod-security-profile/podsecuritypolicy.yaml.j2";
const SCC_TEMPLATE: &str = "pod-security-profile/securitycontextconstraints.yaml.j2";

impl Offer for PodSecurityProfile {
    const KIND: &'static str = PodSecurityProfileKind::NAME;
}

impl Kind for PodSecurityProfileKind {
    type Spec = PodSecurityProfileSpec;

    const NAME: &'static str = "PodSecurityProfile";
    const TEMPLATES: &'static [&'static str] = &[
        "pod-security-profile/clusterrole.yaml.j2",
        "pod-security-profile/mutatingadmissionpolicy.yaml.j2",
        "pod-security-profile/mutatingadmissionpolicybinding.yaml.j2",
        PSP_TEMPLATE,
        SCC_TEMPLATE,
        "pod-security-profile/validatingadmissionpolicy.yaml.j2",
        "pod-security-profile/validatingadmissionpolicybinding.yaml.j2",
    ];
    const PATTERNS: Patterns = Patterns::Open;

    fn link(
        document: &RawDocument<'_>,
        spec: PodSecurityProfileSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let meta = document.meta.clone();
        let targets = linker.targets_of(&meta);
        let variables = account_variables(document.spec);
        let is_on = |enforcement| targets.iter().any(|target| target.enforcement() == enforcement);
        let constraints = if is_on(Enforcement::SecurityContextConstraints) {
            Blueprint::from_value(&constraints::constraints(&spec, document, &targets, sink))
        } else {
            Blueprint::Constant(Data::Null)
        };
        check_policies(&meta, &targets, sink);
        check_ranges(&spec, document, &targets, sink);
        check_defaults(&spec, document, sink);
        if is_on(Enforcement::AdmissionPolicy) {
            judged::check(&spec, document, sink);
            // The advice for the PodSecurityPolicy covers this target, too.
            if !is_on(Enforcement::PodSecurityPolicy) {
                judged::advise(&spec, document, sink);
            }
            refuse_variables_in_metadata(&spec, document, sink);
        }
        let limits = if is_on(Enforcement::SecurityContextConstraints) { Limit::of(&spec) } else { Vec::new() };
        beside::check(&limits, &spec, document, &targets, sink);
        let defaults = admission::filled_in(&spec, &variables, &targets);
        defaults_not_set(&spec, &meta, &targets).into_iter().for_each(|warning| sink.push(warning));
        let profile = Arc::new(PodSecurityProfile::new(PodSecurityProfileParts {
            name: meta.name.to_string(),
            variables: variables.clone(),
            numbers: cel::numbers(checks::ranges(&spec)),
            labels: Blueprint::from_value(&spec.labels),
            annotations: Blueprint::from_value(&profile_annotations(&spec)),
            profile: Blueprint::from_value(&spec),
            constraints,
            is_limited_beside: !limits.is_empty(),
            defaults_by_account: Holding::ByAccount.defaults(&meta.name, &defaults),
            defaults,
            level: (is_on(Enforcement::AdmissionPolicy) || is_on(Enforcement::None)).then(|| level::level(&spec)),
        }));
        let content = document.spec.origin();
        let mut by_account = ByAccount::default();
        let mut objects =
            if profile.needs_account() { Vec::new() } else { own_objects(&profile, &spec, &meta, content) };
        let written = WrittenProfile { spec: &spec, meta: &meta, variables: &variables, targets: &targets, content };
        let limiting = beside::objects(&limits, written).into_iter();
        objects.extend(limiting.map(|object| (Enforcement::SecurityContextConstraints, object)));
        if is_on(Enforcement::AdmissionPolicy) {
            let own = admission::objects(Holding::Every, written).into_iter();
            objects.extend(own.map(|object| (Enforcement::AdmissionPolicy, object)));
            by_account.objects = admission::objects(Holding::ByAccount, written);
            by_account.bindings = admission::account_bindings(&by_account.objects, &meta);
        }
        share(profile, variables, &meta, linker);
        Some(Box::new(Linked { meta, objects, by_account }))
    }
}

/// Returns the fields of the spec of a profile with a limit that SecurityContextConstraints have no field for. A spec of another shape
/// has none.
pub fn limits_beside_constraints(spec: &serde_json::Value) -> Vec<&'static str> {
    let spec = PodSecurityProfileSpec::deserialize(spec);
    spec.map_or_else(|_| Vec::new(), |spec| Limit::of(&spec).into_iter().map(Limit::field).collect())
}

/// Offers a profile to other policies.
fn share(profile: Arc<PodSecurityProfile>, variables: Vec<String>, meta: &PolicyMeta, linker: &mut Linker<'_>) {
    linker.facts.push(DeclaredProfile { profile: Arc::clone(&profile), policy: meta.clone() });
    let stands_alone = variables.is_empty();
    linker.offers.add(Shared { meta: meta.clone(), content: profile, variables, stands_alone });
}

/// Builds the PodSecurityPolicy and the constraints with the name of a profile.
fn own_objects(
    profile: &PodSecurityProfile,
    spec: &PodSecurityProfileSpec,
    meta: &PolicyMeta,
    content: Origin,
) -> Vec<(Enforcement, ObjectBlueprint)> {
    let name = meta.name.replace('{', "{{").replace('}', "}}");
    let metadata = |object: ObjectBlueprint| {
        let (labels, annotations) = (Blueprint::from_value(&spec.labels), Blueprint::from_value(&spec.annotations));
        object.with("labels", labels).with("annotations", annotations)
    };
    let policy = profile.pod_security_policy(PSP_TEMPLATE, &name, meta.origin, content);
    let constraints = profile.security_context_constraints(SCC_TEMPLATE, &name, meta.origin, content);
    let role = user_role(&name, meta.origin, content);
    vec![
        (Enforcement::PodSecurityPolicy, policy),
        (Enforcement::SecurityContextConstraints, metadata(constraints)),
        (Enforcement::SecurityContextConstraints, metadata(role)),
    ]
}

/// Builds the ClusterRole for the use of constraints, with the name that OpenShift uses for its own.
fn user_role(name: &str, asked: Origin, content: Origin) -> ObjectBlueprint {
    let template = "pod-security-profile/clusterrole.yaml.j2";
    let role = Pattern::parse_checked(&role_name(name));
    ObjectBlueprint::new(RBAC, "ClusterRole", template, role, asked)
        .with("constraints", Blueprint::from_value(&name))
        .content_at(content)
}

/// Reports a target without policies for profiles, unless the target states that levels are enough.
fn check_policies(meta: &PolicyMeta, targets: &[Target], sink: &mut Sink) {
    let is_refused =
        |target: &&Target| target.enforcement() == Enforcement::None && !target.pod_security_stage.has_no_policies();
    if let Some(target) = targets.iter().find(is_refused) {
        sink.push(unenforceable(meta, target));
    }
}

/// Returns the diagnostic for Kubernetes 1.25 to 1.29, with neither PodSecurityPolicy nor admission policies.
fn unenforceable(meta: &PolicyMeta, target: &Target) -> Diagnostic {
    let message = if target.version.minor() <= 24 {
        format!("the target `{}` does not have PodSecurityPolicy", target.name)
    } else {
        "policy/v1beta1 PodSecurityPolicy is not served since 1.25".to_owned()
    };
    Diagnostic::error(codes::POD_SECURITY_POLICY_REMOVED, message)
        .at(meta.origin)
        .help("choose PSa labels plus a validating policy, or exclude the target with `targets`")
        .help("write `podSecurity: {validationActions: []}` at the target for the levels of profiles alone")
        .note(format!(
            "the target `{}` runs Kubernetes {}, but ValidatingAdmissionPolicy needs 1.30",
            target.name, target.version
        ))
}

/// Returns the warning about targets that set no defaults: neither PodSecurityPolicies nor constraints, and no
/// MutatingAdmissionPolicy.
fn defaults_not_set(spec: &PodSecurityProfileSpec, meta: &PolicyMeta, targets: &[Target]) -> Option<Diagnostic> {
    let sets_none = |target: &&Target| {
        let has_policies = matches!(target.enforcement(), Enforcement::AdmissionPolicy | Enforcement::None);
        has_policies && target.mutating_admission_policy().is_none() && admission::has_defaults(spec, target)
    };
    let without: Vec<&Target> = targets.iter().filter(sets_none).collect();
    let (first, version) = without.first().map(|target| (&target.name, target.version))?;
    let more = without.len() - 1;
    let more = if more > 0 { format!(" and {more} more targets") } else { String::new() };
    let message = format!("`{first}`{more} does not set the defaults of the profile `{}`", meta.name);
    let note = format!(
        "Kubernetes {version} has no MutatingAdmissionPolicy; it is on by default since 1.36, and `features` can turn it on since 1.34"
    );
    let help = "set the fields in workloads; `bailiwick migrate psp --plan` writes patches, and `bailiwick migrate verify` finds the pods";
    Some(Diagnostic::warning(codes::DEFAULTS_NOT_SET, message).at(meta.origin).note(note).help(help))
}

/// Reports missing ranges: only OpenShift has a range of the namespace.
fn check_ranges(spec: &PodSecurityProfileSpec, document: &RawDocument<'_>, targets: &[Target], sink: &mut Sink) {
    let is_empty = |rule_needs_one: bool, ranges: &[Range]| rule_needs_one && ranges.is_empty();
    let group =
        |strategy: &ProfileGroupStrategy| is_empty(!matches!(strategy.rule, GroupRule::RunAsAny), &strategy.ranges);
    let missing = [
        ("runAsUser", is_empty(matches!(spec.run_as_user.rule, UserRule::MustRunAs), &spec.run_as_user.ranges)),
        ("runAsGroup", spec.run_as_group.as_ref().is_some_and(group)),
        ("fsGroup", group(&spec.fs_group)),
        ("supplementalGroups", group(&spec.supplemental_groups)),
    ];
    let Some(target) = targets.iter().find(|target| target.enforcement() == Enforcement::AdmissionPolicy) else {
        return;
    };
    for (field, _) in missing.into_iter().filter(|(_, is_missing)| *is_missing) {
        let place = document.spec.get(field).map_or(document.meta.origin, NodeRef::origin);
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, format!("`{field}` has no ranges, so no pod is admitted"))
                .at(place)
                .help("add `ranges`; only OpenShift uses the ranges of the namespace as the default")
                .note(format!("the target `{}` runs Kubernetes {}", target.name, target.version)),
        );
    }
}

/// Reports a default syscall profile outside the allowed ones.
fn check_defaults(spec: &PodSecurityProfileSpec, document: &RawDocument<'_>, sink: &mut Sink) {
    for (field, profiles) in [("seccomp", &spec.seccomp), ("appArmor", &spec.app_armor)] {
        let Some(SyscallProfiles { allowed, default: Some(default) }) = profiles else { continue };
        if !allowed.iter().any(|name| name == "*" || annotation_value(name) == annotation_value(default)) {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("the default `{default}` is not allowed"))
                    .at(document.spec.get(field).map_or(document.meta.origin, NodeRef::origin))
                    .help("add it to `allowed`, or choose an allowed default: pods without a value would be rejected"),
            );
        }
    }
}

/// Rejects variables in metadata: an admission policy is one object for all accounts.
fn refuse_variables_in_metadata(spec: &PodSecurityProfileSpec, document: &RawDocument<'_>, sink: &mut Sink) {
    for (field, map) in [("labels", &spec.labels), ("annotations", &spec.annotations)] {
        if Blueprint::from_value(map).needs_account() {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("`{field}` differ between accounts"))
                    .at(document.spec.get(field).map_or(document.meta.origin, NodeRef::origin))
                    .help("an admission policy is one object for all accounts; remove the variables"),
            );
        }
    }
}

struct Linked {
    meta: PolicyMeta,
    /// The objects, each with its enforcement.
    objects: Vec<(Enforcement, ObjectBlueprint)>,
    by_account: ByAccount,
}

/// The admission policies of a profile that applies to some service accounts of a namespace.
#[derive(Default)]
struct ByAccount {
    /// The objects in place of the others.
    objects: Vec<ObjectBlueprint>,
    /// The further bindings, for namespaces that list service accounts for the profile.
    bindings: Vec<ObjectBlueprint>,
    /// The targets with such a namespace.
    targets: BTreeSet<String>,
    /// The targets with a namespace that lists service accounts for the profile.
    listed: BTreeSet<String>,
}

impl Linked {
    fn objects<'l>(&'l self, target: &'l Target) -> Vec<&'l ObjectBlueprint> {
        let judges = target.enforcement() == Enforcement::AdmissionPolicy;
        let mut chosen: Vec<&ObjectBlueprint> = Vec::new();
        if judges && self.by_account.targets.contains(&target.name) {
            chosen.extend(&self.by_account.objects);
            chosen.extend(self.by_account.bindings.iter().filter(|_| self.by_account.listed.contains(&target.name)));
        } else {
            let own = self.objects.iter().filter(|(enforcement, _)| *enforcement == target.enforcement());
            chosen.extend(own.map(|(_, object)| object));
        }
        chosen.retain(|object| admission::is_served(object, target));
        chosen
    }
}

impl DependentPolicy for Linked {
    fn needs_namespaces(&self) -> bool {
        false
    }

    /// Finds the targets where the profile applies to some service accounts of a namespace.
    fn settle(&mut self, surroundings: &mut Surroundings<'_, '_>, _: &mut Sink) {
        for used in surroundings.linker.facts.all().filter(|used: &&NamespaceProfile| used.profile == *self.meta.name) {
            let by_account = &mut self.by_account;
            match used.accounts {
                ProfileAccounts::All => continue,
                ProfileAccounts::Others => {}
                ProfileAccounts::Listed => by_account.listed.extend(used.targets.iter().cloned()),
            }
            by_account.targets.extend(used.targets.iter().cloned());
        }
    }
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn as_dependent(&mut self) -> Option<&mut dyn DependentPolicy> {
        Some(self)
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        if !self.objects(target).is_empty() {
            visit(OutputFileKey::Cluster, 0);
        }
    }

    fn expand(&self, target: &Target, _: &OutputFileKey, _: Contribution, units: &mut Vec<Unit>) {
        units.extend(self.objects(target).into_iter().map(|object| object.fill(target, None, None)));
    }
}
