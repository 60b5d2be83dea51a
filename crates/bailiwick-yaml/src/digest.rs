//! Hashes for comparing texts. The author of a change chooses the texts, so collisions must not be computable in
//! advance.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::OnceLock;

/// A hash, equal in every run.
pub type Digest = [u8; 32];

/// Returns the BLAKE3 hash of a text, for contents of files.
pub fn digest(bytes: &[u8]) -> Digest {
    blake3::hash(bytes).into()
}

/// Returns a hash under a secret of this run, for comparisons within the run: faster than [`digest`] for short
/// values. No output may depend on its value.
pub fn digest_of_run(value: &(impl Hash + ?Sized)) -> u128 {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let [first, second] = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    u128::from(first.hash_one(value)) << 64 | u128::from(second.hash_one(value))
}
