//! The lines about files that change in the same way, below the difference of the first file.

use std::collections::HashSet;

use bailiwick_base::alike::{Distinct, Group};
use bailiwick_compiler::emit::group::First;
use bailiwick_yaml::diag::foreign;

use crate::words::{grouped, number};

/// Returns how many further files there are, a few of them by name, and their own values. `shown` is the difference above.
pub fn folded(group: &Group<First>, shown: &str) -> String {
    let mut lines = names(group);
    let differing = shown.lines().filter(|line| line.starts_with(['+', '-']));
    let changed: HashSet<&str> =
        differing.flat_map(|line| line.split(|letter: char| !letter.is_ascii_digit())).collect();
    let mut numbers = group.ranges.numbers.clone();
    numbers.sort_unstable();
    for (first, least, most) in numbers {
        if least < most && changed.contains(first.to_string().as_str()) {
            lines.push(format!("#   with {least} to {most} for {first}"));
        }
    }
    for (column, values) in group.ranges.columns.iter().filter(|(_, values)| !matches!(values.count(), Some(0 | 1))) {
        lines.push(format!("#   with {} for `{{{column}}}`", all(values)));
    }
    for (key, values) in group.ranges.notes.iter().filter(|(_, values)| values.count() != Some(1)) {
        lines.push(format!("#   with {} in `{key}`", all(values)));
    }
    joined(&lines)
}

/// Returns how many further files there are.
pub fn folded_without_values(group: &Group<First>, _shown: &str) -> String {
    joined(&[further(group)])
}

fn further(group: &Group<First>) -> String {
    let further = number(group.further, "further file");
    format!("# {further} in the same way, each with its own name for `{}`", group.first.name)
}

/// Returns how many further files there are, and a few of them by name.
fn names(group: &Group<First>) -> Vec<String> {
    let first = format!("{}:", further(group));
    let more = group.further - group.named.len();
    let last = (more > 0).then(|| format!("#   and {} more", grouped(more)));
    std::iter::once(first).chain(group.named.iter().map(|path| format!("#   {path}"))).chain(last).collect()
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", foreign::line(line))).collect()
}

/// Returns the values while they are few, otherwise how many there are, with the first of them.
fn all(values: &Distinct) -> String {
    let first = values.first.join(", ");
    match values.count() {
        None => format!("very many values, such as {first},"),
        Some(count) if count > values.first.len() => format!("{}, such as {first},", number(count, "value")),
        Some(_) => first,
    }
}
