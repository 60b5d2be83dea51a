//! The entries of a commit that an applier would apply beside the compiled files, or would read with other bytes: submodules,
//! folders in another case, leftovers of a killed run, output files elsewhere, and files with attributes that convert them.

use std::collections::{BTreeSet, HashSet};

use bailiwick_codes as codes;
use bailiwick_compiler::delivery::SOURCE_IGNORE;
use bailiwick_compiler::emit::committed::EntryKind;
use bailiwick_compiler::emit::write::STAGING;
use bailiwick_git::attributes::{self, Attributes};
use bailiwick_git::{EntryMode, GitObjectId, GitObjectKind, TreeEntry};
use bailiwick_yaml::diag::{Diagnostic, RunError, Sink};
use bailiwick_yaml::limits::{MAXIMUM_CONVERSIONS, MAXIMUM_PATTERNS_SIZE};

use super::judged_files::JudgedTree;
use super::left_behind::{self, NotJudged};
use super::steered::{self, PatternFile};
use super::unclaimed::{in_another_case, is_below, is_below_in_another_case, is_manifest_name, submodule};
use super::words::number;
use super::workspace::Workspace;

/// How many inputs are named.
const NAMED_INPUTS: usize = 5;

/// Judges the entries of a commit that are no output files, and returns the number of output files elsewhere that are not judged.
///
/// # Errors
/// When the repository lacks an object.
pub(super) fn judge(workspace: &Workspace, tree: &JudgedTree, sink: &mut Sink) -> Result<NotJudged, RunError> {
    let written: Vec<&str> = workspace.project.workspace.written_folders().collect();
    for (path, kind, _) in tree.files().entries() {
        let path = path.as_str();
        let is_written = written.iter().any(|folder| is_below(path, folder));
        if written.iter().any(|folder| is_below_in_another_case(path, folder)) {
            sink.push(in_another_case(path, "the commit"));
        } else if kind == EntryKind::Submodule && (is_written || written.iter().any(|folder| is_below(folder, path))) {
            sink.push(submodule(path));
        }
    }
    for folder in &written {
        if let Some((path, _)) = tree.files().below(&format!("{folder}/{STAGING}")).next() {
            let message = format!("`{path}` is what a killed run left, and is committed");
            let help = "remove the folder, and commit the removal";
            sink.push(Diagnostic::error(codes::FOLDER_IN_OUTPUT, message).help(help));
        }
        for path in OtherCases::of(tree, folder)? {
            sink.push(in_another_case(&path, "the commit"));
        }
    }
    judge_attributes(workspace, tree, sink)?;
    let outside = manifests_outside(workspace, tree);
    let overrides = source_overrides(tree, &outside);
    steered::judge(workspace, tree.prefix(), &overrides, &patterns_of(workspace, tree)?, sink)?;
    left_behind::judge(workspace, &outside, sink)
}

/// Returns the paths of the manifests of a commit outside the folders that a run writes.
pub(super) fn manifests_outside(workspace: &Workspace, tree: &JudgedTree) -> BTreeSet<String> {
    let written: Vec<&str> = workspace.project.workspace.written_folders().collect();
    let files = tree.files().entries().filter(|(_, kind, _)| *kind == EntryKind::File).map(|(path, ..)| path);
    // A path in another case is reported on its own.
    let is_of = |path: &str, folder: &&str| is_below(path, folder) || is_below_in_another_case(path, folder);
    files.filter(|path| is_manifest_name(path) && !written.iter().any(|folder| is_of(path, folder))).collect()
}

/// Returns the paths of the files with parameters for Argo CD: in the workspace, and in the folders around it.
fn source_overrides(tree: &JudgedTree, outside: &BTreeSet<String>) -> Vec<String> {
    let names = tree.files().above().iter().flat_map(|above| above.entries.iter().map(|entry| (&above.path, entry)));
    let above = names.map(|(folder, entry)| {
        let name = String::from_utf8_lossy(&entry.name);
        if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") }
    });
    let below = outside.iter().map(|path| format!("{}{path}", tree.prefix()));
    above.chain(below).filter(|path| steered::is_source_override(path)).collect()
}

/// Reads the files of patterns of Flux in the folders around the folders that a run writes.
fn patterns_of(workspace: &Workspace, tree: &JudgedTree) -> Result<Vec<PatternFile>, RunError> {
    let mut found = Vec::new();
    for path in steered::pattern_paths_of(workspace, tree.prefix()) {
        let folder = path.strip_suffix(SOURCE_IGNORE).map_or("", |folder| folder.trim_end_matches('/'));
        let is_it = |entry: &&TreeEntry| entry.name == SOURCE_IGNORE.as_bytes() && entry.mode == EntryMode::File;
        let above = tree.files().above().iter().find(|above| above.path == folder);
        let of_above = above.and_then(|above| above.entries.iter().find(is_it)).map(|entry| entry.id);
        let below = || path.strip_prefix(tree.prefix()).and_then(|path| tree.files().file_id(path));
        if let Some(id) = of_above.or_else(below) {
            let bytes = tree.read_blob(&id, &path, MAXIMUM_PATTERNS_SIZE as u64)?;
            found.push(PatternFile { text: String::from_utf8_lossy(&bytes).into_owned(), path });
        }
    }
    Ok(found)
}

/// Reports the first output file that a checkout writes with other bytes.
fn judge_attributes(workspace: &Workspace, tree: &JudgedTree, sink: &mut Sink) -> Result<(), RunError> {
    let written: Vec<&str> = workspace.project.workspace.written_folders().collect();
    let mut attributes = attributes_of(tree, &written)?;
    attributes.retain_conversions();
    if attributes.count() == 0 {
        return Ok(());
    }
    let is_output = |path: &str, kind| kind == EntryKind::File && written.iter().any(|folder| is_below(path, folder));
    let files = || tree.files().entries().filter(|(path, kind, _)| is_output(path, *kind)).map(|(path, ..)| path);
    check_pairs(attributes.count(), files().count(), tree.revision())?;
    let attribute = |path: &str| attributes.conversion(&format!("{}{path}", tree.prefix()));
    let mut converted = files().filter_map(|path| Some((attribute(&path)?, path)));
    let Some((attribute, path)) = converted.next() else { return Ok(()) };
    let message = format!("a checkout writes other bytes than `{path}` has in git: its attribute is `{attribute}`");
    let found = Diagnostic::error(codes::CONVERTED_OUTPUT, message);
    let found = match converted.count() {
        0 => found,
        more => found.note(format!("and {}", number(more, "more file"))),
    };
    let folder = written.iter().find(|folder| is_below(&path, folder)).map_or(path.as_str(), |folder| folder);
    sink.push(found.help(format!(
        "add a last line to `{}` at the root: `/{}{folder}/** -text -ident !filter !working-tree-encoding`",
        attributes::FILE_NAME,
        tree.prefix()
    )));
    Ok(())
}

/// Refuses a number of converting lines and files whose comparison takes minutes.
fn check_pairs(lines: usize, files: usize, revision: &str) -> Result<(), RunError> {
    if lines.saturating_mul(files) <= MAXIMUM_CONVERSIONS {
        return Ok(());
    }
    let message = format!("the attributes in `{revision}` have too many lines that convert files");
    let help = format!(
        "at most {MAXIMUM_CONVERSIONS} pairs of a line and a file are compared: remove lines with a conversion from `{}`",
        attributes::FILE_NAME
    );
    Err(RunError::new(message).help(help))
}

/// Reads the attributes of the folders that hold a written folder or are below one. Git reads no link.
fn attributes_of(tree: &JudgedTree, written: &[&str]) -> Result<Attributes, RunError> {
    let mut found: Vec<(String, GitObjectId)> = Vec::new();
    for above in tree.files().above() {
        let is_it =
            |entry: &&TreeEntry| entry.name == attributes::FILE_NAME.as_bytes() && entry.mode == EntryMode::File;
        found.extend(above.entries.iter().find(is_it).map(|entry| (above.path.clone(), entry.id)));
    }
    for (path, kind, id) in tree.files().entries() {
        let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |parts| parts);
        let concerns = |written: &&str| folder.is_empty() || is_below(written, folder) || is_below(folder, written);
        if name == attributes::FILE_NAME && kind == EntryKind::File && written.iter().any(concerns) {
            found.push((format!("{}{folder}", tree.prefix()).trim_end_matches('/').to_owned(), id));
        }
    }
    // The attributes of a folder come behind the attributes of the folders around it.
    found.sort_by_key(|(folder, _)| folder.len());
    let mut attributes = Attributes::default();
    for (folder, id) in found {
        let shown = format!("{folder}/{}", attributes::FILE_NAME);
        attributes.add(&folder, &tree.read_blob(&id, shown.trim_start_matches('/'), MAXIMUM_PATTERNS_SIZE as u64)?);
    }
    Ok(attributes)
}

/// The search for folders whose paths differ from the path of a written folder in their case alone, and begin to differ above the
/// workspace.
struct OtherCases<'t> {
    tree: &'t JudgedTree,
    /// The folders that do not lead there, with the number of the names that are to come.
    known: HashSet<(GitObjectId, usize)>,
}

impl<'t> OtherCases<'t> {
    /// Returns the paths below the root of the work tree, up to the name that differs.
    fn of(tree: &'t JudgedTree, folder: &str) -> Result<Vec<String>, RunError> {
        let path = format!("{}{folder}", tree.prefix());
        let names: Vec<&str> = path.split('/').collect();
        let mut search = Self { tree, known: HashSet::new() };
        let mut found = Vec::new();
        for (above, names) in tree.files().above().iter().zip((0..).map_while(|depth| names.get(depth..))) {
            let Some((name, rest)) = names.split_first() else { break };
            for entry in &above.entries {
                if entry.name != name.as_bytes() && entry.name.eq_ignore_ascii_case(name.as_bytes()) {
                    let shown = format!("{}/{}", above.path, String::from_utf8_lossy(&entry.name));
                    let shown = shown.trim_start_matches('/');
                    if search.leads(entry, rest, shown)? {
                        found.push(shown.to_owned());
                    }
                }
            }
        }
        Ok(found)
    }

    /// Searches these names, in any case, below an entry. Returns whether they are there.
    fn leads(&mut self, entry: &TreeEntry, names: &[&str], shown: &str) -> Result<bool, RunError> {
        let Some((name, rest)) = names.split_first() else { return Ok(true) };
        if entry.mode != EntryMode::Folder || !self.known.insert((entry.id, names.len())) {
            return Ok(false);
        }
        for below in self.tree.files().folder(&entry.id, shown)? {
            if below.name.eq_ignore_ascii_case(name.as_bytes()) && self.leads(&below, rest, shown)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns a sentence about inputs on disk that the judged commit has not, or has with another content; none if the policies
/// are compiled from the files of the commit.
pub fn uncommitted_inputs(workspace: &Workspace) -> Option<String> {
    let tree = workspace.tree.as_ref()?;
    let files = &workspace.project.files;
    let is_committed = |path: &str, text: &str| {
        let id = tree.files().file_id(path);
        id.is_some_and(|id| id.format().id(GitObjectKind::Blob, text.as_bytes()) == Ok(id))
    };
    let mut changed = BTreeSet::new();
    for id in files.ids() {
        let file = files.get(id);
        if !is_committed(file.path(), &file.passing_text()) && workspace.root.join(file.path()).is_file() {
            changed.insert(file.path().to_owned());
        }
    }
    let named: Vec<String> = changed.iter().take(NAMED_INPUTS).map(|path| format!("`{path}`")).collect();
    let more = changed.len().saturating_sub(NAMED_INPUTS);
    let more = if more > 0 { format!(" and {}", number(more, "more file")) } else { String::new() };
    (!named.is_empty()).then(|| {
        format!(
            "the files on disk are compiled, and these are not as in `{}`: {}{more}",
            tree.revision(),
            named.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_convert_files_have_a_limit() {
        assert!(check_pairs(5_000, 1_000, "HEAD").is_ok());
        assert!(check_pairs(5_000, 1_001, "HEAD").is_err_and(|error| error.to_string().contains("too many lines")));
        assert!(check_pairs(usize::MAX, 2, "HEAD").is_err());
    }
}
