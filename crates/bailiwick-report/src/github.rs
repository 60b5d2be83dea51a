//! Workflow commands of GitHub Actions, which GitHub shows beside the lines of a pull request.

use bailiwick_workspace::{FindingRecord, SourceRange};
use bailiwick_yaml::diag::foreign;

use super::Report;
use super::human::grouped;

/// The most errors and the most warnings that GitHub shows for one step.
pub(super) const MAXIMUM_ANNOTATIONS: usize = 10;

/// The most notices of one step, beside the notice about the annotations that are left out.
const MAXIMUM_NOTICES: usize = MAXIMUM_ANNOTATIONS - 1;

/// A workflow command that GitHub shows as an annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    level: Level,
    /// The lines of the command.
    text: String,
}

/// The level of an annotation, and its rank within that level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Error(Rank),
    Warning(Rank),
    Notice,
}

/// How bad a result is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// An error of the input, or a failure of an AccessTest.
    Error,
    Critical,
    High,
    Medium,
    Warning,
    Low,
    Info,
    /// The outcome of the run.
    Verdict,
}

impl Level {
    /// Returns the level of a finding. A finding that `lint` reports without further options is an error.
    fn of(finding: &FindingRecord) -> Self {
        match finding.level() {
            _ if finding.is_error() => Self::Error(Rank::Error),
            "critical" => Self::Error(Rank::Critical),
            "high" => Self::Error(Rank::High),
            "medium" => Self::Warning(Rank::Medium),
            "low" => Self::Warning(Rank::Low),
            "info" => Self::Warning(Rank::Info),
            "note" => Self::Notice,
            _ => Self::Warning(Rank::Warning),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Error(_) => "error",
            Self::Warning(_) => "warning",
            Self::Notice => "notice",
        }
    }
}

impl Annotation {
    /// Returns the annotation of a finding.
    pub fn of_finding(finding: &FindingRecord) -> Self {
        let mut message = finding.message.clone();
        for help in &finding.help {
            message.push_str(&format!("\nhelp: {help}"));
        }
        Self::new(Level::of(finding), finding.place.as_ref(), &finding.code, &message)
    }

    /// Returns the annotation of a failure of an AccessTest, in words and with its place.
    pub fn of_failure(failure: &str, place: Option<&SourceRange>) -> Self {
        Self::new(Level::Error(Rank::Error), place, "AccessTest", failure)
    }

    fn new(level: Level, place: Option<&SourceRange>, title: &str, message: &str) -> Self {
        let place = place.map_or_else(String::new, |place| {
            format!(
                "file={},line={},endLine={},col={},endColumn={},",
                foreign::command_property(&place.path),
                place.line,
                place.end_line,
                place.column,
                place.end_column
            )
        });
        let head = format!("{} {place}title={}", level.word(), foreign::command_property(title));
        Self { level, text: command(&head, message) }
    }
}

/// Returns a report as workflow commands: the failures of AccessTests, the findings, and the verdict of a run that fails.
pub fn text(report: &impl Report) -> String {
    let mut list: Vec<Annotation> = report.tests().iter().flat_map(|test| test.annotations()).collect();
    list.extend(report.findings().iter().map(Annotation::of_finding));
    if report.exit_code() != 0 && !report.findings().iter().any(FindingRecord::is_error) {
        let title = format!("bailiwick {}", report.command());
        list.push(Annotation::new(Level::Error(Rank::Verdict), None, &title, report.verdict()));
    }
    annotations(list)
}

/// Returns annotations as workflow commands, the worst first: as many as GitHub shows, and the number of the others.
pub fn annotations(mut list: Vec<Annotation>) -> String {
    list.sort_by_key(|annotation| annotation.level);
    let (mut errors, mut warnings, mut notices, mut more) = (0, 0, 0, 0);
    let mut text = String::new();
    for annotation in list {
        let (shown, most) = match annotation.level {
            Level::Error(_) => (&mut errors, MAXIMUM_ANNOTATIONS),
            Level::Warning(_) => (&mut warnings, MAXIMUM_ANNOTATIONS),
            Level::Notice => (&mut notices, MAXIMUM_NOTICES),
        };
        if *shown < most {
            *shown += 1;
            text.push_str(&annotation.text);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        text.push_str(&command("notice", &format!("and {} more", grouped(more))));
    }
    text
}

/// Returns a command with its line feed.
pub(super) fn command(head: &str, message: &str) -> String {
    format!("::{head}::{}\n", foreign::command_data(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_annotations_come_first_and_the_others_are_counted() {
        let of = |level: Level, name: &str| Annotation::new(level, None, name, "text");
        let mut list = vec![of(Level::Notice, "n"), of(Level::Warning(Rank::Info), "info")];
        list.extend((0..11).map(|_| of(Level::Warning(Rank::Medium), "medium")));
        list.extend((0..10).map(|_| of(Level::Error(Rank::High), "high")));
        list.push(of(Level::Error(Rank::Error), "error"));
        list.push(of(Level::Error(Rank::Critical), "critical"));
        list.extend((0..10).map(|_| of(Level::Notice, "n")));
        let text = annotations(list);
        let titles: Vec<&str> =
            text.lines().filter_map(|line| line.split("title=").nth(1)?.split(':').next()).collect();
        let mut expected = vec!["error", "critical"];
        expected.extend(["high"; 8]);
        expected.extend(["medium"; 10]);
        expected.extend(["n"; 9]);
        assert_eq!(titles, expected);
        assert!(text.ends_with("::notice::and 6 more\n"), "{text}");
        assert_eq!(annotations(Vec::new()), "");
    }
}
