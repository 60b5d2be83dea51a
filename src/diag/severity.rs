//! The severities of a code, as the table of codes declares them.

use super::Code;

/// A severity that diagnostics of a code have unless `spec.diagnostics` of the workspace sets another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultSeverity {
    /// An error, which no workspace can lower.
    Error,
    /// A warning for which `check` ends with 1.
    FailsCheck,
    /// A warning.
    Warning,
    /// A warning of a risk rule of `lint`, with a risk severity of its own.
    Finding,
}

impl DefaultSeverity {
    /// Describes the severity in a manual page.
    pub fn words(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::FailsCheck => "warning for which `check` ends with 1",
            Self::Warning | Self::Finding => "warning",
        }
    }
}

impl Code {
    /// Whether a diagnostic of this code can have the severity by default.
    pub fn has(self, severity: DefaultSeverity) -> bool {
        self.severities().contains(&severity)
    }

    /// Whether a diagnostic of this code is, or can be, a warning.
    pub fn is_warning(self) -> bool {
        self.severities().iter().any(|severity| *severity != DefaultSeverity::Error)
    }

    /// Whether the code belongs to a risk rule of `lint`.
    pub fn is_finding(self) -> bool {
        self.has(DefaultSeverity::Finding)
    }

    /// Whether `check` fails for every warning of this code.
    pub fn always_fails_check(self) -> bool {
        self.severities() == [DefaultSeverity::FailsCheck]
    }
}
