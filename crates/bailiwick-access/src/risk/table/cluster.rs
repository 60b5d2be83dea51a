//! C: the control plane and the nodes.

use super::{EdgeKind, EdgeTarget, PermissionReach, RiskEdge, RiskRule, holds};
use crate::codes;

/// The verbs for writing an object, without deletion.
const WRITES: &[&str] = &["create", "update", "patch"];

pub(super) const RULES: &[RiskRule] = &[
    holds(
        "C001",
        codes::KUBELET_API,
        "C/-",
        "get,create,update,patch,delete nodes/proxy",
        "can run commands in every pod by the kubelet API, for which `get` is enough",
    )
    .edge(EdgeKind::KubeletApi, EdgeTarget::Kubelets)
    .help("grant `nodes/metrics`, `nodes/stats` and, from 1.33 on, `nodes/pods`, `nodes/healthz` and `nodes/configz` instead")
    .power("talks to every kubelet")
    .reach(PermissionReach::Secrets),
    holds(
        "C002",
        codes::CHANGE_NODES,
        "H/-",
        "create,update,patch,delete,deletecollection nodes",
        "can change nodes, and so the placement of pods",
    )
    .help("list the nodes under `resourceNames`, or reserve nodes for the kubelets")
    .power("changes every node"),
    holds(
        "C003",
        codes::CHANGE_NODE_STATUS,
        "M/-",
        "update,patch nodes/status",
        "can change the status of nodes",
    )
    .help("reserve the status of nodes for the kubelets")
    .power("changes the status of every node"),
    holds(
        "C004",
        codes::KUBELET_DETAILS,
        "L/-",
        "medium: get nodes/log or create nodes/checkpoint; \
         get nodes/configz,nodes/pods,nodes/healthz,nodes/metrics,nodes/stats,nodes/spec",
        "can read data of the kubelets",
    )
    .help("grant the required subresources only: logs and checkpoints contain data of the pods")
    .behind(&["C001"]),
    holds(
        "C005",
        codes::ADMISSION_WEBHOOKS,
        "C/-",
        "create,update,patch,delete,deletecollection mutatingwebhookconfigurations.admissionregistration,validatingwebhookconfigurations.admissionregistration",
        "can read and change every written object by admission webhooks",
    )
    .edge_of(RiskEdge {
        kind: EdgeKind::WriteMutatingWebhooks,
        to: EdgeTarget::Mutation,
        verbs: WRITES,
        resources: &["mutatingwebhookconfigurations"],
    })
    .edge_of(RiskEdge {
        kind: EdgeKind::WriteValidatingWebhooks,
        to: EdgeTarget::Admission,
        verbs: WRITES,
        resources: &["validatingwebhookconfigurations"],
    })
    .help("list the subject's own configuration under `resourceNames`")
    .power("changes what is admitted")
    .reach(PermissionReach::Secrets),
    holds(
        "C006",
        codes::ADMISSION_POLICIES,
        "C/-",
        "create,update,patch,delete,deletecollection validatingadmissionpolicies.admissionregistration,validatingadmissionpolicybindings.admissionregistration,mutatingadmissionpolicies.admissionregistration,mutatingadmissionpolicybindings.admissionregistration",
        "can change or disable the admission policies of the cluster",
    )
    .edge_of(RiskEdge {
        kind: EdgeKind::WriteAdmissionPolicies,
        to: EdgeTarget::Mutation,
        verbs: WRITES,
        resources: &["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"],
    })
    .edge_of(RiskEdge {
        kind: EdgeKind::WriteAdmissionPolicies,
        to: EdgeTarget::Admission,
        verbs: WRITES,
        resources: &["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    })
    .help("reserve admission policies for administrators")
    .power("changes what is refused")
    .reach(PermissionReach::Secrets),
    holds(
        "C007",
        codes::POLICY_ENGINES,
        "H/M",
        "create,update,patch,delete,deletecollection clusterpolicies.kyverno.io,policies.kyverno.io,policyexceptions.kyverno.io,?.policies.kyverno.io,?.templates.gatekeeper.sh,?.constraints.gatekeeper.sh,configs.config.gatekeeper.sh",
        "can change or disable the policies of a policy engine",
    )
    .help("reserve the policies of the engine for administrators"),
    holds(
        "C008",
        codes::API_SERVICES,
        "C/-",
        "create,update,patch,delete,deletecollection apiservices.apiregistration",
        "can redirect an API group to its own server",
    )
    .edge_of(RiskEdge { kind: EdgeKind::WriteApiservices, to: EdgeTarget::Admission, verbs: WRITES, resources: &[] })
    .help("list the subject's own APIService under `resourceNames`")
    .power("answers for API groups")
    .reach(PermissionReach::Secrets),
    holds(
        "C009",
        codes::CUSTOM_RESOURCE_DEFINITIONS,
        "H/-",
        "create,update,patch,delete,deletecollection customresourcedefinitions.apiextensions",
        "can change custom resource definitions, and read custom resources by a conversion webhook",
    )
    .help("list the definitions under `resourceNames`, or reserve them for administrators")
    .power("changes custom resources"),
    holds(
        "C010",
        codes::PERSISTENT_VOLUMES,
        "C/-",
        "create,update,patch persistentvolumes",
        "can create volumes from any directory of a node",
    )
    // The source of a volume never changes.
    .edge_of(RiskEdge { kind: EdgeKind::Volumes, to: EdgeTarget::HostFolders, verbs: &["create"], resources: &[] })
    .help("leave volumes to a provisioner")
    .power("makes volumes of any folder of a node")
    .reach(PermissionReach::Secrets),
    holds(
        "C011",
        codes::STORAGE_PLUMBING,
        "M/-",
        "create,update,patch,delete,deletecollection storageclasses.storage,csidrivers.storage,volumeattachments.storage",
        "can change the provisioning and the attachment of volumes",
    )
    .help("reserve these resources for storage drivers"),
    holds(
        "C012",
        codes::RUNTIME_AND_PRIORITY_CLASSES,
        "M/-",
        "create,update,patch,delete,deletecollection runtimeclasses.node,priorityclasses.scheduling",
        "can change the runtime and the priority of pods",
    )
    .help("reserve the classes for administrators"),
    holds(
        "C013",
        codes::FLOW_CONTROL,
        "H/-",
        "create,update,patch,delete,deletecollection flowschemas.flowcontrol,prioritylevelconfigurations.flowcontrol",
        "can delay the requests of others at the API server",
    )
    .help("reserve flow control for administrators"),
    holds(
        "C014",
        codes::CONTROL_PLANE_LEASES,
        "M/M",
        "create,update,patch,delete,deletecollection leases.coordination",
        "can take the leadership from controllers of the control plane",
    )
    .help("grant leases in the namespace of the controller, by name")
    .nowhere_else(),
    holds(
        "C015",
        codes::NAMESPACE_LABELS,
        "H/H",
        "create,update,patch namespaces",
        "can change the labels of namespaces, and with them the Pod Security level",
    )
    .edge_of(RiskEdge {
        kind: EdgeKind::NamespaceLabels,
        to: EdgeTarget::PodLevel,
        verbs: &["update", "patch"],
        resources: &[],
    })
    .help("reserve namespaces for administrators: a RoleBinding, too, allows the patch of its own namespace"),
    holds(
        "C016",
        codes::DELETE_NAMESPACES,
        "H/H",
        "delete namespaces",
        "can delete namespaces with all their objects",
    )
    .help("reserve namespaces for administrators"),
    holds(
        "C017",
        codes::REVIEW_ACCESS,
        "L/L",
        "create tokenreviews.authentication,subjectaccessreviews.authorization,localsubjectaccessreviews.authorization",
        "can review the permissions of others or the owner of a token",
    )
    .help("grant it to servers that delegate authentication to the cluster"),
    holds(
        "C018",
        codes::READ_RBAC,
        "L/L",
        "get,list,watch roles.rbac,clusterroles.rbac,rolebindings.rbac,clusterrolebindings.rbac",
        "can read roles or bindings",
    )
    .help("grant it to auditors"),
    holds(
        "C019",
        codes::SENSITIVE_URLS,
        "M/-",
        "get /debug/pprof/,/logs/,/metrics or post,put,patch,delete /?",
        "can request URLs of the API server beyond health and discovery",
    )
    .help("list the required URLs"),
    holds(
        "C020",
        codes::CONTROL_PLANE_SNAPSHOTS,
        "H/-",
        "get,list,watch,create,update,patch,delete etcdsnapshotfiles.k3s.cattle.io,etcdsnapshots.rke.cattle.io where known",
        "can access snapshots of the cluster database",
    )
    .help("reserve backups for administrators"),
];
