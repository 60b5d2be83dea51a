//! What concerns several objects: duplicates, and references that resolve to nothing.
//!
//! Each file of the output yields a few facts while its objects are at hand; the facts of all files together are
//! what remains in memory, a name or two for each tenant.

mod part;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::diag::{Code, Diagnostic, Origin, Sink};
use crate::k8s::default_policy;
use crate::model::{Identity, ObjectType, Target, Unit};
use crate::yaml::NodeRef;

pub use part::{PartCollector, PartFacts, judge};

/// Facts about the objects of one file.
#[derive(Debug, Default)]
pub struct HomeFacts {
    roles: BTreeSet<Arc<str>>,
    accounts: BTreeSet<Arc<str>>,
    bindings: Vec<Binding>,
    /// Cluster-scoped objects: their type and name, and where they come from.
    cluster: Vec<(ObjectType, Arc<str>, Origin)>,
    /// Roles by `Kind/name` whose rules are remarkable.
    remarkable: Vec<(String, Remarkable, Origin)>,
}

/// What matters of a binding.
#[derive(Debug)]
struct Binding {
    identity: Identity,
    role_kind: Arc<str>,
    role: Arc<str>,
    origin: Origin,
    /// Where the role is named.
    role_origin: Origin,
    account: Option<Origin>,
    service_accounts: Vec<(Arc<str>, Arc<str>)>,
    everyone: Option<String>,
}

/// What advice needs to know of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Remarkable {
    UsesPodSecurityPolicies,
    DeletesCollections,
}

impl HomeFacts {
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
        if identity.namespace.is_none() && &*identity.object_type.kind != "Namespace" {
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
        let text =
            |node: Option<NodeRef<'_>>| -> Arc<str> { node.and_then(NodeRef::as_str).unwrap_or_default().into() };
        let role_ref = root.get("roleRef");
        let subjects = || root.get("subjects").into_iter().flat_map(NodeRef::items);
        let kind_of =
            |subject: NodeRef<'_>| subject.get("kind").and_then(NodeRef::as_str).unwrap_or_default().to_owned();
        let everyone = subjects()
            .filter(|subject| kind_of(*subject) == "Group")
            .filter_map(|subject| subject.get("name").and_then(NodeRef::as_str))
            .find(|name| matches!(*name, "system:authenticated" | "system:unauthenticated" | "system:serviceaccounts"));
        self.bindings.push(Binding {
            identity: unit.identity.clone(),
            role_kind: text(role_ref.and_then(|role| role.get("kind"))),
            role: text(role_ref.and_then(|role| role.get("name"))),
            origin: unit.origin,
            role_origin: unit.content,
            account: unit.account,
            service_accounts: subjects()
                .filter(|subject| kind_of(*subject) == "ServiceAccount")
                .map(|subject| (text(subject.get("namespace")), text(subject.get("name"))))
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
            let key = || format!("{}/{}", unit.identity.object_type.kind, unit.identity.name);
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
    existing: &'p BTreeSet<Identity>,
    cluster: HashMap<(ObjectType, Arc<str>), Origin>,
    /// ClusterRoles that bindings refer to and that were not seen yet, with the first binding of each.
    wanted: BTreeMap<Arc<str>, (Identity, Origin, Option<Origin>)>,
    tenant_roles: BTreeSet<String>,
    remarkable: Vec<(String, Remarkable, Origin)>,
    everyone: Vec<(String, String, Identity, Origin)>,
}

impl<'p> TargetFacts<'p> {
    /// No facts yet; `existing` are the objects that are there without being compiled.
    pub fn new(target: &'p Target, existing: &'p BTreeSet<Identity>) -> Self {
        Self {
            target,
            existing,
            cluster: HashMap::new(),
            wanted: BTreeMap::new(),
            tenant_roles: BTreeSet::new(),
            remarkable: Vec::new(),
            everyone: Vec::new(),
        }
    }

    /// Adds the facts of a file and checks what can be checked at once; `made_here` knows the namespaces that some
    /// policy makes objects in.
    pub fn absorb(&mut self, facts: HomeFacts, made_here: &dyn Fn(&str) -> bool, sink: &mut Sink) {
        for (object_type, name, origin) in facts.cluster {
            let key = (object_type, name);
            if let Some(first) = self.cluster.get(&key) {
                let identity = Identity { object_type: key.0.clone(), namespace: None, name: Arc::clone(&key.1) };
                sink.push(duplicate(&identity, origin, *first));
            } else {
                self.cluster.insert(key, origin);
            }
        }
        for binding in &facts.bindings {
            self.check_role(binding, &facts.roles, sink);
            self.check_accounts(binding, &facts.accounts, made_here, sink);
            let role = format!("{}/{}", binding.role_kind, binding.role);
            if let Some(group) = &binding.everyone {
                self.everyone.push((role.clone(), group.clone(), binding.identity.clone(), binding.origin));
            }
            if binding.account.is_some() {
                self.tenant_roles.insert(role);
            }
        }
        self.remarkable.extend(facts.remarkable);
    }

    /// Checks what needs the facts of every file.
    pub fn finish(&self, sink: &mut Sink) {
        let cluster_role = ObjectType::new("rbac.authorization.k8s.io/v1", "ClusterRole");
        for (name, (binding, origin, account)) in &self.wanted {
            let identity = Identity { object_type: cluster_role.clone(), namespace: None, name: Arc::clone(name) };
            let known = self.cluster.contains_key(&(cluster_role.clone(), Arc::clone(name)))
                || self.existing.contains(&identity)
                || default_policy::is_cluster_role(name, self.target.version.minor());
            if !known {
                let minor = self.target.version.minor();
                let candidates: Vec<&str> = self
                    .cluster
                    .keys()
                    .filter(|(object_type, _)| *object_type == cluster_role)
                    .map(|(_, name)| -> &str { name })
                    .chain(default_policy::cluster_roles(minor).map(|name| -> &str { name }))
                    .collect();
                sink.push(unresolved(self.target, "ClusterRole", name, binding, *origin, *account, &candidates));
            }
        }
        for (role, group, binding, origin) in &self.everyone {
            let uses = |(name, remarkable, _): &&(String, Remarkable, Origin)| {
                name == role && *remarkable == Remarkable::UsesPodSecurityPolicies
            };
            if self.remarkable.iter().any(|fact| uses(&fact)) {
                sink.push(
                    Diagnostic::warning(
                        Code::BindsProfileToEveryone,
                        format!("everybody in `{group}` may use the pod security policy of {role}"),
                    )
                    .at(*origin)
                    .help("bind it to the accounts that need it")
                    .note(format!("in {binding}")),
                );
            }
        }
        for (role, remarkable, origin) in &self.remarkable {
            if *remarkable == Remarkable::DeletesCollections && self.tenant_roles.contains(role) {
                sink.push(
                    Diagnostic::warning(
                        Code::DeleteCollectionForTenants,
                        "tenants may delete every ConfigMap or Secret of their namespace at once",
                    )
                    .at(*origin)
                    .help("take it back: `except: [{resources: [configmaps, secrets], verbs: [deletecollection]}]`")
                    .note(format!("the role is {role}"))
                    .foldable(),
                );
            }
        }
    }

    fn check_role(&mut self, binding: &Binding, roles: &BTreeSet<Arc<str>>, sink: &mut Sink) {
        if &*binding.role_kind == "ClusterRole" {
            self.wanted
                .entry(Arc::clone(&binding.role))
                .or_insert_with(|| (binding.identity.clone(), binding.role_origin, binding.account));
            return;
        }
        let identity = Identity {
            object_type: ObjectType::new("rbac.authorization.k8s.io/v1", "Role"),
            namespace: binding.identity.namespace.clone(),
            name: Arc::clone(&binding.role),
        };
        let namespace = binding.identity.namespace.as_deref().unwrap_or_default();
        let known = roles.contains(&binding.role)
            || self.existing.contains(&identity)
            || default_policy::is_role(namespace, &binding.role, self.target.version.minor());
        if !known {
            let candidates: Vec<&str> = roles.iter().map(|role| &**role).collect();
            sink.push(unresolved(
                self.target,
                "Role",
                &binding.role,
                &binding.identity,
                binding.role_origin,
                binding.account,
                &candidates,
            ));
        }
    }

    /// An account in a namespace that is made here, and that nobody makes. It may come from elsewhere: advice.
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
            let identity = Identity {
                object_type: ObjectType::new("v1", "ServiceAccount"),
                namespace: Some(Arc::clone(namespace)),
                name: Arc::clone(name),
            };
            if self.existing.contains(&identity) {
                continue;
            }
            sink.push(
                Diagnostic::warning(
                    Code::UnresolvedReference,
                    format!("nothing here makes the service account `{name}` in `{namespace}`"),
                )
                .at(binding.origin)
                .help("say `create: true` beside its name, or bring it in with a Manifests policy")
                .note(format!("in {}", binding.identity))
                .foldable(),
            );
        }
    }
}

/// The diagnostic for an object that is made twice.
pub fn duplicate(identity: &Identity, second: Origin, first: Origin) -> Diagnostic {
    let (earlier, later) = if first <= second { (first, second) } else { (second, first) };
    Diagnostic::error(Code::DuplicateObject, format!("{identity} is made twice"))
        .at(later)
        .and(earlier, "made here too")
        .help("rename one of them, or leave one out")
}

fn unresolved(
    target: &Target,
    kind: &str,
    name: &str,
    binding: &Identity,
    origin: Origin,
    account: Option<Origin>,
    candidates: &[&str],
) -> Diagnostic {
    let help = match crate::diag::nearest(name, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "write a PermissionSet of this name, or bring the role in with a Manifests policy".to_owned(),
    };
    let mut diagnostic =
        Diagnostic::error(Code::UnresolvedReference, format!("there is no {kind} `{name}`")).at(origin).help(help);
    if let Some(account) = account {
        diagnostic = diagnostic.and(account, "for this account");
    }
    diagnostic.note(format!("in {binding}, on the target `{}`", target.name)).foldable()
}
