//! The objects of an output file with the policies that make them, for people and for programs.

use serde_json::json;

use super::json::line;
use super::page::Page;
use crate::app::{ExplainedFile, FileState};

/// Lists the objects, one line each.
pub fn text(file: &ExplainedFile) -> String {
    let mut page = Page::new();
    for explained in &file.objects {
        let object = &explained.object;
        let namespace = object.namespace.as_ref().map_or_else(String::new, |name| format!("{name}/"));
        let kind = object.kind.as_deref().unwrap_or_default();
        let name = object.name.as_deref().unwrap_or_default();
        let policy = explained.policy.as_ref();
        let policy = policy.map_or_else(String::new, |policy| format!("{} {} ", policy.kind, policy.name));
        writeln!(page, "{kind} {namespace}{name} <- {policy}({})", explained.place);
    }
    page.finish()
}

/// Lists the objects as JSON, one line each.
pub fn json_lines(file: &ExplainedFile) -> String {
    let lines = file.objects.iter().map(|explained| {
        line(&json!({
            "target": file.target,
            "path": file.path,
            "object": explained.object,
            "policy": explained.policy,
            "place": explained.place,
        }))
    });
    lines.collect()
}

/// Describes how the file in the output folder differs; none if it does not.
pub fn state(file: &ExplainedFile) -> Option<&'static str> {
    match file.state {
        FileState::Same => None,
        FileState::Missing => Some("is not there yet; `bailiwick render` writes it"),
        FileState::Different => Some("has other content than this; `bailiwick diff` shows the difference"),
    }
}
