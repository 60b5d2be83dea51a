//! `cargo xtask docs`: the generated pages, the links, and the book.

mod chart;
mod history;
mod html;
mod performance;
mod site;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use self::site::Site;
use crate::repository::{File, Repository};

/// The folder of the built book.
const BOOK: &str = "target/book";

/// The tests that compare generated pages with the program. `UPDATE=1` makes them write the pages.
const GENERATED: [&str; 2] = ["registry::the_generated_pages_are_in_step", "readme::"];

/// Write the generated pages of docs/, check the links, and build the book
///
/// The book needs mdBook (`cargo install mdbook --version 0.5.4 --locked`), no network, and is written to target/book. Then the
/// links, fragments, images and scripts of its HTML are checked. docs/performance.md has the figures of benches/history/. Ends with 0 on success, 1 when a page or a link is wrong, 3 when
/// a program cannot run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compare the generated pages and check the links; write nothing
    #[arg(long)]
    check: bool,
    /// Build the book from the pages as they are, and check its HTML
    #[arg(long, conflicts_with = "check")]
    book: bool,
    /// Check the form of the figures that `benches/run --json` has written to FILE, and do nothing else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "book"])]
    figures: Option<PathBuf>,
}

/// Runs the steps.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> io::Result<ExitCode> {
    if arguments.book {
        return build(root);
    }
    if let Some(file) = &arguments.figures {
        let run = history::read_file(file)?;
        println!("{}: {} figures of {}", file.display(), run.figures.len(), run.product.version);
        return Ok(ExitCode::SUCCESS);
    }
    // The page of the figures needs no build, so it is first.
    let are_current = performance::generate(root, arguments.check)? & generate(root, arguments.check)?;
    let broken = broken_links(&Repository::read(root)?.files);
    broken.iter().for_each(|link| println!("{link}"));
    if !are_current || !broken.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    if arguments.check {
        return Ok(ExitCode::SUCCESS);
    }
    build(root)
}

/// Writes the generated pages, or compares them. Returns whether the tests of the pages pass.
fn generate(root: &Path, is_check: bool) -> io::Result<bool> {
    let mut test = Command::new("cargo");
    test.args(["test", "--quiet", "--test", "main", "--"]).args(GENERATED).current_dir(root);
    if !is_check {
        test.env("UPDATE", "1");
    }
    Ok(test.status()?.success())
}

/// Builds the book into an empty folder, and checks it.
fn build(root: &Path) -> io::Result<ExitCode> {
    let book = root.join(BOOK);
    match std::fs::remove_dir_all(&book) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mdbook = Command::new("mdbook").args(["build", "docs"]).current_dir(root).stdin(Stdio::null()).status();
    match mdbook {
        Ok(status) if status.success() => check_site(&book),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::Error::other(
            "mdbook is not installed: the pages are written, and the book is not; run `cargo install mdbook --version 0.5.4 --locked`",
        )),
        Err(error) => Err(error),
    }
}

/// Checks the HTML of the book, and prints the findings and the size.
fn check_site(book: &Path) -> io::Result<ExitCode> {
    let site = Site::read(book)?;
    let findings = site.findings();
    findings.iter().for_each(|finding| println!("{finding}"));
    println!("{BOOK}: {}, {} findings", site.summary(), findings.len());
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the links of Markdown files that lead to no heading, one line each. A test checks that the files are there.
fn broken_links(files: &[File]) -> Vec<String> {
    let pages: BTreeMap<&str, Page> =
        files.iter().filter(|file| file.is_markdown()).map(|file| (&*file.path, Page::read(&file.text))).collect();
    let mut broken = Vec::new();
    for (path, page) in &pages {
        for link in &page.links {
            let Some((target, fragment)) = link.split_once('#').filter(|_| !link.contains("://")) else { continue };
            let target = if target.is_empty() { (*path).to_owned() } else { joined(path, target) };
            if let Some(page) = pages.get(&*target)
                && !page.anchors.contains(fragment)
            {
                broken.push(format!("{path}: `{link}` leads to no heading"));
            }
        }
    }
    broken
}

/// The links and the anchors of a page.
struct Page {
    links: Vec<String>,
    /// The fragments of the headings, as mdBook and GitHub number them.
    anchors: BTreeSet<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self { links: Vec::new(), anchors: BTreeSet::new() };
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut heading: Option<String> = None;
        for event in Parser::new(text) {
            match event {
                Event::Start(Tag::Link { dest_url, .. }) => page.links.push(dest_url.into_string()),
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let slug = slug(&heading.take().into_iter().collect::<String>());
                    let count = counts.entry(slug.clone()).or_insert(0);
                    page.anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
                    *count += 1;
                }
                Event::Text(text) | Event::Code(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
                _ => {}
            }
        }
        page
    }
}

/// Returns the fragment of a heading: lower case, words joined by `-`, without punctuation.
fn slug(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter),
        _ => None,
    });
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the path of a link target, seen from the page with the link.
fn joined(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_link_to_a_heading_is_not_broken() {
        let page = file("docs/a.md", "# `check` and *diff*\n\n[same](#check-and-diff) [other](kinds/b.md#fields-1)\n");
        let other = file("docs/kinds/b.md", "# Fields\n\n## Fields\n\n[back](../a.md#check-and-diff)\n");
        assert_eq!(broken_links(&[page, other]), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_no_heading_is_broken() {
        let page = file("docs/a.md", "# One\n\n[gone](b.md#two) [web](https://example.com/b.md#two)\n\n`[code](#x)`\n");
        let other = file("docs/b.md", "# One\n");
        assert_eq!(broken_links(&[page, other]), ["docs/a.md: `b.md#two` leads to no heading"]);
    }
}
