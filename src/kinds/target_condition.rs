//! Conditions of items in policies without accounts: `when` over the values of the target.

use std::collections::BTreeSet;

use crate::codes;
use crate::diag::{Diagnostic, Sink};
use crate::model::{Condition, ConditionScope, Fill, Target};
use crate::yaml::Spanned;

/// Returns the names of the targets of an item: all targets without a condition, otherwise the targets for which the
/// condition holds. Reports an invalid condition, and a condition that fails on a target.
pub(super) fn targets_of_item(when: Option<&Spanned<String>>, targets: &[Target], sink: &mut Sink) -> BTreeSet<String> {
    let Some(when) = when else { return targets.iter().map(|target| target.name.clone()).collect() };
    let Some(condition) = Condition::link(when, ConditionScope { variables: None, targets }, sink) else {
        return BTreeSet::new();
    };
    let mut found = BTreeSet::new();
    for target in targets {
        match condition.holds(Fill::from_target(target)) {
            Ok(true) => _ = found.insert(target.name.clone()),
            Ok(false) => {}
            Err(failure) => {
                let message = format!("this condition fails on the target `{}`", target.name);
                let diagnostic = Diagnostic::error(codes::FAILED_CONDITION, message).at(when.origin);
                sink.push(diagnostic.note(failure.to_string()).help("compare values of one type"));
            }
        }
    }
    found
}
