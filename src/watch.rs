//! Notices changes of the files of a workspace, for `check --watch` and the language server.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use notify::event::{EventKind, ModifyKind};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::diag::RunError;
use crate::git::{self, Repository};

/// How long no file changes before a group of changes is complete: an editor replaces a file in several steps.
const QUIET: Duration = Duration::from_millis(30);

/// How many times the wait for a quiet moment is repeated, while files go on changing.
const MAXIMUM_QUIET_WAITS: usize = 30;

/// Notices changes of the files below a folder, and of the index of its git repository.
///
/// The files of the whole git work tree are watched: `check` also looks for output outside of the workspace. The folder `.git`
/// is watched for the index and the configuration only.
pub(crate) struct FolderWatcher {
    watcher: RecommendedWatcher,
    events: Receiver<notify::Result<Event>>,
    /// The root of the git work tree, or the folder itself without one.
    root: PathBuf,
    /// The folder of the git repository.
    git_dir: Option<PathBuf>,
}

/// The end of a wait for changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Noticed {
    /// Files at these paths, or below them, changed. The paths are absolute.
    Changed(Vec<PathBuf>),
    /// The time passed without a change.
    Nothing,
}

impl FolderWatcher {
    /// Begins to watch the git work tree of a folder, or the folder itself without one.
    ///
    /// # Errors
    /// When the system refuses to watch a folder, such as above its limit.
    pub(crate) fn start(folder: &Path) -> Result<Self, RunError> {
        let folder = folder.canonicalize().map_err(|error| RunError::io("enter", folder, &error))?;
        let root = match git::work_tree(&folder) {
            Some(work_tree) => work_tree,
            None => folder,
        };
        // A repository that cannot be used is reported by the run itself.
        let git_dir = Repository::find(&root).ok().flatten().map(|repository| repository.git_dir().to_owned());
        let (sender, events) = mpsc::channel();
        // A link of the repository can lead to any folder of the system.
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(sender, config).map_err(|error| cannot_watch(&root, &error))?;
        let mut started = Self { watcher, events, root, git_dir };
        started.watch(&started.root.clone(), RecursiveMode::NonRecursive)?;
        if let Some(git_dir) = started.git_dir.clone() {
            started.watch(&git_dir, RecursiveMode::NonRecursive)?;
        }
        let entries = started.root.read_dir().map_err(|error| RunError::io("list", &started.root, &error))?;
        for entry in entries.flatten() {
            started.watch_below(&entry.path())?;
        }
        Ok(started)
    }

    /// Waits for changes, at most for a time. Changes that follow each other closely are returned together.
    ///
    /// # Errors
    /// When the system cannot watch a new folder.
    pub(crate) fn wait(&mut self, most: Duration) -> Result<Noticed, RunError> {
        let mut changed = Vec::new();
        let mut quiet_waits = 0;
        loop {
            let wait = if changed.is_empty() { most } else { QUIET };
            match self.events.recv_timeout(wait) {
                Ok(event) => changed.extend(self.paths_of(event)?),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunError::new("the system ended the watch of the files"));
                }
            }
            quiet_waits += usize::from(!changed.is_empty());
            if quiet_waits > MAXIMUM_QUIET_WAITS {
                break;
            }
        }
        Ok(if changed.is_empty() { Noticed::Nothing } else { Noticed::Changed(changed) })
    }

    /// Returns the changed paths of an event. A new folder at the root is watched from then on.
    fn paths_of(&mut self, event: notify::Result<Event>) -> Result<Vec<PathBuf>, RunError> {
        let event = event.map_err(|error| cannot_watch(&self.root, &error))?;
        if event.need_rescan() {
            // The system lost events.
            return Ok(vec![self.root.clone()]);
        }
        if matches!(event.kind, EventKind::Access(_)) {
            return Ok(Vec::new());
        }
        let mut paths = event.paths;
        paths.retain(|path| self.is_of_files(path));
        let is_new = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)));
        for path in paths.iter().filter(|_| is_new) {
            if path.parent() == Some(&self.root) {
                self.watch_below(path)?;
            }
        }
        Ok(paths)
    }

    /// Whether a changed file can change the result of a run. Git locks a file by creating another one beside it.
    fn is_of_files(&self, path: &Path) -> bool {
        match self.git_dir.as_deref().filter(|git_dir| path.starts_with(git_dir)) {
            Some(git_dir) => {
                let name = path.strip_prefix(git_dir).ok().and_then(Path::to_str);
                matches!(name, Some("index" | "config" | "config.worktree"))
            }
            None => true,
        }
    }

    /// Watches a folder at the root and all folders below it; nothing for a file, a link, and the folder of git.
    fn watch_below(&mut self, path: &Path) -> Result<(), RunError> {
        let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_folder || path.file_name().is_some_and(|name| name == git::DOT_GIT) {
            return Ok(());
        }
        self.watch(path, RecursiveMode::Recursive)
    }

    fn watch(&mut self, path: &Path, mode: RecursiveMode) -> Result<(), RunError> {
        match self.watcher.watch(path, mode) {
            Ok(()) => Ok(()),
            // A temporary folder can be gone again.
            Err(notify::Error { kind: ErrorKind::PathNotFound, .. }) => Ok(()),
            Err(error) => Err(cannot_watch(path, &error)),
        }
    }
}

fn cannot_watch(path: &Path, error: &notify::Error) -> RunError {
    let message = format!("cannot watch `{}`: {}", path.display(), reason(error));
    match error.kind {
        ErrorKind::MaxFilesWatch => RunError::new(message)
            .help("raise the limit of the system, on Linux by `sysctl fs.inotify.max_user_watches=1048576`"),
        _ => RunError::new(message),
    }
}

/// Returns the reason of an error without its paths.
fn reason(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => "the system watches as many folders as it may".to_owned(),
        ErrorKind::Io(error) => error.to_string(),
        ErrorKind::Generic(reason) => reason.clone(),
        ErrorKind::PathNotFound => "there is no such folder".to_owned(),
        ErrorKind::WatchNotFound | ErrorKind::InvalidConfig(_) => "the watch is not valid".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Far more than a change needs to be noticed.
    const LONG: Duration = Duration::from_secs(20);

    fn watched(folder: &Path) -> FolderWatcher {
        FolderWatcher::start(folder).expect("a watcher")
    }

    fn changed(watcher: &mut FolderWatcher) -> Vec<PathBuf> {
        match watcher.wait(LONG).expect("a wait") {
            Noticed::Changed(paths) => paths,
            Noticed::Nothing => Vec::new(),
        }
    }

    #[test]
    fn changes_of_files_are_noticed_and_reads_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        fs::create_dir_all(root.join("policies/deep")).expect("a folder");
        fs::write(root.join("policies/deep/a.yaml"), "a").expect("a file");
        let mut watcher = watched(&root);
        assert_eq!(fs::read_to_string(root.join("policies/deep/a.yaml")).expect("a text"), "a");
        assert_eq!(watcher.wait(Duration::from_millis(100)).expect("a wait"), Noticed::Nothing);
        fs::write(root.join("policies/deep/a.yaml"), "b").expect("a file");
        assert!(changed(&mut watcher).contains(&root.join("policies/deep/a.yaml")));
        fs::rename(root.join("policies/deep/a.yaml"), root.join("policies/b.yaml")).expect("a move");
        assert!(changed(&mut watcher).contains(&root.join("policies/b.yaml")));
    }

    #[test]
    fn files_of_a_new_folder_are_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let mut watcher = watched(&root);
        fs::create_dir_all(root.join("new/deep")).expect("a folder");
        assert!(!changed(&mut watcher).is_empty());
        fs::write(root.join("new/deep/a.yaml"), "a").expect("a file");
        assert!(changed(&mut watcher).contains(&root.join("new/deep/a.yaml")));
    }

    #[test]
    fn of_git_only_the_index_and_the_configuration_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for below in ["objects/aa", "refs"] {
            fs::create_dir_all(root.join(".git").join(below)).expect("a folder");
        }
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        let mut watcher = watched(&root);
        for file in ["objects/aa/bb", "index.lock", "COMMIT_EDITMSG"] {
            fs::write(root.join(".git").join(file), "x").expect("a file");
        }
        assert_eq!(watcher.wait(Duration::from_millis(200)).expect("a wait"), Noticed::Nothing);
        fs::rename(root.join(".git/index.lock"), root.join(".git/index")).expect("a move");
        assert!(changed(&mut watcher).contains(&root.join(".git/index")));
    }

    #[cfg(unix)]
    #[test]
    fn links_to_folders_are_not_followed() {
        let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let root = folder.path().canonicalize().expect("a path");
        fs::create_dir(root.join("policies")).expect("a folder");
        for (link, target) in [("root", Path::new("/")), ("other", other.path()), ("policies/other", other.path())] {
            std::os::unix::fs::symlink(target, root.join(link)).expect("a link");
        }
        let mut watcher = watched(&root);
        fs::write(other.path().join("a.yaml"), "a").expect("a file");
        assert_eq!(watcher.wait(Duration::from_millis(200)).expect("a wait"), Noticed::Nothing);
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(FolderWatcher::start(&folder.path().join("none")).is_err());
    }
}
