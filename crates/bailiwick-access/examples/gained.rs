//! Prints who gained permissions between two dumps: `cargo run -p bailiwick-access --example gained -- OLD.yaml NEW.yaml`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program")]

use std::error::Error;

use bailiwick_access::compare::{ImpliedGroups, compare};
use bailiwick_access::{Builder, World};
use bailiwick_yaml::diag::{Files, Sink};

/// Returns the world of the objects in a file, on Kubernetes 1.37.
fn world(path: &str) -> Result<World, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let (files, mut sink) = (Files::new(), Sink::new());
    let tree = bailiwick_yaml::read(&text, files.add(path, text.as_str()), &mut sink);
    let mut builder = Builder::new(37).with_default_policy(37);
    for document in tree.documents() {
        builder.add_document(document, |_, _| {});
    }
    Ok(builder.build())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(old), Some(new)) = (paths.next(), paths.next()) else { return Err("name two files".into()) };
    for change in compare(&world(&old)?, &world(&new)?, ImpliedGroups::Counted) {
        for subject in &change.subjects {
            println!("{} in {}", subject.subject, subject.namespace().unwrap_or("the cluster"));
        }
        for rule in &change.gained {
            println!("  gained {}", serde_json::to_string(rule)?);
        }
    }
    Ok(())
}
