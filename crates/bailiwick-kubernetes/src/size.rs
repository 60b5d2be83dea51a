//! How large an object may be for those who apply it.

/// The most bytes of a list that grows with the number of tenants, in one object. The server's own limit is 1.5 MB, but
/// kubectl and Argo CD keep a copy of what they applied in an annotation, and annotations end at 256 KiB.
pub const MAXIMUM_APPLIED: usize = 192 * 1024;

/// How many bytes a value takes in such a copy: its JSON, with the quotes escaped.
pub fn applied(value: &impl serde::Serialize) -> usize {
    let json = serde_json::to_string(value).unwrap_or_default();
    json.len() + json.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}
