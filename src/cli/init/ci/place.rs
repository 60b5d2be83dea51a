//! The place of a workspace in its repository.

use std::path::{Path, PathBuf};

use crate::app::workspace::normal;
use crate::diag::{RunError, foreign};
use crate::git;
use crate::source::{DiskSource, FileContent, FileSource as _};
use crate::yaml::limits::MAXIMUM_TREE_SIZE;

use super::Forge;

/// The most characters of the name of a workflow.
const MAXIMUM_STEM: usize = 100;

/// A workspace, and the root of its git work tree. Git is not started, and its configuration is not read.
#[derive(Debug, Clone)]
pub(in crate::cli::init) struct WorkspacePlace {
    /// The folder of the workspace. It need not exist.
    workspace: PathBuf,
    /// The root of the work tree; the workspace itself without one.
    root: PathBuf,
    /// The path of the workspace below the root; empty for the root.
    below: String,
}

/// A place for which no CI files can be written.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli::init) enum PlaceError {
    #[error("CI files cannot name the folder `{0}`: {1}")]
    Folder(String, &'static str),
    #[error("`{0}` leads out of the repository")]
    Outside(String),
}

impl WorkspacePlace {
    /// Finds the root of the work tree by walking up from a folder.
    pub(in crate::cli::init) fn find(
        folder: &Path,
        forge: Option<Forge>,
    ) -> Result<Result<Self, PlaceError>, RunError> {
        let folder_above = |path: &Path| path.ancestors().find(|above| above.is_dir()).map(Path::to_owned);
        let absolute = std::path::absolute(folder).map_err(|error| RunError::io("find", folder, &error))?;
        let absolute = if absolute.is_dir() { absolute } else { normal(&absolute) };
        let Some(existing) = folder_above(&absolute) else {
            return Err(RunError::new(format!("there is no folder above `{}`", absolute.display())));
        };
        let real = existing.canonicalize().map_err(|error| RunError::io("find", &existing, &error))?;
        let new = absolute.strip_prefix(&existing).map_or_else(|_| PathBuf::new(), Path::to_owned);
        let workspace = real.join(new);
        let root = match git::work_tree(&real) {
            Some(root) => root,
            None => workspace.clone(),
        };
        let below = workspace.strip_prefix(&root).map_or_else(|_| PathBuf::new(), Path::to_owned);
        Ok(Self::check_folder(&below, forge).map(|below| Self { workspace, root, below }))
    }

    /// Checks that CI files can name a folder, where a forge looks for expressions.
    fn check_folder(folder: &Path, forge: Option<Forge>) -> Result<String, PlaceError> {
        let shown = foreign::line(&folder.to_string_lossy()).into_owned();
        let refused = |reason| Err(PlaceError::Folder(shown.clone(), reason));
        let Some(forge) = forge else { return Ok(shown) };
        let Some(text) = folder.to_str() else { return refused("its name is not UTF-8") };
        match forge {
            _ if shown != text => refused("its name has hidden characters"),
            Forge::Github if text.contains("${{") => refused("GitHub evaluates `${{`"),
            Forge::Gitlab if text.contains('$') => refused("GitLab evaluates `$`"),
            Forge::Github | Forge::Gitlab if text.chars().count() > MAXIMUM_STEM => refused("its path is too long"),

            Forge::Github | Forge::Gitlab => Ok(text.to_owned()),
        }
    }

    /// Returns the path of the workspace below the root; empty for the root.
    pub(in crate::cli::init) fn below(&self) -> &str {
        &self.below
    }

    /// Returns the name of the workflow: letters, digits and `-._` alone.
    pub(in crate::cli::init) fn stem(&self) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
        let slug: String = self.below.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        if slug.is_empty() { "bailiwick".to_owned() } else { format!("bailiwick-{slug}") }
    }

    /// Returns a path below the root of the work tree.
    pub(in crate::cli::init) fn at_root(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns a path below the workspace.
    pub(in crate::cli::init) fn in_workspace(&self, path: &str) -> PathBuf {
        self.workspace.join(path)
    }

    /// Returns a path as it is printed: from the workspace, or the whole path outside of it.
    pub(in crate::cli::init) fn shown(&self, path: &Path) -> (String, bool) {
        match path.strip_prefix(&self.workspace) {
            Ok(inside) => (inside.display().to_string(), true),
            Err(_) => (path.display().to_string(), false),
        }
    }

    /// Whether a file at the root is there and begins with another line than a text.
    pub(in crate::cli::init) fn has_other_file(&self, path: &str, text: &str) -> bool {
        let found = DiskSource::new(&self.root).read(path, MAXIMUM_TREE_SIZE as u64);
        let first_line = |text: &[u8]| text.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
        match found.as_ref().ok().and_then(FileContent::bytes) {
            Some(found) => first_line(found) != first_line(text.as_bytes()),
            None => self.at_root(path).symlink_metadata().is_ok(),
        }
    }

    /// Checks that a file to write is in the repository, with every link on its path resolved.
    pub(in crate::cli::init) fn check(&self, path: &Path) -> Result<(), PlaceError> {
        let existing =
            path.parent().and_then(|parent| parent.ancestors().find(|above| above.symlink_metadata().is_ok()));
        let is_inside = |existing: &Path| match existing.canonicalize() {
            // A folder above the root is there before a new workspace is.
            Ok(real) => real.starts_with(&self.root) || !existing.starts_with(&self.root),
            Err(_) => false,
        };
        match existing.is_some_and(is_inside) {
            true => Ok(()),
            false => Err(PlaceError::Outside(path.display().to_string())),
        }
    }
}
