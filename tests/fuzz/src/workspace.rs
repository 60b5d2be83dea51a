//! A workspace in memory, compiled as the program compiles one.

use std::sync::Arc;

use bailiwick::compile::{self, FileConsumer, CompileOptions, OutputFile};
use bailiwick::diag::{FileId, Files, Severity, Sink};
use bailiwick::report::human;
use bailiwick::source::MemorySource;
use bailiwick::stats::Stats;
use bailiwick::yaml;

/// A workspace file with targets of both platforms, old and new.
pub const WORKSPACE: &str = "\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: fuzz}
spec:
  targets:
  - {name: old, version: \"1.21\"}
  - {name: new, version: \"1.36\", variables: {team: a}}
  - {name: okd, platform: openshift, version: \"4.20\"}
";

/// The result of compiling: the files of all targets, and the diagnostics as they are printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Path and text of each output file.
    pub files: Vec<(String, String)>,
    /// Printed diagnostics.
    pub printed: String,
    /// Whether there is an error among the diagnostics.
    pub has_errors: bool,
}

/// Compiles files of a workspace on `jobs` threads, with or without the comparison with checked texts.
pub fn compile(texts: &[(String, String)], jobs: usize, alike: bool) -> Compiled {
    let files = Arc::new(Files::new());
    let mut sink = Sink::new();
    let mut compiled = Compiled { files: Vec::new(), printed: String::new(), has_errors: false };
    let world = MemorySource::new(texts.iter().cloned());
    let project = compile::load(Box::new(world), Arc::clone(&files), &mut sink).expect("memory can be read");
    if let Some(project) = project {
        let stats = Stats::off();
        let options = CompileOptions { alike, ..CompileOptions::new(jobs, &stats) };
        for target in &project.workspace.targets {
            let name = target.name.clone();
            let work = |file: OutputFile| Ok(file);
            let mut keep = |file: OutputFile, _, _| compiled.files.push((format!("{name}/{}", file.path), file.text));
            let consumer = FileConsumer { work: &work, each: &mut keep };
                compile::compile(&project, target, options, consumer, &mut sink).expect("nothing is written");
        }
    }
    let diagnostics = sink.into_sorted(&files);
    compiled.has_errors = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    compiled.printed = human::diagnostics(&diagnostics, &files);
    compiled
}

/// Compiles a workspace in three ways and checks what holds for every input: the same bytes and diagnostics in each
/// way, and output that the program itself reads without a complaint.
pub fn check(texts: &[(String, String)]) {
    let first = compile(texts, 1, true);
    assert_eq!(first, compile(texts, 1, false), "with and without the comparison");
    assert_eq!(first, compile(texts, 2, true), "on one and on two threads");
    assert_eq!(yaml::internal::first(), None);
    if first.has_errors {
        return;
    }
    for (path, text) in &first.files {
        let mut sink = Sink::new();
        yaml::read(text, FileId::default(), &mut sink);
        assert!(sink.is_empty(), "{path}: {sink:?}\n{text}");
        let breaks =
            text.chars().any(|letter| matches!(letter, '\u{85}' | '\u{2028}' | '\u{2029}' | '\r' | '\u{feff}'));
        assert!(!breaks, "{path} holds a character that some readers take for a line break\n{text}");
    }
}
