//! The kinds with pod templates, each with the path to its template.

use bailiwick_yaml::NodeRef;

/// The kinds, by group and name, with the way to their template (`pod-security-admission/admission/admission.go`).
pub const KINDS: [(&str, &str, &[&str]); 9] = [
    ("", "Pod", &[]),
    ("", "PodTemplate", &["template"]),
    ("", "ReplicationController", &["spec", "template"]),
    ("apps", "DaemonSet", &["spec", "template"]),
    ("apps", "Deployment", &["spec", "template"]),
    ("apps", "ReplicaSet", &["spec", "template"]),
    ("apps", "StatefulSet", &["spec", "template"]),
    ("batch", "CronJob", &["spec", "jobTemplate", "spec", "template"]),
    ("batch", "Job", &["spec", "template"]),
];

/// Returns the kind of a workload, and its template; a pod is its own template.
pub fn template_of_kind<'t>(group: &str, kind: &str, object: NodeRef<'t>) -> Option<(&'static str, NodeRef<'t>)> {
    let (_, kind, path) = KINDS.iter().find(|(of_group, known, _)| *of_group == group && *known == kind)?;
    let template = path.iter().try_fold(object, |node, key| node.get(key)).filter(|node| !node.is_null())?;
    Some((kind, template))
}
