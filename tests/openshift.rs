//! Clusters of OpenShift: their own roles, and two real clusters, where the shared folder is there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bailiwick::access::Identity;
use bailiwick::model::Platform;
use bailiwick::{LoadedWorld, Options, WorldOptions};
use serde_json::Value;

use crate::support::{note, repository, shared};

/// Returns a file of the shared folder; none, with a note, where it is not there.
fn shared_file(path: &str) -> Option<PathBuf> {
    let file = shared().map(|folder| folder.join(path)).filter(|file| file.is_file());
    if file.is_none() {
        note(&format!("{path} lies beside the repository, and is not here"));
    }
    file
}

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

fn is_made(entry: &Value, release: (u32, u32)) -> bool {
    let bound = |key: &str| {
        let (major, minor) = entry[key].as_str()?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    bound("since").is_none_or(|since| since <= release) && bound("until").is_none_or(|until| release <= until)
}

#[test]
fn every_role_that_the_server_makes_is_known() {
    let Some(file) = shared_file("facts/openshift/bootstrap-rbac.yaml") else { return };
    let facts: Value = serde_yaml::from_str(&std::fs::read_to_string(file).expect("a text")).expect("YAML");
    for (version, release, least) in [("4.2", (4, 2), 60), ("4.20", (4, 20), 50)] {
        let roles = facts["clusterRoles"].as_array().expect("roles").iter().filter(|role| {
            let variants = role["variants"].as_array();
            role["from"] == "openshift-apiserver"
                && is_made(role, release)
                && variants.is_none_or(|variants| variants.iter().any(|variant| is_made(variant, release)))
        });
        let names: Vec<&str> = roles.map(|role| role["name"].as_str().expect("a name")).collect();
        assert!(names.len() >= least, "{version}: {}", names.len());
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
fn two_real_clusters_lack_the_roles_of_their_operators_alone() {
    for (name, count) in [("operate-first-smaug", 3), ("operate-first-infra", 4)] {
        let Some(file) = shared_file(&format!("reference/clusters/{name}.yaml")) else { continue };
        let missing = missing(&load(&file, "4.14"));
        assert_eq!(missing.len(), count, "{name}: {missing:?}");
    }
}
