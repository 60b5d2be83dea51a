//! The dead parts of a rule, without any matching request to a cluster, with guesses of the intended part.
//!
//! A rule multiplies its lists, and half of a product is often dead without harm: `deployments` in `extensions` beside
//! `apps`. A rule is therefore evaluated as a whole: a resource is dead if none of its groups serves it, a verb if
//! none of the resources takes it. Unknown parts are never dead: wildcards, names known from rules alone, and groups
//! of aggregated APIs and of custom resources without a definition. For such a group a likely slip is reported as a
//! guess.

use super::catalogue::{Api, Suggestion};
use bailiwick_yaml::diag::nearest;

/// A resource of a rule, with its possible groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleResource {
    /// API groups to search.
    pub groups: Vec<String>,
    /// The resource, its subresource behind a slash.
    pub resource: String,
}

/// The dead part of a rule, by its index in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeadPart {
    /// An entry of `resources`.
    Resource(usize),
    /// An entry of `verbs`.
    Verb(usize),
    /// An entry of `nonResourceURLs`.
    Url(usize),
}

/// A dead part, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    /// The part of the rule.
    pub part: DeadPart,
    /// The problem: lower case, without a full stop.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// Why no request matches.
    pub reason: DeadReason,
}

/// Why no request matches a part of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadReason {
    /// The cluster serves the resource in another group of Kubernetes or of a custom resource.
    WrongGroup,
    /// An earlier version of Kubernetes served the resource in this group, and the cluster serves it in another one.
    Moved,
    /// Another version of Kubernetes serves the resource in this group, and the cluster serves it nowhere.
    OtherVersion,
    /// The group, the resource or its subresource is written wrong.
    Misspelt,
    /// The group is unknown and resembles a known one: an aggregated API may serve it all the same.
    UnknownGroup,
    /// A star inside the name of the resource.
    StarInResource,
    /// No group of the rule serves the resource.
    NotServed,
    /// The resources of the rule do not take the verb.
    Verb,
    /// The rule has names, and such a request carries none.
    NamelessRequest,
    /// No request has such a URL, or such a verb for a URL.
    Url,
}

impl DeadReason {
    /// Whether the intended permission has another name: `check` fails, since the rule does not grant its literal
    /// meaning.
    pub fn fails_check(self) -> bool {
        matches!(self, Self::WrongGroup | Self::Moved)
    }
}

/// The effect of a rule with names on `create` of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedCreate {
    /// Some request to create carries a name.
    Works,
    /// Only a patch of server-side apply carries one.
    ByApply,
    /// No request allowed by the rules has a name.
    Never,
}

/// Returns the use of `create` limited by names, beside other permissions on the same names: server-side apply creates
/// every kind by a patch, and an update creates some (`pkg/registry/generic/registry/store.go` of apiserver 0.36.3).
pub fn named_create(api: &Api, group: &str, resource: &str, may_patch: bool, may_update: bool) -> NamedCreate {
    let (catalogue, minor) = (api.catalogue(), api.minor());
    let carries_name = catalogue
        .virtual_entries(minor, group, resource)
        .any(|entry| entry.names_create || entry.verbs.is_empty() && entry.resource == "*");
    if carries_name || resource.contains('/') || may_update && catalogue.creates_on_update(minor, group, resource) {
        NamedCreate::Works
    } else if may_patch {
        NamedCreate::ByApply
    } else {
        NamedCreate::Never
    }
}

/// The knowledge about a resource in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is served, or means something in rules.
    Known,
    /// It is not there.
    Missing,
    /// An aggregated API may serve it, and it looks like a slip.
    Doubtful,
    /// An aggregated API may serve it.
    Open,
}

/// Returns the dead parts of a rule for resources.
pub fn of_resources(api: &Api, cells: &[RuleResource], names: &[String], verbs: &[String]) -> Vec<Dead> {
    let states: Vec<State> = cells.iter().map(|cell| state_of(api, cell, verbs)).collect();
    let mut dead: Vec<Dead> = cells
        .iter()
        .zip(&states)
        .enumerate()
        .filter_map(|(index, (cell, state))| match state {
            State::Missing => Some(missing(api, cell, index)),
            State::Doubtful => Some(doubtful(api, cell, index)),
            State::Known | State::Open => None,
        })
        .collect();
    let known: Vec<&RuleResource> =
        cells.iter().zip(&states).filter(|(_, state)| **state == State::Known).map(|(cell, _)| cell).collect();
    if known.is_empty() || states.iter().any(|state| matches!(state, State::Open | State::Doubtful)) {
        return dead;
    }
    for (index, verb) in verbs.iter().enumerate().filter(|(_, verb)| *verb != "*") {
        let part = DeadPart::Verb(index);
        if !known.iter().any(|cell| takes(api, cell, verb)) {
            let message = match known.as_slice() {
                [only] => format!("`{}` does not support the verb `{verb}`", only.resource),
                _ => format!("no resource of this rule supports the verb `{verb}`"),
            };
            dead.push(Dead { part, message, help: verb_help(api, &known, verb), reason: DeadReason::Verb });
        } else if let Some(message) = nameless(api, &known, names, verbs, verb) {
            let help = "write it in a separate rule without names, or remove it".to_owned();
            dead.push(Dead { part, message, help, reason: DeadReason::NamelessRequest });
        }
    }
    dead
}

/// The HTTP methods used as verbs of URL rules, in lower case.
pub const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];

/// Returns the dead parts of a rule for URLs (`NonResourceURLMatches` in `pkg/apis/rbac/v1/evaluation_helpers.go` of
/// Kubernetes 1.37).
pub fn of_urls(urls: &[String], verbs: &[String]) -> Vec<Dead> {
    let mut dead = Vec::new();
    for (index, url) in urls.iter().enumerate() {
        let (message, help) = if !url.starts_with(['/', '*']) {
            (format!("no request has the URL `{url}`"), format!("did you mean `/{url}`?"))
        } else if url.trim_end_matches('*').contains('*') {
            let message = format!("the `*` inside `{url}` is a literal character");
            (message, "use `*` only at the end of a URL, where it matches any text".to_owned())
        } else {
            continue;
        };
        dead.push(Dead { part: DeadPart::Url(index), message, help, reason: DeadReason::Url });
    }
    for (index, verb) in verbs.iter().enumerate().filter(|(_, verb)| *verb != "*") {
        if !METHODS.contains(&verb.as_str()) {
            let lower = verb.to_lowercase();
            let near = METHODS.iter().find(|method| **method == lower).copied().or_else(|| method_of(&lower));
            dead.push(Dead {
                part: DeadPart::Verb(index),
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
                reason: DeadReason::Url,
            });
        }
    }
    dead
}

/// Returns the method on a URL with the effect of a verb on resources.
fn method_of(verb: &str) -> Option<&'static str> {
    match verb {
        "list" | "watch" | "read" => Some("get"),
        "create" => Some("post"),
        "update" => Some("put"),
        "deletecollection" => Some("delete"),
        _ => None,
    }
}

fn state_of(api: &Api, cell: &RuleResource, verbs: &[String]) -> State {
    let states: Vec<State> = cell.groups.iter().map(|group| state_in(api, group, &cell.resource, verbs)).collect();
    // A group with the resource, known or possible, makes the others harmless.
    match [State::Known, State::Open, State::Doubtful].into_iter().find(|state| states.contains(state)) {
        Some(best) => best,
        None => State::Missing,
    }
}

fn state_in(api: &Api, group: &str, resource: &str, verbs: &[String]) -> State {
    if resource == "*" || resource.strip_prefix("*/").is_some_and(|subresource| !subresource.contains('*')) {
        return State::Open;
    }
    if resource.contains('*') || group.contains('/') {
        return State::Missing;
    }
    if group == "*" {
        return if !api.catalogue().groups_of(api.minor(), resource).is_empty() {
            State::Known
        } else if api.nearest_resource(resource).is_some() {
            State::Doubtful
        } else {
            State::Open
        };
    }
    let means_something = |verb: &String| api.catalogue().is_virtual(api.minor(), group, resource, verb);
    if api.knows(group, resource) || verbs.iter().any(means_something) {
        return State::Known;
    }
    let has_near = |guess: Suggestion<'_>| !matches!(guess, Suggestion::OtherGroup(_));
    if api.is_builtin_group(group) || CORE_GROUP_SLIPS.contains(&group) {
        State::Missing
    } else if !api.versions_of(group).is_empty() {
        let is_slip = api.suggestions(group, resource).into_iter().any(has_near);
        if is_slip { State::Missing } else { State::Open }
    } else if nearest(group, api.catalogue().groups_of(api.minor(), resource)).is_some() {
        State::Doubtful
    } else {
        State::Open
    }
}

/// Common names for the core group; its real name is empty. A group of an API server has a dot, or belongs to
/// Kubernetes.
const CORE_GROUP_SLIPS: [&str; 2] = ["core", "v1"];

fn missing(api: &Api, cell: &RuleResource, index: usize) -> Dead {
    let resource = &cell.resource;
    let place = place_of(cell);
    let minors = cell.groups.iter().find_map(|group| api.catalogue().served_minors(group, resource));
    let part = DeadPart::Resource(index);
    match minors {
        Some((_, last)) if last < api.minor() => {
            let message = format!("`{resource}` is not served {place} since Kubernetes 1.{}", last + 1);
            match moved_help(api, cell) {
                Some(help) => Dead { part, message, help, reason: DeadReason::Moved },
                None => {
                    let help = format!("remove it when every cluster has Kubernetes 1.{} or later", last + 1);
                    Dead { part, message, help, reason: DeadReason::OtherVersion }
                }
            }
        }
        Some((first, _)) => Dead {
            part,
            message: format!("`{resource}` is served {place} from Kubernetes 1.{first} on"),
            help: format!("remove it, or upgrade the cluster to Kubernetes 1.{first}"),
            reason: DeadReason::OtherVersion,
        },
        None => Dead {
            part,
            message: format!("`{resource}` is not served {place}{}", by(api)),
            help: missing_help(api, cell),
            reason: if resource.contains('*') { DeadReason::StarInResource } else { reason_of(api, cell) },
        },
    }
}

/// Returns a text about the version of the facts, for a cluster newer than every known version.
fn by(api: &Api) -> String {
    if api.is_newer_than_known() { format!(" by Kubernetes 1.{}", api.minor()) } else { String::new() }
}

/// Returns the help for a resource moved to another group.
fn moved_help(api: &Api, cell: &RuleResource) -> Option<String> {
    let group = *api.catalogue().groups_of(api.minor(), &cell.resource).first()?;
    Some(if group.is_empty() {
        "use the core group, written as `\"\"`".to_owned()
    } else {
        format!("did you mean the group `{group}`?")
    })
}

/// Returns the reason for a missing resource, absent from these groups in all versions of Kubernetes.
fn reason_of(api: &Api, cell: &RuleResource) -> DeadReason {
    let is_known = |group: &String| api.is_builtin_group(group) || !api.versions_of(group).is_empty();
    let is_elsewhere = !api.catalogue().groups_of(api.minor(), &cell.resource).is_empty();
    let is_slip = |group: &String| {
        group.contains('/')
            || CORE_GROUP_SLIPS.contains(&group.as_str())
            || api.suggestions(group, &cell.resource).iter().any(|guess| !matches!(guess, Suggestion::OtherGroup(_)))
    };
    // An unknown group may belong to an aggregated API, with questions about its resources. A version newer than the
    // known ones may serve it there.
    if is_elsewhere && !api.is_newer_than_known() && cell.groups.iter().all(is_known) {
        DeadReason::WrongGroup
    } else if cell.groups.iter().any(is_slip) {
        DeadReason::Misspelt
    } else {
        DeadReason::NotServed
    }
}

/// Returns a resource of an unknown group with a similar known one.
fn doubtful(api: &Api, cell: &RuleResource, index: usize) -> Dead {
    let message = format!("`{}` is not known {}", cell.resource, place_of(cell));
    Dead { part: DeadPart::Resource(index), message, help: missing_help(api, cell), reason: DeadReason::UnknownGroup }
}

fn place_of(cell: &RuleResource) -> String {
    let groups: Vec<String> = cell.groups.iter().map(|group| named(group)).collect();
    match groups.as_slice() {
        [only] if only == "`*`" => "anywhere".to_owned(),
        [only] => format!("in {only}"),
        _ => format!("in any of {}", groups.join(", ")),
    }
}

/// Returns the usual name of a group.
fn named(group: &str) -> String {
    if group.is_empty() { "the core group".to_owned() } else { format!("`{group}`") }
}

fn missing_help(api: &Api, cell: &RuleResource) -> String {
    let resource = &cell.resource;
    if let Some((name, _)) = resource.split_once('*') {
        let name = name.trim_end_matches('/');
        return format!("list the resources, such as `{name}` and `{name}/status`: `*` cannot be a part of a name");
    }
    let versioned = cell.groups.iter().find_map(|group| {
        let (name, _) = group.split_once('/')?;
        Some(format!("a group has no version here: did you mean `{name}`?"))
    });
    let guess = || {
        cell.groups.iter().find_map(|group| {
            api.suggestions(group, resource).into_iter().next().map(|guess| match guess {
                Suggestion::OtherGroup("") => "use the core group, written as `\"\"`".to_owned(),
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
        "remove it, exclude the target by `targets`, or add its CustomResourceDefinition by a Manifests policy"
            .to_owned()
    })
}

/// Whether some request with the verb is for the resource.
fn takes(api: &Api, cell: &RuleResource, verb: &str) -> bool {
    let groups: Vec<&str> = if cell.groups.iter().any(|group| group == "*") {
        api.catalogue().groups_of(api.minor(), &cell.resource)
    } else {
        cell.groups.iter().map(String::as_str).collect()
    };
    groups.into_iter().any(|group| api.takes(group, &cell.resource, verb))
}

fn verb_help(api: &Api, cells: &[&RuleResource], verb: &str) -> String {
    let mut verbs: Vec<&str> = cells
        .iter()
        .flat_map(|cell| cell.groups.iter().flat_map(|group| api.verbs_of(group, &cell.resource)))
        .collect();
    verbs.sort_unstable();
    verbs.dedup();
    let lower = verb.to_lowercase();
    match verbs.iter().find(|known| **known == lower).copied().or_else(|| nearest(&lower, verbs.iter().copied())) {
        Some(near) => format!("did you mean `{near}`?"),
        None if matches!(verb, "read" | "write") => format!("did you mean `access: {verb}` instead of `verbs`?"),
        None => {
            let verbs: Vec<String> = verbs.iter().map(|verb| format!("`{verb}`")).collect();
            format!("remove it, or use a supported verb: {}", verbs.join(", "))
        }
    }
}

/// Reports requests without a name: they never match a rule with names (`ResourceNameMatches` in
/// `pkg/apis/rbac/v1/evaluation_helpers.go` of Kubernetes 1.37).
fn nameless(api: &Api, cells: &[&RuleResource], names: &[String], verbs: &[String], verb: &str) -> Option<String> {
    if names.is_empty() || names.iter().any(String::is_empty) {
        return None;
    }
    let has = |wanted: &str| verbs.iter().any(|verb| verb == wanted || verb == "*");
    let never = |cell: &&RuleResource| {
        let of = |group: &String| named_create(api, group, &cell.resource, has("patch"), has("update"));
        cell.groups.iter().all(|group| of(group) == NamedCreate::Never)
    };
    match verb {
        "deletecollection" => {
            Some("a request to delete a collection carries no name, but this rule has names".to_owned())
        }
        "create" if cells.iter().all(never) => {
            Some("a request to create an object carries no name, but this rule has names".to_owned())
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

    fn reported(minor: u32, groups: &str, resources: &str, verbs: &str) -> Vec<String> {
        let cells: Vec<RuleResource> =
            words(resources).into_iter().map(|resource| RuleResource { groups: words(groups), resource }).collect();
        of_resources(&Api::new(minor), &cells, &[], &words(verbs))
            .into_iter()
            .map(|dead| format!("{}; {}", dead.message, dead.help))
            .collect()
    }

    #[test]
    fn a_useless_half_of_a_product_is_no_finding() {
        assert_eq!(reported(36, "extensions apps", "deployments", "get"), Vec::<String>::new());
        assert_eq!(reported(36, "- batch", "pods jobs", "get create"), Vec::<String>::new());
        assert_eq!(reported(36, "-", "pods pods/log", "get list create"), Vec::<String>::new());
        assert_eq!(reported(36, "*", "* */scale", "*"), Vec::<String>::new());
        assert_eq!(reported(36, "cilium.io", "ciliumnetworkpolicies", "frobnicate"), Vec::<String>::new());
        assert_eq!(reported(24, "policy", "podsecuritypolicies", "use"), Vec::<String>::new());
        assert_eq!(reported(36, "custom.metrics.k8s.io", "anything", "get"), Vec::<String>::new());
    }

    #[test]
    fn names_that_only_rules_know_are_never_dead() {
        let names = crate::catalogue::tests::names_that_only_rules_know();
        assert!(names.len() > 80, "{}", names.len());
        for (group, resource, verbs, minor) in names {
            let cells = [RuleResource { groups: vec![group.clone()], resource: resource.clone() }];
            assert_eq!(of_resources(&Api::new(minor), &cells, &[], &verbs), [], "{group} {resource} at 1.{minor}");
        }
    }

    #[test]
    fn finalizers_are_asked_for_with_update_alone() {
        assert_eq!(reported(36, "apps", "deployments/finalizers", "update"), Vec::<String>::new());
        assert_eq!(reported(36, "example.com", "widgets/finalizers", "update *"), Vec::<String>::new());
        assert_eq!(
            reported(36, "apps", "deployments/finalizers", "get"),
            ["`deployments/finalizers` does not support the verb `get`; remove it, or use a supported verb: `update`"]
        );
    }

    #[test]
    fn groups_that_nobody_brought_in_are_not_known_here() {
        for group in ["example.com", "tools.internal", "packages.operators.coreos.com", "acme"] {
            assert_eq!(reported(36, group, "widgets", "get frobnicate"), Vec::<String>::new());
        }
        assert_eq!(
            reported(36, "network.k8s.io", "ingresses", "get"),
            ["`ingresses` is not known in `network.k8s.io`; did you mean the group `networking.k8s.io`?"]
        );
    }

    #[test]
    fn says_which_versions_serve_a_resource() {
        assert_eq!(
            reported(25, "policy", "podsecuritypolicies", "use"),
            [
                "`podsecuritypolicies` is not served in `policy` since Kubernetes 1.25; remove it when every cluster has Kubernetes 1.25 or later"
            ]
        );
        assert_eq!(
            reported(22, "extensions", "ingresses", "get"),
            [
                "`ingresses` is not served in `extensions` since Kubernetes 1.22; did you mean the group `networking.k8s.io`?"
            ]
        );
        assert_eq!(reported(20, "policy", "poddisruptionbudgets", "get"), Vec::<String>::new());
        assert_eq!(reported(20, "discovery.k8s.io", "endpointslices", "get"), Vec::<String>::new());
        assert_eq!(
            reported(29, "admissionregistration.k8s.io", "validatingadmissionpolicies/status", "frobnicate").len(),
            1
        );
    }

    #[test]
    fn a_right_under_another_name_fails_a_check() {
        let fails = |minor, groups: &str, resource: &str| {
            let cells = [RuleResource { groups: words(groups), resource: resource.to_owned() }];
            of_resources(&Api::new(minor), &cells, &[], &words("get"))
                .iter()
                .map(|dead| dead.reason.fails_check())
                .collect::<Vec<_>>()
        };
        assert_eq!(fails(36, "-", "deployments"), [true]);
        assert_eq!(fails(36, "extensions", "deployments"), [true]);
        assert_eq!(fails(22, "extensions", "ingresses"), [true]);
        assert_eq!(fails(36, "policy", "podsecuritypolicies"), [false]);
        assert_eq!(fails(36, "network.k8s.io", "ingresses"), [false]);
        assert_eq!(fails(36, "-", "pod"), [false]);
    }

    #[test]
    fn says_what_was_meant() {
        let only = |groups, resources, verbs| reported(36, groups, resources, verbs).join("|");
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
            assert!(only(group, "pods", "get").ends_with("use the core group, written as `\"\"`"));
        }
        assert!(only("apps/v1", "deployments", "get").ends_with("did you mean `apps`?"));
        assert!(only("network.k8s.io", "ingresses", "get").ends_with("did you mean the group `networking.k8s.io`?"));
        assert!(only("-", "pods/*", "get").contains("cannot be a part of a name"));
        assert_eq!(
            only("-", "pods/log", "get list"),
            "`pods/log` does not support the verb `list`; remove it, or use a supported verb: `get`"
        );
        assert_eq!(only("-", "pods", "GET"), "`pods` does not support the verb `GET`; did you mean `get`?");
        assert!(only("-", "pods", "read").ends_with("did you mean `access: read` instead of `verbs`?"));
    }

    #[test]
    fn names_and_urls_have_rules_of_their_own() {
        let cells = [RuleResource { groups: words("-"), resource: "configmaps".to_owned() }];
        let dead = |verbs: &str| of_resources(&Api::new(36), &cells, &words("a"), &words(verbs)).len();
        assert_eq!(
            (dead("create"), dead("create patch"), dead("get list watch"), dead("deletecollection")),
            (1, 0, 0, 1)
        );
        let outcome = |group: &str, resource: &str, may_patch, may_update| {
            named_create(&Api::new(36), group, resource, may_patch, may_update)
        };
        for (group, resource) in [("", "configmaps"), ("", "secrets"), ("", "resourcequotas"), ("apps", "deployments")]
        {
            assert_eq!(outcome(group, resource, false, true), NamedCreate::Never, "{resource}");
            assert_eq!(outcome(group, resource, true, true), NamedCreate::ByApply, "{resource}");
            assert_eq!(outcome(group, resource, false, false), NamedCreate::Never, "{resource}");
        }
        assert_eq!(outcome("coordination.k8s.io", "leases", false, true), NamedCreate::Works);
        assert_eq!(outcome("coordination.k8s.io", "leases", true, false), NamedCreate::ByApply);
        assert_eq!(outcome("loki.grafana.com", "application", false, false), NamedCreate::Works);
        let dead = |urls: &str, verbs: &str| of_urls(&words(urls), &words(verbs)).len();
        assert_eq!((dead("/healthz /api/* *", "get post"), dead("healthz", "get"), dead("/a/*/b", "list")), (0, 1, 2));
    }
}
