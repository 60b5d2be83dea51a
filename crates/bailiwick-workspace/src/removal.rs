//! Namespaces that a change deletes, with everything in them.

use bailiwick_codes as codes;
use bailiwick_compiler::compile;
use bailiwick_compiler::emit::committed::Committed;
use bailiwick_compiler::emit::file;
use bailiwick_compiler::emit::first_lines::MAXIMUM_LINES;
use bailiwick_compiler::emit::plan::TargetPlan;
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_policy::model::Target;
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};
use serde::{Deserialize, Serialize};

use super::words::{grouped, number};
use super::workspace::Workspace;
use crate::output::is_kept;

/// The deletions that are accepted when the output is written. All others are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// A target may lose all of its objects.
    pub allow_empty: bool,
    /// Namespaces may be deleted, even most of them.
    pub allow_mass_delete: bool,
    /// The namespaces that may be deleted from every target that loses them, with everything in them.
    pub delete_namespace: Vec<String>,
    /// The targets whose output may be deleted, which the workspace no longer has.
    pub remove_target: Vec<String>,
}

impl Consent {
    /// Adds what another one accepts.
    pub fn add(&mut self, other: &Self) {
        self.allow_empty |= other.allow_empty;
        self.allow_mass_delete |= other.allow_mass_delete;
        self.delete_namespace.extend(other.delete_namespace.iter().cloned());
        self.remove_target.extend(other.remove_target.iter().cloned());
    }
}

/// The loss that decides whether a run deletes too much.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// True when no object is left, and some were there.
    pub(crate) everything: bool,
    /// How many namespaces go.
    pub(crate) gone: usize,
    /// How many there were.
    pub(crate) before: usize,
}

impl Loss {
    /// Returns the loss of a whole target.
    pub fn of(totals: &Totals) -> Self {
        Self {
            everything: totals.counts.total() == 0 && totals.counts.deleted > 0,
            gone: totals.gone_namespaces,
            before: totals.namespaces_before,
        }
    }

    /// Returns the loss of the whole target, from the names of its files, for a part with this plan: the deletions of a part
    /// do not show the loss of the target. A part that deletes nothing leaves the decision to the other parts.
    pub(crate) fn of_part(
        workspace: &Workspace,
        target: &Target,
        committed: &dyn Committed,
        plan: &TargetPlan,
    ) -> Result<Self, RunError> {
        let mut loss = Self { everything: false, gone: 0, before: 0 };
        // An empty file, which a crash leaves, goes without an object.
        if plan.counts.deleted == 0 && plan.deleted().next().is_none() {
            return Ok(loss);
        }
        let output_files = compile::output_files(&workspace.project, target);
        for entry in
            committed.list()?.iter().filter(|entry| entry.is_file() && !is_kept(workspace, target, &entry.path))
        {
            if output_files.is_empty() && !loss.everything {
                loss.everything = committed.read(&entry.path)?.is_some_and(|bytes| !bytes.is_empty());
            }
            if !entry.path.starts_with("namespaces/") {
                continue;
            }
            loss.before += 1;
            let stays = file::namespace(&entry.path).is_some_and(|name| output_files.has_namespace(name));
            loss.gone += usize::from(!stays);
        }
        Ok(loss)
    }
}

/// Names the namespaces that go with other objects, as the end of a sentence; nothing without any.
pub(crate) fn among_them(totals: &Totals) -> String {
    let names: Vec<String> = totals.namespaces.deleted().map(|gone| format!("`{}`", gone.name)).collect();
    let shown = names.iter().take(MAXIMUM_LINES).cloned().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MAXIMUM_LINES);
    let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
    match names.len() {
        0 => String::new(),
        1 => format!(", among them the namespace {shown}"),
        _ => format!(", among them the namespaces {shown}{more}"),
    }
}

/// Refuses to delete namespaces without consent.
fn refuse_namespaces(target: &Target, totals: &Totals, loss: Loss, consent: &Consent, sink: &mut Sink) {
    if consent.allow_mass_delete || (loss.everything && consent.allow_empty) {
        return;
    }
    let is_unnamed = |name: &&str| !consent.delete_namespace.iter().any(|named| named == name);
    let unnamed: Vec<&str> = totals.namespaces.deleted().map(|gone| gone.name).filter(is_unnamed).collect();
    for name in unnamed.iter().take(MAXIMUM_LINES) {
        let message =
            format!("the namespace `{name}` of the target `{}` would be deleted, with everything in it", target.name);
        let help = format!("run `bailiwick render --delete-namespace {name}` to confirm the deletion");
        sink.push(Diagnostic::error(codes::NAMESPACE_DELETE, message).help(help));
    }
    if let Some(more) = unnamed.len().checked_sub(MAXIMUM_LINES).filter(|more| *more > 0) {
        let message = format!(
            "{} more namespaces of the target `{}` would be deleted, with everything in them",
            grouped(more),
            target.name
        );
        let help = "`bailiwick diff` shows them; `bailiwick render --allow-mass-delete` confirms every deletion";
        sink.push(Diagnostic::error(codes::NAMESPACE_DELETE, message).help(help));
    }
}

/// Refuses to delete namespaces, and most of the output, without consent.
pub fn refuse(target: &Target, totals: &Totals, loss: Loss, consent: &Consent, sink: &mut Sink) {
    refuse_namespaces(target, totals, loss, consent, sink);
    let Loss { everything, gone, before } = loss;
    if everything && !consent.allow_empty {
        sink.push(
            Diagnostic::error(
                codes::EMPTY_OUTPUT,
                format!("every object of the target `{}` would be deleted", target.name),
            )
            .help("run `bailiwick render --allow-empty` to confirm the deletion"),
        );
    } else if gone > 1 && gone * 2 > before && !consent.allow_mass_delete && !consent.allow_empty {
        sink.push(
            Diagnostic::error(
                codes::MASS_DELETE,
                format!("{} of the target `{}` would be deleted, of {before}", number(gone, "namespace"), target.name),
            )
            .help("run `bailiwick render --allow-mass-delete` to confirm the deletion"),
        );
    }
}
