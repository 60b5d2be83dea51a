//! N: where traffic goes.

use super::{Rule, holds};
use crate::codes;

pub(super) const RULES: &[Rule] = &[
    holds(
        "N001",
        codes::WRITE_SERVICES,
        "H/M",
        "create,update,patch services,endpoints,endpointslices.discovery",
        "can turn the traffic of services elsewhere",
        "grant services without endpoints, in the namespaces that are meant",
    ),
    holds(
        "N002",
        codes::CHANGE_SERVICE_STATUS,
        "M/M",
        "update,patch services/status",
        "can have a service take the traffic of any address (CVE-2020-8554)",
        "leave the status to the controller of load balancers",
    ),
    holds(
        "N003",
        codes::WRITE_NETWORK_POLICIES,
        "H/M",
        "create,update,patch,delete,deletecollection networkpolicies.networking,networkpolicies.extensions,adminnetworkpolicies.policy.networking.k8s.io,baselineadminnetworkpolicies.policy.networking.k8s.io,ciliumnetworkpolicies.cilium.io,ciliumclusterwidenetworkpolicies.cilium.io,networkpolicies.crd.projectcalico.org,globalnetworkpolicies.crd.projectcalico.org,networkpolicies.projectcalico.org,globalnetworkpolicies.projectcalico.org",
        "can open the network between pods",
        "leave network policies to whoever reviews them",
    ),
    holds(
        "N004",
        codes::WRITE_INGRESS,
        "H/M",
        "create,update,patch,delete,deletecollection ingresses.networking,ingresses.extensions,ingressclasses.networking,gateways.gateway.networking.k8s.io,gatewayclasses.gateway.networking.k8s.io,httproutes.gateway.networking.k8s.io,grpcroutes.gateway.networking.k8s.io,tlsroutes.gateway.networking.k8s.io,referencegrants.gateway.networking.k8s.io",
        "can let the outside in, under any host name",
        "grant it in the namespaces that are meant, and check host names by an admission policy",
    ),
];
