//! Headings of answers about several worlds.

use bailiwick_analysis::{LoadedWorld, Membership};
use serde_json::Value;

use super::access::place_text;
use super::json;
use super::page::Page;

/// Returns the start of a short answer: the target, if there can be several.
pub fn prefix(loaded: &LoadedWorld) -> String {
    loaded.target.as_ref().map_or_else(String::new, |target| format!("{target}: "))
}

/// Returns an answer as a line of JSON, with the target in it.
pub fn json_line(loaded: &LoadedWorld, mut answer: Value) -> String {
    if let (Some(target), Some(map)) = (&loaded.target, answer.as_object_mut()) {
        map.insert("target".to_owned(), target.as_str().into());
    }
    json::line(&answer)
}

/// Returns the heading of a long answer.
pub fn heading(loaded: &LoadedWorld) -> String {
    loaded.target.as_ref().map_or_else(String::new, |target| format!("# {target}\n"))
}

/// Returns the groups that the policies or the manifests give a user, one line each.
pub fn memberships(loaded: &LoadedWorld, user: &str) -> String {
    let mut page = Page::new();
    for Membership { group, origin } in loaded.memberships_of(user) {
        writeln!(page, "  {user} is in Group/{group} ({})", place_text(origin, &loaded.files));
    }
    page.finish()
}
