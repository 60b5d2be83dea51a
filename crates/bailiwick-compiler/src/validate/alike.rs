//! Rendered texts that differ from a checked one in names and numbers alone.
//!
//! The objects of tenants are nearly the same text with other names. A text can have the shape ([`Shape`]) of a text that
//! was valid without a diagnostic, with holes for the values at open positions ([`open`]). To read and check it again
//! would have the same result: the values are checked and put into a copy of the checked object.
//!
//! The texts alone are compared, whatever template and policy made them.

use std::ops::Range;
use std::sync::Arc;

use bailiwick_base::alike::Shape;
use bailiwick_kubernetes::validation::open::{self, Accepts, OpenValue};
use bailiwick_policy::model::{TemplateName, TypeMeta, Unit};
use bailiwick_yaml::diag::{FileId, Origin, Sink};
use bailiwick_yaml::scalar::{Quoting, quoting};
use bailiwick_yaml::{self as yaml, Blank, NodeId, NodeRef, NodeValue, Tree};
use hashbrown::HashMap;

/// How many texts of one asker are checked before one is kept: what is made once or twice is not worth it.
const FIRST_KEPT: u8 = 2;

/// How many texts are kept of one asker, and how often keeping one is tried.
const MOST_KEPT: u8 = 6;

/// Most values of a text that may differ.
const MOST_HOLES: usize = 24;

/// The origin of an object: the template, the two places in policies, and whether it is for an account. Beside the origin,
/// checks use the identity of an object and nothing else of a unit.
type Asker = (TemplateName, Origin, Origin, bool);

/// The texts that were found valid.
#[derive(Default)]
pub(super) struct Alike {
    askers: HashMap<Asker, Seen>,
    known: Vec<Known>,
    /// The values of the text at hand, as ranges of it, and the values of its stated text.
    values: Vec<Range<usize>>,
    stated_values: Vec<Range<usize>>,
}

/// The checked texts of one asker.
#[derive(Default)]
struct Seen {
    valid: u8,
    known: Vec<usize>,
}

/// A text that was found valid, cut at the values that may differ, and the object it stands for.
struct Known {
    object_type: TypeMeta,
    /// The name of the object, if no hole has it.
    name: Option<Arc<str>>,
    namespace: Option<Arc<str>>,
    has_namespace: bool,
    shape: Shape<Hole>,
    /// The written object, with the number of the value in each hole.
    written: Shape<usize>,
    blank: Blank,
    /// The text of the built-in template with the number of the value in each hole, if another template rendered the text.
    stated: Option<Shape<usize>>,
}

/// The text of a unit.
#[derive(Debug, Clone, Copy)]
pub struct RenderedText<'t> {
    /// The text of the template.
    pub text: &'t str,
    /// The text of the built-in template, if it differs.
    pub stated: Option<&'t str>,
}

/// A value that may differ.
struct Hole {
    spelling: Spelling,
    accepts: Accepts,
    /// The first hole that has the same value. Values that are the same stay so, and others stay apart, so that nothing
    /// depends on what is compared with what.
    first: usize,
    /// True where the namespace of the object is called the same.
    equals_namespace: bool,
    names: Option<Names>,
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

/// The part of the object's identity in a value.
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
    pub(super) fn find(&mut self, unit: &Unit, rendered: RenderedText<'_>) -> Option<KnownId> {
        let Self { askers, known, values, stated_values } = self;
        let text = rendered.text;
        let found = askers.get(&asker(unit))?.known.iter().find(|index| {
            known.get(**index).is_some_and(|known| {
                known.find_values(text, values).is_some()
                    && known.fits(unit, text, values)
                    && known.states(rendered, values, stated_values)
            })
        })?;
        known.get_mut(*found)?.fill(text, values);
        Some(KnownId(*found))
    }

    /// Returns the object of a text that was found.
    pub(super) fn tree(&self, id: KnownId) -> Option<&Tree> {
        self.known.get(id.0).map(|known| known.blank.tree())
    }

    /// Writes the object of a text that was found.
    pub(super) fn write(&self, id: KnownId, out: &mut String) {
        self.known.get(id.0).into_iter().for_each(|known| known.write(out));
    }

    /// Takes note of a text that was found valid without a word; `root` is its object in the form to be written. `read`
    /// makes such an object of another text, where that is valid and means what is stated.
    pub(super) fn learn(
        &mut self,
        unit: &Unit,
        rendered: RenderedText<'_>,
        root: NodeRef<'_>,
        read: &mut dyn FnMut(RenderedText<'_>) -> Option<Tree>,
    ) {
        let seen = self.askers.entry(asker(unit)).or_default();
        if seen.valid >= FIRST_KEPT + MOST_KEPT {
            return;
        }
        seen.valid += 1;
        if seen.valid <= FIRST_KEPT {
            return;
        }
        if let Some(mut known) = Known::new(unit, rendered, root)
            && known.holds_for_others(rendered, read)
        {
            seen.known.push(self.known.len());
            self.known.push(known);
        }
    }
}

fn asker(unit: &Unit) -> Asker {
    (unit.template.clone(), unit.origin, unit.content, unit.account.is_some())
}

impl Known {
    fn new(unit: &Unit, rendered: RenderedText<'_>, root: NodeRef<'_>) -> Option<Self> {
        let text = rendered.text;
        if root.tree().has_aliases() {
            return None;
        }
        let identity = &unit.identity;
        let mut found = holes(unit, text, root)?;
        if found.is_empty() {
            return None;
        }
        for index in 0..found.len() {
            let own = text.get(found.get(index)?.0.clone());
            let first = found.iter().position(|(place, ..)| text.get(place.clone()) == own)?;
            found.get_mut(index)?.2.first = first;
        }
        let stated = match rendered.stated {
            Some(stated) => Some(stated_shape(unit, stated, text, &found)?),
            None => None,
        };
        let nodes: Vec<NodeId> = found.iter().map(|(_, node, _)| *node).collect();
        let names = |what| found.iter().any(|(.., hole)| hole.names == Some(what));
        Some(Self {
            object_type: identity.object_type.clone(),
            name: (!names(Names::Object)).then(|| Arc::clone(&identity.name)),
            namespace: identity.namespace.clone().filter(|_| !names(Names::Namespace)),
            has_namespace: identity.namespace.is_some(),
            written: written_shape(root, &nodes)?,
            blank: Blank::new(root.tree(), nodes),
            stated,
            shape: Shape::cut(text, found.into_iter().map(|(place, _, hole)| (place, hole)))?,
        })
    }

    /// Finds the values of a text; none where anything else differs.
    fn find_values(&self, text: &str, values: &mut Vec<Range<usize>>) -> Option<()> {
        self.shape.find_values(text, |hole, rest| hole.spelling.length(rest), values)
    }

    /// Returns whether the values are the values of the unit's object, and every position accepts its value.
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
            hole.spelling.is_met_by(own, hole.accepts)
                && is_named(hole, own)
                && hole.equals_namespace == (identity.namespace.as_deref() == Some(own))
                && if hole.first < index { value(hole.first) == own } else { is_apart() }
        };
        self.object_type == identity.object_type
            && self.has_namespace == identity.namespace.is_some()
            && self.name.as_ref().is_none_or(|name| *name == identity.name)
            && self.namespace.as_ref().is_none_or(|name| identity.namespace.as_ref() == Some(name))
            && self.shape.holes().enumerate().all(holds)
    }

    /// Returns whether the policy states the object of a text with these values.
    fn states(
        &self,
        rendered: RenderedText<'_>,
        values: &[Range<usize>],
        stated_values: &mut Vec<Range<usize>>,
    ) -> bool {
        let Some(stated) = rendered.stated else { return true };
        let length = |hole: &usize, rest: &[u8]| {
            let value = rendered.text.get(values.get(*hole)?.clone())?;
            rest.starts_with(value.as_bytes()).then_some(value.len())
        };
        self.stated.as_ref().is_some_and(|shape| shape.find_values(stated, length, stated_values).is_some())
    }

    fn fill(&mut self, text: &str, values: &[Range<usize>]) {
        let value = |(hole, range): (&Hole, &Range<usize>)| {
            (text.get(range.clone()).unwrap_or_default(), hole.spelling == Spelling::Number)
        };
        self.blank.fill(self.shape.holes().zip(values).map(value));
    }

    /// Writes the object with the values that were filled in.
    fn write(&self, out: &mut String) {
        self.written.write_with(out, |_, value, out| {
            self.blank.scalar(*value).into_iter().for_each(|node| yaml::write::scalar(node, out));
        });
    }

    /// Returns whether the text with other values in all places reads as the object with these values put in, which it should.
    fn holds_for_others(
        &mut self,
        rendered: RenderedText<'_>,
        read: &mut dyn FnMut(RenderedText<'_>) -> Option<Tree>,
    ) -> bool {
        let mut own = Vec::new();
        if self.find_values(rendered.text, &mut own).is_none() {
            return false;
        }
        // INVARIANT: with values that are nowhere in the texts, equal meanings cannot be a coincidence of this object.
        let is_new = |value: &String| {
            rendered.stated.is_none_or(|stated| !stated.contains(value) && !rendered.text.contains(value))
        };
        let others = own.iter().map(|range| rendered.text.get(range.clone()).map(other_value).filter(is_new));
        let Some(others) = others.collect::<Option<Vec<String>>>() else { return false };
        let other_of = |index: usize| others.get(index).map(String::as_str).unwrap_or_default();
        let other = self.shape.fill_with(|index, _| other_of(index));
        let stated = self.stated.as_ref().map(|stated| stated.fill_with(|_, hole| other_of(*hole)));
        let mut values = Vec::new();
        let Some(tree) = read(RenderedText { text: &other, stated: stated.as_deref() }) else { return false };
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

/// Returns a value that another object could have.
fn other_value(value: &str) -> String {
    let next = value.parse::<i64>().ok().and_then(|number| number.checked_add(1));
    next.map_or_else(|| format!("{value}x"), |number| number.to_string())
}

/// Returns the values of a text that may differ, in order; none if they are too many or overlap.
fn holes(unit: &Unit, text: &str, root: NodeRef<'_>) -> Option<Vec<(Range<usize>, NodeId, Hole)>> {
    let identity = &unit.identity;
    let mut found: Vec<(Range<usize>, NodeId, Hole)> = open::values(&identity.object_type.kind, root)?
        .iter()
        .filter_map(|value| hole(text, value, identity.namespace.as_deref()))
        .collect();
    found.sort_by_key(|(place, ..)| place.start);
    let apart = found.is_sorted_by(|(left, ..), (right, ..)| left.end <= right.start);
    (found.len() <= MOST_HOLES && apart).then_some(found)
}

/// Cuts the text of the built-in template at the values of the rendered text.
fn stated_shape(
    unit: &Unit,
    stated: &str,
    text: &str,
    rendered: &[(Range<usize>, NodeId, Hole)],
) -> Option<Shape<usize>> {
    let mut reading = Sink::new();
    let tree = yaml::read(stated, FileId::default(), &mut reading);
    let root = tree.document(0).filter(|_| reading.is_empty() && !tree.has_aliases())?;
    let holes = holes(unit, stated, root)?.into_iter().filter_map(|(place, _, hole)| {
        let value = stated.get(place.clone())?;
        // Values between quotes are read as they are; a value as a word may be none for another tenant.
        let is_read_alike = |other: &Hole| {
            other.spelling == hole.spelling || (hole.spelling, other.spelling) == (Spelling::Quoted, Spelling::Plain)
        };
        let found = rendered
            .iter()
            .position(|(other, _, hole)| text.get(other.clone()) == Some(value) && is_read_alike(hole))?;
        Some((place, found))
    });
    Shape::cut(stated, holes)
}

/// Writes an object, and cuts the text at the scalars of some nodes; none if one of the nodes is not written exactly once.
fn written_shape(root: NodeRef<'_>, nodes: &[NodeId]) -> Option<Shape<usize>> {
    // A word that is written without quotes everywhere, and improbable in a text.
    let mark = |index: usize| format!("bailiwick-hole-{index:05}-x");
    let mut tree = root.tree().clone();
    for (index, node) in nodes.iter().enumerate() {
        tree.set_string(*node, &mark(index));
    }
    let mut text = String::new();
    yaml::write::document(tree.at(root.id()), &mut text);
    let mut ranges = Vec::with_capacity(nodes.len());
    for index in 0..nodes.len() {
        let mark = mark(index);
        let start = text.find(&mark).filter(|start| text.rfind(&mark) == Some(*start))?;
        ranges.push((start..start + mark.len(), index));
    }
    ranges.sort_by_key(|(range, _)| range.start);
    Shape::cut(&text, ranges)
}

impl Spelling {
    /// Returns the length of the value at the beginning of a text.
    fn length(self, text: &[u8]) -> Option<usize> {
        let is_over = |byte: &u8| match self {
            Spelling::Quoted => *byte == b'"',
            Spelling::Plain => !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')),
            Spelling::Number => !byte.is_ascii_digit(),
        };
        text.iter().position(is_over)
    }

    /// Whether a value is read as what it looks like, and is accepted.
    fn is_met_by(self, value: &str, accepts: Accepts) -> bool {
        match self {
            Spelling::Number => {
                let number = value.parse().ok().filter(|_| !value.starts_with('0'));
                number.is_some_and(|number| accepts.number(number))
            }
            Spelling::Plain => quoting(value) == Quoting::Plain && open::is_plain_text(value) && accepts.text(value),
            Spelling::Quoted => open::is_plain_text(value) && accepts.text(value),
        }
    }
}

/// Returns the hole for a value of a text, with its place without quotes; none where its spelling is another.
fn hole(text: &str, value: &OpenValue<'_>, namespace: Option<&str>) -> Option<(Range<usize>, NodeId, Hole)> {
    let node = value.node;
    let (start, end) = (node.span().start as usize, node.span().end as usize);
    let written = text.get(start..end)?;
    let (place, spelling) = match (node.value(), node.as_str()) {
        // Both ends of a range are the same, and stay so: which of them is less is then no question.
        (NodeValue::Int(number), _) => {
            let is_it = |end: &str| {
                let span = value.parent.get(end)?.span();
                Some(text.get(span.start as usize..span.end as usize)? == number.to_string())
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
    let names = match value.top {
        ("metadata", "name") => Some(Names::Object),
        ("metadata", "namespace") => Some(Names::Namespace),
        _ => None,
    };
    let own = text.get(place.clone())?;
    let hole = Hole { spelling, accepts: value.accepts, first: 0, equals_namespace: namespace == Some(own), names };
    spelling.is_met_by(own, value.accepts).then(|| (place, node.id(), hole))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The written text of a document with other strings at `keys`.
    fn filled(text: &str, keys: &[&str], values: &[&str]) -> Option<String> {
        let tree = yaml::read(text, FileId::default(), &mut Sink::new());
        let root = tree.document(0).expect("a document");
        let nodes: Vec<NodeId> = keys.iter().map(|key| root.get(key).expect("the key").id()).collect();
        let shape = written_shape(root, &nodes)?;
        assert_eq!(shape.holes().count(), keys.len());
        let mut out = String::new();
        shape.write_with(&mut out, |_, value, out| yaml::write::string(values.get(*value).expect("a value"), out));
        Some(out)
    }

    #[test]
    fn scalars_are_put_where_they_were_in_any_order() {
        let text = "a: one\nb: [x, two]\nc: three\n";
        assert_eq!(filled(text, &["c", "a"], &["3", "y"]).as_deref(), Some("a: \"y\"\nb:\n- x\n- two\nc: \"3\"\n"));
        assert_eq!(filled(text, &[], &[]).as_deref(), Some("a: one\nb:\n- x\n- two\nc: three\n"));
    }

    #[test]
    fn a_text_that_looks_like_a_place_has_no_shape() {
        assert_eq!(filled("a: one\nb: bailiwick-hole-00000-x\n", &["a"], &["two"]), None);
    }
}
