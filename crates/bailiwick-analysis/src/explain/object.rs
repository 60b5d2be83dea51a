//! Names of subjects, roles and bindings, as a question writes them.

use bailiwick_access::Identity;
use bailiwick_access::world::account_user;
use bailiwick_paths::EscalationPath;
use bailiwick_yaml::diag::nearest;

use crate::LoadedWorld;

/// The name of a subject, a role or a binding: `KIND/NAME` or `KIND/NAMESPACE/NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectName {
    /// A user, group or service account.
    Subject(Identity),
    /// A role by namespace and name; a ClusterRole has no namespace.
    Role(Option<String>, String),
    /// A binding by namespace and name; a ClusterRoleBinding has no namespace.
    Binding(Option<String>, String),
}

impl ObjectName {
    /// Returns the object that a text names; none for another text.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.splitn(3, '/').collect();
        let (kind, rest) = parts.split_first()?;
        let kind = kind.to_lowercase();
        Some(match (kind.trim_end_matches('s'), rest) {
            ("user", _) => Self::Subject(Identity::from_user(&rest.join("/"))),
            ("group", _) => Self::Subject(Identity::member_of(&rest.join("/"))),
            ("serviceaccount" | "sa", [namespace, name]) => {
                Self::Subject(Identity::from_user(&account_user(namespace, name)))
            }
            ("clusterrole", _) => Self::Role(None, rest.join("/")),
            ("role", [namespace, name]) => Self::Role(Some((*namespace).to_owned()), (*name).to_owned()),
            ("clusterrolebinding", _) => Self::Binding(None, rest.join("/")),
            ("rolebinding", [namespace, name]) => Self::Binding(Some((*namespace).to_owned()), (*name).to_owned()),
            _ => return None,
        })
    }
}

impl LoadedWorld {
    /// Returns the escalation paths of a subject; none for a role or a binding, and where the objects of paths were not
    /// requested.
    pub fn paths_of(&self, name: &ObjectName) -> Vec<EscalationPath> {
        let ObjectName::Subject(who) = name else { return Vec::new() };
        let subjects = match (who.user.as_str(), who.groups.first()) {
            ("", Some(group)) => vec![format!("Group/{group}")],
            (user, _) => self.subjects_of(user),
        };
        let graph = self.escalation_graph();
        graph.iter().flat_map(|graph| subjects.iter().flat_map(|subject| graph.paths_of(subject))).collect()
    }

    /// Returns the name of an object; a user has the groups of the policies.
    pub fn with_groups(&self, name: &ObjectName) -> ObjectName {
        match name {
            ObjectName::Subject(who) if !who.user.is_empty() => ObjectName::Subject(self.identity(&who.user)),
            other => other.clone(),
        }
    }

    /// Returns the role or binding with the nearest name, as `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    pub fn nearest_object(&self, text: &str) -> Option<String> {
        let names = self.world.object_names();
        nearest(text, names.iter().map(String::as_str)).map(str::to_owned)
    }
}
