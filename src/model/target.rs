//! The clusters compiled for.

use crate::codes;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Data, Known};
use crate::admission::scc::release::Release;
use crate::diag::Diagnostic;
use crate::k8s::catalogue::{Api, FIRST_MINOR, LAST_MINOR};
use crate::yaml::Spanned;

/// What runs on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Kubernetes as released upstream; `version` is its minor, such as "1.21".
    Kubernetes,
    /// OpenShift or OKD; `version` is its own, such as "4.20".
    Openshift,
}

/// The version of a cluster, with the minor of Kubernetes whose facts hold for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    /// The minor of Kubernetes as it was written, or as the release of OpenShift has it.
    asked: u32,
    /// The release of OpenShift.
    release: Option<Release>,
}

impl Version {
    /// The oldest and the newest minor whose facts are built in.
    pub const KNOWN: std::ops::RangeInclusive<u32> = FIRST_MINOR..=LAST_MINOR;

    /// A version of Kubernetes by its minor.
    pub fn new(minor: u32) -> Self {
        Self { asked: minor, release: None }
    }

    /// The minor whose facts hold: 21 for 1.21, and the newest known one for a newer version.
    pub fn minor(self) -> u32 {
        self.asked.min(LAST_MINOR)
    }

    /// The release, where this is a version of OpenShift.
    pub fn release(self) -> Option<Release> {
        self.release
    }

    /// Whether the version is newer than every known one.
    pub fn is_newer_than_known(self) -> bool {
        self.release.map_or(self.asked > LAST_MINOR, Release::is_newer_than_known)
    }

    /// The API of a plain cluster of the version.
    pub fn api(self) -> Api {
        Api::new(if self.is_newer_than_known() { self.asked.max(LAST_MINOR + 1) } else { self.asked })
    }

    /// Reads `1.21` for Kubernetes, `4.20` for OpenShift. A patch level is read and dropped.
    pub fn parse(platform: Platform, text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        let major: u32 = parts.next()?.parse().ok()?;
        let minor: u32 = parts.next()?.parse().ok()?;
        let patch_fits = parts.next().is_none_or(|patch| patch.parse::<u32>().is_ok());
        if !patch_fits || parts.next().is_some() {
            return None;
        }
        match (platform, major) {
            (Platform::Kubernetes, 1) => Some(Self::new(minor)),
            (Platform::Openshift, 4 | 5) => {
                let release = Release { major, minor };
                Some(Self { asked: release.kubernetes_minor(), release: Some(release) })
            }
            _ => None,
        }
    }

    /// The warning that the version is newer than every known one, without a place; none for a known version.
    pub fn warning(self) -> Option<Diagnostic> {
        let (product, number, newest) = match self.release {
            Some(release) => ("OpenShift", release.to_string(), release.newest_known().to_string()),
            None => ("Kubernetes", self.to_string(), Self::new(LAST_MINOR).to_string()),
        };
        let judged = if self.release.is_some() { format!("Kubernetes 1.{LAST_MINOR}") } else { newest.clone() };
        self.is_newer_than_known().then(|| {
            let message = format!("{product} {number} is newer than {newest}, the newest version with known facts");
            Diagnostic::warning(codes::NEWER_THAN_KNOWN, message)
                .note(format!(
                    "compiled and checked as {judged}; not checked: changes of {number} in resources, \
                     default roles, feature gates, admission and validation"
                ))
                .help(format!("use a version of bailiwick with facts about {number}"))
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "1.{}", self.asked)
    }
}

/// The minor since which every cluster serves ValidatingAdmissionPolicy.
const FIRST_WITH_ADMISSION_POLICIES: u32 = 30;

/// What holds pods to a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// A PodSecurityPolicy of the profile, used by those who are granted it: Kubernetes until 1.24.
    PodSecurityPolicy,
    /// SecurityContextConstraints of the profile, used by those who are granted them: OpenShift.
    SecurityContextConstraints,
    /// A Pod Security level and an admission policy for what levels cannot say, for the namespaces that ask for it:
    /// Kubernetes since 1.30.
    AdmissionPolicy,
    /// Nothing: Kubernetes 1.25 to 1.29, or a cluster whose PodSecurityPolicy is switched off.
    None,
}

/// What a cluster has beyond or short of its version.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Features {
    /// False where PodSecurityPolicy is switched off although the version has it.
    #[serde(default)]
    pub pod_security_policy: Option<bool>,
    /// False where MutatingAdmissionPolicy is switched off although the version has it; true where its beta version,
    /// which is off by default, is switched on.
    #[serde(default)]
    pub mutating_admission_policy: Option<bool>,
    /// On OpenShift: which labels the cluster writes that synchronises Pod Security labels with what its
    /// SecurityContextConstraints allow. The namespaces compiled here get the same labels. Default: that of the
    /// release, which is `enforcing` since 4.14 but for 4.21.
    #[serde(default)]
    pub pod_security_label_sync: Option<LabelSync>,
}

/// Which Pod Security labels follow what a namespace's service accounts may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LabelSync {
    /// Enforce, audit and warn.
    Enforcing,
    /// Audit and warn.
    Advising,
    /// None of them.
    None,
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
    /// What it has beyond or short of its version.
    pub features: Features,
    /// Variables for patterns.
    pub variables: TargetVariables,
    /// Who applies the output, where that is said.
    pub applied_by: Option<AppliedBy>,
    /// The file or folder, relative to the workspace's root, with what the cluster has beside the output; none for
    /// the default policy of its version.
    pub baseline: Option<Spanned<String>>,
    /// Names that exist there without a policy.
    pub known: Known,
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
            features: Features::default(),
            variables: TargetVariables::new(),
            applied_by: None,
            baseline: None,
            known: Known::default(),
        }
    }

    /// A variable by its name: `name`, `version`, or one of the target's own.
    pub fn variable(&self, name: &str) -> Option<Data> {
        match name {
            "name" => Some(Data::text(self.name.as_str())),
            // Output is the same for every version that is judged as the newest known one.
            "version" => Some(Data::text(Version::new(self.version.minor()).to_string())),
            own => self.variables.get(own).cloned(),
        }
    }

    /// True when the target serves PodSecurityPolicy: upstream until 1.24 (`specs/kubernetes.md` 9.4), never
    /// on OpenShift, which has SecurityContextConstraints.
    pub fn serves_pod_security_policy(&self) -> bool {
        self.platform == Platform::Kubernetes
            && self.version.minor() <= 24
            && self.features.pod_security_policy.unwrap_or(true)
    }

    /// What holds pods to a profile there.
    pub fn enforcement(&self) -> Enforcement {
        match self.platform {
            Platform::Openshift => Enforcement::SecurityContextConstraints,
            Platform::Kubernetes if self.serves_pod_security_policy() => Enforcement::PodSecurityPolicy,
            Platform::Kubernetes if self.version.minor() >= FIRST_WITH_ADMISSION_POLICIES => {
                Enforcement::AdmissionPolicy
            }
            Platform::Kubernetes => Enforcement::None,
        }
    }

    /// The version of MutatingAdmissionPolicy that it serves: `v1` since 1.36, `v1beta1` since 1.34 where that is
    /// switched on (`facts/kubernetes/api-resources.yaml`).
    pub fn mutating_admission_policy(&self) -> Option<&'static str> {
        match (self.version.minor(), self.features.mutating_admission_policy) {
            (_, Some(false)) => None,
            (36.., _) => Some("admissionregistration.k8s.io/v1"),
            (34.., Some(true)) => Some("admissionregistration.k8s.io/v1beta1"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_newest_known_minor() {
        assert_eq!(*Version::KNOWN.end(), LAST_MINOR);
        assert_eq!(crate::node::version::LAST_MINOR, LAST_MINOR);
        // Pod Security checks may be known for a minor whose other facts are not.
        assert!(crate::admission::standards::NEWEST >= u64::from(LAST_MINOR));
    }

    #[test]
    fn a_newer_version_is_judged_as_the_newest_known() {
        let version = |platform, text| Version::parse(platform, text).expect("a version");
        for (platform, text) in [
            (Platform::Kubernetes, "1.38"),
            (Platform::Kubernetes, "1.99"),
            (Platform::Openshift, "4.24"),
            (Platform::Openshift, "5.1"),
        ] {
            let version = version(platform, text);
            assert!(
                version.is_newer_than_known() && version.warning().is_some() && version.api().is_newer_than_known()
            );
            assert_eq!((version.minor(), version.api().minor()), (LAST_MINOR, LAST_MINOR), "{text}");
        }
        for (platform, text) in
            [(Platform::Kubernetes, "1.37"), (Platform::Openshift, "4.23"), (Platform::Openshift, "5.0")]
        {
            let version = version(platform, text);
            assert!(
                !version.is_newer_than_known() && version.warning().is_none() && !version.api().is_newer_than_known()
            );
        }
        assert_eq!(version(Platform::Kubernetes, "1.38").to_string(), "1.38");
    }

    #[test]
    fn openshift_versions_are_mapped() {
        assert_eq!(Version::parse(Platform::Openshift, "4.20").map(Version::minor), Some(33));
        assert_eq!(Version::parse(Platform::Openshift, "5.0").map(Version::minor), Some(36));
        assert_eq!(Version::parse(Platform::Openshift, "6.0"), None);
        assert_eq!(Version::parse(Platform::Kubernetes, "v1.24.17").map(Version::minor), Some(24));
        assert_eq!(Version::parse(Platform::Kubernetes, "4.20"), None);
        assert_eq!(Version::parse(Platform::Kubernetes, "1"), None);
    }
}
