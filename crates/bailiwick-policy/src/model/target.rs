//! The clusters compiled for.

use std::collections::BTreeMap;
use std::sync::Arc;

use bailiwick_admission::scc::release::Release;
use bailiwick_admission::standards::configuration::Configuration;
use bailiwick_codes as codes;
use bailiwick_kubernetes::catalogue::{Api, FIRST_MINOR, LAST_MINOR};
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::Diagnostic;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{CommonMetadata, Data, DeclaredNames, PodSecurityStage, TargetDelivery};

/// The distribution of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Kubernetes as released upstream; `version` is its minor, such as "1.21".
    Kubernetes,
    /// OpenShift or OKD; `version` is its own, such as "4.20".
    Openshift,
}

impl Platform {
    /// Returns the newest version with known facts, as a workspace states it.
    pub fn newest_version(self) -> String {
        match self {
            Self::Kubernetes => format!("1.{LAST_MINOR}"),
            Self::Openshift => Release::LAST.to_string(),
        }
    }

    /// Every platform.
    pub const ALL: [Self; 2] = [Self::Kubernetes, Self::Openshift];

    /// Returns the value of the platform in `bailiwick.yaml` and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Openshift => "openshift",
        }
    }
}

/// The version of a cluster, with the Kubernetes minor of its facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    /// The minor of Kubernetes as it was written, or as the release of OpenShift has it.
    asked: u32,
    /// The release of OpenShift.
    release: Option<Release>,
}

impl Version {
    /// The range of Kubernetes minors with built-in facts.
    pub const KNOWN: std::ops::RangeInclusive<u32> = FIRST_MINOR..=LAST_MINOR;

    /// Creates a Kubernetes version from its minor.
    pub fn new(minor: u32) -> Self {
        Self { asked: minor, release: None }
    }

    /// Returns the minor of the facts: 21 for 1.21, and the newest built-in minor for a newer version.
    pub fn minor(self) -> u32 {
        self.asked.min(LAST_MINOR)
    }

    /// Returns the OpenShift release of an OpenShift version.
    pub fn release(self) -> Option<Release> {
        self.release
    }

    /// Whether the version is newer than every known one.
    pub fn is_newer_than_known(self) -> bool {
        self.release.map_or(self.asked > LAST_MINOR, Release::is_newer_than_known)
    }

    /// Returns the API of a cluster of the version without custom resources.
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

    /// Returns the warning for a version newer than the built-in facts, without a location.
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

/// The first minor with ValidatingAdmissionPolicy on every cluster.
pub(super) const FIRST_WITH_ADMISSION_POLICIES: u32 = 30;

/// The mechanism that enforces a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// A PodSecurityPolicy and permission to use it: Kubernetes until 1.24.
    PodSecurityPolicy,
    /// SecurityContextConstraints and permission to use them: OpenShift.
    SecurityContextConstraints,
    /// A Pod Security level, and an admission policy for rules beyond levels, in namespaces with the label of the
    /// profile: Kubernetes since 1.30.
    AdmissionPolicy,
    /// Nothing: Kubernetes 1.25 to 1.29, or a cluster with PodSecurityPolicy disabled.
    None,
}

/// Features of a cluster beyond the defaults of its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Features {
    /// False if PodSecurityPolicy is disabled although the version has it.
    #[serde(default)]
    pub pod_security_policy: Option<bool>,
    /// False if MutatingAdmissionPolicy is disabled although the version has it; true if its beta version, disabled by
    /// default, is enabled.
    #[serde(default)]
    pub mutating_admission_policy: Option<bool>,
    /// Mode of the Pod Security label synchronization of OpenShift. The controller sets the Pod Security labels of a
    /// namespace by the SecurityContextConstraints of its service accounts. The namespaces compiled here get the same
    /// labels. Default: the default of the release, `enforcing` since 4.14 except for 4.21.
    #[serde(default)]
    pub pod_security_label_sync: Option<LabelSync>,
}

/// The Pod Security labels that the synchronization sets.
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

impl LabelSync {
    /// Returns the value in `bailiwick.yaml`.
    pub fn as_str(self) -> &'static str {
        match self {
            LabelSync::Enforcing => "enforcing",
            LabelSync::Advising => "advising",
            LabelSync::None => "none",
        }
    }
}

/// Variables of a target, for patterns such as `{target.zone}`.
pub type TargetVariables = BTreeMap<String, Data>;

/// A cluster, or a fleet of equal ones.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name, and the name of its folder in the output.
    pub name: String,
    /// The distribution of the target.
    pub platform: Platform,
    /// The Kubernetes version for facts.
    pub version: Version,
    /// Whether zero values are written out; by default the output has the API server's stored form.
    pub explicit: bool,
    /// Features beyond the defaults of the version.
    pub features: Features,
    /// Variables for patterns.
    pub variables: TargetVariables,
    /// The identity that applies the output, if stated.
    pub applied_by: Option<AppliedBy>,
    /// The file or folder with the other objects of the cluster, relative to the root of the workspace; none for the
    /// default policy of its version.
    pub baseline: Option<Spanned<String>>,
    /// Names that exist on the target without a policy.
    pub known: DeclaredNames,
    /// The labels and annotations of every object.
    pub common_metadata: CommonMetadata,
    /// The configuration of Pod Security admission.
    pub pod_security: Configuration,
    /// The enforced part of Pod Security.
    pub pod_security_stage: PodSecurityStage,
    /// The delivery of the output; none without objects of Argo CD and Flux.
    pub delivery: Option<Arc<TargetDelivery>>,
}

/// The identity that applies the output: the service account of Argo CD or Flux, or a user with its groups.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AppliedBy {
    /// The user name; the user name of a service account is `system:serviceaccount:<namespace>:<name>`.
    pub user: String,
    /// Groups beyond the default groups of a user or service account.
    #[serde(default)]
    pub groups: Vec<String>,
}

impl Target {
    /// Creates a Kubernetes target of a minor without settings.
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
            known: DeclaredNames::default(),
            common_metadata: CommonMetadata::default(),
            pod_security: Configuration::default(),
            pod_security_stage: PodSecurityStage::default(),
            delivery: None,
        }
    }

    /// Returns a variable by its name: `name`, `version`, or a variable of the target. `platform` and `minor` are known unless the target
    /// declares them.
    pub fn variable(&self, name: &str) -> Option<Data> {
        match name {
            "name" => Some(Data::text(self.name.as_str())),
            // The output is the same for every version with the facts of the newest minor.
            "version" => Some(Data::text(Version::new(self.version.minor()).to_string())),
            own => self.variables.get(own).cloned().or_else(|| self.known_variable(own)),
        }
    }

    /// Iterates over the names of the variables: the names that every target has, and the variables of the target.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        ["name", "version", "platform", "minor"].into_iter().chain(self.variables.keys().map(String::as_str))
    }

    /// Returns the values that every target has, whatever variables it declares.
    pub(super) fn facts(&self) -> Vec<(&'static str, Data)> {
        let fact = |name| Some((name, self.known_variable(name).or_else(|| self.variable(name))?));
        ["name", "platform", "version", "minor"].into_iter().filter_map(fact).collect()
    }

    fn known_variable(&self, name: &str) -> Option<Data> {
        match name {
            "platform" => Some(Data::text(self.platform.as_str())),
            "minor" => Some(Data::Int(self.version.minor().into())),
            _ => None,
        }
    }

    /// Returns the release of OpenShift whose own roles and constraints are known; none on another platform.
    pub fn release_with_defaults(&self) -> Option<Release> {
        self.version.release().filter(|release| *release >= Release::FIRST)
    }

    /// Whether the target serves PodSecurityPolicy: Kubernetes until 1.24, never OpenShift, which has
    /// SecurityContextConstraints.
    pub fn serves_pod_security_policy(&self) -> bool {
        self.platform == Platform::Kubernetes
            && self.version.minor() <= 24
            && self.features.pod_security_policy.unwrap_or(true)
    }

    /// Returns the mechanism that enforces a profile on the target.
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

    /// Whether a profile has an admission policy beside its constraints for limits without a field: OpenShift since 4.17.
    pub fn has_policies_beside_constraints(&self) -> bool {
        self.enforcement() == Enforcement::SecurityContextConstraints
            && self.version.minor() >= FIRST_WITH_ADMISSION_POLICIES
    }

    /// Whether the workspace delivers the output of the target by Flux.
    pub fn is_delivered_by_flux(&self) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.flux.is_some())
    }

    /// Whether Flux may apply the output: its delivery is stated, or no delivery is.
    pub fn may_be_delivered_by_flux(&self) -> bool {
        self.delivery.as_ref().is_none_or(|delivery| delivery.flux.is_some())
    }

    /// Returns the served version of MutatingAdmissionPolicy: `v1` since 1.36, `v1beta1` since 1.34 if enabled.
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
        assert_eq!(bailiwick_node::version::LAST_MINOR, LAST_MINOR);
        // Pod Security checks may cover a newer minor than the other facts.
        assert!(bailiwick_admission::standards::NEWEST >= u64::from(LAST_MINOR));
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
