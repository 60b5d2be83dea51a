//! Namespaces that a change deletes, with everything in them.

use super::shard::Loss;
use super::summary::Consent;
use super::words::{grouped, number};
use crate::codes;
use crate::diag::{Diagnostic, Sink};
use crate::emit::first_lines::MAXIMUM_LINES;
use crate::emit::totals::Totals;
use crate::model::Target;

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
pub(crate) fn refuse(target: &Target, totals: &Totals, loss: Loss, consent: &Consent, sink: &mut Sink) {
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
