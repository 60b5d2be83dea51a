//! Checks of several objects: duplicates, and references to absent objects.
//!
//! Each output file yields a few facts while its objects are in memory; only the facts of all files together remain in
//! memory, a name or two for each tenant.

mod part;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::rbac::RbacForm;
use bailiwick_kubernetes::readers::stored_group;
use bailiwick_kubernetes::{absent, default_policy};
use bailiwick_policy::model::{Category, ObjectId, Target, TypeMeta, Unit, is_always_known};
use bailiwick_yaml::diag::words::number;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink, nearest};
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::{NodeRef, internal};
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

pub use part::{PartCollector, PartFacts, judge};

/// How many declared names are compared for a near miss: each unresolved reference compares them all.
const MAXIMUM_NEAR: usize = 10_000;

/// Facts about the objects of one file.
#[derive(Debug, Default)]
pub struct OutputFileFacts {
    roles: BTreeSet<Arc<str>>,
    accounts: BTreeSet<Arc<str>>,
    bindings: Vec<Binding>,
    /// Objects without a namespace or in `default`: their type and name, and where they come from.
    cluster: Vec<(TypeMeta, Arc<str>, Origin)>,
    /// Roles by kind and name whose rules are remarkable.
    remarkable: Vec<(RoleName, Remarkable, Origin)>,
}

/// Kind and name of a role; a `Role` is in the namespace of its binding.
type RoleName = (Arc<str>, Arc<str>);

/// A role of bindings, and whether the bindings are of manifests.
type WantedRole = (Arc<str>, bool);

/// The bindings of a role: the first one, and their number.
#[derive(Debug)]
struct Bindings {
    identity: ObjectId,
    origin: Origin,
    account: Option<Origin>,
    count: usize,
}

impl Bindings {
    /// Starts with no bindings before the first one.
    fn before(first: &Binding) -> Self {
        Self { identity: first.identity.clone(), origin: first.role_origin, account: first.account, count: 0 }
    }
}

/// The parts of a binding that the checks use.
#[derive(Debug)]
struct Binding {
    identity: ObjectId,
    role: RoleName,
    origin: Origin,
    /// The place of the reference to the role.
    role_origin: Origin,
    /// Whether a manifest has the binding: its role may come from elsewhere.
    is_manifest: bool,
    account: Option<Origin>,
    service_accounts: Vec<(Arc<str>, Arc<str>)>,
    everyone: Option<String>,
}

/// The parts of a role that advice needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Remarkable {
    UsesPodSecurityPolicies,
    DeletesCollections,
}

impl OutputFileFacts {
    /// Notes that an object is made, valid or not: a reference to an invalid one is no second mistake.
    pub(super) fn name(&mut self, unit: &Unit) {
        let identity = &unit.identity;
        match &*identity.object_type.kind {
            "Role" => {
                self.roles.insert(Arc::clone(&identity.name));
            }
            "ServiceAccount" => {
                self.accounts.insert(Arc::clone(&identity.name));
            }
            _ => {}
        }
        // kustomize takes an object without a namespace for one of `default`, and only some custom resources can be both.
        let is_default = || identity.namespace.as_deref() == Some("default");
        if &*identity.object_type.kind != "Namespace" && (identity.namespace.is_none() || is_default()) {
            self.cluster.push((identity.object_type.clone(), Arc::clone(&identity.name), unit.origin));
        }
    }

    /// Notes what matters of a valid object.
    pub(super) fn add(&mut self, unit: &Unit, root: NodeRef<'_>) {
        match &*unit.identity.object_type.kind {
            "Role" | "ClusterRole" => self.note_rules(unit, root),
            "RoleBinding" | "ClusterRoleBinding" => self.note_binding(unit, root),
            _ => {}
        }
    }

    fn note_binding(&mut self, unit: &Unit, root: NodeRef<'_>) {
        let Some(form) = RbacForm::of_api_version(&unit.identity.object_type.api_version) else { return };
        let (role, subjects) = (form.role_ref(root), form.subjects(root));
        let everyone =
            subjects.iter().filter(|subject| subject.kind == "Group").map(|subject| subject.name).find(|name| {
                matches!(*name, "system:authenticated" | "system:unauthenticated" | "system:serviceaccounts")
            });
        self.bindings.push(Binding {
            identity: unit.identity.clone(),
            role: (role.kind.into(), role.name.into()),
            origin: unit.origin,
            role_origin: unit.source.role.map_or(unit.content, |role| role),
            is_manifest: unit.source.is_manifest,
            account: unit.account,
            service_accounts: subjects
                .iter()
                .filter(|subject| subject.kind == "ServiceAccount")
                .map(|subject| (subject.namespace.into(), subject.name.into()))
                .collect(),
            everyone: everyone.map(str::to_owned),
        });
    }

    fn note_rules(&mut self, unit: &Unit, root: NodeRef<'_>) {
        for rule in root.get("rules").into_iter().flat_map(NodeRef::items) {
            let has = |field: &str, wanted: &[&str]| {
                rule.get(field)
                    .into_iter()
                    .flat_map(NodeRef::items)
                    .filter_map(NodeRef::as_str)
                    .any(|value| value == "*" || wanted.contains(&value))
            };
            let key = || (Arc::clone(&unit.identity.object_type.kind), Arc::clone(&unit.identity.name));
            if has("verbs", &["use"])
                && has("resources", &["podsecuritypolicies"])
                && has("apiGroups", &["policy", "extensions"])
            {
                self.remarkable.push((key(), Remarkable::UsesPodSecurityPolicies, unit.content));
            }
            if has("verbs", &["deletecollection"])
                && has("resources", &["configmaps", "secrets"])
                && has("apiGroups", &[""])
            {
                self.remarkable.push((key(), Remarkable::DeletesCollections, unit.content));
            }
        }
    }
}

/// Facts about all objects of a target, gathered file by file.
#[derive(Debug)]
pub struct TargetFacts<'p> {
    target: &'p Target,
    existing: &'p BTreeSet<ObjectId>,
    /// The places of cluster-scoped objects: there may be one for each tenant.
    cluster: ObjectPlaces,
    /// How many of them there may be.
    expected: usize,
    /// The names of the ClusterRoles among them.
    cluster_roles: BTreeSet<Arc<str>>,
    /// The ClusterRoles of bindings.
    wanted: BTreeMap<WantedRole, Bindings>,
    /// ClusterRoles that are bound to tenants.
    tenant_roles: BTreeSet<Arc<str>>,
    /// ClusterRoles whose rules are remarkable.
    remarkable: Vec<(Arc<str>, Remarkable, Origin)>,
    /// Bindings of ClusterRoles to all users: the role, the group, and the binding.
    everyone: Vec<(Arc<str>, String, ObjectId, Origin)>,
}

/// The places of objects by a hash of their type and name. The hash table has positions, so that its free slots take little memory.
#[derive(Debug, Default)]
struct ObjectPlaces {
    hashes: Vec<u128>,
    places: Vec<Origin>,
    positions: HashTable<u32>,
}

impl ObjectPlaces {
    /// Reserves room for so many objects.
    fn reserve(&mut self, objects: usize) {
        self.hashes.reserve_exact(objects);
        self.places.reserve_exact(objects);
        self.positions.reserve(objects, |position| half(&self.hashes, *position));
    }

    fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Adds an object, or returns the place of the first one with the hash.
    fn add(&mut self, hash: u128, place: Origin) -> Option<Origin> {
        let Self { hashes, places, positions } = self;
        let is_it = |position: &u32| hashes.get(*position as usize) == Some(&hash);
        if let Some(first) = positions.find(hash as u64, is_it) {
            return places.get(*first as usize).copied();
        }
        let position = internal::number(hashes.len());
        hashes.push(hash);
        places.push(place);
        positions.insert_unique(hash as u64, position, |position| half(hashes, *position));
        None
    }
}

/// Returns the half of a hash that the table uses.
fn half(hashes: &[u128], position: u32) -> u64 {
    hashes.get(position as usize).map_or(0, |hash| *hash as u64)
}

impl<'p> TargetFacts<'p> {
    /// Creates an empty set of facts; `existing` are objects that exist without being compiled.
    pub fn new(target: &'p Target, existing: &'p BTreeSet<ObjectId>) -> Self {
        Self {
            target,
            existing,
            cluster: ObjectPlaces::default(),
            expected: 0,
            cluster_roles: BTreeSet::new(),
            wanted: BTreeMap::new(),
            tenant_roles: BTreeSet::new(),
            remarkable: Vec::new(),
            everyone: Vec::new(),
        }
    }

    /// Expects so many cluster-scoped objects if there are any: growing step by step would touch twice the memory.
    pub fn expect(&mut self, objects: usize) {
        self.expected = objects;
    }

    /// Adds the facts of a file and checks the facts that need no other file; `made_here` returns whether some policy
    /// makes objects in a namespace.
    pub fn absorb(&mut self, facts: OutputFileFacts, made_here: &dyn Fn(&str) -> bool, sink: &mut Sink) {
        if self.cluster.is_empty() && !facts.cluster.is_empty() {
            self.cluster.reserve(self.expected);
        }
        for (object_type, name, origin) in facts.cluster {
            match self.cluster.add(hash_of(&object_type, &name), origin) {
                Some(first) => {
                    sink.push(duplicate(&ObjectId { object_type, namespace: None, name }, origin, first));
                }
                None if is_cluster_role(&object_type.api_version, &object_type.kind) => {
                    self.cluster_roles.insert(name);
                }
                None => {}
            }
        }
        let mut of_manifests: BTreeMap<&Arc<str>, Bindings> = BTreeMap::new();
        for binding in &facts.bindings {
            if self.lacks_role(binding, &facts.roles) {
                if binding.is_manifest {
                    of_manifests.entry(&binding.role.1).or_insert_with(|| Bindings::before(binding)).count += 1;
                } else {
                    let bindings = Bindings::before(binding);
                    let reference = RoleReference { kind: "Role", name: &binding.role.1, bindings: &bindings };
                    sink.push(reference.unresolved(self.target, &self.near_roles(&facts.roles)));
                }
            }
            self.check_accounts(binding, &facts.accounts, made_here, sink);
            let (kind, name) = &binding.role;
            let of_here = |(role, ..): &&(RoleName, Remarkable, Origin)| **kind == *"Role" && *role == binding.role;
            if let Some(group) = &binding.everyone {
                let uses = |fact: &&(RoleName, Remarkable, Origin)| fact.1 == Remarkable::UsesPodSecurityPolicies;
                if **kind == *"ClusterRole" {
                    let binding = (Arc::clone(name), group.clone(), binding.identity.clone(), binding.origin);
                    self.everyone.push(binding);
                } else if facts.remarkable.iter().filter(of_here).any(|fact| uses(&fact)) {
                    sink.push(binds_profile_to_everyone(&binding.role, group, &binding.identity, binding.origin));
                }
            }
            if binding.account.is_some() && **kind == *"ClusterRole" {
                self.tenant_roles.insert(Arc::clone(name));
            }
        }
        for (name, bindings) in &of_manifests {
            let reference = RoleReference { kind: "Role", name, bindings };
            sink.push(reference.unknown(self.target, &self.near_roles(&facts.roles)));
        }
        for (role, remarkable, origin) in facts.remarkable {
            if *role.0 == *"ClusterRole" {
                self.remarkable.push((role.1, remarkable, origin));
            } else if remarkable == Remarkable::DeletesCollections
                && facts.bindings.iter().any(|binding| binding.account.is_some() && binding.role == role)
            {
                sink.push(delete_collection_for_tenants(&role, origin));
            }
        }
    }

    /// Checks what needs the facts of every file.
    pub fn finish(&self, sink: &mut Sink) {
        let cluster_role = TypeMeta::new("rbac.authorization.k8s.io/v1", "ClusterRole");
        for ((name, is_manifest), bindings) in &self.wanted {
            let identity = ObjectId { object_type: cluster_role.clone(), namespace: None, name: Arc::clone(name) };
            let known = self.cluster_roles.contains(name)
                || self.existing.contains(&identity)
                || default_policy::is_cluster_role(name, self.target.version.minor())
                || is_always_known(Category::ClusterRoles, name, self.target.platform)
                || self.target.known.declares(Category::ClusterRoles, name);
            // The error about a policy is enough.
            let is_reported = *is_manifest && self.wanted.contains_key(&(Arc::clone(name), false));
            if known || is_reported {
                continue;
            }
            let minor = self.target.version.minor();
            let made = self.cluster_roles.iter().map(|name| -> &str { name });
            let candidates: Vec<&str> = made
                .chain(default_policy::cluster_roles(minor).map(|name| -> &str { name }))
                .chain(self.target.known.names(Category::ClusterRoles).take(MAXIMUM_NEAR))
                .collect();
            let reference = RoleReference { kind: "ClusterRole", name, bindings };
            sink.push(match is_manifest {
                true => reference.unknown(self.target, &candidates),
                false => reference.unresolved(self.target, &candidates),
            });
        }
        let role = |name: &Arc<str>| (Arc::clone(&cluster_role.kind), Arc::clone(name));
        for (name, group, binding, origin) in &self.everyone {
            let is_one = |known: &Arc<str>, remarkable: Remarkable| {
                known == name && remarkable == Remarkable::UsesPodSecurityPolicies
            };
            if self.remarkable.iter().any(|(known, remarkable, _)| is_one(known, *remarkable)) {
                sink.push(binds_profile_to_everyone(&role(name), group, binding, *origin));
            }
        }
        for (name, remarkable, origin) in &self.remarkable {
            if *remarkable == Remarkable::DeletesCollections && self.tenant_roles.contains(name) {
                sink.push(delete_collection_for_tenants(&role(name), *origin));
            }
        }
    }

    /// Whether a binding refers to a Role that is not there; a ClusterRole can be in another file.
    fn lacks_role(&mut self, binding: &Binding, roles: &BTreeSet<Arc<str>>) -> bool {
        let (kind, name) = &binding.role;
        if **kind == *"ClusterRole" {
            let key = (Arc::clone(name), binding.is_manifest);
            self.wanted.entry(key).or_insert_with(|| Bindings::before(binding)).count += 1;
            return false;
        }
        let identity = ObjectId {
            object_type: TypeMeta::new("rbac.authorization.k8s.io/v1", "Role"),
            namespace: binding.identity.namespace.clone(),
            name: Arc::clone(name),
        };
        let namespace = absent::text(binding.identity.namespace.as_deref());
        !(roles.contains(name)
            || self.existing.contains(&identity)
            || default_policy::is_role(namespace, name, self.target.version.minor())
            || self.target.known.declares(Category::Roles, name))
    }

    /// Returns the names of the Roles of a file and the declared ones, for suggestions.
    fn near_roles<'r>(&'r self, roles: &'r BTreeSet<Arc<str>>) -> Vec<&'r str> {
        let declared = self.target.known.names(Category::Roles).take(MAXIMUM_NEAR);
        roles.iter().map(|role| &**role).chain(declared).collect()
    }

    /// Reports an account that no policy makes, in a namespace that a policy makes. The account can come from
    /// elsewhere, so this is advice.
    fn check_accounts(
        &self,
        binding: &Binding,
        accounts: &BTreeSet<Arc<str>>,
        made_here: &dyn Fn(&str) -> bool,
        sink: &mut Sink,
    ) {
        for (namespace, name) in &binding.service_accounts {
            let here = binding.identity.namespace.as_ref() == Some(namespace) || namespace.is_empty();
            if !here || &**name == "default" || accounts.contains(name) || !made_here(namespace) {
                continue;
            }
            let identity = ObjectId {
                object_type: TypeMeta::new("v1", "ServiceAccount"),
                namespace: Some(Arc::clone(namespace)),
                name: Arc::clone(name),
            };
            if self.existing.contains(&identity) {
                continue;
            }
            sink.push(
                Diagnostic::warning(
                    codes::UNRESOLVED_REFERENCE,
                    format!("no policy creates the service account `{name}` in `{namespace}`"),
                )
                .at(binding.origin)
                .help("set `create: true` next to its name, or add it with a Manifests policy")
                .note(format!("in {}", binding.identity))
                .foldable(),
            );
        }
    }
}

fn is_cluster_role(api_version: &str, kind: &str) -> bool {
    kind == "ClusterRole" && RbacForm::of_api_version(api_version).is_some()
}

/// Returns a hash that only equal objects share.
/// Returns the hash of an object of the cluster: all versions and aliases of its group are one object.
fn hash_of(object_type: &TypeMeta, name: &str) -> u128 {
    digest_of_run(&(stored_group(object_type.group(), &object_type.kind), &*object_type.kind, name))
}

fn binds_profile_to_everyone((kind, name): &RoleName, group: &str, binding: &ObjectId, origin: Origin) -> Diagnostic {
    let message = format!("every member of `{group}` can use the PodSecurityPolicy of {kind}/{name}");
    Diagnostic::warning(codes::BINDS_PROFILE_TO_EVERYONE, message)
        .at(origin)
        .help("bind it only to the accounts that need it")
        .note(format!("in {binding}"))
}

fn delete_collection_for_tenants((kind, name): &RoleName, origin: Origin) -> Diagnostic {
    let message = "tenants can delete every ConfigMap or Secret of their namespace at once";
    Diagnostic::warning(codes::DELETE_COLLECTION_FOR_TENANTS, message)
        .at(origin)
        .help("exclude it: `except: [{resources: [configmaps, secrets], verbs: [deletecollection]}]`")
        .note(format!("the role is {kind}/{name}"))
        .foldable()
}

/// Returns the diagnostic for an object that is made twice.
pub fn duplicate(identity: &ObjectId, second: Origin, first: Origin) -> Diagnostic {
    let (earlier, later) = if first <= second { (first, second) } else { (second, first) };
    Diagnostic::error(codes::DUPLICATE_OBJECT, format!("{identity} exists twice"))
        .at(later)
        .and(earlier, "also created here")
        .help(match &*identity.object_type.kind {
            "PodSecurityPolicy" | "SecurityContextConstraints" => {
                "rename or remove one of them; accounts share an object of a profile only if all its values are equal"
            }
            _ => "rename or remove one of them",
        })
}

/// The reference of bindings to a role.
struct RoleReference<'r> {
    kind: &'static str,
    name: &'r str,
    bindings: &'r Bindings,
}

impl RoleReference<'_> {
    /// Returns the error for a role that a policy names and that does not exist; `candidates` are the names of others.
    fn unresolved(&self, target: &Target, candidates: &[&str]) -> Diagnostic {
        let Self { kind, name, bindings } = *self;
        let help = match nearest(name, candidates.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write a PermissionSet of this name, or bring the role in with a Manifests policy".to_owned(),
        };
        let mut diagnostic = Diagnostic::error(codes::UNRESOLVED_REFERENCE, format!("there is no {kind} `{name}`"))
            .at(bindings.origin)
            .help(help);
        if let Some(account) = bindings.account {
            diagnostic = diagnostic.and(account, "for this account");
        }
        diagnostic.note(format!("in {}, on the target `{}`", bindings.identity, target.name)).foldable()
    }

    /// Returns the warning for a role that manifests bind: an operator can make the role.
    fn unknown(&self, target: &Target, candidates: &[&str]) -> Diagnostic {
        let Self { kind, name, bindings } = *self;
        let (category, namespace) = match bindings.identity.namespace.as_deref().filter(|_| kind == "Role") {
            Some(namespace) => (Category::Roles, format!("{namespace}/")),
            None => (Category::ClusterRoles, String::new()),
        };
        let near = nearest(name, candidates.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? Otherwise "));
        let (grant, whose) = if bindings.count == 1 { ("grants", "its") } else { ("grant", "their") };
        let known = format!("`spec.known.{}: [{name}]` in bailiwick.yaml", category.field());
        Diagnostic::warning(
            codes::UNRESOLVED_REFERENCE,
            format!("{kind} `{namespace}{name}` is bound and not among the inputs"),
        )
        .at(bindings.origin)
        .note(format!(
            "{} on the target `{}` {grant} nothing as far as is known; questions about {whose} subjects answer `unknown`",
            number(bindings.count, "binding"),
            target.name
        ))
        .help(format!("{near}bring the role in with a Manifests policy, or declare it: {known}"))
        .foldable()
    }
}
