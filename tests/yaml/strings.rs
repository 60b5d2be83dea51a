//! Strings written and read back: by both readers of ours and by the reader of the crate `serde_yaml`.

use bailiwick::diag::Span;
use bailiwick::yaml::{self, NodeId, Tree};

use super::generate::mutate;
use super::readers::reference;
use super::{data, full, tokens, written};
use crate::random::Random;

/// How many random strings are written.
const STRINGS: u64 = 9_000;

/// Pieces that some reader is known to stumble over.
const PIECES: [&str; 64] = [
    "a",
    "B",
    "7",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\0",
    "\u{1}",
    "\u{7}",
    "\u{8}",
    "\u{b}",
    "\u{1b}",
    "\u{7f}",
    "\u{80}",
    "\u{85}",
    "\u{9f}",
    "\u{a0}",
    "\u{ad}",
    "é",
    "ß",
    "漢",
    "\u{200b}",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{fffd}",
    "\u{fffe}",
    "\u{ffff}",
    "😀",
    "\u{10ffff}",
    "\"",
    "'",
    "\\",
    "\\n",
    "\\u0041",
    ":",
    ": ",
    " #",
    "#",
    "- ",
    "-",
    "? ",
    "?",
    ",",
    "[",
    "]",
    "{",
    "}",
    "&",
    "*",
    "!",
    "|",
    ">",
    "%",
    "@",
    "`",
    "---",
    "...",
    "<<",
    "=",
    "~",
];

fn random_string(random: &mut Random, tokens: &[(String, String)]) -> String {
    if random.one_in(3) {
        let mut bytes = random.pick(tokens).0.clone().into_bytes();
        if random.one_in(2) {
            mutate(&mut bytes, random);
        }
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    (0..random.below(8)).map(|_| *random.pick(&PIECES)).collect()
}

/// Returns a map of each string to itself, and a list of them all.
fn document(strings: &[String]) -> (Tree, NodeId) {
    let mut tree = Tree::new(Default::default());
    let nowhere = Span::default();
    let (mut entries, mut items) = (Vec::new(), Vec::new());
    for string in strings {
        let [key, value, item] = [0; 3].map(|_| tree.add_string(string, nowhere));
        entries.push((key, value));
        items.push(item);
    }
    let [map, list, root] = [tree.add_map(nowhere), tree.add_seq(nowhere), tree.add_map(nowhere)];
    tree.set_entries(map, &entries);
    tree.set_items(list, &items);
    let keys = ["map", "list"].map(|key| tree.add_string(key, nowhere));
    tree.set_entries(root, &[(keys[0], map), (keys[1], list)]);
    (tree, root)
}

#[test]
fn every_string_comes_back() {
    let tokens = tokens::table();
    let mut random = Random::new(1);
    let mut strings: Vec<String> = tokens.iter().map(|(token, _)| token.clone()).collect();
    strings.extend((0..STRINGS).map(|_| random_string(&mut random, &tokens)));
    strings.sort();
    strings.dedup();
    println!("{} different strings", strings.len());
    assert!(strings.len() >= 5_000, "{}", strings.len());
    let mut refused = 0;
    for batch in strings.chunks(16) {
        let (tree, root) = document(batch);
        let text = written(tree.at(root));
        let expected = yaml::schema::to_json(tree.at(root));

        let slow = full(&text).unwrap_or_else(|| panic!("the full reader refuses\n{text}"));
        assert_eq!(data(&slow)[0], expected, "{text}");
        if let Some(fast) = yaml::read_fast(&text, Default::default()) {
            assert_eq!(data(&fast)[0], expected, "{text}");
        }
        assert_eq!(written(slow.document(0).expect("a document")), text, "canonical text is a fixed point");

        let list = written(tree.at(root).get("list").expect("the list"));
        match yaml::read_fast(&list, Default::default()) {
            Some(fast) => assert_eq!(data(&fast), [expected["list"].clone()], "{list}"),
            None => refused += usize::from(list.is_ascii()),
        }

        let read = reference(&text).unwrap_or_else(|| panic!("the reference refuses\n{text}"));
        assert_eq!(serde_json::to_value(&read[0]).expect("JSON"), expected, "{text}");
    }
    assert_eq!(refused, 0, "the fast reader takes canonical text that is ASCII");
}

#[test]
fn a_string_stands_alone_as_a_document() {
    let tokens = tokens::table();
    let mut random = Random::new(2);
    for _ in 0..500 {
        let string = random_string(&mut random, &tokens);
        let mut tree = Tree::new(Default::default());
        let root = tree.add_string(&string, Span::default());
        let text = written(tree.at(root));
        let read = full(&text).unwrap_or_else(|| panic!("the full reader refuses {text:?}"));
        assert_eq!(read.document(0).and_then(|root| root.as_str()), Some(string.as_str()), "{text:?}");
    }
}
