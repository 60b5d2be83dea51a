//! The rules of an identity in a scope, the answer of the server's rule resolver and of SelfSubjectRulesReview
//! (`pkg/registry/rbac/validation/rule.go`).

use super::decide::MissingRole;
use super::request::Identity;
use super::world::World;
use bailiwick_kubernetes::rbac::PolicyRule;

/// The rules of an identity in a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The rules, binding by binding; the same rule stands as often as it is held.
    pub rules: Vec<PolicyRule>,
    /// The binding of each rule, beside `rules`.
    pub bindings: Vec<u32>,
    /// Missing roles of bindings.
    pub missing: Vec<MissingRole>,
}

impl World {
    /// Returns the rules of an identity in a namespace; with an empty one, the cluster-wide rules.
    pub fn rules_for(&self, who: &Identity, namespace: &str) -> Resolved {
        let mut resolved = Resolved::default();
        for id in self.bindings_of(who, self.namespace_symbol(namespace)) {
            let Some(binding) = self.binding(id) else { continue };
            match self.role_of(binding) {
                Some(role) => {
                    let rules = self.rules_of(role);
                    resolved.rules.extend(rules.iter().map(|rule| rule.to_policy_rule(&self.symbols)));
                    resolved.bindings.extend(rules.iter().map(|_| id));
                }
                None => resolved.missing.push(self.missing_role(binding)),
            }
        }
        resolved.missing.sort();
        resolved.missing.dedup_by(|left, right| left.to_string() == right.to_string());
        resolved
    }
}
