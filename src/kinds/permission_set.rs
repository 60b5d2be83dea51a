//! `PermissionSet`: a named set of rules.

mod except;
mod paths;
mod resolve;
mod shape;

use crate::codes;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::findings::Findings;
use super::selector::LabelSelector;
use super::shared::{StringMap, check_targets};
use crate::diag::{Diagnostic, Origin, Sink};
use crate::k8s::rbac::PolicyRule;
use crate::k8s::rules::RuleSet;
use crate::model::{
    Blueprint, Contribution, Home, Kind, Linker, ObjectBlueprint, Patterns, PermissionSet, PermissionSetParts, Policy,
    PolicyMeta, RawDocument, RoleKind, Shared, Target, Unit,
};
use crate::yaml::Spanned;

/// The kind.
pub struct PermissionSetKind;

/// A named set of permissions: which verbs on which resources.
///
/// A set becomes a ClusterRole of its name, or a Role in each namespace where a Grant binds it. A set whose texts
/// use account variables, such as `tool-{name}-psp`, becomes a Role for each tenant of the Tenancy that uses it.
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
/// A rule says what it is about in one of four ways, and what may be done with it by `verbs` or by `access`:
///
/// - `apiGroups` and `resources`, with `resourceNames` where it is limited to some: Kubernetes' own form.
/// - `resources` alone: the groups are those in which the target's version serves the resource, all of them where
///   several share its objects, such as `events`. `earlierGroups: true` adds those that served it before, such as
///   `extensions` for `deployments`. A custom resource is known where a Manifests policy brings its definition.
/// - `paths`: API paths as the server has them. `{namespace}` and `{name}` stand for any, also in a tenant's set, where
///   `{name}-settings` has the tenant's name in it; a name written out limits the rule to it; the Grant decides in
///   which namespaces the rule holds. `deployments/status` is the subresource, with or without `{name}` between. A path
///   that is no resource, such as `/healthz`, `/metrics` or `/api/*`, is a URL.
/// - `nonResourceURLs`: URLs, in Kubernetes' own form.
///
/// `access: read` stands for `get`, `list`, `watch`, and `access: write` for those and `create`, `update`, `patch`,
/// `delete`, `deletecollection`; of these a resource is granted those that it takes, where that is known: `pods/log`
/// has nothing but `get`. For URLs they stand for `get`, and for `get`, `post`, `put`, `patch`, `delete`.
///
/// What is written comes out in one form, whatever its order: one group for each rule, resources with the same verbs
/// together, and never more than was asked for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PermissionSetSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// What the set becomes. Default: `Role`, and `ClusterRole` with an `aggregationRule`.
    #[serde(default)]
    pub r#as: Option<Spanned<RoleKind>>,
    /// Labels of the role.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the role.
    #[serde(default)]
    pub annotations: StringMap,
    /// The cluster's own roles that gather these rules, by the label `rbac.authorization.k8s.io/aggregate-to-...`; only
    /// for a ClusterRole.
    #[serde(default)]
    pub aggregate_to: Vec<Spanned<Persona>>,
    /// Other permission sets whose rules this one has too.
    #[serde(default)]
    pub include: Vec<Spanned<String>>,
    /// The rules.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub rules: Vec<Spanned<Rule>>,
    /// Verbs that the rules grant and that are taken back, such as `deletecollection` on `configmaps`.
    #[serde(default)]
    pub except: Vec<Spanned<Exception>>,
    /// Instead of rules: the cluster gathers those of the ClusterRoles selected here.
    #[serde(default)]
    pub aggregation_rule: Option<Spanned<AggregationRule>>,
}

/// A role that every cluster has for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Persona {
    /// Who may look at most things of a namespace.
    View,
    /// Who may change most things of a namespace.
    Edit,
    /// Who may also give roles in a namespace.
    Admin,
}

/// A rule: what it is about, and what may be done with it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rule {
    /// API groups; the core group is the empty string. Default: those that serve the resources.
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
    pub access: Option<Spanned<Access>>,
    /// True when groups that served the resources earlier are to be named too.
    #[serde(default)]
    pub earlier_groups: Option<Spanned<bool>>,
}

/// Verbs that go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// `get`, `list`, `watch`.
    Read,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    Write,
}

/// Verbs on resources that the rules shall not grant after all.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Exception {
    /// API groups. Default: every group that the rules name.
    #[serde(default)]
    pub api_groups: Vec<String>,
    /// Resources, spelt as in the rules.
    #[schemars(length(min = 1))]
    pub resources: Vec<String>,
    /// The verbs to take back; `*` for every one.
    #[schemars(length(min = 1))]
    pub verbs: Vec<String>,
}

/// Which ClusterRoles the cluster gathers rules from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AggregationRule {
    /// Selectors of their labels; a role that one of them fits is gathered.
    #[schemars(length(min = 1))]
    pub cluster_role_selectors: Vec<Spanned<LabelSelector>>,
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
            labels: Blueprint::of(&shape::labels(&spec)),
            annotations: Blueprint::of(&spec.annotations),
            granted,
            aggregation: spec.aggregation_rule.as_ref().map(|rule| Blueprint::of(&rule.value)),
        });
        if !can_go_on {
            return None;
        }
        let needs_account = set.needs_account();
        let role = (set.role_kind == RoleKind::ClusterRole && !needs_account).then(|| {
            let template = "permission-set/clusterrole.yaml.j2";
            let name = meta.name.replace('{', "{{").replace('}', "}}");
            set.role(RoleKind::ClusterRole, template, &name, meta.origin, meta.origin)
        });
        let variables = set.account_variables();
        linker.permission_sets.add(Shared { meta: meta.clone(), content: Arc::new(set), variables });
        Some(Box::new(Linked { meta, role }))
    }
}

impl PermissionSetSpec {
    fn role_kind(&self) -> RoleKind {
        match &self.r#as {
            Some(kind) => kind.value,
            None if self.aggregation_rule.is_some() => RoleKind::ClusterRole,
            None => RoleKind::Role,
        }
    }
}

/// The sets that are included, each with the place that asks for it.
fn included(
    meta: &PolicyMeta,
    spec: &PermissionSetSpec,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<(Arc<PermissionSet>, Origin)> {
    let mut found = Vec::new();
    for name in &spec.include {
        let Some(set) = linker.permission_sets.find(name, sink) else { continue };
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
        } else if check_targets(&set.meta, &meta.targets, name.origin, sink) {
            found.push((Arc::clone(&set.content), name.origin));
        }
    }
    found
}

/// What the set grants on each of its targets.
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
    for target in linker.targets_of(meta) {
        let Some(api) = linker.apis.get(&target.name).filter(|_| spec.aggregation_rule.is_none()) else { continue };
        let mut rules: Vec<(PolicyRule, Origin)> = Vec::new();
        for (set, origin) in included {
            let own = set.granted(&target.name).map(RuleSet::rules).unwrap_or_default();
            rules.extend(own.into_iter().map(|rule| (rule, *origin)));
        }
        for rule in &spec.rules {
            let mut report = |diagnostic| findings.add(&target, diagnostic);
            rules.extend(resolve::rule(rule, &target, api, &mut report).into_iter().map(|own| (own, rule.origin)));
        }
        if spec.role_kind() == RoleKind::Role {
            for (_, origin) in rules.iter().filter(|(rule, _)| !rule.non_resource_urls.is_empty()) {
                let diagnostic = Diagnostic::error(codes::INVALID_VALUE, "a Role cannot grant URL paths")
                    .at(*origin)
                    .help("set `as: ClusterRole`: URL paths belong to no namespace");
                findings.add(&target, diagnostic);
            }
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

    fn contributions(&self, _: &Target, visit: &mut dyn FnMut(Home, Contribution)) {
        if self.role.is_some() {
            visit(Home::Cluster, 0);
        }
    }

    fn expand(&self, target: &Target, _: &Home, _: Contribution, units: &mut Vec<Unit>) {
        units.extend(self.role.iter().map(|role| role.fill(target, None, None)));
    }
}
