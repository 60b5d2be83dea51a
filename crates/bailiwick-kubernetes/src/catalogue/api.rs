//! The API of one cluster: the table at its minor, with the custom resources it is known to have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Catalogue, LAST_MINOR, Presence, Resource, Served, Suggestion, split};

/// The API of one cluster.
#[derive(Debug, Clone)]
pub struct Api {
    /// The requested minor, known or not.
    asked: u32,
    /// The table with custom resources added; none without custom resources.
    extended: Option<Arc<Catalogue>>,
}

/// The groups of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<'c> {
    /// These groups, with the same objects.
    Found(Vec<&'c str>),
    /// Several groups, with different things of one name.
    Several(Vec<&'c str>),
    /// This group, off by default.
    Off(&'c str),
    /// None.
    Unknown,
}

/// A resource or subresource that a cluster serves by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedName<'c> {
    /// The API group; empty for the core group.
    pub group: &'c str,
    /// The name in rules: `pods`, `pods/log`.
    pub name: String,
    /// Whether the objects are in namespaces.
    pub is_namespaced: bool,
    /// The verbs of discovery, sorted.
    pub verbs: Vec<&'c str>,
}

impl Lookup<'_> {
    /// Whether no group was found.
    pub fn is_unknown(&self) -> bool {
        *self == Lookup::Unknown
    }
}

impl Api {
    /// Returns the API of a plain cluster of a minor. A minor newer than every known one has the API of the newest.
    pub fn new(minor: u32) -> Self {
        Self { asked: minor, extended: None }
    }

    /// Adds custom resources. Of two with one name in one group the last counts; one of Kubernetes itself stays.
    pub fn extend(&mut self, custom: &[Resource]) {
        let key = |resource: &Resource| (resource.group.clone(), resource.resource.clone());
        let mut new: BTreeMap<(String, String), &Resource> =
            custom.iter().map(|resource| (key(resource), resource)).collect();
        new.retain(|_, new| {
            let known = self.catalogue().find(&new.group, &new.resource);
            known.is_none_or(|known| known.is_custom && known != *new)
        });
        if !new.is_empty() {
            let mut catalogue = self.catalogue().clone();
            catalogue.resources.retain(|known| !known.is_custom || !new.contains_key(&key(known)));
            catalogue.resources.extend(new.into_values().cloned());
            catalogue.index();
            self.extended = Some(Arc::new(catalogue));
        }
    }

    /// Returns the custom resources among them.
    pub fn custom(&self) -> impl Iterator<Item = &Resource> {
        self.catalogue().resources.iter().filter(|resource| resource.is_custom)
    }

    /// Returns the minor of the facts: 21 for 1.21.
    pub fn minor(&self) -> u32 {
        self.asked.min(LAST_MINOR)
    }

    /// Returns the minor of the cluster, even if newer than every known one.
    pub fn requested_minor(&self) -> u32 {
        self.asked
    }

    /// Whether the cluster is newer than every known minor and may serve more than the table.
    pub fn is_newer_than_known(&self) -> bool {
        self.asked > LAST_MINOR
    }

    /// Returns the table behind it.
    pub fn catalogue(&self) -> &Catalogue {
        match &self.extended {
            Some(extended) => extended,
            None => Catalogue::get(),
        }
    }

    /// Returns the served part of a resource, by its name in rules.
    pub fn presence(&self, group: &str, resource: &str) -> Presence<'_> {
        self.catalogue().presence(self.minor(), group, resource)
    }

    /// Returns whether a resource is served, by its name in rules.
    pub fn availability(&self, group: &str, resource: &str) -> Served {
        self.catalogue().availability(self.minor(), group, resource)
    }

    /// Returns the entry of a resource, without its subresource.
    pub fn find(&self, group: &str, resource: &str) -> Option<&Resource> {
        self.catalogue().find(group, split(resource).0)
    }

    /// Whether this is a group of Kubernetes itself; its resources are complete.
    pub fn is_builtin_group(&self, group: &str) -> bool {
        self.catalogue().is_builtin_group(group)
    }

    /// Returns the resources and subresources served by default, in the order of the table.
    pub fn served_names(&self) -> Vec<ServedName<'_>> {
        let mut served = Vec::new();
        for resource in self.catalogue().entries() {
            for name in resource.names() {
                let presence = resource.presence(self.minor(), split(&name).1);
                if presence.served == Served::Yes {
                    let (group, is_namespaced) = (resource.group.as_str(), resource.namespaced);
                    served.push(ServedName { group, name, is_namespaced, verbs: presence.verbs });
                }
            }
        }
        served
    }

    /// Returns the versions of a group served by default, sorted.
    pub fn versions_of(&self, group: &str) -> Vec<&str> {
        let catalogue = self.catalogue();
        let mut versions: Vec<&str> = catalogue
            .of_group(group)
            .flat_map(|found| &*found.versions)
            .filter(|version| version.served(self.minor()) == Served::Yes)
            .map(|version| version.version.as_str())
            .collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// Whether some request needs a verb on a resource, or may: a name known from rules alone counts.
    pub fn takes(&self, group: &str, resource: &str, verb: &str) -> bool {
        self.catalogue().serves(self.minor(), group, resource, verb)
            || self.catalogue().is_virtual(self.minor(), group, resource, verb)
    }

    /// Returns the verbs of a resource, by discovery and by the names known from rules alone, sorted.
    pub fn verbs_of(&self, group: &str, resource: &str) -> Vec<&str> {
        let beside = self.catalogue().virtual_entries(self.minor(), group, resource);
        let mut verbs = self.presence(group, resource).verbs;
        verbs.extend(beside.flat_map(|entry| entry.verbs.iter().map(String::as_str)));
        verbs.sort_unstable();
        verbs.dedup();
        verbs
    }

    /// Whether a resource of a group is served, by default or not, or has a meaning in rules.
    pub fn knows(&self, group: &str, resource: &str) -> bool {
        self.availability(group, resource) != Served::No
            || self.catalogue().virtual_entries(self.minor(), group, resource).next().is_some()
    }

    /// Returns the groups of a resource given without one.
    pub fn look_up(&self, resource: &str, verbs: &[String]) -> Lookup<'_> {
        let catalogue = self.catalogue();
        let groups = catalogue.groups_of(self.minor(), resource);
        match groups.as_slice() {
            [] => {}
            [_] => return Lookup::Found(groups),
            _ => {
                let same = catalogue
                    .equivalents(split(resource).0)
                    .is_some_and(|same| groups.iter().all(|group| same.groups.iter().any(|known| known == group)));
                return if same { Lookup::Found(groups) } else { Lookup::Several(groups) };
            }
        }
        let off = catalogue.resources.iter().find(|found| {
            found.resource == split(resource).0 && self.availability(&found.group, resource) == Served::Off
        });
        if let Some(off) = off {
            return Lookup::Off(&off.group);
        }
        let named: Vec<(&str, bool)> = catalogue
            .virtual_resources
            .iter()
            .filter(|entry| entry.resource != "*" && entry.group != "*")
            .filter(|entry| entry.is_present(self.minor()) && entry.names(resource))
            .map(|entry| (entry.group.as_str(), entry.verbs.iter().any(|verb| verbs.contains(verb))))
            .collect();
        let fitting = named.iter().any(|(_, fits)| *fits);
        let mut groups: Vec<&str> =
            named.into_iter().filter(|(_, fits)| *fits || !fitting).map(|(group, _)| group).collect();
        groups.sort_unstable();
        groups.dedup();
        match groups.len() {
            // A subresource common to every resource is in the group of the resource.
            0 if split(resource).1 == Some("finalizers") => self.look_up(split(resource).0, verbs),
            0 => Lookup::Unknown,
            1 => Lookup::Found(groups),
            _ => Lookup::Several(groups),
        }
    }

    /// Returns the earlier groups of the objects of a resource.
    pub fn earlier_groups(&self, resource: &str) -> Vec<&str> {
        let (name, subresource) = split(resource);
        let same = self.catalogue().equivalents(name).filter(|same| same.moved.is_some());
        let has_it =
            |known: &[String]| subresource.is_none_or(|wanted| known.iter().any(|subresource| subresource == wanted));
        match same.filter(|same| has_it(&same.subresources)).and_then(|same| same.groups.split_last()) {
            Some((_, earlier)) => earlier.iter().map(String::as_str).collect(),
            None => Vec::new(),
        }
    }

    /// Guesses for a resource of a group without it, best first.
    pub fn suggestions(&self, group: &str, resource: &str) -> Vec<Suggestion<'_>> {
        self.catalogue().suggestions(self.minor(), group, resource)
    }

    /// Returns the probable resource for a name without a group, with its subresource: `po` is `pods`.
    pub fn nearest_resource(&self, resource: &str) -> Option<String> {
        let (name, subresource) = split(resource);
        let catalogue = self.catalogue();
        let is_served = !catalogue.groups_of(self.minor(), name).is_empty();
        if let (Some(subresource), true) = (subresource, is_served) {
            let groups = catalogue.groups_of(self.minor(), name);
            let near = groups.iter().find_map(|group| {
                catalogue.suggestions(self.minor(), group, resource).into_iter().find_map(|guess| match guess {
                    Suggestion::Subresource(near) if near != subresource => Some(near.to_owned()),
                    _ => None,
                })
            });
            return near.map(|near| format!("{name}/{near}"));
        }
        let plural = catalogue.suggestions(self.minor(), "", name).into_iter().find_map(|guess| match guess {
            Suggestion::Plural { resource, .. } => Some(resource.to_owned()),
            _ => None,
        });
        let names = catalogue.served(self.minor()).map(|found| found.resource.as_str());
        let near = plural.or_else(|| bailiwick_yaml::diag::nearest(name, names).map(str::to_owned))?;
        Some(subresource.map_or_else(|| near.clone(), |subresource| format!("{near}/{subresource}")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ResourceVersion;
    use super::*;

    #[test]
    fn finds_the_groups_of_a_resource() {
        let at = |minor, resource: &str| format!("{:?}", Api::new(minor).look_up(resource, &[]));
        assert_eq!(at(21, "ingresses"), r#"Found(["extensions", "networking.k8s.io"])"#);
        assert_eq!(at(36, "ingresses"), r#"Found(["networking.k8s.io"])"#);
        assert_eq!(at(36, "events"), r#"Found(["", "events.k8s.io"])"#);
        assert_eq!(at(36, "pods/log"), r#"Found([""])"#);
        assert_eq!(at(36, "signers"), r#"Found(["certificates.k8s.io"])"#);
        assert_eq!(at(36, "nodes/metrics"), r#"Found([""])"#);
        assert_eq!(at(36, "widgets"), "Unknown");
        assert_eq!(Api::new(36).earlier_groups("deployments/scale"), ["extensions"]);
        assert_eq!(Api::new(36).earlier_groups("events"), Vec::<&str>::new());
        let users = |verb: &str| format!("{:?}", Api::new(36).look_up("users", &[verb.to_owned()]));
        assert_eq!(users("impersonate"), r#"Found([""])"#);
        assert_eq!(users("get"), r#"Several(["", "authentication.k8s.io"])"#);
    }

    #[test]
    fn guesses_without_a_group() {
        let near = |resource| Api::new(36).nearest_resource(resource);
        assert_eq!(near("deployment").as_deref(), Some("deployments"));
        assert_eq!(near("deploy/scale").as_deref(), Some("deployments/scale"));
        assert_eq!(near("pods/logs").as_deref(), Some("pods/log"));
        assert_eq!(near("ingreses").as_deref(), Some("ingresses"));
        assert_eq!(near("widgets"), None);
    }

    #[test]
    fn the_last_of_two_custom_resources_counts() {
        let custom = |group: &str, resource: &str, kind: &str| Resource {
            group: group.to_owned(),
            resource: resource.to_owned(),
            kind: kind.to_owned(),
            namespaced: true,
            singular: String::new(),
            short_names: Vec::new(),
            is_custom: true,
            versions: vec![ResourceVersion {
                version: "v1".to_owned(),
                present: vec![(0, None)],
                default: None,
                verbs: vec!["get".to_owned()],
                verbs_by: Vec::new(),
                subresources: Vec::new(),
            }]
            .into(),
        };
        let mut api = Api::new(36);
        let kind = |api: &Api, group: &str, resource| api.find(group, resource).map(|found| found.kind.clone());
        api.extend(&[
            custom("example.com", "widgets", "First"),
            custom("example.com", "gadgets", "Gadget"),
            custom("example.com", "widgets", "Second"),
            custom("apps", "deployments", "Mine"),
        ]);
        assert_eq!(api.look_up("widgets", &[]), Lookup::Found(vec!["example.com"]));
        assert_eq!(kind(&api, "example.com", "widgets").as_deref(), Some("Second"));
        api.extend(&[custom("example.com", "widgets", "Third"), custom("apps", "deployments", "Mine")]);
        assert_eq!(api.look_up("widgets", &[]), Lookup::Found(vec!["example.com"]));
        assert_eq!(kind(&api, "example.com", "widgets").as_deref(), Some("Third"));
        assert_eq!(kind(&api, "example.com", "gadgets").as_deref(), Some("Gadget"));
        assert_eq!(kind(&api, "apps", "deployments").as_deref(), Some("Deployment"));
        assert_eq!(api.look_up("deployments", &[]), Lookup::Found(vec!["apps"]));
    }
}
