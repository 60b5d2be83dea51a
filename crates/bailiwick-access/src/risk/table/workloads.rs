//! W: control of what runs.

use super::{Reach, Rule, holds};
use crate::codes;

pub(super) const RULES: &[Rule] = &[
    holds(
        "W001",
        codes::CREATE_PODS,
        "C/H",
        "create pods",
        "can run pods with every service account, secret and ConfigMap there is",
        "grant it where only such accounts and secrets are that its holder may have, under a Pod Security level that holds the node back",
    )
    .power("creates pods everywhere")
    .reach(Reach::Pods),
    holds(
        "W002",
        codes::CHANGE_WORKLOADS,
        "C/H",
        "create,update,patch deployments.apps,daemonsets.apps,statefulsets.apps,replicasets.apps,replicationcontrollers,jobs.batch,cronjobs.batch,deployments.extensions,daemonsets.extensions,replicasets.extensions,rollouts.argoproj.io,workflows.argoproj.io,cronworkflows.argoproj.io,taskruns.tekton.dev,pipelineruns.tekton.dev,services.serving.knative.dev,virtualmachines.kubevirt.io",
        "can change what makes pods, and so run them with every service account there is",
        "grant it where only such accounts are that its holder may have, or name the workloads under `resourceNames`",
    )
    .power("changes workloads everywhere")
    .reach(Reach::Pods),
    holds(
        "W003",
        codes::CHANGE_PODS,
        "C/H",
        "update,patch pods",
        "can put its own image into running pods",
        "leave changing to the controllers, which need no verbs of yours",
    )
    .power("changes every pod")
    .reach(Reach::Pods),
    holds(
        "W004",
        codes::EXEC_INTO_PODS,
        "C/H",
        "create pods/exec or get pods/exec before 1.35",
        "can run commands in pods, with their service accounts",
        "grant it for debugging and for a time, in the namespaces that are meant",
    )
    .power("runs commands in every pod")
    .reach(Reach::Pods),
    holds(
        "W005",
        codes::ATTACH_TO_PODS,
        "C/H",
        "create pods/attach or get pods/attach before 1.35",
        "can attach to the processes of pods",
        "grant it for debugging and for a time, in the namespaces that are meant",
    )
    .power("attaches to every pod")
    .reach(Reach::Pods),
    holds(
        "W006",
        codes::REACH_PORTS,
        "H/M",
        "create pods/portforward or get pods/portforward before 1.35 or get,create,update,patch,delete pods/proxy,services/proxy",
        "can reach every port of pods, past network policies",
        "grant it for debugging and for a time, in the namespaces that are meant",
    ),
    holds(
        "W007",
        codes::EPHEMERAL_CONTAINERS,
        "C/H",
        "update,patch pods/ephemeralcontainers",
        "can put containers of its own into running pods",
        "grant it for debugging and for a time, in the namespaces that are meant",
    )
    .power("adds containers to every pod")
    .reach(Reach::Pods),
    holds(
        "W008",
        codes::EVICT_PODS,
        "M/L",
        "create pods/eviction or delete,deletecollection pods",
        "can stop pods",
        "grant it in the namespaces that are meant",
    )
    .behind(&["W009"]),
    holds(
        "W009",
        codes::STEAL_PODS,
        "H/-",
        "create pods/eviction or delete,deletecollection pods and update,patch nodes,nodes/status",
        "can stop pods, and close nodes so that they come back where it wants them",
        "keep changing nodes apart from stopping pods",
    )
    .power("stops pods and closes nodes")
    .reach(Reach::Secrets),
    holds(
        "W010",
        codes::CHANGE_POD_STATUS,
        "L/L",
        "update,patch pods/status",
        "can make services send traffic to pods of its own",
        "leave the status to the kubelet",
    ),
    holds(
        "W011",
        codes::PLACE_PODS,
        "M/L",
        "create pods/binding,bindings",
        "can put pods on any node, past the scheduler",
        "leave binding pods to schedulers",
    )
    .power("binds pods to any node"),
    holds(
        "W012",
        codes::SCALE,
        "M/L",
        "update,patch ?/scale.?",
        "can scale workloads up and down",
        "name the resource in the place of the star, and the workloads under `resourceNames`",
    ),
    holds(
        "W013",
        codes::WRITE_ACCOUNTS,
        "M/L",
        "create,update,patch serviceaccounts",
        "can write service accounts, with their annotations for clouds and their pull secrets",
        "leave accounts to whoever reviews them",
    ),
];
