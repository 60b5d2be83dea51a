//! `bailiwick review`.

mod fail_on;

use std::path::PathBuf;

use clap::Args;
use sha2::{Digest, Sha256};

pub(super) use fail_on::FailOn;

use super::form_file::FormFile;
use super::printing::print;
use super::sandbox::Paths;
use super::{Global, Outcome, bases, step_outputs};
use crate::app::review::{ChangeReview, ReviewOptions};
use crate::app::{Error, Workspace, codeowners, review};
use crate::diag::RunError;
use crate::report::json;
use crate::report::review::{COMMENT_BUDGET, ReviewForm, ReviewFormOptions};
use crate::source::NamedFile;
use crate::yaml::limits::MAXIMUM_TREE_SIZE;

/// Most bytes of a step summary of GitHub.
const STEP_SUMMARY_BUDGET: usize = 1 << 20;

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
    /// Write the review to a file, as text, markdown, json, sarif, gitlab, junit, github or html; may be repeated. `-` is standard
    /// output. Default: text=-
    #[arg(long = "report", value_name = "FORM=FILE")]
    reports: Vec<FormFile<ReviewForm>>,
    /// Exit with 1 if the review has one of these severities or worse, or `becomes:POWER`, `verdict:NAME` or `hazard:KIND`.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Names of those who approved the change, or `@./FILE` or `@/FILE` with one name on each line. Another name with `@` is an
    /// account or a team.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    approved_by: Vec<String>,
    /// Name every member of each class in JSON.
    #[arg(long)]
    all_members: bool,
    /// Most bytes of a Markdown report. A step summary of GitHub has 1 MiB.
    #[arg(long, value_name = "BYTES", default_value_t = COMMENT_BUDGET)]
    budget: usize,
    /// Address below which the files of the reviewed commit are shown, for links. Default: the address of GitHub in its CI.
    #[arg(long, value_name = "URL")]
    link_base: Option<String>,
    /// Address of the HTML report, for a link in Markdown.
    #[arg(long, value_name = "URL")]
    report_url: Option<String>,
    /// Write lost paths and fixed findings in SARIF, too.
    #[arg(long)]
    sarif_absent: bool,
    /// Compile every namespace, and not one of each class of alike namespaces. The review is the same, and takes longer.
    #[arg(long, hide = true)]
    no_classes: bool,
    /// Print a CODEOWNERS file with the approvers of the ApprovalPolicies, and review nothing.
    #[arg(long, conflicts_with_all = ["base", "base_dir", "base_path", "targets", "reports", "fail_on", "approved_by", "all_members"])]
    codeowners: bool,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        let approvers = self.approved_by.iter().filter_map(|name| approvers_file(name)).map(PathBuf::from);
        let reads = self.base_dir.iter().cloned().chain(approvers).collect();
        let files = self.reports.iter().filter(|report| !report.is_output());
        Paths { reads, writes: files.map(|report| report.file.clone()).collect() }
    }

    fn options(&self, global: &Global) -> Result<ReviewOptions, Error> {
        let base = bases::chosen(self.base.as_deref(), self.base_dir.as_deref());
        Ok(ReviewOptions {
            base,
            base_path: self.base_path.clone(),
            targets: self.targets.clone(),
            approved_by: approvers(global, &self.approved_by)?,
            without_classes: self.no_classes,
        })
    }
}

/// Returns the names of the approvers; `@./FILE` or `@/FILE` stands for the lines of a file.
fn approvers(global: &Global, written: &[String]) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for name in written {
        match approvers_file(name).map(|file| global.at(file.as_ref())) {
            Some(path) => {
                let bytes = NamedFile::open(&path, MAXIMUM_TREE_SIZE as u64).and_then(NamedFile::read_all);
                let bytes = bytes.map_err(|error| RunError::io("read", &path, &error))?;
                let text = String::from_utf8_lossy(&bytes);
                names.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
            }
            None => names.push(name.clone()),
        }
    }
    Ok(names)
}

/// Returns the path of a file of approvers. The author of a change can add a file with the name of an account or a team, such as
/// `example/security`: only a path that begins as no such name is a file.
fn approvers_file(name: &str) -> Option<&str> {
    let is_path = |file: &&str| ["./", "../", "/"].iter().any(|start| file.starts_with(start));
    name.strip_prefix('@').filter(is_path)
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = arguments.options(global)?;
    if arguments.codeowners {
        let workspace = Workspace::open(&global.options())?;
        global.terminal().result(&codeowners(&workspace));
        return Ok(Outcome::Fine);
    }
    let review = match Workspace::open(&global.options()) {
        // The program ends with the command: freeing the memory of a large workspace would take time.
        Ok(workspace) => review(&std::mem::ManuallyDrop::new(workspace), &options)?,
        Err(Error::Invalid(diagnostics)) => {
            let review = ChangeReview::invalid(&global.options(), &diagnostics);
            print(global, diagnostics.list, &diagnostics.files);
            review
        }
        Err(error) => return Err(error),
    };
    let usual = [FormFile { form: ReviewForm::Text, file: "-".into() }];
    let reports = if arguments.reports.is_empty() { &usual[..] } else { &arguments.reports };
    let form_options = arguments.form_options(&review);
    let located = global.located_review(&review);
    for report in reports {
        let shown = if report.form.has_paths_of_repository() { &*located } else { &review };
        write_report(global, report, shown, &form_options)?;
    }
    let is_refused = arguments.fail_on.iter().any(|property| property.is_met(&review));
    let outcome = match review.exit {
        0 if is_refused => Outcome::No,
        0 => Outcome::Fine,
        1 => Outcome::No,
        _ => Outcome::Invalid,
    };
    write_outputs(global, &review, outcome)?;
    Ok(outcome)
}

impl Arguments {
    fn form_options(&self, review: &ChangeReview) -> ReviewFormOptions {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let of_commit = |commit: &Option<String>| {
            let repository = format!("{}/{}", variable("GITHUB_SERVER_URL")?, variable("GITHUB_REPOSITORY")?);
            Some(format!("{repository}/blob/{}", commit.as_ref()?))
        };
        ReviewFormOptions {
            budget: self.budget,
            link_base: self.link_base.clone().or_else(|| of_commit(&review.head.commit)),
            earlier_link_base: of_commit(&review.base.commit),
            report_url: self.report_url.clone(),
            command: format!("bailiwick review --base {}", review.base.name),
            writes_absent: self.sarif_absent,
            writes_all_members: self.all_members,
        }
    }
}

fn write_report(
    global: &Global,
    report: &FormFile<ReviewForm>,
    review: &ChangeReview,
    options: &ReviewFormOptions,
) -> Result<(), Error> {
    let path = global.at(&report.file);
    if report.form == ReviewForm::Markdown && step_outputs::summary_file(global).as_ref() == Some(&path) {
        let options = ReviewFormOptions { budget: STEP_SUMMARY_BUDGET, ..options.clone() };
        return Ok(step_outputs::append_text(&path, &report.form.write(review, &options))?);
    }
    let text = report.form.write(review, options);
    if report.is_output() {
        match report.form {
            ReviewForm::Github => global.terminal().workflow_commands(&text),
            _ => global.terminal().result(&text),
        }
        return Ok(());
    }
    report.replace(global, &text)
}

/// Appends the outputs of the step for other steps of a GitHub workflow, if there is a file for them.
fn write_outputs(global: &Global, review: &ChangeReview, outcome: Outcome) -> Result<(), Error> {
    if step_outputs::file(global).is_none() {
        return Ok(());
    }
    let word = |value: serde_json::Value| value.as_str().map_or_else(|| "none".to_owned(), str::to_owned);
    let approvers: Vec<&String> = review.approvals.needed.iter().flat_map(|needed| &needed.approvers).collect();
    let data = serde_json::to_vec(review).map_err(|error| RunError::new(error.to_string()))?;
    let digest: String = Sha256::digest(&data).iter().map(|byte| format!("{byte:02x}")).collect();
    let lines = [
        ("verdict", word(json::value(&review.verdict))),
        ("severity", review.severity.word().to_owned()),
        ("exit", outcome.code().to_string()),
        ("effects", review.effects.len().to_string()),
        ("paths", review.paths.len().to_string()),
        ("hazards", review.hazards.len().to_string()),
        ("approvers", json::value(&approvers).to_string()),
        ("digest", digest),
    ];
    // Names of approvers come from the base; JSON has no line feed in a value.
    Ok(step_outputs::append(global, &lines)?)
}

#[cfg(test)]
mod tests {
    use super::approvers_file;

    #[test]
    fn a_file_of_the_change_is_no_list_of_approvers() {
        assert_eq!(approvers_file("@example/security"), None);
        assert_eq!(approvers_file("@alice"), None);
        assert_eq!(approvers_file("./approvals.txt"), None);
        assert_eq!(approvers_file("@./approvals.txt"), Some("./approvals.txt"));
        assert_eq!(approvers_file("@/run/approvals.txt"), Some("/run/approvals.txt"));
    }
}
