//! The targets of a list of rules in 32 bits: most lists are excluded without an access to their rules.

use xxhash_rust::xxh3::xxh3_64;

use super::request::{Request, split_at_first};
use super::rules::InternedRule;
use super::symbols::Symbols;

/// A set that contains the target of every request that a list of rules allows, and may contain others. Each resource
/// has one of 31 bits, chosen by its name before the first slash. All URLs share the last bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Targets(u32);

impl Targets {
    pub(crate) const NONE: Self = Self(0);
    const URLS: Self = Self(1 << 31);
    const EVERY_RESOURCE: Self = Self(!Self::URLS.0);

    /// Returns the targets of a list of rules.
    pub(crate) fn of_rules(rules: &[InternedRule], symbols: &Symbols) -> Self {
        rules.iter().map(|rule| Self::of_rule(rule, symbols)).fold(Self::NONE, Self::union)
    }

    fn of_rule(rule: &InternedRule, symbols: &Symbols) -> Self {
        let urls = if rule.urls().is_empty() { Self::NONE } else { Self::URLS };
        let resources = rule.resources().iter().map(|&resource| match first_part(symbols.text(resource)) {
            // `*` is every resource, and `*/scale` is a subresource of every resource.
            "*" => Self::EVERY_RESOURCE,
            part => Self::of_part(part),
        });
        resources.fold(urls, Self::union)
    }

    /// Returns the target of a request.
    pub(crate) fn of_request(request: &Request) -> Self {
        match request {
            Request::Resource(request) => Self::of_part(first_part(&request.resource)),
            Request::Url(_) => Self::URLS,
        }
    }

    fn of_part(part: &str) -> Self {
        Self(1 << ((xxh3_64(part.as_bytes()) >> 32) % 31))
    }

    fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether two sets have a common element.
    pub(crate) fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Returns the part of a resource before the first slash. A request with a subresource has the same first part as its
/// resource and subresource together.
fn first_part(resource: &str) -> &str {
    split_at_first(resource, '/').0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{ResourceRequest, UrlRequest};
    use bailiwick_yaml::diag::{Files, Sink};

    fn targets_of(rule: &str) -> Targets {
        let (files, mut sink, mut symbols) = (Files::new(), Sink::new(), Symbols::new());
        let tree = bailiwick_yaml::read(rule, files.add("rule.yaml", rule), &mut sink);
        let rules: Vec<InternedRule> =
            tree.documents().map(|rule| InternedRule::from_node(rule, &mut symbols)).collect();
        Targets::of_rules(&rules, &symbols)
    }

    fn on(resource: &str, subresource: &str) -> Targets {
        let (resource, subresource) = (resource.to_owned(), subresource.to_owned());
        Targets::of_request(&Request::Resource(ResourceRequest { resource, subresource, ..ResourceRequest::default() }))
    }

    #[test]
    fn every_allowed_target_is_in_the_set() {
        let cases = [
            ("{resources: [secrets, pods]}", "pods", ""),
            ("{resources: [pods/log]}", "pods", "log"),
            ("{resources: [pods/log]}", "pods/log", ""),
            ("{resources: ['*/scale']}", "deployments", "scale"),
            ("{resources: ['*/scale']}", "*", "scale"),
            ("{resources: ['*/scale']}", "*/scale", ""),
            ("{resources: ['*']}", "nodes", ""),
            ("{resources: ['*']}", "", ""),
            ("{resources: ['']}", "", ""),
            ("{resources: [/log]}", "", "log"),
            ("{resources: [a/b/c]}", "a/b", "c"),
        ];
        for (rule, resource, subresource) in cases {
            assert!(targets_of(rule).meet(on(resource, subresource)), "{rule} {resource}/{subresource}");
        }
        let url = Targets::of_request(&Request::Url(UrlRequest { verb: "get".to_owned(), path: "/a".to_owned() }));
        assert!(targets_of("{nonResourceURLs: ['*']}").meet(url));
        assert!(!targets_of("{resources: ['*']}").meet(url));
    }

    #[test]
    fn most_other_targets_are_outside() {
        let own = targets_of("{resources: [namespaces, serviceaccounts/token], nonResourceURLs: [/healthz]}");
        assert!(["pods", "secrets", "deployments", "nodes"].iter().all(|resource| !own.meet(on(resource, ""))));
        assert!(!targets_of("{}").meet(on("pods", "")));
    }
}
