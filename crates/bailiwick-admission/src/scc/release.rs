//! The differences between releases of OpenShift.
//!
//! Facts about branches of the label syncer, the admission and the default constraints. A newer release behaves as the
//! newest in the table.

use std::fmt;

use crate::level::PolicyVersion;
use bailiwick_kubernetes::catalogue::LAST_MINOR;

/// A release of OpenShift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// 4 or 5.
    pub major: u32,
    /// The number behind the dot.
    pub minor: u32,
}

/// The labels written by the syncer, and the level for pods in a namespace without labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncMode {
    /// The gate OpenShiftPodSecurityAdmission is on: enforce, audit and warn.
    Enforcing,
    /// It is off: audit and warn alone.
    Advising,
}

impl Release {
    /// The first with a label syncer.
    pub const FIRST: Release = Release { major: 4, minor: 11 };
    /// The newest known release of OpenShift 4.
    pub const LAST_OF_FOUR: Release = Release { major: 4, minor: 23 };
    /// The newest known release: 5.0 is built on the same Kubernetes as 4.23.
    pub const LAST: Release = Release { major: 5, minor: 0 };

    const fn four(minor: u32) -> Self {
        Self { major: 4, minor }
    }

    /// Reads `4.18`, a release with a label syncer.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_any(text).filter(|release| *release >= Self::FIRST)
    }

    /// Reads a release, as old as it may be.
    pub fn parse_any(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(major) || !is_number(minor) {
            return None;
        }
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// Returns the newest release based on a Kubernetes minor; none before the first release.
    pub fn of_kubernetes(minor: u32) -> Option<Self> {
        let fours = (Self::FIRST.minor..=Self::LAST_OF_FOUR.minor).map(Self::four);
        let known = fours.chain([Self::LAST]).filter(|release| release.kubernetes_minor() <= minor);
        known.max_by_key(|release| release.kubernetes_minor())
    }

    /// Returns the value of the `-version` labels.
    pub fn version_label(self) -> PolicyVersion {
        if self < Self::four(17) { PolicyVersion::Minor(24) } else { PolicyVersion::Latest }
    }

    /// Whether the syncer respects the owners of labels, and forces its values only after an opt-in.
    pub fn respects_owners(self) -> bool {
        self >= Self::four(14)
    }

    /// Whether a list of exempt namespaces stands before everything else; without it the names of Kubernetes and all of
    /// `openshift-*` are left alone.
    pub fn has_exemptions(self) -> bool {
        self >= Self::four(12)
    }

    /// Whether a controller keeps `default`, `kube-system` and `kube-public` privileged.
    pub fn labels_run_level_zero(self) -> bool {
        self.respects_owners()
    }

    /// Whether the computed level is also written as an annotation.
    pub fn writes_annotation(self) -> bool {
        self >= Self::four(19)
    }

    /// Whether the syncer crashes on a kind of volume it does not know, instead of failing for the namespaces concerned.
    pub fn crashes_on_unknown_volumes(self) -> bool {
        self < Self::four(20)
    }

    /// Returns the first release with a kind of volume in its syncer; none for an unknown name.
    pub fn knows_volume_since(volume: &str) -> Option<Self> {
        match volume {
            "image" => Some(Self::four(18)),
            "serviceAccountToken" => Some(Self::four(23)),
            _ if super::convert::volume_level(volume).is_some() => Some(Self::FIRST),
            _ => None,
        }
    }

    /// Returns the mode of an unchanged feature gate. A cluster may have another mode, and the branches and the
    /// product's documentation contradict each other: this is a starting point.
    pub fn default_mode(self) -> SyncMode {
        if self < Self::four(14) || self == Self::four(21) { SyncMode::Advising } else { SyncMode::Enforcing }
    }

    /// Returns the newest known release of the same major version.
    pub fn newest_known(self) -> Release {
        if self.major == 4 { Self::LAST_OF_FOUR } else { Self::LAST }
    }

    /// Whether the release is newer than every known release of its major version.
    pub fn is_newer_than_known(self) -> bool {
        self > self.newest_known()
    }

    /// Returns the Kubernetes minor of the release, by `k8s.io/api` in go.mod of the release branches of
    /// openshift/api: 4.N is 1.(N+13), and 5.0 is 1.36 like 4.23. A newer release has the newest known minor.
    pub fn kubernetes_minor(self) -> u32 {
        match self.major {
            _ if self.is_newer_than_known() => LAST_MINOR,
            4 => self.minor + 13,
            _ => self.minor + 36,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

impl SyncMode {
    /// Reads `enforcing` or `advising`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "enforcing" => Some(SyncMode::Enforcing),
            "advising" => Some(SyncMode::Advising),
            _ => None,
        }
    }

    /// Returns the name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            SyncMode::Enforcing => "enforcing",
            SyncMode::Advising => "advising",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_numbers_in_order() {
        assert_eq!(Release::parse("4.18"), Some(Release { major: 4, minor: 18 }));
        assert!(Release::parse("4.9") < Some(Release::FIRST));
        assert!(Release::parse("5.0") > Release::parse("4.23"));
        for wrong in ["4", "4.", "v4.18", "4.+1", "4.10", ""] {
            assert_eq!(Release::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn releases_have_the_minor_they_are_built_on() {
        let minor = |text| Release::parse(text).expect("a release").kubernetes_minor();
        assert_eq!(["4.11", "4.20", "4.23", "5.0"].map(minor), [24, 33, 36, 36]);
        assert_eq!(["4.24", "4.40", "5.1", "5.9"].map(minor), [LAST_MINOR; 4]);
        let is_newer = |text| Release::parse(text).expect("a release").is_newer_than_known();
        assert_eq!(["4.23", "5.0", "4.24", "5.1"].map(is_newer), [false, false, true, true]);
    }

    #[test]
    fn the_table_holds() {
        let at = |text| Release::parse(text).expect("a release");
        assert_eq!(at("4.16").version_label().to_string(), "v1.24");
        assert_eq!(at("4.17").version_label().to_string(), "latest");
        assert!(!at("4.13").respects_owners() && at("4.14").respects_owners());
        assert!(!at("4.18").writes_annotation() && at("5.0").writes_annotation());
        assert!(at("4.19").crashes_on_unknown_volumes() && !at("4.20").crashes_on_unknown_volumes());
        assert_eq!(Release::knows_volume_since("nfs"), Some(Release::FIRST));
        assert_eq!(Release::knows_volume_since("bogus"), None);
        assert_eq!(at("4.21").default_mode(), SyncMode::Advising);
    }
}
