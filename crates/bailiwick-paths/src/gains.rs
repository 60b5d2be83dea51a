//! The gain of each met edge: from a row of the table to edges of the graph.

use std::collections::BTreeSet;

use bailiwick_access::ResourceVerb;
use bailiwick_access::risk::{EdgeKind, EdgeTarget, MetEdge};

use crate::admitted::{NOTHING, PodQuestion, PolicySet};
use crate::build::{Builder, Scope, Seat};
use crate::controllers;
use crate::graph::{Edge, NodeId, NodeKey, Note, Proof, RoleScope, RoleState};
use crate::inventory::{NamespaceId, PodSource, SubjectId};
use crate::path::PathCertainty;
use crate::probes::ProbeKind;

/// The API group of roles and bindings.
const RBAC: &str = bailiwick_kubernetes::rbac::GROUP;

/// The id of the rule about containers that are added to running pods.
const EPHEMERAL_CONTAINERS: &str = "W007";

/// The API group of webhook configurations and admission policies.
const REGISTRATION: &str = "admissionregistration.k8s.io";

/// The id of the rule about constrained impersonation.
const CONSTRAINED: &str = "E008";

/// The signers of client certificates for any user.
const CLIENT_SIGNERS: [&str; 2] = ["kubernetes.io/kube-apiserver-client", "kubernetes.io/*"];

/// The signer of client certificates for kubelets.
const KUBELET_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";

/// The first minor with a permission for signers.
const FIRST_WITH_SIGNERS: u32 = 18;

impl Builder<'_> {
    /// Adds the edges of a seat. `wide` has the cluster-wide edges of the same source. Returns true for full
    /// authority: nothing else is added then.
    pub(crate) fn add_seat(&mut self, seat: &Seat, wide: Option<&Seat>) -> bool {
        if self.add_full_authority(seat) {
            return true;
        }
        for (entry, met) in seat.met.iter().enumerate() {
            let edge = Edge::new(met.kind, seat.node).at(seat.scope.namespace()).by(seat.proof(entry));
            match met.to {
                EdgeTarget::Users | EdgeTarget::Groups => self.add_users(seat, met, edge),
                EdgeTarget::Accounts => self.add_accounts(seat, met, edge),
                EdgeTarget::Certificates => self.add_certificates(seat, met, edge),
                EdgeTarget::Secrets => self.add_read_secrets(seat, met, edge),
                EdgeTarget::RunningPods => {
                    self.add_running_pods(seat, met, edge);
                    if met.rule.id == EPHEMERAL_CONTAINERS {
                        self.add_nodes_of_pods(seat, met, edge);
                    }
                }
                EdgeTarget::Kubelets => self.add_kubelets(seat, met, edge),
                EdgeTarget::Admission => self.add_admission(seat, met, edge, NodeKey::Admission),
                EdgeTarget::Mutation => self.add_admission(seat, met, edge, NodeKey::Mutation),
                EdgeTarget::Controllers => self.add_controllers(seat, edge),
                EdgeTarget::ClusterRolesEverywhere | EdgeTarget::ClusterRolesHere | EdgeTarget::RolesHere => {
                    self.add_bound_roles(seat, met, edge);
                }
                EdgeTarget::OwnClusterRoles | EdgeTarget::OwnRoles => self.add_written_roles(seat, met, edge, wide),
                EdgeTarget::Everything
                | EdgeTarget::OwnPermissions
                | EdgeTarget::NewPods
                | EdgeTarget::NewWorkloads
                | EdgeTarget::ChangedWorkloads
                | EdgeTarget::HostFolders
                | EdgeTarget::PodLevel
                | EdgeTarget::PodPolicies => {}
            }
        }
        self.add_new_pods(seat, wide);
        false
    }

    fn add_to(&mut self, seat: &Seat, edge: Edge, to: NodeKey) {
        let to = self.node(to);
        self.add(seat.node, Edge { to, ..edge });
    }

    /// Adds an edge to every permission of the scope.
    fn add_everything(&mut self, seat: &Seat, edge: Edge, scope: Scope) {
        match scope {
            Scope::Cluster => self.add_to(seat, edge, NodeKey::ClusterAdmin),
            Scope::Namespace(namespace) => self.add_to(seat, edge, NodeKey::NamespaceAdmin(namespace)),
            Scope::AnyNamespace => {
                self.add_to(seat, edge, NodeKey::AnyAccount);
                self.add_to(seat, edge, NodeKey::AllSecrets);
                let everything = self.admission.everything();
                self.add_nodes_anywhere(seat.node, edge, everything, &ProbeKind::PODS);
            }
        }
    }

    fn add_full_authority(&mut self, seat: &Seat) -> bool {
        let Some((entry, _)) = seat.entries(EdgeTarget::Everything).next() else { return false };
        let at = seat.scope.namespace();
        let held = Edge::new(EdgeKind::Held, seat.node).at(at).by(seat.proof(entry));
        self.add_everything(seat, held, seat.scope);
        if let Some((entry, _)) = seat.entries(EdgeTarget::OwnPermissions).next() {
            let written = Edge::new(EdgeKind::WriteRbac, seat.node).at(at).by(seat.proof(entry));
            self.add_everything(seat, written, seat.scope);
        }
        true
    }

    fn add_users(&mut self, seat: &Seat, met: &MetEdge, edge: Edge) {
        if seat.scope == Scope::AnyNamespace {
            return;
        }
        let edge = if met.rule.id == CONSTRAINED { edge.possible().noted(Note::Constrained) } else { edge };
        let names = met.names_of(0);
        let is_groups = met.to == EdgeTarget::Groups;
        if is_groups && (names.is_empty() || names.iter().any(|name| name == bailiwick_access::request::MASTERS)) {
            // A service account to impersonate beside the group may be of one namespace.
            return self.add_to(seat, edge, NodeKey::ClusterAdmin);
        }
        if names.is_empty() {
            return self.add_to(seat, edge, NodeKey::AnyUser);
        }
        for name in names {
            // The API server checks `serviceaccounts` for the name of a service account, and not `users`.
            let subject = if is_groups { format!("Group/{name}") } else { format!("User/{name}") };
            if let Some(to) = self.subject_node(&subject) {
                self.add(seat.node, Edge { to, ..edge });
            }
        }
    }

    fn add_accounts(&mut self, seat: &Seat, met: &MetEdge, edge: Edge) {
        let edge = if met.rule.id == CONSTRAINED { edge.possible().noted(Note::Constrained) } else { edge };
        let is_secret = met.kind == EdgeKind::MakeTokenSecret;
        let names = if is_secret { &[] } else { met.names_of(0) };
        match (seat.scope.namespace(), names) {
            (None, []) => self.add_to(seat, edge, NodeKey::AnyAccount),
            (Some(namespace), []) => self.add_to(seat, edge, NodeKey::Accounts(namespace)),
            (None, names) => {
                for name in names {
                    self.add_to(seat, edge, NodeKey::AccountsNamed(name.clone()));
                }
            }
            (Some(namespace), names) => {
                for name in names {
                    let namespace = self.inventory.namespace_name(namespace);
                    if let Some(to) = self.subject_node(&format!("ServiceAccount/{namespace}/{name}")) {
                        self.add(seat.node, Edge { to, ..edge });
                    }
                }
            }
        }
    }

    fn add_certificates(&mut self, seat: &Seat, met: &MetEdge, edge: Edge) {
        if seat.scope == Scope::AnyNamespace {
            return;
        }
        let has_signers = self.world.minor() >= FIRST_WITH_SIGNERS;
        let signers = met.names.last().filter(|_| has_signers).map_or(&[][..], Vec::as_slice);
        let signs = |wanted: &[&str]| signers.is_empty() || signers.iter().any(|name| wanted.contains(&name.as_str()));
        let is_signing = met.kind == EdgeKind::SignCsr;
        let edge = |note| if is_signing { edge.possible().noted(Note::SignerKey) } else { edge.noted(note) };
        if signs(&CLIENT_SIGNERS) {
            self.add_to(seat, edge(Note::Certificates), NodeKey::AnyCertificate);
        }
        if signs(&[KUBELET_SIGNER, "kubernetes.io/*"]) {
            self.add_to(seat, edge(Note::NodeCertificates), NodeKey::SomeNode);
        }
    }

    fn add_read_secrets(&mut self, seat: &Seat, met: &MetEdge, edge: Edge) {
        let namespace = seat.scope.namespace();
        let names = met.names_of(0);
        if names.is_empty() {
            let to = namespace.map_or(NodeKey::AllSecrets, NodeKey::Secrets);
            return self.add_to(seat, edge, to);
        }
        let here: Vec<NamespaceId> = match namespace {
            Some(namespace) => vec![namespace],
            None => self.inventory.namespace_numbers().collect(),
        };
        let contents = here.into_iter().filter_map(|namespace| self.inventory.contents_of(namespace));
        let tokens = contents.flat_map(|contents| &contents.tokens).filter(|(secret, _)| names.contains(secret));
        let accounts: Vec<SubjectId> = tokens.map(|(_, account)| *account).collect();
        for account in accounts {
            self.add_to(seat, edge.noted(Note::TokenSecret), NodeKey::Subject(account));
        }
    }

    fn add_running_pods(&mut self, seat: &Seat, met: &MetEdge, edge: Edge) {
        let names = met.names_of(0);
        let namespace = seat.scope.namespace();
        if !names.is_empty() {
            return self.add_named_pods(seat, names, edge);
        }
        let has_pods =
            |namespace| self.inventory.contents_of(namespace).is_some_and(|contents| !contents.pods.is_empty());
        let (known, all) = match namespace {
            Some(namespace) => (has_pods(namespace), NodeKey::Accounts(namespace)),
            None => (self.inventory.namespace_numbers().any(has_pods), NodeKey::AnyAccount),
        };
        match (known, namespace) {
            (true, Some(namespace)) => self.add_to(seat, edge, NodeKey::PodAccounts(namespace)),
            (true, None) => self.add_to(seat, edge, NodeKey::AllPodAccounts),
            (false, _) => self.add_to(seat, edge.possible().noted(Note::NoPodsKnown), all),
        }
    }

    /// Adds the accounts of pods with these names, and of workloads whose pods may have them.
    fn add_named_pods(&mut self, seat: &Seat, names: &[String], edge: Edge) {
        let here: Vec<NamespaceId> = match seat.scope.namespace() {
            Some(namespace) => vec![namespace],
            None => self.inventory.namespace_numbers().collect(),
        };
        let mut found: Vec<(SubjectId, bool)> = Vec::new();
        for pod in here.iter().filter_map(|id| self.inventory.contents_of(*id)).flat_map(|contents| &contents.pods) {
            let is_pod = pod.kind == "Pod";
            let is_made = |name: &String| {
                name.strip_prefix(pod.name.as_str()).is_some_and(|rest| rest.starts_with('-') && rest.len() > 1)
            };
            if is_pod && names.contains(&pod.name) {
                found.push((pod.account, true));
            } else if !is_pod && names.iter().any(is_made) {
                found.push((pod.account, false));
            }
        }
        for (account, is_known) in found {
            let edge = if is_known { edge } else { edge.possible().noted(Note::NoPodsKnown) };
            self.add_to(seat, edge, NodeKey::Subject(account));
        }
    }

    fn add_kubelets(&mut self, seat: &Seat, met: &MetEdge, edge: Edge) {
        if seat.scope != Scope::Cluster {
            return;
        }
        if met.rule.id == CONSTRAINED {
            return self.add_to(seat, edge.possible().noted(Note::Constrained), NodeKey::SomeNode);
        }
        match met.names_of(0) {
            [] => self.add_to(seat, edge, NodeKey::EveryNode),
            names => {
                let names: BTreeSet<String> = names.iter().cloned().collect();
                self.add_to(seat, edge.noted(Note::NamedNodes), NodeKey::NamedNodes(names.into_iter().collect()));
            }
        }
    }

    /// Adds the nodes of running pods, where a namespace admits a privileged container: one may be added to a pod.
    fn add_nodes_of_pods(&mut self, seat: &Seat, met: &MetEdge, edge: Edge) {
        let names = met.names_of(0);
        let here: Vec<NamespaceId> = match seat.scope.namespace() {
            Some(namespace) => vec![namespace],
            None => self.inventory.namespace_numbers().collect(),
        };
        let mut bound: BTreeSet<String> = BTreeSet::new();
        let (mut of_bound, mut of_others) = (None, None);
        for namespace in here {
            let pods = self.inventory.contents_of(namespace).into_iter().flat_map(|contents| &contents.pods);
            let fitting = pods.filter(|pod| names.is_empty() || pod.kind == "Pod" && names.contains(&pod.name));
            let (nodes, others): (Vec<&PodSource>, Vec<&PodSource>) = fitting.partition(|pod| !pod.node.is_empty());
            let nodes: Vec<String> = nodes.into_iter().map(|pod| pod.node.clone()).collect();
            let surest = others.into_iter().map(PodSource::certainty_on_a_node).min();
            if nodes.is_empty() && surest.is_none() {
                continue;
            }
            let kinds = &[ProbeKind::Privileged];
            let question = PodQuestion { namespace, own: NOTHING, without_labels: false, kinds };
            let Some((admitted, kind)) = self.admission.ask(&self.edges, &self.inventory, question) else { continue };
            let note = self.admission.note(&self.inventory, namespace, kind);
            let better = |known: Option<(PathCertainty, Note)>, certainty: PathCertainty| {
                Some(known.filter(|(known, _)| *known <= certainty).map_or((certainty, note), |known| known))
            };
            if !nodes.is_empty() {
                of_bound = better(of_bound, admitted);
                bound.extend(nodes);
            }
            if let Some(surest) = surest {
                of_others = better(of_others, admitted.max(surest));
            }
        }
        let targets = [(of_bound, NodeKey::NamedNodes(bound.into_iter().collect())), (of_others, NodeKey::SomeNode)];
        for (found, to) in targets {
            if let Some((certainty, note)) = found {
                self.add_to(seat, edge.with(certainty.max(edge.certainty)).noted(note), to);
            }
        }
    }

    /// Adds a power over objects on their way into the cluster. Without the creation of every needed object, it needs
    /// objects of others.
    fn add_admission(&mut self, seat: &Seat, met: &MetEdge, edge: Edge, to: NodeKey) {
        let needed: &[&str] = match (met.kind, met.to) {
            (EdgeKind::WriteMutatingWebhooks, _) => &["mutatingwebhookconfigurations"],
            (EdgeKind::WriteValidatingWebhooks, _) => &["validatingwebhookconfigurations"],
            (EdgeKind::WriteAdmissionPolicies, EdgeTarget::Mutation) => {
                &["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]
            }
            (EdgeKind::WriteAdmissionPolicies, _) => {
                &["validatingadmissionpolicies", "validatingadmissionpolicybindings"]
            }
            // The APIServices of built-in groups always exist.
            _ => &[],
        };
        let may_create = |resource: &&str| {
            let access = ResourceVerb { verb: "create", group: REGISTRATION, resource };
            self.edges.names_allowed(&seat.rules, access).is_none()
        };
        let edge = if needed.iter().all(may_create) { edge } else { edge.possible().noted(Note::OtherObjects) };
        self.add_to(seat, edge, to);
    }

    fn add_controllers(&mut self, seat: &Seat, edge: Edge) {
        let may_write = |builder: &Self, group: &str, resource: &str| {
            ["create", "update", "patch"].iter().any(|verb| {
                let access = ResourceVerb { verb, group, resource };
                builder.edges.names_allowed(&seat.rules, access).is_none_or(|names| !names.is_empty())
            })
        };
        let mut is_known = false;
        for driven in controllers::all() {
            let is_driven = driven
                .groups
                .iter()
                .any(|group| driven.resources.iter().any(|resource| may_write(self, group, resource)));
            let accounts = controllers::accounts_of(driven.family, &self.inventory);
            if !is_driven || accounts.is_empty() {
                continue;
            }
            is_known = true;
            let is_at_home = |account: &SubjectId| {
                let home = self.inventory.subject_of(*account).and_then(|subject| subject.namespace);
                seat.scope.namespace().is_none_or(|namespace| home == Some(namespace))
            };
            let is_followed = !driven.stays_at_home || accounts.iter().any(is_at_home);
            let edge = if is_followed { edge } else { edge.possible().noted(Note::ControllerElsewhere) };
            self.add_to(seat, edge, NodeKey::Gitops(driven.family));
        }
        if !is_known {
            self.add_to(seat, edge.possible().noted(Note::ControllerUnknown), NodeKey::Gitops(controllers::UNKNOWN));
        }
    }

    /// Adds the roles that a source may bind to itself: any by new bindings, and otherwise the roles of the bindings with
    /// subjects that it may change. The role of a binding never changes.
    fn add_bound_roles(&mut self, seat: &Seat, met: &MetEdge, edge: Edge) {
        let scope = match (seat.scope, met.to) {
            (Scope::Cluster, EdgeTarget::ClusterRolesEverywhere) => Scope::Cluster,
            (Scope::AnyNamespace, EdgeTarget::ClusterRolesEverywhere) => return,
            (Scope::Cluster | Scope::AnyNamespace, _) => Scope::AnyNamespace,
            (Scope::Namespace(namespace), _) => Scope::Namespace(namespace),
        };
        let resource = if scope == Scope::Cluster { "clusterrolebindings" } else { "rolebindings" };
        let access = ResourceVerb { verb: "create", group: RBAC, resource };
        if self.edges.names_allowed(&seat.rules, access).is_some() {
            return self.add_roles_of_bindings(seat, met, edge, scope);
        }
        let roles = met.names_of(0);
        if met.to == EdgeTarget::RolesHere {
            return self.add_own_kind_roles(seat, roles, edge);
        }
        if roles.is_empty() {
            return self.add_everything(seat, edge, scope);
        }
        for name in roles {
            let scope = match scope {
                Scope::Cluster => RoleScope::Cluster,
                Scope::AnyNamespace => RoleScope::AnyNamespace,
                Scope::Namespace(namespace) => RoleScope::Namespace(namespace),
            };
            self.add_to(seat, edge, NodeKey::Role(RoleState { home: None, name: name.clone(), scope }));
        }
    }

    /// Adds the roles of existing bindings.
    fn add_roles_of_bindings(&mut self, seat: &Seat, met: &MetEdge, edge: Edge, scope: Scope) {
        let (roles, bindings) = (met.names_of(0), met.names_of(1));
        let wants_cluster_role = met.to != EdgeTarget::RolesHere;
        let homes: Vec<Option<NamespaceId>> = match scope {
            Scope::Cluster => vec![None],
            Scope::Namespace(namespace) => vec![Some(namespace)],
            Scope::AnyNamespace => self.inventory.namespace_numbers().map(Some).collect(),
        };
        let mut states = BTreeSet::new();
        for home in homes {
            let name = home.map(|namespace| self.inventory.namespace_name(namespace).to_owned());
            let here = self.roles_of_bindings.range((name.clone(), String::new())..);
            for ((_, binding), (is_cluster_role, role)) in here.take_while(|((other, _), _)| *other == name) {
                let is_named = |names: &[String], name: &String| names.is_empty() || names.contains(name);
                if *is_cluster_role == wants_cluster_role && is_named(bindings, binding) && is_named(roles, role) {
                    let scope = home.map_or(RoleScope::Cluster, RoleScope::Namespace);
                    let home = home.filter(|_| !wants_cluster_role);
                    states.insert(RoleState { home, name: role.clone(), scope });
                }
            }
        }
        for state in states {
            self.add_to(seat, edge, NodeKey::Role(state));
        }
    }

    fn add_own_kind_roles(&mut self, seat: &Seat, roles: &[String], edge: Edge) {
        match (seat.scope.namespace(), roles) {
            (Some(namespace), []) => self.add_to(seat, edge, NodeKey::RolesOf(namespace)),
            (None, []) => self.add_to(seat, edge, NodeKey::EveryRole),
            (namespace, roles) => {
                let namespaces: Vec<NamespaceId> = match namespace {
                    Some(namespace) => vec![namespace],
                    None => self.inventory.namespace_numbers().collect(),
                };
                for (home, name) in namespaces.iter().flat_map(|home| roles.iter().map(move |name| (*home, name))) {
                    let home_name = self.inventory.namespace_name(home);
                    if self.world.find_role(Some(home_name), name).is_some() {
                        let scope = RoleScope::Namespace(home);
                        let state = RoleState { home: Some(home), name: name.clone(), scope };
                        self.add_to(seat, edge, NodeKey::Role(state));
                    }
                }
            }
        }
    }

    /// Adds everything in the scopes of the own roles that a source may rewrite.
    fn add_written_roles(&mut self, seat: &Seat, met: &MetEdge, edge: Edge, wide: Option<&Seat>) {
        let is_cluster_roles = met.to == EdgeTarget::OwnClusterRoles;
        if is_cluster_roles && seat.scope != Scope::Cluster {
            return;
        }
        let resource = if is_cluster_roles { "clusterroles" } else { "roles" };
        let may_rewrite = |builder: &Self, name: &str| {
            let is_named = |part| met.names_of(part).is_empty() || met.names_of(part).iter().any(|own| own == name);
            let can = |verb| {
                let names = builder.edges.names_allowed(&seat.rules, ResourceVerb { verb, group: RBAC, resource });
                names.is_none_or(|names| names.contains(&name))
            };
            is_named(0) && is_named(1) && (can("update") || can("patch"))
        };
        for (scope, name, is_aggregated) in self.roles_bound(seat, is_cluster_roles) {
            if may_rewrite(self, &name) {
                self.add_everything(seat, edge, scope);
            } else if is_aggregated && met.names_of(0).is_empty() && met.names_of(1).is_empty() {
                let edge = Edge { kind: EdgeKind::Aggregate, ..edge }.noted(Note::Aggregation);
                self.add_everything(seat, edge, scope);
            }
        }
        let writes = |verb: &str, resource: &str| {
            let access = ResourceVerb { verb, group: RBAC, resource };
            let is_granted = |seat: &Seat| self.edges.names_allowed(&seat.rules, access).is_none();
            is_granted(seat) || wide.is_some_and(is_granted)
        };
        let is_unlimited = met.names_of(0).is_empty() && met.names_of(1).is_empty();
        // A new role is bound while it is empty, and gets its rules then.
        let can_fill = writes("create", "roles") && (writes("update", "roles") || writes("patch", "roles"));
        let can_bind = can_fill && writes("create", "rolebindings");
        if !is_cluster_roles && is_unlimited && can_bind {
            let scope = if seat.scope == Scope::Cluster { Scope::AnyNamespace } else { seat.scope };
            self.add_everything(seat, edge, scope);
        }
    }

    /// Returns the roles bound to the source of a seat, each with its scope and whether it is aggregated.
    fn roles_bound(&self, seat: &Seat, cluster_roles: bool) -> Vec<(Scope, String, bool)> {
        let Some(who) = &seat.who else {
            let key = self.graph.key(seat.node);
            let Some(NodeKey::Role(state)) = key else { return Vec::new() };
            let is_fit = state.home.is_none() == cluster_roles;
            return is_fit.then(|| (seat.scope, state.name.clone(), false)).into_iter().collect();
        };
        let mut scopes: Vec<(Scope, Option<NamespaceId>)> = Vec::new();
        match (seat.scope, cluster_roles) {
            (Scope::Namespace(namespace), _) => scopes.push((seat.scope, Some(namespace))),
            _ => {
                scopes.extend(cluster_roles.then_some((Scope::Cluster, None)));
                let subject = self.graph.key(seat.node).and_then(|key| match key {
                    NodeKey::Subject(id) => self.inventory.subject_of(*id),
                    _ => None,
                });
                let own = subject.into_iter().flat_map(|subject| &subject.scopes);
                scopes.extend(own.map(|namespace| (Scope::Namespace(*namespace), Some(*namespace))));
            }
        }
        let mut found = Vec::new();
        for (scope, namespace) in scopes {
            let name = namespace.map(|namespace| self.inventory.namespace_name(namespace));
            let roles = self.edges.roles_bound(who, name).into_iter();
            let roles = roles.filter(|role| role.namespace().is_none() == cluster_roles);
            found.extend(roles.map(|role| (scope, role.name().to_owned(), role.is_aggregated())));
        }
        found
    }

    /// Adds the gains by new pods and by pods of workloads.
    fn add_new_pods(&mut self, seat: &Seat, wide: Option<&Seat>) {
        let rights = PodRights::new(self, seat, wide);
        for (kind, proof, author) in &rights.makers {
            let scope = author.home.map_or(seat.scope, Scope::Namespace);
            let edge = Edge::new(*kind, seat.node).at(scope.namespace()).by(*proof);
            let edge = edge.with(author.certainty);
            let edge =
                if author.certainty == PathCertainty::Possible { edge.noted(Note::NoWorkloadsKnown) } else { edge };
            let own = if author.counts { rights.own } else { NOTHING };
            if !author.is_wide {
                self.add_pod_contents(seat, edge, scope);
            }
            match scope {
                Scope::Namespace(namespace) => self.add_pod_nodes(seat.node, namespace, edge, own, &rights),
                Scope::Cluster | Scope::AnyNamespace => self.add_pod_nodes_anywhere(seat.node, edge, own, &rights),
            }
        }
    }

    /// Adds the accounts and Secrets of new pods.
    fn add_pod_contents(&mut self, seat: &Seat, edge: Edge, scope: Scope) {
        let (accounts, secrets) = match scope {
            Scope::Namespace(namespace) => (NodeKey::Accounts(namespace), NodeKey::Secrets(namespace)),
            Scope::Cluster | Scope::AnyNamespace => (NodeKey::AnyAccount, NodeKey::AllSecrets),
        };
        self.add_to(seat, edge, accounts);
        self.add_to(seat, edge, secrets);
    }

    fn add_pod_nodes(&mut self, node: NodeId, namespace: NamespaceId, edge: Edge, own: PolicySet, rights: &PodRights) {
        let mut attempts = vec![(NOTHING, false, edge)];
        if own != NOTHING {
            let (kind, proof) = rights.used;
            attempts.push((own, false, edge.after(kind, proof)));
        }
        if let Some(proof) = rights.level {
            let edge = edge.after(EdgeKind::NamespaceLabels, Some(proof));
            attempts.push((NOTHING, true, edge));
            if own != NOTHING {
                attempts.push((own, true, edge));
            }
        }
        self.add_node_edges(node, namespace, &attempts);
        if let Some(proof) = rights.volumes {
            let kinds = &ProbeKind::CLAIMS;
            let question = PodQuestion { namespace, own, without_labels: false, kinds };
            self.add_node_edge(node, question, edge.after(EdgeKind::Volumes, Some(proof)));
        }
    }

    fn add_pod_nodes_anywhere(&mut self, node: NodeId, edge: Edge, own: PolicySet, rights: &PodRights) {
        self.add_nodes_anywhere(node, edge, NOTHING, &ProbeKind::PODS);
        if own != NOTHING {
            let (kind, proof) = rights.used;
            self.add_nodes_anywhere(node, edge.after(kind, proof), own, &ProbeKind::PODS);
        }
        if let Some(proof) = rights.volumes {
            let edge = edge.after(EdgeKind::Volumes, Some(proof));
            self.add_nodes_anywhere(node, edge, own, &ProbeKind::CLAIMS);
        }
    }
}

/// The author of pods.
#[derive(Debug, Clone, Copy)]
struct Author {
    /// Whether the policies of the author count, and not only the policies of the account of the pod.
    counts: bool,
    certainty: PathCertainty,
    /// The namespace of the pods, of a named workload; none for the scope of the permission.
    home: Option<NamespaceId>,
    /// Whether the permission is cluster-wide, and its gains are known.
    is_wide: bool,
}

/// The permissions of a source around pods in a scope.
#[derive(Debug)]
struct PodRights {
    makers: Vec<(EdgeKind, Option<Proof>, Author)>,
    /// The policies usable by the source.
    own: PolicySet,
    /// The use of policies, with its proof.
    used: (EdgeKind, Option<Proof>),
    /// The proof of a permission to change the labels of the namespace.
    level: Option<Proof>,
    /// The proof of a permission to create volumes.
    volumes: Option<Proof>,
}

impl PodRights {
    fn new(builder: &mut Builder<'_>, seat: &Seat, wide: Option<&Seat>) -> Self {
        let mut makers = Vec::new();
        let seats: Vec<(&Seat, bool)> = [(seat, false)].into_iter().chain(wide.map(|wide| (wide, true))).collect();
        for (seat_of, is_wide) in &seats {
            for (entry, met) in seat_of.met.iter().enumerate() {
                let certain = Author { counts: false, certainty: PathCertainty::Proven, home: None, is_wide: *is_wide };
                let authors = match met.to {
                    EdgeTarget::NewPods => vec![Author { counts: true, ..certain }],
                    EdgeTarget::NewWorkloads => vec![certain],
                    EdgeTarget::ChangedWorkloads => changed_workloads(builder, seat, seat_of, met, certain),
                    _ => Vec::new(),
                };
                makers.extend(authors.into_iter().map(|author| (met.kind, seat_of.proof(entry), author)));
            }
        }
        let name = seat.scope.namespace().map(|namespace| builder.inventory.namespace_name(namespace).to_owned());
        let find = |to: EdgeTarget, is_fit: &dyn Fn(&MetEdge) -> bool| {
            seats.iter().find_map(|(seat, _)| {
                let (entry, met) = seat.entries(to).find(|(_, met)| is_fit(met))?;
                Some((met.kind, seat.proof(entry)?))
            })
        };
        let is_own_namespace = |met: &MetEdge| {
            let names = met.names_of(0);
            names.is_empty() || name.as_ref().is_some_and(|name| names.contains(name))
        };
        let level = find(EdgeTarget::PodLevel, &is_own_namespace).map(|(_, proof)| proof);
        let volumes = find(EdgeTarget::HostFolders, &|_| true).map(|(_, proof)| proof);
        let default_kind = if builder.is_openshift { EdgeKind::UseScc } else { EdgeKind::UsePsp };
        let wanted = |met: &MetEdge| met.kind == default_kind;
        let used = find(EdgeTarget::PodPolicies, &wanted);
        let used = used.map_or((default_kind, None), |(kind, proof)| (kind, Some(proof)));
        let own = if makers.is_empty() {
            NOTHING
        } else {
            builder.admission.usable(&builder.edges, &seat.rules, seat.who.as_ref())
        };
        Self { makers, own, used, level, volumes }
    }
}

/// Returns the authors of pods by changes of workloads: a change of the template may select any account of the namespace.
fn changed_workloads(
    builder: &Builder<'_>,
    seat: &Seat,
    seat_of: &Seat,
    met: &MetEdge,
    certain: Author,
) -> Vec<Author> {
    let names = met.names_of(0);
    let may_change = |kind: &str, name: &str| {
        let Some((group, resource)) = resource_of(kind) else { return false };
        ["update", "patch"].iter().any(|verb| {
            let access = ResourceVerb { verb, group, resource };
            let allowed = builder.edges.names_allowed(&seat_of.rules, access);
            allowed.is_none_or(|names| names.contains(&name))
        })
    };
    let here: Vec<NamespaceId> = match seat.scope.namespace() {
        Some(namespace) => vec![namespace],
        None => builder.inventory.namespace_numbers().collect(),
    };
    let is_known = |namespace: &NamespaceId| {
        let pods = builder.inventory.contents_of(*namespace).into_iter().flat_map(|contents| &contents.pods);
        let mut known = pods.filter(|pod| may_change(pod.kind, &pod.name));
        known.any(|pod| names.is_empty() || names.contains(&pod.name))
    };
    if names.is_empty() {
        let certainty = if here.iter().any(is_known) { PathCertainty::Proven } else { PathCertainty::Possible };
        return vec![Author { certainty, ..certain }];
    }
    let homes = here.into_iter().filter(is_known);
    homes.map(|namespace| Author { home: Some(namespace), ..certain }).collect()
}

/// Returns the API group and resource of a kind of workload with a template that may change.
fn resource_of(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "Deployment" => Some(("apps", "deployments")),
        "DaemonSet" => Some(("apps", "daemonsets")),
        "StatefulSet" => Some(("apps", "statefulsets")),
        "ReplicaSet" => Some(("apps", "replicasets")),
        "ReplicationController" => Some(("", "replicationcontrollers")),
        "CronJob" => Some(("batch", "cronjobs")),
        _ => None,
    }
}
