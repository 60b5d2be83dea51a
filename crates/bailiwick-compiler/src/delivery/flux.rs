//! The objects of Flux. Sources of the fields: `api/v1/kustomization_types.go` of kustomize-controller 1.9.

use bailiwick_policy::model::{FluxDelivery, TargetDelivery};
use serde_json::{Map, Value, json};

use super::DeliveredFolder;

/// Returns one Kustomization for each folder of a target. The folders of namespaces wait for the cluster-scoped objects.
pub(super) fn objects(delivery: &TargetDelivery, flux: &FluxDelivery, folders: &[DeliveredFolder]) -> Vec<Value> {
    let cluster = folders.iter().find(|folder| folder.is_cluster());
    let kustomization = |folder: &DeliveredFolder| {
        let before = cluster.filter(|cluster| *cluster != folder);
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": folder.name(delivery), "namespace": flux.namespace},
            "spec": spec(delivery, flux, folder, before),
        })
    };
    folders.iter().map(kustomization).collect()
}

fn spec(
    delivery: &TargetDelivery,
    flux: &FluxDelivery,
    folder: &DeliveredFolder,
    before: Option<&DeliveredFolder>,
) -> Map<String, Value> {
    let source_namespace = flux.source_namespace.as_ref().map(|namespace| ("namespace".to_owned(), json!(namespace)));
    let source = [("kind".to_owned(), json!(flux.source_kind.name())), ("name".to_owned(), json!(flux.source))];
    let source: Map<String, Value> = source.into_iter().chain(source_namespace).collect();
    let always = [
        ("deletionPolicy", json!("Orphan")),
        ("interval", json!("10m")),
        ("path", json!(format!("./{}", folder.path(delivery)))),
        ("prune", json!(delivery.prune)),
        ("retryInterval", json!("1m")),
        ("sourceRef", Value::Object(source)),
        ("timeout", json!("5m")),
        ("wait", json!(true)),
    ];
    let depends_on = before.map(|before| ("dependsOn", json!([{"name": before.name(delivery)}])));
    let account = flux.service_account.as_ref().map(|account| ("serviceAccountName", json!(account)));
    let kube_config = flux.kube_config.as_ref().map(|name| ("kubeConfig", json!({"secretRef": {"name": name}})));
    let sometimes = depends_on.into_iter().chain(account).chain(kube_config);
    always.into_iter().chain(sometimes).map(|(key, value)| (key.to_owned(), value)).collect()
}
