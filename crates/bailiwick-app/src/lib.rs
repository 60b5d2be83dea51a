#![doc = include_str!("../README.md")]
//!
//! # Functions
//!
//! - [`Workspace`]: [`open`](Workspace::open), [`compile`](Workspace::compile), [`stage_output`](Workspace::stage_output)
//! - Functions of a workspace: [`compare()`], [`lint()`], [`review()`], [`run_tests`], [`drift()`], [`access_map()`], [`merge`]
//! - [`LoadedWorld`]: [`from_target`](LoadedWorld::from_target), [`from_manifests`](LoadedWorld::from_manifests),
//!   [`from_index`](LoadedWorld::from_index), [`can_i`](LoadedWorld::can_i), [`who_can`](LoadedWorld::who_can)
//! - [`lint_manifests`], [`migrate_psp`]

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod access_map;
mod account_names;
mod audit;
mod can_i;
mod check;
mod classes;
mod compare;
pub(crate) mod delivery;
mod diagnostics;
mod drift;
mod editor;
mod expire;
mod explain;
pub mod file_format;
pub mod fingerprint;
mod function;
mod import;
mod isolation;
mod judged_files;
mod judged_tree;
mod kept_files;
mod left_behind;
mod lint;
pub(crate) mod loaded_world;
pub mod manual;
mod memberships;
mod migrate;
mod namespace;
mod node_reach;
mod object_key;
mod output;
mod pack;
mod parts;
mod pod_inputs;
mod proof;
pub mod psp_policies;
mod question;
mod removal;
mod render;
pub mod review;
mod shard_moves;
pub mod stacks;
mod steered;
pub mod subject_classes;
mod target_changes;
mod test;
mod unchecked;
mod unclaimed;
mod who_can;
pub mod words;
pub mod workspace;
mod workspace_files;
mod workspaces_below;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bailiwick_base::stats::Stats;
use bailiwick_compiler::compile;
use bailiwick_policy::model::Date;
use bailiwick_policy::source::InputFiles;
use bailiwick_yaml::diag::{Diagnostic, RunError, Severity};
use bailiwick_yaml::internal::{self, InternalError};

pub use access_map::{access_map, map_manifests};
pub use audit::{
    AuditOptions, AuditSummary, DeniedRequest, LeastGrants, LeastOptions, LeastProof, LeastSet, LeftOutSubject,
    LostRights, NeededGrant, UnobservableRights, UnusedRights, UsedBinding, least_grants,
};
pub use can_i::{AdmissionOptions, CanI, CanIOptions, NodeDecision};
pub use check::{
    Assertions, FolderFindings, PreparedTests, compare_output_folder, judge_output_folder, judge_targets, prepare_tests,
};
pub use compare::{
    AccessEffect, Base, ChangedPodSecurityPolicy, CompareOptions, Comparison, DescribedBase, TargetComparison,
    TargetDifferences, changes_beside_output, compare,
};
pub use diagnostics::{Diagnostics, FindingRecord, RelatedRange, SourceRange};
pub use drift::{
    AccessDifference, Drift, DriftClass, DriftFinding, DriftOptions, DriftOutcome, drift, resources_to_dump,
};
pub use editor::{Completion, Correction, DefinitionPlace, EditorWorkspace, Hover, HoverText, editor_findings};
pub use expire::{MovedDay, expire};
pub use explain::{
    DefaultPolicy, ExplainedFile, ExplainedObject, FileState, ObjectIdentity, ObjectName, PolicyName, RoleSearch,
    explain_file, find_role,
};
pub use function::{FunctionOptions, FunctionOutcome, ResourceList, Validation, run_function, test_manifests};
pub use import::{AccessComparison, Import, ImportOptions, ImportSource, ImportedTarget, ListedObject, import};
pub use judged_files::JudgedTree;
pub use judged_files::{TreeOptions, is_in_repository, is_in_work_tree};
pub use left_behind::NotJudged;
pub use lint::{
    AcceptedFinding, FindingChange, LintOptions, LintReport, Selection, Unanswered, lint, lint_change, lint_manifests,
};
pub use loaded_world::{LoadedWorld, WorldOptions};
pub use manual::ManualPage;
pub use memberships::Membership;
pub use migrate::{
    ConstraintsVerification, KubeletInventory, MovingTarget, PodDump, PodRejection, PodVerification,
    PodVerificationOptions, PspMigration, PspMigrationOptions, RefusedPods, ShardMigration, ShardStep, migrate_psp,
    shard_migration, verify_pods,
};
pub use namespace::{
    AppliedProfile, NamespaceRules, NamespaceSearch, SyncedRules, UsablePolicy, explain_namespace, limited_constraints,
};
pub use node_reach::{
    DeclaredNodes, NodeReach, NodeReachAnswer, NodeReachOptions, NodeSummary, PoolNodes, ReachedAccount, ReachedObject,
    SecretPath, declared_nodes,
};
pub use pack::{PackOptions, Packed, pack};
pub use parts::{Command as ShardCommand, MergeOptions, Merged, Shard, merge};
pub use question::RequestOptions;
pub use removal::Consent;
pub use render::{CompiledFile, CompiledFiles, RenderOptions, StagedOutput, WrittenOutput};
pub use review::{codeowners, review};
pub use stacks::{ManagerReport, StackReport, StacksReport, stacks_report};
pub use test::{
    FailedQuestion, ReachedByTest, TestChecks, TestEvent, TestOptions, TestRun, TestedWorkspace, access_tests,
    run_tests, test_checks, test_names,
};
pub use unchecked::{PartlyChecked, partly_checked};
pub use who_can::{AllowedSubject, AllowedSubjects, RequestHolders};
pub use workspace::{Workspace, target_names};
pub use workspaces_below::FoundWorkspace;

/// The options of a run.
#[derive(Clone, Default)]
pub struct Options {
    /// The folder in which the run starts. Relative paths begin here. Default: the current folder.
    pub directory: Option<PathBuf>,
    /// The files that the other options name, and the workspace. Default: the files of the system.
    pub inputs: InputFiles,
    /// The number of threads. Default: one for each core.
    pub jobs: Option<usize>,
    /// The day on which grants are judged as expired. Without it no grant is reported as expired.
    pub today: Option<Date>,
    /// The measurements of the run.
    pub stats: Arc<Stats>,
    /// The function that is called with each event of the run.
    pub listener: Option<Listener>,
}

/// A function that is called with the events of a run.
pub type Listener = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// An event of a run that takes long.
#[derive(Debug, Clone, Copy)]
pub enum Event<'e> {
    /// Some output files of a target are compiled.
    Compiling {
        /// The name of the target.
        target: &'e str,
        /// How many files are compiled.
        done: usize,
        /// How many files the target has.
        total: usize,
    },
    /// All output files of a target are compiled.
    Compiled,
    /// The run waits for another run that writes the output.
    Waiting,
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directory, inputs: _, jobs, today, stats: _, listener: _ } = self;
        formatter
            .debug_struct("Options")
            .field("directory", directory)
            .field("jobs", jobs)
            .field("today", today)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Returns the options of a run that starts in a folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { directory: Some(folder.into()), ..Self::default() }
    }

    /// Returns a path as seen from the folder in which the run starts.
    pub fn at(&self, path: &Path) -> PathBuf {
        self.directory.as_ref().map_or_else(|| path.to_owned(), |start| start.join(path))
    }

    /// Returns the path of an input as [`Options::at`] does; `-` is standard input.
    pub fn input_at(&self, path: &Path) -> PathBuf {
        if path.as_os_str() == "-" { path.to_owned() } else { self.at(path) }
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        // To count the cores, the system's limits are read from files.
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = || *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
        // There is one thread in a browser, whatever the options want.
        if cfg!(target_family = "wasm") { 1 } else { self.jobs.unwrap_or_else(cores) }
    }

    /// Returns the options of the compiler.
    pub(crate) fn compiler(&self) -> compile::CompileOptions<'_> {
        compile::CompileOptions::new(self.threads(), &self.stats)
    }

    /// Calls the listener.
    pub(crate) fn tell(&self, event: Event<'_>) {
        if let Some(listener) = &self.listener {
            listener(event);
        }
    }
}

/// The reason why a function of this layer has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is invalid.
    #[error("{}", first_message(.0))]
    Invalid(Diagnostics),
    /// The run failed: disk, permissions, git.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An invariant of the program does not hold: a bug. No result of the process can be trusted.
    #[error("internal error, please report it: {0}")]
    Internal(InternalError),
}

impl Error {
    /// Checks that the process has no internal error so far.
    ///
    /// # Errors
    /// [`Error::Internal`] with the first one.
    pub fn check_internal() -> Result<(), Self> {
        internal::first().map_or(Ok(()), |error| Err(Self::Internal(error)))
    }

    /// Returns the error of an input that one diagnostic without a place describes.
    pub fn invalid(diagnostic: Diagnostic) -> Self {
        Self::Invalid(Diagnostics { list: vec![diagnostic], files: Arc::default() })
    }
}

fn first_message(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics.list.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let more = errors.clone().count().saturating_sub(1);
    let first = errors.map(|error| error.message.as_str()).next().unwrap_or("the input is invalid");
    if more > 0 { format!("{first} (and {})", words::number(more, "more error")) } else { first.to_owned() }
}
