//! Guesses for a resource missing from a version.

use super::{Catalogue, Served, split};
use bailiwick_yaml::diag::nearest;

/// A guess, with the reason for its wording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suggestion<'c> {
    /// The same resource in another group of the same minor.
    OtherGroup(&'c str),
    /// The plural of a kind, singular or short name, in its group.
    Plural {
        /// API group of the guess.
        group: &'c str,
        /// The name in rules.
        resource: &'c str,
    },
    /// A subresource of the resource with nearly this name.
    Subresource(&'c str),
    /// A resource of the group with nearly this name.
    Spelling(&'c str),
}

impl Catalogue {
    /// Guesses for a (group, resource) missing at a minor, best first.
    pub fn suggestions(&self, minor: u32, group: &str, resource: &str) -> Vec<Suggestion<'_>> {
        let mut guesses: Vec<Suggestion<'_>> = self
            .groups_of(minor, resource)
            .into_iter()
            .filter(|other| *other != group)
            .map(Suggestion::OtherGroup)
            .collect();
        let (name, subresource) = split(resource);
        if let Some(subresource) = subresource {
            guesses.extend(self.near_subresource(minor, group, name, subresource).map(Suggestion::Subresource));
            return guesses;
        }
        guesses.extend(
            self.served(minor)
                .filter(|found| {
                    found.kind.eq_ignore_ascii_case(name)
                        || (found.resource != name && found.resource.eq_ignore_ascii_case(name))
                        || found.singular == name && found.resource != name
                        || found.short_names.iter().any(|short| short == name)
                })
                .map(|found| Suggestion::Plural { group: &found.group, resource: &found.resource }),
        );
        if guesses.is_empty() {
            let names = self.served(minor).filter(|found| found.group == group).map(|found| found.resource.as_str());
            guesses.extend(nearest(name, names).map(Suggestion::Spelling));
        }
        guesses
    }

    fn near_subresource(&self, minor: u32, group: &str, name: &str, written: &str) -> Option<&str> {
        let found = self.find(group, name)?;
        let candidates = found
            .versions
            .iter()
            .filter(|version| version.served(minor) == Served::Yes)
            .flat_map(|version| &version.subresources)
            .map(|subresource| subresource.name.as_str());
        // The distance rule of `nearest` is for longer words; `logs` is a common mistake.
        candidates.clone().find(|name| written.strip_suffix('s') == Some(name)).or_else(|| nearest(written, candidates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_what_was_meant() {
        let guess = |minor, group, resource| Catalogue::get().suggestions(minor, group, resource);
        assert_eq!(guess(36, "extensions", "deployments"), [Suggestion::OtherGroup("apps")]);
        assert_eq!(guess(36, "", "pods/logs"), [Suggestion::Subresource("log")]);
        assert_eq!(guess(36, "", "po"), [Suggestion::Plural { group: "", resource: "pods" }]);
        assert_eq!(guess(36, "", "Pods"), [Suggestion::Plural { group: "", resource: "pods" }]);
        assert_eq!(guess(36, "apps", "deployment"), [Suggestion::Plural { group: "apps", resource: "deployments" }]);
        assert_eq!(guess(36, "", "scerets"), [Suggestion::Spelling("secrets")]);
        assert_eq!(guess(36, "", "widgets"), []);
    }
}
