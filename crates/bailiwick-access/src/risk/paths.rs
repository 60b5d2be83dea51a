//! Escalation paths: the steps by which an identity gains permissions, as far as RBAC alone decides them.
//!
//! The edges have an order, the strongest first: acting as another identity, more permissions, the accounts and nodes
//! behind running pods, and last changes of objects of others. Of one kind of step only the strongest target is
//! reported: for an identity that may act as a member of `system:masters`, users are not reported too. Further steps
//! are a question about the next identity.

use std::collections::HashMap;

use super::condition::Condition;
use super::matching::{EffectiveRules, Met, PermissionSource, Step};
use super::table;
use crate::proof::{Chain, RuleLink};
use crate::request::{AUTHENTICATED, Identity, MASTERS, UNAUTHENTICATED};
use crate::symbols::Symbol;
use crate::world::{Binding, Holder, ObjectSource, Role, World};

/// A step to more permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The id of the risk rule with the same condition, such as `S001`; of several alike the first.
    pub rule: &'static str,
    /// The namespaces of the path; none for the whole cluster.
    pub namespaces: Vec<String>,
    /// The permissions, with their roles, and the namespace they are limited to.
    pub via: String,
    /// The gained identity or permission.
    pub to: String,
    /// The bindings, with the rules of their roles, that prove the path.
    pub links: Vec<Chain>,
}

/// An edge of the graph. In the texts `{roles}` is replaced by the granting roles, and the text in brackets by names.
struct Edge {
    /// The rule with the same condition.
    rule: &'static str,
    via: &'static str,
    to: &'static str,
    /// The gain within a namespace; `{namespace}` is replaced by it.
    to_here: &'static str,
    /// Stronger edges, if they are not limited by names.
    hidden_by: &'static [&'static str],
}

const fn edge(rule: &'static str, via: &'static str, to: &'static str, to_here: &'static str) -> Edge {
    Edge { rule, via, to, to_here, hidden_by: &[] }
}

const ACCOUNTS: &str = "[any service account of any namespace]";
const ACCOUNTS_HERE: &str = "[any service account] of namespace {namespace}";
const BEHIND_PODS: &str = "the service accounts of any namespace, and what pods may mount there";
const BEHIND_PODS_HERE: &str = "the service accounts of namespace {namespace}, and what pods may mount there";
const IN_PODS: &str = "the service accounts of the pods of any namespace";
const IN_PODS_HERE: &str = "the service accounts of the pods of namespace {namespace}";
const ANY_OBJECT: &str = "every object, as it is written";

/// The edges in their order. Recorded cases have the texts word for word, so that a text changes with its case only.
const EDGES: &[Edge] = &[
    edge("E001", "every verb on every resource{roles}", "everything", "everything in namespace {namespace}"),
    edge(
        "E005",
        "impersonate groups{roles}",
        "[system:masters]",
        "[system:masters], as a service account of namespace {namespace}",
    ),
    Edge { hidden_by: &["E005"], ..edge("E004", "impersonate users{roles}", "[any user]", "") },
    Edge { hidden_by: &["E005"], ..edge("E006", "impersonate serviceaccounts{roles}", ACCOUNTS, ACCOUNTS_HERE) },
    Edge {
        hidden_by: &["E005", "E004"],
        ..edge(
            "E008",
            "constrained impersonation{roles}",
            "[anybody of that mode], for the actions granted with it",
            "[any service account] of namespace {namespace}, for the actions granted with it",
        )
    },
    edge(
        "E011",
        "certificatesigningrequests create + approval update + signers approve {signers}",
        "{certificates}",
        "",
    ),
    edge("E012", "certificatesigningrequests/status update + signers sign {signers}", "{certificates}", ""),
    edge("E009", "serviceaccounts/token create{roles}", ACCOUNTS, ACCOUNTS_HERE),
    edge("E002", "escalate + writing of roles{roles}", "everything", "everything in namespace {namespace}"),
    edge(
        "E003",
        "bind + writing of bindings{roles}",
        "[any role], for anyone",
        "[any role], for anyone in namespace {namespace}",
    ),
    Edge { hidden_by: &["E003"], ..edge(LATERAL, "", "", "") },
    edge("E010", "secrets create + reading{roles}", ACCOUNTS, ACCOUNTS_HERE),
    edge(
        "S001",
        "reading of secrets{roles}",
        "the service accounts whose tokens are in secrets, and whatever else [secrets] hold",
        "the service accounts of namespace {namespace} whose tokens are in secrets, and whatever else [secrets] hold",
    ),
    edge("W001", "pods create{roles}", BEHIND_PODS, BEHIND_PODS_HERE),
    edge("W002", "writing of workloads{roles}", BEHIND_PODS, BEHIND_PODS_HERE),
    edge("W003", "pods update{roles}", IN_PODS, IN_PODS_HERE),
    edge("W004", "pods/exec create{roles}", IN_PODS, IN_PODS_HERE),
    edge("W005", "pods/attach create{roles}", IN_PODS, IN_PODS_HERE),
    edge("W007", "pods/ephemeralcontainers update{roles}", IN_PODS, IN_PODS_HERE),
    edge("C001", "nodes/proxy{roles}", "every pod of [every node], by the kubelet", ""),
    edge("W009", "pods delete + nodes update{roles}", "the pods of controllers, on a node of its choice", ""),
    edge("C010", "persistentvolumes create{roles}", "every folder of every node, for pods that claim the volume", ""),
    edge(
        "E020",
        "use of pod policies{roles}",
        "pods under [any pod policy]: where one is privileged, their nodes",
        "pods of namespace {namespace} under [any pod policy]: where one is privileged, their nodes",
    ),
    edge("E021", "writing of pod policies{roles}", "what pod policies allow", ""),
    edge(
        "C015",
        "namespaces update{roles}",
        "another Pod Security level for [any namespace]",
        "another Pod Security level for namespace {namespace}",
    ),
    edge("E022", "writing for a GitOps controller{roles}", "what the controller holds", "what the controller holds"),
    edge("E023", "installing of packages{roles}", "what the package manager holds", "what the package manager holds"),
    edge("C005", "writing of admission webhooks{roles}", ANY_OBJECT, ""),
    edge("C006", "writing of admission policies{roles}", ANY_OBJECT, ""),
    edge("C008", "writing of apiservices{roles}", "every object of an API group", ""),
    edge("C009", "writing of customresourcedefinitions{roles}", "every custom resource, by conversion", ""),
];

/// The edge of delegation.
const LATERAL: &str = "E014";

/// The most names of a path.
const MAXIMUM_NAMES: usize = 8;

/// The most namespaces of a path.
const MAXIMUM_NAMESPACES: usize = 3;

/// A path in one scope, before paths of several scopes are joined.
struct ScopedPath {
    edge: usize,
    via: String,
    to: String,
    namespaces: Vec<String>,
    is_limited: bool,
    links: Vec<Chain>,
}

/// The conditions for an identity.
struct Conditions {
    /// One for each edge, if it can be met in this world.
    edges: Vec<Option<Condition>>,
    /// Writing bindings: of each kind, and anew.
    writes: Vec<(&'static str, Option<Condition>)>,
    creates: Option<Condition>,
}

/// An identity in a scope.
struct Seat<'w> {
    world: &'w World,
    conditions: &'w Conditions,
    holders: Vec<Holder>,
    namespace: Option<Symbol>,
    held: EffectiveRules,
}

impl World {
    /// Returns the escalation paths of an identity, strongest first. A member of `system:masters` has none: it has
    /// all permissions.
    pub fn escalation_paths(&self, who: &Identity) -> Vec<Path> {
        if who.is_master() {
            return Vec::new();
        }
        let holders: Vec<Holder> = self.holders(who).collect();
        let places = self.index.places().filter(|(holder, _)| holders.contains(holder));
        let mut namespaces: Vec<Symbol> = places.filter_map(|(_, namespace)| namespace).collect();
        namespaces.sort_unstable_by_key(|namespace| self.symbols.text(*namespace));
        namespaces.dedup();
        let conditions = Conditions::of(self);
        let seat = |namespace| Seat::new(self, &conditions, holders.clone(), namespace);
        let wide = seat(None).paths(&[]);
        let mut all: Vec<ScopedPath> = Vec::new();
        // Namespaces with the same rules have the same paths.
        let mut known: HashMap<EffectiveRules, Vec<usize>> = HashMap::new();
        for namespace in namespaces {
            let seat = seat(Some(namespace));
            let positions = known.entry(seat.held.clone()).or_insert_with(|| {
                let found = seat.paths(&wide);
                let positions = all.len()..all.len() + found.len();
                all.extend(found);
                positions.collect()
            });
            for position in positions {
                if let Some(found) = all.get_mut(*position) {
                    found.namespaces.push(self.symbols.text(namespace).to_owned());
                }
            }
        }
        let mut all: Vec<ScopedPath> = wide.into_iter().chain(all).collect();
        all.sort_by_key(|found| found.edge);
        together(all)
    }
}

/// Joins paths that differ in the rights alone.
fn together(all: Vec<ScopedPath>) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    for found in all {
        let to = found.to.replace("{namespace}", &listed(&found.namespaces, MAXIMUM_NAMESPACES));
        // Rights and roles, such as `pods create` and ` (ClusterRole edit)`.
        let split = |via: &str| via.split_once(" (").map(|(rights, roles)| (rights.to_owned(), roles.to_owned()));
        let same = paths.iter_mut().find(|path| {
            path.to == to
                && path.namespaces == found.namespaces
                && split(&path.via).zip(split(&found.via)).is_some_and(|(left, right)| left.1 == right.1)
        });
        match same.zip(split(&found.via)) {
            Some((path, (rights, roles))) => {
                if let Some((known, _)) = split(&path.via) {
                    path.via = format!("{known}, {rights} ({roles}");
                }
                for link in found.links {
                    match path.links.iter_mut().find(|known| known.binding == link.binding) {
                        Some(known) => known.rules.extend(link.rules),
                        None => path.links.push(link),
                    }
                }
            }
            None => {
                let rule = EDGES.get(found.edge).map_or("", |edge| edge.rule);
                paths.push(Path { rule, namespaces: found.namespaces, via: found.via, to, links: found.links });
            }
        }
    }
    paths
}

fn listed(names: &[String], most: usize) -> String {
    let shown = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl Conditions {
    fn of(world: &World) -> Self {
        let of_rule = |rule| Condition::parse(table::of_id(rule)?.condition()?, world);
        let write = |resource| (resource, Condition::parse(&format!("create,update,patch {resource}.rbac"), world));
        Self {
            edges: EDGES.iter().map(|edge| of_rule(edge.rule)).collect(),
            writes: ["rolebindings", "clusterrolebindings"].into_iter().map(write).collect(),
            creates: Condition::parse("create rolebindings.rbac,clusterrolebindings.rbac", world),
        }
    }
}

impl<'w> Seat<'w> {
    fn new(world: &'w World, conditions: &'w Conditions, holders: Vec<Holder>, namespace: Option<Symbol>) -> Self {
        let mut seat =
            Self { world, conditions, holders, namespace, held: EffectiveRules::nothing(namespace.is_some()) };
        for (_, role, part) in seat.bound() {
            seat.held.add(part, role.rules);
        }
        seat
    }

    /// Returns every binding of this scope with a present role.
    fn bound(&self) -> Vec<(&'w Binding, &'w Role, PermissionSource)> {
        let world = self.world;
        let bindings = self.bindings().into_iter();
        bindings.filter_map(|(_, binding, part)| Some((binding, world.role_of(binding)?, part))).collect()
    }

    /// Returns every binding of this scope, with its holder.
    fn bindings(&self) -> Vec<(Holder, &'w Binding, PermissionSource)> {
        let world = self.world;
        let mut all = Vec::new();
        for &holder in &self.holders {
            let own = world
                .index
                .bound_rules(holder, self.namespace, &world.symbols)
                .iter()
                .map(|held| (held.binding, PermissionSource::Own));
            let wide = self.namespace.map_or(&[][..], |_| world.index.bound_rules(holder, None, &world.symbols));
            let wide = wide.iter().map(|held| (held.binding, PermissionSource::Wide));
            all.extend(own.chain(wide).filter_map(|(id, part)| Some((holder, world.binding(id)?, part))));
        }
        all
    }

    fn text(&self, symbol: Symbol) -> &'w str {
        self.world.symbols.text(symbol)
    }

    /// Returns the paths of this scope, except for cluster-wide ones.
    fn paths(&self, wide: &[ScopedPath]) -> Vec<ScopedPath> {
        let mut all: Vec<ScopedPath> = Vec::new();
        // Full authority leaves nothing to gain.
        if wide.iter().any(|found| is_everything(found.edge)) {
            return all;
        }
        for (position, edge) in EDGES.iter().enumerate() {
            let is_reported = |found: &ScopedPath, rules: &[&str]| {
                !found.is_limited && EDGES.get(found.edge).is_some_and(|known| rules.contains(&known.rule))
            };
            let known = || wide.iter().chain(&all);
            if known().any(|found| is_reported(found, edge.hidden_by))
                || wide.iter().any(|found| is_reported(found, &[edge.rule]))
            {
                continue;
            }
            let Some((condition, met)) = self.met(position, edge) else { continue };
            let to = if self.namespace.is_some() { edge.to_here } else { edge.to };
            let is_here = met.steps.iter().any(|step| step.part.is_own());
            let (via, to) =
                if edge.rule == LATERAL { self.handing_on(&met) } else { (self.via(edge, &met), self.to(to, &met)) };
            if !is_here || to.is_empty() {
                continue;
            }
            let is_limited = met.is_named() && !to.contains(MASTERS);
            let links = self.links(condition, &met);
            all.push(ScopedPath { edge: position, via, to, namespaces: Vec::new(), is_limited, links });
            if is_everything(position) {
                break;
            }
        }
        all
    }

    fn met(&self, position: usize, edge: &Edge) -> Option<(&'w Condition, Met)> {
        let condition = self.conditions.edges.get(position)?.as_ref()?;
        let met = self.world.meets(condition, &self.held)?;
        (edge.rule != "E001" || !met.is_named()).then_some((condition, met))
    }

    fn meets(&self, condition: &Option<Condition>) -> bool {
        condition.as_ref().is_some_and(|condition| self.world.meets(condition, &self.held).is_some())
    }

    fn via(&self, edge: &Edge, met: &Met) -> String {
        let signers = self.signers(met);
        let signers = if signers.is_empty() { "for any signer".to_owned() } else { signers.join(", ") };
        edge.via.replace("{roles}", &format!(" ({})", self.roles(met).join(", "))).replace("{signers}", &signers)
    }

    fn to(&self, text: &str, met: &Met) -> String {
        let names: Vec<String> =
            met.names.first().into_iter().flatten().map(|&name| self.text(name).to_owned()).collect();
        let parts = text.split_once('[').and_then(|(head, rest)| Some((head, rest.split_once(']')?)));
        let text = match parts {
            // Among several groups, the group with all permissions counts.
            Some((head, (_, tail))) if names.iter().any(|name| name == MASTERS) => format!("{head}{MASTERS}{tail}"),
            Some((head, (_, tail))) if !names.is_empty() => format!("{head}{}{tail}", listed(&names, MAXIMUM_NAMES)),
            Some((head, (any, tail))) => format!("{head}{any}{tail}"),
            None => text.to_owned(),
        };
        text.replace("{certificates}", &certificates(&self.signers(met)))
    }

    /// Returns the limiting signers of an edge, sorted.
    fn signers(&self, met: &Met) -> Vec<&'w str> {
        let mut signers: Vec<&str> = met.names.iter().flatten().map(|&name| self.text(name)).collect();
        signers.sort_unstable();
        signers
    }

    /// Returns the roles of an edge, such as `ClusterRole edit`, each once.
    fn roles(&self, met: &Met) -> Vec<String> {
        let mut roles: Vec<String> = Vec::new();
        for (_, role) in met.steps.iter().filter_map(|step| self.granting(*step)) {
            let kind = if role.namespace.is_some() { "Role" } else { "ClusterRole" };
            let text = format!("{kind} {}", self.text(role.name));
            if !roles.contains(&text) {
                roles.push(text);
            }
        }
        roles
    }

    fn granting(&self, step: Step) -> Option<(&'w Binding, &'w Role)> {
        let found = self.bound().into_iter().find(|(_, role, part)| *part == step.part && role.rules == step.list);
        found.map(|(binding, role, _)| (binding, role))
    }

    fn links(&self, condition: &Condition, met: &Met) -> Vec<Chain> {
        let Some(case) = condition.cases.get(met.case) else { return Vec::new() };
        let mut links: Vec<Chain> = Vec::new();
        for step in &met.steps {
            let Some((binding, role)) = self.granting(*step) else { continue };
            let Some(rule) = self.world.rules_of(role).get(step.rule) else { continue };
            let link = self.world.binding_link(binding);
            let rule = RuleLink {
                number: step.rule + 1,
                rule: self.world.narrowed(case, rule),
                gathered_from: self.world.gathered_from(role, rule),
            };
            match links.iter_mut().find(|known| known.binding == link) {
                Some(known) => known.rules.push(rule),
                None => links.push(Chain {
                    subject: self.subject_of(binding),
                    binding: link,
                    role: self.world.role_link(role),
                    rules: vec![rule],
                }),
            }
        }
        links
    }

    fn subject_of(&self, binding: &Binding) -> String {
        let whose = self.bindings().into_iter().find(|(_, known, _)| std::ptr::eq(*known, binding));
        whose.map(|(holder, _, _)| self.world.holder_name(holder)).unwrap_or_default()
    }

    /// Returns the permissions delegated by writing bindings: the roles bound here. Any other role that the API
    /// server permits to bind has no more permissions than these together. The role of the edge itself is left out,
    /// and so are roles of all users.
    fn handing_on(&self, met: &Met) -> (String, String) {
        let writes = self.conditions.writes.iter();
        let resources: Vec<&str> =
            writes.filter(|(_, condition)| self.meets(condition)).map(|(resource, _)| *resource).collect();
        let verb = if self.meets(&self.conditions.creates) { "create" } else { "update" };
        let own: Vec<&Role> = met.steps.iter().filter_map(|step| self.granting(*step)).map(|(_, role)| role).collect();
        let mut roles: Vec<(usize, &str)> = Vec::new();
        for (holder, binding, _) in self.bindings() {
            let is_public = holder.is_group && matches!(self.text(holder.name), AUTHENTICATED | UNAUTHENTICATED);
            let role = self.world.role_of(binding);
            let is_own = role.is_some_and(|role| own.iter().any(|own| std::ptr::eq(*own, role)));
            // The holder has the permissions of a missing role, whatever they are.
            let entry = (role.map_or(0, |role| self.width(role)), self.text(binding.role_name));
            // The server's own grants for all identities of a kind are left out.
            let is_given = !matches!(binding.layer, ObjectSource::Baseline);
            if is_given && !is_public && !is_own && !roles.contains(&entry) {
                roles.push(entry);
            }
        }
        if roles.is_empty() {
            roles.extend(own.iter().map(|role| (self.width(role), self.text(role.name))));
        }
        roles.sort_by(|left, right| (right.0, left.1).cmp(&(left.0, right.1)));
        let names: Vec<String> = roles.into_iter().map(|(_, name)| name.to_owned()).collect();
        let place = match (self.namespace, resources.as_slice()) {
            (Some(_), _) => " in namespace {namespace}",
            (None, ["rolebindings"]) => " in any namespace",
            (None, _) => "",
        };
        (
            format!("{} {verb} of roles it already holds", resources.join("/")),
            format!("{} for anyone{place}", listed(&names, MAXIMUM_NAMES)),
        )
    }

    /// Returns the number of resources and URLs of a role.
    fn width(&self, role: &Role) -> usize {
        let rules = self.world.rules_of(role).iter();
        rules.map(|rule| rule.groups().len() * rule.resources().len() + rule.urls().len()).sum()
    }
}

fn is_everything(edge: usize) -> bool {
    EDGES.get(edge).is_some_and(|edge| edge.rule == "E001")
}

/// Returns the use of certificates of some signers; without signers, of any.
fn certificates(signers: &[&str]) -> String {
    let signs = |wanted: &[&str]| signers.is_empty() || signers.iter().any(|signer| wanted.contains(signer));
    if signs(&["kubernetes.io/kube-apiserver-client", "kubernetes.io/*"]) {
        "any client certificate user/group except system:masters, which that signer refuses".to_owned()
    } else if signs(&["kubernetes.io/kube-apiserver-client-kubelet"]) {
        "any node".to_owned()
    } else {
        format!("whomever certificates of {} stand for", signers.join(", "))
    }
}
