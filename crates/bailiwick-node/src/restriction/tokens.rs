//! Requests of a node for a token of a service account: for a pod on it, and for an audience needed by the pod.

use super::pods::existing;
use super::{MayAlso, NodeOperation, NodeRestrictionError, NodeWrite, refuse};
use crate::cluster::Cluster;
use crate::pod::{ClusterPod, TokenVolume};
use crate::version::FeatureGate;
use crate::volume::DriverError;
use bailiwick_access::{Identity, Request, ResourceRequest};
use bailiwick_kubernetes::absent;
use bailiwick_yaml::NodeRef;
use std::fmt;

/// The verb for requests for an audience outside of the pod's volumes; the audience is the resource.
pub(crate) const AUDIENCE_VERB: &str = "request-serviceaccounts-token-audience";

pub(super) fn admit(
    cluster: &Cluster,
    who: &Identity,
    node: &str,
    write: &NodeWrite<'_>,
    may_also: MayAlso<'_>,
) -> Result<(), NodeRestrictionError> {
    if write.operation != NodeOperation::Create || write.subresource != "token" {
        return Ok(());
    }
    let request = write.new_object("TokenRequest")?;
    let bound = |key: &str| absent::text_at(request, &["spec", "boundObjectRef", key]);
    if bound("apiVersion") != "v1" || bound("kind") != "Pod" || bound("name").is_empty() {
        return refuse("a node asks for a token that is not bound to a pod");
    }
    if bound("uid").is_empty() {
        return refuse("a node asks for a token that is bound to a pod without a uid");
    }
    let pod = existing(cluster, write.namespace, bound("name"))?;
    if bound("uid") != pod.uid {
        return refuse(format!("the UID `{}` does not match the UID in record of the pod", bound("uid")));
    }
    if pod.node != node {
        return refuse("a node asks for a token that is bound to a pod on a different node");
    }
    if !cluster.version.is_on(FeatureGate::ServiceAccountNodeAudienceRestriction) {
        return Ok(());
    }
    let audiences: Vec<&str> = request
        .path(&["spec", "audiences"])
        .into_iter()
        .flat_map(NodeRef::items)
        .map(|audience| absent::text(audience.as_str()))
        .collect();
    let audience = match audiences.as_slice() {
        [] => "",
        [audience] => audience,
        _ => return refuse("a node may only ask for 0 or 1 audiences"),
    };
    if needs_audience(cluster, pod, audience).map_err(|error| NodeRestrictionError(error.to_string()))? {
        return Ok(());
    }
    let beside = Request::Resource(ResourceRequest {
        verb: AUDIENCE_VERB.to_owned(),
        version: "v1".to_owned(),
        resource: audience.to_owned(),
        namespace: write.namespace.to_owned(),
        name: write.name.to_owned(),
        ..ResourceRequest::default()
    });
    if cluster.version.since(33) && may_also(who, &beside) {
        return Ok(());
    }
    refuse(format!(
        "the audience `{audience}` is not found in pod spec volumes, and `{}` is not authorized to ask for it",
        who.user
    ))
}

/// An error of checking an audience.
struct AudienceError {
    audience: String,
    problems: Vec<String>,
}

impl fmt::Display for AudienceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the audience `{}` cannot be checked: {}", self.audience, self.problems.join(", "))
    }
}

/// Returns whether a volume of the pod needs a token for an audience.
///
/// # Errors
/// No volume matched, and some volume was unreadable: no further question is asked then.
fn needs_audience(cluster: &Cluster, pod: &ClusterPod, audience: &str) -> Result<bool, AudienceError> {
    let mut problems = Vec::new();
    for volume in &pod.token_volumes {
        let driver = match volume {
            TokenVolume::Projected(own) if own == audience => return Ok(true),
            TokenVolume::Projected(_) => continue,
            TokenVolume::Driver(driver) => Ok(Some(driver.clone())),
            TokenVolume::Claim(claim) => driver_of_claim(cluster, &pod.namespace, claim),
            TokenVolume::Broken(why) => Err(why.clone()),
        };
        let driver = match driver {
            Ok(Some(driver)) => driver,
            Ok(None) => continue,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        match cluster.drivers.get(&driver) {
            Some(audiences) if audiences.iter().any(|own| own == audience) => return Ok(true),
            Some(_) => {}
            None => problems.push(format!("the CSIDriver `{driver}` is not found")),
        }
    }
    if problems.is_empty() { Ok(false) } else { Err(AudienceError { audience: audience.to_owned(), problems }) }
}

fn driver_of_claim(cluster: &Cluster, namespace: &str, claim: &str) -> Result<Option<String>, DriverError> {
    let volume = cluster
        .claims
        .get(&(namespace.to_owned(), claim.to_owned()))
        .ok_or_else(|| DriverError::NoClaim { namespace: namespace.to_owned(), claim: claim.to_owned() })?;
    let volume = cluster.volumes.get(volume).ok_or_else(|| DriverError::NoVolume(volume.clone()))?;
    volume.driver.clone().map(|driver| driver.filter(|driver| !driver.is_empty()))
}
