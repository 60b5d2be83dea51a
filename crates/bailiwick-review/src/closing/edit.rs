//! Edits of YAML texts at the place of a node. The rest of the text keeps its form and its comments.

use std::ops::Range;

use bailiwick_yaml::NodeRef;

/// Returns the bytes of a node.
pub(super) fn range(node: NodeRef<'_>) -> Range<usize> {
    let span = node.span();
    span.start as usize..span.end as usize
}

/// Whether a list stands between brackets.
pub(super) fn is_flow(text: &str, list: NodeRef<'_>) -> bool {
    text.get(range(list)).is_some_and(|list| list.starts_with('['))
}

/// Returns a text with other bytes in a range.
pub(super) fn replaced(text: &str, range: Range<usize>, new: &str) -> Option<String> {
    Some(format!("{}{new}{}", text.get(..range.start)?, text.get(range.end..)?))
}

/// Returns a text without an item of a list. The last item of a list stays.
pub(super) fn without_item(text: &str, list: NodeRef<'_>, index: usize) -> Option<String> {
    let items: Vec<Range<usize>> = list.items().map(range).collect();
    let item = items.get(index).filter(|_| items.len() > 1)?;
    if is_flow(text, list) {
        let cut = match items.get(index + 1) {
            Some(next) => item.start..next.start,
            None => items.get(index.checked_sub(1)?)?.end..item.end,
        };
        return replaced(text, cut, "");
    }
    let start = line_start(text, item.start);
    let is_first_of_line = text.get(start..item.start)?.trim() == "-";
    let end = line_end(text, item.end)?;
    is_first_of_line.then(|| replaced(text, start..end, "")).flatten()
}

/// Returns a text with several strings in the place of an item of a list.
pub(super) fn with_items(text: &str, list: NodeRef<'_>, index: usize, words: &[&str]) -> Option<String> {
    let item = range(list.items().nth(index)?);
    if is_flow(text, list) {
        return replaced(text, item, &words.join(", "));
    }
    let before = text.get(line_start(text, item.start)..item.start)?;
    (before.trim() == "-").then(|| replaced(text, item.clone(), &words.join(&format!("\n{before}")))).flatten()
}

/// Returns a text with a further entry of a block mapping. The lines of the entry have no indentation of their own.
pub(super) fn with_entry(text: &str, map: NodeRef<'_>, lines: &[String]) -> Option<String> {
    let whole = range(map);
    let indent = text.get(line_start(text, whole.start)..whole.start)?;
    let is_block = !text.get(whole.clone())?.starts_with('{') && indent.chars().all(|letter| letter == ' ');
    let end = line_end(text, whole.end).filter(|_| is_block)?;
    let before = text.get(..end)?;
    let line_feed = if before.ends_with('\n') { "" } else { "\n" };
    let added: String = lines.iter().map(|line| format!("{indent}{line}\n")).collect();
    replaced(text, end..end, &format!("{line_feed}{added}"))
}

/// Returns the first byte of the line of a byte.
fn line_start(text: &str, byte: usize) -> usize {
    text.get(..byte).and_then(|before| before.rfind('\n')).map_or(0, |line_feed| line_feed + 1)
}

/// Returns the byte after the line with the end of a node; none if something other than a comment follows the node.
fn line_end(text: &str, end: usize) -> Option<usize> {
    if end > 0 && text.get(..end)?.ends_with('\n') {
        return Some(end);
    }
    let rest = text.get(end..)?;
    let line = rest.split_inclusive('\n').next().map_or("", |line| line);
    let after = line.trim();
    (after.is_empty() || after.starts_with('#')).then_some(end + line.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    fn edited(text: &str, edit: impl Fn(NodeRef<'_>) -> Option<String>) -> Option<String> {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        edit(tree.document(0).and_then(|root| root.get("a")).expect("a list"))
    }

    #[test]
    fn an_item_goes_and_the_rest_keeps_its_form() {
        let without = |text: &str, index| edited(text, |list| without_item(text, list, index));
        let cases = [
            ("a: [b,  'c', d] # e\n", 0, Some("a: ['c', d] # e\n")),
            ("a: [b,  'c', d] # e\n", 1, Some("a: [b,  d] # e\n")),
            ("a: [b,  'c', d] # e\n", 2, Some("a: [b,  'c'] # e\n")),
            ("a: [{b: c}, {b: d}]\n", 1, Some("a: [{b: c}]\n")),
            ("a:\n# of b\n- b # b\n# of c\n- c\nf: g\n", 0, Some("a:\n# of b\n# of c\n- c\nf: g\n")),
            ("a:\n  - b: c\n    d: [e]\n  - f\n", 0, Some("a:\n  - f\n")),
            ("a:\n  - b\n  - c: |\n      d\n", 1, Some("a:\n  - b\n")),
            ("a:\n- b\n- c", 1, Some("a:\n- b\n")),
            ("a: [b]\n", 0, None),
            ("a:\n- b\n", 0, None),
        ];
        for (text, index, expected) in cases {
            assert_eq!(without(text, index).as_deref(), expected, "{text} {index}");
        }
    }

    #[test]
    fn an_item_becomes_several() {
        let with = |text: &str| edited(text, |list| with_items(text, list, 0, &["b", "c"]));
        assert_eq!(with("a: [\"*\"] # d\n").as_deref(), Some("a: [b, c] # d\n"));
        assert_eq!(with("a:\n  - '*' # d\n").as_deref(), Some("a:\n  - b\n  - c # d\n"));
    }

    #[test]
    fn an_entry_is_added_at_the_end_of_a_mapping() {
        let with = |text: &str| edited(text, |map| with_entry(text, map, &["e:".to_owned(), "- f".to_owned()]));
        assert_eq!(with("a:\n  b: [c] # d\n---\n").as_deref(), Some("a:\n  b: [c] # d\n  e:\n  - f\n---\n"));
        assert_eq!(with("a:\n  b: c").as_deref(), Some("a:\n  b: c\n  e:\n  - f\n"));
        assert_eq!(with("a: {b: c}\n"), None);
    }
}
