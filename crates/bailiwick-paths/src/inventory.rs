//! The subjects and namespaces of a world, and the pods with their accounts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bailiwick_access::Identity;
use bailiwick_access::risk::{BoundSubject, identity_of_subject};
use bailiwick_node::Cluster;
use bailiwick_node::cluster::NamespacedName;

use crate::GraphInputs;
use crate::path::PathCertainty;

/// A number of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NamespaceId(pub(crate) u32);

/// A number of a subject: subjects with objects or as users and groups come first, by name, and then service accounts
/// known from bindings alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SubjectId(pub(crate) u32);

/// A subject with its scopes.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) who: Identity,
    /// The namespaces with a RoleBinding for it.
    pub(crate) scopes: Vec<NamespaceId>,
    /// Its namespace, for a service account.
    pub(crate) namespace: Option<NamespaceId>,
    /// Whether a binding names it, or it is a further subject of the inputs.
    pub(crate) is_reported: bool,
}

/// A pod, or a workload with pods.
#[derive(Debug)]
pub(crate) struct PodSource {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) account: SubjectId,
    /// The node of a bound pod; empty for none.
    pub(crate) node: String,
}

/// The contents of a namespace.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) accounts: Vec<SubjectId>,
    pub(crate) pods: Vec<PodSource>,
    /// Secrets with a token, and the accounts.
    pub(crate) tokens: Vec<(String, SubjectId)>,
}

/// The subjects and namespaces of a world.
#[derive(Debug)]
pub(crate) struct Inventory {
    pub(crate) namespaces: Vec<String>,
    namespace_ids: HashMap<String, NamespaceId>,
    pub(crate) subjects: Vec<Subject>,
    subject_ids: HashMap<String, SubjectId>,
    pub(crate) contents: Vec<Contents>,
}

/// Returns the name of a service account as a subject.
fn account_name(account: &NamespacedName) -> String {
    format!("ServiceAccount/{}/{}", account.0, account.1)
}

impl Inventory {
    /// Collects the subjects and namespaces.
    pub(crate) fn new(inputs: &GraphInputs<'_>) -> Self {
        let GraphInputs { world, cluster, .. } = *inputs;
        let bound = bound_subjects(inputs);
        let with_objects = accounts_with_objects(cluster);
        let mut names = world.known_namespaces();
        names.extend(with_objects.iter().map(|(namespace, _)| namespace.clone()));
        names.extend(
            bound.iter().filter_map(|subject| account_of(&subject.name)).map(|(namespace, _)| namespace.to_owned()),
        );
        let namespaces: Vec<String> = names.into_iter().collect();
        let namespace_ids: HashMap<String, NamespaceId> =
            namespaces.iter().zip(0..).map(|(name, id)| (name.clone(), NamespaceId(id))).collect();
        let subjects = subjects_of(bound, &with_objects, &namespace_ids);
        let subject_ids: HashMap<String, SubjectId> =
            subjects.iter().zip(0..).map(|(subject, id)| (subject.name.clone(), SubjectId(id))).collect();
        let contents = namespaces.iter().map(|_| Contents::default()).collect();
        let mut inventory = Self { namespaces, namespace_ids, subjects, subject_ids, contents };
        inventory.fill(cluster);
        inventory
    }

    fn fill(&mut self, cluster: &Cluster) {
        for (subject, id) in self.subjects.iter().zip(0..) {
            let contents = subject.namespace.and_then(|namespace| self.contents.get_mut(namespace.0 as usize));
            if let Some(contents) = contents {
                contents.accounts.push(SubjectId(id));
            }
        }
        let bound = cluster.pods.values().filter(|pod| !pod.is_mirror && !pod.node.is_empty()).map(|pod| {
            let account = (pod.namespace.clone(), or_default(&pod.references.account).to_owned());
            ("Pod", pod.name.as_str(), account, pod.node.as_str())
        });
        let pending = cluster.workloads.values().map(|workload| {
            let account = (workload.id.0.clone(), workload.account().to_owned());
            (workload.kind, workload.id.1.as_str(), account, "")
        });
        for (kind, name, account, node) in bound.chain(pending) {
            let Some(id) = self.subject(&account_name(&account)) else { continue };
            if let Some(contents) = self.contents_mut(&account.0) {
                contents.pods.push(PodSource { kind, name: name.to_owned(), account: id, node: node.to_owned() });
            }
        }
        for ((namespace, secret), account) in &cluster.token_secrets {
            let Some(id) = self.subject(&account_name(&(namespace.clone(), account.clone()))) else { continue };
            if let Some(contents) = self.contents_mut(namespace) {
                contents.tokens.push((secret.clone(), id));
            }
        }
    }

    fn contents_mut(&mut self, namespace: &str) -> Option<&mut Contents> {
        let id = *self.namespace_ids.get(namespace)?;
        self.contents.get_mut(id.0 as usize)
    }

    /// Returns the number of a namespace.
    pub(crate) fn namespace(&self, name: &str) -> Option<NamespaceId> {
        self.namespace_ids.get(name).copied()
    }

    /// Returns the name of a namespace.
    pub(crate) fn namespace_name(&self, id: NamespaceId) -> &str {
        self.namespaces.get(id.0 as usize).map_or("", String::as_str)
    }

    /// Returns the number of a subject.
    pub(crate) fn subject(&self, name: &str) -> Option<SubjectId> {
        self.subject_ids.get(name).copied()
    }

    /// Returns a subject.
    pub(crate) fn subject_of(&self, id: SubjectId) -> Option<&Subject> {
        self.subjects.get(id.0 as usize)
    }

    /// Returns the numbers of the namespaces, in order.
    pub(crate) fn namespace_numbers(&self) -> impl Iterator<Item = NamespaceId> + use<> {
        (0..u32::try_from(self.namespaces.len()).map_or(u32::MAX, |count| count)).map(NamespaceId)
    }

    /// Returns the contents of a namespace.
    pub(crate) fn contents_of(&self, namespace: NamespaceId) -> Option<&Contents> {
        self.contents.get(namespace.0 as usize)
    }

    /// Returns the accounts of the pods of a source on nodes in reach, with the certainty: pods bound to a node, and
    /// DaemonSets. Other pods run on nodes that the scheduler selects.
    pub(crate) fn pod_accounts(&self) -> BTreeMap<SubjectId, PathCertainty> {
        self.accounts_of_pods(&|_| true)
    }

    /// Returns the accounts of the pods that may run on nodes with these names, sorted, with the certainty.
    pub(crate) fn pod_accounts_on(&self, nodes: &[String]) -> BTreeMap<SubjectId, PathCertainty> {
        self.accounts_of_pods(&|pod| pod.node.is_empty() || nodes.binary_search(&pod.node).is_ok())
    }

    fn accounts_of_pods(&self, is_fit: &dyn Fn(&PodSource) -> bool) -> BTreeMap<SubjectId, PathCertainty> {
        let mut accounts: BTreeMap<SubjectId, PathCertainty> = BTreeMap::new();
        for pod in self.contents.iter().flat_map(|contents| &contents.pods).filter(|pod| is_fit(pod)) {
            let certainty = pod.certainty_on_a_node();
            let known = accounts.entry(pod.account).or_insert(certainty);
            *known = certainty.min(*known);
        }
        accounts
    }
}

impl PodSource {
    /// Returns how sure it is that the pod runs on a node selected by an attacker.
    pub(crate) fn certainty_on_a_node(&self) -> PathCertainty {
        if !self.node.is_empty() || self.kind == "DaemonSet" { PathCertainty::Proven } else { PathCertainty::Possible }
    }
}

fn or_default(account: &str) -> &str {
    if account.is_empty() { "default" } else { account }
}

/// Returns the namespace and the name of a service account as a subject.
pub(crate) fn account_of(subject: &str) -> Option<(&str, &str)> {
    subject.strip_prefix("ServiceAccount/")?.split_once('/')
}

/// Returns the accounts with an object, and the accounts of pods and workloads.
fn accounts_with_objects(cluster: &Cluster) -> BTreeSet<NamespacedName> {
    let own = cluster.accounts.keys().cloned();
    let pods = cluster.pods.values().filter(|pod| !pod.is_mirror);
    let pods = pods.map(|pod| (pod.namespace.clone(), or_default(&pod.references.account).to_owned()));
    let workloads = cluster.workloads.values().map(|workload| (workload.id.0.clone(), workload.account().to_owned()));
    let tokens = cluster.token_secrets.iter().map(|((namespace, _), account)| (namespace.clone(), account.clone()));
    own.chain(pods).chain(workloads).chain(tokens).collect()
}

/// Returns the subjects of bindings, and the further subjects of the inputs.
fn bound_subjects(inputs: &GraphInputs<'_>) -> Vec<BoundSubject> {
    let mut bound = inputs.world.subjects_with_scopes();
    let known: BTreeSet<String> = bound.iter().map(|subject| subject.name.clone()).collect();
    let further: BTreeSet<&String> = inputs.further_subjects.iter().filter(|name| !known.contains(*name)).collect();
    bound.extend(further.into_iter().filter_map(|name| {
        let who = identity_of_subject(name)?;
        Some(BoundSubject { name: name.clone(), who, is_wide: false, namespaces: Vec::new() })
    }));
    bound
}

/// Returns the subjects: accounts with objects, users and groups by name, and then the other accounts.
fn subjects_of(
    bound: Vec<BoundSubject>,
    with_objects: &BTreeSet<NamespacedName>,
    namespaces: &HashMap<String, NamespaceId>,
) -> Vec<Subject> {
    let id_of = |name: &str| namespaces.get(name).copied();
    let known: BTreeSet<String> = bound.iter().map(|subject| subject.name.clone()).collect();
    let mut subjects: Vec<Subject> = bound
        .into_iter()
        .map(|subject| Subject {
            scopes: subject.namespaces.iter().filter_map(|namespace| id_of(namespace)).collect(),
            namespace: account_of(&subject.name).and_then(|(namespace, _)| id_of(namespace)),
            name: subject.name,
            who: subject.who,
            is_reported: true,
        })
        .collect();
    for account in with_objects {
        let name = account_name(account);
        if let Some(who) = identity_of_subject(&name).filter(|_| !known.contains(&name)) {
            let namespace = id_of(&account.0);
            subjects.push(Subject { name, who, scopes: Vec::new(), namespace, is_reported: false });
        }
    }
    let has_no_object = |subject: &Subject| {
        let account = account_of(&subject.name).map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
        account.is_some_and(|account| !with_objects.contains(&account))
    };
    subjects.sort_by_cached_key(|subject| (has_no_object(subject), subject.name.clone()));
    add_scopes_of_groups(&mut subjects);
    subjects
}

/// Groups of all service accounts or of all users with more namespaces are not combined with the rules of single
/// subjects in these namespaces.
const MOST_GROUP_SCOPES: usize = 64;

/// Adds to each subject the namespaces with bindings of its groups.
fn add_scopes_of_groups(subjects: &mut [Subject]) {
    let groups: HashMap<String, Vec<NamespaceId>> = subjects
        .iter()
        .filter_map(|subject| {
            let group = subject.name.strip_prefix("Group/")?;
            let is_implied = group == "system:authenticated" || group.starts_with("system:serviceaccounts");
            (is_implied && subject.scopes.len() <= MOST_GROUP_SCOPES)
                .then(|| (group.to_owned(), subject.scopes.clone()))
        })
        .collect();
    for subject in subjects {
        let implied = subject.who.groups.iter().filter_map(|group| groups.get(group)).flatten();
        let more: Vec<NamespaceId> = implied.copied().filter(|namespace| !subject.scopes.contains(namespace)).collect();
        subject.scopes.extend(more);
        subject.scopes.sort_unstable();
        subject.scopes.dedup();
    }
}
