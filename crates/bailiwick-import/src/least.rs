//! Policies of the least rights of users: a PermissionSet for each distinct set, and Grants of the sets.

use bailiwick_kubernetes::names::service_account_user;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::write::SEPARATOR;
use serde_json::{Map, Value, json};

use crate::fold::{Names, dns_label, escaped, written_rule};
use crate::layout::with_header;
use crate::text;

/// A set of rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeastPermissionSet {
    /// The name of the policy and of its role.
    pub name: String,
    /// Whether the role is a ClusterRole.
    pub is_cluster_role: bool,
    /// The least rights, joined.
    pub rules: Vec<PolicyRule>,
}

/// A set of rights of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeastGrant {
    /// The name of the policy.
    pub name: String,
    /// The user name; the name of a service account becomes a service account.
    pub user: String,
    /// The name of the set.
    pub permission_set: String,
    /// The namespaces; none for the whole cluster.
    pub namespaces: Vec<String>,
}

/// Names of the policies of least rights, each unique for its kind.
#[derive(Debug, Default)]
pub struct LeastNames {
    sets: Names,
    grants: Names,
}

impl LeastNames {
    /// Returns the name of a new set after its first user.
    pub fn of_set(&mut self, user: &str) -> String {
        self.sets.take(&format!("least-{}", label(user)))
    }

    /// Returns the name of a new grant after its user.
    pub fn of_grant(&mut self, user: &str) -> String {
        self.grants.take(&label(user))
    }
}

/// Returns a user as a part of the name of a policy.
fn label(user: &str) -> String {
    match service_account_user(user) {
        Some((namespace, name)) => dns_label(&format!("{namespace}-{name}")),
        None => dns_label(user),
    }
}

/// Returns the policies for a minor of Kubernetes, as the text of a file that a later import replaces.
pub fn policy_file(sets: &[LeastPermissionSet], grants: &[LeastGrant], minor: u32) -> String {
    let sets = sets.iter().map(|set| {
        let kind = if set.is_cluster_role { "ClusterRole" } else { "Role" };
        let rules: Vec<Value> = set.rules.iter().map(|rule| written_rule(rule, minor, &escaped)).collect();
        ("PermissionSet", &set.name, json!({"as": kind, "rules": rules}))
    });
    let grants = grants.iter().map(|grant| {
        let mut spec = Map::new();
        spec.insert("to".to_owned(), written_subject(&grant.user));
        spec.insert("permissionSets".to_owned(), json!([grant.permission_set]));
        if grant.namespaces.is_empty() {
            spec.insert("clusterWide".to_owned(), true.into());
        } else {
            spec.insert("namespaces".to_owned(), escaped_list(&grant.namespaces));
        }
        ("Grant", &grant.name, Value::Object(spec))
    });
    let mut body = String::new();
    for (position, (kind, name, spec)) in sets.chain(grants).enumerate() {
        if position > 0 {
            body.push_str(SEPARATOR);
        }
        text::document(kind, name, &spec, &mut body);
    }
    with_header(&body)
}

fn written_subject(user: &str) -> Value {
    match service_account_user(user) {
        Some((namespace, name)) => {
            json!({"serviceAccounts": [{"name": escaped(name), "namespace": escaped(namespace)}]})
        }
        None => json!({"users": [escaped(user)]}),
    }
}

fn escaped_list(list: &[String]) -> Value {
    list.iter().map(|text| escaped(text)).collect()
}
