//! The paths of a review.

use super::record::ChangeReview;

impl ChangeReview {
    /// Replaces the path of the workspace, and the paths of files in causes, steps, tests, findings and approvals. Diagnostics stay as they are.
    pub fn map_paths(&mut self, path: &dyn Fn(&str) -> String) {
        self.workspace = path(&self.workspace);
        for cause in &mut self.causes {
            cause.path = path(&cause.path);
        }
        let steps = self.paths.iter_mut().flat_map(|path| &mut path.steps);
        let tests = &mut self.tests;
        let failed = tests.failing.iter_mut().chain(&mut tests.base_failing).map(|test| &mut test.place);
        let removed = tests.removed.iter_mut().chain(&mut tests.obsolete).map(|removed| &mut removed.place);
        let rules = self.approvals.needed.iter_mut().filter_map(|needed| needed.rule.as_mut());
        let accepted = tests.accepted.iter_mut().map(|accepted| &mut accepted.place);
        for place in
            steps.filter_map(|step| step.place.as_mut()).chain(failed).chain(removed).chain(accepted).chain(rules)
        {
            // The line stands after the last colon.
            *place = match place.rsplit_once(':') {
                Some((file, line)) => format!("{}:{line}", path(file)),
                None => path(place),
            };
        }
        let findings = self.findings.new.iter_mut().chain(&mut self.findings.fixed);
        for found in findings.filter_map(|finding| finding.path.as_mut()) {
            *found = path(found);
        }
    }
}
