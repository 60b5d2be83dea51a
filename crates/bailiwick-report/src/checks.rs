//! Notes of what a run does not check.

use std::collections::BTreeMap;

use bailiwick_analysis::Unanswered;
use bailiwick_workspace::{NotJudged, PartlyChecked};
use bailiwick_yaml::diag::foreign;

use super::human::number;
use super::page::Page;

/// How many kinds a line names.
const MOST_NAMED: usize = 6;

/// How many admission policies are named.
const MAXIMUM_POLICIES: usize = 10;

/// How many workspaces are named.
const NAMED: usize = 5;

/// Counts the objects that are checked for their fields or metadata alone, a line for each.
pub fn partly_checked(found: &PartlyChecked) -> String {
    let mut page = Page::new();
    for (kinds, what) in [
        (&found.fields, "for fields, types and metadata, not for every rule of the kind"),
        (&found.metadata, "for metadata alone, as no CustomResourceDefinition among the inputs describes the kind"),
    ] {
        if kinds.is_empty() {
            continue;
        }
        let mut kinds: Vec<(&str, usize)> = kinds.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all: usize = kinds.iter().map(|(_, count)| count).sum();
        let named: Vec<String> = kinds.iter().take(MOST_NAMED).map(|(name, count)| format!("{count} {name}")).collect();
        let more = kinds.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(", and {more} more kinds") } else { String::new() };
        let objects = if all == 1 { "1 object is".to_owned() } else { format!("{all} objects are") };
        writeln!(page, "note: {objects} checked {what}: {}{more}", named.join(", "));
    }
    page.finish()
}

/// Names the workspaces that account for output files elsewhere; empty without any.
pub fn nested_workspaces(files: &BTreeMap<String, usize>) -> String {
    let count: usize = files.values().sum();
    let first: Vec<String> = files.keys().take(NAMED).map(|folder| format!("`{}`", foreign::line(folder))).collect();
    let more = files.len() - first.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (workspace, noun) = (if files.len() == 1 { "workspace" } else { "workspaces" }, "output file");
    match count {
        0 => String::new(),
        _ => format!("not checked here: {} of the {workspace} {}{more}\n", number(count, noun), first.join(", ")),
    }
}

/// Names the admission policies that are not evaluated for every workload; empty without any.
pub fn unanswered(found: &Unanswered) -> String {
    let mut page = Page::new();
    let (policies, are) = match found.0.len() {
        0 => return page.finish(),
        1 => ("1 admission policy".to_owned(), "is"),
        count => (format!("{count} admission policies"), "are"),
    };
    writeln!(page, "note: {policies} of the inputs {are} not evaluated for every workload");
    for (name, reason) in found.0.iter().take(MAXIMUM_POLICIES) {
        writeln!(page, "  `{name}`: {reason}");
    }
    let more = found.0.len().saturating_sub(MAXIMUM_POLICIES);
    if more > 0 {
        writeln!(page, "  and {}", number(more, "other"));
    }
    page.finish()
}

/// Counts the output files that `spec.fixtures` names; empty without any.
pub fn fixtures(found: &NotJudged) -> String {
    match found.fixtures {
        0 => String::new(),
        count => format!("not checked: {}, by `spec.fixtures`\n", number(count, "output file")),
    }
}
