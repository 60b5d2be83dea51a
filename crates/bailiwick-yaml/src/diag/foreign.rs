//! Foreign text, made fit for printing: names, paths, values and file contents of any author.
//!
//! A terminal obeys escape sequences, GitHub Actions runs workflow commands from a log, Markdown contains links and
//! HTML, a spreadsheet calculates. One function for each form makes a text harmless. A character printed as `\u{1b}`
//! looks like a text of these six characters: printed text is for people, and JSON is exact.

use crate::internal;
use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_general_category::GeneralCategory;

/// The most characters of a name in Markdown.
pub const MAXIMUM_NAME: usize = 100;

/// Control and format characters, line and paragraph separators (Cc, Cf, Zl, Zp of Unicode 16), and other invisible
/// characters (`Default_Ignorable_Code_Point`); sorted, both ends included.
const HIDDEN: [(char, char); 27] = [
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character is not seen, or does something else than being seen.
pub fn is_hidden(character: char) -> bool {
    if (' '..='~').contains(&character) {
        return false;
    }
    HIDDEN.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

/// Makes a text harmless as one line, or a part of one.
pub fn line(text: &str) -> Cow<'_, str> {
    if is_harmless(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (offset, character) in text.char_indices() {
        match escaped(text, offset, character) {
            Some(escape) => shown.push_str(&escape),
            None => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// Returns the printed form of a character of a line, if it is not printed as it is.
pub fn escaped(text: &str, offset: usize, character: char) -> Option<String> {
    if is_hidden(character) {
        return Some(character.escape_default().to_string());
    }
    (character == '#' && is_old_command(text, offset)).then(|| "\\u{23}".to_owned())
}

/// Makes a text of several lines harmless: line feeds and tabs stay, and no line is a workflow command.
pub fn lines(text: &str) -> Cow<'_, str> {
    let is_fine = |one: &str| is_harmless_but_tabs(one) && !opens_command(one);
    if text.split('\n').all(is_fine) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 64);
    for (index, one) in text.split('\n').enumerate() {
        if index > 0 {
            shown.push('\n');
        }
        if is_fine(one) {
            shown.push_str(one);
            continue;
        }
        let start = shown.len();
        for (index, between) in one.split('\t').enumerate() {
            if index > 0 {
                shown.push('\t');
            }
            shown.push_str(&line(between));
        }
        if shown.get(start..).is_some_and(opens_command)
            && let Some(colon) = shown.get(start..).and_then(|one| one.find(':'))
        {
            shown.replace_range(start + colon..=start + colon, "\\u{3a}");
        }
    }
    Cow::Owned(shown)
}

/// Makes a text harmless as [`lines`] does, with the colours of this program.
pub fn coloured_lines(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return lines(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        let (before, from) = rest.split_at(start);
        shown.push_str(&lines(before));
        let (colour, after) = match colour_length(from) {
            Some(length) => from.split_at(length),
            None => ("\\u{1b}", internal::slice(from, 1..)),
        };
        shown.push_str(colour);
        rest = after;
    }
    shown.push_str(&lines(rest));
    Cow::Owned(shown)
}

/// Returns the length of a sequence for colours: `ESC [ digits and semicolons m`.
fn colour_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("\u{1b}[")?;
    let end = inside.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    inside.get(end..)?.starts_with('m').then_some(end + 3)
}

/// Makes a JSON text harmless: hidden characters, present in its strings only, become escapes.
pub fn json(text: &str) -> Cow<'_, str> {
    if is_harmless_but_line_feeds(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (offset, character) in text.char_indices() {
        if character == '#' && is_old_command(text, offset) {
            shown.push_str("\\u0023");
        } else if character != '\n' && is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Makes a text harmless as the message of a workflow command of GitHub Actions. Line feeds stay, encoded.
pub fn command_data(text: &str) -> String {
    let shown: Vec<Cow<'_, str>> = text.split('\n').map(line).collect();
    shown.join("\n").replace('%', "%25").replace('\n', "%0A")
}

/// Makes a text harmless as a property of a workflow command, such as a path.
pub fn command_property(text: &str) -> String {
    line(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

/// Makes a line of words harmless in Markdown, as GitHub and GitLab read it.
///
/// Text in backticks, and each word with anything but letters, digits and plain punctuation, becomes a code span:
/// nothing in it is a link, an image, HTML, a mention, a reference to an issue or emphasis. Character references would not
/// do, since mentions and references are looked for behind them.
pub fn markdown(text: &str) -> String {
    let text = line(text);
    let parts: Vec<&str> = text.split('`').collect();
    let is_paired = !parts.len().is_multiple_of(2);
    let mut shown = String::with_capacity(text.len() + 16);
    for (index, part) in parts.iter().enumerate() {
        if is_paired && !index.is_multiple_of(2) {
            shown.push_str(&code_span(part));
            continue;
        }
        if !is_paired && index > 0 {
            shown.push_str("&#96;");
        }
        push_words(part, &mut shown);
    }
    shown
}

/// Makes a text harmless in a cell of a Markdown table: a code span without a column's end.
pub fn markdown_cell(text: &str) -> String {
    markdown_row_part(&code_span(&line(text)))
}

/// Makes a name harmless in Markdown: a code span of at most [`MAXIMUM_NAME`] characters, a longer name without its middle.
pub fn markdown_name(text: &str) -> String {
    code_span(&line(&shortened(text, MAXIMUM_NAME)))
}

/// Makes Markdown of this module fit for a cell of a table. GitHub ends a cell at a `|`, also inside a code span.
///
/// Readers disagree about a `|` after a backslash, and so it becomes an escape.
pub fn markdown_row_part(markdown: &str) -> String {
    markdown.replace("\\|", "\\\\u{7c}").replace('|', "\\|")
}

/// Returns a text of at most `limit` characters, a longer text without its middle.
pub fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= limit {
        return Cow::Borrowed(text);
    }
    let half = limit / 2;
    let first: String = text.chars().take(half).collect();
    let last: String = text.chars().skip(count - half + 1).collect();
    Cow::Owned(format!("{first}…{last}"))
}

/// Returns a text as a code span, with longer fences than any run of backticks in the text.
fn code_span(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = assigned(text);
    let longest = text.split(|letter| letter != '`').map(str::len).fold(0, usize::max);
    let fence = "`".repeat(longest + 1);
    // A reader removes one space of each side if both sides have one.
    let is_padded = text.starts_with(' ') && text.ends_with(' ') && !text.trim_matches(' ').is_empty();
    let blank = if text.starts_with('`') || text.ends_with('`') || is_padded { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Returns a text with an escape for each unassigned character: a later version of Unicode may hide it.
fn assigned(text: &str) -> Cow<'_, str> {
    let is_unassigned = |letter: char| {
        !letter.is_ascii() && unicode_general_category::get_general_category(letter) == GeneralCategory::Unassigned
    };
    if !text.chars().any(is_unassigned) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|letter| match is_unassigned(letter) {
        true => letter.escape_unicode().to_string(),
        false => letter.to_string(),
    });
    Cow::Owned(shown.collect())
}

/// Appends words, as code unless they are plain words. Brackets inside a word make no link without a target.
fn push_words(text: &str, shown: &mut String) {
    let is_plain = |word: &str| {
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || ",;:()[]/.'\"-=%+".contains(letter))
            && !word.starts_with(['[', '%'])
            && !["](", "://", "GH-"].iter().any(|mark| word.contains(mark))
            && !word.to_ascii_lowercase().contains("www.")
    };
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            shown.push(' ');
        }
        let code = word.trim_end_matches([',', ';', ':']);
        if is_plain(word) {
            shown.push_str(word);
        } else {
            shown.push_str(&code_span(code));
            shown.push_str(internal::slice(word, code.len()..));
        }
    }
}

/// Makes a text harmless as a cell of a spreadsheet: no cell is a formula.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let begins_formula =
        text.trim_start().starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
            || text.starts_with(['\t', '\r', '\n']);
    let shown = line(text);
    if begins_formula { Cow::Owned(format!("'{shown}")) } else { shown }
}

/// Whether nothing in a line has to be escaped.
fn is_harmless(text: &str) -> bool {
    let is_plain = text.bytes().fold(true, |plain, byte| plain & (0x20..=0x7e).contains(&byte));
    (is_plain || !text.chars().any(is_hidden)) && !has_old_command(text)
}

fn is_harmless_but_tabs(text: &str) -> bool {
    is_harmless(text) || text.contains('\t') && text.split('\t').all(is_harmless)
}

fn is_harmless_but_line_feeds(text: &str) -> bool {
    text.split('\n').all(is_harmless)
}

/// Whether GitHub Actions reads a line as a workflow command: `::` at the start or behind invisible characters. With
/// a third colon, as in lines of this program, the name of the command would begin with a colon, and no command does.
fn opens_command(line: &str) -> bool {
    let line = line.trim_start_matches(|letter: char| letter.is_whitespace() || is_hidden(letter));
    line.starts_with("::") && !line.starts_with(":::")
}

/// Whether a `#` is the second of a command in the older form, valid anywhere in a line: `##[error]`, and
/// `##vso[...]` and `##teamcity[...]` of other systems.
pub fn is_old_command(text: &str, offset: usize) -> bool {
    let is_second = text.get(..offset).is_some_and(|before| before.ends_with('#'));
    let opens = |after: &str| after.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).starts_with('[');
    is_second && text.get(offset + 1..).is_some_and(opens)
}

/// Whether there is a command in the older form in a text.
pub fn has_old_command(text: &str) -> bool {
    // Most texts are short and have no such sign, and one pass over the bytes is faster than a search.
    let has_sign = text.bytes().fold(false, |found, byte| found | (byte == b'#'));
    has_sign && text.match_indices('#').any(|(offset, _)| is_old_command(text, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_a_line() {
        assert_eq!(line("a\u{1b}[2K\rb\n::error::x\t\u{202e}\u{85}\u{2028}\u{e0041}"), {
            r"a\u{1b}[2K\rb\n::error::x\t\u{202e}\u{85}\u{2028}\u{e0041}"
        });
        assert_eq!(line("é: ü, 日本語 🦀 a#b ## c"), "é: ü, 日本語 🦀 a#b ## c");
    }

    #[test]
    fn no_line_is_a_workflow_command() {
        assert_eq!(lines(" ::: a::b"), " ::: a::b");
        for start in ["", " ", "\t ", "\u{a0}", "\u{3000}", "\u{200b}", "\r", "\u{c}", "\u{2028}"] {
            let shown = lines(&format!("a\n{start}::error::x\n")).into_owned();
            assert!(!shown.lines().any(opens_command), "{shown:?}");
        }
        assert_eq!(lines("x ##[error]y"), "x #\\u{23}[error]y");
        assert_eq!(lines("x ##vso[task.x]y"), "x #\\u{23}vso[task.x]y");
        assert_eq!(lines("a:\n\tb::c\n"), "a:\n\tb::c\n");
    }

    #[test]
    fn only_colours_are_let_through() {
        assert_eq!(coloured_lines("\u{1b}[1;31mx\u{1b}[0m"), "\u{1b}[1;31mx\u{1b}[0m");
        assert_eq!(coloured_lines("\u{1b}[2Jx\u{1b}]8;;y\u{7}\u{1b}"), r"\u{1b}[2Jx\u{1b}]8;;y\u{7}\u{1b}");
    }

    #[test]
    fn json_means_the_same() {
        let text = "##[x] \u{1b}\u{202e}\u{7f}\u{e0041}\n";
        let written = serde_json::to_string(text).unwrap();
        let shown = json(&written).into_owned();
        assert!(shown.is_ascii() && !shown.contains("##["), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }

    #[test]
    fn commands_encode_what_ends_them() {
        assert_eq!(command_property("a:b,c%d\ne"), "a%3Ab%2Cc%25d\\ne");
        assert_eq!(command_data("50%\n::stop\r"), "50%25%0A::stop\\r");
    }

    #[test]
    fn markdown_obeys_nothing() {
        assert_eq!(
            markdown("policy `a|b`: <img> of @me, see #1 and http://x www.y [a](b) *x*\n# y"),
            "policy `a|b`: `<img>` of `@me`, see `#1` and `http://x` `www.y` `[a](b)` `*x*\\n#` y"
        );
        assert_eq!(markdown("a ` b ` c ` <x>"), "a &#96; b &#96; c &#96; `<x>`");
        assert_eq!(markdown_cell("a`|``b"), "```a`\\|``b```");
        assert_eq!(markdown_cell("a\\|"), "`a\\\\u{7c}`");
        assert_eq!(markdown("GH-1 %1 wWw.x 5%"), "`GH-1` `%1` `wWw.x` 5%");
    }

    #[test]
    fn a_name_is_a_code_span_of_limited_length() {
        assert_eq!(markdown_name("`a`"), "`` `a` ``");
        assert_eq!(markdown_name(" a "), "`  a  `");
        assert_eq!(markdown_name("  "), "`  `");
        assert_eq!(markdown_name("a\u{202e}\u{378}\r"), r"`a\u{202e}\u{378}\r`");
        let long = markdown_name(&format!("{}{}", "a".repeat(200), "b".repeat(53)));
        assert_eq!(long, format!("`{}…{}`", "a".repeat(50), "b".repeat(49)));
    }

    #[test]
    fn no_cell_is_a_formula() {
        for text in ["=1", "+1", "-1", "@x", "\t=1", "\r=1", " =1"] {
            assert!(csv_cell(text).starts_with('\''), "{text:?}");
        }
        assert_eq!(csv_cell("get,list"), "get,list");
    }
}
