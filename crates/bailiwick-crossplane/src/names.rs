//! Names cut to their limit, with a hash for distinction (`pkg/stacks/truncate` and `pkg/stacks/relationship.go` of
//! Crossplane v0.9).

use data_encoding::BASE32_NOPAD;
use sha1::{Digest as _, Sha1};

/// The limit in characters of a label's name or value.
pub const LABEL: usize = 63;

/// Length of the replacement of the cut part: a hyphen and five characters of the hash of the whole.
const SUFFIX: usize = 6;

/// How many characters of a namespace the label of an owner keeps.
const OWNER_NAMESPACE: usize = 32;

/// How dots at the place of the cut are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dots {
    /// They stay, up to v0.9.
    Kept,
    /// They go, since v0.10: a label may not have `.-` in it.
    Trimmed,
}

/// Returns a text of at most `length` bytes, cut to a distinct text if needed. `length` is at least the suffix.
pub fn cut(text: &str, length: usize, dots: Dots) -> String {
    if text.len() <= length {
        return text.to_owned();
    }
    let hash = BASE32_NOPAD.encode(&Sha1::digest(text.as_bytes())).to_lowercase();
    // Names of objects are ASCII; any other text is cut before the character beyond the limit.
    let kept = (0..=length.saturating_sub(SUFFIX)).rev().find_map(|end| text.get(..end)).unwrap_or("");
    let kept = if dots == Dots::Trimmed { kept.trim_end_matches('.') } else { kept };
    let hash: String = hash.chars().take(SUFFIX - 1).collect();
    format!("{kept}-{hash}")
}

/// Returns the label on a definition for one of its stacks; `prefix` ends in a slash.
pub fn owner_label(prefix: &str, namespace: &str, name: &str, dots: Dots) -> String {
    let whole = format!("{}-{name}", cut(namespace, OWNER_NAMESPACE, dots));
    format!("{prefix}{}", cut(&whole, LABEL, dots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_stays_distinct() {
        let cut = |text: &str| cut(text, LABEL, Dots::Kept);
        assert_eq!(cut(&"x".repeat(63)), "x".repeat(63));
        let (one, other) = (cut(&"x".repeat(64)), cut(&"x".repeat(65)));
        assert!(one.len() == 63 && other.len() == 63 && one != other);
        assert!(cut(&"ü".repeat(64)).len() <= 63);
    }
}
