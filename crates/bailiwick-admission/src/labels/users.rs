//! Users who may create pods under looser constraints than any service account of the namespace may use.
//!
//! Admission by constraints takes the user who creates a pod into account, and the label syncer does not: the level of a
//! namespace follows from its service accounts alone. So constraints admit such a pod, and Pod Security refuses it (the
//! risk that the design of the label syncer names). A subject is looked at by itself: whether a user is also in a group is
//! not in the manifests. Full authority is left out, since it can change the labels as well.

use std::collections::{BTreeMap, BTreeSet};

use super::neighbours::skips_constraints;
use super::world::SyncWorld;
use crate::level::Level;
use crate::scc::range::UidRange;
use crate::scc::{GROUP, RESOURCE};
use bailiwick_access::request::{MASTERS, Request, ResourceRequest, service_account};
use bailiwick_access::who_can::{Scope, Where};
use bailiwick_yaml::diag::Origin;

/// A subject who may create pods that Pod Security refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrongerUser {
    /// The subject, as `User/name`, `Group/name` or `ServiceAccount/namespace/name`.
    pub subject: String,
    /// The constraints that come to the loosest level, by name.
    pub constraints: Vec<String>,
    /// That level.
    pub level: Level,
    /// The level that is enforced.
    pub enforced: Level,
    /// The namespaces, by name.
    pub namespaces: Vec<String>,
    /// Where the binding stands that lets the subject create pods, or use the constraints.
    pub place: Origin,
}

/// Where a subject may do something: everywhere, or in some namespaces; each with the place of the binding.
#[derive(Debug, Clone, Default)]
struct Reach {
    wide: Option<Option<Origin>>,
    own: BTreeMap<String, Option<Origin>>,
}

impl Reach {
    /// The place of the binding that counts in a namespace; none where nothing does.
    fn at(&self, namespace: &str) -> Option<Option<Origin>> {
        self.own.get(namespace).copied().or(self.wide)
    }
}

/// A namespace whose pods have to keep a level.
struct Held<'w> {
    name: &'w str,
    enforced: Level,
    range: UidRange,
}

impl SyncWorld {
    /// The users who may create pods past the level of a namespace, those with the same constraints in namespaces of one level
    /// as one. What the cluster gives by itself is left out.
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

    /// The namespaces in which a subject can both create pods and use some constraints.
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

    /// The loosest level of the constraints that a subject may use in a namespace, with their names and a given binding.
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

    /// Everybody who may use constraints: by a binding, or by name.
    fn users_of(&self, scc: &str) -> BTreeMap<String, Reach> {
        let mut users = self.reaches("use", GROUP, RESOURCE, scc);
        let Some(found) = self.sccs().iter().find(|known| known.name() == scc) else { return users };
        let named = found.users.iter().map(|user| match service_account(user) {
            Some((namespace, name)) => format!("ServiceAccount/{namespace}/{name}"),
            None => format!("User/{user}"),
        });
        for subject in named.chain(found.groups.iter().map(|group| format!("Group/{group}"))) {
            users.entry(subject).or_default().wide.get_or_insert(None);
        }
        users
    }

    /// Where each subject may do something.
    fn reaches(&self, verb: &str, group: &str, resource: &str, name: &str) -> BTreeMap<String, Reach> {
        let request = Request::Resource(ResourceRequest {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
            ..ResourceRequest::default()
        });
        let mut reaches: BTreeMap<String, Reach> = BTreeMap::new();
        for capable in self.access().who_can(&request, Where::Everywhere).capable {
            let place = capable.binding.and_then(|id| self.access().binding_link_of(id)).and_then(|link| link.place);
            let reach = reaches.entry(capable.subject).or_default();
            match capable.scope {
                // A given binding says more than one of the cluster's own.
                Scope::Cluster => reach.wide = Some(reach.wide.flatten().or(place)),
                Scope::Namespace(namespace) => {
                    let known = reach.own.entry(namespace).or_default();
                    *known = known.or(place);
                }
            }
        }
        reaches
    }
}

/// True for a subject whose access the cluster does not settle by itself.
fn is_told(subject: &str) -> bool {
    let name = subject.split_once('/').map_or(subject, |(_, name)| name);
    name != MASTERS && (subject.starts_with("ServiceAccount/") || !name.starts_with("system:"))
}
