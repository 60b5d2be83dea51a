//! Checks of a grant that do not depend on a target.

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::GrantSpec;
use crate::kinds::requirements::{RequiredGrant, names_of_set};
use crate::kinds::shared::{Terms, refuse_content};
use crate::model::{Linker, Pattern, RawDocument, SelectingKey};

/// Checks everything that does not depend on a target.
pub(super) fn check(document: &RawDocument<'_>, spec: &GrantSpec, cluster_wide: bool, sink: &mut Sink) {
    let origin = document.meta.origin;
    if spec.to.is_empty() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this grant has no subject")
                .at(document.spec.get("to").map_or(origin, bailiwick_yaml::NodeRef::origin))
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
    terms(spec).check(sink);
    let named = spec.to.service_accounts.iter().filter(|account| !account.create);
    refuse_content(named, "add `create: true`, or remove the fields", sink);
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

/// Returns the parts of the grant that decide about requirements; none without requirements.
pub(super) fn required(document: &RawDocument<'_>, spec: &GrantSpec, linker: &mut Linker<'_>) -> Option<RequiredGrant> {
    if linker.requirements.is_empty() {
        return None;
    }
    let mut grant_terms = terms(spec).of_grant(&spec.to, spec.cluster_wide.is_some_and(|wide| wide.value));
    for (key, names) in [(SelectingKey::ClusterRoles, &spec.cluster_roles), (SelectingKey::Roles, &spec.roles)] {
        grant_terms.names.extend(names.iter().map(|name| (key, Pattern::parse_checked(name))));
    }
    for name in &spec.permission_sets {
        grant_terms.names.extend(names_of_set(name, linker));
    }
    Some(RequiredGrant { grant: None, origin: document.meta.origin, terms: grant_terms })
}

/// Returns the terms of a grant.
pub(super) fn terms(spec: &GrantSpec) -> Terms<'_> {
    Terms {
        owner: spec.owner.as_ref(),
        reason: spec.reason.as_ref(),
        expires: spec.expires.as_ref(),
        approved_by: &spec.approved_by,
        annotations: &spec.annotations,
    }
}
