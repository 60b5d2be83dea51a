//! Unified text diffs of single files.

use similar::{Algorithm, TextDiff};

/// Returns the unified diff between two texts, with three lines of context; `/dev/null` stands for an absent file.
pub fn unified(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    // Histogram and Patience are slower by orders of magnitude on large files.
    let diff =
        TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(old.unwrap_or_default(), new.unwrap_or_default());
    let name =
        |side: &str, text: Option<&str>| text.map_or_else(|| "/dev/null".to_owned(), |_| format!("{side}/{path}"));
    let (before, after) = (name("a", old), name("b", new));
    if old.is_some_and(str::is_empty) && new.is_none() {
        // A difference without a line has no header of its own.
        return format!("--- {before}\n+++ {after}\n");
    }
    diff.unified_diff().context_radius(3).header(&before, &after).to_string()
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn an_empty_file_that_goes_is_named() {
        assert_eq!(unified("x.yaml", Some(""), None), "--- a/x.yaml\n+++ /dev/null\n");
    }

    #[test]
    fn a_new_file_has_no_old_side() {
        assert_eq!(unified("x.yaml", None, Some("a\n")), "--- /dev/null\n+++ b/x.yaml\n@@ -0,0 +1 @@\n+a\n");
    }
}
