//! Namespaces as NamespaceSets, with their quotas, limits and service accounts.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_kubernetes::absent;
use hashbrown::HashMap;
use serde_json::{Map, Value, json};

use super::metadata::Metadata;
use super::{Folding, Names, PolicyKind, dns_label, escaped};
use crate::object::Object;
use crate::values::{InternedValues, ValueId};

/// The least number of namespaces of a set of its own.
const SMALLEST_SET: usize = 3;

/// The kind of an object of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Part {
    Quota,
    Limits,
    Account,
}

impl Part {
    /// Returns the field of a NamespaceSet with objects of the kind.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Quota => "resourceQuotas",
            Self::Limits => "limitRanges",
            Self::Account => "serviceAccounts",
        }
    }

    /// Returns the kind in Kubernetes.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Quota => "ResourceQuota",
            Self::Limits => "LimitRange",
            Self::Account => "ServiceAccount",
        }
    }

    /// Returns the fields of an object beside its name and its metadata, as a policy states them; none for an object with others.
    fn fields(self, values: &InternedValues, object: ValueId) -> Option<Map<String, Value>> {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Option<ValueId>| {
            if let Some(value) = value {
                fields.insert(key.to_owned(), values.to_json(value, &escaped));
            }
        };
        match self {
            Self::Quota => {
                let spec = values.at(object, &["spec"])?;
                let fits = values.has_only(object, &["apiVersion", "kind", "metadata", "spec"])
                    && values.has_only(spec, &["hard", "scopes"]);
                fits.then_some(())?;
                put("hard", Some(values.at(spec, &["hard"])?));
                put("scopes", values.at(spec, &["scopes"]));
            }
            Self::Limits => {
                let spec = values.at(object, &["spec"])?;
                let fits = values.has_only(object, &["apiVersion", "kind", "metadata", "spec"])
                    && values.has_only(spec, &["limits"]);
                fits.then_some(())?;
                put("limits", Some(values.at(spec, &["limits"])?));
            }
            Self::Account => {
                let own = ["imagePullSecrets", "automountServiceAccountToken"];
                let known = [&["apiVersion", "kind", "metadata"][..], &own].concat();
                values.has_only(object, &known).then_some(())?;
                if let Some(secrets) = values.at(object, &["imagePullSecrets"]) {
                    let name = |secret: &ValueId| {
                        let fits = values.has_only(*secret, &["name"]);
                        fits.then(|| Value::from(escaped(values.text_at(*secret, &["name"]))))
                    };
                    let names: Option<Vec<Value>> = values.items(secrets).iter().map(name).collect();
                    fields.insert("imagePullSecrets".to_owned(), names?.into());
                }
                if let Some(mounts) = values.at(object, &["automountServiceAccountToken"]) {
                    fields.insert("automountServiceAccountToken".to_owned(), values.to_json(mounts, &escaped));
                }
            }
        }
        Some(fields)
    }
}

/// An object of a namespace, as an item of a policy.
#[derive(Debug, Clone)]
struct Item {
    index: usize,
    part: Part,
    /// The number of the item: equal items have equal numbers.
    number: usize,
}

/// A namespace with its objects.
#[derive(Debug)]
struct Namespace {
    index: usize,
    name: Box<str>,
    metadata: Metadata,
    items: Vec<Item>,
}

impl Namespace {
    /// Returns the numbers of the quotas and limits.
    fn bundle(&self, parts: &[Part]) -> BTreeSet<usize> {
        self.items.iter().filter(|item| parts.contains(&item.part)).map(|item| item.number).collect()
    }
}

/// The items of all namespaces, each once.
#[derive(Debug, Default)]
struct Items {
    numbers: HashMap<(Part, String), usize>,
    values: Vec<Value>,
}

impl Items {
    fn number(&mut self, part: Part, item: Value) -> usize {
        let next = self.values.len();
        let number = *self.numbers.entry((part, item.to_string())).or_insert(next);
        if number == next {
            self.values.push(item);
        }
        number
    }
}

/// Folds the namespaces that are left.
pub(super) fn fold(folding: &mut Folding<'_>) {
    let mut items = Items::default();
    let mut namespaces = read(folding, &mut items);
    let mut names = Names::default();
    let mut sets: Vec<(BTreeSet<usize>, Vec<Namespace>)> = Vec::new();
    for parts in [&[Part::Quota, Part::Limits][..], &[Part::Limits], &[Part::Quota]] {
        let mut groups: BTreeMap<BTreeSet<usize>, Vec<Namespace>> = BTreeMap::new();
        for namespace in namespaces {
            groups.entry(namespace.bundle(parts)).or_default().push(namespace);
        }
        let (large, small) = groups.into_iter().partition(|(bundle, group): &(BTreeSet<usize>, Vec<Namespace>)| {
            group.len() >= SMALLEST_SET && !bundle.is_empty()
        });
        sets.extend::<Vec<_>>(large);
        namespaces = small.into_iter().flat_map(|(_, group)| group).collect();
        namespaces = join(namespaces, &mut sets);
    }
    sets.push((BTreeSet::new(), namespaces));
    let is_openshift = folding.cluster.is_openshift;
    for (bundle, mut group) in sets.into_iter().filter(|(_, group)| !group.is_empty()) {
        group.sort_by(|left, right| left.name.cmp(&right.name));
        let set = Set { bundle: &bundle, namespaces: &group, items: &items, is_openshift };
        let spec = set.spec(folding.values);
        let name = names.take(&set.name());
        let of_namespace =
            |namespace: &Namespace| namespace.items.iter().map(|item| item.index).chain([namespace.index]).collect();
        let objects: Vec<Vec<usize>> = group.iter().map(of_namespace).collect();
        folding.add(PolicyKind::NamespaceSet, name, spec, objects.concat());
    }
}

/// Puts namespaces into the set with the most of their items. Returns the others.
fn join(namespaces: Vec<Namespace>, sets: &mut [(BTreeSet<usize>, Vec<Namespace>)]) -> Vec<Namespace> {
    let mut others = Vec::new();
    for namespace in namespaces {
        let own = namespace.bundle(&[Part::Quota, Part::Limits]);
        let fits = sets.iter_mut().filter(|(bundle, _)| bundle.is_subset(&own));
        match fits.max_by_key(|(bundle, _)| bundle.len()) {
            Some((_, group)) => group.push(namespace),
            None => others.push(namespace),
        }
    }
    others
}

/// Reads the namespaces that are left, in order of their names.
fn read(folding: &Folding<'_>, items: &mut Items) -> Vec<Namespace> {
    let values = &*folding.values;
    let mut namespaces: BTreeMap<&str, Namespace> = BTreeMap::new();
    for index in folding.left_of("", "Namespace") {
        let Some(object) = folding.object(index) else { continue };
        let Some(metadata) = metadata(values, object) else { continue };
        let name = object.identity.name.clone();
        namespaces.insert(&object.identity.name, Namespace { index, name, metadata, items: Vec::new() });
    }
    for part in [Part::Quota, Part::Limits, Part::Account] {
        for index in folding.left_of("", part.kind()) {
            let Some(object) = folding.object(index) else { continue };
            let Some(namespace) = namespaces.get_mut(&*object.identity.namespace) else { continue };
            let Some(item) = item(values, object, part) else { continue };
            namespace.items.push(Item { index, part, number: items.number(part, item) });
        }
    }
    namespaces.into_values().collect()
}

/// Returns the metadata of a Namespace; none for a Namespace that a policy cannot state.
fn metadata(values: &InternedValues, namespace: &Object) -> Option<Metadata> {
    let fits = values.has_only(namespace.value, &["apiVersion", "kind", "metadata"]);
    Metadata::read(values, namespace.value).filter(|_| fits)
}

/// Returns a Namespace as an item of a policy; none for a Namespace that a policy cannot state.
pub(super) fn namespace_item(values: &InternedValues, namespace: &Object) -> Option<Map<String, Value>> {
    let mut item = Map::new();
    metadata(values, namespace)?.write(values, &mut item);
    Some(item)
}

/// Returns an object as an item of a policy; none for an object that a policy cannot state.
pub(super) fn item(values: &InternedValues, object: &Object, part: Part) -> Option<Value> {
    let metadata = Metadata::read(values, object.value)?;
    let fields = part.fields(values, object.value)?;
    let mut item = Map::new();
    item.insert("name".to_owned(), escaped(&object.identity.name).into());
    metadata.write(values, &mut item);
    item.extend(fields);
    Some(item.into())
}

/// A NamespaceSet before it is written.
struct Set<'s> {
    bundle: &'s BTreeSet<usize>,
    namespaces: &'s [Namespace],
    items: &'s Items,
    is_openshift: bool,
}

impl Set<'_> {
    /// Returns the name of the first quota, or else of the first limits, as the name of the policy.
    fn name(&self) -> String {
        let first = |part| {
            let items = self.namespaces.iter().flat_map(|namespace| &namespace.items);
            let mut items = items.filter(|item| item.part == part && self.bundle.contains(&item.number));
            let item = items.next().and_then(|item| self.items.values.get(item.number))?;
            item.get("name").and_then(Value::as_str).map(dns_label)
        };
        let name = first(Part::Quota).or_else(|| first(Part::Limits).map(|name| format!("limits-{name}")));
        match name {
            Some(name) => name,
            None => "namespaces".to_owned(),
        }
    }

    fn spec(&self, values: &InternedValues) -> Value {
        let mut spec = Map::new();
        let common = [
            ("labels", self.common(values, |metadata| metadata.labels)),
            ("annotations", self.common(values, |metadata| metadata.annotations)),
        ];
        for (key, common) in &common {
            if !common.is_empty() {
                let texts = common.iter().map(|(key, value)| (key.clone(), escaped(value).into()));
                spec.insert((*key).to_owned(), texts.collect::<Map<_, _>>().into());
            }
        }
        if self.is_openshift {
            spec.insert("podSecurity".to_owned(), json!({ "labels": "none" }));
        }
        if let Some(first) = self.namespaces.first() {
            self.write_items(first, |item| self.bundle.contains(&item.number), &mut spec);
        }
        let namespaces = self.namespaces.iter().map(|namespace| {
            let mut item = Map::new();
            item.insert("name".to_owned(), escaped(&namespace.name).into());
            let Metadata { labels, annotations } = namespace.metadata;
            for ((key, common), own) in common.iter().zip([labels, annotations]) {
                let own = own.into_iter().flat_map(|own| values.entries(own));
                let is_common = |key: &str, value| common.get(key).map(String::as_str) == values.as_text(value);
                let own = own.filter(|(key, value)| !is_common(key, *value));
                let own: Map<String, Value> =
                    own.map(|(key, value)| (key.to_owned(), values.to_json(value, &escaped))).collect();
                if !own.is_empty() {
                    item.insert((*key).to_owned(), own.into());
                }
            }
            self.write_items(namespace, |item| !self.bundle.contains(&item.number), &mut item);
            item.into()
        });
        let namespaces: Vec<Value> = namespaces.collect();
        spec.insert("namespaces".to_owned(), namespaces.into());
        spec.into()
    }

    /// Returns an entry for each key that every namespace has, with the value of the most namespaces: the others override it.
    /// A value of a single namespace is not common.
    fn common(&self, values: &InternedValues, of: fn(&Metadata) -> Option<ValueId>) -> BTreeMap<String, String> {
        let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for map in self.namespaces.iter().filter_map(|namespace| of(&namespace.metadata)) {
            for (key, value) in values.entries(map) {
                *counts.entry(key).or_default().entry(absent::text(values.as_text(value))).or_default() += 1;
            }
        }
        let everywhere =
            counts.into_iter().filter(|(_, values)| values.values().sum::<usize>() == self.namespaces.len());
        let common = everywhere.filter_map(|(key, values)| {
            let (value, count) = values.into_iter().rev().max_by_key(|(_, count)| *count)?;
            (count > 1).then(|| (key.to_owned(), value.to_owned()))
        });
        common.collect()
    }

    /// Adds the wanted items of a namespace, under the field of their kind.
    fn write_items(&self, namespace: &Namespace, is_wanted: impl Fn(&Item) -> bool, into: &mut Map<String, Value>) {
        for part in [Part::Quota, Part::Limits, Part::Account] {
            let items = namespace.items.iter().filter(|item| item.part == part && is_wanted(item));
            let items: Vec<Value> = items.filter_map(|item| self.items.values.get(item.number).cloned()).collect();
            if !items.is_empty() {
                into.insert(part.field().to_owned(), items.into());
            }
        }
    }
}
