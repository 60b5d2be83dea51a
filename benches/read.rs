//! Measures reading and checking of objects: `cargo bench --bench read -- DIRECTORY [ROUNDS]`.
//!
//! DIRECTORY holds output of this program, such as the output for many tenants. Its files are split into documents,
//! without their header; the rendered text of a template has the same objects in nearly the same form, but no command
//! prints it. This program reads every document into the tree and checks it with the compiled schema of its kind. The
//! peer reads it with `yaml_serde` into a `serde_json::Value` and checks the value with `jsonschema` and the same
//! schema documents. First both must find the same values, accept all of them, and reject each value with a field that
//! the schema does not have. One thread, both in turn. Prints one JSON object: the median, minimum and maximum of the
//! rounds, and the ratio of the medians.

#![expect(clippy::disallowed_methods, reason = "a bench reads the files that it is given")]
#![expect(clippy::print_stdout, reason = "the report is what it is for; a wrong file ends it")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

use bailiwick::diag::{FileId, Sink};
use bailiwick::k8s::schemas;
use bailiwick::yaml;
use jsonschema::Validator;
use serde_json::{Value, json};
use walkdir::WalkDir;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The default number of rounds.
const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let (folder, rounds) = match arguments.as_slice() {
        [folder] => (folder, ROUNDS),
        [folder, rounds] => (folder, rounds.parse()?),
        _ => {
            println!("usage: cargo bench --bench read -- DIRECTORY [ROUNDS]");
            return Ok(());
        }
    };
    println!("{}", measure(&documents(folder)?, rounds)?);
    Ok(())
}

/// Compares both on every document, and then lets them read all in turn.
fn measure(documents: &[String], rounds: usize) -> Result<Value, Box<dyn Error>> {
    let mut ours = Ours::new();
    let peer = Peer::new()?;
    for document in documents {
        compare(document, &mut ours, &peer)?;
    }
    let (mut our_rounds, mut peer_rounds) = (Vec::new(), Vec::new());
    // The first round warms up and does not count.
    for round in 0..=rounds {
        let our_seconds = time(documents, |document| ours.fits(document))?;
        let peer_seconds = time(documents, |document| peer.fits(document))?;
        if round > 0 {
            our_rounds.push(our_seconds);
            peer_rounds.push(peer_seconds);
        }
    }
    our_rounds.sort_by(f64::total_cmp);
    peer_rounds.sort_by(f64::total_cmp);
    Ok(json!({
        "documents": documents.len(),
        "bytes": documents.iter().map(String::len).sum::<usize>(),
        "rounds": rounds,
        "ours": summary(&our_rounds),
        "peer": summary(&peer_rounds),
        "ratio": median(&peer_rounds) / median(&our_rounds),
    }))
}

/// Returns the documents of every YAML file below a folder, without comments at their beginning.
fn documents(folder: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut documents = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "yaml") {
            let text = fs::read_to_string(entry.path())?;
            documents.extend(text.split("\n---\n").map(without_head));
        }
    }
    if documents.is_empty() { Err(format!("there are no documents in {folder}").into()) } else { Ok(documents) }
}

fn without_head(document: &str) -> String {
    let lines = document.lines().skip_while(|line| line.starts_with('#'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Our reader, with a tree whose memory is used again.
struct Ours {
    tree: yaml::Tree,
    sink: Sink,
}

impl Ours {
    fn new() -> Self {
        Self { tree: yaml::Tree::new(FileId::default()), sink: Sink::new() }
    }

    /// Reads a document and returns whether it has the form of its kind.
    fn fits(&mut self, document: &str) -> Result<bool, Box<dyn Error>> {
        yaml::read_into(document, &mut self.tree, &mut self.sink);
        let root = self.tree.document(0).ok_or("there is no document")?;
        let text = |key| root.get(key).and_then(yaml::NodeRef::as_str).unwrap_or_default();
        let schema = schemas::schema_of(text("apiVersion"), text("kind")).ok_or("there is no schema")?;
        Ok(schema.fits(root) && !self.sink.has_errors())
    }

    /// Returns the last document in the form of the peer.
    fn value(&self) -> Option<Value> {
        self.tree.document(0).map(yaml::schema::to_json)
    }
}

/// The common way in Rust, with the same schemas.
struct Peer {
    validators: Vec<(&'static str, &'static str, Validator)>,
}

impl Peer {
    fn new() -> Result<Self, Box<dyn Error>> {
        let compile = |kind: &'static schemas::KindSchema| {
            let validator = jsonschema::validator_for(&kind.document()).map_err(|error| error.to_string())?;
            Ok((kind.api_version, kind.kind, validator))
        };
        Ok(Self { validators: schemas::all().iter().map(compile).collect::<Result<_, String>>()? })
    }

    fn value(document: &str) -> Result<Value, Box<dyn Error>> {
        Ok(serde_yaml::from_str(document)?)
    }

    /// Returns whether a document has the form of its kind.
    fn fits(&self, document: &str) -> Result<bool, Box<dyn Error>> {
        let value = Self::value(document)?;
        let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (_, _, validator) = self
            .validators
            .iter()
            .find(|(of_version, of_kind, _)| *of_kind == kind && *of_version == api_version)
            .ok_or("there is no schema")?;
        Ok(validator.is_valid(&value))
    }
}

/// Fails unless both read the same from a document and think the same of it, as it is and with a field too many.
fn compare(document: &str, ours: &mut Ours, peer: &Peer) -> Result<(), Box<dyn Error>> {
    let accepted = ours.fits(document)? && peer.fits(document)?;
    if !accepted || ours.value() != Some(Peer::value(document)?) {
        return Err(format!("this is not read as it should be:\n{document}").into());
    }
    let wrong = format!("{document}unknown: field\n");
    if ours.fits(&wrong)? || peer.fits(&wrong)? {
        return Err(format!("this should not be accepted:\n{wrong}").into());
    }
    Ok(())
}

/// Reads and checks every document once; seconds.
fn time(
    documents: &[String],
    mut fits: impl FnMut(&str) -> Result<bool, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let started = Instant::now();
    for document in documents {
        black_box(fits(black_box(document))?);
    }
    Ok(started.elapsed().as_secs_f64())
}

fn summary(sorted: &[f64]) -> Value {
    json!({ "medianSeconds": median(sorted), "leastSeconds": sorted.first(), "mostSeconds": sorted.last() })
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
