#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

pub mod access_map;
pub mod account_names;
pub mod audit;
mod can_i;
mod check;
pub mod classes;
pub mod compare;
mod drift;
mod editor;
mod explain;
mod function;
mod isolation;
pub mod lint;
pub mod loaded_world;
pub mod manual;
pub mod memberships;
mod merge;
mod namespace;
mod node_reach;
pub mod path_step;
pub mod pod_inputs;
pub mod proof;
mod question;
pub mod stacks;
pub mod subject_classes;
pub mod test;
mod who_can;

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
pub use drift::{
    AccessDifference, Drift, DriftClass, DriftFinding, DriftOptions, DriftOutcome, drift, resources_to_dump,
};
pub use editor::{Completion, Correction, DefinitionPlace, EditorWorkspace, Hover, HoverText, editor_findings};
pub use explain::{
    DefaultPolicy, ExplainedFile, ExplainedObject, FileState, ObjectIdentity, ObjectName, PolicyName, RoleSearch,
    explain_file, find_role,
};
pub use function::{FunctionOptions, FunctionOutcome, ResourceList, Validation, run_function, test_manifests};
pub use lint::{
    AcceptedFinding, FindingChange, LintOptions, LintReport, Selection, Unanswered, lint, lint_change, lint_manifests,
};
pub use loaded_world::{LoadedWorld, WorldOptions};
pub use manual::ManualPage;
pub use memberships::Membership;
pub use merge::{MergeOptions, Merged, merge};
pub use namespace::{
    AppliedProfile, NamespaceRules, NamespaceSearch, SyncedRules, UsablePolicy, explain_namespace, limited_constraints,
};
pub use node_reach::{
    DeclaredNodes, NodeReach, NodeReachAnswer, NodeReachOptions, NodeSummary, PoolNodes, ReachedAccount, ReachedObject,
    SecretPath, declared_nodes,
};
pub use question::RequestOptions;
pub use stacks::{ManagerReport, StackReport, StacksReport, stacks_report};
pub use test::{
    FailedQuestion, ReachedByTest, TestChecks, TestEvent, TestOptions, TestRun, TestedWorkspace, access_tests,
    run_tests, test_checks, test_names,
};
pub use who_can::{AllowedSubject, AllowedSubjects, RequestHolders};
