//! What lifts the level of a namespace, and how it came there: service account, binding, rule of a role, constraints,
//! field; with the level that would be left without those constraints.

use super::grants::{SccSet, SyncerSubject, accounts_of, syncer_role, syncer_subjects};
use super::world::SyncWorld;
use crate::level::Level;
use crate::scc::convert::{Finding, findings};
use crate::scc::{GROUP, RESOURCE, Scc};
use bailiwick_access::proof::place as place_of;
use bailiwick_access::request::{ACCOUNTS, AUTHENTICATED};
use bailiwick_access::world::account_user;
use bailiwick_yaml::diag::Origin;

/// Constraints that lift the level of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lift {
    /// Their name.
    pub scc: String,
    /// The level they lift it to.
    pub level: Level,
    /// The rules that say so, with their fields.
    pub findings: Vec<Finding>,
    /// Through what service accounts may use them.
    pub grants: Vec<Grant>,
    /// The level without these constraints; none where nothing would be left.
    pub without: Option<Level>,
}

/// Through what a service account may use constraints.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
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
    /// A binding to a role with rules that allow it.
    Binding {
        /// The binding, as `RoleBinding/namespace/name` or `ClusterRoleBinding/name`.
        binding: String,
        /// The role, as `Role/namespace/name` or `ClusterRole/name`.
        role: String,
        /// The positions of the rules, from 0.
        rules: Vec<usize>,
        /// Where the binding stands; none for one of the platform.
        place: Option<Origin>,
    },
}

impl SyncWorld {
    /// What lifts the level of a namespace to where the syncer sees it: every SCC that does, by name. Nothing lifts a
    /// namespace that stays restricted; none for one without a level.
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
            let findings = findings(scc, range, release).unwrap_or_default();
            let findings: Vec<Finding> = findings.into_iter().filter(|finding| finding.level == Some(level)).collect();
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

    /// Through what the service accounts of a namespace may use constraints, as the syncer sees it.
    fn grants_of(&self, namespace: &str, position: usize, scc: &Scc) -> Vec<Grant> {
        let mut grants = Vec::new();
        let users = self.accounts(namespace).filter(|account| {
            let user = account_user(namespace, account);
            scc.users.contains(&user)
        });
        grants.extend(users.map(|account| Grant { account: Some(account.to_owned()), by: GrantedBy::Users }));
        let groups = scc.groups.iter().filter(|group| {
            matches!(group.as_str(), ACCOUNTS | AUTHENTICATED) || accounts_of(group) == Some(namespace)
        });
        grants.extend(groups.map(|group| Grant { account: None, by: GrantedBy::Groups(group.clone()) }));
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
                        rules: self.access.rules_allowing(role.rules(), ("use", GROUP, RESOURCE), scc.name()),
                        place: place_of(binding.layer()),
                    };
                    grants.push(Grant { account, by });
                }
            }
        }
        grants.sort();
        grants.dedup();
        grants
    }
}
