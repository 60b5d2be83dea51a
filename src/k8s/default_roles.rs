//! The roles that the API server makes itself, by minor (computed from `facts/kubernetes/bootstrap`).

/// Cluster roles with the first and the last minor that has them.
const CLUSTER_ROLES: &[(&str, u32, u32)] = &[
    ("admin", 16, 36),
    ("cluster-admin", 16, 36),
    ("edit", 16, 36),
    ("system:aggregate-to-admin", 16, 36),
    ("system:aggregate-to-edit", 16, 36),
    ("system:aggregate-to-view", 16, 36),
    ("system:auth-delegator", 16, 36),
    ("system:basic-user", 16, 36),
    ("system:certificates.k8s.io:certificatesigningrequests:nodeclient", 16, 36),
    ("system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", 16, 36),
    ("system:certificates.k8s.io:kube-apiserver-client-approver", 18, 36),
    ("system:certificates.k8s.io:kube-apiserver-client-kubelet-approver", 18, 36),
    ("system:certificates.k8s.io:kubelet-serving-approver", 18, 36),
    ("system:certificates.k8s.io:legacy-unknown-approver", 18, 36),
    ("system:controller:attachdetach-controller", 16, 36),
    ("system:controller:certificate-controller", 16, 36),
    ("system:controller:clusterrole-aggregation-controller", 16, 36),
    ("system:controller:cronjob-controller", 16, 36),
    ("system:controller:daemon-set-controller", 16, 36),
    ("system:controller:deployment-controller", 16, 36),
    ("system:controller:device-taint-eviction-controller", 36, 36),
    ("system:controller:disruption-controller", 16, 36),
    ("system:controller:endpoint-controller", 16, 36),
    ("system:controller:endpointslice-controller", 18, 36),
    ("system:controller:endpointslicemirroring-controller", 19, 36),
    ("system:controller:ephemeral-volume-controller", 21, 36),
    ("system:controller:expand-controller", 16, 36),
    ("system:controller:generic-garbage-collector", 16, 36),
    ("system:controller:horizontal-pod-autoscaler", 16, 36),
    ("system:controller:job-controller", 16, 36),
    ("system:controller:legacy-service-account-token-cleaner", 29, 36),
    ("system:controller:namespace-controller", 16, 36),
    ("system:controller:node-controller", 16, 36),
    ("system:controller:persistent-volume-binder", 16, 36),
    ("system:controller:pod-garbage-collector", 16, 36),
    ("system:controller:pv-protection-controller", 16, 36),
    ("system:controller:pvc-protection-controller", 16, 36),
    ("system:controller:replicaset-controller", 16, 36),
    ("system:controller:replication-controller", 16, 36),
    ("system:controller:resource-claim-controller", 34, 36),
    ("system:controller:resourcequota-controller", 16, 36),
    ("system:controller:root-ca-cert-publisher", 20, 36),
    ("system:controller:route-controller", 16, 36),
    ("system:controller:selinux-warning-controller", 33, 36),
    ("system:controller:service-account-controller", 16, 36),
    ("system:controller:service-cidrs-controller", 33, 36),
    ("system:controller:service-controller", 16, 36),
    ("system:controller:statefulset-controller", 16, 36),
    ("system:controller:ttl-after-finished-controller", 21, 36),
    ("system:controller:ttl-controller", 16, 36),
    ("system:controller:validatingadmissionpolicy-status-controller", 30, 36),
    ("system:controller:volumeattributesclass-protection-controller", 34, 36),
    ("system:csi-external-attacher", 16, 16),
    ("system:csi-external-provisioner", 16, 16),
    ("system:discovery", 16, 36),
    ("system:heapster", 16, 36),
    ("system:kube-aggregator", 16, 36),
    ("system:kube-controller-manager", 16, 36),
    ("system:kube-dns", 16, 36),
    ("system:kube-scheduler", 16, 36),
    ("system:kubelet-api-admin", 16, 36),
    ("system:monitoring", 20, 36),
    ("system:node", 16, 36),
    ("system:node-bootstrapper", 16, 36),
    ("system:node-problem-detector", 16, 36),
    ("system:node-proxier", 16, 36),
    ("system:persistent-volume-provisioner", 16, 36),
    ("system:public-info-viewer", 16, 36),
    ("system:service-account-issuer-discovery", 20, 36),
    ("system:volume-scheduler", 16, 36),
    ("view", 16, 36),
];

/// Roles with their namespace and the first and the last minor that has them.
const ROLES: &[(&str, &str, u32, u32)] = &[
    ("kube-public", "system:controller:bootstrap-signer", 16, 36),
    ("kube-system", "extension-apiserver-authentication-reader", 16, 36),
    ("kube-system", "system::leader-locking-kube-controller-manager", 16, 36),
    ("kube-system", "system::leader-locking-kube-scheduler", 16, 36),
    ("kube-system", "system:controller:bootstrap-signer", 16, 36),
    ("kube-system", "system:controller:cloud-provider", 16, 36),
    ("kube-system", "system:controller:token-cleaner", 16, 36),
];

/// The names of the cluster roles that a minor has from the start.
pub fn cluster_roles(minor: u32) -> impl Iterator<Item = &'static str> {
    CLUSTER_ROLES.iter().filter(move |(_, first, last)| (*first..=*last).contains(&minor)).map(|(name, ..)| *name)
}

/// True for a cluster role that a minor has from the start.
pub fn is_cluster_role(name: &str, minor: u32) -> bool {
    cluster_roles(minor).any(|known| known == name)
}

/// True for a role that a minor has from the start.
pub fn is_role(namespace: &str, name: &str, minor: u32) -> bool {
    ROLES.iter().any(|(known_namespace, known, first, last)| {
        *known_namespace == namespace && *known == name && (*first..=*last).contains(&minor)
    })
}
