//! `--watch`: runs a command again after each change of a file.

use std::path::PathBuf;
use std::time::Duration;

use super::{Cli, Outcome, printing};
use crate::app::{Error, Workspace};
use crate::diag::RunError;
use crate::watch::{FolderWatcher, Noticed};

/// How often the current day is compared with the day of the last run.
const DAY_CHECK: Duration = Duration::from_secs(60);

/// Runs the command, and again after each change of a file and on each new day. Returns when the files cannot be watched.
///
/// Each run reads every file anew, as the first run does.
pub(super) fn run(cli: &mut Cli) -> Outcome {
    // The watch begins before the first run: a change during a run causes another run.
    let started = watched_folder(cli).and_then(|folder| Ok(FolderWatcher::start(&folder)?));
    let mut watcher = match started {
        Ok(watcher) => watcher,
        Err(error) => return cli.conclude(printing::end(&cli.global, error)),
    };
    loop {
        cli.prepare();
        let day = cli.global.today();
        let outcome = cli.run_once(None);
        let terminal = cli.global.terminal();
        terminal.problem(&format!("exit code {}; waiting for a change, Ctrl-C ends the watch\n", outcome.code()));
        if outcome == Outcome::Failed && Error::check_internal().is_err() {
            return outcome;
        }
        loop {
            match watcher.wait(DAY_CHECK) {
                Ok(Noticed::Changed(_)) => break,
                Ok(Noticed::Nothing) if cli.global.today() != day => break,
                Ok(Noticed::Nothing) => {}
                Err(error) => return cli.conclude(printing::end(&cli.global, error.into())),
            }
        }
        terminal.clear();
    }
}

/// Returns the folder of the workspace, or the folder of the run if it has none yet.
fn watched_folder(cli: &Cli) -> Result<PathBuf, Error> {
    let options = cli.global.options();
    if let Some(root) = Workspace::find_root(&options)? {
        return Ok(root);
    }
    match options.directory {
        Some(directory) => Ok(directory),
        None => std::env::current_dir()
            .map_err(|error| RunError::new(format!("there is no current folder: {error}")).into()),
    }
}
