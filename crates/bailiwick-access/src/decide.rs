//! The decision of Kubernetes' RBAC authorizer (`plugin/pkg/auth/authorizer/rbac`), behind the short cut for
//! `system:masters`, with its proof.
//!
//! The authorizer walks every ClusterRoleBinding and every RoleBinding of the namespace; this module looks up the
//! bindings of the user and of each group. Both are unions, so the order makes no difference.

use std::cell::OnceCell;

use super::index::{BoundRules, Scope, hash_of, of_hash};
use super::possible::PossibleGrant;
use super::request::{Identity, Request, ResourceRequest, ResourceVerb};
use super::rules::{InternedRule, RuleListId};
use super::served::Liveness;
use super::symbols::{Symbol, Symbols};
use super::targets::Targets;
use super::world::namespace_of_role;
use super::world::{Binding, Holder, RoleKind, Subject, SubjectKind, World, account_user};

/// The first minor with the verb `create` for a web socket opened by GET.
pub const STREAMS_NEED_CREATE_SINCE: u32 = 35;

/// The result of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Allowed.
    Yes,
    /// Not allowed.
    No,
    /// A binding refers to a role outside of the inputs, or to rules that depend on the earlier state of the cluster, or the
    /// cluster may have a binding of its platform, and no other binding allows the request.
    Unknown,
    /// No server ever receives such a request.
    Dead,
}

/// A decision with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The plain decision of the authorizer.
    pub allowed: bool,
    /// True when membership in `system:masters` decided.
    pub by_masters: bool,
    /// Every allowing binding, in the order of the index.
    pub proofs: Vec<Proof>,
    /// Missing roles of bindings of this identity, in the scope of the request.
    pub missing: Vec<MissingRole>,
    /// Aggregated roles of this identity with own rules that would allow the request, kept or overwritten by the
    /// cluster (see [`Stated`](super::aggregate::Stated)).
    pub doubtful: Vec<String>,
    /// Bindings of this identity that the cluster may have, and whose roles allow the request.
    pub possible: Vec<PossibleGrant>,
    /// A further request of the server that the identity may not make: since 1.35 a web socket into a pod needs
    /// `create`, whatever its HTTP method is.
    pub also_needed: Option<Request>,
    /// Whether a server could receive the request.
    pub liveness: Liveness,
}

/// A binding with the rules of its role that allow a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    pub(crate) binding: u32,
    /// Positions in the role's rules, from 0.
    pub rules: Vec<usize>,
}

/// A role of a binding that is not among the objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingRole {
    /// ClusterRole or Role.
    pub kind: RoleKind,
    /// The namespace in which the binding looks for a Role.
    pub namespace: Option<String>,
    /// The name in the `roleRef`.
    pub name: String,
    /// A binding with this role, as `kind/namespace/name`.
    pub bound_by: String,
}

impl Decision {
    /// Returns the answer: dead before all else, then the authorizer's, in three values.
    pub fn answer(&self, is_complete: bool) -> Answer {
        match (&self.liveness, self.allowed) {
            (Liveness::Dead(_), _) => Answer::Dead,
            (_, true) if self.also_needed.is_none() => Answer::Yes,
            _ if self.doubtful.is_empty() && (self.is_without_gaps() || is_complete) => Answer::No,
            _ => Answer::Unknown,
        }
    }
}

impl Decision {
    fn is_without_gaps(&self) -> bool {
        self.missing.is_empty() && self.possible.is_empty()
    }
}

impl std::fmt::Display for MissingRole {
    /// Writes `ClusterRole/name` or `Role/namespace/name`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.kind, &self.namespace) {
            (RoleKind::ClusterRole, _) => write!(formatter, "ClusterRole/{}", self.name),
            (RoleKind::Role, Some(namespace)) => write!(formatter, "Role/{namespace}/{}", self.name),
            (RoleKind::Role, None) => write!(formatter, "Role//{}", self.name),
            (RoleKind::Unknown, _) => write!(formatter, "unsupported kind/{}", self.name),
        }
    }
}

/// A request in symbols.
pub(crate) enum Query<'q> {
    Resource {
        verb: Symbol,
        group: Symbol,
        resource: Symbol,
        /// `*/` and the subresource, if there is one.
        any_of_subresource: Option<Symbol>,
        name: Symbol,
    },
    Url {
        verb: Symbol,
        path: &'q str,
    },
}

impl<'q> Query<'q> {
    pub(crate) fn new(request: &'q Request, symbols: &Symbols) -> Self {
        match request {
            Request::Url(request) => Query::Url { verb: symbols.find(&request.verb), path: &request.path },
            Request::Resource(request) => Self::of_resource(request, symbols),
        }
    }

    fn of_resource(request: &ResourceRequest, symbols: &Symbols) -> Self {
        let has_subresource = !request.subresource.is_empty();
        Query::Resource {
            verb: symbols.find(&request.verb),
            group: symbols.find(&request.group),
            resource: if has_subresource {
                symbols.find_subresource(&request.resource, &request.subresource)
            } else {
                symbols.find(&request.resource)
            },
            any_of_subresource: has_subresource.then(|| symbols.find_subresource("*", &request.subresource)),
            name: symbols.find(&request.name),
        }
    }

    /// Whether a rule allows the request (`RuleAllows`).
    pub(crate) fn is_allowed_by(&self, rule: &InternedRule, symbols: &Symbols) -> bool {
        let has = |list: &[Symbol], wanted: Symbol| list.iter().any(|&entry| entry == Symbol::STAR || entry == wanted);
        match *self {
            Query::Resource { verb, group, resource, any_of_subresource, name } => {
                has(rule.groups(), group)
                    && has(rule.verbs(), verb)
                    && rule
                        .resources()
                        .iter()
                        .any(|&entry| entry == Symbol::STAR || entry == resource || Some(entry) == any_of_subresource)
                    && (rule.names().is_empty() || rule.names().contains(&name))
            }
            Query::Url { verb, path } => {
                has(rule.verbs(), verb) && rule.urls().iter().any(|&url| url_matches(symbols.text(url), path))
            }
        }
    }
}

/// Whether a URL of a rule covers a path: equal, or a prefix before trailing stars.
pub(crate) fn url_matches(pattern: &str, path: &str) -> bool {
    pattern == "*" || pattern == path || (pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*')))
}

/// Returns the further request of the server beside a request: `create` for a web socket opened by GET (gate
/// AuthorizePodWebsocketUpgradeCreatePermission, on since 1.35).
pub fn also_asked(minor: u32, request: &Request) -> Option<Request> {
    let Request::Resource(request) = request else { return None };
    let opens_stream = request.group.is_empty()
        && request.resource == "pods"
        && matches!(request.subresource.as_str(), "exec" | "attach" | "portforward");
    (opens_stream && request.verb == "get" && minor >= STREAMS_NEED_CREATE_SINCE)
        .then(|| Request::Resource(ResourceRequest { verb: "create".to_owned(), ..request.clone() }))
}

impl World {
    /// Whether the authorizer allows a request, without reasons.
    pub fn allows(&self, who: &Identity, request: &Request) -> bool {
        if who.is_master() {
            return true;
        }
        let targets = Targets::of_request(request);
        // Many requests meet no list with their target, and need no query.
        let query = OnceCell::new();
        let is_allowed = |rules| self.is_allowed(rules, query.get_or_init(|| Query::new(request, &self.symbols)));
        let local = Scope::of_namespace(request.namespace()).map(|scope| (self.index.near(0, scope), scope));
        let may = |is_group: bool, name: &str| {
            let hash = hash_of(is_group, name);
            let may_in = |near, scope| {
                of_hash(near, hash, scope).any(|held| {
                    held.rules_about(targets).is_some_and(is_allowed)
                        && held.is_of(is_group, name, scope, &self.symbols)
                })
            };
            may_in(self.index.near(hash, Scope::CLUSTER), Scope::CLUSTER)
                || local.is_some_and(|(near, scope)| may_in(near, scope))
        };
        may(false, &who.user) || who.groups.iter().any(|group| may(true, group))
    }

    /// Whether a list has a rule for a request.
    fn is_allowed(&self, rules: RuleListId, query: &Query<'_>) -> bool {
        self.lists.get(rules).iter().any(|rule| query.is_allowed_by(rule, &self.symbols))
    }

    /// Whether every binding here has its role, the role no doubtful rules, and no possible binding allows the request: a no
    /// is then a no.
    pub fn is_free_of_gaps(&self, who: &Identity, request: &Request) -> bool {
        let query = Query::new(request, &self.symbols);
        if !self.possible_grants(who, request, &query).is_empty() {
            return false;
        }
        let namespace = self.namespace_symbol(request.namespace());
        self.holders(who).all(|holder| {
            self.held_in(holder, namespace).all(|id| {
                let role = self.binding(id).map(|binding| self.role_of(binding));
                role.is_none_or(|role| role.is_some_and(|role| role.doubtful.is_none()))
            })
        })
    }

    /// Returns the decision with all its reasons.
    pub fn decide(&self, who: &Identity, request: &Request) -> Decision {
        let mut decision = Decision {
            allowed: false,
            by_masters: who.is_master(),
            proofs: Vec::new(),
            missing: Vec::new(),
            doubtful: Vec::new(),
            possible: Vec::new(),
            also_needed: also_asked(self.minor(), request).filter(|also| !self.allows(who, also)),
            liveness: self.liveness(request),
        };
        let query = Query::new(request, &self.symbols);
        decision.possible = self.possible_grants(who, request, &query);
        let namespace = self.namespace_symbol(request.namespace());
        for id in self.bindings_of(who, namespace) {
            let Some(binding) = self.binding(id) else { continue };
            let Some(role) = self.role_of(binding) else {
                decision.missing.push(self.missing_role(binding));
                continue;
            };
            let rules = (0..).zip(self.rules_of(role));
            let rules: Vec<usize> = rules
                .filter(|(_, rule)| query.is_allowed_by(rule, &self.symbols))
                .map(|(position, _)| position)
                .collect();
            let might = role.doubtful.map_or(&[][..], |id| self.lists.get(id));
            if rules.is_empty() && might.iter().any(|rule| query.is_allowed_by(rule, &self.symbols)) {
                decision.doubtful.push(self.symbols.text(role.name).to_owned());
            }
            if !rules.is_empty() {
                decision.proofs.push(Proof { binding: id, rules });
            }
        }
        decision.missing.sort();
        decision.missing.dedup_by(|left, right| left.to_string() == right.to_string());
        decision.allowed = decision.by_masters || !decision.proofs.is_empty();
        decision
    }

    /// Returns the same request for each name in a rule that allows it only with names.
    pub fn named_variants(&self, who: &Identity, request: &Request) -> Vec<Request> {
        let Request::Resource(request) = request else { return Vec::new() };
        let Query::Resource { verb, group, resource, any_of_subresource, .. } =
            Query::of_resource(request, &self.symbols)
        else {
            return Vec::new();
        };
        let mut names: Vec<&str> = Vec::new();
        for id in self.bindings_of(who, self.namespace_symbol(&request.namespace)) {
            let role = self.binding(id).and_then(|binding| self.role_of(binding));
            for rule in role.into_iter().flat_map(|role| self.rules_of(role)) {
                for &name in rule.names() {
                    let named = Query::Resource { verb, group, resource, any_of_subresource, name };
                    if named.is_allowed_by(rule, &self.symbols) {
                        names.push(self.symbols.text(name));
                    }
                }
            }
        }
        names.sort_unstable();
        names.dedup();
        let with = |name: &str| Request::Resource(ResourceRequest { name: name.to_owned(), ..request.clone() });
        names.into_iter().map(with).collect()
    }

    /// Returns the names for which a list of rules allows a verb on a resource; none if it allows every name.
    pub fn names_allowed(&self, rules: RuleListId, access: ResourceVerb<'_>) -> Option<Vec<&str>> {
        let symbols = &self.symbols;
        let (verb, group, resource) =
            (symbols.find(access.verb), symbols.find(access.group), symbols.find(access.resource));
        let query = |name| Query::Resource { verb, group, resource, any_of_subresource: None, name };
        let mut names = Vec::new();
        for rule in self.lists.get(rules) {
            if rule.names().is_empty() {
                if query(Symbol::FOREIGN).is_allowed_by(rule, symbols) {
                    return None;
                }
            } else {
                let allowed = rule.names().iter().filter(|&&name| query(name).is_allowed_by(rule, symbols));
                names.extend(allowed.map(|&name| symbols.text(name)));
            }
        }
        Some(names)
    }

    /// Returns the positions of the rules of a list that allow a verb on an object of a resource.
    pub fn rules_allowing(&self, rules: RuleListId, access: ResourceVerb<'_>, name: &str) -> Vec<usize> {
        let symbols = &self.symbols;
        let query = Query::Resource {
            verb: symbols.find(access.verb),
            group: symbols.find(access.group),
            resource: symbols.find(access.resource),
            any_of_subresource: None,
            name: symbols.find(name),
        };
        let rules = self.lists.get(rules).iter().enumerate();
        rules.filter(|(_, rule)| query.is_allowed_by(rule, symbols)).map(|(position, _)| position).collect()
    }

    /// Returns the lists of rules of a user or a group: cluster-wide, or in a namespace.
    pub fn rule_lists(&self, is_group: bool, name: &str, namespace: Option<&str>) -> impl Iterator<Item = RuleListId> {
        let scope = match namespace {
            None => Some(Scope::CLUSTER),
            Some(namespace) => Scope::of_namespace(namespace),
        };
        let of_scope = |scope| {
            let hash = hash_of(is_group, name);
            let held = of_hash(self.index.near(hash, scope), hash, scope);
            held.filter(move |held| held.is_of(is_group, name, scope, &self.symbols))
        };
        let own = scope.into_iter().flat_map(of_scope);
        own.filter_map(|held| held.rules).collect::<Vec<_>>().into_iter()
    }

    /// Returns every binding of an identity in a namespace (none: cluster-wide only), each once.
    pub(crate) fn bindings_of(&self, who: &Identity, namespace: Option<Symbol>) -> Vec<u32> {
        let mut bindings: Vec<u32> = self.holders(who).flat_map(|holder| self.held_in(holder, namespace)).collect();
        bindings.sort_unstable();
        bindings.dedup();
        bindings
    }

    /// Returns an identity without the names unknown to the world; names of the system stay. Identities with equal results
    /// have the same answers.
    pub fn known_names_of(&self, who: &Identity) -> Identity {
        let is_known = |name: &&String| name.starts_with("system:") || self.symbols.find(name) != Symbol::FOREIGN;
        let user = if is_known(&&who.user) { who.user.clone() } else { String::new() };
        Identity { user, groups: who.groups.iter().filter(is_known).cloned().collect() }
    }

    /// Returns the holders that stand for an identity: its user name, and each of its groups.
    pub(crate) fn holders(&self, who: &Identity) -> impl Iterator<Item = Holder> {
        let user = Holder { is_group: false, name: self.symbols.find(&who.user) };
        let groups = who.groups.iter().map(|group| Holder { is_group: true, name: self.symbols.find(group) });
        std::iter::once(user).chain(groups).filter(|holder| holder.name != Symbol::FOREIGN)
    }

    /// Returns the user or group of a subject of a binding; none for a subject without identities.
    pub(crate) fn holder(&self, subject: Subject, binding_namespace: Option<Symbol>) -> Option<Holder> {
        let is_group = match subject.kind {
            SubjectKind::User => false,
            SubjectKind::Group => true,
            SubjectKind::ServiceAccount => {
                let own = Some(subject.namespace).filter(|namespace| *namespace != Symbol::EMPTY);
                let namespace = self.symbols.text(own.or(binding_namespace)?);
                let name = self.symbols.find(&account_user(namespace, self.symbols.text(subject.name)));
                return (name != Symbol::FOREIGN).then_some(Holder { is_group: false, name });
            }
            SubjectKind::Unknown => return None,
        };
        Some(Holder { is_group, name: subject.name })
    }

    /// Returns the bindings of a holder: cluster-wide, and then in a namespace.
    fn held_in(&self, holder: Holder, namespace: Option<Symbol>) -> impl Iterator<Item = u32> {
        self.bound_rules(holder, None).iter().chain(self.bound_rules_in(holder, namespace)).map(|held| held.binding)
    }

    /// Returns the bindings of a holder in a namespace: none without a namespace.
    pub(crate) fn bound_rules_in(&self, holder: Holder, namespace: Option<Symbol>) -> &[BoundRules] {
        namespace.map_or(&[], |namespace| self.bound_rules(holder, Some(namespace)))
    }

    pub(crate) fn namespace_symbol(&self, namespace: &str) -> Option<Symbol> {
        (!namespace.is_empty()).then(|| self.symbols.find(namespace))
    }

    pub(crate) fn missing_role(&self, binding: &Binding) -> MissingRole {
        let namespace = || self.symbols.text(namespace_of_role(binding)).to_owned();
        MissingRole {
            kind: binding.role_kind,
            namespace: (binding.role_kind == RoleKind::Role).then(namespace),
            name: self.symbols.text(binding.role_name).to_owned(),
            bound_by: self.binding_name(binding),
        }
    }

    /// Returns a binding as `RoleBinding/namespace/name` or `ClusterRoleBinding/name`.
    pub(crate) fn binding_name(&self, binding: &Binding) -> String {
        let name = self.symbols.text(binding.name);
        match binding.namespace {
            Some(namespace) => format!("RoleBinding/{}/{name}", self.symbols.text(namespace)),
            None => format!("ClusterRoleBinding/{name}"),
        }
    }

    /// Returns the proofs of a decision as JSON, sorted by the binding's name; rules by their position from 0.
    pub fn proofs_by_name(&self, decision: &Decision) -> Vec<serde_json::Value> {
        let mut proofs: Vec<(String, serde_json::Value)> = decision
            .proofs
            .iter()
            .filter_map(|proof| {
                let binding = self.binding(proof.binding)?;
                let name = self.binding_name(binding);
                let role = self.role_link(self.role_of(binding)?).name;
                let value = serde_json::json!({ "binding": name, "role": role, "rules": proof.rules });
                Some((name, value))
            })
            .collect();
        proofs.sort_by(|left, right| left.0.cmp(&right.0));
        proofs.into_iter().map(|(_, value)| value).collect()
    }

    /// Returns the names of the proving bindings of a decision, sorted.
    pub fn bindings_by_name(&self, decision: &Decision) -> Vec<String> {
        let bindings = decision.proofs.iter().filter_map(|proof| self.binding(proof.binding));
        let mut names: Vec<String> = bindings.map(|binding| self.binding_name(binding)).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::UrlRequest;

    const VERBS: [&str; 4] = ["get", "list", "create", "*"];
    const GROUPS: [&str; 4] = ["", "apps", "batch", "*"];
    const RESOURCES: [&str; 8] =
        ["pods", "pods/log", "deployments", "deployments/scale", "*/scale", "*/log", "*", "a/b"];
    const NAMES: [&str; 3] = ["", "x", "y"];
    const URLS: [&str; 4] = ["/healthz", "/healthz/*", "*", "/version"];
    const NAMESPACES: [&str; 5] = ["", "red", "blue", "green", "default"];
    const SUBJECTS: [&str; 6] = ["ann", "bob", "devs", "ops", "robot", "system:serviceaccount:red:robot"];

    /// Pseudo-random numbers.
    struct Dice(u64);

    impl Dice {
        fn pick<'t>(&mut self, words: &[&'t str]) -> &'t str {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            words[(self.0 >> 33) as usize % words.len()]
        }

        fn role(&mut self, name: usize) -> String {
            let (url, names) = (self.pick(&["", "", "", URLS[0], URLS[1], URLS[2]]), self.pick(&["", "", "", "x"]));
            let rule = match url {
                "" => format!(
                    "{{apiGroups: ['{}'], resources: ['{}', '{}'], resourceNames: [{names}], verbs: ['{}']}}",
                    self.pick(&GROUPS),
                    self.pick(&RESOURCES),
                    self.pick(&RESOURCES),
                    self.pick(&VERBS)
                ),
                url => format!("{{nonResourceURLs: ['{url}'], verbs: ['{}']}}", self.pick(&VERBS)),
            };
            format!(
                "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: r{name}}}, rules: [{rule}]}}\n---\n"
            )
        }

        fn binding(&mut self, name: usize) -> String {
            let namespace = self.pick(&NAMESPACES);
            let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
            let (role, of) = (self.pick(&["r0", "r1", "r2", "r3", "r4", "r5", "missing"]), self.pick(&NAMESPACES[1..]));
            let (subject, name_of_subject) = (self.pick(&["User", "Group", "ServiceAccount"]), self.pick(&SUBJECTS));
            format!(
                "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {{name: b{name}, namespace: '{namespace}'}}, \
                 roleRef: {{kind: ClusterRole, name: {role}}}, subjects: [{{kind: {subject}, name: '{name_of_subject}', namespace: {of}}}]}}\n---\n"
            )
        }

        fn world(&mut self) -> World {
            let roles: String = (0..6).map(|name| self.role(name)).collect();
            let text = (0..40).fold(roles, |text, name| text + &self.binding(name));
            World::from_text(&text)
        }

        fn request(&mut self) -> Request {
            if self.pick(&["url", "", "", ""]) == "url" {
                return Request::Url(UrlRequest {
                    verb: self.pick(&VERBS).to_owned(),
                    path: self.pick(&URLS).to_owned(),
                });
            }
            Request::Resource(ResourceRequest {
                verb: self.pick(&VERBS).to_owned(),
                group: self.pick(&GROUPS).to_owned(),
                resource: self.pick(&RESOURCES).to_owned(),
                subresource: self.pick(&["", "", "log", "scale"]).to_owned(),
                namespace: self.pick(&NAMESPACES).to_owned(),
                name: self.pick(&NAMES).to_owned(),
                ..ResourceRequest::default()
            })
        }
    }

    #[test]
    fn the_short_decision_is_the_long_one() {
        let mut dice = Dice(1);
        let mut allowed = [0; 2];
        for _ in 0..60 {
            let world = dice.world();
            for _ in 0..300 {
                let request = dice.request();
                let groups = vec![dice.pick(&SUBJECTS).to_owned(), dice.pick(&SUBJECTS).to_owned()];
                let who = Identity { user: dice.pick(&SUBJECTS).to_owned(), groups };
                let decision = world.decide(&who, &request);
                assert_eq!(world.allows(&who, &request), decision.allowed, "{who:?} {request}");
                allowed[usize::from(decision.allowed)] += 1;
            }
        }
        assert!(allowed.iter().all(|&count| count > 1_000), "{allowed:?}");
    }
}
