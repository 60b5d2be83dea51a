//! Results of commands as JSON, each with a version and a published schema.

use schemars::JsonSchema;
use serde::Serialize;

/// The version of the results. A new field does not change it; a field that goes or changes its meaning does.
pub const VERSION: u32 = 1;

/// A result that a command prints as JSON.
pub trait CommandResult: Serialize + JsonSchema {
    /// The name of the schema.
    const NAME: &'static str;
}

impl<R: CommandResult> CommandResult for &R {
    const NAME: &'static str = R::NAME;
}

/// A result with the version of its form.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Versioned<R> {
    /// The version of this form.
    version: u32,
    /// The fields of the result.
    #[serde(flatten)]
    result: R,
}

impl<R> Versioned<R> {
    /// Returns a result with the present version.
    pub fn new(result: R) -> Self {
        Self { version: VERSION, result }
    }
}
