//! The size limit of an applied object.

/// The limit in bytes of a list with an entry for each tenant, in one object. The server's own limit is 1.5 MB, but
/// kubectl and Argo CD keep a copy of the applied object in an annotation, and annotations end at 256 KiB.
pub const MAXIMUM_APPLIED: usize = 192 * 1024;

/// Returns the size in bytes of a value in such a copy: its JSON, with the quotes escaped.
pub fn applied(value: &impl serde::Serialize) -> usize {
    let json = serde_json::to_string(value).unwrap_or_default();
    json.len() + json.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}
