//! Resources of a CustomResourceDefinition, of apiextensions.k8s.io/v1 and v1beta1.

use super::{Resource, ResourceVersion, Subresource};
use crate::absent;
use bailiwick_yaml::NodeRef;

/// The verbs of every custom resource (apiextensions-apiserver, customresource_handler.go).
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// Returns the resource of a CustomResourceDefinition; none for any other object, and for one without group or plural.
pub fn read_custom(root: NodeRef<'_>) -> Option<Resource> {
    let text = |node: NodeRef<'_>, keys: &[&str]| node.path(keys).and_then(NodeRef::as_str).map(str::to_owned);
    let fits = root.get("kind")?.as_str()? == "CustomResourceDefinition"
        && root.get("apiVersion")?.as_str()?.starts_with("apiextensions.k8s.io/");
    let spec = root.get("spec").filter(|_| fits)?;
    // v1beta1 has the subresources of all versions beside them, and could name a single version.
    let common = spec.get("subresources");
    let mut versions: Vec<ResourceVersion> = spec
        .get("versions")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter(|version| version.get("served").and_then(NodeRef::as_bool) != Some(false))
        .filter_map(|version| Some(served(&text(version, &["name"])?, version.get("subresources").or(common))))
        .collect();
    if versions.is_empty() {
        versions.extend(text(spec, &["version"]).map(|name| served(&name, common)));
    }
    Some(Resource {
        group: text(spec, &["group"])?,
        resource: text(spec, &["names", "plural"])?,
        kind: absent::text_at(spec, &["names", "kind"]).to_owned(),
        namespaced: text(spec, &["scope"]).is_none_or(|scope| scope == "Namespaced"),
        singular: absent::text_at(spec, &["names", "singular"]).to_owned(),
        short_names: spec
            .path(&["names", "shortNames"])
            .into_iter()
            .flat_map(NodeRef::items)
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        is_custom: true,
        versions: versions.into(),
    })
}

fn served(name: &str, subresources: Option<NodeRef<'_>>) -> ResourceVersion {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let has = |name: &&str| subresources.is_some_and(|known| known.get(name).is_some());
    let subresources = ["scale", "status"].into_iter().filter(has).map(|name| Subresource {
        name: name.to_owned(),
        verbs: words(&SUBRESOURCE_VERBS),
        present: None,
    });
    ResourceVersion {
        version: name.to_owned(),
        present: vec![(0, None)],
        default: None,
        verbs: words(&VERBS),
        verbs_by: Vec::new(),
        subresources: subresources.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn read(text: &str) -> Option<Resource> {
        let tree = bailiwick_yaml::read(text, FileId::default(), &mut Sink::new());
        tree.document(0).and_then(read_custom)
    }

    #[test]
    fn reads_both_versions_of_the_definition() {
        let new = read(
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: example.com, scope: Cluster, names: {plural: widgets, kind: Widget, shortNames: [wd]}, versions: [{name: v1, served: true, subresources: {status: {}}}, {name: v0, served: false}]}}",
        )
        .expect("a definition");
        assert!(!new.namespaced && new.is_custom && new.kind == "Widget" && new.short_names == ["wd"]);
        assert_eq!(new.versions.iter().map(|version| version.version.as_str()).collect::<Vec<_>>(), ["v1"]);
        let old = read(
            "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, spec: {group: example.com, version: v1, subresources: {scale: {}}, names: {plural: widgets, kind: Widget}}}",
        )
        .expect("a definition");
        assert!(old.namespaced);
        assert!(old.versions[0].subresources.iter().any(|known| known.name == "scale"));
        assert_eq!(read("{apiVersion: v1, kind: CustomResourceDefinition, spec: {}}"), None);
    }
}
