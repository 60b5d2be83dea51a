//! What names a tenant in its file, and the form of a change, in which that is taken for the same.
//!
//! Two changes are the same when their forms are. The form of a change is the old and the new text of an object, from
//! the first line to the last and not only the lines that differ, with three kinds of values left open:
//!
//! 1. **Its own name.** The name of the namespace that the file is for (`tool-alice`), and what stands in it behind the
//!    first hyphen (`alice`), where they are whole words of a value. Not in keys, nor where Kubernetes reads words of
//!    its own (kinds, groups, resources, verbs, URLs), nor where the name is itself such a word: of a namespace `view`
//!    nobody can tell whether a `view` in its file means the namespace or the role.
//! 2. **Its own numbers.** Numbers of four digits and more that the change leaves alone: they are there as often before
//!    as after it. Only which of them are equal counts. Where an object is new or goes, every such number; a group tells
//!    from where to where they reach.
//! 3. **Its own notes.** Values of labels and annotations that Kubernetes does not read, on lines that stay. Where an
//!    object is new or goes, those of annotations; a group tells of which, and how many values there are.
//!
//! INVARIANT: the form, the name, the numbers and the notes give back the text. So everything that a folded change does
//! not share with the one that is shown is either its name, or told beside it, or stays as it was.

use std::sync::OnceLock;

use memchr::{memchr, memrchr};

use super::file;
use crate::digest::digest_of_run;
use crate::k8s::catalogue::Catalogue;
use crate::k8s::default_policy;

/// Words with a meaning to some reader that stand in no default role.
const MEANINGFUL: &str = "\
    all any audit baseline configmap csi default disabled enabled enforce ephemeral false host inf kube \
    latest localhost master nan nfs no none null off on openshift privileged projected required restricted \
    root runtime secret system true unconfined use warn worker yes";

/// Domains of labels and annotations that Kubernetes, OpenShift or we read.
const READ: [&str; 4] = ["kubernetes.io", "k8s.io", "openshift.io", "bailiwick.dev"];

/// The fewest bytes of a name behind the first hyphen that is looked for by itself.
const SHORTEST: usize = 3;

/// The fewest and the most digits of a number that may be somebody's own. Below are sizes, levels and the ids of the
/// system, root's among them.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=15;

/// An object with more numbers than that has none of its own.
const MAXIMUM_NUMBERS: usize = 64;

// What stands in a form for what is left open. No text with control characters has a form, so that none is mistaken.
const END: u8 = 0;
const NAME: u8 = 1;
const SHORT_NAME: u8 = 2;
const OWN_NUMBER: u8 = 3;
const NOTE: u8 = 4;
const OTHER_NUMBER: u8 = 5;
const NO_LINE_FEED: u8 = 6;

/// What a file calls the tenant that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnName<'p> {
    name: &'p str,
    /// Where in the name that begins which stands behind its first hyphen; none where that says too little.
    short: Option<usize>,
}

impl<'p> OwnName<'p> {
    /// That of the file at a path below the target's folder; none for one that is for no namespace.
    pub(super) fn of(path: &'p str) -> Option<Self> {
        Self::new(file::namespace(path)?)
    }

    /// That of a namespace; none where the name means something else as well.
    pub fn new(name: &'p str) -> Option<Self> {
        if !is_telling(name) {
            return None;
        }
        let behind = name.find('-').map(|hyphen| hyphen + 1);
        let is_word =
            |start: &usize| name.get(*start..).is_some_and(|short| short.len() >= SHORTEST && is_telling(short));
        Some(Self { name, short: behind.filter(is_word) })
    }

    /// That of another namespace whose file changes in the same way, and which is told by its name as well, therefore.
    pub fn of_same_way<'o>(self, name: &'o str) -> OwnName<'o> {
        OwnName { name, short: self.short.and(name.find('-')).map(|hyphen| hyphen + 1) }
    }

    /// The name itself.
    pub(super) fn name(self) -> &'p str {
        self.name
    }

    /// True when a text holds the name.
    pub fn is_in(self, text: &str) -> bool {
        let mut former = Former::default();
        former.add_value(self, text.as_bytes(), Side::Only);
        former.out.iter().any(|byte| matches!(*byte, NAME | SHORT_NAME))
    }

    /// True when a text holds a number that might be the tenant's own.
    pub fn has_number(self, text: &str) -> bool {
        let mut former = Former::default();
        former.add_value(self, text.as_bytes(), Side::Only);
        !former.numbers.is_empty()
    }

    /// A text with another name in place of this one.
    pub fn renamed(self, other: OwnName<'_>, text: &str) -> String {
        let short = other.name.get(other.short.unwrap_or_default()..).unwrap_or_default();
        self.replaced(other.name, short, text)
    }

    fn replaced(self, name: &str, short: &str, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len() + name.len());
        let mut rest = text;
        let mut is_start = true;
        while let Some(letter) = rest.chars().next() {
            let found = if is_start { self.at(rest.as_bytes()) } else { None };
            let length = match found {
                Some((NAME, length)) => {
                    replaced.push_str(name);
                    length
                }
                Some((_, length)) => {
                    replaced.push_str(short);
                    length
                }
                None => {
                    replaced.push(letter);
                    letter.len_utf8()
                }
            };
            is_start = found.is_none() && letter.is_ascii() && !letter.is_ascii_alphanumeric();
            rest = rest.get(length..).unwrap_or_default();
        }
        replaced
    }

    /// The mark for the name that stands at the start of a text, and its length.
    fn at(self, text: &[u8]) -> Option<(u8, usize)> {
        let name = self.name.as_bytes();
        let ends = |length: usize| !text.get(length).is_some_and(|&next| is_word(next));
        if text.starts_with(name) && ends(name.len()) {
            return Some((NAME, name.len()));
        }
        let short = name.get(self.short?..)?;
        (text.starts_with(short) && ends(short.len())).then_some((SHORT_NAME, short.len()))
    }
}

/// The shape of a text: the same for texts that differ in these names of their own, and in numbers that may be somebody's own.
pub fn shape(names: &[&str], text: &str) -> u128 {
    if text.bytes().any(|byte| byte < b' ' && byte != b'\n') {
        return digest_of_run(text);
    }
    let own = names.iter().filter_map(|name| OwnName::new(name));
    let open = own.fold(text.to_owned(), |text, own| own.replaced("\u{1}", "\u{2}", &text));
    // No text has this name, so that only numbers are left open.
    let nobody = OwnName { name: "\u{3}", short: None };
    let mut former = Former::default();
    former.add_value(nobody, open.as_bytes(), Side::Only);
    former.settle();
    digest_of_run(&former.out)
}

/// True for a word that nobody reads as anything but a name.
fn is_telling(word: &str) -> bool {
    static OF_ROLES: OnceLock<std::collections::HashSet<&'static str>> = OnceLock::new();
    let of_roles = OF_ROLES.get_or_init(|| {
        default_policy::TEXT.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').collect()
    });
    let catalogue = Catalogue::get();
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !of_roles.contains(word)
        && !MEANINGFUL.split(' ').any(|meaningful| meaningful == word)
        && !word.starts_with("kube-")
        && !word.starts_with("openshift-")
        && !catalogue.has_ever_served(word)
        && !catalogue.is_builtin_group(word)
}

/// What is left open in the form of a change, with what it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// The form, as a number that no other form has.
    pub(super) print: u128,
    /// Its own numbers, each once, in order of appearance.
    pub(super) numbers: Vec<u64>,
    /// Its own notes that are new or go.
    pub(super) notes: Vec<OwnNote>,
}

/// An annotation of an object that is new or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnNote {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The same for values that differ in the name of the tenant alone.
    pub print: u128,
}

/// Which text a part of a form stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
    Both,
    /// There is no other.
    Only,
}

/// Makes forms, one after the other, in the same memory.
#[derive(Debug, Default)]
pub(super) struct Former {
    out: Vec<u8>,
    /// The numbers in it: where, which, and in which text.
    numbers: Vec<(usize, u64, Side)>,
    notes: Vec<OwnNote>,
}

impl Former {
    /// The form of a change of an object; none where there can be none.
    pub(super) fn form(&mut self, own: OwnName<'_>, old: Option<&str>, new: Option<&str>) -> Option<Form> {
        self.out.clear();
        self.numbers.clear();
        self.notes.clear();
        // Without an early exit the compiler looks at many bytes at once.
        let is_odd = |text: &str| text.bytes().fold(false, |odd, byte| odd | ((byte < b' ') & (byte != b'\n')));
        if is_odd(old.unwrap_or_default()) || is_odd(new.unwrap_or_default()) {
            return None;
        }
        match (old, new) {
            (Some(old), Some(new)) => self.add_change(own, old, new),
            (old, new) => {
                self.out.push(if new.is_some() { b'+' } else { b'-' });
                self.add(own, &mut Place::default(), old.or(new)?, Side::Only, &[]);
            }
        }
        let numbers = self.settle();
        Some(Form { print: digest_of_run(&self.out), numbers, notes: std::mem::take(&mut self.notes) })
    }

    /// Adds both texts: what they begin and end with in common once, and between them what is in the one and in the
    /// other.
    fn add_change(&mut self, own: OwnName<'_>, old: &str, new: &str) {
        let ([head, old, new], tail) = shared(old, new);
        let mut place = Place::default();
        self.out.push(b'=');
        self.add(own, &mut place, head, Side::Both, &[]);
        let after = |text: &str| {
            let mut place = place;
            text.lines().for_each(|line| _ = place.enter(line));
            place
        };
        // Where the same line means one thing in the old text and another in the new, it is not the same.
        let (tail_of_old, tail_of_new, tail) = if after(old) == after(new) { ("", "", tail) } else { (tail, tail, "") };
        let (old_notes, new_notes): (Vec<_>, Vec<_>) = (notes(place, old).collect(), notes(place, new).collect());
        for (text, rest, side, kept) in
            [(old, tail_of_old, Side::Old, &new_notes), (new, tail_of_new, Side::New, &old_notes)]
        {
            let mut place = place;
            self.add(own, &mut place, text, side, kept);
            self.add(own, &mut place, rest, side, &[]);
            self.out.push(END);
        }
        place = after(new);
        self.add(own, &mut place, tail, Side::Both, &[]);
    }

    /// Adds a part of a text; `kept` are the notes that stand in the other text, too.
    fn add(&mut self, own: OwnName<'_>, place: &mut Place, text: &str, side: Side, kept: &[Note<'_>]) {
        for line in text.lines() {
            let start = place.enter(line);
            let (head, value) = line.split_at_checked(start).unwrap_or((line, ""));
            self.out.extend_from_slice(head.as_bytes());
            match place.note(line) {
                Some(note) if side == Side::Both || kept.contains(&note) => self.out.push(NOTE),
                Some(note) if side == Side::Only && note.is_annotation => {
                    self.out.push(NOTE);
                    let value = value.trim_start();
                    let print = digest_of_run(&own.replaced("\u{1}", "\u{2}", value));
                    self.notes.push(OwnNote { key: note.key.to_owned(), value: value.to_owned(), print });
                }
                _ if place.is_literal => self.out.extend_from_slice(value.as_bytes()),
                _ => self.add_value(own, value.as_bytes(), side),
            }
            self.out.push(b'\n');
        }
        if !text.is_empty() && !text.ends_with('\n') {
            self.out.push(NO_LINE_FEED);
        }
    }

    fn add_value(&mut self, own: OwnName<'_>, value: &[u8], side: Side) {
        let part = |from: usize, to: usize| value.get(from..to).unwrap_or_default();
        let (mut taken, mut position) = (0, 0);
        while let Some(&byte) = value.get(position) {
            if !is_word(byte) {
                position += 1;
                continue;
            }
            let rest = part(position, value.len());
            if let Some((mark, length)) = own.at(rest) {
                self.out.extend_from_slice(part(taken, position));
                self.out.push(mark);
                position += length;
                taken = position;
                continue;
            }
            let length = rest.iter().take_while(|byte| is_word(**byte)).count();
            let before = position.checked_sub(1).and_then(|before| value.get(before));
            let behind = value.get(position + length);
            let is_joined = |neighbour: Option<&u8>| matches!(neighbour, Some(b'.' | b'_'));
            if let Some(number) = number(part(position, position + length))
                && !is_joined(before)
                && !is_joined(behind)
            {
                self.out.extend_from_slice(part(taken, position));
                self.out.push(OTHER_NUMBER);
                self.numbers.push((self.out.len(), number, side));
                self.out.extend_from_slice(&number.to_le_bytes());
                taken = position + length;
            }
            position += length;
        }
        self.out.extend_from_slice(part(taken, value.len()));
    }

    /// Leaves open the numbers that are the tenant's own, and returns them.
    fn settle(&mut self) -> Vec<u64> {
        let mut own: Vec<u64> = Vec::new();
        if self.numbers.len() > MAXIMUM_NUMBERS {
            return own;
        }
        let count = |number: u64, side: Side| {
            self.numbers.iter().filter(|(_, other, of)| *other == number && *of == side).count()
        };
        for &(position, number, side) in &self.numbers {
            if side != Side::Only && count(number, Side::Old) != count(number, Side::New) {
                continue;
            }
            let index = own.iter().position(|known| *known == number).unwrap_or_else(|| {
                own.push(number);
                own.len() - 1
            });
            if let Some(mark) = self.out.get_mut(position - 1) {
                *mark = OWN_NUMBER;
            }
            if let Some(place) = self.out.get_mut(position..position + size_of::<u64>()) {
                place.copy_from_slice(&(index as u64).to_le_bytes());
            }
        }
        own
    }
}

/// The number that a word is, if it may be somebody's own.
fn number(word: &[u8]) -> Option<u64> {
    if !DIGITS.contains(&word.len()) || word.first() == Some(&b'0') {
        return None;
    }
    word.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

/// A word is made of these; a hyphen parts words, since names are joined by it.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The lines that two texts begin with in common, what then follows in the one and in the other, and the lines that
/// they end with in common.
fn shared<'t>(old: &'t str, new: &'t str) -> ([&'t str; 3], &'t str) {
    let common = common_prefix(old.as_bytes(), new.as_bytes());
    let lines = |text: &[u8]| memrchr(b'\n', text).map_or(0, |end| end + 1);
    let head = lines(new.as_bytes().get(..common).unwrap_or_default());
    let (start, old) = (new.get(..head).unwrap_or_default(), old.get(head..).unwrap_or_default());
    let new = new.get(head..).unwrap_or_default();
    let common = common_suffix(old.as_bytes(), new.as_bytes());
    // The common end may begin in the middle of a line, which then is no common one.
    let end = new.as_bytes().get(new.len() - common..).unwrap_or_default();
    let tail = common - memchr(b'\n', end).map_or(end.len(), |feed| feed + 1);
    let part = |text: &'t str| text.get(..text.len() - tail).unwrap_or_default();
    ([start, part(old), part(new)], new.get(new.len() - tail..).unwrap_or_default())
}

/// How many bytes two texts begin with in common.
pub(super) fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = left.chunks_exact(STEP).zip(right.chunks_exact(STEP)).take_while(|(left, right)| left == right);
    let known = steps.count() * STEP;
    let bytes = left.iter().skip(known).zip(right.iter().skip(known));
    known + bytes.take_while(|(left, right)| left == right).count()
}

/// How many bytes they end with in common.
pub(super) fn common_suffix(left: &[u8], right: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = left.rchunks_exact(STEP).zip(right.rchunks_exact(STEP)).take_while(|(left, right)| left == right);
    let known = steps.count() * STEP;
    let bytes = left.iter().rev().skip(known).zip(right.iter().rev().skip(known));
    known + bytes.take_while(|(left, right)| left == right).count()
}

/// Where in an object a line stands, as far as that tells what its value is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    in_metadata: bool,
    section: Section,
    is_literal: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    Labels,
    Annotations,
    #[default]
    Other,
}

/// A label or an annotation that Kubernetes does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Note<'l> {
    line: &'l str,
    key: &'l str,
    is_annotation: bool,
}

impl Place {
    /// Goes on to a line, and tells where in it its value begins.
    fn enter(&mut self, line: &str) -> usize {
        let indent = line.bytes().take_while(|byte| *byte == b' ').count();
        let mut start = indent;
        while line.get(start..).is_some_and(|rest| rest.starts_with("- ")) {
            start += 2;
        }
        let rest = line.get(start..).unwrap_or_default();
        let Some(length) = key_length(rest) else { return start };
        let key = rest.get(..length).unwrap_or_default();
        self.is_literal = is_literal(key);
        if start == 0 {
            (self.in_metadata, self.section) = (key == "metadata", Section::Other);
        } else if indent == 2 && self.in_metadata {
            self.section = match key {
                "labels" => Section::Labels,
                "annotations" => Section::Annotations,
                _ => Section::Other,
            };
        }
        start + length + 1
    }

    /// The line that was entered last, if it is a note.
    fn note<'l>(&self, line: &'l str) -> Option<Note<'l>> {
        let is_annotation = match self.section {
            Section::Labels => false,
            Section::Annotations => true,
            Section::Other => return None,
        };
        let entry = line.strip_prefix("    ").filter(|entry| !entry.starts_with([' ', '-']))?;
        let key = entry.get(..key_length(entry)?)?;
        let domain = key.trim_matches(['"', '\'']).split_once('/').map_or("", |(domain, _)| domain);
        let is_of = |read: &str| domain.strip_suffix(read).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        (!READ.into_iter().any(is_of)).then_some(Note { line, key, is_annotation })
    }
}

/// True for a key under which Kubernetes reads words of its own.
fn is_literal(key: &str) -> bool {
    matches!(key, "apiGroup" | "apiGroups" | "apiVersion" | "kind" | "nonResourceURLs" | "resources" | "verbs")
}

/// The notes of a part of an object, which begins at a place.
fn notes(mut place: Place, text: &str) -> impl Iterator<Item = Note<'_>> {
    text.lines().filter_map(move |line| {
        place.enter(line);
        place.note(line)
    })
}

/// The length of the key that a line begins with, its quotes included; none where it begins with a value.
fn key_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_end =
        |position: usize| bytes.get(position) == Some(&b':') && matches!(bytes.get(position + 1), None | Some(b' '));
    match bytes.first()? {
        &quote @ (b'"' | b'\'') => {
            let inside = bytes.get(1..)?;
            let end = inside.iter().position(|byte| *byte == quote)? + 2;
            is_end(end).then_some(end)
        }
        _ => {
            let mut start = 0;
            loop {
                start += memchr(b':', bytes.get(start..)?)?;
                if is_end(start) {
                    return Some(start);
                }
                start += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of an object in the file of a namespace.
    type Change<'c> = (&'c str, Option<&'c str>, Option<&'c str>);

    fn form((namespace, old, new): Change<'_>) -> Option<Form> {
        let path = format!("namespaces/07/{namespace}.yaml");
        Former::default().form(OwnName::of(&path)?, old, new)
    }

    fn are_same(left: Change<'_>, right: Change<'_>) -> bool {
        let (left, right) = (form(left).expect("a form"), form(right).expect("a form"));
        left.print == right.print
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
    fn a_word_of_kubernetes_names_no_tenant() {
        for name in [
            "view",
            "edit",
            "cluster-admin",
            "secrets",
            "get",
            "delete",
            "restricted",
            "privileged",
            "default",
            "kube-system",
            "openshift-etcd",
            "batch",
            "true",
            "admin",
            "podsecuritypolicies",
            "6e5",
        ] {
            assert!(OwnName::of(&format!("namespaces/{name}.yaml")).is_none(), "{name}");
        }
        // Behind the hyphen it is left alone, and the whole is a name.
        assert!(are_same(("team-view", None, Some("b: team-view\n")), ("team-edit", None, Some("b: team-edit\n"))));
        assert!(!are_same(("team-view", None, Some("b: view\n")), ("team-edit", None, Some("b: edit\n"))));
        assert!(OwnName::of("cluster/clusterrole.yaml").is_none());
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
        // What follows is a value again.
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
        // Which are equal counts, and in which order they come.
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
        let of = |name, text: &str| form((name, None, Some(text))).expect("a form");
        let (ada, bob) = (of("ada", &object("50000", "x")), of("bob", &object("50001", "y")));
        assert_eq!((ada.print, &ada.numbers), (bob.print, &vec![50000]));
        let told: Vec<_> = bob.notes.iter().map(|note| (&*note.key, &*note.value)).collect();
        assert_eq!((bob.numbers, told), (vec![50001], vec![("mail", "y")]));
        let named = |name, mail: &str| of(name, &object("50000", mail)).notes[0].print;
        assert_eq!(named("team-ada", "to ada"), named("team-bob", "to bob"));
        assert_ne!(named("team-ada", "to team-ada"), named("team-bob", "to bob"));
        assert_ne!(of("cyd", &object("0", "x")).print, ada.print);
        assert_ne!(of("cyd", &object("50000", "x").replacen("50000", "50002", 1)).print, ada.print);
        let label = |team: &str| format!("metadata:\n  labels:\n    team: {team}\n");
        assert_ne!(of("ada", &label("maps")).print, of("bob", &label("ops")).print);
    }

    #[test]
    fn notes_are_left_open_while_they_stay() {
        let old = "metadata:\n  annotations:\n    example.org/mail: {}\n  labels:\n    team: {}\n  name: a\n";
        let new = old.replace("name: a", "name: b");
        assert!(with(old, &new, "'x: y'", "z"));
        // Not where they change, or move, or are read by somebody, or are no notes at all.
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
        let of = |names: &[&str], text: &str| shape(names, text);
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
            assert_eq!(form(("ada", None, Some(text))), None, "{text:?}");
        }
        // Neither is a line feed at the end nothing, nor an empty text no text.
        assert!(!are_same(("ada", None, Some("a: b\n")), ("bob", None, Some("a: b"))));
        assert!(!are_same(("ada", None, Some("a: b\n")), ("bob", Some(""), Some("a: b\n"))));
        assert!(!are_same(("ada", None, Some("a: b\n")), ("bob", Some("a: b\n"), None)));
    }
}
