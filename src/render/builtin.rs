//! The built-in templates: the repository's own `templates/`, found by `build.rs`.

/// Path and source of each, in the order of the paths.
pub const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));
