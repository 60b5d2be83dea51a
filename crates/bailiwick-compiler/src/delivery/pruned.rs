//! Committed delivery objects: the pruned folders.

use bailiwick_yaml::NodeRef;

/// Returns the folders, below the folder of the target, of an Application, an ApplicationSet or a Kustomization with
/// pruning.
pub fn pruned_folder(object: NodeRef<'_>) -> Vec<String> {
    let path = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_str);
    let is_pruned = |keys: &[&str]| object.path(keys).and_then(NodeRef::as_bool) == Some(true);
    let single = |text: Option<&str>| text.map(below_target).into_iter().collect();
    match object.text_at("kind") {
        "Application" if is_pruned(&["spec", "syncPolicy", "automated", "prune"]) => {
            single(path(&["spec", "source", "path"]))
        }
        "Kustomization" if is_pruned(&["spec", "prune"]) => single(path(&["spec", "path"])),
        "ApplicationSet" if is_pruned(&["spec", "template", "spec", "syncPolicy", "automated", "prune"]) => {
            let generators = object.path(&["spec", "generators"]).into_iter().flat_map(NodeRef::items);
            let elements = generators.filter_map(|generator| generator.path(&["list", "elements"]));
            let paths = elements.flat_map(NodeRef::items).filter_map(|element| element.get("path")?.as_str());
            paths.map(below_target).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the part of a path in the repository below the folder of the target: the folder of a shard or of the
/// cluster-scoped objects, or nothing for the whole target.
fn below_target(path: &str) -> String {
    let mut parts = path.rsplit('/');
    match (parts.next(), parts.next()) {
        (Some("cluster"), Some(_)) => "cluster".to_owned(),
        (Some(shard), Some("namespaces")) => format!("namespaces/{shard}"),
        _ => String::new(),
    }
}
