//! Patterns of Go (package `regexp`) for the crate `regex`. Both have the syntax of RE2, with a few differences.

use regex::RegexBuilder;

use bailiwick_yaml::limits::LARGEST_PATTERN;

/// Returns a pattern with the same matches; none for an unsupported pattern, or for a pattern above the memory limit.
pub(super) fn from_go(pattern: &str) -> Option<String> {
    let mut translated = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    let mut is_in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => translated.push_str(&escape(letters.next()?, is_in_class)?),
            '[' if !is_in_class => {
                is_in_class = true;
                translated.push('[');
                if letters.next_if_eq(&'^').is_some() {
                    translated.push('^');
                }
                // A bracket without an opening one is a letter.
                if letters.next_if_eq(&']').is_some() {
                    translated.push_str("\\]");
                }
            }
            '[' if letters.peek() == Some(&':') => translated.push('['),
            ']' if is_in_class && translated.ends_with(':') && has_open_name(&translated) => translated.push(']'),
            ']' if is_in_class => {
                is_in_class = false;
                translated.push(']');
            }
            // These have a meaning in classes of the crate alone.
            '[' | '&' | '~' if is_in_class => translated.extend(['\\', letter]),
            '-' if is_in_class && letters.peek() == Some(&'-') => return None,
            _ => translated.push(letter),
        }
    }
    let built = RegexBuilder::new(&translated).size_limit(LARGEST_PATTERN).build();
    built.is_ok().then_some(translated)
}

/// Whether a class such as `[:alpha:]` is open at the end of a text.
fn has_open_name(text: &str) -> bool {
    text.rsplit_once("[:").is_some_and(|(_, name)| !name.contains(":]"))
}

/// Returns an escape. Go's classes of letters hold ASCII alone.
fn escape(letter: char, is_in_class: bool) -> Option<String> {
    let text = match (letter, is_in_class) {
        ('d', false) => "[0-9]",
        ('D', false) => "[^0-9]",
        ('w', false) => "[0-9A-Za-z_]",
        ('W', false) => "[^0-9A-Za-z_]",
        ('s', false) => "[\\t\\n\\f\\r ]",
        ('S', false) => "[^\\t\\n\\f\\r ]",
        ('b', false) => "(?-u:\\b)",
        ('B', false) => "(?-u:\\B)",
        ('d', true) => "0-9",
        ('w', true) => "0-9A-Za-z_",
        ('s', true) => "\\t\\n\\f\\r ",
        // Octal numbers, quotations and single bytes.
        ('0'..='9' | 'Q' | 'E' | 'C', _) | ('D' | 'W' | 'S' | 'b' | 'B', true) => return None,
        (other, _) => return Some(format!("\\{other}")),
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        regex::Regex::new(&from_go(pattern).unwrap()).unwrap().is_match(text)
    }

    #[test]
    fn patterns_match_what_go_matches() {
        for (pattern, yes, no) in [
            (r"^\d+$", "12", "١٢"),
            (r"^\w+$", "a_1", "ä"),
            (r"^[\w.-]+$", "a.b-c", "ä"),
            (r"^[[a]+$", "[a", "b"),
            (r"^[]a]+$", "]a", "b"),
            (r"^[a&&b]+$", "a&b", "c"),
            (r"^[[:alpha:]]+$", "ab", "a1"),
            (r"^(\s)a$", " a", "\u{a0}a"),
            (r"^([A-Z0-9_]+/)?\S{1,3}$", "A/abc", "A/abcd"),
            (r"^[^/~]+$", "a", "a~"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes}");
            assert!(!matches(pattern, no), "{pattern} {no}");
        }
    }

    #[test]
    fn what_cannot_be_read_or_is_too_large_is_left_out() {
        for pattern in ["(", r"\Qa.b\E", r"(a{1000}){1000}", r"\1", r"[\D]", "\\"] {
            assert_eq!(from_go(pattern), None, "{pattern}");
        }
    }
}
