//! Facts about a namespace: its labels, their owners, and the allocations of the cluster.

use std::collections::BTreeMap;

use crate::scc::range::{MCS, SUPPLEMENTAL_GROUPS, UID_RANGE, UidRange};
use bailiwick_kubernetes::absent;
use bailiwick_yaml::NodeRef;

/// The label for opting in or out.
pub const SYNC_LABEL: &str = "security.openshift.io/scc.podSecurityLabelSync";
/// The label for a namespace without admission by constraints.
pub const RUN_LEVEL_LABEL: &str = "openshift.io/run-level";
/// The annotation with the computed level.
pub const LEVEL_ANNOTATION: &str = "security.openshift.io/MinimallySufficientPodSecurityStandard";
/// The field manager of the syncer.
pub const SYNCER: &str = "pod-security-admission-label-synchronization-controller";
/// The field manager of the syncer before 4.14.
pub const FORMER_SYNCER: &str = "cluster-policy-controller";

/// Prefix of the labels of Pod Security.
const PREFIX: &str = "pod-security.kubernetes.io/";

/// A key with the prefix of Pod Security.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodSecurityLabel {
    /// The level enforced on pods.
    Enforce,
    /// The version of its checks.
    EnforceVersion,
    /// The level for audit annotations.
    Audit,
    /// The version of its checks.
    AuditVersion,
    /// The level for warnings to users.
    Warn,
    /// The version of its checks.
    WarnVersion,
}

/// The Pod Security labels of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LabelSet([Option<Box<str>>; 6]);

/// The owners of the labels of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelOwnership {
    /// The managers of each label in `managedFields`.
    Managed(Vec<(PodSecurityLabel, Box<str>)>),
    /// They cannot be read.
    Unreadable,
    /// The namespace is declared in a repository; the applying manager owns every declared label.
    Declared,
}

/// The facts about a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Its Pod Security labels.
    pub labels: LabelSet,
    /// The value of the label for opting in or out.
    pub sync: Option<Box<str>>,
    /// The value of the run-level label.
    pub run_level: Option<Box<str>>,
    /// The annotation with the range of user ids.
    pub uid_range: Option<Box<str>>,
    /// The annotation with the ranges of group ids.
    pub supplemental_groups: Option<Box<str>>,
    /// The annotation with the SELinux level.
    pub mcs: Option<Box<str>>,
    /// The annotation with the computed level.
    pub computed_level: Option<Box<str>>,
    /// True while it is being deleted.
    pub is_terminating: bool,
    /// The owners of its labels.
    pub ownership: LabelOwnership,
}

/// The origin of a Namespace object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A cluster: the object has field managers and allocations.
    Live,
    /// A repository: another manager owns the declared labels, and the cluster allocates missing annotations.
    Declared,
}

impl PodSecurityLabel {
    /// All of them: each mode, its level before its version.
    pub const ALL: [PodSecurityLabel; 6] = [
        PodSecurityLabel::Enforce,
        PodSecurityLabel::EnforceVersion,
        PodSecurityLabel::Audit,
        PodSecurityLabel::AuditVersion,
        PodSecurityLabel::Warn,
        PodSecurityLabel::WarnVersion,
    ];

    /// Returns the name after the common prefix.
    pub fn short(self) -> &'static str {
        match self {
            PodSecurityLabel::Enforce => "enforce",
            PodSecurityLabel::EnforceVersion => "enforce-version",
            PodSecurityLabel::Audit => "audit",
            PodSecurityLabel::AuditVersion => "audit-version",
            PodSecurityLabel::Warn => "warn",
            PodSecurityLabel::WarnVersion => "warn-version",
        }
    }

    /// Returns the key of the label.
    pub fn key(self) -> String {
        format!("{PREFIX}{}", self.short())
    }

    /// Returns the label of a key.
    pub fn of_key(key: &str) -> Option<Self> {
        let short = key.strip_prefix(PREFIX)?;
        Self::ALL.into_iter().find(|label| label.short() == short)
    }

    /// Whether this is the version of a level.
    pub fn is_version(self) -> bool {
        matches!(
            self,
            PodSecurityLabel::EnforceVersion | PodSecurityLabel::AuditVersion | PodSecurityLabel::WarnVersion
        )
    }
}

impl LabelSet {
    /// Returns the value of a label.
    pub fn get(&self, label: PodSecurityLabel) -> Option<&str> {
        self.0.get(label as usize).and_then(Option::as_deref)
    }

    /// Sets the value of a label, replacing an earlier value.
    pub fn set(&mut self, label: PodSecurityLabel, value: &str) {
        if let Some(slot) = self.0.get_mut(label as usize) {
            *slot = Some(value.into());
        }
    }

    /// Returns the labels with their values.
    pub fn iter(&self) -> impl Iterator<Item = (PodSecurityLabel, &str)> {
        PodSecurityLabel::ALL.into_iter().filter_map(|label| self.get(label).map(|value| (label, value)))
    }

    /// Whether the set has no label.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl NamespaceFacts {
    /// Reads the labels, the annotations and the managers of a Namespace object.
    pub fn read(object: NodeRef<'_>, source: Source) -> Self {
        let metadata = |kind: &str, key: &str| -> Option<Box<str>> {
            object.path(&["metadata", kind, key]).and_then(NodeRef::as_str).map(Into::into)
        };
        let mut labels = LabelSet::default();
        for (key, value) in object.path(&["metadata", "labels"]).into_iter().flat_map(NodeRef::entries) {
            if let Some(label) = key.as_str().and_then(PodSecurityLabel::of_key) {
                labels.set(label, absent::text(value.as_str()));
            }
        }
        Self {
            labels,
            sync: metadata("labels", SYNC_LABEL),
            run_level: metadata("labels", RUN_LEVEL_LABEL),
            uid_range: metadata("annotations", UID_RANGE),
            supplemental_groups: metadata("annotations", SUPPLEMENTAL_GROUPS),
            mcs: metadata("annotations", MCS),
            computed_level: metadata("annotations", LEVEL_ANNOTATION),
            is_terminating: object.path(&["status", "phase"]).and_then(NodeRef::as_str) == Some("Terminating"),
            ownership: match source {
                Source::Declared => LabelOwnership::Declared,
                Source::Live => ownership(object),
            },
        }
    }

    /// Returns a namespace known by its name alone.
    pub fn unknown() -> Self {
        Self {
            labels: LabelSet::default(),
            sync: None,
            run_level: None,
            uid_range: None,
            supplemental_groups: None,
            mcs: None,
            computed_level: None,
            is_terminating: false,
            ownership: LabelOwnership::Declared,
        }
    }

    /// Returns the range of its user ids. For a namespace of a repository without a range, the cluster allocates one
    /// above 0.
    pub fn range(&self) -> UidRange {
        match UidRange::read(self.uid_range.as_deref()) {
            UidRange::Missing if self.ownership == LabelOwnership::Declared => UidRange::AboveZero,
            range => range,
        }
    }

    /// Whether the label opts in.
    pub fn is_opted_in(&self) -> bool {
        self.sync.as_deref() == Some("true")
    }

    /// Returns the managers of a label, each once; one without a name owns nothing.
    pub fn managers(&self, label: PodSecurityLabel) -> Vec<&str> {
        match &self.ownership {
            LabelOwnership::Managed(managers) => {
                let own = managers.iter().filter(|(known, _)| *known == label);
                own.map(|(_, manager)| &**manager).collect()
            }
            LabelOwnership::Declared if self.labels.get(label).is_some() => vec!["the repository"],
            LabelOwnership::Declared | LabelOwnership::Unreadable => Vec::new(),
        }
    }
}

/// Returns the managers of each label as the syncer reads them. One unreadable entry makes all of them unreadable.
fn ownership(object: NodeRef<'_>) -> LabelOwnership {
    let mut managers: BTreeMap<(PodSecurityLabel, &str), ()> = BTreeMap::new();
    for entry in object.path(&["metadata", "managedFields"]).into_iter().flat_map(NodeRef::items) {
        let Some(fields) = entry.get("fieldsV1").filter(|fields| fields.is_map()) else {
            return LabelOwnership::Unreadable;
        };
        let Some(metadata) = fields.get("f:metadata").filter(|metadata| !metadata.is_null()) else { continue };
        if !metadata.is_map() {
            return LabelOwnership::Unreadable;
        }
        let Some(labels) = metadata.get("f:labels") else { continue };
        if !labels.is_map() {
            return LabelOwnership::Unreadable;
        }
        let manager = absent::text_at(entry, &["manager"]);
        // The first occurrence of the prefix is removed, at any position.
        let keys = labels.entries().filter_map(|(key, _)| key.as_str()).map(|key| key.replacen("f:", "", 1));
        managers.extend(keys.filter_map(|key| PodSecurityLabel::of_key(&key)).map(|label| ((label, manager), ())));
    }
    LabelOwnership::Managed(managers.into_keys().map(|(label, manager)| (label, manager.into())).collect())
}
