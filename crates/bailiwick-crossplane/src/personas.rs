//! The roles for people in a namespace, aggregated from the roles of the stacks there (`pkg/controller/stacks/persona`
//! of Crossplane v0.9).

use super::names::Dots;
use super::object::{ObjectContent, ObjectLabels, PackageObject};
use super::stack::parent_labels;

/// The label of a namespace with a request for the roles.
pub const MANAGED_ROLES: &str = "rbac.crossplane.io/managed-roles";

/// Returns the three roles of a namespace; none for a namespace without the label.
pub fn of_namespace(namespace: &str, label: impl Fn(&str) -> bool) -> Vec<PackageObject> {
    if !label(MANAGED_ROLES) {
        return Vec::new();
    }
    let truths = |keys: Vec<String>| -> ObjectLabels { keys.into_iter().map(|key| (key, "true".to_owned())).collect() };
    let own = format!("namespace.crossplane.io/{namespace}");
    let role = |persona: &str| {
        let aggregate = |scope: &str| format!("rbac.crossplane.io/aggregate-to-{scope}-{persona}");
        let mut labels = truths(vec![own.clone()]);
        labels.insert("crossplane.io/scope".to_owned(), "namespace".to_owned());
        if persona == "admin" {
            labels.extend(truths(vec![aggregate("crossplane")]));
        }
        labels.extend(parent_labels(["", "v1", "Namespace", "", namespace], Dots::Kept));
        PackageObject {
            namespace: None,
            name: format!("crossplane:ns:{namespace}:{persona}"),
            labels,
            content: ObjectContent::Gathered(vec![
                truths(vec![aggregate("namespace"), own.clone()]),
                truths(vec![aggregate("namespace-default")]),
            ]),
        }
    };
    ["admin", "edit", "view"].map(role).into()
}
