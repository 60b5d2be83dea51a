//! The clusters compiled for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Data;

/// What runs on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Kubernetes as released upstream; `version` is its minor, such as "1.21".
    Kubernetes,
    /// OpenShift or OKD; `version` is its own, such as "4.20".
    Openshift,
}

/// A minor version of Kubernetes: 21 stands for 1.21.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    minor: u32,
}

impl Version {
    /// The oldest and the newest minor whose facts are built in (`facts/kubernetes/api-resources.yaml`).
    pub const KNOWN: std::ops::RangeInclusive<u32> = 16..=36;

    /// A version by its minor.
    pub fn new(minor: u32) -> Self {
        Self { minor }
    }

    /// The minor: 21 for 1.21.
    pub fn minor(self) -> u32 {
        self.minor
    }

    /// Reads `1.21` for Kubernetes, `4.20` for OpenShift (whose minor is 13 behind: 4.20 is Kubernetes 1.33).
    /// A patch level is read and dropped.
    pub fn parse(platform: Platform, text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        let major: u32 = parts.next()?.parse().ok()?;
        let minor: u32 = parts.next()?.parse().ok()?;
        let patch_fits = parts.next().is_none_or(|patch| patch.parse::<u32>().is_ok());
        if !patch_fits || parts.next().is_some() {
            return None;
        }
        match (platform, major) {
            (Platform::Kubernetes, 1) => Some(Self { minor }),
            (Platform::Openshift, 4) => Some(Self { minor: minor + 13 }),
            _ => None,
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "1.{}", self.minor)
    }
}

/// Variables of a target, for patterns such as `{target.zone}`.
pub type TargetVariables = BTreeMap<String, Data>;

/// A cluster, or a fleet of equal ones.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name, and the name of its folder in the output.
    pub name: String,
    /// What runs there.
    pub platform: Platform,
    /// The Kubernetes version that counts.
    pub version: Version,
    /// True where zero values are to be written out, as seed 000 does; otherwise the API server's stored form.
    pub explicit: bool,
    /// False where PodSecurityPolicy is switched off although the version has it.
    pub pod_security_policy: Option<bool>,
    /// Variables for patterns.
    pub variables: TargetVariables,
    /// Who applies the output, where that is said.
    pub applied_by: Option<AppliedBy>,
    /// The file or folder, relative to the workspace's root, with what the cluster has beside the output; none for
    /// the default policy of its version.
    pub baseline: Option<String>,
}

/// The identity that applies the output: the service account of Argo CD or Flux, or a user with its groups.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AppliedBy {
    /// The user name; that of a service account is `system:serviceaccount:<namespace>:<name>`.
    pub user: String,
    /// Groups beyond those that every user or service account is in.
    #[serde(default)]
    pub groups: Vec<String>,
}

impl Target {
    /// A Kubernetes cluster of a minor, without anything of its own.
    pub fn plain(name: &str, minor: u32) -> Self {
        Self {
            name: name.to_owned(),
            platform: Platform::Kubernetes,
            version: Version::new(minor),
            explicit: false,
            pod_security_policy: None,
            variables: TargetVariables::new(),
            applied_by: None,
            baseline: None,
        }
    }

    /// A variable by its name: `name`, `version`, or one of the target's own.
    pub fn variable(&self, name: &str) -> Option<Data> {
        match name {
            "name" => Some(Data::text(self.name.as_str())),
            "version" => Some(Data::text(self.version.to_string())),
            own => self.variables.get(own).cloned(),
        }
    }

    /// True when the target serves PodSecurityPolicy: upstream until 1.24 (`specs/kubernetes.md` 9.4), never
    /// on OpenShift, which has SecurityContextConstraints.
    pub fn serves_pod_security_policy(&self) -> bool {
        self.platform == Platform::Kubernetes && self.version.minor() <= 24 && self.pod_security_policy.unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openshift_versions_are_mapped() {
        assert_eq!(Version::parse(Platform::Openshift, "4.20").map(Version::minor), Some(33));
        assert_eq!(Version::parse(Platform::Kubernetes, "v1.24.17").map(Version::minor), Some(24));
        assert_eq!(Version::parse(Platform::Kubernetes, "4.20"), None);
        assert_eq!(Version::parse(Platform::Kubernetes, "1"), None);
    }
}
