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
mod error;
mod expire;
mod explain;
pub mod file_format;
pub mod fingerprint;
mod folded;
mod function;
mod import;
mod isolation;
mod judged_files;
mod judged_tree;
mod kept_files;
mod least;
mod left_behind;
mod lint;
pub(crate) mod loaded_world;
pub mod manual;
mod memberships;
mod merge;
mod migrate;
mod namespace;
mod node_reach;
mod object_key;
mod options;
mod output;
mod pack;
mod part_files;
mod path_step;
mod pod_inputs;
mod proof;
pub mod psp_policies;
mod question;
mod removal;
mod render;
pub mod review;
mod review_base;
mod revision_source;
mod shard;
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

pub use access_map::{access_map, map_manifests};
pub use audit::{AuditOptions, AuditSummary, DeniedRequest, UnobservableRights, UnusedRights, UsedBinding};
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
pub use error::Error;
pub use expire::{MovedDay, expire};
pub use explain::{
    DefaultPolicy, ExplainedFile, ExplainedObject, FileState, ObjectIdentity, ObjectName, PolicyName, RoleSearch,
    explain_file, find_role,
};
pub use function::{FunctionOptions, FunctionOutcome, ResourceList, Validation, run_function, test_manifests};
pub use import::{AccessComparison, Import, ImportOptions, ImportSource, ImportedTarget, ListedObject, import};
pub use judged_files::JudgedTree;
pub use judged_files::{TreeOptions, is_in_repository, is_in_work_tree};
pub use least::{
    LeastGrants, LeastOptions, LeastProof, LeastSet, LeftOutSubject, LostRights, NeededGrant, least_grants,
};
pub use left_behind::NotJudged;
pub use lint::{
    AcceptedFinding, FindingChange, LintOptions, LintReport, Selection, Unanswered, lint, lint_change, lint_manifests,
};
pub use loaded_world::{LoadedWorld, WorldOptions};
pub use manual::ManualPage;
pub use memberships::Membership;
pub use merge::{MergeOptions, Merged, merge};
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
pub use options::{Event, Listener, Options};
pub use pack::{PackOptions, Packed, pack};
pub use question::RequestOptions;
pub use removal::Consent;
pub use render::{CompiledFile, CompiledFiles, RenderOptions, StagedOutput, WrittenOutput};
pub use review::{codeowners, review};
pub use shard::{Command as ShardCommand, Shard};
pub use stacks::{ManagerReport, StackReport, StacksReport, stacks_report};
pub use test::{
    FailedQuestion, ReachedByTest, TestChecks, TestEvent, TestOptions, TestRun, TestedWorkspace, access_tests,
    run_tests, test_checks, test_names,
};
pub use unchecked::{PartlyChecked, partly_checked};
pub use who_can::{AllowedSubject, AllowedSubjects, RequestHolders};
pub use workspace::{Workspace, target_names};
pub use workspaces_below::FoundWorkspace;
