//! Accepted differences between a live cluster and the policies.

use std::fmt;

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};
use globset::GlobMatcher;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Date, Target};
use crate::source::glob;

/// The settings of `bailiwick drift`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DriftSpec {
    /// Objects of the cluster that may differ from the policies: unmanaged objects, and changed objects of the policies. They
    /// count in no other part of the result. A missing object is never accepted.
    #[serde(default)]
    pub accept: Vec<Spanned<AcceptedObjectSpec>>,
}

/// Objects of the cluster that may differ from the policies.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AcceptedObjectSpec {
    /// The kind, such as `RoleBinding`.
    pub kind: String,
    /// A glob of the namespaces. Default: objects without a namespace.
    #[serde(default)]
    pub namespace: Option<Spanned<String>>,
    /// A glob of the names.
    pub name: Spanned<String>,
    /// The role of a binding. The entry stops to match when the role changes. Default: every role.
    #[serde(default)]
    pub role_ref: Option<AcceptedRole>,
    /// The reason, for the reader of the next review.
    pub reason: Spanned<String>,
    /// The last day of the entry, such as `2026-12-31`. Default: none.
    #[serde(default)]
    pub expires: Option<Spanned<String>>,
    /// The names of the targets. Default: every target.
    #[serde(default)]
    pub targets: Vec<Spanned<String>>,
}

/// The role of an accepted binding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptedRole {
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// As in `roleRef` of the binding.
    pub name: String,
}

/// Checked objects of the cluster that may differ from the policies.
#[derive(Debug, Clone)]
pub struct AcceptedObject {
    kind: String,
    namespace: Option<GlobMatcher>,
    name: GlobMatcher,
    /// As `Kind/name`.
    role: Option<String>,
    /// The last day.
    pub expires: Option<Date>,
    targets: Vec<String>,
    /// The place of the entry.
    pub origin: Origin,
}

/// The identity of an object, for accepted differences.
#[derive(Debug, Clone, Copy)]
pub struct DifferingObject<'o> {
    /// As in the object, such as `RoleBinding`.
    pub kind: &'o str,
    /// The namespace; empty for none.
    pub namespace: &'o str,
    /// As in `metadata`.
    pub name: &'o str,
    /// The role of a binding, as `Kind/name`.
    pub role: Option<&'o str>,
}

impl AcceptedObject {
    /// Checks the entries of a workspace.
    pub(super) fn link_all(spec: &DriftSpec, targets: &[Target], sink: &mut Sink) -> Vec<Self> {
        spec.accept.iter().filter_map(|entry| Self::link(entry, targets, sink)).collect()
    }

    fn link(spec: &Spanned<AcceptedObjectSpec>, targets: &[Target], sink: &mut Sink) -> Option<Self> {
        if spec.reason.trim().is_empty() {
            let message = "the reason of an accepted difference is empty";
            let help = "write why the object is in the cluster, for the reader of the next review";
            sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(spec.reason.origin).help(help));
        }
        for name in spec.targets.iter().filter(|name| !targets.iter().any(|target| target.name == name.value)) {
            let known: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
            let help = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write one of: {}", known.join(", ")),
            };
            let message = format!("there is no target `{}`", name.value);
            sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(name.origin).help(help));
        }
        let namespace = spec.namespace.as_ref().map(|written| matcher(written, sink));
        let name = matcher(&spec.name, sink)?;
        Some(Self {
            kind: spec.kind.clone(),
            namespace: namespace.map_or(Some(None), |glob| glob.map(Some))?,
            name,
            role: spec.role_ref.as_ref().map(|role| format!("{}/{}", role.kind, role.name)),
            expires: spec.expires.as_ref().and_then(|written| last_day(written, sink)),
            targets: spec.targets.iter().map(|target| target.value.clone()).collect(),
            origin: spec.origin,
        })
    }

    /// Whether the entry applies to a target.
    pub fn is_for(&self, target: &str) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|own| own == target)
    }

    /// Whether the entry names an object.
    pub fn names(&self, object: DifferingObject<'_>) -> bool {
        let is_there = match &self.namespace {
            Some(glob) => !object.namespace.is_empty() && glob.is_match(object.namespace),
            None => object.namespace.is_empty(),
        };
        let has_role = self.role.as_deref().is_none_or(|role| object.role == Some(role));
        object.kind == self.kind && is_there && has_role && self.name.is_match(object.name)
    }
}

/// Describes the accepted objects, as in `RoleBinding/team-*/break-glass -> ClusterRole/admin, until 2026-12-31`.
impl fmt::Display for AcceptedObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{}/", namespace.glob())?;
        }
        write!(formatter, "{}", self.name.glob())?;
        if let Some(role) = &self.role {
            write!(formatter, " -> {role}")?;
        }
        if let Some(day) = self.expires {
            write!(formatter, ", until {day}")?;
        }
        match self.targets.as_slice() {
            [] => Ok(()),
            targets => write!(formatter, ", on {}", targets.join(", ")),
        }
    }
}

/// Returns a compiled glob; reports an invalid one.
fn matcher(written: &Spanned<String>, sink: &mut Sink) -> Option<GlobMatcher> {
    match glob::compile(written, false) {
        Ok(glob) => Some(glob.compile_matcher()),
        Err(error) => {
            let message = format!("`{}` is not a glob: {error}", written.value);
            let help = "`*` matches any text; close every `[` and `{`";
            sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(written.origin).help(help));
            None
        }
    }
}

/// Returns a day; reports an invalid one.
fn last_day(written: &Spanned<String>, sink: &mut Sink) -> Option<Date> {
    match written.parse::<Date>() {
        Ok(day) => Some(day),
        Err(error) => {
            let message = format!("`{}` is not a day", written.value);
            sink.push(Diagnostic::error(codes::INVALID_WORKSPACE, message).at(written.origin).help(format!("{error}")));
            None
        }
    }
}
