//! Machines without a language server.

use crate::app::Options;
use crate::diag::RunError;
use crate::model::Date;

/// The settings of the server.
pub(crate) struct Settings {
    /// The options of each workspace.
    #[expect(dead_code, reason = "no workspace is served here")]
    pub(crate) options: Options,
    /// Returns the current day.
    #[expect(dead_code, reason = "no workspace is served here")]
    pub(crate) today: Box<dyn Fn() -> Date>,
}

/// The end of a connection.
pub(crate) enum End {
    /// The editor shut the server down.
    #[expect(dead_code, reason = "no editor is served here")]
    ShutDown,
    /// The editor is gone without a shutdown.
    #[expect(dead_code, reason = "no editor is served here")]
    Gone,
}

/// Refuses to serve an editor.
///
/// # Errors
/// Always.
pub(crate) fn run(_settings: Settings) -> Result<End, RunError> {
    Err(RunError::new("this program has no language server"))
}
