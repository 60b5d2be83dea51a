//! Users with the permission to create pods under looser constraints than the service accounts of the namespace.
//!
//! Admission by constraints considers the user of a request, and the label syncer does not: the level of a namespace
//! follows from its service accounts alone. Constraints admit such a pod, and Pod Security rejects it. Each subject is
//! considered alone, because manifests do not contain group memberships. Subjects with full authority are left out,
//! since they can change the labels as well.

use std::collections::{BTreeMap, BTreeSet};

use super::neighbours::skips_constraints;
use super::world::SyncWorld;
use crate::level::Level;
use crate::scc::range::UidRange;
use crate::scc::{GROUP, RESOURCE};
use bailiwick_access::request::{MASTERS, Request, ResourceRequest};
use bailiwick_access::risk::subject_of_user;
use bailiwick_access::who_can::{PermissionScope, Where};
use bailiwick_yaml::diag::Origin;

/// A subject with the permission to create pods rejected by Pod Security.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrongerUser {
    /// The subject, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub subject: String,
    /// The constraints of the loosest level, by name.
    pub constraints: Vec<String>,
    /// The loosest level of these constraints.
    pub level: Level,
    /// The enforced level.
    pub enforced: Level,
    /// The namespaces, by name.
    pub namespaces: Vec<String>,
    /// The location of the binding for the creation of pods, or for the use of the constraints.
    pub place: Origin,
}

/// The scope of a permission: everywhere or some namespaces, each with the location of the binding.
#[derive(Debug, Clone, Default)]
struct Reach {
    wide: Option<Option<Origin>>,
    own: BTreeMap<String, Option<Origin>>,
}

impl Reach {
    /// Returns the location of the deciding binding in a namespace; none without a binding.
    fn at(&self, namespace: &str) -> Option<Option<Origin>> {
        self.own.get(namespace).copied().or(self.wide)
    }
}

/// A namespace with an enforced level.
struct Held<'w> {
    name: &'w str,
    enforced: Level,
    range: UidRange,
}

impl SyncWorld {
    /// Returns the users with access to pods above the level of a namespace. Users with the same constraints in
    /// namespaces of one level form one entry. The platform's own users are left out.
    pub fn stronger_users(&self) -> Vec<StrongerUser> {
        let held = self.held_namespaces();
        let creators = self.reaches("create", "", "pods", "");
        let full = self.reaches("*", "*", "*", "");
        let uses: Vec<(&str, BTreeMap<String, Reach>)> =
            self.sccs().iter().map(|scc| (scc.name(), self.users_of(scc.name()))).collect();
        let mut found = Vec::new();
        for (subject, creates) in creators.iter().filter(|(subject, _)| is_told(subject)) {
            let own_uses: Vec<(&str, &Reach)> =
                uses.iter().filter_map(|(scc, users)| Some((*scc, users.get(subject)?))).collect();
            if own_uses.is_empty() {
                continue;
            }
            let is_full = |namespace: &str| full.get(subject).is_some_and(|full| full.at(namespace).is_some());
            let candidates = Self::candidates(&held, creates, &own_uses);
            let mut groups: BTreeMap<(Level, Level, Vec<&str>), StrongerUser> = BTreeMap::new();
            for namespace in candidates.into_iter().filter(|namespace| !is_full(namespace.name)) {
                let Some((level, constraints, place)) = self.loosest_for(namespace, creates, &own_uses) else {
                    continue;
                };
                let is_own = subject.strip_prefix("ServiceAccount/").and_then(|account| account.split_once('/'));
                if level <= namespace.enforced || is_own.is_some_and(|(of, _)| of == namespace.name) {
                    continue;
                }
                let key = (level, namespace.enforced, constraints.clone());
                let group = groups.entry(key).or_insert_with(|| StrongerUser {
                    subject: subject.clone(),
                    constraints: constraints.iter().map(|&name| name.to_owned()).collect(),
                    level,
                    enforced: namespace.enforced,
                    namespaces: Vec::new(),
                    place,
                });
                group.namespaces.push(namespace.name.to_owned());
            }
            found.extend(groups.into_values());
        }
        found
    }

    fn held_namespaces(&self) -> BTreeMap<&str, Held<'_>> {
        let mut held = BTreeMap::new();
        for name in self.namespaces() {
            let (Some(facts), Some(settled)) = (self.facts(name), self.settled(name)) else { continue };
            if settled.enforced < Level::Privileged && !skips_constraints(name, facts.run_level.as_deref()) {
                held.insert(name, Held { name, enforced: settled.enforced, range: facts.range() });
            }
        }
        held
    }

    /// Returns the namespaces with both permissions of a subject: to create pods and to use some constraints.
    fn candidates<'h, 'w>(
        held: &'h BTreeMap<&'w str, Held<'w>>,
        creates: &Reach,
        uses: &[(&str, &Reach)],
    ) -> Vec<&'h Held<'w>> {
        if creates.wide.is_none() {
            return creates.own.keys().filter_map(|name| held.get(name.as_str())).collect();
        }
        if uses.iter().any(|(_, reach)| reach.wide.is_some()) {
            return held.values().collect();
        }
        let names: BTreeSet<&String> = uses.iter().flat_map(|(_, reach)| reach.own.keys()).collect();
        names.into_iter().filter_map(|name| held.get(name.as_str())).collect()
    }

    /// Returns the loosest level of the constraints of a subject in a namespace, with their names and the location of
    /// a binding.
    fn loosest_for<'s>(
        &self,
        namespace: &Held<'_>,
        creates: &Reach,
        uses: &[(&'s str, &Reach)],
    ) -> Option<(Level, Vec<&'s str>, Origin)> {
        let created_at = creates.at(namespace.name)?;
        let mut loosest: Option<(Level, Vec<&str>, Origin)> = None;
        for (scc, reach) in uses {
            let Some(used_at) = reach.at(namespace.name) else { continue };
            let (Some(Ok(level)), Some(place)) = (self.level(scc, namespace.range), used_at.or(created_at)) else {
                continue;
            };
            match &mut loosest {
                Some((known, names, _)) if *known == level => names.push(scc),
                Some((known, ..)) if *known > level => {}
                _ => loosest = Some((level, vec![scc], place)),
            }
        }
        loosest
    }

    /// Returns all users of constraints, by binding or by name.
    fn users_of(&self, scc: &str) -> BTreeMap<String, Reach> {
        let mut users = self.reaches("use", GROUP, RESOURCE, scc);
        let Some(found) = self.sccs().iter().find(|known| known.name() == scc) else { return users };
        let named = found.users.iter().map(|user| subject_of_user(user));
        for subject in named.chain(found.groups.iter().map(|group| format!("Group/{group}"))) {
            users.entry(subject).or_default().wide.get_or_insert(None);
        }
        users
    }

    /// Returns the scope of each subject's permission.
    fn reaches(&self, verb: &str, group: &str, resource: &str, name: &str) -> BTreeMap<String, Reach> {
        let request = Request::Resource(ResourceRequest {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
            ..ResourceRequest::default()
        });
        let mut reaches: BTreeMap<String, Reach> = BTreeMap::new();
        for capable in self.access().who_can(&request, Where::Everywhere).capable(self.access()) {
            let place = capable.binding.and_then(|id| self.access().binding_link_of(id)).and_then(|link| link.place);
            let reach = reaches.entry(capable.subject).or_default();
            match capable.scope {
                // A binding of a manifest is preferred to a binding of the platform.
                PermissionScope::Cluster => reach.wide = Some(reach.wide.flatten().or(place)),
                PermissionScope::Namespace(namespace) => {
                    let known = reach.own.entry(namespace).or_default();
                    *known = known.or(place);
                }
            }
        }
        reaches
    }
}

/// Whether the access of this subject is set by manifests rather than by the platform.
fn is_told(subject: &str) -> bool {
    let name = subject.split_once('/').map_or(subject, |(_, name)| name);
    name != MASTERS && (subject.starts_with("ServiceAccount/") || !name.starts_with("system:"))
}
