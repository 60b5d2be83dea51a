//! `--sandbox`: what a run may read, write and use, enforced by the kernel.
//!
//! A second line of defence: what reads the input is written to keep to the workspace, and this holds when it does not.
//! The restrictions hold for the calling thread and for the threads and programs that it starts, so they are set first.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Command, Global, Outcome, step_outputs};
use crate::app::workspace::normal;
use crate::app::workspace::written_folders;
use crate::app::{Error, Workspace};
use crate::compile::WORKSPACE_FILE;
use crate::diag::RunError;
use crate::emit::writer;
use crate::git::{self, Repository};
use crate::source::InputFiles;

/// Options about the limits of a run.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct SandboxArguments {
    /// Confine the run on Linux. The kernel then rejects reads outside the git work tree and the paths of the command line,
    /// writes to files that no option names, and network access. If the kernel cannot confine the run, `auto` prints a note,
    /// and `on` fails. Default: `auto` in CI, otherwise `off`.
    #[arg(long, global = true, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "auto", env = "BAILIWICK_SANDBOX")]
    sandbox: Option<When>,
    /// Address space limit of a confined run in GiB, plus 128 MiB for each thread.
    #[arg(long, global = true, value_name = "GIB", env = "BAILIWICK_SANDBOX_MEMORY", value_parser = clap::value_parser!(u16).range(1..=4096))]
    sandbox_memory: Option<u16>,
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

/// The paths that the options of a command name, as they are written. `-` is no file.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Files and folders that are read.
    pub(super) reads: Vec<PathBuf>,
    /// Files that are written, and folders below which files are written.
    pub(super) writes: Vec<PathBuf>,
}

impl Paths {
    /// Adds paths for reading.
    pub(super) fn and_reads<'p>(mut self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        self.reads.extend(paths.into_iter().cloned());
        self
    }

    /// Adds paths for writing.
    pub(super) fn and_writes<'p>(mut self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        self.writes.extend(paths.into_iter().cloned());
        self
    }

    /// Returns the paths of the options of a command.
    fn of_command(command: &Command, global: &Global) -> Self {
        match command {
            Command::Init(arguments) => arguments.paths(global),
            Command::Render(arguments) => arguments.paths(),
            Command::Check(arguments) => arguments.paths(),
            Command::Merge(arguments) => arguments.paths(),
            Command::Diff(arguments) => arguments.paths(),
            Command::Review(arguments) => arguments.paths(),
            Command::Report(arguments) => arguments.paths(),
            Command::Lint(arguments) => arguments.paths(),
            Command::CanI(arguments) => arguments.paths(),
            Command::WhoCan(arguments) => arguments.paths(),
            Command::NodeReach(arguments) => arguments.paths(),
            Command::Index(arguments) => arguments.paths(),
            Command::Import(arguments) => arguments.paths(),
            Command::Drift(arguments) => arguments.paths(),
            Command::Pack(arguments) => arguments.paths(),
            Command::Migrate(arguments) => arguments.paths(),
            Command::Explain(arguments) => arguments.paths(),
            Command::Schema(arguments) => arguments.paths(),
            Command::Man(arguments) => arguments.paths(),
            Command::Expire(_)
            | Command::Table(_)
            | Command::Test(_)
            | Command::Ask(_)
            | Command::Fn(_)
            | Command::Lsp(_)
            | Command::Completions(_) => Self::default(),
        }
    }
}

/// Whether a command writes the output of workspaces.
fn writes_output(command: &Command) -> bool {
    match command {
        Command::Render(arguments) => arguments.writes_output(),
        Command::Expire(_) => true,
        _ => false,
    }
}

/// Confines the process for a command, which runs in every workspace below a folder if there is one.
///
/// # Errors
/// When it has to be confined and cannot be.
pub(super) fn confine_run(global: &Global, command: &Command, workspaces: Option<&Path>) -> Result<Outcome, Error> {
    let SandboxArguments { sandbox, sandbox_memory } = global.sandbox;
    let when = sandbox.unwrap_or_else(|| if global.is_in_ci() { When::Auto } else { When::Off });
    if when == When::Off || matches!(global.inputs, InputFiles::Memory(_)) {
        return Ok(Outcome::Fine);
    }
    let memory = u64::from(sandbox_memory.unwrap_or(DEFAULT_MEMORY)) << 30;
    // How many cores there are is read from files.
    let threads = u64::try_from(global.jobs()).unwrap_or(1);
    let memory = memory.saturating_add(threads * MEMORY_OF_THREAD);
    let why = match confine_to_places(global, command, workspaces, memory) {
        Ok(()) => return Ok(Outcome::Fine),
        Err(SandboxError::Run(error)) => return Err(error),
        Err(why) => why,
    };
    if when == When::On {
        let error = RunError::new(format!("the sandbox cannot be in force: {why}"));
        return Err(error.help("pass `--sandbox=auto` to run without the sandbox and print a note").into());
    }
    global.terminal().problem(&format!("note: the sandbox is not in force: {why}\n"));
    Ok(Outcome::Fine)
}

fn confine_to_places(
    global: &Global,
    command: &Command,
    workspaces: Option<&Path>,
    memory: u64,
) -> Result<(), SandboxError> {
    let failed = |error: RunError| SandboxError::Run(error.into());
    let start = global.directory.clone().unwrap_or_else(|| ".".into());
    let start = start.canonicalize().map_err(|error| failed(RunError::io("enter", &start, &error)))?;
    let Paths { reads, mut writes } = Paths::of_command(command, global);
    writes.retain(|path| path.as_os_str() != "-");
    writes.extend(global.formats.reports.iter().map(|report| report.path().to_owned()));
    writes.extend(global.trace.clone());
    writes.extend(step_outputs::file(global).into_iter().chain(step_outputs::summary_file(global)));
    let is_writing = writes_output(command);
    let root = Workspace::find_root(&global.options()).map_err(failed)?;
    if matches!(command, Command::Expire(_)) {
        writes.extend(root.iter().map(|root| root.join(WORKSPACE_FILE)));
    }
    let absolute = |path: &PathBuf| normal(&start.join(path));
    let writes: Vec<PathBuf> = writes.iter().map(absolute).collect();
    if !writes.is_empty() {
        let started = writer::keep_writing(&writes);
        started.map_err(|error| failed(RunError::new(format!("cannot start a thread: {error}"))))?;
    }
    let mut places = Places::new(&start, &reads.iter().map(absolute).collect::<Vec<_>>());
    if !is_writing {
        return confine(&places, memory);
    }
    // The workspace file names the output folder. It is read in a sandbox whose only place for writing is the workspace.
    let roots = match workspaces {
        Some(folder) => Workspace::find_below(folder).map_err(failed)?.into_iter().map(|found| found.folder).collect(),
        None => Vec::from_iter(root),
    };
    places.written.clone_from(&roots);
    confine(&places, memory)?;
    places.written = roots.iter().flat_map(|root| make_written_folders(root)).collect();
    confine(&places, memory)
}

/// Makes the folders that a run writes in a workspace, if need be, and returns their paths. A folder that cannot be made is left out: the
/// run reports the reason.
fn make_written_folders(root: &Path) -> Vec<PathBuf> {
    let folders = written_folders(root);
    let made = |folder: &String| writer::WritableFolder::open(root)?.make_below(folder);
    folders.iter().filter_map(|folder| made(folder).ok()).map(|folder| folder.path().to_owned()).collect()
}

/// The places of the file system that a confined run may use.
#[derive(Debug, Default)]
struct Places {
    /// Paths to read and not to execute.
    read: Vec<PathBuf>,
    /// Paths to read and to execute.
    programs: Vec<PathBuf>,
    /// Folders below which files and folders are made, written, moved and removed.
    written: Vec<PathBuf>,
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
    /// Returns the places for a run that starts in a folder, whose path has no links, and reads some absolute paths.
    fn new(start: &Path, reads: &[PathBuf]) -> Self {
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
        let real = |path: &PathBuf| {
            let inside = path.starts_with(root);
            path.canonicalize().ok().filter(|real| !inside || real.starts_with(root))
        };
        places.read.extend(reads.iter().filter_map(real));
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
    /// The run cannot begin.
    #[error("{0}")]
    Run(Error),
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
    let written = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer;
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(&places.read, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&places.programs, read | AccessFs::Execute)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&places.written, written)))
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

    /// A run that writes the output can move files below the output folder, and changes nothing else.
    #[cfg(target_os = "linux")]
    #[test]
    fn only_the_output_folder_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let text = "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: w}\nspec: {output: a/out, targets: [{name: t, version: \"1.30\"}]}\n";
        std::fs::write(root.join(WORKSPACE_FILE), text).expect("a file");
        std::fs::create_dir(root.join(".git")).expect("a folder");
        let mut places = Places::new(&root, &[]);
        places.written = make_written_folders(&root);
        assert_eq!(places.written, [root.join("a/out")]);
        // The restrictions hold for the thread that sets them.
        let confined = std::thread::spawn(move || {
            if let Err(SandboxError::NoLandlock) = restrict(&places) {
                return;
            }
            let out = root.join("a/out");
            std::fs::create_dir_all(out.join("staging/t")).expect("a folder");
            std::fs::write(out.join("staging/t/x"), "x").expect("a file");
            std::fs::rename(out.join("staging/t"), out.join("t")).expect("a move");
            std::fs::remove_file(out.join("t/x")).expect("a file");
            for path in ["x", "a/x", ".git/x", WORKSPACE_FILE] {
                let error = std::fs::write(root.join(path), "x").expect_err(path);
                assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{path}");
            }
            assert!(std::fs::rename(out.join("t"), root.join("moved")).is_err());
        });
        confined.join().expect("nothing else is written");
    }

    #[test]
    fn links_inside_the_work_tree_give_no_access_outside() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("a path");
        let (tree, outside) = (base.join("tree"), base.join("outside"));
        for folder in [tree.join(".git"), tree.join("work"), outside.clone()] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::os::unix::fs::symlink(&outside, tree.join("work/link")).expect("a link");
        let reads = [tree.join("work/link"), outside.clone()];
        let places = Places::new(&tree.join("work"), &reads);
        assert_eq!(places.read.first(), Some(&tree), "the whole work tree");
        assert_eq!(places.read.iter().filter(|path| path.starts_with(&outside)).count(), 1);
        assert!(places.written.is_empty());
    }
}
