//! Pods to ask admission about: each part that some check, policy or constraint reads, alone and in random mixtures.

use bailiwick::admission::pod::Pod;
use bailiwick::yaml;
use serde_json::{Map, Value, json};

use crate::oracle::Dice;

/// A pod to ask about.
pub(super) struct Probe {
    pub(super) json: Value,
    pub(super) pod: Pod,
}

/// Returns the probes of a pair of worlds: the parts alone, beside a plain and beside a hardened container, and mixtures.
pub(super) fn probes(dice: &mut Dice, mixtures: usize) -> Vec<Probe> {
    let (parts, hardened) = (parts(), hardened());
    // Policies can ask for a label, and for something else.
    let labelled = json!({"metadata": {"labels": {"app": "x"}}});
    let mut pods = vec![pod(&[]), pod(&[&hardened])];
    for part in &parts {
        pods.push(pod(&[part]));
        pods.push(pod(&[&hardened, part]));
        pods.push(pod(&[&labelled, part]));
    }
    for _ in 0..mixtures {
        let mut chosen: Vec<&Value> = Vec::new();
        if dice.chance(60) {
            chosen.push(&hardened);
        }
        for _ in 0..=dice.below(3) {
            // Restricted ignores capabilities and seccomp profiles of pods for Windows, where they have no meaning.
            chosen.extend(dice.one_of(&parts).filter(|part| part["spec"]["os"].is_null()));
        }
        pods.push(pod(&chosen));
    }
    pods.into_iter().map(Probe::new).collect()
}

impl Probe {
    fn new(json: Value) -> Self {
        let tree = yaml::from_json(&json);
        let pod = Pod::read(tree.document(0).expect("a document")).expect("a pod");
        Self { json, pod }
    }
}

/// Returns a pod with parts for its metadata, its spec and its container.
fn pod(parts: &[&Value]) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "registry.local/c"}]},
    });
    for part in parts {
        for (key, pointer) in [("metadata", "/metadata"), ("spec", "/spec"), ("container", "/spec/containers/0")] {
            if let (Some(more), Some(object)) = (part.get(key), pod.pointer_mut(pointer)) {
                merge(object, more);
            }
        }
    }
    pod
}

/// Adds the entries of a map to another one; entries of lists come after the entries before.
fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(more)) => into.extend(more.iter().cloned()),
        (into, more) => *into = more.clone(),
    }
}

/// Returns the parts of a pod that the level `restricted` admits.
fn hardened() -> Value {
    json!({
        "spec": {"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}},
        "container": {"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}},
    })
}

/// Returns the parts. Checks, policies and constraints read each of them.
fn parts() -> Vec<Value> {
    let security =
        |key: &str, value: Value| json!({"container": {"securityContext": Map::from_iter([(key.to_owned(), value)])}});
    let of_pod =
        |key: &str, value: Value| json!({"spec": {"securityContext": Map::from_iter([(key.to_owned(), value)])}});
    let spec = |key: &str, value: Value| json!({"spec": Map::from_iter([(key.to_owned(), value)])});
    let mut parts = vec![
        json!({"metadata": {"labels": {"app": "x"}}}),
        json!({"container": {"image": "evil.example/c"}}),
        json!({"container": {"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 80}}}}),
        json!({"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}}}),
        spec("hostNetwork", json!(true)),
        spec("hostPID", json!(true)),
        spec("hostIPC", json!(true)),
        spec("hostUsers", json!(false)),
        spec("os", json!({"name": "windows"})),
        json!({"spec": {"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": true}}}),
        security("privileged", json!(true)),
        security("readOnlyRootFilesystem", json!(true)),
        security("readOnlyRootFilesystem", json!(false)),
        // A policy can allow read-only mounts alone.
        json!({
            "spec": {"volumes": [{"name": "v", "hostPath": {"path": "/data/x"}}]},
            "container": {"volumeMounts": [{"name": "v", "mountPath": "/data"}]},
        }),
        security("procMount", json!("Unmasked")),
        security("runAsNonRoot", json!(false)),
        security("windowsOptions", json!({"hostProcess": true})),
        of_pod("runAsNonRoot", json!(true)),
        of_pod("windowsOptions", json!({"hostProcess": true})),
        of_pod("appArmorProfile", json!({"type": "Unconfined"})),
        // The checks read users of pods with a user namespace of their own in another way.
        json!({"spec": {"hostUsers": false, "securityContext": {"runAsUser": 0}}}),
        json!({"spec": {"hostUsers": false}, "container": {"securityContext": {"procMount": "Unmasked"}}}),
        json!({"spec": {"hostUsers": false}, "container": {"securityContext": {"runAsNonRoot": false}}}),
    ];
    // Some constraints of OpenShift ask for both.
    let nested = json!({"type": "container_engine_t", "level": "s0:c1,c0"});
    parts.push(json!({"spec": {"hostUsers": false, "securityContext": {"seLinuxOptions": nested}}}));
    parts.extend([true, false].map(|escalates| security("allowPrivilegeEscalation", json!(escalates))));
    parts.extend(
        ["NET_BIND_SERVICE", "CHOWN", "SYS_ADMIN", "NET_RAW"]
            .map(|name| security("capabilities", json!({"add": [name]}))),
    );
    parts.extend(["ALL", "KILL"].map(|name| security("capabilities", json!({"drop": [name]}))));
    parts.extend([0, 1000, 1_500, 5_000].map(|user| security("runAsUser", json!(user))));
    parts.extend([0, 1_000, 1_000_000_007].map(|user| of_pod("runAsUser", json!(user))));
    parts.extend([0, 1_500].map(|group| of_pod("fsGroup", json!(group))));
    parts.extend([0, 1_500].map(|group| of_pod("supplementalGroups", json!([group]))));
    parts.extend(["Unconfined", "Localhost", "RuntimeDefault"].map(seccomp));
    parts.extend(SYSCTLS.map(|name| of_pod("sysctls", json!([{"name": name, "value": "1"}]))));
    parts.extend(se_linux().map(|options| of_pod("seLinuxOptions", options)));
    parts.extend([80, 8_080].map(|port| json!({"container": {"ports": [{"containerPort": port, "hostPort": port}]}})));
    parts.extend(volumes().map(|source| {
        let mut volume = source;
        volume["name"] = json!("v");
        spec("volumes", json!([volume]))
    }));
    parts
}

/// Kernel parameters: one of each version that added some, and unsafe ones.
const SYSCTLS: [&str; 6] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "kernel.msgmax",
];

fn seccomp(profile: &str) -> Value {
    json!({"container": {"securityContext": {"seccompProfile": {"type": profile}}}})
}

fn se_linux() -> [Value; 4] {
    [
        json!({"type": "container_engine_t"}),
        json!({"type": "spc_t"}),
        json!({"user": "u"}),
        json!({"level": "s0:c1,c2"}),
    ]
}

fn volumes() -> [Value; 8] {
    [
        json!({"hostPath": {"path": "/"}}),
        json!({"hostPath": {"path": "/data/x"}}),
        json!({"emptyDir": {}}),
        json!({"configMap": {"name": "m"}}),
        json!({"secret": {"secretName": "s"}}),
        json!({"nfs": {"server": "s", "path": "/"}}),
        json!({"persistentVolumeClaim": {"claimName": "c"}}),
        json!({"csi": {"driver": "d"}}),
    ]
}
