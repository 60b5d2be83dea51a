//! Bindings as Grants.
//!
//! Bindings that are equal but for their namespace are one Grant with its namespaces. `{namespace.name}` takes the place of the
//! name of the namespace in the texts of a binding. Grants with the same subjects and namespaces are one if one
//! pattern gives the names of all their bindings.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::rbac::GROUP;
use bailiwick_kubernetes::workers::Workers;
use hashbrown::HashSet;
use serde_json::{Map, Value, json};

use super::metadata::{Metadata, TERMS};
use super::roles::RoleSets;
use super::{Folding, Names, PolicyKind, dns_label, escaped};
use crate::object::Object;
use crate::values::{InternedValues, ValueId};

/// The variable with the name of the namespace of a binding.
const NAMESPACE_VARIABLE: &str = "{namespace.name}";

/// The variable with the name of the role in `bindingName`.
const ROLE_VARIABLE: &str = "{role}";

/// A role of a binding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BoundRole {
    /// A PermissionSet by its position, with the name of its role.
    Set(usize, String),
    /// A ClusterRole of no policy.
    OtherClusterRole(String),
    /// A Role of no policy.
    OtherRole(String),
}

impl BoundRole {
    fn name(&self) -> &str {
        match self {
            Self::Set(_, name) | Self::OtherClusterRole(name) | Self::OtherRole(name) => name,
        }
    }
}

/// A subject, in the texts of a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    User(String),
    Group(String),
    /// A service account with its namespace; without one, it is in the namespace of the binding.
    Account(Option<String>, String),
}

impl Subject {
    /// Returns the name.
    fn text(&self) -> &str {
        match self {
            Self::User(name) | Self::Group(name) | Self::Account(_, name) => name,
        }
    }
}

/// The parts of a binding beside its namespace, in the texts of a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    is_cluster_wide: bool,
    pub(super) name: String,
    pub(super) subjects: BTreeSet<Subject>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    pub(super) role: BoundRole,
}

/// A binding with its position.
struct Binding {
    index: usize,
    namespace: Box<str>,
    shape: Shape,
}

/// The bindings of a future Grant: the namespaces with the positions of the bindings.
type Members = BTreeMap<Box<str>, usize>;

/// Folds the bindings that are left, and the roles with them.
pub(super) fn fold(
    folding: &mut Folding<'_>,
    mut sets: RoleSets,
    is_platform_role: &dyn Fn(&str) -> bool,
    workers: Workers<'_>,
) {
    let bindings = bindings_left(folding, &sets, workers);
    let mut used: BTreeSet<(usize, Box<str>)> = BTreeSet::new();
    let mut roles = BTreeSet::new();
    for binding in &bindings {
        match &binding.shape.role {
            BoundRole::Set(position, _) => _ = used.insert((*position, binding.namespace.clone())),
            other => _ = roles.insert((binding.namespace.clone(), other.clone())),
        }
    }
    note_unknown(folding, &roles, is_platform_role);
    sets.settle(&folding.left, &used);
    let grants = merged_roles(merged_namespaces(bindings));
    let set_names: Vec<String> = sets.sets.iter().map(|set| set.name.clone()).collect();
    let mut names = Names::default();
    for grant in grants {
        let (name, spec) = grant.write(&set_names, &mut names);
        folding.add(PolicyKind::Grant, name, spec, grant.objects);
    }
    sets.finish(folding);
}

/// Returns the bindings that are left, in their order.
fn bindings_left(folding: &Folding<'_>, sets: &RoleSets, workers: Workers<'_>) -> Vec<Binding> {
    let (cluster, values): (_, &InternedValues) = (folding.cluster, folding.values);
    let kinds = ["ClusterRoleBinding", "RoleBinding"];
    let left: Vec<usize> = kinds.into_iter().flat_map(|kind| folding.left_of(GROUP, kind)).collect();
    let read_at = |number: usize| {
        let index = *left.get(number)?;
        let object = cluster.objects.get(index)?;
        let shape = read(values, object, sets)?;
        Some(Binding { index, namespace: object.identity.namespace.clone(), shape })
    };
    workers.map(left.len(), read_at).into_iter().flatten().collect()
}

/// Records the roles that no object and no default policy makes.
fn note_unknown(
    folding: &mut Folding<'_>,
    roles: &BTreeSet<(Box<str>, BoundRole)>,
    is_platform_role: &dyn Fn(&str) -> bool,
) {
    let existing = folding.cluster.objects.iter().map(|object| &object.identity);
    let existing: HashSet<(&str, &str, &str)> = existing
        .filter(|identity| identity.group() == GROUP)
        .map(|identity| (&*identity.kind, &*identity.namespace, &*identity.name))
        .collect();
    let mut unknown = (BTreeSet::new(), BTreeSet::new());
    for (namespace, role) in roles {
        match role {
            BoundRole::OtherClusterRole(name)
                if !is_platform_role(name) && !existing.contains(&("ClusterRole", "", name.as_str())) =>
            {
                unknown.0.insert(name.clone());
            }
            BoundRole::OtherRole(name) if !existing.contains(&("Role", &**namespace, name.as_str())) => {
                unknown.1.insert(name.clone());
            }
            _ => {}
        }
    }
    (folding.folded.unknown_cluster_roles, folding.folded.unknown_roles) = unknown;
}

/// Reads a binding; none for a binding that a Grant cannot state.
pub(super) fn read(values: &InternedValues, object: &Object, sets: &RoleSets) -> Option<Shape> {
    let value = object.value;
    let metadata = Metadata::read(values, value)?;
    values.has_only(value, &["apiVersion", "kind", "metadata", "roleRef", "subjects"]).then_some(())?;
    let namespace = &*object.identity.namespace;
    let is_cluster_wide = &*object.identity.kind == "ClusterRoleBinding";
    let subjects = values.items(values.at(value, &["subjects"])?);
    let subjects: Option<BTreeSet<Subject>> =
        subjects.iter().map(|subject| read_subject(values, *subject, namespace)).collect();
    let subjects = subjects.filter(|subjects| !subjects.is_empty())?;
    (values.text_at(value, &["roleRef", "apiGroup"]) == GROUP).then_some(())?;
    let role_name = values.text_at(value, &["roleRef", "name"]);
    let role = match values.text_at(value, &["roleRef", "kind"]) {
        "ClusterRole" => sets.find("", role_name).map_or_else(
            || BoundRole::OtherClusterRole(role_name.to_owned()),
            |position| BoundRole::Set(position, role_name.to_owned()),
        ),
        "Role" if !is_cluster_wide => sets.find(namespace, role_name).map_or_else(
            || BoundRole::OtherRole(role_name.to_owned()),
            |position| BoundRole::Set(position, role_name.to_owned()),
        ),
        _ => return None,
    };
    Some(Shape {
        is_cluster_wide,
        name: escaped(&object.identity.name),
        subjects,
        labels: texts(values, metadata.labels)?,
        annotations: texts(values, metadata.annotations)?,
        role,
    })
}

fn read_subject(values: &InternedValues, subject: ValueId, namespace: &str) -> Option<Subject> {
    values.has_only(subject, &["apiGroup", "kind", "name", "namespace"]).then_some(())?;
    let text = |field| values.text_at(subject, &[field]);
    let name = escaped(text("name"));
    match (text("apiGroup"), text("kind"), text("namespace")) {
        (GROUP, "User", "") => Some(Subject::User(name)),
        (GROUP, "Group", "") => Some(Subject::Group(name)),
        ("", "ServiceAccount", own) if own == namespace => Some(Subject::Account(None, name)),
        ("", "ServiceAccount", other) => Some(Subject::Account(Some(escaped(other)), name)),
        _ => None,
    }
}

/// Returns the texts of a map; none for a map with other values.
fn texts(values: &InternedValues, map: Option<ValueId>) -> Option<BTreeMap<String, String>> {
    let entries = map.into_iter().flat_map(|map| values.entries(map));
    entries.map(|(key, value)| Some((key.to_owned(), escaped(values.as_text(value)?)))).collect()
}

/// Puts bindings together that are equal but for their namespace.
fn merged_namespaces(bindings: Vec<Binding>) -> BTreeMap<Shape, Members> {
    let mut literal: BTreeMap<Shape, Members> = BTreeMap::new();
    for Binding { index, namespace, shape } in bindings {
        literal.entry(shape).or_default().insert(namespace, index);
    }
    let mut merged: BTreeMap<Shape, Members> = BTreeMap::new();
    let mut by_pattern: BTreeMap<Shape, Vec<(Shape, Members)>> = BTreeMap::new();
    for (shape, members) in literal {
        let only = members.keys().next().filter(|_| members.len() == 1 && !shape.is_cluster_wide);
        match only
            .filter(|namespace| shape.contains(&escaped(namespace)))
            .map(|namespace| shape.with_variable(namespace, NAMESPACE_VARIABLE))
            .filter(|pattern| *pattern != shape)
        {
            Some(pattern) => by_pattern.entry(pattern).or_default().push((shape, members)),
            None => _ = merged.insert(shape, members),
        }
    }
    for (pattern, alike) in by_pattern {
        if alike.len() > 1 {
            merged.entry(pattern).or_default().extend(alike.into_iter().flat_map(|(_, members)| members));
        } else {
            merged.extend(alike);
        }
    }
    merged
}

impl Shape {
    /// Whether a text of the shape contains a text.
    fn contains(&self, text: &str) -> bool {
        let is_in_subject = |subject: &Subject| match subject {
            Subject::Account(Some(namespace), name) => namespace.contains(text) || name.contains(text),
            Subject::User(name) | Subject::Group(name) | Subject::Account(None, name) => name.contains(text),
        };
        let is_in_map = |map: &BTreeMap<String, String>| map.values().any(|value| value.contains(text));
        self.name.contains(text)
            || self.subjects.iter().any(is_in_subject)
            || is_in_map(&self.labels)
            || is_in_map(&self.annotations)
    }

    /// Returns the shape with a variable in place of the name of its namespace.
    pub(super) fn with_variable(&self, namespace: &str, variable: &str) -> Self {
        let namespace = escaped(namespace);
        let fill = |text: &str| with_variable(text, &namespace, variable);
        let fill_map = |map: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            map.iter().map(|(key, value)| (key.clone(), fill(value))).collect()
        };
        let subjects = self.subjects.iter().map(|subject| match subject {
            Subject::User(name) => Subject::User(fill(name)),
            Subject::Group(name) => Subject::Group(fill(name)),
            Subject::Account(other, name) => Subject::Account(other.as_deref().map(fill), fill(name)),
        });
        Self {
            name: fill(&self.name),
            subjects: subjects.collect(),
            labels: fill_map(&self.labels),
            annotations: fill_map(&self.annotations),
            ..self.clone()
        }
    }
}

/// Puts a variable in place of each occurrence of a name that letters and digits do not continue.
pub(super) fn with_variable(text: &str, name: &str, variable: &str) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some((head, tail)) = rest.split_once(name).filter(|_| !name.is_empty()) {
        let previous = head.chars().next_back().or(before);
        let continues = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
        filled.push_str(head);
        filled.push_str(if continues(previous) || continues(tail.chars().next()) { name } else { variable });
        before = name.chars().next_back();
        rest = tail;
    }
    filled.push_str(rest);
    filled
}

/// Puts the variable of the role in place of its name: at the end of a text, or where the name stands once.
fn with_role(text: &str, role: &str) -> String {
    let is_bound = |before: &str| !before.ends_with(char::is_alphanumeric);
    if let Some(before) = text.strip_suffix(role).filter(|before| is_bound(before)) {
        return format!("{before}{ROLE_VARIABLE}");
    }
    let filled = with_variable(text, role, ROLE_VARIABLE);
    if filled.matches(ROLE_VARIABLE).count() == 1 { filled } else { text.to_owned() }
}

/// A Grant before it is written.
struct Grant {
    /// The binding. With several roles, its name is the pattern of the names.
    shape: Shape,
    roles: Vec<BoundRole>,
    namespaces: Vec<Box<str>>,
    objects: Vec<usize>,
}

/// Puts bindings of several roles together that one pattern names.
fn merged_roles(merged: BTreeMap<Shape, Members>) -> Vec<Grant> {
    type Key = (Shape, Vec<Box<str>>);
    let mut by_pattern: BTreeMap<Key, Vec<(Shape, Vec<usize>)>> = BTreeMap::new();
    for (shape, members) in merged {
        let (namespaces, objects) = members.into_iter().unzip();
        let name = with_role(&shape.name, &escaped(shape.role.name()));
        let no_role = BoundRole::OtherRole(String::new());
        let pattern = if name == shape.name { shape.clone() } else { Shape { name, role: no_role, ..shape.clone() } };
        by_pattern.entry((pattern, namespaces)).or_default().push((shape, objects));
    }
    let mut grants = Vec::new();
    for ((pattern, namespaces), found) in by_pattern {
        let names: BTreeSet<&str> = found.iter().map(|(shape, _)| shape.role.name()).collect();
        if found.len() > 1 && names.len() == found.len() {
            let roles = found.iter().map(|(shape, _)| shape.role.clone()).collect();
            let objects = found.into_iter().flat_map(|(_, objects)| objects).collect();
            grants.push(Grant { shape: pattern, roles, namespaces, objects });
            continue;
        }
        for (shape, objects) in found {
            let roles = vec![shape.role.clone()];
            grants.push(Grant { shape, roles, namespaces: namespaces.clone(), objects });
        }
    }
    grants.sort_by(|left, right| {
        let names = || left.shape.name.cmp(&right.shape.name);
        names().then_with(|| left.objects.iter().min().cmp(&right.objects.iter().min()))
    });
    grants
}

impl Grant {
    /// Returns the name of the policy and its `spec`.
    fn write(&self, sets: &[String], names: &mut Names) -> (String, Value) {
        let mut spec = Map::new();
        spec.insert("to".to_owned(), self.shape.written_subjects());
        let set_names = self.roles.iter().filter_map(|role| match role {
            BoundRole::Set(position, _) => sets.get(*position).cloned(),
            _ => None,
        });
        let named = |wanted: fn(&BoundRole) -> bool| {
            let roles = self.roles.iter().filter(move |role| wanted(role));
            roles.map(|role| escaped(role.name())).collect::<BTreeSet<String>>()
        };
        let lists = [
            ("permissionSets", set_names.collect()),
            ("clusterRoles", named(|role| matches!(role, BoundRole::OtherClusterRole(_)))),
            ("roles", named(|role| matches!(role, BoundRole::OtherRole(_)))),
        ];
        for (key, texts) in lists {
            if !texts.is_empty() {
                spec.insert(key.to_owned(), texts.into_iter().collect());
            }
        }
        if self.shape.is_cluster_wide {
            spec.insert("clusterWide".to_owned(), true.into());
        } else {
            spec.insert("namespaces".to_owned(), self.namespaces.iter().map(|name| escaped(name)).collect());
        }
        let prefix = self.default_prefix().filter(|prefix| names.take_free(prefix));
        let name = match prefix {
            Some(prefix) => prefix,
            None => {
                spec.insert("bindingName".to_owned(), self.shape.name.clone().into());
                names.take(&self.policy_name())
            }
        };
        self.shape.write_terms(&mut spec);
        (name, spec.into())
    }

    /// Returns the name of a policy whose bindings have these names by default: `NAME-{role}`.
    fn default_prefix(&self) -> Option<String> {
        let pattern = match self.roles.as_slice() {
            [role] => with_role(&self.shape.name, &escaped(role.name())),
            _ => self.shape.name.clone(),
        };
        let prefix = pattern.strip_suffix(ROLE_VARIABLE)?.strip_suffix('-')?;
        (!prefix.contains(['{', '}'])).then(|| prefix.to_owned())
    }

    /// Returns the name of the binding without its variables as the name of the policy, or else the name of a subject.
    fn policy_name(&self) -> String {
        let name = self.shape.name.replace(NAMESPACE_VARIABLE, "").replace(ROLE_VARIABLE, "");
        if name.contains(char::is_alphanumeric) {
            return dns_label(&name);
        }
        dns_label(absent::text(self.shape.subjects.first().map(Subject::text)))
    }
}

impl Shape {
    /// Returns the subjects as a Grant states them.
    pub(super) fn written_subjects(&self) -> Value {
        let (mut users, mut groups, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
        for subject in &self.subjects {
            match subject {
                Subject::User(name) => users.push(name),
                Subject::Group(name) => groups.push(name),
                Subject::Account(None, name) => accounts.push(json!({ "name": name })),
                Subject::Account(Some(namespace), name) => {
                    accounts.push(json!({ "name": name, "namespace": namespace }));
                }
            }
        }
        let mut to = Map::new();
        for (key, names) in [("users", users), ("groups", groups)] {
            if !names.is_empty() {
                to.insert(key.to_owned(), names.into_iter().cloned().collect());
            }
        }
        if !accounts.is_empty() {
            to.insert("serviceAccounts".to_owned(), accounts.into());
        }
        to.into()
    }

    /// Adds the terms, the labels and the annotations, as a Grant states them.
    pub(super) fn write_terms(&self, spec: &mut Map<String, Value>) {
        let mut annotations = self.annotations.clone();
        for (key, field) in TERMS {
            let Some(text) = annotations.remove(key) else { continue };
            let value: Value = if field == "approvedBy" { text.split(',').collect() } else { text.into() };
            spec.insert(field.to_owned(), value);
        }
        for (key, texts) in [("labels", &self.labels), ("annotations", &annotations)] {
            if !texts.is_empty() {
                let texts = texts.iter().map(|(key, text)| (key.clone(), text.clone().into()));
                spec.insert(key.to_owned(), texts.collect::<Map<_, _>>().into());
            }
        }
    }
}
