//! Folds the objects of a cluster into policies. Each step takes some of the remaining objects, in the order of [`fold`].

mod bindings;
pub(crate) mod groups;
mod manifests;
mod metadata;
mod namespaces;
mod roles;
pub(crate) use roles::written_rule;
mod tenancies;

use bailiwick_kubernetes::workers::Workers;
use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use serde_json::Value;

use crate::object::{ClusterObjects, Object};
use crate::values::InternedValues;

pub(crate) use self::roles::normal_rules;

/// A kind of policy of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKind {
    /// A role with its rules.
    PermissionSet,
    /// Bindings.
    Grant,
    /// Namespaces with their quotas, limits and service accounts.
    NamespaceSet,
    /// Namespaces of one form, with a table.
    Tenancy,
    /// Groups with their members.
    GroupSet,
    /// Other objects.
    Manifests,
}

impl PolicyKind {
    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::PermissionSet => "PermissionSet",
            Self::Grant => "Grant",
            Self::NamespaceSet => "NamespaceSet",
            Self::Tenancy => "Tenancy",
            Self::GroupSet => "GroupSet",
            Self::Manifests => "Manifests",
        }
    }
}

/// A policy with its objects.
#[derive(Debug, Clone)]
pub struct FoldedPolicy {
    /// PermissionSet, Grant, or another one.
    pub kind: PolicyKind,
    /// Its name, unique for the kind on the target.
    pub name: String,
    /// Its `spec`, without `targets`.
    pub spec: Value,
    /// The positions of its objects in the cluster, in order.
    pub objects: Vec<usize>,
    /// Further files of the policy: their paths from the folder of the policies, and their texts.
    pub files: Vec<(String, String)>,
    /// The objects of each line of its table, from the second line on.
    pub rows: Vec<Vec<usize>>,
}

impl FoldedCluster {
    /// Frees the texts of the policies, once they are arranged. Kinds, names and objects stay.
    pub fn forget_texts(&mut self) {
        for policy in &mut self.policies {
            policy.spec = Value::Null;
            policy.files = Vec::new();
        }
        self.policies.shrink_to_fit();
    }
}

/// The decisions after an earlier fold of the same cluster, by the positions of the objects.
#[derive(Debug, Clone, Default)]
pub struct FoldDecisions {
    /// Objects in Manifests, because no policy compiles to them.
    pub kept: HashSet<usize>,
    /// Objects with an error, and the error: they stay in Manifests and are not written.
    pub refused: HashMap<usize, String>,
    /// Objects of the control plane and of running clusters, with the reason: they are in no policy.
    pub omitted: HashMap<usize, &'static str>,
}

/// The policies of a cluster.
#[derive(Debug, Clone, Default)]
pub struct FoldedCluster {
    /// The policies, in order of kind and name.
    pub policies: Vec<FoldedPolicy>,
    /// The ClusterRoles of bindings that are neither among the objects nor on the platform.
    pub unknown_cluster_roles: BTreeSet<String>,
    /// The Roles of bindings that are not among the objects.
    pub unknown_roles: BTreeSet<String>,
}

/// Folds the objects of a cluster. `is_platform_role` is true for the ClusterRoles of the platform.
pub fn fold(
    cluster: &ClusterObjects,
    values: &mut InternedValues,
    decisions: &FoldDecisions,
    is_platform_role: &dyn Fn(&str) -> bool,
    workers: Workers<'_>,
) -> FoldedCluster {
    let mut folding = Folding { cluster, values, decisions, left: BTreeSet::new(), folded: FoldedCluster::default() };
    folding.left = (0..cluster.objects.len()).filter(|index| folding.can_fold(*index)).collect();
    let mut roles = roles::read(&folding);
    tenancies::fold(&mut folding, &mut roles, workers);
    bindings::fold(&mut folding, roles, is_platform_role, workers);
    namespaces::fold(&mut folding);
    groups::fold(&mut folding);
    manifests::fold(&mut folding);
    let mut folded = folding.folded;
    folded.policies.sort_by(|left, right| (left.kind, &left.name).cmp(&(right.kind, &right.name)));
    folded
}

/// A fold in progress.
struct Folding<'f> {
    cluster: &'f ClusterObjects,
    values: &'f mut InternedValues,
    decisions: &'f FoldDecisions,
    /// The positions of the objects without a policy so far.
    left: BTreeSet<usize>,
    folded: FoldedCluster,
}

impl<'f> Folding<'f> {
    fn object(&self, index: usize) -> Option<&'f Object> {
        self.cluster.objects.get(index)
    }

    /// Whether an object may be folded: others stay in Manifests.
    fn can_fold(&self, index: usize) -> bool {
        let FoldDecisions { kept, refused, omitted } = self.decisions;
        let is_decided = kept.contains(&index) || refused.contains_key(&index) || omitted.contains_key(&index);
        let vendor = self.object(index).is_some_and(|object| manifests::vendor(self.values, object).is_some());
        !is_decided && !vendor
    }

    /// Returns the positions of the remaining objects of a kind.
    fn left_of(&self, group: &str, kind: &str) -> Vec<usize> {
        let is_wanted = |index: &usize| self.object(*index).is_some_and(|object| object.identity.is(group, kind));
        self.left.iter().copied().filter(is_wanted).collect()
    }

    /// Adds a policy and takes its objects.
    fn add(&mut self, kind: PolicyKind, name: String, spec: Value, mut objects: Vec<usize>) {
        objects.sort_unstable();
        for index in &objects {
            self.left.remove(index);
        }
        self.folded.policies.push(FoldedPolicy { kind, name, spec, objects, files: Vec::new(), rows: Vec::new() });
    }
}

/// Names of policies of one kind, each unique.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The last number behind a wanted name.
    numbers: HashMap<String, usize>,
}

impl Names {
    /// Returns the name, or the name with the least free number behind a dash.
    pub(crate) fn take(&mut self, wanted: &str) -> String {
        self.take_with(wanted, '-')
    }

    /// Returns the name, or the name with the least free number behind a separator.
    fn take_with(&mut self, wanted: &str, separator: char) -> String {
        if self.taken.insert(wanted.to_owned()) {
            return wanted.to_owned();
        }
        let number = self.numbers.entry_ref(wanted).or_insert(1);
        loop {
            *number += 1;
            let name = format!("{wanted}{separator}{number}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// Takes a name if it is free.
    fn take_free(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }
}

/// Returns a text as a DNS label: lower case, with a dash in place of every other character.
pub(crate) fn dns_label(text: &str) -> String {
    let mut label = String::new();
    for character in text.chars() {
        match character.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => label.push(letter),
            _ if label.is_empty() || label.ends_with('-') => {}
            _ => label.push('-'),
        }
        if label.len() == MAXIMUM_LABEL {
            break;
        }
    }
    let label = label.trim_end_matches('-');
    if label.is_empty() { "policy".to_owned() } else { label.to_owned() }
}

/// The greatest length of a DNS label.
const MAXIMUM_LABEL: usize = 63;

/// Escapes the braces of a text: they start no variable of a policy.
pub(crate) fn escaped(text: &str) -> String {
    if !text.contains(['{', '}']) {
        return text.to_owned();
    }
    text.replace('{', "{{").replace('}', "}}")
}
