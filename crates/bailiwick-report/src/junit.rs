//! JUnit XML, which CI systems show as test results.

use bailiwick_workspace::FindingRecord;

use super::Report;
use super::run::{TargetChange, TestResult};

/// Returns a report as JUnit XML, with one suite for the AccessTests of each target and one for the diagnostics.
///
/// An error is an error of JUnit, and a finding of `lint` is a failure. Another warning is a passed test with its text.
pub fn text(report: &impl Report) -> String {
    let mut suites = Vec::new();
    let tests = report.tests();
    let mut targets: Vec<&str> = tests.iter().map(|test| test.target.as_str()).collect();
    targets.dedup();
    for target in targets {
        let of_target = tests.iter().filter(|test| test.target == target);
        suites.push(Suite::new(format!("AccessTest {target}"), of_target.map(Case::of_test).collect()));
    }
    if !report.changes().is_empty() {
        suites.push(Suite::new("output".to_owned(), report.changes().iter().map(Case::of_change).collect()));
    }
    let mut diagnostics: Vec<Case> = report.findings().iter().map(Case::of_finding).collect();
    if diagnostics.is_empty() {
        // A suite without a test looks like a run that did not take place.
        diagnostics.push(Case { name: "no diagnostics".to_owned(), class: "diagnostics".to_owned(), outcome: Passed });
    }
    suites.push(Suite::new("diagnostics".to_owned(), diagnostics));
    let is_green = suites.iter().all(|suite| matches!(suite.counts(), [_, 0, 0]));
    if is_green && report.exit_code() != 0 {
        // Drift and warnings of a strict gate make a run fail without a failed case.
        let failed = Failed("exit-code".to_owned(), format!("exit code {}", report.exit_code()));
        let name = format!("bailiwick {}", report.command());
        suites.push(Suite::new(name.clone(), vec![Case { name, class: "exit code".to_owned(), outcome: failed }]));
    }
    document(&format!("bailiwick {}", report.command()), &suites)
}

/// Returns suites as a document.
pub(super) fn document(name: &str, suites: &[Suite]) -> String {
    let [count, failures, errors] = suites.iter().fold([0; 3], |sum, suite| {
        let [count, failures, errors] = suite.counts();
        [sum[0] + count, sum[1] + failures, sum[2] + errors]
    });
    let name = escaped(name);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" tests=\"{count}\" failures=\"{failures}\" errors=\"{errors}\">\n"
    );
    suites.iter().for_each(|suite| suite.write(&mut text));
    text.push_str("</testsuites>\n");
    text
}

/// Cases with a common name.
#[derive(Debug)]
pub(super) struct Suite {
    name: String,
    cases: Vec<Case>,
}

/// A case with its outcome.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) class: String,
    pub(super) outcome: CaseOutcome,
}

/// Whether a case passes, with the texts of its element.
#[derive(Debug)]
pub(super) enum CaseOutcome {
    /// Without a text.
    Passed,
    /// With a text.
    Noted(String),
    /// With a type and a text.
    Failed(String, String),
    /// With a type and a text.
    Broken(String, String),
}

use CaseOutcome::{Broken, Failed, Noted, Passed};

impl Suite {
    /// Returns a suite.
    pub(super) fn new(name: String, cases: Vec<Case>) -> Self {
        Self { name, cases }
    }

    /// Returns the number of cases, failures and errors.
    fn counts(&self) -> [usize; 3] {
        let failures = self.cases.iter().filter(|case| matches!(case.outcome, Failed(..))).count();
        let errors = self.cases.iter().filter(|case| matches!(case.outcome, Broken(..))).count();
        [self.cases.len(), failures, errors]
    }

    fn write(&self, text: &mut String) {
        let [count, failures, errors] = self.counts();
        text.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{count}\" failures=\"{failures}\" errors=\"{errors}\">\n",
            escaped(&self.name)
        ));
        for case in &self.cases {
            let head = format!("<testcase name=\"{}\" classname=\"{}\"", escaped(&case.name), escaped(&case.class));
            let body = match &case.outcome {
                Passed => {
                    text.push_str(&format!("    {head}/>\n"));
                    continue;
                }
                Noted(note) => format!("<system-out>{}</system-out>", escaped(note)),
                Failed(kind, body) => element("failure", kind, body),
                Broken(kind, body) => element("error", kind, body),
            };
            text.push_str(&format!("    {head}>{body}</testcase>\n"));
        }
        text.push_str("  </testsuite>\n");
    }
}

impl Case {
    fn of_change(change: &TargetChange) -> Self {
        Self { name: change.target.clone(), class: "output".to_owned(), outcome: Noted(change.line()) }
    }

    fn of_test(test: &TestResult) -> Self {
        let outcome = if test.failed == 0 {
            Passed
        } else {
            let count = format!("{} of {} questions failed", test.failed, test.questions);
            Failed("AccessTest".to_owned(), format!("{count}\n{}", test.failures.join("\n")))
        };
        Self { name: test.test.clone(), class: test.target.clone(), outcome }
    }

    fn of_finding(finding: &FindingRecord) -> Self {
        let mut body = finding.message.clone();
        let further = finding.notes.iter().map(|note| ("note", note));
        for (kind, line) in further.chain(finding.help.iter().map(|help| ("help", help))) {
            body.push_str(&format!("\n{kind}: {line}"));
        }
        let outcome = if finding.is_error() {
            Broken(finding.code.clone(), body)
        } else if finding.risk.is_some() {
            Failed(finding.code.clone(), body)
        } else {
            Noted(body)
        };
        let class = match &finding.place {
            Some(place) => format!("{}:{}", place.path, place.line),
            None => "diagnostics".to_owned(),
        };
        Self { name: finding.code.clone(), class, outcome }
    }
}

fn element(name: &str, kind: &str, body: &str) -> String {
    let first = body.split_once('\n').map_or(body, |(first, _)| first);
    format!("<{name} type=\"{}\" message=\"{}\">{}</{name}>", escaped(kind), escaped(first), escaped(body))
}

/// Returns a text for XML 1.0: the five special characters as references, and characters that XML does not allow as `\u{..}`.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&apos;"),
            '\n' => shown.push('\n'),
            '\u{fffe}' | '\u{ffff}' => shown.push_str(&character.escape_unicode().to_string()),
            control if control.is_control() => shown.push_str(&control.escape_unicode().to_string()),
            other => shown.push(other),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_leaves_its_element() {
        assert_eq!(escaped("]]></failure><x a=\"'&\u{1}"), "]]&gt;&lt;/failure&gt;&lt;x a=&quot;&apos;&amp;\\u{1}");
    }
}
