//! The graph of one world, and its paths as they are reported.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bailiwick_access::proof::Chain;
use bailiwick_access::risk::{MetEdge, PermissionEdges};
use bailiwick_access::{Identity, World};
use bailiwick_admission::gate::AdmissionObjects;
use bailiwick_admission::installed::InstalledPolicies;
use bailiwick_node::Cluster;

use crate::build::Builder;
use crate::graph::{Edge, Graph, NodeId, NodeKey, Note, Proof};
use crate::inventory::{Inventory, NamespaceId, SubjectId, account_of};
use crate::path::{EscalationPath, PathCertainty, PathNode, PathOutline, PathStep};
use crate::power::Power;
use crate::search::{Route, Search, local_routes};

/// The objects of one cluster.
#[derive(Debug, Clone, Copy)]
pub struct GraphInputs<'i> {
    /// Roles and bindings.
    pub world: &'i World,
    /// Pods, workloads, service accounts and nodes.
    pub cluster: &'i Cluster,
    /// Namespaces, and the policies and constraints for pods.
    pub admission: &'i AdmissionObjects,
    /// Installed admission policies.
    pub installed: Option<&'i InstalledPolicies>,
    /// Whether the cluster is OpenShift.
    pub is_openshift: bool,
    /// Subjects to report beside the subjects of bindings, such as the subjects of another state: `ServiceAccount/shop/web`.
    pub further_subjects: &'i [String],
}

/// The graph of the permissions of one world.
#[derive(Debug)]
pub struct EscalationGraph<'i> {
    pub(crate) inventory: Inventory,
    edges: PermissionEdges<'i>,
    pub(crate) graph: Graph,
    pub(crate) lists: Vec<Arc<Vec<MetEdge>>>,
    pub(crate) search: Search,
    /// The paths of every authenticated identity: certainty and number of steps for each power.
    pub(crate) of_everybody: BTreeMap<Power, (PathCertainty, usize)>,
}

/// The group of every authenticated identity.
pub(crate) const EVERYBODY: &str = "Group/system:authenticated";

impl<'i> EscalationGraph<'i> {
    /// Builds the graph of a world.
    pub fn new(inputs: GraphInputs<'i>) -> Self {
        let Builder { inventory, edges, graph, lists, .. } = Builder::build(&inputs);
        let search = Search::new(&graph);
        let mut graph = Self { inventory, edges, graph, lists, search, of_everybody: BTreeMap::new() };
        let paths = graph.routes_of(EVERYBODY).into_iter();
        graph.of_everybody =
            paths.map(|(power, route)| (power, (certainty_of(&route), graph.steps_of(&route)))).collect();
        graph
    }

    /// Returns the subjects of bindings and the further subjects, except for `system:masters`, sorted.
    pub fn subjects(&self) -> Vec<String> {
        let reported = self.inventory.subjects.iter().filter(|subject| subject.is_reported);
        let mut names: Vec<String> = reported.map(|subject| subject.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the paths of a subject: the best one for each power, the worst power first. Powers within reach of
    /// every authenticated identity are left out.
    pub fn paths_of(&self, subject: &str) -> Vec<EscalationPath> {
        self.reported_routes(subject)
            .into_iter()
            .filter_map(|(power, route)| self.path(subject, power, &route))
            .collect()
    }

    /// Returns the paths of a subject without the paths that a better one includes. The better path reaches a wider power with
    /// at least the same certainty. The included path ends in one namespace, or goes on from the wider power.
    pub fn separate_paths_of(&self, subject: &str) -> Vec<EscalationPath> {
        let all = self.paths_of(subject);
        let is_included = |path: &EscalationPath| {
            all.iter().any(|other| {
                other.reaches != path.reaches
                    && other.reaches.includes(&path.reaches)
                    && other.certainty <= path.certainty
                    && (path.reaches.is_within_namespace() || path.begins_with(other))
            })
        };
        let is_separate: Vec<bool> = all.iter().map(|path| !is_included(path)).collect();
        all.into_iter().zip(is_separate).filter_map(|(path, is_separate)| is_separate.then_some(path)).collect()
    }

    /// Returns the best path of a subject to a power, or to a power that includes it. Powers of every authenticated
    /// identity count, and a path to one namespace or account may pass powers of the whole cluster.
    pub fn path_to(&self, subject: &str, power: &Power) -> Option<EscalationPath> {
        let known = [subject, EVERYBODY].into_iter().find_map(|name| Some((name, self.inventory.subject(name)?)));
        let (name, id) = known?;
        let node = self.graph.find(&NodeKey::Subject(id))?;
        let mut routes = self.search.routes(&self.graph, node);
        let namespace = match power {
            Power::NamespaceAdmin(namespace) | Power::Secrets(namespace) | Power::Account { namespace, .. } => {
                self.inventory.namespace(namespace)
            }
            _ => None,
        };
        let local = [self.local_node(power), namespace.map(NodeKey::NamespaceAdmin)].into_iter().flatten();
        for goal in local.filter_map(|key| self.graph.find(&key)) {
            let route = crate::search::route_between(&self.graph, node, goal);
            routes.extend(route.and_then(|route| Some((self.local_power(goal)?, route))));
        }
        let fitting = routes.into_iter().filter(|(reached, _)| reached.includes(power));
        let best = fitting.min_by_key(|(reached, route)| (certainty_of(route), self.steps_of(route), reached != power));
        let (reached, route) = best?;
        let path = self.path(name, reached, &route)?;
        Some(EscalationPath { subject: subject.to_owned(), ..path })
    }

    /// Returns the node of a power over one namespace or account.
    fn local_node(&self, power: &Power) -> Option<NodeKey> {
        match power {
            Power::NamespaceAdmin(namespace) => self.inventory.namespace(namespace).map(NodeKey::NamespaceAdmin),
            Power::Secrets(namespace) => self.inventory.namespace(namespace).map(NodeKey::Secrets),
            Power::Account { namespace, name } => {
                self.inventory.subject(&format!("ServiceAccount/{namespace}/{name}")).map(NodeKey::Subject)
            }
            _ => None,
        }
    }

    /// Returns the powers of a subject without the steps of the paths: for comparisons of many subjects.
    pub fn outlines_of(&self, subject: &str) -> Vec<PathOutline> {
        let outline = |(reaches, route): (Power, Route)| {
            let (certainty, steps) = (certainty_of(&route), self.steps_of(&route));
            PathOutline { reaches, certainty, steps }
        };
        self.reported_routes(subject).into_iter().map(outline).collect()
    }

    /// Returns the best routes of a subject, without powers of every authenticated identity, the worst power first.
    fn reported_routes(&self, subject: &str) -> Vec<(Power, Route)> {
        let mut routes = self.routes_of(subject);
        if subject != EVERYBODY {
            routes.retain(|(power, route)| {
                let known = self.of_everybody.get(power);
                known.is_none_or(|known| *known > (certainty_of(route), self.steps_of(route)))
            });
        }
        routes.sort_by(|left, right| left.0.cmp(&right.0));
        routes
    }

    pub(crate) fn path(&self, subject: &str, reaches: Power, route: &Route) -> Option<EscalationPath> {
        let who = self.inventory.subject(subject).and_then(|id| self.inventory.subject_of(id))?;
        let steps = self.steps(subject, &who.who, route);
        Some(EscalationPath { subject: subject.to_owned(), reaches, certainty: certainty_of(route), steps })
    }

    /// Returns the steps of a subject to its next nodes, sorted by kind: the edges of the graph.
    pub fn direct_steps(&self, subject: &str) -> Vec<PathStep> {
        let Some(id) = self.inventory.subject(subject) else { return Vec::new() };
        let Some(node) = self.graph.find(&NodeKey::Subject(id)) else { return Vec::new() };
        let Some(who) = self.inventory.subject_of(id) else { return Vec::new() };
        let mut steps: Vec<PathStep> = Vec::new();
        for edge in self.graph.edges_of(node) {
            let is_hub = self.graph.key(edge.to).is_some_and(NodeKey::is_hub);
            let inner = if is_hub { self.graph.edges_of(edge.to) } else { &[] };
            let routes: Vec<Route> = match inner {
                [] if is_hub => Vec::new(),
                [] => vec![vec![(node, *edge)]],
                inner => inner.iter().map(|last| vec![(node, *edge), (edge.to, *last)]).collect(),
            };
            steps.extend(routes.iter().flat_map(|route| self.steps(subject, &who.who, route)));
        }
        steps.sort_by(|left, right| {
            (left.edge, &left.namespace, &left.to, left.certainty).cmp(&(
                right.edge,
                &right.namespace,
                &right.to,
                right.certainty,
            ))
        });
        steps.dedup();
        steps
    }

    /// Returns the best route of a subject to each power.
    fn routes_of(&self, subject: &str) -> Vec<(Power, Route)> {
        let Some(node) = self.inventory.subject(subject).and_then(|id| self.graph.find(&NodeKey::Subject(id))) else {
            return Vec::new();
        };
        let mut routes = self.search.routes(&self.graph, node);
        let is_admin = routes.iter().any(|(power, route)| *power == Power::ClusterAdmin && is_held(route));
        if is_admin {
            routes.retain(|(power, _)| *power == Power::ClusterAdmin);
            return routes;
        }
        let local: HashMap<NodeId, Route> = local_routes(&self.graph, node);
        routes.extend(local.into_iter().filter_map(|(node, route)| Some((self.local_power(node)?, route))));
        routes
    }

    /// Returns the power over one namespace or account of a node.
    fn local_power(&self, node: NodeId) -> Option<Power> {
        match self.graph.key(node)? {
            NodeKey::NamespaceAdmin(namespace) => Some(Power::NamespaceAdmin(self.namespace(*namespace))),
            NodeKey::Secrets(namespace) => Some(Power::Secrets(self.namespace(*namespace))),
            NodeKey::Subject(id) => {
                let (namespace, name) = account_of(&self.inventory.subject_of(*id)?.name)?;
                Some(Power::Account { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => None,
        }
    }

    fn namespace(&self, id: NamespaceId) -> String {
        self.inventory.namespace_name(id).to_owned()
    }

    /// Returns the number of steps of a route.
    fn steps_of(&self, route: &Route) -> usize {
        route.iter().map(|(from, edge)| self.graph.steps_of(*from, edge)).sum()
    }

    /// Returns the node of a path: for a gained role the subject that gained it.
    fn path_node(&self, node: NodeId, subject: &str) -> PathNode {
        let power = match self.graph.key(node) {
            Some(NodeKey::Subject(id)) => return PathNode::Subject(self.subject_name(*id)),
            Some(NodeKey::ClusterAdmin) => Power::ClusterAdmin,
            Some(NodeKey::AnyUser | NodeKey::AnyCertificate) => Power::AnyUser,
            Some(NodeKey::AnyAccount) => Power::AnyAccount,
            Some(NodeKey::SomeNode | NodeKey::NamedNodes(_) | NodeKey::EveryNode) => Power::Nodes,
            Some(NodeKey::AllSecrets) => Power::AllSecrets,
            Some(NodeKey::Admission | NodeKey::Mutation) => Power::Admission,
            Some(NodeKey::Gitops(_)) => Power::Gitops,
            Some(NodeKey::NamespaceAdmin(namespace)) => Power::NamespaceAdmin(self.namespace(*namespace)),
            Some(NodeKey::Secrets(namespace)) => Power::Secrets(self.namespace(*namespace)),
            _ => return PathNode::Subject(subject.to_owned()),
        };
        PathNode::Power(power)
    }

    fn subject_name(&self, id: SubjectId) -> String {
        self.inventory.subject_of(id).map(|subject| subject.name.clone()).into_iter().collect()
    }

    /// Returns the steps of a route.
    fn steps(&self, subject: &str, who: &Identity, route: &Route) -> Vec<PathStep> {
        let mut steps: Vec<PathStep> = Vec::new();
        let (mut name, mut who) = (subject.to_owned(), who.clone());
        let mut from = PathNode::Subject(subject.to_owned());
        for (start, edge) in route {
            let to = self.path_node(edge.to, &name);
            if let (true, Some(last)) = (self.graph.key(*start).is_some_and(NodeKey::is_hub), steps.last_mut()) {
                // The edge of a list of targets completes the step before.
                last.to = to.clone();
                last.certainty = last.certainty.max(edge.certainty);
            } else {
                if let Some(kind) = edge.after {
                    let chains = self.chains(&who, edge.after_proof);
                    let certainty = PathCertainty::Proven;
                    let namespace =
                        if edge.after_proof.is_none_or(|proof| proof.scope.is_some()) { edge.namespace } else { None };
                    let namespace = namespace.map(|id| self.namespace(id));
                    let (from, to) = (from.clone(), from.clone());
                    steps.push(PathStep { edge: kind, from, to, namespace, chains, certainty, note: None });
                }
                steps.push(self.step(from.clone(), to.clone(), edge, &who));
            }
            if let (PathNode::Subject(next), Some(NodeKey::Subject(id))) = (&to, self.graph.key(edge.to)) {
                name.clone_from(next);
                if let Some(subject) = self.inventory.subject_of(*id) {
                    who = subject.who.clone();
                }
            }
            from = to;
        }
        steps
    }

    fn step(&self, from: PathNode, to: PathNode, edge: &Edge, who: &Identity) -> PathStep {
        PathStep {
            edge: edge.kind,
            from,
            to,
            namespace: edge.namespace.map(|id| self.namespace(id)),
            chains: self.chains(who, edge.proof),
            certainty: edge.certainty,
            note: edge.note.map(|note| self.note(note, edge.namespace)),
        }
    }

    /// Returns the bindings and rules of a proof.
    fn chains(&self, who: &Identity, proof: Option<Proof>) -> Vec<Chain> {
        let Some(proof) = proof else { return Vec::new() };
        let list = self.lists.get(proof.list as usize);
        let Some(met) = list.and_then(|list| list.get(proof.entry as usize)) else { return Vec::new() };
        let namespace = proof.scope.map(|scope| self.inventory.namespace_name(scope));
        self.edges.chains(who, namespace, met)
    }

    fn note(&self, note: Note, namespace: Option<NamespaceId>) -> String {
        let name =
            |id: Option<NamespaceId>| id.map(|id| self.inventory.namespace_name(id)).into_iter().collect::<String>();
        let text = match note {
            Note::Admits(kind) => return format!("`{}` admits {}", name(namespace), kind.words()),
            Note::AdmitsUnknown(kind) => {
                let namespace = name(namespace);
                return format!(
                    "`{namespace}` admits {}, if no label limits it: its Namespace object is unknown",
                    kind.words()
                );
            }
            Note::SomewhereAdmits(kind, id) => return format!("`{}` admits {}", name(Some(id)), kind.words()),
            Note::LegacyTokens => {
                "the platform makes a token Secret for each service account before 1.24, on OpenShift before 4.16"
            }
            Note::TokenSecret => "a Secret of the inputs holds a token of the account",
            Note::NoPodsKnown => "no such pod is among the inputs",
            Note::NoWorkloadsKnown => "no such workload is among the inputs",
            Note::Certificates => {
                "a client certificate names any user, but not the group `system:masters` (admission plugin CertificateSubjectRestriction)"
            }
            Note::NodeCertificates => "a client certificate of any kubelet",
            Note::SignerKey => "the signature needs the key of the certificate authority",
            Note::Constrained => "for the actions of the rule alone (constrained impersonation, 1.36)",
            Note::OtherObjects => "a configuration, or a policy and its binding, has to exist",
            Note::LaterWrite => "another subject has to write an object",
            Note::Scheduling => "the scheduler selects the node of the pod",
            Note::NamedNodes => "the named nodes alone",
            Note::ControllerElsewhere => "the controller follows other namespaces only if it is configured to",
            Note::ControllerUnknown => "the service account of the controller is not among the inputs",
            Note::Aggregation => "the new role is gathered by its labels",
        };
        text.to_owned()
    }
}

/// Returns the certainty of the weakest edge.
fn certainty_of(route: &Route) -> PathCertainty {
    let possible = route.iter().any(|(_, edge)| edge.certainty == PathCertainty::Possible);
    if possible { PathCertainty::Possible } else { PathCertainty::Proven }
}

/// Whether a route is one step by a binding.
fn is_held(route: &Route) -> bool {
    matches!(route.as_slice(), [(_, edge)] if edge.kind == bailiwick_access::risk::EdgeKind::Held)
}
