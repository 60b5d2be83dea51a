//! The place of a cursor in a YAML text: the document, the path of fields to the place, and the word there.
//!
//! A text that is being edited is often not valid YAML. For a completion, a marker replaces the word at the cursor, and the text
//! is repaired in a few ways. The marker becomes a key, the text ends behind the line of the cursor, and open brackets are closed.
//! Each repair that the reader accepts is a place.

use bailiwick_yaml::diag::{Files, Sink, Span};
use bailiwick_yaml::internal::slice;
use bailiwick_yaml::{self as yaml, NodeRef, Tree};

/// The text in place of the word at the cursor.
const MARKER: &str = "bailiwick-cursor";

/// The largest text with completions, in bytes: the text is read several times.
const MAXIMUM_TEXT: usize = 4 << 20;

/// A step from a document to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A field of a map.
    Field(String),
    /// An item of a list.
    Item,
}

/// Whether a cursor is on a key of a map or on a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slot {
    /// A key of the map at the path, with the other keys of the map.
    Key(Vec<String>),
    /// The value at the path.
    Value,
}

/// A place in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The `kind` of the document; empty without one.
    pub(super) kind: String,
    /// The steps from the document to the place.
    pub(super) path: Vec<Step>,
    pub(super) slot: Slot,
    /// The text of the key or value.
    pub(super) word: String,
    /// The bytes of the word in the text.
    pub(super) span: Span,
    /// The texts of the lists and fields beside the place, such as the resources of the rule of a verb.
    pub(super) beside: Vec<(String, Vec<String>)>,
}

impl Place {
    /// Returns the name of the nearest field on the path; empty at the top of a document.
    pub(super) fn field(&self) -> &str {
        let fields = self.path.iter().rev();
        let mut names = fields.filter_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Item => None,
        });
        names.next().map_or("", |name| name)
    }

    /// Returns the texts of a field beside the place.
    pub(super) fn beside(&self, field: &str) -> &[String] {
        let found = self.beside.iter().find(|(name, _)| name == field);
        found.map_or(&[], |(_, texts)| texts.as_slice())
    }
}

/// Returns the place of a byte of a valid text; none between keys and values.
pub(super) fn place_at(text: &str, offset: usize) -> Option<Place> {
    let tree = read(text)?;
    let offset = u32::try_from(offset).ok()?;
    find(&tree, &|node| (node.span().start..=node.span().end).contains(&offset))
}

/// Returns the places of a cursor for completions, one for each way to repair the text, keys before values.
pub(super) fn places_to_complete(text: &str, offset: usize) -> Vec<Place> {
    let Some(word) = word_at(text, offset).filter(|_| text.len() <= MAXIMUM_TEXT && !text.contains(MARKER)) else {
        return Vec::new();
    };
    let (before, after) = (slice(text, ..word.start), slice(text, word.end..));
    let line_after = after.find('\n').map_or(after, |end| slice(after, ..=end));
    let written = slice(text, word.clone());
    let mut places: Vec<Place> = Vec::new();
    for marker in [format!("{MARKER}:"), MARKER.to_owned()] {
        let tails = [after.to_owned(), format!("{line_after}{}", closers(before, line_after)), closers(before, "")];
        let repaired = tails.iter().map(|tail| format!("{before}{marker}{tail}"));
        let found = repaired.filter_map(|text| find(&read(&text)?, &|node| node.as_str() == Some(MARKER))).next();
        if let Some(place) = found {
            let place = Place { word: written.to_owned(), span: Span::new(word.start, word.end), ..place };
            if !places.iter().any(|known| known.path == place.path && known.slot == place.slot) {
                places.push(place);
            }
        }
    }
    places
}

/// Returns the bytes of the word at a cursor: up to blanks, brackets, commas and quotes, and up to a colon that ends a key. None for
/// an offset within a character.
pub(super) fn word_at(text: &str, offset: usize) -> Option<std::ops::Range<usize>> {
    let (before, after) = text.split_at_checked(offset)?;
    let is_end = |letter: char| letter.is_whitespace() || "[]{},\"'#".contains(letter);
    let start = before
        .rfind(is_end)
        .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8));
    let end = after.find(is_end).map_or(after.len(), |at| at);
    let word = text.get(start..offset + end)?;
    // A key of a map ends with a colon, and a name such as `system:masters` has one inside.
    let colon = word.len() - word.trim_end_matches(':').len();
    Some(start..(offset + end - colon).max(offset))
}

/// Returns the brackets that close what is open at the end of a text.
fn closers(before: &str, line: &str) -> String {
    let mut open: Vec<char> = Vec::new();
    let mut quote: Option<char> = None;
    let document = before.rfind("\n---").map_or(before, |start| slice(before, start..));
    for letter in document.chars().chain(line.chars()) {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (Some(_), '\n') => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[') => open.push(']'),
            (None, '{') => open.push('}'),
            (None, ']' | '}') => _ = open.pop(),
            (None, _) => {}
        }
    }
    quote.into_iter().chain(open.into_iter().rev()).collect()
}

/// Reads a text without errors.
fn read(text: &str) -> Option<Tree> {
    let files = Files::new();
    let mut sink = Sink::new();
    let tree = yaml::read(text, files.add("editor", ""), &mut sink);
    (!sink.has_errors()).then_some(tree)
}

/// Returns the first key or scalar that a predicate accepts.
fn find(tree: &Tree, is_wanted: &dyn Fn(NodeRef<'_>) -> bool) -> Option<Place> {
    tree.documents().find_map(|root| {
        let mut walk = Walk { is_wanted, path: Vec::new() };
        let (slot, node, around) = walk.find(root, None)?;
        let kind = root.text_at("kind");
        Some(Place {
            kind: if kind == MARKER { String::new() } else { kind.to_owned() },
            path: walk.path,
            slot,
            word: node.as_key().to_owned(),
            span: node.span(),
            beside: around.into_iter().flat_map(NodeRef::entries).map(|(key, value)| texts_of(key, value)).collect(),
        })
    })
}

/// Returns a field with its text, or with the texts of its list.
fn texts_of(key: NodeRef<'_>, value: NodeRef<'_>) -> (String, Vec<String>) {
    let own = value.as_str().into_iter();
    let texts = own.chain(value.items().filter_map(NodeRef::as_str)).filter(|text| *text != MARKER);
    (key.as_key().to_owned(), texts.map(str::to_owned).collect())
}

/// A search through a document.
struct Walk<'w> {
    is_wanted: &'w dyn Fn(NodeRef<'_>) -> bool,
    path: Vec<Step>,
}

/// A found node, with the map around it.
type Found<'t> = (Slot, NodeRef<'t>, Option<NodeRef<'t>>);

impl Walk<'_> {
    /// Searches a node. The path leads to the found node afterwards.
    fn find<'t>(&mut self, node: NodeRef<'t>, around: Option<NodeRef<'t>>) -> Option<Found<'t>> {
        if node.is_map() {
            return self.find_in_map(node);
        }
        if node.is_seq() {
            self.path.push(Step::Item);
            for item in node.items() {
                if let Some(found) = self.find(item, around) {
                    return Some(found);
                }
            }
            self.path.pop();
            return None;
        }
        (self.is_wanted)(node).then_some((Slot::Value, node, around))
    }

    fn find_in_map<'t>(&mut self, map: NodeRef<'t>) -> Option<Found<'t>> {
        for (key, value) in map.entries() {
            if (self.is_wanted)(key) {
                let others = map.entries().map(|(key, _)| key.as_key()).filter(|other| *other != MARKER);
                return Some((Slot::Key(others.map(str::to_owned).collect()), key, Some(map)));
            }
            self.path.push(Step::Field(key.as_key().to_owned()));
            if let Some(found) = self.find(value, Some(map)) {
                return Some(found);
            }
            self.path.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the places at `|` in a text as `path key` or `path value`, with the word.
    fn places(text: &str) -> Vec<String> {
        let offset = text.find('|').expect("a cursor");
        let places = places_to_complete(&text.replacen('|', "", 1), offset);
        places.iter().map(shown).collect()
    }

    fn shown(place: &Place) -> String {
        let steps = place.path.iter().map(|step| match step {
            Step::Field(name) => format!(".{name}"),
            Step::Item => "[]".to_owned(),
        });
        let slot = if place.slot == Slot::Value { "value" } else { "key" };
        format!("{}{} {slot} `{}`", place.kind, steps.collect::<String>(), place.word)
    }

    #[test]
    fn a_cursor_in_an_unfinished_text_has_its_path() {
        let rows = [
            ("kind: Grant\nspec:\n  per|\n", "Grant.spec key `per`"),
            ("kind: Grant\nspec:\n  to: {groups: [a, b|\n", "Grant.spec.to.groups[] value `b`"),
            ("kind: Grant\nspec:\n  to:\n    groups: [\"a|\n", "Grant.spec.to.groups[] value `a`"),
            (
                "kind: Grant\nspec:\n  to:\n    groups:\n    - system:mas|\n",
                "Grant.spec.to.groups[] value `system:mas`",
            ),
            ("kind: |\nspec: {}\n", ".kind value ``"),
            (
                "kind: PermissionSet\nspec:\n  rules:\n  - resources: [pods]\n    ver|\n  - a: b\n",
                "PermissionSet.spec.rules[] key `ver`",
            ),
            ("kind: Grant\nspec:\n  clusterRoles: [|]\n  broken: [\n", "Grant.spec.clusterRoles[] value ``"),
            (
                "kind: A\n---\nkind: Grant\nspec:\n  permissionSets: [de|ployer]\n",
                "Grant.spec.permissionSets[] value `deployer`",
            ),
            ("kind: Grant\nspec:\n  permisionSets|: [a]\n", "Grant.spec key `permisionSets`"),
        ];
        for (text, expected) in rows {
            assert!(places(text).iter().any(|place| place == expected), "{text}\n{:?}", places(text));
        }
    }

    #[test]
    fn a_place_has_the_fields_beside_it() {
        let text = "kind: PermissionSet\nspec:\n  rules:\n  - apiGroups: [apps]\n    resources: [deployments, daemonsets]\n    verbs: [get]\n";
        let place = place_at(text, text.find("get").expect("the verb")).expect("a place");
        assert_eq!(place.beside("resources"), ["deployments", "daemonsets"]);
        assert_eq!(place.beside("none"), [] as [&str; 0]);
        assert_eq!(place.field(), "verbs");
    }

    #[test]
    fn hostile_texts_have_no_place() {
        for text in ["", "a: b\u{0}", "[[[[[", "\u{feff}", "- - - -\n", "&a [*a]", "ä"] {
            for offset in 0..=text.len() + 1 {
                let places = places_to_complete(text, offset);
                assert!(places.len() <= 2, "{text}");
                assert!(place_at(text, offset).is_none_or(|place| place.span.end as usize <= text.len()));
            }
        }
    }
}
