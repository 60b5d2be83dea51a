//! Pods that stand for a file on a node: static pods, and the mirror pods that a kubelet writes for them.

use super::pod::{References, items};
use super::version::Version;
use super::volume::{field, text};
use bailiwick_admission::pod::VOLUME_SOURCES;
use bailiwick_yaml::NodeRef;

/// The annotation that makes a pod a mirror pod.
pub const MIRROR: &str = "kubernetes.io/config.mirror";

/// Volume sources behind which is no object of the API.
const WITHOUT_OBJECT: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// Returns the first kind of object that a pod refers to, as its resource (`HasAPIObjectReference` of
/// `pkg/api/pod/util.go`); none for a pod that a file on a node may hold.
///
/// # Errors
/// That a volume is of a kind of which nobody can tell.
pub fn referenced_kind(pod: NodeRef<'_>, version: &Version) -> Result<Option<&'static str>, String> {
    let Some(spec) = field(pod, "spec") else { return Ok(None) };
    let references = References::read(spec, version);
    if !references.account.is_empty() {
        return Ok(Some("serviceaccounts"));
    }
    if !references.secrets.is_empty() {
        return Ok(Some("secrets"));
    }
    if !references.config_maps.is_empty() {
        return Ok(Some("configmaps"));
    }
    // CVE-2025-4563, mended in the newest releases of 1.32 and later.
    if version.since(32) && items(spec, "resourceClaims").next().is_some() {
        return Ok(Some("resourceclaims"));
    }
    for volume in items(spec, "volumes") {
        let found = if version.since(34) { behind_volume(volume)? } else { behind_volume_before_1_34(volume, version) };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn behind_volume_before_1_34(volume: NodeRef<'_>, version: &Version) -> Option<&'static str> {
    let projected = field(volume, "projected").into_iter().flat_map(|projected| items(projected, "sources"));
    if version.since(29) && projected.into_iter().any(|source| field(source, "clusterTrustBundle").is_some()) {
        return Some("clustertrustbundles");
    }
    field(volume, "persistentVolumeClaim").map(|_| "persistentvolumeclaims")
}

fn behind_volume(volume: NodeRef<'_>) -> Result<Option<&'static str>, String> {
    let has = |source: &str| field(volume, source).is_some();
    if WITHOUT_OBJECT.iter().any(|source| has(source)) {
        return Ok(None);
    }
    const WITH_OBJECT: [(&str, &str); 7] = [
        ("configMap", "configmaps"),
        ("secret", "secrets"),
        ("csi", "csidrivers"),
        ("glusterfs", "endpoints"),
        ("persistentVolumeClaim", "persistentvolumeclaims"),
        ("ephemeral", "persistentvolumeclaims"),
        ("azureFile", "secrets"),
    ];
    if let Some((_, resource)) = WITH_OBJECT.iter().find(|(source, _)| has(source)) {
        return Ok(Some(resource));
    }
    let name = || text(volume, &["name"]).unwrap_or_default();
    let Some(projected) = field(volume, "projected") else {
        // A volume without a source is an emptyDir by the time that the server looks at it.
        let says_nothing = VOLUME_SOURCES.iter().all(|source| !has(source))
            && volume.entries().all(|(key, _)| key.as_str() == Some("name"));
        return if says_nothing { Ok(None) } else { Err(format!("the volume `{}` is of an unknown kind", name())) };
    };
    for source in items(projected, "sources") {
        const KINDS: [(&str, &str); 5] = [
            ("configMap", "configmaps"),
            ("secret", "secrets"),
            ("serviceAccountToken", "serviceaccounts"),
            ("clusterTrustBundle", "clustertrustbundles"),
            ("podCertificate", "podcertificates"),
        ];
        if let Some((_, resource)) = KINDS.iter().find(|(key, _)| field(source, key).is_some()) {
            return Ok(Some(resource));
        }
        if field(source, "downwardAPI").is_none() {
            return Err(format!("the projected volume `{}` has a source of an unknown kind", name()));
        }
    }
    Ok(None)
}

/// What is wrong with a manifest in the folder of static pods of a kubelet, each as a resource that it refers to or in a few words.
pub fn static_pod_problems(manifest: NodeRef<'_>, version: &Version) -> Vec<String> {
    if text(manifest, &["kind"]) != Some("Pod") {
        return vec!["not a Pod".to_owned()];
    }
    let mut problems = Vec::new();
    match referenced_kind(manifest, version) {
        Ok(found) => problems.extend(found.map(str::to_owned)),
        Err(why) => problems.push(why),
    }
    problems.extend(annotation_problems(manifest, None).into_iter().map(|(short, _)| short.to_owned()));
    problems
}

/// What validation says of the annotation of mirror pods, shortly and at length (`pkg/apis/core/validation/validation.go`):
/// it needs a node, and may neither be added, removed nor changed.
pub fn annotation_problems(pod: NodeRef<'_>, old: Option<NodeRef<'_>>) -> Vec<(&'static str, String)> {
    let annotation =
        |pod: NodeRef<'_>| pod.path(&["metadata", "annotations", MIRROR]).and_then(NodeRef::as_str).map(str::to_owned);
    let own = annotation(pod);
    let mut problems = Vec::new();
    if own.is_some() && text(pod, &["spec", "nodeName"]).is_none() {
        problems.push((
            "mirror annotation without nodeName",
            format!("must set spec.nodeName if mirror pod annotation is set: `{MIRROR}`"),
        ));
    }
    match (old.map(annotation), own) {
        (Some(Some(before)), now) if now.as_ref() != Some(&before) => {
            problems.push((
                "mirror annotation changed",
                format!("may not remove or update mirror pod annotation `{MIRROR}`"),
            ));
        }
        (Some(None), Some(_)) => {
            problems.push(("mirror annotation added", format!("may not add mirror pod annotation `{MIRROR}`")));
        }
        _ => {}
    }
    problems
}
