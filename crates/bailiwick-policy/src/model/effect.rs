//! How bad the effects of a change are, and the dangers of its application.

use bailiwick_access::risk::RiskSeverity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad an effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EffectSeverity {
    /// It opens nothing.
    None,
    /// It is good to know.
    Info,
    /// It opens little.
    Low,
    /// It opens something, together with other things.
    Medium,
    /// It opens a namespace, a node, or a part of the control plane.
    High,
    /// It opens the cluster.
    Critical,
}

impl EffectSeverity {
    /// Returns the word of the severity.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl From<RiskSeverity> for EffectSeverity {
    fn from(severity: RiskSeverity) -> Self {
        match severity {
            RiskSeverity::Critical => Self::Critical,
            RiskSeverity::High => Self::High,
            RiskSeverity::Medium => Self::Medium,
            RiskSeverity::Low => Self::Low,
            RiskSeverity::Info => Self::Info,
        }
    }
}

/// A danger of the application of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HazardKind {
    /// A namespace is deleted with everything in it.
    NamespaceDeleted,
    /// A target is removed: the applier deletes all its objects.
    TargetRemoved,
    /// A target gets another name: the applier deletes and creates all its objects.
    TargetRenamed,
    /// A setting of the comparison, the admission or the application changes. No object of the output shows the setting.
    SettingChanged,
    /// The last subject with a protected right loses it.
    LockOut,
    /// A binding is deleted and created because its role changes.
    RolerefChanged,
    /// A custom resource definition is deleted with all its objects.
    CrdDeleted,
    /// Bindings get other names; between deletion and creation the rights are missing.
    BindingReplaced,
    /// Very many namespaces change.
    MassChange,
    /// The applier never deletes a removed object, so that its access stays.
    NeverPruned,
}
