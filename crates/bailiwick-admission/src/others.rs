//! Pod security policies of other admission controllers, beside the Pod Security level of a namespace: the published sets
//! of Kyverno and the library of Gatekeeper.
//!
//! [`OtherPolicies`] collects the objects of a cluster, and [`judge::judge`] compares a rule with the levels of
//! namespaces: the level refuses the same pods (*redundant*), the rule refuses further pods (*stricter*), or the rule was
//! not compared. A rule counts by its content, because its author chooses its name: the patterns of Kyverno are read, and
//! CEL and Rego are compared with digests of published texts.
//!
//! INVARIANT: *redundant* means that the level refuses each pod refused by the rule. A content that the reader does not
//! know is not compared.
//!
//! Left out: exceptions and the configuration of the controllers, such as the namespaces left out by their webhooks. No
//! policy is converted or evaluated.

mod conditions;
mod demand;
mod expressions;
mod gatekeeper;
mod gatekeeper_parameters;
pub mod judge;
mod kyverno;
mod pattern;
mod scope;
mod validating;

pub use demand::Demand;
pub use scope::{RuleScope, Selected};

use std::collections::BTreeMap;

use bailiwick_yaml::NodeRef;

use gatekeeper::{Constraint, Template};

/// An admission controller beside the plugins of the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherController {
    /// Kyverno, whose policies are patterns, conditions or CEL.
    Kyverno,
    /// Gatekeeper, whose constraints have a template in Rego or CEL.
    Gatekeeper,
}

/// The reason why the content of a rule was not compared.
#[derive(Debug)]
struct UnreadRule(String);

impl From<&str> for UnreadRule {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<String> for UnreadRule {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

/// The demands of a rule on pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleContent {
    /// The content was compared, and states these demands.
    Stated(Vec<Demand>),
    /// The rule has the name of a known template, and another or an absent text.
    NameOnly {
        /// The reason why the text was not compared.
        reason: &'static str,
        /// The demands of the known template.
        would_state: Vec<Demand>,
    },
    /// The content was not compared, for this reason.
    NotCompared(String),
}

/// The effect of a rule on a pod that violates it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleAction {
    /// The pod is refused.
    Refuses,
    /// The pod is admitted, and the violation is reported.
    Reports,
    /// The effect depends on something, named here.
    Undecided(String),
}

/// A rule of a policy of another admission controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRule {
    /// The controller of the policy.
    pub controller: OtherController,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object, empty for the cluster.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The name of the rule; none for a rule without a name.
    pub rule: Option<String>,
    /// The demands on pods.
    pub content: RuleContent,
    /// The effect of a violation.
    pub action: RuleAction,
    /// The namespaces of the pods.
    pub scope: RuleScope,
}

/// Collects the policies of other admission controllers among the objects of a cluster.
#[derive(Debug, Default)]
pub struct OtherPolicies {
    rules: Vec<OtherRule>,
    templates: BTreeMap<String, Template>,
    constraints: Vec<Constraint>,
    exempted: Vec<RuleScope>,
}

impl OtherPolicies {
    /// Reads an object, if it is a policy of one of the controllers. Returns whether it is.
    pub fn add(&mut self, object: NodeRef<'_>) -> bool {
        let (version, kind) = (object.text_at("apiVersion"), object.text_at("kind"));
        let group = version.split_once('/').map_or("", |(group, _)| group);
        match (group, kind) {
            ("kyverno.io", "ClusterPolicy" | "Policy") => self.rules.extend(kyverno::read(object)),
            ("policies.kyverno.io", "ValidatingPolicy" | "NamespacedValidatingPolicy") => {
                self.rules.push(validating::read(object));
            }
            ("templates.gatekeeper.sh", "ConstraintTemplate") => {
                let (kind, template) = gatekeeper::template(object);
                self.templates.insert(kind, template);
            }
            ("constraints.gatekeeper.sh", _) => self.constraints.push(gatekeeper::constraint(object)),
            ("config.gatekeeper.sh", "Config") => self.exempted.extend(gatekeeper::exempted(object)),
            _ => return false,
        }
        true
    }

    /// Returns the rules by controller, kind, namespace and name. The rules of one policy keep their order.
    pub fn finish(self) -> Vec<OtherRule> {
        let Self { mut rules, templates, constraints, exempted } = self;
        let of_gatekeeper = constraints.into_iter().map(|constraint| {
            let template = templates.get(&constraint.kind);
            constraint.with(template, &exempted)
        });
        rules.extend(of_gatekeeper);
        rules.sort_by(|one, other| one.place().cmp(&other.place()));
        rules
    }
}

impl OtherRule {
    fn place(&self) -> (OtherController, [&str; 3]) {
        (self.controller, [&self.kind, &self.namespace, &self.name])
    }
}

impl OtherController {
    /// Returns the name of the controller.
    pub fn name(self) -> &'static str {
        match self {
            OtherController::Kyverno => "Kyverno",
            OtherController::Gatekeeper => "Gatekeeper",
        }
    }
}

#[cfg(test)]
mod tests;
