//! What is told of files that change in the same way, below the one that is shown.

use std::collections::HashSet;

use super::human::{grouped, number};
use super::page::Page;
use crate::alike::{Distinct, Group};
use crate::emit::group::First;

/// How many further files there are, a few of them by name, and what is their own; `shown` is the difference above.
pub fn folded(group: &Group<First>, shown: &str) -> String {
    let mut text = Page::new();
    let further = number(group.further, "further file");
    writeln!(text, "# {further} in the same way, each with its own name for `{}`:", group.first.name);
    for path in &group.named {
        writeln!(text, "#   {path}");
    }
    if group.further > group.named.len() {
        writeln!(text, "#   and {} more", grouped(group.further - group.named.len()));
    }
    let lines = shown.lines().filter(|line| line.starts_with(['+', '-']));
    let changed: HashSet<&str> = lines.flat_map(|line| line.split(|letter: char| !letter.is_ascii_digit())).collect();
    let mut numbers = group.ranges.numbers.clone();
    numbers.sort_unstable();
    for (first, least, most) in numbers {
        if least < most && changed.contains(first.to_string().as_str()) {
            writeln!(text, "#   with {least} to {most} for {first}");
        }
    }
    for (key, values) in group.ranges.notes.iter().filter(|(_, values)| values.count() != Some(1)) {
        writeln!(text, "#   with {} in `{key}`", all(values));
    }
    text.finish()
}

/// The values while they are few, otherwise how many there are, with the first of them.
fn all(values: &Distinct) -> String {
    let first = values.first.join(", ");
    match values.count() {
        None => format!("very many values, such as {first},"),
        Some(count) if count > values.first.len() => format!("{}, such as {first},", number(count, "value")),
        Some(_) => first,
    }
}
