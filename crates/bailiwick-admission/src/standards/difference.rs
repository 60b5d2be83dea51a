//! The difference between two levels, each with a version: the directions in a change from one to the other.

use super::NEWEST;
use super::checks::{Check, at_level};
use super::labels::LevelVersion;

/// The minors since when a check admits further pods.
const LOOSENED: [(&str, u64); 12] = [
    ("allowPrivilegeEscalation", 25),
    ("capabilities_restricted", 25),
    ("procMount", 35),
    ("runAsNonRoot", 35),
    ("runAsUser", 35),
    ("seLinuxOptions", 31),
    ("seccompProfile_baseline", 19),
    ("seccompProfile_restricted", 25),
    ("sysctls", 27),
    ("sysctls", 29),
    ("sysctls", 32),
    ("sysctls", 37),
];

/// The minors since when a check rejects further pods: the field of seccomp replaced the annotations.
const TIGHTENED: [(&str, u64); 1] = [("seccompProfile_baseline", 19)];

/// A check of restricted that equals its check of baseline in versions before a minor.
const ALIKE_BEFORE: (&str, u64) = ("procMount_restricted", 35);

/// The pods of a level and a version in comparison with the pods of another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelDifference {
    /// Whether some rejected pods are admitted.
    pub admits_more: bool,
    /// Whether some admitted pods are rejected.
    pub admits_less: bool,
}

/// Compares two levels, each in its version. Capabilities and seccomp profiles of pods for Windows do not count: restricted
/// ignores them, and they have no meaning there.
///
/// # Examples
/// ```
/// use bailiwick_admission::standards::difference;
/// use bailiwick_admission::standards::labels::LevelVersion;
///
/// let level = |text: &str| LevelVersion::parse(text).expect("a level with a version");
/// let stricter = difference(level("baseline:v1.33"), level("baseline:v1.34"));
/// assert!(stricter.admits_less && !stricter.admits_more);
/// assert_eq!(difference(level("baseline:v1.29"), level("baseline:v1.30")), Default::default());
/// ```
pub fn difference(before: LevelVersion, after: LevelVersion) -> LevelDifference {
    let (before, after) = (CheckSet::new(before), CheckSet::new(after));
    LevelDifference {
        admits_more: before.has_further_than(&after)
            || after.is_changed_since(&before, &LOOSENED)
            || before.is_changed_since(&after, &TIGHTENED),
        admits_less: after.has_further_than(&before)
            || after.is_changed_since(&before, &TIGHTENED)
            || before.is_changed_since(&after, &LOOSENED),
    }
}

/// The checks of a level in the version of a minor.
struct CheckSet {
    minor: u64,
    checks: Vec<&'static Check>,
}

impl CheckSet {
    fn new(level: LevelVersion) -> Self {
        let minor = level.version.minor_up_to(NEWEST);
        Self { minor, checks: at_level(level.level, minor).map(|(check, _)| check).collect() }
    }

    fn has(&self, id: &str) -> bool {
        self.checks.iter().any(|check| check.id == id)
    }

    /// Whether a check is neither in another set nor replaced there by a stricter one.
    fn has_further_than(&self, other: &Self) -> bool {
        let is_replaced = |id: &str| other.checks.iter().any(|check| check.replaces == Some(id));
        let is_alike = |check: &Check| {
            (check.id, other.minor < ALIKE_BEFORE.1) == (ALIKE_BEFORE.0, true)
                && check.replaces.is_some_and(|id| other.has(id))
        };
        self.checks.iter().any(|check| !other.has(check.id) && !is_replaced(check.id) && !is_alike(check))
    }

    /// Whether a check of an earlier set is changed in this one.
    fn is_changed_since(&self, earlier: &Self, changes: &[(&str, u64)]) -> bool {
        // The check of restricted for seccomp contains the check of baseline.
        let [baseline, restricted] = ["seccompProfile_baseline", "seccompProfile_restricted"];
        let is_kept = |id: &str| self.has(id) || (id == baseline && self.has(restricted));
        changes
            .iter()
            .any(|(id, since)| earlier.minor < *since && *since <= self.minor && earlier.has(id) && is_kept(id))
    }
}
