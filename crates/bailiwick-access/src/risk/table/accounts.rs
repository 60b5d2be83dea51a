//! Service accounts that are stronger than their surroundings.

use super::{AccountCheck, Rule, When};
use crate::codes;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "B016",
        codes::RISKY_WORKLOAD,
        "-/-",
        When::Accounts(AccountCheck::Runs),
        "runs as {what}",
        "run its pods as an account with what they need, or set `automountServiceAccountToken: false` where they need no API",
    ),
    Rule::new(
        "T004",
        codes::ACCOUNT_ABOVE_USERS,
        "H/H",
        When::Accounts(AccountCheck::AboveUsers),
        "{what}",
        "keep the account in a namespace where its administrators alone can create pods, or grant it less",
    ),
];
