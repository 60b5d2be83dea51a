//! Weighs the stacks of each target against each other, once all of them are linked.

use std::collections::BTreeMap;

use bailiwick_crossplane::conflicts::{self, KnownDefinitions};
use bailiwick_crossplane::definition::{self, Definition};
use bailiwick_crossplane::stack::Stack;
use bailiwick_kubernetes::catalogue::Api;
use bailiwick_yaml::diag::{Files, Severity, Sink};
use bailiwick_yaml::{self as yaml, NodeRef};

use crate::kinds::findings::Findings;
use crate::model::{InstalledStack, Linker};

/// Reports conflicts between the stacks of each target, see [`conflicts::check`]. `is_whole` is false if a stack may be
/// missing, so that others seem to lack its definitions.
pub(super) fn weigh_stacks(linker: &Linker<'_>, is_whole: bool, sink: &mut Sink) {
    let mut findings = Findings::new(linker.targets.len());
    for target in linker.targets {
        let stacks: Vec<&Stack> =
            linker.facts.on(&target.name).map(|installed: &InstalledStack| &*installed.stack).collect();
        let Some(api) = linker.apis.get(&target.name).filter(|_| !stacks.is_empty()) else { continue };
        let mut found = Sink::new();
        conflicts::check(&stacks, &Workspace { api, files: linker.files() }, &mut found);
        for diagnostic in found.diagnostics() {
            if is_whole || diagnostic.severity == Severity::Error {
                findings.add(target, diagnostic.clone());
            }
        }
    }
    findings.tell(sink);
}

/// The API of a target, and the texts of the definitions.
struct Workspace<'w> {
    api: &'w Api,
    files: &'w Files,
}

impl KnownDefinitions for Workspace<'_> {
    fn serves(&self, group: &str, plural: &str) -> Option<bool> {
        if plural != "*" {
            return self.api.find(group, plural).map(|resource| resource.namespaced);
        }
        let mut all = self.api.catalogue().of_group(group).map(|resource| resource.namespaced).peekable();
        all.peek().is_some().then(|| all.all(|namespaced| namespaced))
    }

    fn shape(&self, definition: &Definition, version: &str) -> BTreeMap<String, String> {
        let file = self.files.get(definition.origin.file);
        let tree = yaml::read(file.text(), definition.origin.file, &mut Sink::new());
        let is_it = |root: &NodeRef<'_>| root.span().contains(definition.origin.span);
        let found = tree.documents().find(is_it);
        found.map(|root| definition::shape(root, version)).unwrap_or_default()
    }
}
