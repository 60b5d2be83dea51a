//! Construction of the graph: the met edges of each subject in each scope, and the edges of powers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bailiwick_access::risk::{EdgeKind, EdgeTarget, MetEdge, PermissionEdges, ScopeRules};
use bailiwick_access::{Identity, World};

use crate::GraphInputs;
use crate::admitted::{NOTHING, NodeAdmission, PodQuestion, PolicySet};
use crate::controllers;
use crate::graph::{Edge, Graph, NodeId, NodeKey, Note, Proof, RoleScope, RoleState};
use crate::inventory::{Inventory, NamespaceId, SubjectId};
use crate::path::PathCertainty;
use crate::probes::ProbeKind;

/// The first minor without a token Secret for each service account (gate LegacyServiceAccountTokenNoAutoGeneration).
const FIRST_WITHOUT_TOKENS: u32 = 24;

/// The first minor of OpenShift without a token Secret for each service account: OpenShift 4.16.
const FIRST_OPENSHIFT_WITHOUT_TOKENS: u32 = 29;

/// The graph under construction.
pub(crate) struct Builder<'i> {
    pub(crate) world: &'i World,
    pub(crate) is_openshift: bool,
    pub(crate) inventory: Inventory,
    pub(crate) edges: PermissionEdges<'i>,
    pub(crate) admission: NodeAdmission<'i>,
    pub(crate) graph: Graph,
    /// The lists of met edges behind the proofs.
    pub(crate) lists: Vec<Arc<Vec<MetEdge>>>,
    list_numbers: HashMap<ScopeRules, u32>,
    /// Nodes without their edges yet.
    waiting: Vec<NodeId>,
    /// The Roles of each namespace, by name.
    roles: BTreeMap<NamespaceId, Vec<String>>,
    /// The roles of ClusterRoleBindings and RoleBindings, by namespace and name of the binding.
    pub(crate) roles_of_bindings: BTreeMap<(Option<String>, String), (bool, String)>,
}

/// The met edges of a source in a scope.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    /// The node of the edges.
    pub(crate) node: NodeId,
    pub(crate) who: Option<Identity>,
    pub(crate) scope: Scope,
    pub(crate) rules: ScopeRules,
    pub(crate) met: Arc<Vec<MetEdge>>,
    pub(crate) list: u32,
}

/// The scope of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Cluster,
    /// Any namespace, without objects of the cluster.
    AnyNamespace,
    Namespace(NamespaceId),
}

impl Scope {
    /// Returns the namespace; none for the whole cluster.
    pub(crate) fn namespace(self) -> Option<NamespaceId> {
        match self {
            Scope::Namespace(namespace) => Some(namespace),
            Scope::Cluster | Scope::AnyNamespace => None,
        }
    }
}

impl Seat {
    /// Returns the proof of an entry.
    pub(crate) fn proof(&self, entry: usize) -> Option<Proof> {
        let entry = bailiwick_yaml::internal::number(entry);
        Some(Proof { list: self.list, entry, scope: self.scope.namespace() })
    }

    /// Returns the entries with a target.
    pub(crate) fn entries(&self, to: EdgeTarget) -> impl Iterator<Item = (usize, &MetEdge)> {
        self.met.iter().enumerate().filter(move |(_, met)| met.to == to)
    }
}

impl<'i> Builder<'i> {
    /// Builds the graph.
    pub(crate) fn build(inputs: &GraphInputs<'i>) -> Self {
        let inventory = Inventory::new(inputs);
        let mut roles: BTreeMap<NamespaceId, Vec<String>> = BTreeMap::new();
        for role in inputs.world.roles() {
            if let Some(namespace) = role.namespace().and_then(|namespace| inventory.namespace(namespace)) {
                roles.entry(namespace).or_default().push(role.name().to_owned());
            }
        }
        let roles_of_bindings = inputs.world.bindings().map(|binding| {
            let key = (binding.namespace().map(str::to_owned), binding.name().to_owned());
            let is_cluster_role = binding.role_kind() == bailiwick_access::world::RoleKind::ClusterRole;
            (key, (is_cluster_role, binding.role_name().to_owned()))
        });
        let mut builder = Self {
            world: inputs.world,
            is_openshift: inputs.is_openshift,
            roles_of_bindings: roles_of_bindings.collect(),
            edges: PermissionEdges::new(inputs.world),
            admission: NodeAdmission::new(inputs),
            inventory,
            graph: Graph::default(),
            lists: Vec::new(),
            list_numbers: HashMap::new(),
            waiting: Vec::new(),
            roles,
        };
        builder.add_nodes();
        builder.add_powers();
        for subject in 0..builder.inventory.subjects.len() {
            builder.add_subject(SubjectId(bailiwick_yaml::internal::number(subject)));
        }
        while let Some(node) = builder.waiting.pop() {
            builder.add_edges_of(node);
        }
        builder.graph.sort();
        builder
    }

    /// Adds the nodes of powers, and then the subjects: the order of equally short paths.
    fn add_nodes(&mut self) {
        use NodeKey as Key;
        let identities = [Key::ClusterAdmin, Key::AnyUser, Key::AnyCertificate, Key::AnyAccount];
        for key in identities.into_iter().chain([Key::SomeNode, Key::EveryNode, Key::AllSecrets]) {
            self.graph.node(key);
        }
        for key in [Key::Admission, Key::Mutation, Key::AllPodAccounts] {
            self.graph.node(key);
        }
        for (subject, id) in self.inventory.subjects.iter().zip(0..) {
            debug_assert!(!subject.name.is_empty(), "a subject has a name");
            self.graph.node(Key::Subject(SubjectId(id)));
        }
    }

    /// Returns a node, to be filled with its edges.
    pub(crate) fn node(&mut self, key: NodeKey) -> NodeId {
        let (id, is_new) = self.graph.node(key);
        if is_new {
            self.waiting.push(id);
        }
        id
    }

    /// Returns the node of a subject, by name.
    pub(crate) fn subject_node(&mut self, name: &str) -> Option<NodeId> {
        let id = self.inventory.subject(name)?;
        Some(self.graph.node(NodeKey::Subject(id)).0)
    }

    /// Adds an edge.
    pub(crate) fn add(&mut self, from: NodeId, edge: Edge) {
        self.graph.add(from, edge);
    }

    /// Adds the edges between powers, and from powers to subjects.
    fn add_powers(&mut self) {
        let (any_user, any_certificate) = (self.node(NodeKey::AnyUser), self.node(NodeKey::AnyCertificate));
        let any_account = self.node(NodeKey::AnyAccount);
        let all_pods = self.node(NodeKey::AllPodAccounts);
        let (some_node, every_node) = (self.node(NodeKey::SomeNode), self.node(NodeKey::EveryNode));
        self.add(any_certificate, Edge::new(EdgeKind::Held, any_account));
        let subjects: Vec<(NodeId, bool, bool)> = self
            .inventory
            .subjects
            .iter()
            .zip(0..)
            .filter_map(|(subject, id)| {
                let node = self.graph.find(&NodeKey::Subject(SubjectId(id)))?;
                Some((node, subject.name.starts_with("Group/"), subject.namespace.is_some()))
            })
            .collect();
        for (node, is_group, is_account) in subjects {
            // A certificate names a user and its groups. The user of a service account is not impersonated as a user.
            self.add(any_certificate, Edge::new(EdgeKind::Held, node));
            if !is_group && !is_account {
                self.add(any_user, Edge::new(EdgeKind::Held, node));
            }
            if is_account {
                self.add(any_account, Edge::new(EdgeKind::Held, node));
            }
        }
        for (account, certainty) in self.inventory.pod_accounts() {
            let node = self.graph.node(NodeKey::Subject(account)).0;
            let edge = Edge::new(EdgeKind::Node, node);
            self.add(every_node, edge);
            self.add(all_pods, edge);
            self.add_account_of_node(some_node, account, certainty);
        }
        self.add_secrets_of_cluster();
        let (mutation, admin) = (self.node(NodeKey::Mutation), self.node(NodeKey::ClusterAdmin));
        self.add(mutation, Edge::new(EdgeKind::Held, admin).possible().noted(Note::LaterWrite));
    }

    /// Adds the account of a pod that runs on a node, or may run there.
    fn add_account_of_node(&mut self, node: NodeId, account: SubjectId, certainty: PathCertainty) {
        let account = self.graph.node(NodeKey::Subject(account)).0;
        let edge = Edge::new(EdgeKind::Node, account).with(certainty);
        let is_sure = certainty == PathCertainty::Proven;
        self.add(node, if is_sure { edge } else { edge.noted(Note::Scheduling) });
    }

    fn add_secrets_of_cluster(&mut self) {
        let all_secrets = self.node(NodeKey::AllSecrets);
        let tokens: Vec<SubjectId> =
            self.inventory.contents.iter().flat_map(|contents| &contents.tokens).map(|(_, account)| *account).collect();
        for account in tokens {
            let node = self.graph.node(NodeKey::Subject(account)).0;
            self.add(all_secrets, Edge::new(EdgeKind::ReadSecrets, node).noted(Note::TokenSecret));
        }
        if self.makes_token_secrets() {
            let any_account = self.node(NodeKey::AnyAccount);
            self.add(all_secrets, Edge::new(EdgeKind::ReadSecrets, any_account).possible().noted(Note::LegacyTokens));
        }
    }

    /// Whether the platform makes a token Secret for each service account.
    fn makes_token_secrets(&self) -> bool {
        let first = if self.is_openshift { FIRST_OPENSHIFT_WITHOUT_TOKENS } else { FIRST_WITHOUT_TOKENS };
        self.world.minor() < first
    }

    /// Adds the edges of a subject in each of its scopes.
    fn add_subject(&mut self, id: SubjectId) {
        let Some(subject) = self.inventory.subject_of(id) else { return };
        let (who, scopes) = (subject.who.clone(), subject.scopes.clone());
        let node = self.node(NodeKey::Subject(id));
        let rules = self.edges.rules_of(&who, None);
        let wide = self.seat(node, Some(who.clone()), Scope::Cluster, rules);
        if self.add_seat(&wide, None) {
            return;
        }
        for namespace in scopes {
            let name = self.inventory.namespace_name(namespace);
            let rules = self.edges.rules_of(&who, Some(name));
            let here = self.seat(node, Some(who.clone()), Scope::Namespace(namespace), rules);
            if !here.met.is_empty() {
                self.add_seat(&here, Some(&wide));
            }
        }
    }

    fn seat(&mut self, node: NodeId, who: Option<Identity>, scope: Scope, rules: ScopeRules) -> Seat {
        let met = self.edges.met(&rules);
        let list = match self.list_numbers.get(&rules) {
            Some(list) => *list,
            None => {
                let list = bailiwick_yaml::internal::number(self.lists.len());
                self.lists.push(Arc::clone(&met));
                self.list_numbers.insert(rules.clone(), list);
                list
            }
        };
        Seat { node, who, scope, rules, met, list }
    }

    /// Adds the edges of a node other than a subject.
    fn add_edges_of(&mut self, node: NodeId) {
        let Some(key) = self.graph.key(node).cloned() else { return };
        match key {
            NodeKey::NamespaceAdmin(namespace) => self.add_namespace_admin(node, namespace),
            NodeKey::Secrets(namespace) => self.add_secrets(node, namespace),
            NodeKey::Accounts(namespace) => {
                let accounts = self.inventory.contents_of(namespace).map(|contents| contents.accounts.clone());
                for account in accounts.into_iter().flatten() {
                    self.add_held(node, NodeKey::Subject(account));
                }
            }
            NodeKey::PodAccounts(namespace) => {
                let pods = self.inventory.contents_of(namespace).into_iter().flat_map(|contents| &contents.pods);
                let accounts: Vec<SubjectId> = pods.map(|pod| pod.account).collect();
                accounts.into_iter().for_each(|account| self.add_held(node, NodeKey::Subject(account)));
            }
            NodeKey::AccountsNamed(name) => {
                let of_name = |id: &NamespaceId| {
                    let namespace = self.inventory.namespace_name(*id);
                    self.inventory.subject(&format!("ServiceAccount/{namespace}/{name}"))
                };
                let accounts: Vec<SubjectId> =
                    self.inventory.namespace_numbers().filter_map(|id| of_name(&id)).collect();
                accounts.into_iter().for_each(|account| self.add_held(node, NodeKey::Subject(account)));
            }
            NodeKey::NamedNodes(names) => {
                for (account, certainty) in self.inventory.pod_accounts_on(&names) {
                    self.add_account_of_node(node, account, certainty);
                }
            }
            NodeKey::RolesOf(namespace) => self.add_roles_of(node, namespace),
            NodeKey::EveryRole => {
                let namespaces: Vec<NamespaceId> = self.roles.keys().copied().collect();
                namespaces.into_iter().for_each(|namespace| self.add_roles_of(node, namespace));
            }
            NodeKey::Role(state) => self.add_role(node, &state),
            NodeKey::Gitops(family) => {
                for account in controllers::accounts_of(family, &self.inventory) {
                    self.add_held(node, NodeKey::Subject(account));
                }
            }
            _ => {}
        }
    }

    fn add_held(&mut self, from: NodeId, to: NodeKey) {
        let to = self.node(to);
        self.add(from, Edge::new(EdgeKind::Held, to));
    }

    fn add_roles_of(&mut self, node: NodeId, namespace: NamespaceId) {
        for name in self.roles.get(&namespace).cloned().into_iter().flatten() {
            let scope = RoleScope::Namespace(namespace);
            self.add_held(node, NodeKey::Role(RoleState { home: Some(namespace), name, scope }));
        }
    }

    /// Adds the edges of a gained role.
    fn add_role(&mut self, node: NodeId, state: &RoleState) {
        let home = state.home.map(|home| self.inventory.namespace_name(home));
        let Some(role) = self.world.find_role(home, &state.name) else { return };
        let scope = match state.scope {
            RoleScope::Cluster => Scope::Cluster,
            RoleScope::AnyNamespace => Scope::AnyNamespace,
            RoleScope::Namespace(namespace) => Scope::Namespace(namespace),
        };
        let rules = self.edges.rules_of_role(role, scope.namespace().is_some());
        let seat = self.seat(node, None, scope, rules);
        self.add_seat(&seat, None);
    }

    fn add_secrets(&mut self, node: NodeId, namespace: NamespaceId) {
        let tokens = self.inventory.contents_of(namespace).into_iter().flat_map(|contents| &contents.tokens);
        let tokens: Vec<SubjectId> = tokens.map(|(_, account)| *account).collect();
        for account in tokens {
            let to = self.node(NodeKey::Subject(account));
            self.add(node, Edge::new(EdgeKind::ReadSecrets, to).at(Some(namespace)).noted(Note::TokenSecret));
        }
        if self.makes_token_secrets() {
            let to = self.node(NodeKey::Accounts(namespace));
            let edge = Edge::new(EdgeKind::ReadSecrets, to).at(Some(namespace));
            self.add(node, edge.possible().noted(Note::LegacyTokens));
        }
    }

    /// Adds the edges of every permission in a namespace: pods, and the limits of pods.
    fn add_namespace_admin(&mut self, node: NodeId, namespace: NamespaceId) {
        let at = Some(namespace);
        for to in [NodeKey::Accounts(namespace), NodeKey::Secrets(namespace)] {
            let to = self.node(to);
            self.add(node, Edge::new(EdgeKind::CreatePods, to).at(at));
        }
        let everything = self.admission.everything();
        let use_kind = if self.is_openshift { EdgeKind::UseScc } else { EdgeKind::UsePsp };
        let plain = Edge::new(EdgeKind::CreatePods, NodeId(0)).at(at);
        let attempts = [
            (NOTHING, false, plain),
            (everything, false, plain.after(use_kind, None)),
            (NOTHING, true, plain.after(EdgeKind::NamespaceLabels, None)),
            (everything, true, plain.after(EdgeKind::NamespaceLabels, None)),
        ];
        self.add_node_edges(node, namespace, &attempts);
    }

    /// Adds an edge to the nodes for the first proven attempt, and for the possible ones before. An attempt has the
    /// policies usable by the author, whether the labels are removed, and the edge.
    pub(crate) fn add_node_edges(
        &mut self,
        node: NodeId,
        namespace: NamespaceId,
        attempts: &[(PolicySet, bool, Edge)],
    ) {
        for (own, without_labels, edge) in attempts {
            let kinds = &ProbeKind::PODS;
            let question = PodQuestion { namespace, own: *own, without_labels: *without_labels, kinds };
            if self.add_node_edge(node, question, *edge) == Some(PathCertainty::Proven) {
                return;
            }
        }
    }

    /// Adds an edge to the nodes, if the namespace admits a pod. Returns its certainty.
    pub(crate) fn add_node_edge(&mut self, node: NodeId, question: PodQuestion, edge: Edge) -> Option<PathCertainty> {
        let (certainty, kind) = self.admission.ask(&self.edges, &self.inventory, question)?;
        let certainty = certainty.max(edge.certainty);
        let note = self.admission.note(&self.inventory, question.namespace, kind);
        let to = self.node(NodeKey::SomeNode);
        self.add(node, Edge { to, certainty, note: Some(note), ..edge });
        Some(certainty)
    }

    /// Adds edges to the nodes by pods of any namespace, by the first one that admits the surest pod.
    pub(crate) fn add_nodes_anywhere(&mut self, node: NodeId, edge: Edge, own: PolicySet, kinds: &'static [ProbeKind]) {
        let samples = self.admission.samples(&self.edges, &self.inventory);
        let mut best = None;
        for namespace in samples {
            let question = PodQuestion { namespace, own, without_labels: false, kinds };
            let Some((certainty, kind)) = self.admission.ask(&self.edges, &self.inventory, question) else { continue };
            if best.is_none_or(|(known, _, _)| certainty < known) {
                best = Some((certainty, kind, namespace));
            }
        }
        if let Some((certainty, kind, namespace)) = best {
            let to = self.node(NodeKey::SomeNode);
            let note = Some(Note::SomewhereAdmits(kind, namespace));
            self.add(node, Edge { to, certainty: certainty.max(edge.certainty), note, ..edge });
        }
    }
}
