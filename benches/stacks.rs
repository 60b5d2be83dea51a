//! Measures the packages of a large control plane: `cargo bench --bench stacks -- [STACKS]`.
//!
//! By default 5,000 stacks, and before that a quarter and a half of them, to show the growth. Each stack has a package
//! of its own with 20 definitions and three dependencies; one in fifty is a cluster stack, each other stack is in a
//! namespace of its own, and one manager installs all stacks. Prints one JSON object per line: the seconds to read,
//! link and weigh the packages, to compile every object, and, as the peer, to read the same texts with `yaml_serde`
//! alone.

#![expect(clippy::print_stdout, reason = "the report is what it is for")]

use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use bailiwick::compile::{self, CompileOptions, FileConsumer};
use bailiwick::diag::{Files, Sink};
use bailiwick::source::MemorySource;
use bailiwick::stats::Stats;
use serde::Deserialize as _;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Definitions of a package.
const DEFINITIONS: usize = 20;
/// One stack in so many is for the whole cluster.
const CLUSTER: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let count: usize = match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(count) => count.parse()?,
        None => 5_000,
    };
    for count in [count / 4, count / 2, count] {
        measure(count)?;
    }
    Ok(())
}

fn measure(count: usize) -> Result<(), Box<dyn Error>> {
    let mut files = workspace();
    for number in 0..count {
        stack(number, count, &mut files)?;
    }
    let texts: Vec<String> = files.iter().map(|(_, text)| text.clone()).collect();
    let started = Instant::now();
    let mut sink = Sink::new();
    let project = compile::load(Box::new(MemorySource::new(files)), Arc::new(Files::new()), &mut sink)?;
    let project = project.ok_or("the workspace cannot be used")?;
    let loaded = started.elapsed();
    let target = project.workspace.targets.first().ok_or("there is no target")?;
    let started = Instant::now();
    let (mut objects, mut bytes) = (0, 0);
    let work = |file: compile::OutputFile| Ok((file.kinds.len(), file.text.len()));
    let mut add = |(kinds, length): (usize, usize), _, _| {
        objects += kinds;
        bytes += length;
    };
    let off = Stats::off();
    let consumer = FileConsumer { work: &work, each: &mut add };
    compile::compile(&project, target, CompileOptions::new(1, &off), consumer, &mut sink)?;
    let compiled = started.elapsed();
    let started = Instant::now();
    let mut documents = 0;
    for text in &texts {
        for document in serde_yaml::Deserializer::from_str(text) {
            documents += usize::from(serde_json::Value::deserialize(document)?.is_object());
        }
    }
    let peer = started.elapsed();
    let report = json!({
        "stacks": count,
        "definitions": count * DEFINITIONS,
        "documents": documents,
        "objects": objects,
        "outputBytes": bytes,
        "errors": sink.has_errors(),
        "loadSeconds": loaded.as_secs_f64(),
        "compileSeconds": compiled.as_secs_f64(),
        "millisecondsAStack": (loaded + compiled).as_secs_f64() * 1e3 / count as f64,
        "peerSeconds": peer.as_secs_f64(),
    });
    println!("{report}");
    Ok(())
}

/// Returns the workspace and the manager.
fn workspace() -> Vec<(String, String)> {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    vec![
        file(
            "bailiwick.yaml",
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata:\n  name: bench\nspec:\n  targets:\n  - name: control-plane\n    version: \"1.37\"\n",
        ),
        file(
            "policies/manager.yaml",
            "apiVersion: bailiwick.dev/v1alpha1\nkind: StackManager\nmetadata:\n  name: stack-manager\nspec:\n  serviceAccount: {name: stack-manager, namespace: crossplane-system}\n",
        ),
    ]
}

/// Writes a policy with its package.
fn stack(number: usize, count: usize, files: &mut Vec<(String, String)>) -> Result<(), std::fmt::Error> {
    let is_cluster = number.is_multiple_of(CLUSTER);
    let (kind, scope) = if is_cluster { ("ClusterStackInstall", "Cluster") } else { ("StackInstall", "Namespaced") };
    files.push((
        format!("policies/stack-{number}.yaml"),
        format!(
            "apiVersion: bailiwick.dev/v1alpha1\nkind: Stack\nmetadata:\n  name: stack-{number}\nspec:\n  package: packages/stack-{number}\n  installs:\n  - kind: {kind}\n    namespace: team-{number}\n"
        ),
    ));
    let folder = format!("policies/packages/stack-{number}");
    let mut app = format!("title: Stack {number}\nversion: 1.0.0\npermissionScope: {scope}\ndependsOn:\n");
    for step in 1..=3 {
        let other = (number + step * 7) % count;
        writeln!(app, "- crd: things{step}.stack-{other}.example.org/v1")?;
    }
    files.push((format!("{folder}/app.yaml"), app));
    for definition in 0..DEFINITIONS {
        files.push((format!("{folder}/resources/{definition}.crd.yaml"), definition_text(number, definition)?));
    }
    Ok(())
}

/// Returns a definition with a schema of some size.
fn definition_text(number: usize, definition: usize) -> Result<String, std::fmt::Error> {
    let group = format!("stack-{number}.example.org");
    let mut text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things{definition}.{group}\nspec:\n  group: {group}\n  names:\n    kind: Thing{definition}\n    listKind: Thing{definition}List\n    plural: things{definition}\n    singular: thing{definition}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources:\n      status: {{}}\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n"
    );
    for field in 0..16 {
        write!(
            text,
            "              field{field}:\n                description: What field {field} says of the thing.\n                type: string\n                maxLength: {}\n",
            field + 10
        )?;
    }
    Ok(text)
}
