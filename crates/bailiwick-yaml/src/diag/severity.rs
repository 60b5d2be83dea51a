//! The severities of a code, as its declaration has them.

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
