//! Whether a user may impersonate another user. The question and answer of `bailiwick ask`:
//!
//! ```text
//! {"impersonate": {"user", "groups", "extra", "asUser", "asGroups", "asExtra": {key: [value]}, "asUid",
//!                  "verb", "group", "resource", "subresource", "namespace", "name" | "verb", "path", "minor": 36}}
//! -> {"allowed": bool, "mode": "associated-node|arbitrary-node|serviceaccount|user-info|legacy" | null,
//!     "checks": [{"verb", "group", "resource", "subresource", "namespace", "name" | "verb", "path", "allowed"}],
//!     "groups": [groups of the impersonated user]}
//! ```
//!
//! `extra` belongs to the actor: the node a service account's token is bound to is
//! `authentication.kubernetes.io/node-name`. The modes are tried in the order above; the answer has the checks of the
//! mode that allows, else of the legacy mode. Without a verb nothing is acted on, and only the legacy mode can be asked.

use serde_json::{Value, json};

use super::decide::{Actor, Request, decide, implicit_groups, service_account};
use super::read::{strings, text};

const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// The identity in the headers.
struct Wanted<'q> {
    user: &'q str,
    groups: Vec<&'q str>,
    extra: Vec<(String, &'q str)>,
    uid: &'q str,
}

impl Wanted<'_> {
    /// Nodes and service accounts are taken over whole, or not in their own mode.
    fn only_a_name(&self) -> bool {
        self.groups.is_empty() && self.extra.is_empty() && self.uid.is_empty()
    }
}

/// Returns the answer to a question about impersonation.
pub(crate) fn impersonate(objects: &[Value], question: &Value) -> Value {
    let actor = Actor::from_question(question);
    let minor = question.get("minor").and_then(Value::as_u64).unwrap_or(36);
    let mut extra: Vec<(String, &str)> = Vec::new();
    for (key, values) in question.get("asExtra").and_then(Value::as_object).into_iter().flatten() {
        for value in values.as_array().into_iter().flatten() {
            extra.push((key.to_lowercase(), value.as_str().unwrap_or_default()));
        }
    }
    extra.sort_by(|a, b| a.0.cmp(&b.0));
    let wanted = Wanted {
        user: text(question, "asUser"),
        groups: strings(question, "asGroups"),
        extra,
        uid: text(question, "asUid"),
    };
    if wanted.user.is_empty() {
        return json!({"allowed": false, "mode": null, "checks": [], "groups": []});
    }

    let may = |check: &Request| decide(objects, &actor, check).allowed;
    let checked = |mode: &str| {
        let mut lines = Vec::new();
        for check in checks_of(mode, &wanted, question, &may) {
            let mut line = check.attributes();
            line.as_object_mut().and_then(|line| line.shift_remove("version"));
            line["allowed"] = json!(decide(objects, &actor, &check).allowed);
            lines.push(line);
        }
        lines
    };
    let all_fine = |lines: &[Value]| lines.iter().all(|line| line["allowed"] == true);
    if minor >= 36 && !text(question, "verb").is_empty() {
        for mode in constrained_modes(&wanted, question) {
            let checks = checked(mode);
            if all_fine(&checks) {
                return json!({"allowed": true, "mode": mode, "checks": checks, "groups": groups_of(mode, &wanted)});
            }
        }
    }
    let checks = checked("legacy");
    if all_fine(&checks) {
        return json!({"allowed": true, "mode": "legacy", "checks": checks, "groups": groups_of("legacy", &wanted)});
    }
    json!({"allowed": false, "mode": null, "checks": checks, "groups": []})
}

/// Returns the constrained modes that the wanted user comes under, in the order in which they are tried.
fn constrained_modes(wanted: &Wanted<'_>, question: &Value) -> Vec<&'static str> {
    if let Some(node) = wanted.user.strip_prefix("system:node:") {
        let own_node = strings(&question["extra"], NODE_NAME);
        let beside = service_account(text(question, "user")).is_some() && own_node == [node];
        return match (wanted.only_a_name(), beside) {
            (false, _) => Vec::new(),
            (true, true) => vec!["associated-node", "arbitrary-node"],
            (true, false) => vec!["arbitrary-node"],
        };
    }
    if service_account(wanted.user).is_some() {
        return if wanted.only_a_name() { vec!["serviceaccount"] } else { Vec::new() };
    }
    // The permissions of system:masters cannot be requested in part, and malformed groups are refused.
    let groups_fit = wanted.groups.iter().all(|group| !group.is_empty() && *group != "system:masters");
    let extras_fit = wanted.extra.iter().all(|(key, value)| is_domain_prefixed(key) && !value.is_empty());
    if groups_fit && extras_fit { vec!["user-info"] } else { Vec::new() }
}

/// Returns whether a key is one of the keys of the constrained modes, such as `example.org/scopes`.
fn is_domain_prefixed(key: &str) -> bool {
    key.split_once('/').is_some_and(|(domain, path)| {
        bailiwick::k8s::names::dns_subdomain(domain).is_ok()
            && !path.is_empty()
            && path.chars().all(|letter| letter.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(letter))
    })
}

/// Four groups or more may be had by one right on all of them, and so may four extra values.
const MANY: usize = 4;

/// Returns every check of a mode by the authorizer.
fn checks_of(mode: &str, wanted: &Wanted<'_>, question: &Value, may: &dyn Fn(&Request) -> bool) -> Vec<Request> {
    let legacy = mode == "legacy";
    let verb = if legacy { "impersonate".to_owned() } else { format!("impersonate:{mode}") };
    let check = |group: &str, resource: &str, name: &str| Request {
        verb: verb.clone(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..Request::default()
    };
    // The old verb is checked on names of the core group, but for extras and uids.
    let own_group = if legacy { "" } else { AUTHENTICATION };
    let node = wanted.user.strip_prefix("system:node:").unwrap_or_default();
    let mut checks = vec![match (mode, service_account(wanted.user)) {
        ("associated-node", _) => check(own_group, "nodes", "*"),
        ("arbitrary-node", _) => check(own_group, "nodes", node),
        ("serviceaccount" | "legacy", Some((namespace, name))) => {
            Request { namespace: namespace.to_owned(), ..check(own_group, "serviceaccounts", name) }
        }
        _ => check(own_group, "users", wanted.user),
    }];
    let all_groups = check(own_group, "groups", "*");
    if !legacy && wanted.groups.len() >= MANY && may(&all_groups) {
        checks.push(all_groups);
    } else {
        checks.extend(wanted.groups.iter().map(|group| check(own_group, "groups", group)));
    }
    let all_extras = Request { subresource: "*".to_owned(), ..check(AUTHENTICATION, "userextras", "*") };
    if !legacy && wanted.extra.len() >= MANY && may(&all_extras) {
        checks.push(all_extras);
    } else {
        checks.extend(
            wanted
                .extra
                .iter()
                .map(|(key, value)| Request { subresource: key.clone(), ..check(AUTHENTICATION, "userextras", value) }),
        );
    }
    if !wanted.uid.is_empty() {
        checks.push(check(AUTHENTICATION, "uids", wanted.uid));
    }
    if !legacy {
        let act = Request::from_question(question);
        checks.push(Request { verb: format!("impersonate-on:{mode}:{}", act.verb), ..act });
    }
    checks
}

/// Returns the groups of the impersonated user: the requested groups, or the groups implied by the name. There is no
/// lookup of further groups.
fn groups_of(mode: &str, wanted: &Wanted<'_>) -> Vec<String> {
    if wanted.groups.is_empty() {
        let mut groups = implicit_groups(wanted.user);
        if mode.ends_with("-node") {
            groups.insert(0, "system:nodes".to_owned());
        }
        return groups;
    }
    let mut groups: Vec<String> = wanted.groups.iter().map(|group| (*group).to_owned()).collect();
    let anonymous = wanted.user == "system:anonymous";
    let known =
        groups.iter().any(|group| group == "system:unauthenticated" || group == "system:authenticated" && !anonymous);
    if !known {
        groups.push(if anonymous { "system:unauthenticated" } else { "system:authenticated" }.to_owned());
    }
    groups
}
