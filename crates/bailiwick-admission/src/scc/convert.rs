//! The Pod Security level of constraints, as computed by OpenShift's label syncer
//! (`pkg/psalabelsyncer/scctopsamapping.go` of openshift/cluster-policy-controller).
//!
//! Eleven rules cover a field or two each, and the loosest result counts. Gaps of the rules are kept; `semantic`
//! computes the level really guaranteed. The rules only use the start of the uid range of a namespace, and two
//! conversions cover every namespace: see [`Converted`].

use std::fmt;

use super::Scc;
use super::range::UidRange;
use super::release::Release;
use crate::level::Level;
use crate::standards::{BASELINE_CAPABILITIES, RESTRICTED_CAPABILITIES, allows_se_linux_type, allows_sysctl};

/// The syncer uses the lists of the first version of the checks.
const FIRST_CHECKS: u64 = 0;

/// A part of the computation of a level from constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConversionRule {
    /// Paths of the node.
    HostDir,
    /// Namespaces of the node.
    HostNamespaces,
    /// Ports of the node.
    HostPorts,
    /// Gaining privileges.
    AllowPrivilegeEscalation,
    /// Privileged containers.
    Privileged,
    /// The added and dropped capabilities.
    Capabilities,
    /// Kernel parameters.
    Sysctls,
    /// Kinds of volumes.
    Volumes,
    /// The SELinux context.
    SeLinux,
    /// Seccomp profiles.
    Seccomp,
    /// Strategy for user ids.
    RunAsUser,
}

/// The result of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleLevel {
    /// The rule of the table.
    pub rule: ConversionRule,
    /// Level of the field; none for a field without an effect.
    pub level: Option<Level>,
    /// The deciding field.
    pub field: &'static str,
}

/// Why constraints have no level.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ConversionError {
    /// A kind of volume unknown to this release.
    UnknownVolumeType(String),
    /// A strategy that OpenShift does not have.
    UnknownRunAsUserStrategy(String),
    /// The range of the namespace is needed, and there is none.
    UidRangeMissing,
    /// The range of the namespace is needed, and cannot be read.
    UidRangeMalformed,
}

/// Both conversions of constraints; they determine the level in any namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    above_zero: Result<Level, ConversionError>,
    from_zero: Result<Level, ConversionError>,
    needs_range: bool,
}

impl ConversionRule {
    /// All rules, in the order of a report.
    pub const ALL: [ConversionRule; 11] = [
        ConversionRule::HostDir,
        ConversionRule::HostNamespaces,
        ConversionRule::HostPorts,
        ConversionRule::AllowPrivilegeEscalation,
        ConversionRule::Privileged,
        ConversionRule::Capabilities,
        ConversionRule::Sysctls,
        ConversionRule::Volumes,
        ConversionRule::SeLinux,
        ConversionRule::Seccomp,
        ConversionRule::RunAsUser,
    ];

    /// Returns the name of the rule.
    pub fn name(self) -> &'static str {
        match self {
            ConversionRule::HostDir => "hostDir",
            ConversionRule::HostNamespaces => "hostNamespaces",
            ConversionRule::HostPorts => "hostPorts",
            ConversionRule::AllowPrivilegeEscalation => "allowPrivilegeEscalation",
            ConversionRule::Privileged => "privileged",
            ConversionRule::Capabilities => "capabilities",
            ConversionRule::Sysctls => "sysctls",
            ConversionRule::Volumes => "volumes",
            ConversionRule::SeLinux => "seLinux",
            ConversionRule::Seccomp => "seccomp",
            ConversionRule::RunAsUser => "runAsUser",
        }
    }
}

impl ConversionError {
    /// Returns the code, for tests and machines.
    pub fn code(&self) -> &'static str {
        match self {
            ConversionError::UnknownVolumeType(_) => "unknown-volume-type",
            ConversionError::UnknownRunAsUserStrategy(_) => "unknown-run-as-user-strategy",
            ConversionError::UidRangeMissing => "uid-range-annotation-missing",
            ConversionError::UidRangeMalformed => "uid-range-annotation-malformed",
        }
    }
}

impl fmt::Display for ConversionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConversionError::UnknownVolumeType(name) => write!(formatter, "`{name}` is no kind of volume"),
            ConversionError::UnknownRunAsUserStrategy(name) => {
                write!(formatter, "`{name}` is no strategy for the user")
            }
            ConversionError::UidRangeMissing => formatter.write_str("the namespace has no uid range"),
            ConversionError::UidRangeMalformed => formatter.write_str("the uid range of the namespace cannot be read"),
        }
    }
}

impl std::error::Error for ConversionError {}

impl Converted {
    /// Converts once, and a second time for constraints with a dependency on the range.
    pub fn new(scc: &Scc, release: Release, conversions: &mut u64) -> Self {
        let mut level = |range| {
            *conversions += 1;
            level(scc, range, release)
        };
        let needs_range = needs_range(scc);
        let above_zero = level(UidRange::AboveZero);
        let from_zero = if needs_range { level(UidRange::FromZero) } else { above_zero.clone() };
        Self { above_zero, from_zero, needs_range }
    }

    /// Returns the level in a namespace with this range.
    ///
    /// # Errors
    /// Why there is none.
    pub fn level(&self, range: UidRange) -> Result<Level, ConversionError> {
        match (range, &self.above_zero) {
            (UidRange::FromZero, _) => self.from_zero.clone(),
            (UidRange::Missing, Ok(_)) if self.needs_range => Err(ConversionError::UidRangeMissing),
            (UidRange::Malformed, Ok(_)) if self.needs_range => Err(ConversionError::UidRangeMalformed),
            // An error without the range comes before any use of the range.
            (_, level) => level.clone(),
        }
    }
}

/// Returns the level of constraints in a namespace with this range.
///
/// # Errors
/// The reason for a missing level, even after another rule with the result privileged.
pub fn level(scc: &Scc, range: UidRange, release: Release) -> Result<Level, ConversionError> {
    let findings = findings(scc, range, release)?;
    Ok(Level::loosest(findings.iter().filter_map(|finding| finding.level)))
}

/// Returns the result of each rule, in the order of [`ConversionRule::ALL`].
///
/// # Errors
/// As with [`level`]: volumes before the user.
pub fn findings(scc: &Scc, range: UidRange, release: Release) -> Result<Vec<RuleLevel>, ConversionError> {
    let volumes = volumes(scc, release)?;
    let user = run_as_user(scc, range)?;
    Ok(ConversionRule::ALL
        .into_iter()
        .map(|rule| {
            let (level, field) = match rule {
                ConversionRule::HostDir => host_dir(scc),
                ConversionRule::HostNamespaces => host_namespaces(scc),
                ConversionRule::HostPorts => privileged_if(scc.allow_host_ports, "allowHostPorts"),
                ConversionRule::AllowPrivilegeEscalation => {
                    let allowed = scc.allow_privilege_escalation != Some(false);
                    (if allowed { Level::Baseline } else { Level::Restricted }, "allowPrivilegeEscalation")
                }
                ConversionRule::Privileged => privileged_if(scc.allow_privileged_container, "allowPrivilegedContainer"),
                ConversionRule::Capabilities => capabilities(scc),
                ConversionRule::Sysctls => {
                    let allowed = scc.allowed_unsafe_sysctls.iter().all(|name| allows_sysctl(name, FIRST_CHECKS));
                    privileged_if(!allowed, "allowedUnsafeSysctls")
                }
                ConversionRule::Volumes => return RuleLevel { rule, level: volumes, field: "volumes" },
                ConversionRule::SeLinux => se_linux(scc),
                ConversionRule::Seccomp => seccomp(scc),
                ConversionRule::RunAsUser => user,
            };
            RuleLevel { rule, level: Some(level), field }
        })
        .collect())
}

/// Returns the level of a kind of volume by its name; none for an unknown name.
pub fn volume_level(name: &str) -> Option<Level> {
    match name {
        "*" | "hostPath" => Some(Level::Privileged),
        "configMap"
        | "downwardAPI"
        | "emptyDir"
        | "projected"
        | "secret"
        | "csi"
        | "persistentVolumeClaim"
        | "ephemeral"
        | "none"
        | "image"
        | "serviceAccountToken" => Some(Level::Restricted),
        "azureFile"
        | "azureDisk"
        | "flocker"
        | "flexVolume"
        | "gcePersistentDisk"
        | "awsElasticBlockStore"
        | "gitRepo"
        | "nfs"
        | "iscsi"
        | "glusterfs"
        | "rbd"
        | "cinder"
        | "cephFS"
        | "fc"
        | "vsphere"
        | "quobyte"
        | "photonPersistentDisk"
        | "portworxVolume"
        | "scaleIO"
        | "storageOS" => Some(Level::Baseline),
        _ => None,
    }
}

/// Whether the level depends on the range of the namespace.
pub fn needs_range(scc: &Scc) -> bool {
    let user = &scc.run_as_user;
    user.r#type == "MustRunAsRange" && (user.uid_range_min.is_none() || user.uid_range_max.is_none())
}

fn privileged_if(loose: bool, field: &'static str) -> (Level, &'static str) {
    (if loose { Level::Privileged } else { Level::Restricted }, field)
}

fn host_dir(scc: &Scc) -> (Level, &'static str) {
    if scc.allow_host_dir_volume_plugin {
        return (Level::Privileged, "allowHostDirVolumePlugin");
    }
    privileged_if(scc.volumes().iter().any(|name| matches!(name.as_str(), "*" | "hostPath")), "volumes")
}

fn host_namespaces(scc: &Scc) -> (Level, &'static str) {
    let fields = [
        (scc.allow_host_ipc, "allowHostIPC"),
        (scc.allow_host_network, "allowHostNetwork"),
        (scc.allow_host_pid, "allowHostPID"),
    ];
    fields
        .into_iter()
        .find(|(allowed, _)| *allowed)
        .map_or((Level::Restricted, "allowHostNetwork"), |(_, field)| (Level::Privileged, field))
}

fn capabilities(scc: &Scc) -> (Level, &'static str) {
    let within = |known: &[&str]| scc.allowed_capabilities.iter().all(|name| known.contains(&name.as_str()));
    if !within(&BASELINE_CAPABILITIES) {
        (Level::Privileged, "allowedCapabilities")
    } else if !within(&RESTRICTED_CAPABILITIES) {
        (Level::Baseline, "allowedCapabilities")
    } else if !scc.required_drop_capabilities.iter().any(|name| name == "ALL") {
        (Level::Baseline, "requiredDropCapabilities")
    } else {
        (Level::Restricted, "allowedCapabilities")
    }
}

/// Returns the level of a list of volumes. The list is evaluated in order up to the first privileged name: an unknown name after it has no effect.
fn volumes(scc: &Scc, release: Release) -> Result<Option<Level>, ConversionError> {
    let mut loosest = None;
    for name in scc.volumes() {
        let known = Release::knows_volume_since(name).is_some_and(|since| since <= release);
        let level =
            volume_level(name).filter(|_| known).ok_or_else(|| ConversionError::UnknownVolumeType(name.clone()))?;
        if level == Level::Privileged {
            return Ok(Some(level));
        }
        loosest = loosest.max(Some(level));
    }
    Ok(loosest)
}

fn se_linux(scc: &Scc) -> (Level, &'static str) {
    let context = &scc.se_linux_context;
    if context.r#type != "MustRunAs" {
        return (Level::Privileged, "seLinuxContext.type");
    }
    let Some(options) = &context.se_linux_options else { return (Level::Restricted, "seLinuxContext") };
    if !allows_se_linux_type(&options.r#type, FIRST_CHECKS) {
        (Level::Privileged, "seLinuxContext.seLinuxOptions.type")
    } else if !options.user.is_empty() {
        (Level::Privileged, "seLinuxContext.seLinuxOptions.user")
    } else {
        privileged_if(!options.role.is_empty(), "seLinuxContext.seLinuxOptions.role")
    }
}

fn seccomp(scc: &Scc) -> (Level, &'static str) {
    if scc.seccomp_profiles.is_empty() {
        return (Level::Baseline, "seccompProfiles");
    }
    let is_valid =
        |name: &String| matches!(name.as_str(), "runtime/default" | "docker/default") || name.starts_with("localhost/");
    privileged_if(!scc.seccomp_profiles.iter().all(is_valid), "seccompProfiles")
}

fn run_as_user(scc: &Scc, range: UidRange) -> Result<(Level, &'static str), ConversionError> {
    let user = &scc.run_as_user;
    let above_zero = |id: Option<i64>| if id > Some(0) { Level::Restricted } else { Level::Baseline };
    Ok(match user.r#type.as_str() {
        "MustRunAsNonRoot" => (Level::Restricted, "runAsUser.type"),
        "RunAsAny" => (Level::Baseline, "runAsUser.type"),
        "MustRunAs" => (above_zero(user.uid), "runAsUser.uid"),
        "MustRunAsRange" if !needs_range(scc) => (above_zero(user.uid_range_min), "runAsUser.uidRangeMin"),
        "MustRunAsRange" => match range {
            UidRange::Missing => return Err(ConversionError::UidRangeMissing),
            UidRange::Malformed => return Err(ConversionError::UidRangeMalformed),
            UidRange::FromZero => (Level::Baseline, "runAsUser.type"),
            UidRange::AboveZero => (Level::Restricted, "runAsUser.type"),
        },
        other => return Err(ConversionError::UnknownRunAsUserStrategy(other.to_owned())),
    })
}
