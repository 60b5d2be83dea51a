//! Namespaces that a change deletes and creates.
//!
//! A cluster deletes everything in a namespace with it, so that a plan names each Namespace object that goes. A
//! Namespace that moves from one file to another stays.

use std::collections::BTreeMap;

use bailiwick_kubernetes::appliers::Keepers;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::digest::Digest;
use serde::{Deserialize, Serialize};

use super::identity::WrittenIdentity;

/// The Namespace objects that files lose and gain, by name, each with a digest of the objects in it; none without any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceChanges {
    lost: BTreeMap<String, LostNamespace>,
    gained: BTreeMap<String, Option<Digest>>,
}

/// A Namespace object that a file loses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LostNamespace {
    /// The digest of the objects in it; none without any.
    digest: Option<Digest>,
    /// Whether Argo CD keeps the object, by its annotations.
    argocd_keeps: bool,
    /// Whether Flux keeps it.
    flux_keeps: bool,
    /// Whether every applier of the target keeps it.
    stays: bool,
}

/// A namespace that goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletedNamespace<'n> {
    /// The name in `metadata` of the namespace.
    pub name: &'n str,
    /// The new namespace that has the same objects, where there is exactly one.
    pub renamed_to: Option<&'n str>,
}

impl NamespaceChanges {
    /// Compares the old and new objects of a file.
    pub(super) fn compare<'t>(old: &[WrittenIdentity<'t>], new: &[WrittenIdentity<'t>]) -> Self {
        let mut changes = Self::default();
        let lost = namespaces_without(old, new);
        changes.lost.extend(lost.map(|(name, digest)| (name, LostNamespace { digest, ..LostNamespace::default() })));
        changes.gained.extend(namespaces_without(new, old));
        changes
    }

    /// Adds a namespace that goes with a file which cannot be read.
    pub(super) fn lose(&mut self, name: &str) {
        self.lost.insert(name.to_owned(), LostNamespace::default());
    }

    /// Notes the appliers that keep a Namespace object that files lose.
    pub(super) fn note_keepers(&mut self, object: NodeRef<'_>) {
        let name = object.path(&["metadata", "name"]).and_then(NodeRef::as_str);
        if let Some(lost) = name.and_then(|name| self.lost.get_mut(name)) {
            let Keepers { argocd, flux } = Keepers::of_object(object);
            (lost.argocd_keeps, lost.flux_keeps) = (argocd, flux);
        }
    }

    /// Decides which namespaces stay in the cluster: the namespaces that each applier of the target keeps. Without an applier,
    /// none stays.
    pub fn keep_by(&mut self, argocd: bool, flux: bool) {
        for lost in self.lost.values_mut() {
            lost.stays = (argocd || flux) && (!argocd || lost.argocd_keeps) && (!flux || lost.flux_keeps);
        }
    }

    /// Returns the digest of the objects in a namespace if this namespace comes and nothing else changes; none for other changes.
    pub(super) fn gains_only(&self, name: &str) -> Option<Option<Digest>> {
        let is_only = self.lost.is_empty() && self.gained.len() == 1;
        self.gained.get(name).copied().filter(|_| is_only)
    }

    /// Adds a namespace that comes.
    pub(super) fn gain(&mut self, name: &str, digest: Option<Digest>) {
        self.gained.insert(name.to_owned(), digest);
    }

    /// Whether no namespace comes or goes.
    pub(super) fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.gained.is_empty()
    }

    /// Adds the changes of another file.
    pub fn add(&mut self, other: &Self) {
        self.lost.extend(other.lost.iter().map(|(name, lost)| (name.clone(), *lost)));
        self.gained.extend(other.gained.iter().map(|(name, digest)| (name.clone(), *digest)));
    }

    /// Takes back what files lose of which `stays` is true.
    pub fn retain_lost(&mut self, stays: impl Fn(&str) -> bool) {
        self.lost.retain(|name, _| !stays(name));
    }

    /// Returns the names that files lose.
    pub fn lost(&self) -> impl Iterator<Item = &str> {
        self.lost.keys().map(String::as_str)
    }

    /// Returns the namespaces that no file has any more and that the appliers delete, in order of name.
    pub fn deleted(&self) -> impl Iterator<Item = DeletedNamespace<'_>> {
        let mut by_digest: BTreeMap<Digest, Vec<&str>> = BTreeMap::new();
        if !self.lost.is_empty() {
            let is_new = |name: &&String| !self.lost.contains_key(*name);
            for (name, digest) in self.gained.iter().filter(|(name, _)| is_new(name)) {
                digest.iter().for_each(|digest| by_digest.entry(*digest).or_default().push(name));
            }
        }
        self.gone().filter(|(_, lost)| !lost.stays).map(move |(name, lost)| {
            let same = lost.digest.as_ref().and_then(|digest| by_digest.get(digest));
            let renamed_to = same.and_then(|names| if let [only] = names.as_slice() { Some(*only) } else { None });
            DeletedNamespace { name, renamed_to }
        })
    }

    /// Returns the names of the namespaces that no file has any more and that the appliers keep, in order.
    pub fn kept(&self) -> impl Iterator<Item = &str> {
        self.gone().filter(|(_, lost)| lost.stays).map(|(name, _)| name)
    }

    fn gone(&self) -> impl Iterator<Item = (&str, &LostNamespace)> {
        let is_gone = |(name, _): &(&String, &LostNamespace)| !self.gained.contains_key(*name);
        self.lost.iter().filter(is_gone).map(|(name, lost)| (name.as_str(), lost))
    }
}

/// Returns the Namespace objects of a file that the other side of a comparison does not have.
fn namespaces_without<'a>(
    objects: &'a [WrittenIdentity<'_>],
    other: &'a [WrittenIdentity<'_>],
) -> impl Iterator<Item = (String, Option<Digest>)> + 'a {
    let is_gone = |key: &&WrittenIdentity<'_>| key.is_namespace() && !other.contains(key);
    objects.iter().filter(is_gone).map(|key| (key.name.to_owned(), digest(key.name, objects)))
}

/// Returns a digest of the kinds and names of the objects in a namespace, with a hole for the name of the namespace.
/// The digest only decides whether a remark is printed.
fn digest(namespace: &str, objects: &[WrittenIdentity<'_>]) -> Option<Digest> {
    let inside = objects.iter().filter(|key| key.namespace == namespace);
    let mut lines: Vec<String> =
        inside.map(|key| format!("{}\0{}\0{}\n", key.group, key.kind, without_own_name(key.name, namespace))).collect();
    lines.sort_unstable();
    (!lines.is_empty()).then(|| bailiwick_yaml::digest::digest(lines.concat().as_bytes()))
}

/// Returns a name with a hole for the namespace's own name, if it is a whole word of the name.
fn without_own_name(name: &str, own: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    let is_part_of_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    while let Some((before, after)) = rest.split_once(own).filter(|_| !own.is_empty()) {
        text.push_str(before);
        let last = text.chars().next_back().filter(|last| *last != '\0');
        let is_word = !is_part_of_word(last) && !is_part_of_word(after.chars().next());
        text.push_str(if is_word { "\0" } else { own });
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file<'t>(namespace: &'t str, names: &[&'t str]) -> Vec<WrittenIdentity<'t>> {
        let mut keys = vec![WrittenIdentity { group: "", kind: "Namespace", namespace: "", name: namespace }];
        keys.extend(names.iter().map(|name| WrittenIdentity { group: "", kind: "ConfigMap", namespace, name }));
        keys
    }

    fn deleted(old: &[Vec<WrittenIdentity<'_>>], new: &[Vec<WrittenIdentity<'_>>]) -> Vec<(String, Option<String>)> {
        let mut changes = NamespaceChanges::default();
        old.iter().for_each(|old| changes.add(&NamespaceChanges::compare(old, &[])));
        new.iter().for_each(|new| changes.add(&NamespaceChanges::compare(&[], new)));
        let told = |gone: DeletedNamespace<'_>| (gone.name.to_owned(), gone.renamed_to.map(str::to_owned));
        changes.deleted().map(told).collect()
    }

    #[test]
    fn a_rename_has_the_same_objects_under_one_new_name() {
        let old = file("a", &["a-x", "y"]);
        let same = |name: &str| vec![("a".to_owned(), (!name.is_empty()).then(|| name.to_owned()))];
        assert_eq!(deleted(std::slice::from_ref(&old), &[file("b", &["b-x", "y"])]), same("b"));
        assert_eq!(deleted(std::slice::from_ref(&old), &[file("b", &["bx", "y"])]), same(""));
        assert_eq!(deleted(std::slice::from_ref(&old), &[file("b", &["b-x"])]), same(""));
        assert_eq!(
            deleted(std::slice::from_ref(&old), &[file("b", &["b-x", "y"]), file("c", &["c-x", "y"])]),
            same("")
        );
        // It moved to another file.
        assert_eq!(deleted(std::slice::from_ref(&old), std::slice::from_ref(&old)), []);
        // No object shows that the namespaces are equal.
        assert_eq!(deleted(&[file("a", &[])], &[file("b", &[])]), same(""));
    }

    #[test]
    fn the_own_name_is_a_whole_word() {
        for (name, own, expected) in [
            ("a", "a", "\0"),
            ("a-a", "a", "\0-\0"),
            ("aa", "a", "aa"),
            ("bar", "a", "bar"),
            ("x-team-a-y", "team-a", "x-\0-y"),
            ("x-team-ab", "team-a", "x-team-ab"),
        ] {
            assert_eq!(without_own_name(name, own), expected, "{name}");
        }
    }
}
