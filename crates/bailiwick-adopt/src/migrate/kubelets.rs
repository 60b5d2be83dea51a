//! The migration of kubelets from the binding of all nodes to the Node authorizer.

use std::path::Path;
use std::sync::Arc;

use bailiwick_analysis::LoadedWorld;
use bailiwick_analysis::loaded_world::each_tree;
use bailiwick_codes as codes;
use bailiwick_node::identity::NODES;
use bailiwick_node::migration::{self, ApiServerFlags, Inventory, Kubelet, KubeletBinding, KubeletMigration};
use bailiwick_node::system_node;
use bailiwick_workspace::{Diagnostics, Error, Options};
use bailiwick_yaml::de::from_node;
use bailiwick_yaml::diag::{Diagnostic, Files, Sink};
use hashbrown::HashSet;
use serde::Deserialize;

/// An inventory of kubelets as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubeletInventory {
    #[serde(default)]
    apiserver: ApiServerFlags,
    #[serde(default)]
    kubelets: Vec<Kubelet>,
    #[serde(default)]
    nodes: Vec<String>,
    #[serde(default)]
    bindings: Vec<KubeletBinding>,
}

impl KubeletInventory {
    /// Reads an inventory, and returns it with the warnings about its file.
    ///
    /// # Errors
    /// When the file is no inventory.
    pub fn read(run: &Options, path: &Path) -> Result<(Self, Diagnostics), Error> {
        let files = Arc::new(Files::new());
        let mut sink = Sink::new();
        let mut read: Option<Self> = None;
        let mut count = 0;
        each_tree(&run.input_at(path), run, &files, &mut sink, &mut |tree, sink| {
            for document in tree.documents() {
                count += 1;
                match from_node::<Self>(document) {
                    Ok(written) => read = Some(written),
                    Err(error) => sink.push(
                        Diagnostic::error(codes::WRONG_TYPE, error.message.clone())
                            .at_maybe(error.origin)
                            .help("run `bailiwick migrate kubelets --help` for the form of an inventory"),
                    ),
                }
            }
        })?;
        if count != 1 {
            let message = format!("an inventory is one document, and here are {count}");
            sink.push(Diagnostic::error(codes::INVALID_QUESTION, message).help("name a file with one document"));
        }
        let diagnostics = Diagnostics { list: sink.into_sorted(&files), files };
        match read.filter(|_| !diagnostics.has_errors()) {
            Some(read) => Ok((read, diagnostics)),
            None => Err(Error::Invalid(diagnostics)),
        }
    }

    /// Reports the progress of the migration, with the bindings and nodes of a world.
    pub fn report(&self, loaded: &LoadedWorld) -> KubeletMigration {
        migration::report(&inventory(self, loaded))
    }
}

/// Returns the inventory with the bindings and nodes of the manifests.
fn inventory(written: &KubeletInventory, loaded: &LoadedWorld) -> Inventory {
    let mut bindings = written.bindings.clone();
    // Bindings of other roles matter if they name a kubelet; bindings of `system:node` always matter.
    let users: HashSet<&str> = written.kubelets.iter().map(|kubelet| kubelet.user.as_str()).collect();
    let named = |subject: &str| match subject.split_once('/') {
        Some(("Group", group)) => group == NODES,
        Some(("User", user)) => users.contains(user),
        _ => false,
    };
    let mut known: HashSet<String> = bindings.iter().map(|binding| binding.name.clone()).collect();
    for (role, is_own) in loaded.world.bound_cluster_roles().iter().map(|role| (role, role == system_node::NAME)) {
        for (binding, subjects) in loaded.world.bound_by(None, role) {
            let relevant = is_own || subjects.iter().any(|subject| named(subject));
            let name = binding.name.rsplit('/').next().unwrap_or_default().to_owned();
            let subjects = subjects.iter().map(|subject| subject.replacen('/', " ", 1)).collect();
            if relevant && known.insert(name.clone()) {
                bindings.push(KubeletBinding { name, role: Some(role.clone()), subjects });
            }
        }
    }
    let mut nodes = written.nodes.clone();
    if let Some(cluster) = loaded.cluster() {
        nodes.extend(cluster.nodes.keys().cloned());
    }
    nodes.sort();
    nodes.dedup();
    Inventory { api_server: written.apiserver.clone(), kubelets: written.kubelets.clone(), nodes, bindings }
}
