//! The powers at the end of escalation paths.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use bailiwick_access::risk::RiskSeverity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A power over others, the worst first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Power {
    /// Every permission everywhere, as a member of `system:masters`.
    ClusterAdmin,
    /// The identity of any user.
    AnyUser,
    /// The identity of any service account.
    AnyAccount,
    /// Root on a node.
    Nodes,
    /// The Secrets of every namespace.
    AllSecrets,
    /// Reading or changing objects on their way into the cluster.
    Admission,
    /// The permissions of a delivery controller or package manager.
    Gitops,
    /// Every permission in a namespace.
    NamespaceAdmin(String),
    /// The Secrets of a namespace.
    Secrets(String),
    /// The identity of a service account.
    Account {
        /// The namespace of the account.
        namespace: String,
        /// The name of the account.
        name: String,
    },
}

/// A text that names no power.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no power")]
pub struct UnknownPower(String);

impl Power {
    /// The powers of the whole cluster, worst first.
    pub const OF_CLUSTER: [Power; 7] = [
        Power::ClusterAdmin,
        Power::AnyUser,
        Power::AnyAccount,
        Power::Nodes,
        Power::AllSecrets,
        Power::Admission,
        Power::Gitops,
    ];

    /// Returns the severity of reaching the power.
    pub fn severity(&self) -> RiskSeverity {
        match self {
            Power::ClusterAdmin
            | Power::AnyUser
            | Power::AnyAccount
            | Power::Nodes
            | Power::AllSecrets
            | Power::Admission
            | Power::Gitops => RiskSeverity::Critical,
            Power::NamespaceAdmin(_) | Power::Secrets(_) | Power::Account { .. } => RiskSeverity::High,
        }
    }

    /// Whether the power is one over a namespace or account, and not over the whole cluster.
    pub fn is_within_namespace(&self) -> bool {
        matches!(self, Power::NamespaceAdmin(_) | Power::Secrets(_) | Power::Account { .. })
    }

    /// Whether the power includes another one. Cluster-admin includes every power.
    pub fn includes(&self, other: &Power) -> bool {
        match (self, other) {
            _ if self == other => true,
            (Power::ClusterAdmin, _)
            | (Power::AnyUser, Power::AnyAccount | Power::Account { .. })
            | (Power::AnyAccount, Power::Account { .. })
            | (Power::AllSecrets, Power::Secrets(_)) => true,
            (Power::NamespaceAdmin(own), Power::Secrets(namespace) | Power::Account { namespace, .. }) => {
                own == namespace
            }
            _ => false,
        }
    }

    /// Returns the name of the kind, such as `namespace-admin`.
    pub fn word(&self) -> &'static str {
        match self {
            Power::ClusterAdmin => "cluster-admin",
            Power::AnyUser => "any-user",
            Power::AnyAccount => "any-account",
            Power::Nodes => "nodes",
            Power::AllSecrets => "all-secrets",
            Power::Admission => "admission",
            Power::Gitops => "gitops",
            Power::NamespaceAdmin(_) => "namespace-admin",
            Power::Secrets(_) => "secrets",
            Power::Account { .. } => "account",
        }
    }
}

impl fmt::Display for Power {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())?;
        match self {
            Power::NamespaceAdmin(namespace) | Power::Secrets(namespace) => write!(formatter, ":{namespace}"),
            Power::Account { namespace, name } => write!(formatter, ":{namespace}/{name}"),
            _ => Ok(()),
        }
    }
}

impl FromStr for Power {
    type Err = UnknownPower;

    fn from_str(text: &str) -> Result<Self, UnknownPower> {
        let unknown = || UnknownPower(text.to_owned());
        let Some((word, rest)) = text.split_once(':') else {
            let found = Power::OF_CLUSTER.into_iter().find(|power| power.word() == text);
            return found.ok_or_else(unknown);
        };
        let is_name = |name: &str| !name.is_empty() && !name.contains('/');
        match word {
            "namespace-admin" if is_name(rest) => Ok(Power::NamespaceAdmin(rest.to_owned())),
            "secrets" if is_name(rest) => Ok(Power::Secrets(rest.to_owned())),
            "account" => match rest.split_once('/') {
                Some((namespace, name)) if is_name(namespace) && is_name(name) => {
                    Ok(Power::Account { namespace: namespace.to_owned(), name: name.to_owned() })
                }
                _ => Err(unknown()),
            },
            _ => Err(unknown()),
        }
    }
}

impl Serialize for Power {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Power {
    fn schema_name() -> Cow<'static, str> {
        "Power".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A power over others: `cluster-admin`, `any-user`, `any-account`, `nodes`, `all-secrets`, `admission`, `gitops`, `namespace-admin:NS`, `secrets:NS` or `account:NS/NAME`.",
            "type": "string",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_power_is_read_back() {
        let account = Power::Account { namespace: "shop".to_owned(), name: "web".to_owned() };
        let local = [Power::NamespaceAdmin("shop".to_owned()), Power::Secrets("shop".to_owned()), account];
        let all: Vec<Power> = Power::OF_CLUSTER.into_iter().chain(local).collect();
        assert!(all.is_sorted());
        for power in all {
            assert_eq!(power.to_string().parse(), Ok(power));
        }
        for text in ["", "cluster-admin:a", "secrets", "secrets:", "account:a", "account:a/", "account:a/b/c", "node"] {
            assert!(text.parse::<Power>().is_err(), "{text}");
        }
    }

    #[test]
    fn cluster_admin_includes_every_power() {
        let secrets = Power::Secrets("shop".to_owned());
        assert!(Power::ClusterAdmin.includes(&secrets) && Power::AllSecrets.includes(&secrets));
        assert!(Power::NamespaceAdmin("shop".to_owned()).includes(&secrets));
        assert!(!Power::NamespaceAdmin("other".to_owned()).includes(&secrets));
        assert!(!secrets.includes(&Power::AllSecrets));
    }
}
