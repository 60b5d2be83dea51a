//! How the messages of Pod Security admission put words together; they are the server's, and not in our grammar.

use std::fmt::Write;

/// Texts in quotes with commas between, not escaped.
pub(super) fn listed<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut list = String::new();
    for text in texts {
        let comma = if list.is_empty() { "" } else { ", " };
        list.extend([comma, "\"", text, "\""]);
    }
    list
}

/// Returns the form of a word for a number of things.
pub(super) fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// Prints `container "a"` or `containers "a", "b"`.
pub(super) fn containers(names: &[&str]) -> String {
    format!("{} {}", plural(names.len(), "container", "containers"), listed(names.iter().copied()))
}

/// Returns the pod itself or some of its containers as the cause; none without a cause.
pub(super) fn setters(pod: bool, names: &[&str]) -> Option<String> {
    match (pod, names) {
        (false, []) => None,
        (true, []) => Some("pod".to_owned()),
        (false, names) => Some(containers(names)),
        (true, names) => Some(format!("pod and {}", containers(names))),
    }
}

/// Returns a text as Go's `%q` prints it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            letter if is_printable(letter) => quoted.push(letter),
            letter => {
                let code = u32::from(letter);
                // Writing to a string does not fail.
                let _ = match code {
                    0..0x80 => write!(quoted, "\\x{code:02x}"),
                    0x80..0x1_0000 => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Whether Go prints a character without escaping. Rust's escaping has the same Unicode categories, and differs for
/// combining marks after a letter.
fn is_printable(letter: char) -> bool {
    letter == '\'' || ["a", letter.encode_utf8(&mut [0; 4])].concat().escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_in_go() {
        for (text, expected) in [
            ("localhost/a", r#""localhost/a""#),
            ("a\"b\\c'd", r#""a\"b\\c'd""#),
            ("\u{0}\u{7}\t\u{7f}", r#""\x00\a\t\x7f""#),
            ("é\u{301}…\u{a0}\u{200b}\u{feff}", "\"é\u{301}…\\u00a0\\u200b\\ufeff\""),
            ("\u{1f600}\u{e0001}\u{10ffff}", "\"\u{1f600}\\U000e0001\\U0010ffff\""),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
