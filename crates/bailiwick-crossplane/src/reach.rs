//! The reach of a stack: the isolation of the design, compared with the authorizer's decisions.
//!
//! A namespace stack is isolated without a grant of its own outside its namespace. This alone proves little: it has
//! `*` on the Secrets of its namespace, and a Secret is enough to be any other account there (a Secret of type
//! `kubernetes.io/service-account-token` is filled with the account's token).

use std::collections::BTreeSet;

use super::object::ServiceAccountName;
use bailiwick_access::proof::Chain;
use bailiwick_access::request::{Identity, Request, ResourceRequest};
use bailiwick_access::who_can::{PermissionScope, Where};
use bailiwick_access::world::{World, account_user};

/// How far an account reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountReach {
    /// Its own grants outside its namespace; grants of the API server to all subjects are left out.
    pub outside: Vec<Chain>,
    /// Other accounts of its namespace within its control, with a larger reach.
    pub stepping_stones: Vec<(ServiceAccountName, Vec<Chain>)>,
    /// True when it reads every Secret of the cluster, and so can be any account.
    pub reads_every_secret: bool,
    /// Whether it can request a package for the whole cluster, and so gain its permissions.
    pub requests_cluster_packages: bool,
}

impl AccountReach {
    /// Whether it ends at the namespace.
    pub fn is_isolated(&self) -> bool {
        self.outside.is_empty()
            && self.stepping_stones.is_empty()
            && !self.reads_every_secret
            && !self.requests_cluster_packages
    }
}

/// Returns the reach of an account in a world; `bound` is [`World::bound_subjects`].
pub fn reach(world: &World, bound: &BTreeSet<String>, account: &ServiceAccountName) -> AccountReach {
    let who = identity(account);
    let outside = outside(world, account);
    let takes_tokens = ["create", "get"].iter().all(|verb| world.allows(&who, &secrets(verb, &account.namespace)));
    let held = |chains: &[Chain], wanted: &Chain| {
        let is_wide_enough = |own: &Chain| place_of(own).is_none() || place_of(own) == place_of(wanted);
        chains.iter().any(|own| own.role == wanted.role && is_wide_enough(own))
    };
    let reads_every_secret = world.allows(&who, &secrets("list", ""));
    // An account with access to every Secret can be any other account, without a stepping stone.
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
    AccountReach { stepping_stones: stepping_stones.collect(), reads_every_secret, requests_cluster_packages, outside }
}

/// Returns the subjects with the permission to request an install of a kind, each with the scope.
pub fn requesters(world: &World, group: &str, resource: &str) -> Vec<(PermissionScope, String)> {
    let capable = world.who_can(&creation(group, resource, ""), Where::Everywhere);
    // The list is sorted, and a subject of several bindings occurs once.
    let mut found: Vec<(PermissionScope, String)> =
        capable.capable(world).map(|capable| (capable.scope, capable.subject)).collect();
    found.dedup();
    found
}

/// Returns the identity of an account in requests.
pub fn identity(account: &ServiceAccountName) -> Identity {
    Identity::from_user(&account_user(&account.namespace, &account.name))
}

/// The requests for a package in the whole cluster.
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

/// Returns the namespace of a grant; none for the whole cluster.
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

/// Returns the grants of an account outside its namespace.
fn outside(world: &World, account: &ServiceAccountName) -> Vec<Chain> {
    let mut grants = world.all_grants_of(&identity(account));
    // A grant of the API server to its groups applies to every account.
    let is_everybodys = |chain: &Chain| chain.binding.place.is_none() && chain.subject.starts_with("Group/");
    grants.retain(|chain| !is_everybodys(chain) && place_of(chain) != Some(account.namespace.as_str()));
    grants
}

/// Returns the accounts of a namespace with a grant, by their own name or by their user name.
fn accounts(bound: &BTreeSet<String>, namespace: &str) -> BTreeSet<ServiceAccountName> {
    let prefixes = [format!("ServiceAccount/{namespace}/"), format!("User/system:serviceaccount:{namespace}:")];
    let names = prefixes
        .iter()
        .flat_map(|prefix| bound.range(prefix.clone()..).map_while(move |name| name.strip_prefix(prefix.as_str())));
    names.map(|name| ServiceAccountName { namespace: namespace.to_owned(), name: name.to_owned() }).collect()
}
