//! Minors of Kubernetes, and the feature gates about nodes.
//!
//! A minor stands for its newest patch release: later fixes of older minors are included.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use serde::Deserialize;

/// The first minor with known rules of its `system:node` role.
pub const FIRST_MINOR: u32 = 6;
/// The newest minor with known rules.
pub const LAST_MINOR: u32 = bailiwick_kubernetes::catalogue::LAST_MINOR;

/// A feature gate about nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[expect(missing_docs, reason = "the names come from Kubernetes, with its documentation")]
pub enum FeatureGate {
    AllowInsecureKubeletCertificateSigningRequests,
    AuthorizeNodeWithSelectors,
    CSIDriverRegistry,
    CSINodeInfo,
    CSIPersistentVolume,
    CSIVolumeHealth,
    ClusterTrustBundle,
    DynamicKubeletConfig,
    DynamicResourceAllocation,
    EphemeralContainers,
    ExpandPersistentVolumes,
    GenericEphemeralVolume,
    KubeletPluginsWatcher,
    KubeletServiceAccountTokenForCredentialProviders,
    NodeLease,
    PodCertificateRequest,
    PreventStaticPodAPIReferences,
    RecoverVolumeExpansionFailure,
    RuntimeClass,
    ServiceAccountNodeAudienceRestriction,
    TokenRequest,
}

/// The history of a gate (`pkg/features/kube_features.go` of each minor).
struct History {
    name: &'static str,
    /// The default by first minor; the first entry is the introduction of the gate.
    defaults: &'static [(u32, bool)],
    /// The first minor with a fixed value.
    locked: Option<u32>,
}

/// Returns a history as a row of the table.
const fn history(name: &'static str, defaults: &'static [(u32, bool)], locked: Option<u32>) -> History {
    History { name, defaults, locked }
}

impl FeatureGate {
    /// All gates.
    pub const ALL: [FeatureGate; 21] = [
        FeatureGate::AllowInsecureKubeletCertificateSigningRequests,
        FeatureGate::AuthorizeNodeWithSelectors,
        FeatureGate::CSIDriverRegistry,
        FeatureGate::CSINodeInfo,
        FeatureGate::CSIPersistentVolume,
        FeatureGate::CSIVolumeHealth,
        FeatureGate::ClusterTrustBundle,
        FeatureGate::DynamicKubeletConfig,
        FeatureGate::DynamicResourceAllocation,
        FeatureGate::EphemeralContainers,
        FeatureGate::ExpandPersistentVolumes,
        FeatureGate::GenericEphemeralVolume,
        FeatureGate::KubeletPluginsWatcher,
        FeatureGate::KubeletServiceAccountTokenForCredentialProviders,
        FeatureGate::NodeLease,
        FeatureGate::PodCertificateRequest,
        FeatureGate::PreventStaticPodAPIReferences,
        FeatureGate::RecoverVolumeExpansionFailure,
        FeatureGate::RuntimeClass,
        FeatureGate::ServiceAccountNodeAudienceRestriction,
        FeatureGate::TokenRequest,
    ];

    fn history(self) -> History {
        match self {
            FeatureGate::AllowInsecureKubeletCertificateSigningRequests => {
                history("AllowInsecureKubeletCertificateSigningRequests", &[(0, true), (31, false)], None)
            }
            FeatureGate::AuthorizeNodeWithSelectors => {
                history("AuthorizeNodeWithSelectors", &[(31, false), (32, true)], Some(34))
            }
            FeatureGate::CSIDriverRegistry => history("CSIDriverRegistry", &[(12, false), (14, true)], Some(18)),
            FeatureGate::CSINodeInfo => history("CSINodeInfo", &[(12, false), (14, true)], Some(17)),
            FeatureGate::CSIPersistentVolume => history("CSIPersistentVolume", &[(9, false), (10, true)], Some(14)),
            FeatureGate::CSIVolumeHealth => history("CSIVolumeHealth", &[(37, false)], None),
            FeatureGate::ClusterTrustBundle => history("ClusterTrustBundle", &[(27, false), (37, true)], None),
            FeatureGate::DynamicKubeletConfig => {
                history("DynamicKubeletConfig", &[(4, false), (11, true), (22, false)], Some(26))
            }
            FeatureGate::DynamicResourceAllocation => {
                history("DynamicResourceAllocation", &[(26, false), (34, true)], Some(35))
            }
            FeatureGate::EphemeralContainers => history("EphemeralContainers", &[(16, false), (23, true)], Some(25)),
            FeatureGate::ExpandPersistentVolumes => {
                history("ExpandPersistentVolumes", &[(8, false), (11, true)], Some(24))
            }
            FeatureGate::GenericEphemeralVolume => {
                history("GenericEphemeralVolume", &[(19, false), (21, true)], Some(23))
            }
            FeatureGate::KubeletPluginsWatcher => {
                history("KubeletPluginsWatcher", &[(11, false), (12, true)], Some(14))
            }
            FeatureGate::KubeletServiceAccountTokenForCredentialProviders => {
                history("KubeletServiceAccountTokenForCredentialProviders", &[(33, false), (34, true)], None)
            }
            FeatureGate::NodeLease => history("NodeLease", &[(12, false), (14, true)], Some(17)),
            FeatureGate::PodCertificateRequest => history("PodCertificateRequest", &[(34, false), (37, true)], None),
            // 1.37 removed the gate and kept the refusal (`pkg/kubelet/config/common.go`).
            FeatureGate::PreventStaticPodAPIReferences => {
                history("PreventStaticPodAPIReferences", &[(34, true)], Some(37))
            }
            FeatureGate::RecoverVolumeExpansionFailure => {
                history("RecoverVolumeExpansionFailure", &[(23, false), (32, true)], Some(34))
            }
            FeatureGate::RuntimeClass => history("RuntimeClass", &[(12, false), (14, true)], Some(20)),
            FeatureGate::ServiceAccountNodeAudienceRestriction => {
                history("ServiceAccountNodeAudienceRestriction", &[(32, false), (33, true)], None)
            }
            FeatureGate::TokenRequest => history("TokenRequest", &[(10, false), (12, true)], Some(20)),
        }
    }

    /// Returns the gate of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.name() == name)
    }

    /// Returns the name of the gate.
    pub fn name(self) -> &'static str {
        self.history().name
    }
}

/// A minor of Kubernetes with its feature gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    minor: u32,
    switched: BTreeMap<FeatureGate, bool>,
}

/// An error of a version or its gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionError {
    /// A minor before the first known one.
    UnknownMinor(u32),
    /// A text other than a version.
    NoVersion(String),
    /// A name other than a gate about nodes.
    UnknownGate(String),
    /// A gate of a later minor.
    NoGateYet {
        /// The later gate.
        gate: FeatureGate,
        /// The minor without a switch for it.
        minor: u32,
    },
    /// A gate with a fixed value.
    FixedGate {
        /// The fixed gate.
        gate: FeatureGate,
        /// The fixed value.
        is_on: bool,
        /// The minor without a switch for it.
        minor: u32,
    },
}

impl fmt::Display for VersionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMinor(minor) => write!(
                formatter,
                "nothing is known of nodes in Kubernetes 1.{minor}: name one from 1.{FIRST_MINOR} to 1.{LAST_MINOR}"
            ),
            Self::NoVersion(text) => write!(formatter, "`{text}` is no version of Kubernetes"),
            Self::UnknownGate(name) => write!(formatter, "no feature gate `{name}` decides about nodes"),
            Self::NoGateYet { gate, minor } => {
                write!(formatter, "Kubernetes 1.{minor} has no feature gate `{}` yet", gate.name())
            }
            Self::FixedGate { gate, is_on, minor } => {
                let word = if *is_on { "on" } else { "off" };
                write!(formatter, "the feature gate `{}` is always {word} in Kubernetes 1.{minor}", gate.name())
            }
        }
    }
}

impl Error for VersionError {}

impl ServerVersion {
    /// Returns a minor with the default gates. A minor newer than every known one counts as the newest.
    ///
    /// # Errors
    /// The minor is unknown.
    pub fn new(minor: u32) -> Result<Self, VersionError> {
        if minor >= FIRST_MINOR {
            Ok(Self { minor: minor.min(LAST_MINOR), switched: BTreeMap::new() })
        } else {
            Err(VersionError::UnknownMinor(minor))
        }
    }

    /// Returns a version as it is written: `1.36`, `v1.36.3`.
    ///
    /// # Errors
    /// The text is no version, or the minor is unknown.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        minor_of(text).ok_or_else(|| VersionError::NoVersion(text.to_owned())).and_then(Self::new)
    }

    /// Whether a version as it is written is newer than every known one.
    pub fn is_newer_than_known(text: &str) -> bool {
        minor_of(text).is_some_and(|minor| minor > LAST_MINOR)
    }

    /// Returns the version with a gate switched on or off.
    ///
    /// # Errors
    /// The gate is not about nodes, or the minor cannot switch it.
    pub fn with_gate(mut self, name: &str, is_on: bool) -> Result<Self, VersionError> {
        let gate = FeatureGate::from_name(name).ok_or_else(|| VersionError::UnknownGate(name.to_owned()))?;
        let history = gate.history();
        if history.defaults.first().is_none_or(|(first, _)| self.minor < *first) {
            return Err(VersionError::NoGateYet { gate, minor: self.minor });
        }
        if history.locked.is_some_and(|locked| self.minor >= locked) && self.is_on(gate) != is_on {
            return Err(VersionError::FixedGate { gate, is_on: !is_on, minor: self.minor });
        }
        self.switched.insert(gate, is_on);
        Ok(self)
    }

    /// Returns the minor of the version.
    pub fn minor(&self) -> u32 {
        self.minor
    }

    /// Whether the version is this minor or a later one.
    pub fn since(&self, minor: u32) -> bool {
        self.minor >= minor
    }

    /// Whether a gate is there and on.
    pub fn is_on(&self, gate: FeatureGate) -> bool {
        let by_default = || {
            let reached = gate.history().defaults.iter().rev().find(|(since, _)| self.minor >= *since);
            reached.is_some_and(|(_, is_on)| *is_on)
        };
        match self.switched.get(&gate) {
            Some(is_on) => *is_on,
            None => by_default(),
        }
    }
}

fn minor_of(text: &str) -> Option<u32> {
    let parts: Vec<&str> = text.trim_start_matches('v').split('.').collect();
    match parts.as_slice() {
        ["1", minor] | ["1", minor, _] => minor.parse().ok(),
        _ => None,
    }
}

impl std::fmt::Display for ServerVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "1.{}", self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_has_a_row_of_its_own() {
        for gate in FeatureGate::ALL {
            let row = gate.history();
            assert_eq!(format!("{:?}", gate), row.name);
            assert_eq!(FeatureGate::from_name(row.name), Some(gate));
            assert!(row.defaults.is_sorted_by_key(|(since, _)| *since), "{}", row.name);
        }
    }

    #[test]
    fn gates_follow_their_history() {
        let on = |minor, gate| ServerVersion::new(minor).expect("known").is_on(gate);
        assert_eq!(
            [30, 31, 32, 36].map(|minor| on(minor, FeatureGate::AuthorizeNodeWithSelectors)),
            [false, false, true, true]
        );
        assert_eq!(
            [10, 11, 21, 22].map(|minor| on(minor, FeatureGate::DynamicKubeletConfig)),
            [false, true, true, false]
        );
        assert!(on(30, FeatureGate::AllowInsecureKubeletCertificateSigningRequests));
        for gate in [FeatureGate::ClusterTrustBundle, FeatureGate::PodCertificateRequest] {
            assert_eq!([36, 37].map(|minor| on(minor, gate)), [false, true]);
        }
        assert!(!on(37, FeatureGate::CSIVolumeHealth));
    }

    #[test]
    fn what_cannot_be_switched_is_refused() {
        let version = |minor| ServerVersion::new(minor).expect("known");
        assert!(version(33).with_gate("AuthorizeNodeWithSelectors", false).is_ok());
        assert!(version(34).with_gate("AuthorizeNodeWithSelectors", false).is_err());
        assert!(version(34).with_gate("AuthorizeNodeWithSelectors", true).is_ok());
        assert!(version(33).with_gate("PodCertificateRequest", true).is_err());
        assert!(version(33).with_gate("NoSuchGate", true).is_err());
        assert!(version(36).with_gate("PreventStaticPodAPIReferences", false).is_ok());
        assert!(version(37).with_gate("PreventStaticPodAPIReferences", false).is_err());
        assert!(version(36).with_gate("CSIVolumeHealth", true).is_err());
        assert!(version(37).with_gate("CSIVolumeHealth", true).is_ok());
        assert!(
            ServerVersion::parse("1.5").is_err()
                && ServerVersion::parse("2.30").is_err()
                && ServerVersion::parse("v1.36.3").is_ok()
        );
    }
}
