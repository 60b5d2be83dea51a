//! The levels of a namespace: six labels over the defaults of the cluster (`pod-security-admission/api/helpers.go`).

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::words;
use crate::level::{Level, PolicyVersion};

/// Prefix of the labels of Pod Security.
pub const PREFIX: &str = "pod-security.kubernetes.io/";

/// A level, and the version of its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LevelVersion {
    /// Level of the checks.
    pub level: Level,
    /// Version of the checks.
    pub version: PolicyVersion,
}

/// The use of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PodSecurityMode {
    /// Violations reject the pod.
    Enforce,
    /// Violations are recorded in the audit log.
    Audit,
    /// Violations lead to a warning.
    Warn,
}

/// The levels of a namespace, or the defaults for namespaces without labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodSecurityLevels {
    /// The level enforced on pods.
    pub enforce: LevelVersion,
    /// The level for the audit log.
    pub audit: LevelVersion,
    /// The level for warnings.
    pub warn: LevelVersion,
}

/// A label with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelError {
    /// Key of the label.
    pub label: String,
    /// Value found.
    pub value: String,
    /// The valid values.
    pub expected: &'static str,
}

/// The valid levels.
pub(super) const LEVELS: &str = "must be one of privileged, baseline, restricted";
/// The valid versions.
pub(super) const VERSIONS: &str = "must be \"latest\" or \"v1.x\"";

impl PodSecurityMode {
    /// All of them, in the order of their labels.
    pub const ALL: [PodSecurityMode; 3] = [PodSecurityMode::Enforce, PodSecurityMode::Audit, PodSecurityMode::Warn];

    /// Returns the name in labels.
    pub fn name(self) -> &'static str {
        match self {
            PodSecurityMode::Enforce => "enforce",
            PodSecurityMode::Audit => "audit",
            PodSecurityMode::Warn => "warn",
        }
    }

    /// Returns the label with its level.
    pub fn label(self) -> String {
        format!("{PREFIX}{}", self.name())
    }

    /// Returns the label with the version of its checks.
    pub fn version_label(self) -> String {
        format!("{PREFIX}{}-version", self.name())
    }
}

impl PodSecurityLevels {
    /// The policy of a cluster without a configuration, and the default of each field of a configuration.
    pub const UPSTREAM: PodSecurityLevels = PodSecurityLevels {
        enforce: LevelVersion::PRIVILEGED,
        audit: LevelVersion::PRIVILEGED,
        warn: LevelVersion::PRIVILEGED,
    };

    /// Returns the policy of a namespace by its labels, with `self` as the policy of the cluster, and the errors of
    /// the labels.
    ///
    /// There always is a policy: an unknown level means restricted for enforce, and privileged for audit and warn; an
    /// unknown version means latest. A level for enforce above the default level for warn applies to warn as well,
    /// unless a label sets it.
    #[must_use]
    pub fn with_labels(self, labels: &BTreeMap<String, String>) -> (PodSecurityLevels, Vec<LabelError>) {
        let mut policy = self;
        let mut errors = Vec::new();
        for mode in PodSecurityMode::ALL {
            let chosen = policy.get_mut(mode);
            if let Some((label, value)) = labels.get_key_value(&mode.label()) {
                chosen.level = if mode == PodSecurityMode::Enforce {
                    Level::parse_enforced(value)
                } else {
                    Level::parse_observed(value)
                };
                if Level::parse(value).is_none() {
                    errors.push(LabelError::new(label, value, LEVELS));
                }
            }
            if let Some((label, value)) = labels.get_key_value(&mode.version_label()) {
                chosen.version = match PolicyVersion::parse(value) {
                    Some(version) => version,
                    // Pod Security enforces an invalid version as the latest one (`api/helpers.go`).
                    None => {
                        errors.push(LabelError::new(label, value, VERSIONS));
                        PolicyVersion::Latest
                    }
                };
            }
        }
        let is_enforced =
            labels.get(&PodSecurityMode::Enforce.label()).is_some_and(|value| Level::parse(value).is_some());
        let warns = labels.contains_key(&PodSecurityMode::Warn.label());
        if is_enforced && !warns && policy.enforce.level < policy.warn.level {
            policy.warn.level = policy.enforce.level;
            if !labels.contains_key(&PodSecurityMode::Warn.version_label()) {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }

    /// Returns the level of a mode.
    pub fn get(&self, mode: PodSecurityMode) -> LevelVersion {
        match mode {
            PodSecurityMode::Enforce => self.enforce,
            PodSecurityMode::Audit => self.audit,
            PodSecurityMode::Warn => self.warn,
        }
    }

    /// Returns the level of a mode, to change.
    pub(super) fn get_mut(&mut self, mode: PodSecurityMode) -> &mut LevelVersion {
        match mode {
            PodSecurityMode::Enforce => &mut self.enforce,
            PodSecurityMode::Audit => &mut self.audit,
            PodSecurityMode::Warn => &mut self.warn,
        }
    }
}

impl Default for PodSecurityLevels {
    fn default() -> Self {
        Self::UPSTREAM
    }
}

impl LevelVersion {
    /// Anything goes.
    pub const PRIVILEGED: LevelVersion = LevelVersion { level: Level::Privileged, version: PolicyVersion::Latest };

    /// Reads `<level>:<version>`, as messages write it.
    pub fn parse(text: &str) -> Option<Self> {
        let (level, version) = text.split_once(':')?;
        Some(Self { level: Level::parse(level)?, version: PolicyVersion::parse(version)? })
    }
}

impl LabelError {
    fn new(label: &str, value: &str, expected: &'static str) -> Self {
        Self { label: label.to_owned(), value: value.to_owned(), expected }
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.level, self.version)
    }
}

/// The text of the API server.
impl fmt::Display for LabelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LabelError { label, value, expected } = self;
        write!(formatter, "metadata.labels[{label}]: Invalid value: {}: {expected}", words::quoted(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the policy of some labels as `enforce audit warn`, and the invalid labels.
    fn policy(defaults: PodSecurityLevels, labels: &[(&str, &str)]) -> (String, Vec<String>) {
        let labels = labels.iter().map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned())).collect();
        let (policy, errors) = defaults.with_labels(&labels);
        let text = PodSecurityMode::ALL.map(|mode| policy.get(mode).to_string()).join(" ");
        (text, errors.into_iter().map(|error| error.label.replace(PREFIX, "")).collect())
    }

    #[test]
    fn labels_replace_defaults() {
        let baseline = LevelVersion { level: Level::Baseline, version: PolicyVersion::Minor(28) };
        let defaults = PodSecurityLevels { enforce: baseline, audit: baseline, warn: baseline };
        for (labels, expected) in [
            (&[][..], "baseline:v1.28 baseline:v1.28 baseline:v1.28"),
            (&[("enforce", "privileged")], "privileged:v1.28 baseline:v1.28 baseline:v1.28"),
            (
                &[("audit", "restricted"), ("audit-version", "latest")],
                "baseline:v1.28 restricted:latest baseline:v1.28",
            ),
            (&[("warn-version", "v1.30")], "baseline:v1.28 baseline:v1.28 baseline:v1.30"),
            // Warn follows a stricter enforce, with its version unless a label sets one.
            (
                &[("enforce", "restricted"), ("enforce-version", "v1.30")],
                "restricted:v1.30 baseline:v1.28 restricted:v1.30",
            ),
            (&[("enforce", "restricted"), ("warn-version", "v1.9")], "restricted:v1.28 baseline:v1.28 restricted:v1.9"),
            (&[("enforce", "restricted"), ("warn", "privileged")], "restricted:v1.28 baseline:v1.28 privileged:v1.28"),
            (&[("enforce", "baseline"), ("enforce-version", "v1.30")], "baseline:v1.30 baseline:v1.28 baseline:v1.28"),
        ] {
            assert_eq!(policy(defaults, labels), (expected.to_owned(), Vec::new()), "{labels:?}");
        }
    }

    #[test]
    fn what_is_wrong_fails_closed_only_where_it_is_enforced() {
        let (text, errors) = policy(
            PodSecurityLevels::UPSTREAM,
            &[
                ("enforce", "Baseline"),
                ("enforce-version", "v1.02"),
                ("audit", ""),
                ("warn", "x"),
                ("warn-version", "1.2"),
            ],
        );
        assert_eq!(text, "restricted:latest privileged:latest privileged:latest");
        assert_eq!(errors, ["enforce", "enforce-version", "audit", "warn", "warn-version"]);
        // An invalid enforce level leads to no warning.
        let (text, _) = policy(PodSecurityLevels::UPSTREAM, &[("enforce", "x"), ("enforce-version", "v1.30")]);
        assert_eq!(text, "restricted:v1.30 privileged:latest privileged:latest");
    }

    #[test]
    fn errors_read_as_the_servers() {
        let error = LabelError::new("pod-security.kubernetes.io/warn", "a\"", LEVELS);
        assert_eq!(
            error.to_string(),
            r#"metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "a\"": must be one of privileged, baseline, restricted"#
        );
    }
}
