//! The texts that the readers are compared on.

use std::path::{Path, PathBuf};

use crate::support::reference;

/// Returns every YAML file of this repository, with its path.
pub(super) fn own() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["tests", "policies", "templates", "out"].iter().flat_map(|folder| below(&root.join(folder))).collect()
}

/// Returns every YAML file of the reference manifests, with its path.
pub(super) fn others() -> Vec<(String, String)> {
    let texts = below(&reference());
    assert!(!texts.is_empty(), "there are no reference manifests");
    texts
}

fn below(folder: &Path) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    collect(folder, &mut paths);
    paths.sort();
    let text = |path: &PathBuf| Some((path.display().to_string(), std::fs::read_to_string(path).ok()?));
    paths.iter().filter_map(text).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            paths.push(path);
        }
    }
}
