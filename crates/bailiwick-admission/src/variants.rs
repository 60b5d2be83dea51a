//! Pods to compare admission policies on: a plain pod and a hardened pod, each alone and with a setting.
//!
//! The list has the settings that common policies are about. [`PodVariant::read_by`] adds pods for the fields and constants of
//! expressions. A pod is complete, as the API server hands it to admission policies, so that an expression fails for it if and
//! only if the expression fails in the API server.

use serde_json::{Map, Value as Json, json};

use super::created::created;
use super::defaulted::fill_pod;
use super::gate::SOME_SELINUX_LEVEL;
use super::pod::Pod;
use super::policy::AdmissionRequest;
use super::scc::Scc;
use bailiwick_cel::{FieldReads, FieldStep, Fields, Value, ValueSchema};
use bailiwick_yaml as yaml;

/// A pod with the settings that set it apart from a plain pod.
#[derive(Debug, Clone, PartialEq)]
pub struct PodVariant {
    /// The settings, such as `hostNetwork: true`.
    pub settings: Vec<String>,
    /// Whether the pod has the settings that the level `restricted` asks for.
    pub is_hardened: bool,
    object: Json,
}

/// The most pods for the fields and constants of expressions.
const MOST_OF_READS: usize = 120;

/// The most SELinux options that constraints require.
const MOST_OF_CONSTRAINTS: usize = 20;

/// The most constants of a field.
const MOST_CONSTANTS: usize = 12;

/// A text that no expression compares with.
const ODD: &str = "other";

/// The name of the pods.
const NAME: &str = "probe";

impl PodVariant {
    /// Returns the pods with the settings of common policies.
    pub fn common() -> Vec<Self> {
        let plain = Self::plain();
        let hardened = plain.hardened();
        let mut all = vec![plain.clone(), hardened.clone()];
        for (setting, part) in settings() {
            all.extend([&plain, &hardened].map(|pod| pod.with(setting, &part)));
        }
        all
    }

    /// Returns the common pods, pods with the SELinux options that constraints require, and then pods with two of all these settings.
    pub fn pairs<'s>(constraints: impl IntoIterator<Item = &'s Scc>) -> Vec<Self> {
        let mut settings = settings();
        let required = constraints.into_iter().filter_map(|scc| scc.se_linux_context.se_linux_options.as_ref());
        for options in required.take(MOST_OF_CONSTRAINTS) {
            let level = if options.level.is_empty() { SOME_SELINUX_LEVEL } else { &options.level };
            let options = json!({"user": options.user, "role": options.role, "type": options.r#type, "level": level});
            let setting =
                ("required seLinuxOptions", json!({"spec": {"securityContext": {"seLinuxOptions": options}}}));
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        let none = [Self::plain(), Self::plain().hardened()];
        let with_one = |pod: &Self| settings.iter().map(|(setting, part)| pod.with(setting, part)).collect::<Vec<_>>();
        let one = none.each_ref().map(with_one);
        let two = one.iter().flat_map(|pods| {
            let later = |place: usize| settings.iter().skip(place + 1);
            let pods = pods.iter().enumerate();
            pods.flat_map(move |(place, pod)| later(place).map(|(setting, part)| pod.with(setting, part)))
        });
        let two: Vec<Self> = two.collect();
        none.into_iter().chain(one.into_iter().flatten()).chain(two).collect()
    }

    /// Returns pods with other values of the fields that expressions read. `pod` is the schema of pods.
    pub fn read_by(reads: &FieldReads, pod: &ValueSchema) -> Vec<Self> {
        let plain = Self::plain();
        let mut all = Vec::new();
        for (path, literals) in reads {
            let Some((FieldStep::Name(root), path)) = path.split_first() else { continue };
            if root != "object" {
                continue;
            }
            let Some(schema) = path.iter().try_fold(pod.clone(), schema_below) else { continue };
            for value in values(&schema, literals).into_iter().take(MOST_CONSTANTS) {
                let mut variant = plain.clone();
                variant.settings.push(format!("{}: {value}", written(path)));
                set(&mut variant.object, path, value);
                if !all.contains(&variant) && variant.object != plain.object {
                    all.push(variant);
                }
            }
        }
        all.truncate(MOST_OF_READS);
        let hardened: Vec<Self> = all.iter().map(Self::hardened).collect();
        all.extend(hardened);
        all
    }

    /// Returns the pod as it is written, without defaults; none if it cannot be read.
    pub fn pod(&self) -> Option<Pod> {
        Pod::read(yaml::from_json(&self.object).document(0)?).ok()
    }

    /// Returns the request to create the pod in a namespace.
    pub fn request(&self, namespace: &str) -> AdmissionRequest {
        let mut pod = created(&self.object, namespace, true);
        fill_pod(&mut pod);
        AdmissionRequest {
            operation: "CREATE".to_owned(),
            version: "v1".to_owned(),
            resource: "pods".to_owned(),
            kind: "Pod".to_owned(),
            namespace: namespace.to_owned(),
            name: NAME.to_owned(),
            object: Some(with_status(pod)),
            ..AdmissionRequest::default()
        }
    }

    fn plain() -> Self {
        Self { settings: Vec::new(), is_hardened: false, object: plain() }
    }

    fn with(&self, setting: &str, part: &Json) -> Self {
        let mut variant = self.clone();
        variant.settings.push(setting.to_owned());
        for (key, pointer) in [("metadata", "/metadata"), ("spec", "/spec"), ("container", "/spec/containers/0")] {
            if let (Some(more), Some(object)) = (part.get(key), variant.object.pointer_mut(pointer)) {
                merge(object, more);
            }
        }
        variant
    }

    fn hardened(&self) -> Self {
        let mut variant = self.clone();
        variant.is_hardened = true;
        for (pointer, part) in [
            ("/spec", json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}})),
            (
                "/spec/containers/0",
                json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true}),
            ),
        ] {
            let context = variant.object.pointer_mut(pointer).and_then(Json::as_object_mut);
            if let Some(context) = context {
                let own = context.entry("securityContext").or_insert_with(|| json!({}));
                let mut both = part;
                merge(&mut both, own);
                *own = both;
            }
        }
        variant
    }
}

/// Returns a pod with nothing special.
fn plain() -> Json {
    json!({
        "metadata": {"name": NAME},
        "spec": {"containers": [{"name": "app", "image": "registry.example/app:1"}]},
    })
}

/// Returns a pod with the status of a new pod.
fn with_status(mut pod: Json) -> Json {
    if let Some(pod) = pod.as_object_mut() {
        pod.insert("status".to_owned(), json!({"phase": "Pending", "qosClass": "BestEffort"}));
    }
    pod
}

/// Returns the settings, each with its words.
fn settings() -> Vec<(&'static str, Json)> {
    let mut all = vec![
        ("hostNetwork: true", json!({"spec": {"hostNetwork": true}})),
        ("hostPID: true", json!({"spec": {"hostPID": true}})),
        ("hostIPC: true", json!({"spec": {"hostIPC": true}})),
        ("hostUsers: false", json!({"spec": {"hostUsers": false}})),
        ("automountServiceAccountToken: false", json!({"spec": {"automountServiceAccountToken": false}})),
        ("label app", json!({"metadata": {"labels": {"app": "app"}}})),
        ("image evil.example/app", json!({"container": {"image": "evil.example/app:1"}})),
        ("image app:latest", json!({"container": {"image": "app:latest"}})),
        ("hostPort: 80", json!({"container": {"ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]}})),
        ("resources.limits", json!({"container": {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}})),
        ("initContainers", json!({"spec": {"initContainers": [{"name": "first", "image": "evil.example/first:1"}]}})),
        ("nodeName: node", json!({"spec": {"nodeName": "node"}})),
    ];
    let of_pod = |value: Json| json!({"spec": {"securityContext": value}});
    let of_container = |value: Json| json!({"container": {"securityContext": value}});
    all.extend([
        ("privileged: true", of_container(json!({"privileged": true}))),
        ("allowPrivilegeEscalation: true", of_container(json!({"allowPrivilegeEscalation": true}))),
        ("capabilities.add: SYS_ADMIN", of_container(json!({"capabilities": {"add": ["SYS_ADMIN"]}}))),
        ("capabilities.add: CHOWN", of_container(json!({"capabilities": {"add": ["CHOWN"]}}))),
        ("capabilities.add: NET_BIND_SERVICE", of_container(json!({"capabilities": {"add": ["NET_BIND_SERVICE"]}}))),
        ("readOnlyRootFilesystem: false", of_container(json!({"readOnlyRootFilesystem": false}))),
        ("procMount: Unmasked", of_container(json!({"procMount": "Unmasked"}))),
        ("seccompProfile: Unconfined", of_container(json!({"seccompProfile": {"type": "Unconfined"}}))),
        ("runAsUser: 0", of_container(json!({"runAsUser": 0}))),
        ("runAsUser: 1000", of_container(json!({"runAsUser": 1000}))),
        ("runAsNonRoot: false", of_pod(json!({"runAsNonRoot": false}))),
        ("fsGroup: 0", of_pod(json!({"fsGroup": 0}))),
        ("seLinuxOptions.type: spc_t", of_pod(json!({"seLinuxOptions": {"type": "spc_t"}}))),
        ("sysctl kernel.msgmax", of_pod(json!({"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}))),
    ]);
    all.extend(volumes());
    all
}

/// Returns pods with one volume.
fn volumes() -> Vec<(&'static str, Json)> {
    let volume = |words, source: Json| {
        let mut volume = json!({"name": "data"});
        merge(&mut volume, &source);
        (words, json!({"spec": {"volumes": [volume]}}))
    };
    vec![
        volume("hostPath /", json!({"hostPath": {"path": "/", "type": ""}})),
        volume("emptyDir", json!({"emptyDir": {}})),
        volume("a volume of a Secret", json!({"secret": {"secretName": "data", "defaultMode": 420}})),
        volume("a volume of a ConfigMap", json!({"configMap": {"name": "data", "defaultMode": 420}})),
        volume("a PersistentVolumeClaim", json!({"persistentVolumeClaim": {"claimName": "data"}})),
        volume("an NFS volume", json!({"nfs": {"server": "nfs.example", "path": "/"}})),
    ]
}

/// Adds the entries of a map to another one.
fn merge(into: &mut Json, more: &Json) {
    match (into, more) {
        (Json::Object(into), Json::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Json::Null), value);
            }
        }
        (into, more) => into.clone_from(more),
    }
}

/// Returns the schema behind a step of a path.
fn schema_below(schema: ValueSchema, step: &FieldStep) -> Option<ValueSchema> {
    match (schema, step) {
        (ValueSchema::Object(fields), FieldStep::Name(name)) => Fields::field(fields.as_ref(), name),
        (ValueSchema::Map(value), FieldStep::Name(_)) | (ValueSchema::List(value), FieldStep::Each) => Some(*value),
        _ => None,
    }
}

/// Returns values of a field: the constants, values next to them, and another one. Lists and objects get none.
fn values(schema: &ValueSchema, literals: &[Value]) -> Vec<Json> {
    let texts = literals.iter().filter_map(|literal| if let Value::String(text) = literal { Some(text) } else { None });
    match schema {
        ValueSchema::Bool => vec![json!(true), json!(false)],
        ValueSchema::String => texts
            .flat_map(|text| [json!(format!("{text}{ODD}")), json!(&**text), json!(format!("{ODD}{text}"))])
            .chain([json!(ODD)])
            .collect(),
        ValueSchema::Int | ValueSchema::Double => {
            let numbers = literals
                .iter()
                .filter_map(|literal| if let Value::Int(number) = literal { Some(*number) } else { None });
            numbers
                .flat_map(|number| [number.saturating_sub(1), number, number.saturating_add(1)])
                .chain([0, 1])
                .map(|number| json!(number))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Sets a field, and the first item of a list for any item.
fn set(object: &mut Json, path: &[FieldStep], value: Json) {
    let Some((step, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    match step {
        FieldStep::Name(name) => {
            if !object.is_object() {
                *object = Json::Object(Map::new());
            }
            if let Some(map) = object.as_object_mut() {
                set(map.entry(name.clone()).or_insert(Json::Null), rest, value);
            }
        }
        FieldStep::Each => {
            if object.as_array().is_none_or(Vec::is_empty) {
                *object = json!([{}]);
            }
            if let Some(first) = object.get_mut(0) {
                set(first, rest, value);
            }
        }
    }
}

/// Returns a path as a field is written.
fn written(path: &[FieldStep]) -> String {
    let steps = path.iter().map(|step| match step {
        FieldStep::Name(name) => name.as_str(),
        FieldStep::Each => "[]",
    });
    steps.collect::<Vec<_>>().join(".").replace(".[]", "[]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_cel::{Names, Program};
    use bailiwick_kubernetes::validation::expression_types::pod_schema;
    use std::collections::BTreeMap;

    fn read_by(source: &str) -> Vec<String> {
        let mut reads = FieldReads::new();
        let names = Names { minor: 37, ..Names::default() };
        assert!(Program::compile(source, &names).add_reads(&BTreeMap::new(), &mut reads));
        let pods = PodVariant::read_by(&reads, &pod_schema(37).expect("a schema"));
        pods.into_iter().filter(|pod| !pod.is_hardened).flat_map(|pod| pod.settings).collect()
    }

    #[test]
    fn constants_of_expressions_make_pods() {
        let images = read_by("object.spec.containers.all(c, c.image.startsWith('a/'))");
        assert!(images.contains(&"spec.containers[].image: \"a/other\"".to_owned()), "{images:?}");
        assert!(read_by("object.metadata.labels['team'] == 'x'").contains(&"metadata.labels.team: \"x\"".to_owned()));
        assert!(read_by("object.spec.replicas > 3").is_empty());
        assert_eq!(read_by("object.spec.hostPID"), ["spec.hostPID: true", "spec.hostPID: false"]);
    }

    #[test]
    fn every_variant_is_another_pod() {
        let all = PodVariant::common();
        for (index, pod) in all.iter().enumerate() {
            assert!(!all[..index].iter().any(|other| other.object == pod.object), "{:?}", pod.settings);
        }
    }
}
