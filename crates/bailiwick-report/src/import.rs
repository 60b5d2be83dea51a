//! The outcome of an import, as text, Markdown or JSON.

use std::collections::BTreeMap;

use bailiwick_adopt::{Import, ImportedTarget, ListedObject};
use bailiwick_workspace::words::grouped;
use bailiwick_yaml::diag::foreign;
use schemars::JsonSchema;
use serde::Serialize;

use super::human::number;
use super::page::Page;
use super::result::CommandResult;

/// How many names of a list are printed.
const SHOWN: usize = 5;

/// The outcome of an import for programs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportResult {
    /// The outcome for each target.
    targets: Vec<ImportedTarget>,
    /// The files of the workspace with their numbers of lines.
    files: BTreeMap<String, usize>,
    /// Whether nothing was written.
    is_dry_run: bool,
}

impl CommandResult for ImportResult {
    const NAME: &'static str = "import";
}

impl ImportResult {
    /// Returns the result of an import.
    pub fn new(import: &Import, is_dry_run: bool) -> Self {
        Self { targets: import.targets.clone(), files: import.files.clone(), is_dry_run }
    }
}

/// The options of the text.
#[derive(Debug, Clone, Copy, Default)]
pub struct ImportText<'t> {
    /// The folder of the workspace, for the next command.
    pub folder: &'t str,
    /// Whether every object of a list is named.
    pub lists_all: bool,
    /// Whether nothing was written.
    pub is_dry_run: bool,
}

/// Returns the outcome as text.
pub fn text(import: &Import, options: ImportText<'_>) -> String {
    let mut page = Page::new();
    for target in &import.targets {
        writeln!(page, "{}", foreign::line(&heading(target)));
        for (label, line, list) in lines(import, target) {
            writeln!(page, "  {label:<10}{}", foreign::line(&line));
            for object in list.iter().filter(|_| options.lists_all) {
                writeln!(page, "    {}", foreign::line(&format!("{}: {}", object.object, object.reason)));
            }
        }
    }
    if options.is_dry_run {
        writeln!(page, "nothing was written");
    } else {
        writeln!(page, "next: bailiwick -C {} render", foreign::line(options.folder));
    }
    page.finish()
}

/// Returns the outcome as Markdown: a table for each target, with its lists.
pub fn markdown(import: &Import) -> String {
    let mut page = Page::new();
    for (index, target) in import.targets.iter().enumerate() {
        if index > 0 {
            writeln!(page);
        }
        writeln!(page, "## {}", foreign::markdown(&heading(target)));
        writeln!(page);
        writeln!(page, "| | |");
        writeln!(page, "|---|---|");
        let lines = lines(import, target);
        for (label, line, _) in &lines {
            writeln!(page, "| {label} | {} |", foreign::markdown_cell(line));
        }
        for (label, _, list) in lines.iter().filter(|(_, _, list)| !list.is_empty()) {
            writeln!(page);
            writeln!(page, "<details><summary>{label}: {}</summary>", number(list.len(), "object"));
            writeln!(page);
            for ListedObject { object, reason } in list.iter() {
                writeln!(page, "- {}", foreign::markdown(&format!("{object}: {reason}")));
            }
            writeln!(page);
            writeln!(page, "</details>");
        }
    }
    page.finish()
}

fn heading(target: &ImportedTarget) -> String {
    let ImportedTarget { target, read, about_access, .. } = target;
    format!("{target}: {} read, {} of them about access", number(*read, "object"), grouped(*about_access))
}

/// Returns the lines about a target: a label, a sentence, and the listed objects.
fn lines<'t>(import: &Import, target: &'t ImportedTarget) -> Vec<(&'static str, String, &'t [ListedObject])> {
    let compiled = target.equal + target.equal_access.len();
    let expected = target.read - target.omitted.len() - target.refused.len() - target.unwritten.len();
    let mut lines = Vec::new();
    let objects = format!(
        "{} of {} compiled with their names: {} equal as stored, {} equal in access{}",
        grouped(compiled),
        grouped(expected),
        grouped(target.equal),
        grouped(target.equal_access.len()),
        reasons(&target.equal_access)
    );
    lines.push(("objects", objects, &*target.equal_access));
    let access = if target.access.none {
        "equal for every subject".to_owned()
    } else {
        let names: Vec<&str> = target.access.subjects.iter().take(SHOWN).map(String::as_str).collect();
        format!("differs for {}: {}", number(target.access.subjects.len(), "subject"), names.join(", "))
    };
    lines.push(("access", access, &[]));
    let policies = format!(
        "{} in {}, {} instead of {}{}",
        if target.policies == 1 { "1 policy".to_owned() } else { format!("{} policies", grouped(target.policies)) },
        number(import.files.len(), "file"),
        number(target.lines, "line"),
        grouped(target.object_lines),
        factor(target)
    );
    lines.push(("policies", policies, &[]));
    let counted = |label, list: &'t [ListedObject], words: &str| {
        (!list.is_empty()).then(|| (label, format!("{} {words}{}", grouped(list.len()), reasons(list)), list))
    };
    lines.extend(counted("left", &target.manifests, "in Manifests"));
    lines.extend(counted("unwritten", &target.unwritten, "in Manifests and not written"));
    lines.extend(counted("omitted", &target.omitted, "in no policy"));
    lines.extend(counted("different", &target.different, "not as they were"));
    lines.extend(counted("refused", &target.refused, "in Manifests and not written"));
    if !target.dropped.is_empty() {
        let mut fields: Vec<(&String, &usize)> = target.dropped.iter().collect();
        fields.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let all = fields.iter().map(|(_, count)| **count).sum();
        let fields: Vec<String> = fields.iter().map(|(path, count)| format!("{} {path}", grouped(**count))).collect();
        let line = format!("{} that the server sets or drops: {}", number(all, "field"), fields.join(", "));
        lines.push(("dropped", line, &[]));
    }
    if target.dropped_comments > 0 {
        let count = number(target.dropped_comments, "comment");
        lines.push(("comments", format!("{count} in no policy, as objects of one policy have different ones"), &[]));
    }
    if !target.unknown_roles.is_empty() {
        let names: Vec<&str> = target.unknown_roles.iter().take(SHOWN).map(String::as_str).collect();
        let more = target.unknown_roles.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let roles = number(target.unknown_roles.len(), "role");
        lines.push(("unknown", format!("{roles} from elsewhere: {}{more}", names.join(", ")), &[]));
    }
    lines
}

/// Returns the reasons of a list with their numbers, in brackets.
fn reasons(list: &[ListedObject]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    list.iter().for_each(|object| *counts.entry(&object.reason).or_default() += 1);
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown: Vec<String> =
        counts.iter().take(SHOWN).map(|(reason, count)| format!("{reason}: {}", grouped(*count))).collect();
    let more: usize = counts.iter().skip(SHOWN).map(|(_, count)| *count).sum();
    let more = if more > 0 { format!(", and {} more", grouped(more)) } else { String::new() };
    if shown.is_empty() { String::new() } else { format!(" ({}{more})", shown.join(", ")) }
}

/// Returns how many times shorter the policies are.
fn factor(target: &ImportedTarget) -> String {
    if target.lines == 0 || target.object_lines == 0 {
        return String::new();
    }
    let tenths = target.object_lines * 10 / target.lines;
    format!(" (factor {}.{})", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_of_a_list_add_up() {
        let list: Vec<ListedObject> = (0..13)
            .map(|index| ListedObject { object: format!("Role/r{index}"), reason: format!("reason {}", index.max(6)) })
            .collect();
        assert_eq!(reasons(&list), " (reason 6: 7, reason 10: 1, reason 11: 1, reason 12: 1, reason 7: 1, and 2 more)");
        assert_eq!(reasons(list.split_at(7).0), " (reason 6: 7)");
    }
}
