//! Hashes where equal hashes count as equal texts. The author of a change chooses the texts, so no two of one hash may be
//! found in advance.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::OnceLock;

/// A hash that is the same in every run.
pub type Digest = [u8; 32];

/// Returns the BLAKE3 hash of a text, for what is kept in files.
pub fn digest(bytes: &[u8]) -> Digest {
    blake3::hash(bytes).into()
}

/// Returns a hash under a secret of this run, for what is compared within it: faster than [`digest`] for short values.
/// Nothing that is printed or written may depend on its value.
pub fn digest_of_run(value: &(impl Hash + ?Sized)) -> u128 {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let [first, second] = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    u128::from(first.hash_one(value)) << 64 | u128::from(second.hash_one(value))
}
