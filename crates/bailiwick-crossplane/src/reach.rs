//! How far a stack reaches: the isolation that seed 004 promises, held against what the authorizer says.
//!
//! A namespace stack is isolated when no grant that is its own holds outside its namespace. That alone proves little: it
//! holds `*` on the Secrets of its namespace, and a Secret is enough to be any other account there
//! (a Secret of type `kubernetes.io/service-account-token` is filled with that account's token).

use std::collections::BTreeSet;

use super::object::Account;
use bailiwick_access::proof::Chain;
use bailiwick_access::request::{Identity, Request, ResourceRequest};
use bailiwick_access::who_can::{Scope, Where};
use bailiwick_access::world::{World, account_user};

/// How far an account reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// Its own grants that hold outside its namespace; what the API server gives everybody is not among them.
    pub outside: Vec<Chain>,
    /// Other accounts of its namespace that it can become, and that reach further than it does.
    pub stepping_stones: Vec<(Account, Vec<Chain>)>,
    /// True when it reads every Secret of the cluster, and so can be any account.
    pub reads_every_secret: bool,
    /// True when it can request a package that works in the whole cluster, and so have what that holds.
    pub requests_cluster_packages: bool,
}

impl Reach {
    /// Whether it ends at the namespace.
    pub fn is_isolated(&self) -> bool {
        self.outside.is_empty()
            && self.stepping_stones.is_empty()
            && !self.reads_every_secret
            && !self.requests_cluster_packages
    }
}

/// How far an account reaches in a world; `bound` is whom [`World::bound_subjects`] tells.
pub fn reach(world: &World, bound: &BTreeSet<String>, account: &Account) -> Reach {
    let who = identity(account);
    let outside = outside(world, account);
    let takes_tokens = ["create", "get"].iter().all(|verb| world.allows(&who, &secrets(verb, &account.namespace)));
    let held = |chains: &[Chain], wanted: &Chain| {
        let is_wide_enough = |own: &Chain| place_of(own).is_none() || place_of(own) == place_of(wanted);
        chains.iter().any(|own| own.role == wanted.role && is_wide_enough(own))
    };
    let reads_every_secret = world.allows(&who, &secrets("list", ""));
    // Who reads every Secret can be anybody, and needs no neighbour for it.
    let can_step = takes_tokens && !reads_every_secret;
    let stepping_stones = accounts(bound, &account.namespace).into_iter().filter(|other| can_step && other != account);
    let stepping_stones = stepping_stones.filter_map(|other| {
        let further: Vec<Chain> =
            self::outside(world, &other).into_iter().filter(|chain| !held(&outside, chain)).collect();
        (!further.is_empty()).then_some((other, further))
    });
    let requests_cluster_packages = CLUSTER_PACKAGES
        .iter()
        .any(|(group, resource)| world.allows(&who, &creation(group, resource, &account.namespace)));
    Reach { stepping_stones: stepping_stones.collect(), reads_every_secret, requests_cluster_packages, outside }
}

/// Who may request an install of a kind, and where.
pub fn requesters(world: &World, (group, resource): (&str, &str)) -> Vec<(Scope, String)> {
    let capable = world.who_can(&creation(group, resource, ""), Where::Everywhere).capable.into_iter();
    // Sorted already, and one whom several bindings name is one.
    let mut found: Vec<(Scope, String)> = capable.map(|capable| (capable.scope, capable.subject)).collect();
    found.dedup();
    found
}

/// Whom requests of an account come from.
pub fn identity(account: &Account) -> Identity {
    Identity::of(&account_user(&account.namespace, &account.name))
}

/// What is requested to have a package work in the whole cluster.
const CLUSTER_PACKAGES: [(&str, &str); 4] = [
    ("stacks.crossplane.io", "clusterstackinstalls"),
    ("packages.crossplane.io", "clusterpackageinstalls"),
    ("pkg.crossplane.io", "providers"),
    ("pkg.crossplane.io", "configurations"),
];

fn creation(group: &str, resource: &str, namespace: &str) -> Request {
    Request::Resource(ResourceRequest {
        verb: "create".to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.to_owned(),
        ..ResourceRequest::default()
    })
}

/// Returns the namespace that a grant holds in; none for the whole cluster.
fn place_of(chain: &Chain) -> Option<&str> {
    chain.binding.name.strip_prefix("RoleBinding/")?.split('/').next()
}

fn secrets(verb: &str, namespace: &str) -> Request {
    Request::Resource(ResourceRequest {
        verb: verb.to_owned(),
        resource: "secrets".to_owned(),
        namespace: namespace.to_owned(),
        ..ResourceRequest::default()
    })
}

/// Returns the grants of an account that hold outside its namespace.
fn outside(world: &World, account: &Account) -> Vec<Chain> {
    let mut grants = world.all_grants_of(&identity(account));
    // What the API server itself gives to groups it gives to every account there is.
    let is_everybodys = |chain: &Chain| chain.binding.place.is_none() && chain.subject.starts_with("Group/");
    grants.retain(|chain| !is_everybodys(chain) && place_of(chain) != Some(account.namespace.as_str()));
    grants
}

/// The accounts of a namespace that something is granted to, by their own name or by that of their user.
fn accounts(bound: &BTreeSet<String>, namespace: &str) -> BTreeSet<Account> {
    let prefixes = [format!("ServiceAccount/{namespace}/"), format!("User/system:serviceaccount:{namespace}:")];
    let names = prefixes
        .iter()
        .flat_map(|prefix| bound.range(prefix.clone()..).map_while(move |name| name.strip_prefix(prefix.as_str())));
    names.map(|name| Account { namespace: namespace.to_owned(), name: name.to_owned() }).collect()
}
