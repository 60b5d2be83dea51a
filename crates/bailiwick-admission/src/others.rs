//! Policies of other admission controllers: recognised, and not evaluated.
//!
//! Kyverno (`api/kyverno/v1` and `api/policies.kyverno.io` of 1.19) and Gatekeeper (constraints of 3.23) decide about pods beside the
//! plugins of the API server. Such a policy can only reject further pods.

use bailiwick_yaml::NodeRef;

/// An admission controller beside the plugins of the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherController {
    /// The controller whose policies are patterns, conditions or CEL.
    Kyverno,
    /// The controller whose constraints have a template in Rego or CEL.
    Gatekeeper,
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

/// A policy of another admission controller. The order is by controller, kind, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherPolicy {
    /// The program that evaluates the policy.
    pub controller: OtherController,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object, empty for the cluster.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
}

impl OtherPolicy {
    /// Recognises an object; none for an object of no other controller, and for an object that rejects nothing by itself, such as a
    /// ConstraintTemplate.
    pub fn of(object: NodeRef<'_>) -> Option<Self> {
        let kind = object.text_at("kind");
        let group = object.text_at("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let controller = match (group, kind) {
            ("kyverno.io", "ClusterPolicy" | "Policy")
            | ("policies.kyverno.io", "ValidatingPolicy" | "NamespacedValidatingPolicy") => OtherController::Kyverno,
            ("constraints.gatekeeper.sh", _) => OtherController::Gatekeeper,
            _ => return None,
        };
        let metadata = |key| object.get("metadata").map_or("", |metadata| metadata.text_at(key)).to_owned();
        Some(Self { controller, kind: kind.to_owned(), namespace: metadata("namespace"), name: metadata("name") })
    }
}
