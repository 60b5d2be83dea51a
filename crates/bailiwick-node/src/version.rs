//! Minors of Kubernetes, and the feature gates about nodes.
//!
//! A minor stands for its newest patch release: later fixes of older minors are included.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The first minor with known rules of its `system:node` role.
pub const FIRST_MINOR: u32 = 6;
/// The newest minor with known rules.
pub const LAST_MINOR: u32 = bailiwick_kubernetes::catalogue::LAST_MINOR;

/// A feature gate about nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[expect(missing_docs, reason = "the names are those of Kubernetes, which documents them")]
pub enum Gate {
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
    gate: Gate,
    name: &'static str,
    /// The default by first minor; the first entry is the introduction of the gate.
    defaults: &'static [(u32, bool)],
    /// The first minor with a fixed value.
    locked: Option<u32>,
}

/// Returns a history as a row of the table.
const fn history(gate: Gate, name: &'static str, defaults: &'static [(u32, bool)], locked: Option<u32>) -> History {
    History { gate, name, defaults, locked }
}

const GATES: [History; 21] = [
    history(
        Gate::AllowInsecureKubeletCertificateSigningRequests,
        "AllowInsecureKubeletCertificateSigningRequests",
        &[(0, true), (31, false)],
        None,
    ),
    history(Gate::AuthorizeNodeWithSelectors, "AuthorizeNodeWithSelectors", &[(31, false), (32, true)], Some(34)),
    history(Gate::CSIDriverRegistry, "CSIDriverRegistry", &[(12, false), (14, true)], Some(18)),
    history(Gate::CSINodeInfo, "CSINodeInfo", &[(12, false), (14, true)], Some(17)),
    history(Gate::CSIPersistentVolume, "CSIPersistentVolume", &[(9, false), (10, true)], Some(14)),
    history(Gate::CSIVolumeHealth, "CSIVolumeHealth", &[(37, false)], None),
    history(Gate::ClusterTrustBundle, "ClusterTrustBundle", &[(27, false), (37, true)], None),
    history(Gate::DynamicKubeletConfig, "DynamicKubeletConfig", &[(4, false), (11, true), (22, false)], Some(26)),
    history(Gate::DynamicResourceAllocation, "DynamicResourceAllocation", &[(26, false), (34, true)], Some(35)),
    history(Gate::EphemeralContainers, "EphemeralContainers", &[(16, false), (23, true)], Some(25)),
    history(Gate::ExpandPersistentVolumes, "ExpandPersistentVolumes", &[(8, false), (11, true)], Some(24)),
    history(Gate::GenericEphemeralVolume, "GenericEphemeralVolume", &[(19, false), (21, true)], Some(23)),
    history(Gate::KubeletPluginsWatcher, "KubeletPluginsWatcher", &[(11, false), (12, true)], Some(14)),
    history(
        Gate::KubeletServiceAccountTokenForCredentialProviders,
        "KubeletServiceAccountTokenForCredentialProviders",
        &[(33, false), (34, true)],
        None,
    ),
    history(Gate::NodeLease, "NodeLease", &[(12, false), (14, true)], Some(17)),
    history(Gate::PodCertificateRequest, "PodCertificateRequest", &[(34, false), (37, true)], None),
    // 1.37 removed the gate and kept the refusal (`pkg/kubelet/config/common.go`).
    history(Gate::PreventStaticPodAPIReferences, "PreventStaticPodAPIReferences", &[(34, true)], Some(37)),
    history(Gate::RecoverVolumeExpansionFailure, "RecoverVolumeExpansionFailure", &[(23, false), (32, true)], Some(34)),
    history(Gate::RuntimeClass, "RuntimeClass", &[(12, false), (14, true)], Some(20)),
    history(
        Gate::ServiceAccountNodeAudienceRestriction,
        "ServiceAccountNodeAudienceRestriction",
        &[(32, false), (33, true)],
        None,
    ),
    history(Gate::TokenRequest, "TokenRequest", &[(10, false), (12, true)], Some(20)),
];

impl Gate {
    fn history(self) -> &'static History {
        // Every gate has a row, as the test below makes sure.
        GATES.iter().find(|row| row.gate == self).unwrap_or(&GATES[0])
    }

    /// Returns the gate of a name.
    pub fn of(name: &str) -> Option<Self> {
        GATES.iter().find(|row| row.name == name).map(|row| row.gate)
    }

    /// Returns the name of the gate.
    pub fn name(self) -> &'static str {
        self.history().name
    }
}

/// A minor of Kubernetes with its feature gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    minor: u32,
    switched: BTreeMap<Gate, bool>,
}

impl Version {
    /// Returns a minor with the default gates. A minor newer than every known one counts as the newest.
    ///
    /// # Errors
    /// The minor is unknown.
    pub fn new(minor: u32) -> Result<Self, String> {
        if minor >= FIRST_MINOR {
            Ok(Self { minor: minor.min(LAST_MINOR), switched: BTreeMap::new() })
        } else {
            Err(format!(
                "nothing is known of nodes in Kubernetes 1.{minor}: name one from 1.{FIRST_MINOR} to 1.{LAST_MINOR}"
            ))
        }
    }

    /// Returns a version as it is written: `1.36`, `v1.36.3`.
    ///
    /// # Errors
    /// The text is no version, or the minor is unknown.
    pub fn parse(text: &str) -> Result<Self, String> {
        minor_of(text).ok_or_else(|| format!("`{text}` is no version of Kubernetes")).and_then(Self::new)
    }

    /// Whether a version as it is written is newer than every known one.
    pub fn is_newer_than_known(text: &str) -> bool {
        minor_of(text).is_some_and(|minor| minor > LAST_MINOR)
    }

    /// Returns the version with a gate switched on or off.
    ///
    /// # Errors
    /// The gate is not about nodes, or the minor cannot switch it.
    pub fn with_gate(mut self, name: &str, is_on: bool) -> Result<Self, String> {
        let gate = Gate::of(name).ok_or_else(|| format!("no feature gate `{name}` decides about nodes"))?;
        let history = gate.history();
        if history.defaults.first().is_none_or(|(first, _)| self.minor < *first) {
            return Err(format!("Kubernetes 1.{} has no feature gate `{name}` yet", self.minor));
        }
        if history.locked.is_some_and(|locked| self.minor >= locked) && self.is_on(gate) != is_on {
            let word = if is_on { "off" } else { "on" };
            return Err(format!("the feature gate `{name}` is always {word} in Kubernetes 1.{}", self.minor));
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
    pub fn is_on(&self, gate: Gate) -> bool {
        let by_default = || {
            let reached = gate.history().defaults.iter().rev().find(|(since, _)| self.minor >= *since);
            reached.is_some_and(|(_, is_on)| *is_on)
        };
        self.switched.get(&gate).copied().unwrap_or_else(by_default)
    }
}

fn minor_of(text: &str) -> Option<u32> {
    let parts: Vec<&str> = text.trim_start_matches('v').split('.').collect();
    match parts.as_slice() {
        ["1", minor] | ["1", minor, _] => minor.parse().ok(),
        _ => None,
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "1.{}", self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_has_a_row_of_its_own() {
        for row in &GATES {
            assert_eq!(format!("{:?}", row.gate), row.name);
            assert_eq!(Gate::of(row.name), Some(row.gate));
            assert!(row.defaults.is_sorted_by_key(|(since, _)| *since), "{}", row.name);
        }
    }

    #[test]
    fn gates_follow_their_history() {
        let on = |minor, gate| Version::new(minor).expect("known").is_on(gate);
        assert_eq!(
            [30, 31, 32, 36].map(|minor| on(minor, Gate::AuthorizeNodeWithSelectors)),
            [false, false, true, true]
        );
        assert_eq!([10, 11, 21, 22].map(|minor| on(minor, Gate::DynamicKubeletConfig)), [false, true, true, false]);
        assert!(on(30, Gate::AllowInsecureKubeletCertificateSigningRequests));
        for gate in [Gate::ClusterTrustBundle, Gate::PodCertificateRequest] {
            assert_eq!([36, 37].map(|minor| on(minor, gate)), [false, true]);
        }
        assert!(!on(37, Gate::CSIVolumeHealth));
    }

    #[test]
    fn what_cannot_be_switched_is_refused() {
        let version = |minor| Version::new(minor).expect("known");
        assert!(version(33).with_gate("AuthorizeNodeWithSelectors", false).is_ok());
        assert!(version(34).with_gate("AuthorizeNodeWithSelectors", false).is_err());
        assert!(version(34).with_gate("AuthorizeNodeWithSelectors", true).is_ok());
        assert!(version(33).with_gate("PodCertificateRequest", true).is_err());
        assert!(version(33).with_gate("NoSuchGate", true).is_err());
        assert!(version(36).with_gate("PreventStaticPodAPIReferences", false).is_ok());
        assert!(version(37).with_gate("PreventStaticPodAPIReferences", false).is_err());
        assert!(version(36).with_gate("CSIVolumeHealth", true).is_err());
        assert!(version(37).with_gate("CSIVolumeHealth", true).is_ok());
        assert!(Version::parse("1.5").is_err() && Version::parse("2.30").is_err() && Version::parse("v1.36.3").is_ok());
    }
}
