//! `--sandbox`: what a run may read, write and use, enforced by the kernel.
//!
//! A second line of defence: what reads the input is written to keep to the workspace, and this holds when it does not.
//! The restrictions hold for the calling thread and for the threads and programs that it starts, so they are set first.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::printing::refuse_usage;
use super::reporting::FormatArguments;
use super::{Global, Outcome, step_outputs};
use crate::app::Error;
use crate::app::workspace::normal;
use crate::compile::WORKSPACE_FILE;
use crate::diag::RunError;
use crate::git::{self, Repository};

/// Options of the commands that can be confined.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SandboxArguments {
    /// Confine the run on Linux. The kernel then rejects reads outside the git work tree and the paths of the command line,
    /// writes to files that no option names, and network access. If the kernel cannot confine the run, `auto` prints a note,
    /// and `on` fails. Default: `auto` in CI, otherwise `off`.
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "auto", env = "BAILIWICK_SANDBOX")]
    sandbox: Option<When>,
    /// Address space limit of a confined run in GiB, plus 128 MiB for each thread.
    #[arg(long, value_name = "GIB", env = "BAILIWICK_SANDBOX_MEMORY", value_parser = clap::value_parser!(u16).range(1..=4096))]
    sandbox_memory: Option<u16>,
}

/// Options of the commands that compare the output, `check` and `diff`.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct GateArguments {
    /// Exit with 1 if there is a warning.
    #[arg(long)]
    pub(super) deny_warnings: bool,
    #[command(flatten)]
    pub(super) format: FormatArguments,
    #[command(flatten)]
    pub(super) sandbox: SandboxArguments,
}

/// When a run is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    /// Confine the run if the kernel supports it.
    Auto,
    /// Confine the run, and fail if the kernel does not support it.
    On,
    /// Do not confine the run.
    Off,
}

/// The address space of a confined run without threads in GiB: ten times what a million objects take.
const DEFAULT_MEMORY: u16 = 16;

/// The address space of a thread: its stack, and what its allocator sets aside.
const MEMORY_OF_THREAD: u64 = 128 << 20;

/// The paths beside the workspace that the options of a command read and write.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Files and folders that are read.
    pub(super) reads: Vec<PathBuf>,
    /// Files that are written.
    pub(super) writes: Vec<PathBuf>,
    /// Existing files that are continued.
    pub(super) appended: Vec<PathBuf>,
}

impl SandboxArguments {
    /// Confines the process for a command.
    ///
    /// # Errors
    /// When it has to be confined and cannot be.
    pub(super) fn apply(&self, global: &Global, mut paths: Paths) -> Result<Outcome, Error> {
        let when = self.sandbox.unwrap_or_else(|| if global.is_in_ci() { When::Auto } else { When::Off });
        if when == When::Off {
            return Ok(Outcome::Fine);
        }
        paths.writes.extend(global.report_files());
        paths.writes.extend(global.trace.as_ref().map(|path| global.at(path)));
        paths.appended.extend(step_outputs::file(global));
        // The paths begin at the folder of the process, and not at the folder of `-C`.
        for path in paths.reads.iter_mut().chain(&mut paths.writes).chain(&mut paths.appended) {
            *path = std::path::absolute(&*path).map_err(|error| RunError::io("find", path, &error))?;
        }
        let memory = u64::from(self.sandbox_memory.unwrap_or(DEFAULT_MEMORY)) << 30;
        // How many cores there are is read from files.
        let threads = u64::try_from(global.jobs()).unwrap_or(1);
        let start = global.directory.clone().unwrap_or_else(|| ".".into());
        let start = start.canonicalize().map_err(|error| RunError::io("enter", &start, &error))?;
        let confined = confine(&Places::new(&start, &paths), memory.saturating_add(threads * MEMORY_OF_THREAD));
        match (confined, when) {
            (Ok(()), _) => Ok(Outcome::Fine),
            (Err(why), When::On) => {
                let error = RunError::new(format!("the sandbox cannot be in force: {why}"));
                Err(error.help("pass `--sandbox=auto` to run without the sandbox and print a note").into())
            }
            (Err(why), _) => {
                global.terminal().problem(&format!("note: the sandbox is not in force: {why}\n"));
                Ok(Outcome::Fine)
            }
        }
    }

    /// Reports that a run cannot be confined, for whatever the options ask.
    pub(super) fn refuse(&self, global: &Global, why: &str) -> Outcome {
        match self.sandbox {
            Some(When::On) => {
                let help = "leave out `--sandbox`, or run without what it cannot confine";
                refuse_usage(global, format!("there is no sandbox for this run: {why}"), help)
            }
            Some(When::Auto) => {
                global.terminal().problem(&format!("note: the sandbox is not in force: {why}\n"));
                Outcome::Fine
            }
            Some(When::Off) | None => Outcome::Fine,
        }
    }
}

/// The places of the file system that a confined run may use.
#[derive(Debug, Default)]
struct Places {
    /// Paths to read and not to execute.
    read: Vec<PathBuf>,
    /// Paths to read and to execute.
    programs: Vec<PathBuf>,
    /// Files are made, written, replaced and removed.
    written: Vec<PathBuf>,
    /// Files that are written in place. Other files of their folders stay as they are.
    appended: Vec<PathBuf>,
}

/// Folders of programs and their libraries.
const PROGRAMS: [&str; 7] = ["/bin", "/gnu/store", "/lib", "/lib64", "/nix/store", "/sbin", "/usr"];

/// Further files that the dynamic linker, git and the standard library read.
const FILES_OF_SYSTEM: [&str; 6] = [
    "/dev/urandom",
    "/etc/gitconfig",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
];

impl Places {
    /// Returns the places for a run that starts in a folder, whose path has no links.
    fn new(start: &Path, paths: &Paths) -> Self {
        let workspace = || start.ancestors().find(|folder| folder.join(WORKSPACE_FILE).is_file());
        let root = git::work_tree(start).unwrap_or_else(|| workspace().unwrap_or(start).to_owned());
        let root = root.as_path();
        let mut places = Self { read: vec![root.to_owned()], ..Self::default() };
        places.read.extend(folders_of_git(start));
        places.read.extend(FILES_OF_SYSTEM.map(PathBuf::from));
        places.read.extend(std::env::current_exe());
        places.programs.extend(PROGRAMS.map(PathBuf::from));
        places.programs.extend(folders_of_program("git", root));
        // Inside the work tree a link may not lead out of it, whatever names it.
        let absolute = |path: &PathBuf| normal(&start.join(path));
        let is_fine = |path: &PathBuf| {
            let inside = path.starts_with(root);
            path.canonicalize().ok().filter(|real| !inside || real.starts_with(root))
        };
        places.read.extend(paths.reads.iter().map(absolute).filter_map(|path| is_fine(&path)));
        let folders = paths.writes.iter().map(absolute).filter_map(|path| path.parent().map(Path::to_owned));
        places.written.extend(folders.filter_map(|folder| is_fine(&folder)));
        places.appended.extend(paths.appended.iter().map(absolute).filter_map(|path| is_fine(&path)));
        places
    }
}

/// Returns the folders of the repository of a work tree. A linked work tree has a folder of its own inside the folder of the
/// repository. Objects that a clone borrows from another repository are left out: only the untrusted repository names their place.
fn folders_of_git(folder: &Path) -> Vec<PathBuf> {
    let Ok(Some(repository)) = Repository::find(folder) else { return Vec::new() };
    std::iter::once(repository.git_dir().to_owned()).chain(repository.common_dir()).collect()
}

/// Returns the folder of a program outside the work tree, and those beside it with its libraries.
fn folders_of_program(name: &str, root: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).filter_map(|folder| folder.join(name).canonicalize().ok());
    let program = programs.into_iter().find(|program| program.is_file() && !program.starts_with(root));
    let Some(folder) = program.as_deref().and_then(Path::parent).map(Path::to_owned) else { return Vec::new() };
    let beside = folder.parent().map(|parent| ["lib", "libexec", "share"].map(|name| parent.join(name)));
    std::iter::once(folder).chain(beside.into_iter().flatten()).collect()
}

/// Why the sandbox is not in force.
#[derive(Debug, thiserror::Error)]
enum SandboxError {
    #[cfg(target_os = "linux")]
    #[error("the limit of memory: {0}")]
    MemoryLimit(rustix::io::Errno),
    #[cfg(target_os = "linux")]
    #[error("no new privileges: {0}")]
    NoNewPrivileges(rustix::io::Errno),
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Landlock(#[from] landlock::RulesetError),
    #[cfg(target_os = "linux")]
    #[error("this kernel has no Landlock")]
    NoLandlock,
    #[cfg(not(target_os = "linux"))]
    #[error("there is one on Linux only")]
    NotLinux,
}

/// Sets all restrictions. After an error, some of them may be in force nevertheless.
#[cfg(target_os = "linux")]
fn confine(places: &Places, memory: u64) -> Result<(), SandboxError> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let known = getrlimit(Resource::As);
    let lower = |limit: Option<u64>| Some(limit.map_or(memory, |limit| limit.min(memory)));
    let limit = Rlimit { current: lower(known.current), maximum: lower(known.maximum) };
    let limited = setrlimit(Resource::As, limit).map_err(SandboxError::MemoryLimit);
    let fixed = rustix::thread::set_no_new_privs(true).map_err(SandboxError::NoNewPrivileges);
    limited.and(fixed).and(restrict(places))
}

/// Restricts the file system and the network by Landlock.
#[cfg(target_os = "linux")]
fn restrict(places: &Places) -> Result<(), SandboxError> {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
        Scope, path_beneath_rules,
    };
    // Restrictions that a kernel does not know are left out; the newest came with Linux 6.12.
    let abi = ABI::V6;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let written = read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | AccessFs::RemoveFile;
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(&places.read, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&places.programs, read | AccessFs::Execute)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&places.written, written | AccessFs::MakeDir)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&places.appended, read | AccessFs::WriteFile)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(["/dev/null"], read | AccessFs::WriteFile)))
        .and_then(landlock::RulesetCreated::restrict_self);
    match restricted?.ruleset {
        RulesetStatus::NotEnforced => Err(SandboxError::NoLandlock),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn confine(_: &Places, _: u64) -> Result<(), SandboxError> {
    Err(SandboxError::NotLinux)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_inside_the_work_tree_give_no_access_outside() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("a path");
        let (tree, outside) = (base.join("tree"), base.join("outside"));
        for folder in [tree.join(".git"), tree.join("work"), outside.clone()] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::os::unix::fs::symlink(&outside, tree.join("work/link")).expect("a link");
        let paths = Paths {
            reads: vec!["link".into(), "../../outside".into()],
            writes: vec!["link/summary".into(), "summary".into()],
            appended: vec!["link".into(), "work".into()],
        };
        let places = Places::new(&tree.join("work"), &paths);
        assert_eq!(places.read.first(), Some(&tree), "the whole work tree");
        assert_eq!(places.read.iter().filter(|path| path.starts_with(&outside)).count(), 1);
        assert_eq!(places.written, [tree.join("work")]);
    }
}
