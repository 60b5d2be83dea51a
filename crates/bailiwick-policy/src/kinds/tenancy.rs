//! `Tenancy`: one class of tenants and its account list.

mod accounts;
mod class;
mod linked;
mod membership;
mod names;
mod profiles;
mod scope;
mod sharing;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};
use bailiwick_yaml::{NodeRef, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

use self::class::ClassLinker;
use self::linked::{Linked, LinkedClass};
use self::names::ClassUse;
use super::objects::ObjectSpec;
use super::shared::{LimitRangeSpec, QuotaSpec, ServiceAccountSpec, StringMap, Subjects};
use super::stance::NamespacePodSecurity;
use crate::model::{
    CommonMetadataSpec, Kind, Linker, MentionedBy, Mentions, OnRemoval, Patterns, Policy, PolicyMeta, RawDocument,
    Target, TenancyGrants, UnreadAccounts, Variables,
};
use crate::source::glob;

/// The policy kind `Tenancy`.
pub struct TenancyKind;

/// A list of accounts, and a class of objects for each account.
///
/// The columns of the list are declared under `variables`; `name` is required and unique. Texts of the class take
/// values from the account's row: `tool-{name}`. With `presets`, different targets get different classes.
///
/// A variable of the type `list` has several values; in a CSV cell they are separated by `;`. In a list of texts, a text
/// with the variable stands for a text for each item: `groups: ["oidc:{groups}"]`. `{owner?}` leaves out the text of an
/// account without a value. An item of a list with an inner list that loses all its texts is left out as well, and so is
/// a binding without a subject.
///
/// `for: {stage: stages}` repeats an item for each item of a list variable. `when` is a condition in CEL over the
/// variables, such as `stage == 'prod' && target.minor >= 30`; the item is made only where the condition holds. A value
/// that the account lacks is `null`, and `account` is the row as a map.
///
/// `objects` has Kubernetes objects of any kind. A text of an object that is a variable and nothing else has the type of the variable:
/// `port: "{port}"` is a number, and `groups: "{groups}"` is a list. An object of another namespace is in the file of that namespace. In place of `object`, an item has the
/// identity of the object and a `template` of the workspace, which prints the rest from the `values` of the item; see
/// `bailiwick explain templates`.
///
/// `namespaces` gives an account several namespaces. The lists of the class hold in each of them. `accounts.targets`
/// names a column with the targets of an account.
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
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
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

/// The source of the accounts: one of `file`, `files` and `inline`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AccountList {
    /// A `.csv`, `.json`, `.yaml` or `.yml` file, relative to this policy's folder. With a variable of the target, such
    /// as `teams-{target.name}.csv`, each target has a list of its own.
    #[serde(default)]
    pub file: Option<Spanned<String>>,
    /// Globs of such files, relative to this policy's folder. Each file has a list of accounts, or one account.
    #[serde(default)]
    pub files: Vec<Spanned<String>>,
    /// The accounts themselves, one map each.
    #[serde(default)]
    pub inline: Option<Vec<BTreeMap<String, serde_json::Value>>>,
    /// A column with globs of targets: the account is only on these targets. An account without a value is on every
    /// target of the policy.
    #[serde(default)]
    pub targets: Option<Spanned<String>>,
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
    #[serde(default)]
    pub namespace: Option<NamespaceSpec>,
    /// The account's namespaces; instead of `namespace`. The lists of the class hold in each of them.
    #[serde(default)]
    pub namespaces: Vec<NamespaceSpec>,
    /// ServiceAccounts in the namespace.
    #[serde(default)]
    pub service_accounts: Vec<ServiceAccountSpec>,
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
    /// Objects of any kind.
    #[serde(default)]
    pub objects: Vec<ObjectSpec>,
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
    /// Pod Security settings of the namespace.
    #[serde(default)]
    pub pod_security: Option<NamespacePodSecurity>,
    /// ServiceAccounts in this namespace, beside the objects of the class.
    #[serde(default)]
    pub service_accounts: Vec<ServiceAccountSpec>,
    /// ResourceQuotas in this namespace, beside the objects of the class.
    #[serde(default)]
    pub resource_quotas: Vec<Spanned<QuotaSpec>>,
    /// LimitRanges in this namespace, beside the objects of the class.
    #[serde(default)]
    pub limit_ranges: Vec<Spanned<LimitRangeSpec>>,
    /// Objects of any kind for this namespace, beside the objects of the class.
    #[serde(default)]
    pub objects: Vec<ObjectSpec>,
    /// The fate of the namespace in the cluster after its removal from the policies, on targets with delivery objects.
    /// Default: the setting of `delivery` of the workspace.
    #[serde(default)]
    pub on_removal: Option<Spanned<OnRemoval>>,
    /// A loop over the elements of a list variable: `{stage: stages}`.
    #[serde(default, rename = "for")]
    pub each: Option<Spanned<BTreeMap<String, String>>>,
    /// The condition of the item, in CEL, over the variables: `tier == 'gold'`.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
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
    /// Labels of the object.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the object, beside the annotations of the profile.
    #[serde(default)]
    pub annotations: StringMap,
    /// A loop over the elements of a list variable: `{stage: stages}`. Targets with admission policies have no such loop.
    #[serde(default, rename = "for")]
    pub each: Option<Spanned<BTreeMap<String, String>>>,
    /// The condition of the profile, in CEL, over the variables: `tier == 'gold'`. On a target with admission policies, one profile at
    /// most may apply to an account.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
}

/// A role in the account's namespace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RoleUse {
    /// The role's name.
    pub name: Spanned<String>,
    /// The PermissionSet with its rules.
    pub permission_set: Spanned<String>,
    /// Labels of the object.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the object.
    #[serde(default)]
    pub annotations: StringMap,
    /// A loop over the elements of a list variable: `{stage: stages}`.
    #[serde(default, rename = "for")]
    pub each: Option<Spanned<BTreeMap<String, String>>>,
    /// The condition of the item, in CEL, over the variables: `tier == 'gold'`.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
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
    /// Other namespaces for the binding, in place of the account's own.
    #[serde(default)]
    pub namespaces: Vec<Spanned<String>>,
    /// True when the binding holds in the whole cluster.
    #[serde(default)]
    pub cluster_wide: Option<Spanned<bool>>,
    /// The owner of the grant, such as a team.
    #[serde(default)]
    pub owner: Option<Spanned<String>>,
    /// The purpose of the permissions.
    #[serde(default)]
    pub reason: Option<Spanned<String>>,
    /// The approvers of the grant, such as `ann@example.com`: one annotation, sorted as written and joined by commas.
    #[serde(default)]
    pub approved_by: Vec<Spanned<String>>,
    /// The last day of validity: `2026-12-31`, or a variable of the type `date`.
    #[serde(default)]
    pub expires: Option<Spanned<String>>,
    /// Labels of the binding.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of the binding.
    #[serde(default)]
    pub annotations: StringMap,
    /// A loop over the elements of a list variable: `{stage: stages}`.
    #[serde(default, rename = "for")]
    pub each: Option<Spanned<BTreeMap<String, String>>>,
    /// The condition of the item, in CEL, over the variables: `tier == 'gold'`.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
}

impl Kind for TenancyKind {
    type Spec = TenancySpec;

    const NAME: &'static str = "Tenancy";
    const TEMPLATES: &'static [&'static str] = &[
        "tenancy/clusterrolebinding.yaml.j2",
        "tenancy/limitrange.yaml.j2",
        "tenancy/namespace.yaml.j2",
        "tenancy/podsecuritypolicy.yaml.j2",
        "tenancy/resourcequota.yaml.j2",
        "tenancy/role.yaml.j2",
        "tenancy/rolebinding.yaml.j2",
        "tenancy/securitycontextconstraints.yaml.j2",
        "tenancy/serviceaccount.yaml.j2",
    ];
    const PATTERNS: Patterns = Patterns::Scoped;

    fn link(
        document: &RawDocument<'_>,
        spec: TenancySpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        let targets = linker.targets_of(&document.meta);
        texts::check(document, &spec.variables, &targets, sink);
        let LinkedClasses { by_target: classes, used } = link_classes(document, &spec, &targets, linker, sink);
        let before = sink.len();
        let accounts = Arc::new(accounts::read(document, &spec, &targets, linker, sink));
        if sink.len() > before {
            linker.facts.push(UnreadAccounts { policy: document.meta.clone() });
        }
        for UsedClass { targets: targets_of_class, class, linked } in used {
            let on: Vec<Target> =
                targets.iter().filter(|target| targets_of_class.contains(&target.name)).cloned().collect();
            let used = ClassUse { class, targets: &on, variables: &spec.variables, accounts: &accounts };
            names::check(&used, linker, sink);
            linked.check_conditions(&accounts, &on, sink);
            let meta = PolicyMeta { targets: Arc::new(targets_of_class), ..document.meta.clone() };
            linked.record_expiries(&accounts, &meta, linker, sink);
            linked.check_requirements(&accounts, &meta, &on, linker, sink);
            let names_of_grants = class.grants.iter().map(|grant| grant.name.value.clone()).collect();
            let (policy, all) = (meta.clone(), Arc::clone(&accounts));
            linker.facts.push(TenancyGrants { policy, names: names_of_grants, accounts: all });
            let names = linked.mentions.clone();
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
    used: Vec<UsedClass<'s>>,
}

/// A class with its targets.
struct UsedClass<'s> {
    targets: BTreeSet<String>,
    class: &'s Class,
    linked: Arc<LinkedClass>,
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
            for on in linker.offers.groups(class::references(class), &names) {
                let own = ClassLinker { class, node: document.spec.get("class"), spec, targets: &on, linker, sink };
                let linked = Arc::new(own.link(class_origin(document)));
                classes.by_target.extend(on.iter().map(|target| (target.clone(), Arc::clone(&linked))));
                classes.used.push(UsedClass { targets: on, class, linked });
            }
        }
        (None, false) => {
            let nodes = document.spec.get("presets").into_iter().flat_map(NodeRef::items);
            for (preset, node) in spec.presets.iter().zip(nodes) {
                let names = matching_targets(preset, targets, sink);
                let class = &preset.class;
                let node = node.get("class");
                let mut parts = BTreeMap::new();
                for on in linker.offers.groups(class::references(class), &names) {
                    let own = ClassLinker { class, node, spec, targets: &on, linker, sink };
                    let linked = Arc::new(own.link(preset.name.origin));
                    parts.extend(on.iter().map(|target| (target.clone(), Arc::clone(&linked))));
                    classes.used.push(UsedClass { targets: on, class, linked });
                }
                for (target, linked) in parts {
                    if classes.by_target.iter().any(|(name, _)| *name == target) {
                        sink.push(
                            Diagnostic::error(codes::INVALID_VALUE, format!("the target `{target}` has two presets"))
                                .at(preset.name.origin)
                                .help("narrow the `targets` of one of them"),
                        );
                        continue;
                    }
                    classes.by_target.push((target, linked));
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

fn class_origin(document: &RawDocument<'_>) -> Origin {
    document.spec.get("class").map_or(document.meta.origin, NodeRef::origin)
}

fn matching_targets(preset: &Preset, targets: &[Target], sink: &mut Sink) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for written in &preset.targets {
        let matcher = match glob::compile(written, false) {
            Ok(matcher) => matcher.compile_matcher(),
            Err(error) => {
                let message = format!("`{}` is not a glob: {error}", written.value);
                sink.push(
                    Diagnostic::error(codes::INVALID_VALUE, message)
                        .at(written.origin)
                        .help("`*` matches any text, such as `prod-*`; close every `[` and `{`"),
                );
                continue;
            }
        };
        let matched = || targets.iter().filter(|target| matcher.is_match(&target.name));
        found.extend(matched().map(|target| target.name.clone()));
        if matched().next().is_none() {
            let near = nearest(written, targets.iter().map(|target| target.name.as_str()));
            sink.push(
                Diagnostic::error(
                    codes::UNKNOWN_TARGET,
                    format!("no target of this policy matches `{}`", written.value),
                )
                .at(written.origin)
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
