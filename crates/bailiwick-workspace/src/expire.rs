//! Moves `spec.expiry.asOf` of the workspace file to a day.

use bailiwick_codes as codes;
use bailiwick_compiler::compile::WORKSPACE_FILE;
use bailiwick_compiler::emit::writer;
use bailiwick_policy::model::Date;
use bailiwick_policy::source::{DiskSource, FileContent, FileSource};
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, RunError, Span};
use bailiwick_yaml::limits::MAXIMUM_FILE_SIZE;

use super::workspace::Workspace;
use super::{Diagnostics, Error, Options};

/// The change of `spec.expiry.asOf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedDay {
    /// The day in the file before the run.
    pub before: Date,
    /// The day in the file after the run: the wanted day, or an unchanged later day.
    pub after: Date,
}

/// Writes a day into `spec.expiry.asOf`, and changes nothing else in the workspace file. An equal or later day stays:
/// an earlier day would return permissions that are over.
///
/// # Errors
/// When the policies cannot be linked, the file has no such field, or the file cannot be written.
pub fn expire(options: &Options, day: Date) -> Result<MovedDay, Error> {
    let workspace = Workspace::open(options)?;
    let Some(Spanned { value: before, origin }) = workspace.project.workspace.expiry.as_of else {
        let ids = workspace.project.files.ids();
        let file = ids.into_iter().find(|id| workspace.project.files.get(*id).path() == WORKSPACE_FILE);
        let place = file.map(|file| Origin { file, span: Span::default() });
        return Err(refusal(&workspace, "the workspace has no `spec.expiry.asOf`", place, day));
    };
    if before < day {
        let file = workspace.project.files.get(origin.file);
        let Some(text) = with_day(file.text(), origin.span, before, day) else {
            return Err(refusal(&workspace, "`asOf` is not a plain or quoted scalar", Some(origin), day));
        };
        replace_workspace_file(&workspace, file.text(), &text)?;
    }
    Ok(MovedDay { before, after: before.max(day) })
}

/// Replaces the text of the workspace file. A byte order mark stays.
fn replace_workspace_file(workspace: &Workspace, before: &str, after: &str) -> Result<(), RunError> {
    let (disk, path) = (DiskSource::new(&workspace.root), workspace.root.join(WORKSPACE_FILE));
    let content = disk.read(WORKSPACE_FILE, MAXIMUM_FILE_SIZE as u64)?;
    let mark = match &content {
        FileContent::Bytes(bytes) if !disk.is_link(WORKSPACE_FILE) => bytes.strip_suffix(before.as_bytes()),
        _ => None,
    };
    let Some(mark) = mark.filter(|mark| mark.is_empty() || *mark == BYTE_ORDER_MARK) else {
        let message = format!("cannot change `{}`: it is a link, or not UTF-8, or it changed", path.display());
        return Err(RunError::new(message).help("write `asOf` by hand, or run the command again"));
    };
    let text = [mark, after.as_bytes()].concat();
    let replaced = writer::replace(&path, &text);
    replaced.map_err(|error| RunError::io("write", &path, &error))
}

/// The UTF-8 form of U+FEFF at the beginning of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Replaces a day in a text. None if its scalar has tags, escapes or several lines.
fn with_day(text: &str, place: Span, before: Date, after: Date) -> Option<String> {
    let (start, end) = (place.start as usize, place.end as usize);
    let (scalar, before) = (text.get(start..end)?, before.to_string());
    let is_simple = [before.clone(), format!("\"{before}\""), format!("'{before}'")].iter().any(|form| form == scalar);
    let new = scalar.replace(&before, &after.to_string());
    is_simple.then(|| [text.get(..start), Some(&*new), text.get(end..)].into_iter().flatten().collect())
}

/// Returns the error of a workspace file with a day that cannot be moved.
fn refusal(workspace: &Workspace, message: &str, place: Option<Origin>, day: Date) -> Error {
    let problem = Diagnostic::error(codes::INVALID_WORKSPACE, message)
        .help(format!("write `asOf: \"{day}\"` below `spec.expiry` of `{WORKSPACE_FILE}`"));
    let problem = place.into_iter().fold(problem, Diagnostic::at);
    Error::Invalid(Diagnostics::new(vec![problem], &workspace.project.files))
}
