//! The base of a comparison with an earlier state of the workspace.

use std::path::Path;

use crate::app::review::{BaseRevision, ReviewBase};

/// Returns the base that the options choose: a folder, a revision, or the usual base without either.
pub(super) fn chosen(revision: Option<&str>, folder: Option<&Path>) -> ReviewBase {
    match (revision, folder) {
        (_, Some(folder)) => ReviewBase::Folder(folder.to_owned()),
        (Some(name), None) => ReviewBase::Revision(vec![BaseRevision::Named(name.to_owned())]),
        (None, None) => ReviewBase::Revision(usual_bases()),
    }
}

/// Returns the revisions that can be the base, in the order of their use: the base that the CI names, and the default branch.
fn usual_bases() -> Vec<BaseRevision> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut bases = Vec::new();
    bases.extend(variable("CI_MERGE_REQUEST_DIFF_BASE_SHA").map(BaseRevision::Named));
    if let Some(branch) = variable("GITHUB_BASE_REF") {
        let branch = format!("refs/remotes/origin/{branch}");
        bases.push(BaseRevision::FirstParentOfMerge(branch.clone()));
        bases.push(BaseRevision::MergeBase(branch));
    }
    bases.push(BaseRevision::MergeBase(BaseRevision::DEFAULT_BRANCH.to_owned()));
    bases
}
