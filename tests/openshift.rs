//! Clusters of OpenShift: their own roles, and two real clusters.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use bailiwick::access::Identity;
use bailiwick::model::Platform;
use bailiwick::{LoadedWorld, Options, WorldOptions};
use serde_json::Value;

use crate::support::{reference, repository};

fn load(from: &Path, version: &str) -> LoadedWorld {
    let options = WorldOptions {
        from: vec![from.to_owned()],
        platform: Some(Platform::Openshift),
        kubernetes_version: Some(version.to_owned()),
        ..WorldOptions::default()
    };
    LoadedWorld::from_manifests(&Options::in_folder(repository()), &options).expect("manifests")
}

/// Returns the roles that are bound and missing, each once.
fn missing(loaded: &LoadedWorld) -> BTreeSet<String> {
    loaded.world.dangling().into_iter().map(|dangling| dangling.role.to_string()).collect()
}

#[test]
fn every_role_that_the_server_makes_is_known() {
    let roles: Value = serde_yaml::from_str(include_str!("openshift/cluster-roles.yaml")).expect("YAML");
    for (version, count) in [("4.2", 60), ("4.20", 56)] {
        let names: Vec<&str> = roles[version].as_array().expect("names").iter().filter_map(Value::as_str).collect();
        assert_eq!(names.len(), count, "{version}");
        let mut text = String::new();
        for (number, name) in names.iter().enumerate() {
            write!(
                text,
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{ name: b{number} }}\n\
                 roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: '{name}' }}\n\
                 subjects: [{{ apiGroup: rbac.authorization.k8s.io, kind: User, name: ann }}]\n---\n"
            )
            .expect("a text");
        }
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("bindings.yaml"), text).expect("a file");
        let loaded = load(folder.path(), version);
        assert_eq!(missing(&loaded), BTreeSet::new(), "{version}");
        let rules = loaded.world.rules_for(&Identity::from_user("ann"), "");
        assert!(rules.missing.is_empty() && rules.rules.len() > names.len(), "{version}");
    }
}

#[test]
#[ignore = "reads the reference manifests: tests/reference/run FOLDER"]
fn two_real_clusters_lack_the_roles_of_their_operators_alone() {
    for (name, count) in [("operate-first-smaug", 3), ("operate-first-infra", 4)] {
        let file = reference().join(format!("clusters/{name}.yaml"));
        let missing = missing(&load(&file, "4.14"));
        assert_eq!(missing.len(), count, "{name}: {missing:?}");
    }
}
