//! How ids, SELinux contexts, capabilities and kernel parameters are filled in and checked: the strategies of a
//! policy, which exist only when the policy can be used.

use std::collections::BTreeSet;

use super::{IdRange, IdStrategy, SeLinuxStrategy, Spec, Violation, entries, shown};
use crate::pod::{Capabilities, SeLinuxOptions, Sysctl};

/// Kernel parameters that no policy has to allow (`sysctl/mustmatchpatterns.go` of 1.24).
pub const SAFE_SYSCTLS: [&str; 5] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
];

/// Where a violation is, and how to tell about it.
pub(super) struct Report {
    /// What was found so far.
    pub(super) violations: Vec<Violation>,
}

impl Report {
    /// Adds a violation.
    pub(super) fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.violations.push(Violation { field: field.into(), message: message.into() });
    }
}

/// Which ids may be used, of those that a policy can demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ids<'p> {
    /// One of the ranges; filled in where nothing is said.
    Must { ranges: &'p [IdRange], default: i64 },
    /// One of the ranges where something is said.
    May(&'p [IdRange]),
    /// Any but root.
    NonRoot,
    /// Any.
    Any,
}

impl<'p> Ids<'p> {
    /// The strategy for users.
    pub(super) fn of_users(strategy: &'p IdStrategy) -> Result<Self, String> {
        match strategy.rule.as_str() {
            "MustRunAs" => Self::must("runAsUser", &strategy.ranges),
            "MustRunAsNonRoot" => Ok(Ids::NonRoot),
            "RunAsAny" => Ok(Ids::Any),
            other => Err(format!("`runAsUser` has no rule `{other}`")),
        }
    }

    /// A strategy for groups, of the field that is named.
    pub(super) fn of_groups(field: &str, strategy: &'p IdStrategy) -> Result<Self, String> {
        match strategy.rule.as_str() {
            "MustRunAs" => Self::must(field, &strategy.ranges),
            "MayRunAs" if strategy.ranges.is_empty() => Err(no_ranges(field, "MayRunAs")),
            "MayRunAs" => Ok(Ids::May(&strategy.ranges)),
            "RunAsAny" => Ok(Ids::Any),
            other => Err(format!("`{field}` has no rule `{other}`")),
        }
    }

    fn must(field: &str, ranges: &'p [IdRange]) -> Result<Self, String> {
        let default = ranges.first().ok_or_else(|| no_ranges(field, "MustRunAs"))?.min;
        Ok(Ids::Must { ranges, default })
    }

    /// What is filled in where nothing is said.
    pub(super) fn default(&self) -> Option<i64> {
        match *self {
            Ids::Must { default, .. } => Some(default),
            _ => None,
        }
    }

    /// Checks the groups of a field; `None` and an empty list are both without groups.
    pub(super) fn check_groups(&self, field: &str, groups: &[i64], report: &mut Report) {
        let ranges = match self {
            Ids::Must { ranges, .. } | Ids::May(ranges) => *ranges,
            Ids::NonRoot | Ids::Any => return,
        };
        if groups.is_empty() && matches!(self, Ids::Must { .. }) {
            report.add(field, format!("no group is given, and one of the ranges {} is needed", shown(ranges)));
        }
        for &group in groups.iter().filter(|&&group| !is_in(ranges, group)) {
            report.add(field, format!("group {group} must be in the ranges {}", shown(ranges)));
        }
    }

    /// Checks the user of a container whose security context is at `context`.
    pub(super) fn check_user(&self, context: &str, user: Option<i64>, is_non_root: Option<bool>, report: &mut Report) {
        match self {
            Ids::Must { ranges, .. } => match user {
                None => report.add(format!("{context}.runAsUser"), "no user is given"),
                Some(user) if !is_in(ranges, user) => report.add(
                    format!("{context}.runAsUser"),
                    format!("user {user} must be in the ranges {}", shown(ranges)),
                ),
                Some(_) => {}
            },
            Ids::NonRoot => match (is_non_root, user) {
                (None, None) => {
                    report.add(format!("{context}.runAsNonRoot"), "neither this nor a user is given");
                }
                (Some(false), _) => report.add(format!("{context}.runAsNonRoot"), "containers may not ask for root"),
                (_, Some(0)) => report.add(format!("{context}.runAsUser"), "root is not allowed"),
                _ => {}
            },
            Ids::May(_) | Ids::Any => {}
        }
    }
}

fn no_ranges(field: &str, rule: &str) -> String {
    format!("`{rule}` of `{field}` names no range")
}

fn is_in(ranges: &[IdRange], id: i64) -> bool {
    ranges.iter().any(|range| range.has(id))
}

/// The SELinux context that a policy demands; none where any will do.
pub(super) fn se_linux(strategy: &SeLinuxStrategy) -> Result<Option<&SeLinuxOptions>, String> {
    match (strategy.rule.as_str(), &strategy.se_linux_options) {
        ("MustRunAs", Some(options)) => Ok(Some(options)),
        ("MustRunAs", None) => Err("`MustRunAs` of `seLinux` names no context".to_owned()),
        ("RunAsAny", _) => Ok(None),
        (other, _) => Err(format!("`seLinux` has no rule `{other}`")),
    }
}

/// Checks an SELinux context against the one that is demanded.
pub(super) fn check_se_linux(
    wanted: &SeLinuxOptions,
    found: Option<&SeLinuxOptions>,
    field: &str,
    report: &mut Report,
) {
    let Some(found) = found else { return report.add(field, "no SELinux context is given") };
    let parts = [
        ("role", &wanted.role, &found.role, wanted.role == found.role),
        ("type", &wanted.r#type, &found.r#type, wanted.r#type == found.r#type),
        ("user", &wanted.user, &found.user, wanted.user == found.user),
        ("level", &wanted.level, &found.level, is_same_level(&wanted.level, &found.level)),
    ];
    for (name, wanted, found, _) in parts.into_iter().filter(|part| !part.3) {
        report.add(format!("{field}.{name}"), format!("must be `{wanted}` and is `{found}`"));
    }
}

/// True for two spellings of one level: categories in any order behind one sensitivity.
pub(super) fn is_same_level(left: &str, right: &str) -> bool {
    let split = |level: &str| {
        let (sensitivity, categories) = level.split_once(':')?;
        let mut categories: Vec<String> = categories.split(',').map(str::to_owned).collect();
        categories.sort();
        Some((sensitivity.to_owned(), categories))
    };
    left == right || split(left).is_some_and(|left| Some(left) == split(right))
}

/// The capabilities of a container after the defaults of a policy.
pub(super) fn fill_capabilities(spec: &Spec, given: Option<&Capabilities>) -> Option<Capabilities> {
    let set = |list: &[String]| -> BTreeSet<String> { list.iter().cloned().collect() };
    let added = given.map(|given| set(&given.add)).unwrap_or_default();
    let dropped = given.map(|given| set(&given.drop)).unwrap_or_default();
    let mut add = set(&spec.default_add_capabilities);
    add.retain(|name| !dropped.contains(name));
    add.extend(added.iter().cloned());
    let mut drop = set(&spec.required_drop_capabilities);
    drop.extend(dropped.iter().cloned());
    if add.len() == added.len() && drop.len() == dropped.len() {
        return given.cloned();
    }
    Some(Capabilities { add: add.into_iter().collect(), drop: drop.into_iter().collect() })
}

/// Checks the capabilities of a container.
pub(super) fn check_capabilities(spec: &Spec, given: Option<&Capabilities>, field: &str, report: &mut Report) {
    let Some(given) = given else {
        if !spec.default_add_capabilities.is_empty() || !spec.required_drop_capabilities.is_empty() {
            report.add(field, "the capabilities that the policy demands are not there");
        }
        return;
    };
    let allowed = entries(spec.allowed_capabilities.as_ref());
    // The wildcard switches the check of the required drops off, too.
    if allowed.iter().any(|name| name == "*") {
        return;
    }
    let is_allowed = |name: &String| allowed.contains(name) || spec.default_add_capabilities.contains(name);
    for name in given.add.iter().filter(|name| !is_allowed(name)) {
        report.add(format!("{field}.add"), format!("the capability `{name}` may not be added"));
    }
    for name in spec.required_drop_capabilities.iter().filter(|name| !given.drop.contains(name)) {
        report.add(format!("{field}.drop"), format!("the capability `{name}` has to be dropped"));
    }
}

/// Checks the kernel parameters of a pod.
pub(super) fn check_sysctls(spec: &Spec, sysctls: &[Sysctl], report: &mut Report) {
    for (index, Sysctl { name }) in sysctls.iter().enumerate() {
        let matches = |list: &Option<Vec<String>>| entries(list.as_ref()).iter().any(|entry| covers(entry, name));
        let field = || format!("pod.spec.securityContext.sysctls[{index}]");
        if matches(&spec.forbidden_sysctls) {
            report.add(field(), format!("the sysctl `{name}` is forbidden"));
        } else if !SAFE_SYSCTLS.contains(&name.as_str()) && !matches(&spec.allowed_unsafe_sysctls) {
            report.add(field(), format!("the unsafe sysctl `{name}` is not allowed"));
        }
    }
}

/// True when a pattern, a name or a prefix before `*`, covers a name or another pattern.
pub(super) fn covers(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_same_whatever_the_order_of_their_categories() {
        assert!(is_same_level("s0:c6,c0", "s0:c0,c6") && is_same_level("x", "x"));
        for (left, right) in [("s0:c1", "s0:c1,c1"), ("s0", "s0:"), ("s0:c1", "s1:c1"), ("", "s0")] {
            assert!(!is_same_level(left, right), "{left} {right}");
        }
    }

    #[test]
    fn capabilities_that_need_no_change_stay_as_they_are() {
        let spec = Spec { required_drop_capabilities: vec!["ALL".to_owned()], ..Spec::default() };
        let given = Capabilities { add: Vec::new(), drop: vec!["ALL".to_owned(), "ALL".to_owned()] };
        assert_eq!(fill_capabilities(&spec, Some(&given)), Some(given));
        assert_eq!(fill_capabilities(&Spec::default(), None), None);
        assert_eq!(fill_capabilities(&spec, None).map(|filled| filled.drop), Some(vec!["ALL".to_owned()]));
    }
}
