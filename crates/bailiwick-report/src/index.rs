//! The result of `index`.

use bailiwick_access::world::Size;
use schemars::JsonSchema;
use serde::Serialize;

use super::human::{grouped, number};
use super::result::CommandResult;

/// An index of a world that was written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexResult {
    /// The path that was written.
    pub file: String,
    /// The number of bindings.
    pub bindings: usize,
    /// The number of roles.
    pub roles: usize,
    /// The number of different lists of rules.
    pub rule_lists: usize,
    /// The size of the file in bytes.
    pub bytes: usize,
    /// The memory for each binding in bytes.
    pub memory_per_binding: usize,
}

impl CommandResult for IndexResult {
    const NAME: &'static str = "index";
}

impl IndexResult {
    /// Returns the sizes of an index in a file.
    pub fn new(file: String, size: &Size, bytes: usize) -> Self {
        Self {
            file,
            bindings: size.bindings,
            roles: size.roles,
            rule_lists: size.rule_lists,
            bytes,
            memory_per_binding: size.bytes / size.bindings.max(1),
        }
    }

    /// Returns the sizes as one line.
    pub fn text(&self) -> String {
        format!(
            "{}: {}, {} with {} lists of rules, {} bytes on disk; {} bytes of memory a binding\n",
            self.file,
            number(self.bindings, "binding"),
            number(self.roles, "role"),
            grouped(self.rule_lists),
            grouped(self.bytes),
            self.memory_per_binding
        )
    }
}
