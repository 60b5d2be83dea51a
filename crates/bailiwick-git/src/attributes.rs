//! Attributes of files, as far as they change the bytes that a checkout writes.
//!
//! An applier checks a commit out, and git converts each file by the `.gitattributes` files of the commit. `gitattributes(5)` of
//! git 2.52 describes the file. In doubt a file is converted: a pattern or a line that is not understood exactly counts
//! where it converts, and does not count where it ends a conversion.

use std::collections::{BTreeMap, HashSet};

/// The name of the file with the attributes of a folder.
pub const FILE_NAME: &str = ".gitattributes";

/// How many bytes a line may have. Git ignores a longer line (`ATTR_MAX_LINE_LENGTH` in `attr.h`).
const MAXIMUM_LINE: usize = 2048;

/// The attributes that decide what a checkout writes. The first one only ends a conversion.
const CONVERSIONS: [&str; 5] = ["text", "eol", "ident", "filter", "working-tree-encoding"];

/// The attributes of the files of a commit.
#[derive(Debug)]
pub struct Attributes {
    /// In the order of their precedence, the line that decides last.
    lines: Vec<Line>,
    /// The assignments of each macro.
    macros: BTreeMap<String, Vec<Assignment>>,
}

#[derive(Debug)]
struct Line {
    /// The folder of the file, with a slash at its end; empty for the root.
    folder: String,
    pattern: Pattern,
    assignments: Vec<Assignment>,
    /// Whether git reads the line exactly as it is read here.
    is_plain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Assignment {
    name: String,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Set,
    Unset,
    Value(String),
    Unspecified,
}

/// The attributes of a file that decide how it is converted.
#[derive(Debug, Default)]
struct Conversion {
    text: Option<State>,
    eol: Option<State>,
    ident: Option<State>,
    filter: Option<State>,
    encoding: Option<State>,
}

impl Attributes {
    /// Adds the text of the attributes of a folder, a path below the root of the work tree. The folders above have to be added
    /// before.
    pub fn add(&mut self, folder: &str, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let text = text.strip_prefix('\u{feff}').map_or(&*text, |text| text);
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        for line in text.split('\n') {
            let line = line.trim_matches(is_blank);
            let Some((pattern, rest)) = split_pattern(line) else { continue };
            let (assignments, is_plain) = assignments(rest);
            let is_plain = is_plain && line.len() <= MAXIMUM_LINE;
            if let Some(name) = pattern.strip_prefix("[attr]") {
                // Git reads macros at the root alone, and the last one of a name counts.
                if folder.is_empty() && (is_plain || !self.macros.contains_key(name)) {
                    self.macros.insert(name.to_owned(), assignments);
                }
                continue;
            }
            if let Some(pattern) = Pattern::parse(&pattern) {
                self.lines.push(Line { folder: folder.clone(), pattern, assignments, is_plain });
            }
        }
    }

    /// Returns how many lines can convert a file, or end a conversion.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Leaves out the lines without an attribute that can convert a file.
    pub fn retain_conversions(&mut self) {
        let Self { lines, macros } = self;
        let is_known = |name: &str| CONVERSIONS.contains(&name) || macros.contains_key(name);
        lines.retain(|line| line.assignments.iter().any(|assignment| is_known(&assignment.name)));
        let can_convert = |assignment: &Assignment| CONVERSIONS.iter().skip(1).any(|name| *name == assignment.name);
        if !lines.iter().flat_map(|line| &line.assignments).chain(macros.values().flatten()).any(can_convert) {
            lines.clear();
        }
    }

    /// Returns the attribute by which a checkout writes other bytes than the blob of a file; none if it writes the blob. `path`
    /// is the path below the root of the work tree.
    ///
    /// # Examples
    /// ```
    /// use bailiwick_git::attributes::Attributes;
    /// let mut attributes = Attributes::default();
    /// attributes.add("", b"* text=auto\n*.yaml eol=crlf\n");
    /// attributes.add("out", b"*.yml ident\n");
    /// assert_eq!(attributes.conversion("out/t/a.yaml").as_deref(), Some("eol=crlf"));
    /// assert_eq!(attributes.conversion("out/t/a.yml").as_deref(), Some("ident"));
    /// assert_eq!(attributes.conversion("a.yml"), None);
    /// ```
    pub fn conversion(&self, path: &str) -> Option<String> {
        let mut conversion = Conversion::default();
        let mut expanded = HashSet::new();
        for line in self.lines.iter().rev() {
            let below = path.strip_prefix(&line.folder);
            if below.is_some_and(|below| line.pattern.may_match(below)) {
                let is_exact = line.is_plain && line.pattern.is_exact;
                self.decide(line, is_exact, &mut expanded, &mut conversion);
            }
        }
        conversion.shown()
    }

    /// Takes what a line decides and no line of a higher precedence has decided. In a line the last assignment counts, and a macro
    /// is expanded once for a file.
    fn decide<'a>(
        &'a self,
        line: &'a Line,
        is_exact: bool,
        expanded: &mut HashSet<&'a str>,
        conversion: &mut Conversion,
    ) {
        let mut open = vec![line.assignments.iter().rev()];
        while let Some(assignments) = open.last_mut() {
            let Some(Assignment { name, state }) = assignments.next() else {
                open.pop();
                continue;
            };
            conversion.decide(name, state, is_exact);
            let definition = self.macros.get(name).filter(|_| is_exact || *state == State::Set);
            if let Some(definition) = definition
                && expanded.insert(name)
                && *state == State::Set
            {
                open.push(definition.iter().rev());
            }
        }
    }
}

impl Default for Attributes {
    /// Returns no attributes, with the macro that git defines.
    fn default() -> Self {
        let text = Assignment { name: "text".to_owned(), state: State::Unset };
        Self { lines: Vec::new(), macros: BTreeMap::from([("binary".to_owned(), vec![text])]) }
    }
}

impl Conversion {
    fn decide(&mut self, name: &str, state: &State, is_exact: bool) {
        let (slot, converts) = match name {
            "text" => (&mut self.text, *state != State::Unset),
            "eol" => (&mut self.eol, is_word(state, "crlf")),
            "ident" => (&mut self.ident, *state == State::Set),
            "filter" => (&mut self.filter, matches!(state, State::Value(_))),
            "working-tree-encoding" => (&mut self.encoding, is_other_encoding(state)),
            _ => return,
        };
        if slot.is_none() && (converts || is_exact) {
            *slot = Some(state.clone());
        }
    }

    /// Returns the attribute that converts the file.
    fn shown(&self) -> Option<String> {
        let Self { text, eol, ident, filter, encoding } = self;
        let is_text = *text != Some(State::Unset);
        let found = [
            ("working-tree-encoding", encoding.as_ref().filter(|state| is_other_encoding(state))),
            ("filter", filter.as_ref().filter(|state| matches!(state, State::Value(_)))),
            ("ident", ident.as_ref().filter(|state| **state == State::Set)),
            ("eol", eol.as_ref().filter(|state| is_text && is_word(state, "crlf"))),
        ];
        let (name, state) = found.into_iter().find_map(|(name, state)| Some((name, state?)))?;
        Some(match state {
            State::Value(value) => format!("{name}={value}"),
            State::Unset => format!("-{name}"),
            State::Set | State::Unspecified => name.to_owned(),
        })
    }
}

fn is_word(state: &State, word: &str) -> bool {
    matches!(state, State::Value(value) if value == word)
}

/// Whether an encoding is another one than UTF-8, which git leaves as it is. Git refuses a checkout without a name.
fn is_other_encoding(state: &State) -> bool {
    match state {
        State::Value(value) => !value.eq_ignore_ascii_case("utf-8") && !value.eq_ignore_ascii_case("utf8"),
        State::Set | State::Unset => true,
        State::Unspecified => false,
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

/// Splits a line into its pattern, without quotes, and its attributes; none for a line without a pattern.
fn split_pattern(line: &str) -> Option<(String, &str)> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    if let Some(split) = line.strip_prefix('"').and_then(unquoted) {
        return Some(split);
    }
    let (pattern, rest) = line.split_once(is_blank).map_or((line, ""), |parts| parts);
    Some((pattern.to_owned(), rest))
}

/// Reads a quoted pattern up to its end, and returns the rest; none without an end. The escape of a byte stands for any letters.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut pattern = String::new();
    let mut letters = quoted.char_indices();
    while let Some((position, letter)) = letters.next() {
        match letter {
            '"' => return Some((pattern, quoted.get(position + 1..)?)),
            '\\' => match letters.next()?.1 {
                '"' => pattern.push('"'),
                '\\' => pattern.push('\\'),
                _ => pattern.push(UNKNOWN),
            },
            letter => pattern.push(letter),
        }
    }
    None
}

/// Reads the attributes of a line, and whether git reads them in the same way.
fn assignments(text: &str) -> (Vec<Assignment>, bool) {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let mut is_plain = true;
    let mut assignments = Vec::new();
    for word in text.split(is_blank).filter(|word| !word.is_empty()) {
        let (name, state) = match (word.strip_prefix('-'), word.strip_prefix('!'), word.split_once('=')) {
            (Some(name), _, _) => (name, State::Unset),
            (_, Some(name), _) => (name, State::Unspecified),
            (_, _, Some((name, value))) => (name, State::Value(value.to_owned())),
            _ => (word, State::Set),
        };
        // Git ignores a line with another name.
        is_plain &= !name.is_empty() && !name.starts_with(['-', '!']) && name.chars().all(is_letter);
        is_plain &= !name.starts_with("builtin_");
        assignments.push(Assignment { name: name.to_owned(), state });
    }
    (assignments, is_plain)
}

/// A letter of a pattern in place of letters that are not understood.
const UNKNOWN: char = '\0';

/// A pattern of paths.
#[derive(Debug)]
struct Pattern {
    parts: Vec<PatternPart>,
    /// Whether only the last name of a path is compared.
    is_of_name: bool,
    /// Whether every part of the pattern is understood.
    is_exact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternPart {
    Letter(char),
    /// One letter, but no slash.
    AnyLetter,
    /// Any letters, but no slash.
    AnyName,
    /// Any number of folders, each with its slash.
    AnyFolders,
    /// Any letters.
    Anything,
    /// Letters that are not understood, for which any letters count.
    Unknown,
}

impl Pattern {
    /// Reads a pattern; none for one that matches no file: of a folder, and with the `!` that git refuses.
    fn parse(text: &str) -> Option<Self> {
        if text.starts_with('!') || (text.ends_with('/') && !text.contains('[')) {
            return None;
        }
        let is_of_name = !text.contains('/');
        let text = text.strip_prefix('/').map_or(text, |text| text);
        let mut parts = Vec::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let is_start = matches!(parts.last(), None | Some(PatternPart::Letter('/') | PatternPart::AnyFolders));
            match letter {
                '*' => {
                    let mut is_wide = false;
                    while letters.next_if_eq(&'*').is_some() {
                        is_wide = is_start && !is_of_name;
                    }
                    parts.push(match letters.peek() {
                        Some('/') if is_wide => {
                            letters.next();
                            PatternPart::AnyFolders
                        }
                        None if is_wide => PatternPart::Anything,
                        Some('\\') if is_wide => PatternPart::Unknown,
                        _ => PatternPart::AnyName,
                    });
                }
                '?' => parts.push(PatternPart::AnyLetter),
                '\\' => parts.push(letters.next().map_or(PatternPart::Unknown, PatternPart::Letter)),
                '[' | UNKNOWN => {
                    // The end of a set of letters has rules of its own, so the rest of the pattern is left open.
                    parts.push(PatternPart::Unknown);
                    break;
                }
                letter => parts.push(PatternPart::Letter(letter)),
            }
        }
        let is_exact = !parts.contains(&PatternPart::Unknown);
        Some(Self { parts, is_of_name, is_exact })
    }

    /// Whether the pattern matches a path below the folder of its file, or is not understood and could match it. The work grows
    /// with the product of both lengths.
    fn may_match(&self, path: &str) -> bool {
        let text = if self.is_of_name { path.rsplit('/').next().map_or(path, |name| name) } else { path };
        // Whether the parts before each place match the letters so far.
        let mut reached = self.places();
        self.reach(&mut reached, 0);
        for letter in text.chars() {
            let mut next = self.places();
            for (place, part) in self.parts.iter().enumerate().filter(|(place, _)| reached.get(*place) == Some(&true)) {
                match part {
                    PatternPart::Letter(wanted) if *wanted == letter => self.reach(&mut next, place + 1),
                    PatternPart::AnyLetter if letter != '/' => self.reach(&mut next, place + 1),
                    PatternPart::AnyName if letter != '/' => self.reach(&mut next, place),
                    PatternPart::Anything | PatternPart::Unknown => self.reach(&mut next, place),
                    PatternPart::AnyFolders if letter == '/' => self.reach(&mut next, place),
                    // In the middle of a folder the next part cannot begin.
                    PatternPart::AnyFolders => next.iter_mut().skip(place).take(1).for_each(|slot| *slot = true),
                    _ => {}
                }
            }
            reached = next;
        }
        reached.last() == Some(&true)
    }

    fn places(&self) -> Vec<bool> {
        vec![false; self.parts.len() + 1]
    }

    /// Reaches a place, and the places behind it whose parts before match nothing, too.
    fn reach(&self, places: &mut [bool], from: usize) {
        for (place, slot) in places.iter_mut().enumerate().skip(from) {
            *slot = true;
            match self.parts.get(place) {
                Some(PatternPart::Letter(_) | PatternPart::AnyLetter) | None => break,
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(files: &[(&str, &str)], path: &str) -> Option<String> {
        let mut attributes = Attributes::default();
        files.iter().for_each(|(folder, text)| attributes.add(folder, text.as_bytes()));
        let found = attributes.conversion(path);
        attributes.retain_conversions();
        assert_eq!(attributes.conversion(path), found, "{files:?}");
        found
    }

    const FILE: &str = "out/t/namespaces/a.yaml";

    #[test]
    fn each_way_to_convert_is_found() {
        for (text, expected) in [
            ("* eol=crlf", "eol=crlf"),
            ("*.yaml text eol=crlf", "eol=crlf"),
            ("* ident", "ident"),
            ("* filter=lfs -text", "filter=lfs"),
            ("* working-tree-encoding=UTF-16LE", "working-tree-encoding=UTF-16LE"),
            ("* -working-tree-encoding", "-working-tree-encoding"),
            ("out/** ident", "ident"),
            ("/out/t/*/a.yaml ident", "ident"),
            ("**/a.yaml ident", "ident"),
            ("out/**/a.yaml ident", "ident"),
            ("out/***/a.yaml ident", "ident"),
            ("out/**/t/namespaces/a.yaml ident", "ident"),
            ("out/t/namespaces/[a-z].yaml ident", "ident"),
            ("\"out/t/namespaces/\\141.yaml\" ident", "ident"),
            ("\u{feff}* ident\r", "ident"),
            ("[attr]mark ident\n* mark", "ident"),
            ("* mark\n[attr]mark more\n[attr]more ident", "ident"),
            ("[attr]a b\n[attr]b a ident\n* a", "ident"),
            // Git ignores the line that would end the conversion.
            ("* ident\nout/** -ident @bad", "ident"),
            ("* ident\nout/ -ident", "ident"),
            ("* ident\n!out/** -ident", "ident"),
            ("* ident\n[o]ut/** -ident", "ident"),
            ("[attr]mark ident\n[attr]mark -ident @bad\n* mark", "ident"),
            ("* text eol=crlf\n* -crlf", "eol=crlf"),
            ("* eol=crlf -text text", "eol=crlf"),
        ] {
            assert_eq!(conversion(&[("", text)], FILE).as_deref(), Some(expected), "{text}");
        }
        let long = format!("* ident\n* -ident {}", "x".repeat(MAXIMUM_LINE));
        assert_eq!(conversion(&[("", &long)], FILE).as_deref(), Some("ident"));
        assert_eq!(conversion(&[("", "* -ident"), ("out", "*.yaml ident")], FILE).as_deref(), Some("ident"));
    }

    #[test]
    fn other_attributes_and_files_are_left_alone() {
        for text in [
            "",
            "# * ident",
            "* text=auto",
            "* text eol=lf",
            "* -text eol=crlf",
            "* eol=crlf\n* binary",
            "* filter",
            "* working-tree-encoding=utf8",
            "*.yml ident",
            "yaml ident",
            "out/* ident",
            "out/*/a.yaml ident",
            "out/**a.yaml ident",
            "t/** ident",
            "out/t/namespaces/ ident",
            "* ident\nout/** -ident",
            "* eol=crlf\nout/** eol=lf",
            "* eol=crlf\nout/** !eol",
            "* mark\n[attr]mark -ident",
            "* diff=a merge=b export-ignore export-subst linguist-generated",
        ] {
            assert_eq!(conversion(&[("", text)], FILE), None, "{text}");
        }
        assert_eq!(conversion(&[("", "* ident"), ("out/t", "* -ident")], FILE), None);
        assert_eq!(conversion(&[("out/other", "* ident"), ("infra", "[attr]text ident")], FILE), None);
    }

    #[test]
    fn a_hostile_pattern_ends_soon() {
        let pattern = format!("{}b ident", "*a".repeat(900));
        assert_eq!(conversion(&[("", &pattern)], &"a".repeat(4000)), None);
        let nested: String = (0..200).map(|level| format!("[attr]m{level} m{}\n", level + 1)).collect();
        assert_eq!(conversion(&[("", &format!("{nested}* m0\n"))], FILE), None);
    }
}
