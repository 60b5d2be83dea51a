//! The link of a class: its references are resolved, and its objects become blueprints.

use std::collections::BTreeSet;
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};
use bailiwick_yaml::{NodeRef, Spanned};

use super::linked::{ClassItem, ExpiringGrant, ItemExpiry, ItemPlace, LinkedClass, LinkedNamespace};
use super::profiles::LinkedProfiles;
use super::scope::{ItemScope, Repeated};
use super::{Class, NamespaceSpec, RoleUse, TenancySpec, TenantGrant};
use crate::kinds::account_profiles::{AccountProfile, ProfiledNamespace};
use crate::kinds::delivered::{Removal, recreated};
use crate::kinds::objects::{self, LinkedObject, ObjectPlace, ObjectSpec};
use crate::kinds::requirements::{RequiredGrant, names_of_set};
use crate::kinds::shared::{
    LimitRangeSpec, NewBinding, QuotaSpec, RoleRef, ServiceAccountSpec, Terms, mention, refuse_content,
    refuse_own_name, with_metadata,
};
use crate::kinds::stance::{PodSecuritySettings, refuse_our_keys};
use crate::model::{
    Category, Linker, Mention, NAMESPACE_NAME, ObjectBlueprint, Offer, Pattern, PermissionSet, PodSecurityProfile,
    PolicyMeta, Repetition, RoleObjectKind, SelectingKey, Target, TenancyGrant, VariableType, declared,
};

/// A class of some targets, while its names are resolved.
pub(super) struct ClassLinker<'c, 'l> {
    pub(super) class: &'c Class,
    /// The class as it is written.
    pub(super) node: Option<NodeRef<'c>>,
    pub(super) spec: &'c TenancySpec,
    pub(super) targets: &'c BTreeSet<String>,
    pub(super) linker: &'c mut Linker<'l>,
    pub(super) sink: &'c mut Sink,
}

/// Returns the policies that a class uses, by kind and name.
pub(super) fn references(class: &Class) -> impl Iterator<Item = (&'static str, &str)> {
    let settings = namespaces_of(class).filter_map(|namespace| namespace.pod_security.as_ref());
    let of_namespaces = settings
        .flat_map(|settings| settings.profile.iter().chain(settings.service_accounts.iter().map(|one| &one.profile)));
    let profiles = class.pod_security.iter().map(|used| &used.profile).chain(of_namespaces);
    let sets = class.roles.iter().map(|role| &role.permission_set);
    let sets = sets.chain(class.grants.iter().filter_map(|grant| grant.permission_set.as_ref()));
    let profiles = profiles.map(|name| (PodSecurityProfile::KIND, name.as_str()));
    profiles.chain(sets.map(|name| (PermissionSet::KIND, name.as_str())))
}

/// Returns the namespaces of a class.
pub(super) fn namespaces_of(class: &Class) -> impl Iterator<Item = &NamespaceSpec> {
    class.namespace.iter().chain(&class.namespaces)
}

impl ClassLinker<'_, '_> {
    pub(super) fn link(mut self, origin: Origin) -> LinkedClass {
        let class = self.class;
        self.check_form(origin);
        let profiles = self.profiles();
        let own = ItemScope::new(&self.spec.variables);
        let scopes: Vec<ItemScope> = namespaces_of(class)
            .map(|namespace| own.of_item(Repeated::of(namespace), &self.on_targets(), self.sink))
            .collect();
        let mut namespaces = Vec::new();
        let mut outside = Vec::new();
        let node = self.node;
        let list = node.and_then(|node| node.get("namespaces")).into_iter().flat_map(NodeRef::items);
        let nodes = node.and_then(|node| node.get("namespace")).into_iter().chain(list);
        for ((namespace, scope), node) in namespaces_of(class).zip(&scopes).zip(nodes) {
            let mut linked = self.namespace(namespace, scope, &profiles);
            for item in self.objects(&namespace.objects, node, scope) {
                if matches!(item.place, ItemPlace::Own) { linked.inside.push(item) } else { linked.outside.push(item) }
            }
            namespaces.push(linked);
        }
        let common = own.common(&scopes);
        let mut inside = self.bodies(&class.service_accounts, &class.resource_quotas, &class.limit_ranges, &common);
        inside.extend(self.roles(&common));
        let mut items = self.bindings(&common);
        if let Some(node) = node {
            items.extend(self.objects(&class.objects, node, &common));
        }
        let mentions = self.mentions(&scopes, &common);
        for item in items {
            if matches!(item.place, ItemPlace::Own) { inside.push(item) } else { outside.push(item) }
        }
        LinkedClass {
            namespaces,
            has_one_file: class.namespace.is_some(),
            inside,
            outside,
            profiles: profiles.objects,
            alike: alike(class),
            mentions,
            expiries: class.grants.iter().filter_map(expiring).collect(),
        }
    }

    /// Checks that the class has either one namespace or a list of namespaces.
    fn check_form(&mut self, origin: Origin) {
        let class = self.class;
        let problem = match (&class.namespace, class.namespaces.is_empty()) {
            (Some(_), false) => "both `namespace` and `namespaces`",
            (None, true) => "neither `namespace` nor `namespaces`",
            _ => "",
        };
        if !problem.is_empty() {
            let message = format!("this class has {problem}");
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(origin);
            self.sink.push(diagnostic.help("use `namespace` for one namespace, `namespaces` for several"));
        }
        if let Some(namespace) = &class.namespace {
            let each = namespace.each.as_ref().map(|each| each.origin);
            for origin in each.into_iter().chain(namespace.when.as_ref().map(|when| when.origin)) {
                let message = "`namespace` is the one namespace of each account";
                let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(origin);
                self.sink.push(diagnostic.help("write it as an item of `namespaces`"));
            }
        }
    }

    /// Returns the targets with the class.
    pub(super) fn on_targets(&self) -> Vec<Target> {
        self.linker.targets.iter().filter(|target| self.targets.contains(&target.name)).cloned().collect()
    }

    /// Links a namespace, with the objects of its own.
    fn namespace(&mut self, spec: &NamespaceSpec, scope: &ItemScope, profiles: &LinkedProfiles) -> LinkedNamespace {
        let named = self.named_profile(spec);
        let profile = named.as_ref().map(|named| &*named.profile).or(profiles.profile.as_deref());
        let name = self.namespace_name(spec, scope);
        let (origin, on) = (spec.name.origin, self.on_targets());
        let written = spec.pod_security.as_ref();
        written.into_iter().for_each(|written| written.check(self.sink));
        let accounts = self.account_profiles(spec, profile);
        let stance = PodSecuritySettings::of(written, profile, &accounts);
        let removal = Removal { setting: spec.on_removal.as_ref(), targets: &on };
        removal.check(&spec.annotations, origin, self.sink);
        let make = |stance: PodSecuritySettings<'_>| {
            let mut object = ObjectBlueprint::new("v1", "Namespace", "tenancy/namespace.yaml.j2", name.clone(), origin)
                .with("labels", stance.labels(&spec.labels, &on))
                .with("annotations", stance.annotations(&spec.annotations, removal));
            object.without_levels = stance.without_levels;
            object.spreading(&scope.lists())
        };
        let conditional = profiles.conditional.iter();
        let with_profile = |profile| make(PodSecuritySettings { profile: Some(profile), ..stance });
        let by_profile = conditional.map(|(when, profile)| (when.clone(), with_profile(profile))).collect();
        let own_profiles = written.and_then(|written| written.service_accounts.first());
        if let (Some(first), false) = (own_profiles, profiles.conditional.is_empty()) {
            let message = "these profiles of service accounts need one profile of the namespace, and `class.podSecurity` has conditions";
            let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(first.profile.origin);
            self.sink
                .push(diagnostic.help("write a preset for the targets with these accounts, or remove the conditions"));
        }
        let object = make(stance);
        let inside = self.bodies(&spec.service_accounts, &spec.resource_quotas, &spec.limit_ranges, scope);
        let repetition = scope.repetition.clone();
        let own_grants = named.as_ref().map_or_else(Vec::new, |named| named.grants.clone());
        let granted = own_grants.into_iter().chain(accounts.iter().flat_map(AccountProfile::grants)).collect();
        LinkedNamespace { object, by_profile, repetition, inside, outside: Vec::new(), granted }
    }

    /// Resolves the profiles of single service accounts of a namespace.
    fn account_profiles(&mut self, spec: &NamespaceSpec, profile: Option<&PodSecurityProfile>) -> Vec<AccountProfile> {
        let Some(written) = &spec.pod_security else { return Vec::new() };
        let profile = profile.map(PodSecurityProfile::name);
        let namespace = ProfiledNamespace { origin: spec.name.origin, profile, targets: self.targets };
        AccountProfile::link(&written.service_accounts, namespace, self.linker, self.sink)
    }

    /// Returns the objects of any kind of a list, in the class or in a namespace.
    fn objects(&mut self, specs: &[ObjectSpec], parent: NodeRef<'_>, scope: &ItemScope) -> Vec<ClassItem> {
        let on = self.on_targets();
        let nodes = parent.get("objects").into_iter().flat_map(NodeRef::items);
        let mut items = Vec::new();
        for (spec, node) in specs.iter().zip(nodes) {
            let linked = objects::link(spec, node, &on, self.linker, self.sink);
            let Some(LinkedObject { object, place }) = linked else { continue };
            let item = self.item(object, Repeated::of(spec), scope);
            items.push(match place {
                ObjectPlace::Own => item,
                ObjectPlace::In(name, _) => item.at(ItemPlace::In(name), scope),
                ObjectPlace::Cluster => item.at(ItemPlace::Cluster, scope),
            });
        }
        items
    }

    /// Returns the name of a namespace, which has to differ from account to account.
    fn namespace_name(&mut self, spec: &NamespaceSpec, scope: &ItemScope) -> Pattern {
        let NamespaceSpec { name, labels, annotations, .. } = spec;
        let pattern = Pattern::parse_checked(name);
        refuse_own_name(name, "use a column of the accounts, such as `{name}`", self.sink);
        let names_account = pattern.account_variables().any(|variable| !scope.is_loop(&variable));
        if !names_account {
            self.sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "every account has the same namespace")
                    .at(name.origin)
                    .help("use a variable in the name, such as `tool-{name}`"),
            );
        }
        refuse_our_keys(labels, annotations, name.origin, self.sink);
        pattern
    }

    /// Returns the ServiceAccounts, ResourceQuotas and LimitRanges of some lists.
    fn bodies(
        &mut self,
        accounts: &[ServiceAccountSpec],
        quotas: &[Spanned<QuotaSpec>],
        limit_ranges: &[Spanned<LimitRangeSpec>],
        scope: &ItemScope,
    ) -> Vec<ClassItem> {
        let mut items = Vec::new();
        for account in accounts {
            let object = account.blueprint("tenancy/serviceaccount.yaml.j2", account.name.origin);
            items.push(self.item(object, Repeated::of(account), scope));
            refuse_our_keys(&account.labels, &account.annotations, account.name.origin, self.sink);
        }
        for quota in quotas {
            check_override(quota, self.spec, self.sink);
            let object = quota.blueprint("tenancy/resourcequota.yaml.j2", quota.origin);
            items.push(self.item(object, Repeated::of(&quota.value), scope));
            refuse_our_keys(&quota.labels, &quota.annotations, quota.name.origin, self.sink);
        }
        for limits in limit_ranges {
            let object = limits.blueprint("tenancy/limitrange.yaml.j2", limits.origin);
            items.push(self.item(object, Repeated::of(&limits.value), scope));
            refuse_our_keys(&limits.labels, &limits.annotations, limits.name.origin, self.sink);
        }
        items
    }

    /// Returns an item in the account's namespace.
    fn item(&mut self, object: ObjectBlueprint, repeated: Repeated<'_>, scope: &ItemScope) -> ClassItem {
        let own = scope.of_item(repeated, &self.on_targets(), self.sink);
        let object = object.spreading(&own.lists());
        let (repetition, place) = (own.repetition, ItemPlace::Own);
        ClassItem { object, repetition, place, is_of_namespace: false, expiry: None, required: None }
    }

    /// Returns the Roles.
    fn roles(&mut self, scope: &ItemScope) -> Vec<ClassItem> {
        let mut items = Vec::new();
        for role in &self.class.roles {
            let origin = role.permission_set.origin;
            let found = self.linker.offers.find::<PermissionSet>(&role.permission_set, self.targets, self.sink);
            let Some(set) = found else { continue };
            check_shared(&set.meta, &set.variables, self.spec, origin, self.sink);
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
            let object =
                set.content.role(RoleObjectKind::Role, template, &role.name, role.name.origin, set.meta.origin);
            let object = with_metadata(object, &role.labels, &role.annotations);
            refuse_our_keys(&role.labels, &role.annotations, role.name.origin, self.sink);
            items.push(self.item(object, Repeated::of(role), scope));
        }
        items
    }

    /// Returns the bindings.
    fn bindings(&mut self, scope: &ItemScope) -> Vec<ClassItem> {
        let mut items = Vec::new();
        for grant in &self.class.grants {
            let Some(role) = granted_role(grant, self.class, self.targets, self.linker, self.sink) else { continue };
            let is_wide = grant.cluster_wide.is_some_and(|wide| wide.value);
            check_place(grant, is_wide, self.sink);
            let terms = Terms {
                owner: grant.owner.as_ref(),
                reason: grant.reason.as_ref(),
                expires: grant.expires.as_ref(),
                approved_by: &grant.approved_by,
                annotations: &grant.annotations,
            };
            terms.check(self.sink);
            refuse_our_keys(&grant.labels, &grant.annotations, grant.name.origin, self.sink);
            let (kind, template) = match is_wide {
                true => ("ClusterRoleBinding", "tenancy/clusterrolebinding.yaml.j2"),
                false => ("RoleBinding", "tenancy/rolebinding.yaml.j2"),
            };
            let binding = NewBinding {
                kind,
                template,
                name: &grant.name,
                role: &role,
                subjects: grant.to.blueprint(!is_wide),
                origin: grant.name.origin,
            };
            let asked = [&grant.role, &grant.cluster_role, &grant.permission_set].into_iter().flatten().next();
            let content = asked.map_or(grant.name.origin, |role| role.origin);
            let annotations = terms.all_annotations();
            let object = with_metadata(binding.blueprint(), &grant.labels, &annotations);
            let object = recreated(object, &annotations, &self.on_targets());
            let object = object.content_at(content).needing("subjects");
            let until = grant.expires.as_ref().map(|day| Pattern::parse_checked(day));
            let expiry = until.map(|until| ItemExpiry { until, settings: self.linker.expiry });
            let required = self.required(grant, terms, is_wide);
            let item = ClassItem { expiry, required, ..self.item(object, Repeated::of(grant), scope) };
            let places: Vec<ItemPlace> = match is_wide {
                true => vec![ItemPlace::Cluster],
                false => grant.namespaces.iter().map(|name| ItemPlace::In(Pattern::parse_checked(name))).collect(),
            };
            if places.is_empty() {
                items.push(item);
                continue;
            }
            items.extend(places.into_iter().map(|place| item.clone().at(place, scope)));
        }
        items
    }

    /// Returns a grant with the parts that decide about requirements; none without requirements.
    fn required(&mut self, grant: &TenantGrant, terms: Terms<'_>, is_wide: bool) -> Option<Arc<RequiredGrant>> {
        if self.linker.requirements.is_empty() {
            return None;
        }
        let mut parts = terms.of_grant(&grant.to, is_wide);
        for (key, name) in [(SelectingKey::ClusterRoles, &grant.cluster_role), (SelectingKey::Roles, &grant.role)] {
            parts.names.extend(name.iter().map(|name| (key, Pattern::parse_checked(name))));
        }
        let own = |role: &&RoleUse| grant.role.as_ref().is_some_and(|name| name.value == role.name.value);
        let own = self.class.roles.iter().filter(own).map(|role| &role.permission_set);
        for set in own.chain(&grant.permission_set) {
            parts.names.extend(names_of_set(set, self.linker));
        }
        let named = TenancyGrant { name: grant.name.value.clone(), account: None };
        Some(Arc::new(RequiredGrant { grant: Some(named), origin: grant.name.origin, terms: parts }))
    }

    /// Returns the names in grants.
    fn mentions(&mut self, namespaces: &[ItemScope], common: &ItemScope) -> Vec<Mention> {
        let mut found = Vec::new();
        for grant in &self.class.grants {
            let own = common.of_item(Repeated::of(grant), &self.on_targets(), &mut Sink::new());
            let elsewhere = grant.namespaces.iter();
            let elsewhere = elsewhere.map(|name| mention(Category::Namespaces, name, Pattern::parse_checked));
            for own_mention in grant.to.mentions(Pattern::parse_checked).into_iter().chain(elsewhere) {
                let variables: BTreeSet<String> = own_mention.text.account_variables().collect();
                if variables.contains(NAMESPACE_NAME) {
                    continue;
                }
                let uses = |scope: &&ItemScope| scope.loops().any(|name| variables.contains(name));
                let around: Vec<&Repetition> = namespaces.iter().filter(uses).map(|scope| &scope.repetition).collect();
                let repeated = |outer: Option<&Repetition>| {
                    let all = outer.into_iter().chain([&own.repetition]);
                    all.filter(|one| !one.is_once()).cloned().collect::<Vec<_>>()
                };
                if around.is_empty() {
                    found.push(Mention { repeated: repeated(None), ..own_mention });
                    continue;
                }
                let each = around.into_iter();
                found.extend(each.map(|outer| Mention { repeated: repeated(Some(outer)), ..own_mention.clone() }));
            }
        }
        found
    }
}

impl ClassItem {
    /// Puts an item outside the account's namespaces.
    fn at(self, place: ItemPlace, scope: &ItemScope) -> Self {
        let mut used = BTreeSet::new();
        used.extend(self.object.name.account_variables());
        self.object.fields.iter().for_each(|(_, value)| value.account_variables(&mut used));
        if let ItemPlace::In(name) = &place {
            used.extend(name.account_variables());
        }
        let is_of_namespace = used.contains(NAMESPACE_NAME) || scope.loops().any(|name| used.contains(name));
        Self { place, is_of_namespace, ..self }
    }
}

/// Returns a grant with a last day.
fn expiring(grant: &TenantGrant) -> Option<ExpiringGrant> {
    Some(ExpiringGrant { name: grant.name.value.clone(), until: grant.expires.clone()? })
}

/// Checks the place of a binding.
fn check_place(grant: &TenantGrant, is_wide: bool, sink: &mut Sink) {
    let mut refuse = |message: String, origin: Origin, help: &str| {
        sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(origin).help(help));
    };
    if let Some(wide) = grant.cluster_wide.filter(|_| is_wide && !grant.namespaces.is_empty()) {
        let message = "this grant is cluster-wide and lists namespaces".to_owned();
        refuse(message, wide.origin, "remove `clusterWide` or `namespaces`");
    }
    let is_elsewhere = is_wide || !grant.namespaces.is_empty();
    if let Some(role) = grant.role.as_ref().filter(|_| is_elsewhere) {
        let message = format!("the role `{}` is a Role of the account's namespace alone", role.value);
        refuse(message, role.origin, "bind a `clusterRole` or a `permissionSet`, or remove the other place");
    }
    for account in grant.to.service_accounts.iter().filter(|account| is_elsewhere && account.namespace.is_none()) {
        let message = format!("the service account `{}` needs its namespace", account.name.value);
        refuse(message, account.name.origin, "add `namespace: \"{namespace.name}\"` for the account's own");
    }
    refuse_content(grant.to.service_accounts.iter(), "list the account under `serviceAccounts` of the class", sink);
}

/// Returns the groups and users of a class with names independent of the account, in the namespace of every account.
fn alike(class: &Class) -> Vec<(bool, Pattern)> {
    let is_for_all = |grant: &&TenantGrant| grant.each.is_none() && grant.when.is_none() && grant.namespaces.is_empty();
    let named = class.grants.iter().filter(is_for_all).flat_map(|grant| {
        let groups = grant.to.groups.iter().map(|name| (true, name));
        groups.chain(grant.to.users.iter().map(|name| (false, name)))
    });
    let patterns = named.map(|(is_group, name)| (is_group, Pattern::parse_checked(name)));
    patterns.filter(|(_, name)| !name.needs_account()).collect()
}

/// Reports variables of a used policy that this tenancy does not declare.
pub(super) fn check_shared(
    meta: &PolicyMeta,
    variables: &[String],
    spec: &TenancySpec,
    asked: Origin,
    sink: &mut Sink,
) {
    for name in variables.iter().filter(|name| declared(&spec.variables, name).is_none()) {
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
            let set = linker.offers.find::<PermissionSet>(name, targets, sink)?;
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
