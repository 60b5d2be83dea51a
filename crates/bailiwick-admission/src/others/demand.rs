//! A demand of a rule on pods, and the pods that it refuses although a Pod Security level admits them.

use std::collections::BTreeSet;

use bailiwick_kubernetes::volumes;

use crate::level::{Level, PolicyVersion};
use crate::standards::labels::LevelVersion;
use crate::standards::{
    ALLOWED_SOURCES, BASELINE_CAPABILITIES, CHECKS, NEWEST, RESTRICTED_CAPABILITIES, difference, se_linux_types,
    sysctls,
};

/// A demand on pods. A list has the allowed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demand {
    /// No namespace of the node.
    HostNamespaces,
    /// No privileged container.
    Privileged,
    /// No hostPath volume, or none besides some paths.
    HostPath,
    /// No port of the node, or none besides some ports.
    HostPorts,
    /// No probe and no lifecycle handler with a host.
    HostProbes,
    /// No process of the node, on Windows.
    HostProcess,
    /// /proc is masked.
    ProcMount,
    /// SELinux types.
    SeLinuxTypes(BTreeSet<String>),
    /// Neither an SELinux user nor an SELinux role.
    SeLinuxUserAndRole,
    /// AppArmor profiles of fields: `RuntimeDefault`, `Localhost`.
    AppArmorFields(BTreeSet<String>),
    /// AppArmor profiles of annotations: `runtime/default`, `localhost/*`. An empty annotation has no effect, and does not
    /// count.
    AppArmorAnnotations(BTreeSet<String>),
    /// Types of seccomp profiles.
    Seccomp(BTreeSet<String>),
    /// A seccomp profile for each container, of these types.
    SeccompForAll(BTreeSet<String>),
    /// Kernel parameters.
    Sysctls(BTreeSet<String>),
    /// Capabilities that containers add.
    AddedCapabilities(BTreeSet<String>),
    /// Each container drops all capabilities, or the capabilities of a list.
    DroppedCapabilities,
    /// Volumes of these types.
    VolumeTypes(BTreeSet<String>),
    /// No flexVolume, or none besides some drivers.
    FlexVolumes,
    /// Each container forbids privilege escalation.
    PrivilegeEscalation,
    /// Each container runs as another user than root.
    RunAsNonRoot,
    /// No user id 0.
    RunAsUser,
    /// The checks of a level, in a version.
    Level(LevelVersion),
    /// Root file systems are read-only, which no level demands.
    ReadOnlyRootFilesystem,
    /// Something else that no level demands.
    Beyond(&'static str),
}

/// How many values of a list are named.
const NAMED: usize = 5;

impl Demand {
    /// Returns the control, by the id of its check in the Pod Security standards where one has it.
    pub fn control(&self) -> String {
        let id = match self {
            Demand::HostNamespaces => "hostNamespaces",
            Demand::Privileged => "privileged",
            Demand::HostPath => "hostPathVolumes",
            Demand::HostPorts => "hostPorts",
            Demand::HostProbes => "hostProbesAndHostLifecycle",
            Demand::HostProcess => "windowsHostProcess",
            Demand::ProcMount => "procMount",
            Demand::SeLinuxTypes(_) | Demand::SeLinuxUserAndRole => "seLinuxOptions",
            Demand::AppArmorFields(_) | Demand::AppArmorAnnotations(_) => "appArmorProfile",
            Demand::Seccomp(_) => "seccompProfile_baseline",
            Demand::SeccompForAll(_) => "seccompProfile_restricted",
            Demand::Sysctls(_) => "sysctls",
            Demand::AddedCapabilities(_) => "capabilities_baseline",
            Demand::DroppedCapabilities => "capabilities_restricted",
            Demand::VolumeTypes(_) | Demand::FlexVolumes => "restrictedVolumes",
            Demand::PrivilegeEscalation => "allowPrivilegeEscalation",
            Demand::RunAsNonRoot => "runAsNonRoot",
            Demand::RunAsUser => "runAsUser",
            Demand::Level(level) => return format!("all checks of {}", named_level(*level)),
            Demand::ReadOnlyRootFilesystem => "root file systems are read-only",
            Demand::Beyond(what) => what,
        };
        id.to_owned()
    }

    /// Returns the pods refused by the demand and admitted by the checks of a level.
    pub(super) fn beyond(&self, checks: LevelVersion) -> RefusedBeyond {
        let (level, minor) = (checks.level, checks.version.minor_up_to(NEWEST));
        match self {
            Demand::VolumeTypes(allowed) => beyond_volumes(allowed, level),
            Demand::Level(own) => {
                let refuses_further = difference(checks, *own).admits_less;
                RefusedBeyond::further(refuses_further.then(|| format!("pods that violate {}", named_level(*own))))
            }
            Demand::Beyond(_) | Demand::ReadOnlyRootFilesystem => {
                RefusedBeyond::further(["no level has such a check".to_owned()])
            }
            _ if level > self.loosest_level() || !self.has_check(minor) => {
                RefusedBeyond::further(["the level has no such check".to_owned()])
            }
            _ => self.beyond_check(level, minor),
        }
    }

    /// Whether the version of a minor has the check of the demand.
    fn has_check(&self, minor: u64) -> bool {
        let control = self.control();
        CHECKS.iter().any(|check| check.since <= minor && check.id == control)
    }

    /// Returns the loosest level with a check for the demand. The demands about volumes and levels have none.
    fn loosest_level(&self) -> Level {
        match self {
            Demand::SeccompForAll(_)
            | Demand::DroppedCapabilities
            | Demand::FlexVolumes
            | Demand::PrivilegeEscalation
            | Demand::RunAsNonRoot
            | Demand::RunAsUser => Level::Restricted,
            _ => Level::Baseline,
        }
    }

    /// Returns the pods refused by the demand and admitted by the check of a level.
    fn beyond_check(&self, level: Level, minor: u64) -> RefusedBeyond {
        let is_restricted = level == Level::Restricted;
        let except = |pods| RefusedBeyond { except: Some(pods), ..RefusedBeyond::default() };
        match self {
            Demand::SeLinuxTypes(allowed) => beyond_list(allowed, "SELinux types", se_linux_types(minor)),
            Demand::AppArmorFields(allowed) => {
                beyond_list(allowed, "AppArmor profiles", ["RuntimeDefault", "Localhost"])
            }
            Demand::AppArmorAnnotations(allowed) => {
                beyond_list(allowed, "AppArmor annotations", ["runtime/default", "localhost/*"])
            }
            Demand::Seccomp(allowed) => beyond_list(allowed, "seccomp profiles", ["RuntimeDefault", "Localhost"]),
            Demand::SeccompForAll(allowed) => RefusedBeyond {
                except: Some(FOR_WINDOWS),
                ..beyond_list(allowed, "seccomp profiles", ["RuntimeDefault", "Localhost"])
            },
            Demand::Sysctls(allowed) => beyond_list(allowed, "sysctls", sysctls(minor)),
            Demand::AddedCapabilities(allowed) => {
                let is_short = is_restricted && minor >= RESTRICTED_LIST_SINCE;
                let of_level = if is_short { &RESTRICTED_CAPABILITIES[..] } else { &BASELINE_CAPABILITIES[..] };
                beyond_list(allowed, "added capabilities", of_level.iter().copied())
            }
            Demand::DroppedCapabilities | Demand::PrivilegeEscalation => except(FOR_WINDOWS),
            Demand::RunAsNonRoot | Demand::RunAsUser => except(WITH_USERS),
            // Restricted has the check for all pods.
            Demand::ProcMount if !is_restricted => except(WITH_USERS),
            Demand::HostProbes => except(BEFORE_PROBES),
            _ => RefusedBeyond::default(),
        }
    }
}

/// The pods refused by a demand and admitted by a level.
#[derive(Debug, Default)]
pub(super) struct RefusedBeyond {
    /// A kind of pods or clusters without the check in the level.
    pub(super) except: Option<&'static str>,
    /// The other pods, in words.
    pub(super) further: Vec<String>,
}

impl RefusedBeyond {
    fn further(further: impl IntoIterator<Item = String>) -> Self {
        Self { except: None, further: further.into_iter().collect() }
    }
}

/// The clusters without the check, where a level has the newest checks of the cluster.
const BEFORE_PROBES: &str = "clusters before Kubernetes 1.34";

/// The first minor whose restricted level has a list of capabilities of its own.
const RESTRICTED_LIST_SINCE: u64 = 22;

/// The pods without the check in restricted since Kubernetes 1.25.
const FOR_WINDOWS: &str = "pods for Windows";

/// The pods without the check since Kubernetes 1.35.
const WITH_USERS: &str = "pods with a user namespace of their own";

fn beyond_volumes(allowed: &BTreeSet<String>, level: Level) -> RefusedBeyond {
    let of_level: Vec<&'static str> = match level {
        Level::Restricted => ALLOWED_SOURCES.to_vec(),
        Level::Baseline => volumes::fields().filter(|field| *field != "hostPath").collect(),
        Level::Privileged => volumes::fields().collect(),
    };
    beyond_list(allowed, "volumes of the types", of_level)
}

/// Returns the values that a level allows and a rule does not, as one phrase.
fn beyond_list<'v>(
    allowed: &BTreeSet<String>,
    what: &str,
    of_level: impl IntoIterator<Item = &'v str>,
) -> RefusedBeyond {
    let further: Vec<&str> =
        of_level.into_iter().filter(|value| !value.is_empty() && !allowed.contains(*value)).collect();
    RefusedBeyond::further((!further.is_empty()).then(|| format!("{what} {}", named(&further))))
}

/// Returns the name of a level, with its version unless it is the newest one.
fn named_level(checks: LevelVersion) -> String {
    match checks.version {
        PolicyVersion::Latest => checks.level.name().to_owned(),
        PolicyVersion::Minor(_) => checks.to_string(),
    }
}

/// Joins the first names of a list, with the number of the others.
fn named(names: &[&str]) -> String {
    let first: Vec<&str> = names.iter().copied().take(NAMED).collect();
    match names.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
