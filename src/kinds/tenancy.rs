//! `Tenancy`: one class of tenants and its account list.

mod accounts;
mod names;
mod sharing;

use crate::codes;
use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use self::names::ClassUse;
use self::sharing::LeftOut;
use super::shared::{LimitRangeSpec, NewBinding, QuotaSpec, RoleRef, StringMap, Subjects, check_targets};
use super::stance::{PodSecuritySettings, refuse_our_keys, tenant_grants};
use crate::diag::{Diagnostic, Origin, Sink, nearest};
use crate::model::{
    Account, Accounts, Contribution, Data, Enforcement, Fill, Kind, Linker, MentionedBy, Mentions, NamespaceProfile,
    ObjectBlueprint, OutputFileKey, Pattern, Patterns, PermissionSet, PodSecurityProfile, Policy, PolicyMeta,
    RawDocument, RoleObjectKind, Shared, Target, TenancyPolicy, TenantPart, Unit, UnreadAccounts, VariableScope,
    VariableType, Variables, check_patterns,
};
use crate::yaml::Spanned;

/// The policy kind `Tenancy`.
pub struct TenancyKind;

/// A list of accounts, and a class of objects for each account.
///
/// The columns of the list are declared under `variables`; `name` is required and unique. Texts of the class take
/// values from the account's row: `tool-{name}`. With `presets`, different targets get different classes.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: Tenancy
/// metadata:
///   name: tools
/// spec:
///   accounts: {file: tools.csv}
///   variables:
///     name: {type: string, pattern: "[a-z0-9]([-a-z0-9]*[a-z0-9])?", maxLength: 53}
///     uid: {type: integer, minimum: 1, unique: true}
///   class:
///     namespace: {name: "tool-{name}"}
///     grants:
///     - name: "{name}-tool-binding"
///       clusterRole: edit
///       to: {users: ["{name}"]}
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TenancySpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The list of tenants.
    pub accounts: AccountList,
    /// The columns of the account list, with the type and limits of their values.
    pub variables: Variables,
    /// The objects of each account, on every target.
    #[serde(default)]
    pub class: Option<Spanned<Class>>,
    /// The objects of each account, by target; instead of `class`.
    #[serde(default)]
    pub presets: Vec<Spanned<Preset>>,
}

/// The source of the accounts: one of the two.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AccountList {
    /// A `.csv`, `.json`, `.yaml` or `.yml` file, relative to this policy's folder.
    #[serde(default)]
    pub file: Option<Spanned<String>>,
    /// The accounts themselves, one map each.
    #[serde(default)]
    pub inline: Option<Vec<std::collections::BTreeMap<String, serde_json::Value>>>,
}

/// A class for some targets.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Preset {
    /// Its name, for reports.
    pub name: Spanned<String>,
    /// Globs of the targets with this class.
    #[schemars(length(min = 1))]
    pub targets: Vec<Spanned<String>>,
    /// The objects of each account.
    pub class: Class,
}

/// The objects of each account. Every text may use the variables of the account.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Class {
    /// The account's namespace.
    pub namespace: NamespaceSpec,
    /// ServiceAccounts in the namespace.
    #[serde(default)]
    pub service_accounts: Vec<Named>,
    /// ResourceQuotas in the namespace.
    #[serde(default)]
    pub resource_quotas: Vec<Spanned<QuotaSpec>>,
    /// LimitRanges in the namespace.
    #[serde(default)]
    pub limit_ranges: Vec<Spanned<LimitRangeSpec>>,
    /// Pod security profiles of the account's own.
    #[serde(default)]
    pub pod_security: Vec<ProfileUse>,
    /// Roles in the namespace.
    #[serde(default)]
    pub roles: Vec<RoleUse>,
    /// Bindings in the namespace.
    #[serde(default)]
    pub grants: Vec<TenantGrant>,
}

/// The account's namespace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamespaceSpec {
    /// Its name; has to differ from account to account.
    pub name: Spanned<String>,
    /// Labels of the Namespace object.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the Namespace object.
    #[serde(default)]
    pub annotations: StringMap,
}

/// An object with only a name.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Named {
    /// The name of the object.
    pub name: Spanned<String>,
}

/// A pod security profile of the account's own.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ProfileUse {
    /// The name of the emitted object; targets with admission policies have none. Tenants share one object if its
    /// profile, name and values are equal.
    pub name: Spanned<String>,
    /// The PodSecurityProfile.
    pub profile: Spanned<String>,
}

/// A role in the account's namespace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RoleUse {
    /// The role's name.
    pub name: Spanned<String>,
    /// The PermissionSet with its rules.
    pub permission_set: Spanned<String>,
}

/// A binding in the account's namespace, to one of `role`, `clusterRole` and `permissionSet`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TenantGrant {
    /// The binding's name.
    pub name: Spanned<String>,
    /// A role of this class.
    #[serde(default)]
    pub role: Option<Spanned<String>>,
    /// A ClusterRole that exists in the cluster or in a Manifests policy.
    #[serde(default)]
    pub cluster_role: Option<Spanned<String>>,
    /// A PermissionSet with the kind ClusterRole.
    #[serde(default)]
    pub permission_set: Option<Spanned<String>>,
    /// The subjects of the binding.
    pub to: Subjects,
}

impl Kind for TenancyKind {
    type Spec = TenancySpec;

    const NAME: &'static str = "Tenancy";
    const TEMPLATES: &'static [&'static str] = &[
        "tenancy/limitrange.yaml.j2",
        "tenancy/namespace.yaml.j2",
        "tenancy/podsecuritypolicy.yaml.j2",
        "tenancy/resourcequota.yaml.j2",
        "tenancy/role.yaml.j2",
        "tenancy/rolebinding.yaml.j2",
        "tenancy/securitycontextconstraints.yaml.j2",
        "tenancy/serviceaccount.yaml.j2",
    ];
    const PATTERNS: Patterns = Patterns::Own;

    fn link(
        document: &RawDocument<'_>,
        spec: TenancySpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let targets = linker.targets_of(&document.meta);
        let scope = VariableScope { accounts: Some(&spec.variables), targets: &targets, open: false };
        for key in ["class", "presets"] {
            if let Some(node) = document.spec.get(key) {
                check_patterns(node, scope, sink);
            }
        }
        let LinkedClasses { by_target: classes, used } = link_classes(document, &spec, &targets, linker, sink);
        let before = sink.len();
        let accounts = Arc::new(accounts::read(document, &spec, linker, sink));
        if sink.len() > before {
            linker.facts.push(UnreadAccounts { policy: document.meta.clone() });
        }
        for (targets_of_class, class) in used {
            let on: Vec<Target> =
                targets.iter().filter(|target| targets_of_class.contains(&target.name)).cloned().collect();
            let used = ClassUse { class, targets: &on, variables: &spec.variables, accounts: &accounts };
            names::check(&used, linker, sink);
            let meta = PolicyMeta { targets: Arc::new(targets_of_class), ..document.meta.clone() };
            let names = class.grants.iter().flat_map(|grant| grant.to.mentions(Pattern::parse_checked)).collect();
            linker.facts.push(Mentions { meta, by: MentionedBy::Grant, names, accounts: Arc::clone(&accounts) });
        }
        let left_out = Arc::new(sharing::left_out(&accounts, &classes, linker));
        Some(Box::new(Linked { meta: document.meta.clone(), accounts, classes, left_out }))
    }
}

/// The classes of a tenancy.
#[derive(Default)]
struct LinkedClasses<'s> {
    /// The class of each target by its name.
    by_target: Vec<(String, Arc<LinkedClass>)>,
    /// Each class with its targets.
    used: Vec<(BTreeSet<String>, &'s Class)>,
}

/// Links the class of each target.
fn link_classes<'s>(
    document: &RawDocument<'_>,
    spec: &'s TenancySpec,
    targets: &[Target],
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> LinkedClasses<'s> {
    let mut classes = LinkedClasses::default();
    match (&spec.class, spec.presets.is_empty()) {
        (Some(class), true) => {
            let names: BTreeSet<String> = targets.iter().map(|target| target.name.clone()).collect();
            let linked = Arc::new(ClassLinker { class, spec, targets: &names, linker, sink }.link());
            classes.by_target.extend(targets.iter().map(|target| (target.name.clone(), Arc::clone(&linked))));
            classes.used.push((names, class));
        }
        (None, false) => {
            for preset in &spec.presets {
                let names = matching_targets(preset, targets, sink);
                let class = &preset.class;
                let linked = Arc::new(ClassLinker { class, spec, targets: &names, linker, sink }.link());
                classes.used.push((names.clone(), class));
                for target in names {
                    if classes.by_target.iter().any(|(name, _)| *name == target) {
                        sink.push(
                            Diagnostic::error(codes::INVALID_VALUE, format!("the target `{target}` has two presets"))
                                .at(preset.name.origin)
                                .help("narrow the `targets` of one of them"),
                        );
                        continue;
                    }
                    classes.by_target.push((target, Arc::clone(&linked)));
                }
            }
        }
        (class, _) => {
            let what = if class.is_some() { "both `class` and `presets`" } else { "neither `class` nor `presets`" };
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, format!("this tenancy has {what}"))
                    .at(document.meta.origin)
                    .help("keep one of `class` and `presets`"),
            );
        }
    }
    classes
}

fn matching_targets(preset: &Preset, targets: &[Target], sink: &mut Sink) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for glob in &preset.targets {
        let Ok(matcher) = globset::Glob::new(glob) else {
            let message = format!("`{}` is not a glob", glob.value);
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, message)
                    .at(glob.origin)
                    .help("`*` matches any text, such as `prod-*`; close every `[` and `{`"),
            );
            continue;
        };
        let matcher = matcher.compile_matcher();
        let matched = || targets.iter().filter(|target| matcher.is_match(&target.name));
        found.extend(matched().map(|target| target.name.clone()));
        if matched().next().is_none() {
            let near = nearest(glob, targets.iter().map(|target| target.name.as_str()));
            sink.push(
                Diagnostic::error(codes::UNKNOWN_TARGET, format!("no target of this policy matches `{}`", glob.value))
                    .at(glob.origin)
                    .help(near.map_or_else(
                        || {
                            format!(
                                "its targets are: {}",
                                targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(", ")
                            )
                        },
                        |near| format!("did you mean `{near}`?"),
                    )),
            );
        }
    }
    found
}

/// A class with resolved names.
struct LinkedClass {
    namespace: ObjectBlueprint,
    inside: Vec<ObjectBlueprint>,
    /// The objects that allow the service accounts of the namespace to use its constraints.
    granted: Vec<ObjectBlueprint>,
    /// Cluster-scoped objects, one per account, with their enforcement.
    cluster: Vec<(Enforcement, ObjectBlueprint)>,
    /// The groups and users with names independent of the account, and whether they are groups.
    alike: Vec<(bool, Pattern)>,
    /// Cluster-scoped objects shared by all accounts.
    shared: Vec<(Enforcement, ObjectBlueprint)>,
}

/// A class of some targets, while its names are resolved.
struct ClassLinker<'c, 'l> {
    class: &'c Class,
    spec: &'c TenancySpec,
    targets: &'c BTreeSet<String>,
    linker: &'c mut Linker<'l>,
    sink: &'c mut Sink,
}

impl ClassLinker<'_, '_> {
    fn link(mut self) -> LinkedClass {
        let class = self.class;
        let namespace_name = self.namespace_name();
        let mut inside = self.accounts_and_limits();
        let LinkedProfiles { profile, granted, cluster, shared } = self.profiles();
        let stance = PodSecuritySettings { profile: profile.as_deref(), ..PodSecuritySettings::default() };
        let (origin, on) = (class.namespace.name.origin, self.on_targets());
        let namespace = ObjectBlueprint::new("v1", "Namespace", "tenancy/namespace.yaml.j2", namespace_name, origin)
            .with("labels", stance.labels(&class.namespace.labels, &on))
            .with("annotations", stance.annotations(&class.namespace.annotations, &on));
        inside.extend(self.roles());
        inside.extend(self.bindings());
        LinkedClass { namespace, inside, granted, cluster, alike: alike(class), shared }
    }

    /// Returns the targets with the class.
    fn on_targets(&self) -> Vec<Target> {
        self.linker.targets.iter().filter(|target| self.targets.contains(&target.name)).cloned().collect()
    }

    /// Returns the name of the namespace, which has to differ from account to account.
    fn namespace_name(&mut self) -> Pattern {
        let NamespaceSpec { name, labels, annotations } = &self.class.namespace;
        let pattern = Pattern::parse_checked(name);
        if !pattern.needs_account() {
            self.sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "every account has the same namespace")
                    .at(name.origin)
                    .help("use a variable in the name, such as `tool-{name}`"),
            );
        }
        refuse_our_keys(labels, annotations, name.origin, self.sink);
        pattern
    }

    /// Returns the ServiceAccounts, ResourceQuotas and LimitRanges.
    fn accounts_and_limits(&mut self) -> Vec<ObjectBlueprint> {
        let mut objects = Vec::new();
        for Named { name } in &self.class.service_accounts {
            let (template, pattern) = ("tenancy/serviceaccount.yaml.j2", Pattern::parse_checked(name));
            objects.push(ObjectBlueprint::new("v1", "ServiceAccount", template, pattern, name.origin));
        }
        for quota in &self.class.resource_quotas {
            check_override(quota, self.spec, self.sink);
            objects.push(quota.blueprint("tenancy/resourcequota.yaml.j2", quota.origin));
        }
        for limits in &self.class.limit_ranges {
            objects.push(limits.blueprint("tenancy/limitrange.yaml.j2", limits.origin));
        }
        objects
    }

    /// Resolves the pod security profiles.
    fn profiles(&mut self) -> LinkedProfiles {
        let mut linked = LinkedProfiles::default();
        let on = self.on_targets();
        let judging = on.iter().find(|target| target.enforcement() == Enforcement::AdmissionPolicy);
        for used in &self.class.pod_security {
            let reference = used.profile.origin;
            let found = self.linker.offers.find::<PodSecurityProfile>(&used.profile, self.sink);
            let Some(profile) = found else { continue };
            check_shared(&profile.meta, &profile.variables, self.spec, reference, self.sink);
            check_targets(&profile.meta, self.targets, reference, self.sink);
            linked.add(&used.name, profile);
            self.linker.facts.push(NamespaceProfile {
                namespace: self.class.namespace.name.origin,
                profile: profile.content.name().to_owned(),
                targets: Arc::new(self.targets.clone()),
            });
            if judging.is_some() {
                check_values(&profile.content, self.spec, reference, self.sink);
            }
            if let Some(first) = linked.profile.replace(Arc::clone(&profile.content))
                && let Some(target) = judging
            {
                self.sink.push(second_profile(&first, target, reference));
            }
        }
        linked
    }

    /// Returns the Roles.
    fn roles(&mut self) -> Vec<ObjectBlueprint> {
        let mut objects = Vec::new();
        for role in &self.class.roles {
            let origin = role.permission_set.origin;
            let found = self.linker.offers.find::<PermissionSet>(&role.permission_set, self.sink);
            let Some(set) = found else { continue };
            check_shared(&set.meta, &set.variables, self.spec, origin, self.sink);
            check_targets(&set.meta, self.targets, origin, self.sink);
            if set.content.is_aggregated() {
                let name = &role.permission_set.value;
                let message = format!("the permission set `{name}` aggregates rules, but a Role cannot");
                self.sink.push(
                    Diagnostic::error(codes::INVALID_VALUE, message)
                        .at(origin)
                        .and(set.meta.origin, "the permission set")
                        .help("bind it under `grants` as a `permissionSet`"),
                );
            }
            let template = "tenancy/role.yaml.j2";
            objects.push(set.content.role(
                RoleObjectKind::Role,
                template,
                &role.name,
                role.name.origin,
                set.meta.origin,
            ));
        }
        objects
    }

    /// Returns the RoleBindings.
    fn bindings(&mut self) -> Vec<ObjectBlueprint> {
        let mut objects = Vec::new();
        for grant in &self.class.grants {
            let Some(role) = granted_role(grant, self.class, self.targets, self.linker, self.sink) else { continue };
            let binding = NewBinding {
                kind: "RoleBinding",
                template: "tenancy/rolebinding.yaml.j2",
                name: &grant.name,
                role: &role,
                subjects: grant.to.blueprint(true),
                origin: grant.name.origin,
            };
            let asked = [&grant.role, &grant.cluster_role, &grant.permission_set].into_iter().flatten().next();
            let content = asked.map_or(grant.name.origin, |role| role.origin);
            objects.push(binding.blueprint().content_at(content));
        }
        objects
    }
}

/// The pod security profiles of a class.
#[derive(Default)]
struct LinkedProfiles {
    /// The last profile; a class for admission policies has one at most.
    profile: Option<Arc<PodSecurityProfile>>,
    granted: Vec<ObjectBlueprint>,
    cluster: Vec<(Enforcement, ObjectBlueprint)>,
    shared: Vec<(Enforcement, ObjectBlueprint)>,
}

impl LinkedProfiles {
    /// Adds the objects of a profile.
    fn add(&mut self, name: &Spanned<String>, profile: &Shared<PodSecurityProfile>) {
        let (asked, content) = (name.origin, profile.meta.origin);
        let template = "tenancy/podsecuritypolicy.yaml.j2";
        let policy = profile.content.pod_security_policy(template, name, asked, content);
        let template = "tenancy/securitycontextconstraints.yaml.j2";
        let constraints = profile.content.security_context_constraints(template, name, asked, content);
        let made = [(Enforcement::PodSecurityPolicy, policy), (Enforcement::SecurityContextConstraints, constraints)];
        match Pattern::parse_checked(name).needs_account() || profile.content.needs_account() {
            true => self.cluster.extend(made),
            // The profile makes the object of its own name.
            false if name.value == *profile.meta.name => {}
            false => self.shared.extend(made),
        }
        self.granted.extend(tenant_grants(name, asked, content));
    }
}

/// Returns the diagnostic for a second profile on a target that cannot choose between profiles.
fn second_profile(first: &PodSecurityProfile, target: &Target, asked: Origin) -> Diagnostic {
    let message = format!("a namespace has one profile, and `{}` is already set", first.name());
    Diagnostic::error(codes::INVALID_VALUE, message)
        .at(asked)
        .help("keep one profile, or write a preset for these targets: only PodSecurityPolicy chooses between profiles")
        .note(format!("the target `{}` runs Kubernetes {}", target.name, target.version))
}

/// Returns the groups and users of a class with names independent of the account.
fn alike(class: &Class) -> Vec<(bool, Pattern)> {
    let named = class.grants.iter().flat_map(|grant| {
        let groups = grant.to.groups.iter().map(|name| (true, name));
        groups.chain(grant.to.users.iter().map(|name| (false, name)))
    });
    let patterns = named.map(|(is_group, name)| (is_group, Pattern::parse_checked(name)));
    patterns.filter(|(_, name)| !name.needs_account()).collect()
}

/// Checks that every account has the values for an admission policy, and that number columns have numbers.
fn check_values(profile: &PodSecurityProfile, spec: &TenancySpec, asked: Origin, sink: &mut Sink) {
    for name in profile.variables() {
        let Some(variable) = spec.variables.get(name) else { continue };
        let is_number = profile.numbers().contains(name);
        let problem = if variable.optional {
            format!("an account can lack `{name}`, but the profile `{}` needs it", profile.name())
        } else if is_number && variable.r#type != VariableType::Integer {
            format!("`{name}` is not an integer, but the profile `{}` uses it as a number", profile.name())
        } else if matches!(variable.r#type, VariableType::Map) {
            format!("`{name}` is a map, but the profile `{}` uses it as a text", profile.name())
        } else {
            continue;
        };
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, problem)
                .at(asked)
                .help("declare it as `{type: integer, minimum: 1}`, or as a string, without `optional`"),
        );
    }
}

/// Reports variables of a used policy that this tenancy does not declare.
fn check_shared(meta: &PolicyMeta, variables: &[String], spec: &TenancySpec, asked: Origin, sink: &mut Sink) {
    for name in variables.iter().filter(|name| !spec.variables.contains_key(*name)) {
        sink.push(
            Diagnostic::error(
                codes::UNKNOWN_VARIABLE,
                format!(
                    "{} `{}` uses the variable `{name}`, but this tenancy does not declare it",
                    meta.kind, meta.name
                ),
            )
            .at(asked)
            .and(meta.origin, "the policy that uses it")
            .help(format!("declare it: `{name}: {{type: string}}` under `spec.variables`")),
        );
    }
}

fn check_override(quota: &Spanned<QuotaSpec>, spec: &TenancySpec, sink: &mut Sink) {
    let Some(name) = &quota.overrides else { return };
    let declared = spec.variables.get(name.as_str());
    let message = match declared {
        None => format!("there is no variable `{}`", name.value),
        Some(variable) if variable.r#type != VariableType::Map => {
            format!("the variable `{}` is not a map", name.value)
        }
        Some(_) => return,
    };
    sink.push(
        Diagnostic::error(codes::UNKNOWN_VARIABLE, message)
            .at(name.origin)
            .help(format!("declare it: `{}: {{type: map, optional: true}}` under `spec.variables`", name.value)),
    );
}

/// Returns the role of a grant.
fn granted_role(
    grant: &TenantGrant,
    class: &Class,
    targets: &BTreeSet<String>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Option<RoleRef> {
    if grant.to.is_empty() {
        sink.push(
            Diagnostic::error(codes::INVALID_VALUE, "this grant has no subject")
                .at(grant.name.origin)
                .help("list `users`, `groups` or `serviceAccounts` under `to`"),
        );
    }
    match (&grant.role, &grant.cluster_role, &grant.permission_set) {
        (Some(role), None, None) => {
            if !class.roles.iter().any(|known| known.name.value == role.value) {
                let near = nearest(role, class.roles.iter().map(|known| known.name.as_str()));
                sink.push(
                    Diagnostic::error(codes::UNKNOWN_REFERENCE, format!("this class has no role `{}`", role.value))
                        .at(role.origin)
                        .help(near.map_or_else(
                            || "add it to `roles`, or bind a `clusterRole`".to_owned(),
                            |near| format!("did you mean `{near}`?"),
                        )),
                );
            }
            Some(RoleRef::new("Role", role))
        }
        (None, Some(role), None) => Some(RoleRef::new("ClusterRole", role)),
        (None, None, Some(name)) => {
            let set = linker.offers.find::<PermissionSet>(name, sink)?;
            check_targets(&set.meta, targets, name.origin, sink);
            if set.content.role_kind != RoleObjectKind::ClusterRole || set.content.needs_account() {
                sink.push(
                    Diagnostic::error(
                        codes::INVALID_VALUE,
                        format!("the permission set `{}` does not produce a ClusterRole", name.value),
                    )
                    .at(name.origin)
                    .and(set.meta.origin, "the permission set")
                    .help("list it under `roles` and bind that `role`, or set `as: ClusterRole` in it"),
                );
                return None;
            }
            Some(RoleRef::new("ClusterRole", set.content.role_name()))
        }
        _ => {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "a grant must bind exactly one role")
                    .at(grant.name.origin)
                    .help("use one of `role`, `clusterRole` and `permissionSet`"),
            );
            None
        }
    }
}

/// The contribution of the shared objects; no list has this many accounts.
const SHARED: Contribution = Contribution::MAX;

struct Linked {
    meta: PolicyMeta,
    accounts: Arc<Accounts>,
    classes: Vec<(String, Arc<LinkedClass>)>,
    /// The objects made by earlier accounts.
    left_out: Arc<LeftOut>,
}

impl Linked {
    /// Whether an earlier account makes an object of the class already: the account and the object by number.
    fn is_left_out(&self, target: &Target, account: usize, object: usize) -> bool {
        self.left_out.get(&target.name).is_some_and(|left_out| left_out.contains(&(account, object)))
    }

    /// Adds the objects of an account, without the left-out objects of the class.
    fn add_objects(
        &self,
        target: &Target,
        account: Account<'_>,
        is_left_out: &dyn Fn(usize) -> bool,
        units: &mut Vec<Unit>,
    ) {
        let Some(class) = self.class(target) else { return };
        let made = class.namespace.fill(target, Some(account), None);
        let namespace = Arc::clone(&made.identity.name);
        units.push(made);
        units.extend(class.inside.iter().map(|object| object.fill(target, Some(account), Some(&namespace))));
        if target.enforcement() == Enforcement::SecurityContextConstraints {
            units.extend(class.granted.iter().map(|object| object.fill(target, Some(account), Some(&namespace))));
        }
        let cluster = class.of_each(target.enforcement()).filter(|(number, _)| !is_left_out(*number));
        units.extend(cluster.map(|(_, object)| object.fill(target, Some(account), None)));
    }

    fn class(&self, target: &Target) -> Option<&LinkedClass> {
        self.classes.iter().find(|(name, _)| *name == target.name).map(|(_, class)| &**class)
    }
}

impl LinkedClass {
    fn detached(&self) -> Self {
        let detach = |objects: &[ObjectBlueprint]| objects.iter().map(ObjectBlueprint::detached).collect();
        let detach_each = |objects: &[(Enforcement, ObjectBlueprint)]| {
            objects.iter().map(|(enforcement, object)| (*enforcement, object.detached())).collect()
        };
        Self {
            namespace: self.namespace.detached(),
            inside: detach(&self.inside),
            granted: detach(&self.granted),
            cluster: detach_each(&self.cluster),
            alike: self.alike.iter().map(|(is_group, name)| (*is_group, name.detached())).collect(),
            shared: detach_each(&self.shared),
        }
    }
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn namespaces(&self, target: &Target, visit: &mut dyn FnMut(&Arc<str>, &Data)) {
        let Some(class) = self.class(target) else { return };
        for account in self.accounts.iter() {
            let from = Fill { target, account: Some(account), namespace: None };
            visit(&class.namespace.name.fill(from), &class.namespace.fill_field("labels", from));
        }
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        let Some(class) = self.class(target) else { return };
        let has_shared = class.shared.iter().any(|(enforcement, _)| *enforcement == target.enforcement());
        if has_shared && !self.accounts.is_empty() {
            visit(OutputFileKey::Cluster, SHARED);
        }
        for (index, account) in self.accounts.iter().enumerate() {
            let from = Fill { target, account: Some(account), namespace: None };
            visit(
                OutputFileKey::Namespace(class.namespace.name.fill(from)),
                Contribution::try_from(index).unwrap_or_default(),
            );
        }
    }

    fn expand(&self, target: &Target, output_file: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        if *output_file == OutputFileKey::Cluster {
            let shared = self.class(target).map(|class| &class.shared).into_iter().flatten();
            let shared = shared.filter(|(enforcement, _)| *enforcement == target.enforcement());
            units.extend(shared.map(|(_, object)| object.fill(target, None, None)));
        } else if let Some(account) = self.accounts.get(part as usize) {
            self.add_objects(target, account, &|object| self.is_left_out(target, part as usize, object), units);
        }
    }

    fn as_tenancy(&self) -> Option<&dyn TenancyPolicy> {
        Some(self)
    }
}

impl TenancyPolicy for Linked {
    fn tenants(&self, target: &Target, visit: &mut dyn FnMut(TenantPart<'_>)) {
        let Some(class) = self.class(target) else { return };
        for (is_group, name) in class.alike.iter().filter(|(_, name)| !name.needs_namespace()) {
            visit(TenantPart::Alike { is_group: *is_group, name: &name.fill(Fill::from_target(target)) });
        }
        let mut tenant = String::new();
        for account in self.accounts.iter() {
            let Some(name) = account.get("name") else { continue };
            tenant.clear();
            name.write_text(&mut tenant);
            visit(TenantPart::Namespace { tenant: &tenant, namespace: &class.namespace.name_for(target, account) });
        }
    }

    fn account(&self, part: Contribution) -> Option<Account<'_>> {
        self.accounts.get(part as usize)
    }

    fn detached(&self) -> Box<dyn Policy> {
        let classes = self.classes.iter().map(|(target, class)| (target.clone(), Arc::new(class.detached()))).collect();
        let (accounts, left_out) = (Arc::clone(&self.accounts), Arc::clone(&self.left_out));
        Box::new(Self { meta: self.meta.clone(), accounts, classes, left_out })
    }
}
