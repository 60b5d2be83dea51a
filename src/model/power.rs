//! Powers: the ends of escalation paths.

use std::fmt;

use crate::diag::nearest;

/// A power that a subject can reach, such as `cluster-admin`. Without a place, a power of a namespace or of an account
/// stands for any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReachedPower {
    /// Every permission in the whole cluster.
    ClusterAdmin,
    /// The permissions of any user.
    AnyUser,
    /// The permissions of any service account.
    AnyAccount,
    /// Root on a node.
    Nodes,
    /// The Secrets of all namespaces.
    AllSecrets,
    /// Objects on their way through admission.
    Admission,
    /// The permissions of a delivery controller.
    Gitops,
    /// Every permission in a namespace.
    NamespaceAdmin(Option<String>),
    /// The Secrets of a namespace.
    Secrets(Option<String>),
    /// The permissions of a service account, by namespace and name.
    Account(Option<(String, String)>),
}

/// The reason why a text is not a power.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PowerError {
    /// No power has the name.
    #[error("there is no power `{0}`")]
    Unknown(String),
    /// The power has no place.
    #[error("the power `{0}` is for the whole cluster")]
    WithoutPlace(String),
    /// The place has another form.
    #[error("`{0}` does not name the place of the power `{1}`")]
    Place(String, String),
}

/// The names of the powers, the worst first.
const NAMES: [&str; 10] = [
    "cluster-admin",
    "any-user",
    "any-account",
    "nodes",
    "all-secrets",
    "admission",
    "gitops",
    "namespace-admin",
    "secrets",
    "account",
];

impl ReachedPower {
    /// Reads a power, such as `nodes`, `secrets:shop` or `account:shop/deployer`.
    ///
    /// # Errors
    /// When the text is not a power.
    pub fn parse(text: &str) -> Result<Self, PowerError> {
        let (name, place) = text.split_once(':').map_or((text, None), |(name, place)| (name, Some(place)));
        let power = match name {
            "cluster-admin" => Self::ClusterAdmin,
            "any-user" => Self::AnyUser,
            "any-account" => Self::AnyAccount,
            "nodes" => Self::Nodes,
            "all-secrets" => Self::AllSecrets,
            "admission" => Self::Admission,
            "gitops" => Self::Gitops,
            "namespace-admin" => Self::NamespaceAdmin(place.map(str::to_owned)),
            "secrets" => Self::Secrets(place.map(str::to_owned)),
            "account" => Self::Account(
                place.and_then(|place| place.split_once('/')).map(|(namespace, name)| (namespace.into(), name.into())),
            ),
            _ => return Err(PowerError::Unknown(text.to_owned())),
        };
        let wrong_place = |place: &str| PowerError::Place(place.to_owned(), name.to_owned());
        let is_name = |text: &str| !text.is_empty() && !text.contains(['/', ':']);
        match (&power, place) {
            (Self::NamespaceAdmin(_) | Self::Secrets(_), Some(place)) if !is_name(place) => Err(wrong_place(place)),
            (Self::Account(account), Some(place)) => match account {
                Some((namespace, name)) if is_name(namespace) && is_name(name) => Ok(power),
                _ => Err(wrong_place(place)),
            },
            (Self::NamespaceAdmin(_) | Self::Secrets(_) | Self::Account(_), _) | (_, None) => Ok(power),
            (_, Some(_)) => Err(PowerError::WithoutPlace(name.to_owned())),
        }
    }

    /// Whether a subject with this power has another power, too.
    pub fn includes(&self, other: &Self) -> bool {
        let is_same_place = |own: &Option<String>, other: &Option<String>| other.is_none() || own == other;
        match (self, other) {
            (Self::ClusterAdmin, _) => true,
            (Self::AnyUser, Self::AnyAccount | Self::Account(_)) => true,
            (Self::AnyAccount, Self::Account(_)) | (Self::AllSecrets, Self::Secrets(_)) => true,
            (Self::NamespaceAdmin(own), Self::NamespaceAdmin(other) | Self::Secrets(other)) => {
                is_same_place(own, other)
            }
            (Self::NamespaceAdmin(own), Self::Account(other)) => {
                other.as_ref().is_none_or(|(namespace, _)| own.as_ref() == Some(namespace))
            }
            (Self::Secrets(own), Self::Secrets(other)) => is_same_place(own, other),
            (Self::Account(_), Self::Account(None)) => true,
            _ => self == other,
        }
    }
}

impl fmt::Display for ReachedPower {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::ClusterAdmin => "cluster-admin",
            Self::AnyUser => "any-user",
            Self::AnyAccount => "any-account",
            Self::Nodes => "nodes",
            Self::AllSecrets => "all-secrets",
            Self::Admission => "admission",
            Self::Gitops => "gitops",
            Self::NamespaceAdmin(_) => "namespace-admin",
            Self::Secrets(_) => "secrets",
            Self::Account(_) => "account",
        };
        formatter.write_str(name)?;
        match self {
            Self::NamespaceAdmin(Some(namespace)) | Self::Secrets(Some(namespace)) => write!(formatter, ":{namespace}"),
            Self::Account(Some((namespace, name))) => write!(formatter, ":{namespace}/{name}"),
            _ => Ok(()),
        }
    }
}

impl PowerError {
    /// Returns the remedy.
    pub fn help(&self) -> String {
        match self {
            PowerError::Unknown(text) => {
                let name = text.split_once(':').map_or(text.as_str(), |(name, _)| name);
                nearest(name, NAMES).map_or_else(
                    || format!("the powers are: {}", NAMES.map(|name| format!("`{name}`")).join(", ")),
                    |near| format!("did you mean `{near}`?"),
                )
            }
            PowerError::WithoutPlace(name) => format!("write `{name}`"),
            PowerError::Place(_, name) if name == "account" => {
                "write `account:NAMESPACE/NAME`, or `account` for any service account".to_owned()
            }
            PowerError::Place(_, name) => format!("write `{name}:NAMESPACE`, or `{name}` for any namespace"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_read_as_they_are_printed() {
        for text in NAMES.into_iter().chain(["namespace-admin:shop", "secrets:shop", "account:shop/deployer"]) {
            assert_eq!(ReachedPower::parse(text).map(|power| power.to_string()), Ok(text.to_owned()));
        }
        for (text, help) in [
            ("cluster-admins", "did you mean `cluster-admin`?"),
            ("root", "the powers are: "),
            ("nodes:a", "write `nodes`"),
            ("secrets:", "write `secrets:NAMESPACE`"),
            ("secrets:a/b", "write `secrets:NAMESPACE`"),
            ("account:shop", "write `account:NAMESPACE/NAME`"),
            ("account:shop/", "write `account:NAMESPACE/NAME`"),
        ] {
            let error = ReachedPower::parse(text).expect_err(text);
            assert!(error.help().starts_with(help), "{text}: {}", error.help());
        }
    }

    #[test]
    fn a_power_includes_smaller_powers() {
        let includes = |own: &str, other: &str| {
            let power = |text| ReachedPower::parse(text).expect("a power");
            power(own).includes(&power(other))
        };
        for (own, other) in [
            ("cluster-admin", "nodes"),
            ("cluster-admin", "secrets:a"),
            ("any-user", "account:a/b"),
            ("all-secrets", "secrets:a"),
            ("namespace-admin:a", "namespace-admin"),
            ("namespace-admin:a", "secrets:a"),
            ("namespace-admin:a", "account:a/b"),
            ("secrets:a", "secrets"),
            ("account:a/b", "account"),
        ] {
            assert!(includes(own, other), "{own} {other}");
        }
        for (own, other) in [
            ("nodes", "cluster-admin"),
            ("namespace-admin:a", "namespace-admin:b"),
            ("namespace-admin:a", "account:b/a"),
            ("secrets:a", "all-secrets"),
            ("account:a/b", "account:a/c"),
            ("namespace-admin", "namespace-admin:a"),
        ] {
            assert!(!includes(own, other), "{own} {other}");
        }
    }
}
