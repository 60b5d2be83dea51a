//! `bailiwick diff`.

mod meaning;

use clap::Args;

use self::meaning::{Meaning, StackNames};
use super::recall::Recall;
use super::scene::{SceneArguments, of_committed, of_target_into};
use super::session::{Comparison, Session, with_targets};
use super::{Global, Outcome};
use crate::access::compare::compare;
use crate::diag::{RunError, Sink};
use crate::emit::committed::{Committed, Folder, Revision};
use crate::emit::diff::unified;
use crate::emit::plan::Action;
use crate::emit::totals::Totals;
use crate::model::Target;
use crate::report::{access, human};

/// How many bytes of differences are kept for printing; the rest is counted.
const MAXIMUM_DIFF: usize = 16 << 20;

/// Options of `diff`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Compare with a folder, or with the output as it was in a revision in git. Default: the output folder.
    #[arg(long, value_name = "REF-or-DIR")]
    against: Option<String>,
    /// Only these targets.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Print the counts only.
    #[arg(long)]
    summary: bool,
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, RunError> {
    with_targets(global, &arguments.targets, |session, targets| {
        let wanted = Wanted {
            against: arguments.against.as_deref(),
            summary: arguments.summary,
            with_access: true,
            recall: None,
        };
        compare_and_print(session, targets, wanted, Sink::new())
    })
}

/// What of a comparison is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted<'a> {
    /// A folder or a revision; none for the output folder.
    pub(super) against: Option<&'a str>,
    /// The counts only.
    pub(super) summary: bool,
    /// What the change really grants, too.
    pub(super) with_access: bool,
    /// Where to note what is found as it should be.
    pub(super) recall: Option<&'a Recall>,
}

/// Compiles, compares, and prints the differences; the answer is no when there are any.
pub(super) fn compare_and_print(
    session: &Session<'_>,
    targets: &[&Target],
    wanted: Wanted<'_>,
    mut sink: Sink,
) -> Result<Outcome, RunError> {
    let Wanted { against, summary, with_access, recall } = wanted;
    let terminal = session.global.terminal();
    let output = session.project.workspace.output.clone();
    let mut text = String::new();
    let mut left_out = 0;
    let mut lines = String::new();
    let mut drift = false;
    for target in targets {
        let watched = recall.map(|recall| recall.watch(Folder::new(session.output().join(&target.name)), target));
        let committed: Box<dyn Committed + '_> = match &watched {
            Some(watched) => Box::new(watched),
            None => open(session, against, target)?,
        };
        let shown = |path: &str| format!("{output}/{}/{path}", target.name);
        let stacks = StackNames::of(session, target);
        let meaning = |old: Option<&str>, new: Option<&str>| {
            if with_access { Meaning::of(old, new, &stacks) } else { Meaning::default() }
        };
        let difference = |file: &crate::compile::OutputFile, _: &_, old: Option<&[u8]>| {
            let old = old.map(String::from_utf8_lossy);
            let meaning = meaning(old.as_deref(), Some(&file.text));
            let text =
                if summary { String::new() } else { unified(&shown(&file.path), old.as_deref(), Some(&file.text)) };
            Ok((text, meaning))
        };
        let Comparison { plan, details, others } = session.compare(target, &*committed, &difference, &mut sink)?;
        if let (Some(recall), Some(watched)) = (recall.filter(|_| !plan.is_drift()), &watched) {
            recall.found(target, plan.counts.total(), watched.take_found(), others);
        }
        let totals = Totals::of(&plan);
        session.warn_of_recreation(target, &totals, &mut sink);
        let mut add = |difference: String| {
            if text.len() + difference.len() > MAXIMUM_DIFF { left_out += 1 } else { text.push_str(&difference) }
        };
        let mut changed = Meaning::default();
        for (difference, of_file) in details {
            add(difference);
            changed.add(of_file);
        }
        for file in plan.changes.iter().filter(|file| file.action == Action::Delete && (with_access || !summary)) {
            let old = committed.read(&file.path)?.unwrap_or_default();
            let old = String::from_utf8_lossy(&old);
            changed.add(meaning(Some(&old), None));
            if !summary {
                add(unified(&shown(&file.path), Some(&old), None));
            }
        }
        drift |= plan.is_drift();
        let changes = if with_access && plan.is_drift() && !sink.has_errors() {
            let touches_access = plan.by_kind.iter().any(|(kind, counts)| {
                matches!(&**kind, "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding")
                    && counts.total() > counts.unchanged
            });
            access_changes(session, target, &*committed, touches_access)?
        } else {
            String::new()
        };
        lines.push_str(&told(&session.title(target), &totals));
        lines.push_str(&changes);
        lines.push_str(&changed.told());
    }
    let findings = session.findings(sink);
    if let Some(recall) = recall {
        recall.told(&findings, &session.project.files);
    }
    if !session.tell(findings) {
        return Ok(Outcome::Invalid);
    }
    terminal.result(&text);
    if left_out > 0 {
        terminal.problem(&format!("{} left out of the difference\n", human::number(left_out, "further file")));
    }
    if summary {
        terminal.result(&lines)
    } else {
        terminal.note(&lines)
    }
    Ok(if drift { Outcome::No } else { Outcome::Fine })
}

/// How much of a target differs, and how its roles do.
pub(super) fn told(title: &str, totals: &Totals) -> String {
    let objects = human::number(totals.counts.total(), "object");
    let mut lines = format!("{title}: {objects}: {}\n", human::counts(totals.counts));
    lines.push_str(&human::counts_by_kind(&totals.by_kind));
    let mut roles = 0;
    for role in totals.changed_roles.lines() {
        lines.push_str(&format!("  {role}\n"));
        roles += 1;
    }
    if totals.changed_roles.count > roles {
        let further = human::number(totals.changed_roles.count - roles, "further changed role");
        lines.push_str(&format!("  and {further}\n"));
    }
    for binding in totals.changed_role_refs.lines() {
        lines.push_str(&format!("  {binding} is deleted and created anew: its role changes\n"));
    }
    lines
}

/// What the change means for each subject.
fn access_changes(
    session: &Session<'_>,
    target: &Target,
    committed: &dyn Committed,
    touches_access: bool,
) -> Result<String, RunError> {
    if !touches_access {
        return Ok(String::new());
    }
    // What is wrong with the policies was told by the comparison of the texts.
    let new = of_target_into(session, target, &SceneArguments::default(), &mut Sink::new())?;
    let old = of_committed(session, target, committed)?;
    let (Some(new), Some(old)) = (new, old) else { return Ok(String::new()) };
    Ok(access::changes(&compare(&old, &new.world)))
}

/// What to compare with: a folder when there is one of that name, otherwise a revision.
fn open(session: &Session<'_>, against: Option<&str>, target: &Target) -> Result<Box<dyn Committed>, RunError> {
    let Some(against) = against else {
        return Ok(Box::new(Folder::new(session.output().join(&target.name))));
    };
    let start = session.global.directory.clone().unwrap_or_else(|| ".".into());
    let folder = start.join(against);
    if folder.is_dir() {
        return Ok(Box::new(Folder::new(folder.join(&target.name))));
    }
    let path = format!("{}/{}", session.project.workspace.output, target.name);
    Ok(Box::new(Revision::open(&session.root, against, &path)?))
}
