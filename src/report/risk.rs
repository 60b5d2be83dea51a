//! Escalation paths in words.

use super::page::Page;
use crate::access::risk::Path;
use crate::app::words::chain_line;
use crate::diag::Files;

/// Returns the ways of a subject to other identities, each with its grants.
pub fn paths(paths: &[Path], files: &Files) -> String {
    let mut text = Page::new();
    for path in paths {
        writeln!(text, "  {}", path.to);
        writeln!(text, "    by {}", path.via);
        for chain in &path.links {
            writeln!(text, "      {}", chain_line(chain, files));
        }
    }
    text.finish()
}
