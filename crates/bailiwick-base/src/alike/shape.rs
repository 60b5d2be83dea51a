//! Splitting a text, or the change of one, into its shape and its values.
//!
//! Four kinds of values are holes:
//!
//! 1. **Names.** The name of the namespace (`tool-alice`) and its part after the first hyphen (`alice`), as whole words of
//!    a value. Names are no holes in keys and in values with a fixed vocabulary of Kubernetes (kinds, groups, resources,
//!    verbs, URLs). A name that is itself such a word is no hole either: in the file of a namespace `view`, the word `view`
//!    may be the namespace or the role.
//! 2. **Numbers** of four digits and more that a change does not alter: the old and the new text have them equally often.
//!    Only their equality counts. In a created or deleted object, every such number.
//! 3. **Notes.** Values of labels and annotations that Kubernetes does not read, on unchanged lines. In a created or
//!    deleted object, the values of such annotations.
//! 4. **Values of the account**, if the account of the file is known: texts of its columns, as whole words of a value,
//!    under the conditions of names. The reference to a role has no such hole: the role of a binding decides its
//!    permissions. The values on lines that a change adds or removes are described.
//!
//! INVARIANT: the shape and the values give back the text. A folded text differs from the shown text only in its name, in
//! values described beside it, and in unchanged values.

use std::ops::Range;

use bailiwick_yaml::digest::{Digest, digest, digest_of_run};
use memchr::{memchr, memmem, memrchr};
use serde::{Deserialize, Serialize};

use super::hints::{Found, Hints, is_word};
use super::lines::{NoteLine, Place, notes};
use super::name::OwnName;

/// The fewest and the most digits of a number that may be a tenant's own. Below are sizes, levels and the ids of the
/// system, root's among them.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=15;

/// A text with more numbers than that has no holes for numbers.
const MAXIMUM_NUMBERS: usize = 64;

/// The text between the parts of a change, which no text with a shape contains.
const END: &str = "\0";

/// A place in a shape where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hole {
    /// A whole name.
    Name,
    /// The part of a name behind its first hyphen.
    ShortName,
    /// A value of the account, by the digest of the name of its column within a run.
    Column(u128),
    /// A number of the tenant's own, by its position among the different ones.
    Number(usize),
    /// A number that every text of the shape has.
    SameNumber(u64),
    /// The value of a label or an annotation.
    Note,
    /// The end of a part of a change.
    End,
    /// The beginning of an object that is new.
    Created,
    /// The same of an object that goes.
    Deleted,
    /// The same of an object that changes.
    Changed,
}

/// A text with holes, each of which has data of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape<H = Hole> {
    text: String,
    /// The holes in order, each with its offset in the text.
    holes: Vec<(usize, H)>,
}

/// The values for the holes of a shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values<'t> {
    /// The value of each hole, as it is written.
    written: Vec<&'t str>,
    /// The values that are described beside a folded text.
    pub own: Own,
}

/// The values of a text that other texts of its shape need not share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// The different numbers of the tenant's own, in order of appearance.
    pub numbers: Vec<u64>,
    /// The notes that are new or go.
    pub notes: Vec<Note>,
    /// The different values of the account, in order of appearance.
    pub columns: Vec<ColumnValue>,
}

/// A value of an account.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ColumnValue {
    /// The name of the first column that has it.
    pub column: String,
    /// The text in the account list.
    pub value: String,
    /// Whether it is on a line that a change adds or removes.
    pub is_changed: bool,
}

impl Own {
    /// Adds the values of another part of the same file. Writes which of the values are equal.
    pub fn append(&mut self, other: Self, equalities: &mut Vec<u8>) {
        for number in other.numbers {
            let index = position_in(&mut self.numbers, number);
            equalities.extend_from_slice(&(index as u64).to_le_bytes());
        }
        for value in other.columns {
            let index = self.add_column(value);
            equalities.extend_from_slice(&(index as u64).to_le_bytes());
        }
        self.notes.extend(other.notes);
    }

    fn add_column(&mut self, added: ColumnValue) -> usize {
        for (index, known) in self.columns.iter_mut().enumerate() {
            if known.value == added.value {
                known.is_changed |= added.is_changed;
                return index;
            }
        }
        self.columns.push(added);
        self.columns.len() - 1
    }
}

/// Returns the position of a value in a list, at whose end it is put where the list lacks it.
fn position_in<V: PartialEq>(list: &mut Vec<V>, value: V) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

/// An annotation of a created or deleted object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The key of the annotation with its prefix, such as `example.com/team`.
    pub key: String,
    /// The value as it is written, with its quotes.
    pub value: String,
    /// The same in every run for values that differ in the name of the tenant alone.
    pub shape: Digest,
}

impl<H> Shape<H> {
    /// Cuts a text at ranges, in order, with the data of their holes.
    pub fn cut(text: &str, ranges: impl IntoIterator<Item = (Range<usize>, H)>) -> Option<Self> {
        let mut shape = Self { text: String::with_capacity(text.len()), holes: Vec::new() };
        let mut start = 0;
        for (range, data) in ranges {
            shape.text.push_str(text.get(start..range.start)?);
            shape.holes.push((shape.text.len(), data));
            start = range.end;
        }
        shape.text.push_str(text.get(start..)?);
        Some(shape)
    }

    /// Whether whole words stand outside the holes; also where a hole is within them.
    pub fn has_words(&self, words: &str) -> bool {
        let bytes = self.text.as_bytes();
        let is_word_at =
            |position: Option<usize>| position.and_then(|at| bytes.get(at)).is_some_and(|byte| is_word(*byte));
        let mut found = memmem::find_iter(bytes, words.as_bytes());
        found.any(|at| !is_word_at(at.checked_sub(1)) && !is_word_at(Some(at + words.len())))
    }

    /// Returns the data of the holes.
    pub fn holes(&self) -> impl Iterator<Item = &H> {
        self.holes.iter().map(|(_, hole)| hole)
    }

    /// Finds the values in the holes of a text, as ranges of it; none where the text differs elsewhere. `length` returns the
    /// length of the value that a text begins with.
    pub fn find_values(
        &self,
        text: &str,
        length: impl Fn(&H, &[u8]) -> Option<usize>,
        values: &mut Vec<Range<usize>>,
    ) -> Option<()> {
        values.clear();
        let (mut start, mut rest) = (0, text.as_bytes());
        for (place, hole) in &self.holes {
            rest = rest.strip_prefix(self.text.as_bytes().get(start..*place)?)?;
            let length = length(hole, rest)?;
            let at = text.len() - rest.len();
            values.push(at..at + length);
            rest = rest.get(length..)?;
            start = *place;
        }
        (self.text.as_bytes().get(start..)? == rest).then_some(())
    }

    /// Returns the text with a value in each hole, by the number of the hole.
    pub fn fill_with<V: AsRef<str>>(&self, value: impl Fn(usize, &H) -> V) -> String {
        let mut filled = String::with_capacity(self.text.len() + 16 * self.holes.len());
        self.write_with(&mut filled, |index, hole, out| out.push_str(value(index, hole).as_ref()));
        filled
    }

    /// Writes the text; `write` writes the value of a hole, by the number of the hole.
    pub fn write_with(&self, out: &mut String, mut write: impl FnMut(usize, &H, &mut String)) {
        let mut start = 0;
        for (index, (place, hole)) in self.holes.iter().enumerate() {
            out.push_str(self.text.get(start..*place).unwrap_or_default());
            write(index, hole, out);
            start = *place;
        }
        out.push_str(self.text.get(start..).unwrap_or_default());
    }
}

impl Shape {
    /// Splits an object in YAML.
    pub fn split<'t>(text: &'t str, hints: &Hints<'_>) -> (Self, Values<'t>) {
        let mut splitter = Splitter::new(hints);
        splitter.add(&mut Place::default(), text, Side::Only, &[]);
        splitter.finish()
    }

    /// Splits a text that is one value from its first word to its last.
    pub fn split_message<'t>(text: &'t str, hints: &Hints<'_>) -> (Self, Values<'t>) {
        let mut splitter = Splitter::new(hints);
        splitter.add_value(text, Side::Only, false);
        splitter.finish()
    }

    /// Splits the change of an object, from its first line to its last and not only the lines that differ; none for texts
    /// with control characters.
    pub fn split_change<'t>(
        old: Option<&'t str>,
        new: Option<&'t str>,
        hints: &Hints<'_>,
    ) -> Option<(Self, Values<'t>)> {
        // Without an early exit the compiler looks at many bytes at once.
        let is_odd = |text: &str| text.bytes().fold(false, |odd, byte| odd | ((byte < b' ') & (byte != b'\n')));
        if is_odd(old.unwrap_or_default()) || is_odd(new.unwrap_or_default()) {
            return None;
        }
        let (hole, only) = match (old, new) {
            (Some(old), Some(new)) => {
                let mut splitter = Splitter::new(hints);
                splitter.push(Hole::Changed, "");
                splitter.add_change(old, new);
                return Some(splitter.finish());
            }
            (None, Some(new)) => (Hole::Created, new),
            (Some(old), None) => (Hole::Deleted, old),
            (None, None) => return None,
        };
        let mut splitter = Splitter::new(hints);
        splitter.push(hole, "");
        splitter.add(&mut Place::default(), only, Side::Only, &[]);
        Some(splitter.finish())
    }

    /// Returns the digest of the shape under a secret of this run.
    pub fn digest(&self) -> u128 {
        digest_of_run(self)
    }

    /// Returns the digest of the shape, the same in every run. `own` are the values that were split off with the shape: they
    /// have the names of its columns.
    pub fn lasting_digest(&self, own: &Own) -> Digest {
        let name_of = |column: u128| own.columns.iter().find(|value| digest_of_run(&*value.column) == column);
        let mut bytes = Vec::with_capacity(self.text.len() + 24 * self.holes.len());
        let mut push = |number: u64| bytes.extend_from_slice(&number.to_le_bytes());
        push(self.holes.len() as u64);
        let mut names = String::new();
        for (place, hole) in &self.holes {
            let (kind, data) = match *hole {
                Hole::Name => (0, 0),
                Hole::ShortName => (1, 0),
                Hole::Column(column) => {
                    let name = name_of(column).map_or("", |value| &value.column);
                    names.push_str(name);
                    (2, name.len() as u64)
                }
                Hole::Number(position) => (3, position as u64),
                Hole::SameNumber(number) => (4, number),
                Hole::Note => (5, 0),
                Hole::End => (6, 0),
                Hole::Created => (7, 0),
                Hole::Deleted => (8, 0),
                Hole::Changed => (9, 0),
            };
            [*place as u64, kind, data].into_iter().for_each(&mut push);
        }
        bytes.extend_from_slice(names.as_bytes());
        bytes.extend_from_slice(self.text.as_bytes());
        digest(&bytes)
    }

    /// Whether the text has a hole.
    pub fn has_holes(&self) -> bool {
        !self.holes.is_empty()
    }

    /// Returns the text with these values in its holes. A change comes as its parts, each with a zero byte behind it.
    pub fn fill(&self, values: &Values<'_>) -> String {
        self.fill_with(|index, _| values.written.get(index).copied().unwrap_or_default())
    }

    /// Returns the text with these values, and with another name in place of the name.
    pub fn fill_renamed(&self, values: &Values<'_>, name: OwnName<'_>) -> String {
        self.fill_with(|index, hole| match hole {
            Hole::Name => name.name(),
            Hole::ShortName => name.short().unwrap_or_default(),
            _ => values.written.get(index).copied().unwrap_or_default(),
        })
    }
}

/// The text that contains a part of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
    Both,
    /// There is no other text.
    Only,
}

/// A shape in the making.
struct Splitter<'s, 't> {
    hints: &'s Hints<'s>,
    shape: Shape,
    values: Values<'t>,
    /// The numbers: the hole of each, the number, and its side.
    numbers: Vec<(usize, u64, Side)>,
}

impl<'s, 't> Splitter<'s, 't> {
    fn new(hints: &'s Hints<'s>) -> Self {
        let shape = Shape { text: String::new(), holes: Vec::new() };
        Self { hints, shape, values: Values::default(), numbers: Vec::new() }
    }

    fn push(&mut self, hole: Hole, value: &'t str) {
        self.shape.holes.push((self.shape.text.len(), hole));
        self.values.written.push(value);
    }

    /// Adds both texts of a change: the lines that they begin and end with in common once, and between them the lines of
    /// the one and of the other.
    fn add_change(&mut self, old: &'t str, new: &'t str) {
        let ([head, old, new], tail) = shared(old, new);
        let mut place = Place::default();
        self.add(&mut place, head, Side::Both, &[]);
        self.push(Hole::End, END);
        let after = |text: &str| {
            let mut place = place;
            text.lines().for_each(|line| _ = place.enter(line));
            place
        };
        // A line with different meanings in the old and the new text is not the same line.
        let (tail_of_old, tail_of_new, tail) = if after(old) == after(new) { ("", "", tail) } else { (tail, tail, "") };
        let (old_notes, new_notes): (Vec<_>, Vec<_>) = (notes(place, old).collect(), notes(place, new).collect());
        for (text, rest, side, kept) in
            [(old, tail_of_old, Side::Old, &new_notes), (new, tail_of_new, Side::New, &old_notes)]
        {
            let mut place = place;
            self.add(&mut place, text, side, kept);
            self.add(&mut place, rest, side, &[]);
            self.push(Hole::End, END);
        }
        place = after(new);
        self.add(&mut place, tail, Side::Both, &[]);
    }

    /// Adds a part of an object; `kept` are the notes that the other text has too.
    fn add(&mut self, place: &mut Place, text: &'t str, side: Side, kept: &[NoteLine<'_>]) {
        for whole in text.split_inclusive('\n') {
            let line = whole.strip_suffix('\n').unwrap_or(whole);
            let start = place.enter(line);
            let (head, value) = line.split_at_checked(start).unwrap_or((line, ""));
            self.shape.text.push_str(head);
            match place.note(line) {
                Some(note) if side == Side::Both || kept.contains(&note) => self.push(Hole::Note, value),
                Some(note) if side == Side::Only && note.is_annotation => {
                    self.push(Hole::Note, value);
                    let value = value.trim_start();
                    let (shape, _) = Shape::split_message(value, &self.hints.clone().without_numbers());
                    let (key, shape) = (note.key.to_owned(), shape.lasting_digest(&Own::default()));
                    self.values.own.notes.push(Note { key, value: value.to_owned(), shape });
                }
                _ if place.is_literal => self.shape.text.push_str(value),
                _ => self.add_value(value, side, place.in_role_ref),
            }
            self.shape.text.push_str(whole.get(line.len()..).unwrap_or_default());
        }
    }

    fn add_value(&mut self, value: &'t str, side: Side, in_role_ref: bool) {
        let bytes = value.as_bytes();
        let part = |from: usize, to: usize| value.get(from..to).unwrap_or_default();
        let (mut taken, mut position) = (0, 0);
        while let Some(&byte) = bytes.get(position) {
            if !is_word(byte) {
                position += 1;
                continue;
            }
            if let Some((found, length)) = self.hints.find(part(position, value.len()), in_role_ref) {
                let hole = match found {
                    Found::Hole(hole) => hole,
                    Found::Column { column, value } => {
                        let is_changed = side != Side::Both;
                        let own = ColumnValue { column: column.to_owned(), value: value.to_owned(), is_changed };
                        self.values.own.add_column(own);
                        Hole::Column(digest_of_run(column))
                    }
                };
                self.shape.text.push_str(part(taken, position));
                self.push(hole, part(position, position + length));
                position += length;
                taken = position;
                continue;
            }
            let rest = bytes.get(position..).unwrap_or_default();
            let end = position + rest.iter().take_while(|byte| is_word(**byte)).count();
            let is_joined = |neighbour: Option<&u8>| matches!(neighbour, Some(b'.' | b'_'));
            let before = position.checked_sub(1).and_then(|before| bytes.get(before));
            if self.hints.numbers
                && let Some(number) = number(part(position, end))
                && !is_joined(before)
                && !is_joined(bytes.get(end))
            {
                self.shape.text.push_str(part(taken, position));
                self.numbers.push((self.shape.holes.len(), number, side));
                self.push(Hole::SameNumber(number), part(position, end));
                taken = end;
            }
            position = end;
        }
        self.shape.text.push_str(part(taken, value.len()));
    }

    /// Turns the numbers that are the tenant's own into holes.
    fn finish(mut self) -> (Shape, Values<'t>) {
        let numbers = if self.numbers.len() > MAXIMUM_NUMBERS { &[][..] } else { &self.numbers };
        let count =
            |number: u64, side: Side| numbers.iter().filter(|(_, other, of)| *other == number && *of == side).count();
        let own = &mut self.values.own.numbers;
        for &(hole, number, side) in numbers {
            if side != Side::Only && count(number, Side::Old) != count(number, Side::New) {
                continue;
            }
            let index = position_in(own, number);
            if let Some((_, hole)) = self.shape.holes.get_mut(hole) {
                *hole = Hole::Number(index);
            }
        }
        (self.shape, self.values)
    }
}

/// Returns the number that a word is, if it may be a tenant's own.
fn number(word: &str) -> Option<u64> {
    if !DIGITS.contains(&word.len()) || word.starts_with('0') {
        return None;
    }
    word.bytes().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

/// Returns the lines that two texts begin with in common, the lines that follow in the one and in the other, and the lines
/// that they end with in common.
fn shared<'t>(old: &'t str, new: &'t str) -> ([&'t str; 3], &'t str) {
    let common = common_prefix(old.as_bytes(), new.as_bytes());
    let lines = |text: &[u8]| memrchr(b'\n', text).map_or(0, |end| end + 1);
    let head = lines(new.as_bytes().get(..common).unwrap_or_default());
    let (start, old) = (new.get(..head).unwrap_or_default(), old.get(head..).unwrap_or_default());
    let new = new.get(head..).unwrap_or_default();
    let common = common_suffix(old.as_bytes(), new.as_bytes());
    // The common end may begin in the middle of a line, which then is not common.
    let end = new.as_bytes().get(new.len() - common..).unwrap_or_default();
    let tail = common - memchr(b'\n', end).map_or(end.len(), |feed| feed + 1);
    let part = |text: &'t str| text.get(..text.len() - tail).unwrap_or_default();
    ([start, part(old), part(new)], new.get(new.len() - tail..).unwrap_or_default())
}

/// Returns how many bytes two texts begin with in common.
pub fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = left.chunks_exact(STEP).zip(right.chunks_exact(STEP)).take_while(|(left, right)| left == right);
    let known = steps.count() * STEP;
    let bytes = left.iter().skip(known).zip(right.iter().skip(known));
    known + bytes.take_while(|(left, right)| left == right).count()
}

/// Returns how many bytes two texts end with in common.
pub fn common_suffix(left: &[u8], right: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = left.rchunks_exact(STEP).zip(right.rchunks_exact(STEP)).take_while(|(left, right)| left == right);
    let known = steps.count() * STEP;
    let bytes = left.iter().rev().skip(known).zip(right.iter().rev().skip(known));
    known + bytes.take_while(|(left, right)| left == right).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of an object in the file of a namespace.
    type Change<'c> = (&'c str, Option<&'c str>, Option<&'c str>);

    /// Splits a change, and checks that its shape and its values give back the texts.
    fn split<'t>((namespace, old, new): (&str, Option<&'t str>, Option<&'t str>)) -> Option<(Shape, Values<'t>)> {
        let (shape, values) = Shape::split_change(old, new, &Hints::of_name(OwnName::new(namespace)?))?;
        let filled = shape.fill(&values);
        match (old, new) {
            (Some(old), Some(new)) => {
                let parts: Vec<&str> = filled.split(END).collect();
                let [head, of_old, of_new, tail] = parts.as_slice() else { panic!("four parts: {parts:?}") };
                assert_eq!((&*format!("{head}{of_old}{tail}"), &*format!("{head}{of_new}{tail}")), (old, new));
            }
            (old, new) => assert_eq!(Some(&*filled), old.or(new)),
        }
        Some((shape, values))
    }

    fn are_same(left: Change<'_>, right: Change<'_>) -> bool {
        let (left, right) = (split(left).expect("a shape"), split(right).expect("a shape"));
        assert_eq!(left.0 == right.0, left.0.digest() == right.0.digest());
        left.0 == right.0
    }

    /// Changes of the files of `team-ada` and `team-bob`; each text goes for both, with `{}` for what is given.
    fn with(old: &str, new: &str, ada: &str, bob: &str) -> bool {
        let of = |value: &str| (old.replace("{}", value), new.replace("{}", value));
        let ((old_ada, new_ada), (old_bob, new_bob)) = (of(ada), of(bob));
        are_same(("team-ada", Some(&old_ada), Some(&new_ada)), ("team-bob", Some(&old_bob), Some(&new_bob)))
    }

    #[test]
    fn the_own_name_is_taken_for_the_same() {
        assert!(with("a: 1\n", "b: {}\n", "team-ada", "team-bob"));
        assert!(with("a: 1\n", "b: {}\n", "ada", "bob"));
        assert!(with("a: 1\n", "b:\n- 'x {}-psp/y'\n", "team-ada", "team-bob"));
        assert!(with("a: 1\n", "b: system:serviceaccount:{}:default\n", "team-ada", "team-bob"));
        // The one is not the other.
        assert!(!with("a: 1\n", "b: {}\n", "team-ada", "bob"));
    }

    #[test]
    fn nobody_elses_name_is() {
        assert!(!with("a: 1\n", "b: {}\n", "team-bob", "team-ada"));
        assert!(!with("a: 1\n", "b: {}\n", "bob", "ada"));
        assert!(!with("a: 1\n", "b: {}\n", "team-ada2", "team-bob2"));
        assert!(!with("a: 1\n", "b: {}\n", "xada", "xbob"));
        assert!(!with("a: 1\n", "b: {}\n", "adas", "bobs"));
        assert!(!with("a: 1\n", "b: {}\n", "\u{e9}ada", "\u{e9}bob"));
    }

    #[test]
    fn keys_and_words_of_rules_are_never_left_open() {
        for line in [
            "{}: x",
            "verbs:\n- {}",
            "resources:\n- {}",
            "- apiGroups:\n  - {}",
            "kind: {}",
            "apiGroup: {}",
            "nonResourceURLs:\n- /{}",
        ] {
            assert!(!with("a: 1\n", &format!("{line}\n"), "ada", "bob"), "{line}");
            assert!(!with("a: 1\n", &format!("{line}\n"), "team-ada", "team-bob"), "{line}");
        }
        // A list after the list of verbs has values again.
        assert!(with("a: 1\n", "verbs:\n- get\nresourceNames:\n- {}\n", "team-ada", "team-bob"));
    }

    #[test]
    fn another_verb_elsewhere_in_the_object_is_another_change() {
        let rule = |verb: &str| format!("rules:\n- resources:\n  - pods\n  verbs:\n  - {verb}\n");
        let new = |verb: &str| format!("metadata:\n  labels:\n    a: b\n{}", rule(verb));
        let (get, delete) = (rule("get"), rule("delete"));
        assert!(!are_same(("ada", Some(&get), Some(&new("get"))), ("bob", Some(&delete), Some(&new("delete")))));
        assert!(are_same(("ada", Some(&get), Some(&new("get"))), ("bob", Some(&get), Some(&new("get")))));
    }

    #[test]
    fn numbers_are_left_open_while_they_stay() {
        assert!(with("uid: {}\n", "uid: {}\nx: 1\n", "50000", "50001"));
        assert!(with("min: {}\n", "minimum: {}\n", "50000", "50001"));
        // A number that comes, goes or changes counts.
        assert!(!with("uid: 50000\n", "uid: {}\n", "60000", "70000"));
        assert!(!with("uid: {}\n", "uid: 60000\n", "50000", "50001"));
        assert!(!with("uid: {}\n", "uid: {}\nalso: {}\n", "50000", "50001"));
        // So do sizes, levels, and what is part of something else.
        assert!(!with("pods: {}\n", "pods: {}\nx: 1\n", "20", "200"));
        for (ada, bob) in [("v1.5000", "v1.6000"), ("5000Mi", "6000Mi"), ("05000", "06000"), ("5000_0", "6000_0")] {
            assert!(!with("a: {}\n", "a: {}\nx: 1\n", ada, bob), "{ada}");
        }
        // The equality of values and their order count.
        let pair = |first: &str, second: &str| format!("a: {first}\nb: {second}\n");
        let change = |name, old: &(String, String)| {
            are_same(
                ("ada", Some(&pair("5000", "6000")), Some(&pair("6000", "5000"))),
                (name, Some(&old.0), Some(&old.1)),
            )
        };
        assert!(change("bob", &(pair("7000", "8000"), pair("8000", "7000"))));
        assert!(!change("bob", &(pair("7000", "8000"), pair("7000", "8000"))));
        assert!(!change("bob", &(pair("7000", "7000"), pair("7000", "7000"))));
    }

    #[test]
    fn a_new_object_leaves_its_numbers_and_annotations_open_and_tells_them() {
        let object = |uid: &str, mail: &str| {
            format!("kind: X\nmetadata:\n  annotations:\n    mail: {mail}\nspec:\n  max: {uid}\n  min: {uid}\n")
        };
        let of = |name, text: &str| {
            split((name, None, Some(text))).map(|(shape, values)| (shape, values.own)).expect("a shape")
        };
        let (ada, bob) = (of("ada", &object("50000", "x")), of("bob", &object("50001", "y")));
        assert_eq!((&ada.0, &ada.1.numbers), (&bob.0, &vec![50000]));
        let told: Vec<_> = bob.1.notes.iter().map(|note| (&*note.key, &*note.value)).collect();
        assert_eq!((bob.1.numbers, told), (vec![50001], vec![("mail", "y")]));
        let named = |name, mail: &str| of(name, &object("50000", mail)).1.notes[0].shape;
        assert_eq!(named("team-ada", "to ada"), named("team-bob", "to bob"));
        assert_ne!(named("team-ada", "to team-ada"), named("team-bob", "to bob"));
        assert_ne!(of("cyd", &object("0", "x")).0, ada.0);
        assert_ne!(of("cyd", &object("50000", "x").replacen("50000", "50002", 1)).0, ada.0);
        let label = |team: &str| format!("metadata:\n  labels:\n    team: {team}\n");
        assert_ne!(of("ada", &label("maps")).0, of("bob", &label("ops")).0);
    }

    #[test]
    fn notes_are_left_open_while_they_stay() {
        let old = "metadata:\n  annotations:\n    example.org/mail: {}\n  labels:\n    team: {}\n  name: a\n";
        let new = old.replace("name: a", "name: b");
        assert!(with(old, &new, "'x: y'", "z"));
        // Notes that change, move or have a reader are no holes.
        assert!(!with("metadata:\n  labels:\n    team: a\n", "metadata:\n  labels:\n    team: {}\n", "x", "y"));
        let (labels, notes) = ("metadata:\n  labels:\n    team: {}\n", "metadata:\n  annotations:\n    team: {}\n");
        assert!(!with(labels, notes, "x", "y"));
        for key in ["pod-security.kubernetes.io/enforce", "openshift.io/sa.scc.uid-range", "k8s.io/x"] {
            let old = format!("metadata:\n  labels:\n    {key}: {{}}\n");
            assert!(!with(&old, &format!("{old}  name: b\n"), "x", "y"), "{key}");
        }
        for old in [
            "spec:\n  labels:\n    team: {}\n",
            "metadata:\n  other:\n    team: {}\n",
            "labels:\n    team: {}\n",
            "metadata:\n  labels:\n      deep: {}\n",
            "metadata:\n  labels:\n    team:\n    - {}\n",
        ] {
            assert!(!with(old, &format!("{old}x: 1\n"), "x", "y"), "{old}");
        }
    }

    #[test]
    fn shapes_differ_in_more_than_names_and_numbers() {
        let of = |names: &[&str], text: &str| {
            let (shape, values) = Shape::split_message(text, &Hints::of_names(names));
            assert_eq!(shape.fill(&values), text);
            shape
        };
        assert_eq!(
            of(&["tool-ada", "shop"], "shop in tool-ada: 1002"),
            of(&["tool-bob", "desk"], "desk in tool-bob: 5003")
        );
        assert_ne!(of(&["tool-ada"], "shop in tool-ada"), of(&["tool-bob"], "desk in tool-bob"));
        assert_ne!(of(&["ada"], "1002, 1002"), of(&["ada"], "1002, 1003"));
        assert_ne!(of(&["ada"], "3 of ada"), of(&["ada"], "4 of ada"));
        // A word of Kubernetes names nothing, and what stands for a name is no name.
        assert_ne!(of(&["default"], "default"), of(&["view"], "view"));
        assert_ne!(of(&["ada"], "ada"), of(&["ada"], "\u{1}"));
    }

    #[test]
    fn what_stands_for_a_name_cannot_be_written() {
        for text in ["a: \u{1}\n", "a: b\r\n", "a:\tb\n"] {
            assert_eq!(split(("ada", None, Some(text))), None, "{text:?}");
        }
        // Neither is a line feed at the end nothing, nor an empty text no text.
        assert!(!are_same(("ada", None, Some("a: b\n")), ("bob", None, Some("a: b"))));
        assert!(!are_same(("ada", None, Some("a: b\n")), ("bob", Some(""), Some("a: b\n"))));
        assert!(!are_same(("ada", None, Some("a: b\n")), ("bob", Some("a: b\n"), None)));
    }

    /// Texts of lines that mean something to the splitting, picked by a counter.
    fn random_text(seed: &mut u64) -> String {
        const LINES: [&str; 20] = [
            "metadata:\n",
            "  labels:\n",
            "  annotations:\n",
            "    example.org/mail: team-ada\n",
            "    kubernetes.io/x: ada\n",
            "  name: team-ada\n",
            "rules:\n",
            "- resources:\n",
            "  - team-ada\n",
            "  verbs:\n",
            "  resourceNames:\n",
            "  - ada-5000\n",
            "  - \"5000 of ada\"\n",
            "spec:\n",
            "  max: 5000\n",
            "  min: 6000\n",
            "  x: \u{e9}ada \u{1f600}\n",
            "\n",
            "    ",
            "ada",
        ];
        let mut next = |below: usize| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(*seed >> 33).expect("31 bits") % below
        };
        (0..next(12)).map(|_| LINES[next(LINES.len())]).collect()
    }

    #[test]
    fn the_shape_and_the_values_give_back_every_text() {
        let mut seed = 7;
        let (hints, mut known) = (Hints::of_names(&["team-ada"]), std::collections::HashMap::new());
        for _ in 0..20_000 {
            let (old, new) = (random_text(&mut seed), random_text(&mut seed));
            let (shape, values) = Shape::split(&old, &hints);
            assert_eq!(shape.fill(&values), old);
            let (change, _) = split(("team-ada", Some(&old), Some(&new))).expect("a shape");
            for shape in [shape, change] {
                // Equal digests are equal shapes.
                let other = known.entry(shape.digest()).or_insert_with(|| shape.clone());
                assert_eq!(*other, shape);
            }
        }
        assert!(known.len() > 20_000, "{}", known.len());
    }
}
