//! The globs of workspaces and options.
//!
//! The library reads the braces of a glob one within the other, and ends the program when there are too many: every glob is
//! checked here before.

#![expect(clippy::disallowed_methods, reason = "the one place that compiles globs")]

use bailiwick_yaml::limits::{MAXIMUM_GLOB_DEPTH, MAXIMUM_GLOB_SIZE, written_size};
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Why a text is no glob.
#[derive(Debug, thiserror::Error)]
pub enum GlobError {
    /// It is too long.
    #[error("it has {0} bytes, and the limit is {limit}", limit = written_size(MAXIMUM_GLOB_SIZE as u64))]
    Long(usize),
    /// Its braces nest too deep.
    #[error("its braces nest deeper than the limit of {MAXIMUM_GLOB_DEPTH}")]
    Deep,
    /// A list has too many long globs.
    #[error("together, the {0} globs exceed the memory limit of the matcher; write fewer or shorter ones")]
    Together(usize),
    /// The library rejects it.
    #[error("{0}")]
    Malformed(globset::ErrorKind),
}

/// Returns the glob of a text. `*` stops at a slash if `is_of_paths` is true.
///
/// # Errors
/// When the text is no glob, or exceeds a limit.
pub fn compile(text: &str, is_of_paths: bool) -> Result<Glob, GlobError> {
    if text.len() > MAXIMUM_GLOB_SIZE {
        return Err(GlobError::Long(text.len()));
    }
    let mut depth: usize = 0;
    for byte in text.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAXIMUM_GLOB_DEPTH {
            return Err(GlobError::Deep);
        }
    }
    let glob = GlobBuilder::new(text).literal_separator(is_of_paths).build();
    glob.map_err(|error| GlobError::Malformed(error.kind().clone()))
}

/// Returns the set of the globs of a list.
///
/// # Errors
/// When the matcher of the list exceeds the limit of the library, 10 MiB.
pub fn set(globs: &[Glob]) -> Result<GlobSet, GlobError> {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        builder.add(glob.clone());
    }
    builder.build().map_err(|_| GlobError::Together(globs.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_has_limits() {
        let nested = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        assert!(compile(&nested(MAXIMUM_GLOB_DEPTH), true).is_ok());
        assert!(matches!(compile(&nested(MAXIMUM_GLOB_DEPTH + 1), true), Err(GlobError::Deep)));
        assert!(matches!(compile(&"{".repeat(250), true), Err(GlobError::Deep)));
        assert!(compile(&"a".repeat(MAXIMUM_GLOB_SIZE), true).is_ok());
        assert!(matches!(compile(&"a".repeat(MAXIMUM_GLOB_SIZE + 1), true), Err(GlobError::Long(_))));
        assert!(matches!(compile("{a", true), Err(GlobError::Malformed(_))));
    }

    #[test]
    fn the_globs_of_a_list_have_a_limit_together() {
        let globs = |count: usize| -> Vec<Glob> {
            let texts = (0..count).map(|index| format!("{}{index}x", "[!é]".repeat(100)));
            texts.map(|text| compile(&text, true).expect("a glob")).collect()
        };
        assert!(set(&globs(100)).is_ok_and(|set| set.is_match(format!("{}7x", "a".repeat(100)))));
        assert!(matches!(set(&globs(10_000)), Err(GlobError::Together(10_000))));
    }
}
