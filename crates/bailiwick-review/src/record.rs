//! The result of a review, as data. Every form is a view of it.
//!
//! Lists are in the order in which they are to be read: the worst first, then the widest scope, then gains before losses, then by
//! name. The same input gives the same bytes.

use std::collections::BTreeMap;

use bailiwick_analysis::path_step::ReviewedStep;
use bailiwick_analysis::subject_classes::SubjectClass;
use bailiwick_compiler::emit::plan::Counts;
use bailiwick_kubernetes::rbac::PolicyRule;
pub use bailiwick_policy::model::{EffectSeverity, HazardKind};
use bailiwick_workspace::review_base::ReviewedBase;
use bailiwick_workspace::{FindingRecord, NotJudged};
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the form of a [`ChangeReview`].
pub const API_VERSION: &str = "bailiwick.dev/review/v1";

/// The effects of a change of a workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeReview {
    /// The version of this form: `bailiwick.dev/review/v1`.
    pub api_version: String,
    /// The path of the workspace from the root of the git work tree; `.` for the root.
    pub workspace: String,
    /// The earlier state.
    pub base: ReviewedBase,
    /// The reviewed state.
    pub head: ReviewedHead,
    /// The verdict; none if the policies do not compile.
    pub verdict: Option<Verdict>,
    /// The verdict in words, one line.
    pub line: String,
    /// The severity of the worst effect, path, change of pods, lifetime, hazard or change of tests.
    pub severity: EffectSeverity,
    /// The exit code.
    pub exit: u8,
    /// The sections of the comparison, with whether each could be compared.
    pub compared: Vec<ComparedSection>,
    /// Differences of unwritten inputs with an effect on access.
    pub ground: Vec<GroundChange>,
    /// The places of the change with effects. The first one causes the worst effect.
    pub causes: Vec<Cause>,
    /// The classes of the subjects and namespaces in the other fields.
    pub classes: Vec<SubjectClass>,
    /// New and removed accounts of unchanged classes.
    pub accounts: AccountChanges,
    /// The changes of access.
    pub effects: Vec<AccessChange>,
    /// The new and lost escalation paths.
    pub paths: Vec<PathChange>,
    /// The changes of the admission of pods.
    pub pods: Vec<PodChange>,
    /// The changes of the reach of nodes.
    pub nodes: Vec<NodeChange>,
    /// Objects without permission of the applier to write them.
    pub applier: Vec<ApplierChange>,
    /// The changes of the last days of grants.
    pub lifetimes: Vec<LifetimeChange>,
    /// Dangers of the application of the change.
    pub hazards: Vec<Hazard>,
    /// The differences of the output.
    pub objects: ObjectChanges,
    /// The changes of the AccessTests and of their results.
    pub tests: TestChanges,
    /// The changes of the findings of `lint`.
    pub findings: FindingChanges,
    /// The needed approvals.
    pub approvals: ApprovalState,
    /// The diagnostics of both states.
    pub diagnostics: Vec<FindingRecord>,
}

impl ChangeReview {
    /// Returns a review without changes and without a verdict.
    pub fn empty(workspace: &str, base: ReviewedBase, head: ReviewedHead) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            workspace: workspace.to_owned(),
            base,
            head,
            verdict: None,
            line: String::new(),
            severity: EffectSeverity::None,
            exit: 0,
            compared: Vec::new(),
            ground: Vec::new(),
            causes: Vec::new(),
            classes: Vec::new(),
            accounts: AccountChanges::default(),
            effects: Vec::new(),
            paths: Vec::new(),
            pods: Vec::new(),
            nodes: Vec::new(),
            applier: Vec::new(),
            lifetimes: Vec::new(),
            hazards: Vec::new(),
            objects: ObjectChanges::default(),
            tests: TestChanges::default(),
            findings: FindingChanges::default(),
            approvals: ApprovalState::default(),
            diagnostics: Vec::new(),
        }
    }
}

impl Default for ReviewedHead {
    fn default() -> Self {
        Self { commit: None, is_output_current: true, not_judged: NotJudged::default() }
    }
}

/// The reviewed state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedHead {
    /// The checked-out commit; none outside a git repository.
    pub commit: Option<String>,
    /// Whether `out/` is what the policies compile to.
    pub is_output_current: bool,
    /// The output files outside the output folder: no section is about them.
    pub not_judged: NotJudged,
}

/// The verdict of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The change is proven to have no effect.
    NoChange,
    /// The change takes permissions away, and gives none.
    OnlyLess,
    /// The change has effects that need no approval.
    WithinLimits,
    /// The change has effects that need an approval.
    NeedsApproval,
    /// An answer depends on something that is not among the inputs.
    CannotTell,
}

/// A section of the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedSection {
    /// `access`, `pods`, `admission`, `nodes`, `applier` or `lifetimes`; `other objects` for differing objects of kinds that no section
    /// compares.
    pub section: String,
    /// The names of the targets.
    pub targets: Vec<String>,
    /// Whether the answers of both states could be compared.
    pub comparable: bool,
    /// The reason: the names of missing objects, or of expressions that cannot be evaluated.
    pub why: Vec<String>,
}

/// A difference of an unwritten input with an effect on access.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct GroundChange {
    /// The name of the target.
    pub target: String,
    /// The input that differs.
    pub kind: GroundKind,
    /// The earlier value.
    pub from: String,
    /// The present value.
    pub to: String,
    /// Subjects of the default policy with other access by the default policy alone.
    pub subjects: Vec<String>,
}

/// An unwritten input with an effect on access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroundKind {
    /// The version of the cluster.
    Version,
    /// The platform of the cluster.
    Platform,
    /// The baseline below the output.
    Baseline,
    /// The features of the cluster.
    Features,
    /// Manifests for the analysis alone.
    Manifests,
    /// The identity that applies the output.
    Applier,
}

/// A place of the change that causes effects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The position in the list, to which effects refer.
    pub id: usize,
    /// The part of the inputs.
    pub kind: CauseKind,
    /// The state that has the place.
    pub side: Side,
    /// The path of the file from the root of the git work tree.
    pub path: String,
    /// The first line, from 1.
    pub line: usize,
    /// The first column, from 1.
    pub column: usize,
    /// The last line.
    pub end_line: usize,
    /// The column after the last character.
    pub end_column: usize,
    /// The text of the first line; not for templates of other files.
    pub text: String,
}

/// A state of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The earlier state.
    Base,
    /// The reviewed state.
    Head,
}

/// A part of the inputs that causes an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// A rule of a PermissionSet.
    Rule,
    /// A subject of a grant.
    Subject,
    /// The scope of a grant.
    Scope,
    /// A row of an account list.
    AccountRow,
    /// A template file of the workspace.
    Template,
    /// The version of a target.
    Version,
    /// The baseline of a target.
    Baseline,
    /// A document of a Manifests policy.
    Manifest,
    /// A label of a gathered ClusterRole.
    AggregationLabel,
    /// A PodSecurityProfile.
    Profile,
    /// Another part of a file.
    File,
}

/// New and removed accounts of unchanged classes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccountChanges {
    /// The namespaces of new accounts.
    pub added: Vec<String>,
    /// The namespaces of removed accounts.
    pub removed: Vec<String>,
}

/// Whether something comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EffectChange {
    /// The subject gains the rights.
    Gained,
    /// The subject loses the rights.
    Lost,
}

/// A change of the access of a class of subjects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccessChange {
    /// The position in the list.
    pub id: usize,
    /// Whether the class gains or loses the rights.
    pub change: EffectChange,
    /// The class of the subjects, by its position.
    pub class: usize,
    /// The names of the targets.
    pub targets: Vec<String>,
    /// The extent of the effect.
    pub scope: Scope,
    /// The rights. A rule with several verbs and resources is each of the pairs.
    pub rights: Vec<PolicyRule>,
    /// The role with exactly these rights, such as `ClusterRole/edit`; none if no known role has them.
    pub role: Option<String>,
    /// A subject with the same rights lost in the same change.
    #[serde(rename = "as")]
    pub as_subject: Option<String>,
    /// How bad it is.
    pub severity: EffectSeverity,
    /// The risk rule of the severity, such as `W001`.
    pub rule: Option<String>,
    /// The powers behind the rights, such as `cluster-admin`, the worst first.
    pub opens: Vec<String>,
    /// Whether no line of the change is in the proof of the effect.
    pub indirect: bool,
    /// The causes, by their positions.
    pub causes: Vec<usize>,
    /// Whether rights are the rights of the first member, and other members have their own names in them.
    #[serde(rename = "ownNames")]
    pub own_names: bool,
    /// A stable identity of the effect.
    pub fingerprint: String,
}

/// The extent of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In the whole cluster.
    Cluster,
    /// In the namespaces of the members of the class.
    Namespaces,
}

/// How an escalation path changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathChangeKind {
    /// The power was not within reach.
    New,
    /// The path has fewer steps, or is proven and was possible.
    Shorter,
    /// The power is not within reach any more.
    Gone,
}

/// A new, shorter or lost escalation path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathChange {
    /// The position in the list.
    pub id: usize,
    /// How the path changes.
    pub change: PathChangeKind,
    /// The class of the subjects at the beginning, by its position.
    pub class: usize,
    /// The names of the targets.
    pub targets: Vec<String>,
    /// The power at the end, such as `cluster-admin`.
    pub reaches: String,
    /// How bad it is.
    pub severity: EffectSeverity,
    /// `proven` or `possible`.
    pub certainty: String,
    /// The steps of the path of the first member.
    pub steps: Vec<ReviewedStep>,
    /// The causes, by their positions.
    pub causes: Vec<usize>,
    /// A smaller, checked change without the path.
    pub closes: Option<SmallerChange>,
    /// A stable identity of the path.
    pub fingerprint: String,
}

/// A smaller change without a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SmallerChange {
    /// A description for people.
    pub words: String,
    /// The difference of the policy.
    pub diff: String,
    /// An AccessTest with a failure on the reviewed state and none on the earlier one.
    pub test: Option<String>,
}

/// A change of the admission of pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PodChange {
    /// The position in the list.
    pub id: usize,
    /// The part of admission that changes.
    pub kind: PodChangeKind,
    /// The name of the target.
    pub target: String,
    /// All namespaces with this change.
    pub namespaces: Vec<String>,
    /// The earlier level, profile or constraint; none without one.
    pub before: Option<String>,
    /// The present level, profile or constraint.
    pub after: Option<String>,
    /// Whether more or fewer pods are admitted.
    pub direction: Direction,
    /// How sure the change is.
    pub certainty: ChangeCertainty,
    /// How bad it is.
    pub severity: EffectSeverity,
    /// The differences in words.
    pub details: Vec<String>,
    /// Pods with another answer of the admission policies.
    pub witnesses: Vec<PodWitness>,
    /// Workloads of the inputs that are newly refused.
    pub refused: Vec<String>,
    /// Workloads of the inputs that are newly admitted.
    pub admitted: Vec<String>,
    /// The causes, by their positions.
    pub causes: Vec<usize>,
}

/// How sure a change of the admission of pods is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeCertainty {
    /// A pod with another answer is known, or the meaning is compared exactly.
    Proven,
    /// It could not be compared: no pod with another answer is known.
    Possible,
}

/// A pod that one state admits and the other state rejects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct PodWitness {
    /// Whether the reviewed state admits the pod.
    pub admitted: bool,
    /// Whether the pod has the settings that the level `restricted` asks for.
    pub hardened: bool,
    /// The settings that set the pod apart, such as `hostNetwork: true`; none for a plain pod.
    pub settings: Vec<String>,
}

/// A part of the admission of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PodChangeKind {
    /// The Pod Security level of the namespace.
    Level,
    /// The profile of the namespace.
    Profile,
    /// A PodSecurityPolicy.
    Psp,
    /// SecurityContextConstraints.
    Scc,
    /// An admission policy of the inputs.
    Policy,
    /// A workload of the inputs.
    Workload,
}

impl PodChangeKind {
    /// Returns the value in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            PodChangeKind::Level => "level",
            PodChangeKind::Profile => "profile",
            PodChangeKind::Psp => "psp",
            PodChangeKind::Scc => "scc",
            PodChangeKind::Policy => "policy",
            PodChangeKind::Workload => "workload",
        }
    }
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is admitted.
    Wider,
    /// Less is admitted.
    Narrower,
    /// Some pods are newly admitted, and others are newly refused.
    Both,
    /// Other constraints are tried first.
    Order,
    /// A longer time.
    Longer,
    /// A shorter time.
    Shorter,
    /// A limit comes.
    Added,
    /// A limit goes.
    Removed,
}

/// A change of the reach of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeChange {
    /// The name of the target.
    pub target: String,
    /// The nodes, by a name or by their labels.
    pub nodes: String,
    /// The kind of the objects: `Secret` or `ServiceAccount`.
    pub kind: String,
    /// The newly reached objects, as `namespace/name`.
    pub gained: Vec<String>,
    /// The objects out of reach now.
    pub lost: Vec<String>,
    /// How bad it is.
    pub severity: EffectSeverity,
}

/// Objects without permission of the applier to write them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApplierChange {
    /// The name of the target.
    pub target: String,
    /// Whether the problem comes.
    pub is_new: bool,
    /// The problem in words.
    pub message: String,
}

/// A change of the last day of a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LifetimeChange {
    /// The kind of the policy, such as `Grant`.
    pub kind: String,
    /// The name of the policy.
    pub grant: String,
    /// The earlier last day; none without one.
    pub before: Option<String>,
    /// The present last day.
    pub after: Option<String>,
    /// Whether the grant lasts longer.
    pub direction: Direction,
    /// How bad it is.
    pub severity: EffectSeverity,
    /// The causes, by their positions.
    pub causes: Vec<usize>,
}

/// A danger of the application of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hazard {
    /// The danger as a word.
    pub kind: HazardKind,
    /// How bad it is.
    pub severity: EffectSeverity,
    /// The names of the targets.
    pub targets: Vec<String>,
    /// The affected namespaces, sorted.
    pub namespaces: Vec<String>,
    /// Other names: the present name of a target, the subjects of a right, the names of definitions.
    pub names: Vec<String>,
    /// The number of bindings.
    pub bindings: usize,
    /// The number of objects.
    pub objects: usize,
    /// The danger in words.
    pub message: String,
    /// The causes, by their positions.
    pub causes: Vec<usize>,
}

/// The differences of the output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ObjectChanges {
    /// The number of objects by their difference, for each target.
    pub counts: BTreeMap<String, Counts>,
    /// The differences, one for each shape.
    pub shapes: Vec<ObjectShape>,
    /// The number of differing files without a shape in the list.
    pub left_out: usize,
}

/// A common difference of several files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ObjectShape {
    /// The number of files.
    pub count: usize,
    /// The names of the targets of the files.
    pub targets: Vec<String>,
    /// The path of the first file.
    pub sample: String,
    /// The difference of the first file.
    pub diff: String,
}

/// The changes of the AccessTests and of their results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestChanges {
    /// AccessTests of the reviewed state with a failed question.
    pub failing: Vec<FailedTest>,
    /// AccessTests of the earlier state with a question that fails in the reviewed state.
    pub base_failing: Vec<FailedTest>,
    /// Expectations that are removed or narrower.
    pub removed: Vec<RemovedExpectation>,
    /// Expectations about names without an object in the reviewed state.
    pub obsolete: Vec<RemovedExpectation>,
    /// New accepted warnings and settings of diagnostics.
    pub accepted: Vec<AcceptedWarning>,
    /// The number of expectations that were asked.
    pub questions: usize,
    /// The number of questions with another answer than the expected one, in the reviewed state.
    pub failures: usize,
    /// An AccessTest with a failure on the reviewed state and none on the earlier one.
    pub suggested: Option<String>,
}

/// An AccessTest with a failed question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedTest {
    /// The name of the AccessTest.
    pub test: String,
    /// The names of the targets.
    pub targets: Vec<String>,
    /// The number of failed questions.
    pub failures: usize,
    /// The first failed questions in words.
    pub first: Vec<String>,
    /// The place of the expectation, as `path:line`.
    pub place: String,
}

/// An expectation that is removed or narrower.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedExpectation {
    /// The name of the AccessTest.
    pub test: String,
    /// The list of the expectation: `must`, `mustNot` or `mustNotBecome`.
    pub expectation: String,
    /// The position in the list of the earlier state, from 0.
    pub index: usize,
    /// Whether it would fail in the reviewed state.
    pub would_fail: bool,
    /// The expectation in words.
    pub question: String,
    /// The place in the earlier state, as `path:line`.
    pub place: String,
}

/// A newly accepted warning, or a setting of a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AcceptedWarning {
    /// The code of the diagnostic.
    pub code: String,
    /// The place, as `path:line`.
    pub place: String,
    /// Whether it hides a new finding.
    pub hides_new: bool,
}

/// The changes of the findings of `lint`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingChanges {
    /// The findings of the reviewed state alone.
    pub new: Vec<ReviewedFinding>,
    /// The findings of the earlier state alone.
    pub fixed: Vec<ReviewedFinding>,
    /// The number of findings of both states.
    pub known: usize,
    /// The number of accepted findings.
    pub accepted: usize,
}

/// A finding of `lint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedFinding {
    /// The id of the risk rule, such as `E002`, or the code of the diagnostic.
    pub rule: String,
    /// The ids of the risk rules with less, by the same rules of roles.
    pub also: Vec<String>,
    /// The code of the diagnostic.
    pub code: String,
    /// How bad it is.
    pub severity: EffectSeverity,
    /// The subject; none for a finding about an object.
    pub who: Option<String>,
    /// The namespaces; empty for the whole cluster.
    pub namespaces: Vec<String>,
    /// The number of subjects or objects.
    pub count: usize,
    /// The names of the targets.
    pub targets: Vec<String>,
    /// The finding in words.
    pub message: String,
    /// The path of the file from the root of the git work tree; none without a place.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// A stable identity of the finding.
    pub fingerprint: String,
}

/// The needed approvals of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalState {
    /// The approvals asked for by rules.
    pub needed: Vec<NeededApproval>,
    /// The names of the approvers so far.
    pub given: Vec<String>,
    /// The missing approvers.
    pub missing: Vec<String>,
}

/// An approval asked for by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NeededApproval {
    /// The names of possible approvers; empty for any reviewer.
    pub approvers: Vec<String>,
    /// How many of the approvers have to approve.
    pub count: usize,
    /// The place of the rule, as `path:line`; none for the built-in rules.
    pub rule: Option<String>,
    /// The effect behind the approval, in words.
    pub why: String,
}
