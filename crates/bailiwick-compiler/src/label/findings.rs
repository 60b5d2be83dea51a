//! Findings about namespaces, roles and bindings of a target on which SecurityContextConstraints admit pods.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use bailiwick_admission::labels::declared::{Lint, Settled};
use bailiwick_admission::labels::namespace::{NamespaceFacts, PodSecurityLabel, SYNC_LABEL};
use bailiwick_admission::labels::sync::{SyncAction, SyncFailure};
use bailiwick_admission::labels::world::{SyncOutcome, SyncWorld};
use bailiwick_admission::level::{Level, PolicyVersion};
use bailiwick_admission::scc::convert::volume_level;
use bailiwick_admission::scc::lints::SccLint;
use bailiwick_admission::scc::range::{UID_RANGE, UidRange};
use bailiwick_admission::scc::{GROUP, RESOURCE, Scc, defaults};
use bailiwick_codes as codes;
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_policy::model::Unit;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Severity, Sink};

use crate::validate::Trees;

/// The label with a level that the API server enforces.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

/// The checks that allow every kernel parameter that constraints take for safe (`facts/psa/psa-checks.yaml`).
const SAFE_SYSCTLS_SINCE: u64 = 29;

/// A finding about a Namespace.
pub(super) struct NamespaceFinding {
    severity: Severity,
    code: Code,
    /// None for a finding about the whole object.
    place: Option<FieldPlace<'static>>,
    message: String,
    help: &'static str,
}

/// A field of an object, and the value in it that has the problem.
struct FieldPlace<'p> {
    path: Cow<'p, str>,
    value: Option<Cow<'p, str>>,
}

/// Reports the findings about a Namespace.
pub(super) fn report(unit: &Unit, findings: Vec<NamespaceFinding>, trees: &Trees, sink: &mut Sink) {
    for NamespaceFinding { severity, code, place, message, help } in findings {
        match place {
            Some(place) => Report { unit, trees, sink }.push(severity, code, &place, message, help),
            None => sink.push(Diagnostic::warning(code, message).at(unit.origin).help(help).foldable()),
        }
    }
}

/// A Namespace with its settled labels and the outcome of the label controller.
pub(super) struct SettledNamespace<'n> {
    pub(super) name: &'n str,
    pub(super) settled: &'n Settled,
    pub(super) outcome: &'n SyncOutcome,
}

impl SettledNamespace<'_> {
    /// Returns the findings about the Namespace; `owners` has the first Namespace with each range of user ids.
    pub(super) fn findings(&self, world: &SyncWorld, owners: &HashMap<Box<str>, Box<str>>) -> Vec<NamespaceFinding> {
        let Some(facts) = world.declared_facts(self.name) else { return Vec::new() };
        let mut findings: Vec<NamespaceFinding> = self.settled.lints.iter().map(|lint| self.lint(*lint)).collect();
        findings.extend(self.pinned_version(facts));
        findings.extend(self.malformed_range(facts));
        findings.extend(self.duplicate_range(facts, owners));
        findings.extend(self.missing_labels());
        findings
    }

    /// Returns the finding for a lint about labels and annotations.
    fn lint(&self, lint: Lint) -> NamespaceFinding {
        let LintText { code, key, help } = LintText::new(lint);
        let section = if key.starts_with("openshift.io/sa.") { "annotations" } else { "labels" };
        NamespaceFinding {
            severity: Severity::Warning,
            code,
            place: Some(FieldPlace::field(format!("metadata.{section}.{key}"))),
            message: self.message(lint),
            help,
        }
    }

    /// Returns the message for a lint.
    fn message(&self, lint: Lint) -> String {
        let name = self.name;
        let level = || self.outcome.levels.sync.or(self.outcome.levels.rbac).map_or("another level", Level::name);
        match lint {
            Lint::DeclaredEnforceStricterThanScc => format!(
                "`{name}` enforces a stricter level than `{}`, the level of the constraints of its service accounts",
                level()
            ),
            Lint::SyncTrueConflictsWithDeclaredLabel => {
                let labels: Vec<&str> = self.settled.fights.iter().map(|label| label.short()).collect();
                format!(
                    "the cluster overwrites the declared labels of `{name}` with `{}`: {}",
                    level(),
                    labels.join(", ")
                )
            }
            Lint::OptedOutWithoutEnforceLabel => format!(
                "`{name}` opts out and declares no level, so the default level `{}` of the cluster applies",
                self.settled.enforced
            ),
            Lint::RedundantDeclaredLabel => {
                format!("`{name}` opts in and declares labels that the cluster also writes")
            }
            Lint::SccAnnotationsIncomplete => format!("`{name}` declares its range of user ids and no SELinux level"),
            Lint::UidRangeStartsAtZero => format!("the range of user ids of `{name}` begins at 0, which is root"),
            Lint::ExemptNamespaceLabelled => {
                format!("`{name}` belongs to the platform, and the label has no effect")
            }
            Lint::OpenshiftPrefixNotSynced => {
                format!("`{name}` begins with `openshift-`, so the cluster does not synchronise its labels")
            }
            Lint::RunLevelBypass => {
                format!("the label `openshift.io/run-level` disables the admission by constraints for `{name}`")
            }
        }
    }

    /// Returns a warning of a version of the checks that rejects kernel parameters that constraints allow.
    fn pinned_version(&self, facts: &NamespaceFacts) -> Option<NamespaceFinding> {
        let pinned = facts.labels.get(PodSecurityLabel::EnforceVersion).and_then(PolicyVersion::parse);
        let holds = self.settled.enforced != Level::Privileged;
        let Some(version @ PolicyVersion::Minor(..SAFE_SYSCTLS_SINCE)) = pinned.filter(|_| holds) else { return None };
        Some(NamespaceFinding {
            severity: Severity::Warning,
            code: codes::PINNED_ENFORCE_VERSION,
            place: Some(FieldPlace::field(format!("metadata.labels.{ENFORCE}-version"))),
            message: format!(
                "`{}` pins the checks of {version}, and these reject kernel parameters that constraints allow",
                self.name
            ),
            help: "pin v1.29 or later, or `latest` like the cluster",
        })
    }

    /// Returns an error for a range of user ids that cannot be read.
    fn malformed_range(&self, facts: &NamespaceFacts) -> Option<NamespaceFinding> {
        let range = facts.uid_range.as_deref().map(|range| Cow::Owned(range.to_owned()));
        (facts.range() == UidRange::Malformed).then(|| NamespaceFinding {
            severity: Severity::Error,
            code: codes::MALFORMED_UID_RANGE,
            place: Some(FieldPlace { value: range, ..FieldPlace::field(format!("metadata.annotations.{UID_RANGE}")) }),
            message: format!("the range of user ids of `{}` cannot be read", self.name),
            help: "write `<start>/<size>` or `<start>-<end>`, such as `1000660000/10000`",
        })
    }

    /// Returns a warning of a range of user ids that an earlier Namespace has.
    fn duplicate_range(
        &self,
        facts: &NamespaceFacts,
        owners: &HashMap<Box<str>, Box<str>>,
    ) -> Option<NamespaceFinding> {
        let owner = facts.uid_range.as_ref().and_then(|range| owners.get(range));
        let other = owner.filter(|other| ***other < *self.name)?;
        Some(NamespaceFinding {
            severity: Severity::Warning,
            code: codes::DUPLICATE_UID_RANGE,
            place: Some(FieldPlace::field(format!("metadata.annotations.{UID_RANGE}"))),
            message: format!("`{}` declares the same range of user ids as `{other}`", self.name),
            help: "use a different range for each namespace: processes with the same user id can read each other's files",
        })
    }

    /// Returns a warning if the cluster cannot compute labels. Field managers exist only in a cluster, so their
    /// failures do not occur here.
    fn missing_labels(&self) -> Option<NamespaceFinding> {
        let (reason, help) = match self.outcome.action {
            SyncAction::Fail(SyncFailure::NoUsableScc) => (
                "its service accounts can use no constraints",
                "grant constraints of the platform, such as `restricted-v2`, or of a profile",
            ),
            SyncAction::Fail(SyncFailure::ConversionFailed) => (
                "constraints of its service accounts have no level",
                "run `bailiwick explain namespace` for their names; correct them, or revoke their use",
            ),
            _ => return None,
        };
        Some(NamespaceFinding {
            severity: Severity::Warning,
            code: codes::LABELS_NOT_COMPUTABLE,
            place: None,
            message: format!("the cluster cannot label `{}`: {reason}", self.name),
            help,
        })
    }
}

/// The fixed part of the finding for a lint.
struct LintText {
    code: Code,
    /// The label or the annotation with the problem.
    key: &'static str,
    help: &'static str,
}

impl LintText {
    fn new(lint: Lint) -> Self {
        let (code, key, help) = match lint {
            Lint::DeclaredEnforceStricterThanScc => (
                codes::DECLARED_ENFORCE_STRICTER,
                ENFORCE,
                "revoke the use of the constraints, or loosen the level: it rejects pods that the constraints admit",
            ),
            Lint::SyncTrueConflictsWithDeclaredLabel => (
                codes::SYNC_TRUE_CONFLICT,
                SYNC_LABEL,
                "remove the declared labels or the opt-in label: the cluster and the applier overwrite each other without end",
            ),
            Lint::OptedOutWithoutEnforceLabel => (codes::OPTED_OUT_WITHOUT_ENFORCE, SYNC_LABEL, "add a `level`"),
            Lint::RedundantDeclaredLabel => {
                (codes::REDUNDANT_DECLARED_LABEL, SYNC_LABEL, "remove the labels or the opt-in label")
            }
            Lint::SccAnnotationsIncomplete => (
                codes::SCC_ANNOTATIONS_INCOMPLETE,
                UID_RANGE,
                "declare `openshift.io/sa.scc.mcs` too, or remove this annotation: without an SELinux level the cluster rejects every pod",
            ),
            Lint::UidRangeStartsAtZero => (codes::UID_RANGE_AT_ZERO, UID_RANGE, "begin at 1 or above"),
            Lint::ExemptNamespaceLabelled => (codes::EXEMPT_NAMESPACE_LABELLED, SYNC_LABEL, "remove the label"),
            Lint::OpenshiftPrefixNotSynced => {
                (codes::OPENSHIFT_PREFIX_NOT_SYNCED, SYNC_LABEL, "opt in with `labelSync: true`, or rename it")
            }
            Lint::RunLevelBypass => (
                codes::RUN_LEVEL_BYPASS,
                "openshift.io/run-level",
                "remove the label: with it, constraints limit no pod",
            ),
        };
        Self { code, key, help }
    }
}

/// Reports the findings about constraints.
pub(super) fn constraints(unit: &Unit, world: &SyncWorld, trees: &Trees, sink: &mut Sink) {
    let name = &*unit.identity.name;
    let mut report = Report { unit, trees, sink };
    if defaults::names(world.settings().release).any(|known| known == name) {
        report.push(
            Severity::Error,
            codes::PLATFORM_CONSTRAINTS,
            &FieldPlace { path: "metadata.name".into(), value: Some(name.into()) },
            format!("the constraints `{name}` belong to the platform"),
            "use another name: the platform overwrites its constraints",
        );
    }
    for lint in world.scc_lints(name) {
        report.constraints_lint(name, &lint);
    }
    let Some(scc) = world.sccs().iter().find(|scc| scc.name() == name) else { return };
    for (field, names) in [("users", &scc.users), ("groups", &scc.groups)] {
        if !names.is_empty() {
            let help =
                "grant the use with a binding to a ClusterRole; another writer of the object overwrites the list";
            report.warn(codes::SCC_USERS_OR_GROUPS, field, format!("`{name}` lists its users or groups"), help);
        }
    }
}

/// Whether a rule grants the use of constraints.
fn lets_use_constraints(rule: &PolicyRule) -> bool {
    let names = |list: &[String], wanted: &str| list.iter().any(|name| name == "*" || name == wanted);
    names(&rule.verbs, "use") && names(&rule.api_groups, GROUP) && names(&rule.resources, RESOURCE)
}

/// Reports the findings about a role that grants the use of constraints.
pub(super) fn role(unit: &Unit, root: NodeRef<'_>, sccs: &[Scc], trees: &Trees, sink: &mut Sink) {
    let mut report = Report { unit, trees, sink };
    for (index, node) in root.get("rules").into_iter().flat_map(NodeRef::items).enumerate() {
        let rule = PolicyRule::from_node(node);
        if !lets_use_constraints(&rule) {
            continue;
        }
        if rule.resource_names.is_empty() {
            report.warn(
                codes::GRANTS_EVERY_SCC,
                &format!("rules[{index}]"),
                "this rule grants the use of all constraints, including `privileged`".to_owned(),
                "list them under `resourceNames`; the cluster labels a namespace with such an account `privileged`",
            );
        }
        let dangling = rule.resource_names.iter().filter(|name| !sccs.iter().any(|scc| scc.name() == name.as_str()));
        for name in dangling {
            let near = bailiwick_yaml::diag::nearest(name, sccs.iter().map(Scc::name));
            let help = near
                .map_or_else(|| "write a profile of this name".to_owned(), |near| format!("did you mean `{near}`?"));
            let message = format!("the constraints `{name}` do not exist");
            report.warn(codes::DANGLING_SCC, &format!("rules[{index}].resourceNames"), message, &help);
        }
    }
}

/// Returns the service accounts that a binding names as users, by their places in its list.
fn accounts_as_users(root: NodeRef<'_>) -> BTreeMap<usize, &str> {
    let subjects = root.get("subjects").into_iter().flat_map(NodeRef::items).enumerate();
    subjects
        .filter(|(_, subject)| subject.get("kind").and_then(NodeRef::as_str) == Some("User"))
        .filter_map(|(index, subject)| Some((index, subject.get("name")?.as_str()?)))
        .filter(|(_, name)| name.starts_with("system:serviceaccount:"))
        .collect()
}

/// Reports the service accounts that a binding names as users, which the label controller ignores.
pub(super) fn binding(unit: &Unit, root: NodeRef<'_>, world: &SyncWorld, trees: &Trees, sink: &mut Sink) {
    let text = |node: NodeRef<'_>, key: &str| node.get(key).and_then(NodeRef::as_str).unwrap_or_default().to_owned();
    let accounts = accounts_as_users(root);
    if accounts.is_empty() {
        return;
    }
    let Some(role_ref) = root.get("roleRef") else { return };
    let namespace = unit.identity.namespace.as_deref().filter(|_| text(role_ref, "kind") == "Role");
    let rules = world.access().policy_rules(namespace, &text(role_ref, "name")).unwrap_or_default();
    let uses = rules.iter().any(lets_use_constraints);
    let mut report = Report { unit, trees, sink };
    for (index, name) in accounts.into_iter().filter(|_| uses) {
        report.warn(
            codes::USER_SUBJECT_INVISIBLE,
            &format!("subjects[{index}]"),
            format!("the label controller ignores the service account in the user `{name}`"),
            "bind the service account: the level of its namespace can reject pods that the constraints admit",
        );
    }
}

/// The consumer of findings about an object.
struct Report<'r> {
    unit: &'r Unit,
    trees: &'r Trees,
    sink: &'r mut Sink,
}

impl Report<'_> {
    /// Reports a lint about constraints.
    fn constraints_lint(&mut self, name: &str, lint: &SccLint) {
        let (severity, code, message, help) = match lint {
            SccLint::Deadly(reason) => (
                Severity::Error,
                codes::DEADLY_CONSTRAINTS,
                format!("these constraints block every pod of the cluster: {reason}"),
                "complete the strategy: admission prepares all constraints before it checks their use",
            ),
            // `deadly-scc` reports it.
            SccLint::HalfUidRange => return,
            SccLint::UnknownVolumeType(volume) => {
                let problem =
                    if volume_level(volume).is_some() { "does not exist in this release" } else { "does not exist" };
                (
                    Severity::Error,
                    codes::UNKNOWN_VOLUME_TYPE,
                    format!("the volume type `{volume}` {problem}"),
                    "correct the name: namespaces with these constraints get no Pod Security labels",
                )
            }
            SccLint::SeccompFieldSpelling(profile) => (
                Severity::Warning,
                codes::SECCOMP_SPELLING,
                format!("`{profile}` is not a seccomp profile of constraints"),
                "write `runtime/default`, `localhost/FILE` or `*`: another text raises the level to `privileged`",
            ),
            SccLint::CapabilitySpelling(capability) => (
                Severity::Warning,
                codes::CAPABILITY_SPELLING,
                format!("`{capability}` is not a capability of pods"),
                "write it in capital letters and without `CAP_`",
            ),
            SccLint::DefaultAddNotCounted(capability) => (
                Severity::Warning,
                codes::DEFAULT_ADD_NOT_COUNTED,
                format!("every pod gets `{capability}`, but the computed level ignores it"),
                "remove the capability, or also list it under `allowedCapabilities`: the computed level can reject the pods",
            ),
            SccLint::PriorityHijack => (
                Severity::Warning,
                codes::SCC_PRIORITY_HIJACK,
                format!("all subjects can use `{name}`, and it precedes the constraints of the platform"),
                "grant it only to the subjects that need it, and select it in pods with `openshift.io/required-scc`",
            ),
        };
        self.push(severity, code, &FieldPlace::of_lint(lint), message, help);
    }

    fn warn(&mut self, code: Code, path: &str, message: String, help: &str) {
        self.push(Severity::Warning, code, &FieldPlace::field(path), message, help);
    }

    fn push(&mut self, severity: Severity, code: Code, place: &FieldPlace<'_>, message: String, help: &str) {
        let diagnostic = match severity {
            Severity::Error => Diagnostic::error(code, message),
            _ => Diagnostic::warning(code, message),
        };
        let origin = self.origin(place);
        self.sink.push(diagnostic.at(origin).help(help).note(format!("in {}", self.unit.identity)).foldable());
    }

    /// Returns the location of a field, or of the value in it, in the manifest or in the policy that it was made from.
    fn origin(&self, place: &FieldPlace<'_>) -> Origin {
        let exact = if place.value.is_none() { self.trees.place_in(self.unit, &place.path) } else { None };
        exact.unwrap_or_else(|| self.trees.place_of(self.unit, &place.path, place.value.as_deref()))
    }
}

impl<'p> FieldPlace<'p> {
    /// Returns the place of a whole field.
    fn field(path: impl Into<Cow<'p, str>>) -> Self {
        Self { path: path.into(), value: None }
    }

    /// Returns the place of a lint about constraints.
    fn of_lint(lint: &'p SccLint) -> Self {
        let value = match lint {
            SccLint::UnknownVolumeType(name)
            | SccLint::SeccompFieldSpelling(name)
            | SccLint::CapabilitySpelling(name)
            | SccLint::DefaultAddNotCounted(name) => Some(name.as_str().into()),
            _ => None,
        };
        Self { path: lint.field().into(), value }
    }
}
