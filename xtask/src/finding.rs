//! A place where a file breaks a rule.

use std::fmt;

/// A place where a file breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    /// The area whose ceiling counts the finding.
    pub(crate) area: String,
    pub(crate) text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}: {}", self.path, self.line, self.rule, self.text)
    }
}

/// Sorts findings by path, line, rule and text.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by(|one, other| {
        (&one.path, one.line, one.rule, &one.text).cmp(&(&other.path, other.line, other.rule, &other.text))
    });
}
