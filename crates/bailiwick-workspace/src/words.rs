//! Numbers, places and permissions in words, for diagnostics and reports.

use std::fmt::Write as _;

use bailiwick_access::proof::{Chain, Link};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_yaml::diag::{Files, Origin};

pub use bailiwick_yaml::diag::words::{first_names, grouped, number};

/// Returns the number of similar findings, as the end of a message.
pub fn more_alike(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 more is like it".to_owned(),
        more => format!("; {} more are like it", grouped(more)),
    }
}

/// Returns a grant in one line, without its rules.
pub fn chain_text(chain: &Chain, files: &Files) -> String {
    format!("{} <- {} <- {}", chain.subject, link(&chain.binding, files), link(&chain.role, files))
}

/// Returns a grant in one line, with its rules.
pub fn chain_line(chain: &Chain, files: &Files) -> String {
    let rules = chain.rules.iter().map(|rule| {
        let sources = rule.gathered_from.iter().map(|source| source.name.clone());
        let path: Vec<String> = sources.collect();
        let gathered = if path.is_empty() { String::new() } else { format!(", gathered from {}", path.join(" from ")) };
        format!("rule {}: {}{gathered}", rule.number, rule_text(&rule.rule))
    });
    let rules: Vec<String> = rules.collect();
    let rules = if rules.is_empty() { String::new() } else { format!(", {}", rules.join("; ")) };
    format!("{} binds {}{rules}", link(&chain.binding, files), link(&chain.role, files))
}

/// Returns an object with where it comes from.
pub fn link(link: &Link, files: &Files) -> String {
    match link.place {
        Some(place) => format!("{} ({})", link.name, place_text(place, files)),
        None => format!("{} (default policy)", link.name),
    }
}

/// Returns a place as `path:line:column`.
pub fn place_text(place: Origin, files: &Files) -> String {
    let file = files.get(place.file);
    let at = file.line_column(place.span.start);
    format!("{}:{}:{}", file.path(), at.line, at.column)
}

/// Returns a resource with its group before a subresource: `deployments.apps/scale`.
pub fn in_group(resource: &str, group: &str) -> String {
    match resource.split_once('/') {
        Some((resource, sub)) => format!("{resource}.{group}/{sub}"),
        None => format!("{resource}.{group}"),
    }
}

/// Returns a rule in words: `get, list on pods, pods/log in apps, named a, b`.
pub fn rule_text(rule: &PolicyRule) -> String {
    let mut text = rule.verbs.join(", ");
    if !rule.non_resource_urls.is_empty() {
        let _ = write!(text, " on {}", rule.non_resource_urls.join(", "));
        return text;
    }
    let _ = write!(text, " on {}", rule.resources.join(", "));
    let groups: Vec<&str> =
        rule.api_groups.iter().map(|group| if group.is_empty() { "core" } else { group.as_str() }).collect();
    if groups != ["core"] {
        let _ = write!(text, " in {}", groups.join(", "));
    }
    if !rule.resource_names.is_empty() {
        let _ = write!(text, " named {}", rule.resource_names.join(", "));
    }
    text
}
