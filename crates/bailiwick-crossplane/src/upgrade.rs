//! The effect of a new version of a stack: renamed roles, recreated bindings, and the permissions gained and lost by
//! its controller.
//!
//! Crossplane never had an answer: its `update` had no effect. The roles of v0.9 contain the version in their names:
//! each upgrade deletes and creates roles, and a binding cannot change its role.

use bailiwick_kubernetes::absent;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use bailiwick_access::cover;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::NodeRef;

/// Returns the stack of an object in a namespace (or in none) with a name, by the namespace and name of the stack.
pub type StackOf<'f> = dyn Fn(Option<&str>, &str) -> Option<(String, String)> + 'f;

/// The installed parts of stacks, by namespace and name of the stack.
#[derive(Debug, Default)]
pub struct InstalledStacks {
    stacks: BTreeMap<(String, String), Parts>,
}

/// The installed parts of one stack.
#[derive(Debug, Default)]
struct Parts {
    version: Option<String>,
    /// Name and rules of the roles, by persona: `system` for the controller.
    roles: BTreeMap<String, (String, Vec<PolicyRule>)>,
    /// The role of each binding, by the binding.
    bindings: BTreeMap<String, String>,
}

/// The effect of a change on a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// The namespace that the stack is installed in.
    pub namespace: String,
    /// The name of the installation.
    pub name: String,
    /// The version before; none if its objects do not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_version: Option<String>,
    /// The version after; none if its objects do not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_version: Option<String>,
    /// Roles and bindings that are deleted and created under another name or in another place.
    pub renamed: Vec<Replacement>,
    /// Whether the permissions of its controller were in a namespace, and are in the whole cluster.
    pub widened: bool,
    /// Bindings deleted and created again, because their role is another.
    pub rebound: Vec<String>,
    /// The permissions gained by its controller, as single permissions.
    pub gained: Vec<PolicyRule>,
    /// The permissions lost.
    pub lost: Vec<PolicyRule>,
}

/// An object that is deleted, and the object that is created in its place, each as `KIND NAME` or `KIND NAMESPACE/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Replacement {
    /// The deleted object.
    pub old: String,
    /// The created object.
    pub new: String,
}

impl InstalledStacks {
    /// Adds an object of a stack: by a name with the stack in it, or by `is_stack` for a stack of this namespace and
    /// name. A cluster-scoped object has no namespace, and `is_stack` gets its name alone.
    pub fn add(&mut self, object: NodeRef<'_>, is_stack: &StackOf<'_>) {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str);
        let (Some(kind), Some(name)) = (text(&["kind"]), text(&["metadata", "name"])) else { return };
        let namespace = text(&["metadata", "namespace"]);
        match kind {
            "Role" | "ClusterRole" => {
                let rules =
                    object.get("rules").into_iter().flat_map(NodeRef::items).map(PolicyRule::from_node).collect();
                if let Some(carried) = Carried::parse(name) {
                    let parts =
                        self.stacks.entry((carried.namespace.to_owned(), carried.stack.to_owned())).or_default();
                    parts.version = Some(carried.version.to_owned());
                    parts.roles.insert(carried.whose.to_owned(), (format!("{kind} {name}"), rules));
                } else if let Some(stack) = is_stack(namespace, name) {
                    let parts = self.stacks.entry(stack).or_default();
                    parts.roles.insert("system".to_owned(), (format!("{kind} {}", place(namespace, name)), rules));
                }
            }
            "RoleBinding" | "ClusterRoleBinding" => {
                let role = absent::text(text(&["roleRef", "name"]));
                let carried =
                    Carried::parse(role).map(|carried| (carried.namespace.to_owned(), carried.stack.to_owned()));
                if let Some(stack) = carried.or_else(|| is_stack(namespace, name)) {
                    let role = format!("{} {role}", absent::text(text(&["roleRef", "kind"])));
                    let binding = format!("{kind} {}", place(namespace, name));
                    self.stacks.entry(stack).or_default().bindings.insert(binding, role);
                }
            }
            _ => {}
        }
    }

    /// Adds the parts of another set; a stack's objects may be in several files.
    pub fn extend(&mut self, other: InstalledStacks) {
        for (stack, parts) in other.stacks {
            let own = self.stacks.entry(stack).or_default();
            own.version = own.version.take().or(parts.version);
            own.roles.extend(parts.roles);
            own.bindings.extend(parts.bindings);
        }
    }
}

fn place(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// A stack in the name of a role, in the form `stack:NAMESPACE:NAME:VERSION:WHOSE`.
struct Carried<'n> {
    namespace: &'n str,
    stack: &'n str,
    version: &'n str,
    whose: &'n str,
}

impl<'n> Carried<'n> {
    fn parse(name: &'n str) -> Option<Self> {
        let rest = name.strip_prefix("stack:").or_else(|| name.strip_prefix("package:"))?;
        let (namespace, rest) = rest.split_once(':')?;
        let (stack, rest) = rest.split_once(':')?;
        let (version, whose) = rest.rsplit_once(':')?;
        Some(Self { namespace, stack, version, whose })
    }
}

/// Returns the effect of a change on each stack present before and after; nothing for an unchanged one.
pub fn upgrades(old: &InstalledStacks, new: &InstalledStacks) -> Vec<Upgrade> {
    let both = new.stacks.iter().filter_map(|(stack, new)| Some((stack, old.stacks.get(stack)?, new)));
    let compared = both.map(|((namespace, name), old, new)| {
        let pairs = old.roles.iter().filter_map(|(whose, old)| Some((old, new.roles.get(whose)?)));
        let replaced = |old: &String, new: &String| Replacement { old: old.clone(), new: new.clone() };
        let renamed = pairs.filter(|(old, new)| old.0 != new.0).map(|(old, new)| replaced(&old.0, &new.0));
        let gone = old.bindings.keys().filter(|binding| !new.bindings.contains_key(*binding));
        let come = new.bindings.keys().filter(|binding| !old.bindings.contains_key(*binding));
        let moved: Vec<Replacement> = gone.zip(come).map(|(old, new)| replaced(old, new)).collect();
        let rebound =
            old.bindings.iter().filter(|(binding, role)| new.bindings.get(*binding).is_some_and(|now| now != *role));
        let rules = |parts: &Parts| parts.roles.get("system").map_or_else(Vec::new, |(_, rules)| rules.clone());
        let (before, after) = (rules(old), rules(new));
        let beyond = |rules: &[PolicyRule], known: &[PolicyRule]| cover::maximal(&cover::uncovered(known, rules));
        Upgrade {
            namespace: namespace.clone(),
            name: name.clone(),
            old_version: old.version.clone(),
            new_version: new.version.clone(),
            widened: moved.iter().any(|moved| moved.new.starts_with("ClusterRoleBinding ")),
            renamed: renamed.chain(moved).collect(),
            rebound: rebound.map(|(binding, _)| binding.clone()).collect(),
            gained: beyond(&after, &before),
            lost: beyond(&before, &after),
        }
    });
    let stays = |upgrade: &Upgrade| {
        upgrade.renamed.is_empty() && upgrade.rebound.is_empty() && upgrade.gained.is_empty() && upgrade.lost.is_empty()
    };
    compared.filter(|upgrade| !stays(upgrade)).collect()
}
