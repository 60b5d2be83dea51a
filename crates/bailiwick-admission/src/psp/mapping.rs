//! The Pod Security level of a policy, by the mapping of the Kubernetes documentation
//! (`tasks/configure-pod-container/migrate-from-psp` of kubernetes.io): each field has a level, and the loosest one
//! counts.

use super::{PodSecurityPolicy, Spec, entries, shown};
use crate::level::Level;
use crate::standards::{BASELINE_CAPABILITIES, RESTRICTED_CAPABILITIES, allows_se_linux_type};

/// The documentation maps to the standards as they were at first.
const FIRST_CHECKS: u64 = 0;

/// A reading of the gaps in the mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Common practice: a policy without AppArmor annotations has no level for AppArmor.
    Practical,
    /// By the letter: such a policy accepts any AppArmor profile, and so is privileged.
    Table,
    /// As practical, for nodes without SELinux: `RunAsAny` is no opinion of it.
    SeLinuxIgnored,
}

impl Reading {
    /// All of them.
    pub const ALL: [Reading; 3] = [Reading::Practical, Reading::Table, Reading::SeLinuxIgnored];

    /// Returns the name of the reading.
    pub fn name(self) -> &'static str {
        match self {
            Reading::Practical => "practical",
            Reading::Table => "table",
            Reading::SeLinuxIgnored => "seLinuxIgnored",
        }
    }
}

/// The level of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Loosest level of all fields.
    pub level: Level,
    /// The level of each field in the mapping, in its order.
    pub fields: Vec<FieldLevel>,
}

/// The strictest level with the limits of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldLevel {
    /// Its name; annotations with their whole key.
    pub field: &'static str,
    /// The strictest level with at least these limits.
    pub level: Level,
    /// The reason for a level other than restricted; otherwise empty.
    pub reason: String,
}

impl Mapping {
    /// Returns the deciding fields: the fields at the level of the policy, unless it is the strictest.
    pub fn deciding(&self) -> impl Iterator<Item = &FieldLevel> {
        self.fields.iter().filter(|field| field.level == self.level && self.level != Level::Restricted)
    }
}

/// The kinds of volumes of level restricted.
pub(super) const RESTRICTED_VOLUMES: [&str; 8] =
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];

/// Returns the level of a policy.
pub fn map(policy: &PodSecurityPolicy, reading: Reading) -> Mapping {
    let spec = &policy.spec;
    let mut fields = host(spec);
    fields.extend(capabilities(spec));
    fields.push(volumes(spec));
    fields.push(se_linux(spec, reading));
    fields.push(users(spec));
    fields.push(if spec.allow_privilege_escalation {
        worth("allowPrivilegeEscalation", Level::Baseline, "processes may gain privileges")
    } else {
        fine("allowPrivilegeEscalation")
    });
    let seccomp = policy.seccomp();
    fields.push(profiles(
        "seccomp.security.alpha.kubernetes.io/allowedProfileNames",
        seccomp.allowed,
        // Such a policy lets no pod name a profile, and pods without one run unconfined.
        worth("seccomp.security.alpha.kubernetes.io/allowedProfileNames", Level::Baseline, "pods go without a profile"),
        reading,
    ));
    let silent = "apparmor.security.beta.kubernetes.io/allowedProfileNames";
    let silence = match reading {
        Reading::Table => worth(silent, Level::Privileged, "any profile is accepted"),
        Reading::Practical | Reading::SeLinuxIgnored => fine(silent),
    };
    fields.push(profiles(silent, policy.app_armor().allowed, silence, reading));
    let level = Level::loosest(fields.iter().map(|field| field.level));
    Mapping { level, fields }
}

fn fine(field: &'static str) -> FieldLevel {
    FieldLevel { field, level: Level::Restricted, reason: String::new() }
}

fn worth(field: &'static str, level: Level, reason: impl Into<String>) -> FieldLevel {
    FieldLevel { field, level, reason: reason.into() }
}

fn privileged_unless(is_fine: bool, field: &'static str, reason: impl FnOnce() -> String) -> FieldLevel {
    if is_fine { fine(field) } else { worth(field, Level::Privileged, reason()) }
}

/// Returns the levels of the fields about the node: none of them is baseline.
fn host(spec: &Spec) -> Vec<FieldLevel> {
    let (ports, sysctls) = (entries(spec.host_ports.as_ref()), entries(spec.allowed_unsafe_sysctls.as_ref()));
    let proc_mounts = entries(spec.allowed_proc_mount_types.as_ref());
    let true_is = |what: &'static str| move || what.to_owned();
    vec![
        privileged_unless(!spec.privileged, "privileged", true_is("containers may be privileged")),
        privileged_unless(!spec.host_network, "hostNetwork", true_is("pods may use the node's network")),
        privileged_unless(!spec.host_pid, "hostPID", true_is("pods may see the node's processes")),
        privileged_unless(!spec.host_ipc, "hostIPC", true_is("pods may use the node's inter-process communication")),
        privileged_unless(ports.is_empty(), "hostPorts", || format!("ports of the node: {}", shown(ports))),
        // The mapping counts safe names as well.
        privileged_unless(sysctls.is_empty(), "allowedUnsafeSysctls", || format!("allows {}", quoted(sysctls))),
        privileged_unless(proc_mounts.iter().all(|kind| kind == "Default"), "allowedProcMountTypes", || {
            format!("allows {}", quoted(proc_mounts))
        }),
    ]
}

fn capabilities(spec: &Spec) -> [FieldLevel; 3] {
    let added = |field: &'static str, names: &[String]| {
        let beyond = |allowed: &[&str]| -> Vec<String> {
            names.iter().filter(|name| !allowed.contains(&name.as_str())).cloned().collect()
        };
        let (not_baseline, not_restricted) = (beyond(&BASELINE_CAPABILITIES), beyond(&RESTRICTED_CAPABILITIES));
        if !not_baseline.is_empty() {
            worth(field, Level::Privileged, format!("allows {}", quoted(&not_baseline)))
        } else if !not_restricted.is_empty() {
            worth(field, Level::Baseline, format!("allows {}", quoted(&not_restricted)))
        } else {
            fine(field)
        }
    };
    [
        added("defaultAddCapabilities", &spec.default_add_capabilities),
        added("allowedCapabilities", entries(spec.allowed_capabilities.as_ref())),
        if spec.required_drop_capabilities.iter().any(|name| name == "ALL") {
            fine("requiredDropCapabilities")
        } else {
            worth("requiredDropCapabilities", Level::Baseline, "`ALL` need not be dropped")
        },
    ]
}

fn volumes(spec: &Spec) -> FieldLevel {
    let kinds = entries(spec.volumes.as_ref());
    let loose: Vec<String> = kinds.iter().filter(|kind| matches!(kind.as_str(), "*" | "hostPath")).cloned().collect();
    let other: Vec<String> =
        kinds.iter().filter(|kind| !RESTRICTED_VOLUMES.contains(&kind.as_str())).cloned().collect();
    if !loose.is_empty() {
        worth("volumes", Level::Privileged, format!("allows {}", quoted(&loose)))
    } else if !other.is_empty() {
        worth("volumes", Level::Baseline, format!("allows {}", quoted(&other)))
    } else {
        fine("volumes")
    }
}

fn se_linux(spec: &Spec, reading: Reading) -> FieldLevel {
    let field = "seLinux";
    let strategy = &spec.se_linux;
    match (strategy.rule.as_str(), &strategy.se_linux_options) {
        ("MustRunAs", Some(options)) => {
            let is_fine = options.user.is_empty()
                && options.role.is_empty()
                && allows_se_linux_type(&options.r#type, FIRST_CHECKS);
            privileged_unless(is_fine, field, || "demands a context beyond the container types".to_owned())
        }
        // Admits no pod at all.
        ("MustRunAs", None) => fine(field),
        ("RunAsAny", _) if reading == Reading::SeLinuxIgnored => fine(field),
        _ => worth(field, Level::Privileged, "any SELinux context is accepted"),
    }
}

fn users(spec: &Spec) -> FieldLevel {
    match spec.run_as_user.rule.as_str() {
        "MustRunAsNonRoot" => fine("runAsUser"),
        // An id above zero is not root, but the field required by restricted is not filled in.
        "MustRunAs" => worth("runAsUser", Level::Baseline, "`MustRunAs` does not set `runAsNonRoot`"),
        _ => worth("runAsUser", Level::Baseline, "containers may run as root"),
    }
}

fn profiles(field: &'static str, list: Option<&str>, silent: FieldLevel, reading: Reading) -> FieldLevel {
    let Some(list) = list else { return silent };
    // Docker's name for the runtime's default; the mapping has only the latter.
    let is_confined = |name: &str| {
        name == "runtime/default"
            || name.starts_with("localhost/")
            || (name == "docker/default" && reading != Reading::Table && field.starts_with("seccomp"))
    };
    let loose: Vec<String> =
        list.split(',').filter(|name| !name.is_empty() && !is_confined(name)).map(str::to_owned).collect();
    if !loose.is_empty() {
        worth(field, Level::Privileged, format!("allows {}", quoted(&loose)))
    } else if list.split(',').any(str::is_empty) {
        worth(field, Level::Baseline, "pods may go without a profile")
    } else {
        fine(field)
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
