//! What in a rule can match no request to a cluster, with what was probably meant.
//!
//! A rule multiplies its lists, and half of a product is often dead without harm: `deployments` in `extensions` beside
//! `apps`. So a rule is judged as a whole: a resource is dead where none of its groups serves it, a verb where none of
//! the resources takes it. What cannot be known is never dead: wildcards, names that only rules know, and groups of
//! custom resources that nobody brought in.

use super::catalogue::{Api, Served, Suggestion};
use crate::diag::nearest;

/// A resource of a rule, with the groups that it may be in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The groups.
    pub groups: Vec<String>,
    /// The resource, its subresource behind a slash.
    pub resource: String,
}

/// Which part of a rule is dead: its index in the list it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A resource.
    Resource(usize),
    /// A verb.
    Verb(usize),
    /// A URL.
    Url(usize),
}

/// A dead part, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    /// Which.
    pub part: Part,
    /// What is wrong with it: lower case, without a full stop.
    pub message: String,
    /// What to do.
    pub help: String,
    /// Whether it is a resource that the cluster serves in another group of Kubernetes or of a custom resource.
    pub is_in_wrong_group: bool,
}

/// What can be told of a resource in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is served, or means something in rules.
    Known,
    /// It is not there.
    Missing,
    /// Somebody may serve it.
    Open,
}

/// The dead parts of a rule for resources.
pub fn of_resources(api: &Api, cells: &[Cell], names: &[String], verbs: &[String]) -> Vec<Dead> {
    let states: Vec<State> = cells.iter().map(|cell| state_of(api, cell)).collect();
    let mut dead: Vec<Dead> = cells
        .iter()
        .zip(&states)
        .enumerate()
        .filter(|(_, (_, state))| **state == State::Missing)
        .map(|(index, (cell, _))| missing(api, cell, index))
        .collect();
    let known: Vec<&Cell> =
        cells.iter().zip(&states).filter(|(_, state)| **state == State::Known).map(|(cell, _)| cell).collect();
    if known.is_empty() || states.contains(&State::Open) {
        return dead;
    }
    for (index, verb) in verbs.iter().enumerate().filter(|(_, verb)| *verb != "*") {
        if !known.iter().any(|cell| takes(api, cell, verb)) {
            dead.push(Dead {
                part: Part::Verb(index),
                message: match known.as_slice() {
                    [only] => format!("`{}` never takes the verb `{verb}`", only.resource),
                    _ => format!("no resource of this rule takes the verb `{verb}`"),
                },
                help: verb_help(api, &known, verb),
                is_in_wrong_group: false,
            });
        } else if let Some(message) = nameless(&known, names, verbs, verb) {
            let help = "say it in a rule of its own, without names, or leave it out".to_owned();
            dead.push(Dead { part: Part::Verb(index), message, help, is_in_wrong_group: false });
        }
    }
    dead
}

/// The HTTP methods that verbs of URL rules are, in lower case.
pub const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];

/// The dead parts of a rule for URLs (`specs/rbac.md` 4.5).
pub fn of_urls(urls: &[String], verbs: &[String]) -> Vec<Dead> {
    let mut dead = Vec::new();
    for (index, url) in urls.iter().enumerate() {
        let (message, help) = if !url.starts_with(['/', '*']) {
            (format!("no request has the URL `{url}`"), format!("did you mean `/{url}`?"))
        } else if url.trim_end_matches('*').contains('*') {
            let message = format!("the `*` inside `{url}` stands for itself");
            (message, "a `*` at the end stands for any text; anywhere else it is a letter".to_owned())
        } else {
            continue;
        };
        dead.push(Dead { part: Part::Url(index), message, help, is_in_wrong_group: false });
    }
    for (index, verb) in verbs.iter().enumerate().filter(|(_, verb)| *verb != "*") {
        if !METHODS.contains(&verb.as_str()) {
            let lower = verb.to_lowercase();
            let near = METHODS.iter().find(|method| **method == lower).copied().or_else(|| method_of(&lower));
            dead.push(Dead {
                part: Part::Verb(index),
                message: format!("no request for a URL has the verb `{verb}`"),
                help: near.map_or_else(
                    || {
                        format!(
                            "verbs of URLs are HTTP methods: {}",
                            METHODS.map(|method| format!("`{method}`")).join(", ")
                        )
                    },
                    |near| format!("verbs of URLs are HTTP methods in lower case; did you mean `{near}`?"),
                ),
                is_in_wrong_group: false,
            });
        }
    }
    dead
}

/// The method that does to a URL what a verb does to resources.
fn method_of(verb: &str) -> Option<&'static str> {
    match verb {
        "list" | "watch" | "read" => Some("get"),
        "create" => Some("post"),
        "update" => Some("put"),
        "deletecollection" => Some("delete"),
        _ => None,
    }
}

fn state_of(api: &Api, cell: &Cell) -> State {
    let states: Vec<State> = cell.groups.iter().map(|group| state_in(api, group, &cell.resource)).collect();
    // A group that serves it, or may, makes the others harmless.
    [State::Known, State::Open].into_iter().find(|state| states.contains(state)).unwrap_or(State::Missing)
}

fn state_in(api: &Api, group: &str, resource: &str) -> State {
    if resource == "*" || resource.strip_prefix("*/").is_some_and(|subresource| !subresource.contains('*')) {
        return State::Open;
    }
    if resource.contains('*') || group.contains('/') {
        return State::Missing;
    }
    let served = || !api.catalogue().groups_of(api.minor(), resource).is_empty();
    if group == "*" {
        return if served() {
            State::Known
        } else if api.nearest_resource(resource).is_some() {
            State::Missing
        } else {
            State::Open
        };
    }
    if api.knows(group, resource) {
        return State::Known;
    }
    // A custom resource's group has a dot in it.
    if api.is_builtin_group(group) || !group.contains('.') {
        return State::Missing;
    }
    let is_brought = !api.versions_of(group).is_empty();
    let near = if is_brought {
        api.suggestions(group, resource).iter().any(|guess| !matches!(guess, Suggestion::OtherGroup(_)))
    } else {
        nearest(group, api.catalogue().groups_of(api.minor(), resource)).is_some()
    };
    if near { State::Missing } else { State::Open }
}

fn missing(api: &Api, cell: &Cell, index: usize) -> Dead {
    let resource = &cell.resource;
    let groups: Vec<String> = cell.groups.iter().map(|group| named(group)).collect();
    let place = match groups.as_slice() {
        [only] if only == "`*`" => "anywhere".to_owned(),
        [only] => format!("in {only}"),
        _ => format!("in any of {}", groups.join(", ")),
    };
    let help = missing_help(api, cell);
    // Anybody may serve a group that is not known, and ask about its resources.
    let is_in_wrong_group = !api.catalogue().groups_of(api.minor(), resource).is_empty()
        && cell.groups.iter().all(|group| api.is_builtin_group(group) || !api.versions_of(group).is_empty());
    let message = format!("`{resource}` is not served {place}");
    Dead { part: Part::Resource(index), message, help, is_in_wrong_group }
}

/// A group as people say it.
fn named(group: &str) -> String {
    if group.is_empty() { "the core group".to_owned() } else { format!("`{group}`") }
}

fn missing_help(api: &Api, cell: &Cell) -> String {
    let resource = &cell.resource;
    if let Some((name, _)) = resource.split_once('*') {
        let name = name.trim_end_matches('/');
        return format!("`*` cannot be a part of a name; list them, such as `{name}` and `{name}/status`");
    }
    let versioned = cell.groups.iter().find_map(|group| {
        let (name, _) = group.split_once('/')?;
        Some(format!("a group has no version here: did you mean `{name}`?"))
    });
    let guess = || {
        cell.groups.iter().find_map(|group| {
            api.suggestions(group, resource).into_iter().next().map(|guess| match guess {
                Suggestion::OtherGroup("") => "it is in the core group, which is written `\"\"`".to_owned(),
                Suggestion::OtherGroup(other) => format!("did you mean the group `{other}`?"),
                Suggestion::Plural { group: other, resource } if other == group || group == "*" => {
                    format!("did you mean `{resource}`?")
                }
                Suggestion::Plural { group: other, resource } => {
                    format!("did you mean `{resource}` in {}?", named(other))
                }
                Suggestion::Subresource(near) => {
                    let name = resource.split_once('/').map_or(resource.as_str(), |(name, _)| name);
                    format!("did you mean `{name}/{near}`?")
                }
                Suggestion::Spelling(near) => format!("did you mean `{near}`?"),
            })
        })
    };
    let anywhere = || api.nearest_resource(resource).map(|near| format!("did you mean `{near}`?"));
    versioned.or_else(guess).or_else(anywhere).unwrap_or_else(|| {
        "remove it, leave the target out with `targets`, or bring its CustomResourceDefinition in with a Manifests policy"
            .to_owned()
    })
}

/// True when some request with the verb is for the resource.
fn takes(api: &Api, cell: &Cell, verb: &str) -> bool {
    let groups: Vec<&str> = if cell.groups.iter().any(|group| group == "*") {
        api.catalogue().groups_of(api.minor(), &cell.resource)
    } else {
        cell.groups.iter().map(String::as_str).collect()
    };
    groups.into_iter().any(|group| {
        let only_rules_know =
            api.presence(group, &cell.resource).served == Served::No && api.knows(group, &cell.resource);
        only_rules_know || api.takes(group, &cell.resource, verb)
    })
}

fn verb_help(api: &Api, cells: &[&Cell], verb: &str) -> String {
    let mut verbs: Vec<&str> = cells
        .iter()
        .flat_map(|cell| cell.groups.iter().flat_map(|group| api.presence(group, &cell.resource).verbs))
        .collect();
    verbs.sort_unstable();
    verbs.dedup();
    let lower = verb.to_lowercase();
    match verbs.iter().find(|known| **known == lower).copied().or_else(|| nearest(&lower, verbs.iter().copied())) {
        Some(near) => format!("did you mean `{near}`?"),
        None if matches!(verb, "read" | "write") => format!("did you mean `access: {verb}` instead of `verbs`?"),
        None => {
            let verbs: Vec<String> = verbs.iter().map(|verb| format!("`{verb}`")).collect();
            format!("it can be left out; what can be asked for is {}", verbs.join(", "))
        }
    }
}

/// Requests without a name never match a rule with names (`specs/rbac.md` 4.4).
fn nameless(cells: &[&Cell], names: &[String], verbs: &[String], verb: &str) -> Option<String> {
    if names.is_empty() || names.iter().any(String::is_empty) {
        return None;
    }
    let has = |wanted: &str| verbs.iter().any(|verb| verb == wanted || verb == "*");
    match verb {
        "deletecollection" => {
            Some("a request to delete a collection carries no name, and this rule has names".to_owned())
        }
        // Applying creates by a patch, which carries the name.
        "create" if !has("patch") && !has("update") && cells.iter().all(|cell| !cell.resource.contains('/')) => {
            Some("a request to create something carries no name, and this rule has names".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(|word| word.trim_matches('-').to_owned()).collect()
    }

    fn told(minor: u32, groups: &str, resources: &str, verbs: &str) -> Vec<String> {
        let cells: Vec<Cell> =
            words(resources).into_iter().map(|resource| Cell { groups: words(groups), resource }).collect();
        of_resources(&Api::new(minor), &cells, &[], &words(verbs))
            .into_iter()
            .map(|dead| format!("{}; {}", dead.message, dead.help))
            .collect()
    }

    #[test]
    fn a_useless_half_of_a_product_is_no_finding() {
        assert_eq!(told(36, "extensions apps", "deployments", "get"), Vec::<String>::new());
        assert_eq!(told(36, "- batch", "pods jobs", "get create"), Vec::<String>::new());
        assert_eq!(told(36, "-", "pods pods/log", "get list create"), Vec::<String>::new());
        assert_eq!(told(36, "*", "* */scale", "*"), Vec::<String>::new());
        assert_eq!(told(36, "cilium.io", "ciliumnetworkpolicies", "frobnicate"), Vec::<String>::new());
        assert_eq!(told(24, "policy", "podsecuritypolicies", "use"), Vec::<String>::new());
        assert_eq!(told(36, "custom.metrics.k8s.io", "anything", "get"), Vec::<String>::new());
    }

    #[test]
    fn says_what_was_meant() {
        let only = |groups, resources, verbs| told(36, groups, resources, verbs).join("|");
        assert_eq!(only("-", "pod", "get"), "`pod` is not served in the core group; did you mean `pods`?");
        assert_eq!(only("-", "po", "get"), "`po` is not served in the core group; did you mean `pods`?");
        assert_eq!(only("-", "Pods", "get"), "`Pods` is not served in the core group; did you mean `pods`?");
        assert_eq!(
            only("-", "pods/logs", "get"),
            "`pods/logs` is not served in the core group; did you mean `pods/log`?"
        );
        assert_eq!(
            only("extensions", "deployments", "get"),
            "`deployments` is not served in `extensions`; did you mean the group `apps`?"
        );
        for group in ["core", "v1"] {
            assert!(only(group, "pods", "get").ends_with("it is in the core group, which is written `\"\"`"));
        }
        assert!(only("apps/v1", "deployments", "get").ends_with("did you mean `apps`?"));
        assert!(only("network.k8s.io", "ingresses", "get").ends_with("did you mean the group `networking.k8s.io`?"));
        assert!(only("-", "pods/*", "get").contains("cannot be a part of a name"));
        assert_eq!(
            only("-", "pods/log", "get list"),
            "`pods/log` never takes the verb `list`; it can be left out; what can be asked for is `get`"
        );
        assert_eq!(only("-", "pods", "GET"), "`pods` never takes the verb `GET`; did you mean `get`?");
        assert!(only("-", "pods", "read").ends_with("did you mean `access: read` instead of `verbs`?"));
    }

    #[test]
    fn names_and_urls_have_rules_of_their_own() {
        let cells = [Cell { groups: words("-"), resource: "configmaps".to_owned() }];
        let dead = |verbs: &str| of_resources(&Api::new(36), &cells, &words("a"), &words(verbs)).len();
        assert_eq!(
            (dead("create"), dead("create patch"), dead("get list watch"), dead("deletecollection")),
            (1, 0, 0, 1)
        );
        let dead = |urls: &str, verbs: &str| of_urls(&words(urls), &words(verbs)).len();
        assert_eq!((dead("/healthz /api/* *", "get post"), dead("healthz", "get"), dead("/a/*/b", "list")), (0, 1, 2));
    }
}
