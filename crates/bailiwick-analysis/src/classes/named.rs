//! The values of accounts that are in inputs beside the account lists, or in objects that belong to no account.

use std::ops::Range;
use std::sync::Arc;

use bailiwick_compiler::compile;
use bailiwick_policy::source::Sources;
use bailiwick_workspace::Workspace;
use bailiwick_workspace::kept_files::kept_objects;
use bailiwick_yaml::diag::{FileId, RunError, Sink};
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::{self as yaml, NodeRef, Tree};
use hashbrown::{HashMap, HashSet};

use super::shapes::Shapes;

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

/// The texts of the inputs beside the account lists, and of the compiled objects that belong to no account.
#[derive(Default)]
pub(super) struct InputTexts {
    /// The different lines.
    lines: HashSet<Box<str>>,
    /// The words of the lines.
    words: HashSet<Box<str>>,
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
        let files = &workspace.project().files;
        files.ids().map(|id| files.get(id)).any(|file| {
            let has_policy = |text: &str| text.contains("AdmissionPolicy") && is_searched(text);
            !file.path().starts_with('<') && has_policy(&file.passing_text())
        })
    })
}

impl InputTexts {
    /// Reads the inputs of all states, their compiled objects that belong to no account, and further texts.
    pub(super) fn read(shapes: &[Shapes<'_>], texts: &[&str]) -> Result<Self, RunError> {
        let mut all = Self::default();
        let mut read: HashSet<u128> = HashSet::new();
        for state in shapes {
            all.add_state(state.workspace, &mut read)?;
            state.lines_without_account.iter().for_each(|line| all.add(line));
        }
        texts.iter().for_each(|text| all.add(text));
        Ok(all)
    }

    /// Whether a value may have a meaning of its own: its words are in the texts, or it is not searched for.
    pub(super) fn may_have(&self, value: &str) -> bool {
        !is_searched(value) || words(value).all(|word| value.get(word).is_some_and(|word| self.words.contains(word)))
    }

    /// Returns whether each value has a meaning of its own: it is in the texts, or it is not searched for.
    pub(super) fn occurrences(&self, values: &[&str]) -> Vec<bool> {
        let mut has_meaning: Vec<bool> = values.iter().map(|value| !is_searched(value)).collect();
        let mut positions: HashMap<&str, usize> = HashMap::new();
        // The most words of a value, by its first word.
        let mut most: HashMap<&str, usize> = HashMap::new();
        let searched = values.iter().enumerate().filter(|(_, value)| is_searched(value) && self.may_have(value));
        for (position, value) in searched {
            positions.insert(value, position);
            let first = words(value).next().and_then(|first| value.get(first));
            let known = most.entry(first.map_or("", |word| word)).or_default();
            *known = (*known).max(words(value).count());
        }
        for line in &self.lines {
            each_run(line, &most, &mut |run| {
                let position = positions.get(run);
                position.and_then(|at| has_meaning.get_mut(*at)).into_iter().for_each(|found| *found = true);
            });
        }
        has_meaning
    }

    fn add_state(&mut self, workspace: &Workspace, read: &mut HashSet<u128>) -> Result<(), RunError> {
        let project = &workspace.project();
        let mut lists = project.account_rows();
        lists.sort_by_key(|list| list.rows.start);
        for id in project.files.ids() {
            let file = project.files.get(id);
            let rows: Vec<&Range<usize>> = lists.iter().filter(|list| list.file == id).map(|list| &list.rows).collect();
            // Most files are the same in both states.
            if file.path().starts_with('<') {
                continue;
            }
            let text = file.passing_text();
            if read.insert(digest_of_run(&(&*text, &rows))) {
                self.add_file(file.path(), &text, id, &rows);
            }
        }
        for target in &project.workspace.targets {
            let mut sources = Sources::new(workspace.files().boxed_source(), Arc::default());
            compile::each_baseline(target, &mut sources, &mut Sink::new(), &mut |tree, _| self.add_tree(&tree))?;
            kept_objects(workspace, &target.name, &mut Sink::new())?.iter().for_each(|tree| self.add_tree(tree));
        }
        Ok(())
    }

    /// Adds an input without its account rows: the text with its comments, and the strings of YAML, in which a value can have
    /// escapes or several lines.
    fn add_file(&mut self, path: &str, text: &str, id: FileId, rows: &[&Range<usize>]) {
        let mut start = 0;
        for rows in rows {
            self.add(text.get(start..rows.start).map_or("", |text| text));
            start = start.max(rows.end);
        }
        self.add(text.get(start..).map_or("", |text| text));
        if YAML.iter().any(|extension| path.ends_with(extension)) {
            let tree = yaml::read(text, id, &mut Sink::new());
            tree.documents().for_each(|document| self.add_node(document, rows));
        }
    }

    fn add_tree(&mut self, tree: &Tree) {
        tree.documents().for_each(|document| self.add_node(document, &[]));
    }

    /// Adds the strings of a node, without the strings of account rows.
    fn add_node(&mut self, node: NodeRef<'_>, rows: &[&Range<usize>]) {
        let span = node.span();
        let is_within = |rows: &&&Range<usize>| rows.start <= span.start as usize && span.end as usize <= rows.end;
        if rows.iter().any(|rows| is_within(&rows)) {
            return;
        }
        node.as_str().into_iter().for_each(|text| self.add(text));
        node.items().for_each(|item| self.add_node(item, rows));
        for (key, value) in node.entries() {
            self.add(key.as_key());
            self.add_node(value, rows);
        }
    }

    /// Adds the lines of a text.
    fn add(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.is_empty()) {
            if self.lines.contains(line) {
                continue;
            }
            self.lines.insert(line.into());
            for word in words(line).filter_map(|word| line.get(word)) {
                if !self.words.contains(word) {
                    self.words.insert(word.into());
                }
            }
        }
    }
}

/// Whether a value is searched for: it begins and ends with a word.
fn is_searched(value: &str) -> bool {
    value.starts_with(char::is_alphanumeric) && value.ends_with(char::is_alphanumeric)
}

/// Calls a function with each run of words of a line, as long as the longest value with its first word.
fn each_run(line: &str, most: &HashMap<&str, usize>, found: &mut dyn FnMut(&str)) {
    let mut rest = line;
    while let Some(first) = words(rest).next() {
        rest = rest.get(first.start..).map_or("", |rest| rest);
        let word = rest.get(..first.len()).map_or("", |word| word);
        let most = most.get(word).map_or(0, |most| *most);
        words(rest).take(most).filter_map(|word| rest.get(..word.end)).for_each(&mut *found);
        rest = rest.get(first.len()..).map_or("", |rest| rest);
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
        let mut all = InputTexts::default();
        all.add(text);
        let found = all.occurrences(values);
        let mut found: Vec<&str> =
            values.iter().zip(found).filter(|(_, found)| *found).map(|(value, _)| *value).collect();
        assert!(found.iter().all(|value| all.may_have(value)), "{found:?}");
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
