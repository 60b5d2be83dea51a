//! Checks a workspace: its output is as compiled, the output folder holds nothing else, and assertions hold.

use bailiwick_compiler::compile::OutputFile;
use bailiwick_policy::model::Target;
use bailiwick_workspace::left_behind::NotJudged;
use bailiwick_workspace::output::beside_targets;
use bailiwick_workspace::target_changes::TargetChanges;
use bailiwick_workspace::{Diagnostics, Error, Workspace, delivery, unclaimed};
use bailiwick_yaml::diag::{Severity, Sink};

use super::classes::{self, ShapeCollector, Spread};
use super::compare::{Base, CompareOptions, CompareRun, Comparison};
use super::loaded_world::{LoadedWorld, WorldOptions, load_target};
use super::test::{DividedChecks, TestChecks, TestEvent, TestRun, names_in_tests, test_checks};
use crate::isolation;

/// The entries of the output folder beside the output.
#[derive(Debug)]
pub struct FolderFindings {
    /// The output files elsewhere that are not judged here.
    pub not_judged: NotJudged,
    found: Sink,
}

/// The result of the assertions about targets.
#[derive(Debug)]
pub struct Assertions {
    /// The entries of the output folder that no policy accounts for, and the isolations of nodes that do not hold.
    pub broken: Diagnostics,
    /// The AccessTests that were run.
    pub tests: TestRun,
}

/// The AccessTests that [`judge_targets`] runs, with the classes of alike namespaces that [`compare_output_folder`] collects: one namespace
/// of each class is compiled for the tests.
pub struct PreparedTests {
    shapes: Option<ShapeCollector>,
}

/// Prepares the AccessTests of targets; all targets without names.
pub fn prepare_tests(workspace: &Workspace, targets: &[String]) -> PreparedTests {
    let is_tested = |target: &&Target| targets.is_empty() || targets.contains(&target.name);
    let tested: Vec<&Target> = workspace.project().workspace.targets.iter().filter(is_tested).collect();
    let has_tests = workspace.shard.is_none() && !names_in_tests(workspace, &tested, &[]).is_empty();
    PreparedTests { shapes: has_tests.then(|| classes::collector(workspace)).flatten() }
}

/// Compares the compiled policies with the output folder, without the effects of the differences. `tests` are the AccessTests that are run
/// afterwards.
///
/// # Errors
/// When no target has one of the names, or the run fails. Invalid policies are reported among the diagnostics.
///
/// # Examples
/// ```
/// # use bailiwick_analysis::compare_output_folder;
/// # use bailiwick_analysis::CompareOptions;
/// # use bailiwick_workspace::{Error, Options, Workspace};
/// # let options = Options::in_folder("../..");
/// # let workspace = Workspace::open(&options)?;
/// let comparison = compare_output_folder(&workspace, &CompareOptions::default(), None)?;
/// assert!(!comparison.is_drift());
/// # Ok::<(), Error>(())
/// ```
pub fn compare_output_folder(
    workspace: &Workspace,
    options: &CompareOptions,
    tests: Option<&PreparedTests>,
) -> Result<Comparison, Error> {
    let mut sink = Sink::new();
    workspace.project().check_terms(&mut sink);
    let mut beside = beside_targets(workspace, &mut sink)?;
    let is_whole = options.targets.is_empty();
    let changes = if is_whole { TargetChanges::of_leftovers(workspace, &beside)? } else { TargetChanges::default() };
    let options = CompareOptions { without_effects: true, ..options.clone() };
    let shapes = tests.and_then(|tests| tests.shapes.as_ref());
    let each_file = |target: &Target, file: &OutputFile| {
        if let Some(shapes) = shapes {
            shapes.add(workspace, &target.name, file);
        }
    };
    let run = CompareRun { workspace, base: &Base::output_folder(), options: &options, each_file: &each_file };
    let mut comparison = run.compare(changes, sink)?;
    beside.unclaimed.absorb(comparison.unclaimed);
    comparison.unclaimed = beside.unclaimed;
    Ok(comparison)
}

/// Judges what a comparison found in the output folder beside the output, and output files elsewhere.
///
/// # Errors
/// When the output folder or the repository cannot be read.
pub fn judge_output_folder(workspace: &Workspace, comparison: &Comparison) -> Result<FolderFindings, Error> {
    let mut found = Sink::new();
    delivery::check_path(workspace, &mut found);
    let not_judged = unclaimed::judge(workspace, &comparison.unclaimed, &mut found)?;
    if let Some(shard) = &workspace.shard {
        shard.note_not_judged(&not_judged);
    }
    Ok(FolderFindings { not_judged, found })
}

/// Judges the isolations of nodes, and runs the AccessTests if there are any.
///
/// # Errors
/// When the objects of a target cannot be read.
pub fn judge_targets(
    workspace: &Workspace,
    targets: &[&Target],
    prepared: Option<&PreparedTests>,
    folder: FolderFindings,
    each: &mut dyn FnMut(TestEvent<'_>),
) -> Result<Assertions, Error> {
    let mut broken = folder.found;
    let mut tests = TestRun::default();
    let spread = match prepared.and_then(|prepared| prepared.shapes.as_ref()) {
        Some(collected) => classes::spread_of(collected, workspace, &names_in_tests(workspace, targets, &[]))?,
        None => Spread::default(),
    };
    for target in targets {
        let with_surroundings = isolation::is_asserted(workspace, target);
        let checks = if prepared.is_some() { test_checks(workspace, target, &[]) } else { TestChecks::default() };
        if !with_surroundings && checks.is_empty() {
            continue;
        }
        let options = WorldOptions { with_surroundings, ..checks.world_options() };
        if with_surroundings {
            let loaded = load_compiled(workspace, target, &options)?;
            isolation::judge(workspace, target, &loaded, &mut broken);
            tests.ask_all(&loaded, &checks, each);
        } else {
            let load = |sampled: &Workspace| load_compiled(sampled, target, &options);
            DividedChecks { workspace, spread: &spread, checks: &checks }.ask(&load, &mut tests, each)?;
        }
    }
    if let Some(shard) = &workspace.shard {
        shard.note_isolation(broken.diagnostics());
    }
    Ok(Assertions { broken: workspace.own_diagnostics(broken), tests })
}

/// Returns the world of a target whose compilation was reported before: only errors are reported.
fn load_compiled(workspace: &Workspace, target: &Target, options: &WorldOptions) -> Result<LoadedWorld, Error> {
    let mut sink = Sink::new();
    let loaded = load_target(workspace, target, options, &mut sink)?;
    loaded.filter(|_| !sink.has_errors()).ok_or_else(|| {
        let mut found = workspace.own_diagnostics(sink);
        found.list.retain(|diagnostic| diagnostic.severity == Severity::Error);
        Error::Invalid(found)
    })
}
