//! The pages whose commands are tests: each `console` block of the README and of `docs/` is run, and prints what stands there.
//!
//! `UPDATE=1` writes the printed text into the pages. `every_link_leads_to_a_file` checks the links of all pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::repository;

/// A command of a page with its lines in the page: the command itself, and its output.
#[derive(Debug)]
struct Step {
    command: String,
    output: String,
    /// The lines of the page that hold the output.
    lines: std::ops::Range<usize>,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    // The fence of the block: longer than three backticks where an output has a fence.
    let mut fence: Option<&str> = None;
    for (number, line) in text.lines().enumerate() {
        match (line, fence) {
            (line, None) => fence = line.strip_suffix("console").filter(|fence| is_fence(fence)),
            (line, Some(open)) if line == open => fence = None,
            (line, Some(_)) => match (line.strip_prefix("$ "), steps.last_mut()) {
                // A command over several lines: the further ones are marked as the shell marks them.
                (None, Some(step)) if step.output.is_empty() && line.starts_with("> ") => {
                    step.command.push_str(&format!("\n{}", &line[2..]));
                    step.lines = number + 1..number + 1;
                }
                (Some(command), _) => {
                    let lines = number + 1..number + 1;
                    steps.push(Step { command: command.to_owned(), output: String::new(), lines });
                }
                (None, Some(step)) => {
                    step.output.push_str(&format!("{line}\n"));
                    step.lines.end = number + 1;
                }
                (None, None) => panic!("output before any command: {line}"),
            },
        }
    }
    steps
}

fn is_fence(text: &str) -> bool {
    text.len() >= 3 && text.bytes().all(|byte| byte == b'`')
}

#[test]
fn the_commands_print_what_the_readme_says() {
    run_all("README.md", 8);
}

/// A newcomer gets from nothing to a workspace of three clusters, twelve teams and an operator.
#[test]
fn the_tutorial_leads_to_its_end() {
    let chapters = [
        "docs/tutorial.md",
        "docs/tutorial/teams.md",
        "docs/tutorial/operator.md",
        "docs/tutorial/tests.md",
        "docs/tutorial/gate.md",
        "docs/tutorial/delivery.md",
    ];
    run_chapters(&chapters, 50);
    let ends_well = |chapter: &str, command: &str| {
        let text = std::fs::read_to_string(repository().join(chapter)).expect("a chapter");
        let (_, rest) = text.rsplit_once(&format!("$ bailiwick {command}; echo \"exit code $?\"\n")).expect(command);
        rest.lines().take_while(|line| !line.starts_with(['$', '`'])).any(|line| line == "exit code 0")
    };
    assert!(ends_well("docs/tutorial/tests.md", "lint") && ends_well("docs/tutorial/delivery.md", "check --quiet"));
    // The last section of a chapter leads to the next one.
    for neighbors in chapters.windows(2) {
        let text = std::fs::read_to_string(repository().join(neighbors[0])).expect("a chapter");
        let last = text.lines().last().unwrap_or_default();
        let next = Path::new(neighbors[1]).file_name().expect("a name").to_string_lossy();
        assert!(last.starts_with("Next: [") && last.ends_with(&format!("{next})")), "{}: {last}", neighbors[0]);
    }
}

#[test]
fn the_first_page_prints_what_it_says() {
    run_all("docs/README.md", 5);
}

#[test]
fn the_adoption_prints_what_its_page_says() {
    run_all("docs/adopt.md", 10);
}

#[test]
fn openshift_prints_what_its_page_says() {
    run_all("docs/openshift.md", 7);
}

#[test]
fn tenants_print_what_their_page_says() {
    run_all("docs/tenants.md", 9);
}

#[test]
fn the_questions_have_the_answers_of_their_page() {
    run_all("docs/ask.md", 2);
}

#[test]
fn parts_print_what_their_page_says() {
    run_all("docs/parts.md", 5);
}

#[test]
fn questions_print_what_their_page_says() {
    run_all("docs/questions.md", 6);
}

#[test]
fn pods_print_what_their_page_says() {
    run_all("docs/pods.md", 4);
}

#[test]
fn the_migration_prints_what_its_page_says() {
    run_all("docs/psp-migration.md", 3);
}

#[test]
fn the_import_prints_what_its_page_says() {
    run_all("docs/import.md", 4);
}

#[test]
fn unused_access_prints_what_its_page_says() {
    run_all("docs/audit.md", 6);
}

#[test]
fn stacks_print_what_their_page_says() {
    run_all("docs/crossplane.md", 7);
}

#[test]
fn nodes_print_what_their_page_says() {
    run_all("docs/nodes.md", 8);
}

#[test]
fn reviews_print_what_their_page_says() {
    run_all("docs/review.md", 9);
}

#[test]
fn reports_print_what_their_page_says() {
    run_all("docs/report.md", 3);
}

#[test]
fn the_gate_prints_what_its_page_says() {
    run_all("docs/ci.md", 4);
}

/// Runs the commands of a page, of which there are at least so many, in a fresh folder.
fn run_all(page: &str, least: usize) {
    run_chapters(&[page], least);
}

/// Runs the commands of pages one after the other, of which there are at least so many, in one fresh folder.
fn run_chapters(pages: &[&str], least: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    // The pages name this repository so.
    #[cfg(unix)]
    std::os::unix::fs::symlink(repository().canonicalize().expect("a path"), folder.path().join("checkout"))
        .expect("a link");
    let mut current = folder.path().to_path_buf();
    let count: usize = pages.iter().map(|page| run_page(page, &mut current)).sum();
    assert!(count >= least, "{pages:?} have {count} commands");
}

/// Runs the commands of a page in a folder, and moves to another folder with them. Returns their number.
fn run_page(page: &str, current: &mut PathBuf) -> usize {
    let text = std::fs::read_to_string(repository().join(page)).expect("the text is there");
    let steps = steps(&text);
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_bailiwick"));
    let path =
        format!("{}:{}", binary.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
    let update = std::env::var_os("UPDATE").is_some();
    let mut lines: Vec<&str> = text.lines().collect();
    let mut printed = Vec::new();
    for step in &steps {
        if let Some(target) = step.command.strip_prefix("cd ") {
            *current = current.join(target);
            continue;
        }
        let run = Command::new("sh")
            .args(["-c", &format!("{{ {}\n}} 2>&1", step.command)])
            .current_dir(&*current)
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .env_remove("CI")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "demo")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "demo@example.org")))
            .output()
            .expect("a shell");
        let output = String::from_utf8_lossy(&run.stdout).into_owned();
        if !update {
            assert_eq!(output, step.output, "{page}: $ {}; UPDATE=1 writes the page", step.command);
        }
        printed.push((step.lines.clone(), output));
    }
    if update {
        for (range, output) in printed.iter().rev() {
            lines.splice(range.clone(), output.lines());
        }
        std::fs::write(repository().join(page), lines.join("\n") + "\n").expect("a page");
    }
    steps.len()
}

/// Returns every page of `docs/`, and the pages at the root of the repository.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map(Into::into).into();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(repository().join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Returns the relative targets of Markdown links outside code, without their fragments.
fn links(text: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        // Every second piece between backticks is code.
        let pieces = line.split("](").skip(1).filter(|_| !fenced);
        for piece in pieces {
            let target = piece.split(')').next().unwrap_or_default();
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.contains(['`', ' ']) {
                links.push(target);
            }
        }
    }
    links
}

/// A link of a page leads to a file or folder of the repository.
#[test]
fn every_link_leads_to_a_file() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for page in pages() {
        let text = std::fs::read_to_string(repository().join(&page)).expect("a page");
        let folder = page.parent().unwrap_or(Path::new(""));
        for target in links(&text) {
            checked += 1;
            if !repository().join(folder).join(target).exists() {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(checked > 300, "{checked} links");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The table of contents of the book has every page of `docs/` once.
#[test]
fn the_book_has_every_page() {
    let summary = std::fs::read_to_string(repository().join("docs/SUMMARY.md")).expect("a table of contents");
    let listed: Vec<&str> = links(&summary);
    let unique: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed twice");
    let pages: BTreeSet<String> = pages()
        .iter()
        .filter_map(|page| page.strip_prefix("docs").ok())
        .map(|page| page.display().to_string())
        .filter(|page| page != "SUMMARY.md")
        .collect();
    let listed: BTreeSet<String> = unique.into_iter().map(str::to_owned).filter(|page| page.ends_with(".md")).collect();
    let differences: Vec<&String> = listed.symmetric_difference(&pages).collect();
    assert!(differences.is_empty(), "edit `src/cli/book.rs`: {differences:?}");
}

/// The README names the two commands that a newcomer needs, and CI runs both in a clone with an empty home.
#[test]
fn ci_runs_the_readmes_commands() {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("there is a README");
    let ci = std::fs::read_to_string(repository().join(".ci/run")).expect("there is a CI script");
    for command in ["cargo run -- render", "cargo test"] {
        assert!(readme.contains(&format!("\n{command}")), "{command}");
        assert!(ci.contains(&format!("in_empty_home {command}")), "{command}");
    }
}

/// The page about the evidence has each harness, with the numbers of questions of `.ci/run` and of the nightly workflow.
#[test]
fn the_evidence_has_every_harness() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).expect("a file");
    let (page, nightly, change) =
        (read("docs/evidence.md"), read(".github/workflows/conformance.yml"), read(".ci/run"));
    let nightly = nightly.lines().filter_map(|line| line.split_once("run: \"")?.1.split('"').next());
    let is_step = |line: &&str| ["tests/", "step_or_skip "].iter().any(|start| line.starts_with(start));
    let change = change.lines().filter(is_step).filter_map(|line| Some(line.split_once("tests/conformance/")?.1));
    let mut missing = Vec::new();
    let mut checked = 0;
    for command in nightly.chain(change) {
        let mut words = command.split_whitespace();
        let harness = words.next().unwrap_or_default();
        let count = words.find_map(|word| word.parse::<u64>().ok());
        let row = page.lines().find(|line| line.contains(&format!("`{harness}`")));
        let has_count = |row: &str| count.is_none_or(|count| row.contains(&format!(" {} ", with_commas(count))));
        checked += 1;
        if !row.is_some_and(has_count) {
            missing.push(command.to_owned());
        }
    }
    assert!(checked > 30, "{checked}");
    assert!(missing.is_empty(), "edit docs/evidence.md:\n{}", missing.join("\n"));
}

/// Returns a number with a comma after each three digits.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let groups = digits.as_bytes()[first..].chunks(3).map(|group| String::from_utf8_lossy(group));
    let head = (first > 0).then(|| digits[..first].into());
    head.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}
