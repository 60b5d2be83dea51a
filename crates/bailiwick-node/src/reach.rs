//! The reach of a controlled node: the objects readable by its kubelet, and the service accounts with tokens for it.
//!
//! The result is exact for bound pods. For workloads it is an upper bound: it holds if every pod comes from these
//! objects, and the nodes have these labels and taints.

use bailiwick_kubernetes::absent;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::cluster::{Cluster, NamespacedName, Node, ServiceAccount};
use super::graph::{Graph, GraphObject, ObjectKind};
use super::placement::{Constraints, Fit, NodeSlot, Taken};
use super::pod::ClusterPod;
use super::workload::ClusterWorkload;

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// It is so.
    Yes,
    /// It depends on scheduling, or on unknown objects.
    Maybe,
}

impl Certainty {
    /// Returns the word of the certainty.
    pub fn word(self) -> &'static str {
        match self {
            Certainty::Yes => "yes",
            Certainty::Maybe => "maybe",
        }
    }
}

/// The cause of an object in reach.
#[derive(Debug, Clone, Copy)]
pub enum Via<'c> {
    /// A pod on the node, or another bound object.
    Bound(&'c GraphObject),
    /// A workload with possible pods on the node.
    Workload(&'c ClusterWorkload),
}

impl std::fmt::Display for Via<'_> {
    /// Prints `Pod a/web` or `DaemonSet kube-system/agent`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Via::Bound(object) => object.fmt(formatter),
            Via::Workload(workload) => workload.fmt(formatter),
        }
    }
}

/// How an object is reached.
#[derive(Debug, Clone, Copy)]
pub struct Reached<'c> {
    /// How sure it is.
    pub certainty: Certainty,
    /// The cause.
    pub via: Via<'c>,
}

/// Everything within reach of a node; of several ways to an object the surest.
#[derive(Debug, Default)]
pub struct Reachable<'c> {
    /// Everything reached, with its cause.
    pub objects: BTreeMap<&'c GraphObject, Reached<'c>>,
    /// Claims of workloads without a known PersistentVolume.
    pub open_claims: BTreeSet<&'c NamespacedName>,
}

impl<'c> Reachable<'c> {
    fn add(&mut self, object: &'c GraphObject, reached: Reached<'c>) {
        let known = self.objects.entry(object).or_insert(reached);
        if reached.certainty < known.certainty {
            *known = reached;
        }
    }

    /// Returns the objects of a kind.
    pub fn of_kind(&self, kind: ObjectKind) -> impl Iterator<Item = (&'c GraphObject, Reached<'c>)> {
        self.objects.iter().filter(move |(object, _)| object.kind == kind).map(|(object, reached)| (*object, *reached))
    }
}

/// The common node of a pool, with its known members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EqualNodes {
    /// The common labels and taints.
    pub like: Node,
    /// Their names.
    pub members: Vec<String>,
}

impl EqualNodes {
    /// Returns the pool of the nodes with some labels.
    pub fn from_cluster(cluster: &Cluster, like: Node) -> Self {
        let has_all = |node: &Node| like.labels.iter().all(|(key, value)| node.labels.get(key) == Some(value));
        let members = cluster.nodes.iter().filter(|(_, node)| has_all(node)).map(|(name, _)| name.clone());
        Self { members: members.collect(), like }
    }
}

/// The objects of a workload on each of its nodes.
#[derive(Debug)]
struct Load {
    /// The objects; objects reached by a generated claim are never sure.
    objects: Vec<(GraphObject, Certainty)>,
    /// Claims without a volume.
    open_claims: Vec<NamespacedName>,
}

/// A PersistentVolume with its claim.
struct BoundVolume<'c> {
    claim: &'c str,
    name: &'c str,
    secrets: &'c [NamespacedName],
}

/// The fits of all workloads at nodes alike.
type Fits = Rc<Vec<(usize, Fit)>>;

/// The reach of every node of a cluster.
#[derive(Debug)]
pub struct NodeReachability<'c> {
    cluster: &'c Cluster,
    graph: &'c Graph,
    /// The workloads, with the objects and the possible nodes of each, in the same order.
    workloads: Vec<&'c ClusterWorkload>,
    loads: Vec<Load>,
    constraints: Vec<Constraints>,
    /// The default account of pods without an account, by pod.
    default_accounts: HashMap<GraphObject, GraphObject>,
    /// Labels in the constraints of some workload: nodes with the same values are equal.
    asked_labels: BTreeSet<String>,
    /// True when some workload asks about the names of nodes.
    asks_names: bool,
    fits: RefCell<HashMap<(Node, bool), Fits>>,
}

impl<'c> NodeReachability<'c> {
    /// Derives the reach from a cluster and its graph.
    pub fn new(cluster: &'c Cluster, graph: &'c Graph) -> Self {
        let mut by_namespace: HashMap<&str, Vec<BoundVolume<'_>>> = HashMap::new();
        // A claim gets its named volume, even before the volume refers to it.
        let named = cluster.claims.iter().filter_map(|(claim, volume)| {
            let (name, volume) = cluster.volumes.get_key_value(volume)?;
            Some((claim, name, volume))
        });
        for ((namespace, claim), name, volume) in named {
            let bound = BoundVolume { claim, name, secrets: &volume.secrets };
            by_namespace.entry(namespace).or_default().push(bound);
        }
        for (name, volume) in &cluster.volumes {
            if let Some((namespace, claim)) = &volume.claim {
                let bound = BoundVolume { claim, name, secrets: &volume.secrets };
                by_namespace.entry(namespace).or_default().push(bound);
            }
        }
        let workloads: Vec<&ClusterWorkload> = cluster.workloads.values().collect();
        let load = |workload: &&ClusterWorkload| {
            let account = cluster.accounts.get(&(workload.id.0.clone(), workload.account().to_owned()));
            let volumes = by_namespace.get(workload.id.0.as_str()).map_or(&[][..], Vec::as_slice);
            load_of(workload, account, volumes)
        };
        let constrained =
            |workload: &&ClusterWorkload| workload.constraints.with_runtime_class(&cluster.runtime_classes);
        let constraints: Vec<Constraints> = workloads.iter().map(constrained).collect();
        let asked_labels = constraints
            .iter()
            .flat_map(|constraints| constraints.labels().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let asks_names = constraints.iter().any(Constraints::asks_for_name);
        let nameless = |pod: &&ClusterPod| !pod.is_mirror && pod.references.account.is_empty() && !pod.node.is_empty();
        let default_account = |pod: &ClusterPod| {
            let account = GraphObject::new(ObjectKind::ServiceAccount, &pod.namespace, "default");
            (GraphObject::new(ObjectKind::Pod, &pod.namespace, &pod.name), account)
        };
        Self {
            cluster,
            graph,
            loads: workloads.iter().map(load).collect(),
            workloads,
            default_accounts: cluster.pods.values().filter(nameless).map(default_account).collect(),
            constraints,
            asked_labels,
            asks_names,
            fits: RefCell::new(HashMap::new()),
        }
    }

    /// Returns the reach of a node; an unknown node counts as a node without labels and taints. With `taken`, the
    /// reach includes the changes of an attacker.
    pub fn of_node(&self, name: &str, taken: bool) -> Reachable<'_> {
        let mut reach = Reachable::default();
        self.add_bound(name, Certainty::Yes, &mut reach);
        let unknown = Node::default();
        let node = match self.cluster.nodes.get(name) {
            Some(node) => node,
            None => &unknown,
        };
        let place = NodeSlot { name: Some(name), node, taken: self.taken(taken) };
        self.add_workloads(&self.fits_at(place), &mut reach);
        reach
    }

    /// Returns the reach of some node of a pool, including a future one.
    pub fn of_pool(&self, pool: &EqualNodes, taken: bool) -> Reachable<'_> {
        let mut reach = Reachable::default();
        let taken = self.taken(taken);
        // Equal members have the same fits, added once.
        let mut all: Vec<Fits> = Vec::new();
        for (name, node) in pool.members.iter().filter_map(|name| Some((name, self.cluster.nodes.get(name)?))) {
            self.add_bound(name, Certainty::Yes, &mut reach);
            let fits = self.fits_at(NodeSlot { name: Some(name), node, taken });
            if !all.iter().any(|known| Rc::ptr_eq(known, &fits)) {
                all.push(fits);
            }
        }
        // A node known from pods alone may belong to the pool.
        for name in self.cluster.node_names().into_iter().filter(|name| !self.cluster.nodes.contains_key(*name)) {
            self.add_bound(name, Certainty::Maybe, &mut reach);
        }
        let joining = self.fits_at(NodeSlot { name: None, node: &pool.like, taken });
        // Pods bound to a node of another pool do not come to a node of this pool.
        let elsewhere = |position: usize| {
            let name = self.constraints.get(position).map_or("", |constraints| constraints.node_name.as_str());
            self.cluster.nodes.contains_key(name)
        };
        all.push(Rc::new(joining.iter().copied().filter(|(position, _)| !elsewhere(*position)).collect()));
        all.iter().for_each(|fits| self.add_workloads(fits, &mut reach));
        reach
    }

    fn taken(&self, taken: bool) -> Option<Taken> {
        taken.then(|| Taken::from_cluster(self.cluster))
    }

    /// Adds the objects of the node's pods, as in the Node authorizer.
    fn add_bound<'a>(&'a self, name: &str, certainty: Certainty, reach: &mut Reachable<'a>) {
        let reached = self.graph.reach(name);
        for (object, next) in &reached {
            let mut last = *object;
            let mut step = Some(*next);
            // The last object before the node is the cause.
            while let Some(next) = step.filter(|next| next.kind != ObjectKind::Node) {
                last = next;
                step = reached.get(next).copied();
            }
            let reached = Reached { certainty, via: Via::Bound(last) };
            reach.add(object, reached);
            // A pod without an account gets the default one at its creation.
            if let Some(account) = self.default_accounts.get(*object) {
                reach.add(account, reached);
            }
        }
    }

    fn add_workloads<'a>(&'a self, fits: &Fits, reach: &mut Reachable<'a>) {
        for (position, fit) in fits.iter() {
            let (Some(workload), Some(load)) = (self.workloads.get(*position), self.loads.get(*position)) else {
                continue;
            };
            let is_sure = workload.is_daemon() && *fit == Fit::Sure;
            let own = if is_sure { Certainty::Yes } else { Certainty::Maybe };
            for (object, at_best) in &load.objects {
                reach.add(object, Reached { certainty: own.max(*at_best), via: Via::Workload(workload) });
            }
            reach.open_claims.extend(&load.open_claims);
        }
    }

    /// Returns the workloads with possible pods on a node. Nodes with the same relevant labels are evaluated once,
    /// unless a constraint uses names.
    fn fits_at(&self, place: NodeSlot<'_>) -> Fits {
        let find = || -> Fits {
            let each = self.constraints.iter().enumerate();
            Rc::new(each.filter_map(|(position, own)| Some((position, own.admit(place).ok()?))).collect())
        };
        if self.asks_names || place.name.is_none() {
            return find();
        }
        let asked = place.node.labels.iter().filter(|(key, _)| self.asked_labels.contains(key.as_str()));
        let alike = Node {
            labels: asked.map(|(key, value)| (key.clone(), value.clone())).collect(),
            taints: place.node.taints.clone(),
            ..Node::default()
        };
        Rc::clone(self.fits.borrow_mut().entry((alike, place.taken.is_some())).or_insert_with(find))
    }

    /// Returns the number of known nodes with a certain token of an account.
    pub fn carriers(&self, account: &NamespacedName) -> usize {
        let own = |workload: &ClusterWorkload| {
            workload.is_daemon() && workload.id.0 == account.0 && workload.account() == account.1
        };
        let each = self.workloads.iter().zip(&self.constraints);
        let daemons: Vec<&Constraints> =
            each.filter(|(workload, _)| own(workload)).map(|(_, constraints)| constraints).collect();
        let is_own = |pod: &&ClusterPod| match pod.references.account.as_str() {
            "" => account.1 == "default",
            name => name == account.1,
        };
        let pods = self.cluster.pods.values().filter(|pod| !pod.is_mirror && pod.namespace == account.0);
        let bound: BTreeSet<&str> = pods.filter(is_own).map(|pod| pod.node.as_str()).collect();
        let carries = |(name, node): &(&String, &Node)| {
            let place = NodeSlot { name: Some(name), node, taken: None };
            let fits = |constraints: &&Constraints| constraints.admit(place) == Ok(Fit::Sure);
            bound.contains(name.as_str()) || daemons.iter().any(fits)
        };
        self.cluster.nodes.iter().filter(carries).count()
    }

    /// Returns the cluster of the atlas.
    pub fn cluster(&self) -> &'c Cluster {
        self.cluster
    }
}

/// Returns the objects of a workload, with the bound volumes of its namespace.
fn load_of(workload: &ClusterWorkload, account: Option<&ServiceAccount>, volumes: &[BoundVolume<'_>]) -> Load {
    let namespace = &workload.id.0;
    let references = &workload.references;
    let pulled = absent::list(account.map(|account| &account.pull_secrets));
    let account = [workload.account().to_owned()];
    let lists = [
        (ObjectKind::ServiceAccount, account.as_slice()),
        (ObjectKind::Secret, references.secrets.as_slice()),
        (ObjectKind::Secret, pulled),
        (ObjectKind::ConfigMap, references.config_maps.as_slice()),
        (ObjectKind::PersistentVolumeClaim, references.claims.as_slice()),
        (ObjectKind::ResourceClaim, references.resource_claims.as_slice()),
    ];
    let named = lists.into_iter().flat_map(|(kind, names)| {
        names.iter().map(move |name| (GraphObject::new(kind, namespace, name), Certainty::Yes))
    });
    let mut objects: Vec<(GraphObject, Certainty)> = named.collect();
    let mut open: BTreeSet<&str> = references.claims.iter().map(String::as_str).collect();
    for BoundVolume { claim, name, secrets } in volumes {
        let is_named = references.claims.iter().any(|own| own == claim);
        if !is_named && !workload.makes_claim(claim) {
            continue;
        }
        open.remove(claim);
        // The owner of a claim made for a pod is unknown here.
        let certainty = if is_named { Certainty::Yes } else { Certainty::Maybe };
        objects.push((GraphObject::new(ObjectKind::PersistentVolumeClaim, namespace, claim), certainty));
        objects.push((GraphObject::new(ObjectKind::PersistentVolume, "", name), certainty));
        let secrets = secrets.iter().map(|(namespace, secret)| GraphObject::new(ObjectKind::Secret, namespace, secret));
        objects.extend(secrets.map(|secret| (secret, certainty)));
    }
    Load { objects, open_claims: open.into_iter().map(|claim| (namespace.clone(), claim.to_owned())).collect() }
}
