//! The causes of a raised level: service account, binding, rule of a role, constraints and field, with the level
//! without those constraints.

use super::grants::{SccSet, SyncerSubject, accounts_of, syncer_role, syncer_subjects};
use super::world::SyncWorld;
use crate::level::Level;
use crate::scc::convert::{RuleLevel, findings};
use crate::scc::{Scc, USE};
use bailiwick_access::proof::place as place_of;
use bailiwick_access::request::{ACCOUNTS, AUTHENTICATED};
use bailiwick_access::world::account_user;
use bailiwick_yaml::diag::Origin;

/// Constraints with an effect on the level of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lift {
    /// Their name.
    pub scc: String,
    /// The level they lift it to.
    pub level: Level,
    /// The deciding rules, with their fields.
    pub findings: Vec<RuleLevel>,
    /// The grants to service accounts.
    pub grants: Vec<SccGrant>,
    /// The level without these constraints; none if no constraints remain.
    pub without: Option<Level>,
}

/// The permission of a service account to use constraints.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SccGrant {
    /// The service account; none for every one of the namespace.
    pub account: Option<String>,
    /// How.
    pub by: GrantedBy,
}

/// How.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantedBy {
    /// The constraints name it under `users`.
    Users,
    /// They name this group under `groups`.
    Groups(String),
    /// A binding to a role with a rule for them.
    Binding {
        /// The binding, as `RoleBinding/namespace/name` or `ClusterRoleBinding/name`.
        binding: String,
        /// The role, as `Role/namespace/name` or `ClusterRole/name`.
        role: String,
        /// The positions of the rules, from 0.
        rules: Vec<usize>,
        /// The location of the binding; none for a binding of the platform.
        place: Option<Origin>,
    },
}

impl SyncWorld {
    /// Returns the constraints with an effect on the level of a namespace, by name. The list is empty for a restricted
    /// namespace, and absent for a namespace without a level.
    pub fn lifts(&self, namespace: &str) -> Option<Vec<Lift>> {
        let range = self.facts(namespace)?.range();
        let usable = self.grants.synced(namespace, self.accounts(namespace));
        let level = self.reached(&usable, range).level?;
        if level == Level::Restricted {
            return Some(Vec::new());
        }
        let release = self.settings().release;
        let mut lifts = Vec::new();
        for position in usable.iter() {
            let Some(scc) = self.sccs.get(position) else { continue };
            // Constraints without a level lift nothing.
            let Ok(findings) = findings(scc, range, release) else { continue };
            let findings: Vec<RuleLevel> =
                findings.into_iter().filter(|finding| finding.level == Some(level)).collect();
            if findings.is_empty() {
                continue;
            }
            let mut rest = usable.clone();
            rest.remove(position);
            lifts.push(Lift {
                scc: scc.name().to_owned(),
                level,
                findings,
                grants: self.grants_of(namespace, position, scc),
                without: self.reached(&rest, range).level,
            });
        }
        Some(lifts)
    }

    /// Returns the grants of constraints to the service accounts of a namespace, for the syncer.
    fn grants_of(&self, namespace: &str, position: usize, scc: &Scc) -> Vec<SccGrant> {
        let mut grants = Vec::new();
        let users = self.accounts(namespace).filter(|account| {
            let user = account_user(namespace, account);
            scc.users.contains(&user)
        });
        grants.extend(users.map(|account| SccGrant { account: Some(account.to_owned()), by: GrantedBy::Users }));
        let groups = scc.groups.iter().filter(|group| {
            matches!(group.as_str(), ACCOUNTS | AUTHENTICATED) || accounts_of(group) == Some(namespace)
        });
        grants.extend(groups.map(|group| SccGrant { account: None, by: GrantedBy::Groups(group.clone()) }));
        let mut wanted = SccSet::default();
        wanted.insert(position);
        let bindings = self.grants.bindings(namespace);
        for binding in bindings.into_iter().filter_map(|id| self.access.binding_at(id as usize)) {
            let Some(role) = syncer_role(&self.access, binding) else { continue };
            if !self.grants.list(role.rules()).meets(&wanted) {
                continue;
            }
            for (subject, place) in syncer_subjects(binding, &self.hidden) {
                let is_here = place.is_none_or(|place| place == namespace);
                let account = match subject {
                    SyncerSubject::Everybody => None,
                    SyncerSubject::AccountsOf(owner) if owner == namespace => None,
                    SyncerSubject::Account(owner, name)
                        if owner == namespace && self.accounts(namespace).any(|account| account == name) =>
                    {
                        Some(name)
                    }
                    _ => continue,
                };
                if is_here {
                    let role_name = match role.namespace() {
                        Some(namespace) => format!("Role/{namespace}/{}", role.name()),
                        None => format!("ClusterRole/{}", role.name()),
                    };
                    let by = GrantedBy::Binding {
                        binding: binding.full_name(),
                        role: role_name,
                        rules: self.access.rules_allowing(role.rules(), USE, scc.name()),
                        place: place_of(binding.layer()),
                    };
                    grants.push(SccGrant { account, by });
                }
            }
        }
        grants.sort();
        grants.dedup();
        grants
    }
}
