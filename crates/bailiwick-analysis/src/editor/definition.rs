//! The place where the word at a cursor is defined: a policy, a target, a template, a file, or the row of an account.

use std::path::Path;
use std::sync::Arc;

use bailiwick_compiler::compile::{ObjectForm, OutputFile};
use bailiwick_policy::model::Target;
use bailiwick_workspace::workspace::normal;
use bailiwick_yaml::diag::{FileId, Files, Origin, Sink, Span};
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

use super::EditorWorkspace;
use super::cursor::{Place, Slot, place_at, word_at};
use super::vocabulary::Vocabulary;

/// The file and the bytes at which a word is defined.
#[derive(Debug, Clone)]
pub struct DefinitionPlace {
    /// The bytes, in one of `files`.
    pub origin: Origin,
    /// The texts that `origin` refers to.
    pub files: Arc<Files>,
}

impl EditorWorkspace {
    /// Returns the places of the definitions of the word at a byte of a document.
    pub fn definitions(&self, path: &str, offset: usize) -> Vec<DefinitionPlace> {
        let Some(text) = self.text(path) else { return Vec::new() };
        if let Some(place) = self.place_of_output(path, &text, offset) {
            return vec![place];
        }
        if path.ends_with(super::TEMPLATE_EXTENSION) {
            let written = word_at(&text, offset).and_then(|word| text.get(word));
            return written.and_then(|name| self.template(name)).into_iter().collect();
        }
        let Some(place) = place_at(&text, offset).filter(|place| place.slot == Slot::Value) else { return Vec::new() };
        match Vocabulary::of(&place) {
            Some(Vocabulary::Policies(kind)) => self.own(self.names().policy(kind, &place.word).iter().copied()),
            Some(Vocabulary::Targets) => self.own(self.names().targets().get(&place.word).copied()),
            Some(Vocabulary::Templates) => self.template(&place.word).into_iter().collect(),
            Some(Vocabulary::ClusterRoles) => {
                let policies = self.names().policy(super::vocabulary::PERMISSION_SET, &place.word).iter().copied();
                self.own(policies)
            }
            Some(Vocabulary::Learned(["namespaces"])) => self.namespace(&place.word),
            _ => self.file(path, &place).into_iter().collect(),
        }
    }

    /// Returns places of the newest texts.
    fn own(&self, origins: impl IntoIterator<Item = Origin>) -> Vec<DefinitionPlace> {
        let files = &self.analysis.files;
        origins.into_iter().map(|origin| DefinitionPlace { origin, files: Arc::clone(files) }).collect()
    }

    /// Returns the beginning of a file that was read.
    fn beginning(&self, path: &str) -> Option<DefinitionPlace> {
        let files = &self.analysis.files;
        let file = files.ids().find(|id| files.get(*id).path() == path)?;
        self.own([Origin { file, span: Span::default() }]).pop()
    }

    /// Returns the beginning of a template of the workspace.
    fn template(&self, name: &str) -> Option<DefinitionPlace> {
        let folder = &self.linked()?.project().workspace.templates;
        self.beginning(&format!("{folder}/{name}"))
    }

    /// Returns the beginning of the file that a value names, by its path from the folder of the policy or from the root.
    fn file(&self, policy: &str, place: &Place) -> Option<DefinitionPlace> {
        let folder = Path::new(policy).parent().map_or(Path::new(""), |folder| folder);
        let candidates = [normal(&folder.join(&place.word)), normal(Path::new(&place.word))];
        candidates.iter().filter_map(|path| path.to_str()).find_map(|path| self.beginning(path))
    }

    /// Returns the places of the accounts with a namespace; without an account, the names of the policies that make it.
    fn namespace(&self, name: &str) -> Vec<DefinitionPlace> {
        let Some(workspace) = self.linked() else { return Vec::new() };
        let project = workspace.project();
        let mut origins: Vec<Origin> = Vec::new();
        for target in &project.workspace.targets {
            for policy in project.policies_of(target) {
                policy.namespaces(target, &mut |own, namespace| {
                    if **own == *name {
                        origins.push(namespace.account.map_or(policy.meta().origin, |account| account.origin()));
                    }
                });
            }
        }
        origins.sort();
        origins.dedup();
        let files = &project.files;
        origins.into_iter().map(|origin| DefinitionPlace { origin, files: Arc::clone(files) }).collect()
    }

    /// Returns the place in the policies that makes the object at a byte of an output file; none for another file.
    fn place_of_output(&self, path: &str, text: &str, offset: usize) -> Option<DefinitionPlace> {
        let workspace = self.linked()?;
        let project = workspace.project();
        let below = path.strip_prefix(&project.workspace.output)?.strip_prefix('/')?;
        let (target, inner) = below.split_once('/')?;
        let target = project.workspace.targets.iter().find(|known| known.name == target)?;
        let offset = u32::try_from(offset).ok()?;
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        let wanted = tree.documents().take_while(|root| root.beginning().span.start <= offset).last()?;
        let origin = self.origin_of(target, inner, &Identity::of(wanted))?;
        Some(DefinitionPlace { origin, files: Arc::clone(&project.files) })
    }

    /// Returns the place in the policies that makes an object of an output file.
    fn origin_of(&self, target: &Target, path: &str, wanted: &Identity) -> Option<Origin> {
        let workspace = self.linked()?;
        let mut found = None;
        let work = |file: OutputFile| Ok((file.path == path).then_some(file));
        let mut each = |file: Option<OutputFile>| {
            let Some(file) = file else { return };
            let tree: Tree = yaml::read(&file.text, FileId::default(), &mut Sink::new());
            let mut objects = tree.documents().zip(file.origins.iter());
            found = found.or(objects.find(|(root, _)| Identity::of(*root) == *wanted).map(|(_, origin)| *origin));
        };
        workspace.compile_files(target, ObjectForm::Text, &work, &mut each, &mut Sink::new()).ok()?;
        found
    }
}

/// The identity of an object of an output file, as it is written.
#[derive(PartialEq, Eq)]
struct Identity([String; 4]);

impl Identity {
    fn of(root: NodeRef<'_>) -> Self {
        let metadata = |field: &str| root.get("metadata").map_or("", |metadata| metadata.text_at(field));
        let parts = [root.text_at("apiVersion"), root.text_at("kind"), metadata("namespace"), metadata("name")];
        Self(parts.map(str::to_owned))
    }
}
