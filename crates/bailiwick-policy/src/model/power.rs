//! Powers as policies name them: one power, or any power of a kind.

use std::fmt;

use bailiwick_paths::Power;
use bailiwick_yaml::diag::nearest;

/// A power that a policy names. Without a place, a power of a namespace or of an account stands for any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PowerPattern {
    /// A power with its place, if it has one.
    One(Power),
    /// Every permission in some namespace.
    NamespaceAdmin,
    /// The Secrets of some namespace.
    Secrets,
    /// The permissions of some service account.
    Account,
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

/// The powers of a place, by their names.
const OF_PLACE: [(&str, PowerPattern); 3] = [
    ("namespace-admin", PowerPattern::NamespaceAdmin),
    ("secrets", PowerPattern::Secrets),
    ("account", PowerPattern::Account),
];

/// Returns the names of the powers, the worst first.
fn names() -> Vec<String> {
    let of_cluster = Power::OF_CLUSTER.iter().map(Power::to_string);
    of_cluster.chain(OF_PLACE.map(|(name, _)| name.to_owned())).collect()
}

impl PowerPattern {
    /// Reads a power, such as `nodes`, `secrets:shop`, `account:shop/deployer`, or `secrets` for any namespace.
    ///
    /// # Errors
    /// When the text is not a power.
    pub fn parse(text: &str) -> Result<Self, PowerError> {
        if let Ok(power) = text.parse() {
            return Ok(Self::One(power));
        }
        if let Some((_, any)) = OF_PLACE.into_iter().find(|(name, _)| *name == text) {
            return Ok(any);
        }
        let Some((name, place)) = text.split_once(':') else { return Err(PowerError::Unknown(text.to_owned())) };
        if OF_PLACE.iter().any(|(known, _)| *known == name) {
            return Err(PowerError::Place(place.to_owned(), name.to_owned()));
        }
        match name.parse::<Power>() {
            Ok(_) => Err(PowerError::WithoutPlace(name.to_owned())),
            Err(_) => Err(PowerError::Unknown(text.to_owned())),
        }
    }

    /// Whether a subject that reaches a power has this power.
    pub fn is_in(&self, reached: &Power) -> bool {
        match (self, reached) {
            (Self::One(power), _) => reached.includes(power),
            (_, Power::ClusterAdmin | Power::NamespaceAdmin(_)) => true,
            (Self::Secrets, Power::AllSecrets | Power::Secrets(_)) => true,
            (Self::Account, Power::AnyUser | Power::AnyAccount | Power::Account { .. }) => true,
            (Self::NamespaceAdmin | Self::Secrets | Self::Account, _) => false,
        }
    }
}

impl fmt::Display for PowerPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(power) => power.fmt(formatter),
            any => {
                let name = OF_PLACE.iter().find(|(_, pattern)| pattern == any).map(|(name, _)| *name);
                name.into_iter().try_for_each(|name| formatter.write_str(name))
            }
        }
    }
}

impl PowerError {
    /// Returns the remedy.
    pub fn help(&self) -> String {
        match self {
            PowerError::Unknown(text) => {
                let name = text.split_once(':').map_or(text.as_str(), |(name, _)| name);
                let names = names();
                nearest(name, names.iter().map(String::as_str)).map_or_else(
                    || {
                        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                        format!("the powers are: {}", names.join(", "))
                    },
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
        let names = names();
        let with_place = ["namespace-admin:shop", "secrets:shop", "account:shop/deployer"];
        for text in names.iter().map(String::as_str).chain(with_place) {
            assert_eq!(PowerPattern::parse(text).map(|power| power.to_string()), Ok(text.to_owned()));
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
            let error = PowerPattern::parse(text).expect_err(text);
            assert!(error.help().starts_with(help), "{text}: {}", error.help());
        }
    }

    #[test]
    fn a_larger_power_is_in_a_pattern_of_a_smaller_one() {
        let is_in = |reached: &str, pattern: &str| {
            PowerPattern::parse(pattern).expect("a power").is_in(&reached.parse().expect("a power"))
        };
        for (reached, pattern) in [
            ("cluster-admin", "nodes"),
            ("cluster-admin", "secrets:a"),
            ("any-user", "account:a/b"),
            ("all-secrets", "secrets:a"),
            ("all-secrets", "secrets"),
            ("namespace-admin:a", "namespace-admin"),
            ("namespace-admin:a", "secrets:a"),
            ("namespace-admin:a", "account:a/b"),
            ("namespace-admin:a", "account"),
            ("secrets:a", "secrets"),
            ("account:a/b", "account"),
        ] {
            assert!(is_in(reached, pattern), "{reached} {pattern}");
        }
        for (reached, pattern) in [
            ("nodes", "cluster-admin"),
            ("secrets:a", "secrets:b"),
            ("secrets:a", "all-secrets"),
            ("namespace-admin:a", "namespace-admin:b"),
            ("account:a/b", "account:a/c"),
            ("namespace-admin:a", "account:b/a"),
            ("account:a/b", "secrets"),
            ("nodes", "namespace-admin"),
        ] {
            assert!(!is_in(reached, pattern), "{reached} {pattern}");
        }
    }
}
