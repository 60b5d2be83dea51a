//! Rendered texts that differ from a checked one in names and numbers alone.
//!
//! The objects of tenants are much the same text with other names in it. Where a text is, but for values at the places
//! that [`holes`] knows, byte for byte one that was found valid without a word, reading and checking it again would
//! come to the same: the values are checked, put into a copy of the checked object, and that is the object.
//!
//! What is compared is the text alone, whatever template and policy made it. This is the general way's counterpart of
//! the classes of `compile::class`, which need not even render; here nothing has to be proven of templates.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::diag::Origin;
use crate::k8s::validation::holes::{self, Demand};
use crate::model::{ObjectType, Unit};
use crate::yaml::scalar::{Quoting, quoting};
use crate::yaml::{self, Blank, Cut, NodeId, NodeRef, Tree, Value};

/// How many texts of one asker are checked before one is kept: what is made once or twice is not worth it.
const FIRST_KEPT: u8 = 2;

/// How many texts are kept of one asker, and how often keeping one is tried.
const MOST_KEPT: u8 = 6;

/// Most values of a text that may differ.
const MOST_HOLES: usize = 24;

/// Who asks for an object: the template, the two places in policies, and whether it is for an account. Checks look at
/// nothing else of a unit but what its object is called.
type Asker = (&'static str, Origin, Origin, bool);

/// The texts that were found valid.
#[derive(Default)]
pub(super) struct Alike {
    askers: HashMap<Asker, Seen>,
    known: Vec<Known>,
    /// The values of the text at hand, as ranges of it.
    values: Vec<Range<usize>>,
}

/// What was seen of one asker.
#[derive(Default)]
struct Seen {
    valid: u8,
    known: Vec<usize>,
}

/// A text that was found valid, cut at the values that may differ, and the object it stands for.
struct Known {
    object_type: ObjectType,
    /// What the object has to be called where that is not among the values.
    name: Option<Arc<str>>,
    namespace: Option<Arc<str>>,
    has_namespace: bool,
    /// The text before each value, and after the last one.
    literals: Vec<Box<str>>,
    holes: Vec<Hole>,
    /// The text that is written of it.
    cut: Cut,
    blank: Blank,
}

/// A value that may differ.
struct Hole {
    /// Where it is in the text that was kept, without quotes.
    place: Range<usize>,
    node: NodeId,
    spelling: Spelling,
    demand: Demand,
    /// The first hole that has the same value. Values that are the same stay so, and others stay apart, so that nothing
    /// depends on what is compared with what.
    first: usize,
    /// True where the namespace of the object is called the same.
    equals_namespace: bool,
    names: Option<Names>,
    is_annotation: bool,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Between double quotes.
    Quoted,
    /// As a word.
    Plain,
    /// As a number.
    Number,
}

/// What of the object's identity a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Object,
    Namespace,
}

/// Names a text that was kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownId(usize);

impl Alike {
    /// Finds the checked text that a text is like, and fills its values in.
    pub(super) fn find(&mut self, unit: &Unit, text: &str) -> Option<KnownId> {
        let Self { askers, known, values } = self;
        let found = askers.get(&asker(unit))?.known.iter().find(|index| {
            let candidate = known.get(**index);
            candidate.is_some_and(|known| known.find_values(text, values).is_some() && known.fits(unit, text, values))
        })?;
        known.get_mut(*found)?.fill(text, values);
        Some(KnownId(*found))
    }

    /// The object of a text that was found.
    pub(super) fn tree(&self, id: KnownId) -> Option<&Tree> {
        self.known.get(id.0).map(|known| known.blank.tree())
    }

    /// Writes the object of a text that was found.
    pub(super) fn write(&self, id: KnownId, out: &mut String) {
        self.known.get(id.0).into_iter().for_each(|known| known.write(out));
    }

    /// Takes note of a text that was found valid without a word; `root` is its object in the form to be written. `read`
    /// makes such an object of another text, where that is valid.
    pub(super) fn learn(
        &mut self,
        unit: &Unit,
        text: &str,
        root: NodeRef<'_>,
        read: &mut dyn FnMut(&str) -> Option<Tree>,
    ) {
        let seen = self.askers.entry(asker(unit)).or_default();
        if seen.valid >= FIRST_KEPT + MOST_KEPT {
            return;
        }
        seen.valid += 1;
        if seen.valid <= FIRST_KEPT {
            return;
        }
        if let Some(mut known) = Known::new(unit, text, root)
            && known.holds_for_others(text, read)
        {
            seen.known.push(self.known.len());
            self.known.push(known);
        }
    }
}

fn asker(unit: &Unit) -> Asker {
    (unit.template, unit.origin, unit.content, unit.account.is_some())
}

impl Known {
    fn new(unit: &Unit, text: &str, root: NodeRef<'_>) -> Option<Self> {
        let mut found = Vec::new();
        let mut walk = Walk { kind: &unit.identity.object_type.kind, text, path: Vec::new(), found: &mut found };
        walk.visit(root, root);
        found.sort_by_key(|hole| hole.place.start);
        let apart = found.is_sorted_by(|left, right| left.place.end <= right.place.start);
        let annotations = found.iter().filter(|hole| hole.is_annotation).count();
        if found.is_empty() || found.len() > MOST_HOLES || !apart || !holes::annotations_fit(root, annotations) {
            return None;
        }
        let mut literals = Vec::with_capacity(found.len() + 1);
        let mut start = 0;
        for index in 0..found.len() {
            let value = |hole: &Hole| text.get(hole.place.clone());
            let own = value(found.get(index)?)?;
            let first = found.iter().position(|hole| value(hole) == Some(own))?;
            let hole = found.get_mut(index)?;
            hole.first = first;
            hole.equals_namespace = unit.identity.namespace.as_deref() == Some(own);
            literals.push(text.get(start..hole.place.start)?.into());
            start = hole.place.end;
        }
        literals.push(text.get(start..)?.into());
        let nodes: Vec<NodeId> = found.iter().map(|hole| hole.node).collect();
        let names = |what| found.iter().any(|hole| hole.names == Some(what));
        let identity = &unit.identity;
        Some(Self {
            object_type: identity.object_type.clone(),
            name: (!names(Names::Object)).then(|| Arc::clone(&identity.name)),
            namespace: identity.namespace.clone().filter(|_| !names(Names::Namespace)),
            has_namespace: identity.namespace.is_some(),
            literals,
            cut: Cut::new(root, &nodes)?,
            blank: Blank::new(root.tree(), nodes),
            holes: found,
        })
    }

    /// Finds the values of a text; none where anything else differs.
    fn find_values(&self, text: &str, values: &mut Vec<Range<usize>>) -> Option<()> {
        values.clear();
        let bytes = text.as_bytes();
        let mut rest = bytes;
        for (literal, hole) in self.literals.iter().zip(&self.holes) {
            rest = rest.strip_prefix(literal.as_bytes())?;
            let length = hole.spelling.length(rest)?;
            let start = bytes.len() - rest.len();
            values.push(start..start + length);
            rest = rest.get(length..)?;
        }
        (self.literals.last()?.as_bytes() == rest).then_some(())
    }

    /// True when the values are those of the unit's object, and all that is demanded of them holds.
    fn fits(&self, unit: &Unit, text: &str, values: &[Range<usize>]) -> bool {
        let identity = &unit.identity;
        let value = |index: usize| values.get(index).and_then(|range| text.get(range.clone())).unwrap_or_default();
        let is_named = |hole: &Hole, value: &str| match hole.names {
            Some(Names::Object) => value == &*identity.name,
            Some(Names::Namespace) => identity.namespace.as_deref() == Some(value),
            None => true,
        };
        let holds = |(index, hole): (usize, &Hole)| {
            let own = value(index);
            // One that others are the same as differs from all before it.
            let is_apart = || (0..index).all(|other| value(other) != own);
            hole.spelling.is_met_by(own, hole.demand)
                && is_named(hole, own)
                && hole.equals_namespace == (identity.namespace.as_deref() == Some(own))
                && if hole.first < index { value(hole.first) == own } else { is_apart() }
        };
        self.object_type == identity.object_type
            && self.has_namespace == identity.namespace.is_some()
            && self.name.as_ref().is_none_or(|name| *name == identity.name)
            && self.namespace.as_ref().is_none_or(|name| identity.namespace.as_ref() == Some(name))
            && self.holes.iter().enumerate().all(holds)
    }

    fn fill(&mut self, text: &str, values: &[Range<usize>]) {
        let value = |(hole, range): (&Hole, &Range<usize>)| {
            (text.get(range.clone()).unwrap_or_default(), hole.spelling == Spelling::Number)
        };
        self.blank.fill(self.holes.iter().zip(values).map(value));
    }

    /// Writes the object with the values that were filled in.
    fn write(&self, out: &mut String) {
        self.cut.fill(out, |index, out| {
            self.blank.scalar(index).into_iter().for_each(|node| yaml::write::scalar(node, out));
        });
    }

    /// True when the text with other values in all places reads as the object with these values put in, which it should.
    fn holds_for_others(&mut self, text: &str, read: &mut dyn FnMut(&str) -> Option<Tree>) -> bool {
        let mut other = String::with_capacity(text.len() + self.holes.len());
        for (literal, hole) in self.literals.iter().zip(&self.holes) {
            other.push_str(literal);
            let value = text.get(hole.place.clone()).unwrap_or_default();
            match value.parse::<i64>().ok().and_then(|number| number.checked_add(1)) {
                Some(number) => other.push_str(&number.to_string()),
                None => {
                    other.push_str(value);
                    other.push('x');
                }
            }
        }
        self.literals.last().into_iter().for_each(|literal| other.push_str(literal));
        let mut values = Vec::new();
        let Some(tree) = read(&other) else { return false };
        if self.find_values(&other, &mut values).is_none() {
            return false;
        }
        self.fill(&other, &values);
        let written = |tree: &Tree| {
            let mut text = String::new();
            tree.document(0).into_iter().for_each(|root| yaml::write::document(root, &mut text));
            text
        };
        let mut filled = String::new();
        self.write(&mut filled);
        written(&tree) == written(self.blank.tree()) && written(&tree) == filled
    }
}

impl Spelling {
    /// How long the value is that a text begins with.
    fn length(self, text: &[u8]) -> Option<usize> {
        let is_over = |byte: &u8| match self {
            Spelling::Quoted => *byte == b'"',
            Spelling::Plain => !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')),
            Spelling::Number => !byte.is_ascii_digit(),
        };
        text.iter().position(is_over)
    }

    /// True for a value that is read as what it looks like and satisfies a demand.
    fn is_met_by(self, value: &str, demand: Demand) -> bool {
        match self {
            Spelling::Number => {
                let number = value.parse().ok().filter(|_| !value.starts_with('0'));
                number.is_some_and(|number| demand.is_met_by_number(number))
            }
            Spelling::Plain => {
                quoting(value) == Quoting::Plain && holes::is_plain_text(value) && demand.is_met_by(value)
            }
            Spelling::Quoted => holes::is_plain_text(value) && demand.is_met_by(value),
        }
    }
}

/// A walk over an object for the values that may differ.
struct Walk<'w, 't> {
    kind: &'w str,
    text: &'w str,
    path: Vec<&'t str>,
    found: &'w mut Vec<Hole>,
}

impl<'t> Walk<'_, 't> {
    fn visit(&mut self, node: NodeRef<'t>, parent: NodeRef<'t>) {
        if !node.is_map() && !node.is_seq() {
            self.found.extend(self.hole(node, parent));
        }
        for item in node.items() {
            self.path.push("[]");
            self.visit(item, node);
            self.path.pop();
        }
        for (key, value) in node.entries() {
            self.path.push(key.as_str().unwrap_or_default());
            self.visit(value, node);
            self.path.pop();
        }
    }

    fn hole(&self, node: NodeRef<'t>, parent: NodeRef<'t>) -> Option<Hole> {
        let demand = holes::demand(self.kind, &self.path, parent)?;
        let (start, end) = (node.span().start as usize, node.span().end as usize);
        let written = self.text.get(start..end)?;
        let (place, spelling) = match (node.value(), node.as_str()) {
            // Both ends of a range are the same, and stay so: which of them is less is then no question.
            (Value::Int(number), _) => {
                let is_it = |end: &str| {
                    let span = parent.get(end)?.span();
                    Some(self.text.get(span.start as usize..span.end as usize)? == number.to_string())
                };
                let is_one = is_it("min")? && is_it("max")?;
                (start..end, is_one.then_some(Spelling::Number)?)
            }
            (_, Some(value)) if written == value => (start..end, Spelling::Plain),
            (_, Some(value)) if written.strip_prefix('"')?.strip_suffix('"')? == value => {
                (start + 1..end - 1, Spelling::Quoted)
            }
            _ => return None,
        };
        let is_annotation = holes::is_annotation(&self.path);
        let names = match *self.path.as_slice() {
            ["metadata", "name"] => Some(Names::Object),
            ["metadata", "namespace"] => Some(Names::Namespace),
            _ => None,
        };
        let value = self.text.get(place.clone())?;
        let hole =
            Hole { place, node: node.id(), spelling, demand, first: 0, equals_namespace: false, names, is_annotation };
        spelling.is_met_by(value, demand).then_some(hole)
    }
}
