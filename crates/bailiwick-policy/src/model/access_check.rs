//! The expectations of an AccessTest, in a form to be evaluated on any target.

use bailiwick_paths::Power;
use bailiwick_yaml::diag::Origin;

use super::PolicyMeta;

/// One expectation of a test: every verb on every resource or URL, in every namespace, for every name and every
/// subject.
#[derive(Debug, Clone)]
pub struct AccessCheck {
    /// The test it belongs to.
    pub meta: PolicyMeta,
    /// The subjects to evaluate.
    pub who: Vec<Tested>,
    /// The decision that the test expects.
    pub expectation: Expectation,
    /// The location of the expectation.
    pub origin: Origin,
    /// RBAC verbs, such as `get`.
    pub verbs: Vec<String>,
    /// Resources, as people write them.
    pub resources: Vec<String>,
    /// Namespace names, or `*`.
    pub namespaces: Vec<String>,
    /// Names of objects.
    pub names: Vec<String>,
    /// URL paths.
    pub urls: Vec<String>,
}

/// An expectation of a test about escalation paths: no subject reaches a power.
#[derive(Debug, Clone)]
pub struct PathCheck {
    /// The test it belongs to.
    pub meta: PolicyMeta,
    /// The subjects to evaluate.
    pub who: Vec<Tested>,
    /// The power that no subject may reach.
    pub power: Power,
    /// Whether paths that are possible and not proven are allowed.
    pub allows_possible: bool,
    /// The location of the expectation.
    pub origin: Origin,
}

/// A subject of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tested {
    /// A user, or a service account by its user name.
    User(String),
    /// A member of a group.
    Group(String),
}

impl std::fmt::Display for Tested {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tested::User(name) => write!(formatter, "user `{name}`"),
            Tested::Group(name) => write!(formatter, "group `{name}`"),
        }
    }
}

/// The decision that a test expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// It has to be allowed.
    Must,
    /// It must not be allowed.
    MustNot,
}
