//! The API server's own validation: the requirements on an object beyond the shape of its kind.
//!
//! Rules and field paths are from Kubernetes 1.16 to 1.37 (`pkg/apis/*/validation`); messages are our own. A valid
//! object costs no allocation, except for admission policies. The rules of the schema (unknown fields, wrong types)
//! are checked before: a value of another type is ignored here.
//!
//! Left out on purpose: a missing namespace, taken by the server from the request, and a namespace on a cluster-scoped
//! kind, dropped by the server in silence. Both depend on the scope, known to the caller.

mod admission_policy;
mod binding;
pub mod expression_types;
pub mod fields;
mod limits;
pub mod metadata;
mod namespace;
pub mod network;
pub mod open;
mod pod_security;
mod quota;
mod roles;
mod scc;
mod selector;
pub mod static_name;

use crate::absent;
use std::fmt;

use crate::names::{self, Reasons};
use bailiwick_yaml::{NodeId, NodeRef};

use metadata::NameRule;

/// The kinds of error of the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// A required value is missing.
    Required,
    /// A value does not fit.
    Invalid,
    /// A word outside a list of words.
    Unsupported,
    /// A forbidden value is present.
    Forbidden,
    /// A value occurs twice.
    Duplicate,
    /// A value is too long.
    TooLong,
    /// A list with too many values.
    TooMany,
}

impl ErrorKind {
    /// Returns the name used in reports and in the recorded verdicts.
    pub fn id(self) -> &'static str {
        match self {
            ErrorKind::Required => "required",
            ErrorKind::Invalid => "invalid",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Forbidden => "forbidden",
            ErrorKind::Duplicate => "duplicate",
            ErrorKind::TooLong => "too-long",
            ErrorKind::TooMany => "too-many",
        }
    }
}

impl ErrorKind {
    /// Returns the remedy for a rule without a better one.
    pub fn remedy(self) -> &'static str {
        match self {
            ErrorKind::Required => "write it in the policy",
            ErrorKind::Invalid | ErrorKind::Unsupported => "change it in the policy",
            ErrorKind::Forbidden => "remove it",
            ErrorKind::Duplicate => "keep one of them",
            ErrorKind::TooLong | ErrorKind::TooMany => "shorten it",
        }
    }
}

/// One reason why the API server would refuse an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Class of the error.
    pub kind: ErrorKind,
    /// Kubernetes' field path, sometimes without an index or a key.
    pub path: String,
    /// The offending node: a value, a key, or an incomplete map.
    pub node: NodeId,
    /// One line: lower case, input in backticks, with any key or index missing from the path.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

/// Checks an object, as an update of `old` if given, for a Kubernetes minor such as `21`.
///
/// The metadata of every kind is checked; the rest of an object only for kinds with rules ([`has_rules`]).
pub fn check(object: NodeRef<'_>, old: Option<NodeRef<'_>>, minor: u32, errors: &mut Vec<FieldError>) {
    let mut report = Report { errors, minor };
    let report = &mut report;
    let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    static_name::check(object, old, report);
    metadata::check(object, &NameRule::find(api_version, kind, minor), report);
    match rules_of(api_version, kind) {
        Some(Rules::Role) => roles::role(object, report),
        Some(Rules::ClusterRole) => roles::cluster_role(object, old, report),
        Some(Rules::Binding) => binding::check(object, old, kind == "ClusterRoleBinding", report),
        Some(Rules::Namespace) => namespace::check(object, old, report),
        Some(Rules::ResourceQuota) => quota::check(object, old, report),
        Some(Rules::LimitRange) => limits::check(object, report),
        Some(Rules::NetworkPolicy) => network::check(object, report),
        Some(Rules::PodSecurityPolicy) => pod_security::check(object, report),
        Some(Rules::SecurityContextConstraints) => scc::check(object, report),
        Some(Rules::AdmissionPolicy) => admission_policy::check(object, old, kind, report),
        Some(Rules::MetadataAlone) | None => {}
    }
}

/// Whether [`check`] has all rules of a kind. For other kinds it has the rules of their metadata.
pub fn has_rules(api_version: &str, kind: &str) -> bool {
    rules_of(api_version, kind).is_some()
}

/// The rules of a kind beyond its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    Role,
    ClusterRole,
    Binding,
    Namespace,
    ResourceQuota,
    LimitRange,
    NetworkPolicy,
    PodSecurityPolicy,
    SecurityContextConstraints,
    AdmissionPolicy,
    /// The server checks nothing else of the kind.
    MetadataAlone,
}

fn rules_of(api_version: &str, kind: &str) -> Option<Rules> {
    Some(match (api_version, kind) {
        (RBAC, "Role") => Rules::Role,
        (RBAC, "ClusterRole") => Rules::ClusterRole,
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => Rules::Binding,
        ("v1", "ServiceAccount") => Rules::MetadataAlone,
        ("v1", "Namespace") => Rules::Namespace,
        ("v1", "ResourceQuota") => Rules::ResourceQuota,
        ("v1", "LimitRange") => Rules::LimitRange,
        ("networking.k8s.io/v1", "NetworkPolicy") => Rules::NetworkPolicy,
        ("policy/v1beta1", "PodSecurityPolicy") => Rules::PodSecurityPolicy,
        ("security.openshift.io/v1", "SecurityContextConstraints") => Rules::SecurityContextConstraints,
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding")
        | (
            "admissionregistration.k8s.io/v1" | "admissionregistration.k8s.io/v1beta1",
            "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding",
        ) => Rules::AdmissionPolicy,
        _ => return None,
    })
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// The destination of errors, with the version.
struct Report<'e> {
    errors: &'e mut Vec<FieldError>,
    minor: u32,
}

impl Report<'_> {
    /// Adds an error without help.
    fn add(&mut self, kind: ErrorKind, path: &Path<'_>, node: NodeRef<'_>, message: String) {
        self.errors.push(FieldError { kind, path: path.to_string(), node: node.id(), message, help: None });
    }

    /// Adds an error with its remedy.
    fn teach(&mut self, kind: ErrorKind, path: &Path<'_>, node: NodeRef<'_>, message: String, help: impl Into<String>) {
        let path = path.to_string();
        self.errors.push(FieldError { kind, path, node: node.id(), message, help: Some(help.into()) });
    }

    /// Adds an invalid value for each reason of a grammar; `what` names the value, such as "the name".
    fn grammar(&mut self, verdict: Result<(), Reasons>, path: &Path<'_>, node: NodeRef<'_>, what: &str, value: &str) {
        if let Err(reasons) = verdict {
            for reason in reasons.iter() {
                self.add(ErrorKind::Invalid, path, node, format!("{what} `{}` {reason}", shown(value)));
            }
        }
    }

    /// Adds an unsupported value, with the supported words.
    fn unsupported(&mut self, path: &Path<'_>, node: NodeRef<'_>, what: &str, value: &str, words: &[&str]) {
        let message = if value.is_empty() {
            format!("{what} is missing")
        } else {
            format!("{what} `{}` is not supported", shown(value))
        };
        let help =
            bailiwick_yaml::diag::nearest(value, words.iter().copied()).filter(|_| !value.is_empty()).map_or_else(
                || {
                    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                    format!("one of: {}", words.join(", "))
                },
                |near| format!("did you mean `{near}`?"),
            );
        self.teach(ErrorKind::Unsupported, path, node, message, help);
    }
}

/// A field path on the stack: only an error makes it a string.
#[derive(Clone, Copy)]
struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Field(&'p str),
    Index(usize),
    Key(&'p str),
}

impl<'p> Path<'p> {
    fn root(field: &'p str) -> Self {
        Self { parent: None, step: Step::Field(field) }
    }

    fn field(&'p self, field: &'p str) -> Self {
        Self { parent: Some(self), step: Step::Field(field) }
    }

    fn index(&'p self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    fn key(&'p self, key: &'p str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            Step::Field(field) if self.parent.is_some() => write!(formatter, ".{field}"),
            Step::Field(field) => formatter.write_str(field),
            Step::Index(index) => write!(formatter, "[{index}]"),
            Step::Key(key) => write!(formatter, "[{key}]"),
        }
    }
}

/// Returns the string at a key; empty when it is missing, null or of another type.
pub(super) fn text<'t>(map: NodeRef<'t>, key: &str) -> &'t str {
    absent::text(map.get(key).and_then(NodeRef::as_str))
}

/// Returns the node of an error about a key: its value, or else the map.
fn place<'t>(map: NodeRef<'t>, key: &str) -> NodeRef<'t> {
    match map.get(key) {
        Some(value) => value,
        None => map,
    }
}

/// Whether a list or map at a key is missing, null or empty.
fn is_empty(map: NodeRef<'_>, key: &str) -> bool {
    map.get(key).is_none_or(NodeRef::is_empty)
}

/// Returns the items of the list at a key, with their numbers.
pub(super) fn items<'t>(map: NodeRef<'t>, key: &str) -> impl Iterator<Item = (usize, NodeRef<'t>)> {
    map.get(key).into_iter().flat_map(NodeRef::items).enumerate()
}

/// Returns the strings of the list at a key; null counts as the empty string.
fn strings<'t>(map: NodeRef<'t>, key: &str) -> impl Iterator<Item = &'t str> {
    map.get(key).into_iter().flat_map(NodeRef::items).map(|item| absent::text(item.as_str()))
}

/// Returns the entries of the map at a key, with their names.
fn entries<'t>(map: NodeRef<'t>, key: &str) -> impl Iterator<Item = (&'t str, NodeRef<'t>, NodeRef<'t>)> {
    map.get(key).into_iter().flat_map(NodeRef::entries).map(|(name, value)| (absent::text(name.as_str()), name, value))
}

/// Returns a value as a message shows it: on one line and not endless.
fn shown(value: &str) -> String {
    let escaped: String = value.chars().take(60).flat_map(char::escape_debug).collect();
    let escaped = escaped.replace("\\'", "'").replace("\\\"", "\"");
    if value.chars().nth(60).is_some() { escaped + "…" } else { escaped }
}

/// A finalizer without a domain is one of these.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Checks a finalizer. `standard_path` is set if a finalizer without a domain has to be a standard one.
fn finalizer(item: NodeRef<'_>, key_path: &Path<'_>, standard_path: Option<&Path<'_>>, report: &mut Report<'_>) {
    let name = absent::text(item.as_str());
    report.grammar(names::label_key(name), key_path, item, "the finalizer", name);
    if let Some(path) = standard_path.filter(|_| !name.contains('/') && !STANDARD_FINALIZERS.contains(&name)) {
        report.teach(
            ErrorKind::Invalid,
            path,
            item,
            format!("the finalizer `{}` has no domain and is not a standard one", shown(name)),
            format!("write `example.com/{}`, or one of: `kubernetes`, `orphan`, `foregroundDeletion`", shown(name)),
        );
    }
}
