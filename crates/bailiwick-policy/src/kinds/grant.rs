//! `Grant`: permissions of subjects in namespaces or in the cluster.

mod binding_name;
mod namespace_values;
mod namespaces;
mod shape;
mod variables;

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::selector;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use self::namespace_values::{NamespaceUses, NamespaceValues, ValueReader};
use self::namespaces::GrantNamespaces;
use super::delivered::recreated_annotations;
use super::findings::Findings;
use super::requirements::{Judgement, RequiredGrant};
use super::selector::LabelSelectorSpec;
use super::shared::{NewBinding, RoleRef, StringMap, Subjects, mention, warn_of_empty};
use crate::model::{
    Blueprint, Category, CommonMetadataSpec, Contribution, Date, DependentPolicy, Expiry, Fill, Kind, Linker, Mention,
    MentionedBy, Mentions, ObjectBlueprint, Offer, OutputFileKey, Pattern, Patterns, PermissionSet, Policy, PolicyMeta,
    RawDocument, RoleObjectKind, Surroundings, Target, Unit, UnreadAccounts,
};

/// The policy kind `Grant`.
pub struct GrantKind;

/// Binds subjects to permission sets or existing roles, in some namespaces or in the whole cluster.
///
/// Each role becomes one binding per namespace, named after the grant and the role. Since `roleRef` is immutable, a
/// changed role becomes a new binding. All subjects are in one binding, sorted; a very long list continues in further
/// bindings, `NAME-2` and so on.
///
/// `bindingName` sets another name, such as the name of an existing binding. The API server refuses another `roleRef` for
/// a binding of this name: `diff` warns of it with [immutable-roleRef](../diagnostics/immutable-roleRef.md).
///
/// Namespaces are listed by name or selected by label, as with `namespaceSelector` in Kubernetes, among the namespaces
/// of NamespaceSet, Tenancy and Manifests policies. A selector is evaluated at compile time: a new namespace gets its
/// bindings with the next run.
///
/// Subjects, roles, `bindingName`, `labels`, `annotations` and the terms can take values from the namespace of the
/// binding: `{namespace.name}`, `{namespace.labels.KEY}` and `{namespace.annotations.KEY}`. The group
/// `oidc:team-{namespace.labels.team}` is `oidc:team-pay` in a namespace with the label `team: pay`. A namespace without
/// the value is the error [missing-value](../diagnostics/missing-value.md); `{namespace.labels.team?}` leaves the
/// subject or the entry out instead, and a binding without a subject is left out as a whole. The authors of these labels
/// and annotations, such as the tenants in a dump of a cluster, then decide who has access.
///
/// `owner`, `reason`, `expires` and `approvedBy` become annotations of the bindings. A grant stays in effect after its
/// expiry date; every command that compiles then prints a warning. If the workspace sets `spec.expiry.asOf`, a grant
/// that expired before that day is left out of the output, as if the policy were not there. `bailiwick expire` writes
/// the current day.
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
///   owner: team-demo
///   reason: app1 shows the services of its namespace
///   expires: "2026-12-31"
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GrantSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The subjects of the bindings.
    pub to: Subjects,
    /// Permission sets of this workspace.
    #[serde(default)]
    pub permission_sets: Vec<Spanned<String>>,
    /// ClusterRoles that exist in the cluster or in a Manifests policy.
    #[serde(default)]
    pub cluster_roles: Vec<Spanned<String>>,
    /// Roles that exist in each of the namespaces, in the cluster or in a Manifests policy.
    #[serde(default)]
    pub roles: Vec<Spanned<String>>,
    /// The namespaces of the bindings.
    #[serde(default)]
    pub namespaces: Vec<Spanned<String>>,
    /// A label selector for the namespaces of the bindings; `{}` selects all namespaces of the policies.
    #[serde(default)]
    pub namespace_selector: Option<Spanned<LabelSelectorSpec>>,
    /// True when they hold in the whole cluster.
    #[serde(default)]
    pub cluster_wide: Option<Spanned<bool>>,
    /// The name of the bindings. `{role}` is the name of the role. Default: `{policy.name}-{role}`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub binding_name: Option<Spanned<String>>,
    /// The owner of the grant, such as a team.
    #[serde(default)]
    pub owner: Option<Spanned<String>>,
    /// The purpose of the permissions.
    #[serde(default)]
    pub reason: Option<Spanned<String>>,
    /// The approvers of the grant, such as `ann@example.com`: one annotation, sorted as written and joined by commas.
    #[serde(default)]
    pub approved_by: Vec<Spanned<String>>,
    /// The last day of validity: `2026-12-31`.
    #[serde(default)]
    pub expires: Option<Spanned<String>>,
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
    const PATTERNS: Patterns = Patterns::Scoped;

    fn link(
        document: &RawDocument<'_>,
        spec: GrantSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let mut found = Sink::new();
        let cluster_wide = spec.cluster_wide.is_some_and(|wide| wide.value);
        shape::check(document, &spec, cluster_wide, &mut found);
        let targets = linker.targets_of(&document.meta);
        binding_name::check(&spec, &mut found);
        let uses = variables::check(document, &spec, &targets, &mut found);
        let mut grant = Linked {
            cluster_wide,
            binding_name: spec.binding_name.as_ref().map(|name| Pattern::parse_checked(name)),
            namespaces: GrantNamespaces::new(targets.iter().map(|target| (target.name.as_str(), named(&spec, target)))),
            selector: spec.namespace_selector.as_ref().map(|selector| {
                let each = targets.iter().map(|target| (target.clone(), selector.at(target)));
                Selector { each: each.collect(), origin: selector.origin }
            }),
            uses,
            ..Linked::empty(&document.meta)
        };
        let terms = BindingTerms {
            subjects: spec.to.blueprints(!cluster_wide, &targets),
            labels: Blueprint::from_value(&spec.labels),
            annotations: annotations(&spec, &targets),
        };
        for name in &spec.permission_sets {
            for on in linker.offers.groups([(PermissionSet::KIND, name.as_str())], &document.meta.targets) {
                grant.bind_set(&terms, name, Arc::new(on), linker, &mut found);
            }
        }
        for (kind, names) in [("ClusterRole", &spec.cluster_roles), ("Role", &spec.roles)] {
            names.iter().for_each(|name| grant.bind(&terms, &RoleRef::new(kind, name), name, None));
        }
        for account in spec.to.service_accounts.iter().filter(|account| account.create) {
            let object = account.created().blueprint("grant/serviceaccount.yaml.j2", account.name.origin);
            let namespace = account.namespace.as_ref().map(|namespace| Pattern::parse_checked(namespace));
            grant.accounts.push((namespace, object));
        }
        let expiry = spec.expires.as_ref().and_then(|day| {
            let (until, policy) = (last_day(day, &targets, &mut found)?, document.meta.clone());
            Some(Expiry { until, origin: day.origin, policy, grant: None })
        });
        if expiry.is_some_and(|expiry| linker.register_expiry(expiry)) {
            grant = Linked::empty(&document.meta);
        } else {
            grant.names = names(&spec, &targets, &mut found);
            grant.required = shape::required(document, &spec, linker).map(Box::new);
            if grant.uses.is_empty() {
                grant.record(&targets, linker, &mut found);
            }
        }
        grant.shrink();
        let can_be_used = !found.has_errors();
        sink.absorb(found);
        can_be_used.then(|| Box::new(grant) as Box<dyn Policy>)
    }
}

/// Returns the last day of a grant, with the values of its targets; none for a text of account variables, and for a text that is no
/// date.
fn last_day(day: &Spanned<String>, targets: &[Target], sink: &mut Sink) -> Option<Date> {
    let pattern = Pattern::parse_checked(day);
    if pattern.needs_account() {
        return None;
    }
    let days: BTreeSet<Arc<str>> = targets.iter().map(|target| pattern.fill(Fill::from_target(target))).collect();
    let mut dates = BTreeSet::new();
    for text in &days {
        match text.parse::<Date>() {
            Ok(date) => _ = dates.insert(date),
            Err(_) if !day.contains('{') => {}
            Err(error) => sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("`{text}` is not a date"))
                    .at(day.origin)
                    .help(error.to_string()),
            ),
        }
    }
    if dates.len() > 1 {
        let shown: Vec<String> = dates.iter().map(|date| format!("`{date}`")).collect();
        sink.push(
            Diagnostic::error(
                codes::INVALID_VALUE,
                format!("the last day differs between targets: {}", shown.join(", ")),
            )
            .at(day.origin)
            .help("write a Grant for each target"),
        );
    }
    dates.into_iter().next()
}

/// Returns the names that a grant mentions, and warns of names that can be empty.
fn names(spec: &GrantSpec, targets: &[Target], sink: &mut Sink) -> Vec<Mention> {
    let mut mentioned = spec.to.mentions(Pattern::parse_checked);
    mentioned.extend(spec.namespaces.iter().map(|name| mention(Category::Namespaces, name, Pattern::parse_checked)));
    let roles = spec.cluster_roles.iter().chain(&spec.roles);
    let names = spec.to.names().chain(&spec.namespaces).chain(roles).chain(&spec.binding_name);
    warn_of_empty(names, targets, None, sink);
    mentioned.shrink_to_fit();
    mentioned
}

/// Returns the listed namespaces on a target.
fn named(spec: &GrantSpec, target: &Target) -> BTreeSet<Arc<str>> {
    spec.namespaces.iter().map(|name| Pattern::parse_checked(name).fill(Fill::from_target(target))).collect()
}

/// Builds the annotations of the bindings. A binding whose name does not follow its role can get another role.
fn annotations(spec: &GrantSpec, targets: &[Target]) -> Blueprint {
    let own = shape::terms(spec).all_annotations();
    let is_fixed = spec.binding_name.as_ref().is_some_and(|name| !binding_name::names_role(name));
    if is_fixed { recreated_annotations(&own, targets) } else { Blueprint::from_value(&own) }
}

/// The common parts of all bindings of a grant.
struct BindingTerms {
    /// The subjects, in as many parts as there are bindings for a role.
    subjects: Vec<Blueprint>,
    labels: Blueprint,
    annotations: Blueprint,
}

/// A selector of namespaces, with the values of each target filled in.
struct Selector {
    each: Vec<(Target, selector::LabelSelector)>,
    origin: Origin,
}

struct Linked {
    meta: PolicyMeta,
    cluster_wide: bool,
    /// The pattern of the names of the bindings; none for the default.
    binding_name: Option<Pattern>,
    /// The namespaces of the bindings on each target: the listed ones, and once settled the selected ones.
    namespaces: GrantNamespaces,
    selector: Option<Selector>,
    /// Bindings of the whole cluster.
    cluster: Vec<ObjectBlueprint>,
    /// Roles and bindings of each namespace.
    local: Vec<ObjectBlueprint>,
    /// Service accounts to create, in their own namespace or in each of the grant's.
    accounts: Vec<(Option<Pattern>, ObjectBlueprint)>,
    /// The variables of the namespaces, and once settled their values.
    uses: NamespaceUses,
    values: NamespaceValues,
    /// The mentioned names, until they are registered.
    names: Vec<Mention>,
    /// The parts that decide about requirements, until they are judged.
    required: Option<Box<RequiredGrant>>,
}

impl Linked {
    /// Binds a permission set on some of the targets.
    fn bind_set(
        &mut self,
        terms: &BindingTerms,
        name: &Spanned<String>,
        on: Arc<BTreeSet<String>>,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) {
        let Some(set) = linker.offers.find::<PermissionSet>(name, &on, sink) else { return };
        let on = (*on != *self.meta.targets).then_some(on);
        if set.content.needs_account() {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    format!("the permission set `{}` uses account variables, but a Grant has no accounts", name.value),
                )
                .at(name.origin)
                .and(set.meta.origin, "the permission set")
                .help("use it in a Tenancy"),
            );
            return;
        }
        let role_name = set.content.role_name().to_owned();
        if set.content.role_kind == RoleObjectKind::ClusterRole {
            self.bind(terms, &RoleRef::new("ClusterRole", &role_name), name, on);
            return;
        }
        if self.cluster_wide {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    format!("the permission set `{}` becomes a Role and cannot be bound cluster-wide", name.value),
                )
                .at(name.origin)
                .and(set.meta.origin, "the permission set")
                .help("set `as: ClusterRole` in the permission set, or list `namespaces` here"),
            );
            return;
        }
        let role =
            set.content.role(RoleObjectKind::Role, "grant/role.yaml.j2", &role_name, name.origin, set.meta.origin);
        self.local.push(role.only_on(on.clone()));
        self.bind(terms, &RoleRef::new("Role", &role_name), name, on);
    }

    /// Adds the bindings of a role, on all targets or on some of them.
    fn bind(
        &mut self,
        terms: &BindingTerms,
        role: &RoleRef,
        written: &Spanned<String>,
        on: Option<Arc<BTreeSet<String>>>,
    ) {
        let name = binding_name::of(self.binding_name.as_ref(), &self.meta, &role.name);
        let (kind, template) = if self.cluster_wide {
            ("ClusterRoleBinding", "grant/clusterrolebinding.yaml.j2")
        } else {
            ("RoleBinding", "grant/rolebinding.yaml.j2")
        };
        for (index, subjects) in terms.subjects.iter().enumerate() {
            let name = if index == 0 { name.clone() } else { format!("{name}-{}", index + 1) };
            let binding =
                NewBinding { kind, template, name: &name, role, subjects: subjects.clone(), origin: written.origin };
            let object = binding.blueprint().with("labels", terms.labels.clone());
            let object = object.with("annotations", terms.annotations.clone()).needing("subjects");
            let object = object.only_on(on.clone());
            if self.cluster_wide { self.cluster.push(object) } else { self.local.push(object) }
        }
    }

    /// Frees the spare memory: a workspace may have a hundred thousand grants.
    fn shrink(&mut self) {
        ObjectBlueprint::shrink(&mut self.cluster);
        ObjectBlueprint::shrink(&mut self.local);
        self.accounts.shrink_to_fit();
    }

    /// Returns a grant without objects.
    fn empty(meta: &PolicyMeta) -> Self {
        Self {
            meta: meta.clone(),
            cluster_wide: false,
            binding_name: None,
            namespaces: GrantNamespaces::default(),
            selector: None,
            cluster: Vec::new(),
            local: Vec::new(),
            accounts: Vec::new(),
            uses: NamespaceUses::default(),
            values: NamespaceValues::default(),
            names: Vec::new(),
            required: None,
        }
    }

    /// Registers the mentioned names, and reports fields that the workspace requires: for the values of every namespace, or once if
    /// no text has such a value.
    fn record(&mut self, targets: &[Target], linker: &mut Linker<'_>, sink: &mut Sink) {
        let names = std::mem::take(&mut self.names);
        let accounts = Arc::clone(&self.values.rows);
        linker.facts.push(Mentions { accounts, ..Mentions::new(self.meta.clone(), MentionedBy::Grant, names) });
        let Some(grant) = self.required.take() else { return };
        let mut judgement = Judgement::default();
        for target in targets {
            for (_, row) in self.values.rows.on(&target.name) {
                judgement.judge(&grant, Fill::from_account(target, row), None, linker);
            }
            if self.uses.is_empty() {
                judgement.judge(&grant, Fill::from_target(target), None, linker);
            }
        }
        judgement.finish(&self.meta, linker, sink);
    }

    /// Adds the namespaces that the selector selects on each target.
    fn select(&mut self, surroundings: &Surroundings<'_, '_>, sink: &mut Sink) {
        let Some(selector) = &self.selector else { return };
        let mut findings = Findings::new(self.meta.targets.len());
        let mut selected = Vec::new();
        for (target, labels) in &selector.each {
            let fitting = || {
                let known = surroundings.namespaces.on(&target.name).iter();
                known.filter(|namespace| labels.matches(|key| namespace.labels.get(key).map(|value| &**value)))
            };
            // The selector may fit the namespaces of accounts that could not be read.
            if fitting().next().is_none() && !surroundings.linker.facts.has::<UnreadAccounts>() {
                let message = "this selector selects no namespace";
                let help = "set the labels in a NamespaceSet, Tenancy or Manifests policy, or list `namespaces`";
                let warning = Diagnostic::warning(codes::SELECTS_NO_NAMESPACE, message).at(selector.origin).help(help);
                findings.add(target, warning);
            }
            let listed = self.namespaces.on(&target.name).iter().cloned();
            let names = listed.chain(fitting().map(|namespace| Arc::clone(&namespace.name)));
            selected.push((target.name.as_str(), names.collect()));
        }
        self.namespaces = GrantNamespaces::new(selected);
        findings.tell(sink);
    }

    /// Returns the values for the objects in a namespace.
    fn values_in<'v>(&'v self, target: &'v Target, namespace: &'v Arc<str>) -> Fill<'v> {
        let row = self.values.of(target, namespace);
        Fill { account: row, ..Fill::from_target(target) }.in_namespace(namespace)
    }
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        if !self.cluster.is_empty() {
            visit(OutputFileKey::Cluster, 0);
        }
        let namespaces = self.namespaces.on(&target.name);
        let of_accounts =
            self.accounts.iter().filter_map(|(own, _)| Some(own.as_ref()?.fill(Fill::from_target(target))));
        let further: BTreeSet<Arc<str>> = of_accounts.filter(|own| namespaces.binary_search(own).is_err()).collect();
        for output_file in namespaces.iter().cloned().chain(further) {
            visit(OutputFileKey::Namespace(output_file), 0);
        }
    }

    fn expand(&self, target: &Target, output_file: &OutputFileKey, _: Contribution, units: &mut Vec<Unit>) {
        let OutputFileKey::Namespace(namespace) = output_file else {
            units.extend(self.cluster.iter().filter_map(|object| object.fill_existing(Fill::from_target(target))));
            return;
        };
        let granted = self.namespaces.has(&target.name, namespace);
        let from = self.values_in(target, namespace);
        // The values are of the namespace: the objects have no account.
        let fill = |object: &ObjectBlueprint| Some(Unit { account: None, ..object.fill_existing(from)? });
        for (own, account) in &self.accounts {
            let here = own.as_ref().map_or(granted, |own| own.fill(Fill::from_target(target)) == *namespace);
            if here {
                units.extend(fill(account));
            }
        }
        if granted {
            units.extend(self.local.iter().filter_map(fill));
        }
    }
    fn as_dependent(&mut self) -> Option<&mut dyn DependentPolicy> {
        Some(self)
    }
}

impl DependentPolicy for Linked {
    fn needs_namespaces(&self) -> bool {
        self.selector.is_some() || !self.uses.is_empty()
    }

    fn needs_annotations(&self) -> bool {
        self.uses.has_annotations()
    }

    fn settle(&mut self, surroundings: &mut Surroundings<'_, '_>, sink: &mut Sink) {
        self.select(surroundings, sink);
        if self.uses.is_empty() {
            return;
        }
        let Surroundings { namespaces: known, linker } = surroundings;
        let targets = linker.targets_of(&self.meta);
        let lacks_namespaces = linker.facts.has::<UnreadAccounts>();
        let reader = ValueReader { uses: &self.uses, known, lacks_namespaces };
        self.values = reader.read(&self.namespaces, &targets, sink);
        self.record(&targets, linker, sink);
    }
}
