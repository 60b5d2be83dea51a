//! `cargo xtask tidy --figures`: lines, the longest functions, and defaults.

use std::collections::BTreeMap;

use super::{Source, defaults, functions};

/// The areas that decide on permissions and admission: the goal is 2 defaults in 1,000 lines.
const JUDGES: [&str; 6] = ["access", "admission", "cel", "crossplane", "kubernetes", "node"];

/// How many functions are printed.
const LONGEST: usize = 10;

#[derive(Default, Clone, Copy)]
struct Area {
    files: usize,
    lines: usize,
    tests: usize,
    defaults: usize,
}

/// Prints the figures of today's tree.
pub(crate) fn print(sources: &[Source<'_>]) {
    let mut areas: BTreeMap<&str, Area> = BTreeMap::new();
    let mut longest = Vec::new();
    for source in sources {
        let (all, product) = (source.file.text.lines().count(), source.product_lines());
        let area = areas.entry(source.file.area()).or_default();
        area.files += 1;
        area.lines += product;
        area.tests += all - product;
        area.defaults += defaults::count(source);
        if source.file.is_product() {
            longest.extend(functions::functions(source).into_iter().map(|function| (function, &source.file.path)));
        }
    }
    println!("files    lines of tests  unwrap_or* per 1,000  crate, module or folder");
    let mut total = Area::default();
    for (name, area) in &areas {
        row(name, *area);
        total.files += area.files;
        total.lines += area.lines;
        total.tests += area.tests;
        total.defaults += area.defaults;
    }
    row("total", total);
    println!("\nthe judges, of which the goal is 2.0 per 1,000 lines:");
    for (name, area) in areas.iter().filter(|(name, _)| JUDGES.contains(name)) {
        println!("{:8.1}  {name}", per_thousand(area.defaults, area.lines));
    }
    longest.sort_by(|one, other| other.0.lines.cmp(&one.0.lines).then(one.1.cmp(other.1)));
    println!("\nlines of the longest functions:");
    for (function, path) in longest.iter().take(LONGEST) {
        println!("{:6}  {} ({path}:{})", function.lines, function.name, function.line);
    }
}

fn row(name: &str, area: Area) {
    let rate = per_thousand(area.defaults, area.lines);
    println!("{:5} {:8} {:8} {:11} {rate:9.1}  {name}", area.files, area.lines, area.tests, area.defaults);
}

fn per_thousand(number: usize, lines: usize) -> f64 {
    if lines == 0 { 0.0 } else { 1000.0 * number as f64 / lines as f64 }
}
