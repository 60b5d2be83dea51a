//! Policies of other admission controllers: recognised, and not evaluated.
//!
//! Kyverno (`api/kyverno/v1` and `api/policies.kyverno.io` of 1.19) and Gatekeeper (constraints of 3.23) decide about pods beside the
//! plugins of the API server. Such a policy can reject pods, and change pods before they are admitted.

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
    /// Recognises an object; none for an object of no other controller, and for an object that decides nothing by itself, such as a
    /// ConstraintTemplate.
    pub fn of(object: NodeRef<'_>) -> Option<Self> {
        let kind = object.text_at("kind");
        let group = object.text_at("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let controller = match (group, kind) {
            ("kyverno.io", "ClusterPolicy" | "Policy") => OtherController::Kyverno,
            ("policies.kyverno.io", kind) if kind.ends_with("Policy") => OtherController::Kyverno,
            ("constraints.gatekeeper.sh" | "mutations.gatekeeper.sh", _) => OtherController::Gatekeeper,
            _ => return None,
        };
        let metadata = |key| object.get("metadata").map_or("", |metadata| metadata.text_at(key)).to_owned();
        Some(Self { controller, kind: kind.to_owned(), namespace: metadata("namespace"), name: metadata("name") })
    }
}

#[cfg(test)]
mod tests {
    use bailiwick_yaml::diag::{FileId, Sink};

    use super::{OtherController, OtherPolicy};

    #[test]
    fn policies_that_reject_or_change_pods_are_recognised() {
        let controller = |version: &str, kind: &str| {
            let text = format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n");
            let tree = bailiwick_yaml::read(&text, FileId::default(), &mut Sink::new());
            tree.document(0).and_then(OtherPolicy::of).map(|policy| policy.controller)
        };
        for (version, kind) in [
            ("kyverno.io/v1", "ClusterPolicy"),
            ("kyverno.io/v2beta1", "Policy"),
            ("policies.kyverno.io/v1alpha1", "MutatingPolicy"),
            ("policies.kyverno.io/v1", "NamespacedValidatingPolicy"),
        ] {
            assert_eq!(controller(version, kind), Some(OtherController::Kyverno), "{kind}");
        }
        for (version, kind) in
            [("constraints.gatekeeper.sh/v1beta1", "K8sPSPVolumeTypes"), ("mutations.gatekeeper.sh/v1", "Assign")]
        {
            assert_eq!(controller(version, kind), Some(OtherController::Gatekeeper), "{kind}");
        }
        for (version, kind) in [
            ("kyverno.io/v1", "ClusterCleanupPolicy"),
            ("policies.kyverno.io/v1", "PolicyException"),
            ("templates.gatekeeper.sh/v1", "ConstraintTemplate"),
            ("v1", "Policy"),
        ] {
            assert_eq!(controller(version, kind), None, "{kind}");
        }
    }
}
