//! The pods to ask admission about: pods that control their node.

use bailiwick_admission::probe::PodProbe;
use serde_json::{Value, json};

use crate::path::PathCertainty;

/// A kind of pod that controls its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ProbeKind {
    /// A privileged container.
    Privileged,
    /// The root folder of the node, as root.
    HostRoot,
    /// The processes of the node.
    HostProcesses,
    /// The network of the node.
    HostNetwork,
    /// The root folder of the node, not as root.
    HostRootAsUser,
    /// A claim of a volume, as root.
    Claim,
    /// A claim of a volume, not as root.
    ClaimAsUser,
}

impl ProbeKind {
    /// The pods that control their node by themselves, the surest first.
    pub(crate) const PODS: [ProbeKind; 5] = [
        ProbeKind::Privileged,
        ProbeKind::HostRoot,
        ProbeKind::HostProcesses,
        ProbeKind::HostNetwork,
        ProbeKind::HostRootAsUser,
    ];

    /// The pods that control their node by a volume of a folder of the node.
    pub(crate) const CLAIMS: [ProbeKind; 2] = [ProbeKind::Claim, ProbeKind::ClaimAsUser];

    /// Returns how sure the control of the node is. Root with the folder `/` or all capabilities has it. The processes
    /// or the network of the node, or its files without root, may be enough.
    pub(crate) fn certainty(self) -> PathCertainty {
        match self {
            ProbeKind::Privileged | ProbeKind::HostRoot | ProbeKind::Claim => PathCertainty::Proven,
            ProbeKind::HostProcesses | ProbeKind::HostNetwork | ProbeKind::HostRootAsUser | ProbeKind::ClaimAsUser => {
                PathCertainty::Possible
            }
        }
    }

    /// Returns the pod in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            ProbeKind::Privileged => "a privileged pod",
            ProbeKind::HostRoot => "a pod with the hostPath `/` as root",
            ProbeKind::HostProcesses => "a pod with `hostPID`",
            ProbeKind::HostNetwork => "a pod with `hostNetwork`",
            ProbeKind::HostRootAsUser => "a pod with the hostPath `/` without root",
            ProbeKind::Claim => "a pod with a claim of a hostPath volume as root",
            ProbeKind::ClaimAsUser => "a pod with a claim of a hostPath volume without root",
        }
    }

    /// Returns the specs of the pod: as short as possible, and with the settings that policies may require. Null is
    /// an absent field.
    fn specs(self) -> [Value; 2] {
        let volume = match self {
            ProbeKind::HostRoot | ProbeKind::HostRootAsUser => json!([{ "name": "node", "hostPath": { "path": "/" } }]),
            ProbeKind::Claim | ProbeKind::ClaimAsUser => {
                json!([{ "name": "node", "persistentVolumeClaim": { "claimName": "probe" } }])
            }
            ProbeKind::Privileged | ProbeKind::HostProcesses | ProbeKind::HostNetwork => Value::Null,
        };
        let mount = if volume.is_null() { Value::Null } else { json!([{ "name": "node", "mountPath": "/node" }]) };
        let is_root = matches!(self, ProbeKind::HostRoot | ProbeKind::Claim | ProbeKind::HostProcesses);
        let is_privileged = self == ProbeKind::Privileged;
        let set = |is_set: bool, value: Value| if is_set { value } else { Value::Null };
        [false, true].map(|is_hardened| {
            let is_confined = is_hardened && !is_privileged;
            let security = json!({
                "privileged": set(is_privileged, json!(true)),
                "runAsUser": set(is_root, json!(0)),
                "allowPrivilegeEscalation": set(is_confined, json!(false)),
                "capabilities": set(is_confined, json!({ "drop": ["ALL"] })),
            });
            let of_pod = json!({
                "runAsNonRoot": set(!is_root, json!(true)),
                "seccompProfile": { "type": "RuntimeDefault" },
            });
            json!({
                "hostPID": set(self == ProbeKind::HostProcesses, json!(true)),
                "hostNetwork": set(self == ProbeKind::HostNetwork, json!(true)),
                "securityContext": set(is_hardened, of_pod),
                "containers": [
                    { "name": "probe", "image": "probe", "securityContext": security, "volumeMounts": mount },
                ],
                "volumes": volume,
            })
        })
    }
}

/// The probes by kind.
#[derive(Debug)]
pub(crate) struct Probes(Vec<(ProbeKind, PodProbe)>);

impl Probes {
    /// Reads every probe.
    pub(crate) fn new() -> Self {
        let kinds = ProbeKind::PODS.into_iter().chain(ProbeKind::CLAIMS);
        let specs = kinds.flat_map(|kind| kind.specs().map(|spec| (kind, spec)));
        Self(specs.filter_map(|(kind, spec)| Some((kind, PodProbe::new("probe", &spec)?))).collect())
    }

    /// Iterates over the probes of some kinds.
    pub(crate) fn of<'p>(&'p self, kinds: &'p [ProbeKind]) -> impl Iterator<Item = (ProbeKind, &'p PodProbe)> {
        self.0.iter().filter(|(kind, _)| kinds.contains(kind)).map(|(kind, probe)| (*kind, probe))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_is_a_pod() {
        assert_eq!(Probes::new().0.len(), 2 * (ProbeKind::PODS.len() + ProbeKind::CLAIMS.len()));
    }
}
