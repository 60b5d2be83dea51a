//! The expiry dates of grants.

use crate::model::{Expiry, Linker};

/// Registers the last day of a grant. Returns whether the workspace leaves the grant out of the output.
pub(super) fn register(expiry: Expiry, linker: &mut Linker<'_>) -> bool {
    let is_left_out = linker.expiry.leaves_out(expiry.until);
    linker.facts.push(expiry);
    is_left_out
}
