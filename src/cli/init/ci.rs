//! Files for CI: a job that judges a change, or the parts of a large workspace side by side.

mod place;
mod values;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) use place::{PlaceError, WorkspacePlace};
use values::PinnedImage;

/// The most parts: so many jobs a matrix of GitHub may have.
const MAXIMUM_PARTS: u16 = 256;

/// Options of `init` about CI.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct CiArguments {
    /// Also write CI files for this forge. An existing workspace is not changed. Default of FORGE: github
    #[arg(long, value_name = "FORGE", num_args = 0..=1, default_missing_value = "github")]
    pub(super) ci: Option<Forge>,
    /// Compile the workspace in N parts side by side, and write Kubernetes Jobs for the same.
    #[arg(long, value_name = "N", requires = "ci", value_parser = clap::value_parser!(u16).range(1..=i64::from(MAXIMUM_PARTS)))]
    pub(super) parts: Option<u16>,
    /// URL of an archive (.tar.gz) with the program as `bailiwick`.
    #[arg(long, value_name = "URL", requires = "ci", value_parser = values::url)]
    program: Option<String>,
    /// SHA-256 of that archive.
    #[arg(long, value_name = "HEX", requires = "ci", value_parser = values::sha256)]
    sha256: Option<String>,
    /// Image with the program and git, in place of an archive.
    #[arg(long, value_name = "NAME@sha256:HEX", requires = "ci", conflicts_with_all = ["program", "sha256", "parts"])]
    image: Option<PinnedImage>,
    /// Let the job fail for a review with one of these properties, as `review --fail-on` does.
    #[arg(long, value_name = "LIST", requires = "ci", conflicts_with = "parts", value_delimiter = ',', value_parser = values::fail_on)]
    fail_on: Vec<String>,
    /// Leave out the job that comments on pull requests.
    #[arg(long, requires = "ci", conflicts_with = "parts")]
    no_comment: bool,
    /// Add a job that uploads the findings of `lint` to code scanning.
    #[arg(long, requires = "ci", conflicts_with = "parts")]
    sarif: bool,
    /// Overwrite existing CI files.
    #[arg(long, requires = "ci")]
    pub(super) force: bool,
}

/// A service with repositories and CI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Forge {
    /// GitHub Actions.
    Github,
    /// GitLab CI/CD.
    Gitlab,
}

/// The files of GitLab at the root of a repository, and below it if there is such a file already.
const GITLAB_FILE: &str = ".gitlab-ci.yml";

/// The files that `init` writes for CI.
#[derive(Debug)]
pub(super) struct CiFiles {
    /// The files: paths and texts.
    pub(super) files: Vec<(PathBuf, String)>,
    /// The path of the file that `.gitlab-ci.yml` has to include.
    pub(super) included: Option<String>,
    /// Whether the address or the checksum of the program is missing.
    pub(super) lacks_program: bool,
}

impl CiArguments {
    /// Returns the option that has no meaning for the forge.
    pub(super) fn mismatch(&self) -> Option<&'static str> {
        match self.ci {
            Some(Forge::Gitlab) if self.parts.is_some() => Some("--parts"),
            Some(Forge::Gitlab) if self.no_comment => Some("--no-comment"),
            Some(Forge::Gitlab) if self.sarif => Some("--sarif"),
            Some(Forge::Github | Forge::Gitlab) | None => None,
        }
    }

    /// Returns the files for a workspace; none without `--ci`.
    pub(super) fn files(&self, place: &WorkspacePlace) -> Option<CiFiles> {
        let forge = self.ci?;
        let text = Texts { arguments: self, place };
        let workflow = || place.at_root(&format!(".github/workflows/{}.yml", place.stem()));
        let mut included = None;
        let files = match (forge, self.parts) {
            (Forge::Github, None) => vec![(workflow(), text.github())],
            (Forge::Github, Some(parts)) => vec![
                (workflow(), text.parts(include_str!("parts.yml"), parts)),
                (place.in_workspace("ci/bailiwick-job.yaml"), text.parts(include_str!("job.yaml"), parts)),
            ],
            (Forge::Gitlab, _) => {
                let text = text.gitlab();
                let has_other = place.has_other_file(GITLAB_FILE, &text);
                included = has_other.then(|| format!("/.gitlab/{}.gitlab-ci.yml", place.stem()));
                let path = included.as_deref().map_or(GITLAB_FILE, |path| path.trim_start_matches('/'));
                vec![(place.at_root(path), text)]
            }
        };
        let lacks_program = self.image.is_none() && (self.url().is_empty() || self.sha256.is_none());
        Some(CiFiles { files, included, lacks_program })
    }

    /// Returns the address of the archive; empty if it is not known.
    fn url(&self) -> &str {
        match (&self.program, option_env!("BAILIWICK_URL")) {
            (Some(url), _) => url,
            (None, Some(url)) => url,
            (None, None) => "",
        }
    }
}

/// The texts of CI files. A template has `@NAME@` where a text is filled in, and `@IF NAME@` and `@END@` around lines with a condition.
struct Texts<'t> {
    arguments: &'t CiArguments,
    place: &'t WorkspacePlace,
}

impl Texts<'_> {
    /// Returns the workflow with one job that judges.
    fn github(&self) -> String {
        let has_comment = !self.arguments.no_comment;
        let markdown = r#" --report "markdown=$RUNNER_TEMP/review/review.md""#;
        let installed = " && steps.install.outcome == 'success'";
        let has_archive = self.arguments.image.is_none();
        let text = include_str!("github.yml")
            .replace("@COMMENTED@", if has_comment { " and in a comment" } else { "" })
            .replace("@MARKDOWN@", if has_comment { markdown } else { "" })
            .replace("@INSTALLED@", if has_archive { installed } else { "" });
        self.filled(&text)
    }

    /// Returns the pipeline with one job that judges.
    fn gitlab(&self) -> String {
        self.filled(include_str!("gitlab.yml"))
    }

    /// Returns a file for so many parts.
    fn parts(&self, template: &str, parts: u16) -> String {
        let numbers: Vec<String> = (1..=parts).map(|number| number.to_string()).collect();
        self.filled(&template.replace("@PARTS@", &parts.to_string()).replace("@NUMBERS@", &numbers.join(", ")))
    }

    /// Chooses lines by the options, and fills in the texts of all files.
    fn filled(&self, template: &str) -> String {
        let CiArguments { image, sha256, fail_on, .. } = self.arguments;
        let fail_on = match fail_on.join(",") {
            // The job fails for invalid input alone.
            list if list.is_empty() => " || [ $? -eq 1 ]".to_owned(),
            list => format!(" --fail-on '{list}'"),
        };
        self.chosen(template)
            .replace("@STEM@", &self.place.stem())
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@URL@", self.arguments.url())
            .replace("@SHA256@", &sha256.iter().map(String::as_str).collect::<String>())
            .replace("@IMAGE@", &image.iter().map(ToString::to_string).collect::<String>())
            .replace("@FAIL_ON@", &fail_on)
            // The only text that can contain a name of a template.
            .replace("@FOLDER@", &self.quoted_folder())
    }

    /// Returns the lines of a template whose conditions are met.
    fn chosen(&self, template: &str) -> String {
        let mut is_shown = true;
        let mut chosen = String::new();
        for line in template.lines() {
            if let Some(name) = line.strip_prefix("@IF ").and_then(|line| line.strip_suffix('@')) {
                is_shown = self.is_met(name);
            } else if line == "@END@" {
                is_shown = true;
            } else if is_shown {
                chosen.push_str(line);
                chosen.push('\n');
            }
        }
        chosen
    }

    /// Whether a condition of a template is met.
    fn is_met(&self, condition: &str) -> bool {
        let CiArguments { image, no_comment, sarif, .. } = self.arguments;
        let has_folder = !self.place.below().is_empty();
        match condition {
            "archive" => image.is_none(),
            "image" => image.is_some(),
            "comment" => !no_comment,
            "sarif" => *sarif,
            "outputs" => !no_comment || *sarif,
            "folder" => has_folder,
            "variables" => image.is_none() || has_folder,
            _ => false,
        }
    }

    /// Returns the folder of the workspace as a scalar of YAML: a string of JSON without hidden characters is one.
    fn quoted_folder(&self) -> String {
        serde_json::Value::from(self.place.below()).to_string()
    }
}
