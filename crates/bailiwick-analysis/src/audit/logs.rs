//! Reads audit logs and audit policies.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bailiwick_audit::policy::AuditPolicy;
use bailiwick_audit::{AuditLog, LogError, LogReader};
use bailiwick_codes as codes;
use bailiwick_policy::source::NamedFile;
use bailiwick_workspace::{Event, Options};
use bailiwick_yaml::diag::{Diagnostic, Files, RunError, Sink};
use bailiwick_yaml::limits;

use super::AuditOptions;
use crate::loaded_world::each_tree;

/// The unit of the progress of a read log, in bytes.
const PROGRESS_UNIT: u64 = 1 << 20;

/// Audit logs, and the audit policy of their API server.
pub struct AuditInputs {
    /// The requests of all logs.
    pub log: AuditLog,
    pub(crate) policy: Option<AuditPolicy>,
    /// The paths of the logs as they are written.
    pub(crate) names: Vec<String>,
}

/// Reads the logs and the policy. Returns none if one of them cannot be used; the reason is then in the sink.
pub fn read_inputs(
    run: &Options,
    options: &AuditOptions,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<AuditInputs>, RunError> {
    let policy = match &options.policy {
        Some(path) => read_policy(run, path, files, sink)?,
        None => None,
    };
    if sink.has_errors() {
        return Ok(None);
    }
    let mut log = AuditLog::default();
    let mut reader = LogReader::default();
    let mut names = Vec::new();
    for path in &options.logs {
        let name = if path.as_os_str() == "-" { "standard input".into() } else { path.to_string_lossy() };
        if let Err(error) = read_log(run, path, &mut reader, &mut log)? {
            sink.push(problem(&name, error));
            return Ok(None);
        }
        names.push(name.into_owned());
    }
    Ok(Some(AuditInputs { log, policy, names }))
}

fn read_log(
    run: &Options,
    path: &Path,
    reader: &mut LogReader,
    log: &mut AuditLog,
) -> Result<Result<(), LogError>, RunError> {
    if path.as_os_str() == "-" {
        return Ok(reader.read(std::io::stdin(), run.threads(), log, &mut || {}));
    }
    let at = run.at(path);
    let file = NamedFile::open(&at, limits::MAXIMUM_LOG_SIZE).map_err(|error| RunError::io("read", &at, &error))?;
    let size = file.size();
    let units = |bytes: u64| usize::try_from(bytes / PROGRESS_UNIT).map_or(usize::MAX, |units| units);
    let read = AtomicU64::new(0);
    let counted = Counted { input: file, read: &read };
    let label = path.to_string_lossy();
    let mut progress = || {
        let done = units(read.load(Ordering::Relaxed));
        run.tell(Event::Compiling { target: &label, done, total: units(size) });
    };
    let outcome = reader.read(counted, run.threads(), log, &mut progress);
    run.tell(Event::Compiled);
    Ok(outcome)
}

/// A reader that counts its bytes.
struct Counted<'c, R> {
    input: R,
    read: &'c AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

fn problem(name: &str, error: LogError) -> Diagnostic {
    let message = match &error {
        LogError::Io(error) => format!("`{name}` cannot be read: {error}"),
        LogError::Version { line, version } => format!("line {line} of `{name}` has the version `{version}`"),
        LogError::Unreadable { unreadable: 1, lines: 1, first } => format!("`{name}` has no audit event: {first}"),
        LogError::Unreadable { unreadable, lines, first } => {
            format!("{unreadable} of {lines} lines of `{name}` are no audit event: {first}")
        }
        LogError::NoText => format!(
            "`{name}` is no text, and the limit of a line is {}",
            limits::written_size(limits::LONGEST_LOG_LINE as u64)
        ),
        LogError::Empty => format!("`{name}` has no audit event"),
    };
    let help = match error {
        LogError::Version { .. } => "use events of `audit.k8s.io/v1`; Kubernetes writes them since 1.12",
        _ => "use the log of `--audit-log-path` of the API server: an event of `audit.k8s.io/v1` as JSON on each line",
    };
    Diagnostic::error(codes::UNREADABLE_AUDIT_LOG, message).help(help)
}

fn read_policy(
    run: &Options,
    path: &Path,
    files: &Arc<Files>,
    sink: &mut Sink,
) -> Result<Option<AuditPolicy>, RunError> {
    let mut policies = Vec::new();
    each_tree(&run.input_at(path), run, files, sink, &mut |tree, sink| {
        for document in tree.documents() {
            match AuditPolicy::read(document) {
                Ok(policy) => policies.push(policy),
                Err((place, message)) => sink.push(
                    Diagnostic::error(codes::INVALID_AUDIT_POLICY, message)
                        .at(place.origin())
                        .help("name the file of `--audit-policy-file` of the API server"),
                ),
            }
        }
    })?;
    if policies.len() != 1 && !sink.has_errors() {
        let message = format!("`{}` has {} audit policies, not one", path.display(), policies.len());
        sink.push(
            Diagnostic::error(codes::INVALID_AUDIT_POLICY, message)
                .help("name the file of `--audit-policy-file` of the API server"),
        );
    }
    Ok(policies.pop())
}
