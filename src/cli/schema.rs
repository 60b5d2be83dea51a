//! `bailiwick schema`.

use std::path::PathBuf;

use clap::Args;

use super::printing::refuse_usage;
use super::sandbox::Paths;
use super::{Global, Outcome};
use crate::app::Error;
use crate::diag::nearest;
use crate::emit::writer::{self, WrittenPlace};
use crate::kinds;
use crate::report::json;

/// Options of `schema`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Policy kind or result. Results are `diagnostic` (a line of `--diagnostics json`), `run` (a report), and the names of
    /// commands, such as `can-i` (a result of its `--format json`). Default: one schema for all policy kinds.
    kind: Option<String>,
    /// Write `policy.json`, `workspace.json` and one file for each kind and each result into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "kind")]
    output: Option<PathBuf>,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        Paths::default().and_writes(&self.output)
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let terminal = global.terminal();
    if let Some(folder) = arguments.output.as_ref().map(|folder| global.at(folder)) {
        let files = files();
        let placed =
            files.iter().map(|(name, text)| (WrittenPlace::Below(folder.clone(), name.clone()), text.as_str()));
        writer::replace_all(placed)?;
        return Ok(Outcome::Fine);
    }
    let Some(kind) = &arguments.kind else {
        terminal.result(&text(&any_policy()));
        return Ok(Outcome::Fine);
    };
    if let Some((_, schema)) = json::schemas().into_iter().find(|(name, _)| name == kind) {
        terminal.result(&text(&schema));
        return Ok(Outcome::Fine);
    }
    if let Some(schema) = kinds::names().find(|name| name.eq_ignore_ascii_case(kind)).and_then(kinds::schema_of) {
        terminal.result(&text(&schema));
        return Ok(Outcome::Fine);
    }
    let help = nearest(kind, kinds::names()).map_or_else(
        || format!("the kinds are: {}", kinds::names().collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    );
    Ok(refuse_usage(global, format!("there is no policy kind `{kind}`"), help))
}

/// Returns every schema file with its name.
pub(super) fn files() -> Vec<(String, String)> {
    let mut files = policy_files();
    files.extend(json::schemas().into_iter().map(|(name, schema)| (format!("{name}.json"), text(&schema))));
    files
}

/// Returns the files of the schemas of policies, with their names.
pub(super) fn policy_files() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = kinds::names()
        .filter_map(|name| Some((format!("{}.json", name.to_lowercase()), text(&kinds::schema_of(name)?))))
        .collect();
    files.push(("policy.json".to_owned(), text(&any_policy())));
    files
}

/// Returns a schema for documents of every policy kind: the kind chooses the part that counts.
fn any_policy() -> serde_json::Value {
    let arms: Vec<serde_json::Value> = kinds::ALL
        .iter()
        .map(|entry| {
            let mut schema = entry.schema.document();
            if let Some(object) = schema.as_object_mut() {
                object.remove("$schema");
            }
            serde_json::json!({
                "if": { "required": ["kind"], "properties": { "kind": { "const": entry.name } } },
                "then": schema
            })
        })
        .collect();
    let names: Vec<&str> = kinds::ALL.iter().map(|entry| entry.name).collect();
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bailiwick policy",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": { "description": "The version of the policy format.", "const": kinds::API_VERSION },
            "kind": { "description": "The policy kind.", "enum": names }
        },
        "allOf": arms
    })
}

fn text(schema: &serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(schema).unwrap_or_default();
    text.push('\n');
    text
}
