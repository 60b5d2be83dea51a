//! The new paths as a graph of Mermaid.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use bailiwick_review::{PathChange, PathChangeKind, ReviewedStep};
use bailiwick_yaml::diag::foreign;

/// The most edges of a graph. Larger graphs are no help.
const MAXIMUM_EDGES: usize = 40;

/// Returns the graph of the new and shorter paths in a fence, worst paths first; none without such paths.
///
/// A path is drawn whole or not at all.
pub(super) fn graph<'p>(paths: impl Iterator<Item = &'p PathChange>) -> Option<String> {
    let mut drawing = Drawing::default();
    for path in paths.filter(|path| path.change != PathChangeKind::Gone) {
        drawing.add(path);
    }
    (!drawing.edges.is_empty()).then(|| drawing.text())
}

/// The nodes and edges of a graph, each once.
#[derive(Debug, Default)]
struct Drawing<'p> {
    ids: BTreeMap<&'p str, usize>,
    powers: BTreeSet<&'p str>,
    known: BTreeSet<(&'p str, &'p str, String)>,
    edges: Vec<(&'p ReviewedStep, String)>,
}

impl<'p> Drawing<'p> {
    fn add(&mut self, path: &'p PathChange) {
        let steps = path.steps.iter().map(|step| (step, label(step)));
        let new: Vec<(&ReviewedStep, String)> =
            steps.filter(|(step, label)| !self.known.contains(&key(step, label))).collect();
        if self.edges.len() + new.len() > MAXIMUM_EDGES {
            return;
        }
        self.powers.insert(path.reaches.as_str());
        for (step, label) in new {
            for name in [step.from.as_str(), step.to.as_str()] {
                let next = self.ids.len() + 1;
                self.ids.entry(name).or_insert(next);
            }
            if self.known.insert(key(step, &label)) {
                self.edges.push((step, label));
            }
        }
    }

    /// Returns the graph; a node has its shape where it first occurs.
    fn text(&self) -> String {
        let mut text = "```mermaid\ngraph LR\n".to_owned();
        let mut shaped = BTreeSet::new();
        for (step, label) in &self.edges {
            let from = self.node(&step.from, &mut shaped);
            let to = self.node(&step.to, &mut shaped);
            let _ = match step.new {
                true => writeln!(text, "  {from} == \"{label}\" ==> {to}"),
                false => writeln!(text, "  {from} -- \"{label}\" --> {to}"),
            };
        }
        text.push_str("```\n");
        text
    }

    fn node(&self, name: &'p str, shaped: &mut BTreeSet<&'p str>) -> String {
        let id = self.ids.get(name).map_or_else(String::new, |number| format!("n{number}"));
        if !shaped.insert(name) {
            return id;
        }
        let label = quoted(name);
        if self.powers.contains(name) {
            format!("{id}{{{{\"{label}\"}}}}")
        } else if name.starts_with("ServiceAccount/") {
            format!("{id}[\"{label}\"]")
        } else {
            format!("{id}([\"{label}\"])")
        }
    }
}

fn key<'p>(step: &'p ReviewedStep, label: &str) -> (&'p str, &'p str, String) {
    (&step.from, &step.to, label.to_owned())
}

/// Returns the label of a step: a binding, or a kind of step with its namespace.
fn label(step: &ReviewedStep) -> String {
    let mut label = String::new();
    if step.new {
        label.push_str("NEW ");
    }
    match (&step.binding, step.edge.as_str()) {
        (Some(binding), "held") => label.push_str(&quoted(binding)),
        (_, edge) => label.push_str(&quoted(edge)),
    }
    if let Some(namespace) = &step.namespace {
        label.push_str(" in ");
        label.push_str(&quoted(namespace));
    }
    label
}

/// Returns a name for a quoted label: all but a few characters become entity codes, and nothing is a directive or an end.
fn quoted(name: &str) -> String {
    let mut shown = String::new();
    for letter in foreign::line(&foreign::shortened(name, foreign::MAXIMUM_NAME)).chars() {
        if letter.is_ascii_alphanumeric() || " ._/:-".contains(letter) {
            shown.push(letter);
        } else {
            let _ = write!(shown, "#{};", u32::from(letter));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_label_has_no_syntax() {
        assert_eq!(quoted("a`\"]%%{x}\n<b>"), "a#96;#34;#93;#37;#37;#123;x#125;#92;n#60;b#62;");
        assert_eq!(quoted("Group/sre:a-b_c.d e"), "Group/sre:a-b_c.d e");
    }
}
