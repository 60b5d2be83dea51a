//! Classes of tenants: what differs in nothing but scalars is rendered, checked and written once.
//!
//! Most tenants of a list differ in a name, a number and what is made of them. For such a class two stand-in accounts
//! go the whole way ([`standin`]). Where every template is proven to only print what differs
//! ([`crate::render::Refusal`]), and every value that differs stands where its checks are known
//! ([`crate::k8s::validation::holes`]), the text of the first is cut at the values that differ, and an account of the
//! class gets its file by filling them in, each one composed, checked and quoted anew.
//!
//! Whatever cannot be proven goes the general way, and so does an account with a value that some check refuses: the
//! general way tells why. The bytes are the same on both, which `--no-classes` and the tests hold against each other.
//!
//! An account's class is decided by the values that something else than printing depends on: those that are missing,
//! empty, zero, true or false, maps, and those of columns that a proof failed for. Where a cluster labels namespaces by
//! what their service accounts may use, the labels it would write decide as well.

mod pattern;
mod standin;

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use self::pattern::Pattern;
pub(in crate::compile) use self::pattern::{Filled, Patterns};
use self::standin::{Composed, Piece, columns};
pub(in crate::compile) use self::standin::{StandIns, Unexplained};
use crate::diag::Origin;
use crate::emit::file;
use crate::expand;
use crate::k8s::validation::holes::{self, Demand};
use crate::label::Filling;
use crate::model::{Account, AccountValue, ObjectType, Unit};
use crate::render::{Columns, Refusal};
use crate::validate::HomeFacts;
use crate::yaml::{self, Cut, NodeId, NodeRef, ReadBack, Tree};

/// Room for a value, in bytes.
const TYPICAL_VALUE: usize = 32;

/// How many bytes a value of an account has at most in a rendered text of its class: each may be escaped there.
pub(super) const LONGEST_WRITTEN: usize = 6 * holes::LONGEST;

/// The number of accounts of a class that take the general path first. The first account reports the diagnostics that are
/// reported once for a class ([`HomeFacts::is_told_once`]), and classes of few members are not worth it.
const FIRST_STAMPED: u8 = 3;

/// Most classes of one policy: what differs more than that is no class.
const MOST_CLASSES: usize = 1_000;

/// The classes that one thread knows, by the number of their policy.
#[derive(Default)]
pub(super) struct Classes {
    policies: HashMap<usize, OfPolicy>,
    made: Vec<Arc<Class>>,
}

/// The classes of one policy.
#[derive(Default)]
struct OfPolicy {
    /// Columns whose values decide the class.
    fixed: Columns,
    /// True when nothing of the policy can be stamped.
    is_barren: bool,
    known: HashMap<Box<[u8]>, State>,
    key: Vec<u8>,
}

#[derive(Clone, Copy)]
enum State {
    /// So many accounts of it went the general way.
    Seen(u8),
    /// It is the class of this number.
    Made(usize),
}

/// The work for an account.
pub(super) enum Way {
    /// Stamp it with this class.
    Stamp(usize),
    /// Make its class first, with these columns deciding it.
    Make(Columns),
    /// Go the general way.
    General,
}

impl Classes {
    /// The way for an account of a policy.
    pub(super) fn way(&mut self, policy: usize, account: Account<'_>, filling: Option<&Filling>) -> Way {
        let of_policy = self.policies.entry(policy).or_default();
        if of_policy.is_barren {
            return Way::General;
        }
        key((account, filling), &of_policy.fixed, &mut of_policy.key);
        let has_room = of_policy.known.len() < MOST_CLASSES;
        match of_policy.known.get_mut(&*of_policy.key) {
            Some(State::Made(class)) => return Way::Stamp(*class),
            Some(State::Seen(FIRST_STAMPED)) => return Way::Make(of_policy.fixed.clone()),
            Some(State::Seen(count)) => *count += 1,
            None if has_room => {
                of_policy.known.insert(of_policy.key.as_slice().into(), State::Seen(1));
            }
            None => {}
        }
        Way::General
    }

    /// Keeps a class that was made for an account, or what was in the way of it. Returns the number of the class.
    pub(super) fn keep(
        &mut self,
        policy: usize,
        account: Account<'_>,
        filling: Option<&Filling>,
        made: Result<Class, Unexplained>,
    ) -> Option<usize> {
        let of_policy = self.policies.get_mut(&policy)?;
        match made {
            Ok(class) => {
                self.made.push(Arc::new(class));
                let number = self.made.len() - 1;
                key((account, filling), &of_policy.fixed, &mut of_policy.key);
                of_policy.known.insert(of_policy.key.as_slice().into(), State::Made(number));
                Some(number)
            }
            Err(Unexplained(columns)) => {
                let before = of_policy.fixed.len();
                of_policy.fixed.extend(columns);
                of_policy.is_barren = of_policy.fixed.len() == before;
                of_policy.known.clear();
                None
            }
        }
    }

    /// A class by its number.
    pub(super) fn get(&self, number: usize) -> Option<&Arc<Class>> {
        self.made.get(number)
    }
}

/// The bytes that decide the class of an account: its values, and the labels of its namespace.
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

/// True for a value that counts as true wherever it stands and whatever it is.
fn is_open(value: AccountValue<'_>) -> bool {
    match value {
        AccountValue::Text(text) => !text.is_empty(),
        AccountValue::Int(number) => number != 0,
        _ => false,
    }
}

/// Columns of an account that need not decide its class.
pub(super) fn open_columns(account: Account<'_>, fixed: &Columns) -> Columns {
    let values = account.values().enumerate();
    values.filter(|(column, value)| is_open(*value) && !fixed.contains(column)).map(|(column, _)| column).collect()
}

/// A file whose scalars are still open.
#[derive(Debug)]
pub(super) struct Class {
    /// The objects, by scope, rank and kind; those of one kind in any order.
    objects: Vec<Object>,
    /// The objects of one kind, where there are several: their names decide their order.
    runs: Vec<Range<usize>>,
    scalars: Vec<Scalar>,
    /// The scalar that names the namespace.
    namespace: usize,
    /// Namespaces that the account's own may not be.
    other_namespaces: Vec<String>,
    /// How many bytes a file has at least, about.
    length: usize,
    cluster_objects: usize,
    kinds: Arc<[Arc<str>]>,
    origins: Arc<[Origin]>,
}

/// An object of a class.
#[derive(Debug)]
struct Object {
    name: Name,
    origin: Origin,
    content: Origin,
    /// Its type, where other files may hold one of its name.
    cluster: Option<ObjectType>,
    /// Its text without the values that differ: those of the pattern's holes.
    cut: Cut,
    /// The object as a tree.
    pattern: Pattern,
}

#[derive(Debug)]
enum Name {
    Same(Arc<str>),
    Scalar(usize),
}

/// A value that differs.
#[derive(Debug)]
struct Scalar {
    composed: Composed,
    demands: Vec<Demand>,
    /// For a number: what it may not be more than.
    limits: Vec<Limit>,
}

#[derive(Debug)]
enum Limit {
    Number(i64),
    Scalar(usize),
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

impl Class {
    /// Makes the values of an account and settles the order of its objects; none when some value needs a closer look.
    pub(super) fn fill(&self, account: Account<'_>, namespace: &str, scratch: &mut Scratch) -> Option<()> {
        if account.values().any(|value| matches!(value, AccountValue::Text(text) if text.len() > holes::LONGEST)) {
            return None;
        }
        self.compose(account, scratch)?;
        let at = |index: usize| part(&scratch.texts, &scratch.ends, index);
        if at(self.namespace)? != namespace || self.other_namespaces.iter().any(|other| other == namespace) {
            return None;
        }
        let is_fine = |(index, scalar)| self.is_fine(scalar, account, at(index).unwrap_or_default(), namespace);
        if !self.scalars.iter().enumerate().all(is_fine) {
            return None;
        }
        let Scratch { texts, ends, order, .. } = scratch;
        let name = |object: &usize| self.name(*object, texts, ends);
        order.clear();
        order.extend(0..self.objects.len());
        for run in &self.runs {
            let order = order.get_mut(run.clone())?;
            if !order.is_sorted_by(|left, right| name(left) < name(right)) {
                order.sort_by_key(name);
                if !order.is_sorted_by(|left, right| name(left) < name(right)) {
                    return None;
                }
            }
        }
        Some(())
    }

    /// The name of an object, for the account whose values are given.
    fn name<'n>(&'n self, object: usize, texts: &'n str, ends: &[usize]) -> Option<&'n str> {
        match &self.objects.get(object)?.name {
            Name::Same(name) => Some(name),
            Name::Scalar(index) => part(texts, ends, *index),
        }
    }

    /// The whole file of the account whose values were made last.
    pub(super) fn text(&self, scratch: &Scratch) -> Option<String> {
        let mut text = String::with_capacity(file::HEADER.len() + self.length + scratch.written.len());
        text.push_str(file::HEADER);
        for (position, index) in scratch.order.iter().enumerate() {
            let object = self.objects.get(*index)?;
            if position > 0 {
                text.push_str(yaml::write::SEPARATOR);
            }
            object.cut.fill(&mut text, |hole, text| {
                let scalar = object.pattern.scalar(hole);
                text.push_str(part(&scratch.written, &scratch.written_ends, scalar).unwrap_or_default());
            });
        }
        Some(text)
    }

    /// The kinds of the objects, in the order of their file.
    pub(super) fn kinds(&self) -> Arc<[Arc<str>]> {
        Arc::clone(&self.kinds)
    }

    /// The places of their contents, for the account whose values were made last.
    pub(super) fn origins(&self, scratch: &Scratch) -> Arc<[Origin]> {
        if scratch.order.is_sorted() {
            return Arc::clone(&self.origins);
        }
        scratch.order.iter().filter_map(|index| self.objects.get(*index)).map(|object| object.content).collect()
    }

    /// Names that other files may hold as well, for the account whose values were made last.
    pub(super) fn facts(&self, scratch: &Scratch) -> HomeFacts {
        let objects = scratch.order.iter().filter_map(|index| Some((*index, self.objects.get(*index)?)));
        let cluster = objects.filter_map(|(index, object)| {
            let name = self.name(index, &scratch.texts, &scratch.ends)?;
            Some((object.cluster.clone()?, Arc::from(name), object.origin))
        });
        let mut found = Vec::with_capacity(self.cluster_objects);
        found.extend(cluster);
        HomeFacts::of_cluster_objects(found)
    }

    /// True for the scalar of this number where it is a number itself.
    fn is_number(&self, scalar: usize) -> bool {
        matches!(self.scalars.get(scalar), Some(Scalar { composed: Composed::Number(_), .. }))
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
                    if !holes::is_plain_text(text) {
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

    /// True when a scalar, which is `text` for this account, satisfies what is demanded of it.
    fn is_fine(&self, scalar: &Scalar, account: Account<'_>, text: &str, namespace: &str) -> bool {
        let number = |column: usize| match account.value(column) {
            AccountValue::Int(number) => Some(number),
            _ => None,
        };
        match scalar.composed {
            Composed::Text(_) => scalar.demands.iter().all(|demand| match demand {
                Demand::OtherNamespace => text != namespace,
                demand => demand.is_met_by(text),
            }),
            Composed::Number(column) => number(column).is_some_and(|value| {
                let limited = scalar.limits.iter().all(|limit| match limit {
                    Limit::Number(most) => value <= *most,
                    Limit::Scalar(index) => match self.scalars.get(*index).map(|end| &end.composed) {
                        Some(Composed::Number(end)) => number(*end).is_some_and(|most| value <= most),
                        _ => false,
                    },
                });
                limited && scalar.demands.iter().all(|demand| demand.is_met_by_number(value))
            }),
        }
    }
}

/// A part of a text that consists of parts.
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
    /// The namespace of the first account.
    namespace: String,
}

/// A value that differs, in the tree of the first account.
struct Hole {
    node: NodeId,
    scalar: usize,
    /// True among the rules of a role.
    is_in_rules: bool,
}

impl<'s> Builder<'s> {
    /// A class without objects; `namespace` is that of the first of the two accounts.
    pub(super) fn new(stand_ins: &'s StandIns, namespace: &str) -> Self {
        Self {
            stand_ins,
            scalars: Vec::new(),
            by_composed: HashMap::new(),
            objects: Vec::new(),
            other_namespaces: Vec::new(),
            namespace: namespace.to_owned(),
        }
    }

    /// Adds an object by its units and checked trees, those of the first account and of the second.
    pub(super) fn add(&mut self, units: (Unit, &Unit), trees: (&Tree, &Tree)) -> Result<(), Unexplained> {
        let (unit, other) = units;
        let (tree, other_tree) = trees;
        let nothing = || Unexplained(Columns::new());
        let (first, second) = tree.document(0).zip(other_tree.document(0)).ok_or_else(nothing)?;
        let kind = Arc::clone(&unit.identity.object_type.kind);
        let mut found = Vec::new();
        let mut walk = Walk { builder: self, kind: &kind, path: Vec::new(), found: &mut found, annotations: 0 };
        walk.compare(first, second, first)?;
        if !holes::annotations_fit(first, walk.annotations) {
            return Err(nothing());
        }
        self.limit_ranges(first, &found)?;
        self.note_subjects(first, &found);
        let name = if unit.identity.name == other.identity.name {
            Name::Same(Arc::clone(&unit.identity.name))
        } else {
            let composed = self.stand_ins.explain_text(&unit.identity.name, &other.identity.name)?;
            Name::Scalar(self.scalar(composed))
        };
        let nodes: Vec<NodeId> = found.iter().map(|hole| hole.node).collect();
        let cut = Cut::new(first, &nodes).ok_or_else(nothing)?;
        let mut written = String::new();
        cut.fill(&mut written, |hole, out| {
            nodes.get(hole).into_iter().for_each(|node| yaml::write::scalar(tree.at(*node), out));
        });
        // The general way tells the difference.
        ReadBack::default().compare(&written, first).map_err(|_| nothing())?;
        let is_cluster = unit.identity.namespace.is_none() && *kind != *"Namespace";
        let object = Object {
            name,
            origin: unit.origin,
            content: unit.content,
            cluster: is_cluster.then(|| unit.identity.object_type.clone()),
            cut,
            pattern: Pattern::new(tree, &found),
        };
        self.objects.push((unit, object));
        Ok(())
    }

    /// Returns the class; none where no object names the namespace.
    pub(super) fn finish(mut self) -> Option<Class> {
        self.objects.sort_by(|(left, _), (right, _)| expand::kind_order(left).cmp(&expand::kind_order(right)));
        let same_kind =
            |left: &(Unit, Object), right: &(Unit, Object)| expand::kind_order(&left.0) == expand::kind_order(&right.0);
        let mut runs = Vec::new();
        let mut start = 0;
        for run in self.objects.chunk_by(same_kind) {
            if run.len() > 1 {
                runs.push(start..start + run.len());
            }
            start += run.len();
        }
        let (namespace, _) = self.objects.iter().find(|(unit, _)| *unit.identity.object_type.kind == *"Namespace")?;
        let second = self.objects.iter().position(|(unit, _)| std::ptr::eq(unit, namespace))?;
        let Name::Scalar(namespace) = self.objects.get(second)?.1.name else { return None };
        let kinds = self.objects.iter().map(|(unit, _)| Arc::clone(&unit.identity.object_type.kind)).collect();
        let origins = self.objects.iter().map(|(unit, _)| unit.content).collect();
        let objects: Vec<Object> = self.objects.into_iter().map(|(_, object)| object).collect();
        let holes: usize = objects.iter().map(|object| object.cut.holes()).sum();
        Some(Class {
            length: objects.iter().map(|object| object.cut.bytes()).sum::<usize>() + holes * TYPICAL_VALUE,
            cluster_objects: objects.iter().filter(|object| object.cluster.is_some()).count(),
            objects,
            runs,
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
            scalars.push(Scalar { composed, demands: Vec::new(), limits: Vec::new() });
            scalars.len() - 1
        })
    }

    /// Notes the namespaces that service accounts come from: whether it is the account's own decides about advice.
    fn note_subjects(&mut self, root: NodeRef<'_>, found: &[Hole]) {
        let subjects = root.get("subjects").into_iter().flat_map(NodeRef::items);
        let namespaces = subjects.filter_map(|subject| subject.get("namespace"));
        let same_for_all = namespaces.filter(|namespace| !found.iter().any(|hole| hole.node == namespace.id()));
        self.other_namespaces.extend(same_for_all.filter_map(NodeRef::as_str).map(str::to_owned));
    }

    /// Notes what the starts of ranges may not be more than.
    fn limit_ranges(&mut self, root: NodeRef<'_>, found: &[Hole]) -> Result<(), Unexplained> {
        let strategies = root.get("spec").into_iter().flat_map(NodeRef::entries);
        let ranges = strategies.filter_map(|(_, strategy)| strategy.get("ranges")).flat_map(NodeRef::items);
        for (min, max) in ranges.filter_map(|range| range.get("min").zip(range.get("max"))) {
            let scalar_of = |end: NodeRef<'_>| found.iter().find(|hole| hole.node == end.id()).map(|hole| hole.scalar);
            let limit = scalar_of(max).map_or(Limit::Number(max.as_int().unwrap_or_default()), Limit::Scalar);
            match (scalar_of(min), &limit) {
                (Some(start), _) => {
                    if let Some(start) = self.scalars.get_mut(start) {
                        start.limits.push(limit);
                    }
                }
                (None, Limit::Number(_)) => {}
                // That the end is not less than a start which is the same for all is for the general way to see.
                (None, Limit::Scalar(end)) => {
                    let end = self.scalars.get(*end).map(|end| columns(&end.composed));
                    return Err(Unexplained(end.unwrap_or_default()));
                }
            }
        }
        Ok(())
    }
}

/// A walk over the trees of one object for two accounts.
struct Walk<'w, 's> {
    builder: &'w mut Builder<'s>,
    kind: &'w str,
    path: Vec<String>,
    found: &'w mut Vec<Hole>,
    annotations: usize,
}

impl Walk<'_, '_> {
    fn compare(&mut self, first: NodeRef<'_>, second: NodeRef<'_>, parent: NodeRef<'_>) -> Result<(), Unexplained> {
        if first.len() != second.len() || first.is_map() != second.is_map() || first.is_seq() != second.is_seq() {
            return Err(Unexplained(Columns::new()));
        }
        for (item, other) in first.items().zip(second.items()) {
            self.path.push("[]".to_owned());
            self.compare(item, other, first)?;
            self.path.pop();
        }
        for ((key, value), (other_key, other)) in first.entries().zip(second.entries()) {
            let name = key.as_str().unwrap_or_default();
            if key.as_str() != other_key.as_str() {
                return Err(Unexplained(self.builder.stand_ins.columns_in(name)));
            }
            self.path.push(name.to_owned());
            self.compare(value, other, first)?;
            self.path.pop();
        }
        if first.is_map() || first.is_seq() {
            return Ok(());
        }
        let Some(composed) = self.builder.stand_ins.explain(first, second)? else { return Ok(()) };
        let of_columns = columns(&composed);
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let demand = holes::demand(self.kind, &path, parent).ok_or_else(|| Unexplained(of_columns.clone()))?;
        if matches!(composed, Composed::Number(_)) != matches!(demand, Demand::RangeEnd | Demand::RangeStart) {
            return Err(Unexplained(of_columns));
        }
        self.annotations += usize::from(holes::is_annotation(&path));
        let scalar = self.builder.scalar(composed);
        let is_in_rules = path.first() == Some(&"rules");
        self.found.push(Hole { node: first.id(), scalar, is_in_rules });
        let is_own = demand == Demand::OtherNamespace && first.as_str() == Some(&self.builder.namespace);
        if let Some(scalar) =
            self.builder.scalars.get_mut(scalar).filter(|scalar| !is_own && !scalar.demands.contains(&demand))
        {
            scalar.demands.push(demand);
        }
        Ok(())
    }
}

/// A refusal of a template as columns that cannot be stamped.
pub(super) fn unexplained(refusal: Refusal) -> Unexplained {
    match refusal {
        Refusal::Uses(columns) => Unexplained(columns),
        Refusal::Unknown => Unexplained(Columns::new()),
    }
}
