//! Findings about namespaces, roles and bindings of a target on which SecurityContextConstraints admit pods.

use crate::codes;
use std::collections::{BTreeMap, HashMap};

use crate::admission::labels::declared::{Lint, Settled};
use crate::admission::labels::namespace::{PodSecurityLabel, SYNC_LABEL};
use crate::admission::labels::sync::{SyncAction, SyncFailure};
use crate::admission::labels::world::{SyncOutcome, SyncWorld};
use crate::admission::level::{Level, PolicyVersion};
use crate::admission::scc::convert::volume_level;
use crate::admission::scc::lints::SccLint;
use crate::admission::scc::range::{UID_RANGE, UidRange};
use crate::admission::scc::{GROUP, RESOURCE, Scc, defaults};
use crate::diag::{Code, Diagnostic, Origin, Severity, Sink};
use crate::k8s::rbac::PolicyRule;
use crate::model::Unit;
use crate::validate::Trees;
use crate::yaml::NodeRef;

/// The label with a level that the API server enforces.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

/// The checks that allow every kernel parameter that constraints take for safe (`facts/psa/psa-checks.yaml`).
const SAFE_SYSCTLS_SINCE: u64 = 29;

/// A report about an object.
struct Report<'r> {
    unit: &'r Unit,
    trees: &'r Trees,
    sink: &'r mut Sink,
}

/// A field of the object, and the text in it that is meant.
type Place<'p> = (&'p str, Option<&'p str>);

impl Report<'_> {
    /// Returns the place of a field, or of the value in it, in the manifest or in the policy that it was made from.
    fn place(&self, path: &str, value: Option<&str>) -> Origin {
        let exact = if value.is_none() { self.trees.place_in(self.unit, path) } else { None };
        exact.unwrap_or_else(|| self.trees.place_of(self.unit, path, value))
    }

    fn say(&mut self, severity: Severity, code: Code, (path, value): Place<'_>, message: String, help: &str) {
        let diagnostic = match severity {
            Severity::Error => Diagnostic::error(code, message),
            _ => Diagnostic::warning(code, message),
        };
        let place = self.place(path, value);
        self.sink.push(diagnostic.at(place).help(help).note(format!("in {}", self.unit.identity)).foldable());
    }

    fn warn(&mut self, code: Code, path: &str, message: String, help: &str) {
        self.say(Severity::Warning, code, (path, None), message, help);
    }
}

/// A finding about a Namespace.
pub(super) struct Words {
    severity: Severity,
    code: Code,
    /// The path of the field that is meant, and the value in it; none for the object.
    place: Option<(String, Option<String>)>,
    message: String,
    help: &'static str,
}

/// Reports the findings about a Namespace.
pub(super) fn report(unit: &Unit, words: Vec<Words>, trees: &Trees, sink: &mut Sink) {
    for Words { severity, code, place, message, help } in words {
        match place {
            Some((path, value)) => {
                let place = (path.as_str(), value.as_deref());
                Report { unit, trees, sink }.say(severity, code, place, message, help);
            }
            None => sink.push(Diagnostic::warning(code, message).at(unit.origin).help(help).foldable()),
        }
    }
}

/// Words about a namespace; `owners` has the first one that declares a range of user ids.
pub(super) fn namespace(
    (name, settled, outcome): (&str, &Settled, &SyncOutcome),
    world: &SyncWorld,
    owners: &HashMap<Box<str>, Box<str>>,
) -> Vec<Words> {
    let Some(facts) = world.declared_facts(name) else { return Vec::new() };
    let mut found = Vec::new();
    let mut say = |severity, code, (path, value): Place<'_>, message, help| {
        let place = Some((path.to_owned(), value.map(str::to_owned)));
        found.push(Words { severity, code, place, message, help });
    };
    let level = outcome.levels.sync.or(outcome.levels.rbac).map_or("another level", Level::name);
    let fights: Vec<&str> = settled.fights.iter().map(|label| label.short()).collect();
    for lint in &settled.lints {
        let (code, path, message, help) = match lint {
            Lint::DeclaredEnforceStricterThanScc => (
                codes::DECLARED_ENFORCE_STRICTER,
                ENFORCE,
                format!(
                    "`{name}` enforces a stricter level than `{level}`, the level of the constraints of its service accounts"
                ),
                "revoke the use of the constraints, or loosen the level: it rejects pods that the constraints admit",
            ),
            Lint::SyncTrueConflictsWithDeclaredLabel => (
                codes::SYNC_TRUE_CONFLICT,
                SYNC_LABEL,
                format!("the cluster overwrites the declared labels of `{name}` with `{level}`: {}", fights.join(", ")),
                "remove the declared labels or the opt-in label: the cluster and the applier overwrite each other without end",
            ),
            Lint::OptedOutWithoutEnforceLabel => (
                codes::OPTED_OUT_WITHOUT_ENFORCE,
                SYNC_LABEL,
                format!(
                    "`{name}` opts out and declares no level, so the default level `{}` of the cluster applies",
                    settled.enforced
                ),
                "add a `level`",
            ),
            Lint::RedundantDeclaredLabel => (
                codes::REDUNDANT_DECLARED_LABEL,
                SYNC_LABEL,
                format!("`{name}` opts in and declares labels that the cluster also writes"),
                "remove the labels or the opt-in label",
            ),
            Lint::SccAnnotationsIncomplete => (
                codes::SCC_ANNOTATIONS_INCOMPLETE,
                UID_RANGE,
                format!("`{name}` declares its range of user ids and no SELinux level"),
                "declare `openshift.io/sa.scc.mcs` too, or neither: without a level the cluster rejects every pod",
            ),
            Lint::UidRangeStartsAtZero => (
                codes::UID_RANGE_AT_ZERO,
                UID_RANGE,
                format!("the range of user ids of `{name}` begins at 0, which is root"),
                "begin at 1 or above",
            ),
            Lint::ExemptNamespaceLabelled => (
                codes::EXEMPT_NAMESPACE_LABELLED,
                SYNC_LABEL,
                format!("`{name}` belongs to the platform, and the label has no effect"),
                "remove the label",
            ),
            Lint::OpenshiftPrefixNotSynced => (
                codes::OPENSHIFT_PREFIX_NOT_SYNCED,
                SYNC_LABEL,
                format!("`{name}` begins with `openshift-`, so the cluster does not synchronise its labels"),
                "opt in with `labelSync: true`, or rename it",
            ),
            Lint::RunLevelBypass => (
                codes::RUN_LEVEL_BYPASS,
                "openshift.io/run-level",
                format!("the label `openshift.io/run-level` disables the admission by constraints for `{name}`"),
                "remove the label: with it, constraints limit no pod",
            ),
        };
        let section = if path.starts_with("openshift.io/sa.") { "annotations" } else { "labels" };
        say(Severity::Warning, code, (&format!("metadata.{section}.{path}"), None), message, help);
    }
    let pinned = facts.labels.get(PodSecurityLabel::EnforceVersion).and_then(PolicyVersion::parse);
    let holds = settled.enforced != Level::Privileged;
    if let Some(version @ PolicyVersion::Minor(..SAFE_SYSCTLS_SINCE)) = pinned.filter(|_| holds) {
        let message =
            format!("`{name}` pins the checks of {version}, and these reject kernel parameters that constraints allow");
        let help = "pin v1.29 or later, or `latest` like the cluster";
        say(
            Severity::Warning,
            codes::PINNED_ENFORCE_VERSION,
            (&format!("metadata.labels.{ENFORCE}-version"), None),
            message,
            help,
        );
    }
    if facts.range() == UidRange::Malformed {
        let path = format!("metadata.annotations.{UID_RANGE}");
        let message = format!("the range of user ids of `{name}` cannot be read");
        let help = "write `<start>/<size>` or `<start>-<end>`, such as `1000660000/10000`";
        let place = (path.as_str(), facts.uid_range.as_deref());
        say(Severity::Error, codes::MALFORMED_UID_RANGE, place, message, help);
    }
    let owner = facts.uid_range.as_ref().and_then(|range| owners.get(range));
    if let Some(other) = owner.filter(|other| ***other < *name) {
        let message = format!("`{name}` declares the same range of user ids as `{other}`");
        let help =
            "use a different range for each namespace: processes with the same user id can read each other's files";
        say(
            Severity::Warning,
            codes::DUPLICATE_UID_RANGE,
            (&format!("metadata.annotations.{UID_RANGE}"), None),
            message,
            help,
        );
    }
    // The managers of fields are a cluster's business; a repository has none.
    if let SyncAction::Fail(failure @ (SyncFailure::NoUsableScc | SyncFailure::ConversionFailed)) = outcome.action {
        let (why, help) = match failure {
            SyncFailure::NoUsableScc => (
                "its service accounts can use no constraints",
                "grant constraints of the platform, such as `restricted-v2`, or of a profile",
            ),
            _ => (
                "constraints of its service accounts have no level",
                "run `bailiwick explain namespace` for their names; correct them, or revoke their use",
            ),
        };
        let message = format!("the cluster cannot label `{name}`: {why}");
        let code = codes::LABELS_NOT_COMPUTABLE;
        found.push(Words { severity: Severity::Warning, code, place: None, message, help });
    }
    found
}

/// Words about constraints.
pub(super) fn constraints(unit: &Unit, world: &SyncWorld, trees: &Trees, sink: &mut Sink) {
    let name = &*unit.identity.name;
    let release = world.settings().release;
    let mut report = Report { unit, trees, sink };
    if defaults::names(release).any(|known| known == name) {
        report.say(
            Severity::Error,
            codes::PLATFORM_CONSTRAINTS,
            ("metadata.name", Some(name)),
            format!("the constraints `{name}` belong to the platform"),
            "use another name: the platform overwrites its constraints",
        );
    }
    for lint in world.scc_lints(name) {
        let (severity, code, message, help) = match &lint {
            SccLint::Deadly(why) => (
                Severity::Error,
                codes::DEADLY_CONSTRAINTS,
                format!("these constraints block every pod of the cluster: {why}"),
                "complete the strategy: admission prepares all constraints before it checks their use",
            ),
            // `deadly-scc` reports it.
            SccLint::HalfUidRange => continue,
            SccLint::UnknownVolumeType(volume) => {
                let what =
                    if volume_level(volume).is_some() { "does not exist in this release" } else { "does not exist" };
                (
                    Severity::Error,
                    codes::UNKNOWN_VOLUME_TYPE,
                    format!("the volume type `{volume}` {what}"),
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
                "remove it, or also allow it: the computed level can reject the pods",
            ),
            SccLint::PriorityHijack => (
                Severity::Warning,
                codes::SCC_PRIORITY_HIJACK,
                format!("all subjects can use `{name}`, and it precedes the constraints of the platform"),
                "grant it only to the subjects that need it, and select it in pods with `openshift.io/required-scc`",
            ),
        };
        let value = match &lint {
            SccLint::UnknownVolumeType(name)
            | SccLint::SeccompFieldSpelling(name)
            | SccLint::CapabilitySpelling(name)
            | SccLint::DefaultAddNotCounted(name) => Some(name.as_str()),
            _ => None,
        };
        report.say(severity, code, (lint.field(), value), message, help);
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

/// Words about what a role lets its holders use.
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
            let near = crate::diag::nearest(name, sccs.iter().map(Scc::name));
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

/// Words about a binding: service accounts that are written as users, which the label syncer does not see.
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
