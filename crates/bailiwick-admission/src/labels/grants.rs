//! The constraints usable by service accounts, for the syncer and for the authorizer.
//!
//! Everything is a set of bits, one for each SCC. A distinct list of rules is evaluated once. A namespace then needs a
//! few unions: the constraints of all service accounts, of its service accounts as a group, and of each account.
//!
//! The syncer has its own index (`pkg/psalabelsyncer` of openshift/cluster-policy-controller). It ignores users with
//! the name of a service account, and subjects and references with another API group, and treats any reference to a
//! kind other than Role as a reference to a ClusterRole.

use std::collections::HashMap;

use crate::scc::{Scc, USE};
use bailiwick_access::request::{ACCOUNTS, AUTHENTICATED};
use bailiwick_access::rules::RuleListId;
use bailiwick_access::world::{RoleKind, SubjectKind, World, account_user};
use bailiwick_access::{BindingRef, RoleRef};
use bailiwick_kubernetes::absent;

/// A set of constraints, by their position.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SccSet(Vec<u64>);

/// The parts of a binding ignored by the syncer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    /// True when its reference has an odd API group.
    pub(super) role: bool,
    /// The positions of subjects with an odd API group.
    pub(super) subjects: Vec<usize>,
}

/// Bindings with parts ignored by the syncer, by namespace (empty: cluster-wide) and name.
pub(super) type HiddenBindings = HashMap<(String, String), Hidden>;

/// The constraints usable by each subject.
#[derive(Debug)]
pub(super) struct Grants {
    /// By the number of the list of rules.
    lists: Vec<SccSet>,
    /// Constraints of every service account, for the syncer.
    everybody: SccSet,
    /// Constraints of the service accounts of a namespace as a group.
    groups: HashMap<String, SccSet>,
    /// Constraints of a service account by its user name.
    accounts: HashMap<String, SccSet>,
    /// Users named in constraints themselves.
    named: Named,
    /// Bindings with a grant to all service accounts.
    everywhere: Vec<u32>,
    /// Bindings with a grant to service accounts of a namespace.
    reaching: HashMap<String, Vec<u32>>,
}

/// The users named in constraints.
#[derive(Debug, Default)]
struct Named {
    everybody: SccSet,
    groups: HashMap<String, SccSet>,
    users: HashMap<String, SccSet>,
}

impl SccSet {
    /// Adds one.
    pub fn insert(&mut self, position: usize) {
        let word = position / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= 1 << (position % 64);
        }
    }

    /// Takes one out.
    pub fn remove(&mut self, position: usize) {
        if let Some(bits) = self.0.get_mut(position / 64) {
            *bits &= !(1 << (position % 64));
        }
    }

    /// Adds all of another.
    pub fn union(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, new) in self.0.iter_mut().zip(&other.0) {
            *own |= new;
        }
    }

    /// Whether both have one in common.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }

    /// Returns the intersection of two sets.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(own, other)| own & other).collect())
    }

    /// Whether this is one of its members.
    pub fn contains(&self, position: usize) -> bool {
        self.0.get(position / 64).is_some_and(|bits| bits & (1 << (position % 64)) != 0)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    /// Returns the members, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(word, bits)| (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| word * 64 + bit))
    }

    /// Returns the first so many.
    fn all(count: usize) -> Self {
        let mut set = Self::default();
        (0..count).for_each(|position| set.insert(position));
        set
    }
}

impl Grants {
    /// Looks at every list of rules and every binding once. The constraints are sorted by name.
    pub(super) fn new(world: &World, sccs: &[Scc], hidden: &HiddenBindings) -> Self {
        let all = SccSet::all(sccs.len());
        let lists = world.rule_list_ids().map(|id| granted(world, id, sccs, &all)).collect();
        let named = Named::new(sccs);
        let mut grants = Self {
            lists,
            everybody: named.everybody.clone(),
            groups: named.groups.clone(),
            accounts: named.users.clone(),
            named,
            everywhere: Vec::new(),
            reaching: HashMap::new(),
        };
        for (id, binding) in (0..).zip(world.bindings()) {
            grants.add(world, id, binding, hidden);
        }
        grants
    }

    /// Returns the bindings with a grant to service accounts of a namespace, each once.
    pub(super) fn bindings(&self, namespace: &str) -> Vec<u32> {
        let local = self.reaching.get(namespace).into_iter().flatten();
        let mut bindings: Vec<u32> = self.everywhere.iter().chain(local).copied().collect();
        bindings.sort_unstable();
        bindings.dedup();
        bindings
    }

    fn add(&mut self, world: &World, id: u32, binding: BindingRef<'_>, hidden: &HiddenBindings) {
        let Some(role) = syncer_role(world, binding) else { return };
        let set = self.list(role.rules());
        if set.is_empty() {
            return;
        }
        let set = set.clone();
        for (holder, namespace) in syncer_subjects(binding, hidden) {
            // A binding in a namespace counts for the service accounts of the namespace alone, a cluster-wide binding
            // for all.
            let place = namespace.as_deref();
            let of_namespace = |namespace: &str| place.is_none_or(|place| place == namespace);
            match holder {
                SyncerSubject::Everybody => match place {
                    None => {
                        self.everybody.union(&set);
                        self.everywhere.push(id);
                    }
                    Some(place) => {
                        self.groups.entry(place.to_owned()).or_default().union(&set);
                        self.reaching.entry(place.to_owned()).or_default().push(id);
                    }
                },
                SyncerSubject::AccountsOf(group) if of_namespace(&group) => {
                    self.reaching.entry(group.clone()).or_default().push(id);
                    self.groups.entry(group).or_default().union(&set);
                }
                SyncerSubject::Account(owner, name) if of_namespace(&owner) => {
                    self.accounts.entry(account_user(&owner, &name)).or_default().union(&set);
                    self.reaching.entry(owner).or_default().push(id);
                }
                SyncerSubject::AccountsOf(_) | SyncerSubject::Account(..) => {}
            }
        }
    }

    /// Returns the constraints granted by a list of rules.
    pub(super) fn list(&self, id: RuleListId) -> &SccSet {
        static NONE: SccSet = SccSet(Vec::new());
        self.lists.get(id.number()).unwrap_or(&NONE)
    }

    /// Returns the constraints of every service account, for the syncer.
    pub(super) fn everybody(&self) -> &SccSet {
        &self.everybody
    }

    /// Returns the constraints of all service accounts of a namespace together, for the syncer.
    pub(super) fn synced<'n>(&self, namespace: &str, accounts: impl Iterator<Item = &'n str>) -> SccSet {
        let mut set = self.everybody.clone();
        if let Some(group) = self.groups.get(namespace) {
            set.union(group);
        }
        if !self.accounts.is_empty() {
            for account in accounts {
                if let Some(own) = self.accounts.get(&account_user(namespace, account)) {
                    set.union(own);
                }
            }
        }
        set
    }

    /// Returns the constraints of service accounts for the authorizer, with service accounts as plain users.
    pub(super) fn authorized<'n>(
        &self,
        world: &World,
        namespace: &str,
        accounts: impl Iterator<Item = &'n str>,
    ) -> SccSet {
        let own_group = format!("{ACCOUNTS}:{namespace}");
        let mut set = self.named.everybody.clone();
        if let Some(group) = self.named.groups.get(namespace) {
            set.union(group);
        }
        let mut take = |is_group: bool, name: &str| {
            for place in [None, Some(namespace)] {
                for list in world.rule_lists(is_group, name, place) {
                    set.union(self.list(list));
                }
            }
        };
        for group in [ACCOUNTS, AUTHENTICATED, &own_group] {
            take(true, group);
        }
        let accounts: Vec<String> = accounts.map(|account| account_user(namespace, account)).collect();
        for account in &accounts {
            take(false, account);
        }
        for account in &accounts {
            if let Some(own) = self.named.users.get(account) {
                set.union(own);
            }
        }
        set
    }
}

impl Named {
    fn new(sccs: &[Scc]) -> Self {
        let mut named = Self::default();
        for (position, scc) in sccs.iter().enumerate() {
            for group in &scc.groups {
                if matches!(group.as_str(), ACCOUNTS | AUTHENTICATED) {
                    named.everybody.insert(position);
                } else if let Some(namespace) = accounts_of(group) {
                    named.groups.entry(namespace.to_owned()).or_default().insert(position);
                }
            }
            for user in &scc.users {
                named.users.entry(user.clone()).or_default().insert(position);
            }
        }
        named
    }
}

/// The meaning of a subject for the syncer.
pub(super) enum SyncerSubject {
    /// Every service account.
    Everybody,
    /// The service accounts of a namespace.
    AccountsOf(String),
    /// One, by its namespace and name.
    Account(String, String),
}

/// Returns the role granted by a binding, for the syncer.
pub(super) fn syncer_role<'w>(world: &'w World, binding: BindingRef<'w>) -> Option<RoleRef<'w>> {
    let namespace = match binding.role_kind() {
        RoleKind::Role => binding.namespace(),
        RoleKind::ClusterRole | RoleKind::Unknown => None,
    };
    world.find_role(namespace, binding.role_name())
}

/// Returns the subjects of a binding known to the syncer, each with the namespace of the binding.
pub(super) fn syncer_subjects(
    binding: BindingRef<'_>,
    hidden: &HiddenBindings,
) -> Vec<(SyncerSubject, Option<String>)> {
    let namespace = binding.namespace();
    let key = || (absent::text(namespace).to_owned(), binding.name().to_owned());
    let hidden = if hidden.is_empty() { None } else { hidden.get(&key()) };
    if hidden.is_some_and(|hidden| hidden.role) {
        return Vec::new();
    }
    let mut seen = Vec::new();
    for (position, subject) in binding.subjects().enumerate() {
        if hidden.is_some_and(|hidden| hidden.subjects.contains(&position)) {
            continue;
        }
        let name = subject.name();
        let own = match subject.kind() {
            SubjectKind::ServiceAccount => {
                let owner = Some(subject.namespace()).filter(|owner| !owner.is_empty()).or(namespace);
                SyncerSubject::Account(absent::text(owner).to_owned(), name.to_owned())
            }
            SubjectKind::Group if matches!(name, ACCOUNTS | AUTHENTICATED) => SyncerSubject::Everybody,
            SubjectKind::Group => match accounts_of(name) {
                Some(owner) => SyncerSubject::AccountsOf(owner.to_owned()),
                None => continue,
            },
            SubjectKind::User | SubjectKind::Unknown => continue,
        };
        seen.push((own, namespace.map(str::to_owned)));
    }
    seen
}

/// Returns the namespace of a group of service accounts.
pub(super) fn accounts_of(group: &str) -> Option<&str> {
    group.strip_prefix(ACCOUNTS)?.strip_prefix(':')
}

/// Returns the constraints granted by a list of rules.
fn granted(world: &World, list: RuleListId, sccs: &[Scc], all: &SccSet) -> SccSet {
    let Some(names) = world.names_allowed(list, USE) else { return all.clone() };
    let mut set = SccSet::default();
    for name in names {
        if let Ok(position) = sccs.binary_search_by(|scc| scc.name().cmp(name)) {
            set.insert(position);
        }
    }
    set
}
