//! The page about templates in the manual.

use super::expression::{FUNCTIONS, REMOVED};
use super::filters::FILTERS;

/// The text of the page, with marks in the places of lists.
const TEXT: &str = include_str!("page.md");

/// The fields of the built-in templates. A test compares the table with the objects of all cases.
const FIELDS: &str = include_str!("fields.md");

/// Returns the page.
pub fn page() -> String {
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let removed = REMOVED.iter().map(|(name, reason)| format!("- `{name}`: {reason}."));
    TEXT.replace("<!-- fields -->", FIELDS.trim_end())
        .replace("<!-- filters -->", &quoted(&FILTERS))
        .replace("<!-- functions -->", &quoted(&FUNCTIONS))
        .replace("<!-- removed -->", &removed.collect::<Vec<_>>().join("\n"))
}
