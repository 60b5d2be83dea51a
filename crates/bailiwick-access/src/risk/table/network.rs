//! N: network traffic.

use super::{RiskRule, holds};
use crate::codes;

pub(super) const RULES: &[RiskRule] = &[
    holds(
        "N001",
        codes::WRITE_SERVICES,
        "H/M",
        "create,update,patch services,endpoints,endpointslices.discovery",
        "can redirect the traffic of Services",
    )
    .help("grant Services without endpoints, in single namespaces"),
    holds(
        "N002",
        codes::CHANGE_SERVICE_STATUS,
        "M/M",
        "update,patch services/status",
        "can make a Service receive the traffic of any address (CVE-2020-8554)",
    )
    .help("reserve the status of Services for the load balancer controller"),
    holds(
        "N003",
        codes::WRITE_NETWORK_POLICIES,
        "H/M",
        "create,update,patch,delete,deletecollection networkpolicies.networking,networkpolicies.extensions,adminnetworkpolicies.policy.networking.k8s.io,baselineadminnetworkpolicies.policy.networking.k8s.io,ciliumnetworkpolicies.cilium.io,ciliumclusterwidenetworkpolicies.cilium.io,networkpolicies.crd.projectcalico.org,globalnetworkpolicies.crd.projectcalico.org,networkpolicies.projectcalico.org,globalnetworkpolicies.projectcalico.org",
        "can open the network between pods",
    )
    .help("reserve network policies for administrators"),
    holds(
        "N004",
        codes::WRITE_INGRESS,
        "H/M",
        "create,update,patch,delete,deletecollection ingresses.networking,ingresses.extensions,ingressclasses.networking,gateways.gateway.networking.k8s.io,gatewayclasses.gateway.networking.k8s.io,httproutes.gateway.networking.k8s.io,grpcroutes.gateway.networking.k8s.io,tlsroutes.gateway.networking.k8s.io,referencegrants.gateway.networking.k8s.io",
        "can expose workloads outside the cluster, under any host name",
    )
    .help("grant it in single namespaces, and check host names by an admission policy"),
];
