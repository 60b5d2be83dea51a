//! The settings of Pod Security on a target: the configuration of the cluster, and the stage of its rollout.

use std::collections::BTreeSet;

use bailiwick_admission::gate::FIRST_MINOR_WITH_LEVELS;
use bailiwick_admission::level::{Level, PolicyVersion};
use bailiwick_admission::standards::configuration::{Configuration, Exemptions};
use bailiwick_admission::standards::labels::{LevelVersion, PodSecurityLevels, PodSecurityMode};
use bailiwick_codes as codes;
use bailiwick_kubernetes::names;
use bailiwick_kubernetes::validation_action::ValidationAction;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Platform, Version};

/// Pod Security on a target: the PodSecurityConfiguration that the API server of the cluster reads, and the stage of a rollout.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterPodSecurity {
    /// The levels of namespaces without labels.
    #[serde(default)]
    pub defaults: Option<DefaultLevels>,
    /// The requests without checks.
    #[serde(default)]
    pub exemptions: Option<PodSecurityExemptions>,
    /// The modes of the labels that follow from `podSecurity` of namespaces and tenants: without `enforce`, no level rejects a pod.
    /// Not on OpenShift, whose label synchronization sets missing labels. Default: all of them.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub modes: Option<Spanned<Vec<Spanned<PodSecurityMode>>>>,
    /// The actions of the bindings of PodSecurityProfiles: without `Deny`, no profile rejects a pod. `Deny` and `Warn`
    /// exclude each other. Since Kubernetes 1.30 and OpenShift 4.17. Kubernetes 1.25 to 1.29 have no policies for profiles: the
    /// empty list states that the levels of profiles are their only limit there. Before OpenShift 4.17, the empty list states that
    /// constraints are the only limit: limits without a field in them are left out. Default: `Deny`.
    #[serde(default)]
    pub validation_actions: Option<Spanned<Vec<Spanned<ValidationAction>>>>,
}

/// The levels of namespaces without labels, each with the version of its checks. Default: `privileged` and `latest`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DefaultLevels {
    /// The level enforced on pods.
    #[serde(default)]
    pub enforce: Option<Level>,
    /// The version of its checks: `latest`, or a version such as `v1.37`.
    #[serde(default)]
    pub enforce_version: Option<Spanned<String>>,
    /// The level for the audit log.
    #[serde(default)]
    pub audit: Option<Level>,
    /// The version of its checks.
    #[serde(default)]
    pub audit_version: Option<Spanned<String>>,
    /// The level for warnings.
    #[serde(default)]
    pub warn: Option<Level>,
    /// The version of its checks.
    #[serde(default)]
    pub warn_version: Option<Spanned<String>>,
}

/// The requests without checks.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PodSecurityExemptions {
    /// Names of users. A controller creates the pods of a workload: its user name covers the pods of every such workload.
    #[serde(default)]
    pub usernames: Vec<Spanned<String>>,
    /// Names of namespaces.
    #[serde(default)]
    pub namespaces: Vec<Spanned<String>>,
    /// Names of RuntimeClasses.
    #[serde(default)]
    pub runtime_classes: Vec<Spanned<String>>,
}

impl ClusterPodSecurity {
    /// Whether the settings describe the configuration of the cluster. The stage of a rollout does not.
    fn configures(&self) -> bool {
        let is_stage = self.modes.is_some() || self.validation_actions.is_some();
        self.defaults.is_some() || self.exemptions.is_some() || !is_stage
    }

    /// Checks the configuration of a target, as the API server does when it starts.
    pub(super) fn link(
        spec: Option<&Spanned<Self>>,
        platform: Platform,
        version: Version,
        sink: &mut Sink,
    ) -> Configuration {
        let Some(spec) = spec else { return Configuration::default() };
        if let Some((message, help)) = refusal(platform, version).filter(|_| spec.configures()) {
            sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(spec.origin).help(help));
        }
        let (no_level, no_exemption) = (DefaultLevels::default(), PodSecurityExemptions::default());
        let DefaultLevels { enforce, enforce_version, audit, audit_version, warn, warn_version } =
            spec.defaults.as_ref().map_or(&no_level, |defaults| defaults);
        let mut level = |level: &Option<Level>, version: &Option<Spanned<String>>| LevelVersion {
            level: level.map_or(LevelVersion::PRIVILEGED.level, |level| level),
            version: version.as_ref().map_or(PolicyVersion::Latest, |version| version_of(version, sink)),
        };
        let defaults = PodSecurityLevels {
            enforce: level(enforce, enforce_version),
            audit: level(audit, audit_version),
            warn: level(warn, warn_version),
        };
        let PodSecurityExemptions { usernames, namespaces, runtime_classes } =
            spec.exemptions.as_ref().map_or(&no_exemption, |exemptions| exemptions);
        let exemptions = Exemptions {
            usernames: exempt(usernames, "the name of a user", &|name| !name.is_empty(), sink),
            namespaces: exempt(namespaces, "the name of a namespace", &|name| names::dns_label(name).is_ok(), sink),
            runtime_classes: exempt(
                runtime_classes,
                "the name of a RuntimeClass",
                &|name| names::dns_subdomain(name).is_ok(),
                sink,
            ),
        };
        Configuration { defaults, exemptions }
    }
}

/// Returns why a cluster cannot have a configuration, with a help.
fn refusal(platform: Platform, version: Version) -> Option<(String, &'static str)> {
    match platform {
        Platform::Openshift => Some((
            "OpenShift configures Pod Security admission itself".to_owned(),
            "remove the defaults and exemptions from this target: its release has them",
        )),
        Platform::Kubernetes if version.minor() < FIRST_MINOR_WITH_LEVELS => Some((
            format!(
                "Kubernetes {version} has no Pod Security admission by default; it needs 1.{FIRST_MINOR_WITH_LEVELS}"
            ),
            "remove `podSecurity` from this target",
        )),
        Platform::Kubernetes => None,
    }
}

fn version_of(written: &Spanned<String>, sink: &mut Sink) -> PolicyVersion {
    let version = PolicyVersion::parse(written);
    if version.is_none() {
        let message = format!("`{}` is not a version of the Pod Security checks", written.value);
        invalid(message, written.origin, "write `latest`, or a minor such as `v1.36`", sink);
    }
    version.map_or(PolicyVersion::Latest, |version| version)
}

/// Returns names without checks, and reports an invalid name and a name that is there twice.
fn exempt(names: &[Spanned<String>], what: &str, is_valid: &dyn Fn(&str) -> bool, sink: &mut Sink) -> Vec<String> {
    let mut known = BTreeSet::new();
    for name in names {
        if !is_valid(name) {
            let help = "exemptions are exact names: `*` matches no other name";
            invalid(format!("`{}` is not {what}", name.value), name.origin, help, sink);
        } else if !known.insert(name.as_str()) {
            invalid(format!("`{}` is exempt twice", name.value), name.origin, "remove one entry", sink);
        }
    }
    names.iter().map(|name| name.value.clone()).collect()
}

fn invalid(message: String, place: Origin, help: &str, sink: &mut Sink) {
    sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(place).help(help));
}
