//! Weighs the stacks of each target against each other, once all of them are linked.

use std::collections::BTreeMap;

use crate::crossplane::conflicts::{self, KnownDefinitions};
use crate::crossplane::definition::{self, Definition};
use crate::crossplane::stack::Stack;
use crate::diag::{Files, Severity, Sink};
use crate::k8s::catalogue::Api;
use crate::kinds::findings::Findings;
use crate::model::Linker;
use crate::yaml::{self, NodeRef};

/// Reports conflicts between the stacks of each target, see [`conflicts::check`].
pub fn weigh_stacks(linker: &Linker<'_>, sink: &mut Sink) {
    let mut findings = Findings::new(linker.targets.len());
    // A rejected stack is missing, so others may seem to lack its definitions.
    let is_whole = !sink.has_errors();
    for target in linker.targets {
        let stacks: Vec<&Stack> = linker.stacks_on(&target.name).map(|installed| &*installed.stack).collect();
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
