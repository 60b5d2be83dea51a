//! Objects that map accounts of the cluster to identities of a cloud, or accounts of a cloud to names in the cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use bailiwick_yaml::NodeRef;

/// The annotations of service accounts with an identity in a cloud: EKS, GKE, AKS.
const ANNOTATIONS: [&str; 3] =
    ["azure.workload.identity/client-id", "eks.amazonaws.com/role-arn", "iam.gke.io/gcp-service-account"];

/// The ConfigMap of EKS with names for roles and users of AWS, and its namespace.
pub(crate) const AWS_AUTH: &str = "aws-auth";
pub(crate) const AWS_AUTH_NAMESPACE: &str = "kube-system";

/// The facts about the clouds of a world.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clouds {
    /// By namespace the service accounts with an identity in a cloud.
    accounts: BTreeMap<String, BTreeSet<String>>,
    /// True when the ConfigMap is among the objects.
    pub(crate) has_aws_auth: bool,
}

impl Clouds {
    /// Looks at a ServiceAccount.
    pub(crate) fn add_account(&mut self, object: NodeRef<'_>, namespace: &str, name: &str) {
        let annotation = |key: &&str| object.path(&["metadata", "annotations", key]).and_then(NodeRef::as_str);
        let accounts = self.accounts.entry(namespace.to_owned()).or_default();
        // A later object of the same name takes the place of the earlier one.
        if ANNOTATIONS.iter().filter_map(annotation).any(|value| !value.is_empty()) {
            accounts.insert(name.to_owned());
        } else {
            accounts.remove(name);
        }
        if accounts.is_empty() {
            self.accounts.remove(namespace);
        }
    }

    /// Looks at a ConfigMap.
    pub(crate) fn add_config_map(&mut self, namespace: &str, name: &str) {
        self.has_aws_auth |= namespace == AWS_AUTH_NAMESPACE && name == AWS_AUTH;
    }

    /// Whether some account has an identity in a cloud.
    pub(crate) fn has_accounts(&self) -> bool {
        !self.accounts.is_empty()
    }

    /// Returns the namespaces and names of the accounts of a namespace, or of all, with an identity in a cloud.
    pub(crate) fn accounts<'c>(&'c self, namespace: Option<&'c str>) -> impl Iterator<Item = (&'c str, &'c str)> {
        let is_meant = move |of: &str| namespace.is_none_or(|namespace| namespace == of);
        let namespaces = self.accounts.iter().filter(move |(of, _)| is_meant(of));
        namespaces.flat_map(|(of, names)| names.iter().map(move |name| (of.as_str(), name.as_str())))
    }
}
