#![doc = include_str!("../README.md")]
//!
//! # Trust
//!
//! The author of a change may have written everything that a checkout holds, and a restored `.git` too. So the repository
//! is found here and not by git, which would take any folder with a `HEAD`, `objects` and `refs` for one. Git is started
//! with an empty environment and with settings that leave it no program to run: no hook, no filter, no monitor, no fetch.
//! Only plumbing commands that read objects are used. The ids of commits and trees are computed again from their bytes.

pub mod attributes;
mod config;
pub mod index;
mod names;
mod object_id;
mod objects;

use std::ffi::OsStr;
use std::io::Read;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bailiwick_yaml::diag::RunError;
use bailiwick_yaml::limits::{MAXIMUM_GIT_CONFIGURATION_SIZE, MAXIMUM_GIT_PATH_SIZE, written_size};

pub use object_id::{CollisionError, GitObjectId, GitObjectKind, ObjectFormat};
pub use objects::verify;
pub use objects::{EntryMode, GitObject, Objects, TreeEntry};

use self::names::Named;

/// The entry of a work tree that is its repository, or names it. Git never checks out an entry of this name.
pub const DOT_GIT: &str = ".git";

/// Settings that a repository cannot change: git reads the settings of the command line last.
const SETTINGS: &[&str] = &[
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "credential.helper=",
    "protocol.allow=never",
];

/// The whole environment of git, beside `PATH`.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Returns the root of the git work tree that holds a folder: the nearest folder at or above it with an entry `.git`.
pub fn work_tree(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let root = folder.ancestors().find(|folder| folder.join(DOT_GIT).symlink_metadata().is_ok())?;
    Some(root.to_owned())
}

/// A repository with a work tree. Git is not needed to find it.
#[derive(Debug, Clone)]
pub struct Repository {
    work_tree: PathBuf,
    git_dir: PathBuf,
}

impl Repository {
    /// Finds the repository whose work tree holds a folder; none where no folder at or above it has an entry `.git`.
    ///
    /// # Errors
    /// When the entry `.git` leads to no repository, or to a folder that a commit of some repository can hold.
    pub fn find(folder: &Path) -> Result<Option<Self>, RunError> {
        let Some(work_tree) = work_tree(folder) else { return Ok(None) };
        let entry = work_tree.join(DOT_GIT);
        let metadata = entry.symlink_metadata().map_err(|error| RunError::io("read", &entry, &error))?;
        let target = if metadata.is_file() { named_by(&entry)? } else { entry.clone() };
        let git_dir = target.canonicalize().map_err(|error| RunError::io("find the repository", &target, &error))?;
        let refused = |reason: &str| {
            RunError::new(format!("`{}` is not used as a git repository: {reason}", git_dir.display()))
                .help("clone the repository anew, or compare with a folder instead")
        };
        // A commit holds no path with a part `.git`.
        let can_be_committed = !git_dir.iter().any(|part| part == DOT_GIT) && self::work_tree(&git_dir).is_some();
        if can_be_committed || (git_dir.starts_with(&work_tree) && !git_dir.starts_with(&entry)) {
            return Err(refused("it lies in a work tree, where a commit can write"));
        }
        if !git_dir.join("HEAD").symlink_metadata().is_ok_and(|head| head.is_file() || head.is_symlink()) {
            return Err(refused("it has no file `HEAD`"));
        }
        match named_work_tree(&git_dir)? {
            Some(named) if named.canonicalize().ok().as_ref() != Some(&work_tree) => {
                return Err(refused(&format!("its work tree is `{}`", named.display())));
            }
            None if !metadata.is_dir() => {
                return Err(refused("it does not name this work tree")
                    .help(format!("if it is the right one: `git config core.worktree {}`", work_tree.display())));
            }
            _ => {}
        }
        Ok(Some(Self { work_tree, git_dir }))
    }

    /// Returns the root of the work tree, as a canonical path.
    pub fn work_tree(&self) -> &Path {
        &self.work_tree
    }

    /// Returns the folder of the repository that belongs to this work tree, as a canonical path.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the folder that a linked work tree shares with the others, as a canonical path; none for a work tree that is not
    /// linked, and for a folder that does not hold [`Repository::git_dir`].
    pub fn common_dir(&self) -> Option<PathBuf> {
        let path = self.git_dir.join("commondir");
        let text = text_of_git(&path, MAXIMUM_GIT_PATH_SIZE).ok().flatten()?;
        let common = self.git_dir.join(text.trim_end_matches(['\n', '\r'])).canonicalize().ok()?;
        (self.git_dir.starts_with(&common) && common.join("objects").is_dir()).then_some(common)
    }

    /// Returns the file in which git keeps the index of this work tree.
    pub fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Reads the index; none before the first `git add`.
    ///
    /// # Errors
    /// When it cannot be read, or is not there although there are commits.
    pub fn read_index(&self) -> Result<Option<Vec<u8>>, RunError> {
        let path = self.index();
        let failed = |error: std::io::Error| RunError::io("read", &path, &error);
        match path.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match self.has_commits() {
                true => Err(RunError::new(format!("the repository has commits and no index, `{}`", path.display()))
                    .help("run `git reset` to write it again")),
                false => Ok(None),
            },
            Err(error) => Err(failed(error)),
            Ok(found) if !found.is_file() => Err(RunError::new(format!("`{}` is not a regular file", path.display()))
                .help("remove it, and write it again with `git reset`")),
            #[expect(clippy::disallowed_methods, reason = "a file of git itself, which no commit can hold")]
            Ok(_) => std::fs::read(&path).map(Some).map_err(failed),
        }
    }

    /// Whether `HEAD` leads to a commit, as far as that shows without git: true in doubt.
    fn has_commits(&self) -> bool {
        let common = self.common_dir().unwrap_or_else(|| self.git_dir.clone());
        let head = text_of_git(&self.git_dir.join("HEAD"), MAXIMUM_GIT_PATH_SIZE).ok().flatten().unwrap_or_default();
        let Some(branch) = head.strip_prefix("ref: ").map(str::trim) else { return true };
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        is_there(&common.join("reftable")) || is_there(&common.join(branch)) || {
            let packed = text_of_git(&common.join("packed-refs"), MAXIMUM_GIT_CONFIGURATION_SIZE);
            packed.map_or(true, |packed| {
                packed
                    .unwrap_or_default()
                    .lines()
                    .any(|line| line.split_once(' ').is_some_and(|(_, name)| name == branch))
            })
        }
    }

    /// Returns the commit that a revision names; none when it names no commit.
    ///
    /// # Errors
    /// When the short name of a reference leads to different commits, git is missing, or does not read the repository.
    pub fn commit(&self, revision: &str) -> Result<Option<String>, RunError> {
        // Git takes neither for a revision, and both could be taken for something else.
        if revision.starts_with('-') || revision.contains(['\0', '\n']) {
            return Ok(None);
        }
        match self.references(revision)? {
            Named::ForGit => self.peeled(revision),
            Named::Absent => Ok(None),
        }
    }

    /// Returns the commit that git finds for a revision.
    fn peeled(&self, revision: &str) -> Result<Option<String>, RunError> {
        let commit = format!("{revision}^{{commit}}");
        let found = self.answer(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?;
        Ok(found.map(|id| String::from_utf8_lossy(&id).trim().to_owned()))
    }

    /// Returns the best common ancestor of two revisions; none when one of them names no commit, or there is none.
    ///
    /// # Errors
    /// When git is missing, or does not read the repository.
    pub fn merge_base(&self, left: &str, right: &str) -> Result<Option<String>, RunError> {
        let (Some(left), Some(right)) = (self.commit(left)?, self.commit(right)?) else { return Ok(None) };
        let found = self.answer(&["merge-base", &left, &right])?;
        Ok(found.map(|id| String::from_utf8_lossy(&id).trim().to_owned()))
    }

    /// Starts a reader of objects.
    ///
    /// # Errors
    /// When git is missing or cannot be started.
    pub fn objects(&self) -> Result<Objects, RunError> {
        Objects::start(self)
    }

    /// Returns the output of git; none for the exit code by which `rev-parse` denies.
    fn answer(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>, RunError> {
        let output = self.git(arguments)?.output().map_err(|error| not_started(&error))?;
        match output.status.code() {
            Some(0) => Ok(Some(output.stdout)),
            Some(1 | 128) => Ok(None),
            _ => Err(self.not_read()),
        }
    }

    fn not_read(&self) -> RunError {
        RunError::new(format!("git does not read the repository `{}`", self.git_dir.display()))
    }

    /// Prepares the one way in which git is started.
    fn git(&self, arguments: &[&str]) -> Result<Command, RunError> {
        self.check_owner()?;
        let folders = self.program_folders();
        let program = folders.iter().map(|folder| folder.join("git")).find(|program| self.is_program(program));
        let program = program.ok_or_else(|| {
            RunError::new("there is no `git` on the PATH").help("install git, or compare with a folder instead")
        })?;
        let path = std::env::join_paths(folders).unwrap_or_default();
        #[expect(clippy::disallowed_methods, reason = "the one place where a process starts")]
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", path)
            .envs(ENVIRONMENT.iter().copied())
            .current_dir(&self.work_tree)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .arg(option("--git-dir=", &self.git_dir))
            .arg(option("--work-tree=", &self.work_tree))
            .args(["--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"])
            .args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
            .args(arguments);
        Ok(command)
    }

    /// Returns the folders of `PATH` that are absolute and lie outside the work tree.
    fn program_folders(&self) -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_foreign = |folder: &PathBuf| folder.is_absolute() && self.is_outside(folder);
        std::env::split_paths(&path).filter(is_foreign).collect()
    }

    #[cfg(not(unix))]
    fn is_program(&self, _: &Path) -> bool {
        false
    }

    #[cfg(unix)]
    fn is_program(&self, path: &Path) -> bool {
        let is_executable = |file: std::fs::Metadata| file.is_file() && file.permissions().mode() & 0o111 != 0;
        path.metadata().is_ok_and(is_executable) && self.is_outside(path)
    }

    /// Whether a path exists and, with its links resolved, is outside the work tree.
    fn is_outside(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| !path.starts_with(&self.work_tree))
    }

    /// Checks the owner by git's own rule (`safe.directory`). Git does not apply the rule to a repository of `--git-dir`.
    #[cfg(unix)]
    fn check_owner(&self) -> Result<(), RunError> {
        let user = rustix::process::geteuid().as_raw();
        let before_sudo = || std::env::var("SUDO_UID").ok()?.parse::<u32>().ok();
        for folder in [&self.work_tree, &self.git_dir] {
            let owner = folder.metadata().map_err(|error| RunError::io("read", folder, &error))?.uid();
            if owner != user && !(user == 0 && before_sudo() == Some(owner)) {
                return Err(RunError::new(format!(
                    "git is not started: `{}` belongs to the user {owner}, and this is the user {user}",
                    folder.display()
                ))
                .help("run as the owner of the repository, or compare with a folder instead"));
            }
        }
        Ok(())
    }

    /// Refuses every repository: no owner of its files vouches for it.
    #[cfg(not(unix))]
    fn check_owner(&self) -> Result<(), RunError> {
        Err(RunError::new("git is not started: this system has no owners of files"))
    }
}

/// Reads which folder a `.git` file names.
fn named_by(entry: &Path) -> Result<PathBuf, RunError> {
    let text = text_of_git(entry, MAXIMUM_GIT_PATH_SIZE)?.unwrap_or_default();
    let named = text.strip_prefix("gitdir: ").map(|named| named.trim_end_matches(['\n', '\r']));
    let named = named.filter(|named| !named.is_empty() && !named.contains('\n'));
    let named = named.ok_or_else(|| RunError::new(format!("`{}` names no repository", entry.display())))?;
    Ok(entry.parent().unwrap_or(Path::new("/")).join(named))
}

/// Returns the work tree that a repository names as its own: the folder of a linked work tree names its `.git` file, and
/// the repository of a submodule its folder. One that lies in its work tree names none.
fn named_work_tree(git_dir: &Path) -> Result<Option<PathBuf>, RunError> {
    if let Some(entry) = text_of_git(&git_dir.join("gitdir"), MAXIMUM_GIT_PATH_SIZE)? {
        let entry = git_dir.join(entry.trim_end_matches(['\n', '\r']));
        return Ok(Some(entry.parent().unwrap_or(Path::new("/")).to_owned()));
    }
    for name in ["config.worktree", "config"] {
        let text = text_of_git(&git_dir.join(name), MAXIMUM_GIT_CONFIGURATION_SIZE)?;
        if let Some(named) = text.and_then(|text| config::value(&text, "core", "worktree")) {
            return Ok(Some(git_dir.join(named)));
        }
    }
    Ok(None)
}

/// Reads a file of git itself, which no commit can hold; none where there is no such file. Bytes that are no text are
/// replaced.
fn text_of_git(path: &Path, most: u64) -> Result<Option<String>, RunError> {
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let failed = |error: std::io::Error| RunError::io("read", path, &error);
    #[expect(clippy::disallowed_methods, reason = "a file of git itself, which no commit can hold")]
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        let message = format!("`{}` is larger than {}", path.display(), written_size(most));
        return Err(RunError::new(message).help("no such file of git is that large"));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn option(name: &str, value: &Path) -> std::ffi::OsString {
    let mut option = std::ffi::OsString::from(name);
    option.push::<&OsStr>(value.as_ref());
    option
}

fn not_started(error: &std::io::Error) -> RunError {
    RunError::new(format!("cannot run git: {error}")).help("compare with a folder instead")
}

/// Reports an absent object, as in a partial or a shallow clone.
fn missing(object: &str) -> RunError {
    RunError::new(format!("the repository lacks objects of `{object}`"))
        .help("nothing is fetched on its own; fetch them first: `git fetch --refetch --no-filter`")
}
