//! The groups of users, as GroupSets and Group objects list them.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::Identity;
use bailiwick_access::risk::subject_of_user;
use bailiwick_kubernetes::{absent, list, user_group};
use bailiwick_policy::model::{GroupMembers, PolicyFacts};
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::Origin;

use super::loaded_world::LoadedWorld;

/// A group of a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Membership {
    /// The name of the group.
    pub group: String,
    /// The location of the user in the list of the members.
    pub origin: Origin,
}

/// The groups of users by name, each group once.
#[derive(Debug, Default)]
pub struct Memberships(BTreeMap<String, BTreeMap<String, Origin>>);

impl Memberships {
    /// Collects the groups of a target.
    pub fn on(facts: &PolicyFacts, target: &str) -> Self {
        let mut found = Self::default();
        for members in facts.on::<GroupMembers>(target) {
            for user in &members.users {
                let groups = found.0.entry(user.value.clone()).or_default();
                groups.entry(members.group.clone()).or_insert(user.origin);
            }
        }
        found
    }

    /// Adds the members of the Groups in a document.
    pub(crate) fn add_document(&mut self, document: NodeRef<'_>) {
        for (api_version, kind, object) in list::typed_objects(document) {
            let Some(users) = user_group::members(&api_version, &kind, object) else { continue };
            let name = absent::text_at(object, &["metadata", "name"]);
            for user in users {
                let groups = self.0.entry(absent::text(user.as_str()).to_owned()).or_default();
                groups.entry(name.to_owned()).or_insert(user.origin());
            }
        }
    }
}

/// Users by the names of their groups.
pub type MembersByGroup = BTreeMap<String, BTreeSet<String>>;

impl Memberships {
    /// Returns the users whose groups differ, with all their groups of both sides.
    pub fn differing(&self, other: &Self) -> [MembersByGroup; 2] {
        let users: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let differ = |user: &&String| {
            let [own, others] =
                [self, other].map(|side| side.0.get(*user).map(|groups| groups.keys().collect::<Vec<_>>()));
            own != others
        };
        let differing: Vec<&String> = users.into_iter().filter(differ).collect();
        [self, other].map(|side| {
            let mut members = MembersByGroup::new();
            for user in &differing {
                for group in side.0.get(*user).into_iter().flat_map(BTreeMap::keys) {
                    members.entry(group.clone()).or_default().insert((*user).clone());
                }
            }
            members
        })
    }

    /// Returns all users of a group.
    pub fn members_of(&self, group: &str) -> BTreeSet<&str> {
        let users = self.0.iter().filter(|(_, groups)| groups.contains_key(group));
        users.map(|(user, _)| user.as_str()).collect()
    }
}

impl LoadedWorld {
    /// Returns a user with the groups of its name, and with the groups of the policies or the manifests.
    pub fn identity(&self, user: &str) -> Identity {
        let Identity { user, groups } = Identity::from_user(user);
        let own = self.memberships_of(&user).into_iter().map(|membership| membership.group);
        Identity { groups: own.chain(groups).collect(), user }
    }

    /// Returns the subjects of a user in the graph of escalation paths: the user itself, and its groups.
    pub(crate) fn subjects_of(&self, user: &str) -> Vec<String> {
        let groups = self.memberships_of(user).into_iter().map(|membership| format!("Group/{}", membership.group));
        std::iter::once(subject_of_user(user)).chain(groups).collect()
    }

    /// Returns the groups that the policies or the manifests give a user, in the order of their names.
    pub fn memberships_of(&self, user: &str) -> Vec<Membership> {
        let groups = self.memberships.0.get(user).into_iter().flatten();
        groups.map(|(group, origin)| Membership { group: group.clone(), origin: *origin }).collect()
    }
}
