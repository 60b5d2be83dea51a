//! The objects in the namespaces of a set: quotas, limits and service accounts.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::{NodeRef, Spanned};

use super::{LimitRangeOverride, NamespaceItem, NamespaceSetSpec, QuotaOverride};
use crate::kinds::objects::{self, LinkedObject, ObjectPlace, ObjectSpec};
use crate::kinds::shared::{LimitItem, LimitRangeSpec, QuotaSpec, ServiceAccountSpec, StringMap};
use crate::model::{Linker, NAMESPACE_NAME, ObjectBlueprint, Pattern, Target};

const QUOTA: &str = "namespace-set/resourcequota.yaml.j2";
const LIMITS: &str = "namespace-set/limitrange.yaml.j2";
const ACCOUNT: &str = "namespace-set/serviceaccount.yaml.j2";

/// Reports fields that need the accounts of a Tenancy.
pub(super) fn check(spec: &NamespaceSetSpec, sink: &mut Sink) {
    for quota in quotas(spec) {
        if let Some(overrides) = &quota.overrides {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_VALUE,
                    "`overrides` needs an account variable, but this policy has no accounts",
                )
                .at(overrides.origin)
                .help("remove the field: only a Tenancy has overrides"),
            );
        }
        refuse_repetition(quota.each.as_ref().map(|each| each.origin), quota.when.as_ref(), sink);
    }
    for limits in limit_ranges(spec) {
        refuse_repetition(limits.each.as_ref().map(|each| each.origin), limits.when.as_ref(), sink);
    }
    for account in accounts(spec) {
        refuse_repetition(account.each.as_ref().map(|each| each.origin), account.when.as_ref(), sink);
    }
}

fn refuse_repetition(each: Option<Origin>, when: Option<&Spanned<String>>, sink: &mut Sink) {
    let when = when.map(|when| ("when", when.origin));
    for (field, origin) in each.map(|origin| ("for", origin)).into_iter().chain(when) {
        let message = format!("`{field}` needs the variables of accounts, but this policy has no accounts");
        let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at(origin);
        sink.push(diagnostic.help("remove the field: only a Tenancy has it"));
    }
}

fn quotas(spec: &NamespaceSetSpec) -> impl Iterator<Item = &Spanned<QuotaSpec>> {
    let of_items = spec.namespaces.iter().flat_map(|item| &item.resource_quotas);
    spec.resource_quota.iter().chain(&spec.resource_quotas).chain(of_items)
}

fn limit_ranges(spec: &NamespaceSetSpec) -> impl Iterator<Item = &Spanned<LimitRangeSpec>> {
    let of_items = spec.namespaces.iter().flat_map(|item| &item.limit_ranges);
    spec.limit_range.iter().chain(&spec.limit_ranges).chain(of_items)
}

fn accounts(spec: &NamespaceSetSpec) -> impl Iterator<Item = &ServiceAccountSpec> {
    spec.service_accounts.iter().chain(spec.namespaces.iter().flat_map(|item| &item.service_accounts))
}

/// Returns the names of the objects.
pub(super) fn names(spec: &NamespaceSetSpec) -> impl Iterator<Item = &Spanned<String>> {
    let items = || spec.namespaces.iter();
    let quotas = quotas(spec).map(|quota| &quota.name);
    let limits = limit_ranges(spec).map(|limits| &limits.name);
    let accounts = accounts(spec).map(|account| &account.name);
    let changed = items().filter_map(|item| item.resource_quota.as_ref()?.name.as_ref());
    let changed = changed.chain(items().filter_map(|item| item.limit_range.as_ref()?.name.as_ref()));
    let objects = spec.objects.iter().chain(items().flat_map(|item| &item.objects));
    quotas.chain(limits).chain(accounts).chain(changed).chain(objects.filter_map(|object| object.name.as_ref()))
}

/// Links the objects of any kind of a list. They are in the namespaces of the set.
pub(super) fn linked_objects(
    specs: &[ObjectSpec],
    parent: NodeRef<'_>,
    targets: &[Target],
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<ObjectBlueprint> {
    let nodes = parent.get("objects").into_iter().flat_map(NodeRef::items);
    let mut found = Vec::new();
    let own_namespace = Pattern::parse_checked(&format!("{{{NAMESPACE_NAME}}}"));
    for (spec, node) in specs.iter().zip(nodes) {
        refuse_repetition(spec.each.as_ref().map(|each| each.origin), spec.when.as_ref(), sink);
        let Some(LinkedObject { object, place }) = objects::link(spec, node, targets, linker, sink) else { continue };
        let origin = match place {
            ObjectPlace::Own => {
                found.push(object);
                continue;
            }
            ObjectPlace::In(namespace, _) if namespace == own_namespace => {
                found.push(object);
                continue;
            }
            ObjectPlace::In(_, origin) => origin,
            ObjectPlace::Cluster => object.origin,
        };
        let diagnostic =
            Diagnostic::error(codes::INVALID_VALUE, "this object is not in a namespace of the set").at(origin);
        sink.push(diagnostic.help("write it in a Manifests policy"));
    }
    found
}

/// Returns the objects of a namespace, the objects of the set first.
pub(super) fn objects(spec: &NamespaceSetSpec, item: &NamespaceItem, sink: &mut Sink) -> Vec<ObjectBlueprint> {
    let accounts = spec.service_accounts.iter().chain(&item.service_accounts);
    let mut objects: Vec<ObjectBlueprint> =
        accounts.map(|account| account.blueprint(ACCOUNT, account.name.origin)).collect();
    let quota = quota(spec.resource_quota.as_ref(), item.resource_quota.as_deref(), sink);
    let quotas = quota.iter().chain(&spec.resource_quotas).chain(&item.resource_quotas);
    objects.extend(quotas.map(|quota| quota.blueprint(QUOTA, quota.origin)));
    let limits = limit_range(spec.limit_range.as_ref(), item.limit_range.as_deref(), sink);
    let limits = limits.iter().chain(&spec.limit_ranges).chain(&item.limit_ranges);
    objects.extend(limits.map(|limits| limits.blueprint(LIMITS, limits.origin)));
    objects
}

/// Lays the quota of a namespace over the quota of the set.
fn quota(
    common: Option<&Spanned<QuotaSpec>>,
    own: Option<&Spanned<QuotaOverride>>,
    sink: &mut Sink,
) -> Option<Spanned<QuotaSpec>> {
    let Some(own) = own else { return common.cloned() };
    let name = name_of(own.name.as_ref(), common.map(|common| &common.name), own.origin, sink)?;
    let base = common.map_or_else(|| empty_quota(name.clone()), |common| common.value.clone());
    let mut hard = base.hard;
    hard.extend(own.hard.clone());
    let scopes = if own.scopes.is_empty() { base.scopes } else { own.scopes.clone() };
    let (labels, annotations) = (merged(base.labels, &own.labels), merged(base.annotations, &own.annotations));
    Some(Spanned::new(
        QuotaSpec { name, hard, scopes, labels, annotations, overrides: None, each: None, when: None },
        own.origin,
    ))
}

/// Lays the limits of a namespace over the limits of the set, type by type.
fn limit_range(
    common: Option<&Spanned<LimitRangeSpec>>,
    own: Option<&Spanned<LimitRangeOverride>>,
    sink: &mut Sink,
) -> Option<Spanned<LimitRangeSpec>> {
    let Some(own) = own else { return common.cloned() };
    let name = name_of(own.name.as_ref(), common.map(|common| &common.name), own.origin, sink)?;
    let base = common.map_or_else(|| empty_limits(name.clone()), |common| common.value.clone());
    let is_changed = |limit: &LimitItem| own.limits.iter().any(|other| other.r#type == limit.r#type);
    let mut limits: Vec<LimitItem> = base.limits;
    limits.retain(|limit| !is_changed(limit));
    limits.extend(own.limits.iter().cloned());
    let (labels, annotations) = (merged(base.labels, &own.labels), merged(base.annotations, &own.annotations));
    Some(Spanned::new(LimitRangeSpec { name, limits, labels, annotations, each: None, when: None }, own.origin))
}

/// Returns the name of a changed object; reports an object without a name.
fn name_of(
    own: Option<&Spanned<String>>,
    common: Option<&Spanned<String>>,
    origin: Origin,
    sink: &mut Sink,
) -> Option<Spanned<String>> {
    let name = own.or(common).cloned();
    if name.is_none() {
        let message = "this object has no name, and the set has no object to change";
        sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(origin).help("add `name`"));
    }
    name
}

fn merged(common: StringMap, own: &StringMap) -> StringMap {
    let mut all = common;
    all.extend(own.clone());
    all
}

fn empty_quota(name: Spanned<String>) -> QuotaSpec {
    QuotaSpec {
        name,
        hard: BTreeMap::new(),
        scopes: Vec::new(),
        overrides: None,
        labels: StringMap::new(),
        annotations: StringMap::new(),
        each: None,
        when: None,
    }
}

fn empty_limits(name: Spanned<String>) -> LimitRangeSpec {
    LimitRangeSpec {
        name,
        limits: Vec::new(),
        labels: StringMap::new(),
        annotations: StringMap::new(),
        each: None,
        when: None,
    }
}
