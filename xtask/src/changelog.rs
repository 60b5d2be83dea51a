//! `cargo xtask changelog`: whether CHANGELOG.md is ready for a release.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Check that CHANGELOG.md is ready for a release, and print the section of the release
///
/// The section is `## VERSION - YYYY-MM-DD` with entries, above the sections of other releases, and nothing stands under `## Unreleased`.
/// VERSION has three numbers and is the version in Cargo.toml. Ends with 0 when the release can be made, 1 when it cannot.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Version of the release, without the `v` of its tag
    version: String,
}

/// Checks the changelog.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    let version = &arguments.version;
    let mut problems = Vec::new();
    if version != env!("CARGO_PKG_VERSION") {
        problems.push(format!("Cargo.toml: the version is {}, not `{version}`", env!("CARGO_PKG_VERSION")));
    }
    let text = fs::read_to_string(root.join("CHANGELOG.md"))?;
    let (section, others) = section(&text, version);
    problems.extend(others);
    if problems.is_empty() {
        println!("{}", section.trim());
        return Ok(ExitCode::SUCCESS);
    }
    for problem in problems {
        eprintln!("{problem}");
    }
    Ok(ExitCode::from(1))
}

/// Returns the text of the section of a release, and the problems of the changelog.
fn section(text: &str, version: &str) -> (String, Vec<String>) {
    let mut problems = Vec::new();
    let sections = sections(text);
    let unreleased = sections.iter().find(|section| section.title == "Unreleased");
    if let Some(entry) = unreleased.and_then(Section::entry) {
        problems.push(format!("CHANGELOG.md:{entry}: an entry under `## Unreleased` belongs to the release"));
    }
    let newest = sections.iter().find(|section| section.title != "Unreleased");
    let Some(newest) = newest.filter(|section| section.version() == version) else {
        problems.push(format!("CHANGELOG.md: the newest section is not `## {version} - YYYY-MM-DD`"));
        return (String::new(), problems);
    };
    if !newest.has_date() {
        problems.push(format!("CHANGELOG.md:{}: the section has no date: `## {version} - YYYY-MM-DD`", newest.line));
    }
    if newest.entry().is_none() {
        problems.push(format!("CHANGELOG.md:{}: the section has no entry", newest.line));
    }
    (newest.lines.join("\n"), problems)
}

/// A section of the changelog.
#[derive(Debug)]
struct Section<'t> {
    title: &'t str,
    /// The number of the line with the title, from 1.
    line: usize,
    /// The lines below the title.
    lines: Vec<&'t str>,
}

impl Section<'_> {
    fn version(&self) -> &str {
        self.title.split(" - ").next().map_or("", |version| version)
    }

    fn has_date(&self) -> bool {
        let form = |text: &str| text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>();
        self.title.split_once(" - ").is_some_and(|(_, date)| form(date) == "0000-00-00")
    }

    /// Returns the number of the line with the first entry.
    fn entry(&self) -> Option<usize> {
        let index = self.lines.iter().position(|line| line.starts_with("- "))?;
        Some(self.line + 1 + index)
    }
}

/// Returns the sections of the second level, in their order.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("## "), sections.last_mut()) {
            (Some(title), _) => sections.push(Section { title, line: index + 1, lines: Vec::new() }),
            (None, Some(section)) => section.lines.push(line),
            (None, None) => {}
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::section;

    const GOOD: &str = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2027-01-31\n\n### Added\n\n- One.\n\n## 0.1.0 - 2026-12-01\n\n- Two.\n";

    #[test]
    fn the_newest_section_has_a_version_a_date_and_entries() {
        let (text, problems) = section(GOOD, "0.2.0");
        assert_eq!((text.trim(), problems), ("### Added\n\n- One.", Vec::new()));
        let one = |text: &str, version: &str| match section(text, version).1.as_slice() {
            [problem] => problem.clone(),
            others => panic!("{others:?}"),
        };
        assert_eq!(one(GOOD, "0.1.0"), "CHANGELOG.md: the newest section is not `## 0.1.0 - YYYY-MM-DD`");
        assert_eq!(one(GOOD, "0.2"), "CHANGELOG.md: the newest section is not `## 0.2 - YYYY-MM-DD`");
        let undated = GOOD.replace(" - 2027-01-31", "");
        assert_eq!(one(&undated, "0.2.0"), "CHANGELOG.md:5: the section has no date: `## 0.2.0 - YYYY-MM-DD`");
        let vague = GOOD.replace("2027-01-31", "January");
        assert_eq!(one(&vague, "0.2.0"), "CHANGELOG.md:5: the section has no date: `## 0.2.0 - YYYY-MM-DD`");
        let empty = GOOD.replace("- One.", "");
        assert_eq!(one(&empty, "0.2.0"), "CHANGELOG.md:5: the section has no entry");
        let left = GOOD.replace("## Unreleased\n", "## Unreleased\n\n- Three.\n");
        assert_eq!(one(&left, "0.2.0"), "CHANGELOG.md:5: an entry under `## Unreleased` belongs to the release");
    }
}
