//! The severities of a code, as its declaration has them.

/// The severity of diagnostics of a code unless `spec.diagnostics` of the workspace sets another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultSeverity {
    /// An error. A workspace cannot lower it.
    Error,
    /// A warning that makes `check` end with 1.
    FailsCheck,
    /// A warning without effect on the exit code.
    Warning,
    /// A warning of a risk rule of `lint`, with a risk severity of its own.
    Finding,
    /// One line without effect on the exit code.
    Note,
}

impl DefaultSeverity {
    /// Describes the severity in a manual page.
    pub fn words(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::FailsCheck => "warning for which `check` ends with 1",
            Self::Warning | Self::Finding => "warning",
            Self::Note => "note",
        }
    }
}
