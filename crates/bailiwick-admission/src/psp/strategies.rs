//! The strategies of a usable policy: defaults and checks of ids, SELinux contexts, capabilities and kernel
//! parameters.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use super::{IdStrategy, PspIdRange, PspSeLinuxStrategy, PspViolation, Spec, entries, shown};
use crate::pod::{Capabilities, SeLinuxOptions, Sysctl};

/// Kernel parameters allowed by every policy (`sysctl/mustmatchpatterns.go` of 1.24).
pub const SAFE_SYSCTLS: [&str; 5] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
];

/// An error of a strategy: the API server stores the policy, and admission cannot use it
/// (`pkg/security/podsecuritypolicy/provider.go` of Kubernetes 1.24).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StrategyError {
    /// A rule unknown for the field.
    UnknownRule {
        /// Field in the spec.
        field: String,
        /// The name of the rule.
        rule: String,
    },
    /// A rule without its range.
    NoRange {
        /// Field in the spec.
        field: String,
        /// The name of the rule.
        rule: &'static str,
    },
    /// `MustRunAs` without an SELinux context.
    NoContext,
}

impl StrategyError {
    fn unknown(field: &str, rule: &str) -> Self {
        Self::UnknownRule { field: field.to_owned(), rule: rule.to_owned() }
    }
}

impl fmt::Display for StrategyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRule { field, rule } => write!(formatter, "`{field}` has no rule `{rule}`"),
            Self::NoRange { field, rule } => write!(formatter, "`{rule}` of `{field}` names no range"),
            Self::NoContext => formatter.write_str("`MustRunAs` of `seLinux` names no context"),
        }
    }
}

impl Error for StrategyError {}

/// The errors of an unusable policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusablePolicy {
    /// The errors, one for each strategy.
    pub problems: Vec<StrategyError>,
}

impl UnusablePolicy {
    /// Returns the text of each error.
    pub fn texts(&self) -> Vec<String> {
        self.problems.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for UnusablePolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.texts().join("; "))
    }
}

impl Error for UnusablePolicy {}

/// The violations of a pod.
pub(super) struct Report {
    /// The violations found before.
    pub(super) violations: Vec<PspViolation>,
}

impl Report {
    /// Adds a violation.
    pub(super) fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.violations.push(PspViolation { field: field.into(), message: message.into() });
    }
}

/// The ids allowed by a strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ids<'p> {
    /// One of the ranges, with a default.
    Must { ranges: &'p [PspIdRange], default: i64 },
    /// One of the ranges, if the pod sets an id.
    May(&'p [PspIdRange]),
    /// Any but root.
    NonRoot,
    /// Any id.
    Any,
}

impl<'p> Ids<'p> {
    /// Returns the strategy for users.
    pub(super) fn of_users(strategy: &'p IdStrategy) -> Result<Self, StrategyError> {
        match strategy.rule.as_str() {
            "MustRunAs" => Self::must("runAsUser", &strategy.ranges),
            "MustRunAsNonRoot" => Ok(Ids::NonRoot),
            "RunAsAny" => Ok(Ids::Any),
            other => Err(StrategyError::unknown("runAsUser", other)),
        }
    }

    /// Returns the strategy for the groups of a field.
    pub(super) fn of_groups(field: &str, strategy: &'p IdStrategy) -> Result<Self, StrategyError> {
        match strategy.rule.as_str() {
            "MustRunAs" => Self::must(field, &strategy.ranges),
            "MayRunAs" if strategy.ranges.is_empty() => {
                Err(StrategyError::NoRange { field: field.to_owned(), rule: "MayRunAs" })
            }
            "MayRunAs" => Ok(Ids::May(&strategy.ranges)),
            "RunAsAny" => Ok(Ids::Any),
            other => Err(StrategyError::unknown(field, other)),
        }
    }

    fn must(field: &str, ranges: &'p [PspIdRange]) -> Result<Self, StrategyError> {
        let default =
            ranges.first().ok_or_else(|| StrategyError::NoRange { field: field.to_owned(), rule: "MustRunAs" })?.min;
        Ok(Ids::Must { ranges, default })
    }

    /// Returns the default id.
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

    /// Checks the user of a container; `context` is the path of its security context.
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

fn is_in(ranges: &[PspIdRange], id: i64) -> bool {
    ranges.iter().any(|range| range.has(id))
}

/// Returns the SELinux context required by a policy; none if any context is allowed.
pub(super) fn se_linux(strategy: &PspSeLinuxStrategy) -> Result<Option<&SeLinuxOptions>, StrategyError> {
    match (strategy.rule.as_str(), &strategy.se_linux_options) {
        ("MustRunAs", Some(options)) => Ok(Some(options)),
        ("MustRunAs", None) => Err(StrategyError::NoContext),
        ("RunAsAny", _) => Ok(None),
        (other, _) => Err(StrategyError::unknown("seLinux", other)),
    }
}

/// Checks an SELinux context against the required context.
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

/// Whether this is two spellings of one level: categories in any order behind one sensitivity.
pub(super) fn is_same_level(left: &str, right: &str) -> bool {
    let split = |level: &str| {
        let (sensitivity, categories) = level.split_once(':')?;
        let mut categories: Vec<String> = categories.split(',').map(str::to_owned).collect();
        categories.sort();
        Some((sensitivity.to_owned(), categories))
    };
    left == right || split(left).is_some_and(|left| Some(left) == split(right))
}

/// Returns the capabilities of a container after the defaults of a policy.
pub(super) fn fill_capabilities(spec: &Spec, given: Option<&Capabilities>) -> Option<Capabilities> {
    let set = |list: &[String]| -> BTreeSet<String> { list.iter().cloned().collect() };
    let (added, dropped) = match given {
        Some(given) => (set(&given.add), set(&given.drop)),
        None => (BTreeSet::new(), BTreeSet::new()),
    };
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

/// Whether a pattern, a name or a prefix before `*`, covers a name or another pattern.
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
