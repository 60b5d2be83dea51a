//! Roles and bindings without a purpose after the last PodSecurityPolicy.

use std::collections::BTreeSet;

use bailiwick_admission::psp::select::GROUPS;
use bailiwick_yaml::NodeRef;

/// The permissions to use policies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Superfluous {
    /// Roles and ClusterRoles with no other permission.
    pub roles: BTreeSet<String>,
    /// Bindings to them.
    pub bindings: BTreeSet<String>,
    /// Rules with no other permission, in roles with other rules.
    pub rules: BTreeSet<String>,
}

/// Collects roles and bindings; other kinds are ignored.
#[derive(Debug, Default)]
pub struct SuperfluousCollector {
    found: Superfluous,
    /// Each binding with the role it names.
    bindings: Vec<(String, String)>,
}

impl SuperfluousCollector {
    /// Looks at an object.
    pub fn add(&mut self, object: NodeRef<'_>) {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str).unwrap_or_default();
        if text(&["apiVersion"]).split('/').next() != Some("rbac.authorization.k8s.io") {
            return;
        }
        let (kind, namespace, name) = (text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"]));
        match kind {
            "ClusterRole" => self.role(shown(kind, "", name), object),
            "Role" => self.role(shown(kind, namespace, name), object),
            "ClusterRoleBinding" | "RoleBinding" => {
                let role = text(&["roleRef", "kind"]);
                let of_role = if role == "Role" { namespace } else { "" };
                self.bindings.push((shown(kind, namespace, name), shown(role, of_role, text(&["roleRef", "name"]))));
            }
            _ => {}
        }
    }

    fn role(&mut self, shown: String, role: NodeRef<'_>) {
        let rules: Vec<NodeRef<'_>> = role.get("rules").into_iter().flat_map(NodeRef::items).collect();
        let idle: Vec<usize> = (0..).zip(&rules).filter(|(_, rule)| is_idle(**rule)).map(|(index, _)| index).collect();
        if !idle.is_empty() && idle.len() == rules.len() {
            self.found.roles.insert(shown);
        } else {
            self.found.rules.extend(idle.iter().map(|index| format!("{shown}, rule {}", index + 1)));
        }
    }

    /// Returns the collected roles and rules.
    pub fn finish(self) -> Superfluous {
        let mut found = self.found;
        let bindings = self.bindings.into_iter().filter(|(_, role)| found.roles.contains(role));
        found.bindings = bindings.map(|(binding, _)| binding).collect();
        found
    }
}

fn shown(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

/// Whether a rule allows the use of policies and nothing else.
fn is_idle(rule: NodeRef<'_>) -> bool {
    let all = |key: &str, allowed: &[&str]| {
        let list = rule.get(key);
        list.is_some_and(|list| !list.is_empty())
            && list
                .into_iter()
                .flat_map(NodeRef::items)
                .all(|item| item.as_str().is_some_and(|item| allowed.contains(&item)))
    };
    all("apiGroups", &GROUPS) && all("resources", &["podsecuritypolicies"]) && all("verbs", &["use"])
}
