//! Files whose roles and bindings change alike: of many thousand tenants one tenant is compared for all of them.
//!
//! The others gain and lose the same permissions under their own names, since all roles and bindings of their files are
//! equal up to the names, before and after ([`bailiwick_base::alike`]). This holds if no other object refers to them by name:
//!
//! - the file has everything that counts: Roles and RoleBindings of its namespace, and ClusterRoles with names that are not
//!   its own; no number of the file names a subject ([`Alike::of`]);
//! - a subject named after the tenant has no cluster-wide permissions, and no object of the baseline is in the namespace
//!   ([`Class::delegate`]). Any other tenant is compared on its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_access::compare::{Affected, Change};
use bailiwick_access::who_can::PermissionScope;
use bailiwick_access::world::account_user;
use bailiwick_base::alike::OwnName;
use bailiwick_compiler::emit::group::SINGLE;
use bailiwick_compiler::emit::objects::ChangeSignature;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

/// The texts of the roles and bindings of a file, before and after.
pub(super) type Texts = [Vec<String>; 2];

/// The conditions under which the roles and bindings of a file can represent the roles and bindings of other files.
#[derive(Debug, Clone)]
pub(super) struct Alike {
    texts: Texts,
    /// Users, groups and accounts named after the tenant.
    holders: BTreeSet<String>,
}

impl Alike {
    /// Creates the conditions of the file of a namespace; none if it represents only itself.
    pub(super) fn of(namespace: &str, texts: &Texts) -> Option<Self> {
        let own = OwnName::new(namespace)?;
        let mut holders = BTreeSet::new();
        for text in texts.iter().flatten() {
            let tree = yaml::read(text, FileId::default(), &mut Sink::new());
            for object in tree.documents() {
                holders.extend(holders_of(object, namespace, own)?);
            }
        }
        Some(Self { texts: texts.clone(), holders })
    }
}

/// Returns the holders named after the tenant that a role or binding names; none where it keeps its file from standing for
/// others.
fn holders_of(object: NodeRef<'_>, namespace: &str, own: OwnName<'_>) -> Option<Vec<String>> {
    let text = |node: NodeRef<'_>, keys: &[&str]| -> String {
        node.path(keys).and_then(NodeRef::as_str).unwrap_or_default().to_owned()
    };
    let kind = text(object, &["kind"]);
    if text(object, &["metadata", "namespace"]) != namespace || !matches!(&*kind, "Role" | "RoleBinding") {
        return None;
    }
    if own.has_number(&text(object, &["metadata", "name"])) {
        return None;
    }
    for part in ["rules", "subjects", "roleRef"].iter().filter_map(|key| object.get(key)) {
        if own.has_number(&yaml::schema::to_json(part).to_string()) {
            return None;
        }
    }
    if text(object, &["roleRef", "kind"]) == "ClusterRole" && own.is_in(&text(object, &["roleRef", "name"])) {
        return None;
    }
    let subjects = object.get("subjects").into_iter().flat_map(NodeRef::items);
    let holders = subjects.map(|subject| match &*text(subject, &["kind"]) {
        "ServiceAccount" => {
            let of = Some(text(subject, &["namespace"])).filter(|namespace| !namespace.is_empty());
            account_user(&of.unwrap_or_else(|| namespace.to_owned()), &text(subject, &["name"]))
        }
        _ => text(subject, &["name"]),
    });
    Some(holders.filter(|holder| own.is_in(holder)).collect())
}

/// The classes of files that change alike.
#[derive(Debug, Default)]
pub(super) struct Classes {
    classes: Vec<Class>,
    by_way: HashMap<u128, usize>,
}

/// Files that change alike.
#[derive(Debug)]
struct Class {
    /// The roles and bindings of the first file.
    first: Alike,
    /// Their namespaces.
    namespaces: Vec<String>,
    /// The position of the file that is compared, and the positions of the files that it stands for.
    delegate: usize,
    represented: Vec<usize>,
}

impl Classes {
    /// Adds a file; false when no other of its way was there before.
    pub(super) fn add(&mut self, way: &ChangeSignature) -> bool {
        let class = self.by_way.get(&way.access_digest).and_then(|&position| self.classes.get_mut(position));
        class.map(|class| class.namespaces.push(way.name.clone())).is_some()
    }

    /// Adds the first file of a way.
    pub(super) fn found(&mut self, way: &ChangeSignature, first: Alike) {
        self.by_way.insert(way.access_digest, self.classes.len());
        let namespaces = vec![way.name.clone()];
        self.classes.push(Class { first, namespaces, delegate: 0, represented: Vec::new() });
    }

    /// Forms the classes, and returns the roles and bindings to compare beside the first file of each class. `wide` are
    /// the subjects with cluster-wide permissions, `places` the namespaces of the baseline.
    pub(super) fn settle(
        &mut self,
        wide: &BTreeSet<String>,
        places: &BTreeSet<String>,
    ) -> Vec<(String, [Vec<Tree>; 2])> {
        self.classes.iter_mut().flat_map(|class| class.delegate(wide, places)).collect()
    }

    /// Adds the changes of the represented files to the changes of their class: to each change its subjects, unless its
    /// rules name something of the tenant's own. All of them are then one change, or a change each if they are few.
    pub(super) fn spread(&self, changes: Vec<Change>) -> Vec<Change> {
        let delegates: BTreeMap<&str, &Class> =
            self.classes.iter().filter_map(|class| Some((class.name(class.delegate)?, class))).collect();
        let mut whole: Vec<Change> = Vec::new();
        for mut change in changes {
            let mut own: BTreeMap<&str, Vec<Affected>> = BTreeMap::new();
            let mut subjects = Vec::with_capacity(change.subjects.len());
            for subject in std::mem::take(&mut change.subjects) {
                let found = subject.scope.namespace().and_then(|namespace| delegates.get_key_value(namespace));
                match found.filter(|(_, class)| !class.represented.is_empty()) {
                    None => subjects.push(subject),
                    Some((delegate, _)) if names(&change, delegate) => own.entry(delegate).or_default().push(subject),
                    Some((_, class)) => {
                        subjects.extend(class.members().map(|member| class.as_member(&subject, member)))
                    }
                }
            }
            for (delegate, subjects) in own {
                whole.extend(delegates.get(delegate).into_iter().flat_map(|class| class.told(&change, &subjects)));
            }
            if !subjects.is_empty() {
                whole.push(Change { subjects, ..change });
            }
        }
        whole
    }
}

impl Class {
    fn name(&self, position: usize) -> Option<&str> {
        self.namespaces.get(position).map(String::as_str)
    }

    fn delegate(&mut self, wide: &BTreeSet<String>, places: &BTreeSet<String>) -> Vec<(String, [Vec<Tree>; 2])> {
        let Some(first) = self.namespaces.first().cloned() else { return Vec::new() };
        let Some(own) = OwnName::new(&first) else { return Vec::new() };
        let is_free = |namespace: &str| {
            let other = own.of_same_shape(namespace);
            !places.contains(namespace)
                && !self.first.holders.iter().any(|holder| wide.contains(&own.renamed(other, holder)))
        };
        let (free, bound): (Vec<usize>, Vec<usize>) =
            (0..self.namespaces.len()).partition(|&position| self.name(position).is_some_and(is_free));
        let mut free = free.into_iter();
        let mut apart: Vec<usize> = bound;
        if let Some(delegate) = free.next() {
            self.delegate = delegate;
            apart.push(delegate);
        }
        self.represented = free.collect();
        // The first one is compared in any case.
        apart.retain(|position| *position != 0);
        let read = |namespace: &str, texts: &[String]| -> Vec<Tree> {
            let texts = texts.iter().map(|text| own.renamed(own.of_same_shape(namespace), text));
            texts.map(|text| yaml::read(&text, FileId::default(), &mut Sink::new())).collect()
        };
        let [old, new] = &self.first.texts;
        let names = apart.into_iter().filter_map(|position| self.name(position));
        names.map(|name| (name.to_owned(), [read(name, old), read(name, new)])).collect()
    }

    /// Returns the namespace of the compared file and the namespaces of the represented files.
    fn members(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.delegate).chain(&self.represented).filter_map(|&position| self.name(position))
    }

    fn own_name(&self) -> Option<OwnName<'_>> {
        self.name(self.delegate).and_then(OwnName::new)
    }

    /// Returns a subject of the compared file as it is in another file.
    fn as_member(&self, subject: &Affected, member: &str) -> Affected {
        let renamed = self.own_name().map(|own| own.renamed(own.of_same_shape(member), &subject.subject));
        Affected {
            subject: renamed.unwrap_or_else(|| subject.subject.clone()),
            scope: PermissionScope::Namespace(member.to_owned()),
        }
    }

    /// Returns rules of the compared file as they are in another file.
    fn rules_of(&self, rules: &[PolicyRule], member: &str) -> Vec<PolicyRule> {
        let mut rules = rules.to_vec();
        let Some(own) = self.own_name() else { return rules };
        for name in rules.iter_mut().flat_map(|rule| &mut rule.resource_names) {
            *name = own.renamed(own.of_same_shape(member), name);
        }
        rules
    }

    /// Returns a change whose rules name an object of the tenant, once for each of its tenants.
    fn told(&self, change: &Change, subjects: &[Affected]) -> Vec<Change> {
        let as_member = |member: &str, subjects: Vec<Affected>, own_names: bool| Change {
            gained: self.rules_of(&change.gained, member),
            lost: self.rules_of(&change.lost, member),
            subjects,
            own_names,
        };
        let of = |member: &str| subjects.iter().map(|subject| self.as_member(subject, member)).collect::<Vec<_>>();
        if self.represented.len() < SINGLE {
            return self.members().map(|member| as_member(member, of(member), false)).collect();
        }
        let mut all: Vec<Affected> = self.members().flat_map(of).collect();
        all.sort();
        let first = all.first().map(|first| first.scope.clone());
        let member = match &first {
            Some(PermissionScope::Namespace(namespace)) => namespace,
            _ => return Vec::new(),
        };
        vec![as_member(member, all, true)]
    }
}

/// Returns whether a rule of a change names something of a tenant's own.
fn names(change: &Change, namespace: &str) -> bool {
    let Some(own) = OwnName::new(namespace) else { return false };
    change.gained.iter().chain(&change.lost).flat_map(|rule| &rule.resource_names).any(|name| own.is_in(name))
}
