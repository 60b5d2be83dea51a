//! A profile as the checks of a ValidatingAdmissionPolicy.
//!
//! Each check accepts exactly the pods that PodSecurityPolicy accepts for the same field
//! (`pkg/security/podsecuritypolicy` of Kubernetes 1.24). Annotations in that code are replaced by the present fields.

use bailiwick_admission::psp::SAFE_SYSCTLS;

use super::admission;
use super::beside::Limit;
use super::cel::{Cel, numbers, quoted, variable_name};
use super::{
    GroupRule, PodSecurityProfileSpec, ProfileCapabilities, ProfileGroupStrategy, ProfileHostPath,
    ProfileSeLinuxOptions, Range, RuntimeClasses, SeLinuxRule, SyscallProfiles, Sysctls, UserRule, UserStrategy,
    annotation_value,
};
use crate::model::{Data, PodSecurityProfile, Target};

/// A condition on pods, and the message for other pods.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) expression: String,
    pub(super) message: String,
}

/// Every container of a pod. The three lists have three types; `dyn` makes them compatible.
pub(super) const CONTAINERS: &str = "dyn(object.spec.containers) + \
     dyn(has(object.spec.initContainers) ? object.spec.initContainers : []) + \
     dyn(has(object.spec.ephemeralContainers) ? object.spec.ephemeralContainers : [])";

/// The volumes of a pod.
const VOLUMES: &str = "object.spec.?volumes.orValue([])";

impl Check {
    /// Returns the validation of a profile.
    pub(super) fn data(self, profile: &str) -> Data {
        let message = format!("pod security profile {profile}: {}", self.message);
        Data::map([("expression", Data::text(self.expression)), ("message", Data::text(message))])
    }
}

/// Returns the variables that checks use.
pub(super) fn variables() -> Data {
    Data::List([admission::variable("containers", CONTAINERS.to_owned())].into_iter().collect())
}

/// Returns the expression for a field of a container's security context, with the pod's field as default.
pub(super) fn effective(field: &str) -> String {
    format!("c.?securityContext.?{field}.or(object.spec.?securityContext.?{field})")
}

/// Returns the checks of a profile; `variables` are its account variables.
pub(super) fn checks(spec: &PodSecurityProfileSpec, variables: &[String], target: &Target) -> Vec<Check> {
    let mut checks = Checks { cel: Cel::new(target), found: Vec::new() };
    checks.account(spec, variables);
    checks.host(spec);
    checks.users(&spec.run_as_user);
    if let Some(strategy) = &spec.run_as_group {
        checks.primary_groups(strategy);
    }
    checks.pod_groups(spec);
    checks.se_linux(spec);
    checks.privileges(spec);
    checks.capabilities(&spec.capabilities);
    checks.volumes(spec);
    checks.seccomp(spec.seccomp.as_ref());
    if let Some(profiles) = &spec.app_armor {
        checks.app_armor(profiles);
    }
    checks.sysctls(&spec.sysctls);
    if let Some(classes) = &spec.runtime_classes {
        checks.runtime_classes(classes);
    }
    checks.found
}

/// Returns the checks of single limits of a profile without account variables.
pub(super) fn of_limits(limits: &[Limit], spec: &PodSecurityProfileSpec, target: &Target) -> Vec<Check> {
    let mut checks = Checks { cel: Cel::new(target), found: Vec::new() };
    for limit in limits {
        match limit {
            Limit::HostPorts => checks.host_ports(&spec.host_ports),
            Limit::HostPaths => checks.host_paths(&spec.host_paths),
            Limit::UserRanges => checks.users(&spec.run_as_user),
            Limit::RunAsGroup => spec.run_as_group.iter().for_each(|strategy| checks.primary_groups(strategy)),
            Limit::FsGroup => checks.fs_group(&spec.fs_group),
            Limit::SupplementalGroups => checks.supplemental_groups(&spec.supplemental_groups),
            Limit::CsiDrivers => checks.csi_drivers(&spec.csi_drivers),
            Limit::RuntimeClasses => spec.runtime_classes.iter().for_each(|classes| checks.runtime_classes(classes)),
            Limit::AppArmor => spec.app_armor.iter().for_each(|profiles| checks.app_armor(profiles)),
        }
    }
    checks.found
}

struct Checks<'t> {
    cel: Cel<'t>,
    found: Vec<Check>,
}

impl Checks<'_> {
    fn add(&mut self, expression: impl Into<String>, message: impl Into<String>) {
        self.found.push(Check { expression: expression.into(), message: message.into() });
    }

    fn each_container(&mut self, condition: &str, message: &str) {
        self.add(format!("variables.containers.all(c, {condition})"), message);
    }

    /// Rejects all pods of a namespace without the annotations: their limits would be missing.
    fn account(&mut self, spec: &PodSecurityProfileSpec, variables: &[String]) {
        let whole = numbers(ranges(spec));
        for name in variables {
            let variable = variable_name(name);
            let (condition, what) = if whole.contains(name) {
                (format!("variables.{variable}.matches('^[0-9]{{1,18}}$')"), "number")
            } else {
                (format!("variables.{variable} != ''"), "value")
            };
            self.add(
                condition,
                format!("the annotation {} of the namespace holds no {what}", PodSecurityProfile::annotation(name)),
            );
        }
    }

    fn host(&mut self, spec: &PodSecurityProfileSpec) {
        let shared = [
            (spec.host_network, "hostNetwork", "the node's network"),
            (spec.host_pid, "hostPID", "the node's processes"),
            (spec.host_ipc, "hostIPC", "the node's inter-process communication"),
        ];
        for (_, field, what) in shared.iter().filter(|(allowed, ..)| !allowed) {
            self.add(format!("!object.spec.?{field}.orValue(false)"), format!("{what} may not be used"));
        }
        self.host_ports(&spec.host_ports);
    }

    fn host_ports(&mut self, ranges: &[Range]) {
        let ports = "c.?ports.orValue([])";
        let in_ranges = match ranges {
            [] => String::new(),
            ranges => format!(" || {}", self.cel.in_ranges("p.hostPort", ranges)),
        };
        let condition = format!("{ports}.all(p, p.?hostPort.orValue(0) == 0{in_ranges})");
        self.each_container(&condition, "a port of the node is not allowed");
    }

    fn users(&mut self, strategy: &UserStrategy) {
        let user = effective("runAsUser");
        match strategy.rule {
            UserRule::RunAsAny => {}
            UserRule::MustRunAs => {
                let condition = format!("[{user}.orValue(-1)].all(id, {})", self.cel.in_ranges("id", &strategy.ranges));
                self.each_container(&condition, "runAsUser is not in the ranges");
            }
            UserRule::MustRunAsNonRoot => {
                let non_root = effective("runAsNonRoot");
                let condition = format!(
                    "{non_root}.orValue(true) && {user}.orValue(1) != 0 && ({non_root}.hasValue() || {user}.hasValue())"
                );
                self.each_container(&condition, "containers may not run as root");
            }
        }
    }

    fn primary_groups(&mut self, strategy: &ProfileGroupStrategy) {
        if let Some(condition) = self.group_condition(strategy) {
            let condition = format!("[{}.orValue(-1)].all(id, {condition})", effective("runAsGroup"));
            self.each_container(&condition, "runAsGroup is not in the ranges");
        }
    }

    /// Returns the condition of a group `id`; -1 means no group.
    fn group_condition(&self, strategy: &ProfileGroupStrategy) -> Option<String> {
        let in_ranges = self.cel.in_ranges("id", &strategy.ranges);
        match strategy.rule {
            GroupRule::RunAsAny => None,
            GroupRule::MayRunAs => Some(format!("id == -1 || {in_ranges}")),
            GroupRule::MustRunAs => Some(in_ranges),
        }
    }

    fn pod_groups(&mut self, spec: &PodSecurityProfileSpec) {
        self.fs_group(&spec.fs_group);
        self.supplemental_groups(&spec.supplemental_groups);
    }

    fn fs_group(&mut self, strategy: &ProfileGroupStrategy) {
        if let Some(condition) = self.group_condition(strategy) {
            self.add(
                format!("[object.spec.?securityContext.?fsGroup.orValue(-1)].all(id, {condition})"),
                "fsGroup is not in the ranges",
            );
        }
    }

    fn supplemental_groups(&mut self, further: &ProfileGroupStrategy) {
        let groups = "object.spec.?securityContext.?supplementalGroups.orValue([])";
        let in_ranges = self.cel.in_ranges("id", &further.ranges);
        let needed = match further.rule {
            GroupRule::RunAsAny => return,
            GroupRule::MayRunAs => String::new(),
            GroupRule::MustRunAs => format!("size({groups}) > 0 && "),
        };
        self.add(format!("{needed}{groups}.all(id, {in_ranges})"), "supplementalGroups are not in the ranges");
    }

    fn se_linux(&mut self, spec: &PodSecurityProfileSpec) {
        let (SeLinuxRule::MustRunAs, Some(options)) = (spec.se_linux.rule, &spec.se_linux.se_linux_options) else {
            return;
        };
        let condition = self.has_context("[object.spec.?securityContext.?seLinuxOptions]", options);
        self.add(condition, "the SELinux context of the pod is another one");
        let condition = self.has_context(&format!("[{}]", effective("seLinuxOptions")), options);
        self.each_container(&condition, "the SELinux context of a container is another one");
    }

    /// Returns the test for the context in a list of at most one value. The categories of a level have no order.
    fn has_context(&self, holder: &str, options: &ProfileSeLinuxOptions) -> String {
        let fields = [("user", &options.user), ("role", &options.role), ("type", &options.r#type)];
        let mut conditions = vec!["o.hasValue()".to_owned()];
        for (field, wanted) in fields {
            let wanted = self.cel.text(wanted.as_deref().unwrap_or_default());
            conditions.push(format!("o.?{field}.orValue('') == {wanted}"));
        }
        let level = options.level.as_deref().unwrap_or_default();
        let exact = format!("o.?level.orValue('') == {}", self.cel.text(level));
        conditions.push(match level.split_once(':') {
            Some((sensitivity, categories)) => {
                let start = quoted(&format!("{sensitivity}:"));
                let names = self.cel.texts(categories.split(','));
                let given = format!("o.?level.orValue('').substring(size({start})).split(',')");
                let same = format!("size({given}) == size({names}) && sets.equivalent({given}, {names})");
                format!("({exact} || (o.?level.orValue('').startsWith({start}) && {same}))")
            }
            None => exact,
        });
        format!("{holder}.all(o, {})", conditions.join(" && "))
    }

    fn privileges(&mut self, spec: &PodSecurityProfileSpec) {
        if !spec.privileged {
            self.each_container("!c.?securityContext.?privileged.orValue(false)", "containers may not be privileged");
        }
        if spec.allow_privilege_escalation == Some(false) {
            self.each_container(
                "!c.?securityContext.?allowPrivilegeEscalation.orValue(true)",
                "allowPrivilegeEscalation has to be false",
            );
        }
        if spec.read_only_root_filesystem {
            self.each_container(
                "c.?securityContext.?readOnlyRootFilesystem.orValue(false)",
                "readOnlyRootFilesystem has to be true",
            );
        }
        let allowed = match spec.proc_mount_types.as_slice() {
            [] => self.cel.texts(["Default"]),
            types => self.cel.texts(types.iter().map(String::as_str)),
        };
        let condition = format!("c.?securityContext.?procMount.orValue('Default') in {allowed}");
        self.each_container(&condition, "the procMount is not allowed");
    }

    fn capabilities(&mut self, capabilities: &ProfileCapabilities) {
        let of = "c.?securityContext.?capabilities";
        let allowed = capabilities.allowed.as_deref().unwrap_or_default();
        if allowed.iter().any(|name| name == "*") {
            if !capabilities.default_add.is_empty() {
                self.each_container(&format!("{of}.hasValue()"), "capabilities have to be given");
            }
            return;
        }
        let names = self.cel.texts(allowed.iter().chain(&capabilities.default_add).map(String::as_str));
        let condition = if allowed.is_empty() && capabilities.default_add.is_empty() {
            format!("size({of}.?add.orValue([])) == 0")
        } else {
            format!("{of}.?add.orValue([]).all(name, name in {names})")
        };
        self.each_container(&condition, "a capability may not be added");
        if !capabilities.default_add.is_empty() && capabilities.required_drop.is_empty() {
            self.each_container(&format!("{of}.hasValue()"), "capabilities have to be given");
        }
        if !capabilities.required_drop.is_empty() {
            let required = self.cel.texts(capabilities.required_drop.iter().map(String::as_str));
            let condition = format!("{required}.all(name, name in {of}.?drop.orValue([]))");
            self.each_container(
                &condition,
                format!("capabilities have to be dropped: {}", capabilities.required_drop.join(", ")).as_str(),
            );
        }
    }

    fn volumes(&mut self, spec: &PodSecurityProfileSpec) {
        let volumes = VOLUMES;
        if !spec.volumes.iter().any(|kind| kind == "*") {
            let mut kinds: Vec<String> =
                spec.volumes.iter().map(|kind| format!("has(v.{})", volume_field(kind))).collect();
            let has = |kind: &str| spec.volumes.iter().any(|known| known == kind);
            if has("secret") && !has("projected") {
                kinds.push(format!("({SERVICE_ACCOUNT_TOKEN})"));
            }
            if kinds.is_empty() {
                kinds.push("false".to_owned());
            }
            self.add(format!("{volumes}.all(v, {})", kinds.join(" || ")), "a kind of volume is not allowed");
        }
        if !spec.host_paths.is_empty() {
            self.host_paths(&spec.host_paths);
        }
        if !spec.flex_volume_drivers.is_empty() {
            let drivers = self.cel.texts(spec.flex_volume_drivers.iter().map(String::as_str));
            let condition = format!("{volumes}.all(v, !has(v.flexVolume) || v.flexVolume.driver in {drivers})");
            self.add(condition, "a FlexVolume driver is not allowed");
        }
        if !spec.csi_drivers.is_empty() {
            self.csi_drivers(&spec.csi_drivers);
        }
    }

    fn host_paths(&mut self, paths: &[ProfileHostPath]) {
        let condition = self.host_path_condition(paths);
        self.add(format!("{VOLUMES}.all(v, !has(v.hostPath) || {condition})"), "a host path is not allowed");
    }

    fn csi_drivers(&mut self, drivers: &[String]) {
        let drivers = self.cel.texts(drivers.iter().map(String::as_str));
        let condition = format!("{VOLUMES}.all(v, !has(v.csi) || v.csi.driver in {drivers})");
        self.add(condition, "a CSI driver is not allowed");
    }

    fn runtime_classes(&mut self, classes: &RuntimeClasses) {
        if !classes.allowed.iter().any(|name| name == "*") {
            let allowed = self.cel.texts(classes.allowed.iter().map(String::as_str));
            self.add(
                format!("!has(object.spec.runtimeClassName) || object.spec.runtimeClassName in {allowed}"),
                "the RuntimeClass is not allowed",
            );
        }
    }

    /// Returns the test for the path of the hostPath volume `v`: below a prefix, and read-only if the prefix requires
    /// it.
    fn host_path_condition(&self, paths: &[ProfileHostPath]) -> String {
        let below = |read_only: bool| {
            let chosen = paths.iter().filter(|path| path.read_only == read_only);
            let prefixes: Vec<&str> =
                chosen.map(|path| path.path_prefix.strip_suffix('/').unwrap_or(&path.path_prefix)).collect();
            let list = self.cel.texts(prefixes.iter().copied());
            (!prefixes.is_empty()).then(|| format!("{list}.exists(p, path == p || path.startsWith(p + '/'))"))
        };
        let mounted_read_only = "variables.containers.all(c, c.?volumeMounts.orValue([]).all(m, \
             m.name != v.name || m.?readOnly.orValue(false)))";
        let read_only = below(true).map(|below| format!("({below} && {mounted_read_only})"));
        let either: Vec<String> = [below(false), read_only].into_iter().flatten().collect();
        let path = "v.hostPath.path.endsWith('/') ? \
             v.hostPath.path.substring(0, size(v.hostPath.path) - 1) : v.hostPath.path";
        format!("[{path}].exists(path, {})", either.join(" || "))
    }

    fn seccomp(&mut self, profiles: Option<&SyscallProfiles>) {
        let allowed = profiles.map(|profiles| profiles.allowed.as_slice()).unwrap_or_default();
        if allowed.iter().any(|name| name == "*") {
            return;
        }
        // A list without any profile allows pods without a profile.
        let may_be_unset = allowed.iter().all(String::is_empty) || allowed.iter().any(String::is_empty);
        let condition = self.profile_condition(allowed, may_be_unset);
        let pod = format!("[object.spec.?securityContext.?seccompProfile].all(o, {condition})");
        self.add(pod, "the pod's seccomp profile is not allowed");
        let container = format!("[{}].all(o, {condition})", effective("seccompProfile"));
        self.each_container(&container, "a container's seccomp profile is not allowed");
    }

    fn app_armor(&mut self, profiles: &SyscallProfiles) {
        if profiles.allowed.iter().any(|name| name == "*") {
            return;
        }
        let condition = self.profile_condition(&profiles.allowed, false);
        let condition = format!("[{}].all(o, {condition})", effective("appArmorProfile"));
        self.each_container(&condition, "an AppArmor profile is not allowed");
    }

    /// Returns the test for the optional profile `o` in a list.
    fn profile_condition(&self, allowed: &[String], may_be_unset: bool) -> String {
        let mut types: Vec<&str> = if may_be_unset { vec![""] } else { Vec::new() };
        let mut files = Vec::new();
        let names: Vec<String> = allowed.iter().map(|name| annotation_value(name)).collect();
        for name in &names {
            match name.as_str() {
                "runtime/default" | "docker/default" => types.push("RuntimeDefault"),
                "unconfined" => types.push("Unconfined"),
                other => files.extend(other.strip_prefix("localhost/")),
            }
        }
        types.dedup();
        let by_type = format!("o.?type.orValue('') in {}", self.cel.texts(types));
        if files.is_empty() {
            return by_type;
        }
        let files = self.cel.texts(files);
        let by_file = format!("o.?type.orValue('') == 'Localhost' && o.?localhostProfile.orValue('') in {files}");
        format!("{by_type} || ({by_file})")
    }

    fn sysctls(&mut self, sysctls: &Sysctls) {
        let names = |names: &[String]| names.iter().map(|name| self.matches(name)).collect::<Vec<_>>().join(" || ");
        let mut allowed = format!("s.name in {}", self.cel.texts(SAFE_SYSCTLS));
        if !sysctls.allowed_unsafe.is_empty() {
            allowed = format!("{allowed} || {}", names(&sysctls.allowed_unsafe));
        }
        if !sysctls.forbidden.is_empty() {
            allowed = format!("!({}) && ({allowed})", names(&sysctls.forbidden));
        }
        let list = "object.spec.?securityContext.?sysctls.orValue([])";
        self.add(format!("{list}.all(s, {allowed})"), "a sysctl is not allowed");
    }

    /// Returns the test for `s.name`: equal to a name, or with the prefix before a star.
    fn matches(&self, pattern: &str) -> String {
        match pattern.strip_suffix('*') {
            Some(prefix) => format!("s.name.startsWith({})", self.cel.text(prefix)),
            None => format!("s.name == {}", self.cel.text(pattern)),
        }
    }
}

/// The projected volume of a service account token; allowed wherever secrets are.
const SERVICE_ACCOUNT_TOKEN: &str = "has(v.projected) && v.projected.?sources.orValue([]).all(s, \
     (has(s.serviceAccountToken) || has(s.configMap) || has(s.downwardAPI)) && \
     (!has(s.serviceAccountToken) || (s.serviceAccountToken.path == 'token' && \
     s.serviceAccountToken.?audience.orValue('') == '')) && \
     (!has(s.configMap) || s.configMap.?name.orValue('') == 'kube-root-ca.crt') && \
     (!has(s.downwardAPI) || s.downwardAPI.?items.orValue([]).all(d, d.path == 'namespace' && \
     d.?fieldRef.?apiVersion.orValue('v1') == 'v1' && d.?fieldRef.?fieldPath.orValue('') == 'metadata.namespace')))";

/// Returns the field of a volume for a type in the spelling of PodSecurityPolicy.
fn volume_field(kind: &str) -> &str {
    if kind == "cephFS" { "cephfs" } else { kind }
}

/// Returns every range of a profile.
pub(super) fn ranges(spec: &PodSecurityProfileSpec) -> impl Iterator<Item = &Range> {
    let groups = [Some(&spec.fs_group), Some(&spec.supplemental_groups), spec.run_as_group.as_ref()];
    let groups = groups.into_iter().flatten().flat_map(|strategy| &strategy.ranges);
    spec.host_ports.iter().chain(&spec.run_as_user.ranges).chain(groups)
}
