//! The roles and bindings of a world, for readers outside of this crate.

use super::rules::RuleListId;
use super::world::{Binding, ObjectSource, Role, RoleKind, Subject, SubjectKind, World};

/// A role of a world.
#[derive(Debug, Clone, Copy)]
pub struct RoleRef<'w> {
    world: &'w World,
    role: &'w Role,
}

/// A binding of a world.
#[derive(Debug, Clone, Copy)]
pub struct BindingRef<'w> {
    world: &'w World,
    binding: &'w Binding,
}

/// A subject of a binding.
#[derive(Debug, Clone, Copy)]
pub struct SubjectRef<'w> {
    world: &'w World,
    subject: &'w Subject,
}

impl World {
    /// Iterates over the bindings, in the order of their addition.
    pub fn bindings(&self) -> impl ExactSizeIterator<Item = BindingRef<'_>> {
        self.bindings.iter().map(|binding| BindingRef { world: self, binding })
    }

    /// Returns the binding at a position of [`World::bindings`].
    pub fn binding_at(&self, position: usize) -> Option<BindingRef<'_>> {
        self.bindings.get(position).map(|binding| BindingRef { world: self, binding })
    }

    /// Iterates over the Roles and ClusterRoles, in the order of their addition.
    pub fn roles(&self) -> impl ExactSizeIterator<Item = RoleRef<'_>> {
        self.roles.iter().map(|role| self.role_ref(role))
    }

    pub(crate) fn role_ref<'w>(&'w self, role: &'w Role) -> RoleRef<'w> {
        RoleRef { world: self, role }
    }

    /// Returns the Role of a namespace, or without a namespace the ClusterRole.
    pub fn find_role(&self, namespace: Option<&str>, name: &str) -> Option<RoleRef<'_>> {
        self.role(namespace, name).map(|role| RoleRef { world: self, role })
    }
}

impl<'w> RoleRef<'w> {
    /// Returns the namespace of a Role; none for a ClusterRole.
    pub fn namespace(self) -> Option<&'w str> {
        self.role.namespace.map(|namespace| self.world.symbols.text(namespace))
    }

    /// Returns the name.
    pub fn name(self) -> &'w str {
        self.world.symbols.text(self.role.name)
    }

    /// Whether it is a ClusterRole with an aggregation rule.
    pub fn is_aggregated(self) -> bool {
        self.role.aggregation.is_some()
    }

    /// Returns the rules, as a list shared by equal roles.
    pub fn rules(self) -> RuleListId {
        self.role.rules
    }
}

impl<'w> BindingRef<'w> {
    /// Returns the namespace of a RoleBinding; none for a ClusterRoleBinding.
    pub fn namespace(self) -> Option<&'w str> {
        self.binding.namespace.map(|namespace| self.world.symbols.text(namespace))
    }

    /// Returns the name.
    pub fn name(self) -> &'w str {
        self.world.symbols.text(self.binding.name)
    }

    /// Returns `RoleBinding/namespace/name` or `ClusterRoleBinding/name`.
    pub fn full_name(self) -> String {
        self.world.binding_name(self.binding)
    }

    /// Returns the kind of the role of the binding.
    pub fn role_kind(self) -> RoleKind {
        self.binding.role_kind
    }

    /// Returns the name of the role of the binding.
    pub fn role_name(self) -> &'w str {
        self.world.symbols.text(self.binding.role_name)
    }

    /// Returns the source of the binding.
    pub fn layer(self) -> ObjectSource {
        self.binding.layer
    }

    /// Iterates over the subjects, in the order of the manifest.
    pub fn subjects(self) -> impl ExactSizeIterator<Item = SubjectRef<'w>> {
        self.world.subjects(self.binding).iter().map(move |subject| SubjectRef { world: self.world, subject })
    }
}

impl SubjectKind {
    /// Returns the kind as a binding names it.
    pub fn as_str(self) -> &'static str {
        match self {
            SubjectKind::Group => "Group",
            SubjectKind::ServiceAccount => "ServiceAccount",
            SubjectKind::User => "User",
            SubjectKind::Unknown => "Unknown",
        }
    }
}

impl<'w> SubjectRef<'w> {
    /// Returns the kind.
    pub fn kind(self) -> SubjectKind {
        self.subject.kind
    }

    /// Returns the name.
    pub fn name(self) -> &'w str {
        self.world.symbols.text(self.subject.name)
    }

    /// Returns the namespace as written; empty if there is none.
    pub fn namespace(self) -> &'w str {
        self.world.symbols.text(self.subject.namespace)
    }
}
