//! D: grants that are dead, or not what they seem.

use super::super::{dead_parts, objects};
use super::{Rule, When};
use crate::codes;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "D001",
        codes::SLASH_STAR_RESOURCE,
        "M/M",
        When::Role(objects::slash_star),
        "names {what}, where the star stands for itself: it grants nothing",
        "write the subresources out, or `*/SUBRESOURCE` for one of every resource",
    ),
    Rule::new(
        "D002",
        codes::GLOB_IN_NAMES,
        "M/M",
        When::Role(objects::glob_in_names),
        "names the object {what}, where the star stands for itself",
        "write the names out, or have them expanded: names in rules are compared letter by letter",
    ),
    Rule::new(
        "D003",
        codes::NAMED_CREATE,
        "M/M",
        When::Role(objects::named_create),
        "limits {what} by names, which such a request never carries",
        "grant `create` in a rule without `resourceNames`; server-side apply needs `patch` on the same name too",
    ),
    Rule::new("D004", codes::DEAD_VERB, "L/L", When::Role(dead_parts::verbs), PART, HELP),
    Rule::new("D005", codes::UNSERVED_RESOURCE, "M/M", When::Role(dead_parts::resources), PART, HELP)
        .also(&["D012", "D017"]),
    Rule::new(
        "D006",
        codes::CLUSTER_SCOPED_IN_NAMESPACE,
        "M/M",
        When::Role(objects::cluster_scoped_in_namespace),
        "grants {what} by RoleBindings, and that belongs to no namespace",
        "bind it by a ClusterRoleBinding, or leave it out",
    ),
    Rule::new(
        "D007",
        codes::URL_IN_NAMESPACE,
        "M/M",
        When::Role(objects::url_in_namespace),
        "grants the URL {what} by RoleBindings, and URLs belong to no namespace",
        "bind it by a ClusterRoleBinding, or leave it out",
    ),
    Rule::new(
        "D008",
        codes::BIND_ON_BINDINGS,
        "M/M",
        When::Role(objects::bind_on_bindings),
        "grants {what}, which nobody ever asks for",
        "`bind` and `escalate` are asked for on `roles` and `clusterroles`",
    ),
    Rule::new(
        "D009",
        codes::IMPERSONATE_IN_WRONG_GROUP,
        "M/M",
        When::Role(objects::impersonate_in_wrong_group),
        "grants to impersonate {what}, a group where nobody ever asks for it",
        "`users`, `groups` and `serviceaccounts` are in the core group, `userextras/KEY` and `uids` in `authentication.k8s.io`",
    ),
    Rule::new(
        "D010",
        codes::NAMED_LIST,
        "L/L",
        When::Role(objects::named_list),
        "limits {what} by names, which works with the field selector `metadata.name` only",
        "let clients ask with that selector, or take `get` instead",
    ),
    Rule::new(
        "D011",
        codes::EMPTY_NAME,
        "H/H",
        When::Role(objects::empty_name),
        "has the empty name under `resourceNames`, which allows every request that names nothing: {what}",
        "take the empty name away",
    ),
    Rule::new(
        "D014",
        codes::NAMESPACE_ON_GROUP,
        "H/M",
        When::Binding(objects::namespace_on_group),
        "names {what}, where the namespace is ignored",
        "take the namespace away; for the accounts of one namespace the group is `system:serviceaccounts:NAMESPACE`",
    ),
    Rule::new(
        "D015",
        codes::EDITED_DEFAULT_OBJECT,
        "M/-",
        When::Default,
        "{what}",
        "keep the annotation `rbac.authorization.kubernetes.io/autoupdate: \"false\"` on it if the change is meant, or remove the change",
    ),
    Rule::new(
        "D016",
        codes::READ_ONLY_IN_NAME,
        "H/H",
        When::Role(objects::read_only_in_name),
        "calls itself read-only and grants {what}",
        "take it away, or give the role another name",
    ),
    Rule::new(
        "D018",
        codes::NAMED_CREATE_BY_APPLY,
        "I/I",
        When::Role(objects::named_create_by_apply),
        "limits {what} by names, which works by server-side apply alone",
        "client-side apply and `kubectl create` send no name: they need `create` in a rule without `resourceNames`",
    ),
    Rule::new("D019", codes::DEAD_URL, "L/L", When::Role(dead_parts::urls), PART, HELP),
];

/// What is said of a rule in which some part matches no request.
const PART: &str = "has a rule with a part that matches no request: {what}";

/// What to do about it, where nothing better is known.
const HELP: &str = "remove it, or write what was meant";
