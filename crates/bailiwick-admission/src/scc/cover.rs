//! Whether constraints admit every pod that two other constraints both admit.

use std::collections::BTreeSet;

use super::Scc;

/// The limits of constraints, each with the answer whether the first constraints have no stricter limit than the second.
const LIMITS: [fn(&Scc, &Scc) -> bool; 16] = [
    |own, other| own.allow_privileged_container || !other.allow_privileged_container,
    |own, other| own.allow_host_network || !other.allow_host_network,
    |own, other| own.allow_host_ports || !other.allow_host_ports,
    |own, other| own.allow_host_pid || !other.allow_host_pid,
    |own, other| own.allow_host_ipc || !other.allow_host_ipc,
    |own, other| own.allow_host_dir_volume_plugin || !other.allow_host_dir_volume_plugin,
    |own, other| has_all(own.volumes(), other.volumes()),
    |own, other| own.allowed_flex_volumes.is_empty() || own.allowed_flex_volumes == other.allowed_flex_volumes,
    |own, other| !own.read_only_root_filesystem || other.read_only_root_filesystem,
    |own, other| !own.requires_user_namespace() || other.requires_user_namespace(),
    |own, other| own.run_as_user.r#type == "RunAsAny" || own.run_as_user == other.run_as_user,
    |own, other| own.se_linux_context.r#type == "RunAsAny" || own.se_linux_context == other.se_linux_context,
    |own, other| own.fs_group.r#type == "RunAsAny" || own.fs_group == other.fs_group,
    |own, other| own.supplemental_groups.r#type == "RunAsAny" || own.supplemental_groups == other.supplemental_groups,
    |own, other| has_all(&own.seccomp_profiles, &other.seccomp_profiles),
    |own, other| {
        has_all(&own.allowed_unsafe_sysctls, &other.allowed_unsafe_sysctls)
            && has_all(&other.forbidden_sysctls, &own.forbidden_sysctls)
    },
];

impl Scc {
    /// Whether these constraints admit every pod that two other constraints both admit, whatever defaults each fills in. `false`
    /// means that such a pod may be rejected.
    pub fn cover(&self, one: &Self, other: &Self) -> bool {
        LIMITS.iter().all(|limit| limit(self, one) || limit(self, other))
            && self.covers_escalation(one, other)
            && self.covers_capabilities(one, other)
    }

    fn covers_escalation(&self, one: &Self, other: &Self) -> bool {
        // The default of a container without the setting is the same as in the others, so that it is as permitted as there.
        let has_default = |of: &Self| self.default_allow_privilege_escalation == of.default_allow_privilege_escalation;
        let is_forbidden = |of: &Self| of.allow_privilege_escalation == Some(false);
        (self.default_allow_privilege_escalation.is_none() || has_default(one) && has_default(other))
            && (!is_forbidden(self) || is_forbidden(one) || is_forbidden(other))
    }

    fn covers_capabilities(&self, one: &Self, other: &Self) -> bool {
        let permits = |name: &String| has_any(&self.allowed_capabilities) || self.allowed_capabilities.contains(name);
        let drops = |name: &String| self.required_drop_capabilities.contains(name);
        let is_added = match (one.addable(), other.addable()) {
            (None, None) => has_any(&self.allowed_capabilities) && self.required_drop_capabilities.is_empty(),
            (Some(names), None) | (None, Some(names)) => names.into_iter().all(|name| permits(name) && !drops(name)),
            (Some(one), Some(other)) => one.intersection(&other).all(|name| permits(name) && !drops(name)),
        };
        is_added && self.default_add_capabilities.is_empty()
    }

    /// Returns the capabilities that a container may add; none if it may add any.
    fn addable(&self) -> Option<BTreeSet<&String>> {
        let names = || self.allowed_capabilities.iter().chain(&self.default_add_capabilities);
        (!has_any(&self.allowed_capabilities)).then(|| names().collect())
    }
}

fn has_any(names: &[String]) -> bool {
    names.iter().any(|name| name == "*")
}

fn has_all(own: &[String], other: &[String]) -> bool {
    has_any(own) || other.iter().all(|name| own.contains(name))
}

#[cfg(test)]
mod tests {
    use super::super::admit::{Allocated, SccAdmission, admit};
    use super::super::defaults::{Start, trees};
    use super::super::release::Release;
    use super::*;
    use crate::pod::Pod;
    use crate::variants::PodVariant;

    /// Returns the constraints of a new cluster, and each of them with one field of another.
    fn constraints() -> Vec<Scc> {
        let release = Release::parse("4.20").expect("a release");
        let trees = trees(Start { release, upgraded_from_4_10: false });
        let documents = trees.iter().flat_map(|tree| tree.documents());
        let is_scc = |node: &bailiwick_yaml::NodeRef<'_>| {
            node.get("kind").and_then(bailiwick_yaml::NodeRef::as_str) == Some("SecurityContextConstraints")
        };
        let mut all: Vec<Scc> = documents.filter(is_scc).map(|node| Scc::read(node).expect("constraints")).collect();
        let changes: [fn(&mut Scc, &Scc); 7] = [
            |own, other| own.volumes.clone_from(&other.volumes),
            |own, other| own.allowed_capabilities.clone_from(&other.allowed_capabilities),
            |own, other| own.required_drop_capabilities.clone_from(&other.required_drop_capabilities),
            |own, other| own.run_as_user = other.run_as_user.clone(),
            |own, other| own.se_linux_context = other.se_linux_context.clone(),
            |own, other| own.seccomp_profiles.clone_from(&other.seccomp_profiles),
            |own, other| own.allow_privilege_escalation = other.allow_privilege_escalation,
        ];
        for (place, change) in changes.into_iter().enumerate() {
            let (mut own, other) = (all[place].clone(), all[place + 3].clone());
            change(&mut own, &other);
            all.push(own);
        }
        all
    }

    #[test]
    fn a_pod_of_two_constraints_is_admitted_by_constraints_that_cover_both() {
        let all = constraints();
        let pods: Vec<Pod> = PodVariant::pairs(&all).iter().filter_map(PodVariant::pod).collect();
        let allocated =
            Allocated { uid_range: Some("1000000000/10000"), supplemental_groups: None, mcs: Some("s0:c1,c0") };
        let admits =
            |scc: &Scc, pod: &Pod| matches!(admit(pod, &[scc], |_| true, allocated), SccAdmission::Admitted { .. });
        let admitted: Vec<Vec<bool>> =
            all.iter().map(|scc| pods.iter().map(|pod| admits(scc, pod)).collect()).collect();
        let mut covered = 0;
        for own in 0..all.len() {
            for one in 0..all.len() {
                for other in 0..all.len() {
                    if !all[own].cover(&all[one], &all[other]) {
                        continue;
                    }
                    covered += usize::from(own != one && own != other && one != other);
                    let rejected = (0..pods.len())
                        .find(|pod| admitted[one][*pod] && admitted[other][*pod] && !admitted[own][*pod]);
                    let names = [own, one, other].map(|place| all[place].name());
                    assert_eq!(rejected.map(|pod| &pods[pod]), None, "{names:?}");
                }
            }
        }
        assert!(covered > 500, "{covered}");
    }
}
