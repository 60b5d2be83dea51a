//! A role with expanded wildcards answers as the wildcards do, except for the exceptions.

use std::collections::BTreeSet;

use bailiwick::access::{Builder, Identity, Request, ResourceRequest, World as AccessWorld};
use bailiwick::diag::{Files, Sink};
use bailiwick::k8s::catalogue::{Api, FIRST_MINOR, LAST_MINOR, Served};
use serde_json::Value;

use crate::support::{World, repository, rounds};

const POLICIES: &str = r#"
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: star}
spec:
  as: ClusterRole
  rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: names}
spec:
  as: ClusterRole
  rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"], expand: true}]
  except:
  - {resources: [secrets, nodes/proxy, pods/exec], verbs: ["*"]}
  - {apiGroups: [apps], resources: ["*/scale"], verbs: [update]}
  - {resources: [configmaps, widgets], verbs: [delete, deletecollection]}
---
apiVersion: bailiwick.dev/v1alpha1
kind: PermissionSet
metadata: {name: reader}
spec:
  as: ClusterRole
  rules: [{apiGroups: ["*"], resources: ["*"], access: read, expand: true}]
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: star}
spec: {to: {groups: [star]}, permissionSets: [star], clusterWide: true}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: names}
spec: {to: {groups: [names]}, permissionSets: [names], clusterWide: true}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Grant
metadata: {name: reader}
spec: {to: {groups: [reader]}, permissionSets: [reader], clusterWide: true}
---
apiVersion: bailiwick.dev/v1alpha1
kind: Manifests
metadata: {name: definitions}
spec: {files: [crd/*.yaml], emit: false}
"#;

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget, listKind: WidgetList, singular: widget}
  scope: Namespaced
  subresources: {status: {}}
  versions: [{name: v1, served: true, storage: true}]
  validation: {openAPIV3Schema: {type: object}}
";

/// Returns whether the exceptions of the policies take a verb on a resource.
fn is_excepted(group: &str, resource: &str, verb: &str) -> bool {
    let is_deletion = ["delete", "deletecollection"].contains(&verb);
    ["secrets", "nodes/proxy", "pods/exec"].contains(&resource)
        || (group == "apps" && resource.ends_with("/scale") && verb == "update")
        || (["configmaps", "widgets"].contains(&resource) && is_deletion)
}

/// Returns the group and the name of each resource and subresource of any minor, from the table itself.
fn names_of_the_table() -> BTreeSet<(String, String)> {
    let path = repository().join("crates/bailiwick-kubernetes/src/facts/api-resources.json");
    let table: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the table")).expect("JSON");
    let mut names = BTreeSet::new();
    for entry in table["resources"].as_array().expect("resources") {
        let (group, resource) =
            (entry["group"].as_str().expect("a group"), entry["resource"].as_str().expect("a name"));
        names.insert((group.to_owned(), resource.to_owned()));
        for version in entry["versions"].as_array().expect("versions") {
            for subresource in version["subresources"].as_array().into_iter().flatten() {
                let name = subresource["name"].as_str().expect("a name");
                names.insert((group.to_owned(), format!("{resource}/{name}")));
            }
        }
    }
    names
}

fn world(compiled: &[String], minor: u32) -> AccessWorld {
    let mut builder = Builder::new(minor);
    let files = Files::new();
    for text in compiled {
        let id = files.add("objects.json", text.as_str());
        let tree = bailiwick::yaml::read(text, id, &mut Sink::new());
        tree.documents().for_each(|document| builder.add_document(document, |_, _| {}));
    }
    builder.build()
}

fn may(world: &AccessWorld, group: &str, verb: &str, resource: (&str, &str)) -> bool {
    let (name, subresource) = resource.1.split_once('/').map_or((resource.1, ""), |parts| parts);
    let request = Request::Resource(ResourceRequest {
        verb: verb.into(),
        group: resource.0.into(),
        resource: name.into(),
        subresource: subresource.into(),
        ..ResourceRequest::default()
    });
    world.decide(&Identity::member_of(group), &request).allowed
}

#[test]
fn names_answer_as_the_wildcard() {
    let minors: Vec<u32> = rounds(vec![FIRST_MINOR, 21, LAST_MINOR], (FIRST_MINOR..=LAST_MINOR).collect());
    let mut names = names_of_the_table();
    names.insert(("example.com".to_owned(), "widgets".to_owned()));
    for minor in minors {
        let version = format!("1.{minor}");
        let workspace = World::with_targets(&["t"], &version);
        let compiled = workspace.file("policies/p.yaml", POLICIES).file("policies/crd/crd.yaml", DEFINITION).compile();
        assert!(!compiled.files.is_empty(), "{}", compiled.told);
        let texts: Vec<String> = compiled.files.into_iter().map(|file| file.text).collect();
        let (world, api) = (world(&texts, minor), Api::new(minor));
        let (mut asked, mut excepted) = (0, 0);
        for (group, resource) in &names {
            let presence = api.presence(group, resource);
            let verbs = match (presence.served, group.as_str()) {
                (_, "example.com") => vec!["get", "list", "watch", "create", "update", "patch", "delete"],
                (Served::Yes, _) => presence.verbs,
                (Served::Off | Served::No, _) => {
                    assert!(!may(&world, "names", "get", (group, resource)), "{minor} {group} {resource}");
                    continue;
                }
            };
            for verb in verbs {
                let of_star = may(&world, "star", verb, (group, resource));
                let taken = is_excepted(group, resource, verb);
                assert_eq!(
                    may(&world, "names", verb, (group, resource)),
                    of_star && !taken,
                    "{minor} {group} {resource} {verb}"
                );
                let is_read = ["get", "list", "watch"].contains(&verb);
                assert_eq!(
                    may(&world, "reader", verb, (group, resource)),
                    is_read,
                    "{minor} {group} {resource} {verb}"
                );
                asked += 1;
                excepted += usize::from(taken);
            }
            for special in ["escalate", "bind", "impersonate", "use", "frobnicate"] {
                assert!(!may(&world, "names", special, (group, resource)), "{minor} {group} {resource} {special}");
            }
        }
        assert!(asked > 300 && excepted > 8, "{minor}: {asked}, {excepted}");
    }
}
