//! The facts of one shard for the checks of several objects, as the shard writes them, and the result of all shards
//! together. The result equals the result of a single run.
//!
//! A shard holds a name and a few numbers for each cluster-scoped object, and of roles and bindings only the open
//! questions. Places, as numbered by the index of output files, restore the order of a single run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_kubernetes::default_policy;
use bailiwick_kubernetes::readers::stored_group;
use bailiwick_policy::model::{ObjectId, Target, TypeMeta};
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::digest::{Digest, digest};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{Binding, Bindings, OutputFileFacts, Remarkable, TargetFacts, WantedRole, duplicate, is_cluster_role};

/// The facts of one part of a target.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PartFacts {
    /// apiVersion and kind of the cluster-scoped objects.
    types: Vec<SavedType>,
    /// The places of the objects.
    origins: Vec<Origin>,
    cluster: Vec<ClusterObject>,
    /// Their names, one after the other.
    names: String,
    wanted: Vec<Wanted>,
    /// Hashes of the ClusterRoles that are bound for accounts.
    tenant_roles: BTreeSet<Digest>,
    /// ClusterRoles alone: the output file of a Role has reported about the Role.
    remarkable: Vec<RemarkableRole>,
    everyone: Vec<BoundToEveryone>,
}

/// apiVersion and kind.
type SavedType = (String, String);

/// A cluster-scoped object.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ClusterObject {
    object_type: u32,
    /// Length of its name.
    name: u32,
    origin: u32,
    /// The position of the file among the files of all shards.
    place: u32,
}

/// A ClusterRole that bindings refer to and that the part does not make, with the first such binding and their number.
#[derive(Debug, Serialize, Deserialize)]
struct Wanted {
    name: String,
    is_manifest: bool,
    count: u32,
    place: u32,
    binding: SavedIdentity,
    origin: Origin,
    account: Option<Origin>,
}

/// A ClusterRole whose rules are remarkable, with where it stands first and in how many output files.
#[derive(Debug, Serialize, Deserialize)]
struct RemarkableRole {
    role: String,
    remarkable: Remarkable,
    origin: Origin,
    place: u32,
    count: u32,
}

/// A binding of a ClusterRole to all users.
#[derive(Debug, Serialize, Deserialize)]
struct BoundToEveryone {
    role: String,
    group: String,
    binding: SavedIdentity,
    origin: Origin,
    place: u32,
}

/// apiVersion, kind, namespace and name.
#[derive(Debug, Serialize, Deserialize)]
struct SavedIdentity(String, String, Option<String>, String);

impl SavedIdentity {
    fn new(identity: &ObjectId) -> Self {
        let TypeMeta { api_version, kind } = &identity.object_type;
        let namespace = identity.namespace.as_deref().map(str::to_owned);
        Self(api_version.to_string(), kind.to_string(), namespace, identity.name.to_string())
    }

    fn identity(&self) -> ObjectId {
        ObjectId {
            object_type: TypeMeta::new(&self.0, &self.1),
            namespace: self.2.as_deref().map(Arc::from),
            name: self.3.as_str().into(),
        }
    }
}

/// Gathers the facts of a part, output file by output file.
#[derive(Debug, Default)]
pub struct PartCollector {
    facts: PartFacts,
    types: HashMap<TypeMeta, u32>,
    origins: HashMap<Origin, u32>,
    wanted: BTreeMap<WantedRole, Wanted>,
    remarkable: HashMap<(Arc<str>, Remarkable, Origin), usize>,
}

impl PartCollector {
    /// Adds the facts of the output file at a place.
    pub fn add(&mut self, place: u32, facts: &OutputFileFacts) {
        for (object_type, name, origin) in &facts.cluster {
            let types = &mut self.facts.types;
            let object_type = *self.types.entry(object_type.clone()).or_insert_with(|| {
                types.push((object_type.api_version.to_string(), object_type.kind.to_string()));
                index(types.len() - 1)
            });
            let origins = &mut self.facts.origins;
            let origin = *self.origins.entry(*origin).or_insert_with(|| {
                origins.push(*origin);
                index(origins.len() - 1)
            });
            self.facts.names.push_str(name);
            self.facts.cluster.push(ClusterObject { object_type, name: index(name.len()), origin, place });
        }
        facts.bindings.iter().for_each(|binding| self.add_binding(place, binding));
        for ((_, role), remarkable, origin) in
            facts.remarkable.iter().filter(|((kind, _), ..)| **kind == *"ClusterRole")
        {
            let known = &mut self.facts.remarkable;
            let found = *self.remarkable.entry((Arc::clone(role), *remarkable, *origin)).or_insert_with(|| {
                known.push(RemarkableRole {
                    role: role.to_string(),
                    remarkable: *remarkable,
                    origin: *origin,
                    place,
                    count: 0,
                });
                known.len() - 1
            });
            if let Some(role) = known.get_mut(found) {
                role.count += 1;
            }
        }
    }

    fn add_binding(&mut self, place: u32, binding: &Binding) {
        let (kind, role) = &binding.role;
        if **kind != *"ClusterRole" {
            return;
        }
        let is_manifest = binding.is_manifest;
        let wanted = self.wanted.entry((Arc::clone(role), is_manifest)).or_insert_with(|| Wanted {
            name: role.to_string(),
            is_manifest,
            count: 0,
            place,
            binding: SavedIdentity::new(&binding.identity),
            origin: binding.role_origin,
            account: binding.account,
        });
        wanted.count += 1;
        if binding.account.is_some() {
            self.facts.tenant_roles.insert(digest(role.as_bytes()));
        }
        if let Some(group) = &binding.everyone {
            let (group, binding_of) = (group.clone(), SavedIdentity::new(&binding.identity));
            let origin = binding.origin;
            let role = role.to_string();
            self.facts.everyone.push(BoundToEveryone { role, group, binding: binding_of, origin, place });
        }
    }

    /// Returns the facts of the shard without the facts that the shard itself can check.
    pub fn finish(mut self, target: &Target) -> PartFacts {
        let own: BTreeSet<&str> = self.facts.cluster_roles().collect();
        let is_open =
            |name: &str| !own.contains(name) && !default_policy::is_cluster_role(name, target.version.minor());
        self.facts.wanted = self.wanted.into_values().filter(|wanted| is_open(&wanted.name)).collect();
        self.facts
    }
}

fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl PartFacts {
    /// Returns whether every number is valid: a checksum detects accidents only.
    pub fn is_consistent(&self) -> bool {
        let mut end = 0_usize;
        self.cluster.iter().all(|object| {
            end = end.saturating_add(object.name as usize);
            (object.object_type as usize) < self.types.len()
                && (object.origin as usize) < self.origins.len()
                && self.names.is_char_boundary(end)
        }) && end == self.names.len()
    }

    /// Returns every place that a diagnostic can name.
    pub fn places(&self) -> impl Iterator<Item = Origin> {
        let wanted = self.wanted.iter().flat_map(|wanted| [Some(wanted.origin), wanted.account]).flatten();
        let roles = self.remarkable.iter().map(|role| role.origin);
        let bindings = self.everyone.iter().map(|bound| bound.origin);
        self.origins.iter().copied().chain(wanted).chain(roles).chain(bindings)
    }

    /// Returns the cluster-scoped objects with type and name.
    fn objects(&self) -> impl Iterator<Item = (&ClusterObject, &SavedType, &str)> {
        let mut start = 0;
        self.cluster.iter().filter_map(move |object| {
            let name = self.names.get(start..start + object.name as usize)?;
            start += name.len();
            Some((object, self.types.get(object.object_type as usize)?, name))
        })
    }

    fn cluster_roles(&self) -> impl Iterator<Item = &str> {
        let is_role = |(api_version, kind): &SavedType| is_cluster_role(api_version, kind);
        self.objects().filter(move |(_, object_type, _)| is_role(object_type)).map(|(_, _, name)| name)
    }
}

/// Judges the facts of all parts of a target as a single run does.
pub fn judge(target: &Target, existing: &BTreeSet<ObjectId>, parts: &[PartFacts], sink: &mut Sink) {
    made_twice(parts, sink);
    let mut whole = TargetFacts::new(target, existing);
    whole.cluster_roles = parts.iter().flat_map(PartFacts::cluster_roles).map(Arc::from).collect();
    let mut wanted: Vec<&Wanted> = parts.iter().flat_map(|part| &part.wanted).collect();
    wanted.sort_by_key(|wanted| wanted.place);
    for wanted in wanted {
        let first = || Bindings {
            identity: wanted.binding.identity(),
            origin: wanted.origin,
            account: wanted.account,
            count: 0,
        };
        let key = (wanted.name.as_str().into(), wanted.is_manifest);
        let bindings = whole.wanted.entry(key).or_insert_with(first);
        bindings.count = bindings.count.saturating_add(wanted.count as usize);
    }
    let mut everyone: Vec<&BoundToEveryone> = parts.iter().flat_map(|part| &part.everyone).collect();
    everyone.sort_by_key(|bound| bound.place);
    let bound = |bound: &BoundToEveryone| {
        (Arc::from(&*bound.role), bound.group.clone(), bound.binding.identity(), bound.origin)
    };
    whole.everyone = everyone.into_iter().map(bound).collect();
    let mut remarkable: Vec<&RemarkableRole> = parts.iter().flat_map(|part| &part.remarkable).collect();
    remarkable.sort_by_key(|role| role.place);
    let mut repeated: HashMap<Origin, usize> = HashMap::new();
    for role in remarkable {
        let hash = digest(role.role.as_bytes());
        if parts.iter().any(|part| part.tenant_roles.contains(&hash)) {
            whole.tenant_roles.insert(Arc::from(&*role.role));
            if role.remarkable == Remarkable::DeletesCollections {
                *repeated.entry(role.origin).or_default() += role.count as usize;
            }
        }
        whole.remarkable.push((Arc::from(&*role.role), role.remarkable, role.origin));
    }
    let mut told = Sink::new();
    whole.finish(&mut told);
    for mut diagnostic in told.into_list() {
        // Each role occurs once above, and a single run reports it for each of its output files.
        if diagnostic.code == codes::DELETE_COLLECTION_FOR_TENANTS {
            let count = diagnostic.origin.and_then(|origin| repeated.get(&origin));
            diagnostic.repeated = count.map_or(0, |count| count.saturating_sub(1));
        }
        sink.push(diagnostic);
    }
}

/// Returns the API group under which an object of a type is stored.
fn group_of<'t>(api_version: &'t str, kind: &str) -> &'t str {
    stored_group(api_version.split_once('/').map_or("", |(group, _)| group), kind)
}

/// The identity of a cluster-scoped object in the cluster: the group that stores it, its kind and its name.
type StoredName<'p> = (&'p str, &'p str, &'p str);

/// The place where an object is made: the place of its output file, its position in the shard, and the policy.
type Made = (u32, u32, Origin);

/// Reports cluster-scoped objects that are made twice, each with the first of its name.
fn made_twice(parts: &[PartFacts], sink: &mut Sink) {
    // A hash for each object finds the objects with equal names; only these are compared.
    let mut hashes: Vec<(u64, u32, u32)> = Vec::with_capacity(parts.iter().map(|part| part.cluster.len()).sum());
    for (number, part) in parts.iter().enumerate() {
        for (position, (_, (api_version, kind), name)) in part.objects().enumerate() {
            let group = group_of(api_version, kind);
            let hash = xxh3_64(format!("{group}\n{kind}\n{name}").as_bytes());
            hashes.push((hash, index(number), index(position)));
        }
    }
    hashes.sort_unstable();
    let several = hashes.chunk_by(|left, right| left.0 == right.0).filter(|same| same.len() > 1).flatten();
    let mut wanted: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    several.for_each(|(_, part, position)| _ = wanted.entry(*part).or_default().insert(*position));
    // Versions and aliases of a group are one object.
    let mut named: BTreeMap<StoredName<'_>, Vec<(Made, &SavedType)>> = BTreeMap::new();
    for (number, positions) in &wanted {
        let Some(part) = parts.get(*number as usize) else { continue };
        for (position, (object, object_type, name)) in part.objects().enumerate() {
            let origin = part.origins.get(object.origin as usize);
            if let Some(origin) = origin.filter(|_| positions.contains(&index(position))) {
                let (api_version, kind) = object_type;
                let made = (object.place, index(position), *origin);
                named.entry((group_of(api_version, kind), kind, name)).or_default().push((made, object_type));
            }
        }
    }
    let mut told: Vec<(u32, u32, Diagnostic)> = Vec::new();
    for ((.., name), mut made) in named {
        made.sort();
        let Some((((.., first), _), others)) = made.split_first() else { continue };
        told.extend(others.iter().map(|((place, position, origin), (api_version, kind))| {
            let object_type = TypeMeta::new(api_version, kind);
            let identity = ObjectId { object_type, namespace: None, name: name.into() };
            (*place, *position, duplicate(&identity, *origin, *first))
        }));
    }
    told.sort_by_key(|(place, position, _)| (*place, *position));
    told.into_iter().for_each(|(.., diagnostic)| sink.push(diagnostic));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_name_nothing_are_noticed() {
        let object = ClusterObject { object_type: 0, name: 2, origin: 0, place: 0 };
        let facts = |object: ClusterObject, names: &str| PartFacts {
            types: vec![("v1".to_owned(), "Node".to_owned())],
            origins: vec![Origin {
                file: bailiwick_yaml::diag::FileId::default(),
                span: bailiwick_yaml::diag::Span::default(),
            }],
            cluster: vec![object],
            names: names.to_owned(),
            ..PartFacts::default()
        };
        assert!(facts(object, "ab").is_consistent());
        assert!(!facts(object, "a").is_consistent());
        assert!(!facts(object, "abc").is_consistent());
        assert!(!facts(object, "aä").is_consistent());
        assert!(!facts(ClusterObject { object_type: 1, ..object }, "ab").is_consistent());
        assert!(!facts(ClusterObject { origin: 1, ..object }, "ab").is_consistent());
    }
}
