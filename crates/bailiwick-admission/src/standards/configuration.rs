//! The configuration of the admission plugin: what counts where labels say nothing, and whom it does not concern.
//!
//! Whether the names of exemptions are valid is left to the API server, which does not start with others.

use super::labels::{LEVELS, Mode, Policy, VERSIONS};
use crate::level::{Level, PolicyVersion};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::de::{DeError, from_node};

/// The configuration of the admission plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// What counts where labels say nothing.
    pub defaults: Policy,
    /// Whom it does not concern.
    pub exemptions: Exemptions,
}

/// Whom Pod Security does not concern.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exemptions {
    /// Names of users; those of service accounts count for what their controllers create.
    pub usernames: Vec<String>,
    /// Names of namespaces.
    pub namespaces: Vec<String>,
    /// Names of RuntimeClasses.
    pub runtime_classes: Vec<String>,
}

impl Configuration {
    /// Reads a PodSecurityConfiguration, or anything else with `defaults` and `exemptions`. What is not there is as
    /// upstream has it.
    ///
    /// # Errors
    /// The first value that has the wrong type, or is no level and no version.
    pub fn read(node: NodeRef<'_>) -> Result<Self, DeError> {
        let mut configuration = Self::default();
        let given = |part: &str, key: &str| node.get(part).and_then(|part| part.get(key));
        for mode in Mode::ALL {
            let chosen = configuration.defaults.get_mut(mode);
            if let Some(level) = chosen_by(given("defaults", mode.name()), Level::parse, LEVELS)? {
                chosen.level = level;
            }
            let version = format!("{}-version", mode.name());
            if let Some(version) = chosen_by(given("defaults", &version), PolicyVersion::parse, VERSIONS)? {
                chosen.version = version;
            }
        }
        let exempt = |key| given("exemptions", key).map_or(Ok(None), from_node).map(Option::unwrap_or_default);
        configuration.exemptions = Exemptions {
            usernames: exempt("usernames")?,
            namespaces: exempt("namespaces")?,
            runtime_classes: exempt("runtimeClasses")?,
        };
        Ok(configuration)
    }
}

/// What a text stands for; the empty one stands for the default.
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
        let text = Mode::ALL.map(|mode| defaults.get(mode).to_string()).join(" ");
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
