//! The revisions of the design, and the releases with a difference from it.

use schemars::JsonSchema;
use serde::Deserialize;

/// The manager of packages and its rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
pub enum ManagerRevision {
    /// The design: the names of Crossplane v0.4, and no cluster-scoped definitions.
    #[default]
    #[serde(rename = "1.0")]
    Seed,
    /// The next revision of the design: cluster stacks may own cluster-scoped definitions.
    #[serde(rename = "1.1")]
    SeedNext,
    /// The Stack Manager of Crossplane v0.9: a ClusterRole for each version, personas, labels.
    #[serde(rename = "v0.9")]
    StackManager,
    /// The same under its later name, the package manager of v0.11 and v0.12.
    #[serde(rename = "v0.11")]
    PackageManager,
    /// The RBAC manager of Crossplane v1: providers may ask for permissions.
    #[serde(rename = "rbac-manager-v1")]
    RbacManagerV1,
    /// The RBAC manager of Crossplane v2.
    #[serde(rename = "rbac-manager")]
    RbacManager,
}

impl ManagerRevision {
    /// Whether it is the RBAC manager, with providers and composites instead of stacks.
    pub fn is_rbac_manager(self) -> bool {
        matches!(self, ManagerRevision::RbacManagerV1 | ManagerRevision::RbacManager)
    }

    /// Whether the roles carry the version in their names, and come with personas and labels.
    pub fn has_personas(self) -> bool {
        matches!(self, ManagerRevision::StackManager | ManagerRevision::PackageManager)
    }

    /// Returns the revision of a name, also by the full names of releases.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "1.0" => ManagerRevision::Seed,
            "1.1" => ManagerRevision::SeedNext,
            "v0.3" | "v0.4" | "v0.5" => ManagerRevision::Seed,
            "v0.6" | "v0.7" | "v0.8" | "v0.9" => ManagerRevision::StackManager,
            "v0.11" | "v0.12" => ManagerRevision::PackageManager,
            "rbac-manager" => ManagerRevision::RbacManager,
            _ if text.starts_with("rbac-manager-v1") => ManagerRevision::RbacManagerV1,
            _ if text.starts_with("rbac-manager-v2") => ManagerRevision::RbacManager,
            _ => return None,
        })
    }

    /// Returns the name, as policies write it.
    pub fn name(self) -> &'static str {
        match self {
            ManagerRevision::Seed => "1.0",
            ManagerRevision::SeedNext => "1.1",
            ManagerRevision::StackManager => "v0.9",
            ManagerRevision::PackageManager => "v0.11",
            ManagerRevision::RbacManagerV1 => "rbac-manager-v1",
            ManagerRevision::RbacManager => "rbac-manager",
        }
    }
}

/// The verbs of "full" access.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verbs {
    /// `*`, as Crossplane writes it: future verbs as well.
    #[default]
    Any,
    /// The eight verbs of the API server for a resource, one by one.
    Full,
}

impl Verbs {
    /// Returns the list in a rule.
    pub fn list(self) -> Vec<String> {
        let words: &[&str] = match self {
            Verbs::Any => &["*"],
            Verbs::Full => &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}
