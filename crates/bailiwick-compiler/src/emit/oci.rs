//! An image layout of the Open Container Initiative: the files of a target as one layer.
//!
//! The bytes depend on the files and the annotations alone: no time, user or folder is in them, and the level of the compression is
//! fixed. Source: version 1.1 of the image specification. Argo CD 3.2 accepts one layer of
//! [`LAYER_TYPE`] (`util/oci/client.go`); the source-controller of Flux 2.9 takes the first layer.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use bailiwick_yaml::diag::RunError;
use data_encoding::HEXLOWER;
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::writer;

/// The media type of the layer.
pub const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// The media type of the configuration: the type of artifacts of Flux. Argo CD does not look at it.
const CONFIG_TYPE: &str = "application/vnd.cncf.flux.config.v1+json";
/// The media type of the manifest.
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The level of the compression. Another level is another digest.
const LEVEL: u32 = 6;

/// The files of an image layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLayout {
    /// The digest of the manifest, as `sha256:HEX`.
    pub digest: String,
    /// The content of each file by its path in the layout.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl ImageLayout {
    /// Returns the layout of an image with these files, by their paths with forward slashes, and with annotations.
    ///
    /// # Errors
    /// When a path does not fit into an archive.
    pub fn new(files: &BTreeMap<&str, &str>, annotations: &[(&str, &str)]) -> Result<Self, RunError> {
        let layer = archive(files).map_err(|error| RunError::new(format!("cannot make the archive: {error}")))?;
        let mut layout = Self { digest: String::new(), files: BTreeMap::new() };
        let config = layout.add(CONFIG_TYPE, b"{}".to_vec());
        let layer = layout.add(LAYER_TYPE, layer);
        let mut manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": [layer]});
        if let Some(fields) = manifest.as_object_mut().filter(|_| !annotations.is_empty()) {
            let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value)));
            fields.insert("annotations".to_owned(), Value::Object(Map::from_iter(annotations)));
        }
        let manifest = layout.add(MANIFEST_TYPE, manifest.to_string().into_bytes());
        layout.digest = manifest.get("digest").and_then(Value::as_str).map_or_else(String::new, str::to_owned);
        let index = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest],
        });
        layout.files.insert("index.json".to_owned(), index.to_string().into_bytes());
        layout.files.insert("oci-layout".to_owned(), json!({"imageLayoutVersion": "1.0.0"}).to_string().into_bytes());
        Ok(layout)
    }

    /// Writes the layout into a folder that does not exist or is empty. The files are written beside their place, and then moved there: a
    /// killed run leaves no half of a layout.
    ///
    /// # Errors
    /// When the folder has a file, or a file cannot be written.
    pub fn write_to(&self, output: &Path) -> Result<(), RunError> {
        writer::make_filled_folder(output, &self.files)
    }

    /// Adds a blob, and returns its descriptor.
    fn add(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let hex = HEXLOWER.encode(&Sha256::digest(&bytes));
        let descriptor = json!({"mediaType": media_type, "digest": format!("sha256:{hex}"), "size": bytes.len()});
        self.files.insert(format!("blobs/sha256/{hex}"), bytes);
        descriptor
    }
}

/// Returns a compressed archive of files, in the order of the bytes of their paths.
fn archive(files: &BTreeMap<&str, &str>) -> std::io::Result<Vec<u8>> {
    let gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::new(LEVEL));
    let mut archive = tar::Builder::new(gzip);
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(tar::EntryType::Regular);
        archive.append_data(&mut header, path, text.as_bytes())?;
    }
    let mut gzip = archive.into_inner()?;
    gzip.flush()?;
    gzip.finish()
}
