//! Which scalars of an object may differ from tenant to tenant, and what each of them has to satisfy.
//!
//! A class of tenants is validated once, with stand-ins (`compile::class`), and so are texts that are alike
//! (`validate::alike`). That holds for a tenant of the class when no rule asks more of a hole than what is demanded
//! here: a list of places, each with the checks that every rule, lint and default makes of the value there. A place that
//! is not on the list is no hole; its tenants are validated one by one. So a rule that looks at a value of this list has
//! to be known here as well, and the tests that compare every way on random policies are there to notice.

use crate::names;
use bailiwick_yaml::NodeRef;

use super::metadata::{ANNOTATIONS_SIZE, NameRule};
use super::namespace::POD_SECURITY;

/// The most bytes of a scalar that is stamped.
pub const LONGEST: usize = 1024;

/// True when the annotations of an object stay within the limit for all of them, however long the `open` ones are that
/// may differ.
pub fn annotations_fit(root: NodeRef<'_>, open: usize) -> bool {
    let entries = root.path(&["metadata", "annotations"]).into_iter().flat_map(NodeRef::entries);
    let length = |node: NodeRef<'_>| node.as_str().map_or(0, str::len);
    let fixed: usize = entries.map(|(key, value)| length(key) + length(value)).sum();
    fixed + open * LONGEST <= ANNOTATIONS_SIZE
}

/// True for the path of an annotation.
pub fn is_annotation(path: &[&str]) -> bool {
    matches!(path, ["metadata", "annotations", _])
}

/// What a value has to satisfy beside [`is_plain_text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Demand {
    /// Nothing more.
    Any,
    /// The name of an RBAC object or of the role that a binding names.
    Segment,
    /// The name of most other objects, and of a service account.
    Subdomain,
    /// The name of a namespace.
    Label,
    /// The value of a label.
    LabelValue,
    /// The name of a user that is no service account's.
    User,
    /// The name of a group that is none of the system's own.
    Group,
    /// A path of the host.
    HostPath,
    /// Not the namespace of the object, where it is not that by its making.
    OtherNamespace,
    /// A number that the end of a range may be.
    RangeEnd,
    /// Such a number, and not more than that of the entry `max` beside it.
    RangeStart,
}

/// What every text that is stamped has to satisfy: characters that mean themselves in JSON, in YAML and to every reader
/// (how it is quoted is decided for each value), and not so long that a limit for whole objects would matter.
pub fn is_plain_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    !bytes.is_empty()
        && bytes.len() <= LONGEST
        && bytes
            .iter()
            .fold(true, |fits, &byte| fits & (0x20..=0x7e).contains(&byte) & (byte != b'"') & (byte != b'\\'))
}

impl Demand {
    /// True when a text satisfies the demand; what depends on other values is for the caller.
    pub fn is_met_by(self, text: &str) -> bool {
        match self {
            Demand::Any | Demand::OtherNamespace => true,
            Demand::Segment => NameRule::SEGMENT.fits(text),
            Demand::Subdomain => NameRule::SUBDOMAIN.fits(text),
            Demand::Label => NameRule::LABEL.fits(text),
            Demand::LabelValue => names::label_value(text).is_ok(),
            Demand::User => !text.starts_with("system:serviceaccount:"),
            Demand::Group => !text.starts_with("system:"),
            Demand::HostPath => !text.split('/').any(|step| step == ".."),
            Demand::RangeEnd | Demand::RangeStart => false,
        }
    }

    /// True when a number satisfies the demand. A zero would be left out, and is worth a warning.
    pub fn is_met_by_number(self, number: i64) -> bool {
        matches!(self, Demand::RangeEnd | Demand::RangeStart) && number > 0
    }
}

/// What is demanded of a value at a path of an object in stored form; none where a hole may not be. In the path, `[]`
/// stands for a place in a list; `parent` is the map or list that holds the value.
pub fn demand(kind: &str, path: &[&str], parent: NodeRef<'_>) -> Option<Demand> {
    let word = |key: &str| parent.get(key).and_then(NodeRef::as_str);
    match (kind, path) {
        ("Role" | "RoleBinding", ["metadata", "name"]) => Some(Demand::Segment),
        ("Namespace", ["metadata", "name"]) => Some(Demand::Label),
        ("ServiceAccount" | "ResourceQuota" | "LimitRange" | "PodSecurityPolicy", ["metadata", "name"]) => {
            Some(Demand::Subdomain)
        }
        (_, ["metadata", "namespace"]) => Some(Demand::Label),
        (_, ["metadata", "labels", key]) if !key.starts_with(POD_SECURITY) => Some(Demand::LabelValue),
        // Some annotations of Kubernetes' own have a meaning, and rules of their own.
        (_, ["metadata", "annotations", key]) if !key.contains("kubernetes.io/") => Some(Demand::Any),
        ("Role", ["rules", "[]", "resourceNames", "[]"]) => Some(Demand::Any),
        ("RoleBinding", ["roleRef", "name"]) if word("kind") == Some("Role") => Some(Demand::Segment),
        ("RoleBinding", ["subjects", "[]", "name"]) => match word("kind")? {
            "User" => Some(Demand::User),
            "Group" => Some(Demand::Group),
            "ServiceAccount" => Some(Demand::Subdomain),
            _ => None,
        },
        ("RoleBinding", ["subjects", "[]", "namespace"]) => Some(Demand::OtherNamespace),
        (
            "PodSecurityPolicy",
            ["spec", "runAsUser" | "runAsGroup" | "fsGroup" | "supplementalGroups", "ranges", "[]", "min"],
        ) => Some(Demand::RangeStart),
        (
            "PodSecurityPolicy",
            ["spec", "runAsUser" | "runAsGroup" | "fsGroup" | "supplementalGroups", "ranges", "[]", "max"],
        ) => Some(Demand::RangeEnd),
        ("PodSecurityPolicy", ["spec", "allowedHostPaths", "[]", "pathPrefix"]) => Some(Demand::HostPath),
        _ => None,
    }
}
