//! The users of PodSecurityPolicies and constraints: the namespaces of the bindings with the permission for `use`.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::request::ResourceVerb;
use bailiwick_access::world::RoleKind;
use bailiwick_access::{ObjectSource, World};
use bailiwick_admission::scc;

/// The namespaces of the users of each policy of a kind.
#[derive(Default)]
pub(super) struct PolicyUsers {
    by_name: BTreeMap<String, BTreeSet<String>>,
    of_any: BTreeSet<String>,
    /// The part of `of_any` beside the administrators of the default policy.
    of_any_by_inputs: BTreeSet<String>,
}

impl PolicyUsers {
    /// Finds the users of the policies of some API groups.
    pub(super) fn of(world: &World, groups: [&'static str; 2]) -> Self {
        let mut users = Self::default();
        let resource = if groups.contains(&scc::GROUP) { scc::RESOURCE } else { "podsecuritypolicies" };
        for binding in world.bindings() {
            let place = binding.namespace().filter(|_| binding.role_kind() == RoleKind::Role);
            let Some(role) = world.find_role(place, binding.role_name()) else { continue };
            let scope = binding.namespace().map_or("*", |namespace| namespace);
            for group in groups {
                match world.names_allowed(role.rules(), ResourceVerb { verb: "use", group, resource }) {
                    None => {
                        users.of_any.insert(scope.to_owned());
                        let is_of_inputs = binding.layer() != ObjectSource::Baseline;
                        users.of_any_by_inputs.extend(is_of_inputs.then(|| scope.to_owned()));
                    }
                    Some(names) => names.into_iter().for_each(|name| {
                        users.by_name.entry(name.to_owned()).or_default().insert(scope.to_owned());
                    }),
                }
            }
        }
        users
    }

    /// Returns the namespaces of the users of a policy; `*` stands for every namespace.
    pub(super) fn namespaces(&self, policy: &str) -> BTreeSet<String> {
        // Subjects that may use every policy are administrators.
        self.by_name.get(policy).map_or_else(|| self.of_any.clone(), BTreeSet::clone)
    }

    /// Returns the namespaces of the users without the administrators of the default policy.
    pub(super) fn namespaces_of_inputs(&self, policy: &str) -> BTreeSet<String> {
        self.by_name.get(policy).map_or_else(|| self.of_any_by_inputs.clone(), BTreeSet::clone)
    }
}
