//! Reading back: a written document is read as a reader of YAML 1.1 reads it, and compared with the intended object.
//!
//! The writer quotes all ambiguous texts ([`super::write`]). This module does not rely on the writer: it reads the
//! text alone. Its rules are the rules of the YAML 1.1 specification (5.4, line breaks) and of the type repository of
//! YAML 1.1 (bool, int, float, timestamp, merge, value). go-yaml, PyYAML and libyaml each implement a part of them.

mod along;

use crate::internal;
use std::fmt;
use std::sync::OnceLock;

use regex::RegexSet;

use super::scalar::{Plain, resolve};
use super::tree::{NodeRef, NodeValue, Tree};
use crate::diag::{FileId, Sink, foreign};

/// Reads documents back; keeps its memory between them.
#[derive(Debug)]
pub struct ReadBack {
    tree: Tree,
}

/// A difference between a text and its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A character refused by some reader, or read as the end of a line.
    Character(char),
    /// The text cannot be read.
    Unreadable,
    /// The text holds so many documents in place of one.
    Documents(usize),
    /// This value reads as another one.
    Value(String),
    /// This plain scalar reads as another type in YAML 1.1.
    Type(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character(character) => {
                write!(formatter, "it holds the character U+{:04X}, which is not escaped", u32::from(*character))
            }
            Self::Unreadable => formatter.write_str("it cannot be read"),
            Self::Documents(count) => write!(formatter, "it holds {count} documents"),
            Self::Value(text) => write!(formatter, "the value `{}` reads as another one", foreign::line(text)),
            Self::Type(text) => write!(formatter, "`{}` without quotes is no string in YAML 1.1", foreign::line(text)),
        }
    }
}

impl Default for ReadBack {
    fn default() -> Self {
        Self { tree: Tree::new(FileId::default()) }
    }
}

impl ReadBack {
    /// Compares the text of one document with the object at `root`.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&mut self, text: &str, root: NodeRef<'_>) -> Result<(), Difference> {
        if along::is_object(text, root) {
            return Ok(());
        }
        self.compare_in_full(text, root)
    }

    /// Compares a text as [`ReadBack::compare`] does, with a tree of the text.
    fn compare_in_full(&mut self, text: &str, root: NodeRef<'_>) -> Result<(), Difference> {
        // Readers disagree about all invisible characters: CR, NEL, LS and PS end lines in YAML 1.1, a byte order
        // mark is refused or dropped, and other control characters are refused.
        let is_odd = |byte: u8| !(0x20..=0x7e).contains(&byte) && byte != b'\n';
        if text.bytes().fold(false, |odd, byte| odd | is_odd(byte))
            && let Some(hidden) = text.chars().find(|&character| character != '\n' && foreign::is_hidden(character))
        {
            return Err(Difference::Character(hidden));
        }
        let mut sink = Sink::new();
        super::read_into(text, &mut self.tree, &mut sink);
        if !sink.is_empty() {
            return Err(Difference::Unreadable);
        }
        match (self.tree.document(0), self.tree.document(1)) {
            (Some(read), None) => same(text, read, root),
            _ => Err(Difference::Documents(self.tree.documents().count())),
        }
    }
}

/// Compares the node read from `text` with the intended node.
fn same(text: &str, read: NodeRef<'_>, meant: NodeRef<'_>) -> Result<(), Difference> {
    let is_same = match (read.value(), meant.value()) {
        (NodeValue::Null, NodeValue::Null) => true,
        (NodeValue::Bool(left), NodeValue::Bool(right)) => left == right,
        (NodeValue::Int(left), NodeValue::Int(right)) => left == right,
        (NodeValue::Float(left), NodeValue::Float(right)) => left == right,
        // A whole number has one spelling in either type.
        (NodeValue::Int(left), NodeValue::Float(right)) => left as f64 == right,
        (NodeValue::Str(_), NodeValue::Str(_)) => {
            if read.as_str() == meant.as_str() {
                return is_string_to_all(text, read);
            }
            false
        }
        (NodeValue::Map(_), NodeValue::Map(_)) | (NodeValue::Seq(_), NodeValue::Seq(_)) => read.len() == meant.len(),
        _ => false,
    };
    if !is_same {
        return Err(Difference::Value(meant.describe()));
    }
    for (read, meant) in read.items().zip(meant.items()) {
        same(text, read, meant)?;
    }
    for ((read_key, read), (meant_key, meant)) in read.entries().zip(meant.entries()) {
        same(text, read_key, meant_key)?;
        same(text, read, meant)?;
    }
    Ok(())
}

/// Checks that a string without quotes is a string in YAML 1.1. Kubernetes' own reader is in [`super::scalar::resolve`].
fn is_string_to_all(text: &str, read: NodeRef<'_>) -> Result<(), Difference> {
    let written = internal::slice(text, read.span().start as usize..read.span().end as usize);
    if is_of_other_type(written) {
        return Err(Difference::Type(written.to_owned()));
    }
    Ok(())
}

/// Whether a text without quotes is a string for Kubernetes' own reader and in YAML 1.1.
pub fn has_one_type(text: &str) -> bool {
    !is_of_other_type(text) && resolve(text) == Plain::Str
}

/// Whether YAML 1.1 takes a plain scalar for another type than a string.
fn is_of_other_type(written: &str) -> bool {
    match written.bytes().next() {
        // No word is longer than `false`.
        Some(b'a'..=b'z' | b'A'..=b'Z') => written.len() <= 5 && WORDS.contains(&written),
        Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'~' | b'=' | b'<') | None => other_types().is_match(written),
        _ => false,
    }
}

/// The words of another type than string in YAML 1.1; source: the pages bool and null of yaml.org/type.
const WORDS: [&str; 25] = [
    "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE", "on",
    "On", "ON", "off", "Off", "OFF", "null", "Null", "NULL",
];

/// Returns the patterns of the other plain scalars of another type than string in YAML 1.1. They are compiled for the first scalar
/// that begins like a number: most objects have none.
///
/// Source: the pages float, int, merge, null, timestamp and value of yaml.org/type, and `resolve.go` of go.yaml.in/yaml/v3 3.0. There,
/// a month has one digit or two, and a sign may follow `0b` and `0o`.
fn other_types() -> &'static RegexSet {
    const TYPES: [&str; 12] = [
        r"^(~|)$",
        r"^[-+]?0_*[bo][-+_]*[0-7_]+$",
        r"^[-+]?0[0-7_]+$",
        r"^[-+]?(0|[1-9][0-9_]*)$",
        r"^[-+]?0_*[xX][0-9a-fA-F_]+$",
        r"^[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+$",
        r"^[-+]?([0-9][0-9_]*)?\.[0-9._]*([eE][-+]?[0-9_]+)?$",
        r"^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*$",
        r"^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$",
        r"^[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?$",
        r"^[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?([Tt]|[ \t]+)[0-9][0-9]?:[0-9][0-9]?:[0-9][0-9]?([.,][0-9]*)?([ \t]*(Z|[-+][0-9][0-9]?(:[0-9]{2})?))?$",
        r"^(=|<<)$",
    ];
    static SET: OnceLock<RegexSet> = OnceLock::new();
    SET.get_or_init(|| internal::value(RegexSet::new(TYPES).ok(), "a pattern of a type is no regular expression"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a text with another text as its object.
    fn compare(text: &str, meant: &str) -> Result<(), Difference> {
        let mut sink = Sink::new();
        let meant = crate::read(meant, FileId::default(), &mut sink);
        assert!(sink.is_empty(), "{sink:?}");
        let root = meant.document(0).expect("a document");
        let in_full = ReadBack::default().compare_in_full(text, root);
        assert_eq!(ReadBack::default().compare(text, root), in_full, "{text}");
        in_full
    }

    /// Writes the object of a text; returns the new text, and whether it is proven without a tree.
    fn written(text: &str) -> (String, bool) {
        let mut sink = Sink::new();
        let tree = crate::read(text, FileId::default(), &mut sink);
        assert!(sink.is_empty(), "{sink:?}");
        let root = tree.document(0).expect("a document");
        let mut written = String::new();
        crate::write::document(root, &mut written);
        assert_eq!(ReadBack::default().compare_in_full(&written, root), Ok(()), "{written}");
        let is_proven = along::is_object(&written, root);
        (written, is_proven)
    }

    #[test]
    fn a_text_that_means_the_object_passes() {
        let text = "a: pods\nb:\n- c: \"é\"\n  d: \"2024-01-01\"\n- 1\n- null\n- {}\n- 0.5\n- 10.0.0.0/8\n- 'it''s'\n";
        assert_eq!(compare(text, text), Ok(()));
        assert_eq!(compare("a: 1000\n", "a: 1e3\n"), Ok(()));
    }

    #[test]
    fn a_line_break_of_yaml_1_1_is_found() {
        for (break_, meant) in [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029"), ('\r', "\\r")]
        {
            let text = format!("a: \"x{break_}kind: ClusterRoleBinding\"\n");
            let meant = format!("a: \"x{meant}kind: ClusterRoleBinding\"\n");
            assert_eq!(compare(&text, &meant), Err(Difference::Character(break_)));
            let comment = format!("a: x # {break_}b: c\n");
            assert_eq!(compare(&comment, "a: x\n"), Err(Difference::Character(break_)));
        }
        assert_eq!(compare("\u{feff}a: x\n", "a: x\n"), Err(Difference::Character('\u{feff}')));
    }

    #[test]
    fn another_object_is_found() {
        assert_eq!(compare("a: x\nb: y1\n", "a: x\n"), Err(Difference::Value("a map".to_owned())));
        assert_eq!(compare("b: x\na: z\n", "a: z\nb: x\n"), Err(Difference::Value("the string `a`".to_owned())));
        assert_eq!(compare("a: [x]\n", "a: [x, z]\n"), Err(Difference::Value("a list".to_owned())));
        assert_eq!(compare("a: 1\n", "a: \"1\"\n"), Err(Difference::Value("the string `1`".to_owned())));
        assert_eq!(compare("a: x\n---\nb: x\n", "a: x\n"), Err(Difference::Documents(2)));
        assert_eq!(compare("# nothing\n", "a: x\n"), Err(Difference::Documents(0)));
        assert_eq!(compare("a: [\n", "a: x\n"), Err(Difference::Unreadable));
    }

    #[test]
    fn a_plain_scalar_of_another_type_is_found() {
        for text in [
            "2024-01-01",
            "1:30",
            "190:20:30",
            "1:30.5",
            "=",
            "<<",
            "2001-12-14 21:59:43.10",
            "2001-12-14t21:59:43.10-05:00",
            "1.2.3",
            "0b1_",
            "0o-17",
            ".05_3",
            "2001-1-1",
            "2001-1-1 1:2:3,5",
        ] {
            let quoted = format!("a: \"{text}\"\n");
            assert_eq!(compare(&quoted, &quoted), Ok(()), "{text}");
            let plain = format!("a: {text}\n");
            assert!(compare(&plain, &quoted).is_err(), "{text}");
        }
    }

    #[test]
    fn an_object_is_proven_without_a_tree() {
        let text = "a: pods\nb:\n- c: system:nodes\n  d: \"2024-01-01\"\n- 1\n- null\ne: {}\nf: []\ng:\n  h: true\n  i:\n  - 0day\n";
        assert_eq!(written(text), (text.to_owned(), true));
        // Each change of one byte is refused, or means the same.
        let mut sink = Sink::new();
        let tree = crate::read(text, FileId::default(), &mut sink);
        let root = tree.document(0).expect("a document");
        for position in 0..text.len() {
            for byte in (b' '..=b'~').chain([b'\n']) {
                let mut changed = text.as_bytes().to_vec();
                *changed.get_mut(position).expect("a byte") = byte;
                let changed = String::from_utf8(changed).expect("ASCII");
                if along::is_object(&changed, root) {
                    assert_eq!(ReadBack::default().compare_in_full(&changed, root), Ok(()), "{changed}");
                }
            }
        }
        for text in [
            "a: \"y\"\n",
            "a: b:c\n",
            "a: kernel.msg*\n",
            "a: two words\n",
            "a: 8 Gi\n",
            "a: 'b: c'\n",
            "a: '\"'\n",
            "a: \"1:30\"\n",
            "a: 10.0.0.0/8\n",
            "a: off-line\n",
        ] {
            assert_eq!(written(text), (text.to_owned(), true));
        }
        for text in ["a: 'it''s'\n", "a: [[x]]\n", "a: 0.5\n", "a: \"\\n\"\n", "a: \"é\"\n"] {
            assert!(!written(text).1, "{text}");
        }
        for (text, meant) in [("a: y\n", "a: \"y\"\n"), ("a: b:\n", "a: \"b:\"\n"), ("a: 1\n", "a: \"1\"\n")] {
            assert!(compare(text, meant).is_err(), "{text}");
        }
    }

    #[test]
    fn every_pattern_of_another_type_is_one() {
        assert_eq!(other_types().len(), 12);
    }

    #[test]
    fn words_of_another_type_are_whole_words() {
        assert!(WORDS.iter().all(|word| is_of_other_type(word)));
        for word in ["yEs", "nULL", "of", "offs", "name", "to", "t", "F", "truE", "nullx"] {
            assert!(!is_of_other_type(word), "{word}");
        }
    }
}
