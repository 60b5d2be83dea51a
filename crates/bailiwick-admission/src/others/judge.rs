//! A rule of another admission controller beside the Pod Security levels of namespaces.

use std::collections::{BTreeMap, BTreeSet};

use super::{Demand, OtherRule, RuleContent, Selected};
use crate::level::Level;
use crate::psp::{PodSecurityPolicy, Spec};
use crate::standards::labels::LevelVersion;

/// The volume type in a PodSecurityPolicy that allows every type.
const ALL_VOLUMES: &str = "*";

/// The strategy without a limit.
const RUN_AS_ANY: &str = "RunAsAny";

/// A namespace with the protection of its pods.
#[derive(Debug, Clone, Copy)]
pub struct ProtectedNamespace<'n> {
    /// Name in the cluster.
    pub name: &'n str,
    /// The labels; none without the Namespace.
    pub labels: Option<&'n BTreeMap<String, String>>,
    /// The enforced level with the version of its checks; none while it is undecided.
    pub level: Option<LevelVersion>,
    /// The PodSecurityPolicy whose limits a PodSecurityProfile keeps.
    pub profile: Option<&'n PodSecurityPolicy>,
}

/// The comparison of a rule with the protection of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleVerdict {
    /// Level or profile refuses each pod that the rule refuses.
    Redundant {
        /// Kinds of pods without the check in the level.
        except: BTreeSet<String>,
    },
    /// The rule refuses pods that level and profile admit: these.
    Stricter(BTreeSet<String>),
    /// Not decided, for this reason.
    Unknown(String),
}

/// A verdict with its namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The comparison of the rule with level and profile.
    pub verdict: RuleVerdict,
    /// The reason why the rule selects the pods of the namespaces only in part, or why that is undecided.
    pub undecided: Option<String>,
    /// The namespaces, in order.
    pub namespaces: Vec<String>,
}

/// Compares a rule with the protection of each namespace that it selects. Namespaces with one verdict are one judgement;
/// a rule that selects no namespace has no judgement.
pub fn judge(rule: &OtherRule, namespaces: &[ProtectedNamespace<'_>]) -> Vec<Judgement> {
    let mut judgements: BTreeMap<(RuleVerdict, Option<String>), Vec<String>> = BTreeMap::new();
    for namespace in namespaces {
        let undecided = match rule.scope.of(namespace.name, namespace.labels) {
            Selected::No => continue,
            Selected::Yes => None,
            Selected::Undecided(reason) => Some(reason),
        };
        let verdict = match &rule.content {
            RuleContent::NotCompared(reason) => RuleVerdict::Unknown(reason.clone()),
            RuleContent::Stated(demands) | RuleContent::NameOnly { would_state: demands, .. } => {
                verdict(demands, namespace)
            }
        };
        judgements.entry((verdict, undecided)).or_default().push(namespace.name.to_owned());
    }
    let list = judgements.into_iter();
    list.map(|((verdict, undecided), namespaces)| Judgement { verdict, undecided, namespaces }).collect()
}

fn verdict(demands: &[Demand], namespace: &ProtectedNamespace<'_>) -> RuleVerdict {
    let Some(level) = namespace.level else {
        return RuleVerdict::Unknown("the level of the namespace is not decided".to_owned());
    };
    let (mut except, mut further, mut is_open) = (BTreeSet::new(), BTreeSet::new(), false);
    for demand in demands {
        let beyond = demand.beyond(level);
        if !beyond.further.is_empty() {
            match namespace.profile.map_or(Some(false), |profile| is_kept(demand, level.level, &profile.spec)) {
                Some(true) => continue,
                Some(false) => further.extend(beyond.further),
                None => is_open = true,
            }
        }
        except.extend(beyond.except.map(str::to_owned));
    }
    if !further.is_empty() {
        RuleVerdict::Stricter(further)
    } else if is_open {
        RuleVerdict::Unknown("the level does not imply it, and the limits of the profile were not compared".to_owned())
    } else {
        RuleVerdict::Redundant { except }
    }
}

/// Decides whether the limits of a PodSecurityPolicy refuse each pod that a demand refuses and a level admits. None where
/// the two were not compared.
fn is_kept(demand: &Demand, level: Level, spec: &Spec) -> Option<bool> {
    match demand {
        Demand::Privileged => Some(!spec.privileged),
        Demand::HostNamespaces => Some(!spec.host_pid && !spec.host_ipc && !spec.host_network),
        Demand::HostPorts if spec.host_ports.as_ref().is_none_or(Vec::is_empty) => Some(true),
        Demand::HostPath => is_host_path_kept(spec),
        Demand::ReadOnlyRootFilesystem => Some(spec.read_only_root_filesystem),
        Demand::VolumeTypes(allowed) => Some(spec.volumes.iter().flatten().all(|volume| allowed.contains(volume))),
        Demand::ProcMount => Some(spec.allowed_proc_mount_types.iter().flatten().all(|allowed| allowed == "Default")),
        Demand::AddedCapabilities(allowed) => {
            let of_policy = spec.allowed_capabilities.iter().flatten().chain(&spec.default_add_capabilities);
            Some(of_policy.into_iter().all(|name| allowed.contains(name)))
        }
        Demand::DroppedCapabilities if spec.required_drop_capabilities.is_empty() => Some(false),
        Demand::PrivilegeEscalation if spec.allow_privilege_escalation => Some(false),
        Demand::RunAsNonRoot | Demand::RunAsUser if spec.run_as_user.rule == RUN_AS_ANY => Some(false),
        Demand::SeLinuxTypes(_) | Demand::SeLinuxUserAndRole if spec.se_linux.rule == RUN_AS_ANY => Some(false),
        // The limit of the policy is the list of the level.
        Demand::Sysctls(_) if level < Level::Privileged => Some(false),
        _ => None,
    }
}

fn is_host_path_kept(spec: &Spec) -> Option<bool> {
    let has_host_path = spec.volumes.iter().flatten().any(|volume| volume == ALL_VOLUMES || volume == "hostPath");
    match &spec.allowed_host_paths {
        _ if !has_host_path => Some(true),
        Some(paths) if !paths.is_empty() => None,
        _ => Some(false),
    }
}
