#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

mod access;
mod accounts;
mod approvable;
mod approvals;
mod assembly;
mod causes;
mod closing;
mod codeowners;
mod findings;
mod ground;
mod hazards;
mod lifetimes;
mod located;
mod members;
#[cfg(test)]
mod memory_tests;
mod nodes;
mod other_policies;
mod paths;
mod pods;
mod policies;
mod policy_users;
mod record;
mod state;
mod suggestion;
mod tests;
mod verdict;

use std::collections::BTreeSet;

use bailiwick_analysis::account_names::AccountNames;
use bailiwick_analysis::classes::{self, OutputCheck, Spread};
use bailiwick_analysis::compare::{Base, CompareOptions, compare, default_world};
use bailiwick_analysis::lint::{Selection, applier_problems, counts_bindings};
pub use bailiwick_analysis::path_step::ReviewedStep;
use bailiwick_base::parallel::both;
pub use bailiwick_policy::model::PowerPattern;
use bailiwick_policy::model::Target;
use bailiwick_workspace::identity_key::IdentityKey;
pub use bailiwick_workspace::review_base::{BaseRevision, ReviewBase, ReviewedBase};
use bailiwick_workspace::review_base::{BaseState, OpenedBase, path_in_repository};
use bailiwick_workspace::{Diagnostics, Error, Options, Workspace, unclaimed};
use bailiwick_yaml::Tree;
use bailiwick_yaml::diag::{Severity, Sink};

use self::access::AccessComparison;
use self::accounts::AccountComparison;
pub use self::approvals::{ApprovableEffect, GainedPermission, have_rules_changed};
use self::assembly::Sections;
use self::causes::InputChanges;
use self::closing::Closing;
pub use self::codeowners::codeowners;
use self::paths::PathComparison;
use self::pods::PodComparison;
pub use self::record::{
    API_VERSION, AcceptedWarning, AccessChange, AccountChanges, ApplierChange, ApprovalState, Cause, CauseKind,
    ChangeCertainty, ChangeReview, ComparedSection, Direction, EffectChange, EffectSeverity, FailedTest,
    FindingChanges, GroundChange, GroundKind, Hazard, HazardKind, LifetimeChange, NeededApproval, NodeChange,
    ObjectChanges, ObjectShape, PathChange, PathChangeKind, PodChange, PodChangeKind, PodWitness, RemovedExpectation,
    ReviewedFinding, ReviewedHead, Scope, Side, SmallerChange, TestChanges, Verdict,
};
use self::state::TargetState;

/// The base, the targets and the approvers of a review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewOptions {
    /// The earlier state.
    pub base: ReviewBase,
    /// The folder of the earlier workspace below the root of the git work tree, if the workspace moved.
    pub base_path: Option<String>,
    /// The names of the targets; all targets without names.
    pub targets: Vec<String>,
    /// The names of those who approved the change.
    pub approved_by: Vec<String>,
    /// Whether every namespace is compiled, and not one of each class of alike namespaces. The review is the same.
    pub without_classes: bool,
}

impl ChangeReview {
    /// Returns the review of a workspace that cannot be opened with these options.
    pub fn invalid(options: &Options, diagnostics: &Diagnostics) -> Self {
        let base = ReviewedBase { name: "none".to_owned(), commit: None };
        let root = Workspace::find_root(options).ok().flatten();
        let below = root.map_or_else(|| ".".to_owned(), |root| path_in_repository(&root));
        assembly::invalid(&below, base, ReviewedHead::default(), diagnostics)
    }
}

/// Reviews the difference between an earlier state of the workspace and this one.
///
/// # Errors
/// When the base is not found, or the run fails. Policies that do not compile are reported in the review.
///
/// # Examples
/// ```no_run
/// # use bailiwick_review::{BaseRevision, ReviewBase, ReviewOptions};
/// # use bailiwick_workspace::{Error, Options, Workspace};
/// # use bailiwick_review::review;
/// let workspace = Workspace::open(&Options::default())?;
/// let base = ReviewBase::Revision(vec![BaseRevision::Named("main".to_owned())]);
/// let review = review(&workspace, &ReviewOptions { base, ..ReviewOptions::default() })?;
/// assert!(review.exit < 2, "{}", review.line);
/// # Ok::<(), Error>(())
/// ```
pub fn review(workspace: &Workspace, options: &ReviewOptions) -> Result<ChangeReview, Error> {
    let base = OpenedBase::open(workspace, &options.base, options.base_path.as_deref())?;
    let check = OutputCheck::new(workspace, &options.targets);
    let mut states = base.workspace().into_iter().chain([workspace]);
    let spread = match options.without_classes || states.any(|state| counts_bindings(state, &Selection::default())) {
        true => Spread::default(),
        false => classes::spread(base.workspace(), workspace, check.as_ref(), &[])?,
    };
    let (head, base) = (workspace.with_sample(spread.sample()), base.with_sample(spread.sample()));
    let below = path_in_repository(workspace.root());
    let inputs = InputChanges::new(base.workspace(), &head, &below);
    let names: Vec<String> = head.targets(&options.targets)?.iter().map(|target| target.name.clone()).collect();
    let mut sections = Sections::new(&head, &base, &inputs, &below, &spread);
    if let Some(invalid) = compare_targets(&head, &names, &base, &inputs, &mut sections)? {
        return Ok(sections.invalid(&invalid));
    }
    if let BaseState::Broken(diagnostics) = &base.state {
        sections.add_broken_base(diagnostics);
    }
    sections.sort_paths();
    let (targets, below) = (&names, &below);
    let closing = Closing { base: &base, head: &head, inputs: &inputs, below, targets, sections: &sections };
    let smaller = closing.find()?;
    sections.add_smaller_changes(smaller);
    compare_objects(&head, &base, options, &mut sections)?;
    if !matches!(base.state, BaseState::Absent) {
        sections.head_state.is_output_current = check.as_ref().map_or(Ok(true), OutputCheck::is_current)?;
    }
    sections.head_state.not_judged = unclaimed::not_judged(workspace)?;
    sections.findings = findings::compare(base.workspace(), &head, &names, &spread, &inputs.path_from_root(""))?;
    Ok(sections.finish(options))
}

/// Compares the states target by target; returns the diagnostics of the reviewed state after an error in it.
fn compare_targets(
    workspace: &Workspace,
    names: &[String],
    base: &OpenedBase,
    inputs: &InputChanges<'_>,
    sections: &mut Sections<'_>,
) -> Result<Option<Diagnostics>, Error> {
    if let Some(before) = base.workspace() {
        sections.lifetimes = lifetimes::compare(before, workspace, inputs);
        let (before, after) = (&before.project().workspace, &workspace.project().workspace);
        sections.hazards.extend(hazards::of_settings(before, after));
    }
    for target in workspace.targets(names)? {
        if let Err(invalid) = review_target(workspace, target, base, inputs, sections)? {
            return Ok(Some(invalid));
        }
    }
    Ok(None)
}

/// Compares the states of a target; the diagnostics of the reviewed state after an error in it.
fn review_target(
    workspace: &Workspace,
    target: &Target,
    base: &OpenedBase,
    inputs: &InputChanges<'_>,
    sections: &mut Sections<'_>,
) -> Result<Result<(), Diagnostics>, Error> {
    let earlier = base.workspace().and_then(|before| {
        let target = before.project().workspace.targets.iter().find(|earlier| earlier.name == target.name)?;
        Some((before, target))
    });
    let [old_members, new_members] = members::changed(earlier.map(|(before, _)| before), workspace, target);
    let load_base = || {
        let mut found = Sink::new();
        let load = |(workspace, target)| TargetState::load(workspace, target, &old_members, &[], &mut found);
        (earlier.map(load).transpose(), found)
    };
    let mut sink = Sink::new();
    let load_head = || TargetState::load(workspace, target, &new_members, &[], &mut sink);
    let ((before, found), head) = both(workspace.options().threads(), load_base, load_head);
    let before = before?.flatten();
    let head = with_staying(workspace, before.as_ref(), head?, sections, &mut sink)?;
    let Some(head) = head else { return Ok(Err(workspace.diagnostics(sink))) };
    if let (Some((workspace, _)), None) = (earlier, &before) {
        sections.add_broken_base(&workspace.diagnostics(found));
    }
    sections.tests.add(before.as_ref(), &head);
    sections.lifetimes.iter_mut().for_each(|lifetime| lifetime.rate(&head));
    let of_base = || before.as_ref().map_or_else(AccountNames::default, TargetState::account_names);
    let (old_names, new_names) = both(workspace.options().threads(), of_base, || head.account_names());
    let names = [&old_names, &new_names];
    let Some(before) = before else {
        review_new_target(&head, inputs, names, sections);
        return Ok(Ok(()));
    };
    let base_world = &before.loaded.world;
    let access = AccessComparison { base: base_world, base_target: before.target, head: &head, inputs, names };
    let mut changes = access.compare();
    sections.ground.extend(ground::compare(&before, &head, inputs, changes.by_default_policy));
    let accounts = AccountComparison::new(&before, &head);
    sections.hazards.extend(hazards::lock_out(&head, &changes.deltas));
    accounts.fold(&mut changes.deltas);
    let (accounts, spread) = (accounts, sections.spread);
    let paths =
        PathComparison { base: Some(&before), base_world, head: &head, inputs, accounts: &accounts, spread, names };
    let paths = paths.compare();
    sections.suggestions.add_target(&before, &head, &paths, &changes.deltas);
    sections.add_paths(paths);
    sections.accounts.absorb(accounts);
    sections.add_access(changes.deltas);
    sections.pods.extend(PodComparison { base: &before, head: &head, inputs }.compare());
    sections.hazards.extend(hazards::of_bindings(&before, &head, spread));
    sections.nodes.extend(nodes::compare(&before, &head));
    sections.applier.extend(compare_appliers(&before, &head, spread)?);
    sections.compared_targets.insert(target.name.clone());
    sections.add_unknown(&before, &head);
    Ok(Ok(()))
}

/// Returns the reviewed state with the objects of the earlier one that Flux never deletes; none after an error.
fn with_staying<'s>(
    workspace: &'s Workspace,
    before: Option<&TargetState<'_>>,
    head: Option<TargetState<'s>>,
    sections: &mut Sections<'_>,
    sink: &mut Sink,
) -> Result<Option<TargetState<'s>>, Error> {
    let (before, head) = match (before, head) {
        (Some(before), Some(head)) => (before, head),
        (_, head) => return Ok(head),
    };
    if before.never_pruned.is_empty() {
        return Ok(Some(head));
    }
    let has = |state: &TargetState<'_>, namespace: &str| {
        state.loaded.world.namespaces().iter().any(|(name, _)| *name == namespace)
    };
    // An object goes with its namespace.
    let goes_with_namespace = |key: &IdentityKey| has(before, key.namespace()) && !has(&head, key.namespace());
    let is_gone = |key: &&IdentityKey| !head.never_pruned.contains_key(key) && !goes_with_namespace(key);
    let may_be_of_flux = before.target.may_be_delivered_by_flux();
    let staying: Vec<&IdentityKey> = before.never_pruned.keys().filter(|_| may_be_of_flux).filter(is_gone).collect();
    if staying.is_empty() {
        return Ok(Some(head));
    }
    let trees: Vec<Tree> = staying.iter().filter_map(|key| before.never_pruned.get(key)).cloned().collect();
    sections.hazards.push(hazards::never_pruned(head.target, &staying));
    Ok(TargetState::load(workspace, head.target, head.members, &trees, sink)?)
}

/// Compares the output of both states.
fn compare_objects(
    workspace: &Workspace,
    base: &OpenedBase,
    options: &ReviewOptions,
    sections: &mut Sections<'_>,
) -> Result<(), Error> {
    if matches!(base.state, BaseState::Absent) {
        return Ok(());
    }
    let against = match base.workspace() {
        Some(earlier) => Base::of_workspace(earlier, &base.against, workspace, &options.targets)?,
        None => Base::open(workspace, Some(&base.against), &options.targets)?,
    };
    let options = CompareOptions {
        targets: options.targets.clone(),
        without_effects: true,
        without_values: true,
        ..CompareOptions::default()
    };
    let comparison = compare(workspace, &against, &options)?;
    let threshold = workspace.project().workspace.mass_recreate_threshold;
    sections.hazards.extend(hazards::of_output(&comparison, threshold, sections.spread));
    sections.add_objects(&comparison);
    Ok(())
}

/// Reviews a target without an earlier state: all access beyond the default policy is new.
fn review_new_target(
    head: &TargetState<'_>,
    inputs: &InputChanges<'_>,
    names: [&AccountNames<'_>; 2],
    sections: &mut Sections<'_>,
) {
    let nothing = default_world(head.target);
    let access = AccessComparison { base: &nothing, base_target: head.target, head, inputs, names };
    sections.add_access(access.compare().deltas);
    let (accounts, spread) = (&AccountComparison::default(), sections.spread);
    let paths = PathComparison { base: None, base_world: &nothing, head, inputs, accounts, spread, names };
    sections.add_paths(paths.compare());
}

/// Compares the objects that the applier of a target may not write.
fn compare_appliers(
    base: &TargetState<'_>,
    head: &TargetState<'_>,
    spread: &Spread<'_>,
) -> Result<Vec<ApplierChange>, Error> {
    let find = |state: &TargetState<'_>| applier_problems(state.workspace, state.target, &state.loaded, spread);
    let (before, after): (BTreeSet<String>, BTreeSet<String>) =
        (find(base)?.into_iter().collect(), find(head)?.into_iter().collect());
    let change =
        |message: &String, is_new| ApplierChange { target: head.target.name.clone(), is_new, message: message.clone() };
    let new = after.difference(&before).map(|message| change(message, true));
    Ok(new.chain(before.difference(&after).map(|message| change(message, false))).collect())
}

/// Returns the errors among diagnostics.
fn errors(diagnostics: &Diagnostics) -> usize {
    diagnostics.list.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}
