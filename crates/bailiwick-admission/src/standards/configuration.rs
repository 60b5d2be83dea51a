//! The configuration of the admission plugin: the defaults for namespaces without labels, and the exemptions.
//!
//! The names of exemptions are not validated: the API server does not start with invalid names.

use super::labels::{LEVELS, PodSecurityLevels, PodSecurityMode, VERSIONS};
use crate::level::{Level, PolicyVersion};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::{DeError, from_node};

/// The configuration of the admission plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Defaults for namespaces without labels.
    pub defaults: PodSecurityLevels,
    /// Users, namespaces and runtime classes without checks.
    pub exemptions: Exemptions,
}

/// The exemptions from Pod Security.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exemptions {
    /// Names of users; the name of a service account covers the objects created by its controller.
    pub usernames: Vec<String>,
    /// Names of namespaces.
    pub namespaces: Vec<String>,
    /// Names of RuntimeClasses.
    pub runtime_classes: Vec<String>,
}

impl Exemptions {
    /// Whether the pods of a namespace are not checked.
    pub fn has_namespace(&self, name: &str) -> bool {
        !name.is_empty() && self.namespaces.iter().any(|exempt| exempt == name)
    }
}

impl Configuration {
    /// Reads a PodSecurityConfiguration, or any object with `defaults` and `exemptions`. Missing values have the
    /// upstream defaults.
    ///
    /// # Errors
    /// The first value of the wrong type, or with an unknown level or version.
    pub fn read(node: NodeRef<'_>) -> Result<Self, DeError> {
        let mut configuration = Self::default();
        let given = |part: &str, key: &str| node.get(part).and_then(|part| part.get(key));
        for mode in PodSecurityMode::ALL {
            let chosen = configuration.defaults.get_mut(mode);
            if let Some(level) = chosen_by(given("defaults", mode.name()), Level::parse, LEVELS)? {
                chosen.level = level;
            }
            let version = format!("{}-version", mode.name());
            if let Some(version) = chosen_by(given("defaults", &version), PolicyVersion::parse, VERSIONS)? {
                chosen.version = version;
            }
        }
        let exempt = |key| match given("exemptions", key) {
            Some(names) => from_node::<Option<Vec<String>>>(names).map(|names| names.into_iter().flatten().collect()),
            None => Ok(Vec::new()),
        };
        configuration.exemptions = Exemptions {
            usernames: exempt("usernames")?,
            namespaces: exempt("namespaces")?,
            runtime_classes: exempt("runtimeClasses")?,
        };
        Ok(configuration)
    }
}

/// Parses a text; the empty text stands for the default.
fn chosen_by<T>(
    node: Option<NodeRef<'_>>,
    parse: impl Fn(&str) -> Option<T>,
    expected: &str,
) -> Result<Option<T>, DeError> {
    let Some(node) = node else { return Ok(None) };
    let text: Option<&str> = from_node(node)?;
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let problem = || DeError { message: format!("`{text}` {expected}"), origin: Some(node.origin()) };
    parse(text).map(Some).ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn read(text: &str) -> Result<Configuration, DeError> {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        Configuration::read(tree.document(0).expect("a document"))
    }

    #[test]
    fn what_is_not_said_is_as_upstream() {
        let found = read(
            "{kind: PodSecurityConfiguration, defaults: {enforce: baseline, audit: '', warn-version: v1.30}, \
             exemptions: {usernames: [ann], runtimeClasses: null}}",
        );
        let Configuration { defaults, exemptions } = found.expect("a configuration");
        let text = PodSecurityMode::ALL.map(|mode| defaults.get(mode).to_string()).join(" ");
        assert_eq!(text, "baseline:latest privileged:latest privileged:v1.30");
        assert_eq!(exemptions, Exemptions { usernames: vec!["ann".to_owned()], ..Exemptions::default() });
        assert_eq!(read("{}").expect("a configuration"), Configuration::default());
    }

    #[test]
    fn what_is_none_is_told() {
        for (text, expected) in [
            ("defaults: {enforce: strict}", "`strict` must be one of privileged, baseline, restricted"),
            ("defaults: {warn-version: '1.30'}", "`1.30` must be \"latest\" or \"v1.x\""),
        ] {
            assert_eq!(read(text).expect_err("an error").message, expected);
        }
        read("exemptions: {namespaces: kube-system}").expect_err("no list");
    }
}
