//! Files outside of the output folder with an effect on its readers: `.argocd-source*.yaml` changes the
//! parameters of a source, and `.sourceignore` leaves files out.

use std::path::Path;

use bailiwick_codes as codes;
use bailiwick_compiler::delivery::{SOURCE_IGNORE, SourceIgnore};
use bailiwick_compiler::emit::committed::Entry;
use bailiwick_kubernetes::absent;
use bailiwick_policy::model::TargetDelivery;
use bailiwick_policy::source::{DiskSource, FileContent, FileSource};
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};
use bailiwick_yaml::limits::{MAXIMUM_PATTERNS_SIZE, written_size};

use super::words::number;
use super::workspace::Workspace;
use crate::judged_files::judged_files;

/// A `.sourceignore` around a folder that a run writes.
pub(super) struct PatternFile {
    /// The path below the root of the repository.
    pub(super) path: String,
    pub(super) text: String,
}

/// Whether a path is a file with parameters of a source of Argo CD.
///
/// Source: `mergeSourceParameters` in `reposerver/repository/repository.go` of Argo CD 3.6.
pub(super) fn is_source_override(path: &str) -> bool {
    let name = absent::text(path.rsplit('/').next());
    name.starts_with(".argocd-source") && name.ends_with(".yaml")
}

/// Returns the paths of the files of patterns that reach a folder, from the root of the repository on: of the folders around
/// it. `folder` is below the root.
fn pattern_paths(folder: &str) -> impl Iterator<Item = String> {
    let ends = std::iter::once(0).chain(folder.match_indices('/').map(|(slash, _)| slash));
    ends.map(|end| {
        let above = absent::text(folder.get(..end));
        let slash = if above.is_empty() { "" } else { "/" };
        format!("{above}{slash}{SOURCE_IGNORE}")
    })
}

/// Returns the paths of the files of patterns that reach the folders that a run writes, below the path `prefix`; the file of a
/// folder comes before the files below the folder.
pub(super) fn pattern_paths_of(workspace: &Workspace, prefix: &str) -> Vec<String> {
    let written = workspace.project.workspace.written_folders();
    let of_folder = |folder: &str| pattern_paths(&format!("{prefix}{folder}")).collect::<Vec<String>>();
    let mut found: Vec<String> = written.flat_map(of_folder).collect();
    found.sort_by_cached_key(|path| (path.matches('/').count(), path.clone()));
    found.dedup();
    found
}

/// Reads files of patterns on disk, by their paths below the root of a repository.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn patterns_on_disk(top: &Path, paths: Vec<String>) -> Result<Vec<PatternFile>, RunError> {
    let disk = DiskSource::new(top.to_owned());
    let mut found = Vec::new();
    for path in paths {
        match disk.read(&path, MAXIMUM_PATTERNS_SIZE as u64)? {
            FileContent::Missing => {}
            FileContent::Bytes(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                found.push(PatternFile { path, text });
            }
            FileContent::Text(text) => found.push(PatternFile { path, text: text.as_ref().to_owned() }),
            FileContent::Refused(_) => {
                return Err(RunError::new(format!("cannot read `{path}`, which decides what Flux applies")).help(
                    format!("replace it with a regular file of at most {}", written_size(MAXIMUM_PATTERNS_SIZE as u64)),
                ));
            }
        }
    }
    Ok(found)
}

/// Returns the paths of the files of Argo CD on disk in the folders around a workspace, whose path in the repository is `below`.
///
/// # Errors
/// When a folder cannot be read.
pub(super) fn overrides_above_on_disk(top: &Path, below: &str) -> Result<Vec<String>, RunError> {
    let mut found = Vec::new();
    for path in pattern_paths(below) {
        let above = absent::text(path.strip_suffix(SOURCE_IGNORE));
        // The files of the workspace itself are listed already.
        if above.trim_end_matches('/') == below {
            continue;
        }
        let folder = top.join(above);
        let failed = |error| RunError::io("read", &folder, &error);
        for entry in folder.read_dir().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            found.extend(is_source_override(&name).then(|| format!("{above}{name}")));
        }
    }
    Ok(found)
}

/// Reports the files with an effect on the readers of the output. `overrides` are the paths of files of Argo CD in the
/// repository, and `prefix` is the path of the workspace in it, with a slash at its end.
///
/// # Errors
/// When a folder of the run cannot be read.
pub(super) fn judge(
    workspace: &Workspace,
    prefix: &str,
    overrides: &[String],
    patterns: &[PatternFile],
    sink: &mut Sink,
) -> Result<(), RunError> {
    let settings = &workspace.project.workspace;
    // Without a stated delivery, any applier may read the output.
    let may = |applies: fn(&TargetDelivery) -> bool| {
        settings.targets.iter().any(|target| target.delivery.as_ref().is_none_or(|delivery| applies(delivery)))
    };
    let below = |path: &str| path.strip_prefix(prefix).map_or_else(|| path.to_owned(), str::to_owned);
    let is_exempt = |path: &str| settings.fixtures.is_match(below(path));
    if may(|delivery| delivery.argocd.is_some()) {
        for path in overrides.iter().filter(|path| !is_exempt(path)) {
            let message = format!("`{}` changes the parameters of an application of Argo CD", below(path));
            sink.push(
                Diagnostic::error(codes::APPLIER_STEERED, message)
                    .help("remove it, or name it in `spec.fixtures` if no application has its folder as the path"),
            );
        }
    }
    let mut ignore = SourceIgnore::default();
    patterns.iter().filter(|file| !is_exempt(&file.path)).for_each(|file| ignore.add(&file.path, &file.text));
    if ignore.is_empty() || !may(|delivery| delivery.flux.is_some()) {
        return Ok(());
    }
    let mut files = Vec::new();
    for folder in settings.written_folders() {
        let entries = judged_files(workspace).folder(folder).list()?.into_iter().filter(Entry::is_file);
        files.extend(entries.map(|entry| (folder, format!("{folder}/{}", entry.path))));
    }
    let is_left_out = |path: &str| ignore.excluding(&format!("{prefix}{path}")).is_some();
    let mut left_out = files.into_iter().filter(|(_, path)| is_left_out(path));
    let Some((folder, first)) = left_out.next() else { return Ok(()) };
    let Some((file, line)) = ignore.excluding(&format!("{prefix}{first}")) else { return Ok(()) };
    let message = format!("Flux leaves out `{first}`: `{file}` has the line `{line}`");
    let more = left_out.count();
    let found = Diagnostic::error(codes::APPLIER_STEERED, message);
    let found = if more > 0 { found.note(format!("and {}", number(more, "more file"))) } else { found };
    let help = format!("remove the line, or add a line behind it that begins with `!` and has the folder `{folder}`");
    sink.push(found.help(help));
    Ok(())
}
