//! S: secrets and data.

use super::super::Severity;
use super::{Named, Reach, Rule, holds};
use crate::codes;

pub(super) const RULES: &[Rule] = &[
    holds(
        "S001",
        codes::READ_SECRETS,
        "C/H",
        "get,list,watch secrets",
        "can read secrets",
        "name the secrets under `resourceNames` with `get`, or mount them into the pods that need them",
    )
    .power("reads every secret")
    .reach(Reach::Secrets)
    .named(Named::To(Severity::Medium))
    .behind(&["S007", "S002"]),
    holds(
        "S002",
        codes::LIST_SECRETS,
        "C/H",
        "list,watch secrets unless get secrets",
        "can read every secret, since `list` and `watch` return the data",
        "take `list` and `watch` away too, or name single secrets with `get`",
    )
    .power("lists every secret")
    .reach(Reach::Secrets)
    .named(Named::To(Severity::Medium))
    .behind(&["S007"]),
    holds(
        "S003",
        codes::CHANGE_SECRETS,
        "H/M",
        "update,patch,delete,deletecollection secrets",
        "can change secrets",
        "name the secrets under `resourceNames`",
    ),
    holds(
        "S004",
        codes::READ_CONFIG_MAPS,
        "M/L",
        "get,list,watch configmaps",
        "can read ConfigMaps",
        "name the ConfigMaps under `resourceNames` with `get`",
    )
    .behind(&["S007"]),
    holds(
        "S005",
        codes::WRITE_CONFIG_MAPS,
        "H/M",
        "create,update,patch,delete,deletecollection configmaps",
        "can write ConfigMaps",
        "name the ConfigMaps under `resourceNames`, and leave those of kube-system alone",
    )
    .in_control_plane(Severity::High),
    holds(
        "S006",
        codes::READ_LOGS,
        "M/L",
        "get pods/log",
        "can read the logs of pods",
        "grant it in the namespaces that are meant",
    )
    .behind(&["S007"]),
    holds(
        "S007",
        codes::READ_EVERYTHING,
        "C/H",
        "get,list,watch *",
        "can read everything in the core group, secrets included",
        "write the resources out, as the ClusterRole `view` does, which leaves secrets out",
    )
    .power("reads everything in the core group")
    .reach(Reach::Secrets),
    holds(
        "S008",
        codes::DELETE_EVENTS,
        "L/L",
        "delete,deletecollection events,events.events",
        "can delete events",
        "leave events to expire",
    ),
];
