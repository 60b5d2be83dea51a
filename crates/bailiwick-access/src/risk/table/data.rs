//! S: secrets and data.

use super::super::RiskSeverity;
use super::{EdgeKind, EdgeTarget, NameEffect, PermissionReach, RiskRule, holds};
use crate::codes;

pub(super) const RULES: &[RiskRule] = &[
    holds("S001", codes::READ_SECRETS, "C/H", "get,list,watch secrets", "can read Secrets")
        .edge(EdgeKind::ReadSecrets, EdgeTarget::Secrets)
        .help("grant `get` on single Secrets by `resourceNames`, or mount the Secrets into the pods that need them")
        .power("reads every secret")
        .reach(PermissionReach::Secrets)
        .named(NameEffect::To(RiskSeverity::Medium))
        .behind(&["S007", "S002"]),
    holds(
        "S002",
        codes::LIST_SECRETS,
        "C/H",
        "list,watch secrets unless get secrets",
        "can read every Secret, because `list` and `watch` return the data",
    )
    .help("remove `list` and `watch`, too, or grant `get` on single Secrets by `resourceNames`")
    .power("lists every secret")
    .reach(PermissionReach::Secrets)
    .named(NameEffect::To(RiskSeverity::Medium))
    .behind(&["S007"]),
    holds("S003", codes::CHANGE_SECRETS, "H/M", "update,patch,delete,deletecollection secrets", "can change Secrets")
        .help("list the Secrets under `resourceNames`"),
    holds("S004", codes::READ_CONFIG_MAPS, "M/L", "get,list,watch configmaps", "can read ConfigMaps")
        .help("grant `get` on single ConfigMaps by `resourceNames`")
        .behind(&["S007"]),
    holds(
        "S005",
        codes::WRITE_CONFIG_MAPS,
        "H/M",
        "create,update,patch,delete,deletecollection configmaps",
        "can write ConfigMaps",
    )
    .help("list the ConfigMaps under `resourceNames`, and grant none of `kube-system`")
    .in_control_plane(RiskSeverity::High),
    holds("S006", codes::READ_LOGS, "M/L", "get pods/log", "can read the logs of pods")
        .help("grant it in single namespaces")
        .behind(&["S007"]),
    holds(
        "S007",
        codes::READ_EVERYTHING,
        "C/H",
        "get,list,watch *",
        "can read every resource of the core group, Secrets included",
    )
    .help("list the resources, as the ClusterRole `view` does without Secrets")
    .power("reads everything in the core group")
    .reach(PermissionReach::Secrets),
    holds("S008", codes::DELETE_EVENTS, "L/L", "delete,deletecollection events,events.events", "can delete events")
        .help("let events expire"),
];
