//! Defaults of a pod, as the API server fills them in before admission policies read the pod
//! (`pkg/apis/core/v1/defaults.go` and the admission plugins ServiceAccount and DefaultTolerationSeconds of Kubernetes
//! v1.37.2). Probes, ports and volumes keep the values of the manifest, except for the defaults in `created.rs`.

use bailiwick_kubernetes::absent;
use serde_json::{Map, Value, json};

/// Taints tolerated by every pod for five minutes.
const TOLERATED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Fills in the defaults of a template of pods.
pub(super) fn fill_template(template: &mut Value) {
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let defaults = [
        ("restartPolicy", json!("Always")),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("securityContext", json!({})),
    ];
    for (field, value) in defaults {
        fill(spec, field, value);
    }
    // The two names of one field.
    for (from, to) in [("serviceAccountName", "serviceAccount"), ("serviceAccount", "serviceAccountName")] {
        if let Some(name) = spec.get(from).filter(|name| name.is_string()).cloned() {
            fill(spec, to, name);
        }
    }
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        containers.filter_map(Value::as_object_mut).for_each(fill_container);
    }
}

/// Fills in the defaults of a pod, with the fields of admission plugins.
pub(super) fn fill_pod(pod: &mut Value) {
    fill_template(pod);
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["serviceAccountName", "serviceAccount"] {
        fill(spec, field, json!("default"));
    }
    fill(spec, "enableServiceLinks", json!(true));
    if !spec.contains_key("priorityClassName") {
        fill(spec, "priority", json!(0));
        fill(spec, "preemptionPolicy", json!("PreemptLowerPriority"));
    }
    fill(spec, "tolerations", json!([]));
    if let Some(tolerations) = spec.get_mut("tolerations").and_then(Value::as_array_mut) {
        for key in TOLERATED {
            let is_key =
                |one: &Value| one.get("key").is_none_or(|known| known.as_str().is_none_or(|known| known == key));
            if !tolerations.iter().any(is_key) {
                tolerations.push(json!({
                    "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
                }));
            }
        }
    }
}

fn fill_container(container: &mut Map<String, Value>) {
    let image = absent::text(container.get("image").and_then(Value::as_str));
    let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
    let is_latest = !image.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    fill(container, "imagePullPolicy", json!(if is_latest { "Always" } else { "IfNotPresent" }));
    fill(container, "terminationMessagePath", json!("/dev/termination-log"));
    fill(container, "terminationMessagePolicy", json!("File"));
    fill(container, "resources", json!({}));
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            fill(port, "protocol", json!("TCP"));
        }
    }
    // A limit without a request is the request.
    if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut)
        && let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned()
    {
        fill(resources, "requests", json!({}));
        if let Some(requests) = resources.get_mut("requests").and_then(Value::as_object_mut) {
            limits.into_iter().for_each(|(name, limit)| fill(requests, &name, limit));
        }
    }
}

fn fill(map: &mut Map<String, Value>, field: &str, value: Value) {
    if map.get(field).is_none_or(Value::is_null) {
        map.insert(field.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_fill_what_is_absent() {
        let mut pod = json!({ "spec": {
            "serviceAccount": "a", "restartPolicy": "Never", "tolerations": [{ "key": TOLERATED[0] }],
            "containers": [
                { "image": "r:5000/x", "resources": { "limits": { "cpu": "1" } } },
                { "image": "x:1", "ports": [{ "containerPort": 80 }] },
                { "image": "x@sha256:00" },
            ],
        } });
        fill_pod(&mut pod);
        let spec = &pod["spec"];
        assert_eq!((&spec["serviceAccountName"], &spec["restartPolicy"]), (&json!("a"), &json!("Never")));
        assert_eq!(spec["tolerations"].as_array().expect("a list").len(), 2);
        let policies: Vec<_> = (0..3).map(|index| spec["containers"][index]["imagePullPolicy"].clone()).collect();
        assert_eq!(policies, ["Always", "IfNotPresent", "IfNotPresent"]);
        assert_eq!(spec["containers"][0]["resources"]["requests"], json!({ "cpu": "1" }));
        assert_eq!(spec["containers"][1]["ports"][0]["protocol"], "TCP");
        // Wrong types are left as they are.
        for text in [json!(null), json!({ "spec": [] }), json!({ "spec": { "containers": [1], "tolerations": 2 } })] {
            fill_pod(&mut text.clone());
        }
    }
}
