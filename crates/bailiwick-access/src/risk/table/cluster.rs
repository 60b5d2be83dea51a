//! C: the control plane and the nodes.

use super::{Reach, Rule, holds};
use crate::codes;

pub(super) const RULES: &[Rule] = &[
    holds(
        "C001",
        codes::KUBELET_API,
        "C/-",
        "get,create,update,patch,delete nodes/proxy",
        "can run commands in every pod by the kubelet's own API, which `get` is enough for",
        "grant `nodes/metrics`, `nodes/stats` and, from 1.33 on, `nodes/pods`, `nodes/healthz` and `nodes/configz` instead",
    )
    .power("talks to every kubelet")
    .reach(Reach::Secrets),
    holds(
        "C002",
        codes::CHANGE_NODES,
        "H/-",
        "create,update,patch,delete,deletecollection nodes",
        "can change nodes, and so where pods run",
        "name the nodes under `resourceNames`, or leave it to the kubelets",
    )
    .power("changes every node"),
    holds(
        "C003",
        codes::CHANGE_NODE_STATUS,
        "M/-",
        "update,patch nodes/status",
        "can change what nodes seem to be",
        "leave the status to the kubelets",
    )
    .power("changes the status of every node"),
    holds(
        "C004",
        codes::KUBELET_DETAILS,
        "L/-",
        "medium: get nodes/log or create nodes/checkpoint; \
         get nodes/configz,nodes/pods,nodes/healthz,nodes/metrics,nodes/stats,nodes/spec",
        "can read from the kubelets what they know",
        "grant the ones that are needed: logs and checkpoints hold data of the pods",
    )
    .behind(&["C001"]),
    holds(
        "C005",
        codes::ADMISSION_WEBHOOKS,
        "C/-",
        "create,update,patch,delete,deletecollection mutatingwebhookconfigurations.admissionregistration,validatingwebhookconfigurations.admissionregistration",
        "can read and change every object on its way into the cluster, by webhooks",
        "name the configuration that is its own under `resourceNames`",
    )
    .power("changes what is admitted")
    .reach(Reach::Secrets),
    holds(
        "C006",
        codes::ADMISSION_POLICIES,
        "C/-",
        "create,update,patch,delete,deletecollection validatingadmissionpolicies.admissionregistration,validatingadmissionpolicybindings.admissionregistration,mutatingadmissionpolicies.admissionregistration,mutatingadmissionpolicybindings.admissionregistration",
        "can change or switch off what the cluster refuses",
        "leave admission policies to whoever reviews them",
    )
    .power("changes what is refused")
    .reach(Reach::Secrets),
    holds(
        "C007",
        codes::POLICY_ENGINES,
        "H/M",
        "create,update,patch,delete,deletecollection clusterpolicies.kyverno.io,policies.kyverno.io,policyexceptions.kyverno.io,?.policies.kyverno.io,?.templates.gatekeeper.sh,?.constraints.gatekeeper.sh,configs.config.gatekeeper.sh",
        "can change or switch off what a policy engine refuses",
        "leave the engine's policies to whoever reviews them",
    ),
    holds(
        "C008",
        codes::API_SERVICES,
        "C/-",
        "create,update,patch,delete,deletecollection apiservices.apiregistration",
        "can have a whole API group answered by a server of its own",
        "name the APIService that is its own under `resourceNames`",
    )
    .power("answers for API groups")
    .reach(Reach::Secrets),
    holds(
        "C009",
        codes::CUSTOM_RESOURCE_DEFINITIONS,
        "H/-",
        "create,update,patch,delete,deletecollection customresourcedefinitions.apiextensions",
        "can change what custom resources are, and read them by a conversion webhook",
        "name the definitions under `resourceNames`, or leave them to whoever installs",
    )
    .power("changes custom resources"),
    holds(
        "C010",
        codes::PERSISTENT_VOLUMES,
        "C/-",
        "create,update,patch persistentvolumes",
        "can make volumes out of any folder of a node",
        "leave volumes to a provisioner",
    )
    .power("makes volumes of any folder of a node")
    .reach(Reach::Secrets),
    holds(
        "C011",
        codes::STORAGE_PLUMBING,
        "M/-",
        "create,update,patch,delete,deletecollection storageclasses.storage,csidrivers.storage,volumeattachments.storage",
        "can change how volumes are made and attached",
        "leave it to the storage drivers",
    ),
    holds(
        "C012",
        codes::RUNTIME_AND_PRIORITY_CLASSES,
        "M/-",
        "create,update,patch,delete,deletecollection runtimeclasses.node,priorityclasses.scheduling",
        "can change by which runtime and with which priority pods run",
        "leave it to whoever runs the cluster",
    ),
    holds(
        "C013",
        codes::FLOW_CONTROL,
        "H/-",
        "create,update,patch,delete,deletecollection flowschemas.flowcontrol,prioritylevelconfigurations.flowcontrol",
        "can starve others at the API server",
        "leave it to whoever runs the cluster",
    ),
    holds(
        "C014",
        codes::CONTROL_PLANE_LEASES,
        "M/M",
        "create,update,patch,delete,deletecollection leases.coordination",
        "can take the lead from controllers of the control plane",
        "grant leases in the controller's own namespace, by name",
    )
    .nowhere_else(),
    holds(
        "C015",
        codes::NAMESPACE_LABELS,
        "H/H",
        "create,update,patch namespaces",
        "can change the labels of namespaces, and with them the Pod Security level",
        "leave namespaces to whoever reviews them: one in a RoleBinding can be patched by its name, too",
    ),
    holds(
        "C016",
        codes::DELETE_NAMESPACES,
        "H/H",
        "delete namespaces",
        "can delete namespaces with all that is in them",
        "leave namespaces to whoever reviews them",
    ),
    holds(
        "C017",
        codes::REVIEW_ACCESS,
        "L/L",
        "create tokenreviews.authentication,subjectaccessreviews.authorization,localsubjectaccessreviews.authorization",
        "can ask what others may do, or whose a token is",
        "grant it to servers that authenticate by the cluster",
    ),
    holds(
        "C018",
        codes::READ_RBAC,
        "L/L",
        "get,list,watch roles.rbac,clusterroles.rbac,rolebindings.rbac,clusterrolebindings.rbac",
        "can read who may do what",
        "grant it to whoever audits",
    ),
    holds(
        "C019",
        codes::SENSITIVE_URLS,
        "M/-",
        "get /debug/pprof/,/logs/,/metrics or post,put,patch,delete /?",
        "can ask the API server for more than its health and its API",
        "write out the URLs that are needed",
    ),
    holds(
        "C020",
        codes::CONTROL_PLANE_SNAPSHOTS,
        "H/-",
        "get,list,watch,create,update,patch,delete etcdsnapshotfiles.k3s.cattle.io,etcdsnapshots.rke.cattle.io where known",
        "can reach snapshots of the cluster's database",
        "leave backups to whoever runs the cluster",
    ),
];
