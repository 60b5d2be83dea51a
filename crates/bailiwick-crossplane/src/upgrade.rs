//! What a new version of a stack changes: which of its roles get other names, which bindings have to be made anew, and
//! what its controller gains and loses (`specs/systems.md` B6).
//!
//! Crossplane never had an answer: its `update` did nothing. The roles of v0.9 carry the version in their names, so
//! that each upgrade deletes and creates, and a binding cannot be pointed at another role.

use std::collections::BTreeMap;

use bailiwick_access::cover;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::NodeRef;

/// The stack, by its namespace and name, that an object in a namespace (or in none) with a name belongs to.
pub type StackOf<'f> = dyn Fn(Option<&str>, &str) -> Option<(String, String)> + 'f;

/// What is there of stacks, by namespace and name of the stack.
#[derive(Debug, Default)]
pub struct Installed {
    stacks: BTreeMap<(String, String), Parts>,
}

/// What is there of one stack.
#[derive(Debug, Default)]
struct Parts {
    version: Option<String>,
    /// Name and rules of the roles, by whose they are: `system` for that of the controller.
    roles: BTreeMap<String, (String, Vec<PolicyRule>)>,
    /// The role of each binding, by the binding.
    bindings: BTreeMap<String, String>,
}

/// What a change means for a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upgrade {
    /// Namespace and name.
    pub stack: (String, String),
    /// The version that was there, and the one that comes; none where its objects do not tell.
    pub versions: (Option<String>, Option<String>),
    /// Roles and bindings that are deleted, and created under another name or in another place: old, new.
    pub renamed: Vec<(String, String)>,
    /// True when its controller held its rights in a namespace, and holds them in the whole cluster now.
    pub widened: bool,
    /// Bindings that are deleted and created anew, since their role is another.
    pub rebound: Vec<String>,
    /// What its controller can do that it could not do before, in the smallest parts.
    pub gained: Vec<PolicyRule>,
    /// What it can no longer do.
    pub lost: Vec<PolicyRule>,
}

impl Installed {
    /// Takes an object, if it belongs to a stack: by its name where that carries the stack, or since `is_stack` knows a
    /// stack of this namespace and name; a cluster-scoped object has no namespace, and is asked for by the name alone.
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
                let role = text(&["roleRef", "name"]).unwrap_or_default();
                let carried =
                    Carried::parse(role).map(|carried| (carried.namespace.to_owned(), carried.stack.to_owned()));
                if let Some(stack) = carried.or_else(|| is_stack(namespace, name)) {
                    let role = format!("{} {role}", text(&["roleRef", "kind"]).unwrap_or_default());
                    let binding = format!("{kind} {}", place(namespace, name));
                    self.stacks.entry(stack).or_default().bindings.insert(binding, role);
                }
            }
            _ => {}
        }
    }

    /// Takes what another holds; a stack's objects may stand in several files.
    pub fn extend(&mut self, other: Installed) {
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

/// A stack that the name of a role carries, as `stack:NAMESPACE:NAME:VERSION:WHOSE`.
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

/// What a change means for each stack that was there before and still is; nothing for one that stays as it is.
pub fn upgrades(old: &Installed, new: &Installed) -> Vec<Upgrade> {
    let both = new.stacks.iter().filter_map(|(stack, new)| Some((stack, old.stacks.get(stack)?, new)));
    let compared = both.map(|(stack, old, new)| {
        let pairs = old.roles.iter().filter_map(|(whose, old)| Some((old, new.roles.get(whose)?)));
        let renamed = pairs.filter(|(old, new)| old.0 != new.0).map(|(old, new)| (old.0.clone(), new.0.clone()));
        let gone = old.bindings.keys().filter(|binding| !new.bindings.contains_key(*binding));
        let come = new.bindings.keys().filter(|binding| !old.bindings.contains_key(*binding));
        let moved: Vec<(String, String)> = gone.zip(come).map(|(old, new)| (old.clone(), new.clone())).collect();
        let rebound =
            old.bindings.iter().filter(|(binding, role)| new.bindings.get(*binding).is_some_and(|now| now != *role));
        let rules = |parts: &Parts| parts.roles.get("system").map(|(_, rules)| rules.clone()).unwrap_or_default();
        let (before, after) = (rules(old), rules(new));
        let beyond = |rules: &[PolicyRule], known: &[PolicyRule]| cover::maximal(&cover::uncovered(known, rules));
        Upgrade {
            stack: stack.clone(),
            versions: (old.version.clone(), new.version.clone()),
            widened: moved.iter().any(|(_, new)| new.starts_with("ClusterRoleBinding ")),
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
