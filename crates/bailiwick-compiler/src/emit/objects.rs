//! A file held against its earlier text object by object, without reading again what was read before.
//!
//! [`FilePlan::compare`] reads both texts of a file, which for a hundred thousand files that differ in one line takes
//! longer than to make them. Here the text of a file of ours is cut into its objects. Objects with the same bytes are
//! the same, and the meaning of another change is found once for each shape ([`bailiwick_base::alike`]). A file in another form
//! is read as YAML. Both ways make the same plan.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use bailiwick_base::alike::{Hints, Own, OwnName, Shape, common_prefix, common_suffix};
use bailiwick_kubernetes::rbac;
use bailiwick_yaml::diag::{FileId, Sink};
use bailiwick_yaml::digest::{Digest, digest, digest_of_run};
use bailiwick_yaml::{self as yaml, NodeRef};
use memchr::memmem;

use super::file::{self, FileOwnership};
use super::identity::WrittenIdentity;
use super::namespaces::NamespaceChanges;
use super::plan::{Counts, FileAction, FilePlan, changed_grants, same};
use super::pods::changed_pods;

/// How many meanings of changes a thread remembers.
const MAXIMUM_KNOWN: usize = 1 << 14;

/// A file with what is to be done to it, and the objects that it is done to.
#[derive(Debug)]
pub struct FileChange<'t> {
    /// The differences of the file.
    pub plan: FilePlan,
    /// The objects that differ, in order of their names; none if only a reading as YAML can find them.
    pub objects: Option<Vec<ObjectChange<'t>>>,
    /// The way of the change, common to files that change in the same way.
    pub way: Option<ChangeSignature>,
}

/// An object that differs.
#[derive(Debug, Clone)]
pub struct ObjectChange<'t> {
    /// The kind, such as `RoleBinding`.
    pub kind: &'t str,
    /// The API group; empty for the core group.
    pub group: &'t str,
    /// The namespace; empty for none.
    pub namespace: &'t str,
    /// The name in `metadata`.
    pub name: &'t str,
    /// The text before the change; none for a new object.
    pub old: Option<&'t str>,
    /// Its text after; none for one that goes.
    pub new: Option<&'t str>,
    /// The digest of the shape of the change and of the values of the account in it; none where the change has no shape.
    pub shape: Option<u128>,
    /// The meaning of the change.
    pub facts: Facts,
}

/// The meaning of the change of an object, as far as it is the same for all changes of one shape.
///
/// Each field is found by a comparison of the two texts. Both texts have the values in the holes of a shape, in the same
/// places relative to each other, and two values are equal in one text if they are equal in the other. No kind, group,
/// resource or verb is in a hole. So a comparison has the same result for every object of the shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// True when both texts hold the same data.
    pub is_same: bool,
    /// True when a binding names another role.
    pub changes_role_ref: bool,
    /// The rules that a role gains and loses, as written.
    pub grants: Option<Arc<str>>,
    /// The change in the pods that a policy admits.
    pub pods: Option<Arc<str>>,
    /// True when it may change an access decision.
    pub touches_access: bool,
    /// True when it may change the pods that a PodSecurityPolicy admits.
    pub touches_pods: bool,
}

/// The way in which a file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSignature {
    /// The same in every run for all files that change in this way.
    pub digest: Digest,
    /// How many files of this way the thread has seen before.
    pub seen: usize,
    /// The same within a run for all files that change in this way and have the same values of their accounts.
    pub access_digest: u128,
    /// How many files with the same access digest the thread has seen before.
    pub access_seen: usize,
    /// The name that the file calls its tenant by.
    pub name: String,
    /// The values of the file that other files of this way need not share.
    pub own: Own,
}

impl ChangeSignature {
    /// Returns the way of a file that a part of the run compared.
    pub fn of_part(digest: Digest, name: String, own: Own) -> Self {
        Self { digest, seen: 0, access_digest: digest_of_run(&digest), access_seen: 0, name, own }
    }
}

/// How closely files are held against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The plan for each file, with the number of its objects.
    Plan,
    /// The plan, the objects that differ, and the way of each difference.
    Objects,
}

/// The memories of the threads of a comparison.
#[derive(Debug)]
pub struct Memory {
    depth: Depth,
    threads: Mutex<HashMap<ThreadId, Box<Known>>>,
}

/// The memory of one thread.
#[derive(Debug, Default)]
struct Known {
    facts: HashMap<u128, Option<Facts>>,
    seen: HashMap<u128, usize>,
    shapes: LastingDigests,
    kinds: HashMap<String, Arc<str>>,
}

impl Memory {
    /// Returns an empty memory.
    pub fn new(depth: Depth) -> Self {
        Self { depth, threads: Mutex::default() }
    }

    /// Compares a file's new text, with the kinds of its objects, and its old bytes; one of the two is there. `columns` are the
    /// columns of the account that the file is for, with their values.
    pub fn compare<'t>(
        &self,
        path: &str,
        columns: &[(&str, &str)],
        new: Option<(&'t str, &[Arc<str>])>,
        old: Option<&'t [u8]>,
    ) -> FileChange<'t> {
        let planned = || FileChange { plan: FilePlan::compare(path, new, old), objects: None, way: None };
        if let (Some((text, _)), Some(bytes)) = (new, old)
            && file::differs_in_header_alone(bytes, text)
        {
            return FileChange { objects: Some(Vec::new()), ..planned() };
        }
        // The kinds of a new file decide its plan. Only its way needs the text.
        if self.depth == Depth::Plan && old.is_none() {
            return planned();
        }
        // The memory is the thread's own while it is at work, so that threads do not wait for each other.
        let thread = std::thread::current().id();
        let lock = || self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = lock().remove(&thread).unwrap_or_default();
        let change = known.compare(path, columns, new, old);
        lock().insert(thread, known);
        change.unwrap_or_else(planned)
    }
}

impl Known {
    /// Compares the objects by their texts; none if a text has an unusual form.
    fn compare<'t>(
        &mut self,
        path: &str,
        columns: &[(&str, &str)],
        new: Option<(&'t str, &[Arc<str>])>,
        old: Option<&'t [u8]>,
    ) -> Option<FileChange<'t>> {
        let old = match old {
            // Only what we wrote is written as we write.
            Some(bytes) if file::ownership(path, bytes) == FileOwnership::Ours => {
                Some(std::str::from_utf8(bytes).ok()?)
            }
            Some(_) => return None,
            None => None,
        };
        let kinds = new.map_or(&[][..], |(_, kinds)| kinds);
        let new = new.map(|(text, _)| text);
        let action = match (old, new) {
            (Some(_), Some(_)) => FileAction::Change,
            (None, _) => FileAction::Create,
            (_, None) => FileAction::Delete,
        };
        let (old_head, new_head, pairs) = pairs(old.unwrap_or_default(), new.unwrap_or_default())?;
        let name = own_name(path);
        let mut plan = FilePlan::keep(path, 0);
        plan.action = action;
        plan.ownership = old.map(|_| FileOwnership::Ours);
        plan.namespaces = namespace_changes(&pairs);
        let mut differences = FileDifferences {
            plan,
            objects: Vec::new(),
            shapes: ChangeShapes::new(name.map(|name| Hints::of_name(name).with_columns(columns))),
            unchanged_grants: Vec::new(),
            touches_access: false,
        };
        for pair in pairs {
            let key = pair.key;
            let counts = differences.add(pair, self)?;
            let known = kinds.iter().find(|kind| &***kind == key.kind);
            let kind = known.map_or_else(|| self.kind(key.kind), Arc::clone);
            differences.plan.counts.add(counts);
            differences.plan.by_kind.entry(kind).or_default().add(counts);
        }
        differences.add_unchanged_grants(&mut self.shapes);
        let FileDifferences { plan, objects, mut shapes, .. } = differences;
        if old_head != new_head || action != FileAction::Change {
            shapes.add(shapes.split(old.map(|_| old_head), new.map(|_| new_head)), &mut self.shapes);
        }
        let way = name.filter(|_| shapes.is_complete).map(|name| self.way(name, action, shapes.shapes));
        Some(FileChange { plan, objects: Some(objects), way })
    }

    /// Returns the meaning of the change of an object; none if a text is not the object that its head names.
    fn facts(
        &mut self,
        shape: Option<u128>,
        key: WrittenIdentity<'_>,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Option<Facts> {
        let Some(shape) = shape else { return facts(key, old, new) };
        if let Some(known) = self.facts.get(&shape) {
            return known.clone();
        }
        if self.facts.len() >= MAXIMUM_KNOWN {
            self.facts.clear();
        }
        let found = facts(key, old, new);
        self.facts.insert(shape, found.clone());
        found
    }

    fn kind(&mut self, kind: &str) -> Arc<str> {
        if let Some(known) = self.kinds.get(kind) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = kind.into();
        self.kinds.insert(kind.to_owned(), Arc::clone(&shared));
        shared
    }

    /// Returns the way of a file whose objects change in these shapes.
    fn way(&mut self, name: OwnName<'_>, action: FileAction, mut shapes: Vec<(Digest, Own)>) -> ChangeSignature {
        // The order of the objects follows from their names. The order of the digests is the same in every run.
        shapes.sort_by_key(|(digest, _)| *digest);
        let mut text = vec![action as u8];
        let mut own = Own::default();
        for (digest, of_object) in shapes {
            text.extend_from_slice(&digest);
            // Equal values count across the whole file.
            own.append(of_object, &mut text);
        }
        let digest = digest(&text);
        let of_run = digest_of_run(&digest);
        let access_digest = with_columns(of_run, &own);
        let seen = self.count(of_run);
        let access_seen = if access_digest == of_run { seen } else { self.count(access_digest) };
        ChangeSignature { digest, seen, access_digest, access_seen, name: name.name().to_owned(), own }
    }

    /// Counts a file, and returns how many files with the digest were counted before.
    fn count(&mut self, digest: u128) -> usize {
        let seen = self.seen.entry(digest).or_default();
        *seen += 1;
        *seen - 1
    }
}

/// The differences of a file, while its objects are compared.
struct FileDifferences<'t, 'h> {
    plan: FilePlan,
    objects: Vec<ObjectChange<'t>>,
    shapes: ChangeShapes<'h>,
    unchanged_grants: Vec<&'t str>,
    touches_access: bool,
}

impl<'t> FileDifferences<'t, '_> {
    /// Adds an object of both texts or of one, and returns its counts; none if a text is not the object that its head
    /// names.
    fn add(&mut self, pair: Pair<'t>, known: &mut Known) -> Option<Counts> {
        let Pair { key, old, new } = pair;
        let unchanged = Counts { unchanged: 1, ..Counts::default() };
        if old == new {
            self.unchanged_grants.extend(old.filter(|_| key.group == rbac::GROUP));
            return Some(unchanged);
        }
        let shape = self.shapes.split(old, new);
        let digest = shape.as_ref().map(|change| with_columns(change.digest, &change.own));
        let facts = known.facts(digest, key, old, new)?;
        self.touches_access |= facts.touches_access;
        let counts = match (old, new) {
            (Some(_), Some(_)) if facts.is_same => unchanged,
            (Some(_), Some(_)) if facts.changes_role_ref => {
                self.plan.changed_role_refs.push(key.to_string());
                Counts { created: 1, deleted: 1, ..Counts::default() }
            }
            (Some(_), Some(_)) => Counts { changed: 1, ..Counts::default() },
            (None, _) => Counts { created: 1, ..Counts::default() },
            (_, None) => Counts { deleted: 1, ..Counts::default() },
        };
        self.plan.changed_roles.extend(facts.grants.as_ref().map(|change| format!("{key} {change}")));
        self.plan.changed_pods.extend(facts.pods.as_ref().map(|change| format!("{key} {change}")));
        let WrittenIdentity { group, kind, namespace, name } = key;
        self.objects.push(ObjectChange { kind, group, namespace, name, old, new, shape: digest, facts });
        self.shapes.add(shape, &mut known.shapes);
        Some(counts)
    }

    /// Adds the shapes of the unchanged roles and bindings if another changes: the grant of each depends on the others.
    fn add_unchanged_grants(&mut self, lasting: &mut LastingDigests) {
        if self.touches_access {
            for text in std::mem::take(&mut self.unchanged_grants) {
                let shape = self.shapes.split(Some(text), Some(text));
                self.shapes.shapes.extend(shape.map(|change| change.with_lasting_digest(lasting)));
            }
        }
    }
}

/// The shapes of the changes of a file.
struct ChangeShapes<'h> {
    hints: Option<Hints<'h>>,
    /// The lasting digest of each shape, and the values in its holes.
    shapes: Vec<(Digest, Own)>,
    /// Whether every change has a shape.
    is_complete: bool,
}

impl<'h> ChangeShapes<'h> {
    fn new(hints: Option<Hints<'h>>) -> Self {
        Self { hints, shapes: Vec::new(), is_complete: true }
    }

    /// Returns the shape of a change, and the values in its holes.
    fn split(&self, old: Option<&str>, new: Option<&str>) -> Option<SplitChange> {
        let (shape, values) = Shape::split_change(old, new, self.hints.as_ref()?)?;
        Some(SplitChange { digest: shape.digest(), shape, own: values.own })
    }

    /// Adds the shape of a change, or notes that a change has none.
    fn add(&mut self, change: Option<SplitChange>, lasting: &mut LastingDigests) {
        match change {
            Some(change) => self.shapes.push(change.with_lasting_digest(lasting)),
            None => self.is_complete = false,
        }
    }
}

/// The shape of the change of an object, and the values in its holes.
struct SplitChange {
    shape: Shape,
    /// The digest of the shape within the run.
    digest: u128,
    own: Own,
}

impl SplitChange {
    fn with_lasting_digest(self, known: &mut LastingDigests) -> (Digest, Own) {
        let Self { shape, digest, own } = self;
        if known.0.len() >= MAXIMUM_KNOWN {
            known.0.clear();
        }
        let lasting = *known.0.entry(digest).or_insert_with(|| shape.lasting_digest(&own));
        (lasting, own)
    }
}

/// The digests of shapes that are the same in every run, by the digests of this run: few shapes have many changes, and the
/// digest of this run takes less time.
#[derive(Debug, Default)]
struct LastingDigests(HashMap<u128, Digest>);

/// Returns the Namespace objects that a file loses and gains.
fn namespace_changes(pairs: &[Pair<'_>]) -> NamespaceChanges {
    if !pairs.iter().any(|pair| pair.key.is_namespace() && (pair.old.is_none() || pair.new.is_none())) {
        return NamespaceChanges::default();
    }
    let keys = |is_there: fn(&Pair<'_>) -> bool| {
        pairs.iter().filter(|pair| is_there(pair)).map(|pair| pair.key).collect::<Vec<_>>()
    };
    let mut changes = NamespaceChanges::compare(&keys(|pair| pair.old.is_some()), &keys(|pair| pair.new.is_some()));
    for old in pairs.iter().filter(|pair| pair.key.is_namespace() && pair.new.is_none()).filter_map(|pair| pair.old) {
        let tree = yaml::read(old, FileId::default(), &mut Sink::new());
        tree.documents().for_each(|object| changes.note_keepers(object));
    }
    changes
}

/// Returns the digest of the texts of a shape that have the same values of the account.
fn with_columns(digest: u128, own: &Own) -> u128 {
    if own.columns.is_empty() { digest } else { digest_of_run(&(digest, &own.columns)) }
}

/// Returns the name that the file at a path below the target's folder calls its tenant by; none for a file of no namespace.
fn own_name(path: &str) -> Option<OwnName<'_>> {
    OwnName::new(file::namespace(path)?)
}

/// Whether the shape of a change of the file at a path may have a hole where a text stands.
pub fn leaves_open(path: &str, text: &str) -> bool {
    own_name(path).is_none_or(|own| Shape::split_message(text, &Hints::of_name(own)).0.has_holes())
}

/// Returns the objects of a group in a text of ours; none where it is not as we write.
pub fn of_group<'t>(text: &'t str, group: &str) -> Option<Vec<&'t str>> {
    let (_, body) = parts(text)?;
    Some(objects(body)?.into_iter().filter(|(key, _)| key.group == group).map(|(_, text)| text).collect())
}

/// Returns the objects in a text of ours; none where it is not as we write.
pub(super) fn keys(text: &str) -> Option<Vec<WrittenIdentity<'_>>> {
    let (_, body) = parts(text)?;
    Some(objects(body)?.into_iter().map(|(key, _)| key).collect())
}

/// An object with its text.
type Object<'t> = (WrittenIdentity<'t>, &'t str);

/// An object with its text before and after.
struct Pair<'t> {
    key: WrittenIdentity<'t>,
    old: Option<&'t str>,
    new: Option<&'t str>,
}

/// The line between two objects.
const SEPARATOR: &str = "---\n";

/// Returns the headers of two texts of ours and the objects of both by their names; none where one is not as we write,
/// or a name is there twice.
fn pairs<'t>(old: &'t str, new: &'t str) -> Option<(&'t str, &'t str, Vec<Pair<'t>>)> {
    let ((old_head, old), (new_head, new)) = (parts(old)?, parts(new)?);
    let mut new_objects = objects(new)?;
    // Objects that lie in what both texts begin or end with, separators included, are in both.
    let mut common = common_prefix(old.as_bytes(), new.as_bytes());
    let mut first = 0;
    let mut start = 0;
    while let Some((_, text)) = new_objects.get(first)
        && start + text.len() + SEPARATOR.len() <= common
    {
        start += text.len() + SEPARATOR.len();
        first += 1;
    }
    let old_rest = old.get(start..)?;
    common = common_suffix(old_rest.as_bytes(), new.get(start..)?.as_bytes());
    let mut last = new_objects.len();
    let mut end = 0;
    while let Some((_, text)) = last.checked_sub(1).filter(|last| *last > first).and_then(|last| new_objects.get(last))
        // And the line feed before it.
        && end + text.len() + SEPARATOR.len() < common
    {
        end += text.len() + SEPARATOR.len();
        last -= 1;
    }
    let mut old_objects = new_objects.get(..first)?.to_vec();
    old_objects.extend(objects(old_rest.get(..old_rest.len() - end)?)?);
    old_objects.extend(new_objects.get(last..)?);
    Some((old_head, new_head, merged(&mut old_objects, &mut new_objects)?))
}

/// Splits a text of ours, or none, into its header and its objects.
fn parts(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() { Some(("", "")) } else { file::parts(text) }
}

/// Returns the objects that stand below a header.
fn objects(body: &str) -> Option<Vec<Object<'_>>> {
    let mut objects = Vec::new();
    let mut rest = body;
    // Such a line begins a document wherever it stands.
    while let Some(end) = memmem::find(rest.as_bytes(), b"\n---\n") {
        let object = rest.get(..end + 1)?;
        objects.push((key_of(object)?, object));
        rest = rest.get(end + 1 + SEPARATOR.len()..)?;
    }
    if !rest.is_empty() || !objects.is_empty() {
        objects.push((key_of(rest)?, rest));
    }
    Some(objects)
}

/// Reads off which object a text is.
fn key_of(object: &str) -> Option<WrittenIdentity<'_>> {
    let mut lines = object.lines();
    let api_version = unquoted(lines.next()?.strip_prefix("apiVersion: ")?)?;
    let kind = unquoted(lines.next()?.strip_prefix("kind: ")?)?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let mut key = WrittenIdentity { group, kind, namespace: "", name: "" };
    if lines.next()? != "metadata:" {
        return None;
    }
    for line in lines.take_while(|line| line.starts_with("  ")) {
        if let Some(name) = line.strip_prefix("  name: ") {
            key.name = unquoted(name)?;
        } else if let Some(namespace) = line.strip_prefix("  namespace: ") {
            key.namespace = unquoted(namespace)?;
        }
    }
    (!key.name.is_empty()).then_some(key)
}

/// Returns a scalar without its quotes; none where more has to be taken away than those.
fn unquoted(scalar: &str) -> Option<&str> {
    let inside = match scalar.as_bytes().first()? {
        quote @ (b'"' | b'\'') => scalar.strip_prefix(char::from(*quote))?.strip_suffix(char::from(*quote))?,
        _ => scalar,
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':' | b'/' | b'@');
    inside.bytes().all(is_plain).then_some(inside)
}

/// Returns the objects of both texts by their names, each with its text before and after; none where a name is there twice.
fn merged<'t>(old: &mut [Object<'t>], new: &mut [Object<'t>]) -> Option<Vec<Pair<'t>>> {
    old.sort_unstable();
    new.sort_unstable();
    let is_unique = |objects: &[Object<'_>]| objects.windows(2).all(|pair| !matches!(pair, [a, b] if a.0 == b.0));
    if !is_unique(old) || !is_unique(new) {
        return None;
    }
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    let mut pairs = Vec::with_capacity(old.len().max(new.len()));
    loop {
        let key = match (old.peek(), new.peek()) {
            (Some((old, _)), Some((new, _))) => *old.min(new),
            (Some((key, _)), None) | (None, Some((key, _))) => *key,
            (None, None) => return Some(pairs),
        };
        let old = old.next_if(|(other, _)| *other == key).map(|(_, text)| *text);
        let new = new.next_if(|(other, _)| *other == key).map(|(_, text)| *text);
        pairs.push(Pair { key, old, new });
    }
}

/// Returns the meaning of the change of an object; none if a text is not the one object that its head names.
fn facts(key: WrittenIdentity<'_>, old: Option<&str>, new: Option<&str>) -> Option<Facts> {
    let read = |text: &str| {
        let mut sink = Sink::new();
        let tree = yaml::read(text, FileId::default(), &mut sink);
        (sink.is_empty() && tree.documents().count() == 1).then_some(tree)
    };
    let decides = key.group == rbac::GROUP;
    let is_policy = key.kind == "PodSecurityPolicy";
    let (Some(old), Some(new)) = (old, new) else {
        let tree = read(old.or(new)?)?;
        let is_it = tree.document(0).is_some_and(|root| WrittenIdentity::of(root) == key);
        return is_it.then(|| Facts { touches_access: decides, touches_pods: is_policy, ..Facts::default() });
    };
    let (old, new) = (read(old)?, read(new)?);
    let (old, new) = (old.document(0)?, new.document(0)?);
    if WrittenIdentity::of(old) != key || WrittenIdentity::of(new) != key {
        return None;
    }
    let differs = |keys: &[&str]| match (old.path(keys), new.path(keys)) {
        (Some(old), Some(new)) => !same(new, old),
        (None, None) => false,
        _ => true,
    };
    let is_same = same(new, old);
    let role_ref = |object: NodeRef<'_>| object.get("roleRef").map(yaml::schema::to_json);
    Some(Facts {
        is_same,
        changes_role_ref: !is_same && role_ref(new) != role_ref(old),
        grants: if is_same { None } else { changed_grants(new, old).map(Into::into) },
        pods: if is_same { None } else { changed_pods(new, old).map(Into::into) },
        // The fields of roles and bindings that `access` reads.
        touches_access: decides
            && (["rules", "aggregationRule", "subjects", "roleRef"].iter().any(|key| differs(&[key]))
                || (key.kind == "ClusterRole" && differs(&["metadata", "labels"]))),
        touches_pods: is_policy && (differs(&["spec"]) || differs(&["metadata", "annotations"])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::file::assemble;

    /// The objects of a tenant, each in some of the forms that it might have.
    fn forms(name: &str) -> Vec<Vec<String>> {
        let meta = |name: &str| format!("metadata:\n  name: {name}\n  namespace: {name}\n");
        let role = |labels: &str, verb: &str| {
            format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n{labels}  name: {name}\n  namespace: {name}\n\
                 rules:\n- apiGroups:\n  - \"\"\n  resources:\n  - pods\n  verbs:\n  - {verb}\n"
            )
        };
        let binding = |role: &str, subject: &str| {
            format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n{}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: {role}\nsubjects:\n- kind: User\n  name: {subject}\n",
                meta(name)
            )
        };
        let quota = |pods: &str| {
            format!("apiVersion: v1\nkind: ResourceQuota\n{}spec:\n  hard:\n    pods: {pods}\n", meta(name))
        };
        let number = 5000 + name.len();
        let psp = |extra: &str, uid: usize| {
            format!(
                "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata:\n  name: {name}\nspec:\n{extra}  max: {uid}\n  min: {uid}\n"
            )
        };
        vec![
            vec![
                String::new(),
                role("", "get"),
                role("", "delete"),
                role("  labels:\n    a: b\n", "get"),
                // The same data, written otherwise.
                role("", "\"get\""),
            ],
            vec![String::new(), binding(name, name), binding("other", name), binding(name, "other")],
            vec![String::new(), quota("\"10\""), quota("10"), quota("\"5000\"")],
            vec![String::new(), psp("", number), psp("  privileged: true\n", number), psp("", 6000)],
        ]
    }

    /// A file of ours with one form of each object.
    fn text(name: &str, mut choice: usize) -> Option<String> {
        let mut objects = Vec::new();
        for forms in forms(name) {
            objects.extend(forms.get(choice % forms.len()).filter(|text| !text.is_empty()).cloned());
            choice /= forms.len();
        }
        (!objects.is_empty()).then(|| assemble(&objects.join("---\n")))
    }

    fn kinds(text: &str) -> Vec<Arc<str>> {
        text.lines().filter_map(|line| line.strip_prefix("kind: ")).map(Into::into).collect()
    }

    #[test]
    fn the_short_way_comes_to_the_same_plan_as_the_long_one() {
        let (memory, plans) = (Memory::new(Depth::Objects), Memory::new(Depth::Plan));
        let mut ways: HashMap<Digest, String> = HashMap::new();
        let mut folded = 0;
        for name in ["team-ada", "team-bobby", "team-cy", "view"] {
            let path = format!("namespaces/{name}.yaml");
            for old_choice in 0..320 {
                for step in [1, 5, 7, 20, 80, 160, 319] {
                    let new_choice = (old_choice + step) % 320;
                    let (old, new) = (text(name, old_choice), text(name, new_choice));
                    let kinds = new.as_deref().map(kinds).unwrap_or_default();
                    let new = new.as_deref().map(|new| (new, kinds.as_slice()));
                    let old = old.as_deref().map(str::as_bytes);
                    if old.is_none() && new.is_none() {
                        continue;
                    }
                    let change = memory.compare(&path, &[], new, old);
                    let long = FilePlan::compare(&path, new, old);
                    assert_eq!(format!("{:?}", change.plan), format!("{long:?}"));
                    assert_eq!(format!("{:?}", plans.compare(&path, &[], new, old).plan), format!("{long:?}"));
                    assert!(change.objects.is_some(), "the short way was taken");
                    let Some(way) = change.way else {
                        assert_eq!(name, "view");
                        continue;
                    };
                    // One way is one change of the same objects of any tenant.
                    let substance = substance(name, old_choice, new_choice);
                    match ways.get(&way.digest) {
                        Some(known) => {
                            assert_eq!(*known, substance);
                            folded += 1;
                        }
                        None => _ = ways.insert(way.digest, substance),
                    }
                }
            }
        }
        assert!(folded > 2000, "{folded} of {} ways", ways.len());
    }

    /// Returns the substance of a change: the objects that differ, before and after, without the name of the tenant. If rules
    /// or subjects differ, all roles and bindings are included.
    fn substance(name: &str, mut old: usize, mut new: usize) -> String {
        let forms = forms(name);
        let mut chosen = Vec::new();
        for forms in &forms {
            chosen.push((&forms[old % forms.len()], &forms[new % forms.len()]));
            (old, new) = (old / forms.len(), new / forms.len());
        }
        let rules = |text: &str| text.split("rules:\n").nth(1).map(|rules| rules.replace('"', ""));
        let (roles, bindings) = (chosen[0], chosen[1]);
        let touches_access = rules(roles.0) != rules(roles.1) || bindings.0 != bindings.1;
        let number = (5000 + name.len()).to_string();
        let of = |text: &str| {
            // A number that comes or goes stays what it is.
            let stays = chosen[3].0.contains(&number) == chosen[3].1.contains(&number)
                || chosen[3].0.is_empty()
                || chosen[3].1.is_empty();
            let text = text.replace(name, "NAME");
            if stays { text.replace(&number, "NUMBER") } else { text }
        };
        let told = |(index, (old, new)): (usize, &(&String, &String))| {
            let counts = old != new || (touches_access && index < 2);
            counts.then(|| format!("{index}: {} -> {}", of(old), of(new)))
        };
        chosen.iter().enumerate().filter_map(told).collect()
    }

    #[test]
    fn what_is_not_written_as_we_write_goes_the_long_way() {
        let name = "team-ada";
        let path = "namespaces/team-ada.yaml";
        let new = text(name, 1 + 5).expect("a text");
        let kinds = kinds(&new);
        let role = forms(name).swap_remove(0).swap_remove(1);
        let list =
            format!("apiVersion: v1\nkind: List\nmetadata: {{}}\nitems:\n- {}\n", role.trim().replace('\n', "\n  "));
        let bodies = [
            format!("{role}---\n{role}"),
            role.replace("kind: Role\n", "kind: Role # a role\n"),
            format!("{role}...\n---\n# nothing\n"),
            format!("{role}--- {{kind: X}}\n"),
            list,
            "- a\n- b\n".to_owned(),
            // Another name by sight than to a reader.
            role.replace("  namespace", "  labels: {a: b,\n  name: other\n    }\n  namespace"),
            role.replace("  name: team-ada\n", "  name: other\n")
                .replace("  namespace", "  labels: {a: b,\n  name: team-ada\n    }\n  namespace"),
        ];
        let mut olds: Vec<String> = bodies.iter().map(|body| assemble(body)).collect();
        olds.push("kind: Foreign\n".to_owned());
        for old in olds {
            let change = Memory::new(Depth::Objects).compare(path, &[], Some((&new, &kinds)), Some(old.as_bytes()));
            let long = FilePlan::compare(path, Some((&new, &kinds)), Some(old.as_bytes()));
            assert_eq!(format!("{:?}", change.plan), format!("{long:?}"), "{old}");
            assert!(change.objects.is_none() && change.way.is_none(), "{old}");
        }
    }
}
