//! The values of absent fields.
//!
//! The API server decodes an object into Go structs: an absent or null text is the empty string (`encoding/json`;
//! `k8s.io/api/core/v1/types.go` of Kubernetes 1.37). A value of another type counts as absent here, because the API
//! server rejects such an object, and the readers of this crate report the type.

use bailiwick_yaml::NodeRef;

/// Returns the text of a field as a Go struct holds it: empty for an absent field.
pub fn text(value: Option<&str>) -> &str {
    value.unwrap_or_default()
}

/// Returns the text at a path of keys; empty for a path without a text.
pub fn text_at<'t>(object: NodeRef<'t>, path: &[&str]) -> &'t str {
    text(object.path(path).and_then(NodeRef::as_str))
}

/// Returns the number of a field as a Go struct holds it: 0 for an absent field.
pub fn number(value: Option<i64>) -> i64 {
    value.unwrap_or_default()
}

/// Returns the list of a field as a Go struct holds it: empty for an absent field.
pub fn list<T>(value: Option<&Vec<T>>) -> &[T] {
    match value {
        Some(list) => list,
        None => &[],
    }
}

/// Splits an `apiVersion` into group and version. The core group is empty and has no slash
/// (`ParseGroupVersion` in `apimachinery/pkg/runtime/schema/group_version.go` of Kubernetes 1.37).
pub fn group_and_version(api_version: &str) -> (&str, &str) {
    match api_version.rsplit_once('/') {
        Some(split) => split,
        None => ("", api_version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_values_are_empty() {
        assert_eq!((text(None), text(Some("a"))), ("", "a"));
        assert_eq!(list::<u8>(None), [0_u8; 0]);
        assert_eq!(group_and_version("v1"), ("", "v1"));
        assert_eq!(group_and_version("apps/v1"), ("apps", "v1"));
    }
}
