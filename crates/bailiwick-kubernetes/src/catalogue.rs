//! The API resources, kinds and verbs served by each Kubernetes minor.
//!
//! The table `facts/api-resources.json` covers 1.16 to 1.37. It was derived from the OpenAPI documents of each minor
//! and compared verb by verb with the discovery documents of 1.32 to 1.37. It is JSON for the speed of reading, and is
//! read at the first use, because most commands do not use it. `tests/conformance/facts` adds a release to it, and
//! checks the releases since 1.34.
//!
//! ```text
//! in        stretches [first, last] of minors; null = still there in 1.37, first 16 = there in 1.16 or earlier
//! default   the minors that serve the version without --runtime-config; absent = the same as "in"
//! [15, 15]  up to 1.15, whose resources are taken to be those of 1.16 (seed 000 began there)
//! verbs     as RBAC sees them; verbsBy where they changed; connect subresources by HTTP method
//! ```
//!
//! Custom resources of a cluster are known from its own manifests alone: [`Api`] is the table at one minor with the
//! custom resources of one target. Left out on purpose: aggregated APIs, because no manifest describes them.
//!
//! `facts/virtual-resources.json` adds names in questions of components to the authorizer without an entry in
//! discovery, groups of aggregated APIs (`*` without verbs), and the resources created by an update:
//!
//! ```text
//! namesCreate   a request to create carries a name, which `resourceNames` is compared with
//! starInNames   the component asks with a name that holds a star
//! ```

mod api;
mod custom;
mod near;
mod versions;

use crate::absent;
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

use bailiwick_yaml::internal;
use serde::{Deserialize, Serialize};

use self::versions::Versions;

pub use api::{Api, Lookup, ServedName};
pub use custom::read_custom;
pub use near::Suggestion;

/// The oldest minor with facts of its own.
pub const FIRST_MINOR: u32 = 16;
/// The newest known minor of Kubernetes. Every table of facts ends with it.
pub const LAST_MINOR: u32 = 37;

/// The table as it is read.
const TEXT: &str = include_str!("facts/api-resources.json");

/// Whether a version serves something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Served {
    /// Not there.
    No,
    /// Known, but not served unless the cluster's operator turns it on.
    Off,
    /// Served by default.
    Yes,
}

/// The table.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    resources: Vec<Resource>,
    /// The places of the resources of each group: a cluster may have a hundred thousand custom ones.
    by_group: HashMap<String, Vec<usize>>,
    /// The places of the resources of each name, plural and singular.
    by_name: OnceLock<HashMap<String, Vec<usize>>>,
    equivalents: Vec<Equivalent>,
    virtual_resources: Vec<VirtualResource>,
    /// The resources with creation by an update: `AllowCreateOnUpdate` of the strategies in `pkg/registry` of
    /// Kubernetes 1.36.3.
    create_on_update: Vec<CreateOnUpdate>,
}

/// The part of the table behind the resources.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rest {
    equivalents: Vec<Equivalent>,
    virtual_resources: Vec<VirtualResource>,
}

/// A resource with creation by an update.
#[derive(Debug, Clone, Deserialize)]
struct CreateOnUpdate {
    group: String,
    resource: String,
    #[serde(rename = "in")]
    present: Option<Ranges>,
}

/// The names beside the table of served resources.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VirtualResources {
    virtual_resources: Vec<VirtualResource>,
    create_on_update: Vec<CreateOnUpdate>,
}

/// A resource of one API group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The name in rules: plural, lower case.
    pub resource: String,
    /// The kind of its objects.
    pub kind: String,
    /// True when its objects live in namespaces.
    pub namespaced: bool,
    /// The singular name, if discovery has one.
    #[serde(default)]
    pub singular: String,
    /// Short names such as `po`.
    #[serde(default)]
    pub short_names: Vec<String>,
    /// Whether the resource comes from a CustomResourceDefinition.
    #[serde(default)]
    pub is_custom: bool,
    versions: Versions,
}

/// The same stored objects under several groups.
#[derive(Debug, Clone, Deserialize)]
pub struct Equivalent {
    /// Name without a group.
    pub resource: String,
    /// The groups, oldest first.
    pub groups: Vec<String>,
    /// The subresources common to all groups.
    #[serde(default)]
    pub subresources: Vec<String>,
    /// When the objects moved from the first group to the last; none when all groups go on serving them.
    pub moved: Option<Moved>,
}

/// The end of a group for a resource.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// The last minor with the old group on by default.
    pub served_by_default_until: u32,
    /// The first minor without it.
    pub removed_in: u32,
}

/// A name with a meaning in rules and without an entry in discovery.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualResource {
    /// The API group, or `*`.
    pub group: String,
    /// The resource; `<...>` stands for any text, `*` for any resource.
    pub resource: String,
    /// The checked verbs; an empty list means any verb.
    #[serde(default)]
    pub verbs: Vec<String>,
    /// True when requests to create carry a name.
    #[serde(default)]
    pub names_create: bool,
    /// True when the name of a request may hold a star.
    #[serde(default)]
    pub star_in_names: bool,
    /// True for every resource of a group that an aggregated server serves: the API server receives the requests.
    #[serde(default)]
    is_aggregated: bool,
    #[serde(rename = "in", default)]
    present: Option<Ranges>,
}

/// First and last minor of stretches; no last means up to now.
type Ranges = Vec<(u32, Option<u32>)>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceVersion {
    version: String,
    #[serde(rename = "in")]
    present: Ranges,
    default: Option<Ranges>,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    verbs_by: Vec<VerbsBy>,
    #[serde(default)]
    subresources: Vec<Subresource>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct VerbsBy {
    #[serde(rename = "in")]
    present: Ranges,
    verbs: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Subresource {
    name: String,
    verbs: Vec<String>,
    #[serde(rename = "in")]
    present: Option<Ranges>,
}

/// A kind of a served version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedKind<'c> {
    /// The API group; empty for the core group.
    pub group: &'c str,
    /// The version of the group.
    pub version: &'c str,
    /// The name of the kind.
    pub kind: &'c str,
}

/// The served part of one resource or subresource at a minor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence<'c> {
    /// Whether it is served.
    pub served: Served,
    /// The API versions with it, sorted, including versions off by default.
    pub versions: Vec<&'c str>,
    /// The verbs of the versions served by default, or else of the versions off by default, sorted.
    pub verbs: Vec<&'c str>,
}

impl Catalogue {
    /// Returns the catalogue of the catalogue.
    pub fn get() -> &'static Catalogue {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| internal::value(read(), "the table of resources has another form"))
    }

    /// Returns whether a minor serves a kind at an apiVersion such as `apps/v1`.
    pub fn kind(&self, minor: u32, api_version: &str, kind: &str) -> Served {
        let (group, version) = absent::group_and_version(api_version);
        self.resources
            .iter()
            .filter(|resource| resource.group == group && resource.kind == kind)
            .flat_map(|resource| &*resource.versions)
            .filter(|found| found.version == version)
            .map(|found| found.served(minor))
            .fold(Served::No, Served::max)
    }

    /// Whether some minor had a kind at an apiVersion such as `apps/v1`, served by default or not.
    pub fn has_ever_served_kind(&self, api_version: &str, kind: &str) -> bool {
        let (group, version) = absent::group_and_version(api_version);
        let mut known = self.of_group(group).filter(|resource| resource.kind == kind);
        known.any(|resource| resource.versions.iter().any(|found| found.version == version))
    }

    /// Returns the entry of a kind in a group, for any minor.
    pub fn find_kind(&self, group: &str, kind: &str) -> Option<&Resource> {
        self.of_group(group).find(|found| found.kind == kind)
    }

    /// Returns whether the objects of a kind live in namespaces; none for an unknown kind.
    pub fn is_namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        let (group, _) = crate::absent::group_and_version(api_version);
        let known = crate::schemas::find(api_version, kind).map(|known| known.namespaced);
        known.or_else(|| self.find_kind(group, kind).map(|found| found.namespaced))
    }

    /// Whether this is a group of some version of Kubernetes itself, as opposed to a group of custom resources.
    pub fn is_builtin_group(&self, group: &str) -> bool {
        self.of_group(group).any(|found| !found.is_custom)
    }

    /// Returns the kinds served by default at a minor for a resource, by its plural or singular name in any letters,
    /// in the order of the table (`pkg/api/meta/restmapper.go` of apimachinery 0.37.2).
    pub fn kinds_of_resource(&self, minor: u32, name: &str) -> impl Iterator<Item = ServedKind<'_>> {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
            for (place, resource) in self.resources.iter().enumerate() {
                for name in BTreeSet::from([resource.resource.clone(), resource.singular()]) {
                    by_name.entry(name).or_default().push(place);
                }
            }
            by_name
        });
        let places = by_name.get(&name.to_lowercase()).into_iter().flatten();
        places.filter_map(|&place| self.resources.get(place)).flat_map(move |resource| {
            let is_served =
                move |found: &&ResourceVersion| found.served(minor) == Served::Yes && !found.verbs_in(minor).is_empty();
            resource.versions.iter().filter(is_served).map(|found| ServedKind {
                group: &resource.group,
                version: &found.version,
                kind: &resource.kind,
            })
        })
    }

    /// Returns the kinds served by default at a minor in some version.
    pub fn kinds(&self, minor: u32) -> impl Iterator<Item = &str> {
        self.served(minor).map(|resource| resource.kind.as_str())
    }

    /// Returns the apiVersions of a kind served by default at a minor.
    pub fn api_versions_of_kind(&self, minor: u32, kind: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for resource in self.resources.iter().filter(|resource| resource.kind == kind) {
            for version in resource.versions.iter().filter(|version| version.served(minor) == Served::Yes) {
                let slash = if resource.group.is_empty() { "" } else { "/" };
                found.push(format!("{}{slash}{}", resource.group, version.version));
            }
        }
        found
    }

    /// Returns the served part of a resource at a minor, by its name in rules, such as `pods/log`.
    pub fn presence(&self, minor: u32, group: &str, resource: &str) -> Presence<'_> {
        let (name, subresource) = split(resource);
        let nowhere = || Presence { served: Served::No, versions: Vec::new(), verbs: Vec::new() };
        self.find(group, name).map_or_else(nowhere, |found| found.presence(minor, subresource))
    }

    /// Returns whether a minor serves a resource, by its name in rules, such as `pods/log`.
    pub fn availability(&self, minor: u32, group: &str, resource: &str) -> Served {
        let (name, subresource) = split(resource);
        self.find(group, name).map_or(Served::No, |found| found.availability(minor, subresource))
    }

    /// Whether [`Catalogue::presence`] has a verb.
    fn serves(&self, minor: u32, group: &str, resource: &str, verb: &str) -> bool {
        let (name, subresource) = split(resource);
        self.find(group, name).is_some_and(|found| found.serves(minor, subresource, verb))
    }

    /// Whether a name belongs to a subresource of any minor: a served one, one known from rules alone, `finalizers` of
    /// any resource, and `status` or `scale` of an unknown resource.
    pub fn is_subresource(&self, group: &str, resource: &str, name: &str) -> bool {
        let known = self.find(group, resource);
        let full = format!("{resource}/{name}");
        let is_served = |known: &Resource| {
            known.versions.iter().any(|version| version.subresources.iter().any(|subresource| subresource.name == name))
        };
        let is_named =
            |entry: &VirtualResource| entry.is_in(group) && entry.resource.contains('/') && entry.names(&full);
        known.map_or(matches!(name, "status" | "scale"), is_served) || self.virtual_resources.iter().any(is_named)
    }

    /// Returns the entry of a resource, without subresource, for any minor.
    pub fn find(&self, group: &str, resource: &str) -> Option<&Resource> {
        self.of_group(group).find(|found| found.resource == resource)
    }

    /// Returns the resources of a group, in the order of the table.
    pub fn of_group(&self, group: &str) -> impl Iterator<Item = &Resource> {
        let places = self.by_group.get(group).into_iter().flatten();
        places.filter_map(|&place| self.resources.get(place))
    }

    /// Finds the groups anew, after the resources changed.
    fn index(&mut self) {
        self.by_group.clear();
        self.by_name = OnceLock::new();
        for (place, resource) in self.resources.iter().enumerate() {
            self.by_group.entry(resource.group.clone()).or_default().push(place);
        }
    }

    /// Returns every group with a resource served by default at a minor, in the order of the table.
    pub fn groups_of(&self, minor: u32, resource: &str) -> Vec<&str> {
        let (name, _) = split(resource);
        self.resources
            .iter()
            .filter(|found| found.resource == name)
            .filter(|found| self.availability(minor, &found.group, resource) == Served::Yes)
            .map(|found| found.group.as_str())
            .collect()
    }

    /// Whether some minor served a resource in some group.
    pub fn has_ever_served(&self, resource: &str) -> bool {
        self.resources.iter().any(|found| found.resource == split(resource).0)
    }

    /// Returns the entries of every resource, for any minor.
    pub fn entries(&self) -> impl Iterator<Item = &Resource> {
        self.resources.iter()
    }

    /// Returns every resource served by default at a minor.
    pub fn served(&self, minor: u32) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(move |resource| resource.is_served(minor))
    }

    /// Returns the groups with the same objects of a resource.
    pub fn equivalents(&self, resource: &str) -> Option<&Equivalent> {
        self.equivalents.iter().find(|equivalent| equivalent.resource == resource)
    }

    /// Returns the entries with a meaning of a resource beyond discovery, such as `use` on `podsecuritypolicies`.
    pub fn virtual_entries(&self, minor: u32, group: &str, resource: &str) -> impl Iterator<Item = &VirtualResource> {
        self.virtual_resources
            .iter()
            .filter(move |entry| entry.is_present(minor) && entry.is_in(group) && entry.names(resource))
    }

    /// Whether a verb on a resource has a meaning beyond discovery.
    pub fn is_virtual(&self, minor: u32, group: &str, resource: &str, verb: &str) -> bool {
        goes_with_every_resource(minor, resource, verb)
            || self.virtual_resources.iter().any(|entry| {
                entry.is_present(minor)
                    && entry.is_in(group)
                    && (entry.names(resource) && entry.takes(verb) || entry.is_any_name() && entry.has_verb(verb))
            })
    }

    /// Whether a component asks the authorizer about a verb on a resource while it serves another request, or without the API server:
    /// no audit log of the API server has such a request.
    pub fn is_asked_elsewhere(&self, minor: u32, group: &str, resource: &str, verb: &str) -> bool {
        let is_named = |entry: &VirtualResource| {
            !entry.is_aggregated && entry.names(resource) && (entry.verbs.is_empty() || entry.has_verb(verb))
        };
        goes_with_every_resource(minor, resource, verb)
            || self.virtual_resources.iter().any(|entry| {
                entry.is_present(minor)
                    && entry.is_in(group)
                    && (is_named(entry) || entry.is_any_name() && entry.has_verb(verb))
            })
    }

    /// Returns the verbs on a resource that are asked elsewhere, as [`Catalogue::is_asked_elsewhere`] has them; sorted.
    pub fn verbs_asked_elsewhere(&self, minor: u32, group: &str, resource: &str) -> Vec<&str> {
        let entries = self.virtual_entries(minor, group, resource).filter(|entry| !entry.is_aggregated);
        let mut verbs: Vec<&str> = entries.flat_map(|entry| &entry.verbs).map(String::as_str).collect();
        verbs.sort_unstable();
        verbs.dedup();
        verbs
    }

    /// Whether `update` of a missing object creates it. Server-side apply creates every kind.
    pub fn creates_on_update(&self, minor: u32, group: &str, resource: &str) -> bool {
        self.create_on_update.iter().any(|entry| {
            entry.group == group
                && entry.resource == resource
                && entry.present.as_ref().is_none_or(|ranges| holds(ranges, minor))
        })
    }

    /// Returns the first and the last minor with a resource on by default; none without such a minor.
    pub fn served_minors(&self, group: &str, resource: &str) -> Option<(u32, u32)> {
        let mut minors =
            (FIRST_MINOR..=LAST_MINOR).filter(|minor| self.availability(*minor, group, resource) == Served::Yes);
        let first = minors.next()?;
        Some((first, minors.next_back().unwrap_or(first)))
    }
}

impl Resource {
    /// Returns the singular name: by default the kind in lower case.
    fn singular(&self) -> String {
        if self.singular.is_empty() { self.kind.to_lowercase() } else { self.singular.clone() }
    }

    /// Returns the served part of the resource, or of a subresource, at a minor.
    fn presence(&self, minor: u32, subresource: Option<&str>) -> Presence<'_> {
        let mut presence = Presence { served: Served::No, versions: Vec::new(), verbs: Vec::new() };
        for (version, served, verbs) in self.versions_with(minor, subresource) {
            if served > presence.served {
                presence.verbs.clear();
                presence.served = served;
            }
            presence.versions.push(&version.version);
            if served == presence.served {
                presence.verbs.extend(verbs.iter().map(String::as_str));
            }
        }
        presence.versions.sort_unstable();
        presence.verbs.sort_unstable();
        presence.verbs.dedup();
        presence
    }

    /// Returns whether a minor serves the resource or a subresource.
    fn availability(&self, minor: u32, subresource: Option<&str>) -> Served {
        self.versions_with(minor, subresource).fold(Served::No, |best, (_, served, _)| best.max(served))
    }

    /// Whether [`Resource::presence`] has a verb.
    fn serves(&self, minor: u32, subresource: Option<&str>, verb: &str) -> bool {
        let versions = self.versions_with(minor, subresource);
        // The verbs of versions served by default hide the verbs of other versions.
        let best = versions.map(|(_, served, verbs)| (served, verbs.iter().any(|known| known == verb))).max();
        best.is_some_and(|(_, has_verb)| has_verb)
    }

    /// Returns the versions of a minor with the resource or a subresource: whether each is served by default, and its verbs.
    fn versions_with(
        &self,
        minor: u32,
        subresource: Option<&str>,
    ) -> impl Iterator<Item = (&ResourceVersion, Served, &[String])> {
        self.versions.iter().filter_map(move |version| {
            let verbs = version.verbs_of(minor, subresource)?;
            Some((version, version.served(minor), verbs))
        })
    }

    /// Whether a create stores the status of a custom resource: the version has no subresource for the status.
    pub fn stores_status(&self, version: &str) -> bool {
        let mut versions = self.versions.iter().filter(|found| self.is_custom && found.version == version);
        versions.any(|found| found.subresources.iter().all(|subresource| subresource.name != "status"))
    }

    /// Returns the names in rules: the resource, and its subresources of any minor.
    fn names(&self) -> BTreeSet<String> {
        let subresources = self.versions.iter().flat_map(|version| &version.subresources);
        let subresources = subresources.map(|subresource| format!("{}/{}", self.resource, subresource.name));
        subresources.chain([self.resource.clone()]).collect()
    }

    /// Whether a minor serves the resource by default in some version.
    pub fn is_served(&self, minor: u32) -> bool {
        self.versions.iter().any(|version| version.served(minor) == Served::Yes && !version.verbs_in(minor).is_empty())
    }
}

impl ResourceVersion {
    fn served(&self, minor: u32) -> Served {
        if !holds(&self.present, minor) {
            return Served::No;
        }
        let by_default = self.default.as_ref().is_none_or(|ranges| holds(ranges, minor));
        if by_default { Served::Yes } else { Served::Off }
    }

    fn verbs_in(&self, minor: u32) -> &[String] {
        let dated = self.verbs_by.iter().find(|dated| holds(&dated.present, minor));
        dated.map_or(&self.verbs, |dated| &dated.verbs)
    }

    /// Returns the verbs of the resource or a subresource; none when this version lacks it.
    fn verbs_of(&self, minor: u32, subresource: Option<&str>) -> Option<&[String]> {
        if !holds(&self.present, minor) {
            return None;
        }
        let Some(name) = subresource else {
            // A group may serve nothing but a subresource.
            return Some(self.verbs_in(minor)).filter(|verbs| !verbs.is_empty());
        };
        self.subresources
            .iter()
            .find(|found| found.name == name && found.present.as_ref().is_none_or(|ranges| holds(ranges, minor)))
            .map(|found| found.verbs.as_slice())
    }
}

/// Whether a verb goes with a resource as with every other one: a verb of constrained impersonation, and, for objects alone, the
/// permission to delete unreadable ones (`pkg/endpoints/handlers/delete.go` of apiserver 0.36.3).
fn goes_with_every_resource(minor: u32, resource: &str, verb: &str) -> bool {
    (verb.starts_with("impersonate-on:") && minor >= 35)
        || (verb == "unsafe-delete-ignore-read-errors" && minor >= 32 && !resource.contains('/'))
}

impl VirtualResource {
    /// Whether the entry holds for a minor.
    fn is_present(&self, minor: u32) -> bool {
        self.present.as_ref().is_none_or(|ranges| holds(ranges, minor))
    }

    fn is_in(&self, group: &str) -> bool {
        self.group == group || self.group == "*"
    }

    fn takes(&self, verb: &str) -> bool {
        self.verbs.is_empty() || verb == "*" || self.has_verb(verb)
    }

    fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    /// Whether the name of the resource is free, as for signers: the verb alone decides.
    fn is_any_name(&self) -> bool {
        self.resource.starts_with('<')
    }

    /// Whether the entry names a resource: literally, by a placeholder such as `userextras/<key>`, or as a subresource
    /// of every resource.
    fn names(&self, resource: &str) -> bool {
        if let Some(subresource) = self.resource.strip_prefix("*/") {
            return resource.split_once('/').is_some_and(|(name, own)| !name.is_empty() && own == subresource);
        }
        match self.resource.split_once('<') {
            // A bare placeholder matches any name, and nothing would be unknown.
            Some(("", _)) => false,
            Some((stem, _)) => resource.len() > stem.len() && resource.starts_with(stem),
            None => self.resource == resource || (self.resource == "*" && self.group != "*"),
        }
    }
}

/// Splits a name in a rule into resource and subresource.
pub(super) fn split(resource: &str) -> (&str, Option<&str>) {
    resource.split_once('/').map_or((resource, None), |(name, subresource)| (name, Some(subresource)))
}

/// Whether a minor is in one of the ranges. A range from 1.16 covers earlier minors as well.
fn holds(ranges: &Ranges, minor: u32) -> bool {
    let within =
        |minor: u32| ranges.iter().any(|&(first, last)| first <= minor && last.is_none_or(|last| minor <= last));
    within(minor) || (minor < FIRST_MINOR && within(FIRST_MINOR))
}

fn read() -> Option<Catalogue> {
    let (resources, rest) = versions::read_rows(TEXT)?;
    let Rest { equivalents, mut virtual_resources } = serde_json::from_str(&rest).ok()?;
    let beside: VirtualResources = serde_json::from_str(include_str!("facts/virtual-resources.json")).ok()?;
    virtual_resources.extend(beside.virtual_resources);
    let create_on_update = beside.create_on_update;
    let mut catalogue =
        Catalogue { resources, equivalents, virtual_resources, create_on_update, ..Catalogue::default() };
    catalogue.index();
    Some(catalogue)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const UNSAFE_DELETE: &str = "unsafe-delete-ignore-read-errors";

    #[test]
    fn subresources_are_told_from_names() {
        let catalogue = Catalogue::get();
        let mut count = 0;
        for resource in &catalogue.resources {
            for subresource in resource.versions.iter().flat_map(|version| &version.subresources) {
                assert!(catalogue.is_subresource(&resource.group, &resource.resource, &subresource.name));
                count += 1;
            }
            assert!(!catalogue.is_subresource(&resource.group, &resource.resource, "web"), "{}", resource.resource);
        }
        assert!(count > 50, "{count}");
        assert!(catalogue.is_subresource("", "serviceaccounts", "token"));
        assert!(catalogue.is_subresource("", "secrets", "finalizers"));
        assert!(!catalogue.is_subresource("", "secrets", "status"));
        assert!(catalogue.is_subresource("example.com", "widgets", "status"));
        assert!(!catalogue.is_subresource("example.com", "widgets", "log"));
    }

    #[test]
    fn the_table_is_read_whole() {
        let catalogue = read().expect("the embedded table");
        let raw: serde_json::Value = serde_json::from_str(TEXT).expect("JSON");
        assert_eq!(raw["lastMinor"], LAST_MINOR);
        assert_eq!(catalogue.resources.len(), 95);
        assert!(catalogue.resources.iter().all(|resource| !resource.versions.is_empty()));
        assert_eq!((catalogue.virtual_resources.len(), catalogue.create_on_update.len()), (36 + 56, 12));
        assert_eq!(catalogue.equivalents.len(), 7);
    }

    #[test]
    fn knows_when_groups_moved() {
        let catalogue = Catalogue::get();
        assert_eq!(catalogue.groups_of(15, "deployments"), ["apps", "extensions"]);
        assert_eq!(catalogue.groups_of(16, "deployments"), ["apps"]);
        assert_eq!(catalogue.groups_of(21, "ingresses"), ["extensions", "networking.k8s.io"]);
        assert_eq!(catalogue.groups_of(22, "ingresses"), ["networking.k8s.io"]);
        assert_eq!(catalogue.groups_of(36, "pods/log"), [""]);
        let moved = catalogue.equivalents("ingresses").and_then(|found| found.moved.as_ref());
        assert_eq!(moved.map(|moved| moved.removed_in), Some(22));
    }

    #[test]
    fn dates_verbs_and_subresources() {
        let catalogue = Catalogue::get();
        let has = |minor, group, resource, verb| catalogue.presence(minor, group, resource).verbs.contains(&verb);
        assert!(!has(22, "", "services", "deletecollection"));
        assert!(has(23, "", "services", "deletecollection"));
        assert!(!has(18, "certificates.k8s.io", "certificatesigningrequests/approval", "patch"));
        assert!(has(19, "certificates.k8s.io", "certificatesigningrequests/approval", "patch"));
        assert_eq!(catalogue.presence(20, "", "pods/ephemeralcontainers").served, Served::No);
    }

    /// `AllowCreateOnUpdate` of the strategies of Kubernetes 1.36.3.
    #[test]
    fn an_update_creates_a_few_kinds() {
        let catalogue = Catalogue::get();
        for (group, resource) in
            [("coordination.k8s.io", "leases"), ("", "services"), ("rbac.authorization.k8s.io", "roles")]
        {
            assert!(catalogue.creates_on_update(16, group, resource), "{resource}");
        }
        assert!(!catalogue.creates_on_update(30, "coordination.k8s.io", "leasecandidates"));
        assert!(catalogue.creates_on_update(31, "coordination.k8s.io", "leasecandidates"));
        for (group, resource) in [("", "configmaps"), ("", "resourcequotas"), ("", "secrets"), ("apps", "deployments")]
        {
            assert!(!catalogue.creates_on_update(36, group, resource), "{resource}");
        }
    }

    /// Returns every name known from rules alone, in the form of a rule: group, resource, verbs, and a minor with a
    /// meaning of it.
    pub(crate) fn names_that_only_rules_know() -> Vec<(String, String, Vec<String>, u32)> {
        let group = |entry: &VirtualResource| entry.group.replace('*', "example.com");
        let resource = |entry: &VirtualResource| match (entry.resource.split_once('<'), entry.resource.as_str()) {
            (Some((stem, _)), _) => format!("{stem}x.example.com:name"),
            (None, "*") => "widgets".to_owned(),
            (None, name) => name.replace('*', "widgets"),
        };
        let verbs = |entry: &VirtualResource| match entry.verbs.as_slice() {
            [] => vec!["get".to_owned(), "frobnicate".to_owned()],
            verbs => verbs.iter().map(|verb| verb.replace("<mode>:<verb>", "user-info:get")).collect(),
        };
        let minor =
            |entry: &VirtualResource| (FIRST_MINOR..=99).find(|minor| entry.is_present(*minor)).unwrap_or_default();
        let named = |entry: &VirtualResource| (group(entry), resource(entry), verbs(entry), minor(entry));
        Catalogue::get().virtual_resources.iter().map(named).collect()
    }

    #[test]
    fn what_1_37_brought_and_took() {
        let catalogue = Catalogue::get();
        let served = |group, resource| [36, 37].map(|minor| catalogue.presence(minor, group, resource).served);
        let versions = |minor, group, resource| catalogue.presence(minor, group, resource).versions;
        for (group, resource) in [
            ("certificates.k8s.io", "clustertrustbundles"),
            ("certificates.k8s.io", "podcertificaterequests/status"),
            ("resource.k8s.io", "devicetaintrules"),
            ("storagemigration.k8s.io", "storageversionmigrations"),
        ] {
            assert_eq!(served(group, resource), [Served::Off, Served::Yes], "{resource}");
        }
        assert_eq!(served("storage.k8s.io", "csinodes/status"), [Served::No, Served::Yes]);
        assert_eq!(served("lifecycle.k8s.io", "evictions"), [Served::No, Served::Off]);
        assert_eq!(versions(36, "scheduling.k8s.io", "workloads"), ["v1alpha2"]);
        assert_eq!(versions(37, "scheduling.k8s.io", "workloads"), ["v1alpha3", "v1beta1"]);
    }

    #[test]
    fn knows_names_that_no_discovery_lists() {
        let catalogue = Catalogue::get();
        assert!(catalogue.is_virtual(24, "policy", "podsecuritypolicies", "use"));
        assert!(!catalogue.is_virtual(25, "policy", "podsecuritypolicies", "use"));
        assert!(catalogue.is_virtual(36, "authentication.k8s.io", "userextras/scopes", "impersonate"));
        assert!(!catalogue.is_virtual(36, "authentication.k8s.io", "userextras/", "impersonate"));
        assert!(catalogue.is_virtual(36, "custom.metrics.k8s.io", "anything", "get"));
        assert!(catalogue.is_virtual(36, "example.com", "widgets/finalizers", "update"));
        assert!(!catalogue.is_virtual(36, "example.com", "widgets/finalizers", "get"));
        assert!(catalogue.is_virtual(36, "", "my-audience", "request-serviceaccounts-token-audience"));
        assert!(!catalogue.is_virtual(36, "", "widgets", "get"));
        assert!(catalogue.is_virtual(35, "", "pods", "impersonate-on:user-info:get"));
        assert!(!catalogue.is_virtual(34, "", "pods", "impersonate-on:user-info:get"));
        let unsafe_delete = |minor, resource| catalogue.is_virtual(minor, "", resource, UNSAFE_DELETE);
        assert!(unsafe_delete(32, "pods") && unsafe_delete(37, "pods"));
        assert!(!unsafe_delete(31, "pods") && !unsafe_delete(37, "pods/status"));
    }
}
