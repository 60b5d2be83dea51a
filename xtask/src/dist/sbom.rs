//! The bill of materials: the packages of Cargo in the program, in the form of CycloneDX 1.5.

use std::io;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::archive::Entry;
use super::contents::program_of;
use super::graph::{Crate, Graph};
use super::image::hexadecimal;
use super::release::Release;

/// Returns the bill of materials of the program.
pub(crate) fn build(release: &Release, graph: &Graph, contents: &[Entry]) -> io::Result<Vec<u8>> {
    let mut program = component(&graph.root, "application");
    if let Some(fields) = program.as_object_mut() {
        fields.insert("hashes".to_owned(), hash(&hexadecimal(&Sha256::digest(program_of(contents)?))));
    }
    let dependencies = [&graph.root].into_iter().chain(&graph.crates);
    let dependencies = dependencies.map(|package| json!({"ref": package.purl(), "dependsOn": package.dependencies}));
    let bom = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": release.timestamp(),
            "tools": {"components": [{"type": "application", "name": "cargo xtask dist", "version": release.version}]},
            "component": program,
        },
        "components": graph.crates.iter().map(|package| component(package, "library")).collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_vec_pretty(&bom)?;
    text.push(b'\n');
    Ok(text)
}

fn component(package: &Crate, kind: &str) -> Value {
    let purl = package.purl();
    let mut component = json!({
        "type": kind, "bom-ref": purl, "name": package.name, "version": package.version, "purl": purl,
    });
    let optional = [
        ("description", package.description.as_ref().map(|text| json!(text.trim()))),
        ("hashes", package.checksum.as_ref().map(|checksum| hash(checksum))),
        ("licenses", package.license.as_ref().map(|license| json!([{"expression": license}]))),
        ("externalReferences", package.repository.as_ref().map(|url| json!([{"type": "vcs", "url": url}]))),
    ];
    if let Some(fields) = component.as_object_mut() {
        fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    component
}

fn hash(hexadecimal: &str) -> Value {
    json!([{"alg": "SHA-256", "content": hexadecimal}])
}
