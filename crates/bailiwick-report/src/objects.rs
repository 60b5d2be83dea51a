//! The objects that `render --stdout` prints.

use bailiwick_workspace::CompiledFile;
use bailiwick_yaml::diag::foreign;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::result::{CommandResult, VERSION};

/// An object of an output file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RenderedObject {
    /// The path of the file below the folder of the target.
    pub path: String,
    /// The position of the object in the file, from 0.
    pub index: usize,
    /// The manifest.
    pub object: Value,
}

impl CommandResult for RenderedObject {
    const NAME: &'static str = "render";
}

/// Returns the objects of a file as JSON, each a [`RenderedObject`] on one line. The text of an object is not read again.
pub fn json_lines(file: &CompiledFile) -> String {
    let path = Value::from(file.path.as_str());
    let line = |(index, object): (usize, &String)| {
        let line = format!("{{\"version\": {VERSION}, \"path\": {path}, \"index\": {index}, \"object\": {object}}}\n");
        foreign::json(&line).into_owned()
    };
    file.objects.iter().enumerate().map(line).collect()
}
