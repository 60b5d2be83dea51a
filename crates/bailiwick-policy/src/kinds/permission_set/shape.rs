//! Checks of a permission set that do not depend on a target.

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Sink};

use super::{PermissionRule, PermissionSetSpec, Persona};
use crate::kinds::shared::StringMap;
use crate::model::{Pattern, PolicyMeta, RoleObjectKind};

/// Checks everything that does not depend on a target.
pub(super) fn check(meta: &PolicyMeta, spec: &PermissionSetSpec, sink: &mut Sink) {
    match &spec.aggregation_rule {
        Some(aggregation) => {
            let mut refuse = |origin, message: &str, help: &str| {
                sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(origin).help(help));
            };
            let own = [
                spec.rules.first().map(|rule| rule.origin),
                spec.include.first().map(|name| name.origin),
                spec.except.first().map(|exception| exception.origin),
            ];
            if let Some(origin) = own.into_iter().flatten().next() {
                refuse(
                    origin,
                    "a set with an `aggregationRule` cannot have rules",
                    "move the rules to a set that the selectors select: the cluster replaces them",
                );
            }
            if let Some(kind) = spec.r#as.filter(|kind| kind.value == RoleObjectKind::Role) {
                refuse(kind.origin, "a Role cannot aggregate rules", "remove `as`, or set `as: ClusterRole`");
            }
            for selector in aggregation.cluster_role_selectors.iter().filter(|selector| selector.is_empty()) {
                sink.push(
                    Diagnostic::warning(
                        codes::AGGREGATES_EVERYTHING,
                        "this selector selects every ClusterRole of the cluster",
                    )
                    .at(selector.origin)
                    .help(
                        "add labels under `matchLabels`: without them the role grants all permissions of cluster-admin",
                    ),
                );
            }
        }
        None if spec.rules.is_empty() && spec.include.is_empty() => sink.push(
            Diagnostic::error(codes::MISSING_FIELD, "this permission set grants nothing")
                .at(meta.origin)
                .help("add `rules`, `include` or an `aggregationRule`"),
        ),
        None => {}
    }
    aggregated(spec, sink);
    check_role_name(spec, sink);
    for rule in &spec.rules {
        check_rule(rule, spec.role_kind(), sink);
    }
}

/// Returns the name of the role, as a pattern.
pub(super) fn role_name(meta: &PolicyMeta, spec: &PermissionSetSpec) -> String {
    let own = || meta.name.replace('{', "{{").replace('}', "}}");
    spec.role_name.as_ref().map_or_else(own, |name| name.value.clone())
}

/// Checks that the name of the role has no account variables: a Tenancy names the roles of its accounts.
fn check_role_name(spec: &PermissionSetSpec, sink: &mut Sink) {
    let Some(name) = &spec.role_name else { return };
    if let Some(variable) = Pattern::parse_checked(name).account_variables().next() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, format!("`roleName` cannot use the variable `{variable}`"))
                .at(name.origin)
                .help("use variables of the target, or name the role under `roles` of a Tenancy"),
        );
    }
}

/// Returns the labels of the role, including the labels of `aggregateTo`.
pub(super) fn labels(spec: &PermissionSetSpec) -> StringMap {
    let mut labels = spec.labels.clone();
    labels.extend(spec.aggregate_to.iter().map(|persona| (label(persona.value).to_owned(), "true".to_owned())));
    labels
}

fn label(persona: Persona) -> &'static str {
    match persona {
        Persona::View => "rbac.authorization.k8s.io/aggregate-to-view",
        Persona::Edit => "rbac.authorization.k8s.io/aggregate-to-edit",
        Persona::Admin => "rbac.authorization.k8s.io/aggregate-to-admin",
    }
}

fn aggregated(spec: &PermissionSetSpec, sink: &mut Sink) {
    for persona in &spec.aggregate_to {
        if spec.role_kind() == RoleObjectKind::Role {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "a Role cannot be aggregated")
                    .at(persona.origin)
                    .help("set `as: ClusterRole`"),
            );
            return;
        }
        let label = label(persona.value);
        if spec.labels.get(label).is_some_and(|value| value != "true") {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("the label `{label}` has another value"))
                    .at(persona.origin)
                    .help("remove it under `labels`"),
            );
        }
    }
}

fn check_rule(rule: &Spanned<PermissionRule>, role_kind: RoleObjectKind, sink: &mut Sink) {
    let mut refuse = |code, origin, message: &str, help: &str| {
        sink.push(Diagnostic::error(code, message).at(origin).help(help));
    };
    check_rule_targets(rule, &mut refuse);
    check_expand(rule, &mut refuse);
    if !rule.non_resource_urls.is_empty() && role_kind == RoleObjectKind::Role {
        refuse(
            codes::INVALID_VALUE,
            rule.origin,
            "a Role cannot grant URL paths",
            "set `as: ClusterRole`: URL paths belong to no namespace",
        );
    }
    match (&rule.access, rule.verbs.is_empty()) {
        (None, true) => refuse(
            codes::MISSING_FIELD,
            rule.origin,
            "this rule has no verbs",
            "add `verbs:`, such as `[get, list, watch]`, or `access: read`",
        ),
        (Some(access), false) => {
            refuse(codes::INVALID_VALUE, access.origin, "this rule has both `access` and `verbs`", "keep one of them")
        }
        _ => {}
    }
    if let Some(earlier) = rule.earlier_groups
        && (rule.resources.is_empty() || !rule.api_groups.is_empty())
    {
        refuse(
            codes::INVALID_VALUE,
            earlier.origin,
            "`earlierGroups` is for resources without `apiGroups`",
            "list the earlier groups under `apiGroups`, or remove `earlierGroups`",
        );
    }
}

/// Checks that a rule with `expand` has resources.
fn check_expand(rule: &PermissionRule, refuse: &mut dyn FnMut(Code, Origin, &str, &str)) {
    if let Some(expand) = rule.expand.filter(|expand| expand.value && rule.resources.is_empty()) {
        refuse(
            codes::INVALID_VALUE,
            expand.origin,
            "`expand` is for `resources`",
            "remove `expand`: wildcards in paths and URLs are not expanded",
        );
    }
}

/// Checks that a rule has exactly one of resources, paths and URLs.
fn check_rule_targets(rule: &Spanned<PermissionRule>, refuse: &mut dyn FnMut(Code, Origin, &str, &str)) {
    let urls = rule.non_resource_urls.first().map(|url| url.origin);
    let paths = rule.paths.first().map(|path| path.origin);
    let resources = !rule.resources.is_empty() || !rule.api_groups.is_empty() || !rule.resource_names.is_empty();
    match (urls, paths, resources) {
        (None, None, false) => refuse(
            codes::MISSING_FIELD,
            rule.origin,
            "this rule has no resources",
            "add `resources`, `paths` or `nonResourceURLs`",
        ),
        (None, None, true) if rule.resources.is_empty() => refuse(
            codes::MISSING_FIELD,
            rule.origin,
            "this rule names no resources",
            "add `resources:`, such as `[pods]`",
        ),
        (Some(origin), _, true) => refuse(
            codes::INVALID_VALUE,
            origin,
            "a rule for URLs cannot have resources",
            "split it into one rule for URLs and one for resources",
        ),
        (_, Some(origin), true) => refuse(
            codes::INVALID_VALUE,
            origin,
            "a rule with paths cannot have groups, resources or names",
            "split it into one rule with `paths` and one with `resources`; a path can end in a name",
        ),
        _ => {}
    }
}
