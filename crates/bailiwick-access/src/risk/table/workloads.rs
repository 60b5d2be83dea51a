//! W: control of running workloads.

use super::{EdgeKind, EdgeTarget, PermissionReach, RiskEdge, RiskRule, holds};
use crate::codes;

/// The workloads with a template of pods that may change: the template of a Job never does.
const CHANGEABLE: &[&str] = &[
    "deployments",
    "daemonsets",
    "statefulsets",
    "replicasets",
    "replicationcontrollers",
    "cronjobs",
    "rollouts",
    "workflows",
    "cronworkflows",
    "taskruns",
    "pipelineruns",
    "services",
    "virtualmachines",
];

pub(super) const RULES: &[RiskRule] = &[
    holds(
        "W001",
        codes::CREATE_PODS,
        "C/H",
        "create pods",
        "can run pods with any service account, Secret and ConfigMap",
    )
    .edge(EdgeKind::CreatePods, EdgeTarget::NewPods)
    .help("grant it in namespaces without more privileged service accounts and Secrets, under a Pod Security level that protects the node")
    .power("creates pods everywhere")
    .reach(PermissionReach::Pods),
    holds(
        "W002",
        codes::CHANGE_WORKLOADS,
        "C/H",
        "create,update,patch deployments.apps,daemonsets.apps,statefulsets.apps,replicasets.apps,replicationcontrollers,jobs.batch,cronjobs.batch,deployments.extensions,daemonsets.extensions,replicasets.extensions,rollouts.argoproj.io,workflows.argoproj.io,cronworkflows.argoproj.io,taskruns.tekton.dev,pipelineruns.tekton.dev,services.serving.knative.dev,virtualmachines.kubevirt.io",
        "can change workloads, and so run pods with any service account",
    )
    .edge_of(RiskEdge {
        kind: EdgeKind::ChangeWorkloads,
        to: EdgeTarget::NewWorkloads,
        verbs: &["create"],
        resources: &[],
    })
    .edge_of(RiskEdge {
        kind: EdgeKind::ChangeWorkloads,
        to: EdgeTarget::ChangedWorkloads,
        verbs: &["update", "patch"],
        resources: CHANGEABLE,
    })
    .help("grant it in namespaces without more privileged service accounts, or list the workloads under `resourceNames`")
    .power("changes workloads everywhere")
    .reach(PermissionReach::Pods),
    holds(
        "W003",
        codes::CHANGE_PODS,
        "C/H",
        "update,patch pods",
        "can change the images of running pods",
    )
    .edge(EdgeKind::ChangePods, EdgeTarget::RunningPods)
    .help("remove the verbs: controllers have their own permissions")
    .power("changes every pod")
    .reach(PermissionReach::Pods),
    holds(
        "W004",
        codes::EXEC_INTO_PODS,
        "C/H",
        "create pods/exec or get pods/exec before 1.35",
        "can run commands in pods, with the permissions of their service accounts",
    )
    .edge(EdgeKind::Exec, EdgeTarget::RunningPods)
    .help("grant it for debugging, for a limited time and in single namespaces")
    .power("runs commands in every pod")
    .reach(PermissionReach::Pods),
    holds(
        "W005",
        codes::ATTACH_TO_PODS,
        "C/H",
        "create pods/attach or get pods/attach before 1.35",
        "can attach to the processes of pods",
    )
    .edge(EdgeKind::Exec, EdgeTarget::RunningPods)
    .help("grant it for debugging, for a limited time and in single namespaces")
    .power("attaches to every pod")
    .reach(PermissionReach::Pods),
    holds(
        "W006",
        codes::REACH_PORTS,
        "H/M",
        "create pods/portforward or get pods/portforward before 1.35 or get,create,update,patch,delete pods/proxy,services/proxy",
        "can reach every port of pods, and bypass network policies",
    )
    .help("grant it for debugging, for a limited time and in single namespaces"),
    holds(
        "W007",
        codes::EPHEMERAL_CONTAINERS,
        "C/H",
        "update,patch pods/ephemeralcontainers",
        "can add containers to running pods",
    )
    .edge(EdgeKind::ChangePods, EdgeTarget::RunningPods)
    .help("grant it for debugging, for a limited time and in single namespaces")
    .power("adds containers to every pod")
    .reach(PermissionReach::Pods),
    holds(
        "W008",
        codes::EVICT_PODS,
        "M/L",
        "create pods/eviction or delete,deletecollection pods",
        "can stop pods",
    )
    .help("grant it in single namespaces")
    .behind(&["W009"]),
    holds(
        "W009",
        codes::STEAL_PODS,
        "H/-",
        "create pods/eviction or delete,deletecollection pods and update,patch nodes,nodes/status",
        "can stop pods and change nodes, and so choose the node where the pods start again",
    )
    .help("grant changes of nodes and removal of pods to different subjects")
    .power("stops pods and closes nodes")
    .reach(PermissionReach::Secrets),
    holds(
        "W010",
        codes::CHANGE_POD_STATUS,
        "L/L",
        "update,patch pods/status",
        "can redirect the traffic of Services to other pods",
    )
    .help("reserve the status of pods for the kubelet"),
    holds(
        "W011",
        codes::PLACE_PODS,
        "M/L",
        "create pods/binding,bindings",
        "can assign pods to any node, without the scheduler",
    )
    .help("reserve the assignment of pods for schedulers")
    .power("binds pods to any node"),
    holds(
        "W012",
        codes::SCALE,
        "M/L",
        "update,patch ?/scale.?",
        "can scale workloads",
    )
    .help("list the resource instead of `*`, and the workloads under `resourceNames`"),
    holds(
        "W013",
        codes::WRITE_ACCOUNTS,
        "M/L",
        "create,update,patch serviceaccounts",
        "can write service accounts, with their cloud identities and pull secrets",
    )
    .help("reserve service accounts for administrators"),
];
