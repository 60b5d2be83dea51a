//! Shared parts of tests: compiling a workspace from memory, and the repository's own policies as a workspace.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bailiwick::compile::{self, CompileOptions, FileConsumer, ObjectForm, OutputFile};
use bailiwick::diag::{Diagnostic, FileId, Files, Sink};
use bailiwick::k8s::stored::{StoredForm, server_owned, to_stored};
use bailiwick::model::Target;
use bailiwick::report::human;
use bailiwick::source::MemorySource;
use bailiwick::stats::Stats;
use bailiwick::yaml::{self, NodeRef};
use serde_json::Value;

/// Returns the root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder with the manifests of other projects. `tests/reference/run FOLDER` runs the ignored tests that read it.
pub(crate) fn reference() -> PathBuf {
    std::env::var_os("BAILIWICK_REFERENCE").expect("BAILIWICK_REFERENCE is set").into()
}

/// Returns the number of repetitions of a long test: `all` with `THOROUGH` set, as in the conformance steps of
/// `.ci/run`, and `few` otherwise.
pub(crate) fn rounds<N>(few: N, all: N) -> N {
    if std::env::var_os("THOROUGH").is_some() { all } else { few }
}

/// A workspace in memory: paths and texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    files: Vec<(String, String)>,
    only: Option<String>,
}

impl World {
    /// Returns a workspace with some targets of one version.
    pub(crate) fn with_targets(names: &[&str], version: &str) -> Self {
        let targets: String =
            names.iter().map(|name| format!("  - {{name: {name}, version: \"{version}\"}}\n")).collect();
        let head = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: test}\nspec:\n  targets:\n";
        Self { files: vec![("bailiwick.yaml".to_owned(), format!("{head}{targets}"))], only: None }
    }

    /// Compiles one of the targets alone.
    pub(crate) fn only(mut self, target: &str) -> Self {
        self.only = Some(target.to_owned());
        self
    }

    /// Adds or replaces a file.
    pub(crate) fn file(mut self, path: &str, text: &str) -> Self {
        self.files.retain(|(known, _)| known != path);
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    /// Changes a file that is there.
    pub(crate) fn edit(mut self, path: &str, from: &str, to: &str) -> Self {
        let (_, text) = self.files.iter_mut().find(|(known, _)| known == path).expect("the file is there");
        assert!(text.contains(from), "{path} has no `{from}`");
        *text = text.replace(from, to);
        self
    }

    /// Compiles on a number of threads.
    pub(crate) fn compile_on(&self, jobs: usize) -> Compiled {
        self.compile_with(CompileOptions { wanted: ObjectForm::Json, ..CompileOptions::new(jobs, &Stats::off()) })
    }

    /// Compiles the workspace with options.
    pub(crate) fn compile_with(&self, options: CompileOptions<'_>) -> Compiled {
        let files = Arc::new(Files::new());
        let mut sink = Sink::new();
        let world = MemorySource::new(self.files.iter().cloned());
        let project = compile::load(Box::new(world), Arc::clone(&files), &mut sink).expect("memory can be read");
        let mut compiled = Compiled { files: Vec::new(), diagnostics: Vec::new(), told: String::new() };
        if let Some(project) = project {
            let work = |file: OutputFile| Ok(file);
            let wanted = |target: &&Target| self.only.as_ref().is_none_or(|only| *only == target.name);
            for target in project.workspace.targets.iter().filter(wanted) {
                let name = target.name.clone();
                let mut keep = |mut file: OutputFile, _, _| {
                    file.path = format!("{name}/{}", file.path);
                    compiled.files.push(file);
                };
                let consumer = FileConsumer { work: &work, each: &mut keep };
                compile::compile(&project, target, options, consumer, &mut sink).expect("nothing is written");
            }
            let found = sink.into_sorted(&files);
            compiled.diagnostics = project.without_accepted(found);
        } else {
            compiled.diagnostics = sink.into_sorted(&files);
        }
        compiled.told = human::diagnostics(&compiled.diagnostics, &files);
        compiled
    }

    /// Compiles on one thread.
    pub(crate) fn compile(&self) -> Compiled {
        self.compile_on(1)
    }
}

/// The result of compiling.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) files: Vec<OutputFile>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The diagnostics as they are printed.
    pub(crate) told: String,
}

impl Compiled {
    /// Returns the ids of the diagnostics, sorted; a folded one counts as often as it occurred.
    pub(crate) fn codes(&self) -> Vec<&'static str> {
        let mut codes: Vec<&str> = self
            .diagnostics
            .iter()
            .flat_map(|found| std::iter::repeat_n(found.code.id(), 1 + found.repeated))
            .collect();
        codes.sort_unstable();
        codes
    }

    /// Fails with the diagnostics when there are any.
    pub(crate) fn fine(self) -> Self {
        assert!(self.diagnostics.is_empty(), "{:#?}", self.diagnostics);
        self
    }

    /// Returns every object of the files whose path contains `part`, as the server would store it, sorted by identity.
    pub(crate) fn objects(&self, part: &str) -> Vec<Value> {
        let texts = self.files.iter().filter(|file| file.path.contains(part)).map(|file| file.text.as_str());
        let mut objects: Vec<Value> = texts.flat_map(stored_objects).collect();
        objects.sort_by_key(identity);
        objects
    }
}

/// Returns the objects of a text as the server would store them.
pub(crate) fn stored_objects(text: &str) -> Vec<Value> {
    let mut sink = Sink::new();
    let mut tree = yaml::read(text, FileId::default(), &mut sink);
    assert!(sink.is_empty(), "{sink:?}\n{text}");
    let roots: Vec<_> = tree.documents().map(NodeRef::id).collect();
    for root in &roots {
        to_stored(&mut tree, *root, StoredForm::Stored);
        server_owned(&mut tree, *root);
    }
    roots.iter().map(|root| yaml::schema::to_json(tree.at(*root))).collect()
}

/// Returns the identity of an object as a text to sort by.
pub(crate) fn identity(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {} {}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

/// Runs something that may print a note, once for each test run.
pub(crate) fn note(text: &str) {
    static NOTED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut noted = NOTED.lock().expect("no test panics while it notes");
    if !noted.iter().any(|known| known == text) {
        println!("note: {text}");
        noted.push(text.to_owned());
    }
}
