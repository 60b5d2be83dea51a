//! The image: a layout of the Open Container Initiative in a tar file, made without a container engine.
//!
//! Source: version 1.1 of the image specification. `bailiwick pack` writes layouts with another content: text files of a target, without a
//! program and a configuration. The task does not use the library for the few lines that both have, so that the tasks of this package build
//! while the library does not.

use std::io;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::archive::{self, Entry};
use super::contents::program_of;
use super::package::Platform;
use super::release::Release;

/// The user of the program: `nonroot` of the images that have no shell.
const USER: u64 = 65_532;
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// Returns the tar file.
pub(crate) fn build(release: &Release, platform: &Platform, contents: &[Entry]) -> io::Result<Vec<u8>> {
    let layer = archive::tarred(&layer(contents)?, release.time)?;
    let labels = labels(release);
    let mut layout = Layout::default();
    let config = json!({
        "created": release.timestamp(),
        "architecture": platform.architecture,
        "os": platform.os,
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/bin"],
            "Entrypoint": ["/usr/bin/bailiwick"],
            "Cmd": ["--help"],
            "WorkingDir": "/workspace",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
        "history": [{"created": release.timestamp(), "created_by": "cargo xtask dist"}],
    });
    let config = layout.add("application/vnd.oci.image.config.v1+json", config.to_string().into_bytes());
    let layer = layout.add("application/vnd.oci.image.layer.v1.tar+gzip", archive::compressed(&layer)?);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": [layer], "annotations": labels,
    });
    let mut manifest = layout.add(MANIFEST_TYPE, manifest.to_string().into_bytes());
    if let Some(fields) = manifest.as_object_mut() {
        fields.insert("platform".to_owned(), json!({"architecture": platform.architecture, "os": platform.os}));
        fields.insert("annotations".to_owned(), json!({"org.opencontainers.image.ref.name": release.version}));
    }
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest],
    });
    layout.entries.push(Entry::text("index.json", index.to_string().into_bytes()));
    layout.entries.push(Entry::text("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()));
    layout.entries.sort_by(|one, other| one.path.cmp(&other.path));
    archive::tarred(&layout.entries, release.time)
}

/// Returns the files of the only layer: the program, its licences, and folders for a workspace and for temporary files.
fn layer(contents: &[Entry]) -> io::Result<Vec<Entry>> {
    let mut layer = vec![
        Entry::folder("tmp/", 0o1777, 0),
        Entry::folder("usr/", 0o755, 0),
        Entry::folder("usr/bin/", 0o755, 0),
        Entry::program("usr/bin/bailiwick", program_of(contents)?.to_vec()),
        Entry::folder("usr/share/", 0o755, 0),
        Entry::folder("usr/share/doc/", 0o755, 0),
        Entry::folder("usr/share/doc/bailiwick/", 0o755, 0),
    ];
    let licences = contents.iter().filter(|entry| entry.path.starts_with("LICENSE"));
    layer.extend(
        licences.map(|entry| Entry { path: format!("usr/share/doc/bailiwick/{}", entry.path), ..entry.clone() }),
    );
    layer.push(Entry::folder("workspace/", 0o755, USER));
    Ok(layer)
}

/// Returns the labels, which are the annotations of the manifest, too.
fn labels(release: &Release) -> Map<String, Value> {
    let mut labels = vec![
        ("created", release.timestamp()),
        ("description", "A compiler for Kubernetes access policy".to_owned()),
        ("licenses", env!("CARGO_PKG_LICENSE").to_owned()),
    ];
    labels.extend(release.repository.iter().map(|address| ("source", address.clone())));
    labels.extend([("title", "bailiwick".to_owned()), ("version", release.version.clone())]);
    Map::from_iter(
        labels.into_iter().map(|(key, value)| (format!("org.opencontainers.image.{key}"), Value::String(value))),
    )
}

/// The files of a layout.
#[derive(Debug, Default)]
struct Layout {
    entries: Vec<Entry>,
}

impl Layout {
    /// Adds a blob, and returns its descriptor.
    fn add(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let (digest, size) = (digest(&bytes), bytes.len());
        self.entries.push(Entry::text(format!("blobs/{}", digest.replace(':', "/")), bytes));
        json!({"mediaType": media_type, "digest": digest, "size": size})
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hexadecimal(&Sha256::digest(bytes)))
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
