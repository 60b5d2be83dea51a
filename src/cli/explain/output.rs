//! `bailiwick explain out/TARGET/FILE`.

use std::path::Path;

use serde_json::json;

use super::super::can_i::AnswerForm;
use super::super::printing::refuse_usage;
use super::super::workspaces::{tell, with_targets};
use super::super::{Global, Outcome};
use super::Arguments;
use crate::app::workspace::normal;
use crate::app::{Error, Workspace};
use crate::compile::{OutputFile, Wanted};
use crate::diag::{RunError, Sink, nearest};
use crate::emit::committed::{Committed, Differing, Folder};
use crate::report::access::place_text;
use crate::report::json;
use crate::report::page::Page;

/// Whether a word of the command line is the path of a file and not the name of something.
pub(super) fn is_path(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "yaml")
}

/// Lists each object of an output file with the policy that makes it.
pub(super) fn explain(global: &Global, arguments: &Arguments, word: &str) -> Result<Outcome, Error> {
    with_targets(global, &[], |workspace, _| {
        let Some(path) = below_output(workspace, word)? else {
            let help = format!("the output is below `{}`", workspace.project.workspace.output);
            return Ok(refuse_usage(global, format!("`{word}` is not a file of the output"), help));
        };
        let (target, inner) = path.split_once('/').unwrap_or((&path, ""));
        let Some(target) = workspace.project.workspace.targets.iter().find(|known| known.name == target) else {
            let names: Vec<&str> = workspace.project.workspace.targets.iter().map(|known| &*known.name).collect();
            let help = format!("the targets are: {}", names.join(", "));
            return Ok(refuse_usage(global, format!("`{word}` is not in the folder of a target"), help));
        };
        let folder = Folder::new(workspace.output().join(&target.name));
        let mut made: Option<(OutputFile, Differing)> = None;
        let mut paths: Vec<String> = Vec::new();
        let work = |file: OutputFile| {
            let state = (file.path == inner).then(|| folder.differing(&file.path, &file.text)).transpose()?;
            Ok(match state {
                Some(state) => (file.path.clone(), Some((file, state))),
                None => (file.path, None),
            })
        };
        let mut each = |(path, found): (String, Option<(OutputFile, Differing)>)| {
            paths.push(path);
            made = made.take().or(found);
        };
        let mut sink = Sink::new();
        workspace.compile_files(target, Wanted::Json, &work, &mut each, &mut sink)?;
        if sink.has_errors() {
            return Ok(tell(global, workspace.diagnostics(sink)));
        }
        let Some((file, state)) = made else {
            let help = match folder.read(inner)? {
                Some(_) => {
                    "the file is there; `bailiwick render` removes it, and `bailiwick check` reports it".to_owned()
                }
                None => nearest(inner, paths.iter().map(String::as_str)).map_or_else(
                    || "`bailiwick render` writes every file that the policies make".to_owned(),
                    |near| format!("did you mean `{}/{}/{near}`?", workspace.project.workspace.output, target.name),
                ),
            };
            return Ok(refuse_usage(global, format!("no policy makes `{word}`"), help));
        };
        print_objects(global, workspace, arguments.format, &target.name, &file);
        let note = match state {
            Differing::Same => return Ok(Outcome::Fine),
            Differing::Missing => "is not there yet; `bailiwick render` writes it",
            Differing::Different(_) => "has other content than this; `bailiwick diff` shows the difference",
        };
        global.terminal().note(&format!("note: `{word}` {note}\n"));
        Ok(Outcome::Fine)
    })
}

/// The path of a word below the output folder, with `/` between its parts; none elsewhere. The word is relative to the
/// working directory.
fn below_output(workspace: &Workspace, word: &str) -> Result<Option<String>, RunError> {
    let start = std::env::current_dir()
        .and_then(|start| start.canonicalize())
        .map_err(|error| RunError::io("find", Path::new("."), &error))?;
    let root = workspace.root.canonicalize().map_err(|error| RunError::io("find", &workspace.root, &error))?;
    let output = root.join(&workspace.project.workspace.output);
    let path = normal(&start.join(word));
    let below = path.strip_prefix(&output).ok().map(Path::to_string_lossy);
    Ok(below.filter(|below| !below.is_empty()).map(std::borrow::Cow::into_owned))
}

/// Prints each object of a file with the place in the policies that it is made of.
fn print_objects(global: &Global, workspace: &Workspace, format: AnswerForm, target: &str, file: &OutputFile) {
    let files = &workspace.project.files;
    let mut page = Page::new();
    for (object, origin) in file.json.iter().zip(file.origins.iter()) {
        let object: serde_json::Value = serde_json::from_str(object).unwrap_or_default();
        let text_of = |pointer: &str| object.pointer(pointer).and_then(serde_json::Value::as_str);
        let policy = workspace.project.policy_at(*origin);
        let at = place_text(*origin, files);
        match format {
            AnswerForm::Text => {
                let namespace = text_of("/metadata/namespace").map_or_else(String::new, |name| format!("{name}/"));
                let kind = text_of("/kind").unwrap_or_default();
                let name = text_of("/metadata/name").unwrap_or_default();
                let policy = policy.map_or_else(String::new, |policy| format!("{} {} ", policy.kind, policy.name));
                writeln!(page, "{kind} {namespace}{name} <- {policy}({at})");
            }
            AnswerForm::Json => page.append(&json::line(&json!({
                "target": target,
                "path": file.path,
                "object": {
                    "apiVersion": text_of("/apiVersion"),
                    "kind": text_of("/kind"),
                    "namespace": text_of("/metadata/namespace"),
                    "name": text_of("/metadata/name"),
                },
                "policy": policy.map(|policy| json!({ "kind": policy.kind, "name": &*policy.name })),
                "place": at,
            }))),
        }
    }
    global.terminal().result(&page.finish());
}
