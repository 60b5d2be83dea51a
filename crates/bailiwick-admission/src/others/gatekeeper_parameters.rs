//! The demands of the pod security policies of Gatekeeper's library, by the kind and the parameters of a constraint.

use std::collections::BTreeSet;

use bailiwick_kubernetes::volumes;
use bailiwick_yaml::{NodeRef, NodeValue};

use super::scope::is_like;
use super::{Demand, UnreadRule};
use crate::standards::{NEWEST, sysctls};

/// The value of a list that allows everything.
const ANYTHING: &str = "*";

/// The most values of a list that are read.
const MOST_VALUES: usize = 1_000;

/// The parameters of a constraint.
#[derive(Debug, Clone, Copy)]
struct Parameters<'p>(Option<NodeRef<'p>>);

/// Reads the demands of a constraint. None for a kind outside of the library; the error is the reason why the parameters
/// were not compared.
pub(super) fn read(kind: &str, parameters: Option<NodeRef<'_>>) -> Option<Result<Vec<Demand>, UnreadRule>> {
    let demands = demands(kind, Parameters(parameters))?;
    Some(demands.and_then(
        |demands| {
            if demands.is_empty() { Err("its parameters demand nothing".into()) } else { Ok(demands) }
        },
    ))
}

fn demands(kind: &str, parameters: Parameters<'_>) -> Option<Result<Vec<Demand>, UnreadRule>> {
    let demands = match kind {
        "K8sPSPPrivilegedContainer" => Ok(vec![Demand::Privileged]),
        "K8sPSPHostNamespace" => Ok(vec![Demand::HostNamespaces]),
        "K8sPSPHostNetworkingPorts" => parameters.host_network(),
        "K8sPSPHostFilesystem" => parameters.host_paths(),
        "K8sPSPVolumeTypes" => parameters.volume_types(),
        "K8sPSPFlexVolumes" => Ok(vec![Demand::FlexVolumes]),
        "K8sPSPCapabilities" => parameters.capabilities(),
        "K8sPSPAllowPrivilegeEscalationContainer" => Ok(vec![Demand::PrivilegeEscalation]),
        "K8sPSPProcMount" => Ok(parameters.proc_mount()),
        "K8sPSPSELinux" | "K8sPSPSELinuxV2" => Ok(vec![Demand::Beyond("SELinux options of a list")]),
        "K8sPSPSeccomp" | "K8sPSPSeccompV2" => parameters.seccomp(),
        "K8sPSPAppArmor" => parameters.app_armor(),
        "K8sPSPForbiddenSysctls" => parameters.sysctls(),
        "K8sPSPFSGroup" => Ok(vec![Demand::Beyond("groups of volumes")]),
        "K8sPSPAllowedUsers" => Ok(parameters.users()),
        "K8sPSPReadOnlyRootFilesystem" => Ok(vec![Demand::ReadOnlyRootFilesystem]),
        "K8sPSPAutomountServiceAccountTokenPod" => Ok(vec![Demand::Beyond("no token of a service account")]),
        "K8sPSPHostProbesLifecycle" => Ok(vec![Demand::HostProbes]),
        "K8sPSPHostProcess" => Ok(vec![Demand::HostProcess]),
        _ => return None,
    };
    Some(demands)
}

impl<'p> Parameters<'p> {
    fn get(self, key: &str) -> Option<NodeRef<'p>> {
        self.0.and_then(|parameters| parameters.get(key))
    }

    fn has(self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !value.is_null())
    }

    /// Returns the texts of a list; an absent list has none.
    fn list(self, key: &str) -> Result<BTreeSet<String>, UnreadRule> {
        let Some(list) = self.get(key).filter(|list| !list.is_null()) else { return Ok(BTreeSet::new()) };
        if !matches!(list.value(), NodeValue::Seq(_)) || list.len() > MOST_VALUES {
            return Err(MALFORMED.into());
        }
        let texts =
            list.items().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| UnreadRule::from(MALFORMED)));
        texts.collect()
    }

    fn host_network(self) -> Result<Vec<Demand>, UnreadRule> {
        let number = |key| match self.get(key) {
            None => Ok(None),
            Some(number) => number.as_int().map(Some).ok_or_else(|| UnreadRule::from(MALFORMED)),
        };
        let (first, last) = (number("min")?, number("max")?);
        let mut demands = Vec::new();
        if self.get("hostNetwork").and_then(NodeRef::as_bool) != Some(true) {
            demands.push(Demand::HostNamespaces);
        }
        if first.is_some_and(|first| first > 1) || last.is_some_and(|last| last < i64::from(u16::MAX)) {
            demands.push(Demand::HostPorts);
        }
        Ok(demands)
    }

    fn host_paths(self) -> Result<Vec<Demand>, UnreadRule> {
        let paths = self.get("allowedHostPaths");
        if paths.is_some_and(NodeRef::is_empty) {
            return Err("an empty list of paths, whose meaning depends on the version".into());
        }
        let paths = || paths.into_iter().flat_map(NodeRef::items).take(MOST_VALUES);
        let is_any = |path: NodeRef<'_>| path.text_at("pathPrefix").trim_matches('/').is_empty();
        Ok(if paths().any(is_any) { Vec::new() } else { vec![Demand::HostPath] })
    }

    fn volume_types(self) -> Result<Vec<Demand>, UnreadRule> {
        let types = self.list("volumes")?;
        let allows_all = types.contains(ANYTHING) || volumes::fields().all(|field| types.contains(field));
        Ok(if allows_all { Vec::new() } else { vec![Demand::VolumeTypes(types)] })
    }

    fn capabilities(self) -> Result<Vec<Demand>, UnreadRule> {
        let mut demands = Vec::new();
        let allowed = self.list("allowedCapabilities")?;
        if !allowed.contains(ANYTHING) {
            let allowed = allowed.iter().map(|name| name.to_ascii_uppercase()).collect();
            demands.push(Demand::AddedCapabilities(allowed));
        }
        if !self.list("requiredDropCapabilities")?.is_empty() {
            demands.push(Demand::DroppedCapabilities);
        }
        Ok(demands)
    }

    fn proc_mount(self) -> Vec<Demand> {
        match self.get("procMount").and_then(NodeRef::as_str) {
            Some("Unmasked") => Vec::new(),
            _ => vec![Demand::ProcMount],
        }
    }

    /// Returns the demands on seccomp profiles. `not configured` allows containers without a profile.
    fn seccomp(self) -> Result<Vec<Demand>, UnreadRule> {
        let profiles = self.list("allowedProfiles")?;
        let has = |name: &str| profiles.contains(name);
        if has(ANYTHING) {
            return Ok(Vec::new());
        }
        let mut types = BTreeSet::new();
        if ["RuntimeDefault", "runtime/default", "docker/default"].into_iter().any(has) {
            types.insert("RuntimeDefault".to_owned());
        }
        let files = self.list("allowedLocalhostFiles")?;
        if has("localhost/*") || (has("Localhost") && files.contains(ANYTHING)) {
            types.insert("Localhost".to_owned());
        }
        Ok(vec![if has("not configured") { Demand::Seccomp(types) } else { Demand::SeccompForAll(types) }])
    }

    fn app_armor(self) -> Result<Vec<Demand>, UnreadRule> {
        let profiles = self.list("allowedProfiles")?;
        Ok(vec![Demand::AppArmorAnnotations(profiles)])
    }

    fn sysctls(self) -> Result<Vec<Demand>, UnreadRule> {
        let forbidden = self.list("forbiddenSysctls")?;
        let allowed = self.list("allowedSysctls")?;
        let is_in = |list: &BTreeSet<String>, name: &str| list.iter().any(|pattern| is_like(pattern, name));
        let is_allowed =
            |name: &&str| !is_in(&forbidden, name) && (!self.has("allowedSysctls") || is_in(&allowed, name));
        Ok(vec![Demand::Sysctls(sysctls(NEWEST).filter(is_allowed).map(str::to_owned).collect())])
    }

    fn users(self) -> Vec<Demand> {
        let rule = |key: &str| self.get(key).map(|strategy| strategy.text_at("rule"));
        let mut demands = match rule("runAsUser") {
            None | Some("RunAsAny") => Vec::new(),
            Some("MustRunAsNonRoot") => vec![Demand::RunAsNonRoot],
            Some(_) => vec![Demand::Beyond("user ids of a range")],
        };
        let groups = ["runAsGroup", "supplementalGroups", "fsGroup"].into_iter().filter_map(rule);
        if groups.into_iter().any(|rule| rule != "RunAsAny") {
            demands.push(Demand::Beyond("group ids of a range"));
        }
        demands
    }
}

/// The reason for parameters of another form.
const MALFORMED: &str = "parameters of another form than the library's";
