//! Names of input files. A name that cannot be seen as it is, or that some reader takes for the end of a line, is no
//! name of an input: what a review shows would not be what is read.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Returns a name with each control, format or separator character escaped; none where it has no such character.
///
/// These are the categories Cc, Cf, Zl and Zp of Unicode: NUL, line feed, NEL, bidirectional controls, zero-width
/// characters, U+2028 and U+2029 among them.
pub fn escaped(name: &str) -> Option<String> {
    let is_hidden = |letter: char| {
        use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
        !letter.is_ascii_graphic()
            && matches!(get_general_category(letter), Control | Format | LineSeparator | ParagraphSeparator)
    };
    name.contains(is_hidden).then(|| {
        let show = |letter: char| match is_hidden(letter) {
            true => letter.escape_unicode().to_string(),
            false => letter.to_string(),
        };
        name.chars().map(show).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        for (name, shown) in [
            ("a\nb", "a\\u{a}b"),
            ("\u{85}", "\\u{85}"),
            ("a\u{2028}kind: X", "a\\u{2028}kind: X"),
            ("\u{2029}", "\\u{2029}"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\u{200b}\u{feff}\u{ad}", "a\\u{200b}\\u{feff}\\u{ad}"),
            ("a\u{e0041}", "a\\u{e0041}"),
        ] {
            assert_eq!(escaped(name).as_deref(), Some(shown));
        }
        for plain in ["policies/team a.yaml", "a: b #c", "équipe/日本.csv", "---", "{{x}}"] {
            assert_eq!(escaped(plain), None, "{plain}");
        }
    }
}
