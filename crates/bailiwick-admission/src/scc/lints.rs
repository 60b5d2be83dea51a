//! Lints about constraints accepted by the API without a warning.

use super::Scc;
use super::admit::{Unusable, breaks_admission};
use super::defaults;
use super::order::points;
use super::release::Release;
use crate::standards::BASELINE_CAPABILITIES;

/// The points of `restricted-v2`, the default for pods.
const EVERYDAY_POINTS: i32 = 132_010;

/// A lint about constraints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SccLint {
    /// They cannot be put to use, and so keep every pod of the cluster from being created.
    Deadly(Unusable),
    /// `MustRunAsRange` with one end of the range alone: the conversion to a level ignores it.
    HalfUidRange,
    /// A kind of volume unknown to the label syncer of this release: the syncer fails in every namespace with these
    /// constraints.
    UnknownVolumeType(String),
    /// A seccomp profile in the spelling of a pod field, without an effect in constraints.
    SeccompFieldSpelling(String),
    /// A capability with an invalid spelling.
    CapabilitySpelling(String),
    /// A capability added to every container and ignored by the label syncer.
    DefaultAddNotCounted(String),
    /// A higher priority than the default constraints, with access for all users: pods get these constraints by
    /// default.
    PriorityHijack,
}

impl SccLint {
    /// Returns the code of the scc lint.
    pub fn code(&self) -> &'static str {
        match self {
            SccLint::Deadly(_) => "deadly-scc",
            SccLint::HalfUidRange => "half-uid-range",
            SccLint::UnknownVolumeType(_) => "unknown-volume-type",
            SccLint::SeccompFieldSpelling(_) => "seccomp-field-spelling",
            SccLint::CapabilitySpelling(_) => "capability-spelling",
            SccLint::DefaultAddNotCounted(_) => "default-add-not-counted",
            SccLint::PriorityHijack => "scc-priority-hijack",
        }
    }

    /// Returns the field it is about.
    pub fn field(&self) -> &'static str {
        match self {
            SccLint::Deadly(Unusable::UnknownStrategy(field)) => field,
            SccLint::Deadly(_) | SccLint::HalfUidRange => "runAsUser",
            SccLint::UnknownVolumeType(_) => "volumes",
            SccLint::SeccompFieldSpelling(_) => "seccompProfiles",
            SccLint::CapabilitySpelling(_) => "allowedCapabilities",
            SccLint::DefaultAddNotCounted(_) => "defaultAddCapabilities",
            SccLint::PriorityHijack => "priority",
        }
    }
}

/// Returns the lints about constraints. `is_for_everybody` depends on the bindings.
pub fn lints(scc: &Scc, release: Release, is_for_everybody: bool) -> Vec<SccLint> {
    let mut lints: Vec<SccLint> = breaks_admission(scc).into_iter().map(SccLint::Deadly).collect();
    let user = &scc.run_as_user;
    if user.r#type == "MustRunAsRange" && user.uid_range_min.is_some() != user.uid_range_max.is_some() {
        lints.push(SccLint::HalfUidRange);
    }
    let is_known = |name: &&String| Release::knows_volume_since(name).is_some_and(|since| since <= release);
    let unknown = scc.volumes().iter().filter(|name| !is_known(name));
    lints.extend(unknown.cloned().map(SccLint::UnknownVolumeType));
    let pod_words = ["RuntimeDefault", "Localhost", "Unconfined", "localhost"];
    let misspelt = scc.seccomp_profiles.iter().filter(|name| pod_words.contains(&name.as_str()));
    lints.extend(misspelt.cloned().map(SccLint::SeccompFieldSpelling));
    let lists = [&scc.allowed_capabilities, &scc.required_drop_capabilities, &scc.default_add_capabilities];
    let odd = lists.into_iter().flatten().filter(|name| is_misspelt(name));
    lints.extend(odd.cloned().map(SccLint::CapabilitySpelling));
    let uncounted = scc.default_add_capabilities.iter().filter(|name| {
        let is_allowed = scc.allowed_capabilities.contains(name);
        !is_allowed && !BASELINE_CAPABILITIES.contains(&name.as_str())
    });
    lints.extend(uncounted.cloned().map(SccLint::DefaultAddNotCounted));
    let is_own = defaults::names(release).all(|name| name != scc.name());
    let comes_first = scc.priority > Some(0) || points(scc) < EVERYDAY_POINTS;
    if is_own && is_for_everybody && comes_first {
        lints.push(SccLint::PriorityHijack);
    }
    lints
}

/// Returns whether a capability has the wrong form: the kernel's prefix and lower case do not belong here; `ALL` and `*` are words of their own.
fn is_misspelt(name: &str) -> bool {
    name.starts_with("CAP_") || name.bytes().any(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(change: impl FnOnce(&mut Scc)) -> Vec<&'static str> {
        let mut scc = Scc::default();
        "MustRunAsNonRoot".clone_into(&mut scc.run_as_user.r#type);
        "MustRunAs".clone_into(&mut scc.se_linux_context.r#type);
        "RunAsAny".clone_into(&mut scc.fs_group.r#type);
        "RunAsAny".clone_into(&mut scc.supplemental_groups.r#type);
        scc.volumes = Some(vec!["secret".to_owned(), "csi".to_owned()]);
        change(&mut scc);
        lints(&scc, Release::LAST, true).iter().map(SccLint::code).collect()
    }

    #[test]
    fn each_has_its_field() {
        assert_eq!(codes(|_| {}), Vec::<&str>::new());
        assert_eq!(
            codes(|scc| "MustRunAs".clone_into(&mut scc.run_as_user.r#type)),
            ["deadly-scc", "scc-priority-hijack"]
        );
        let half = |scc: &mut Scc| {
            "MustRunAsRange".clone_into(&mut scc.run_as_user.r#type);
            scc.run_as_user.uid_range_min = Some(1);
            scc.priority = Some(-1);
            scc.allow_host_network = true;
        };
        assert_eq!(codes(half), ["deadly-scc", "half-uid-range"]);
        assert_eq!(
            codes(|scc| scc.volumes = Some(vec!["csi".to_owned(), "floppy".to_owned()])),
            ["unknown-volume-type"]
        );
        assert_eq!(codes(|scc| scc.seccomp_profiles = vec!["RuntimeDefault".to_owned()]), ["seccomp-field-spelling"]);
        assert_eq!(codes(|scc| scc.allowed_capabilities = vec!["CAP_KILL".to_owned()]), ["capability-spelling"]);
        assert_eq!(
            codes(|scc| scc.default_add_capabilities = vec!["SYS_ADMIN".to_owned()]),
            ["default-add-not-counted"]
        );
        assert_eq!(codes(|scc| scc.priority = Some(5)), ["scc-priority-hijack"]);
    }
}
