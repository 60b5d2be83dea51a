//! The reason of the RBAC authorizer in the annotation `authorization.k8s.io/reason` (`plugin/pkg/auth/authorizer/rbac/rbac.go` and
//! `pkg/registry/rbac/validation/rule.go` of Kubernetes 1.37).

/// The binding in a reason: the first one that the authorizer found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RbacReason {
    /// The binding, as `ClusterRoleBinding/name` or `RoleBinding/namespace/name`.
    pub binding: String,
    /// The role of the binding, as `ClusterRole/name`, or as `Role/name` of the namespace of the binding.
    pub role: String,
}

impl RbacReason {
    /// Reads a reason; none for the reason of another authorizer.
    pub fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("RBAC: allowed by ")?;
        let (kind, rest) = rest.split_once(' ')?;
        let (name, rest) = quoted(rest)?;
        let rest = rest.strip_prefix(" of ")?;
        let (role_kind, rest) = rest.split_once(' ')?;
        let (role_name, _) = quoted(rest)?;
        let binding = match kind {
            "ClusterRoleBinding" => format!("{kind}/{name}"),
            "RoleBinding" => {
                let (name, namespace) = name.rsplit_once('/')?;
                format!("{kind}/{namespace}/{name}")
            }
            _ => return None,
        };
        Some(Self { binding, role: format!("{role_kind}/{role_name}") })
    }
}

/// Splits a text in quotes from what follows. Names of objects need no escapes.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('"')?.split_once('"')
}

#[cfg(test)]
mod tests {
    use super::RbacReason;

    #[test]
    fn a_reason_names_a_binding() {
        let read = |text| RbacReason::read(text).map(|reason| (reason.binding, reason.role));
        let is = |binding: &str, role: &str| Some((binding.to_owned(), role.to_owned()));
        assert_eq!(
            read(r#"RBAC: allowed by RoleBinding "edit/team-a" of ClusterRole "edit" to User "ann""#),
            is("RoleBinding/team-a/edit", "ClusterRole/edit")
        );
        assert_eq!(
            read(r#"RBAC: allowed by ClusterRoleBinding "system:a" of ClusterRole "b:c" to Group "d""#),
            is("ClusterRoleBinding/system:a", "ClusterRole/b:c")
        );
        for other in ["", "RBAC: clusterroles not found", r#"RBAC: allowed by Binding "a" of Role "b""#] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
