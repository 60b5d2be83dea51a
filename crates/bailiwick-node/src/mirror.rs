//! Pods from a file on a node: static pods, and the mirror pods written for them by a kubelet.

use super::pod::{References, items};
use super::version::ServerVersion;
use super::volume::{field, text};
use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::volumes::{self, ApiObject, KINDS};
use bailiwick_yaml::NodeRef;
use std::error::Error;
use std::fmt;

/// The annotation of a mirror pod.
pub const MIRROR: &str = "kubernetes.io/config.mirror";

/// A volume of an unknown kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVolume {
    /// Name of the volume.
    pub volume: String,
    /// Whether a source of a projected volume is unknown, rather than the volume itself.
    pub is_source: bool,
}

impl fmt::Display for UnknownVolume {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_source {
            write!(formatter, "the projected volume `{}` has a source of an unknown kind", self.volume)
        } else {
            write!(formatter, "the volume `{}` is of an unknown kind", self.volume)
        }
    }
}

impl Error for UnknownVolume {}

/// Returns the first kind of object referenced by a pod, as its resource (`HasAPIObjectReference` of
/// `pkg/api/pod/util.go`); none for a pod valid in a file on a node.
///
/// # Errors
/// A volume of an unknown kind.
pub fn referenced_kind(pod: NodeRef<'_>, version: &ServerVersion) -> Result<Option<&'static str>, UnknownVolume> {
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

fn behind_volume_before_1_34(volume: NodeRef<'_>, version: &ServerVersion) -> Option<&'static str> {
    let projected = field(volume, "projected").into_iter().flat_map(|projected| items(projected, "sources"));
    if version.since(29) && projected.into_iter().any(|source| field(source, "clusterTrustBundle").is_some()) {
        return Some("clustertrustbundles");
    }
    field(volume, "persistentVolumeClaim").map(|_| "persistentvolumeclaims")
}

fn behind_volume(volume: NodeRef<'_>) -> Result<Option<&'static str>, UnknownVolume> {
    let has = |source: &str| field(volume, source).is_some();
    let kinds = || KINDS.iter().filter(|kind| has(kind.field));
    if kinds().any(|kind| kind.is_allowed_in_mirror_pods()) {
        return Ok(None);
    }
    let resource = |kind: &volumes::VolumeKind| match kind.object {
        ApiObject::Resource { name, rank } => Some((rank, name)),
        ApiObject::None | ApiObject::OfSources => None,
    };
    if let Some((_, resource)) = kinds().filter_map(resource).min() {
        return Ok(Some(resource));
    }
    let unknown = |is_source| UnknownVolume { volume: absent::text_at(volume, &["name"]).to_owned(), is_source };
    let Some(projected) = field(volume, "projected") else {
        // A volume without a source is an emptyDir after the server's defaults.
        let says_nothing = volumes::fields().all(|source| !has(source))
            && volume.entries().all(|(key, _)| key.as_str() == Some("name"));
        return if says_nothing { Ok(None) } else { Err(unknown(false)) };
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
            return Err(unknown(true));
        }
    }
    Ok(None)
}

/// Returns the problems of a manifest in the folder of static pods of a kubelet, each as a referenced resource or a
/// short text.
pub fn static_pod_problems(manifest: NodeRef<'_>, version: &ServerVersion) -> Vec<String> {
    if text(manifest, &["kind"]) != Some("Pod") {
        return vec!["not a Pod".to_owned()];
    }
    let mut problems = Vec::new();
    match referenced_kind(manifest, version) {
        Ok(found) => problems.extend(found.map(str::to_owned)),
        Err(error) => problems.push(error.to_string()),
    }
    problems.extend(annotation_problems(manifest, None).into_iter().map(|(short, _)| short.to_owned()));
    problems
}

/// Returns the errors about the annotation of mirror pods, short and long (`pkg/apis/core/validation/validation.go`):
/// it needs a node, and may not be added, removed or changed.
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
