//! The roles and bindings that OpenShift makes for itself beside the default policy of its Kubernetes, by release.
//!
//! Roles for the use of constraints follow from the constraints ([`super::defaults`]).

use std::sync::OnceLock;

use super::defaults::{self, Start};
use super::release::Release;
use bailiwick_access::{Builder, ObjectSource};
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

/// The objects of every release, with the releases of each object under `releases`.
pub const TEXT: &str = include_str!("../facts/openshift-policy.yaml");

/// The first release with facts.
pub const FIRST: Release = Release { major: 4, minor: 2 };

/// The fields of the table that are no fields of an object.
pub const TABLE_FIELDS: [&str; 2] = ["releases", "capability"];

/// Returns the objects of a release: ClusterRoles, ClusterRoleBindings, Roles, RoleBindings. A role of an earlier release alone
/// has no rules: an upgrade leaves it, and a new cluster does not have it.
pub fn objects(release: Release) -> impl Iterator<Item = NodeRef<'static>> {
    documents(release).filter(|object| object.get("capability").is_none())
}

/// Returns the RoleBindings that a controller makes in each namespace if the cluster has their `capability`. `{namespace}`
/// stands for the namespace.
pub fn namespace_bindings(release: Release) -> impl Iterator<Item = NodeRef<'static>> {
    documents(release).filter(|object| object.get("capability").is_some())
}

/// Adds the objects of a release to the baseline of a world, with its constraints and their roles.
pub fn add_to(builder: &mut Builder, release: Release) {
    objects(release).for_each(|object| _ = builder.add(object, ObjectSource::Baseline));
    for binding in namespace_bindings(release) {
        newest_form(binding, release).into_iter().for_each(|role| builder.add_possible(binding, role));
    }
    for tree in defaults::trees(Start::new(release)) {
        tree.documents().for_each(|object| _ = builder.add(object, ObjectSource::Baseline));
    }
}

/// Returns the role of a binding in its newest form with rules. The API server of 4.13 and later no longer makes
/// `system:deployer`, and a cluster with the capability has it nevertheless.
fn newest_form(binding: NodeRef<'_>, release: Release) -> Option<NodeRef<'static>> {
    let name = binding.path(&["roleRef", "name"]).and_then(NodeRef::as_str)?;
    let is_role = |object: &NodeRef<'_>| {
        object.text_at("kind") == "ClusterRole"
            && object.path(&["metadata", "name"]).and_then(NodeRef::as_str) == Some(name)
            && object.get("rules").is_some_and(|rules| !rules.is_empty())
            && stretch(*object).is_some_and(|(first, _)| first <= release)
    };
    tree().documents().filter(is_role).last()
}

fn documents(release: Release) -> impl Iterator<Item = NodeRef<'static>> {
    tree().documents().filter(move |object| holds(*object, release))
}

fn tree() -> &'static Tree {
    static POLICY: OnceLock<Tree> = OnceLock::new();
    POLICY.get_or_init(|| yaml::read(TEXT, FileId::default(), &mut Sink::new()))
}

/// Whether an object is there in a release: its `releases` are a stretch such as `4.2-4.6`, or `4.7-`.
fn holds(object: NodeRef<'_>, release: Release) -> bool {
    stretch(object).is_some_and(|(first, last)| first <= release && last.is_none_or(|last| release <= last))
}

/// Returns the first and the last release of an object.
fn stretch(object: NodeRef<'_>) -> Option<(Release, Option<Release>)> {
    let (first, last) = object.text_at("releases").split_once('-')?;
    Some((Release::parse_any(first)?, Release::parse_any(last)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use bailiwick_kubernetes::absent;

    fn release(text: &str) -> Release {
        Release::parse_any(text).expect("a release")
    }

    fn text<'t>(object: NodeRef<'t>, keys: &[&str]) -> &'t str {
        absent::text(object.path(keys).and_then(NodeRef::as_str))
    }

    /// Whether a role neither has rules nor gathers them.
    fn is_without_rules(role: NodeRef<'_>) -> bool {
        role.get("aggregationRule").is_none() && role.get("rules").is_none_or(|rules| rules.is_empty())
    }

    #[test]
    fn the_table_is_read_by_the_fast_reader() {
        let tree = yaml::read_fast(TEXT, FileId::default()).expect("the form that the fast reader takes");
        for object in tree.documents() {
            let (first, last) = text(object, &["releases"]).split_once('-').expect("a stretch");
            assert!(Release::parse_any(first).is_some_and(|first| FIRST <= first));
            assert!(last.is_empty() || Release::parse_any(last).is_some());
        }
    }

    #[test]
    fn releases_have_as_many_objects_as_the_servers_made() {
        let count = |text: &str, kind: &str| {
            let is_made = |object: &NodeRef<'_>| {
                self::text(*object, &["kind"]) == kind && (!kind.ends_with("Role") || !is_without_rules(*object))
            };
            objects(release(text)).filter(is_made).count()
        };
        let counts = |text| ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map(|kind| count(text, kind));
        assert_eq!(counts("4.2"), [63, 47, 2, 2]);
        assert_eq!(counts("4.14"), [67, 45, 4, 2]);
        assert_eq!(counts("4.20"), [66, 44, 8, 2]);
    }

    #[test]
    fn an_object_has_one_form_in_a_release() {
        for minor in FIRST.minor..=Release::LAST_OF_FOUR.minor {
            let mut met = BTreeSet::new();
            for object in documents(Release { major: 4, minor }) {
                let name = [["kind"].as_slice(), &["metadata", "namespace"], &["metadata", "name"]];
                let identity = name.map(|keys| text(object, keys));
                assert!(met.insert(identity), "{identity:?} in 4.{minor}");
            }
        }
    }

    #[test]
    fn a_role_that_is_no_longer_made_keeps_its_name_without_rules() {
        let role = |version: &str| {
            let name = "system:openshift:controller:ingress-to-route-controller";
            objects(release(version)).find(|object| {
                text(*object, &["kind"]) == "ClusterRole" && text(*object, &["metadata", "name"]) == name
            })
        };
        assert!(role("4.5").is_some_and(|role| !is_without_rules(role)));
        assert!(role("4.6").is_some_and(is_without_rules));
        let binding =
            |version: &str| namespace_bindings(release(version)).map(|binding| text(binding, &["capability"]));
        assert_eq!(binding("4.14").collect::<Vec<_>>(), ["ImageRegistry", "Build", "DeploymentConfig"]);
    }
}
