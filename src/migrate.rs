//! Existing cluster objects as policies: PodSecurityPolicies as PodSecurityProfiles, and namespaces as NamespaceSets
//! and Tenancies that enforce them.
//!
//! The migration is outside the pipeline: it converts objects to policies. The documents are data until [`text`] writes
//! them. Roles and bindings are left out, since profiles need no permission to use them; [`superfluous`] lists the
//! removable ones.

mod profile;
pub mod superfluous;
mod tenants;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::admission::psp::PodSecurityPolicy;
use crate::admission::psp::plan::{Need, Plan};
use crate::yaml;

pub use tenants::TenancyAccounts;

/// The metadata of a Namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// Labels of the object, by key.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the object, by key.
    pub annotations: BTreeMap<String, String>,
}

/// Policies for the objects of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Policies {
    /// The name of a file, and the documents in it.
    pub files: Vec<(&'static str, Vec<Value>)>,
    /// The namespaces as tenants.
    pub tenancies: Vec<TenancyAccounts>,
    /// The place among these by PodSecurityPolicy.
    by_policy: BTreeMap<String, usize>,
}

impl Policies {
    /// Returns the tenants of a PodSecurityPolicy.
    pub fn tenants_of(&self, policy: &str) -> Option<&TenancyAccounts> {
        self.by_policy.get(policy).and_then(|place| self.tenancies.get(*place))
    }
}

/// Labels and annotations reserved for the server or kubectl.
const KEPT_BY_OTHERS: [&str; 2] = ["kubernetes.io/metadata.name", "kubectl.kubernetes.io/last-applied-configuration"];

/// Builds the policies of a plan.
pub fn policies(plan: &Plan, policies: &[PodSecurityPolicy], namespaces: &BTreeMap<String, Namespace>) -> Policies {
    let names: BTreeSet<&str> =
        plan.policies.iter().filter(|policy| policy.is_needed).map(|policy| policy.name.as_str()).collect();
    let needed = policies.iter().filter(|policy| names.contains(policy.name()));
    let needed: BTreeMap<&str, &PodSecurityPolicy> = needed.map(|policy| (policy.name(), policy)).collect();
    let nothing = Namespace::default();
    let own = |name: &str| without_kept(namespaces.get(name).unwrap_or(&nothing));
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for namespace in &plan.namespaces {
        let disputed: &[String] = if let Need::Conflict(among) = &namespace.need { among } else { &[] };
        for policy in namespace.need.policy().into_iter().chain(disputed.iter().map(String::as_str)) {
            users.entry(policy).or_default().push(&namespace.name);
        }
    }
    let alone = plan.namespaces.iter().filter_map(|namespace| {
        let policy = namespace.need.policy()?;
        let is_alone = users.get(policy).is_some_and(|users| users.len() == 1);
        let policy = needed.get(policy).filter(|_| is_alone)?;
        tenants::Candidate::new(&namespace.name, own(&namespace.name), policy)
    });
    let mut taken: BTreeSet<String> = needed.keys().map(|name| (*name).to_owned()).collect();
    let groups = tenants::collapse(alone.collect(), &mut taken);
    let tenants = groups.iter().map(|group| &group.tenants);
    let of_tenants: BTreeSet<&String> = tenants.clone().flat_map(|tenants| &tenants.namespaces).collect();
    let collapsed: BTreeSet<&str> = tenants.flat_map(|tenants| &tenants.policies).map(String::as_str).collect();

    let mut profiles: Vec<Value> = needed
        .iter()
        .filter(|(name, _)| !collapsed.contains(*name))
        .map(|(name, policy)| document("PodSecurityProfile", name, profile::spec(policy)))
        .collect();
    profiles.extend(groups.iter().map(|group| group.profile.clone()));
    let items: Vec<Value> = plan
        .namespaces
        .iter()
        .filter(|namespace| !of_tenants.contains(&namespace.name))
        .filter_map(|namespace| Some(item(&namespace.name, &own(&namespace.name), stance(&namespace.need)?)))
        .collect();
    let mut sets = Vec::new();
    if !items.is_empty() {
        sets.push(document("NamespaceSet", "namespaces", json!({ "namespaces": items })));
    }
    let tenancies = groups.iter().map(|group| group.tenancy.clone()).collect();
    let files = vec![("profiles.yaml", profiles), ("namespaces.yaml", sets), ("tenancies.yaml", tenancies)];
    let tenancies: Vec<TenancyAccounts> = groups.into_iter().map(|group| group.tenants).collect();
    let places = tenancies.iter().enumerate();
    let by_policy = places.flat_map(|(place, tenants)| tenants.policies.iter().map(move |name| (name.clone(), place)));
    Policies {
        files: files.into_iter().filter(|(_, documents)| !documents.is_empty()).collect(),
        by_policy: by_policy.collect(),
        tenancies,
    }
}

/// Formats documents as the text of a file.
pub fn text(documents: &[Value]) -> String {
    let mut text = String::new();
    for document in documents {
        if !text.is_empty() {
            text.push_str("---\n");
        }
        let tree = yaml::from_json(document);
        if let Some(root) = tree.document(0) {
            yaml::write::document(root, &mut text);
        }
    }
    text
}

fn document(kind: &str, name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "bailiwick.dev/v1alpha1", "kind": kind, "metadata": { "name": name }, "spec": spec })
}

fn without_kept(namespace: &Namespace) -> Namespace {
    let others = |entries: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        let own = entries.iter().filter(|(key, _)| !KEPT_BY_OTHERS.contains(&key.as_str()));
        own.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    Namespace { labels: others(&namespace.labels), annotations: others(&namespace.annotations) }
}

/// Builds the Pod Security settings of a namespace; none if an administrator must decide. A namespace without
/// admissible pods gets the strictest level.
fn stance(need: &Need) -> Option<Value> {
    match need {
        Need::One(policy) | Need::Chosen { policy, .. } => Some(json!({ "profile": policy })),
        Need::Nothing => Some(json!({ "level": "restricted" })),
        Need::Conflict(_) => None,
    }
}

fn item(name: &str, namespace: &Namespace, stance: Value) -> Value {
    let mut item = Map::new();
    item.insert("name".to_owned(), escaped(name).into());
    for (key, entries) in [("labels", &namespace.labels), ("annotations", &namespace.annotations)] {
        if !entries.is_empty() {
            let entries: Map<String, Value> =
                entries.iter().map(|(key, value)| (key.clone(), escaped(value).into())).collect();
            item.insert(key.to_owned(), entries.into());
        }
    }
    item.insert("podSecurity".to_owned(), stance);
    Value::Object(item)
}

/// Escapes braces, so that they start no variable.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
