//! Changes of the Guard of a target, for a reviewer.

use std::collections::BTreeSet;

use crate::compile::LinkedWorkspace;
use crate::model::{GuardedTarget, Target};

/// Describes the ways in which a change loosens the Guard of a target, one line each.
pub(super) fn of_target(old: &LinkedWorkspace, new: &LinkedWorkspace, target: &Target) -> Vec<String> {
    let guard = |workspace: &'_ LinkedWorkspace| workspace.facts.on::<GuardedTarget>(&target.name).next().cloned();
    let Some(before) = guard(old) else { return Vec::new() };
    let Some(after) = guard(new) else {
        return vec!["its Guard is removed: others can write guarded objects".to_owned()];
    };
    let mut lines = Vec::new();
    if before.denies && !after.denies {
        lines.push("its Guard refuses nothing any more: `validationActions` has no `Deny`".to_owned());
    }
    let gone: Vec<&str> = before.parts.difference(&after.parts).copied().collect();
    if !gone.is_empty() {
        lines.push(format!("its Guard does not guard `{}` any more", gone.join("`, `")));
    }
    lines.extend(added("user", &before.users, &after.users));
    lines.extend(added("group", &before.groups, &after.groups));
    lines
}

/// Describes the names that only the new Guard lets write.
fn added(what: &str, before: &BTreeSet<String>, after: &BTreeSet<String>) -> Vec<String> {
    after.difference(before).map(|name| format!("its Guard lets the {what} {name:?} write guarded objects")).collect()
}
