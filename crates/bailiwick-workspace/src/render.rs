//! Writes the output of a workspace: stages every file, judges what would be deleted, and puts the files into place.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bailiwick_base::stats::Stage;
use bailiwick_compiler::compile::{self, ObjectForm, OutputFile};
use bailiwick_compiler::emit::committed::Folder;
use bailiwick_compiler::emit::objects::Depth;
use bailiwick_compiler::emit::plan::{TargetPlan, object_digests};
use bailiwick_compiler::emit::totals::Totals;
use bailiwick_compiler::emit::write::Stager;
use bailiwick_policy::model::Target;
use bailiwick_yaml::diag::{RunError, Sink};

use super::delivery::{DeliveryObjects, RenderedDelivery, StagedDelivery};
use super::output::{ChangedFile, ComparedTarget, EarlierOutput, beside_targets};
use super::removal::{self, Consent, Loss};
use super::target_changes::TargetChanges;
use super::workspace::{Workspace, part_of_run, target_title, warn_of_recreation};
use super::{Diagnostics, Error, Event, shard_moves};

/// The options of a run that writes the output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderOptions {
    /// The names of the targets to write; all targets without names.
    pub targets: Vec<String>,
    /// The deletions that are accepted.
    pub consent: Consent,
}

/// The compiled files of some targets.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct CompiledFiles {
    /// The diagnostics of the policies. After an error the files are not complete.
    pub diagnostics: Diagnostics,
    /// The files, target by target, in the order of their paths.
    pub files: Vec<CompiledFile>,
}

/// A compiled file of the output.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct CompiledFile {
    /// The name of the target.
    pub target: String,
    /// The path below the folder of the target.
    pub path: String,
    /// The whole content, with the header of generated files.
    pub text: String,
    /// The objects of the file as JSON texts, if they were requested.
    pub objects: Vec<String>,
}

/// Files that are staged beside the output folder, with what becomes of the files that are there.
pub struct StagedOutput<'w> {
    /// The diagnostics of the policies and of the comparison. After an error the output cannot be committed.
    pub diagnostics: Diagnostics,
    workspace: &'w Workspace,
    stager: Stager,
    removed: Vec<String>,
    plans: Vec<(&'w Target, TargetPlan, Totals)>,
    changes: TargetChanges,
    delivered: DeliveryObjects,
    /// The delivery folder; none without one.
    delivery: Option<RenderedDelivery>,
}

/// The output that a run wrote.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct WrittenOutput {
    /// The name of each target, with the shard of the run, and the counts of its files and objects.
    pub targets: Vec<(String, Totals)>,
    /// The targets that are gone, a sentence for each.
    pub target_changes: Vec<String>,
}

impl Workspace {
    /// Compiles targets; `with_objects` asks for the objects as JSON too.
    ///
    /// # Errors
    /// When no target has one of the names, or the run fails. Invalid policies are reported among the diagnostics.
    ///
    /// # Examples
    /// ```
    /// # use bailiwick_workspace::{Error, Options, Workspace};
    /// # let options = Options::in_folder("../..");
    /// # let workspace = Workspace::open(&options)?;
    /// let compiled = workspace.compile(&["modern".to_owned()], false)?;
    /// assert!(!compiled.diagnostics.has_errors());
    /// assert!(compiled.files.iter().any(|file| file.text.contains("kind: RoleBinding")));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn compile(&self, targets: &[String], with_objects: bool) -> Result<CompiledFiles, Error> {
        let mut files = Vec::new();
        let diagnostics = self.each_compiled_file(targets, with_objects, &mut |file| files.push(file))?;
        Ok(CompiledFiles { diagnostics, files })
    }

    /// Compiles targets as [`Workspace::compile`] does, and calls a function with each file in the order of the targets and the paths.
    ///
    /// # Errors
    /// As with [`Workspace::compile`].
    pub fn each_compiled_file(
        &self,
        targets: &[String],
        with_objects: bool,
        each: &mut dyn FnMut(CompiledFile),
    ) -> Result<Diagnostics, Error> {
        let wanted = if with_objects { ObjectForm::Json } else { ObjectForm::Text };
        let mut sink = Sink::new();
        self.project.check_terms(&mut sink);
        for target in self.targets(targets)? {
            let mut found = Sink::new();
            let one = |file: OutputFile| Ok(file);
            let mut give = |file: OutputFile| {
                let OutputFile { path, text, json: objects, .. } = file;
                each(CompiledFile { target: target.name.clone(), path, text, objects });
            };
            let options = compile::CompileOptions { wanted, part: part_of_run(self), ..self.compiler() };
            self.compile_part(target, options, &one, &mut give, &mut found)?;
            sink.absorb(found);
        }
        Ok(self.diagnostics(sink))
    }

    /// Compiles targets and stages the files that differ from the output folder.
    ///
    /// # Errors
    /// When no target has one of the names, or the run fails. Invalid policies are reported among the diagnostics.
    ///
    /// # Examples
    /// ```no_run
    /// # use bailiwick_workspace::{Error, Options, RenderOptions, Workspace};
    /// # let options = Options::in_folder("../..");
    /// # let workspace = Workspace::open(&options)?;
    /// let staged = workspace.stage_output(&RenderOptions::default())?;
    /// let written = staged.commit()?;
    /// assert!(!written.targets.is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stage_output(&self, options: &RenderOptions) -> Result<StagedOutput<'_>, Error> {
        let targets = self.targets(&options.targets)?;
        let folder = &self.project.workspace.output;
        let stager = Stager::open(&self.root, folder, &|| self.options.tell(Event::Waiting))?;
        let mut sink = Sink::new();
        self.project.check_terms(&mut sink);
        let mut refused = Sink::new();
        let beside = beside_targets(self, &mut sink)?;
        let is_whole = options.targets.is_empty();
        let mut changes = if is_whole { TargetChanges::of_leftovers(self, &beside)? } else { TargetChanges::default() };
        // Another part may have removed them already.
        if self.shard.is_some() && !options.consent.remove_target.is_empty() {
            changes.ask_for_objects();
        }
        let mut output = StagedOutput {
            diagnostics: Diagnostics::default(),
            workspace: self,
            stager,
            removed: Vec::new(),
            plans: Vec::new(),
            changes,
            delivered: DeliveryObjects::new(is_whole),
            delivery: None,
        };
        for target in targets {
            let loss = output.stage_target(target, &mut sink)?;
            let Some((_, plan, totals)) = output.plans.last() else { continue };
            if !sink.has_errors() {
                removal::refuse(target, totals, loss, &options.consent, &mut refused);
                shard_moves::refuse(self, target, plan, &mut refused)?;
            }
            warn_of_recreation(self, target, totals, &mut sink);
        }
        if is_whole {
            if !sink.has_errors() {
                output.changes.refuse(folder, &options.consent, &mut refused);
            }
            output.removed.extend(beside.leftovers.changes.iter().map(|file| file.path.clone()));
        }
        output.stage_delivery(&mut sink)?;
        sink.absorb(refused);
        output.diagnostics = self.diagnostics(sink);
        Ok(output)
    }
}

impl<'w> StagedOutput<'w> {
    /// Stages the delivery objects of the targets. The first part of a run writes what concerns all parts.
    fn stage_delivery(&mut self, sink: &mut Sink) -> Result<(), RunError> {
        let Self { workspace, delivered, delivery, .. } = self;
        if !sink.has_errors() && part_of_run(workspace).is_none_or(|part| part.is_first()) {
            *delivery = workspace.stage_delivery(delivered, sink)?;
            if let (Some(delivery), Some(shard)) = (delivery, &workspace.shard) {
                shard.note_delivery(&delivery.totals(), None);
            }
        }
        Ok(())
    }

    /// Compiles a target, stages the files that differ, and returns what is lost.
    fn stage_target(&mut self, target: &'w Target, sink: &mut Sink) -> Result<Loss, RunError> {
        let Self { workspace, stager, removed, plans, changes, delivered, .. } = self;
        let committed = Folder::new(workspace.output().join(&target.name));
        let created = Mutex::new(BTreeSet::new());
        let stage = |found: &ChangedFile<'_>| {
            if let (Some(file), None, true) = (found.file, found.old, changes.asks_for_objects()) {
                created.lock().unwrap_or_else(PoisonError::into_inner).extend(object_digests(&file.text));
            }
            let stage = |file: &OutputFile| {
                stager.stage(&format!("{}/{}", target.name, file.path), &file.text, found.old.is_some())
            };
            found.file.map_or(Ok(()), stage)
        };
        let earlier = EarlierOutput { committed: &committed, depth: Depth::Plan, each_file: &|_, _| {} };
        let compared = workspace.compare_output(target, earlier, &stage, &mut |()| (), sink)?;
        let ComparedTarget { plan, has_cluster, .. } = compared;
        delivered.add(&workspace.project, target, has_cluster);
        let totals = Totals::from_plan(&plan);
        if totals.is_new() {
            changes.add_new(workspace, &target.name, created.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        let loss = match part_of_run(workspace) {
            Some(_) => Loss::of_part(workspace, target, &committed, &plan)?,
            None => Loss::of(&totals),
        };
        removed.extend(plan.deleted().map(|path| format!("{}/{path}", target.name)));
        plans.push((target, plan, totals));
        Ok(loss)
    }

    /// Returns the diagnostics for a caller that reports them before the output is committed.
    pub fn take_diagnostics(&mut self) -> Diagnostics {
        std::mem::take(&mut self.diagnostics)
    }

    /// Puts the staged files into place, and removes the files that no policy makes.
    ///
    /// # Errors
    /// When one of the diagnostics is an error, a file is read-only, the run fails, or the process has an internal error.
    pub fn commit(self) -> Result<WrittenOutput, Error> {
        Error::check_internal()?;
        let Self { diagnostics, workspace, stager, removed, plans, changes, mut delivery, .. } = self;
        diagnostics.checked()?;
        for (target, plan, _) in &plans {
            refuse_read_only(&workspace.output().join(&target.name), plan)?;
        }
        if let Some(delivery) = &delivery {
            refuse_read_only(&workspace.root.join(&delivery.title), &delivery.plan)?;
        }
        let staged_delivery = delivery.as_mut().and_then(|delivery| delivery.staged.take());
        let files = stager.count();
        workspace.options.stats.time(Stage::Commit, || stager.commit(&removed), |_| (files, 0))?;
        staged_delivery.map_or(Ok(()), StagedDelivery::commit)?;
        let of_targets = plans.into_iter().map(|(target, _, totals)| (target_title(workspace, target), totals));
        let of_delivery = delivery.into_iter().map(|delivery| (delivery.title.clone(), delivery.totals()));
        Ok(WrittenOutput {
            targets: of_targets.chain(of_delivery).collect(),
            target_changes: changes.sentences(&workspace.project.workspace.output, false),
        })
    }
}

/// Refuses to replace a file whose mode forbids writing: its owner protects it, and a rename would succeed.
fn refuse_read_only(folder: &Path, plan: &TargetPlan) -> Result<(), RunError> {
    let is_read_only =
        |path: &String| std::fs::metadata(folder.join(path)).is_ok_and(|metadata| metadata.permissions().readonly());
    if let Some(path) = plan.changed().chain(plan.deleted()).filter(is_read_only).min() {
        let place = folder.join(path);
        return Err(RunError::new(format!("cannot replace `{}`: the file is read-only", place.display()))
            .help("make it writable and run the same command again; nothing was written"));
    }
    Ok(())
}
