//! Escalation paths as they are reported.

use std::fmt;

use bailiwick_access::proof::Chain;
use bailiwick_access::risk::{EdgeKind, RiskSeverity};
use schemars::JsonSchema;
use serde::Serialize;

use crate::power::Power;

/// How sure a step or a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathCertainty {
    /// Every step follows from the inputs.
    Proven,
    /// Some step depends on scheduling, on unknown objects or on another subject.
    Possible,
}

impl PathCertainty {
    /// Returns the word of the certainty.
    pub fn word(self) -> &'static str {
        match self {
            PathCertainty::Proven => "proven",
            PathCertainty::Possible => "possible",
        }
    }

    /// Returns the severity of a path of this certainty to a power: the severity of the power, one step lower for a possible path.
    pub fn severity_of(self, power: &Power) -> RiskSeverity {
        match self {
            PathCertainty::Proven => power.severity(),
            PathCertainty::Possible => power.severity().step_down(),
        }
    }
}

impl fmt::Display for PathCertainty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// The start or the end of a step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PathNode {
    /// A subject, as `Group/sre`, `User/ada` or `ServiceAccount/shop/web`.
    Subject(String),
    /// A power, such as `nodes`.
    Power(Power),
}

impl fmt::Display for PathNode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathNode::Subject(name) => formatter.write_str(name),
            PathNode::Power(power) => power.fmt(formatter),
        }
    }
}

/// A gain by one permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathStep {
    /// The kind of the step.
    pub edge: EdgeKind,
    /// The start of the step.
    pub from: PathNode,
    /// The gain; equal to the start for a step that prepares the next one.
    pub to: PathNode,
    /// The namespace of the step; none for the whole cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The bindings and rules behind the step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub chains: Vec<Chain>,
    /// How sure the step is.
    pub certainty: PathCertainty,
    /// A condition or limit, with its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl PathStep {
    /// Returns the kind with the namespace, such as `create-pods@shop`.
    pub fn label(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{}@{namespace}", self.edge.word()),
            None => self.edge.word().to_owned(),
        }
    }

    /// Whether another step has the same nodes, kind and namespace.
    fn has_same_nodes(&self, other: &Self) -> bool {
        (&self.from, self.edge, &self.namespace, &self.to) == (&other.from, other.edge, &other.namespace, &other.to)
    }
}

/// A path from a subject to a power.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EscalationPath {
    /// The subject, as `Group/sre`.
    pub subject: String,
    /// The power at the end.
    pub reaches: Power,
    /// The certainty of the weakest step.
    pub certainty: PathCertainty,
    /// The steps in order.
    pub steps: Vec<PathStep>,
}

/// A path without its steps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathOutline {
    /// The power at the end.
    pub reaches: Power,
    /// The certainty of the weakest step.
    pub certainty: PathCertainty,
    /// The number of steps.
    pub steps: usize,
}

impl EscalationPath {
    /// Whether the first steps of the path are all steps of another path.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        self.steps.len() >= other.steps.len()
            && self.steps.iter().zip(&other.steps).all(|(left, right)| left.has_same_nodes(right))
    }

    /// Returns the path as a list of words: the label of each step, and then its gain.
    pub fn via(&self) -> Vec<String> {
        self.steps.iter().flat_map(|step| [step.label(), step.to.to_string()]).collect()
    }
}
