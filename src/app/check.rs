//! Checks a workspace: its output is as compiled, the output folder holds nothing else, and assertions hold.

use std::sync::Arc;

use super::classes::{self, Spread};
use super::compare::{Base, CompareOptions, Comparison};
use super::left_behind::NotJudged;
use super::loaded_world::{LoadedWorld, WorldOptions, load_target};
use super::target_changes::TargetChanges;
use super::test::{DividedChecks, TestChecks, TestEvent, TestRun};
use super::unchecked::{self, PartlyChecked};
use super::workspace::Workspace;
use super::{Diagnostics, Error, delivery, isolation, unclaimed};
use crate::diag::{Severity, Sink};
use crate::model::Target;

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

impl Workspace {
    /// Prepares the AccessTests of targets: the next comparison with the output folder collects the classes of alike namespaces,
    /// so that [`Self::judge_targets`] compiles one namespace of each class.
    pub fn prepare_tests(&mut self, targets: &[String]) {
        let is_tested = |target: &&Target| targets.is_empty() || targets.contains(&target.name);
        let tested: Vec<&Target> = self.project.workspace.targets.iter().filter(is_tested).collect();
        if self.shard.is_none() && !self.names_in_tests(&tested, &[]).is_empty() {
            self.shapes = classes::collector(self).map(Arc::new);
        }
    }

    /// Compares the compiled policies with the output folder, without the effects of the differences.
    ///
    /// # Errors
    /// When no target has one of the names, or the run fails. Invalid policies are reported among the diagnostics.
    ///
    /// # Examples
    /// ```
    /// # use bailiwick::{CompareOptions, Error, Options, Workspace};
    /// # let options = Options::in_folder(env!("CARGO_MANIFEST_DIR"));
    /// # let workspace = Workspace::open(&options)?;
    /// let comparison = workspace.compare_output_folder(&CompareOptions::default())?;
    /// assert!(!comparison.is_drift());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn compare_output_folder(&self, options: &CompareOptions) -> Result<Comparison, Error> {
        let targets = self.targets(&options.targets)?;
        let mut sink = Sink::new();
        self.project.check_terms(&mut sink);
        let mut beside = self.beside_targets(&mut sink)?;
        let is_whole = options.targets.is_empty();
        let changes = if is_whole { TargetChanges::of_leftovers(self, &beside)? } else { TargetChanges::default() };
        let options = CompareOptions { without_effects: true, ..options.clone() };
        let mut comparison = self.compare_with(&Base::output_folder(), &targets, &options, changes, sink)?;
        beside.unclaimed.absorb(comparison.unclaimed);
        comparison.unclaimed = beside.unclaimed;
        Ok(comparison)
    }

    /// Counts the objects of targets that are not checked by every rule of the API server.
    pub fn partly_checked(&self, targets: &[&Target]) -> PartlyChecked {
        unchecked::partly_checked(self, targets)
    }

    /// Judges what a comparison found in the output folder beside the output, and output files elsewhere.
    ///
    /// # Errors
    /// When the output folder or the repository cannot be read.
    pub fn judge_output_folder(&self, comparison: &Comparison) -> Result<FolderFindings, Error> {
        let mut found = Sink::new();
        delivery::check_path(self, &mut found);
        let not_judged = unclaimed::judge(self, &comparison.unclaimed, &mut found)?;
        if let Some(shard) = &self.shard {
            shard.note_not_judged(&not_judged);
        }
        Ok(FolderFindings { not_judged, found })
    }

    /// Judges the isolations of nodes, and runs the AccessTests unless they are left out.
    ///
    /// # Errors
    /// When the objects of a target cannot be read.
    pub fn judge_targets(
        &self,
        targets: &[&Target],
        with_tests: bool,
        folder: FolderFindings,
        each: &mut dyn FnMut(TestEvent<'_>),
    ) -> Result<Assertions, Error> {
        let mut broken = folder.found;
        let mut tests = TestRun::default();
        let spread = match &self.shapes {
            Some(collected) if with_tests => classes::spread_of(collected, self, &self.names_in_tests(targets, &[]))?,
            _ => Spread::default(),
        };
        for target in targets {
            let with_surroundings = isolation::is_asserted(self, target);
            let checks = if with_tests { self.test_checks(target, &[]) } else { TestChecks::default() };
            if !with_surroundings && checks.is_empty() {
                continue;
            }
            let options = WorldOptions { with_surroundings, ..checks.world_options() };
            if with_surroundings {
                let loaded = self.load_compiled(target, &options)?;
                isolation::judge(self, target, &loaded, &mut broken);
                tests.ask_all(&loaded, &checks, each);
            } else {
                let load = |sampled: &Workspace| sampled.load_compiled(target, &options);
                DividedChecks { workspace: self, spread: &spread, checks: &checks }.ask(&load, &mut tests, each)?;
            }
        }
        if let Some(shard) = &self.shard {
            shard.note_isolation(broken.diagnostics());
        }
        Ok(Assertions { broken: self.own_diagnostics(broken), tests })
    }

    /// Returns the world of a target whose compilation was reported before: only errors are reported.
    fn load_compiled(&self, target: &Target, options: &WorldOptions) -> Result<LoadedWorld, Error> {
        let mut sink = Sink::new();
        let loaded = load_target(self, target, options, &mut sink)?;
        loaded.filter(|_| !sink.has_errors()).ok_or_else(|| {
            let mut found = self.own_diagnostics(sink);
            found.list.retain(|diagnostic| diagnostic.severity == Severity::Error);
            Error::Invalid(found)
        })
    }
}
