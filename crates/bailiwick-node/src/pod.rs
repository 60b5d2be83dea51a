//! The references of a pod, and the audiences of its tokens.
//!
//! Read leniently: a field of another type than the API's counts as absent, since the API server would never have stored it.

use super::mirror::MIRROR;
use super::version::{FeatureGate, ServerVersion};
use super::volume::DriverError;
use super::volume::{driver_of, field, secret_of_inline, text};
use bailiwick_kubernetes::absent;
use bailiwick_yaml::NodeRef;

/// A pod, bound to a node or pending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterPod {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Its UID; empty if the object has none.
    pub uid: String,
    /// The node it is bound to; empty for none.
    pub node: String,
    /// True when it stands for a file on its node.
    pub is_mirror: bool,
    /// The referenced objects.
    pub references: References,
    /// Its volumes with an effect on the audiences of its tokens.
    pub token_volumes: Vec<TokenVolume>,
    /// The signers of certificates in its projected volumes.
    pub certificate_signers: Vec<String>,
}

/// The objects referenced by a pod or a pod template, all in its own namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Its service account; empty if the spec names none.
    pub account: String,
    /// Names of Secret objects.
    pub secrets: Vec<String>,
    /// Names of ConfigMap objects.
    pub config_maps: Vec<String>,
    /// PersistentVolumeClaims.
    pub claims: Vec<String>,
    /// Names of ephemeral volumes; their claim is the pod's name, a dash and the volume's name.
    pub ephemeral: Vec<String>,
    /// Names of ResourceClaim objects.
    pub resource_claims: Vec<String>,
}

/// A volume with an effect on the audiences of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenVolume {
    /// A projected token for this audience; empty for the API server.
    Projected(String),
    /// A claim, with the driver of its volume.
    Claim(String),
    /// A CSI driver, with its audiences.
    Driver(String),
    /// A volume without a known driver, with the reason.
    Broken(DriverError),
}

impl ClusterPod {
    /// Reads a pod of the API.
    pub fn read(object: NodeRef<'_>, version: &ServerVersion) -> Self {
        let own = |path: &[&str]| absent::text_at(object, path).to_owned();
        let name = own(&["metadata", "name"]);
        let Some(spec) = field(object, "spec") else {
            return Self { namespace: own(&["metadata", "namespace"]), name, ..Self::default() };
        };
        let mut references = References::read(spec, version);
        let generated = std::mem::take(&mut references.ephemeral);
        references.claims.extend(generated.iter().map(|volume| format!("{name}-{volume}")));
        references.claims.sort_unstable();
        references.claims.dedup();
        references.resource_claims = resource_claims(object, spec, version);
        Self {
            namespace: own(&["metadata", "namespace"]),
            uid: own(&["metadata", "uid"]),
            node: own(&["spec", "nodeName"]),
            is_mirror: object.path(&["metadata", "annotations", MIRROR]).is_some(),
            token_volumes: token_volumes(&name, spec, version),
            certificate_signers: certificate_signers(spec),
            references,
            name,
        }
    }
}

impl References {
    /// Returns the references of the spec of a pod or a template. Claims made from templates have no name yet.
    pub fn read(spec: NodeRef<'_>, version: &ServerVersion) -> Self {
        let mut found = Self {
            account: absent::text(text(spec, &["serviceAccountName"]).or_else(|| text(spec, &["serviceAccount"])))
                .to_owned(),
            ..Self::default()
        };
        for reference in items(spec, "imagePullSecrets") {
            found.secrets.extend(text(reference, &["name"]).map(str::to_owned));
        }
        // Before 1.19 ephemeral containers counted only with their gate on.
        let counts_ephemeral = version.since(19) || version.is_on(FeatureGate::EphemeralContainers);
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        for list in lists.iter().filter(|list| counts_ephemeral || **list != "ephemeralContainers") {
            items(spec, list).for_each(|container| found.add_container(container));
        }
        items(spec, "volumes").for_each(|volume| found.add_volume(volume, version));
        for claim in items(spec, "resourceClaims") {
            found.resource_claims.extend(text(claim, &["resourceClaimName"]).map(str::to_owned));
        }
        for list in [&mut found.secrets, &mut found.config_maps, &mut found.claims] {
            list.sort_unstable();
            list.dedup();
        }
        found
    }

    fn add_container(&mut self, container: NodeRef<'_>) {
        for source in items(container, "envFrom") {
            self.secrets.extend(text(source, &["secretRef", "name"]).map(str::to_owned));
            self.config_maps.extend(text(source, &["configMapRef", "name"]).map(str::to_owned));
        }
        for variable in items(container, "env") {
            let Some(source) = field(variable, "valueFrom") else { continue };
            self.secrets.extend(text(source, &["secretKeyRef", "name"]).map(str::to_owned));
            self.config_maps.extend(text(source, &["configMapKeyRef", "name"]).map(str::to_owned));
        }
    }

    fn add_volume(&mut self, volume: NodeRef<'_>, version: &ServerVersion) {
        if let Some(projected) = field(volume, "projected") {
            for source in items(projected, "sources") {
                self.secrets.extend(text(source, &["secret", "name"]).map(str::to_owned));
                self.config_maps.extend(text(source, &["configMap", "name"]).map(str::to_owned));
            }
            return;
        }
        self.secrets.extend(secret_of_inline(volume).map(str::to_owned));
        self.config_maps.extend(text(volume, &["configMap", "name"]).map(str::to_owned));
        if let Some(claim) = field(volume, "persistentVolumeClaim") {
            self.claims.extend(text(claim, &["claimName"]).map(str::to_owned));
        } else if field(volume, "ephemeral").is_some() && version.is_on(FeatureGate::GenericEphemeralVolume) {
            self.ephemeral.extend(text(volume, &["name"]).map(str::to_owned));
        }
    }
}

/// Returns the items of a list.
pub(super) fn items<'t>(node: NodeRef<'t>, key: &str) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
    node.get(key).into_iter().flat_map(NodeRef::items)
}

/// Returns the ResourceClaims of a pod: named directly, or generated for it according to its status
/// (`k8s.io/dynamic-resource-allocation/resourceclaim`).
fn resource_claims(pod: NodeRef<'_>, spec: NodeRef<'_>, version: &ServerVersion) -> Vec<String> {
    let mut names = Vec::new();
    if !version.since(28) {
        return names;
    }
    for claim in items(spec, "resourceClaims") {
        if let Some(direct) = field(claim, "resourceClaimName") {
            names.extend(direct.as_str().map(str::to_owned));
        } else if field(claim, "resourceClaimTemplateName").is_some() {
            let own = claim.get("name").and_then(NodeRef::as_str);
            let statuses = pod.path(&["status", "resourceClaimStatuses"]).into_iter().flat_map(NodeRef::items);
            let generated = statuses.into_iter().find(|status| status.get("name").and_then(NodeRef::as_str) == own);
            names.extend(generated.and_then(|status| text(status, &["resourceClaimName"])).map(str::to_owned));
        }
    }
    if version.since(34) {
        names.extend(text(pod, &["status", "extendedResourceClaimStatus", "resourceClaimName"]).map(str::to_owned));
    }
    names
}

/// Returns the signers of every `podCertificate` source (`podHasPodCertificateVolumeForSigner` of NodeRestriction,
/// 1.37).
fn certificate_signers(spec: NodeRef<'_>) -> Vec<String> {
    let sources = items(spec, "volumes")
        .filter_map(|volume| field(volume, "projected"))
        .flat_map(|projected| items(projected, "sources"));
    let certificates = sources.filter_map(|source| field(source, "podCertificate"));
    certificates.map(|certificate| absent::text_at(certificate, &["signerName"]).to_owned()).collect()
}

fn token_volumes(pod: &str, spec: NodeRef<'_>, version: &ServerVersion) -> Vec<TokenVolume> {
    let mut found = Vec::new();
    for volume in items(spec, "volumes") {
        if let Some(projected) = field(volume, "projected") {
            let tokens = items(projected, "sources").filter_map(|source| field(source, "serviceAccountToken"));
            found.extend(tokens.map(|token| TokenVolume::Projected(absent::text_at(token, &["audience"]).to_owned())));
        }
        if volume.path(&["ephemeral", "volumeClaimTemplate"]).is_some_and(|template| !template.is_null()) {
            let name = absent::text_at(volume, &["name"]);
            found.push(TokenVolume::Claim(format!("{pod}-{name}")));
        } else if let Some(claim) = field(volume, "persistentVolumeClaim") {
            found.push(TokenVolume::Claim(absent::text_at(claim, &["claimName"]).to_owned()));
        } else {
            match driver_of(volume, version.since(33)) {
                Ok(driver) => found.extend(driver.map(TokenVolume::Driver)),
                Err(why) => found.push(TokenVolume::Broken(why)),
            }
        }
    }
    found
}
