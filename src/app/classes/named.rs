//! The values of accounts that are in inputs beside the account lists, or in objects that belong to no account.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::shapes::Shapes;
use crate::app::unclaimed::kept_objects;
use crate::app::workspace::Workspace;
use crate::compile;
use crate::diag::{FileId, RunError, Sink, SourceFile};
use crate::digest::digest_of_run;
use crate::source::Sources;
use crate::yaml::{self, NodeRef, Tree};

/// The functions and operators of CEL that compute with a text or order texts.
const TEXT_FUNCTIONS: [&str; 23] = [
    " < ",
    " <= ",
    " > ",
    " >= ",
    "charAt(",
    "contains(",
    "endsWith(",
    "find(",
    "findAll(",
    "format(",
    "indexOf(",
    "join(",
    "lastIndexOf(",
    "lowerAscii(",
    "matches(",
    "replace(",
    "reverse(",
    "size(",
    "split(",
    "startsWith(",
    "substring(",
    "trim(",
    "upperAscii(",
];

/// The variables of an admission policy with names of namespaces and users.
const NAMES_IN_EXPRESSIONS: [&str; 5] =
    ["metadata.namespace", "namespaceObject", "request.namespace", "request.userInfo", "serviceAccountName"];

/// The ends of the paths of YAML files.
const YAML: [&str; 3] = [".json", ".yaml", ".yml"];

/// The values that are in an input beside the account lists, or in a compiled object that belongs to no account.
pub(super) struct Occurrences<'v> {
    /// All values.
    values: HashSet<&'v str>,
    /// The most words of a value, by its first word.
    words: HashMap<&'v str, usize>,
    found: HashSet<&'v str>,
}

/// Whether an admission policy of the inputs computes with names.
pub(super) fn computes_with_names(states: &[&Workspace]) -> bool {
    let has_any = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    has_admission_policy(states, |text| has_any(text, &NAMES_IN_EXPRESSIONS) && has_any(text, &TEXT_FUNCTIONS))
}

/// Whether an admission policy of the inputs reads annotations.
pub(super) fn reads_annotations(states: &[&Workspace]) -> bool {
    has_admission_policy(states, |text| text.contains("annotations"))
}

fn has_admission_policy(states: &[&Workspace], is_searched: impl Fn(&str) -> bool) -> bool {
    states.iter().any(|workspace| {
        let files = &workspace.project.files;
        files.ids().map(|id| files.get(id)).any(|file| {
            let is_input = !file.path().starts_with('<');
            is_input && file.text().contains("AdmissionPolicy") && is_searched(file.text())
        })
    })
}

impl<'v> Occurrences<'v> {
    /// Searches the inputs of all states, their compiled objects that belong to no account, and further texts, for the values of
    /// all accounts.
    pub(super) fn find(shapes: &'v [Shapes<'_>], texts: &[&str]) -> Result<Self, RunError> {
        let mut all = Self { values: HashSet::new(), words: HashMap::new(), found: HashSet::new() };
        let namespaces = shapes.iter().map(|state| state.namespaces.len()).max();
        // A namespace and its account have two names or more. A set that grows would hash them again.
        all.values.reserve(2 * namespaces.map_or(0, |count| count));
        for state in shapes {
            for (namespace, shape) in &state.namespaces {
                all.add(namespace);
                state.columns_of(shape).into_iter().for_each(|(_, value)| all.add(value));
            }
        }
        let mut read: HashSet<u128> = HashSet::new();
        for state in shapes {
            all.search_state(state.workspace, &mut read)?;
            state.lines_without_account.iter().for_each(|line| all.search(line));
        }
        texts.iter().for_each(|text| all.search(text));
        Ok(all)
    }

    /// Whether a value is in an input beside the account lists.
    pub(super) fn has(&self, value: &str) -> bool {
        self.found.contains(value)
    }

    fn add(&mut self, value: &'v str) {
        if !self.values.insert(value) {
            return;
        }
        let mut words = words(value);
        match words.next() {
            Some(first) if first.start == 0 && value.ends_with(char::is_alphanumeric) => {
                let known = self.words.entry(value.get(first).map_or("", |word| word)).or_default();
                *known = (*known).max(1 + words.count());
            }
            // A value that begins or ends with another letter is not searched for.
            _ => _ = self.found.insert(value),
        }
    }

    fn search_state(&mut self, workspace: &Workspace, read: &mut HashSet<u128>) -> Result<(), RunError> {
        let project = &workspace.project;
        let mut lists = project.account_rows();
        lists.sort_by_key(|list| list.rows.start);
        for id in project.files.ids() {
            let file = project.files.get(id);
            let rows: Vec<&Range<usize>> = lists.iter().filter(|list| list.file == id).map(|list| &list.rows).collect();
            // Most files are the same in both states.
            if !file.path().starts_with('<') && read.insert(digest_of_run(&(file.text(), &rows))) {
                self.search_file(&file, id, &rows);
            }
        }
        for target in &project.workspace.targets {
            let mut sources = Sources::new(workspace.files.boxed_source(), Arc::default());
            compile::each_baseline(target, &mut sources, &mut Sink::new(), &mut |tree, _| self.search_tree(&tree))?;
            kept_objects(workspace, &target.name)?.iter().for_each(|tree| self.search_tree(tree));
        }
        Ok(())
    }

    /// Searches an input without its account rows: the text with its comments, and the strings of YAML, in which a value can have
    /// escapes or several lines.
    fn search_file(&mut self, file: &SourceFile, id: FileId, rows: &[&Range<usize>]) {
        let text = file.text();
        let mut start = 0;
        for rows in rows {
            self.search(text.get(start..rows.start).map_or("", |text| text));
            start = start.max(rows.end);
        }
        self.search(text.get(start..).map_or("", |text| text));
        if YAML.iter().any(|extension| file.path().ends_with(extension)) {
            let tree = yaml::read(text, id, &mut Sink::new());
            tree.documents().for_each(|document| self.search_node(document, rows));
        }
    }

    fn search_tree(&mut self, tree: &Tree) {
        tree.documents().for_each(|document| self.search_node(document, &[]));
    }

    /// Searches the strings of a node, without the strings of account rows.
    fn search_node(&mut self, node: NodeRef<'_>, rows: &[&Range<usize>]) {
        let span = node.span();
        let is_within = |rows: &&&Range<usize>| rows.start <= span.start as usize && span.end as usize <= rows.end;
        if rows.iter().any(|rows| is_within(&rows)) {
            return;
        }
        node.as_str().into_iter().for_each(|text| self.search(text));
        node.items().for_each(|item| self.search_node(item, rows));
        for (key, value) in node.entries() {
            self.search(key.as_key());
            self.search_node(value, rows);
        }
    }

    /// Searches a text for all values, line by line.
    fn search(&mut self, text: &str) {
        for line in text.lines() {
            let mut rest = line;
            while let Some(first) = words(rest).next() {
                rest = rest.get(first.start..).map_or("", |rest| rest);
                let word = rest.get(..first.len()).map_or("", |word| word);
                let most = self.words.get(word).map_or(0, |most| *most);
                for end in words(rest).take(most).map(|word| word.end) {
                    self.found.extend(rest.get(..end).and_then(|value| self.values.get(value)));
                }
                rest = rest.get(first.len()..).map_or("", |rest| rest);
            }
        }
    }
}

/// Iterates over the words of a text, as ranges of it.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_of_word = |letter: char| letter.is_alphanumeric();
    let mut position = 0;
    std::iter::from_fn(move || {
        let start = position + text.get(position..)?.find(is_of_word)?;
        let length = text.get(start..)?.find(|letter| !is_of_word(letter));
        position = length.map_or(text.len(), |length| start + length);
        Some(start..position)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[&'static str], text: &str) -> Vec<&'static str> {
        let mut all = Occurrences { values: HashSet::new(), words: HashMap::new(), found: HashSet::new() };
        values.iter().for_each(|value| all.add(value));
        all.search(text);
        let mut found: Vec<&str> = all.found.into_iter().collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn whole_words_are_found_wherever_they_stand() {
        let values = ["ada", "team-ada", "team-bob", "kim@example.org", "_odd", "odd-"];
        let not_searched = ["_odd", "odd-"];
        let found =
            |text| found(&values, text).into_iter().filter(|value| !not_searched.contains(value)).collect::<Vec<_>>();
        assert_eq!(self::found(&values, ""), not_searched);
        assert_eq!(found("a: [team-ada]\n"), ["ada", "team-ada"]);
        assert!(found("a: team-adam\nb: xteam-bob\n").is_empty());
        assert_eq!(found("to: kim@example.org, x-team-bob-y"), ["kim@example.org", "team-bob"]);
        assert!(found("team-\nbob").is_empty());
        assert_eq!(self::found(&["tenant-a", "tenant-a-b-c"], "system:serviceaccount:tenant-a-b:x"), ["tenant-a"]);
    }
}
