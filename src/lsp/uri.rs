//! Paths of files as URIs.

use std::path::{Path, PathBuf};

use gen_lsp_types::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters of a path that a URI has as they are.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'+').remove(b'@');

/// Returns the path of a `file` URI; none for another URI.
pub(super) fn path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.0.strip_prefix("file://")?;
    // An authority other than `localhost` is another machine.
    let path = rest.strip_prefix("localhost").map_or(rest, |path| path);
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    match decoded.strip_prefix('/') {
        // A path of Windows begins with its drive: `/C:/a`.
        Some(below) if cfg!(windows) => Some(PathBuf::from(below)),
        Some(_) => Some(PathBuf::from(decoded.as_ref())),
        None => None,
    }
}

/// Returns the URI of a file; none for a path that is not UTF-8.
pub(super) fn of(path: &Path) -> Option<Uri> {
    let path = path.to_str()?.replace('\\', "/");
    let start = if path.starts_with('/') { "" } else { "/" };
    Some(Uri(format!("file://{start}{}", utf8_percent_encode(&path, ESCAPED))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn paths_come_back() {
        for text in ["/a/b.yaml", "/with blank/ä.yaml", "/a%20b/#c?d", "/a:b/c"] {
            assert_eq!(path(&of(Path::new(text)).expect("a URI")).as_deref(), Some(Path::new(text)), "{text}");
        }
    }

    #[test]
    fn other_uris_have_no_path() {
        for text in ["untitled:Untitled-1", "http://a/b", "file:///%ff", "file://server/share"] {
            assert_eq!(path(&Uri(text.to_owned())), None, "{text}");
        }
    }

    #[test]
    fn editors_write_uris_in_several_ways() {
        let expected = if cfg!(windows) { "c:/ä b.yaml" } else { "/c:/ä b.yaml" };
        for text in ["file:///c%3A/%C3%A4%20b.yaml", "file://localhost/c:/ä%20b.yaml"] {
            assert_eq!(path(&Uri(text.to_owned())).as_deref(), Some(Path::new(expected)), "{text}");
        }
    }
}
