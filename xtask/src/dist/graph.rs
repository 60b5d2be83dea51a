//! The packages of Cargo that are linked into the program.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::package::Platform;
use super::release::Release;
use super::source::{read_text, succeeded};

/// The packages of the program with their dependencies, for one platform. Dependencies of builds and tests are not among them.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The program's own package.
    pub(crate) root: Crate,
    /// The other packages, sorted by name and version.
    pub(crate) crates: Vec<Crate>,
}

/// A package of Cargo.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    /// An SPDX expression.
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    /// The SHA-256 of the published package; none for a package of the repository.
    pub(crate) checksum: Option<String>,
    /// The addresses (package URL) of the dependencies, sorted.
    pub(crate) dependencies: Vec<String>,
    /// The folder of the package on this machine.
    pub(crate) folder: PathBuf,
}

impl Crate {
    /// Returns the package URL: <https://github.com/package-url/purl-spec>.
    pub(crate) fn purl(&self) -> String {
        purl(&self.name, &self.version)
    }
}

fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Listed>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
    name: String,
    version: String,
    description: Option<String>,
    license: Option<String>,
    repository: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Debug, Deserialize)]
struct DependencyKind {
    /// Absent for a dependency that is no build or test dependency.
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Graph {
    /// Reads the packages from `cargo metadata` and Cargo.lock.
    ///
    /// `cargo metadata` has the features of all packages of the workspace. `cargo tree` has the features of the program alone, and prints no
    /// dependencies as data: it selects the packages.
    pub(crate) fn read(release: &Release, platform: &Platform) -> io::Result<Self> {
        let cargo = |arguments: &[&str]| {
            let mut cargo = Command::new("cargo");
            succeeded(cargo.args(arguments).args(["--locked"]).current_dir(&release.root))
        };
        let metadata = cargo(&["metadata", "--format-version", "1", "--filter-platform", platform.target])?;
        let edges = ["tree", "--package", "bailiwick", "--edges", "normal", "--target", platform.target];
        let tree = cargo(&[&edges[..], &["--prefix", "none", "--format", "{p}"]].concat())?;
        let lock = toml::from_str(&read_text(&release.root, "Cargo.lock")?).map_err(io::Error::other)?;
        let metadata = serde_json::from_slice(&metadata).map_err(io::Error::other)?;
        Self::new(metadata, &selected(&String::from_utf8_lossy(&tree)), &lock)
    }

    fn new(mut metadata: Metadata, selected: &BTreeSet<String>, lock: &Lock) -> io::Result<Self> {
        metadata.packages.retain(|package| selected.contains(&purl(&package.name, &package.version)));
        let listed: BTreeMap<String, Listed> =
            metadata.packages.into_iter().map(|package| (package.id.clone(), package)).collect();
        let nodes: BTreeMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let own = listed.values().find(|package| package.name == "bailiwick").map(|package| package.id.as_str());
        let mut open: Vec<&str> = own.into_iter().collect();
        let mut linked: BTreeSet<&str> = BTreeSet::new();
        while let Some(id) = open.pop() {
            if listed.contains_key(id) && linked.insert(id) {
                open.extend(nodes.get(id).into_iter().flat_map(|node| node.linked()));
            }
        }
        let mut crates = Vec::new();
        for package in linked.iter().filter_map(|id| listed.get(*id)) {
            let dependencies = nodes.get(package.id.as_str()).into_iter().flat_map(|node| node.linked());
            let dependencies: BTreeSet<String> =
                dependencies.filter_map(|id| listed.get(id)).map(|other| purl(&other.name, &other.version)).collect();
            crates.push(package.as_crate(dependencies, lock));
        }
        crates.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
        let root = crates.iter().position(|package| package.name == "bailiwick");
        let root = root.ok_or_else(|| io::Error::other("`cargo metadata` has no package `bailiwick`"))?;
        Ok(Self { root: crates.remove(root), crates })
    }

    /// Returns the folders that hold the unpacked packages of others.
    pub(crate) fn folders(&self) -> BTreeSet<&Path> {
        let published = self.crates.iter().filter(|package| package.checksum.is_some());
        published.filter_map(|package| package.folder.parent()).collect()
    }
}

/// Returns the package URLs of the lines of `cargo tree`: `NAME vVERSION`, and then a path or a word.
fn selected(tree: &str) -> BTreeSet<String> {
    let mut selected = BTreeSet::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next().and_then(|word| word.strip_prefix('v'))) {
            selected.insert(purl(name, version));
        }
    }
    selected
}

impl Node {
    /// Returns the ids of the packages that are linked into this one.
    fn linked(&self) -> impl Iterator<Item = &str> {
        let linked = self.deps.iter().filter(|dependency| dependency.dep_kinds.iter().any(|one| one.kind.is_none()));
        linked.map(|dependency| dependency.pkg.as_str())
    }
}

impl Listed {
    fn as_crate(&self, dependencies: BTreeSet<String>, lock: &Lock) -> Crate {
        let locked = lock.package.iter().find(|locked| locked.name == self.name && locked.version == self.version);
        Crate {
            name: self.name.clone(),
            version: self.version.clone(),
            description: self.description.clone(),
            // The older form of Cargo has `/` for OR.
            license: self.license.as_ref().map(|license| license.replace('/', " OR ")),
            repository: self.repository.clone(),
            checksum: locked.and_then(|locked| locked.checksum.clone()),
            dependencies: dependencies.into_iter().collect(),
            folder: self.manifest_path.parent().map_or_else(PathBuf::new, Path::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_builds_tests_and_other_features_are_left_out() {
        let metadata = serde_json::json!({
            "packages": [
                {"id": "own", "name": "bailiwick", "version": "0.1.0", "license": "Apache-2.0", "manifest_path": "/r/Cargo.toml"},
                {"id": "a", "name": "a", "version": "1.0.0", "license": "MIT/Apache-2.0", "manifest_path": "/h/a-1.0.0/Cargo.toml"},
                {"id": "b", "name": "b", "version": "2.0.0", "manifest_path": "/h/b-2.0.0/Cargo.toml"},
                {"id": "c", "name": "c", "version": "3.0.0", "manifest_path": "/h/c-3.0.0/Cargo.toml"},
            ],
            "resolve": {"nodes": [
                {"id": "own", "deps": [
                    {"pkg": "a", "dep_kinds": [{"kind": "dev"}, {"kind": null}]},
                    {"pkg": "b", "dep_kinds": [{"kind": "build"}, {"kind": "dev"}]},
                ]},
                {"id": "a", "deps": [{"pkg": "c", "dep_kinds": [{"kind": null}]}]},
                {"id": "c", "deps": []},
                {"id": "b", "deps": []},
            ]},
        });
        let lock =
            Lock { package: vec![Locked { name: "a".into(), version: "1.0.0".into(), checksum: Some("ff".into()) }] };
        let tree = selected("bailiwick v0.1.0 (/r)\na v1.0.0\nb v2.0.0 (proc-macro)\n");
        let metadata = serde_json::from_value(metadata).expect("metadata");
        let graph = Graph::new(metadata, &tree, &lock).expect("a graph");
        assert_eq!(graph.root.dependencies, ["pkg:cargo/a@1.0.0"]);
        let names: Vec<&str> = graph.crates.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(graph.crates[0].license.as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!(graph.folders().into_iter().collect::<Vec<_>>(), [Path::new("/h")]);
    }
}
