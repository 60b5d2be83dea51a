//! `bailiwick review`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::sandbox::{Paths, SandboxArguments};
use super::{Global, Outcome, bases};
use crate::app::review::{ChangeReview, EffectSeverity, PathChangeKind, ReviewOptions};
use crate::app::{Error, Workspace};
use crate::diag::RunError;
use crate::emit::write;
use crate::report::json;
use crate::report::review::summary;

/// Options of `review`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Git revision to compare with, or `A...B` for the merge base of both. Default: the base of the pull request in CI, otherwise
    /// the merge base with `origin/HEAD`.
    #[arg(long, alias = "against", value_name = "REF", conflicts_with = "base_dir")]
    base: Option<String>,
    /// Folder of an earlier state of the workspace.
    #[arg(long, value_name = "DIR")]
    base_dir: Option<PathBuf>,
    /// Folder of the earlier workspace in the repository, if the workspace moved.
    #[arg(long, value_name = "PATH")]
    base_path: Option<String>,
    /// Review only this target; may be repeated.
    #[arg(short, long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Write the review to a file in a form, text or json; may be repeated. `-` is standard output. Default: text=-
    #[arg(long = "report", value_name = "FORM=FILE")]
    reports: Vec<ReviewReport>,
    /// Exit with 1 if the review has one of these severities or worse, or `becomes:POWER`, `verdict:NAME` or `hazard:KIND`.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Names of those who approved the change, or `@FILE` with one name on each line.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    approved_by: Vec<String>,
    /// Name every member of each class in JSON.
    #[arg(long)]
    all_members: bool,
    /// Print a CODEOWNERS file with the approvers of the ApprovalPolicies, and review nothing.
    #[arg(long, conflicts_with_all = ["base", "base_dir", "base_path", "targets", "reports", "fail_on", "approved_by", "all_members"])]
    codeowners: bool,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

/// A form of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReviewForm {
    /// For people.
    Text,
    /// For programs; `bailiwick schema review` prints the schema.
    Json,
}

/// A form of a review, and the file to write.
#[derive(Debug, Clone)]
struct ReviewReport {
    form: ReviewForm,
    file: PathBuf,
}

/// A value that is refused, with the reason.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl FromStr for ReviewReport {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let names = || {
            let values = ReviewForm::value_variants().iter().filter_map(ReviewForm::to_possible_value);
            values.map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(", ")
        };
        let (form, file) =
            text.split_once('=').ok_or_else(|| Refused(format!("write FORM=FILE; the forms are {}", names())))?;
        let form = ReviewForm::from_str(form, false)
            .map_err(|_| Refused(format!("there is no form `{form}`; the forms are {}", names())))?;
        if file.is_empty() {
            return Err(Refused("the file is missing".to_owned()));
        }
        Ok(Self { form, file: file.into() })
    }
}

/// A property of a review for which the run fails.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FailOn {
    Severity(EffectSeverity),
    Becomes(String),
    Verdict(String),
    Hazard(String),
}

impl FromStr for FailOn {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let severity = match text {
            "critical" => Some(EffectSeverity::Critical),
            "high" => Some(EffectSeverity::High),
            "medium" => Some(EffectSeverity::Medium),
            "low" => Some(EffectSeverity::Low),
            "info" => Some(EffectSeverity::Info),
            _ => None,
        };
        match (severity, text.split_once(':')) {
            (Some(severity), _) => Ok(Self::Severity(severity)),
            (None, Some(("becomes", power))) => Ok(Self::Becomes(power.to_owned())),
            (None, Some(("verdict", name))) => Ok(Self::Verdict(name.to_owned())),
            (None, Some(("hazard", kind))) => Ok(Self::Hazard(kind.to_owned())),
            _ => Err(Refused(
                "write critical, high, medium, low, info, becomes:POWER, verdict:NAME or hazard:KIND".to_owned(),
            )),
        }
    }
}

impl FailOn {
    /// Whether a review has the property.
    fn is_met(&self, review: &ChangeReview) -> bool {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        match self {
            Self::Severity(severity) => review.severity >= *severity,
            Self::Becomes(power) => {
                let mut new = review.paths.iter().filter(|path| path.change != PathChangeKind::Gone);
                new.any(|path| path.reaches == *power)
            }
            Self::Verdict(name) => review.verdict.is_some_and(|verdict| word(json::value(&verdict)) == *name),
            Self::Hazard(kind) => review.hazards.iter().any(|hazard| word(json::value(&hazard.kind)) == *kind),
        }
    }
}

impl Arguments {
    /// Confines the process, if it is to be.
    pub(super) fn confine(&self, global: &Global) -> Result<Outcome, Error> {
        let reads = self.base_dir.iter().map(|folder| global.at(folder)).collect();
        let files = self.reports.iter().map(|report| &report.file).filter(|file| file.as_os_str() != "-");
        let writes = files.map(|file| global.at(file)).collect();
        self.sandbox.apply(global, Paths { reads, writes })
    }

    fn options(&self, global: &Global) -> Result<ReviewOptions, Error> {
        let base = bases::chosen(self.base.as_deref(), self.base_dir.as_deref());
        Ok(ReviewOptions {
            base,
            base_path: self.base_path.clone(),
            targets: self.targets.clone(),
            approved_by: approvers(global, &self.approved_by)?,
            all_members: self.all_members,
        })
    }
}

/// Returns the names of the approvers; `@FILE` stands for the lines of a file.
fn approvers(global: &Global, written: &[String]) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for name in written {
        let file = name.strip_prefix('@').map(|file| global.at(file.as_ref())).filter(|path| path.is_file());
        match file {
            Some(path) => {
                #[expect(clippy::disallowed_methods, reason = "a file that an option names")]
                let text = std::fs::read_to_string(&path).map_err(|error| RunError::io("read", &path, &error))?;
                names.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
            }
            None => names.push(name.clone()),
        }
    }
    Ok(names)
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = arguments.options(global)?;
    let workspace = std::mem::ManuallyDrop::new(Workspace::open(&global.options())?);
    if arguments.codeowners {
        global.terminal().result(&workspace.codeowners());
        return Ok(Outcome::Fine);
    }
    let review = workspace.review(&options)?;
    let usual = [ReviewReport { form: ReviewForm::Text, file: "-".into() }];
    let reports = if arguments.reports.is_empty() { &usual[..] } else { &arguments.reports };
    for report in reports {
        write_report(global, report, &review)?;
    }
    let is_refused = arguments.fail_on.iter().any(|property| property.is_met(&review));
    Ok(match review.exit {
        0 if is_refused => Outcome::No,
        0 => Outcome::Fine,
        1 => Outcome::No,
        _ => Outcome::Invalid,
    })
}

fn write_report(global: &Global, report: &ReviewReport, review: &ChangeReview) -> Result<(), Error> {
    let text = match report.form {
        ReviewForm::Text => summary::text(review),
        ReviewForm::Json => json::pretty(review),
    };
    if report.file.as_os_str() == "-" {
        global.terminal().result(&text);
        return Ok(());
    }
    let path = global.at(&report.file);
    write::replace(&path, text.as_bytes())
        .map_err(|error| RunError::io("write", &path, &error).help("name a file in a folder that exists").into())
}
