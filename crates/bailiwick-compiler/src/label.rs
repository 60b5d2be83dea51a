//! The stage between `validate` and `emit` for targets of OpenShift: the only loop of the pipeline.
//!
//! The Pod Security level of a namespace depends on the constraints of its service accounts, and these on every role
//! and binding of the target. So the target is compiled once to collect them, and a second time with the labels filled
//! in. The stage changes labels of compiled Namespaces and the related annotation, and nothing else; `findings` reports
//! everything else.

mod findings;

use std::collections::HashMap;

use bailiwick_admission::labels::Settings;
use bailiwick_admission::labels::control::{Control, Reason};
use bailiwick_admission::labels::namespace::{LEVEL_ANNOTATION, LabelSet, Source};
use bailiwick_admission::labels::world::{SyncBuilder, SyncWorld};
use bailiwick_admission::level::{Level, PolicyVersion};
use bailiwick_admission::scc::release::SyncMode;
use bailiwick_kubernetes::stored;
use bailiwick_policy::model::{LabelSync, Target, Unit};
use bailiwick_yaml::diag::{Origin, Sink};
use bailiwick_yaml::{NodeId, NodeRef, Tree};

pub use self::exemption::check as check_exemption;
use self::findings::{NamespaceFinding, SettledNamespace};
use crate::validate::Trees;

/// The service accounts that OpenShift creates in every namespace.
const OWN_ACCOUNTS: [&str; 3] = ["builder", "default", "deployer"];

/// Returns the settings of the cluster; none for a target without the OpenShift label synchronization.
pub fn settings(target: &Target) -> Option<Settings> {
    let release = target.release_with_defaults()?;
    let mode = match target.features.pod_security_label_sync {
        Some(LabelSync::None) => return None,
        Some(LabelSync::Enforcing) => SyncMode::Enforcing,
        Some(LabelSync::Advising) => SyncMode::Advising,
        None => release.default_mode(),
    };
    Some(Settings { release, mode, checks: PolicyVersion::Latest.on_server_of(release.kubernetes_minor()) })
}

/// The collected objects of a target that decide labels.
pub struct Collector {
    builder: SyncBuilder,
}

impl Collector {
    /// Creates a collector with the default objects of the release.
    pub fn new(settings: Settings) -> Self {
        Self { builder: SyncBuilder::new(settings).with_defaults(false) }
    }

    /// Adds a compiled or known object, with the location of its content.
    pub fn add(&mut self, object: NodeRef<'_>, place: Origin) {
        let text = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str);
        if text(&["kind"]) == Some("Namespace")
            && let Some(name) = text(&["metadata", "name"])
        {
            for account in OWN_ACCOUNTS {
                self.builder.add_account(name, account);
            }
        }
        // Constraints of another shape were refused by their schema.
        _ = self.builder.add_at(object, Source::Declared, place);
    }

    /// Settles everything.
    pub fn finish(self) -> NamespaceLabels {
        let world = self.builder.build();
        let mut owners = HashMap::new();
        for namespace in world.namespaces() {
            if let Some(range) = world.declared_facts(namespace).and_then(|facts| facts.uid_range.clone()) {
                owners.entry(range).or_insert_with(|| namespace.into());
            }
        }
        NamespaceLabels { world, owners }
    }
}

/// The labels of every namespace of a target.
pub struct NamespaceLabels {
    world: SyncWorld,
    /// The first namespace with each range of user ids.
    owners: HashMap<Box<str>, Box<str>>,
}

/// The labels and the annotation that the cluster would give a Namespace.
#[derive(Debug, Clone, Default)]
pub struct LabelPatch {
    labels: LabelSet,
    annotation: Option<Level>,
}

/// The result for a Namespace.
pub struct NamespaceVerdict {
    /// The labels and the annotation to write.
    pub filling: LabelPatch,
    findings: Vec<NamespaceFinding>,
}

impl LabelPatch {
    /// Writes into a Namespace.
    pub fn write(&self, tree: &mut Tree, root: NodeId) {
        for (label, value) in self.labels.iter() {
            stored::put_metadata(tree, root, "labels", &label.key(), value);
        }
        if let Some(level) = self.annotation {
            stored::put_metadata(tree, root, "annotations", LEVEL_ANNOTATION, level.name());
        }
    }
}

impl NamespaceLabels {
    /// Returns the objects that decide the labels.
    pub fn world(&self) -> &SyncWorld {
        &self.world
    }

    /// Whether the stage changes the object: a compiled Namespace, unless it comes from a manifest
    /// or its policy has `labels: none`.
    pub fn concerns(unit: &Unit) -> bool {
        &*unit.identity.object_type.kind == "Namespace" && !unit.is_brought_in() && !unit.without_levels
    }

    /// Returns the labels and the annotation of a Namespace by its name, as the cluster would write them, without the
    /// labels it declares. A Namespace that opts in to the synchronization is left to the cluster, which overwrites its
    /// labels whenever a grant changes.
    pub fn verdict(&self, name: &str) -> NamespaceVerdict {
        let (Some(settled), Some(outcome)) = (self.world.settled(name), self.world.outcome(name)) else {
            return NamespaceVerdict { filling: LabelPatch::default(), findings: Vec::new() };
        };
        let namespace = SettledNamespace { name, settled: &settled, outcome: &outcome };
        let findings = namespace.findings(&self.world, &self.owners);
        let filling = match outcome.control {
            Control { reason: Reason::OptedIn, .. } => LabelPatch::default(),
            Control { controlled: true, .. } => LabelPatch { labels: settled.labels, annotation: outcome.annotation },
            Control { .. } => LabelPatch { labels: LabelSet::default(), annotation: outcome.annotation },
        };
        NamespaceVerdict { filling, findings }
    }

    /// Reports the findings about an object of the target.
    pub fn check(&self, unit: &Unit, root: NodeRef<'_>, trees: &Trees, sink: &mut Sink) {
        match &*unit.identity.object_type.kind {
            "Namespace" => {
                let findings = self.verdict(&unit.identity.name).findings;
                findings::report(unit, findings, trees, sink);
            }
            "SecurityContextConstraints" => findings::constraints(unit, &self.world, trees, sink),
            "Role" | "ClusterRole" => findings::role(unit, root, self.world.sccs(), trees, sink),
            "RoleBinding" | "ClusterRoleBinding" => findings::binding(unit, root, &self.world, trees, sink),
            _ => {}
        }
    }
}

mod exemption {
    //! The levels of namespaces that Pod Security admission does not look at.

    use bailiwick_admission::level::Level;
    use bailiwick_admission::standards::labels::PodSecurityMode;
    use bailiwick_codes as codes;
    use bailiwick_policy::model::{Target, Unit};
    use bailiwick_yaml::NodeRef;
    use bailiwick_yaml::diag::{Diagnostic, Sink};

    /// Reports a Namespace with a level above `privileged` that the target exempts from Pod Security admission.
    pub fn check(target: &Target, unit: &Unit, root: NodeRef<'_>, sink: &mut Sink) {
        let name = &*unit.identity.name;
        let is_namespace = &*unit.identity.object_type.kind == "Namespace" && !unit.is_brought_in();
        if !is_namespace || !target.pod_security.exemptions.has_namespace(name) {
            return;
        }
        let label = |mode: PodSecurityMode| root.path(&["metadata", "labels", &mode.label()]).and_then(NodeRef::as_str);
        let mut levels = PodSecurityMode::ALL.into_iter().filter_map(label);
        let Some(level) = levels.find(|level| *level != Level::Privileged.name()) else { return };
        let message = format!("the namespace `{name}` has the level `{level}`, but `{}` exempts it", target.name);
        let told = Diagnostic::warning(codes::EXEMPT_FROM_LEVEL, message).at(unit.origin);
        let told = unit.account.into_iter().fold(told, |told, account| told.and(account, "for this account"));
        sink.push(
            told.help(
                "remove the level or the exemption: Pod Security admission does not look at pods of the namespace",
            )
            .note(format!("`podSecurity.exemptions.namespaces` of the target `{}`", target.name))
            .note(format!("in {}", unit.identity))
            .foldable(),
        );
    }
}
