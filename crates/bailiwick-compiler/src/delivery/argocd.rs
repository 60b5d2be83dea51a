//! The objects of Argo CD. Sources of the fields: `pkg/apis/application/v1alpha1` of Argo CD 3.2.

use bailiwick_policy::model::{ArgocdDelivery, ArgocdForm, Destination, TargetDelivery};
use serde_json::{Map, Value, json};

use super::DeliveredFolder;

const API_VERSION: &str = "argoproj.io/v1alpha1";

/// Returns the objects for the folders of a target.
pub(super) fn objects(delivery: &TargetDelivery, argocd: &ArgocdDelivery, folders: &[DeliveredFolder]) -> Vec<Value> {
    match argocd.form {
        ArgocdForm::Application => folders.iter().map(|folder| application(delivery, argocd, folder)).collect(),
        ArgocdForm::ApplicationSet if folders.is_empty() => Vec::new(),
        ArgocdForm::ApplicationSet => vec![application_set(delivery, argocd, folders)],
    }
}

fn application(delivery: &TargetDelivery, argocd: &ArgocdDelivery, folder: &DeliveredFolder) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": "Application",
        "metadata": {
            "annotations": annotations(folder.wave()),
            "name": folder.name(delivery),
            "namespace": argocd.namespace,
        },
        "spec": spec(delivery, argocd, &folder.path(delivery)),
    })
}

/// Returns the ApplicationSet of a target. Its generator lists the folders: a generator of git folders would follow any
/// folder of the repository.
fn application_set(delivery: &TargetDelivery, argocd: &ArgocdDelivery, folders: &[DeliveredFolder]) -> Value {
    let has_waves = folders.iter().any(|folder| folder.wave().is_some());
    let element = |folder: &DeliveredFolder| {
        let wave = folder.wave().map(|wave| ("wave".to_owned(), json!(wave)));
        let texts = [("name", folder.name(delivery)), ("path", folder.path(delivery))];
        let texts = texts.map(|(key, text)| (key.to_owned(), json!(text)));
        texts.into_iter().chain(wave).collect::<Map<String, Value>>()
    };
    json!({
        "apiVersion": API_VERSION,
        "kind": "ApplicationSet",
        "metadata": {"name": delivery.name, "namespace": argocd.namespace},
        "spec": {
            "generators": [{"list": {"elements": folders.iter().map(element).collect::<Vec<_>>()}}],
            "goTemplate": true,
            "goTemplateOptions": ["missingkey=error"],
            "syncPolicy": {"applicationsSync": "create-update", "preserveResourcesOnDeletion": true},
            "template": {
                "metadata": {"annotations": annotations(has_waves.then_some("{{.wave}}")), "name": "{{.name}}"},
                "spec": spec(delivery, argocd, "{{.path}}"),
            },
        },
    })
}

/// Returns the annotations of an Application. The order holds below a parent Application.
fn annotations(wave: Option<&str>) -> Map<String, Value> {
    let paths = ("argocd.argoproj.io/manifest-generate-paths".to_owned(), json!("."));
    let wave = wave.map(|wave| ("argocd.argoproj.io/sync-wave".to_owned(), json!(wave)));
    [paths].into_iter().chain(wave).collect()
}

fn spec(delivery: &TargetDelivery, argocd: &ArgocdDelivery, path: &str) -> Value {
    let destination = match &argocd.destination {
        Destination::Name(name) => json!({"name": name}),
        Destination::Server(server) => json!({"server": server}),
    };
    // While files move between folders, an object belongs to two Applications.
    let shared: &[&str] = if delivery.prune { &["FailOnSharedResource=true"] } else { &[] };
    let options: Vec<&str> = ["ApplyOutOfSyncOnly=true"]
        .iter()
        .chain(shared)
        .chain(&["PruneLast=true", "ServerSideApply=true"])
        .copied()
        .collect();
    json!({
        "destination": destination,
        "project": argocd.project,
        "source": {
            "directory": {"recurse": true},
            "path": path,
            "repoURL": argocd.repo_url,
            "targetRevision": argocd.revision,
        },
        "syncPolicy": {
            "automated": {"prune": delivery.prune, "selfHeal": true},
            "retry": {"backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"}, "limit": 10},
            "syncOptions": options,
        },
    })
}
