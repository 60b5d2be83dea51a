//! Pod Security levels and the versions of their checks.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

/// How much a pod may do, by the Pod Security standards; the order is from the strictest to the loosest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Current hardening practice.
    Restricted,
    /// No known privilege escalation.
    Baseline,
    /// Anything.
    Privileged,
}

impl Level {
    /// All of them, the strictest first.
    pub const ALL: [Level; 3] = [Level::Restricted, Level::Baseline, Level::Privileged];

    /// Reads the name of a level, as labels write it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == text)
    }

    /// Reads the value of an enforce label. An unknown value counts as the strictest level
    /// (`PolicyToEvaluate` in `pod-security-admission/api/helpers.go` of Kubernetes 1.37).
    pub fn parse_enforced(text: &str) -> Self {
        match Self::parse(text) {
            Some(level) => level,
            None => Level::Restricted,
        }
    }

    /// Reads the value of an audit or warn label. An unknown value counts as the loosest level
    /// (`PolicyToEvaluate` in `pod-security-admission/api/helpers.go` of Kubernetes 1.37).
    pub fn parse_observed(text: &str) -> Self {
        match Self::parse(text) {
            Some(level) => level,
            None => Level::Privileged,
        }
    }

    /// Returns the loosest of several levels; the strictest level of all for an empty list.
    pub fn loosest(levels: impl IntoIterator<Item = Self>) -> Self {
        levels.into_iter().fold(Level::Restricted, Self::max)
    }

    /// Returns the name in labels.
    pub fn name(self) -> &'static str {
        match self {
            Level::Restricted => "restricted",
            Level::Baseline => "baseline",
            Level::Privileged => "privileged",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The version of the checks: `latest` or a Kubernetes minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyVersion {
    /// The checks of a minor: 25 for `v1.25`.
    Minor(u64),
    /// The newest checks of the cluster.
    Latest,
}

impl PolicyVersion {
    /// Reads `latest` or `v1.<minor>`, without leading zeros, as `pod-security-admission/api/helpers.go` does.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(PolicyVersion::Latest);
        }
        let minor = text.strip_prefix("v1.")?;
        let is_canonical = minor == "0" || (!minor.starts_with('0') && minor.bytes().all(|byte| byte.is_ascii_digit()));
        // Go's integers end earlier than ours, and beyond them is no version.
        let number = minor.parse::<u64>().ok().filter(|number| is_canonical && i64::try_from(*number).is_ok());
        number.map(PolicyVersion::Minor)
    }

    /// Returns the effective version on a server of a minor: a server has no checks of a later minor, and its own are
    /// the latest (`policy/registry.go` of k8s.io/pod-security-admission).
    #[must_use]
    pub fn on_server_of(self, minor: u32) -> Self {
        PolicyVersion::Minor(self.minor_up_to(minor.into()))
    }

    /// Returns the effective minor, with `newest` as the last known one.
    pub fn minor_up_to(self, newest: u64) -> u64 {
        match self {
            PolicyVersion::Minor(minor) => minor.min(newest),
            PolicyVersion::Latest => newest,
        }
    }
}

impl fmt::Display for PolicyVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyVersion::Minor(minor) => write!(formatter, "v1.{minor}"),
            PolicyVersion::Latest => formatter.write_str("latest"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_the_checks_of_its_own_minor_at_most() {
        for (version, expected) in [("latest", 36), ("v1.99", 36), ("v1.37", 36), ("v1.36", 36), ("v1.24", 24)] {
            let version = PolicyVersion::parse(version).expect("a version");
            assert_eq!(version.on_server_of(36), PolicyVersion::Minor(expected), "{version}");
        }
    }

    #[test]
    fn versions_have_one_spelling() {
        assert_eq!(PolicyVersion::parse("v1.25"), Some(PolicyVersion::Minor(25)));
        assert_eq!(PolicyVersion::parse("v1.0"), Some(PolicyVersion::Minor(0)));
        assert_eq!(PolicyVersion::parse("latest"), Some(PolicyVersion::Latest));
        assert_eq!(PolicyVersion::parse("v1.9223372036854775807"), Some(PolicyVersion::Minor(i64::MAX as u64)));
        for wrong in ["v1.9223372036854775808", "v1.025", "1.25", "v1.", "v2.1", "v1.25.1", "v1.+5", "Latest", ""] {
            assert_eq!(PolicyVersion::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn levels_are_ordered_by_what_they_allow() {
        assert!(Level::Restricted < Level::Baseline && Level::Baseline < Level::Privileged);
        assert_eq!(Level::ALL.map(|level| Level::parse(level.name())), Level::ALL.map(Some));
    }
}
