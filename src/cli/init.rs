//! `bailiwick init`.

mod ci;

use std::path::PathBuf;

use clap::Args;

use super::printing::refuse_usage;
use super::{Global, Outcome, schema};
use crate::app::Error;
use crate::compile::WORKSPACE_FILE;
use crate::diag::RunError;
use crate::emit::write;
use crate::report::human;

/// Options of `init`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folder of the new workspace. Default: the current folder.
    folder: Option<PathBuf>,
    /// Also write a GitHub Actions workflow and Kubernetes Jobs to compile the workspace in parts. An existing workspace
    /// is not changed.
    #[arg(long)]
    ci: bool,
    /// Number of parts in which CI compiles the workspace.
    #[arg(long, value_name = "N", default_value_t = 4, requires = "ci", value_parser = clap::value_parser!(u16).range(1..=i64::from(ci::MAXIMUM_PARTS)))]
    parts: u16,
    /// URL of an archive with the program, for the workflow
    #[arg(long, value_name = "URL", requires = "ci", value_parser = ci::url)]
    program: Option<String>,
    /// SHA-256 of that archive
    #[arg(long, value_name = "HEX", requires = "ci", value_parser = ci::sha256)]
    sha256: Option<String>,
    /// Overwrite an existing workflow and Jobs.
    #[arg(long, requires = "ci")]
    force: bool,
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

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let terminal = global.terminal();
    let folder = match &arguments.folder {
        Some(folder) => global.at(folder),
        None => global.directory.clone().unwrap_or_else(|| ".".into()),
    };
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    let only_ci = arguments.ci && is_there(WORKSPACE_FILE);
    let schemas = schema::policy_files().into_iter().map(|(name, text)| (format!("{SCHEMAS}/{name}"), text));
    let workspace = FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).chain(schemas);
    let mut files: Vec<(String, String)> = if only_ci { Vec::new() } else { workspace.collect() };
    let (settings, text) = EDITOR_SETTINGS;
    let keeps_settings = !only_ci && is_there(settings);
    if !only_ci && !keeps_settings {
        files.push((settings.to_owned(), text.to_owned()));
    }
    let program = ci::Program {
        url: arguments.program.clone().unwrap_or_else(|| option_env!("BAILIWICK_URL").unwrap_or_default().to_owned()),
        sha256: arguments.sha256.clone().unwrap_or_default(),
    };
    let for_ci = if arguments.ci { ci::files(arguments.parts, &program) } else { Vec::new() };
    let in_the_way = files.iter().chain(for_ci.iter().filter(|_| !arguments.force)).find(|(name, _)| is_there(name));
    if let Some((name, _)) = in_the_way {
        let help = if only_ci {
            "`bailiwick init --ci --force` overwrites it"
        } else {
            "choose an empty folder: `bailiwick init FOLDER`"
        };
        let message = format!("`{}` is there already", folder.join(name).display());
        return Ok(refuse_usage(global, message, format!("{help}; nothing was written")));
    }
    let ci_paths: Vec<String> = for_ci.iter().map(|(name, _)| format!("`{name}`")).collect();
    files.extend(for_ci);
    for (name, text) in &files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| RunError::io("make the folder", parent, &error))?;
        }
        write::replace(&path, text.as_bytes()).map_err(|error| RunError::io("write", &path, &error))?;
    }
    if !only_ci {
        terminal
            .note("a workspace with one policy, `policies/team.yaml`; `bailiwick render` compiles it into `out/`\n");
    }
    if keeps_settings {
        terminal.note(&format!("`{settings}` is unchanged; for checks in the editor, add these settings:\n{text}"));
    }
    if arguments.ci {
        let parts = human::number(arguments.parts.into(), "part");
        terminal.note(&format!("CI in {parts}: {}; their first lines list the requirements\n", ci_paths.join(" and ")));
        if program.url.is_empty() || program.sha256.is_empty() {
            terminal.note(
                "the workflow fails until its `BAILIWICK_URL` and `BAILIWICK_SHA256` name an archive with the program and its \
                 checksum: see the release's page, or use `--program` and `--sha256`\n",
            );
        }
    }
    Ok(Outcome::Fine)
}
