//! What a package depends on: `<plural or *>.<group>[/<version>]` (`specs/systems.md` B2, B3 and B5).

use crate::codes;
use bailiwick_kubernetes::names;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Sink};

use super::object::rule;

/// A definition that a stack depends on, or all those of a group.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// The resource in rules; `*` for all of the group.
    pub resource: String,
    /// The API group.
    pub group: String,
    /// The version, where one is named; rules know none.
    pub version: Option<String>,
    /// Where it is written.
    pub origin: Origin,
}

/// The groups whose objects install further packages, with those of their resources that do.
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

/// Groups with a dot in their names that decide over access all the same.
const SECURITY: &[&str] =
    &["security.openshift.io", "authorization.openshift.io", "oauth.openshift.io", "user.openshift.io"];

impl Dependency {
    /// Reads a dependency. None for an empty one, which says nothing, and for one that is refused; why is then in the
    /// sink.
    pub fn read(written: &Spanned<String>, sink: &mut Sink) -> Option<Self> {
        let text = written.as_str();
        if text.is_empty() {
            return None;
        }
        let refused = |code: Code, message: String, help: &str| {
            Some(Diagnostic::error(code, message).at(written.origin).help(help))
        };
        let (name, version) = match text.split_once('/') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        let is_word = |text: &str, more: &[u8]| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || more.contains(&byte))
        };
        let problem = if version.is_some_and(|version| version.is_empty() || !is_word(version, b""))
            || !(resource == "*" || is_word(resource, b""))
            || !is_word(group, b".*")
            || !(group.is_empty() || group.contains('*') || names::dns_subdomain(group).is_ok())
        {
            refused(
                codes::DEPENDS_ON_SYNTAX,
                format!("`{text}` does not name a definition"),
                "write `<plural>.<group>` or `<plural>.<group>/<version>`, or `*.<group>` for all of a group",
            )
        } else if resource.is_empty() {
            refused(
                codes::DEPENDS_ON_EMPTY_KIND,
                format!("`{text}` has a group and no resource"),
                "write the plural before the first dot, or `*` for all of the group",
            )
        } else if group.is_empty() {
            refused(
                codes::DEPENDS_ON_WITHOUT_GROUP,
                format!("`{text}` has no group, and stands for a core kind of Kubernetes"),
                "write `<plural>.<group>`; ConfigMaps, Secrets and Events are granted to every stack",
            )
        } else if group.contains('*') {
            refused(codes::DEPENDS_ON_WILDCARD_GROUP, format!("`{text}` stands for every group"), "list the groups")
        } else if !is_custom_group(group) {
            refused(
                codes::DEPENDS_ON_KUBERNETES_GROUP,
                format!("`{group}` is a group of Kubernetes itself"),
                "depend only on definitions of other packages: their group has a dot and does not end in `k8s.io`",
            )
        } else {
            None
        };
        if let Some(problem) = problem {
            sink.push(problem);
            return None;
        }
        let found = Self {
            resource: resource.to_owned(),
            group: group.to_owned(),
            version: version.map(str::to_owned),
            origin: written.origin,
        };
        found.warn(sink);
        Some(found)
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
                    "`{resource}` is not a resource: rules contain the lower-case plural, and this dependency grants nothing"
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

    /// Whether this is a name with capitals, which is a kind's and no resource's.
    pub fn is_kind(&self) -> bool {
        self.resource.bytes().any(|byte| byte.is_ascii_uppercase())
    }

    /// Whether this is what lets a stack install others, or decide over access.
    pub fn is_privileged(&self) -> bool {
        is_installer(&self.group, &self.resource) || SECURITY.contains(&self.group.as_str())
    }

    /// Returns the rule that it becomes.
    pub fn rule(&self, verbs: Vec<String>) -> PolicyRule {
        rule(&[&self.group], vec![self.resource.clone()], verbs)
    }
}

/// Warns of rights that are more than they seem, on what a package uses or brings.
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

/// True for the groups of custom resources, by the two marks that the Stack Manager goes by.
pub(super) fn is_custom_group(group: &str) -> bool {
    group.contains('.') && !group.ends_with("k8s.io")
}
