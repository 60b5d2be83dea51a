//! The stage between `validate` and `emit` for targets of OpenShift: the one loop of the pipeline.
//!
//! Which Pod Security level a namespace has follows from what its service accounts may use, and that from every role and
//! binding of the target. So the target is compiled once to collect them, and once more with the labels filled in. The
//! stage changes labels of our own Namespaces, and the annotation that goes with them, and nothing else; what it finds
//! worth a word beside that is in `findings`.

mod findings;

use crate::admission::labels::Settings;
use crate::admission::labels::control::Reason;
use crate::admission::labels::namespace::{LEVEL_ANNOTATION, Source};
use crate::admission::labels::sync::{Action, Failure};
use crate::admission::labels::world::{SyncBuilder, SyncWorld};
use crate::admission::level::PolicyVersion;
use crate::admission::scc::release::{Mode, Release};
use crate::diag::{Code, Diagnostic, Origin, Sink};
use crate::k8s::rbac::SameRules;
use crate::k8s::stored;
use crate::model::{LabelSync, Target, Unit};
use crate::validate::Trees;
use crate::yaml::{NodeId, NodeRef, Tree};

/// The service accounts that OpenShift makes in every namespace (`specs/openshift.md` 3).
const OWN_ACCOUNTS: [&str; 3] = ["builder", "default", "deployer"];

/// What the cluster of a target is like; none where it is not OpenShift with a label syncer.
pub fn settings(target: &Target) -> Option<Settings> {
    let release = Release { major: 4, minor: target.openshift_minor()? };
    if release < Release::FIRST {
        return None;
    }
    let mode = match target.features.pod_security_label_sync {
        Some(LabelSync::None) => return None,
        Some(LabelSync::Enforcing) => Mode::Enforcing,
        Some(LabelSync::Advising) => Mode::Advising,
        None => release.default_mode(),
    };
    Some(Settings { release, mode, checks: PolicyVersion::Latest })
}

/// Everything of a target that decides labels, while it is collected.
pub struct Collector {
    builder: SyncBuilder,
}

impl Collector {
    /// A collector with what a cluster of that release starts with.
    pub fn new(settings: Settings) -> Self {
        Self { builder: SyncBuilder::new(settings).with_defaults(false) }
    }

    /// Adds an object that is compiled, or that a policy tells of, with the place that says what is in it.
    pub fn add(&mut self, object: NodeRef<'_>, place: Origin, same_rules: Option<SameRules>) {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str);
        if text(&["kind"]) == Some("Namespace")
            && let Some(name) = text(&["metadata", "name"])
        {
            for account in OWN_ACCOUNTS {
                self.builder.add_account(name, account);
            }
        }
        // Constraints of another shape were refused by their schema.
        _ = self.builder.add_at(object, Source::Declared, place, same_rules);
    }

    /// Settles everything.
    pub fn finish(self) -> Labels {
        Labels { world: self.builder.build() }
    }
}

/// The labels of every namespace of a target.
pub struct Labels {
    world: SyncWorld,
}

impl Labels {
    /// What the labels follow from.
    pub fn world(&self) -> &SyncWorld {
        &self.world
    }

    /// True for an object that the stage changes: a Namespace that is compiled and not brought in.
    pub fn concerns(unit: &Unit) -> bool {
        &*unit.identity.object_type.kind == "Namespace" && !unit.is_brought_in()
    }

    /// Writes the labels of a Namespace that it does not declare itself, as the cluster would, and the annotation. One
    /// that opts in is left to the cluster, which would force its own over ours whenever a grant changes.
    pub fn fill(&self, name: &str, tree: &mut Tree, root: NodeId) {
        let (Some(settled), Some(outcome)) = (self.world.settled(name), self.world.outcome(name)) else { return };
        if outcome.control.reason == Reason::OptedIn {
            return;
        }
        for (label, value) in settled.labels.iter().filter(|_| outcome.control.controlled) {
            stored::put_metadata(tree, root, "labels", &label.key(), value);
        }
        if let Some(level) = outcome.annotation {
            stored::put_metadata(tree, root, "annotations", LEVEL_ANNOTATION, level.name());
        }
    }

    /// Says what is worth a word about an object of the target.
    pub fn check(&self, unit: &Unit, root: NodeRef<'_>, trees: &Trees, sink: &mut Sink) {
        match &*unit.identity.object_type.kind {
            "Namespace" => self.check_namespace(unit, trees, sink),
            "SecurityContextConstraints" => findings::constraints(unit, &self.world, trees, sink),
            "Role" | "ClusterRole" => findings::role(unit, root, self.world.sccs(), trees, sink),
            "RoleBinding" | "ClusterRoleBinding" => findings::binding(unit, root, &self.world, trees, sink),
            _ => {}
        }
    }

    fn check_namespace(&self, unit: &Unit, trees: &Trees, sink: &mut Sink) {
        let name = &*unit.identity.name;
        findings::namespace(unit, &self.world, trees, sink);
        let Some(outcome) = self.world.outcome(name) else { return };
        // The managers of fields are a cluster's business; a repository has none.
        let Action::Fail(failure @ (Failure::NoUsableScc | Failure::ConversionFailed)) = outcome.action else { return };
        let (why, help) = match failure {
            Failure::NoUsableScc => (
                "no service account of it may use any constraints",
                "grant one of the platform's, such as `restricted-v2`, or those of a profile",
            ),
            _ => (
                "constraints that its service accounts may use have no level",
                "`bailiwick explain namespace` shows which; mend them, or take back their use",
            ),
        };
        sink.push(
            Diagnostic::warning(Code::LabelsNotComputable, format!("the cluster cannot label `{name}`: {why}"))
                .at(unit.origin)
                .help(help)
                .foldable(),
        );
    }
}
