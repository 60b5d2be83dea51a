//! `PermissionSet`: a named set of rules.

mod except;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::StringMap;
use crate::diag::{Code, Diagnostic, Sink};
use crate::model::{
    Blueprint, Contribution, Home, Kind, Linker, ObjectBlueprint, Patterns, PermissionSet, Policy, PolicyMeta,
    RawDocument, RoleKind, Shared, Target, Unit, account_variables,
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
///   - apiGroups: [""]
///     resources: [services, endpoints]
///     verbs: [get, list, watch]
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PermissionSetSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// What the set becomes. Default: `Role`.
    #[serde(default)]
    pub r#as: RoleKind,
    /// Labels of the role.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the role.
    #[serde(default)]
    pub annotations: StringMap,
    /// The rules, in Kubernetes' own form.
    #[schemars(length(min = 1))]
    pub rules: Vec<Spanned<Rule>>,
    /// Verbs that the rules grant and that are taken back, such as `deletecollection` on `configmaps`.
    #[serde(default)]
    pub except: Vec<Spanned<Exception>>,
}

/// A rule in Kubernetes' own form.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rule {
    /// API groups; the core group is the empty string.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources in the plural, subresources behind a slash: `pods`, `pods/log`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Names the rule is limited to. Default: every name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// URL paths, in a ClusterRole only: `/healthz`, `/metrics/*`.
    #[serde(default, rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// Verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or `*`.
    #[schemars(length(min = 1))]
    pub verbs: Vec<String>,
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
    /// The verbs to take back.
    #[schemars(length(min = 1))]
    pub verbs: Vec<String>,
}

impl Kind for PermissionSetKind {
    type Spec = PermissionSetSpec;

    const NAME: &'static str = "PermissionSet";
    const TEMPLATES: &'static [&'static str] = &["permission-set/clusterrole.yaml.j2", "permission-set/role.yaml.j2"];
    const PATTERNS: Patterns = Patterns::Open;

    fn link(
        document: &RawDocument<'_>,
        spec: PermissionSetSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let rules = except::take_back(&spec.rules, &spec.except, sink);
        for rule in spec.rules.iter().filter(|rule| !rule.non_resource_urls.is_empty()) {
            if spec.r#as == RoleKind::Role {
                sink.push(
                    Diagnostic::error(Code::InvalidValue, "a Role cannot grant URL paths")
                        .at(rule.origin)
                        .help("URL paths belong to no namespace; make the set a ClusterRole with `as: ClusterRole`"),
                );
            }
        }
        let set = PermissionSet::new(
            spec.r#as,
            Blueprint::of(&spec.labels),
            Blueprint::of(&spec.annotations),
            Blueprint::of(&rules),
        );
        let meta = document.meta.clone();
        let needs_account = set.needs_account();
        let role = (spec.r#as == RoleKind::ClusterRole && !needs_account).then(|| {
            let template = "permission-set/clusterrole.yaml.j2";
            let name = meta.name.replace('{', "{{").replace('}', "}}");
            set.role(RoleKind::ClusterRole, template, &name, meta.origin, meta.origin)
        });
        let variables = account_variables(document.spec);
        let shared = Shared { meta: meta.clone(), content: std::sync::Arc::new(set), variables };
        linker.permission_sets.insert(meta.name.to_string(), shared);
        Some(Box::new(Linked { meta, role }))
    }
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
