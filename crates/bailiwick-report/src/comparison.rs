//! Differences of the output, and what a run wrote, in words.

use bailiwick_analysis::{AccessEffect, Base, DescribedBase, TargetComparison, TargetDifferences};
use bailiwick_compiler::compile::WORKSPACE_FILE;
use bailiwick_compiler::emit::first_lines::{FirstLines, MAXIMUM_LINES};
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_yaml::diag::foreign;

use super::human::{self, grouped};
use super::page::Page;
use super::result::CommandResult;
use super::{access, pod_security, stacks};

impl CommandResult for TargetDifferences {
    const NAME: &'static str = "diff";
}

/// Returns the note of `check` where the output differs: the output on disk, or the output of a commit.
pub fn note_of_drift(is_committed: bool) -> &'static str {
    match is_committed {
        false => "the output differs from the compiled policies; `bailiwick render` writes it\n",
        true => {
            "the committed output differs from the compiled policies; run `bailiwick render`, and commit the output\n"
        }
    }
}

/// How many files are named that differ in nothing but the header of an earlier version.
const NAMED_RENEWALS: usize = 10;

/// Files that differ in nothing but the header of an earlier version.
#[derive(Debug, Default)]
pub struct Renewals {
    first: Vec<String>,
    count: usize,
}

impl Renewals {
    /// Adds the files of a target, whose folder is given.
    pub fn add(&mut self, folder: &str, files: &FirstLines) {
        let room = NAMED_RENEWALS.saturating_sub(self.first.len());
        self.first.extend(files.lines().take(room).map(|path| format!("  {folder}/{path}\n")));
        self.count += files.count;
    }

    /// Returns the note about the files; empty without such files.
    pub fn note(&self) -> String {
        let (have, them) = if self.count == 1 { ("has", "it") } else { ("have", "them") };
        let files = human::number(self.count, "file");
        let more = self.count - self.first.len();
        let more = if more > 0 { format!("  and {more} more\n") } else { String::new() };
        match self.count {
            0 => String::new(),
            _ => format!(
                "{files} {have} the header of an earlier version; `bailiwick render` renews {them}\n{}{more}",
                self.first.concat()
            ),
        }
    }
}

/// How the lines about a target are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// With the counts.
    Counted,
    /// As `--quiet` asks: without the counts, and without a heading where no other line is left.
    Quiet,
}

impl Form {
    /// Returns the form for a run that may be quiet. A summary is a result, and has its counts.
    pub fn new(is_quiet: bool, is_summary: bool) -> Self {
        if is_quiet && !is_summary { Self::Quiet } else { Self::Counted }
    }

    /// Puts the name of a target before the lines about it.
    pub fn headed(self, title: &str, counts: &str, lines: &str) -> String {
        let mut page = Page::new();
        match self {
            Self::Counted => writeln!(page, "{title}: {counts}"),
            Self::Quiet if lines.is_empty() => {}
            Self::Quiet => writeln!(page, "{title}:"),
        }
        page.append(lines);
        page.finish()
    }
}

/// Describes how much of a target differs, and how its roles do; `further` lines follow.
pub fn differences(title: &str, totals: &Totals, further: &str, form: Form) -> String {
    let mut lines = Page::new();
    lines.append(&namespaces(totals));
    if form == Form::Counted {
        lines.append(&human::counts_by_kind(&totals.by_kind));
    }
    let kinds = [
        (&totals.changed_roles, "further changed role", ""),
        (&totals.changed_pods, "further object", " with a change for pods"),
    ];
    for (changes, further, change) in kinds {
        changes.lines().for_each(|line| writeln!(lines, "  {line}"));
        let rest = changes.count - changes.lines().count();
        if rest > 0 {
            writeln!(lines, "  and {}{change}", human::number(rest, further));
        }
    }
    for binding in totals.changed_role_refs.lines() {
        writeln!(lines, "  {binding} is deleted and created anew: its role changes");
    }
    lines.append(further);
    let objects = human::number(totals.counts.total(), "object");
    form.headed(title, &format!("{objects}: {}", human::counts(totals.counts)), lines.as_str())
}

/// Describes what was written of a target.
pub fn written(title: &str, totals: &Totals, form: Form) -> String {
    let objects = human::number(totals.counts.total(), "object");
    let files = human::number(totals.files, "file");
    let counts = format!("{objects} in {files}: {}", human::counts(totals.counts));
    form.headed(title, &counts, &namespaces(totals))
}

/// Names every namespace that goes, one line each, with a rename: deleted namespaces, then namespaces that stay in the
/// cluster. At most [`MAXIMUM_LINES`] of each are named.
pub fn namespaces(totals: &Totals) -> String {
    let deleted = totals.namespaces.deleted().map(|gone| {
        let renamed = gone.renamed_to.map_or_else(String::new, |new| {
            format!("; the new namespace `{new}` has the same objects: a rename is a deletion and a creation")
        });
        format!("deletes the namespace `{}`, with everything in it{renamed}", gone.name)
    });
    let kept = totals.namespaces.kept();
    let kept = kept.map(|name| format!("stops managing the namespace `{name}`; it stays in the cluster"));
    format!("{}{}", first_lines(deleted), first_lines(kept))
}

/// Returns the first of some lines, indented, with the number of the others.
fn first_lines(all: impl Iterator<Item = String>) -> String {
    let mut lines = Page::new();
    let mut left_out = 0;
    for (position, line) in all.enumerate() {
        if position < MAXIMUM_LINES {
            writeln!(lines, "  {line}");
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        writeln!(lines, "  and {} more", grouped(left_out));
    }
    lines.finish()
}

/// Names the targets that only one side has, one line each.
pub fn target_changes(sentences: &[String]) -> String {
    sentences.iter().map(|line| format!("{}\n", foreign::line(line))).collect()
}

/// How many stale files are named.
const NAMED_FILES: usize = 10;

/// How many components are named.
const NAMED_COMPONENTS: usize = 5;

/// Describes what a folder is taken for; empty for any other base.
pub fn described_base(base: &Base) -> String {
    let mut page = Page::new();
    match base.described() {
        Some(DescribedBase::Output(name)) => {
            writeln!(page, "`{name}` has no `{WORKSPACE_FILE}`: it is compared as a folder of output");
        }
        Some(DescribedBase::Workspace(name)) => {
            writeln!(page, "`{name}` is a workspace: the output of its policies is compared");
        }
        None => {}
    }
    page.finish()
}

/// Describes committed output of another workspace that is not what its policies compile to; empty without such output.
pub fn stale_files(base: &Base) -> String {
    let mut page = Page::new();
    let Some((name, files)) = base.stale() else { return page.finish() };
    let differs = if files.len() == 1 { "differs" } else { "differ" };
    writeln!(
        page,
        "the committed output of `{name}` is stale: {} {differs} from its policies, which are compared",
        human::number(files.len(), "file")
    );
    files.iter().take(NAMED_FILES).for_each(|path| writeln!(page, "  {path}"));
    let more = files.len().saturating_sub(NAMED_FILES);
    if more > 0 {
        writeln!(page, "  and {more} more");
    }
    page.finish()
}

/// Describes what the differences of a target mean for access, for pods and for stacks.
pub fn effects(target: &TargetComparison) -> String {
    let policies = pod_security::policy_changes(&target.pod_security_policies);
    let access = target.access.as_ref().map_or_else(String::new, access_effect);
    format!("{access}{policies}{}", stacks::upgrades(&target.upgrades))
}

fn access_effect(effect: &AccessEffect) -> String {
    let mut page = Page::new();
    match effect {
        AccessEffect::Unknown => {
            page.push_str("  access: unknown, because the old baseline cannot be read\n");
        }
        AccessEffect::Known { changes, components } => {
            if components.is_empty() || !changes.is_empty() {
                page.append(&access::changes(changes));
            }
            if !components.is_empty() {
                let names: Vec<&str> = components.iter().take(NAMED_COMPONENTS).map(String::as_str).collect();
                let more = components.len() - names.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let shown = names.join(", ");
                writeln!(
                    page,
                    "  access of the cluster's own components changes with its default policy: {shown}{more}"
                );
            }
        }
    }
    page.finish()
}
