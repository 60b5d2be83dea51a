//! Foreign text on terminals, in CI logs, in reports.
