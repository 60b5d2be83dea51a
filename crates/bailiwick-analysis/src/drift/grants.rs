//! The subjects and the roles of the bindings of the policies, in a few bytes each: a difference concerns few of them.
//!
//! A name is a part of its hash. Two names with the same part add a binding to a comparison, and remove none from it.

use std::collections::HashSet;

use bailiwick_access::world::account_user;
use bailiwick_compiler::emit::identity::WrittenIdentity;
use bailiwick_kubernetes::rbac::RbacForm;
use bailiwick_yaml::NodeRef;

use super::prints::Print;
use super::table::ObjectNumber;

/// A role by its kind, its namespace and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RoleMark(u64);

/// The bit of the marks of ClusterRoles.
const OF_CLUSTER: u64 = 1;

/// A user or a group by name; a service account is a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SubjectMark(u32);

/// The subjects that are in every comparison: the groups of the system, and subjects without a name for the authorizer.
pub(super) const EVERYWHERE: SubjectMark = SubjectMark(0);

impl RoleMark {
    fn new(is_of_cluster: bool, namespace: &str, name: &str) -> Self {
        let namespace = match (is_of_cluster, namespace) {
            (true, _) => "",
            (false, "") => "default",
            (false, namespace) => namespace,
        };
        let half = Print::of(&(namespace, name)).half();
        Self(if is_of_cluster { half | OF_CLUSTER } else { half & !OF_CLUSTER })
    }

    /// Returns the mark of a role; none for another object.
    pub(super) fn of(object: NodeRef<'_>) -> Option<Self> {
        let WrittenIdentity { group, kind, namespace, name } = WrittenIdentity::of(object);
        RbacForm::of_group(group).filter(|_| is_role(kind))?;
        Some(Self::new(kind == "ClusterRole", namespace, name))
    }

    /// Whether it is the mark of a ClusterRole.
    pub(super) fn is_of_cluster(self) -> bool {
        self.0 & OF_CLUSTER != 0
    }
}

impl SubjectMark {
    /// Returns the mark of a user or a group.
    pub(super) fn new(name: &str, is_group: bool) -> Self {
        if is_group && name.starts_with("system:") {
            return EVERYWHERE;
        }
        Self(Print::of(&(is_group, name)).half() as u32)
    }

    /// Returns the marks of the subjects of a binding; none for another object.
    pub(super) fn of(object: NodeRef<'_>) -> Vec<Self> {
        let WrittenIdentity { group, kind, .. } = WrittenIdentity::of(object);
        let Some(form) = RbacForm::of_group(group).filter(|_| is_binding(kind)) else { return Vec::new() };
        let mark = |kind, namespace, name| match (kind, namespace) {
            ("User", _) => Self::new(name, false),
            ("Group", _) => Self::new(name, true),
            ("ServiceAccount", "") => EVERYWHERE,
            ("ServiceAccount", namespace) => Self::new(&account_user(namespace, name), false),
            _ => EVERYWHERE,
        };
        form.subjects(object).iter().map(|subject| mark(subject.kind, subject.namespace, subject.name)).collect()
    }
}

/// Whether a kind is one of the kinds of roles.
pub(super) fn is_role(kind: &str) -> bool {
    matches!(kind, "Role" | "ClusterRole")
}

/// Whether a kind is one of the kinds of bindings.
pub(super) fn is_binding(kind: &str) -> bool {
    matches!(kind, "RoleBinding" | "ClusterRoleBinding")
}

/// A subject of a binding with its role.
#[derive(Debug, Clone, Copy)]
pub(super) struct GrantLink {
    pub(super) binding: ObjectNumber,
    pub(super) subject: SubjectMark,
    pub(super) role: RoleMark,
}

/// The subjects and roles of the bindings of the policies.
#[derive(Debug, Default)]
pub(super) struct GrantLinks {
    list: Vec<GrantLink>,
    /// The ClusterRoles whose rules are their own.
    settled: HashSet<RoleMark>,
}

impl GrantLinks {
    /// Adds a role or a binding; leaves out any other object.
    pub(super) fn add(&mut self, object: NodeRef<'_>, number: ObjectNumber) {
        let WrittenIdentity { group, kind, namespace, .. } = WrittenIdentity::of(object);
        let Some(form) = RbacForm::of_group(group) else { return };
        if kind == "ClusterRole" && object.get("aggregationRule").is_none() {
            self.settled.extend(RoleMark::of(object));
        }
        if is_binding(kind) {
            let role = form.role_ref(object);
            let role = RoleMark::new(role.kind == "ClusterRole", namespace, role.name);
            let links = SubjectMark::of(object).into_iter();
            self.list.extend(links.map(|subject| GrantLink { binding: number, subject, role }));
        }
    }

    /// Returns each subject of each binding.
    pub(super) fn iter(&self) -> impl Iterator<Item = &GrantLink> {
        self.list.iter()
    }

    /// Whether the rules of a role can follow from other roles: of an aggregated role, or of a ClusterRole of others.
    pub(super) fn can_gather(&self, role: RoleMark) -> bool {
        role.is_of_cluster() && !self.settled.contains(&role)
    }
}
