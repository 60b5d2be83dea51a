//! Audit policies: the requests that a log cannot have (`pkg/audit/policy/checker.go` of apiserver 0.37.2).

use bailiwick_access::Identity;
use bailiwick_kubernetes::rbac::{PolicyRule, strings};
use bailiwick_yaml::NodeRef;

use crate::event::API_VERSION;

/// The stage of every finished request.
const COMPLETE: &str = "ResponseComplete";

/// The levels of a rule.
const LEVELS: [&str; 4] = ["None", "Metadata", "Request", "RequestResponse"];

/// An audit policy of the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPolicy {
    rules: Vec<AuditRule>,
}

/// A rule of an audit policy. An empty list matches every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct AuditRule {
    /// Whether finished requests of the rule are in no log.
    drops: bool,
    users: Vec<String>,
    groups: Vec<String>,
    verbs: Vec<String>,
    namespaces: Vec<String>,
    resources: Vec<GroupResources>,
    urls: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct GroupResources {
    group: String,
    resources: Vec<String>,
    names: Vec<String>,
}

/// A subject of a binding.
#[derive(Debug, Clone, Copy)]
pub enum PolicySubject<'s> {
    /// A user, with its known groups.
    User(&'s Identity),
    /// The members of a group.
    Group(&'s str),
}

/// How many requests of a right a condition of a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Matched {
    None,
    Some,
    All,
}

impl AuditPolicy {
    /// Reads a document of `audit.k8s.io/v1`.
    ///
    /// # Errors
    /// The node with a problem, and the problem: the document is no audit policy, or a rule has no level.
    pub fn read(document: NodeRef<'_>) -> Result<Self, (NodeRef<'_>, String)> {
        let (version, kind) = (document.text_at("apiVersion"), document.text_at("kind"));
        if version != API_VERSION || kind != "Policy" {
            return Err((document, format!("this is `{kind}` of `{version}`, not a Policy of `{API_VERSION}`")));
        }
        let omits = |node: NodeRef<'_>| strings(node, "omitStages").any(|stage| stage == COMPLETE);
        let is_omitted = omits(document);
        let mut rules = Vec::new();
        for rule in document.get("rules").into_iter().flat_map(NodeRef::items) {
            let level = rule.text_at("level");
            if level.is_empty() {
                return Err((rule, "the rule has no `level`".to_owned()));
            }
            if !LEVELS.contains(&level) {
                return Err((rule, format!("`level` is `{level}`, not one of {}", LEVELS.join(", "))));
            }
            let list = |node: NodeRef<'_>, key: &str| strings(node, key).map(str::to_owned).collect();
            let resources = rule.get("resources").into_iter().flat_map(NodeRef::items).map(|entry| GroupResources {
                group: entry.text_at("group").to_owned(),
                resources: list(entry, "resources"),
                names: list(entry, "resourceNames"),
            });
            rules.push(AuditRule {
                drops: level == "None" || is_omitted || omits(rule),
                users: list(rule, "users"),
                groups: list(rule, "userGroups"),
                verbs: list(rule, "verbs"),
                namespaces: list(rule, "namespaces"),
                resources: resources.collect(),
                urls: list(rule, "nonResourceURLs"),
            });
        }
        Ok(Self { rules })
    }

    /// Whether the policy keeps some requests of a right out of the log, in a namespace or in the whole cluster. The first rule that
    /// matches a request decides, and a request without a rule is not logged.
    pub fn drops(&self, subject: PolicySubject<'_>, right: &PolicyRule, namespace: Option<&str>) -> bool {
        for rule in &self.rules {
            match (rule.matches(subject, right, namespace), rule.drops) {
                (Matched::Some | Matched::All, true) => return true,
                (Matched::All, false) => return false,
                _ => {}
            }
        }
        true
    }
}

impl AuditRule {
    fn matches(&self, subject: PolicySubject<'_>, right: &PolicyRule, namespace: Option<&str>) -> Matched {
        let of_subject = match subject {
            PolicySubject::User(identity) => {
                let is_user = self.users.is_empty() || self.users.contains(&identity.user);
                let is_member =
                    self.groups.is_empty() || identity.groups.iter().any(|group| self.groups.contains(group));
                all_or_none(is_user && is_member)
            }
            PolicySubject::Group(group) => {
                let members = if self.users.is_empty() { Matched::All } else { Matched::Some };
                let is_member = self.groups.is_empty() || self.groups.iter().any(|known| known == group);
                all_or_none(is_member).min(members)
            }
        };
        let verbs = some_of(&right.verbs, |verb| all_or_none(self.verbs.is_empty() || self.verbs.contains(verb)));
        of_subject.min(verbs).min(self.matches_target(right, namespace))
    }

    fn matches_target(&self, right: &PolicyRule, namespace: Option<&str>) -> Matched {
        let is_about_objects = !self.namespaces.is_empty() || !self.resources.is_empty();
        if let Some(url) = right.non_resource_urls.first() {
            return match (is_about_objects, self.urls.is_empty()) {
                (true, _) => Matched::None,
                (false, true) => Matched::All,
                (false, false) => best(self.urls.iter().map(|own| matched_url(own, url))),
            };
        }
        if !is_about_objects {
            return all_or_none(self.urls.is_empty());
        }
        let in_namespace = match (self.namespaces.is_empty(), namespace) {
            (true, _) => Matched::All,
            (false, Some(namespace)) => all_or_none(self.namespaces.iter().any(|own| own == namespace)),
            (false, None) => Matched::Some,
        };
        let of_resource = match self.resources.as_slice() {
            [] => Matched::All,
            entries => best(entries.iter().map(|entry| entry.matches(right))),
        };
        in_namespace.min(of_resource)
    }
}

impl GroupResources {
    fn matches(&self, right: &PolicyRule) -> Matched {
        let group = some_of(&right.api_groups, |group| all_or_none(self.group == "*" || self.group == *group));
        if self.resources.is_empty() {
            return group;
        }
        let resource = best(
            self.resources
                .iter()
                .map(|own| some_of(&right.resources, |resource| all_or_none(is_resource(own, resource)))),
        );
        let names = match (self.names.is_empty(), right.resource_names.first()) {
            (true, _) => Matched::All,
            (false, Some(name)) => all_or_none(self.names.contains(name)),
            (false, None) => Matched::Some,
        };
        group.min(resource).min(names)
    }
}

/// Whether a resource of an audit policy is the resource of a request, with its subresource after a slash.
fn is_resource(own: &str, resource: &str) -> bool {
    let (name, subresource) = match resource.split_once('/') {
        Some((name, subresource)) => (name, Some(subresource)),
        None => (resource, None),
    };
    own == "*"
        || own == resource
        || subresource.is_some() && own.strip_prefix("*/") == subresource
        || own.strip_suffix("/*") == Some(name)
}

fn matched_url(own: &str, url: &str) -> Matched {
    let stem = |url: &str| url.trim_end_matches('*').to_owned();
    let (own_stem, url_stem) = (stem(own), stem(url));
    match (own.ends_with('*'), url.ends_with('*')) {
        (false, false) => all_or_none(own == url),
        (true, _) if url_stem.starts_with(&own_stem) => Matched::All,
        (_, true) if own_stem.starts_with(&url_stem) => Matched::Some,
        _ => Matched::None,
    }
}

/// Returns how a word of a right is matched. A word with a wildcard has requests that are matched and others.
fn some_of(words: &[String], matched: impl Fn(&String) -> Matched) -> Matched {
    let Some(word) = words.first() else { return Matched::None };
    match matched(word) {
        Matched::None if word.contains('*') => Matched::Some,
        matched => matched,
    }
}

fn best(all: impl Iterator<Item = Matched>) -> Matched {
    all.max().map_or(Matched::None, |best| best)
}

fn all_or_none(is_matched: bool) -> Matched {
    if is_matched { Matched::All } else { Matched::None }
}
