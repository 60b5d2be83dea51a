//! What an AccessTest expects, ready to be asked of any target.

use super::PolicyMeta;
use crate::diag::Origin;

/// One expectation of a test: every verb on every resource or URL, in every namespace, for every name, by everybody.
#[derive(Debug, Clone)]
pub struct AccessCheck {
    /// The test it belongs to.
    pub meta: PolicyMeta,
    /// Who is asked about.
    pub who: Vec<Tested>,
    /// What is expected.
    pub expectation: Expectation,
    /// Where it stands.
    pub origin: Origin,
    /// Verbs.
    pub verbs: Vec<String>,
    /// Resources, as people write them.
    pub resources: Vec<String>,
    /// Namespaces, or `*`.
    pub namespaces: Vec<String>,
    /// Names of objects.
    pub names: Vec<String>,
    /// URL paths.
    pub urls: Vec<String>,
}

/// Somebody who is tested.
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

/// What is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// It has to be allowed.
    Must,
    /// It must not be allowed.
    MustNot,
}
