//! The error of a function of the application.

use std::sync::Arc;

use bailiwick_yaml::diag::{Diagnostic, RunError, Severity};
use bailiwick_yaml::internal::{self, InternalError};

use crate::{Diagnostics, words};

/// The reason why a function of this layer has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is invalid.
    #[error("{}", first_message(.0))]
    Invalid(Diagnostics),
    /// The run failed: disk, permissions, git.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An invariant of the program does not hold: a bug. No result of the process can be trusted.
    #[error("internal error, please report it: {0}")]
    Internal(InternalError),
}

impl Error {
    /// Checks that the process has no internal error so far.
    ///
    /// # Errors
    /// [`Error::Internal`] with the first one.
    pub fn check_internal() -> Result<(), Self> {
        internal::first().map_or(Ok(()), |error| Err(Self::Internal(error)))
    }

    /// Returns the error of an input that one diagnostic without a place describes.
    pub fn invalid(diagnostic: Diagnostic) -> Self {
        Self::Invalid(Diagnostics { list: vec![diagnostic], files: Arc::default() })
    }
}

fn first_message(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics.list.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let more = errors.clone().count().saturating_sub(1);
    let first = errors.map(|error| error.message.as_str()).next().unwrap_or("the input is invalid");
    if more > 0 { format!("{first} (and {})", words::number(more, "more error")) } else { first.to_owned() }
}
