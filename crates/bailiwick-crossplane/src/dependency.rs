//! The dependencies of a package: `<plural or *>.<group>[/<version>]` (`pkg/stacks` of Crossplane v0.9).

use crate::codes;
use bailiwick_kubernetes::names;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Sink};

use super::object::rule;

/// A definition needed by a stack, or all definitions of a group.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// The resource in rules; `*` for all of the group.
    pub resource: String,
    /// The API group.
    pub group: String,
    /// The version, if any; rules have no versions.
    pub version: Option<String>,
    /// The location of the text.
    pub origin: Origin,
}

/// The groups with objects for the installation of further packages, each with these resources.
const INSTALLERS: &[(&str, &[&str])] = &[
    ("stacks.crossplane.io", &["stackinstalls", "clusterstackinstalls", "stacks", "stackdefinitions"]),
    ("packages.crossplane.io", &["packageinstalls", "clusterpackageinstalls", "packages", "stackdefinitions"]),
    (
        "pkg.crossplane.io",
        &[
            "providers",
            "providerrevisions",
            "configurations",
            "configurationrevisions",
            "functions",
            "functionrevisions",
        ],
    ),
];

/// Groups with a dot in their names and with a role in access control.
const SECURITY: &[&str] =
    &["security.openshift.io", "authorization.openshift.io", "oauth.openshift.io", "user.openshift.io"];

impl Dependency {
    /// Reads a dependency. None for an empty one, and for a rejected one; the sink then has the reason.
    pub fn read(written: &Spanned<String>, sink: &mut Sink) -> Option<Self> {
        let text = written.as_str();
        if text.is_empty() {
            return None;
        }
        let (name, version) = match text.split_once('/') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let (resource, group) = match name.split_once('.') {
            Some(split) => split,
            None => (name, ""),
        };
        let dependency = Self {
            resource: resource.to_owned(),
            group: group.to_owned(),
            version: version.map(str::to_owned),
            origin: written.origin,
        };
        if let Some(problem) = dependency.problem(text) {
            sink.push(problem);
            return None;
        }
        dependency.warn(sink);
        Some(dependency)
    }

    /// Returns the reason to reject a dependency with this text; none for a valid one.
    fn problem(&self, text: &str) -> Option<Diagnostic> {
        let Self { resource, group, .. } = self;
        let rejected =
            |code: Code, message: String, help: &str| Some(Diagnostic::error(code, message).at(self.origin).help(help));
        if !self.has_valid_words() {
            rejected(
                codes::DEPENDS_ON_SYNTAX,
                format!("`{text}` does not name a definition"),
                "write `<plural>.<group>` or `<plural>.<group>/<version>`, or `*.<group>` for all of a group",
            )
        } else if resource.is_empty() {
            rejected(
                codes::DEPENDS_ON_EMPTY_KIND,
                format!("`{text}` has a group and no resource"),
                "write the plural before the first dot, or `*` for all of the group",
            )
        } else if group.is_empty() {
            rejected(
                codes::DEPENDS_ON_WITHOUT_GROUP,
                format!("`{text}` has no group, and stands for a core kind of Kubernetes"),
                "write `<plural>.<group>`; ConfigMaps, Secrets and Events are granted to every stack",
            )
        } else if group.contains('*') {
            rejected(codes::DEPENDS_ON_WILDCARD_GROUP, format!("`{text}` stands for every group"), "list the groups")
        } else if !is_custom_group(group) {
            rejected(
                codes::DEPENDS_ON_KUBERNETES_GROUP,
                format!("`{group}` is a group of Kubernetes itself"),
                "depend only on definitions of other packages: their group has a dot and does not end in `k8s.io`",
            )
        } else {
            None
        }
    }

    /// Whether the resource, the group and the version are possible names, with `*` for all resources. Empty
    /// resources and groups, and groups with `*`, have problems of their own.
    fn has_valid_words(&self) -> bool {
        let Self { resource, group, version, .. } = self;
        let is_word = |text: &str, more: &[u8]| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || more.contains(&byte))
        };
        version.as_ref().is_none_or(|version| !version.is_empty() && is_word(version, b""))
            && (resource == "*" || is_word(resource, b""))
            && is_word(group, b".*")
            && (group.is_empty() || group.contains('*') || names::dns_subdomain(group).is_ok())
    }

    fn warn(&self, sink: &mut Sink) {
        let Self { resource, group, .. } = self;
        let mut warn = |code: Code, message: String, help: &str| {
            sink.push(Diagnostic::warning(code, message).at(self.origin).help(help));
        };
        if self.is_wildcard() {
            warn(
                codes::DEPENDS_ON_GROUP_WILDCARD,
                format!("the stack gets all resources of `{group}`, including later ones"),
                "list the definitions",
            );
        }
        if self.is_kind() {
            warn(
                codes::DEPENDS_ON_NOT_A_PLURAL_RESOURCE,
                format!(
                    "`{resource}` is not a resource: RBAC rules use the lower-case plural, so this dependency grants nothing"
                ),
                "write `spec.names.plural` of the definition",
            );
        }
        warn_of(group, resource, self.origin, "uses", sink);
    }

    /// Whether this is all definitions of a group.
    pub fn is_wildcard(&self) -> bool {
        self.resource == "*"
    }

    /// Whether this is a name with capitals: a kind rather than a resource.
    pub fn is_kind(&self) -> bool {
        self.resource.bytes().any(|byte| byte.is_ascii_uppercase())
    }

    /// Whether this allows a stack to install others, or to change access.
    pub fn is_privileged(&self) -> bool {
        is_installer(&self.group, &self.resource) || SECURITY.contains(&self.group.as_str())
    }

    /// Returns the rule for the dependency.
    pub fn rule(&self, verbs: Vec<String>) -> PolicyRule {
        rule(&[&self.group], vec![self.resource.clone()], verbs)
    }
}

/// Warns of far-reaching permissions in the dependencies or definitions of a package.
pub fn warn_of(group: &str, resource: &str, origin: Origin, word: &str, sink: &mut Sink) {
    if is_installer(group, resource) {
        sink.push(
            Diagnostic::warning(
                codes::DEPENDS_ON_INSTALLER,
                format!("the stack {word} `{resource}.{group}`, and can install other packages with it"),
            )
            .at(origin)
            .help("leave install requests to people: a stack with this dependency indirectly holds the permissions of every package"),
        );
    }
    if SECURITY.contains(&group) {
        sink.push(
            Diagnostic::warning(
                codes::DEPENDS_ON_SECURITY_GROUP,
                format!(
                    "the stack {word} `{resource}.{group}`, a security-relevant resource; every verb includes `use`"
                ),
            )
            .at(origin)
            .help("remove the dependency; if necessary, grant single verbs with a PermissionSet"),
        );
    }
}

fn is_installer(group: &str, resource: &str) -> bool {
    let fits =
        |(known, resources): &(&str, &[&str])| *known == group && (resource == "*" || resources.contains(&resource));
    INSTALLERS.iter().any(fits)
}

/// Whether a group has custom resources, by the two marks of the Stack Manager.
pub(super) fn is_custom_group(group: &str) -> bool {
    group.contains('.') && !group.ends_with("k8s.io")
}
