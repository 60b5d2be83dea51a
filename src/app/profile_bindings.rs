//! The actions of PodSecurityProfiles in the output of a target.

use std::collections::{BTreeMap, BTreeSet};

use super::loaded_world::each_object;
use super::workspace::Workspace;
use crate::admission::policy::Binding;
use crate::diag::{RunError, Sink};
use crate::k8s::validation_action::ValidationAction;
use crate::model::{PodSecurityProfile, Target};
use crate::yaml::NodeRef;

/// The bindings of ValidatingAdmissionPolicies in the output of a target, by name.
#[derive(Debug, Default)]
pub(crate) struct ProfileBindings(BTreeMap<String, Binding>);

impl ProfileBindings {
    /// Gathers the bindings of a target.
    pub(super) fn of_target(workspace: &Workspace, target: &Target, sink: &mut Sink) -> Result<Self, RunError> {
        let mut bindings = Self::default();
        each_object(workspace, target, sink, &mut |object, _| bindings.add(object))?;
        Ok(bindings)
    }

    /// Adds an object of the output, if it is a binding. The compiler reports a binding that cannot be read.
    pub(crate) fn add(&mut self, object: NodeRef<'_>) {
        if object.text_at("kind") == "ValidatingAdmissionPolicyBinding"
            && let Ok(binding) = Binding::read(object)
        {
            self.0.insert(binding.name.clone(), binding);
        }
    }

    /// Returns the actions of a profile that rejects no pod; none if each binding of the profile has `Deny`.
    pub(crate) fn without_deny(&self, profile: &str) -> Option<BTreeSet<ValidationAction>> {
        let policy = PodSecurityProfile::admission_policy(profile);
        let names = [policy.clone(), PodSecurityProfile::accounts_binding(profile)];
        let own: Vec<&Binding> =
            names.iter().filter_map(|name| self.0.get(name)).filter(|binding| binding.policy == policy).collect();
        let denies = !own.is_empty() && own.iter().all(|binding| binding.denies());
        let actions = own.iter().flat_map(|binding| binding.actions.iter().copied());
        (!denies).then(|| actions.filter(|action| *action != ValidationAction::Deny).collect())
    }
}

/// Returns a text with the actions of a profile that rejects no pod.
pub(crate) fn text_without_deny(actions: &BTreeSet<ValidationAction>) -> String {
    let names: Vec<String> = actions.iter().map(|action| format!("`{}`", action.name())).collect();
    if names.is_empty() { "no `Deny`".to_owned() } else { format!("{} and no `Deny`", names.join(", ")) }
}
