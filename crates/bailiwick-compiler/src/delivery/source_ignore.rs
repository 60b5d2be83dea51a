//! The patterns of a `.sourceignore`: source-controller of Flux leaves files out of a source.
//!
//! The last pattern that matches a path decides. Source: `gitignore/pattern.go` and `sourceignore.go` of
//! fluxcd/pkg/sourceignore 0.22; names are matched as `path.Match` of Go 1.26 does. The form is the form of
//! `.gitignore`, and the meaning is not: a pattern with `**` within a name matches nothing, and a pattern with a slash matches
//! every path that begins with it.

/// The name of the file.
pub const SOURCE_IGNORE: &str = ".sourceignore";

/// The buffer of the reader of lines in bytes: `bufio.MaxScanTokenSize` of Go.
const LONGEST_LINE: usize = 64 * 1024;

/// The patterns of the files of some folders, in the order in which source-controller reads them.
#[derive(Debug, Default)]
pub struct SourceIgnore {
    patterns: Vec<Pattern>,
}

/// A line of a file.
#[derive(Debug)]
struct Pattern {
    /// The file, by its path below the root of the repository.
    file: String,
    line: String,
    /// The names on the way to the folder of the file.
    domain: Vec<String>,
    names: Vec<String>,
    includes: bool,
    is_of_folders: bool,
}

impl SourceIgnore {
    /// Adds the patterns of a file, by its path below the root of the repository. The file of a folder comes before the
    /// files below the folder.
    pub fn add(&mut self, file: &str, text: &str) {
        let mut domain: Vec<String> = file.split('/').map(str::to_owned).collect();
        domain.pop();
        // The reader of Flux stops at a line above its buffer.
        let lines = text.split('\n').take_while(|line| line.len() < LONGEST_LINE);
        let lines = lines.filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        self.patterns.extend(lines.map(|line| Pattern::parse(file, line, &domain)));
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns the file and the line against a path below the root of the repository.
    pub fn excluding(&self, path: &str) -> Option<(&str, &str)> {
        let names: Vec<&str> = path.split('/').collect();
        let deciding = self.patterns.iter().rev().find(|pattern| pattern.matches(&names))?;
        (!deciding.includes).then_some((&deciding.file, &deciding.line))
    }
}

impl Pattern {
    fn parse(file: &str, line: &str, domain: &[String]) -> Self {
        let (includes, rest) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        // Versions differ in a carriage return at the end. The pattern that leaves more files out is taken.
        let rest = if includes { rest } else { rest.trim_end_matches('\r') };
        let rest = if rest.ends_with("\\ ") { rest } else { rest.trim_end_matches(' ') };
        let (is_of_folders, rest) = rest.strip_suffix('/').map_or((false, rest), |rest| (true, rest));
        let names = rest.split('/').map(str::to_owned).collect();
        Self { file: file.to_owned(), line: line.to_owned(), domain: domain.to_vec(), names, includes, is_of_folders }
    }

    /// Whether the pattern matches a file.
    fn matches(&self, path: &[&str]) -> bool {
        let Some((domain, path)) = path.split_at_checked(self.domain.len()) else { return false };
        if domain != self.domain {
            return false;
        }
        match self.names.as_slice() {
            [] => false,
            [name] => self.matches_name(name, path),
            names => self.matches_path(names, path),
        }
    }

    /// Whether some name of a path matches a pattern without a slash.
    fn matches_name(&self, pattern: &str, path: &[&str]) -> bool {
        let found = path.iter().position(|name| matches_name(pattern, name));
        found.is_some_and(|index| !self.is_of_folders || index + 1 < path.len())
    }

    /// Whether the beginning of a path matches a pattern with slashes.
    fn matches_path(&self, patterns: &[String], mut path: &[&str]) -> bool {
        let (mut is_matched, mut skips) = (false, false);
        for (index, pattern) in patterns.iter().enumerate() {
            match pattern.as_str() {
                "" => skips = false,
                "**" if index + 1 == patterns.len() => break,
                "**" => skips = true,
                pattern if pattern.contains("**") => return false,
                pattern => {
                    let Some((first, rest)) = path.split_first() else { return false };
                    if skips {
                        skips = false;
                        let found = path.iter().position(|name| matches_name(pattern, name));
                        is_matched = found.is_some();
                        path = match found.and_then(|found| path.get(found + 1..)) {
                            Some(rest) => rest,
                            None => &[],
                        };
                    } else if matches_name(pattern, first) {
                        is_matched = true;
                        path = rest;
                    } else {
                        return false;
                    }
                }
            }
        }
        is_matched && !(self.is_of_folders && path.is_empty())
    }
}

/// Whether a name matches a pattern of Go: `*`, `?`, `[a-z]`, `[^a-z]`, and `\` before a character. A malformed pattern
/// matches nothing.
fn matches_name(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    matches_from(&pattern, &name) == Some(true)
}

/// Returns whether the rest of a name matches the rest of a pattern; none for a malformed pattern.
fn matches_from(pattern: &[char], name: &[char]) -> Option<bool> {
    let Some((first, rest)) = pattern.split_first() else { return Some(name.is_empty()) };
    if *first == '*' {
        // Each length of the star is tried: names are short.
        let ends = (0..=name.len()).map(|taken| matches_from(rest, name.get(taken..)?));
        return ends.into_iter().find(|found| *found != Some(false)).map_or(Some(false), |found| found);
    }
    let (token, rest) = Token::read(*first, rest)?;
    match name.split_first() {
        Some((letter, name)) if token.matches(*letter) => matches_from(rest, name),
        _ => Some(false),
    }
}

/// One part of a pattern for one character.
enum Token {
    Any,
    Letter(char),
    Class { ranges: Vec<(char, char)>, is_negated: bool },
}

impl Token {
    /// Reads the part that begins with a character, and returns the rest of the pattern; none for a malformed pattern.
    fn read(first: char, rest: &[char]) -> Option<(Self, &[char])> {
        match first {
            '?' => Some((Self::Any, rest)),
            '\\' => rest.split_first().map(|(letter, rest)| (Self::Letter(*letter), rest)),
            '[' => Self::class(rest),
            letter => Some((Self::Letter(letter), rest)),
        }
    }

    fn class(mut rest: &[char]) -> Option<(Self, &[char])> {
        let is_negated = rest.first() == Some(&'^');
        if is_negated {
            rest = rest.get(1..)?;
        }
        let mut ranges = Vec::new();
        loop {
            if let Some(behind) = rest.strip_prefix(&[']']).filter(|_| !ranges.is_empty()) {
                return Some((Self::Class { ranges, is_negated }, behind));
            }
            let (low, behind) = class_letter(rest)?;
            let (high, behind) = match behind.strip_prefix(&['-']) {
                Some(behind) => class_letter(behind)?,
                None => (low, behind),
            };
            ranges.push((low, high));
            rest = behind;
        }
    }

    fn matches(&self, letter: char) -> bool {
        match self {
            Self::Any => true,
            Self::Letter(own) => *own == letter,
            Self::Class { ranges, is_negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != *is_negated
            }
        }
    }
}

/// Returns a character of a class, and the rest; none where there is no character.
fn class_letter(rest: &[char]) -> Option<(char, &[char])> {
    match rest.split_first()? {
        ('-' | ']', _) => None,
        ('\\', behind) => behind.split_first().map(|(letter, behind)| (*letter, behind)),
        (letter, behind) => Some((*letter, behind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a file `out/t/namespaces/a.yaml` is left out by the lines of a file at a path.
    fn is_left_out(file: &str, lines: &str) -> bool {
        let mut ignore = SourceIgnore::default();
        ignore.add(file, lines);
        ignore.excluding("out/t/namespaces/a.yaml").is_some()
    }

    #[test]
    fn lines_leave_files_out_as_in_flux() {
        for line in [
            "a.yaml",
            "out",
            "out/",
            "*.yaml",
            "/out",
            "/out/t/",
            "out/t/namespaces/a.yaml",
            "**/a.yaml",
            "out/**",
            "**/namespaces/*",
            "a.yaml\r",
            "?.yaml",
            "[a-c].yaml",
            "[^b].yaml",
            "\\a.yaml",
            "a.yaml  ",
            "!b.yaml\nout/t",
            "*",
            "o*t/t",
            "namespaces",
        ] {
            assert!(is_left_out(".sourceignore", line), "{line}");
        }
        for line in [
            "b.yaml",
            "#a.yaml",
            "",
            "a.yaml/",
            "t/namespaces/a.yaml",
            "[b-z].yaml",
            "[a",
            "a.yaml\n!a.yaml",
            "out/t\n!*.yaml",
            "!a.yaml",
            "out/x**y",
            "/a.yaml",
            "out/t/cluster",
            "A.yaml",
        ] {
            assert!(!is_left_out(".sourceignore", line), "{line}");
        }
        assert!(is_left_out("out/.sourceignore", "t"));
        assert!(is_left_out("out/.sourceignore", "/t/namespaces"));
        assert!(!is_left_out("policies/.sourceignore", "*"));
    }

    #[test]
    fn the_last_line_decides_and_is_named() {
        let mut ignore = SourceIgnore::default();
        ignore.add(".sourceignore", "*.yaml\n");
        ignore.add("out/.sourceignore", "!a.yaml\nt\n");
        assert_eq!(ignore.excluding("out/t/a.yaml"), Some(("out/.sourceignore", "t")));
        assert_eq!(ignore.excluding("b.yaml"), Some((".sourceignore", "*.yaml")));
        assert_eq!(ignore.excluding("out/a.yaml"), None);
    }
}
