//! What is known of a namespace: its labels, who owns them, and what the cluster allocated for it.

use std::collections::BTreeMap;

use crate::scc::range::{MCS, SUPPLEMENTAL_GROUPS, UID_RANGE, UidRange};
use bailiwick_yaml::NodeRef;

/// The label that opts in or out.
pub const SYNC_LABEL: &str = "security.openshift.io/scc.podSecurityLabelSync";
/// The label that takes a namespace out of the admission by constraints.
pub const RUN_LEVEL_LABEL: &str = "openshift.io/run-level";
/// The annotation with the level that the syncer computed.
pub const LEVEL_ANNOTATION: &str = "security.openshift.io/MinimallySufficientPodSecurityStandard";
/// The field manager of the syncer.
pub const SYNCER: &str = "pod-security-admission-label-synchronization-controller";
/// The field manager under which it wrote before 4.14.
pub const FORMER_SYNCER: &str = "cluster-policy-controller";

/// What the labels of Pod Security begin with.
const PREFIX: &str = "pod-security.kubernetes.io/";

/// A label of Pod Security.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// The level that pods have to keep.
    Enforce,
    /// The version of its checks.
    EnforceVersion,
    /// The level whose violations are recorded.
    Audit,
    /// The version of its checks.
    AuditVersion,
    /// The level whose violations are told to users.
    Warn,
    /// The version of its checks.
    WarnVersion,
}

/// The Pod Security labels of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LabelSet([Option<Box<str>>; 6]);

/// Who owns the labels of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// What `managedFields` say: the managers of each label that has any.
    Managed(Vec<(Label, Box<str>)>),
    /// They cannot be read.
    Unreadable,
    /// The namespace is declared in a repository: whoever applies it owns every label that it declares.
    Declared,
}

/// What is known of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Its Pod Security labels.
    pub labels: LabelSet,
    /// The value of the label that opts in or out.
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
    /// Who owns its labels.
    pub ownership: Ownership,
}

/// Where the object of a namespace comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A cluster: it has the managers of its fields, and what the cluster allocated.
    Live,
    /// A repository from which it is applied: others own what it declares, and the cluster allocates what it leaves out.
    Declared,
}

impl Label {
    /// All of them: each mode, its level before its version.
    pub const ALL: [Label; 6] =
        [Label::Enforce, Label::EnforceVersion, Label::Audit, Label::AuditVersion, Label::Warn, Label::WarnVersion];

    /// Its name behind the prefix that all of them have.
    pub fn short(self) -> &'static str {
        match self {
            Label::Enforce => "enforce",
            Label::EnforceVersion => "enforce-version",
            Label::Audit => "audit",
            Label::AuditVersion => "audit-version",
            Label::Warn => "warn",
            Label::WarnVersion => "warn-version",
        }
    }

    /// Its key.
    pub fn key(self) -> String {
        format!("{PREFIX}{}", self.short())
    }

    /// The label of a key.
    pub fn of_key(key: &str) -> Option<Self> {
        let short = key.strip_prefix(PREFIX)?;
        Self::ALL.into_iter().find(|label| label.short() == short)
    }

    /// True for the version of a level.
    pub fn is_version(self) -> bool {
        matches!(self, Label::EnforceVersion | Label::AuditVersion | Label::WarnVersion)
    }
}

impl LabelSet {
    /// The value of a label.
    pub fn get(&self, label: Label) -> Option<&str> {
        self.0.get(label as usize).and_then(Option::as_deref)
    }

    /// Sets a label.
    pub fn set(&mut self, label: Label, value: &str) {
        if let Some(slot) = self.0.get_mut(label as usize) {
            *slot = Some(value.into());
        }
    }

    /// The labels that are there, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Label, &str)> {
        Label::ALL.into_iter().filter_map(|label| self.get(label).map(|value| (label, value)))
    }

    /// True without any label.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl NamespaceFacts {
    /// Reads a Namespace.
    pub fn read(object: NodeRef<'_>, source: Source) -> Self {
        let metadata = |kind: &str, key: &str| -> Option<Box<str>> {
            object.path(&["metadata", kind, key]).and_then(NodeRef::as_str).map(Into::into)
        };
        let mut labels = LabelSet::default();
        for (key, value) in object.path(&["metadata", "labels"]).into_iter().flat_map(NodeRef::entries) {
            if let Some(label) = key.as_str().and_then(Label::of_key) {
                labels.set(label, value.as_str().unwrap_or_default());
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
                Source::Declared => Ownership::Declared,
                Source::Live => ownership(object),
            },
        }
    }

    /// A namespace of which only the name is known: declared somewhere else, or nowhere.
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
            ownership: Ownership::Declared,
        }
    }

    /// Where its range of user ids begins. What a repository leaves out the cluster allocates, above 0.
    pub fn range(&self) -> UidRange {
        match UidRange::read(self.uid_range.as_deref()) {
            UidRange::Missing if self.ownership == Ownership::Declared => UidRange::AboveZero,
            range => range,
        }
    }

    /// True when the label opts in.
    pub fn is_opted_in(&self) -> bool {
        self.sync.as_deref() == Some("true")
    }

    /// The managers of a label, each once; one without a name owns nothing.
    pub fn managers(&self, label: Label) -> Vec<&str> {
        match &self.ownership {
            Ownership::Managed(managers) => {
                let own = managers.iter().filter(|(known, _)| *known == label);
                own.map(|(_, manager)| &**manager).collect()
            }
            Ownership::Declared if self.labels.get(label).is_some() => vec!["the repository"],
            Ownership::Declared | Ownership::Unreadable => Vec::new(),
        }
    }
}

/// Who manages which label, as the syncer reads it: it fails for the whole namespace on one entry that it cannot read.
fn ownership(object: NodeRef<'_>) -> Ownership {
    let mut managers: BTreeMap<(Label, &str), ()> = BTreeMap::new();
    for entry in object.path(&["metadata", "managedFields"]).into_iter().flat_map(NodeRef::items) {
        let Some(fields) = entry.get("fieldsV1").filter(|fields| fields.is_map()) else {
            return Ownership::Unreadable;
        };
        let Some(metadata) = fields.get("f:metadata").filter(|metadata| !metadata.is_null()) else { continue };
        if !metadata.is_map() {
            return Ownership::Unreadable;
        }
        let Some(labels) = metadata.get("f:labels") else { continue };
        if !labels.is_map() {
            return Ownership::Unreadable;
        }
        let manager = entry.get("manager").and_then(NodeRef::as_str).unwrap_or_default();
        // The prefix is cut out wherever it stands first.
        let keys = labels.entries().filter_map(|(key, _)| key.as_str()).map(|key| key.replacen("f:", "", 1));
        managers.extend(keys.filter_map(|key| Label::of_key(&key)).map(|label| ((label, manager), ())));
    }
    Ownership::Managed(managers.into_keys().map(|(label, manager)| (label, manager.into())).collect())
}
