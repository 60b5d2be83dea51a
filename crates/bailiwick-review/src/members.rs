//! The members of groups, which GroupSets and Group objects list. A user with other groups has the bindings of the groups in both states,
//! so that the comparisons of access and of paths see the user. This module has everything else that decides by groups.

use std::collections::BTreeSet;

use bailiwick_analysis::memberships::{MembersByGroup, Memberships};
use bailiwick_policy::model::Target;
use bailiwick_workspace::Workspace;

use super::state::TargetState;

/// Returns the users whose groups differ, in both states; none for a target without an earlier state.
pub(super) fn changed(base: Option<&Workspace>, head: &Workspace, target: &Target) -> [MembersByGroup; 2] {
    let of = |workspace: &Workspace| Memberships::on(&workspace.project().facts, &target.name);
    base.map_or_else(Default::default, |base| of(base).differing(&of(head)))
}

/// Returns what is unknown about the members of groups: groups of objects beside GroupSets and Manifests, and members of too many
/// groups.
pub(super) fn unknown(base: &TargetState<'_>, head: &TargetState<'_>) -> Vec<String> {
    let names = base.groups.keys().chain(head.groups.keys()).collect::<BTreeSet<&String>>();
    let differs = |name: &&&String| base.groups.get(**name) != head.groups.get(**name);
    let is_unknown = |name: &&&String| {
        [base, head].iter().any(|state| {
            let written: BTreeSet<&str> = state.groups.get(**name).into_iter().flatten().map(String::as_str).collect();
            written != state.loaded.memberships.members_of(name)
        })
    };
    let unknown = names.iter().filter(differs).filter(is_unknown).map(|name| format!("the members of Group/{name}"));
    let too_many = base.loaded.lacks_members || head.loaded.lacks_members;
    unknown.chain(too_many.then(|| "the bindings of the new members of groups".to_owned())).collect()
}

/// Returns the admission policies that read the groups of a user, if a user has other groups.
pub(super) fn readers(base: &TargetState<'_>, head: &TargetState<'_>) -> BTreeSet<String> {
    if base.members.is_empty() && head.members.is_empty() {
        return BTreeSet::new();
    }
    let policies = base.admission_policies.iter().chain(&head.admission_policies);
    let reads = |json: &serde_json::Value| {
        let text = json.to_string();
        text.contains("userInfo") || text.contains("authorizer")
    };
    policies.filter(|(_, json)| reads(json)).map(|(key, _)| format!("{key} for users with other groups")).collect()
}
