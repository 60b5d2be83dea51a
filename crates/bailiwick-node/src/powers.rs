//! The permissions of the service accounts on a node, and the escalations with them.

use bailiwick_kubernetes::absent;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::agent::{NodeAgent, OwnNodeWrites, operation};
use super::cluster::NamespacedName;
use super::graph::{GraphObject, ObjectKind};
use super::identity;
use super::reach::{Certainty, NodeReachability, Reachable, Reached};
use super::version::ServerVersion;
use bailiwick_access::proof::RuleLink;
use bailiwick_access::request::ANONYMOUS;
use bailiwick_access::risk::{self, DangerousPermissions, Path, PermissionReach as ReachOf};
use bailiwick_access::world::account_user;
use bailiwick_access::{Identity, Request, ResourceRequest, World};
use bailiwick_kubernetes::rbac::PolicyRule;

/// Requests for moving other pods to a node: the verb, the resource, whether it is namespaced, and the effect.
const DRAWING: [(&str, &str, bool, &str); 6] = [
    ("patch", "nodes", false, "changes Nodes, and so which pods come to it"),
    ("update", "nodes", false, "changes Nodes, and so which pods come to it"),
    ("patch", "nodes/status", false, "changes labels of Nodes, and so which pods come to it"),
    ("update", "nodes/status", false, "changes labels of Nodes, and so which pods come to it"),
    ("create", "pods/binding", true, "binds pods that wait for a node"),
    ("create", "bindings", true, "binds pods that wait for a node"),
];

/// A service account on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAccount {
    /// Its namespace and name.
    pub account: NamespacedName,
    /// The certainty of its tokens on the node.
    pub certainty: Certainty,
    /// The path of the account to the node.
    pub via: String,
    /// Its dangerous permissions in the whole cluster, the worst first.
    pub powers: Vec<&'static str>,
}

impl NodeAccount {
    /// Returns a line with its location and its permissions.
    pub fn finding(&self, atlas: &NodeReachability<'_>) -> String {
        let (carriers, all) = (atlas.carriers(&self.account), atlas.cluster().nodes.len());
        let place = match (self.certainty, carriers) {
            (Certainty::Maybe, _) => "may run here".to_owned(),
            _ if all == 0 => "runs here".to_owned(),
            (_, carriers) if carriers == all => "runs on all nodes".to_owned(),
            (_, carriers) => format!("runs on {carriers} of {all} nodes"),
        };
        format!("trampoline: {}/{} {place} and {}", self.account.0, self.account.1, self.powers.join(", "))
    }
}

/// A path from a node to the Secrets of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeSecretPath {
    /// How sure it is.
    pub certainty: Certainty,
    /// The Secrets are in this namespace.
    pub namespace: String,
    /// Steps in order.
    pub steps: Vec<String>,
}

/// An identity within the reach of a node, with the steps to it.
struct ReachedIdentity {
    who: Identity,
    /// The service account; none for the kubelet, and for requests without credentials.
    account: Option<NamespacedName>,
    certainty: Certainty,
    steps: Vec<String>,
}

impl ReachedIdentity {
    /// Creates an identity that the node itself may use.
    fn of_the_node(who: Identity) -> Self {
        Self { who, account: None, certainty: Certainty::Yes, steps: Vec::new() }
    }

    fn name(&self) -> String {
        match &self.account {
            Some((namespace, name)) => format!("{namespace}/{name}"),
            None => "the kubelet".to_owned(),
        }
    }

    /// Returns the steps with a further one.
    fn steps_and(&self, last: String) -> Vec<String> {
        self.steps.iter().cloned().chain([last]).collect()
    }
}

/// The surest and then the shortest path to the Secrets of each namespace.
#[derive(Default)]
struct SecretPaths(BTreeMap<String, NodeSecretPath>);

impl SecretPaths {
    /// Adds a path, unless the known path is as good.
    fn add(&mut self, certainty: Certainty, namespace: &str, steps: Vec<String>) {
        let is_known = |known: &NodeSecretPath| (known.certainty, known.steps.len()) <= (certainty, steps.len());
        if !self.0.get(namespace).is_some_and(is_known) {
            let path = NodeSecretPath { certainty, namespace: namespace.to_owned(), steps };
            self.0.insert(namespace.to_owned(), path);
        }
    }
}

/// The permissions of accounts in a world, each evaluated once.
pub struct Powers<'w> {
    world: &'w World,
    bound: BTreeSet<String>,
    /// Permissions of an account on objects of its own node alone, by a policy: groups, resources and operations.
    own_node: BTreeMap<NamespacedName, BTreeSet<(String, String, &'static str)>>,
    /// Accounts with a policy without a limit on the labels of their Node.
    relabelling: BTreeSet<NamespacedName>,
    /// Whether pods mount the token of their account as a Secret created with the account: until 1.20, with the gate
    /// `BoundServiceAccountTokenVolume` off.
    mounts_token_secrets: bool,
    dangerous: DangerousPermissions<'w>,
    powers: HashMap<NamespacedName, Vec<&'static str>>,
    paths: HashMap<NamespacedName, Vec<Path>>,
}

impl<'w> Powers<'w> {
    /// Begins with a world and the version of its API server.
    pub fn new(world: &'w World, version: &ServerVersion) -> Self {
        Self {
            world,
            bound: world.bound_subjects(),
            own_node: BTreeMap::new(),
            relabelling: BTreeSet::new(),
            mounts_token_secrets: !version.since(21),
            dangerous: DangerousPermissions::new(world),
            powers: HashMap::new(),
            paths: HashMap::new(),
        }
    }

    /// Adds the agents limited to their own node by policies.
    #[must_use]
    pub fn with_agents<'a>(mut self, agents: impl Iterator<Item = &'a NodeAgent>) -> Self {
        for agent in agents {
            let held = self.own_node.entry(agent.account.clone()).or_default();
            for own in &agent.own_node {
                for operation in own.verbs.iter().filter_map(|verb| operation(verb)) {
                    held.extend(own.resources.iter().map(|resource| (own.group.clone(), resource.clone(), operation)));
                }
            }
            if agent.own_node.iter().any(OwnNodeWrites::relabels_nodes) {
                self.relabelling.insert(agent.account.clone());
            }
        }
        self
    }

    /// Returns the accounts on a node: trampolines first, the worst before the others.
    pub fn carried(&mut self, reach: &Reachable<'_>) -> Vec<NodeAccount> {
        let accounts = reach.of_kind(ObjectKind::ServiceAccount);
        let mut carried: Vec<NodeAccount> = accounts
            .map(|(object, reached)| {
                let account = (object.namespace.clone(), object.name.clone());
                let powers = self.powers_of(&account).to_vec();
                NodeAccount { account, certainty: reached.certainty, via: reached.via.to_string(), powers }
            })
            .collect();
        // In the order of the table, the worst first.
        let rank = |carried: &NodeAccount| {
            let worst =
                carried.powers.first().and_then(|worst| risk::all().position(|rule| rule.power == Some(*worst)));
            // An account without a dangerous permission comes last.
            worst.unwrap_or(usize::MAX)
        };
        carried.sort_by_cached_key(|carried| (rank(carried), carried.certainty, carried.account.clone()));
        carried
    }

    /// Returns the worst trampoline on a node, if any.
    pub fn worst(&mut self, reach: &Reachable<'_>) -> Option<NodeAccount> {
        self.carried(reach).into_iter().next().filter(|carried| !carried.powers.is_empty())
    }

    /// Returns the dangerous permissions of kubelets by RBAC in the whole cluster, beside the Node authorizer's; the
    /// worst first.
    pub fn of_kubelets(&mut self, nodes: &[String]) -> Vec<&'static str> {
        let mut powers: Vec<&'static str> = Vec::new();
        for kubelet in kubelets(nodes) {
            for words in self.dangerous.rules_of(&kubelet).into_iter().filter_map(|rule| rule.power) {
                if !powers.contains(&words) {
                    powers.push(words);
                }
            }
        }
        powers
    }

    /// Returns the rules of an account by name or as a member of its namespace, each with its scope: `secrets list
    /// cluster-wide`. Rules of all subjects are left out.
    pub fn effective(&self, account: &NamespacedName) -> Vec<String> {
        let grants = self.world.all_grants_of(&identity_of(account)).into_iter();
        let own = grants.filter(|chain| chain.binding.place.is_some() || !chain.subject.starts_with("Group/"));
        let mut rights: Vec<String> = own
            .flat_map(|chain| {
                let place = chain.binding.name.strip_prefix("RoleBinding/").and_then(|name| name.split('/').next());
                let place = place.map_or_else(|| "cluster-wide".to_owned(), |namespace| format!("in {namespace}"));
                let text = move |rule: &RuleLink| {
                    let what = [rule.rule.resources.join(","), rule.rule.non_resource_urls.join(",")].concat();
                    let place =
                        if self.is_of_own_node(account, &rule.rule) { "of its own node" } else { place.as_str() };
                    format!("{what} {} {place}", rule.rule.verbs.join(","))
                };
                chain.rules.iter().map(text).collect::<Vec<String>>()
            })
            .collect();
        rights.sort();
        rights.dedup();
        rights
    }

    /// Whether this is a write limited by a policy to the node in the token.
    fn is_held(&self, account: &NamespacedName, verb: &str, group: &str, resource: &str) -> bool {
        let held = self.own_node.get(account).zip(operation(verb));
        held.is_some_and(|(held, operation)| held.contains(&(group.to_owned(), resource.to_owned(), operation)))
    }

    /// Whether this is a rule of such writes alone.
    fn is_of_own_node(&self, account: &NamespacedName, rule: &PolicyRule) -> bool {
        rule.atoms().iter().all(|atom| {
            let one = |list: &[String]| list.concat();
            self.is_held(account, &one(&atom.verbs), &one(&atom.api_groups), &one(&atom.resources))
        }) && rule.non_resource_urls.is_empty()
    }

    /// Returns the account with the same permissions: accounts without a binding of their own are equal in a
    /// namespace.
    fn standing_for(&self, account: &NamespacedName) -> NamespacedName {
        let names = [
            format!("ServiceAccount/{}/{}", account.0, account.1),
            format!("User/{}", account_user(&account.0, &account.1)),
        ];
        if names.iter().any(|name| self.bound.contains(name)) {
            account.clone()
        } else {
            (account.0.clone(), String::new())
        }
    }

    fn powers_of(&mut self, account: &NamespacedName) -> &[&'static str] {
        let key = self.standing_for(account);
        if !self.powers.contains_key(&key) {
            let who = identity_of(account);
            let rules = if self.own_node.contains_key(account) {
                self.dangerous.unlimited_rules_of(&who, |rule| !self.is_of_own_node(account, rule))
            } else {
                self.dangerous.rules_of(&who)
            };
            self.powers.insert(key.clone(), rules.into_iter().filter_map(|rule| rule.power).collect());
        }
        absent::list(self.powers.get(&key))
    }

    /// Returns the paths to the Secrets of namespaces with the reach of some nodes; the shortest and surest path for
    /// each namespace.
    pub fn breaches(&mut self, nodes: &[String], reach: &Reachable<'_>, namespaces: &[String]) -> Vec<NodeSecretPath> {
        let mut found = SecretPaths::default();
        for (object, reached) in reach.of_kind(ObjectKind::Secret) {
            if namespaces.contains(&object.namespace) {
                let steps = vec![format!("{} names {object}", reached.via)];
                found.add(reached.certainty, &object.namespace, steps);
            }
        }
        // The kubelet comes first: the Node authorizer does not restrict permissions by RBAC.
        let mut waiting: VecDeque<ReachedIdentity> = kubelets(nodes).map(ReachedIdentity::of_the_node).collect();
        // Requests without credentials are open to all.
        waiting.push_back(ReachedIdentity::of_the_node(Identity::from_user(ANONYMOUS)));
        for reached in reached_accounts(reach) {
            if let Some((namespace, _)) = reached.account.as_ref().filter(|_| self.mounts_token_secrets)
                && namespaces.contains(namespace)
            {
                let steps = reached.steps_and("until 1.20 its pods mount the Secret with its token".to_owned());
                found.add(reached.certainty, namespace, steps);
            }
            waiting.push_back(reached);
        }
        let mut seen: BTreeSet<(NamespacedName, Certainty)> = BTreeSet::new();
        while let Some(reached) = waiting.pop_front() {
            if let Some(account) = &reached.account
                && (seen.contains(&(account.clone(), Certainty::Yes))
                    || !seen.insert((account.clone(), reached.certainty)))
            {
                continue;
            }
            self.add_own_paths(&reached, namespaces, &mut found);
            for path in self.paths_of(&reached.who, reached.account.as_ref()) {
                self.add_escalation(&reached, &path, namespaces, &mut found);
                let last = escalation_step(&reached, &path);
                for account in path.namespaces.iter().flat_map(|namespace| self.accounts_of(namespace)) {
                    waiting.push_back(ReachedIdentity {
                        who: identity_of(&account),
                        account: Some(account),
                        certainty: reached.certainty,
                        steps: reached.steps_and(last.clone()),
                    });
                }
            }
        }
        found.0.into_values().collect()
    }

    /// Adds the Secrets that an identity reads itself, and the Secrets of pods that it moves to its node.
    fn add_own_paths(&self, reached: &ReachedIdentity, namespaces: &[String], found: &mut SecretPaths) {
        let name = reached.name();
        for namespace in namespaces.iter().filter(|namespace| self.reads_secrets(&reached.who, namespace)) {
            let steps = reached.steps_and(format!("{name} reads Secrets in `{namespace}`"));
            found.add(reached.certainty, namespace, steps);
        }
        for namespace in namespaces {
            if let Some(words) = self.draws(&reached.who, reached.account.as_ref(), namespace) {
                found.add(Certainty::Maybe, namespace, reached.steps_and(format!("{name} {words}")));
            }
        }
    }

    /// Adds the Secrets of the namespaces of an escalation path. Control of pods without a Pod Security level includes
    /// the nodes, and by them every namespace.
    fn add_escalation(&self, reached: &ReachedIdentity, path: &Path, namespaces: &[String], found: &mut SecretPaths) {
        let last = escalation_step(reached, path);
        let free = path.namespaces.iter().find(|namespace| !self.world.restricts_pods(namespace));
        if let Some(free) = free.filter(|_| reach_of(path) == ReachOf::Pods) {
            let mut steps = reached.steps_and(last.clone());
            steps.push(format!(
                "no Pod Security level keeps pods of `{free}` from what their node may do, or from choosing it"
            ));
            for namespace in namespaces {
                found.add(reached.certainty, namespace, steps.clone());
            }
        }
        let is_hit = |namespace: &&String| path.namespaces.is_empty() || path.namespaces.contains(*namespace);
        for namespace in namespaces.iter().filter(is_hit) {
            found.add(reached.certainty, namespace, reached.steps_and(last.clone()));
        }
    }

    /// Returns a way to move pods of a namespace to a controlled node; none without one.
    fn draws(&self, who: &Identity, account: Option<&NamespacedName>, namespace: &str) -> Option<&'static str> {
        let is_limited = |verb: &str, resource: &str| {
            account
                .is_some_and(|account| self.is_held(account, verb, "", resource) && !self.relabelling.contains(account))
        };
        let drawing = DRAWING.iter().find(|(verb, resource, is_local, _)| {
            let place = if *is_local { namespace } else { "" };
            !is_limited(verb, resource) && self.world.allows(who, &in_namespace(verb, "", resource, place))
        });
        drawing.map(|(_, _, _, words)| *words)
    }

    fn reads_secrets(&self, who: &Identity, namespace: &str) -> bool {
        ["get", "list", "watch"].iter().any(|verb| {
            let request = in_namespace(verb, "", "secrets", namespace);
            self.world.allows(who, &request) || !self.world.named_variants(who, &request).is_empty()
        })
    }

    /// Returns the escalation paths to Secrets.
    fn paths_of(&mut self, who: &Identity, account: Option<&NamespacedName>) -> Vec<Path> {
        let world = self.world;
        let find = || {
            let paths = world.escalation_paths(who).into_iter();
            paths.filter(|path| reach_of(path) != ReachOf::None).collect::<Vec<Path>>()
        };
        match account {
            None => find(),
            Some(account) => {
                let key = self.standing_for(account);
                self.paths.entry(key).or_insert_with(find).clone()
            }
        }
    }

    /// Returns the accounts of a namespace with a binding, and one for all others there.
    fn accounts_of(&self, namespace: &str) -> BTreeSet<NamespacedName> {
        let prefixes = [format!("ServiceAccount/{namespace}/"), format!("User/{}", account_user(namespace, ""))];
        let names = prefixes.iter().flat_map(|prefix| {
            self.bound.range(prefix.clone()..).map_while(move |name| name.strip_prefix(prefix.as_str()))
        });
        let others = std::iter::once("default");
        names.chain(others).map(|name| (namespace.to_owned(), name.to_owned())).collect()
    }
}

/// Returns the identities of the kubelets of some nodes, and of a future one, known by the group alone.
fn kubelets(nodes: &[String]) -> impl Iterator<Item = Identity> {
    nodes.iter().map(|node| identity::kubelet(node)).chain([identity::kubelet("-")])
}

/// Returns the accounts with a token on the nodes, the surest first.
fn reached_accounts(reach: &Reachable<'_>) -> impl Iterator<Item = ReachedIdentity> {
    let mut accounts: Vec<(&GraphObject, Reached<'_>)> = reach.of_kind(ObjectKind::ServiceAccount).collect();
    accounts.sort_by_key(|(_, reached)| reached.certainty);
    accounts.into_iter().map(|(object, reached)| {
        let account = (object.namespace.clone(), object.name.clone());
        let step = format!("{} runs as {}/{}", reached.via, account.0, account.1);
        ReachedIdentity {
            who: identity_of(&account),
            account: Some(account),
            certainty: reached.certainty,
            steps: vec![step],
        }
    })
}

/// Returns the text of an escalation path as a step.
fn escalation_step(reached: &ReachedIdentity, path: &Path) -> String {
    format!("{}: {} -> {}", reached.name(), path.via, path.to)
}

/// Returns the result of an escalation path. The permission to create pods counts as full control of pods, without a
/// Pod Security level.
fn reach_of(path: &Path) -> ReachOf {
    risk::of_id(path.rule).map_or(ReachOf::None, |rule| rule.reach)
}

fn identity_of(account: &NamespacedName) -> Identity {
    Identity::from_user(&account_user(&account.0, &account.1))
}

fn in_namespace(verb: &str, group: &str, resource: &str, namespace: &str) -> Request {
    let (resource, subresource) = match resource.split_once('/') {
        Some(split) => split,
        None => (resource, ""),
    };
    Request::Resource(ResourceRequest {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        ..ResourceRequest::default()
    })
}
