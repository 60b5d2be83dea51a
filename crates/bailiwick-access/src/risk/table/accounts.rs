//! Service accounts stronger than their surroundings.

use super::{AccountCheck, RiskRule, When};
use crate::codes;

pub(super) const RULES: &[RiskRule] = &[
    RiskRule::new(
        "B016",
        codes::RISKY_WORKLOAD,
        "-/-",
        When::Accounts(AccountCheck::Runs),
        "runs as {what}",
    )
    .help("run its pods as an account with the required permissions, or set `automountServiceAccountToken: false` on pods without API access"),
    RiskRule::new(
        "T004",
        codes::ACCOUNT_ABOVE_USERS,
        "H/H",
        When::Accounts(AccountCheck::AboveUsers),
        "{what}",
    )
    .help("move the account to a namespace where only its administrators can create pods, or reduce its permissions"),
];
