//! Pods as JSON, as the API server of 1.30 and later creates them from a manifest and admission policies read them.
//!
//! Null and empty lists are absent, volumes and ports of the node have their defaults, and the token of the service
//! account is mounted (`plugin/pkg/admission/serviceaccount` of Kubernetes v1.37.2). Annotations for AppArmor become
//! fields (`pkg/registry/core/pod/strategy.go` of the same version). Annotations for seccomp have no effect since
//! 1.27. Other fields keep the value of the manifest.

use serde_json::{Map, Value, json};

use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::volumes;

/// Mount path of the token of the service account.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Prefix of the name of the token volume.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// Prefix of the annotation for the AppArmor profile of a container before 1.30; the name of the container follows.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The lists of containers of a new pod.
const LISTS: [&str; 2] = ["initContainers", "containers"];

/// Returns the pod for a template in a namespace, before policies change it. `automounts` is the setting of the
/// service account.
pub(super) fn created(template: &Value, namespace: &str, automounts: bool) -> Value {
    let part = |key| match template.get(key).map(stored) {
        Some(Value::Object(part)) => part,
        _ => Map::new(),
    };
    let (mut metadata, mut spec) = (part("metadata"), part("spec"));
    metadata.insert("namespace".to_owned(), namespace.into());
    fill_volumes(&mut spec);
    fill_ports(&mut spec);
    // The pod's own field comes before the account's (`plugin/pkg/admission/serviceaccount/admission.go`).
    let mounts = match spec.get("automountServiceAccountToken").and_then(Value::as_bool) {
        Some(own) => own,
        None => automounts,
    };
    if mounts {
        mount_token(&mut spec);
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
}

/// Returns a value without null and without empty lists, as the API server stores it.
pub(super) fn stored(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let kept = entries.iter().filter(|(_, value)| !is_absent(value));
            kept.map(|(key, value)| (key.clone(), stored(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(stored).collect(),
        plain => plain.clone(),
    }
}

fn is_absent(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn items<'s>(spec: &'s mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'s mut Map<String, Value>> {
    spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn fill_volumes(spec: &mut Map<String, Value>) {
    let has_source = |volume: &Map<String, Value>| volumes::fields().any(|source| volume.contains_key(source));
    for volume in items(spec, "volumes").filter(|volume| !has_source(volume)) {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
}

/// Sets the host ports of a pod on the network of the node to its container ports.
fn fill_ports(spec: &mut Map<String, Value>) {
    if spec.get("hostNetwork").and_then(Value::as_bool) != Some(true) {
        return;
    }
    for list in LISTS {
        for port in items(spec, list).flat_map(|container| items(container, "ports")) {
            let is_unset = port.get("hostPort").is_none_or(|port| port.as_i64() == Some(0));
            if let Some(own) = port.get("containerPort").filter(|_| is_unset).cloned() {
                port.insert("hostPort".to_owned(), own);
            }
        }
    }
}

fn mount_token(spec: &mut Map<String, Value>) {
    let mut is_needed = false;
    let known = items(spec, "volumes").find_map(|volume| {
        volume.get("name").and_then(Value::as_str).filter(|name| name.starts_with(TOKEN_VOLUME)).map(str::to_owned)
    });
    // The server ends the name with five random characters.
    let name = match &known {
        Some(name) => name.clone(),
        None => format!("{TOKEN_VOLUME}xxxxx"),
    };
    for list in LISTS {
        for container in items(spec, list) {
            let is_mounted = items(container, "volumeMounts")
                .any(|mount| mount.get("mountPath").and_then(Value::as_str) == Some(TOKEN_PATH));
            if !is_mounted {
                is_needed = true;
                let mount = json!({ "name": name, "readOnly": true, "mountPath": TOKEN_PATH });
                push(container, "volumeMounts", mount);
            }
        }
    }
    if is_needed && known.is_none() {
        let sources = json!([
            { "serviceAccountToken": { "path": "token", "expirationSeconds": 3607 } },
            { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            { "downwardAPI": { "items": [
                { "path": "namespace", "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } },
            ] } },
        ]);
        push(spec, "volumes", json!({ "name": name, "projected": { "defaultMode": 420, "sources": sources } }));
    }
}

fn push(map: &mut Map<String, Value>, key: &str, item: Value) {
    if let Some(list) = map.entry(key).or_insert_with(|| json!([])).as_array_mut() {
        list.push(item);
    }
}

/// Turns the annotations for AppArmor of a pod into fields, after policies have changed it.
pub(super) fn take_annotations(pod: &mut Value) {
    let Some(annotations) = pod.pointer("/metadata/annotations").and_then(Value::as_object).cloned() else { return };
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("os").and_then(|os| os.get("name")).and_then(Value::as_str) == Some("windows") {
        return;
    }
    let of_pod = spec.get("securityContext").and_then(|context| context.get("appArmorProfile")).cloned();
    for list in LISTS {
        for container in items(spec, list) {
            let name = absent::text(container.get("name").and_then(Value::as_str));
            let annotation = annotations.get(&format!("{APP_ARMOR}{name}")).and_then(Value::as_str);
            let Some(profile) = annotation.and_then(app_armor).filter(|profile| Some(profile) != of_pod.as_ref())
            else {
                continue;
            };
            let context = container.entry("securityContext").or_insert_with(|| json!({}));
            if let Some(context) = context.as_object_mut() {
                context.entry("appArmorProfile").or_insert(profile);
            }
        }
    }
}

/// Returns the field for an annotation; none for an invalid annotation.
fn app_armor(annotation: &str) -> Option<Value> {
    match annotation {
        "runtime/default" => Some(json!({ "type": "RuntimeDefault" })),
        "unconfined" => Some(json!({ "type": "Unconfined" })),
        other => {
            let file = other.strip_prefix("localhost/").filter(|file| !file.trim().is_empty())?;
            Some(json!({ "type": "Localhost", "localhostProfile": file }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_empty_lists_are_absent() {
        let pod =
            created(&json!({ "spec": { "volumes": [], "containers": [{ "securityContext": null }] } }), "a", false);
        assert_eq!(pod["spec"], json!({ "containers": [{}] }));
        assert_eq!(pod["metadata"], json!({ "namespace": "a" }));
    }

    #[test]
    fn the_token_is_mounted_where_nothing_says_otherwise() {
        let template = json!({ "spec": { "containers": [{ "name": "c" }] } });
        let pod = created(&template, "a", true);
        assert_eq!(pod["spec"]["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]["path"], "token");
        assert_eq!(pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"], TOKEN_PATH);
        assert_eq!(created(&template, "a", false)["spec"], template["spec"]);
        let template = json!({ "spec": { "automountServiceAccountToken": false, "containers": [{ "name": "c" }] } });
        assert_eq!(created(&template, "a", true)["spec"], template["spec"]);
        // A mount at the path is in the way of another.
        let mounted =
            json!({ "spec": { "containers": [{ "volumeMounts": [{ "name": "x", "mountPath": TOKEN_PATH }] }] } });
        assert_eq!(created(&mounted, "a", true)["spec"], mounted["spec"]);
    }

    #[test]
    fn defaults_of_volumes_and_ports() {
        let pod = created(
            &json!({ "spec": { "hostNetwork": true, "volumes": [{ "name": "v" }],
                "containers": [{ "ports": [{ "containerPort": 80 }, { "containerPort": 81, "hostPort": 82 }] }] } }),
            "a",
            false,
        );
        assert_eq!(pod["spec"]["volumes"], json!([{ "name": "v", "emptyDir": {} }]));
        assert_eq!(pod["spec"]["containers"][0]["ports"][0]["hostPort"], 80);
        assert_eq!(pod["spec"]["containers"][0]["ports"][1]["hostPort"], 82);
    }

    #[test]
    fn annotations_for_app_armor_become_fields() {
        let pod = |annotation: &str, context: Value| {
            let key = format!("{APP_ARMOR}c");
            let mut pod = json!({
                "metadata": { "annotations": { key: annotation } },
                "spec": { "containers": [{ "name": "c", "securityContext": context }] },
            });
            take_annotations(&mut pod);
            pod["spec"]["containers"][0]["securityContext"]["appArmorProfile"].clone()
        };
        assert_eq!(pod("runtime/default", json!({})), json!({ "type": "RuntimeDefault" }));
        assert_eq!(pod("unconfined", json!({})), json!({ "type": "Unconfined" }));
        assert_eq!(pod("localhost/x", json!({})), json!({ "type": "Localhost", "localhostProfile": "x" }));
        assert_eq!(pod("localhost/", json!({})), Value::Null);
        assert_eq!(pod("odd", json!({})), Value::Null);
        let given = json!({ "type": "Unconfined" });
        assert_eq!(pod("runtime/default", json!({ "appArmorProfile": given })), given);
    }

    #[test]
    fn shapes_that_no_pod_has_do_no_harm() {
        for template in [
            json!([]),
            json!({ "spec": [], "metadata": 1 }),
            json!({ "spec": { "containers": {}, "volumes": [1], "hostNetwork": true, "initContainers": [[]] } }),
            json!({ "spec": { "containers": [{ "securityContext": 1, "ports": 1, "volumeMounts": 1, "name": "c" }] },
                "metadata": { "annotations": { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" } } }),
        ] {
            let mut pod = created(&template, "a", true);
            take_annotations(&mut pod);
            assert_eq!(pod["kind"], "Pod");
        }
    }
}
