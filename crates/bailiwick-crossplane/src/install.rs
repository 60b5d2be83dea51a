//! The request to install a package.

use schemars::JsonSchema;
use serde::Deserialize;

use super::object::ServiceAccountName;
use bailiwick_yaml::diag::Origin;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
pub enum InstallKind {
    /// A stack for one namespace.
    StackInstall,
    /// A stack for the whole cluster.
    ClusterStackInstall,
    /// A StackInstall by its name in v0.11.
    PackageInstall,
    /// A ClusterStackInstall by its name in v0.11.
    ClusterPackageInstall,
}

impl InstallKind {
    /// Whether this is the whole cluster.
    pub fn is_cluster(self) -> bool {
        matches!(self, InstallKind::ClusterStackInstall | InstallKind::ClusterPackageInstall)
    }

    /// Returns the kind of the install kind.
    pub fn name(self) -> &'static str {
        match self {
            InstallKind::StackInstall => "StackInstall",
            InstallKind::ClusterStackInstall => "ClusterStackInstall",
            InstallKind::PackageInstall => "PackageInstall",
            InstallKind::ClusterPackageInstall => "ClusterPackageInstall",
        }
    }

    /// Returns group and resource of the permission to request it.
    pub fn resource(self) -> (&'static str, &'static str) {
        match self {
            InstallKind::StackInstall => ("stacks.crossplane.io", "stackinstalls"),
            InstallKind::ClusterStackInstall => ("stacks.crossplane.io", "clusterstackinstalls"),
            InstallKind::PackageInstall => ("packages.crossplane.io", "packageinstalls"),
            InstallKind::ClusterPackageInstall => ("packages.crossplane.io", "clusterpackageinstalls"),
        }
    }
}

/// A request: the kind, the name, and the namespace of the controller.
#[derive(Debug, Clone)]
pub struct Install {
    /// For a namespace or for the cluster.
    pub kind: InstallKind,
    /// The namespace of the controller, and of a namespaced stack.
    pub namespace: String,
    /// The name, common with its objects.
    pub name: String,
    /// The location of the request.
    pub origin: Origin,
}

impl Install {
    /// Returns the account of the controller.
    pub fn account(&self) -> ServiceAccountName {
        ServiceAccountName { namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// Prints namespace and name as one text.
    pub fn id(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl std::fmt::Display for Install {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}/{}", self.kind.name(), self.namespace, self.name)
    }
}
