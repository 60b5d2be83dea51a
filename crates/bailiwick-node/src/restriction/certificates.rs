//! Requests of a node for certificates: for itself, and for its pods.

use bailiwick_kubernetes::absent;
use data_encoding::BASE64;
use std::fmt;
use x509_cert::der::DecodePem;
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::request::CertReq;

use super::pods::existing;
use super::{MayAlso, NodeOperation, NodeRestrictionError, NodeWrite, refuse};
use crate::cluster::Cluster;
use crate::identity::USER_PREFIX;
use crate::version::FeatureGate;
use bailiwick_access::{Identity, Request, ResourceRequest};

/// Signers of certificates for kubelets: as servers, and as clients of the API server.
const KUBELET_SIGNERS: [&str; 2] = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

/// The verb for requests to a signer outside of the pod's volumes.
pub const SIGNER_VERB: &str = "request-serviceaccounts-podcertificate-signer";

/// The attribute `CN` of a name.
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// Checks that a certificate for a kubelet names its own node.
pub(super) fn admit_signing_request(node: &str, write: &NodeWrite<'_>) -> Result<(), NodeRestrictionError> {
    if write.operation != NodeOperation::Create {
        return Ok(());
    }
    let request = write.new_object("CertificateSigningRequest")?;
    let signer = absent::text_at(request, &["spec", "signerName"]);
    if !KUBELET_SIGNERS.contains(&signer) {
        return Ok(());
    }
    let encoded = absent::text_at(request, &["spec", "request"]);
    let name = common_name(encoded).map_err(|why| NodeRestrictionError(format!("unable to parse csr: {why}")))?;
    if name.as_deref() == Some(&format!("{USER_PREFIX}{node}")) {
        return Ok(());
    }
    refuse(format!("a node can only create a node CSR with CN={USER_PREFIX}{node}"))
}

/// An error of reading a certificate request.
#[derive(Debug)]
enum SigningRequestError {
    /// A text other than base64.
    NoBase64,
    /// Bytes without a request, with the text of the reader.
    NoRequest(String),
}

impl fmt::Display for SigningRequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBase64 => formatter.write_str("it is not base64"),
            Self::NoRequest(error) => write!(formatter, "no PEM block with a CERTIFICATE REQUEST: {error}"),
        }
    }
}

/// Returns the common name of a certificate request; the last of several counts, as in Go.
fn common_name(encoded: &str) -> Result<Option<String>, SigningRequestError> {
    let bytes = BASE64.decode(encoded.as_bytes()).map_err(|_| SigningRequestError::NoBase64)?;
    let request =
        CertReq::from_pem(first_block(&bytes)).map_err(|error| SigningRequestError::NoRequest(error.to_string()))?;
    let mut found = None;
    for attribute in request.info.subject.iter_rdn().flat_map(|part| part.iter()) {
        if attribute.oid != COMMON_NAME {
            continue;
        }
        let value = &attribute.value;
        let text = value
            .decode_as::<Utf8StringRef<'_>>()
            .map(|text| text.as_str().to_owned())
            .or_else(|_| value.decode_as::<PrintableStringRef<'_>>().map(|text| text.as_str().to_owned()))
            .or_else(|_| value.decode_as::<Ia5StringRef<'_>>().map(|text| text.as_str().to_owned()));
        found = text.ok().or(found);
    }
    Ok(found)
}

/// Returns the first PEM block of a text, with any text around it.
fn first_block(text: &[u8]) -> &[u8] {
    let find = |mark: &[u8], from: usize| {
        let rest = text.get(from..)?;
        rest.windows(mark.len()).position(|window| window == mark).map(|position| from + position)
    };
    let Some(start) = find(b"-----BEGIN ", 0) else { return text };
    let (_, block) = text.split_at(start);
    match find(b"-----END ", start).and_then(|end| find(b"\n", end)) {
        Some(end) => block.split_at(end - start).0,
        None => block,
    }
}

/// Checks that a certificate for a pod names the pod, its service account and the node, each with its UID.
pub(super) fn admit_pod_request(
    cluster: &Cluster,
    who: &Identity,
    node: &str,
    write: &NodeWrite<'_>,
    may_also: MayAlso<'_>,
) -> Result<(), NodeRestrictionError> {
    if !cluster.version.is_on(FeatureGate::PodCertificateRequest) {
        return refuse("the feature gate PodCertificateRequest is off");
    }
    if write.operation != NodeOperation::Create || !write.subresource.is_empty() {
        return write.unexpected();
    }
    let request = write.new_object("PodCertificateRequest")?;
    let own = |key: &str| absent::text_at(request, &["spec", key]);
    let differs = |what: &str| refuse(format!("the PodCertificateRequest names another {what}"));
    if own("nodeName") != node {
        return differs("node than the asking one");
    }
    let Some(known) = cluster.nodes.get(node) else { return refuse(format!("the node `{node}` is not found")) };
    if own("nodeUID") != known.uid {
        return differs("UID of the node");
    }
    let pod = existing(cluster, write.namespace, own("podName"))?;
    if own("podUID") != pod.uid {
        return differs("UID of the pod");
    }
    if pod.node != node {
        return differs("node than the pod's");
    }
    if pod.is_mirror {
        return refuse("a mirror pod gets no certificates");
    }
    let account = &pod.references.account;
    if own("serviceAccountName") != account {
        return differs("service account than the pod's");
    }
    match cluster.accounts.get(&(write.namespace.to_owned(), account.clone())) {
        Some(known) if own("serviceAccountUID") == known.uid => {}
        Some(_) => return differs("UID of the service account"),
        None => return refuse(format!("the service account {}/{account} is not found", write.namespace)),
    }
    let signer = own("signerName");
    if !cluster.version.since(37) || pod.certificate_signers.iter().any(|mounted| mounted == signer) {
        return Ok(());
    }
    if may_also(who, &right_to_signer(write, signer, account)) {
        return Ok(());
    }
    refuse(format!(
        "the pod {}/{} mounts no certificate of the signer `{signer}`, and `{}` is not authorized to ask for one",
        write.namespace, pod.name, who.user
    ))
}

/// Returns the request to the authorizer for certificates of a signer outside of the pod's volumes
/// (`validateNodePodCertificateSigner`, since 1.37). A resource cannot have a slash in it.
fn right_to_signer(write: &NodeWrite<'_>, signer: &str, account: &str) -> Request {
    Request::Resource(ResourceRequest {
        verb: SIGNER_VERB.to_owned(),
        group: write.group.to_owned(),
        resource: signer.replace('/', ":"),
        namespace: write.namespace.to_owned(),
        name: account.to_owned(),
        ..ResourceRequest::default()
    })
}
