//! Stable identities of findings and effects.
//!
//! An identity survives a renamed file, reordered rules, a new tenant and a new target: it has no line, file, order,
//! rule number, target, count or severity.

use std::collections::HashMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// How many hexadecimal digits of the hash a fingerprint has.
const DIGITS: usize = 32;

/// The parts of a finding that make its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingIdentity<'i> {
    /// The code of the diagnostic.
    pub code: &'i str,
    /// The permission, or the message of a finding without one.
    pub right: &'i str,
    /// The reached powers, separated by commas.
    pub reaches: &'i str,
    /// The common form of the subjects, such as `Group/{team}`.
    pub holders: &'i str,
    /// The common form of the namespaces, such as `{name}`, or `cluster`.
    pub scope: &'i str,
}

impl FindingIdentity<'_> {
    /// Returns the fingerprint: `v1:` and 32 digits of the SHA-256 hash.
    pub fn fingerprint(&self) -> String {
        let Self { code, right, reaches, holders, scope } = self;
        fingerprint(&[code, right, reaches, holders, scope])
    }
}

/// Returns the fingerprint of parts, joined by U+0000.
pub fn fingerprint(parts: &[&str]) -> String {
    format!("v1:{}", first_digits(&Sha256::digest(parts.join("\0").as_bytes())))
}

fn first_digits(hash: &[u8]) -> String {
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.chars().take(DIGITS).collect()
}

/// Returns the fingerprint of a value by its JSON: `v2:` and 32 digits. The names of its fields are part of the identity.
pub fn second_fingerprint(value: &impl Serialize) -> String {
    let hash = Sha256::digest(serde_json::to_vec(value).unwrap_or_default());
    format!("v2:{}", first_digits(&hash))
}

/// Adds `:2`, `:3` to fingerprints that occur again, in their order.
pub fn numbered(fingerprints: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = HashMap::<String, usize>::new();
    let number = |fingerprint: String| {
        let count = seen.entry(fingerprint.clone()).or_default();
        *count += 1;
        if *count == 1 { fingerprint } else { format!("{fingerprint}:{count}") }
    };
    fingerprints.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_has_a_version_and_32_digits() {
        let identity = FindingIdentity {
            code: "read-secrets",
            right: "list on secrets",
            reaches: "all-secrets",
            holders: "Group/{team}",
            scope: "cluster",
        };
        // printf 'read-secrets\0list on secrets\0all-secrets\0Group/{team}\0cluster' | sha256sum
        assert_eq!(identity.fingerprint(), "v1:4101b755648779537529c4a6e7a0f9f1");
        let others = [
            FindingIdentity { code: "create-pods", ..identity },
            FindingIdentity { right: "get on secrets", ..identity },
            FindingIdentity { reaches: "", ..identity },
            FindingIdentity { holders: "Group/sre", ..identity },
            FindingIdentity { scope: "{name}", ..identity },
        ];
        assert!(others.iter().all(|other| other.fingerprint() != identity.fingerprint()));
    }

    #[test]
    fn equal_fingerprints_are_numbered() {
        let texts = ["a", "b", "a", "a"].map(str::to_owned);
        assert_eq!(numbered(texts), ["a", "b", "a:2", "a:3"]);
    }
}
