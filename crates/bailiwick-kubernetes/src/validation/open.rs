//! The values of an object that may differ from tenant to tenant without another verdict.
//!
//! Each module of rules declares the positions that it looks at in a way that a value can be checked by itself, beside the
//! rule and with the rule's own functions (`Position`). An object whose values at such positions are replaced by others
//! that the positions accept is as valid as before. Any other value is read and checked again. A test replaces the values
//! at every position of sample objects and compares the declarations with the rules.

use bailiwick_yaml::NodeRef;

use super::metadata::ANNOTATIONS_SIZE;
use super::{binding, metadata, pod_security, roles};
use crate::readers;

/// The most bytes of a value that is not checked with its object.
pub const LONGEST: usize = 1024;

/// A position whose values a module of rules can check by themselves.
pub(super) struct Position {
    /// The kinds that it is for; every kind if empty.
    pub(super) kinds: &'static [&'static str],
    /// The keys on the way: `[]` stands for any place in a list, and `*` for any key.
    pub(super) path: &'static [&'static str],
    /// Whether it holds for a value, by the last key and by the map or list around the value.
    pub(super) holds: fn(&str, NodeRef<'_>) -> bool,
    /// The values that do not change the verdict.
    pub(super) accepts: Accepts,
}

/// The values that a position accepts.
#[derive(Debug, Clone, Copy)]
pub enum Accepts {
    /// Texts that pass a check.
    Text(fn(&str) -> bool),
    /// Any text, if it is the namespace of the object wherever it was before, and nowhere else.
    Namespace,
    /// A positive number, if both ends of its range stay equal.
    RangeEnd,
}

impl Accepts {
    /// Whether a text is accepted, as far as it does not depend on other values.
    pub fn text(self, text: &str) -> bool {
        match self {
            Accepts::Text(check) => check(text),
            Accepts::Namespace => true,
            Accepts::RangeEnd => false,
        }
    }

    /// Whether a number is accepted, as far as it does not depend on other values. A zero would be left out, and is worth a
    /// warning.
    pub fn number(self, number: i64) -> bool {
        self.is_number() && number > 0
    }

    /// Whether the position is for numbers.
    pub fn is_number(self) -> bool {
        matches!(self, Accepts::RangeEnd)
    }
}

/// A value at a position.
#[derive(Clone, Copy)]
pub struct OpenValue<'t> {
    /// The scalar, map or list at the position.
    pub node: NodeRef<'t>,
    /// The map or list around it.
    pub parent: NodeRef<'t>,
    /// The values that may take its place.
    pub accepts: Accepts,
    /// The first keys on the way.
    pub top: (&'static str, &'static str),
}

impl OpenValue<'_> {
    /// Whether the value is at or below a key of the metadata.
    fn is_in_metadata(&self, key: &str) -> bool {
        self.top == ("metadata", key)
    }
}

/// Returns the values at all positions of an object in stored form, in the order of the object. None if its annotations
/// might become too large with other values.
pub fn values<'t>(kind: &str, root: NodeRef<'t>) -> Option<Vec<OpenValue<'t>>> {
    let lists = [metadata::POSITIONS, binding::POSITIONS, roles::POSITIONS, pod_security::POSITIONS];
    let is_of_kind = |position: &&Position| position.kinds.is_empty() || position.kinds.contains(&kind);
    let mut walk = Walk { positions: lists.into_iter().flatten().filter(is_of_kind).collect(), found: Vec::new() };
    walk.visit(root, root, &mut Vec::new());
    let annotations = walk.found.iter().filter(|value| value.is_in_metadata("annotations")).count();
    let entries = root.path(&["metadata", "annotations"]).into_iter().flat_map(NodeRef::entries);
    let length = |node: NodeRef<'_>| node.as_str().map_or(0, str::len);
    let fixed: usize = entries.map(|(key, value)| length(key) + length(value)).sum();
    (fixed + annotations * LONGEST <= ANNOTATIONS_SIZE).then_some(walk.found)
}

/// Whether a text is made of characters that mean themselves in JSON, in YAML and to every reader, means nothing to an
/// applier, and is so short that no limit for whole objects matters. How it is quoted is decided for each value.
pub fn is_plain_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.is_empty() || bytes.len() > LONGEST {
        return false;
    }
    // Few texts have one of the characters with which a text can mean something to an applier.
    let is_plain = |byte: u8| PLAIN.get(usize::from(byte)).is_some_and(|plain| *plain);
    bytes.iter().fold(true, |fits, &byte| fits & is_plain(byte))
        || (bytes.iter().all(|byte| means_itself(*byte)) && readers::is_plain(text))
}

/// Whether a byte means itself in JSON, in YAML and to every reader.
const fn means_itself(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e) && byte != b'"' && byte != b'\\'
}

/// Whether a byte means itself, and is no part of a text with a meaning to an applier; for each byte.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut rest: &mut [bool] = &mut plain;
    let mut byte = 0;
    while let [first, others @ ..] = rest {
        *first = means_itself(byte) && !readers::is_suspect(byte);
        byte = byte.wrapping_add(1);
        rest = others;
    }
    plain
};

/// A walk over an object.
struct Walk<'t> {
    positions: Vec<&'static Position>,
    found: Vec<OpenValue<'t>>,
}

impl<'t> Walk<'t> {
    fn visit(&mut self, node: NodeRef<'t>, parent: NodeRef<'t>, path: &mut Vec<&'t str>) {
        if !node.is_map() && !node.is_seq() {
            let is_here = |position: &&&Position| {
                let is_step = |(wanted, key): (&&str, &&str)| *wanted == "*" || wanted == key;
                position.path.len() == path.len()
                    && position.path.iter().zip(path.iter()).all(is_step)
                    && path.last().is_some_and(|key| (position.holds)(key, parent))
            };
            if let Some(Position { path: [first, second, ..], accepts, .. }) = self.positions.iter().find(is_here) {
                self.found.push(OpenValue { node, parent, accepts: *accepts, top: (first, second) });
            }
        }
        for item in node.items() {
            path.push("[]");
            self.visit(item, node, path);
            path.pop();
        }
        for (key, value) in node.entries() {
            let Some(key) = key.as_str() else { continue };
            path.push(key);
            self.visit(value, node, path);
            path.pop();
        }
    }
}

/// Whether the map around a value has a word at a key.
pub(super) fn is(parent: NodeRef<'_>, key: &str, word: &str) -> bool {
    parent.get(key).and_then(NodeRef::as_str) == Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::{FileId, Sink};
    use bailiwick_yaml::{self as yaml, NodeValue};

    const OBJECTS: [&str; 8] = [
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels: {team: a, pod-security.kubernetes.io/enforce: baseline}\n  annotations: {note: a, example.kubernetes.io/x: a}\n",
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: a}\n",
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a, namespace: a}\nspec: {hard: {pods: \"1\"}}\n",
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: a}\nspec: {limits: [{type: Pod, max: {cpu: \"1\"}}]}\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a, namespace: a}\nrules: [{apiGroups: [\"\"], resources: [pods], resourceNames: [a], verbs: [get]}]\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a, namespace: a}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}\nsubjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: a}, {kind: Group, apiGroup: rbac.authorization.k8s.io, name: a}, {kind: ServiceAccount, name: a, namespace: b}]\n",
        "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}\nspec: {seLinux: {rule: RunAsAny}, runAsUser: {rule: MustRunAs, ranges: [{min: 7, max: 7}]}, runAsGroup: {rule: MustRunAs, ranges: [{min: 7, max: 7}]}, fsGroup: {rule: MustRunAs, ranges: [{min: 7, max: 7}]}, supplementalGroups: {rule: MustRunAs, ranges: [{min: 7, max: 7}]}, allowedHostPaths: [{pathPrefix: /a}]}\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a, labels: {x: a}}\nrules: [{apiGroups: [\"\"], resources: [pods], resourceNames: [a], verbs: [get]}]\n",
    ];

    /// Values at the border of what some rule refuses.
    const TEXTS: [&str; 24] = [
        "a",
        "a-1",
        "a.b",
        "A",
        "a_b",
        "-a",
        "a-",
        "a/b",
        "a%",
        ".",
        "..",
        "a b",
        "system:masters",
        "system:serviceaccount:a:b",
        "system:serviceaccount:a",
        "/a/../b",
        "/a",
        "a.static.k8s.io",
        "kube-system",
        "baseline",
        "*",
        " ",
        "1",
        "~",
    ];

    fn errors(root: NodeRef<'_>) -> usize {
        let mut errors = Vec::new();
        super::super::check(root, None, 21, &mut errors);
        errors.len()
    }

    #[test]
    fn a_value_that_a_position_accepts_changes_no_verdict() {
        let long = ["a".repeat(63), "a".repeat(64), "a".repeat(253), "a".repeat(254), "a".repeat(LONGEST)];
        let mut refused = 0;
        for text in OBJECTS {
            let tree = yaml::read(text, FileId::default(), &mut Sink::new());
            let root = tree.document(0).expect("an object");
            assert_eq!(errors(root), 0, "{text}");
            let kind = root.get("kind").and_then(NodeRef::as_str).expect("a kind");
            let found = values(kind, root).expect("values");
            assert!(!found.is_empty(), "{text}");
            for value in found {
                for other in TEXTS.into_iter().chain(long.iter().map(String::as_str)) {
                    let mut changed = tree.clone();
                    changed.set_string(value.node.id(), other);
                    let is_accepted = is_plain_text(other) && value.accepts.text(other);
                    let is_valid = errors(changed.document(0).expect("an object")) == 0;
                    assert!(!is_accepted || is_valid, "{other} in {text}");
                    refused += usize::from(!is_accepted);
                }
                for number in [i64::MIN, -1, 0, 1, 6, 7, i64::MAX] {
                    // With the other end of the range: both are one value where they are equal.
                    let mut changed = tree.clone();
                    for end in ["min", "max"].iter().filter_map(|key| value.parent.get(key)) {
                        changed.set(end.id(), NodeValue::Int(number));
                    }
                    let is_valid = errors(changed.document(0).expect("an object")) == 0;
                    assert!(!value.accepts.number(number) || is_valid, "{number} in {text}");
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }

    #[test]
    fn words_with_a_meaning_are_at_no_position() {
        for text in OBJECTS {
            let tree = yaml::read(text, FileId::default(), &mut Sink::new());
            let root = tree.document(0).expect("an object");
            let kind = root.get("kind").and_then(NodeRef::as_str).expect("a kind");
            for value in values(kind, root).expect("values") {
                let is_own = value.node.as_str().is_none_or(|text| matches!(text, "a" | "b" | "/a"));
                assert!(is_own && value.node.as_int().is_none_or(|number| number == 7), "{text}");
            }
        }
    }

    #[test]
    fn annotations_that_may_become_too_large_are_checked_every_time() {
        let text =
            format!("kind: X\nmetadata: {{annotations: {{a: x, b: {}}}}}\n", "x".repeat(ANNOTATIONS_SIZE - LONGEST));
        let tree = yaml::read(&text, FileId::default(), &mut Sink::new());
        assert!(values("X", tree.document(0).expect("an object")).is_none());
    }
}
