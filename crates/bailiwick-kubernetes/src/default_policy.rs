//! The roles and bindings created by the API server itself, by minor
//! (`plugin/pkg/auth/authorizer/rbac/bootstrappolicy`), and their marks.

use crate::absent;
use std::sync::OnceLock;

use super::catalogue::{FIRST_MINOR, LAST_MINOR};
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

/// The policy of every minor, with the minors of each object under `minors`.
pub const TEXT: &str = include_str!("facts/default-policy.yaml");

/// Returns the initial objects of a minor: ClusterRoles, ClusterRoleBindings, Roles, RoleBindings. A minor without its
/// own facts has the objects of the nearest minor with some.
pub fn objects(minor: u32) -> impl Iterator<Item = NodeRef<'static>> {
    let minor = minor.clamp(FIRST_MINOR, LAST_MINOR);
    tree().documents().filter(move |object| holds(*object, minor))
}

fn tree() -> &'static Tree {
    static POLICY: OnceLock<Tree> = OnceLock::new();
    POLICY.get_or_init(|| yaml::read(TEXT, FileId::default(), &mut Sink::new()))
}

/// Whether an object is there in a minor: its `minors` are stretches such as `16-20 22-36`.
fn holds(object: NodeRef<'_>, minor: u32) -> bool {
    let minors = absent::text(object.get("minors").and_then(NodeRef::as_str));
    minors.split(' ').filter_map(|stretch| stretch.split_once('-')).any(|(first, last)| {
        let number = |text: &str| text.parse::<u32>().unwrap_or_default();
        (number(first)..=number(last)).contains(&minor)
    })
}

fn text<'t>(object: NodeRef<'t>, keys: &[&str]) -> &'t str {
    absent::text(object.path(keys).and_then(NodeRef::as_str))
}

/// Returns the names of the initial ClusterRoles of a minor.
pub fn cluster_roles(minor: u32) -> impl Iterator<Item = &'static str> {
    objects(minor)
        .filter(|object| text(*object, &["kind"]) == "ClusterRole")
        .map(|object| text(object, &["metadata", "name"]))
}

/// Whether this is an initial ClusterRole of a minor.
pub fn is_cluster_role(name: &str, minor: u32) -> bool {
    cluster_roles(minor).any(|known| known == name)
}

/// Whether this is an initial Role of a minor.
pub fn is_role(namespace: &str, name: &str, minor: u32) -> bool {
    objects(minor).any(|object| {
        text(object, &["kind"]) == "Role"
            && text(object, &["metadata", "namespace"]) == namespace
            && text(object, &["metadata", "name"]) == name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_by_the_fast_reader() {
        let tree = yaml::read_fast(TEXT, FileId::default()).expect("the form that the fast reader takes");
        assert!(tree.documents().all(|object| object.get("minors").is_some()));
    }

    #[test]
    fn minors_have_as_many_objects_as_the_server_made() {
        let count = |minor, kind| objects(minor).filter(|object| text(*object, &["kind"]) == kind).count();
        let counts =
            |minor| ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map(|kind| count(minor, kind));
        assert_eq!(counts(16), [53, 36, 7, 7]);
        assert_eq!(counts(18), [56, 37, 7, 7]);
        assert_eq!(counts(36), [69, 50, 7, 7]);
        assert_eq!(counts(37), [73, 54, 7, 7]);
    }

    #[test]
    fn the_table_ends_with_the_newest_known_minor() {
        let minors = tree().documents().map(|object| text(object, &["minors"]));
        let last =
            minors.flat_map(|minors| minors.split(['-', ' '])).filter_map(|minor| minor.parse::<u32>().ok()).max();
        assert_eq!(last, Some(LAST_MINOR));
    }

    #[test]
    fn tells_what_a_minor_has() {
        assert!(is_cluster_role("system:csi-external-attacher", 16));
        assert!(!is_cluster_role("system:csi-external-attacher", 17));
        assert!(is_role("kube-system", "system:controller:token-cleaner", 36));
        assert!(!is_role("default", "system:controller:token-cleaner", 36));
    }
}
