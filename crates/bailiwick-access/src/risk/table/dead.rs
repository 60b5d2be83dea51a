//! D: grants that are dead, or not what they seem.

use super::super::{dead_parts, objects};
use super::{RiskRule, When};
use crate::codes;

pub(super) const RULES: &[RiskRule] = &[
    RiskRule::new(
        "D001",
        codes::SLASH_STAR_RESOURCE,
        "M/M",
        When::Role(objects::slash_star),
        "has the resource {what}, where `*` is a literal character: the resource grants nothing",
    )
    .help("list the subresources, or write `*/SUBRESOURCE` for one subresource of every resource"),
    RiskRule::new(
        "D002",
        codes::GLOB_IN_NAMES,
        "M/M",
        When::Role(objects::glob_in_names),
        "has the resource name {what}, where `*` is a literal character",
    )
    .help("list the full names: RBAC compares names exactly"),
    RiskRule::new(
        "D003",
        codes::NAMED_CREATE,
        "M/M",
        When::Role(objects::named_create),
        "limits {what} by names, but such a request carries no name",
    )
    .help("grant `create` in a rule without `resourceNames`; server-side apply also needs `patch` on the same name"),
    RiskRule::new("D004", codes::DEAD_VERB, "L/L", When::Role(dead_parts::verbs), PART).help(HELP),
    RiskRule::new("D005", codes::UNSERVED_RESOURCE, "M/M", When::Role(dead_parts::resources), PART).help(HELP)
        .also(&["D012", "D017"]),
    RiskRule::new(
        "D006",
        codes::CLUSTER_SCOPED_IN_NAMESPACE,
        "M/M",
        When::Role(objects::cluster_scoped_in_namespace),
        "grants {what} by RoleBindings, without effect: the resource is cluster-scoped",
    )
    .help("bind it by a ClusterRoleBinding, or remove it"),
    RiskRule::new(
        "D007",
        codes::URL_IN_NAMESPACE,
        "M/M",
        When::Role(objects::url_in_namespace),
        "grants the URL {what} by RoleBindings, without effect: URLs have no namespace",
    )
    .help("bind it by a ClusterRoleBinding, or remove it"),
    RiskRule::new(
        "D008",
        codes::BIND_ON_BINDINGS,
        "M/M",
        When::Role(objects::bind_on_bindings),
        "grants {what}, which no request needs",
    )
    .help("grant `bind` and `escalate` on `roles` or `clusterroles`"),
    RiskRule::new(
        "D009",
        codes::IMPERSONATE_IN_WRONG_GROUP,
        "M/M",
        When::Role(objects::impersonate_in_wrong_group),
        "grants `impersonate` on {what}, which no request needs",
    )
    .help("grant `users`, `groups` and `serviceaccounts` in the core group, and `userextras/KEY` and `uids` in `authentication.k8s.io`"),
    RiskRule::new(
        "D010",
        codes::NAMED_LIST,
        "L/L",
        When::Role(objects::named_list),
        "limits {what} by names, which matches only requests with the field selector `metadata.name`",
    )
    .help("use that field selector in clients, or grant `get` instead"),
    RiskRule::new(
        "D011",
        codes::EMPTY_NAME,
        "H/H",
        When::Role(objects::empty_name),
        "has an empty name under `resourceNames`, which matches every request without a name: {what}",
    )
    .help("remove the empty name"),
    RiskRule::new(
        "D014",
        codes::NAMESPACE_ON_GROUP,
        "H/M",
        When::Binding(objects::namespace_on_group),
        "has the subject {what}, where the namespace is ignored",
    )
    .help("remove the namespace; the group of the service accounts of one namespace is `system:serviceaccounts:NAMESPACE`"),
    RiskRule::new(
        "D015",
        codes::EDITED_DEFAULT_OBJECT,
        "M/-",
        When::Default,
        "{what}",
    )
    .help("set the annotation `rbac.authorization.kubernetes.io/autoupdate: \"false\"` on the object if the change is intended, or revert the change"),
    RiskRule::new(
        "D016",
        codes::READ_ONLY_IN_NAME,
        "H/H",
        When::Role(objects::read_only_in_name),
        "is read-only by name or label and grants {what}",
    )
    .help("remove it, or rename the role"),
    RiskRule::new(
        "D018",
        codes::NAMED_CREATE_BY_APPLY,
        "I/I",
        When::Role(objects::named_create_by_apply),
        "limits {what} by names, which works by server-side apply only",
    )
    .help("grant `create` in a rule without `resourceNames` for client-side apply and `kubectl create`, which send no name"),
    RiskRule::new("D019", codes::DEAD_URL, "L/L", When::Role(dead_parts::urls), PART).help(HELP),
];

/// The message for a rule with a part that matches no request.
const PART: &str = "has a rule with a part that matches no request: {what}";

/// The help for a dead part without a better suggestion.
const HELP: &str = "remove or correct it";
