//! Lookup of resources by their usual names: `po`, `Pod`, `deployments.apps`, and by their names in rules.

use super::scope::VIRTUAL;
use super::world::World;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::nearest;

/// A resource of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceMatch {
    /// The API group.
    pub group: String,
    /// The plural.
    pub resource: String,
    /// Whether its objects are in namespaces; none if unknown.
    pub namespaced: Option<bool>,
}

/// Why a resource was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The unknown name.
    pub name: String,
    /// The probably intended name.
    pub near: Option<String>,
}

impl World {
    /// Whether there is a ClusterRole of a name.
    pub fn has_cluster_role(&self, name: &str) -> bool {
        self.role(None, name).is_some()
    }

    /// Returns the name of each user and each group with a binding, and whether it is a group. A name can occur several times.
    pub fn bound_names(&self) -> impl Iterator<Item = (&str, bool)> {
        self.index.places().map(|(holder, _)| (self.symbols.text(holder.name), holder.is_group))
    }

    /// Returns the resource for the kind of an object, and whether its objects are in namespaces.
    pub fn resource_of(&self, object: NodeRef<'_>) -> Option<(&str, bool)> {
        let text = |key| object.text_at(key);
        let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        let entry = self.api().catalogue().find_kind(group, text("kind"));
        entry.map(|entry| (entry.resource.as_str(), entry.namespaced))
    }

    /// Finds a resource by its plural, singular, short name or kind, with or without its group behind a dot.
    ///
    /// # Errors
    /// The world's version has no such resource.
    pub fn find_resource(&self, written: &str) -> Result<ResourceMatch, NotFound> {
        let (name, group) = match written.split_once('.') {
            Some((name, rest)) => (name, Some(without_version(rest))),
            None => (written, None),
        };
        if name.contains('*') {
            return Ok(ResourceMatch {
                group: group.map_or_else(|| "*".to_owned(), str::to_owned),
                resource: name.to_owned(),
                namespaced: None,
            });
        }
        let fits_group = |own: &str| group.is_none_or(|group| group == own);
        let found =
            self.api().catalogue().served(self.minor()).filter(|entry| fits_group(&entry.group)).find(|entry| {
                entry.resource == name
                    || entry.singular == name
                    || entry.kind.eq_ignore_ascii_case(name)
                    || entry.short_names.iter().any(|short| short == name)
            });
        if let Some(entry) = found {
            return Ok(ResourceMatch {
                group: entry.group.clone(),
                resource: entry.resource.clone(),
                namespaced: Some(entry.namespaced),
            });
        }
        if let Some((group, name)) = VIRTUAL.iter().find(|(own, known)| *known == name && fits_group(own)) {
            return Ok(ResourceMatch {
                group: (*group).to_owned(),
                resource: (*name).to_owned(),
                namespaced: Some(false),
            });
        }
        match group {
            // An unknown group is accepted: its definition may be missing among the inputs. So is every group of a
            // version newer than the known ones.
            Some(group) if !self.api().is_builtin_group(group) || self.api().is_newer_than_known() => {
                Ok(ResourceMatch { group: group.to_owned(), resource: name.to_owned(), namespaced: None })
            }
            _ => Err(self.not_found(written, name)),
        }
    }

    fn not_found(&self, written: &str, name: &str) -> NotFound {
        let served = self.api().catalogue().served(self.minor());
        let all: Vec<(&str, &str)> = served.map(|entry| (entry.resource.as_str(), entry.group.as_str())).collect();
        let elsewhere = all.iter().map(|(resource, _)| *resource).find(|resource| *resource == name);
        let near = elsewhere.or_else(|| nearest(name, all.iter().map(|(resource, _)| *resource))).map(str::to_owned);
        let full = near.map(|near| match all.iter().find(|(resource, _)| **resource == near) {
            Some((_, group)) if !group.is_empty() && written.contains('.') => format!("{near}.{group}"),
            _ => near,
        });
        NotFound { name: written.to_owned(), near: full }
    }
}

/// Returns a group without a version before it: `v1.apps` is `apps`.
fn without_version(rest: &str) -> &str {
    match rest.split_once('.') {
        Some((version, group)) if is_version(version) => group,
        None if is_version(rest) => "",
        _ => rest,
    }
}

fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|digits| {
        digits.starts_with(|first: char| first.is_ascii_digit())
            && digits.chars().all(|letter| letter.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use crate::Builder;

    #[test]
    fn people_call_resources_many_names() {
        let world = Builder::new(36).build();
        let found = |name| world.find_resource(name).map(|found| (found.group, found.resource));
        let is = |group: &str, resource: &str| Ok((group.to_owned(), resource.to_owned()));
        assert_eq!(found("po"), is("", "pods"));
        assert_eq!(found("Deployment"), is("apps", "deployments"));
        assert_eq!(found("deployments.apps"), is("apps", "deployments"));
        assert_eq!(found("deployments.v1.apps"), is("apps", "deployments"));
        assert_eq!(found("widgets.example.com"), is("example.com", "widgets"));
        assert_eq!(found("users"), is("", "users"));
        assert_eq!(found("*"), is("*", "*"));
        assert_eq!(found("podz").map_err(|problem| problem.near), Err(Some("pods".to_owned())));
        assert!(found("deployments.extensions").is_err());
    }
}
