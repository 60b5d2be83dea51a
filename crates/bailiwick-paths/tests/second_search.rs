//! A second search, subject by subject, on random worlds: by the authorizer alone, without the risk table, without
//! classes and without memory of earlier answers. Both searches reach the same powers, in as many steps.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::tests_outside_test_module,
    clippy::unwrap_used,
    reason = "a file of tests"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::risk::{ReachedPower, ReachedPowers};
use bailiwick_access::{Identity, Request, ResourceRequest, World};
use bailiwick_paths::{Certainty, EscalationGraph, Power};
use support::Objects;
use support::manifests::Manifests;

const NAMESPACES: [&str; 4] = ["blue", "green", "kube-system", "red"];

/// Grants in random worlds.
const RULES: [&str; 22] = [
    "create pods",
    "create jobs.batch",
    "patch deployments.apps",
    "update pods",
    "create pods/exec",
    "create serviceaccounts/token",
    "create serviceaccounts/token named a",
    "get secrets",
    "create secrets",
    "impersonate users",
    "impersonate users named u",
    "impersonate serviceaccounts",
    "impersonate groups",
    "impersonate groups named g",
    "bind clusterroles.rbac; create rolebindings.rbac",
    "create clusterrolebindings.rbac",
    "escalate,patch clusterroles.rbac",
    "get nodes/proxy",
    "create persistentvolumes",
    "patch namespaces",
    "create mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "* *.*",
];

/// A random number generator (xorshift), equal on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).expect("a number")).expect("a number")
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

/// A random world: its manifests with and without ClusterRoleBindings, and the facts of the second search.
#[derive(Default)]
struct RandomWorld {
    all: Manifests,
    local: Manifests,
    levels: BTreeMap<&'static str, &'static str>,
    subjects: BTreeSet<String>,
    /// Namespace, kind and account of pods and workloads.
    pods: Vec<(&'static str, &'static str, String)>,
    objects: Option<(World, World)>,
}

impl RandomWorld {
    fn new(random: &mut Random) -> Self {
        let mut made = Self::default();
        for namespace in NAMESPACES {
            let level = if namespace == "kube-system" { "" } else { random.pick(&["", "baseline", "restricted"]) };
            let label =
                if level.is_empty() { String::new() } else { format!("pod-security.kubernetes.io/enforce: {level}") };
            made.all = made.all.namespace(namespace, &label);
            made.levels.insert(namespace, level);
        }
        for _ in 0..random.below(3) {
            let (namespace, account) = (random.pick(&NAMESPACES), random.pick(&["a", "b"]));
            made.all = made.all.account(namespace, account);
            made.subjects.insert(format!("ServiceAccount/{namespace}/{account}"));
        }
        for number in 0..random.below(4) {
            let (namespace, account) = (random.pick(&NAMESPACES), random.pick(&["a", "b"]));
            let (name, kind) = (format!("p{number}"), random.pick(&["Pod", "bound", "DaemonSet", "Deployment"]));
            made.all = match kind {
                "Pod" => made.all.pod(namespace, &name, account, ""),
                "bound" => made.all.pod(namespace, &name, account, "n1"),
                kind => made.all.workload(kind, namespace, &name, account),
            };
            made.pods.push((namespace, kind, format!("ServiceAccount/{namespace}/{account}")));
            made.subjects.insert(format!("ServiceAccount/{namespace}/{account}"));
        }
        for _ in 0..2 + random.below(6) {
            made.add_grant(random);
        }
        made
    }

    fn add_grant(&mut self, random: &mut Random) {
        let subject = match random.below(6) {
            0 => "Group/g".to_owned(),
            1 => "User/u".to_owned(),
            2 => "Group/h".to_owned(),
            3 if random.below(3) == 0 => "Group/system:serviceaccounts:blue".to_owned(),
            _ => format!("ServiceAccount/{}/{}", random.pick(&NAMESPACES), random.pick(&["a", "b"])),
        };
        let mut rules = random.pick(&RULES).to_owned();
        if rules == "* *.*" && random.below(2) == 0 {
            rules = "create pods".to_owned();
        }
        if random.below(2) == 0 && rules != "* *.*" {
            rules = format!("{rules}; {}", random.pick(&RULES[..RULES.len() - 1]));
        }
        let namespace = if random.below(3) == 0 { "" } else { random.pick(&NAMESPACES) };
        self.all = std::mem::take(&mut self.all).grant(&subject, namespace, &rules);
        if !namespace.is_empty() {
            self.local = std::mem::take(&mut self.local).grant(&subject, namespace, &rules);
        }
        self.subjects.insert(subject);
    }

    fn identity(subject: &str) -> Identity {
        match subject.split('/').collect::<Vec<_>>()[..] {
            ["ServiceAccount", namespace, name] => {
                Identity::from_user(&format!("system:serviceaccount:{namespace}:{name}"))
            }
            ["User", name] => Identity::from_user(name),
            ["Group", name] => Identity::member_of(name),
            _ => panic!("a subject: {subject}"),
        }
    }

    fn accounts(&self, namespace: &str) -> Vec<String> {
        let prefix = format!("ServiceAccount/{namespace}/");
        self.subjects.iter().filter(|subject| subject.starts_with(&prefix)).cloned().collect()
    }
}

/// A permission: verb, resource with its group, and name.
type Permission = (&'static str, &'static str, &'static str);

/// An edge of the second search: the target, the number of steps, and whether it is proven.
type NaiveEdge = (String, u8, bool);

/// The questions of one subject.
struct Asker<'w> {
    world: &'w RandomWorld,
    who: Identity,
    namespace: &'static str,
}

impl Asker<'_> {
    fn allows(&self, world: &World, (verb, resource, name): Permission, namespace: &str) -> bool {
        let (resource, group) = resource.split_once('.').map_or((resource, ""), |(resource, group)| (resource, group));
        let (resource, subresource) =
            resource.split_once('/').map_or((resource, ""), |(resource, sub)| (resource, sub));
        let request = ResourceRequest {
            verb: verb.to_owned(),
            group: group.replace("rbac", "rbac.authorization.k8s.io"),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..ResourceRequest::default()
        };
        world.allows(&self.who, &Request::Resource(request))
    }

    fn worlds(&self) -> (&World, &World) {
        let (all, local) = self.world.objects.as_ref().expect("built");
        (all, local)
    }

    /// Whether all permissions are granted in the scope, at least one of them by the scope itself. Permissions of the
    /// second list are cluster-wide ones.
    fn has(&self, here: &[Permission], wide: &[Permission]) -> bool {
        let (all, local) = self.worlds();
        let is_wide = wide.iter().all(|permission| self.allows(all, *permission, ""));
        if self.namespace.is_empty() {
            return is_wide && here.iter().all(|permission| self.allows(all, *permission, ""));
        }
        is_wide
            && here.iter().all(|permission| self.allows(all, *permission, self.namespace))
            && here.iter().any(|permission| self.allows(local, *permission, self.namespace))
    }

    /// Returns the edges of the scope; in full authority nothing else counts.
    fn edges(&self) -> Vec<NaiveEdge> {
        let everything = ("frobnicate", "widgets.example.org", "x");
        let is_wide = self.namespace.is_empty();
        let here =
            |wide: &str, local: &str| if is_wide { wide.to_owned() } else { format!("{local}:{}", self.namespace) };
        if self.has(&[everything], &[]) {
            return vec![(here("cluster-admin", "namespace-admin"), 1, true)];
        }
        let accounts = || here("any-account", "accounts");
        let mut edges: Vec<NaiveEdge> = Vec::new();
        let mut when = |is_met: bool, to: String, proven: bool| edges.extend(is_met.then_some((to, 1, proven)));
        when(self.has(&[("create", "serviceaccounts/token", "x")], &[]), accounts(), true);
        let only = |named: bool, (verb, resource): (&'static str, &'static str)| {
            named && !self.allows(self.worlds().0, (verb, resource, "x"), self.namespace)
        };
        let token = self.has(&[("create", "serviceaccounts/token", "a")], &[]);
        when(only(token, ("create", "serviceaccounts/token")), here("accounts-a", "account-a"), true);
        when(self.has(&[("impersonate", "serviceaccounts", "x")], &[]), accounts(), true);
        when(self.has(&[("get", "secrets", "x")], &[]), here("all-secrets", "secrets"), true);
        when(self.has(&[("create", "secrets", ""), ("get", "secrets", "x")], &[]), accounts(), true);
        let bind = [("bind", "clusterroles.rbac", "x"), ("create", "rolebindings.rbac", "")];
        when(self.has(&bind, &[]), here("every-namespace", "namespace-admin"), true);
        let group = [("impersonate", "groups", "x")];
        let named_group = [("impersonate", "groups", "g")];
        let account = [("impersonate", "serviceaccounts", "x")];
        if is_wide {
            let bind = [("bind", "clusterroles.rbac", "x"), ("create", "clusterrolebindings.rbac", "")];
            when(self.has(&bind, &[]), "cluster-admin".to_owned(), true);
            when(self.has(&[("impersonate", "users", "x")], &[]), "any-user".to_owned(), true);
            let user = self.has(&[("impersonate", "users", "u")], &[]);
            when(only(user, ("impersonate", "users")), "User/u".to_owned(), true);
            let users = ["x", "u"].into_iter().any(|name| self.has(&[("impersonate", "users", name)], &[]));
            let beside = users || self.has(&account, &[]);
            when(beside && self.has(&group, &[]), "cluster-admin".to_owned(), true);
            let named = beside && self.has(&named_group, &[]);
            when(only(named, ("impersonate", "groups")), "Group/g".to_owned(), true);
            let escalate = [("escalate", "clusterroles.rbac", "x"), ("patch", "clusterroles.rbac", "x")];
            when(self.has(&escalate, &[]), "cluster-admin".to_owned(), true);
            when(self.has(&[("get", "nodes/proxy", "x")], &[]), "every-node".to_owned(), true);
            let webhooks = ("create", "mutatingwebhookconfigurations.admissionregistration.k8s.io", "");
            when(self.has(&[webhooks], &[]), "mutation".to_owned(), true);
        } else {
            when(self.has(&account, &group), "cluster-admin".to_owned(), true);
            let is_any = self.allows(self.worlds().0, group[0], "");
            when(!is_any && self.has(&account, &named_group), "Group/g".to_owned(), true);
        }
        let running = [("update", "pods", "x"), ("create", "pods/exec", "x")];
        let has_pods = self.world.pods.iter().any(|(namespace, _, _)| is_wide || *namespace == self.namespace);
        let pods = if has_pods { here("pods", "pods") } else { accounts() };
        when(running.iter().any(|permission| self.has(&[*permission], &[])), pods, has_pods);
        self.add_new_pods(&mut edges, &accounts());
        edges
    }

    fn add_new_pods(&self, edges: &mut Vec<NaiveEdge>, accounts: &str) {
        let is_wide = self.namespace.is_empty();
        let has_deployment = self
            .world
            .pods
            .iter()
            .any(|(namespace, kind, _)| *kind == "Deployment" && (is_wide || *namespace == self.namespace));
        let makers = [
            (("create", "pods", ""), true),
            (("create", "jobs.batch", ""), true),
            (("patch", "deployments.apps", "x"), has_deployment),
        ];
        let (all, _) = self.worlds();
        let secrets = if is_wide { "all-secrets".to_owned() } else { format!("secrets:{}", self.namespace) };
        let volumes = self.allows(all, ("create", "persistentvolumes", ""), "");
        let labels = !is_wide && self.allows(all, ("patch", "namespaces", self.namespace), self.namespace);
        let level = self.world.levels.get(self.namespace).copied().unwrap_or_default();
        for (permission, proven) in makers {
            let is_own = self.has(&[permission], &[]);
            if is_own {
                edges.push((accounts.to_owned(), 1, proven));
                edges.push((secrets.clone(), 1, proven));
            }
            let is_granted = self.allows(all, permission, self.namespace);
            if level.is_empty() && is_own {
                edges.push(("node".to_owned(), 1, proven));
            }
            if volumes && is_granted {
                edges.push(("node".to_owned(), 2, proven && level != "restricted"));
            }
            if labels && is_granted {
                edges.push(("node".to_owned(), 2, proven));
            }
        }
    }
}

/// Returns the edges of a node of the second search.
fn edges_of(world: &RandomWorld, node: &str) -> Vec<NaiveEdge> {
    let held = |names: Vec<String>, steps: u8| names.into_iter().map(|name| (name, steps, true)).collect::<Vec<_>>();
    let all_accounts = || NAMESPACES.iter().flat_map(|namespace| world.accounts(namespace)).collect::<Vec<_>>();
    let (kind, namespace) = node.split_once(':').map_or((node, ""), |(kind, namespace)| (kind, namespace));
    let pods = world.pods.iter().filter(|(home, _, _)| namespace.is_empty() || *home == namespace);
    match kind {
        "cluster-admin" | "secrets" | "all-secrets" => Vec::new(),
        "any-user" => held(world.subjects.iter().filter(|name| name.starts_with("User/")).cloned().collect(), 1),
        "any-account" => held(all_accounts(), 1),
        "accounts" => held(world.accounts(namespace), 0),
        "account-a" => held(world.accounts(namespace).into_iter().filter(|name| name.ends_with("/a")).collect(), 0),
        "accounts-a" => held(all_accounts().into_iter().filter(|name| name.ends_with("/a")).collect(), 0),
        "pods" => held(pods.map(|(_, _, account)| account.clone()).collect(), 0),
        "every-node" => held(pods.map(|(_, _, account)| account.clone()).collect(), 1),
        "node" => pods.map(|(_, kind, account)| (account.clone(), 1, matches!(*kind, "bound" | "DaemonSet"))).collect(),
        "mutation" => vec![("cluster-admin".to_owned(), 1, false)],
        "every-namespace" => held(["any-account", "all-secrets", "node"].map(str::to_owned).into(), 0),
        "namespace-admin" => {
            let local = [format!("accounts:{namespace}"), format!("secrets:{namespace}")];
            let steps = if world.levels.get(namespace).is_some_and(|level| level.is_empty()) { 1 } else { 2 };
            let mut edges = held(local.into(), 1);
            edges.push(("node".to_owned(), steps, true));
            edges
        }
        _ => {
            let ask = |namespace| Asker { world, who: RandomWorld::identity(node), namespace }.edges();
            let wide = ask("");
            if wide.iter().any(|(to, steps, _)| to == "cluster-admin" && *steps == 1) && is_admin(world, node) {
                return vec![("cluster-admin".to_owned(), 1, true)];
            }
            wide.into_iter().chain(NAMESPACES.into_iter().flat_map(ask)).collect()
        }
    }
}

fn is_admin(world: &RandomWorld, node: &str) -> bool {
    let asker = Asker { world, who: RandomWorld::identity(node), namespace: "" };
    asker.has(&[("frobnicate", "widgets.example.org", "x")], &[])
}

/// Returns the power of a node; none for a node that is no power.
fn power_of(node: &str) -> Option<String> {
    match node.split_once(':').map_or(node, |(kind, _)| kind) {
        "node" | "every-node" => Some("nodes".to_owned()),
        "mutation" => Some("admission".to_owned()),
        "cluster-admin" | "any-user" | "any-account" | "all-secrets" | "secrets" | "namespace-admin" => {
            Some(node.to_owned())
        }
        _ => node.strip_prefix("ServiceAccount/").map(|account| format!("account:{account}")),
    }
}

fn is_local(power: &str) -> bool {
    power.contains(':')
}

/// Returns the powers of a subject with certainty and steps: the fewest steps of a proven path, else of any.
fn search(world: &RandomWorld, subject: &str) -> BTreeMap<String, (&'static str, u8)> {
    let mut found: BTreeMap<String, (&'static str, u8)> = BTreeMap::new();
    for (word, needs_proof) in [("possible", false), ("proven", true)] {
        for without_cluster_powers in [false, true] {
            let mut steps: BTreeMap<String, u8> = BTreeMap::from([(subject.to_owned(), 0)]);
            let mut is_changed = true;
            while is_changed {
                is_changed = false;
                for (node, known) in steps.clone() {
                    for (to, more, proven) in edges_of(world, &node) {
                        let is_of_cluster = power_of(&to).is_some_and(|power| !is_local(&power))
                            || matches!(to.as_str(), "pods" | "every-namespace");
                        let next = known + more;
                        let is_better = steps.get(&to).is_none_or(|known| next < *known);
                        if needs_proof && !proven || without_cluster_powers && is_of_cluster || next > 12 || !is_better
                        {
                            continue;
                        }
                        steps.insert(to, next);
                        is_changed = true;
                    }
                }
            }
            for (node, steps) in steps {
                let Some(power) = power_of(&node).filter(|power| is_local(power) == without_cluster_powers) else {
                    continue;
                };
                if node != subject {
                    let known = found.entry(power).or_insert((word, steps));
                    let is_better = known.0 != word || steps < known.1;
                    *known = if is_better { (word, steps) } else { *known };
                }
            }
        }
    }
    if is_admin(world, subject) {
        found.retain(|power, _| power == "cluster-admin");
    }
    found
}

/// Compares the powers behind the single permissions of a subject with its paths: the worst power is the same, and a path that
/// begins with a permission ends at its power.
fn compare_reached(graph: &EscalationGraph<'_>, subject: &str, context: &str) {
    let scopes = NAMESPACES.map(Some).into_iter().chain([None]);
    let mut reached: Vec<ReachedPower> = Vec::new();
    for scope in scopes {
        for (rule, power) in graph.of_subject(subject, scope) {
            let path = graph.path_opened_by(subject, scope, rule).expect("a path");
            assert_eq!(
                (path.reaches.word(), path.certainty == Certainty::Proven),
                (power.power, power.is_proven),
                "{context}"
            );
            assert!(path.steps.first().is_some_and(|step| step.from.to_string() == *subject), "{context}");
            reached.push(power);
        }
    }
    let of_cluster = graph.paths_of(subject).into_iter().filter(|path| Power::OF_CLUSTER.contains(&path.reaches));
    let worst = of_cluster.map(|path| path.certainty.severity_of(&path.reaches)).max();
    assert_eq!(reached.iter().map(|reached| reached.severity).max(), worst, "{context}");
}

/// Compares the searches in one random world, and returns the number of paths.
fn compare(seed: u64) -> usize {
    let mut world = RandomWorld::new(&mut Random(seed));
    let objects = Objects::bare(34, world.all.text());
    let local = Objects::bare(34, world.local.text());
    let graph = objects.graph();
    let found: BTreeMap<String, BTreeMap<String, (&str, u8)>> = world
        .subjects
        .iter()
        .map(|subject| {
            let paths = graph.paths_of(subject).into_iter();
            let paths = paths.map(|path| {
                let steps = u8::try_from(path.steps.len()).expect("few steps");
                (path.reaches.to_string(), (path.certainty.word(), steps))
            });
            (subject.clone(), paths.collect())
        })
        .collect();
    for subject in &world.subjects {
        compare_reached(&graph, subject, &format!("seed {seed}, {subject}"));
    }
    let text = world.all.text().to_owned();
    world.objects = Some((Objects::bare(34, &text).world, local.world));
    let count = found.values().map(BTreeMap::len).sum();
    for (subject, found) in found {
        assert_eq!(found, search(&world, &subject), "seed {seed}, {subject}\n{text}");
    }
    count
}

#[test]
fn both_searches_reach_the_same_powers() {
    let worlds =
        std::env::var("BAILIWICK_WORLDS").ok().and_then(|count| count.parse().ok()).map_or(300, |count: u64| count);
    let paths: usize = (1..=worlds).map(|seed| compare(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))).sum();
    assert!(u64::try_from(paths).is_ok_and(|paths| paths > 5 * worlds), "{paths} paths in {worlds} worlds");
}
