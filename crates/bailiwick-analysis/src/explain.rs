//! Explains parts of a workspace: a file of its output, and a compiled role.

mod default_policy;
mod object;

use std::path::{Path, PathBuf};

use bailiwick_codes as codes;
use bailiwick_compiler::compile::{ObjectForm, OutputFile};
use bailiwick_compiler::emit::committed::Differing;
use bailiwick_policy::model::Target;
use bailiwick_workspace::words::place_text;
use bailiwick_workspace::workspace::{Workspace, normal};
use bailiwick_workspace::{Diagnostics, Error};
use bailiwick_yaml::diag::{Diagnostic, FileId, RunError, Sink, nearest};
use bailiwick_yaml::{self as yaml, NodeRef, Tree};
use schemars::JsonSchema;
use serde::Serialize;

pub use self::default_policy::DefaultPolicy;
pub use self::object::ObjectName;

/// A file of the output, with the policies that make its objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplainedFile {
    /// The name of the target.
    pub target: String,
    /// The path below the folder of the target.
    pub path: String,
    /// The objects in the order of the file.
    pub objects: Vec<ExplainedObject>,
    /// The file in the output folder.
    pub state: FileState,
}

/// An object of an output file, with the policy that makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplainedObject {
    /// The identity of the object.
    pub object: ObjectIdentity,
    /// The policy that generates the object; none for an object that only the output folder has.
    pub policy: Option<PolicyName>,
    /// The place in the policy, as `path:line:column`.
    pub place: String,
}

/// The identity of an object, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectIdentity {
    /// The group and version of the API.
    pub api_version: Option<String>,
    /// The kind, such as `RoleBinding`; none if the object states no text for it.
    pub kind: Option<String>,
    /// The namespace; none for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The name in `metadata`; none if the object states no text for it.
    pub name: Option<String>,
}

/// The kind and the name of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PolicyName {
    /// The policy kind, such as `Tenancy`.
    pub kind: String,
    /// The name in `metadata` of the policy.
    pub name: String,
}

/// The file in the output folder, compared with the compiled file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// It is as compiled.
    Same,
    /// It is not there.
    Missing,
    /// It has other content.
    Different,
}

/// A search for a compiled role.
#[derive(Debug)]
pub struct RoleSearch<'w> {
    /// The first role that was found, with its target.
    pub found: Option<(&'w Target, Tree)>,
    /// The diagnostics of the targets that were compiled.
    pub diagnostics: Diagnostics,
    /// The names of the roles of these targets, sorted.
    pub known: Vec<String>,
}

/// Lists the objects of an output file with the policies that make them. The path begins in the working directory.
///
/// # Errors
/// When the policies do not make the file, or cannot be compiled.
pub fn explain_file(workspace: &Workspace, path: &str) -> Result<ExplainedFile, Error> {
    let refuse = |message: String, help: String| {
        Err(Error::invalid(Diagnostic::error(codes::INVALID_USAGE, message).help(help)))
    };
    let output = &workspace.project().workspace.output;
    let Some(below) = below_output(workspace, path)? else {
        return refuse(format!("`{path}` is not a file of the output"), format!("the output is below `{output}`"));
    };
    let (target, inner) = below.split_once('/').unwrap_or((&below, ""));
    let targets = &workspace.project().workspace.targets;
    let Some(target) = targets.iter().find(|known| known.name == target) else {
        let names: Vec<&str> = targets.iter().map(|known| &*known.name).collect();
        let help = format!("the targets are: {}", names.join(", "));
        return refuse(format!("`{path}` is not in the folder of a target"), help);
    };
    let folder = workspace.files().output(output, Some(&target.name));
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
    workspace.compile_files(target, ObjectForm::Json, &work, &mut each, &mut sink)?;
    if sink.has_errors() {
        return Err(Error::Invalid(workspace.diagnostics(sink)));
    }
    let Some((file, state)) = made else {
        let near = nearest(inner, paths.iter().map(String::as_str));
        let near = near.map(|near| format!("{output}/{}/{near}", target.name));
        return refuse(format!("no policy makes `{path}`"), help_without_policy(folder.read(inner)?.is_some(), near));
    };
    let objects = file.json.iter().zip(file.origins.iter()).map(|(object, origin)| {
        let policy = workspace.project().policy_at(*origin);
        ExplainedObject {
            object: ObjectIdentity::read(object),
            policy: policy.map(|policy| PolicyName { kind: policy.kind.to_string(), name: (*policy.name).to_owned() }),
            place: place_text(*origin, &workspace.project().files),
        }
    });
    let state = match state {
        Differing::Same => FileState::Same,
        Differing::Missing => FileState::Missing,
        Differing::Different(_) => FileState::Different,
    };
    Ok(ExplainedFile { target: target.name.clone(), objects: objects.collect(), path: file.path.clone(), state })
}

/// Returns a path below the output folder, with `/` between its parts; none elsewhere. The path is relative to the working
/// directory.
fn below_output(workspace: &Workspace, path: &str) -> Result<Option<String>, RunError> {
    let (start, root) = if workspace.files().is_folder() { real_folders(workspace)? } else { Default::default() };
    let output = root.join(&workspace.project().workspace.output);
    let path = normal(&start.join(path));
    let below = path.strip_prefix(&output).ok().map(Path::to_string_lossy);
    Ok(below.filter(|below| !below.is_empty()).map(std::borrow::Cow::into_owned))
}

/// Returns the working directory and the folder of the workspace, without links.
fn real_folders(workspace: &Workspace) -> Result<(PathBuf, PathBuf), RunError> {
    let start = std::env::current_dir()
        .and_then(|start| start.canonicalize())
        .map_err(|error| RunError::io("find", Path::new("."), &error))?;
    let root = workspace.root().canonicalize().map_err(|error| RunError::io("find", workspace.root(), &error))?;
    Ok((start, root))
}

/// Searches targets for a compiled role, and stops at the first one. Without a namespace a ClusterRole or the first Role is
/// found.
///
/// # Errors
/// When the run fails. Invalid policies are reported among the diagnostics.
pub fn find_role<'w>(
    workspace: &Workspace,
    targets: &[&'w Target],
    name: &str,
    namespace: Option<&str>,
) -> Result<RoleSearch<'w>, Error> {
    let mut known: Vec<String> = Vec::new();
    let mut sink = Sink::new();
    let mut found = None;
    for target in targets {
        let mut first: Option<String> = None;
        let mut each = |roles: Vec<FoundRole>| {
            for role in roles {
                let is_wanted = role.name == name && namespace.is_none_or(|namespace| namespace == role.namespace);
                if is_wanted && first.is_none() {
                    first = Some(role.text);
                }
                known.push(role.name);
            }
        };
        workspace.compile_files(target, ObjectForm::Text, &|file| Ok(roles(&file.text)), &mut each, &mut sink)?;
        if let Some(text) = first.filter(|_| !sink.has_errors()) {
            found = Some((*target, yaml::read(&text, FileId::default(), &mut Sink::new())));
            break;
        }
    }
    known.sort();
    known.dedup();
    Ok(RoleSearch { found, diagnostics: workspace.diagnostics(sink), known })
}

impl ObjectIdentity {
    fn read(object: &str) -> Self {
        let object: serde_json::Value = serde_json::from_str(object).unwrap_or_default();
        let text = |pointer: &str| object.pointer(pointer).and_then(serde_json::Value::as_str).map(str::to_owned);
        Self {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }
}

/// Returns the help for a file that no policy makes; `near` is the path of a compiled file with nearly the same name.
fn help_without_policy(is_there: bool, near: Option<String>) -> String {
    match near {
        _ if is_there => {
            "the file is there; `bailiwick render` removes it, and `bailiwick check` reports it".to_owned()
        }
        Some(near) => format!("did you mean `{near}`?"),
        None => "`bailiwick render` writes every file that the policies make".to_owned(),
    }
}

/// A role of the output, as text of its own.
struct FoundRole {
    name: String,
    namespace: String,
    text: String,
}

fn roles(file: &str) -> Vec<FoundRole> {
    let tree = yaml::read(file, FileId::default(), &mut Sink::new());
    let text =
        |root: NodeRef<'_>, keys: &[&str]| root.path(keys).and_then(NodeRef::as_str).unwrap_or_default().to_owned();
    tree.documents()
        .filter(|root| matches!(text(*root, &["kind"]).as_str(), "Role" | "ClusterRole"))
        .map(|root| {
            let mut document = String::new();
            yaml::write::document(root, &mut document);
            FoundRole {
                name: text(root, &["metadata", "name"]),
                namespace: text(root, &["metadata", "namespace"]),
                text: document,
            }
        })
        .collect()
}
