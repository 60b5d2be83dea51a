//! Regular expressions of Go, translated for the crate `regex`.
//!
//! Both read RE2's syntax and take the first match from the left. Classes such as `\d` are ASCII in Go, some letters
//! inside brackets have a meaning only in the crate, and a few forms only in Go. A pattern of uncertain meaning is
//! not evaluated.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

use super::Fail;
use super::eval::Evaluation;
use super::value::length;

/// The most memory of a compiled pattern, in bytes.
const LARGEST: usize = 1 << 20;

/// Compiles a pattern for a text.
pub(super) fn compiled(evaluation: &mut Evaluation<'_>, pattern: &str, text: &str) -> Result<Regex, Fail> {
    let (text, size) = (1 + length(text.len()) / 10, 1 + length(pattern.len()) / 4);
    evaluation.spend(text.saturating_mul(size).saturating_add(length(pattern.len())))?;
    let unknown = || Fail::Unknown(format!("the pattern `{pattern}` is not evaluated here"));
    let translated = translated(pattern).ok_or_else(unknown)?;
    RegexBuilder::new(&translated).size_limit(LARGEST).dfa_size_limit(LARGEST).build().map_err(|_| unknown())
}

/// The rest of a pattern.
type Letters<'p> = Peekable<Chars<'p>>;

/// Translates a pattern to the notation of the crate; none for a pattern of uncertain meaning.
fn translated(pattern: &str) -> Option<String> {
    let mut written = String::with_capacity(pattern.len() + 16);
    let mut letters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => written.push_str(&escape(letters.next()?, in_class)?),
            '[' if in_class && letters.peek() == Some(&':') => written.push_str(&class_name(&mut letters)?),
            '[' if in_class => written.push_str("\\["),
            '[' => {
                in_class = true;
                written.push_str(&class_start(&mut letters));
            }
            ']' if in_class => {
                in_class = false;
                written.push(']');
            }
            '&' | '~' if in_class => {
                written.push('\\');
                written.push(letter);
            }
            '-' if in_class && letters.peek() == Some(&'-') => return None,
            '(' if !in_class && letters.peek() == Some(&'?') => {
                written.push_str(&group(&mut letters)?);
            }
            // Without a number in front, braces stand for themselves in Go.
            '{' if !in_class => {
                let is_count = letters.peek().is_some_and(char::is_ascii_digit);
                if !is_count {
                    written.push('\\');
                }
                written.push('{');
                if is_count && !is_repetition(&letters.clone().collect::<String>()) {
                    return None;
                }
            }
            other => written.push(other),
        }
    }
    (!in_class).then_some(written)
}

/// Translates the name of a class inside a class, such as `[:alpha:]`, behind its opening bracket.
fn class_name(letters: &mut Letters<'_>) -> Option<String> {
    let mut written = String::from("[");
    let mut before = '[';
    loop {
        let next = letters.next()?;
        written.push(next);
        if before == ':' && next == ']' {
            return Some(written);
        }
        before = next;
    }
}

/// Translates the begin of a class behind its opening bracket: a negation, and a literal closing bracket.
fn class_start(letters: &mut Letters<'_>) -> String {
    let mut written = String::from("[");
    if letters.next_if_eq(&'^').is_some() {
        written.push('^');
    }
    if letters.next_if_eq(&']').is_some() {
        written.push_str("\\]");
    }
    written
}

/// Whether a text begins with the rest of a valid repetition.
fn is_repetition(rest: &str) -> bool {
    let Some((counts, _)) = rest.split_once('}') else { return false };
    let count = |text: &str| text.parse::<u16>().is_ok_and(|count| count <= 1000 && !text.starts_with('+'));
    match counts.split_once(',') {
        Some((least, most)) => count(least) && (most.is_empty() || count(most)),
        None => count(counts),
    }
}

/// Returns the class or character of an escape.
fn escape(letter: char, in_class: bool) -> Option<String> {
    Some(match (letter, in_class) {
        ('d', false) => "[0-9]".to_owned(),
        ('D', false) => "[^0-9]".to_owned(),
        ('w', false) => "[0-9A-Za-z_]".to_owned(),
        ('W', false) => "[^0-9A-Za-z_]".to_owned(),
        ('s', false) => r"[\t\n\x0C\r ]".to_owned(),
        ('S', false) => r"[^\t\n\x0C\r ]".to_owned(),
        ('d', true) => "0-9".to_owned(),
        ('w', true) => "0-9A-Za-z_".to_owned(),
        ('s', true) => r"\t\n\x0C\r ".to_owned(),
        ('b', false) => r"(?-u:\b)".to_owned(),
        ('B', false) => return None,
        ('A', false) => r"\A".to_owned(),
        ('z', false) => r"\z".to_owned(),
        ('n' | 't' | 'r' | 'f' | 'v' | 'a', _) => format!("\\{letter}"),
        (mark, _) if mark.is_ascii_punctuation() && mark != '<' && mark != '>' => {
            // The crate takes fewer marks with a backslash than Go.
            if regex::escape(&mark.to_string()).len() > 1 || in_class { format!("\\{mark}") } else { mark.to_string() }
        }
        _ => return None,
    })
}

/// Translates the name or the flags behind an opening parenthesis with a question mark.
fn group(letters: &mut Letters<'_>) -> Option<String> {
    let mut written = String::from("(");
    written.push(letters.next()?);
    loop {
        let letter = letters.next()?;
        match letter {
            ':' | ')' => {
                written.push(letter);
                return Some(written);
            }
            // Letters of any case are folded by tables of their own.
            's' | 'm' | 'U' | '-' => written.push(letter),
            'P' if written == "(?" && letters.peek() == Some(&'<') => written.push('P'),
            '<' if matches!(written.as_str(), "(?P" | "(?") => {
                written.push('<');
                loop {
                    let letter = letters.next()?;
                    written.push(letter);
                    match letter {
                        '>' => return Some(written),
                        letter if letter.is_ascii_alphanumeric() || letter == '_' => {}
                        _ => return None,
                    }
                }
            }
            _ => return None,
        }
    }
}
