//! Equality of two objects for the API server: `k8s.io/apimachinery/pkg/api/equality`, on the written form.
//!
//! Empty values equal absent ones, and quantities are compared by amount.

use bailiwick_kubernetes::absent;
use bailiwick_kubernetes::quantity::Quantity;
use bailiwick_yaml::NodeRef;

/// Fields with a meaning of the empty string.
const EMPTY_COUNTS: [&str; 2] = ["storageClassName", "volumeAttributesClassName"];

/// Fields with pointers to structs: an empty one differs from an absent one.
const POINTERS: [&str; 4] = ["selector", "dataSource", "dataSourceRef", "modifyVolumeStatus"];

/// Whether two values are equal, except for fields at some paths.
pub(super) fn same(left: Option<NodeRef<'_>>, right: Option<NodeRef<'_>>, left_out: &[&[&str]]) -> bool {
    same_at("", left, right, left_out)
}

fn same_at(key: &str, left: Option<NodeRef<'_>>, right: Option<NodeRef<'_>>, left_out: &[&[&str]]) -> bool {
    let present = |node: Option<NodeRef<'_>>| node.is_some_and(|node| says_something(key, node));
    let (Some(left), Some(right)) = (left, right) else { return !present(left) && !present(right) };
    if left.is_map() && right.is_map() {
        let keys = left.entries().chain(right.entries()).filter_map(|(key, _)| key.as_str());
        return keys.into_iter().all(|key| {
            let below: Vec<&[&str]> = left_out
                .iter()
                .filter_map(|path| path.split_first().filter(|(first, _)| **first == key))
                .map(|(_, rest)| rest)
                .collect();
            below.iter().any(|rest| rest.is_empty()) || same_at(key, left.get(key), right.get(key), &below)
        });
    }
    if left.is_seq() && right.is_seq() {
        return left.len() == right.len()
            && left.items().zip(right.items()).all(|(left, right)| same_at("", Some(left), Some(right), &[]));
    }
    if !says_something(key, left) && !says_something(key, right) {
        return true;
    }
    match (left.as_str(), right.as_str()) {
        (Some(one), Some(other)) if one == other => true,
        _ if left.as_int().is_some() && left.as_int() == right.as_int() => true,
        _ if left.as_bool().is_some() && left.as_bool() == right.as_bool() => true,
        _ => Quantity::from_node(left)
            .is_some_and(|quantity| Quantity::from_node(right).is_some_and(|other| quantity == other)),
    }
}

/// Whether the server distinguishes the value from an absent one.
fn says_something(key: &str, node: NodeRef<'_>) -> bool {
    if node.is_null() {
        return false;
    }
    if node.is_map() {
        return POINTERS.contains(&key)
            || node.entries().any(|(key, value)| says_something(absent::text(key.as_str()), value));
    }
    !(node.is_seq() && node.is_empty() || node.as_str() == Some("") && !EMPTY_COUNTS.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn same_text(left: &str, right: &str) -> bool {
        let read = |text| yaml::read(text, FileId::default(), &mut Sink::new());
        let (left, right) = (read(left), read(right));
        same(left.document(0), right.document(0), &[&["metadata", "managedFields"]])
    }

    #[test]
    fn empty_is_absent() {
        assert!(same_text("{metadata: {labels: {}, annotations: null}, spec: {volumeName: ''}}", "{metadata: {}}"));
        assert!(!same_text("{spec: {storageClassName: ''}}", "{spec: {}}"));
        assert!(!same_text(
            "{metadata: {ownerReferences: [{controller: false}]}}",
            "{metadata: {ownerReferences: [{}]}}"
        ));
    }

    #[test]
    fn quantities_are_worth_something() {
        assert!(same_text(
            "{status: {allocatedResources: {storage: 1Gi}}}",
            "{status: {allocatedResources: {storage: 1024Mi}}}"
        ));
        assert!(!same_text(
            "{status: {allocatedResources: {storage: 1Gi}}}",
            "{status: {allocatedResources: {storage: 1G}}}"
        ));
    }

    #[test]
    fn order_counts_in_lists_only() {
        assert!(same_text("{a: 1, b: 2}", "{b: 2, a: 1}"));
        assert!(!same_text("{a: [1, 2]}", "{a: [2, 1]}"));
    }

    #[test]
    fn what_is_left_out_may_differ() {
        assert!(same_text("{metadata: {managedFields: [{manager: x}]}}", "{metadata: {name: ''}}"));
    }
}
