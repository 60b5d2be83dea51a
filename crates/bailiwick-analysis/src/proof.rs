//! The bindings and rules that give a permission.

use bailiwick_access::compare::Affected;
use bailiwick_access::proof::{Chain, RuleLink};
use bailiwick_access::world::account_user;
use bailiwick_access::{Identity, World, cover};
use bailiwick_kubernetes::rbac::PolicyRule;

/// How many permissions are searched for their bindings.
const MAXIMUM_SEARCHED: usize = 16;

/// The objects that give permissions to a subject.
pub struct RightsProof {
    /// The bindings with their rules, each pair once.
    pub parts: Vec<ProofPart>,
}

/// A binding with the role and the rule that give a right.
pub struct ProofPart {
    /// The binding with its role.
    pub chain: Chain,
    /// The rule of the role.
    pub rule: RuleLink,
}

impl RightsProof {
    /// Finds the bindings and rules that give the first of some rights to a subject.
    pub fn find(world: &World, affected: &Affected, atoms: &[PolicyRule]) -> Self {
        let who = identity(&affected.subject);
        let grants = match affected.scope.namespace() {
            Some(namespace) => world.grants_of(&who, namespace),
            None => world.all_grants_of(&who).into_iter().filter(is_cluster_wide).collect(),
        };
        let mut parts: Vec<ProofPart> = Vec::new();
        for atom in atoms.iter().take(MAXIMUM_SEARCHED) {
            let found = grants.iter().find_map(|chain| {
                let rule = chain.rules.iter().find(|rule| cover::rule_covers(&rule.rule, atom))?;
                Some((chain, rule))
            });
            let Some((chain, rule)) = found else { continue };
            let is_known = |part: &ProofPart| part.chain.binding == chain.binding && part.rule.number == rule.number;
            if !parts.iter().any(is_known) {
                parts.push(ProofPart { chain: chain.clone(), rule: rule.clone() });
            }
        }
        Self { parts }
    }
}

fn is_cluster_wide(chain: &Chain) -> bool {
    chain.binding.name.starts_with("ClusterRoleBinding/")
}

/// Returns the identity of a subject, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
pub fn identity(subject: &str) -> Identity {
    match subject.split_once('/') {
        Some(("Group", name)) => Identity::member_of(name),
        Some(("ServiceAccount", name)) => {
            let (namespace, name) = match name.split_once('/') {
                Some(parts) => parts,
                None => ("", name),
            };
            Identity::from_user(&account_user(namespace, name))
        }
        Some((_, name)) => Identity::from_user(name),
        None => Identity::from_user(subject),
    }
}
