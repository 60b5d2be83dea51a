//! Namespaces of one form as Tenancies.
//!
//! The form of a namespace is its objects with their fields, and with `{name}` in place of its name. Namespaces of one form
//! become one class. The values in which they differ become the columns of a table.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::rbac::{GROUP, PolicyRule};
use bailiwick_kubernetes::workers::Workers;
use bailiwick_yaml::digest::digest_of_run;
use hashbrown::HashMap;
use serde_json::{Map, Value, json};

use super::bindings::{self, BoundRole, Shape, with_variable};
use super::namespaces::{self, Part};
use super::roles::{RoleSets, escaped_rule, written_rules};
use super::{Folding, Names, PolicyKind, dns_label, escaped, groups};
use crate::object::ClusterObjects;
use crate::values::InternedValues;

/// The least number of namespaces of a Tenancy.
const SMALLEST_TENANCY: usize = 5;

/// The most columns of a table beside the name.
const MOST_COLUMNS: usize = 12;

/// The lines of a Tenancy beside its class, its columns and its table.
const OWN_LINES: usize = 10;

/// The lines of a Grant or an object that only one namespace has.
const LINES_OF_ONE: usize = 6;

/// The variable with the name of the namespace.
const NAME_VARIABLE: &str = "{name}";

/// The keys of maps and lists whose texts may be columns. Other texts are part of the form.
const KEYS_OF_VALUES: [&str; 10] = [
    "labels",
    "annotations",
    "hard",
    "default",
    "defaultRequest",
    "max",
    "min",
    "maxLimitRequestRatio",
    "users",
    "groups",
];

/// Folds the namespaces of one form that are left.
pub(super) fn fold(folding: &mut Folding<'_>, sets: &mut RoleSets, workers: Workers<'_>) {
    let mut forms: BTreeMap<TenantForm, Vec<Tenant>> = BTreeMap::new();
    for tenant in tenants(folding, sets, workers) {
        forms.entry(tenant.form()).or_default().push(tenant);
    }
    let mut forms: Vec<Vec<Tenant>> = forms.into_values().filter(|tenants| tenants.len() >= SMALLEST_TENANCY).collect();
    let first = |tenants: &[Tenant]| tenants.first().map(|tenant| tenant.name.clone());
    forms.sort_by_key(|tenants| first(tenants));
    let mut names = Names::default();
    for tenants in &forms {
        let Some(table) = Table::new(tenants).filter(|table| table.is_shorter(tenants)) else { continue };
        let name = names.take(&common_name(tenants));
        let minor = folding.cluster.minor;
        let permission_sets = permission_sets(folding, sets, tenants);
        for (set, rules, objects) in &permission_sets {
            let rules = written_rules(rules, minor, &str::to_owned);
            folding.add(PolicyKind::PermissionSet, set.clone(), json!({ "rules": rules }), objects.clone());
        }
        let set_names: Vec<String> = permission_sets.into_iter().map(|(name, ..)| name).collect();
        let file = format!("{name}.csv");
        let spec = table.spec(tenants, &file, &set_names);
        let objects: Vec<usize> = tenants.iter().flat_map(|tenant| tenant.objects.iter().copied()).collect();
        folding.add(PolicyKind::Tenancy, name, spec, objects);
        if let Some(policy) = folding.folded.policies.last_mut() {
            policy.files.push((file, table.text(tenants)));
            policy.rows = tenants.iter().map(|tenant| tenant.objects.clone()).collect();
        }
    }
}

/// Returns the namespaces whose form is the form of enough others, in the order of their names. Most namespaces of a large cluster may
/// have a form of their own, so that the first reading keeps a hash of each form alone.
fn tenants(folding: &Folding<'_>, sets: &RoleSets, workers: Workers<'_>) -> Vec<Tenant> {
    let (cluster, values): (_, &InternedValues) = (folding.cluster, folding.values);
    let mut namespaces = namespaces_left(folding);
    if namespaces.len() < SMALLEST_TENANCY {
        return Vec::new();
    }
    let read_at = |namespaces: &[NamespaceObjects], number: usize| {
        namespaces.get(number).and_then(|objects| read(cluster, values, sets, objects))
    };
    let hashes = workers
        .map(namespaces.len(), |number| read_at(&namespaces, number).map(|tenant| digest_of_run(&tenant.form())));
    let mut counts: HashMap<u128, usize> = HashMap::new();
    hashes.iter().flatten().for_each(|hash| *counts.entry(*hash).or_default() += 1);
    let is_shared = |hash: &u128| counts.get(hash).is_some_and(|count| *count >= SMALLEST_TENANCY);
    let mut hashes = hashes.into_iter();
    namespaces.retain(|_| hashes.next().flatten().as_ref().is_some_and(is_shared));
    workers.map(namespaces.len(), |number| read_at(&namespaces, number)).into_iter().flatten().collect()
}

/// The class of a tenant as JSON, and the rules of its roles.
type TenantForm = (String, Vec<Vec<PolicyRule>>);

/// A namespace with its objects.
struct Tenant {
    name: Box<str>,
    /// The positions of the objects, and of the roles among them in the order of the class.
    objects: Vec<usize>,
    roles: Vec<usize>,
    /// The class with a number in place of each value.
    class: Value,
    /// The rules of the roles.
    rules: Vec<Vec<PolicyRule>>,
    /// The values by number.
    values: Vec<Leaf>,
}

/// A value of a tenant that may differ from tenant to tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Leaf {
    /// The key next to the value, for the name of a column.
    key: String,
    /// The value with a variable in place of the name of the namespace, in the texts of a policy.
    pattern: String,
    /// The value.
    text: String,
    /// The number of the object of the class, and its lines outside of a table.
    item: (usize, usize),
}

impl Tenant {
    /// Returns the form: tenants of one form become one class.
    fn form(&self) -> TenantForm {
        (self.class.to_string(), self.rules.clone())
    }
}

/// The objects of a namespace that are left, by their positions.
struct NamespaceObjects {
    namespace: usize,
    /// The service accounts, quotas and limits.
    parts: Vec<(Part, usize)>,
    roles: Vec<usize>,
    bindings: Vec<usize>,
}

/// Returns the objects of each namespace that are left, in the order of the names of the namespaces.
fn namespaces_left(folding: &Folding<'_>) -> Vec<NamespaceObjects> {
    let namespaces = folding.left_of("", "Namespace");
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut all: Vec<NamespaceObjects> = Vec::new();
    for index in namespaces {
        let Some(object) = folding.object(index) else { continue };
        places.insert(&object.identity.name, all.len());
        all.push(NamespaceObjects { namespace: index, parts: Vec::new(), roles: Vec::new(), bindings: Vec::new() });
    }
    let mut add = |group: &str, kind: &str, add: &dyn Fn(&mut NamespaceObjects, usize)| {
        for index in folding.left_of(group, kind) {
            let place = folding.object(index).and_then(|object| places.get(&*object.identity.namespace));
            place.and_then(|place| all.get_mut(*place)).into_iter().for_each(|objects| add(objects, index));
        }
    };
    for part in [Part::Account, Part::Quota, Part::Limits] {
        add("", part.kind(), &|objects, index| objects.parts.push((part, index)));
    }
    add(GROUP, "Role", &|objects, index| objects.roles.push(index));
    add(GROUP, "RoleBinding", &|objects, index| objects.bindings.push(index));
    all
}

/// Reads a namespace; none for a namespace that no class can have.
fn read(
    cluster: &ClusterObjects,
    values: &InternedValues,
    sets: &RoleSets,
    objects: &NamespaceObjects,
) -> Option<Tenant> {
    let object = |index: usize| cluster.objects.get(index);
    let namespace = object(objects.namespace)?;
    let item = namespaces::namespace_item(values, namespace)?;
    let mut builder = Builder::new(&namespace.identity.name, objects.namespace, item, cluster.is_openshift);
    for (part, index) in &objects.parts {
        if let Some(item) = object(*index).and_then(|object| namespaces::item(values, object, *part)) {
            builder.add(part.field(), *index, item);
        }
    }
    for (index, role) in objects.roles.iter().filter_map(|index| Some((*index, object(*index)?))) {
        let set = sets.find(&role.identity.namespace, &role.identity.name);
        if let Some(set) = set.and_then(|position| sets.sets.get(position)) {
            let mut item = Map::new();
            item.insert("name".to_owned(), escaped(&role.identity.name).into());
            set.metadata.write(values, &mut item);
            builder.add_role(index, item, &set.rules);
        }
    }
    for (index, binding) in objects.bindings.iter().filter_map(|index| Some((*index, object(*index)?))) {
        if let Some(shape) = bindings::read(values, binding, sets) {
            builder.add_binding(index, &shape, sets);
        }
    }
    builder.is_whole.then(|| builder.finish())
}

/// A tenant that is read.
struct Builder {
    name: Box<str>,
    /// The name in the texts of a policy.
    escaped_name: String,
    objects: Vec<usize>,
    namespace: Map<String, Value>,
    /// The items of each field of the class, by their names.
    items: BTreeMap<&'static str, BTreeMap<String, Value>>,
    roles: BTreeMap<String, (usize, Vec<PolicyRule>)>,
    /// False if a binding refers to a role that the class cannot have.
    is_whole: bool,
}

impl Builder {
    fn new(name: &str, index: usize, item: Map<String, Value>, is_openshift: bool) -> Self {
        let mut namespace = item;
        namespace.insert("name".to_owned(), NAME_VARIABLE.into());
        if is_openshift {
            namespace.insert("podSecurity".to_owned(), json!({ "labels": "none" }));
        }
        Self {
            name: name.into(),
            escaped_name: escaped(name),
            objects: vec![index],
            namespace,
            items: BTreeMap::new(),
            roles: BTreeMap::new(),
            is_whole: true,
        }
    }

    /// Returns a text with the variable in place of the name of the namespace.
    fn filled(&self, text: &str) -> String {
        with_variable(text, &self.escaped_name, NAME_VARIABLE)
    }

    /// Adds an object under its name.
    fn add(&mut self, field: &'static str, index: usize, mut item: Value) -> String {
        let name = self.filled(absent::text(item.get("name").and_then(Value::as_str)));
        if let Some(own) = item.get_mut("name") {
            *own = name.clone().into();
        }
        self.objects.push(index);
        self.items.entry(field).or_default().insert(name.clone(), item);
        name
    }

    fn add_role(&mut self, index: usize, item: Map<String, Value>, rules: &[PolicyRule]) {
        let rules = rules.iter().map(|rule| {
            let PolicyRule { api_groups, resources, resource_names, non_resource_urls, verbs } = escaped_rule(rule);
            let resource_names = resource_names.iter().map(|name| self.filled(name)).collect();
            PolicyRule { api_groups, resources, resource_names, non_resource_urls, verbs }
        });
        let rules: Vec<PolicyRule> = rules.collect();
        let name = self.add("roles", index, item.into());
        self.roles.insert(name, (index, rules));
    }

    fn add_binding(&mut self, index: usize, shape: &Shape, sets: &RoleSets) {
        let mut item = Map::new();
        item.insert("name".to_owned(), shape.name.clone().into());
        let (field, role) = match &shape.role {
            BoundRole::Set(position, name) => match sets.sets.get(*position) {
                Some(set) if set.is_cluster_role => ("permissionSet", set.name.clone()),
                _ => ("role", self.filled(&escaped(name))),
            },
            BoundRole::OtherClusterRole(name) => ("clusterRole", escaped(name)),
            BoundRole::OtherRole(_) => {
                self.is_whole = false;
                return;
            }
        };
        item.insert(field.to_owned(), role.into());
        // The order of the subjects has to be the same for every tenant.
        let mut to = shape.written_subjects();
        sort_texts(&mut to, &|text| self.filled(text));
        item.insert("to".to_owned(), to);
        shape.write_terms(&mut item);
        self.add("grants", index, item.into());
    }

    fn finish(self) -> Tenant {
        let mut class = Map::new();
        let mut leaves = Leaves { escaped_name: &self.escaped_name, values: Vec::new(), item: (0, 1) };
        class.insert("namespace".to_owned(), leaves.take(self.namespace.into(), None));
        let mut number = 0;
        for (field, items) in self.items {
            let items = items.into_values().map(|item| {
                number += 1;
                leaves.item = (number, LINES_OF_ONE.max(item.to_string().matches("\":").count()));
                leaves.take(item, None)
            });
            let items: Vec<Value> = items.collect();
            class.insert(field.to_owned(), items.into());
        }
        let (roles, rules) = self.roles.into_values().unzip();
        let values = leaves.values;
        Tenant { objects: self.objects, roles, class: class.into(), rules, values, name: self.name.clone() }
    }
}

/// Sorts the lists of texts in a map by a key.
fn sort_texts(value: &mut Value, key: &dyn Fn(&str) -> String) {
    for list in value.as_object_mut().into_iter().flat_map(Map::values_mut).filter_map(Value::as_array_mut) {
        list.sort_by_key(|item| item.as_str().map(key));
    }
}

/// Takes the values of a class out of it.
struct Leaves<'l> {
    /// The name of the namespace in the texts of a policy.
    escaped_name: &'l str,
    values: Vec<Leaf>,
    item: (usize, usize),
}

impl Leaves<'_> {
    /// Returns a part of a class with numbers in place of its values. `key` is the key of a part whose texts are values.
    fn take(&mut self, value: Value, key: Option<&str>) -> Value {
        match value {
            Value::String(escaped_text) => {
                let pattern = with_variable(&escaped_text, self.escaped_name, NAME_VARIABLE);
                let Some(key) = key else { return pattern.into() };
                let text = match escaped_text.contains(['{', '}']) {
                    true => escaped_text.replace("{{", "{").replace("}}", "}"),
                    false => escaped_text,
                };
                self.values.push(Leaf { key: key.to_owned(), pattern, text, item: self.item });
                (self.values.len() - 1).into()
            }
            Value::Array(items) => items.into_iter().map(|item| self.take(item, key)).collect(),
            Value::Object(entries) => {
                let entries = entries.into_iter().map(|(own, value)| {
                    let is_of_values = KEYS_OF_VALUES.contains(&own.as_str());
                    let next = match key {
                        Some(_) => Some(own.clone()),
                        None => is_of_values.then(|| own.clone()),
                    };
                    let value = self.take(value, next.as_deref());
                    (own, value)
                });
                entries.collect::<Map<_, _>>().into()
            }
            other => other,
        }
    }
}

/// The table of a Tenancy.
struct Table {
    /// The text of each value of the class: a literal, a pattern, or the variable of a column.
    texts: Vec<String>,
    /// The name of each column, and the number of a value with its content.
    columns: Vec<(String, usize)>,
}

impl Table {
    /// Finds the columns. None for values that a table cannot hold.
    fn new(tenants: &[Tenant]) -> Option<Self> {
        let first = tenants.first()?;
        let mut table = Self { texts: Vec::new(), columns: Vec::new() };
        let mut by_values: HashMap<Vec<&str>, String> = HashMap::new();
        let mut names = Names::default();
        names.take("name");
        for (number, leaf) in first.values.iter().enumerate() {
            let all: Vec<&Leaf> = tenants.iter().filter_map(|tenant| tenant.values.get(number)).collect();
            if all.iter().all(|other| other.pattern == leaf.pattern) {
                table.texts.push(leaf.pattern.clone());
                continue;
            }
            let values: Vec<&str> = all.iter().map(|leaf| leaf.text.as_str()).collect();
            if values.iter().any(|value| value.contains(char::is_control)) {
                return None;
            }
            let column = by_values.entry(values).or_insert_with(|| {
                let name = names.take_with(&column_name(&leaf.key), '_');
                table.columns.push((name.clone(), number));
                name
            });
            table.texts.push(format!("{{{column}}}"));
        }
        (table.columns.len() <= MOST_COLUMNS).then_some(table)
    }

    /// Whether the Tenancy has fewer lines than the policies without it. Objects that differ between the namespaces have lines
    /// for each namespace there; others are shared.
    fn is_shorter(&self, tenants: &[Tenant]) -> bool {
        let Some(first) = tenants.first() else { return false };
        let is_column = |number: usize| {
            let text = self.texts.get(number).map(String::as_str);
            self.columns.iter().any(|(name, _)| text == Some(format!("{{{name}}}").as_str()))
        };
        let differing = first.values.iter().enumerate().filter(|(number, _)| is_column(*number));
        let mut items: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut of_namespace = 0;
        for (_, leaf) in differing {
            if leaf.item.0 == 0 { of_namespace += 1 } else { _ = items.insert(leaf.item) }
        }
        let lines_of_one = 1 + of_namespace + items.iter().map(|(_, lines)| lines).sum::<usize>();
        tenants.len() * lines_of_one > tenants.len() + self.columns.len() + OWN_LINES
    }

    fn spec(&self, tenants: &[Tenant], file: &str, permission_sets: &[String]) -> Value {
        let mut variables = Map::new();
        variables.insert("name".to_owned(), json!({ "type": "string" }));
        for (name, number) in &self.columns {
            let is_empty = |tenant: &Tenant| tenant.values.get(*number).is_some_and(|leaf| leaf.text.is_empty());
            let variable = if tenants.iter().any(is_empty) {
                json!({ "type": "string", "optional": true })
            } else {
                json!({ "type": "string" })
            };
            variables.insert(name.clone(), variable);
        }
        let mut class = tenants.first().map_or(Value::Null, |tenant| tenant.class.clone());
        self.fill(&mut class);
        let roles = class.get_mut("roles").and_then(Value::as_array_mut);
        for (role, set) in roles.into_iter().flatten().zip(permission_sets) {
            role.as_object_mut().into_iter().for_each(|role| {
                role.insert("permissionSet".to_owned(), set.clone().into());
            });
        }
        json!({ "accounts": { "file": file }, "variables": variables, "class": class })
    }

    /// Puts the texts in place of the numbers of a class.
    fn fill(&self, value: &mut Value) {
        match value {
            Value::Number(number) => {
                let number = number.as_u64().and_then(|number| usize::try_from(number).ok());
                if let Some(text) = number.and_then(|number| self.texts.get(number)) {
                    *value = text.clone().into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill(item)),
            Value::Object(entries) => entries.values_mut().for_each(|value| self.fill(value)),
            _ => {}
        }
    }

    /// Returns the table: a line for each tenant, in the order of the names.
    fn text(&self, tenants: &[Tenant]) -> String {
        let mut text = String::new();
        let header: Vec<&str> =
            std::iter::once("name").chain(self.columns.iter().map(|(name, _)| name.as_str())).collect();
        groups::row(&header, &mut text);
        for tenant in tenants {
            let cells = self.columns.iter().filter_map(|(_, number)| tenant.values.get(*number));
            let cells: Vec<&str> = std::iter::once(&*tenant.name).chain(cells.map(|leaf| leaf.text.as_str())).collect();
            groups::row(&cells, &mut text);
        }
        text
    }
}

/// A PermissionSet of a class: its name, its rules in the texts of a policy, and the roles.
type ClassSet = (String, Vec<PolicyRule>, Vec<usize>);

/// Returns the PermissionSets of the roles of a class, in their order.
fn permission_sets(folding: &Folding<'_>, sets: &mut RoleSets, tenants: &[Tenant]) -> Vec<ClassSet> {
    let Some(first) = tenants.first() else { return Vec::new() };
    let mut found = Vec::new();
    for (position, rules) in first.rules.iter().enumerate() {
        let objects: Vec<usize> = tenants.iter().filter_map(|tenant| tenant.roles.get(position).copied()).collect();
        let object = objects.first().and_then(|index| folding.object(*index));
        let name = object.map_or_else(String::new, |object| {
            with_variable(&object.identity.name, &first.name, "").trim_matches('-').to_owned()
        });
        let name = sets.names.take(&dns_label(&name));
        found.push((name, rules.clone(), objects));
    }
    found
}

/// Returns the beginning that the names of all tenants have, as the name of the policy.
fn common_name(tenants: &[Tenant]) -> String {
    let mut names = tenants.iter().map(|tenant| &*tenant.name);
    let first = absent::text(names.next()).to_owned();
    let common = names.fold(first, |common, name| {
        let same = common.chars().zip(name.chars()).take_while(|(left, right)| left == right);
        same.map(|(character, _)| character).collect()
    });
    let common = common.trim_end_matches(|character: char| !character.is_ascii_alphabetic());
    if common.len() < 2 { "tenants".to_owned() } else { dns_label(common) }
}

/// Returns a key as the name of a variable.
fn column_name(key: &str) -> String {
    let singular = match key {
        "users" => "user",
        "groups" => "group",
        other => other,
    };
    let last = singular.rsplit('/').next().map_or(singular, |last| last);
    let mut name = String::new();
    for character in last.chars() {
        name.push(if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' });
    }
    if name.starts_with(|first: char| first.is_ascii_lowercase()) { name } else { format!("value_{name}") }
}
