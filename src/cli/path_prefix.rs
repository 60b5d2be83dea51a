//! `--path-prefix`: the paths of reports that a forge shows beside the files of a repository.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::Global;
use crate::app::Workspace;
use crate::app::review::ChangeReview;
use crate::app::workspace::normal;
use crate::git;
use crate::report::RunReport;

/// The paths of files in reports of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReportPaths {
    /// Paths as the program reads them.
    Plain,
    /// Paths below a folder that an option names.
    Below(String),
    /// Paths from the root of a git work tree.
    InWorkTree {
        /// The folder of relative paths.
        start: PathBuf,
        /// The root of the work tree.
        root: PathBuf,
    },
}

impl ReportPaths {
    /// Returns a path in its form for reports. A path outside the work tree, and a name that is no path, stay as they are.
    pub(super) fn path(&self, path: &str) -> String {
        let is_name = path == "-" || path.starts_with('<');
        let located = match self {
            _ if is_name => None,
            Self::Plain => None,
            Self::Below(_) if path.starts_with('/') => None,
            Self::Below(folder) => Some(normal(&Path::new(folder).join(path))),
            Self::InWorkTree { start, root } => {
                let whole = normal(&start.join(path));
                whole.strip_prefix(root).ok().map(Path::to_owned)
            }
        };
        located.map_or_else(|| path.to_owned(), |located| located.to_string_lossy().into_owned())
    }
}

impl Global {
    /// Returns the form of paths in the reports of the run.
    pub(super) fn report_paths(&self) -> ReportPaths {
        match &self.path_prefix {
            Some(folder) if folder.is_empty() => return ReportPaths::Plain,
            Some(folder) => return ReportPaths::Below(folder.clone()),
            None => {}
        }
        let workspace = || Workspace::find_root(&self.options()).ok().flatten();
        let start = if self.reads_manifests { None } else { workspace() };
        // Manifests have paths from the folder in which the program starts.
        let start = start.or_else(|| std::env::current_dir().and_then(|folder| folder.canonicalize()).ok());
        match start.and_then(|start| git::work_tree(&start).map(|root| ReportPaths::InWorkTree { start, root })) {
            Some(paths) => paths,
            None => ReportPaths::Plain,
        }
    }

    /// Returns the report of a run with the paths of the run.
    pub(super) fn located(&self, report: &RunReport) -> RunReport {
        let paths = self.report_paths();
        let mut located = report.clone();
        for finding in &mut located.findings {
            finding.map_paths(&|path| paths.path(path));
        }
        for failure in located.tests.iter_mut().flat_map(|test| &mut test.places) {
            failure.path = paths.path(&failure.path);
        }
        located.workspace = paths.path(".");
        located
    }

    /// Returns a review with the paths of the run. A review has paths from the root of the work tree, but for its diagnostics.
    pub(super) fn located_review<'r>(&self, review: &'r ChangeReview) -> Cow<'r, ChangeReview> {
        let paths = self.report_paths();
        let is_named = self.path_prefix.is_some();
        if !is_named && (paths == ReportPaths::Plain || review.diagnostics.is_empty()) {
            return Cow::Borrowed(review);
        }
        let mut located = review.clone();
        for record in &mut located.diagnostics {
            record.map_paths(&|path| paths.path(path));
        }
        if is_named {
            located.map_paths(&|path| match path.strip_prefix(&review.workspace) {
                _ if review.workspace == "." => paths.path(path),
                Some("") => paths.path("."),
                Some(below) if below.starts_with('/') => paths.path(below.trim_start_matches('/')),
                Some(_) | None => path.to_owned(),
            });
        }
        Cow::Owned(located)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_the_root_of_the_work_tree() {
        let paths = ReportPaths::InWorkTree { start: "/r/infra/access".into(), root: "/r".into() };
        for (path, located) in [
            ("policies/team.yaml", "infra/access/policies/team.yaml"),
            ("../m.yaml", "infra/m.yaml"),
            ("/r/x.yaml", "x.yaml"),
            ("/elsewhere/x.yaml", "/elsewhere/x.yaml"),
            ("../../../x.yaml", "../../../x.yaml"),
            ("-", "-"),
            ("<rendered Role a/b>", "<rendered Role a/b>"),
            (".", "infra/access"),
        ] {
            assert_eq!(paths.path(path), located, "{path}");
        }
        let below = ReportPaths::Below("sub/./folder/".to_owned());
        assert_eq!(below.path("policies/team.yaml"), "sub/folder/policies/team.yaml");
        assert_eq!(below.path("/x.yaml"), "/x.yaml");
        assert_eq!(ReportPaths::Plain.path("../x.yaml"), "../x.yaml");
    }
}
