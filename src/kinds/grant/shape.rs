//! Checks of a grant that do not depend on a target.

use super::GrantSpec;
use crate::codes;
use crate::diag::{Diagnostic, Origin, Sink};
use crate::kinds::shared::StringMap;
use crate::model::{Date, DateError, RawDocument};
use crate::yaml::Spanned;

/// Checks everything that does not depend on a target.
pub(super) fn check(document: &RawDocument<'_>, spec: &GrantSpec, cluster_wide: bool, sink: &mut Sink) {
    let origin = document.meta.origin;
    if spec.to.is_empty() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this grant has no subject")
                .at(document.spec.get("to").map_or(origin, crate::yaml::NodeRef::origin))
                .help("list `users`, `groups` or `serviceAccounts`"),
        );
    }
    if spec.permission_sets.is_empty() && spec.cluster_roles.is_empty() && spec.roles.is_empty() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this grant has no role")
                .at(origin)
                .help("list `permissionSets`, `clusterRoles` or `roles`"),
        );
    }
    check_scope(spec, cluster_wide, origin, sink);
    if let Some(selector) = &spec.namespace_selector {
        selector.check(selector.origin, sink);
    }
    if let Some(expires) = spec.expires.as_ref().filter(|day| day.parse::<Date>().is_err()) {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, format!("`{}` is not a date", expires.value))
                .at(expires.origin)
                .help(DateError.to_string()),
        );
    }
    check_notes(spec, sink);
}

/// Checks that a grant is either cluster-wide or in namespaces, and that its subjects and roles fit.
fn check_scope(spec: &GrantSpec, cluster_wide: bool, origin: Origin, sink: &mut Sink) {
    let somewhere = !spec.namespaces.is_empty() || spec.namespace_selector.is_some();
    match (cluster_wide, !somewhere) {
        (false, true) => sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this grant has no scope")
                .at(origin)
                .help("list `namespaces`, add a `namespaceSelector`, or set `clusterWide: true`"),
        ),
        (true, false) => sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this grant is cluster-wide and lists namespaces")
                .at(spec.cluster_wide.map_or(origin, |wide| wide.origin))
                .help("remove `clusterWide` or the namespaces: cluster-wide permissions include every namespace"),
        ),
        _ => {}
    }
    for account in spec.to.service_accounts.iter().filter(|account| cluster_wide && account.namespace.is_none()) {
        sink.push(
            Diagnostic::error(
                codes::INVALID_VALUE,
                format!("the service account `{}` needs its namespace", account.name.value),
            )
            .at(account.name.origin)
            .help("add `namespace:`: a cluster-wide binding has no default namespace"),
        );
    }
    for name in spec.roles.iter().filter(|_| cluster_wide) {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, format!("the Role `{}` cannot be bound cluster-wide", name.value))
                .at(name.origin)
                .help("bind a ClusterRole, or list `namespaces`: a Role belongs to one namespace"),
        );
    }
}

/// Checks owner, reason and expiry date.
fn check_notes(spec: &GrantSpec, sink: &mut Sink) {
    for (key, value) in notes(spec) {
        if value.trim().is_empty() {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "this text is empty")
                    .at(value.origin)
                    .help("write a text, or remove the field"),
            );
        }
        if spec.annotations.contains_key(key) {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("the annotation `{key}` has two values"))
                    .at(value.origin)
                    .help("remove it under `annotations`"),
            );
        }
    }
}

/// Returns the annotations of the bindings.
pub(super) fn annotations(spec: &GrantSpec) -> StringMap {
    let mut annotations = spec.annotations.clone();
    annotations.extend(notes(spec).map(|(key, value)| (key.to_owned(), value.value.clone())));
    annotations
}

/// Returns owner, reason and expiry date by annotation.
fn notes(spec: &GrantSpec) -> impl Iterator<Item = (&'static str, &Spanned<String>)> {
    [
        ("bailiwick.dev/expires", &spec.expires),
        ("bailiwick.dev/owner", &spec.owner),
        ("bailiwick.dev/reason", &spec.reason),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value.as_ref()?)))
}
