//! Which level counts in a namespace: its six labels over the defaults of the cluster (`specs/openshift.md` 5.2;
//! `pod-security-admission/api/helpers.go`).

use std::collections::BTreeMap;
use std::fmt;

use super::words;
use crate::level::{Level, PolicyVersion};

/// What labels of Pod Security begin with.
pub const PREFIX: &str = "pod-security.kubernetes.io/";

/// A level, and the version of its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LevelVersion {
    /// The level.
    pub level: Level,
    /// The version.
    pub version: PolicyVersion,
}

/// What a level is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Pods that do not fit are refused.
    Enforce,
    /// What does not fit is noted in the audit log.
    Audit,
    /// Who writes what does not fit is warned.
    Warn,
}

/// The levels of a namespace, or those that count where its labels say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// What pods have to fit.
    pub enforce: LevelVersion,
    /// What goes to the audit log.
    pub audit: LevelVersion,
    /// What is warned of.
    pub warn: LevelVersion,
}

/// A label whose value means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelError {
    /// The label.
    pub label: String,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub expected: &'static str,
}

/// What a level may be.
pub(super) const LEVELS: &str = "must be one of privileged, baseline, restricted";
/// What a version may be.
pub(super) const VERSIONS: &str = "must be \"latest\" or \"v1.x\"";

impl Mode {
    /// All of them, in the order of their labels.
    pub const ALL: [Mode; 3] = [Mode::Enforce, Mode::Audit, Mode::Warn];

    /// Its name in labels.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Enforce => "enforce",
            Mode::Audit => "audit",
            Mode::Warn => "warn",
        }
    }

    /// The label with its level.
    pub fn label(self) -> String {
        format!("{PREFIX}{}", self.name())
    }

    /// The label with the version of its checks.
    pub fn version_label(self) -> String {
        format!("{PREFIX}{}-version", self.name())
    }
}

impl Policy {
    /// That of a cluster without a configuration, and of each field that a configuration leaves out.
    pub const UPSTREAM: Policy =
        Policy { enforce: LevelVersion::PRIVILEGED, audit: LevelVersion::PRIVILEGED, warn: LevelVersion::PRIVILEGED };

    /// The policy of a namespace by its labels, where `self` is that of the cluster, and what is wrong with them.
    ///
    /// There always is a policy: to enforce, a level that is none means restricted, to audit and to warn it means
    /// privileged; a version that is none means latest. Who enforces more than the cluster warns of also warns of it,
    /// unless a label says what to warn of.
    #[must_use]
    pub fn of(self, labels: &BTreeMap<String, String>) -> (Policy, Vec<LabelError>) {
        let mut policy = self;
        let mut errors = Vec::new();
        for mode in Mode::ALL {
            let chosen = policy.get_mut(mode);
            if let Some((label, value)) = labels.get_key_value(&mode.label()) {
                chosen.level = Level::parse(value).unwrap_or_else(|| {
                    errors.push(LabelError::new(label, value, LEVELS));
                    if mode == Mode::Enforce { Level::Restricted } else { Level::Privileged }
                });
            }
            if let Some((label, value)) = labels.get_key_value(&mode.version_label()) {
                chosen.version = PolicyVersion::parse(value).unwrap_or_else(|| {
                    errors.push(LabelError::new(label, value, VERSIONS));
                    PolicyVersion::Latest
                });
            }
        }
        let is_enforced = labels.get(&Mode::Enforce.label()).is_some_and(|value| Level::parse(value).is_some());
        let warns = labels.contains_key(&Mode::Warn.label());
        if is_enforced && !warns && policy.enforce.level < policy.warn.level {
            policy.warn.level = policy.enforce.level;
            if !labels.contains_key(&Mode::Warn.version_label()) {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }

    /// What it says for a mode.
    pub fn get(&self, mode: Mode) -> LevelVersion {
        match mode {
            Mode::Enforce => self.enforce,
            Mode::Audit => self.audit,
            Mode::Warn => self.warn,
        }
    }

    /// What it says for a mode, to change.
    pub(super) fn get_mut(&mut self, mode: Mode) -> &mut LevelVersion {
        match mode {
            Mode::Enforce => &mut self.enforce,
            Mode::Audit => &mut self.audit,
            Mode::Warn => &mut self.warn,
        }
    }
}

impl Default for Policy {
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

/// As the API server says it.
impl fmt::Display for LabelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LabelError { label, value, expected } = self;
        write!(formatter, "metadata.labels[{label}]: Invalid value: {}: {expected}", words::quoted(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy of some labels as `enforce audit warn`, and the labels that are wrong.
    fn policy(defaults: Policy, labels: &[(&str, &str)]) -> (String, Vec<String>) {
        let labels = labels.iter().map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned())).collect();
        let (policy, errors) = defaults.of(&labels);
        let text = Mode::ALL.map(|mode| policy.get(mode).to_string()).join(" ");
        (text, errors.into_iter().map(|error| error.label.replace(PREFIX, "")).collect())
    }

    #[test]
    fn labels_replace_defaults() {
        let baseline = LevelVersion { level: Level::Baseline, version: PolicyVersion::Minor(28) };
        let defaults = Policy { enforce: baseline, audit: baseline, warn: baseline };
        for (labels, expected) in [
            (&[][..], "baseline:v1.28 baseline:v1.28 baseline:v1.28"),
            (&[("enforce", "privileged")], "privileged:v1.28 baseline:v1.28 baseline:v1.28"),
            (
                &[("audit", "restricted"), ("audit-version", "latest")],
                "baseline:v1.28 restricted:latest baseline:v1.28",
            ),
            (&[("warn-version", "v1.30")], "baseline:v1.28 baseline:v1.28 baseline:v1.30"),
            // To warn follows to enforce when that is stricter, with its version unless there is one.
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
            Policy::UPSTREAM,
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
        // What is enforced by mistake is not warned of.
        let (text, _) = policy(Policy::UPSTREAM, &[("enforce", "x"), ("enforce-version", "v1.30")]);
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
