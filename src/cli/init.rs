//! `bailiwick init`.

mod ci;

use std::path::{Path, PathBuf};

use clap::Args;

use self::ci::{CiArguments, CiFiles, PlaceError, WorkspacePlace};
use super::printing::refuse_usage;
use super::sandbox::Paths;
use super::{Global, Outcome, schema};
use crate::app::Error;
use crate::compile::WORKSPACE_FILE;
use crate::emit::writer::{self, WrittenPlace};
use crate::git;
use crate::report::human;

/// Options of `init`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folder of the new workspace. Default: the current folder.
    folder: Option<PathBuf>,
    #[command(flatten)]
    ci: CiArguments,
}

/// The files of a new workspace, without the schemas.
const FILES: &[(&str, &str)] = &[
    (WORKSPACE_FILE, include_str!("init/bailiwick.yaml")),
    ("policies/team.yaml", include_str!("init/team.yaml")),
    (".gitattributes", include_str!("init/gitattributes")),
];

/// The settings of Visual Studio Code. The language server for YAML reads only the first line of a file for the schema of the
/// first document; with these settings it checks every document.
const EDITOR_SETTINGS: (&str, &str) = (".vscode/settings.json", include_str!("init/editor.json"));

/// The folder of the schemas that the first lines of the example name.
const SCHEMAS: &str = "schema";

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self, global: &Global) -> Paths {
        let folder = self.folder.iter().cloned().collect::<PathBuf>();
        // CI files are at the root of the work tree.
        let root = self.ci.ci.and_then(|_| git::work_tree(&global.at(&folder)));
        Paths { reads: vec![folder.clone()], writes: std::iter::once(folder).chain(root).collect() }
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let folder = match &arguments.folder {
        Some(folder) => global.at(folder),
        None => global.directory.clone().unwrap_or_else(|| ".".into()),
    };
    let ci = &arguments.ci;
    if let Some(option) = ci.mismatch() {
        return Ok(refuse_usage(global, format!("`{option}` is for GitHub"), "leave it out, or use `--ci github`"));
    }
    let place = match WorkspacePlace::find(&folder, ci.ci)? {
        Ok(place) => place,
        Err(error) => return Ok(refuse_place(global, &error)),
    };
    let is_new = ci.ci.is_none() || !is_there(&folder.join(WORKSPACE_FILE));
    let new = NewWorkspace { folder: &folder, files: if is_new { workspace_files(&folder) } else { Vec::new() } };
    let for_ci = ci.files(&place);
    let ci_files = || for_ci.iter().flat_map(|ci| &ci.files);
    if let Err(error) = ci_files().try_for_each(|(path, _)| place.check(path)) {
        return Ok(refuse_place(global, &error));
    }
    let ci_in_the_way = ci_files().map(|(path, _)| path.clone()).filter(|_| !ci.force);
    if let Some(path) = new.paths().chain(ci_in_the_way).find(|path| is_there(path)) {
        let help = match is_new {
            true => "choose an empty folder: `bailiwick init FOLDER`",
            false => "`bailiwick init --ci --force` overwrites it",
        };
        let message = format!("`{}` is there already", path.display());
        return Ok(refuse_usage(global, message, format!("{help}; nothing was written")));
    }
    let of_workspace =
        new.files.iter().map(|(name, text)| (WrittenPlace::Below(folder.clone(), name.clone()), text.as_str()));
    let of_ci = ci_files().map(|(path, text)| (WrittenPlace::Named(path.clone()), text.as_str()));
    writer::replace_all(of_workspace.chain(of_ci))?;
    tell_workspace(global, &new, is_new);
    if let Some(files) = &for_ci {
        tell_ci(global, ci, &place, files);
    }
    Ok(Outcome::Fine)
}

/// The files of a new workspace.
struct NewWorkspace<'n> {
    folder: &'n Path,
    /// Paths below the folder, and texts.
    files: Vec<(String, String)>,
}

impl NewWorkspace<'_> {
    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.files.iter().map(|(name, _)| self.folder.join(name))
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn refuse_place(global: &Global, error: &PlaceError) -> Outcome {
    refuse_usage(global, error.to_string(), "choose another folder; nothing was written")
}

/// Returns the files of a new workspace. Settings of an editor that are there already stay.
fn workspace_files(folder: &Path) -> Vec<(String, String)> {
    let schemas = schema::policy_files().into_iter().map(|(name, text)| (format!("{SCHEMAS}/{name}"), text));
    let files = FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let (settings, text) = EDITOR_SETTINGS;
    let editor = (!is_there(&folder.join(settings))).then(|| (settings.to_owned(), text.to_owned()));
    files.chain(schemas).chain(editor).collect()
}

/// Prints what a new workspace has.
fn tell_workspace(global: &Global, new: &NewWorkspace<'_>, is_new: bool) {
    let (settings, text) = EDITOR_SETTINGS;
    if !is_new {
        return;
    }
    let terminal = global.terminal();
    terminal.note("a workspace with one policy, `policies/team.yaml`; `bailiwick render` compiles it into `out/`\n");
    if !new.files.iter().any(|(name, _)| name == settings) {
        terminal.note(&format!("`{settings}` is unchanged; for checks in the editor, add these settings:\n{text}"));
    }
}

/// Prints the CI files, and what they need.
fn tell_ci(global: &Global, arguments: &CiArguments, place: &WorkspacePlace, ci: &CiFiles) {
    let terminal = global.terminal();
    let (inside, outside): (Vec<_>, Vec<_>) =
        ci.files.iter().map(|(path, _)| place.shown(path)).partition(|shown| shown.1);
    let list = |files: Vec<(String, bool)>| {
        let names: Vec<String> = files.into_iter().map(|(name, _)| format!("`{name}`")).collect();
        names.join(" and ")
    };
    let kind = arguments
        .parts
        .map_or_else(|| "CI".to_owned(), |parts| format!("CI in {}", human::number(parts.into(), "part")));
    if !inside.is_empty() {
        terminal.note(&format!("{kind}: {}; the first lines describe the file\n", list(inside)));
    }
    if !outside.is_empty() {
        terminal.note(&format!("{kind}, outside the workspace: {}\n", list(outside)));
    }
    if let Some(path) = &ci.included {
        terminal.note(&format!("add the file to `.gitlab-ci.yml`:\ninclude:\n- local: {path}\n"));
    }
    if ci.lacks_program {
        terminal.note(
            "the job fails until `BAILIWICK_URL` and `BAILIWICK_SHA256` in the file name an archive with the program and its \
             checksum: see the release's page, or use `--program` and `--sha256`\n",
        );
    }
}
