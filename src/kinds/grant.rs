//! `Grant`: who gets which permissions, where.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::shared::{RoleRef, StringMap, Subjects, binding, check_targets};
use crate::diag::{Code, Diagnostic, Sink};
use crate::model::{
    Blueprint, Contribution, Fill, Home, Kind, Linker, ObjectBlueprint, Pattern, Patterns, Policy, PolicyMeta,
    RawDocument, RoleKind, Target, Unit,
};
use crate::yaml::Spanned;

/// The kind.
pub struct GrantKind;

/// Who gets which permission sets or existing roles, in named namespaces or in the whole cluster.
///
/// Each role gives one binding for each namespace, named after the grant and the role: a changed role is a new
/// binding, since `roleRef` cannot be changed.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: Grant
/// metadata:
///   name: app1
/// spec:
///   to:
///     serviceAccounts:
///     - name: app1
///       create: true
///   permissionSets: [viewer]
///   namespaces: [demo-namespace]
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GrantSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Who gets the permissions.
    pub to: Subjects,
    /// Permission sets of this workspace.
    #[serde(default)]
    pub permission_sets: Vec<Spanned<String>>,
    /// ClusterRoles that exist in the cluster or come in by Manifests.
    #[serde(default)]
    pub cluster_roles: Vec<Spanned<String>>,
    /// Roles that exist in each of the namespaces or come in by Manifests.
    #[serde(default)]
    pub roles: Vec<Spanned<String>>,
    /// The namespaces where the permissions hold.
    #[serde(default)]
    pub namespaces: Vec<Spanned<String>>,
    /// True when they hold in the whole cluster.
    #[serde(default)]
    pub cluster_wide: Option<Spanned<bool>>,
    /// Labels of the bindings.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the bindings.
    #[serde(default)]
    pub annotations: StringMap,
}

impl Kind for GrantKind {
    type Spec = GrantSpec;

    const NAME: &'static str = "Grant";
    const TEMPLATES: &'static [&'static str] = &[
        "grant/clusterrolebinding.yaml.j2",
        "grant/role.yaml.j2",
        "grant/rolebinding.yaml.j2",
        "grant/serviceaccount.yaml.j2",
    ];
    const PATTERNS: Patterns = Patterns::Targets;

    fn link(
        document: &RawDocument<'_>,
        spec: GrantSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let before = sink.len();
        let cluster_wide = spec.cluster_wide.is_some_and(|wide| wide.value);
        check_shape(document, &spec, cluster_wide, sink);
        let mut grant = Linked {
            meta: document.meta.clone(),
            cluster_wide,
            namespaces: Vec::new(),
            cluster: Vec::new(),
            local: Vec::new(),
            accounts: Vec::new(),
        };
        grant.namespaces = spec.namespaces.iter().map(|name| Pattern::parse_checked(name)).collect();
        for name in &spec.permission_sets {
            grant.bind_set(&spec, name, linker, sink);
        }
        for name in &spec.cluster_roles {
            grant.bind(&spec, &RoleRef::new("ClusterRole", name), name);
        }
        for name in &spec.roles {
            if cluster_wide {
                sink.push(
                    Diagnostic::error(
                        Code::InvalidValue,
                        format!("the Role `{}` cannot be bound cluster-wide", name.value),
                    )
                    .at(name.origin)
                    .help("a Role belongs to one namespace; bind a ClusterRole, or name `namespaces`"),
                );
            }
            grant.bind(&spec, &RoleRef::new("Role", name), name);
        }
        for account in spec.to.service_accounts.iter().filter(|account| account.create) {
            let object = ObjectBlueprint::new(
                "v1",
                "ServiceAccount",
                "grant/serviceaccount.yaml.j2",
                Pattern::parse_checked(&account.name),
                account.name.origin,
            );
            let namespace = account.namespace.as_ref().map(|namespace| Pattern::parse_checked(namespace));
            grant.accounts.push((namespace, object));
        }
        (sink.len() == before || !sink.has_errors()).then(|| Box::new(grant) as Box<dyn Policy>)
    }
}

fn check_shape(document: &RawDocument<'_>, spec: &GrantSpec, cluster_wide: bool, sink: &mut Sink) {
    let origin = document.meta.origin;
    if spec.to.is_empty() {
        sink.push(
            Diagnostic::error(Code::InvalidValue, "this grant names nobody")
                .at(document.spec.get("to").map_or(origin, crate::yaml::NodeRef::origin))
                .help("name `users`, `groups` or `serviceAccounts`"),
        );
    }
    if spec.permission_sets.is_empty() && spec.cluster_roles.is_empty() && spec.roles.is_empty() {
        sink.push(
            Diagnostic::error(Code::InvalidValue, "this grant gives nothing")
                .at(origin)
                .help("name `permissionSets`, `clusterRoles` or `roles`"),
        );
    }
    match (cluster_wide, spec.namespaces.is_empty()) {
        (false, true) => sink.push(
            Diagnostic::error(Code::InvalidValue, "this grant does not say where it holds")
                .at(origin)
                .help("name `namespaces`, or say `clusterWide: true`"),
        ),
        (true, false) => sink.push(
            Diagnostic::error(Code::InvalidValue, "this grant is cluster-wide and names namespaces")
                .at(spec.cluster_wide.map_or(origin, |wide| wide.origin))
                .help(
                    "keep one of `clusterWide` and `namespaces`: cluster-wide permissions hold in each of them anyway",
                ),
        ),
        _ => {}
    }
    for account in spec.to.service_accounts.iter().filter(|account| cluster_wide && account.namespace.is_none()) {
        sink.push(
            Diagnostic::error(
                Code::InvalidValue,
                format!("the service account `{}` needs its namespace", account.name.value),
            )
            .at(account.name.origin)
            .help("a cluster-wide binding has no namespace that could stand in; add `namespace:`"),
        );
    }
}

struct Linked {
    meta: PolicyMeta,
    cluster_wide: bool,
    namespaces: Vec<Pattern>,
    /// Bindings of the whole cluster.
    cluster: Vec<ObjectBlueprint>,
    /// Roles and bindings of each namespace.
    local: Vec<ObjectBlueprint>,
    /// Service accounts to create, in their own namespace or in each of the grant's.
    accounts: Vec<(Option<Pattern>, ObjectBlueprint)>,
}

impl Linked {
    fn bind_set(&mut self, spec: &GrantSpec, name: &Spanned<String>, linker: &mut Linker<'_>, sink: &mut Sink) {
        let Some(set) = linker.permission_sets.find(name, sink) else { return };
        if !check_targets(&set.meta, &self.meta.targets, name.origin, sink) {
            return;
        }
        if set.content.needs_account() {
            sink.push(
                Diagnostic::error(
                    Code::InvalidValue,
                    format!("the permission set `{}` uses account variables, and a Grant has no accounts", name.value),
                )
                .at(name.origin)
                .and(set.meta.origin, "the permission set")
                .help("use it in a Tenancy"),
            );
            return;
        }
        let escaped = set.meta.name.replace('{', "{{").replace('}', "}}");
        if set.content.role_kind == RoleKind::ClusterRole {
            self.bind(spec, &RoleRef::new("ClusterRole", &escaped), name);
            return;
        }
        if self.cluster_wide {
            sink.push(
                Diagnostic::error(
                    Code::InvalidValue,
                    format!("the permission set `{}` becomes a Role and cannot be bound cluster-wide", name.value),
                )
                .at(name.origin)
                .and(set.meta.origin, "the permission set")
                .help("say `as: ClusterRole` in the permission set, or name `namespaces` here"),
            );
            return;
        }
        let role = set.content.role(RoleKind::Role, "grant/role.yaml.j2", &escaped, name.origin, set.meta.origin);
        self.local.push(role);
        self.bind(spec, &RoleRef::new("Role", &escaped), name);
    }

    fn bind(&mut self, spec: &GrantSpec, role: &RoleRef, written: &Spanned<String>) {
        let name = format!("{}-{}", self.meta.name.replace('{', "{{").replace('}', "}}"), role.name);
        let (kind, template) = if self.cluster_wide {
            ("ClusterRoleBinding", "grant/clusterrolebinding.yaml.j2")
        } else {
            ("RoleBinding", "grant/rolebinding.yaml.j2")
        };
        let subjects = spec.to.blueprint(!self.cluster_wide);
        let object = binding(kind, template, &name, role, subjects, written.origin)
            .with("labels", Blueprint::of(&spec.labels))
            .with("annotations", Blueprint::of(&spec.annotations));
        if self.cluster_wide { self.cluster.push(object) } else { self.local.push(object) }
    }
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(Home, Contribution)) {
        if !self.cluster.is_empty() {
            visit(Home::Cluster, 0);
        }
        let mut homes: Vec<Arc<str>> =
            self.namespaces.iter().map(|namespace| namespace.fill(Fill::of(target))).collect();
        homes.extend(self.accounts.iter().filter_map(|(own, _)| own.as_ref().map(|own| own.fill(Fill::of(target)))));
        homes.sort();
        homes.dedup();
        for home in homes {
            visit(Home::Namespace(home), 0);
        }
    }

    fn expand(&self, target: &Target, home: &Home, _: Contribution, units: &mut Vec<Unit>) {
        let Home::Namespace(namespace) = home else {
            units.extend(self.cluster.iter().map(|object| object.fill(target, None, None)));
            return;
        };
        let granted = self.namespaces.iter().any(|own| own.fill(Fill::of(target)) == *namespace);
        for (own, account) in &self.accounts {
            let here = own.as_ref().map_or(granted, |own| own.fill(Fill::of(target)) == *namespace);
            if here {
                units.push(account.fill(target, None, Some(namespace)));
            }
        }
        if granted {
            units.extend(self.local.iter().map(|object| object.fill(target, None, Some(namespace))));
        }
    }
}
