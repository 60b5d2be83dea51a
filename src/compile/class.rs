//! Classes of tenants: what differs in nothing but scalars is rendered, checked and written once.
//!
//! Most tenants of a list differ in a name, a number and what is made of them. For such a class two stand-in accounts
//! go the whole way ([`standin`]). Where every template only prints what differs ([`Renderer::prints_open`]), and every
//! value that differs stands where it can be checked by itself ([`open`]), the text of the first is cut at the values that
//! differ, and an account of the class gets its file by filling them in, each one composed, checked and quoted anew.
//!
//! Whatever cannot be proven takes the general path, and so does an account with a value that some check refuses: the
//! general path reports why. The bytes are the same on both, which `--no-classes` and the tests compare.
//!
//! An account's class is decided by the values that something else than printing depends on: those that are missing,
//! empty, zero, true or false, maps, and those of columns for which alone no class can be made. Where a cluster labels
//! namespaces by what their service accounts may use, the labels it would write decide as well.
//!
//! [`Renderer::prints_open`]: crate::render::Renderer::prints_open

mod pattern;
mod standin;

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;

pub(in crate::compile) use self::pattern::{Filled, Patterns};
pub(in crate::compile) use self::standin::StandIns;
use self::standin::{Composed, Piece};
use crate::diag::Origin;
use crate::emit::file;
use crate::expand;
use crate::k8s::rbac::SameRules;
use crate::k8s::validation::open::{self, Accepts, OpenValue};
use crate::label::Filling;
use crate::model::{Account, AccountValue, ObjectType, Unit};
use crate::validate::HomeFacts;
use crate::yaml::{self, Blank, Cut, NodeId, NodeRef, ReadBack, Tree};

/// The values of the first account that differ, each with its scalar, and the same values of the second account.
type Differing<'t> = (Vec<(NodeId, usize)>, Vec<NodeRef<'t>>);

/// Columns of an account list, by their numbers.
pub(super) type Columns = BTreeSet<usize>;

/// Room for a value, in bytes.
const TYPICAL_VALUE: usize = 32;

/// How many bytes a value of an account has at most in a rendered text of its class: each may be escaped there.
pub(super) const LONGEST_WRITTEN: usize = 6 * open::LONGEST;

/// The number of accounts of a class that take the general path first. The first account reports the diagnostics that are
/// reported once for a class ([`HomeFacts::is_told_once`]), and classes of few members are not worth it. Accounts with an
/// error do not count: the references of an invalid object are not checked.
const FIRST_STAMPED: u8 = 3;

/// Most classes of one policy: what differs more than that is no class.
const MOST_CLASSES: usize = 1_000;

/// How often it is tried which columns decide a class of one policy, once for each column: what is left takes the general
/// path, so that many columns take no longer than some.
const MOST_TRIES: usize = 300;

/// The classes that one thread knows, by the number of their policy.
#[derive(Default)]
pub(super) struct Classes {
    policies: HashMap<usize, OfPolicy>,
    /// The policy of the last account, if that account counts.
    counted: Option<usize>,
}

/// The classes of one policy.
#[derive(Default)]
struct OfPolicy {
    /// Columns whose values decide the class.
    fixed: Columns,
    /// Whether nothing of the policy can be stamped.
    is_barren: bool,
    tries: usize,
    known: HashMap<Box<[u8]>, State>,
    key: Vec<u8>,
}

enum State {
    /// So many accounts of it took the general path.
    Seen(u8),
    Made(Arc<Class>),
}

impl Classes {
    /// Returns the class of an account of a policy; none for an account that takes the general path. `make` makes a class
    /// whose members differ in some columns.
    pub(super) fn of(
        &mut self,
        policy: usize,
        account: Account<'_>,
        filling: Option<&Filling>,
        make: &mut dyn FnMut(&Columns) -> Option<Class>,
    ) -> Option<Arc<Class>> {
        self.counted = None;
        let of_policy = self.policies.entry(policy).or_default();
        if of_policy.is_barren {
            return None;
        }
        key((account, filling), &of_policy.fixed, &mut of_policy.key);
        let has_room = of_policy.known.len() < MOST_CLASSES;
        match of_policy.known.get_mut(&*of_policy.key) {
            Some(State::Made(class)) => return Some(Arc::clone(class)),
            Some(State::Seen(FIRST_STAMPED)) => {}
            Some(State::Seen(count)) => {
                *count += 1;
                self.counted = Some(policy);
                return None;
            }
            None => {
                if has_room {
                    of_policy.known.insert(of_policy.key.as_slice().into(), State::Seen(1));
                    self.counted = Some(policy);
                }
                return None;
            }
        }
        let values = account.values().enumerate();
        let is_free = |column: usize, value| is_open(value) && !of_policy.fixed.contains(&column);
        let columns: Columns =
            values.filter(|(column, value)| is_free(*column, *value)).map(|(column, _)| column).collect();
        if let Some(class) = make(&columns) {
            let class = Arc::new(class);
            of_policy.known.insert(of_policy.key.as_slice().into(), State::Made(Arc::clone(&class)));
            return Some(class);
        }
        // A column decides the class if there is none even where the members differ in that column alone.
        let decide: Columns =
            columns.iter().copied().filter(|column| make(&Columns::from([*column])).is_none()).collect();
        of_policy.tries += columns.len();
        of_policy.is_barren = decide.is_empty() || decide.len() == columns.len() || of_policy.tries > MOST_TRIES;
        of_policy.fixed.extend(decide);
        of_policy.known.clear();
        None
    }

    /// Takes the last account out of the count, because it has an error.
    pub(super) fn discount_last(&mut self) {
        let Some(of_policy) = self.counted.take().and_then(|policy| self.policies.get_mut(&policy)) else { return };
        if let Some(State::Seen(count)) = of_policy.known.get_mut(&*of_policy.key) {
            *count -= 1;
        }
    }
}

/// Writes the bytes that decide the class of an account: its values, and the labels of its namespace.
fn key((account, filling): (Account<'_>, Option<&Filling>), fixed: &Columns, key: &mut Vec<u8>) {
    key.clear();
    filling.into_iter().for_each(|filling| filling.write_bytes(key));
    for (column, value) in account.values().enumerate() {
        match value {
            AccountValue::Null => key.push(0),
            value if is_open(value) && !fixed.contains(&column) => {
                key.push(if matches!(value, AccountValue::Int(_)) { 1 } else { 2 });
            }
            value => {
                key.push(3);
                let mut text = String::new();
                value.write_json(&mut text);
                key.extend_from_slice(&text.len().to_le_bytes());
                key.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Whether a value counts as true wherever it stands and whatever it is.
fn is_open(value: AccountValue<'_>) -> bool {
    match value {
        AccountValue::Text(text) => !text.is_empty(),
        AccountValue::Int(number) => number != 0,
        _ => false,
    }
}

/// A file whose scalars are still open.
#[derive(Debug)]
pub(super) struct Class {
    /// The objects, by scope, rank and kind; those of one kind in any order.
    objects: Vec<Object>,
    scalars: Vec<Scalar>,
    /// The scalar with the name of the namespace.
    namespace: usize,
    /// Namespaces that the account's own may not be.
    other_namespaces: Vec<String>,
    /// How many bytes a file has at least, about.
    length: usize,
    kinds: Arc<[Arc<str>]>,
    origins: Arc<[Origin]>,
}

/// An object of a class.
#[derive(Debug)]
struct Object {
    /// The number of the scalar with its name.
    name: usize,
    /// Its place among the kinds: names decide the order of the objects of one kind.
    rank: usize,
    origin: Origin,
    content: Origin,
    /// Its type, where other files may hold one of its name.
    cluster: Option<ObjectType>,
    /// Its text without the values that differ.
    cut: Cut,
    /// The object as a tree without them.
    blank: Blank,
    /// The number of the scalar in each of its holes.
    holes: Vec<usize>,
    /// For a role whose rules are the same for all.
    same_rules: Option<SameRules>,
}

/// A name, or a value that differs, and the values that its positions accept.
#[derive(Debug)]
struct Scalar {
    composed: Composed,
    accepts: Vec<Accepts>,
}

/// Buffers that one thread uses again for every file.
#[derive(Default)]
pub(super) struct Scratch {
    /// The scalars of an account, one after the other, with their ends.
    texts: String,
    ends: Vec<usize>,
    /// The same as they are written, quotes and all.
    written: String,
    written_ends: Vec<usize>,
    order: Vec<usize>,
}

impl Scratch {
    fn text(&self, scalar: usize) -> Option<&str> {
        part(&self.texts, &self.ends, scalar)
    }
}

impl Class {
    /// Makes the values of an account and settles the order of its objects; none when some value needs a closer look.
    pub(super) fn fill(&self, account: Account<'_>, namespace: &str, scratch: &mut Scratch) -> Option<()> {
        if account.values().any(|value| matches!(value, AccountValue::Text(text) if text.len() > open::LONGEST)) {
            return None;
        }
        self.compose(account, scratch)?;
        let is_fine = self.scalars.iter().enumerate().all(|(index, scalar)| {
            let text = scratch.text(index).unwrap_or_default();
            scalar.accepts.iter().all(|accepts| match (&scalar.composed, accepts) {
                (Composed::Number(column), accepts) => number(account, *column).is_some_and(|it| accepts.number(it)),
                (Composed::Text(_), Accepts::Namespace) => text != namespace,
                (Composed::Text(_), accepts) => accepts.text(text),
            })
        });
        let is_own =
            scratch.text(self.namespace)? == namespace && !self.other_namespaces.iter().any(|it| it == namespace);
        if !is_fine || !is_own {
            return None;
        }
        let mut order = std::mem::take(&mut scratch.order);
        order.clear();
        order.extend(0..self.objects.len());
        let is_sorted = self.sort(&mut order, scratch);
        scratch.order = order;
        is_sorted
    }

    /// Puts the objects of each kind in the order of their names; none where two have one name.
    fn sort(&self, order: &mut [usize], scratch: &Scratch) -> Option<()> {
        let key = |index: &usize| self.objects.get(*index).map(|object| (object.rank, scratch.text(object.name)));
        order.sort_by(|left, right| key(left).cmp(&key(right)));
        order.is_sorted_by(|left, right| key(left) < key(right)).then_some(())
    }

    /// Returns the whole file of the account whose values were made last.
    pub(super) fn text(&self, scratch: &Scratch) -> String {
        let mut text = String::with_capacity(file::HEADER.len() + self.length + scratch.written.len());
        text.push_str(file::HEADER);
        for (position, object) in self.ordered(scratch).enumerate() {
            if position > 0 {
                text.push_str(yaml::write::SEPARATOR);
            }
            object.cut.fill(&mut text, |hole, text| {
                let scalar = object.holes.get(hole).copied().unwrap_or(usize::MAX);
                text.push_str(part(&scratch.written, &scratch.written_ends, scalar).unwrap_or_default());
            });
        }
        text
    }

    fn ordered<'c>(&'c self, scratch: &'c Scratch) -> impl Iterator<Item = &'c Object> {
        scratch.order.iter().filter_map(|index| self.objects.get(*index))
    }

    /// Returns the kinds of the objects, in the order of their file.
    pub(super) fn kinds(&self) -> Arc<[Arc<str>]> {
        Arc::clone(&self.kinds)
    }

    /// Returns the places of their contents, for the account whose values were made last.
    pub(super) fn origins(&self, scratch: &Scratch) -> Arc<[Origin]> {
        match scratch.order.is_sorted() {
            true => Arc::clone(&self.origins),
            false => self.ordered(scratch).map(|object| object.content).collect(),
        }
    }

    /// Returns the names that other files may hold as well, for the account whose values were made last.
    pub(super) fn facts(&self, scratch: &Scratch) -> HomeFacts {
        let cluster = self
            .ordered(scratch)
            .filter_map(|object| Some((object.cluster.clone()?, scratch.text(object.name)?.into(), object.origin)));
        HomeFacts::of_cluster_objects(cluster.collect())
    }

    /// Makes the texts of every scalar, as they are and as they are written.
    fn compose(&self, account: Account<'_>, scratch: &mut Scratch) -> Option<()> {
        let Scratch { texts, ends, written, written_ends, .. } = scratch;
        texts.clear();
        ends.clear();
        written.clear();
        written_ends.clear();
        for scalar in &self.scalars {
            let start = texts.len();
            match &scalar.composed {
                Composed::Number(column) => {
                    account.value(*column).write_json(texts);
                    written.push_str(texts.get(start..)?);
                }
                Composed::Text(pieces) => {
                    for piece in pieces {
                        match piece {
                            Piece::Text(text) => texts.push_str(text),
                            Piece::Column(column) => account.value(*column).write_text(texts),
                        }
                    }
                    let text = texts.get(start..)?;
                    if !open::is_plain_text(text) {
                        return None;
                    }
                    yaml::write::string(text, written);
                }
            }
            ends.push(texts.len());
            written_ends.push(written.len());
        }
        Some(())
    }
}

fn number(account: Account<'_>, column: usize) -> Option<i64> {
    match account.value(column) {
        AccountValue::Int(number) => Some(number),
        _ => None,
    }
}

/// Returns a part of a text that consists of parts.
fn part<'t>(text: &'t str, ends: &[usize], index: usize) -> Option<&'t str> {
    let start = index.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied())?;
    text.get(start..*ends.get(index)?)
}

/// Collects the objects of a class.
pub(super) struct Builder<'s> {
    stand_ins: &'s StandIns,
    scalars: Vec<Scalar>,
    by_composed: HashMap<Composed, usize>,
    objects: Vec<(Unit, Object)>,
    other_namespaces: Vec<String>,
}

impl<'s> Builder<'s> {
    /// Returns a class without objects.
    pub(super) fn new(stand_ins: &'s StandIns) -> Self {
        Self {
            stand_ins,
            scalars: Vec::new(),
            by_composed: HashMap::new(),
            objects: Vec::new(),
            other_namespaces: Vec::new(),
        }
    }

    /// Adds an object by its units and checked trees, those of the first account and of the second. None where the two
    /// differ in anything else than values that can be checked by themselves.
    pub(super) fn add(&mut self, units: (Unit, &Unit), trees: (&Tree, &Tree)) -> Option<()> {
        let ((unit, other), (tree, _)) = (units, trees);
        if tree.has_aliases() {
            return None;
        }
        let (first, second) = trees.0.document(0).zip(trees.1.document(0))?;
        let kind = &*unit.identity.object_type.kind;
        let (values, others) = (open::values(kind, first)?, open::values(kind, second)?);
        let (holes, of_second) = self.holes(&unit, &values, &others)?;
        let nodes: Vec<NodeId> = holes.iter().map(|(node, _)| *node).collect();
        let subjects = first.get("subjects").into_iter().flat_map(NodeRef::items);
        let namespaces = subjects.filter_map(|subject| subject.get("namespace"));
        let same_for_all = namespaces.filter(|namespace| !nodes.contains(&namespace.id()));
        self.other_namespaces.extend(same_for_all.filter_map(NodeRef::as_str).map(str::to_owned));
        let cut = Cut::new(first, &nodes)?;
        let filled = |nodes: &[NodeRef<'_>]| {
            let mut text = String::new();
            cut.fill(&mut text, |hole, out| {
                nodes.get(hole).into_iter().for_each(|node| yaml::write::scalar(*node, out))
            });
            text
        };
        let mut written = String::new();
        yaml::write::document(second, &mut written);
        if filled(&of_second) != written {
            return None;
        }
        // The general path reports the difference.
        let of_first: Vec<NodeRef<'_>> = nodes.iter().map(|node| tree.at(*node)).collect();
        ReadBack::default().compare(&filled(&of_first), first).ok()?;
        let composed = self.stand_ins.explain_text(&unit.identity.name, &other.identity.name)?;
        let name = self.scalar(Composed::Text(composed));
        let is_in_rules = |value: &OpenValue<'_>| value.top.0 == "rules" && nodes.contains(&value.node.id());
        let is_cluster = unit.identity.namespace.is_none() && kind != "Namespace";
        let object = Object {
            name,
            rank: 0,
            origin: unit.origin,
            content: unit.content,
            cluster: is_cluster.then(|| unit.identity.object_type.clone()),
            cut,
            blank: Blank::new(tree, nodes.clone()),
            holes: holes.into_iter().map(|(_, scalar)| scalar).collect(),
            same_rules: (!values.iter().any(is_in_rules)).then(SameRules::new),
        };
        self.objects.push((unit, object));
        Some(())
    }

    /// Compares the values of the first account with the values of the second.
    fn holes<'t>(&mut self, unit: &Unit, values: &[OpenValue<'_>], others: &[OpenValue<'t>]) -> Option<Differing<'t>> {
        let mut holes: Vec<(NodeId, usize)> = Vec::new();
        let mut of_second: Vec<NodeRef<'t>> = Vec::new();
        if values.len() != others.len() {
            return None;
        }
        for (value, other) in values.iter().zip(others) {
            let Some(composed) = self.stand_ins.explain(value.node, other.node)? else { continue };
            if matches!(composed, Composed::Number(_)) != value.accepts.is_number() {
                return None;
            }
            let scalar = self.scalar(composed);
            holes.push((value.node.id(), scalar));
            of_second.push(other.node);
            // What is the namespace of the object by its making needs no comparison.
            let is_own = value.node.as_str() == unit.identity.namespace.as_deref();
            if !(is_own && matches!(value.accepts, Accepts::Namespace)) {
                self.scalars.get_mut(scalar)?.accepts.push(value.accepts);
            }
        }
        Some((holes, of_second))
    }

    /// Returns the class; none where no object is the namespace.
    pub(super) fn finish(mut self) -> Option<Class> {
        self.objects.sort_by(|(left, _), (right, _)| expand::kind_order(left).cmp(&expand::kind_order(right)));
        let same_kind =
            |left: &(Unit, Object), right: &(Unit, Object)| expand::kind_order(&left.0) == expand::kind_order(&right.0);
        for (rank, run) in self.objects.chunk_by_mut(same_kind).enumerate() {
            run.iter_mut().for_each(|(_, object)| object.rank = rank);
        }
        let (_, namespace) = self.objects.iter().find(|(unit, _)| *unit.identity.object_type.kind == *"Namespace")?;
        let namespace = namespace.name;
        let kinds = self.objects.iter().map(|(unit, _)| Arc::clone(&unit.identity.object_type.kind)).collect();
        let origins = self.objects.iter().map(|(unit, _)| unit.content).collect();
        let objects: Vec<Object> = self.objects.into_iter().map(|(_, object)| object).collect();
        Some(Class {
            length: objects.iter().map(|object| object.cut.bytes() + object.holes.len() * TYPICAL_VALUE).sum(),
            objects,
            scalars: self.scalars,
            namespace,
            other_namespaces: self.other_namespaces,
            kinds,
            origins,
        })
    }

    fn scalar(&mut self, composed: Composed) -> usize {
        let scalars = &mut self.scalars;
        *self.by_composed.entry(composed.clone()).or_insert_with(|| {
            scalars.push(Scalar { composed, accepts: Vec::new() });
            scalars.len() - 1
        })
    }
}
