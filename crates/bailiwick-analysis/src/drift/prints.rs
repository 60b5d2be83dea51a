//! Hashes in place of objects: most live objects are as wanted, and their texts would take the memory of the cluster.
//!
//! INVARIANT: if the print of a wanted object is the print of a live one, [`super::fields::differences`] finds nothing, beside
//! further labels and annotations. Objects with other prints are compared by their fields. The hash is BLAKE3 with a key of
//! the run: the author of a live object cannot compute a second object with the print of a wanted one.

use std::collections::HashMap;
use std::hash::Hash;

use bailiwick_compiler::emit::identity::WrittenIdentity;
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::{NodeRef, NodeValue};

use super::fields;

/// A hash of an identity, or of the compared fields of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Print([u8; 16]);

impl Print {
    /// The print of nothing.
    pub(super) const NONE: Self = Self([0; 16]);

    /// Returns the print of a value.
    pub(super) fn of(value: &(impl Hash + ?Sized)) -> Self {
        Self(digest_of_run(value).to_le_bytes())
    }

    /// Returns the print of an identity.
    pub(super) fn of_identity(object: NodeRef<'_>) -> Self {
        Self::of(&WrittenIdentity::of(object))
    }

    /// Returns the first half: its bits are as good as random.
    pub(super) fn half(self) -> u64 {
        self.0.first_chunk().map_or(0, |half| u64::from_le_bytes(*half))
    }
}

/// The fields of a wanted object that decide which fields of the live one are compared.
#[derive(Debug)]
pub(super) struct Shape {
    /// The keys of its labels and of its annotations, sorted.
    sections: [Vec<String>; 2],
    /// Its fields that the server sets where the policies do not write them.
    written: Vec<String>,
    is_aggregated: bool,
}

/// The sections of the metadata in which further keys have no effect on a decision.
const SECTIONS: [&str; 2] = ["labels", "annotations"];

impl Shape {
    /// Shows the key of each label and each annotation of a live object beside the keys of the shape.
    pub(super) fn each_further_key(&self, object: NodeRef<'_>, see: &mut dyn FnMut(&str)) {
        for (section, known) in SECTIONS.iter().zip(&self.sections) {
            let entries = object.path(&["metadata", section]).into_iter().flat_map(NodeRef::entries);
            let keys = entries.map(|(key, _)| key.as_key());
            keys.filter(|key| known.binary_search_by(|known| known.as_str().cmp(key)).is_err()).for_each(&mut *see);
        }
    }
}

/// The shapes of the wanted objects: most of them have the shape of another one.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    list: Vec<Shape>,
    numbers: HashMap<Print, u32>,
}

impl Shapes {
    /// Returns the number of the shape of a wanted object; none if it is compared by its fields alone.
    pub(super) fn number_of(&mut self, object: NodeRef<'_>) -> Option<u32> {
        let kind = object.text_at("kind");
        let has = |keys: &[&str]| object.path(keys).is_some();
        // The server sets parts of these fields, too.
        if has(&["metadata", "selfLink"]) || (kind == "Namespace" && has(&["spec"])) {
            return None;
        }
        let sections = SECTIONS.map(|section| keys_of(object.path(&["metadata", section])));
        let mut written = keys_of(Some(object));
        written.retain(|key| fields::is_set_by_server(kind, key));
        let is_aggregated = has(&["aggregationRule"]);
        let print = Print::of(&(&sections, &written, is_aggregated));
        if let Some(number) = self.numbers.get(&print) {
            return Some(*number);
        }
        let owned = |keys: Vec<&str>| keys.into_iter().map(str::to_owned).collect();
        let number = u32::try_from(self.list.len()).ok()?;
        self.list.push(Shape { sections: sections.map(owned), written: owned(written), is_aggregated });
        self.numbers.insert(print, number);
        Some(number)
    }

    /// Returns a shape by its number.
    pub(super) fn get(&self, number: u32) -> Option<&Shape> {
        self.list.get(number as usize)
    }
}

/// Returns the keys of a map, sorted.
fn keys_of(map: Option<NodeRef<'_>>) -> Vec<&str> {
    let mut keys: Vec<&str> = map.into_iter().flat_map(NodeRef::entries).map(|(key, _)| key.as_key()).collect();
    keys.sort_unstable();
    keys
}

/// Computes the prints of the compared fields of objects.
#[derive(Debug)]
pub(super) struct Printer {
    key: [u8; 32],
    bytes: Vec<u8>,
}

impl Default for Printer {
    fn default() -> Self {
        let mut key = [0; 32];
        let halves = [digest_of_run("first half"), digest_of_run("second half")];
        key.iter_mut().zip(halves.iter().flat_map(|half| half.to_le_bytes())).for_each(|(byte, half)| *byte = half);
        Self { key, bytes: Vec::new() }
    }
}

impl Printer {
    /// Returns the print of the fields of an object that are compared with a wanted object of a shape. An absent field and a null
    /// have the same print.
    pub(super) fn print(&mut self, object: NodeRef<'_>, shape: &Shape) -> Print {
        self.bytes.clear();
        let metadata = object.get("metadata");
        for (section, keys) in SECTIONS.iter().zip(&shape.sections) {
            let section = metadata.and_then(|metadata| metadata.get(section));
            keys.iter().for_each(|key| self.value(section.and_then(|section| section.get(key))));
        }
        let is_of_server = |key: &str| fields::METADATA_OF_SERVER.contains(&key) || key == "selfLink";
        self.entries(metadata, |key| !is_of_server(key));
        let kind = object.text_at("kind");
        self.entries(Some(object), |key| {
            let is_left_out = (key == "rules" && shape.is_aggregated)
                || (fields::is_set_by_server(kind, key) && !shape.written.iter().any(|written| written == key));
            fields::is_compared(key) && !is_left_out
        });
        let hash = blake3::keyed_hash(&self.key, &self.bytes);
        hash.as_bytes().first_chunk().map_or(Print::NONE, |half| Print(*half))
    }

    /// Writes a value, so that no other value has the same bytes or bytes that begin with them.
    fn value(&mut self, value: Option<NodeRef<'_>>) {
        let Some(node) = value else { return self.bytes.push(b'N') };
        match node.value() {
            NodeValue::Null => self.bytes.push(b'N'),
            NodeValue::Bool(truth) => self.bytes.push(if truth { b'T' } else { b'F' }),
            NodeValue::Int(number) => self.tagged(b'I', &number.to_le_bytes()),
            NodeValue::Float(number) => self.tagged(b'D', &number.to_bits().to_le_bytes()),
            NodeValue::Str(text) => self.text(b'S', node.tree().text(text)),
            NodeValue::Seq(_) => {
                self.bytes.push(b'[');
                node.items().for_each(|item| self.value(Some(item)));
                self.bytes.push(b']');
            }
            NodeValue::Map(_) => self.entries(Some(node), |_| true),
        }
    }

    /// Writes the entries of a map that are not null, in the order of their keys.
    fn entries(&mut self, map: Option<NodeRef<'_>>, is_written: impl Fn(&str) -> bool) {
        let entries = map.into_iter().flat_map(NodeRef::entries).map(|(key, value)| (key.as_key(), value));
        let mut entries: Vec<(&str, NodeRef<'_>)> =
            entries.filter(|(key, value)| !value.is_null() && is_written(key)).collect();
        entries.sort_by_key(|(key, _)| *key);
        self.bytes.push(b'{');
        for (key, value) in entries {
            self.text(b'K', key);
            self.value(Some(value));
        }
        self.bytes.push(b'}');
    }

    fn text(&mut self, tag: u8, text: &str) {
        self.tagged(tag, &(text.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml as yaml;
    use bailiwick_yaml::diag::{FileId, Sink};

    /// Returns whether a live text has the print of a wanted one, and whether its fields differ.
    fn compared(wanted: &str, live: &str) -> (bool, bool) {
        let read = |text| yaml::read(text, FileId::default(), &mut Sink::new());
        let (wanted_tree, live_tree) = (read(wanted), read(live));
        let (Some(root), Some(object)) = (wanted_tree.document(0), live_tree.document(0)) else {
            panic!("two objects")
        };
        let (mut shapes, mut printer) = (Shapes::default(), Printer::default());
        let shape = shapes.number_of(root);
        let has_print = shape.and_then(|shape| shapes.get(shape)).is_some_and(|shape| {
            let mut further = Vec::new();
            shape.each_further_key(object, &mut |key| further.push(key.to_owned()));
            let decides = further.iter().any(|key| fields::DecidingKeys::default().decides(key));
            !decides && printer.print(root, shape) == printer.print(object, shape)
        });
        let differs = !fields::differences(wanted, object, &fields::DecidingKeys::default()).is_empty();
        (has_print, differs)
    }

    /// No edit of a live object keeps the print of the wanted one.
    #[test]
    fn an_object_with_the_wanted_print_has_the_wanted_fields() {
        let wanted = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: n, labels: {x: y}, annotations: {k: v}}, list: [{b: 1}, c], map: {d: {e: null}, f: true}}";
        let equal = [
            ("labels: {x: y}", "labels: {x: y, z: further}"),
            ("name: a,", "name: a, uid: u, managedFields: [{manager: m}],"),
            ("list:", "secrets: [{name: t}], status: {}, absent: null, list:"),
            ("map: {d: {e: null}, f: true}", "map: {f: true, d: {}}"),
            ("[{b: 1}, c]", "[{g: null, b: 1}, c]"),
        ];
        let differing = [
            ("labels: {x: y}", "labels: {x: z}"),
            ("labels: {x: y}", "labels: {}"),
            ("labels: {x: y}", "labels: {x: y, pod-security.kubernetes.io/enforce: privileged}"),
            ("annotations: {k: v}", "annotations: {k: {v: w}}"),
            ("labels: {x: y}, annotations: {k: v}", "labels: {x: v}, annotations: {k: y}"),
            ("name: a,", "name: a, other: b,"),
            ("list:", "further: {}, list:"),
            ("[{b: 1}, c]", "[c, {b: 1}]"),
            ("[{b: 1}, c]", "[{b: 1}, c, null]"),
            ("[{b: 1}, c]", "[[{b: 1}, c]]"),
            ("[{b: 1}, c]", "[{b: '1'}, c]"),
            ("[{b: 1}, c]", "[{b: 1.5}, c]"),
            ("[{b: 1}, c]", "[{b: 1, c: null}]"),
            ("d: {e: null}", "d: null"),
            ("d: {e: null}, f: true", "d: {e: null, f: true}"),
            ("f: true", "f: 'true'"),
        ];
        for (is_equal, edits) in [(true, &equal[..]), (false, &differing[..])] {
            for (part, edited) in edits {
                let live = wanted.replace(part, edited);
                assert_ne!(live, wanted);
                assert_eq!(compared(wanted, &live), (is_equal, !is_equal), "{live}");
            }
        }
        // The server sets parts of these fields: they are compared one by one.
        let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: a}, spec: {finalizers: [x]}}";
        assert_eq!(compared(namespace, namespace), (false, false));
        let account = wanted.replace("list:", "imagePullSecrets: [{name: p}], list:");
        assert_eq!(compared(&account, wanted), (false, true));
    }
}
