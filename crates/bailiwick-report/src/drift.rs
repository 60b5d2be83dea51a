//! The difference between the policies and a live cluster, in words.

use bailiwick_access::compare::Change;
use bailiwick_analysis::{Drift, DriftClass, DriftFinding};
use bailiwick_yaml::diag::foreign;

use super::access;
use super::human::{grouped, number};
use super::page::Page;
use super::result::CommandResult;

impl CommandResult for Drift {
    const NAME: &'static str = "drift";
}

/// The options of the text.
#[derive(Debug, Clone, Copy, Default)]
pub struct DriftText {
    /// Whether unmanaged objects elsewhere in the cluster are listed.
    pub lists_all: bool,
    /// Whether unmanaged objects with an owner are listed.
    pub lists_owned: bool,
}

/// How many objects of a class are listed.
const MOST_LISTED: usize = 200;

/// Describes a comparison. Every text of the cluster is printed without control characters.
pub fn text(drift: &Drift, form: DriftText) -> String {
    let mut page = Page::new();
    let count = |class: DriftClass| drift.of_class(class).count();
    let unmanaged = drift.of_class(DriftClass::Unmanaged).filter(|finding| finding.fails()).count();
    let terminating = match count(DriftClass::Terminating) {
        0 => String::new(),
        terminating => format!(", {} terminating", grouped(terminating)),
    };
    let accepted = match drift.accepted {
        0 => String::new(),
        accepted => format!(", {} accepted", grouped(accepted)),
    };
    let line = format!(
        "{}: {} wanted: {} missing, {} changed{terminating}, {} as they should be; {} unmanaged{accepted}",
        drift.target,
        number(drift.wanted, "object"),
        grouped(count(DriftClass::Missing)),
        grouped(count(DriftClass::Changed)),
        grouped(drift.equal),
        grouped(unmanaged)
    );
    writeln!(page, "{}", foreign::line(&line));
    // The others are diagnostics.
    let is_listed = |finding: &&DriftFinding| match &finding.owner {
        Some(_) => form.lists_owned && (finding.concerns_policies || form.lists_all),
        None => form.lists_all && !finding.concerns_policies,
    };
    let listed: Vec<&DriftFinding> = drift.findings.iter().filter(is_listed).collect();
    for finding in listed.iter().take(MOST_LISTED) {
        writeln!(page, "  {} {}", finding.class.word(), foreign::line(&described(finding)));
    }
    if listed.len() > MOST_LISTED {
        writeln!(page, "  and {} more", grouped(listed.len() - MOST_LISTED));
    }
    append_counts(&mut page, drift, form);
    if !drift.access.is_empty() {
        page.push_str("access of the live cluster beyond the policies (+), and access that it lacks (-):\n");
        let changes: Vec<Change> = drift.access.iter().map(|difference| difference.change.clone()).collect();
        page.append(&access::changes(&changes));
    }
    page.finish()
}

/// Appends the numbers of what is not listed and not compared.
fn append_counts(page: &mut Page, drift: &Drift, form: DriftText) {
    if !form.lists_owned {
        for (owner, objects) in &drift.owned {
            let objects = number(*objects, "unmanaged object");
            writeln!(page, "  {}", foreign::line(&format!("{objects} of {owner}; `--owners` lists them")));
        }
    }
    let elsewhere =
        drift.findings.iter().filter(|finding| !finding.concerns_policies && finding.owner.is_none()).count();
    if elsewhere > 0 && !form.lists_all {
        let objects = number(elsewhere, "unmanaged object");
        writeln!(page, "  {objects} elsewhere in the cluster; `--all` lists them");
    }
    if !drift.not_compared.is_empty() {
        let kinds = drift.not_compared.join(", ");
        writeln!(page, "  {}", foreign::line(&format!("not compared, because the dump has none of them: {kinds}")));
    }
}

/// Describes an unmanaged object.
fn described(finding: &DriftFinding) -> String {
    let role = finding.role.iter().map(|role| format!(" -> {role}"));
    let owner = finding.owner.iter().map(|owner| format!(", of {owner}"));
    let writer = finding.writer.iter().map(|writer| format!(", written by {}", writer.manager));
    format!("{}{}", finding.object, role.chain(owner).chain(writer).collect::<String>())
}
