//! The permissions of holders by scope: the lookup of every decision, with few accesses to memory.
//!
//! In a world of a hundred thousand tenants every access waits for memory, so their number is the cost of a decision.
//! Entries are sorted by the hashes of their namespace and holder, and a directory leads from a hash to its few
//! entries. Each entry has the rules and the targets of its role, so that most decisions read neither a binding nor the
//! rules of an unrelated role. Names are compared as text only for equal hashes, and only where the rules allow a request.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::rules::RuleListId;
use super::symbols::{Symbol, Symbols};
use super::targets::Targets;
use super::world::{Holder, Parts, Subject, SubjectKind, account_user, namespace_of_role};
use bailiwick_yaml::internal;

/// The permissions of a holder by one binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BoundRules {
    key: u64,
    /// The namespace of the binding; the empty one for a cluster-wide binding.
    namespace: Symbol,
    pub(crate) holder: Holder,
    /// The rules of the role; none when the role is not there.
    pub(crate) rules: Option<RuleListId>,
    pub(crate) binding: u32,
    /// A superset of what the rules allow.
    targets: Targets,
}

/// The role of a binding.
#[derive(Debug, Clone, Copy)]
struct BoundRole {
    binding: u32,
    rules: Option<RuleListId>,
    targets: Targets,
}

/// A scope of bindings in texts: the cluster, or a namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'t> {
    /// The namespace; empty for the cluster.
    namespace: &'t str,
    /// The upper half of the hash of the namespace.
    hash: u64,
}

/// The index of a world.
#[derive(Debug)]
pub(crate) struct Index {
    cluster: Table,
    local: Table,
}

/// Entries sorted by key.
#[derive(Debug)]
struct Table {
    held: Vec<BoundRules>,
    /// For each value of the first bits of a key, the first entry with at least this value; and the number of entries.
    starts: Vec<u32>,
    /// The number of the other bits of a key.
    shift: u32,
}

/// The most entries that are searched one by one.
const FEW: usize = 16;

/// Returns the hash of a user's or a group's name.
pub(crate) fn hash_of(is_group: bool, name: &str) -> u64 {
    xxh3_64_with_seed(name.as_bytes(), u64::from(is_group))
}

impl<'t> Scope<'t> {
    /// The whole cluster.
    pub(crate) const CLUSTER: Self = Self { namespace: "", hash: 0 };

    /// Returns a namespace; none for the empty text.
    pub(crate) fn of_namespace(namespace: &'t str) -> Option<Self> {
        const UPPER_HALF: u64 = !0 << 32;
        (!namespace.is_empty()).then(|| Self { namespace, hash: xxh3_64(namespace.as_bytes()) & UPPER_HALF })
    }

    /// Returns the key for the hash of a holder. Keys of a namespace have a common upper half.
    fn key(self, holder: u64) -> u64 {
        if self.namespace.is_empty() { holder } else { self.hash | (holder >> 32) }
    }
}

impl BoundRules {
    /// Creates the entry of a holder in a namespace; the empty one for the cluster.
    fn new(holder: Holder, namespace: Symbol, role: BoundRole, symbols: &Symbols) -> Self {
        let hash = hash_of(holder.is_group, symbols.text(holder.name));
        let scope = Scope::of_namespace(symbols.text(namespace));
        let key = scope.map_or(hash, |scope| scope.key(hash));
        Self { key, namespace, holder, rules: role.rules, binding: role.binding, targets: role.targets }
    }

    /// Returns the rules if they may allow a request with these targets.
    pub(crate) fn rules_about(&self, targets: Targets) -> Option<RuleListId> {
        self.rules.filter(|_| self.targets.meet(targets))
    }

    /// Whether this user or group is the holder in this scope, given a fitting key.
    pub(crate) fn is_of(&self, is_group: bool, name: &str, scope: Scope<'_>, symbols: &Symbols) -> bool {
        self.holder.is_group == is_group
            && symbols.is(self.holder.name, name)
            && symbols.is(self.namespace, scope.namespace)
    }

    fn place(&self) -> (Symbol, Holder) {
        (self.namespace, self.holder)
    }
}

impl Index {
    /// Creates the index of resolved bindings. Adds the user names of service accounts to the symbols.
    pub(super) fn from_parts(parts: &mut Parts) -> Self {
        let lists = parts.lists.all().iter();
        let targets: Vec<Targets> = lists.map(|rules| Targets::of_rules(rules, &parts.symbols)).collect();
        let (mut cluster, mut local) = (Vec::new(), Vec::with_capacity(parts.subjects.len()));
        for (id, binding) in (0..).zip(&parts.bindings) {
            let rules = binding.role.and_then(|role| parts.roles.get(role as usize)).map(|role| role.rules);
            let targets = rules.and_then(|rules| targets.get(rules.number())).map_or(Targets::NONE, |targets| *targets);
            let role = BoundRole { binding: id, rules, targets };
            for subject in binding.subjects_in(&parts.subjects) {
                if let Some(holder) = holder(*subject, binding.namespace, &mut parts.symbols) {
                    let entries = if binding.namespace.is_none() { &mut cluster } else { &mut local };
                    entries.push(BoundRules::new(holder, namespace_of_role(binding), role, &parts.symbols));
                }
            }
        }
        Self { cluster: Table::new(cluster), local: Table::new(local) }
    }

    /// Returns the entries of a scope for a holder with this hash, among others: see [`of_hash`]. In a namespace every hash
    /// leads to the same entries.
    pub(crate) fn near(&self, hash: u64, scope: Scope<'_>) -> &[BoundRules] {
        self.table(scope).near(scope.key(hash))
    }

    /// Returns the entries of a holder, cluster-wide or in a namespace.
    pub(crate) fn bound_rules(&self, holder: Holder, namespace: Option<Symbol>, symbols: &Symbols) -> &[BoundRules] {
        let place = (namespace.map_or(Symbol::EMPTY, |namespace| namespace), holder);
        let scope = match namespace {
            None => Scope::CLUSTER,
            Some(namespace) => match Scope::of_namespace(symbols.text(namespace)) {
                Some(scope) => scope,
                None => return &[],
            },
        };
        let hash = hash_of(holder.is_group, symbols.text(holder.name));
        let with_key = with_key(self.near(hash, scope), scope.key(hash));
        let rest = internal::items(with_key, with_key.partition_point(|held| held.place() < place)..);
        internal::items(rest, ..rest.partition_point(|held| held.place() == place))
    }

    /// Returns each pair of a holder and a scope with an entry, in no order.
    pub(crate) fn places(&self) -> impl Iterator<Item = (Holder, Option<Symbol>)> {
        let cluster = self.cluster.places().map(|(_, holder)| (holder, None));
        cluster.chain(self.local.places().map(|(namespace, holder)| (holder, Some(namespace))))
    }

    fn table(&self, scope: Scope<'_>) -> &Table {
        if scope.namespace.is_empty() { &self.cluster } else { &self.local }
    }

    /// Returns the used memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.cluster.bytes() + self.local.bytes()
    }
}

impl Table {
    fn new(mut held: Vec<BoundRules>) -> Self {
        held.sort_unstable();
        held.dedup();
        held.shrink_to_fit();
        let places = held.chunk_by(|left, right| left.key >> 32 == right.key >> 32).count();
        let bits = (places.next_power_of_two().trailing_zeros() + 1).min(31);
        let shift = u64::BITS - bits;
        let mut starts = Vec::with_capacity((1 << bits) + 1);
        let mut start = 0;
        for first_bits in 0..1 << bits {
            let rest = internal::items(&held, start..);
            start += rest.iter().take_while(|held| held.key >> shift < first_bits).count();
            starts.push(internal::number(start));
        }
        starts.push(internal::number(held.len()));
        Self { held, starts, shift }
    }

    /// Returns the entries whose keys have the same first bits.
    fn near(&self, key: u64) -> &[BoundRules] {
        let first_bits = (key >> self.shift) as usize;
        let &[start, end] = internal::items(&self.starts, first_bits..first_bits + 2) else { return &[] };
        internal::items(&self.held, start as usize..end as usize)
    }

    /// Returns each namespace with a holder, in no order.
    fn places(&self) -> impl Iterator<Item = (Symbol, Holder)> {
        let by_place = self.held.chunk_by(|left, right| left.place() == right.place());
        by_place.filter_map(|held| held.first()).map(BoundRules::place)
    }

    fn bytes(&self) -> usize {
        self.held.capacity() * size_of::<BoundRules>() + self.starts.capacity() * size_of::<u32>()
    }
}

/// Returns the identity of a subject; none for a subject without identities.
fn holder(subject: Subject, binding_namespace: Option<Symbol>, symbols: &mut Symbols) -> Option<Holder> {
    match subject.kind {
        SubjectKind::User => Some(Holder { is_group: false, name: subject.name }),
        SubjectKind::Group => Some(Holder { is_group: true, name: subject.name }),
        SubjectKind::ServiceAccount => {
            let namespace = if subject.namespace == Symbol::EMPTY { binding_namespace? } else { subject.namespace };
            if namespace == Symbol::EMPTY {
                return None;
            }
            let user = account_user(symbols.text(namespace), symbols.text(subject.name));
            Some(Holder { is_group: false, name: symbols.add(&user) })
        }
        SubjectKind::Unknown => None,
    }
}

/// Returns the entries of a scope with this hash. They may have other holders, too: see [`BoundRules::is_of`].
pub(crate) fn of_hash<'w>(near: &'w [BoundRules], hash: u64, scope: Scope<'_>) -> impl Iterator<Item = &'w BoundRules> {
    let key = scope.key(hash);
    // Reading few entries in order does not wait for one entry before the next.
    let all = if near.len() > FEW { with_key(near, key) } else { near };
    all.iter().filter(move |held| held.key == key)
}

/// Returns the entries with a key.
fn with_key(near: &[BoundRules], key: u64) -> &[BoundRules] {
    let rest = internal::items(near, near.partition_point(|held| held.key < key)..);
    internal::items(rest, ..rest.partition_point(|held| held.key == key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Identity, Request, ResourceRequest};
    use crate::world::World;

    /// A ClusterRole `reader` for pods.
    const READER: &str = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, \
                          rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}\n";

    /// Returns a world with a binding of `reader` for each pair of a namespace (empty for the cluster) and a user.
    fn world_of(pairs: &[(String, String)]) -> World {
        let mut text = READER.to_owned();
        for (number, (namespace, user)) in pairs.iter().enumerate() {
            let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
            text.push_str(&format!(
                "---\n{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {{name: b{number}, namespace: '{namespace}'}}, \
                 roleRef: {{kind: ClusterRole, name: reader}}, subjects: [{{kind: User, name: {user}}}]}}\n"
            ));
        }
        World::from_text(&text)
    }

    fn may_read(world: &World, user: &str, namespace: &str) -> bool {
        is_reader(world, &Identity::from_user(user), namespace)
    }

    fn is_reader(world: &World, who: &Identity, namespace: &str) -> bool {
        let request = ResourceRequest {
            verb: "get".to_owned(),
            resource: "pods".to_owned(),
            namespace: namespace.to_owned(),
            ..ResourceRequest::default()
        };
        world.allows(who, &Request::Resource(request))
    }

    fn pair(namespace: &str, user: &str) -> (String, String) {
        (namespace.to_owned(), user.to_owned())
    }

    /// An author of manifests can choose names with equal hashes.
    #[test]
    fn names_decide_where_hashes_are_equal() {
        let mut world = world_of(&[pair("red", "ann"), pair("blue", "ann"), pair("red", "bob"), pair("", "bob")]);
        let forge = |all: &[BoundRules], key: u64, is_own: &dyn Fn(&BoundRules) -> bool| {
            let forged = all.iter().filter(|held| !is_own(held));
            Table::new(forged.map(|held| BoundRules { key, ..*held }).collect())
        };
        let (ann, red) = (world.symbols.find("ann"), world.symbols.find("red"));
        let (red_scope, hash) = (Scope::of_namespace("red").unwrap(), hash_of(false, "ann"));
        assert!(may_read(&world, "ann", "red"));
        let local = forge(&world.index.local.held, red_scope.key(hash), &|held| {
            held.holder.name == ann && held.namespace == red
        });
        world.index = Index { cluster: forge(&world.index.cluster.held, hash, &|_| false), local };
        assert_eq!((world.index.near(hash, Scope::CLUSTER).len(), world.index.near(hash, red_scope).len()), (1, 2));
        assert!(!may_read(&world, "ann", "red"));
        assert!(!may_read(&world, "ann", ""));
    }

    /// A user and a group may have one name.
    #[test]
    fn a_group_is_no_user() {
        let mut world = world_of(&[pair("red", "ann")]);
        let red = Scope::of_namespace("red").unwrap();
        let group = Identity { user: String::new(), groups: vec!["ann".to_owned()] };
        world.index.local.held.iter_mut().for_each(|held| held.key = red.key(hash_of(true, "ann")));
        assert!(!is_reader(&world, &group, "red"));
    }

    #[test]
    fn every_entry_is_found_in_its_own_scope() {
        let crowd = (0..100).map(|number| pair("crowd", &format!("user-{number}")));
        let wide = (0..50).map(|number| pair("", &format!("wide-{number}")));
        let tenants = (0..300).map(|number| pair(&format!("tenant-{number}"), &format!("user-{number}")));
        let pairs: Vec<(String, String)> = crowd.chain(wide).chain(tenants).collect();
        let world = world_of(&pairs);
        assert_eq!(world.index.places().count(), pairs.len());
        for (namespace, user) in &pairs {
            assert!(may_read(&world, user, namespace), "{user} in {namespace}");
            let holder = Holder { is_group: false, name: world.symbols.find(user) };
            let place = (!namespace.is_empty()).then(|| world.symbols.find(namespace));
            assert_eq!(world.bound_rules(holder, place).len(), 1, "{user} in {namespace}");
            let is_wide = namespace.is_empty();
            assert_eq!(may_read(&world, user, "tenant-299"), is_wide || user == "user-299", "{user}");
        }
        assert!(!may_read(&world, "user-100", "crowd"));
    }
}
