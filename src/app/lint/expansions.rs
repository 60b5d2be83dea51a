//! Permission sets that name what a target serves, in place of wildcards.

use super::selection::Selection;
use super::severity;
use crate::access::risk::RiskSeverity;
use crate::app::workspace::Workspace;
use crate::codes;
use crate::diag::{Diagnostic, Sink};
use crate::model::{ExpandedSet, Target};

/// Reports the sets of a target. The finding is the same on every target of a set.
pub(super) fn check(workspace: &Workspace, target: &Target, selection: &Selection, sink: &mut Sink) {
    let setting = workspace.project.workspace.diagnostics.of_finding(codes::EXPANDED_WILDCARD);
    let severity = severity(setting, RiskSeverity::Low);
    if severity < selection.least() {
        return;
    }
    for set in workspace.project.facts.on::<ExpandedSet>(&target.name) {
        let count = match set.resources {
            (least, greatest) if least == greatest => least.to_string(),
            (least, greatest) => format!("{least} to {greatest}"),
        };
        let message = format!("{} `{}` grants {count} resources by name", set.policy.kind, set.policy.name);
        sink.push(
            Diagnostic::warning(codes::EXPANDED_WILDCARD, message)
                .at(set.origin)
                .labelled(severity.word())
                .note("a resource of a later version or CustomResourceDefinition is not among them")
                .help("render again after such a change, and review the new resources"),
        );
    }
}
