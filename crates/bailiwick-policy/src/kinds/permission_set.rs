//! `PermissionSet`: a named set of rules.

mod except;
mod expand;
mod paths;
mod resolve;
mod shape;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::rbac::{self, PolicyRule};
use bailiwick_kubernetes::rules::{MOST_PERMISSIONS, RuleSet, permission_count};
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::except::Words;
use self::expand::Expansion;
use self::resolve::TargetApi;
use super::findings::Findings;
use super::selector::LabelSelectorSpec;
use super::shared::StringMap;
use crate::model::{
    Blueprint, CommonMetadataSpec, Contribution, ExpandedSet, Kind, Linker, ObjectBlueprint, Offer, OutputFileKey,
    Patterns, PermissionSet, PermissionSetParts, Policy, PolicyMeta, RawDocument, RoleObjectKind, Shared, Target, Unit,
    targets_of_item,
};
pub use except::covers;

/// The policy kind `PermissionSet`.
pub struct PermissionSetKind;

/// A named set of permissions: verbs on resources.
///
/// A set becomes a ClusterRole of its name, or a Role in each namespace with a Grant of the set. A set with account
/// variables in its texts, such as `tool-{name}-psp`, becomes a Role for each tenant of the Tenancy that uses it.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: PermissionSet
/// metadata:
///   name: viewer
/// spec:
///   as: Role
///   rules:
///   - resources: [services, pods, pods/log]
///     access: read
///   - paths: ["/apis/apps/v1/namespaces/{namespace}/deployments"]
///     verbs: [get, list, watch]
///   - apiGroups: [batch]
///     resources: [jobs]
///     verbs: [create]
/// ```
///
/// A rule names its resources or URLs in one of four ways, and its operations by `verbs` or by `access`:
///
/// - `apiGroups` and `resources`, optionally with `resourceNames`: the form of Kubernetes.
/// - `resources` alone: the rule gets every group in which the version of the target serves the resource, since some
///   resources, such as `events`, are in several groups. `earlierGroups: true` adds former groups, such as `extensions`
///   for `deployments`. A custom resource requires its CustomResourceDefinition in a Manifests policy.
/// - `paths`: API paths of the server. `{namespace}` and `{name}` are wildcards, also in the set of a tenant; in
///   `{name}-settings`, `{name}` is the name of the tenant. A literal name limits the rule to this object. The Grant
///   decides the namespaces of the rule. `deployments/status` is the subresource, with or without `{name}` between the
///   two. A path outside the resource API, such as `/healthz`, `/metrics` or `/api/*`, is a URL.
/// - `nonResourceURLs`: URLs, in the form of Kubernetes.
///
/// `access: read` means `get`, `list` and `watch`. `access: write` adds `create`, `update`, `patch`, `delete` and
/// `deletecollection`. The rule gets only the verbs that the resource supports, if they are known: `pods/log` supports
/// only `get`. For URLs, `read` means `get`, and `write` means `get`, `post`, `put`, `patch` and `delete`.
///
/// `expand: true` replaces `*` in `apiGroups`, `resources` and `verbs` by names: the resources and subresources that the
/// version of the target serves by default, and the custom resources with a CustomResourceDefinition in a Manifests
/// policy. Each resource has the verbs that it supports. `except` can then remove single resources and verbs, such as
/// everything but Secrets:
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: PermissionSet
/// metadata:
///   name: auditor
/// spec:
///   as: ClusterRole
///   rules:
///   - apiGroups: ["*"]
///     resources: ["*"]
///     access: read
///     expand: true
///   except:
///   - resources: [secrets, nodes/proxy, pods/exec, pods/attach, pods/portforward, services/proxy, pods/proxy]
///     verbs: ["*"]
/// ```
///
/// The role does not have special verbs such as `escalate`, `bind`, `impersonate` and `use`, and no aggregated APIs, such
/// as the APIs of OpenShift itself. A later custom resource or version needs another `render`; `lint` reports this with
/// [expanded-wildcard](../diagnostics/expanded-wildcard.md). A Role has no cluster-scoped resources other than
/// `namespaces`, because they have no effect in it. A wildcard in a path or URL is not expanded.
///
/// `when` limits a rule to some targets, such as `target.platform == 'openshift'` for a resource of OpenShift.
///
/// The output has one normal form, independent of the order of the rules: one group per rule, and resources with the
/// same verbs together. The role never has more permissions than the rules.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PermissionSetSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The kind of the role. Default: `Role`; with an `aggregationRule`, `ClusterRole`.
    #[serde(default)]
    pub r#as: Option<Spanned<RoleObjectKind>>,
    /// The name of the Role or ClusterRole, such as the name of an existing role. Default: the name of the set.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub role_name: Option<Spanned<String>>,
    /// Labels of the role.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the role.
    #[serde(default)]
    pub annotations: StringMap,
    /// Built-in roles that aggregate these rules, by the label `rbac.authorization.k8s.io/aggregate-to-...`; only for a
    /// ClusterRole.
    #[serde(default)]
    pub aggregate_to: Vec<Spanned<Persona>>,
    /// Other permission sets with rules to include in this one.
    #[serde(default)]
    pub include: Vec<Spanned<String>>,
    /// Allowed operations.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub rules: Vec<Spanned<PermissionRule>>,
    /// Verbs to remove from the rules, such as `deletecollection` on `configmaps`.
    #[serde(default)]
    pub except: Vec<Spanned<Exception>>,
    /// Label selectors of ClusterRoles in place of rules: the cluster aggregates the rules of these ClusterRoles.
    #[serde(default)]
    pub aggregation_rule: Option<Spanned<AggregationRule>>,
}

/// A built-in user-facing role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Persona {
    /// Reads most objects of a namespace.
    View,
    /// Changes most objects of a namespace.
    Edit,
    /// Changes roles and bindings of a namespace, too.
    Admin,
}

/// A rule: resources or URLs, and the allowed operations.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Rule")]
pub struct PermissionRule {
    /// API groups; the core group is the empty string. Default: the groups that serve the resources.
    #[serde(default)]
    pub api_groups: Vec<Spanned<String>>,
    /// Resources in the plural, subresources behind a slash: `pods`, `pods/log`.
    #[serde(default)]
    pub resources: Vec<Spanned<String>>,
    /// Names the rule is limited to. Default: every name.
    #[serde(default)]
    pub resource_names: Vec<String>,
    /// URL paths, in a ClusterRole only: `/healthz`, `/metrics/*`.
    #[serde(default, rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<Spanned<String>>,
    /// API paths, such as `/api/v1/namespaces/{namespace}/pods/{name}/log`.
    #[serde(default)]
    pub paths: Vec<Spanned<String>>,
    /// Verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or `*`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub verbs: Vec<Spanned<String>>,
    /// Instead of `verbs`: those for reading, or those for reading and writing.
    #[serde(default)]
    pub access: Option<Spanned<AccessLevel>>,
    /// Whether to add former groups of the resources.
    #[serde(default)]
    pub earlier_groups: Option<Spanned<bool>>,
    /// Whether to list the names that the target serves in place of `*` in `apiGroups`, `resources` and `verbs`.
    #[serde(default)]
    pub expand: Option<Spanned<bool>>,
    /// A CEL condition for the targets of the rule, such as `target.platform == 'openshift'`. Default: all targets of the
    /// set.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
}

/// A named list of verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Access")]
pub enum AccessLevel {
    /// `get`, `list`, `watch`.
    Read,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    Write,
}

impl AccessLevel {
    /// Returns the verbs of resources.
    pub fn verbs(self) -> &'static [&'static str] {
        match self {
            AccessLevel::Read => rbac::READ_VERBS,
            AccessLevel::Write => rbac::WRITE_VERBS,
        }
    }
}

/// Verbs on resources to remove from the rules.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Exception {
    /// API groups. Default: every group of the rules.
    #[serde(default)]
    pub api_groups: Vec<String>,
    /// Resources, spelt as in the rules.
    #[schemars(length(min = 1))]
    pub resources: Vec<Spanned<String>>,
    /// The verbs to take back; `*` for every one.
    #[schemars(length(min = 1))]
    pub verbs: Vec<Spanned<String>>,
}

/// Selectors of the ClusterRoles to aggregate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AggregationRule {
    /// Label selectors; a role that matches one of them is aggregated.
    #[schemars(length(min = 1))]
    pub cluster_role_selectors: Vec<Spanned<LabelSelectorSpec>>,
}

impl Offer for PermissionSet {
    const KIND: &'static str = PermissionSetKind::NAME;
}

impl Kind for PermissionSetKind {
    type Spec = PermissionSetSpec;

    const NAME: &'static str = "PermissionSet";
    const TEMPLATES: &'static [&'static str] = &["permission-set/clusterrole.yaml.j2", "permission-set/role.yaml.j2"];
    const PATTERNS: Patterns = Patterns::Open;
    const INCLUDES: Option<&'static str> = Some("include");

    fn link(
        document: &RawDocument<'_>,
        spec: PermissionSetSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let meta = document.meta.clone();
        let mut found = Sink::new();
        shape::check(&meta, &spec, &mut found);
        let included = included(&meta, &spec, linker, &mut found);
        let can_go_on = !found.has_errors();
        sink.absorb(found);
        let granted = if can_go_on { granted(&meta, &spec, &included, linker, sink) } else { BTreeMap::new() };
        let set = PermissionSet::new(PermissionSetParts {
            role_kind: spec.role_kind(),
            role_name: shape::role_name(&meta, &spec),
            labels: Blueprint::from_value(&shape::labels(&spec)),
            annotations: Blueprint::from_value(&spec.annotations),
            granted,
            aggregation: spec.aggregation_rule.as_ref().map(|rule| Blueprint::from_value(&rule.value)),
        });
        if !can_go_on {
            return None;
        }
        let needs_account = set.needs_account();
        let role = (set.role_kind == RoleObjectKind::ClusterRole && !needs_account).then(|| {
            let template = "permission-set/clusterrole.yaml.j2";
            set.role(RoleObjectKind::ClusterRole, template, set.role_name(), meta.origin, meta.origin)
        });
        if let Some(expanded) = expanded(&spec) {
            linker.facts.push(ExpandedSet::new(&set, expanded, meta.clone()));
        }
        let variables = set.account_variables();
        let stands_alone = set.role_kind == RoleObjectKind::ClusterRole && variables.is_empty();
        linker.offers.add(Shared { meta: meta.clone(), content: Arc::new(set), variables, stands_alone });
        Some(Box::new(Linked { meta, role }))
    }
}

/// Returns the place of the first `expand` of the rules.
fn expanded(spec: &PermissionSetSpec) -> Option<Origin> {
    let mut written = spec.rules.iter().filter_map(|rule| rule.expand);
    written.find(|expand| expand.value).map(|expand| expand.origin)
}

impl PermissionSetSpec {
    fn role_kind(&self) -> RoleObjectKind {
        match &self.r#as {
            Some(kind) => kind.value,
            None if self.aggregation_rule.is_some() => RoleObjectKind::ClusterRole,
            None => RoleObjectKind::Role,
        }
    }
}

/// Returns the included sets, each with the location of the reference. Each has rules on its own targets alone.
fn included(
    meta: &PolicyMeta,
    spec: &PermissionSetSpec,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<(Arc<PermissionSet>, Origin)> {
    let mut found = Vec::new();
    let groups = spec.include.iter().flat_map(|name| {
        let on = linker.offers.groups([(PermissionSet::KIND, name.as_str())], &meta.targets);
        on.into_iter().map(move |on| (name, on))
    });
    for (name, on) in groups.collect::<Vec<_>>() {
        let Some(set) = linker.offers.find::<PermissionSet>(name, &on, sink) else { continue };
        if set.content.is_aggregated() {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    format!("only the cluster has the rules of the permission set `{}`", name.value),
                )
                .at(name.origin)
                .and(set.meta.origin, "its `aggregationRule` selects them")
                .help("include the selected sets"),
            );
        } else {
            found.push((Arc::clone(&set.content), name.origin));
        }
    }
    found
}

/// Returns the errors of URL paths in the rules of a Role.
fn urls_of_role(rules: &[(PolicyRule, Origin)]) -> impl Iterator<Item = Diagnostic> {
    let with_urls = rules.iter().filter(|(rule, _)| !rule.non_resource_urls.is_empty());
    with_urls.map(|(_, origin)| {
        Diagnostic::error(codes::INVALID_VALUE, "a Role cannot grant URL paths")
            .at(*origin)
            .help("set `as: ClusterRole`: URL paths belong to no namespace")
    })
}

/// Returns the error of rules with more permissions than a set can hold, at the first rule beyond the limit.
fn too_many(rules: &[(PolicyRule, Origin)]) -> Option<Diagnostic> {
    let mut count: usize = 0;
    let beyond = rules.iter().find(|(rule, _)| {
        count = count.saturating_add(permission_count(rule));
        count > MOST_PERMISSIONS
    });
    let message = format!(
        "the rules state more than {MOST_PERMISSIONS} permissions: groups, resources, names and verbs multiply"
    );
    let error = |origin| Diagnostic::error(codes::INVALID_VALUE, message).at(origin);
    beyond.map(|(_, origin)| error(*origin).help("write several sets, or `*` for every group, resource or verb"))
}

/// Returns the rules of the set on each of its targets.
fn granted(
    meta: &PolicyMeta,
    spec: &PermissionSetSpec,
    included: &[(Arc<PermissionSet>, Origin)],
    linker: &Linker<'_>,
    sink: &mut Sink,
) -> BTreeMap<String, RuleSet> {
    let mut granted = BTreeMap::new();
    let mut findings = Findings::new(meta.targets.len());
    let mut unused: Vec<bool> = vec![true; spec.except.len()];
    let mut words = expanded(spec).map(|_| Words::default());
    let targets = linker.targets_of(meta);
    let on_targets = spec.rules.iter().map(|rule| targets_of_item(rule.when.as_ref(), &targets, sink));
    let on_targets: Vec<BTreeSet<String>> = on_targets.collect();
    for target in targets {
        let Some(api) = linker.apis.get(&target.name).filter(|_| spec.aggregation_rule.is_none()) else { continue };
        let expansion = words.is_some().then(|| Expansion::new(api, spec.role_kind()));
        let on = TargetApi { target: &target, api, expansion };
        let mut rules: Vec<(PolicyRule, Origin)> = Vec::new();
        for (set, origin) in included {
            let own = set.granted(&target.name).map(RuleSet::rules).unwrap_or_default();
            rules.extend(own.into_iter().map(|rule| (rule, *origin)));
        }
        let rules_here = spec.rules.iter().zip(&on_targets).filter(|(_, on)| on.contains(&target.name));
        for (rule, _) in rules_here {
            let mut report = |diagnostic| findings.add(&target, diagnostic);
            rules.extend(resolve::rule(rule, &on, &mut report).into_iter().map(|own| (own, rule.origin)));
        }
        if spec.role_kind() == RoleObjectKind::Role {
            urls_of_role(&rules).for_each(|diagnostic| findings.add(&target, diagnostic));
        }
        if let Some(too_many) = too_many(&rules) {
            findings.add(&target, too_many);
            continue;
        }
        if let Some(words) = &mut words {
            words.look_up(&spec.except, &on, &rules);
        }
        for (exception, unused) in spec.except.iter().zip(&mut unused) {
            let mut report = |diagnostic| findings.add(&target, diagnostic);
            *unused &= !except::take_back(&mut rules, exception, &target, &mut report);
        }
        let mut set = RuleSet::default();
        rules.iter().for_each(|(rule, _)| set.add(rule));
        granted.insert(target.name, set);
    }
    for (exception, _) in spec.except.iter().zip(unused).filter(|(_, unused)| *unused && !meta.targets.is_empty()) {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this exception has no effect: no rule grants it")
                .at(exception.origin)
                .help("write groups, resources and verbs as in the rules, or remove the exception"),
        );
    }
    if let Some(words) = words.filter(|_| !granted.is_empty()) {
        words.report(&spec.except, sink);
    }
    findings.tell(sink);
    granted
}

struct Linked {
    meta: PolicyMeta,
    role: Option<ObjectBlueprint>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, _: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        if self.role.is_some() {
            visit(OutputFileKey::Cluster, 0);
        }
    }

    fn expand(&self, target: &Target, _: &OutputFileKey, _: Contribution, units: &mut Vec<Unit>) {
        units.extend(self.role.iter().map(|role| role.fill(target, None, None)));
    }
}
