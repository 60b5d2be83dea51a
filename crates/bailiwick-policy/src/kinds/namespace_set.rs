//! `NamespaceSet`: namespaces with their labels, annotations, quota and limits.

mod bodies;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_yaml::diag::Sink;
use bailiwick_yaml::{NodeRef, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

use super::account_profiles::{AccountProfile, ProfiledNamespace};
use super::delivered::Removal;
use super::objects::ObjectSpec;
use super::shared::{
    LimitItem, LimitRangeSpec, QuantityValue, QuotaSpec, ServiceAccountSpec, StringMap, refuse_own_name, warn_of_empty,
};
use super::stance::{NamedProfile, NamespacePodSecurity, PodSecuritySettings, refuse_our_keys};
use crate::model::{
    BoundValue, CommonMetadataSpec, Contribution, Data, Enforcement, Fill, Kind, Linker, NAMESPACE_NAME,
    NamespaceProfile, ObjectBlueprint, Offer, OnRemoval, OutputFileKey, Pattern, Patterns, PodSecurityProfile, Policy,
    PolicyMeta, PolicyNamespace, ProfileAccounts, RawDocument, Target, Unit, targets_of_item,
};

/// The policy kind `NamespaceSet`.
pub struct NamespaceSetKind;

/// Namespaces with common labels, annotations, ResourceQuota, LimitRange and Pod Security settings.
///
/// A namespace can change the ResourceQuota and the LimitRange of the set, and have further quotas, limits and service accounts.
/// `objects` has Kubernetes objects of any kind, as they are written (`object`) or by a `template` of the workspace.
///
/// `when` limits a namespace to some targets. Texts of a namespace, and texts of the set for its namespaces, can contain
/// the name of the namespace: `{namespace.name}`.
///
/// On OpenShift a namespace also gets the Pod Security labels that the label synchronization of the cluster would set.
///
/// ```yaml
/// apiVersion: bailiwick.dev/v1alpha1
/// kind: NamespaceSet
/// metadata:
///   name: teams
/// spec:
///   labels: {tenancy: team}
///   podSecurity: {level: restricted}
///   namespaces:
///   - name: team-a
///   - name: team-b
///     labels: {cost-centre: "17"}
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamespaceSetSpec {
    /// Globs of the targets the policy applies to. Default: all of them.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Labels and annotations of every object of the policy.
    #[serde(default)]
    pub common_metadata: CommonMetadataSpec,
    /// The members of the set.
    #[schemars(length(min = 1))]
    pub namespaces: Vec<NamespaceItem>,
    /// Labels of each of them.
    #[serde(default)]
    pub labels: StringMap,
    /// Annotations of each of them.
    #[serde(default)]
    pub annotations: StringMap,
    /// A ResourceQuota in each of them.
    #[serde(default)]
    pub resource_quota: Option<Spanned<QuotaSpec>>,
    /// A LimitRange in each of them.
    #[serde(default)]
    pub limit_range: Option<Spanned<LimitRangeSpec>>,
    /// ServiceAccounts in each of them.
    #[serde(default)]
    pub service_accounts: Vec<ServiceAccountSpec>,
    /// ResourceQuotas in each of them.
    #[serde(default)]
    pub resource_quotas: Vec<Spanned<QuotaSpec>>,
    /// LimitRanges in each of them.
    #[serde(default)]
    pub limit_ranges: Vec<Spanned<LimitRangeSpec>>,
    /// Objects of any kind in each of them.
    #[serde(default)]
    pub objects: Vec<ObjectSpec>,
    /// Pod Security settings of every namespace.
    #[serde(default)]
    pub pod_security: Option<NamespacePodSecurity>,
    /// The fate of the namespaces in the cluster after their removal from the policies, on targets with delivery objects.
    /// Default: the setting of `delivery` of the workspace.
    #[serde(default)]
    pub on_removal: Option<Spanned<OnRemoval>>,
}

/// A namespace of the set.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamespaceItem {
    /// The name of the Namespace object.
    pub name: Spanned<String>,
    /// A CEL condition for the targets of the namespace, such as `target.minor >= 30`. Default: all targets of the set.
    #[serde(default)]
    pub when: Option<Spanned<String>>,
    /// Further labels; they override the labels of the set.
    #[serde(default)]
    pub labels: StringMap,
    /// Further annotations; they override the annotations of the set.
    #[serde(default)]
    pub annotations: StringMap,
    /// Pod Security settings; each field overrides the field of the set.
    #[serde(default)]
    pub pod_security: Option<Box<NamespacePodSecurity>>,
    /// A change of the ResourceQuota of the set in this namespace: entries of `hard` override entries of the set.
    #[serde(default)]
    pub resource_quota: Option<Box<Spanned<QuotaOverride>>>,
    /// A change of the LimitRange of the set in this namespace: `limits` override limits of the same type.
    #[serde(default)]
    pub limit_range: Option<Box<Spanned<LimitRangeOverride>>>,
    /// ServiceAccounts in this namespace, beside the objects of the set.
    #[serde(default)]
    pub service_accounts: Vec<ServiceAccountSpec>,
    /// ResourceQuotas in this namespace, beside the objects of the set.
    #[serde(default)]
    pub resource_quotas: Vec<Spanned<QuotaSpec>>,
    /// LimitRanges in this namespace, beside the objects of the set.
    #[serde(default)]
    pub limit_ranges: Vec<Spanned<LimitRangeSpec>>,
    /// Objects of any kind in this namespace, beside the objects of the set.
    #[serde(default)]
    pub objects: Vec<ObjectSpec>,
    /// The fate of the namespace in the cluster after its removal from the policies. Default: the setting of the set.
    #[serde(default)]
    pub on_removal: Option<Spanned<OnRemoval>>,
}

/// A change of a ResourceQuota.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct QuotaOverride {
    /// The object's name. Default: the name in the set.
    #[serde(default)]
    pub name: Option<Spanned<String>>,
    /// Limits by resource name.
    #[serde(default)]
    pub hard: BTreeMap<String, QuantityValue>,
    /// Scopes of the pods to count, in place of the scopes of the set.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Further labels of the object.
    #[serde(default)]
    pub labels: StringMap,
    /// Further annotations of the object.
    #[serde(default)]
    pub annotations: StringMap,
}

/// A change of a LimitRange.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LimitRangeOverride {
    /// The object's name. Default: the name in the set.
    #[serde(default)]
    pub name: Option<Spanned<String>>,
    /// One entry for each limited type.
    #[serde(default)]
    pub limits: Vec<LimitItem>,
    /// Further labels of the object.
    #[serde(default)]
    pub labels: StringMap,
    /// Further annotations of the object.
    #[serde(default)]
    pub annotations: StringMap,
}

impl Kind for NamespaceSetKind {
    type Spec = NamespaceSetSpec;

    const NAME: &'static str = "NamespaceSet";
    const TEMPLATES: &'static [&'static str] = &[
        "namespace-set/limitrange.yaml.j2",
        "namespace-set/namespace.yaml.j2",
        "namespace-set/resourcequota.yaml.j2",
        "namespace-set/role.yaml.j2",
        "namespace-set/rolebinding.yaml.j2",
        "namespace-set/serviceaccount.yaml.j2",
    ];
    const PATTERNS: Patterns = Patterns::Namespaces;

    fn link(
        document: &RawDocument<'_>,
        spec: NamespaceSetSpec,
        linker: &mut Linker<'_>,
        sink: &mut Sink,
    ) -> Option<Box<dyn Policy>> {
        bodies::check(&spec, sink);
        spec.namespaces.iter().for_each(|item| refuse_own_name(&item.name, "write the name", sink));
        let targets = linker.targets_of(&document.meta);
        let mut namespaces = Vec::with_capacity(spec.namespaces.len());
        let of_set = bodies::linked_objects(&spec.objects, document.spec, &targets, linker, sink);
        let nodes = document.spec.get("namespaces").into_iter().flat_map(NodeRef::items);
        let members = spec.namespaces.iter().zip(nodes).flat_map(|(item, node)| {
            let on = targets_of_item(item.when.as_ref(), &targets, sink);
            parts(item, &spec, &document.meta, on, linker).into_iter().map(move |part| (item, node, part))
        });
        for (item, node, MemberPart { on, checked }) in members.collect::<Vec<_>>() {
            let meta = PolicyMeta { targets: checked, ..document.meta.clone() };
            let document = &RawDocument { meta, ..document.clone() };
            let targets = linker.targets_of(&document.meta);
            let own = bodies::linked_objects(&item.objects, node, &targets, linker, sink);
            let written = NamespacePodSecurity::over(item.pod_security.as_deref(), spec.pod_security.as_ref());
            let accounts = link_accounts(written.as_ref(), item, document, linker, sink);
            let named = link_profile(written.as_ref(), document, linker, sink);
            let mut grants = named.as_ref().map_or_else(Vec::new, |named| named.grants.clone());
            let profile = named.as_ref().map(|named| &*named.profile);
            let stance = PodSecuritySettings::of(written.as_ref(), profile, &accounts);
            grants.extend(accounts.iter().flat_map(AccountProfile::grants));
            let merged = |common: &StringMap, own: &StringMap| {
                let mut all = common.clone();
                all.extend(own.clone());
                all
            };
            let (labels, annotations) =
                (merged(&spec.labels, &item.labels), merged(&spec.annotations, &item.annotations));
            refuse_our_keys(&labels, &annotations, item.name.origin, sink);
            let removal = Removal { setting: item.on_removal.as_ref().or(spec.on_removal.as_ref()), targets: &targets };
            removal.check(&annotations, item.name.origin, sink);
            let name = Pattern::parse_checked(&item.name);
            let mut object = ObjectBlueprint::new("v1", "Namespace", NAMESPACE, name, item.name.origin)
                .with("labels", stance.labels(&labels, &targets))
                .with("annotations", stance.annotations(&annotations, removal));
            object.without_levels = stance.without_levels;
            let profile = stance.profile.map(|profile| profile.name().to_owned());
            let mut inside = bodies::objects(&spec, item, sink);
            inside.extend(of_set.iter().cloned().chain(own));
            object.fields.shrink_to_fit();
            ObjectBlueprint::shrink(&mut inside);
            namespaces.push(Namespace { object, grants, inside, targets: Arc::clone(&on) });
            if let Some(profile) = profile {
                let accounts = if accounts.is_empty() { ProfileAccounts::All } else { ProfileAccounts::Others };
                linker.facts.push(NamespaceProfile { namespace: item.name.origin, profile, targets: on, accounts });
            }
        }
        let names = spec.namespaces.iter().map(|item| &item.name).chain(bodies::names(&spec));
        warn_of_empty(names, &targets, None, sink);
        Some(Box::new(Linked { meta: document.meta.clone(), namespaces }))
    }
}

/// A namespace on targets with the same profiles.
struct MemberPart {
    /// The names of the targets.
    on: Arc<BTreeSet<String>>,
    /// The names of the targets to check it for.
    checked: Arc<BTreeSet<String>>,
}

/// Divides the targets of a namespace, so that its profiles are the same policies on all targets of a part.
fn parts(
    item: &NamespaceItem,
    spec: &NamespaceSetSpec,
    meta: &PolicyMeta,
    on: BTreeSet<String>,
    linker: &Linker<'_>,
) -> Vec<MemberPart> {
    let settings = [item.pod_security.as_deref(), spec.pod_security.as_ref()].into_iter().flatten();
    let profiles =
        settings.flat_map(|one| one.profile.iter().chain(one.service_accounts.iter().map(|own| &own.profile)));
    let names = profiles.map(|name| (PodSecurityProfile::KIND, name.as_str()));
    if on.is_empty() {
        // A namespace of no target is checked for all targets.
        let groups = linker.offers.groups(names, &meta.targets).into_iter();
        return groups.map(|checked| MemberPart { on: Arc::default(), checked: Arc::new(checked) }).collect();
    }
    let groups = linker.offers.groups(names, &on).into_iter().map(Arc::new);
    groups.map(|on| MemberPart { on: Arc::clone(&on), checked: on }).collect()
}

const NAMESPACE: &str = "namespace-set/namespace.yaml.j2";

/// Resolves the profiles of single service accounts of a namespace.
fn link_accounts(
    written: Option<&NamespacePodSecurity>,
    item: &NamespaceItem,
    document: &RawDocument<'_>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<AccountProfile> {
    let Some(written) = written else { return Vec::new() };
    let namespace = ProfiledNamespace {
        origin: item.name.origin,
        profile: written.profile.as_ref().map(|profile| profile.value.as_str()),
        targets: &document.meta.targets,
    };
    AccountProfile::link(&written.service_accounts, namespace, linker, sink)
}

/// Resolves the profile of a namespace.
fn link_profile(
    written: Option<&NamespacePodSecurity>,
    document: &RawDocument<'_>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Option<NamedProfile> {
    let written = written?;
    written.check(sink);
    let help = "use it in a Tenancy: its accounts have variables";
    NamedProfile::find(written.profile.as_ref()?, &document.meta.targets, help, linker, sink)
}

struct Linked {
    meta: PolicyMeta,
    namespaces: Vec<Namespace>,
}

/// A namespace, with the bindings of its service accounts to its profile, by enforcement.
struct Namespace {
    object: ObjectBlueprint,
    grants: Vec<(Enforcement, ObjectBlueprint)>,
    /// The other objects of the namespace.
    inside: Vec<ObjectBlueprint>,
    /// The names of the targets with the namespace.
    targets: Arc<BTreeSet<String>>,
}

impl Policy for Linked {
    fn meta(&self) -> &PolicyMeta {
        &self.meta
    }

    fn namespaces(&self, target: &Target, visit: &mut dyn FnMut(&Arc<str>, PolicyNamespace<'_>)) {
        for namespace in self.namespaces.iter().filter(|namespace| namespace.targets.contains(&target.name)) {
            let name = namespace.object.name.fill(Fill::from_target(target));
            let value = Data::Str(Arc::clone(&name));
            let bound = BoundValue { name: NAMESPACE_NAME, value: &value, outer: None };
            let from = Fill::from_target(target).within(Some(&bound));
            let labels = &namespace.object.fill_field("labels", from);
            let annotations = || namespace.object.fill_field("annotations", from);
            visit(&name, PolicyNamespace { labels, annotations: &annotations, account: None });
        }
    }

    fn contributions(&self, target: &Target, visit: &mut dyn FnMut(OutputFileKey, Contribution)) {
        for (index, namespace) in self.namespaces.iter().enumerate() {
            if !namespace.targets.contains(&target.name) {
                continue;
            }
            visit(
                OutputFileKey::Namespace(namespace.object.name.fill(Fill::from_target(target))),
                Contribution::try_from(index).unwrap_or_default(),
            );
        }
    }

    fn expand(&self, target: &Target, output_file: &OutputFileKey, part: Contribution, units: &mut Vec<Unit>) {
        let (OutputFileKey::Namespace(name), Some(namespace)) = (output_file, self.namespaces.get(part as usize))
        else {
            return;
        };
        let value = Data::Str(Arc::clone(name));
        let bound = BoundValue { name: NAMESPACE_NAME, value: &value, outer: None };
        let from = Fill::from_target(target).within(Some(&bound));
        units.push(namespace.object.fill_from(from));
        let grants = namespace.grants.iter().filter(|(enforcement, _)| *enforcement == target.enforcement());
        let inside = grants.map(|(_, object)| object).chain(&namespace.inside);
        units.extend(inside.map(|object| object.fill_from(from.in_namespace(name))));
    }
}
