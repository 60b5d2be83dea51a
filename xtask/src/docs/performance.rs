//! The page of the figures of each release: `docs/performance.md`, made from `benches/history/`.
//!
//! Texts of the files are text on the page: no markup of HTML or Markdown, and no directive of mdBook.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use super::chart::{Chart, Point};
use super::history::{self, Figure, Machine, Run, Verdict};

const PAGE: &str = "docs/performance.md";

const INTRODUCTION: &str = "\
# Performance

This page has the figures of each release, measured by `benches/run all --record`. The page `benches/README.md` in the repository describes the
workloads, the other programs, and the form of the files in `benches/history/`. `cargo xtask docs` generates the page.

A ratio to another program is nearly the same on other machines. Seconds and memory depend on the machine. In a chart, a line joins releases that were
measured on the same machine, a bar has the least and the most of the runs, and the dashed line is the target.
";

/// Writes the page, or compares it. Returns whether the page is current.
///
/// # Errors
/// When a file of the history is malformed, or the page cannot be written.
pub(super) fn generate(root: &Path, is_check: bool) -> io::Result<bool> {
    let page = page(&history::read(root)?);
    let path = root.join(PAGE);
    if !is_check {
        fs::write(path, page)?;
        return Ok(true);
    }
    let is_current = fs::read_to_string(path)? == page;
    if !is_current {
        println!("{PAGE} is stale: run `cargo xtask docs`");
    }
    Ok(is_current)
}

/// Returns the text of the page. The runs are in the order of their dates.
fn page(runs: &[Run]) -> String {
    let mut page = INTRODUCTION.to_owned();
    if runs.is_empty() {
        page += "\nNo release has figures yet.\n";
        return page;
    }
    let machines = machines(runs);
    page += "\n## Releases\n\n";
    page += &releases(runs, &machines);
    for key in keys(runs) {
        page += &section(key, runs, &machines);
    }
    page
}

/// Returns the keys of all figures, in the order of the newest run.
fn keys(runs: &[Run]) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    for figure in runs.iter().rev().flat_map(|run| &run.figures) {
        if !keys.contains(&&*figure.key) {
            keys.push(&figure.key);
        }
    }
    keys
}

/// Returns the number of the machine of each run, from 1. Runs on equal machines have the same number.
fn machines(runs: &[Run]) -> Vec<usize> {
    let hardware =
        |machine: &Machine| (machine.processor.clone(), machine.cores, machine.memory_gib, machine.file_system.clone());
    let mut known = Vec::new();
    let mut numbers = Vec::new();
    for run in runs {
        let machine = hardware(&run.machine);
        if !known.contains(&machine) {
            known.push(machine.clone());
        }
        numbers.extend(known.iter().position(|other| *other == machine).map(|place| place + 1));
    }
    numbers
}

/// Returns the table of the releases with their machines.
fn releases(runs: &[Run], machines: &[usize]) -> String {
    let mut rows = Vec::new();
    for (run, number) in runs.iter().zip(machines) {
        let machine = &run.machine;
        let peers: Vec<String> = machine.peers.iter().map(|(name, version)| format!("{name} {version}")).collect();
        rows.push([
            escaped(&run.product.version),
            escaped(&run.date),
            run.product
                .commit
                .as_deref()
                .map_or_else(String::new, |commit| format!("<code>{}</code>", escaped(commit))),
            number.to_string(),
            escaped(&format!("{}, {} cores, {} GiB", machine.processor, machine.cores, machine.memory_gib)),
            escaped(&format!("{}, {}", machine.kernel, machine.file_system)),
            format!("{}", machine.load),
            escaped(&format!("{}; {}", machine.rustc, peers.join("; "))),
            run.note.as_deref().map_or_else(String::new, escaped),
        ]);
    }
    let head =
        ["release", "date", "commit", "machine", "processor", "system", "load", "compiler and other programs", "note"];
    table(&head, &rows)
}

/// Returns the chart and the table of a figure.
fn section(key: &str, runs: &[Run], machines: &[usize]) -> String {
    let mut found = Vec::new();
    for (run, machine) in runs.iter().zip(machines) {
        let figure = run.figures.iter().find(|figure| figure.key == key);
        found.extend(figure.map(|figure| (run, figure, *machine)));
    }
    let Some((_, newest, _)) = found.last() else { return String::new() };
    let mut points = Vec::new();
    let mut rows = Vec::new();
    for (run, figure, machine) in &found {
        points.push(Point {
            label: escaped(&run.product.version),
            machine: *machine,
            value: figure.value,
            least: figure.runs.least,
            most: figure.runs.most,
        });
        rows.push(row(run, figure, *machine));
    }
    let chart = Chart {
        id: key.replace([' ', ','], "-"),
        title: format!("{} of each release", escaped(key)),
        unit: newest.unit,
        bound: newest.target.bound,
        points,
    };
    let against =
        newest.against.as_deref().map_or_else(String::new, |against| format!(", against {}", inline(against)));
    let head = ["release", "machine", "value", "least", "median", "most", "runs", "target", "verdict"];
    format!("\n## {key}\n\n<p>{}{against}.</p>\n\n{}\n{}", inline(&newest.work), chart.svg(), table(&head, &rows))
}

fn row(run: &Run, figure: &Figure, machine: usize) -> [String; 9] {
    let shown = |value: f64| escaped(&figure.unit.format(value));
    let verdict = match figure.verdict {
        Verdict::Kept => "kept",
        Verdict::Missed => "missed",
    };
    let runs = &figure.runs;
    [
        escaped(&run.product.version),
        machine.to_string(),
        shown(figure.value),
        shown(runs.least),
        shown(runs.median),
        shown(runs.most),
        runs.count.to_string(),
        escaped(&figure.target.text),
        verdict.to_owned(),
    ]
}

/// Returns a table in HTML, whose cells are HTML. It has no empty line, so Markdown does not read it.
fn table<const N: usize>(head: &[&str; N], rows: &[[String; N]]) -> String {
    let mut table = "<div class=\"table-wrapper\">\n<table>\n<thead>\n<tr>".to_owned();
    for name in head {
        _ = write!(table, "<th>{name}</th>");
    }
    table += "</tr>\n</thead>\n<tbody>\n";
    for row in rows {
        _ = writeln!(table, "<tr><td>{}</td></tr>", row.join("</td><td>"));
    }
    table += "</tbody>\n</table>\n</div>\n";
    table
}

/// Returns a text as HTML, with the parts between backticks as code.
fn inline(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // The number of backticks is even if the number of parts is odd.
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let mut html = String::new();
    for (place, part) in parts.into_iter().enumerate() {
        if place.is_multiple_of(2) {
            html += &escaped(part);
        } else {
            _ = write!(html, "<code>{}</code>", escaped(part));
        }
    }
    html
}

/// Returns a text as HTML in one line.
///
/// Braces are escaped because mdBook replaces directives such as `{{#include FILE}}` anywhere on a page.
fn escaped(text: &str) -> String {
    let mut html = String::new();
    for letter in text.chars() {
        match letter {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            '{' => html += "&#123;",
            '}' => html += "&#125;",
            '\\' => html += "&#92;",
            '`' => html += "&#96;",
            letter if letter.is_control() || is_line_or_direction(letter) => html.push(' '),
            letter => html.push(letter),
        }
    }
    html
}

/// Whether a letter ends a line, or changes the direction of the text after it.
fn is_line_or_direction(letter: char) -> bool {
    matches!(letter, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::super::history::tests::{changed, run};
    use super::*;
    use pulldown_cmark::{Event, Parser};
    use serde_json::json;

    fn page_of(pointer: &str, value: serde_json::Value) -> String {
        page(&[changed(pointer, value).expect("a run")])
    }

    #[test]
    fn a_release_has_a_chart_and_a_table_with_its_values() {
        let page = page_of("/note", json!("a quiet machine"));
        for part in [
            "\n## tree\n",
            "<p><code>check --tree HEAD</code>, against <code>cp -r</code>.</p>",
            "<td>0.1.0</td><td>1</td><td>0.25</td><td>0.24</td><td>0.25</td><td>0.3</td><td>3</td><td>at most 0.30 of its time</td><td>kept</td>",
            "<title id=\"chart-tree-title\">tree of each release</title>",
            "<td>a quiet machine</td>",
            "A processor, 2 cores, 24 GiB",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("<th></th>"), "a column without a name, which a screen reader cannot say: {page}");
    }

    #[test]
    fn without_releases_the_page_has_no_chart() {
        assert!(page(&[]).ends_with("No release has figures yet.\n"));
    }

    #[test]
    fn equal_machines_have_one_number() {
        let other = changed("/machine/cores", json!(4)).expect("a run");
        let newer = changed("/machine/kernel", json!("Linux 7")).expect("a run");
        let first = changed("/note", json!(null)).expect("a run");
        assert_eq!(machines(&[first, other, newer]), [1, 2, 1]);
    }

    /// Texts of a file stay text: neither Markdown nor HTML nor mdBook reads markup in them.
    #[test]
    fn hostile_texts_are_escaped() {
        let hostile = "</td></table>\n\n# Heading <script>alert(1)</script> [link](javascript:x) <img src=x onerror=y> {{#include ../SECURITY.md}} \
                       `</code><script>`\u{202e} \" onload=\"x";
        let plain = page_of("/note", json!(null));
        for pointer in [
            "/note",
            "/machine/processor",
            "/machine/kernel",
            "/machine/fileSystem",
            "/machine/rustc",
            "/machine/peers/git",
            "/figures/0/work",
            "/figures/0/against",
            "/figures/0/target/text",
        ] {
            let page = page_of(pointer, json!(hostile));
            assert!(!page.contains("{{"), "{pointer}");
            assert!(!page.contains('\u{202e}'), "{pointer}");
            assert_eq!(elements(&page), elements(&plain), "{pointer}: {page}");
        }
        let mut peers = run();
        peers["machine"]["peers"] = json!({ hostile: "1" });
        let page = page_of("/machine/peers", peers["machine"]["peers"].clone());
        assert_eq!(elements(&page), elements(&plain), "the name of a program");
    }

    /// The elements of a page, as Markdown and then a browser read them. Code is left out: its number depends on the text.
    fn elements(page: &str) -> Vec<String> {
        let (mut elements, mut rendered) = (Vec::new(), String::new());
        for event in Parser::new(page) {
            match event {
                Event::Start(tag) => elements.push(format!("{tag:?}")),
                Event::Html(html) | Event::InlineHtml(html) => rendered += &html,
                _ => {}
            }
        }
        for token in html5gum::Tokenizer::new(&rendered) {
            let Ok(html5gum::Token::StartTag(tag)) = token else { continue };
            let name = String::from_utf8_lossy(&tag.name).into_owned();
            if name != "code" {
                elements.push(format!("{name} {}", tag.attributes.len()));
            }
        }
        elements
    }
}
