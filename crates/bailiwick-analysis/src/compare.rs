//! Compares the compiled policies with earlier output: the files, and what the differences mean for access and for pods.

mod alike;
mod base;
mod compiled;
mod delivery_settings;
mod earlier;
mod effect;
mod gate;
mod meaning;
mod record;
pub mod settings_of_workspace;
mod whole;

use std::collections::BTreeSet;
use std::sync::Mutex;

use bailiwick_access::compare::Change;
use bailiwick_base::parallel::locked;
use bailiwick_compiler::emit::diff::unified;
use bailiwick_compiler::emit::group::Groups;
use bailiwick_compiler::emit::objects::{ChangeSignature, Depth};
use bailiwick_compiler::emit::plan::{Counts, object_digests};
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_crossplane::upgrade::Upgrade;
use bailiwick_policy::model::Target;
use bailiwick_workspace::delivery::{DeliveryChange, DeliveryDiff, DeliveryObjects, compare_delivery};
use bailiwick_workspace::folded::{folded, folded_without_values};
use bailiwick_workspace::output::{ChangedFile, ComparedTarget, EachFile, EarlierOutput};
use bailiwick_workspace::part_files::{MAXIMUM_DIFF, PartFiles};
use bailiwick_workspace::target_changes::TargetChanges;
use bailiwick_workspace::unclaimed::Unclaimed;
use bailiwick_workspace::workspace::{further_files, part_of_run, target_title, warn_of_recreation};
use bailiwick_workspace::{Diagnostics, Error, Workspace};
use bailiwick_yaml::diag::{RunError, Sink};
use schemars::JsonSchema;
use serde::Serialize;

pub use self::base::{Base, DescribedBase};
use self::effect::{Effect, Rules, Ways};
use self::meaning::{Effects, Known, Meaning, StackNames};
pub use self::record::{ChangedPodSecurityPolicy, TargetDifferences};
pub use self::whole::{default_world, take_components};

/// The options of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompareOptions {
    /// The names of the targets to compare; all targets without names.
    pub targets: Vec<String>,
    /// Whether the differences of the files are left out.
    pub without_text: bool,
    /// Whether every file is shown whole, also files that change in the same way as others.
    pub ungrouped: bool,
    /// Whether the effects of the differences on access and on pods are left out.
    pub without_effects: bool,
    /// Whether the values in which files of one shape differ are left out.
    pub without_values: bool,
}

/// The differences between the compiled policies and earlier output.
pub struct Comparison {
    /// The diagnostics of the policies and of the comparison. After an error the comparison is not complete.
    pub diagnostics: Diagnostics,
    /// The differences of each target.
    pub targets: Vec<TargetComparison>,
    /// How many files are left out of the differences.
    pub left_out: usize,
    /// The targets that only one side has.
    pub changes: TargetChanges,
    /// The entries of the output folder that no policy accounts for.
    pub(crate) unclaimed: Unclaimed,
}

/// The differences of a target.
pub struct TargetComparison {
    /// The name of the target.
    pub target: String,
    /// The name, with the shard of the run.
    pub title: String,
    /// The counts of files and objects.
    pub totals: Totals,
    /// The differences of the files as unified diffs.
    pub diff: String,
    /// The effect of the differences on access; none without differences.
    pub access: Option<AccessEffect>,
    /// The PodSecurityPolicies that change, with what each change means.
    pub pod_security_policies: Vec<ChangedPodSecurityPolicy>,
    /// The stacks that get a new version.
    pub upgrades: Vec<Upgrade>,
}

/// The effect of differences on access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum AccessEffect {
    /// The old baseline cannot be read.
    Unknown,
    /// Both sides were evaluated; the lists are empty if no permission changes.
    Known {
        /// The permissions that subjects gain and lose.
        changes: Vec<Change>,
        /// The components of the cluster whose access changes with the default policy.
        components: BTreeSet<String>,
    },
}

/// A file that differs.
struct Difference {
    /// The path below the folder of the target.
    below: String,
    /// The shown path.
    path: String,
    is_gone: bool,
    way: Option<ChangeSignature>,
    text: String,
    meaning: Meaning,
    rules: Option<Rules>,
}

impl Comparison {
    /// Whether an output file or a target differs.
    pub fn is_drift(&self) -> bool {
        self.targets.iter().any(|target| target.totals.is_drift()) || self.changes.has_gone()
    }

    /// Returns the number of objects by their difference for each target, also for targets that are gone.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        let gone = self.changes.gone().map(|(target, totals)| (target, totals.counts));
        self.targets.iter().map(|target| (target.target.as_str(), target.totals.counts)).chain(gone)
    }

    /// Names the targets that only one side has, a sentence for each; `output` is the path of the output folder.
    pub fn target_changes(&self, output: &str, with_new: bool) -> Vec<String> {
        self.changes.sentences(output, with_new)
    }
}

/// Compiles the policies and compares them with earlier output.
///
/// # Errors
/// When no target has one of the names, or the run fails. Invalid policies are reported among the diagnostics.
///
/// # Examples
/// ```
/// # use bailiwick_analysis::{Base, CompareOptions, compare};
/// # use bailiwick_workspace::{Error, Options, Workspace};
/// # let options = Options::in_folder("../..");
/// # let workspace = Workspace::open(&options)?;
/// let comparison = compare(&workspace, &Base::output_folder(), &CompareOptions::default())?;
/// assert!(!comparison.is_drift(), "the output of this repository is up to date");
/// # Ok::<(), Error>(())
/// ```
pub fn compare(workspace: &Workspace, base: &Base, options: &CompareOptions) -> Result<Comparison, Error> {
    let mut sink = Sink::new();
    base.problem().into_iter().for_each(|problem| sink.push(problem));
    let changes = if options.targets.is_empty() { base.gone(workspace)? } else { TargetChanges::default() };
    CompareRun { workspace, base, options, each_file: &|_, _| {} }.compare(changes, sink)
}

/// Returns what changed since a base beside the output, a sentence for each: what decides how policies are checked, and
/// inputs that decide access and are not written.
///
/// # Errors
/// When the base cannot be read.
pub fn changes_beside_output(workspace: &Workspace, base: &Base) -> Result<Vec<String>, Error> {
    Ok(base.changes(workspace)?)
}

/// Returns a list for the differing files of a target that a merge groups; none where no merge prints differences.
fn part_files(workspace: &Workspace, options: &CompareOptions) -> Option<PartFiles> {
    workspace.shard.as_ref().filter(|_| !options.without_text)?.part_files()
}

/// Notes the differing files of a target for the merge.
fn note_part_files(workspace: &Workspace, target: &Target, files: Option<PartFiles>) {
    if let Some((shard, files)) = workspace.shard.as_ref().zip(files) {
        shard.note_files(&target.name, files);
    }
}

/// A comparison of a workspace with earlier output.
pub(crate) struct CompareRun<'r> {
    pub(crate) workspace: &'r Workspace,
    pub(crate) base: &'r Base,
    pub(crate) options: &'r CompareOptions,
    /// The function that is called with each compiled file.
    pub(crate) each_file: EachFile<'r>,
}

impl CompareRun<'_> {
    /// Compares the targets of the options and the delivery folder. `changes` are the targets that only one side has.
    ///
    /// # Errors
    /// As [`compare`].
    pub(crate) fn compare(self, mut changes: TargetChanges, mut sink: Sink) -> Result<Comparison, Error> {
        let Self { workspace, base, options, each_file } = self;
        let mut compared: Vec<TargetComparison> = Vec::new();
        let (mut length, mut left_out) = (0, 0);
        let mut unclaimed = Unclaimed::default();
        let mut delivered = DeliveryObjects::new(options.targets.is_empty());
        for target in workspace.targets(&options.targets)? {
            let room = MAXIMUM_DIFF.saturating_sub(length);
            let one =
                TargetRun { workspace, base, target, options, each_file, room }.compare(&mut changes, &mut sink)?;
            unclaimed.absorb(one.unclaimed);
            length += one.comparison.diff.len();
            left_out += one.left_out;
            compared.push(one.comparison);
            delivered.add(workspace.project(), target, one.has_cluster);
        }
        // The first part of a run judges what concerns all parts.
        if part_of_run(workspace).is_none_or(|part| part.is_first()) {
            let room = MAXIMUM_DIFF.saturating_sub(length);
            let run = DeliveryRun { workspace, base, options, room };
            if let Some(one) = run.compare(&delivered, &mut sink)? {
                unclaimed.absorb(one.unclaimed);
                left_out += one.left_out;
                compared.push(one.comparison);
            }
        }
        Ok(Comparison { diagnostics: workspace.diagnostics(sink), targets: compared, left_out, changes, unclaimed })
    }
}

/// The comparison of one target.
struct TargetRun<'r> {
    workspace: &'r Workspace,
    base: &'r Base,
    target: &'r Target,
    options: &'r CompareOptions,
    each_file: EachFile<'r>,
    /// How many bytes of differences are kept.
    room: usize,
}

/// The result of the comparison of one target.
struct Compared {
    comparison: TargetComparison,
    left_out: usize,
    unclaimed: Unclaimed,
    /// Whether the output has cluster-scoped objects in files of their own.
    has_cluster: bool,
}

impl TargetRun<'_> {
    fn compare(self, changes: &mut TargetChanges, sink: &mut Sink) -> Result<Compared, RunError> {
        let Self { workspace, base, target, options, each_file, room } = self;
        let committed = base.output(workspace, Some(target));
        let output = &workspace.project().workspace.output;
        let stacks = StackNames::of(workspace, target);
        let (known, ways) = (Known::default(), Ways::default());
        let created = Mutex::new(BTreeSet::new());
        let difference = |found: &ChangedFile<'_>| {
            if let (Some(file), None, true) = (found.file, found.old, changes.asks_for_objects()) {
                locked(&created).extend(object_digests(&file.text));
            }
            if found.change.plan.is_renewal {
                return Ok(None);
            }
            let has_effects = !options.without_effects;
            let meaning = if has_effects { Meaning::of(found, &stacks, &known) } else { Meaning::default() };
            let way = found.change.way.clone().filter(|_| !options.ungrouped);
            let path = format!("{output}/{}/{}", target.name, found.change.plan.path);
            let is_shown = !options.without_text && Groups::needs_text(way.as_ref());
            let text = if is_shown { text_of(&path, found) } else { String::new() };
            let rules = if has_effects { Rules::of(found, &ways) } else { None };
            let (below, is_gone) = (found.change.plan.path.clone(), found.file.is_none());
            Ok(Some(Difference { below, path, is_gone, way, text, meaning, rules }))
        };
        let (mut groups, mut of_part) = (Groups::new(room), part_files(workspace, options));
        let mut changed = Meaning::default();
        let mut effect = Effect::new(workspace, target);
        let mut each = |difference: Option<Difference>| {
            let Some(Difference { below, path, is_gone, way, text, meaning, rules }) = difference else { return };
            of_part.iter_mut().for_each(|files| files.add(&below, is_gone, way.as_ref(), &text));
            groups.add_with_further(&path, way, text, &further_files(workspace, target, &below));
            changed.add(meaning);
            rules.into_iter().for_each(|rules| effect.add(rules));
        };
        let earlier = EarlierOutput { committed: &*committed, depth: Depth::Objects, each_file };
        let compared = workspace.compare_output(target, earlier, &difference, &mut each, sink)?;
        let ComparedTarget { plan, unclaimed, has_cluster, .. } = compared;
        note_part_files(workspace, target, of_part);
        let totals = Totals::from_plan(&plan);
        if base.is_new(target, &totals) {
            changes.add_new(workspace, &target.name, std::mem::take(&mut *locked(&created)));
        }
        warn_of_recreation(workspace, target, &totals, sink);
        let describe = if options.without_values { folded_without_values } else { folded };
        let (diff, left_out) = if options.without_text { (String::new(), 0) } else { groups.finish(describe) };
        let access = if options.without_effects || sink.has_errors() {
            None
        } else if let Some(whole) = base.whole_effect(workspace, target)? {
            Some(whole)
        } else if plan.is_drift() {
            let changes = effect.finish(&*committed)?;
            changes.map(|changes| AccessEffect::Known { changes, components: BTreeSet::new() })
        } else {
            None
        };
        let Effects { pod_security_policies, upgrades } = changed.finish(workspace, target, &*committed)?;
        let (title, target) = (target_title(workspace, target), target.name.clone());
        let comparison = TargetComparison { target, title, totals, diff, access, pod_security_policies, upgrades };
        Ok(Compared { comparison, left_out, unclaimed, has_cluster })
    }
}

/// The comparison of the delivery folder.
struct DeliveryRun<'r> {
    workspace: &'r Workspace,
    base: &'r Base,
    options: &'r CompareOptions,
    /// How many bytes of differences are kept.
    room: usize,
}

impl DeliveryRun<'_> {
    /// Compares the delivery objects of the run; none if neither side has any. The title of the result is the folder.
    fn compare(self, delivered: &DeliveryObjects, sink: &mut Sink) -> Result<Option<Compared>, RunError> {
        let Self { workspace, base, options, room } = self;
        let Some(committed) = base.delivery(workspace)? else { return Ok(None) };
        let folder = workspace.project().workspace.delivery.as_ref().map_or("delivery", |delivery| &delivery.folder);
        let mut diff = DeliveryDiff::new(folder, room, part_files(workspace, options));
        let mut each = |change: DeliveryChange<'_>| {
            if !options.without_text {
                diff.add(&change, !options.ungrouped);
            }
            Ok(())
        };
        let compared = compare_delivery(workspace, delivered, &*committed, &mut each, sink)?;
        let describe = if options.without_values { folded_without_values } else { folded };
        let files = diff.take_part_files();
        let (diff, left_out) = diff.finish(describe);
        let totals = Totals::from_plan(&compared.plan);
        if let Some(shard) = &workspace.shard {
            shard.note_delivery(&totals, files);
        }
        let name = format!("{folder}/");
        let comparison = TargetComparison {
            title: name.clone(),
            target: name,
            totals,
            diff,
            access: None,
            pod_security_policies: Vec::new(),
            upgrades: Vec::new(),
        };
        let unclaimed = Unclaimed::of_delivery(compared.empty);
        Ok(Some(Compared { comparison, left_out, unclaimed, has_cluster: false }))
    }
}

/// Returns the difference of a file as a unified diff.
fn text_of(path: &str, found: &ChangedFile<'_>) -> String {
    let old = found.old.map(String::from_utf8_lossy);
    unified(path, old.as_deref(), found.file.map(|file| &*file.text))
}

mod guard_settings {
    //! Changes of the Guard of a target, for a reviewer.

    use std::collections::BTreeSet;

    use bailiwick_compiler::compile::LinkedWorkspace;
    use bailiwick_policy::model::{GuardedTarget, Target};
    use bailiwick_yaml::diag::foreign;

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
        after
            .difference(before)
            .map(|name| format!("its Guard lets the {what} `{}` write guarded objects", foreign::line(name)))
            .collect()
    }
}
