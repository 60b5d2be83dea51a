//! Renderings that are repeated with other values.
//!
//! The objects of tenants go through the same statements of a template, and differ in the values that the template prints.
//! A [`Recording`] of one rendering has its text, the places of the printed values, and each answer that the data gave. An answer
//! is the keys of a map, whether a value counts as true, or the whole value where an expression computes with the value.
//!
//! A rendering follows from these answers and from the template alone. So data with equal answers has the same text with its own
//! values in the places. Its budget is known, too: the same steps, and the price of the printed bytes.

use std::ops::Range;
use std::sync::Arc;

use bailiwick_policy::model::Data;
use minijinja::machinery::ast::Expr;

use super::budget::{Budget, MAXIMUM_OBJECT, MAXIMUM_STEPS};
use super::value::{self, is_true};

/// The use of a value by a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// The template asks whether the value is there.
    Presence,
    /// The template asks whether the value counts as true.
    Truth,
    /// The template prints the value.
    Print,
    /// The template computes with the value.
    Whole,
}

/// A place in the data of an object: the position of an entry, then the position of an entry in the map of that entry, and so on.
pub(super) type Place = Vec<usize>;

/// A finished rendering.
#[derive(Debug)]
pub(super) struct Recording {
    text: String,
    answers: Answers,
    prints: Vec<Print>,
    /// The steps of the rendering without the steps of printed values.
    steps: u64,
}

/// The answers of a value to a template.
#[derive(Debug)]
struct Answers {
    value: Data,
    /// Whether the template asked for a key of the value.
    has_keys: bool,
    is_tested: bool,
    is_whole: bool,
    /// The entries of the map that the template asked about, by their positions.
    entries: Vec<(usize, Answers)>,
}

/// A value that was printed as it is.
#[derive(Debug)]
struct Print {
    range: Range<usize>,
    place: Place,
    value: Data,
}

impl Recording {
    #[cfg(test)]
    fn length(&self) -> usize {
        self.text.len()
    }

    /// Renders other data into an empty text. Returns false if the data has other answers or exceeds a bound; the text is then to
    /// be rendered.
    pub(super) fn repeat(&self, data: &Data, out: &mut String) -> bool {
        if !self.answers.are_answers_of(data) {
            return false;
        }
        let (mut steps, mut copied) = (self.steps, 0);
        let copy = |range, out: &mut String| self.text.get(range).into_iter().for_each(|text| out.push_str(text));
        for print in &self.prints {
            copy(copied..print.range.start, out);
            copied = print.range.end;
            let Some(value) = print.place.iter().try_fold(data, |map, position| entry(map, *position)) else {
                return false;
            };
            let start = out.len();
            match is_shared(&print.value, value) {
                true => copy(print.range.clone(), out),
                false => value::append(value, out),
            }
            steps += value::steps_of_text(out.len() - start);
        }
        copy(copied..self.text.len(), out);
        steps <= MAXIMUM_STEPS && out.len() <= MAXIMUM_OBJECT
    }
}

impl Answers {
    fn new(value: &Data) -> Self {
        Self { value: value.clone(), has_keys: false, is_tested: false, is_whole: false, entries: Vec::new() }
    }

    /// Returns the answers of an entry of a map.
    fn entry(&mut self, position: usize) -> Option<&mut Self> {
        let found = match self.entries.iter().position(|(known, _)| *known == position) {
            Some(found) => found,
            None => {
                self.entries.push((position, Self::new(entry(&self.value, position)?)));
                self.entries.len() - 1
            }
        };
        self.entries.get_mut(found).map(|(_, answers)| answers)
    }

    /// Whether a template that asks the same of other data gets the same answers.
    fn are_answers_of(&self, data: &Data) -> bool {
        if is_shared(&self.value, data) {
            return true;
        }
        if self.is_whole {
            return is_identical(&self.value, data);
        }
        if self.is_tested && is_true(&self.value) != is_true(data) {
            return false;
        }
        match (&self.value, data) {
            _ if !self.has_keys => true,
            (Data::Map(own), Data::Map(others)) => {
                let has_entry = |(position, answers): &(usize, Answers)| {
                    others.get(*position).is_some_and(|(_, value)| answers.are_answers_of(value))
                };
                own.len() == others.len()
                    && own.iter().zip(others.iter()).all(|((key, _), (other, _))| key == other)
                    && self.entries.iter().all(has_entry)
            }
            (own, other) => is_identical(own, other),
        }
    }
}

/// Records a rendering while it runs.
#[derive(Debug)]
pub(super) struct Recorder {
    answers: Answers,
    prints: Vec<Print>,
    /// False after a question to something other than the data of the object.
    is_repeatable: bool,
    /// Whether the expression that is evaluated was noted, with all its parts.
    is_paused: bool,
    /// How many texts are captured, one in the other. A captured text is a value, and not yet a text of the object.
    captures: usize,
}

impl Recorder {
    /// Records the rendering of an object with this data.
    pub(super) fn new(data: &Data) -> Self {
        let answers = Answers { has_keys: true, ..Answers::new(data) };
        Self { answers, prints: Vec::new(), is_repeatable: true, is_paused: false, captures: 0 }
    }

    /// Returns the recording of a finished text; none if the text depends on something other than the data.
    pub(super) fn finish(self, text: &str, budget: &Budget) -> Option<Recording> {
        let Self { answers, prints, is_repeatable, .. } = self;
        let printed: u64 = prints.iter().map(|print| value::steps_of_text(print.range.len())).sum();
        let steps = budget.spent().checked_sub(printed).filter(|_| is_repeatable)?;
        Some(Recording { text: text.to_owned(), answers, prints, steps })
    }

    /// Notes the use of an expression. Returns whether the expression names a value of the data; its parts are then not noted
    /// until [`Recorder::resume`]. `is_bound` returns whether a statement binds a name.
    pub(super) fn note(&mut self, expression: &Expr<'_>, used: Use, is_bound: &dyn Fn(&str) -> bool) -> bool {
        if self.is_paused {
            return false;
        }
        let (place, is_there) = match find(expression, &self.answers.value, is_bound) {
            Some(Found::At(place, _)) => (place, true),
            Some(Found::Missing(map)) => (map, false),
            None => return false,
        };
        let mut answers = &mut self.answers;
        for position in place {
            answers.has_keys = true;
            let Some(inner) = answers.entry(position) else { return false };
            answers = inner;
        }
        match used {
            _ if !is_there => answers.has_keys = true,
            Use::Presence | Use::Print => {}
            Use::Truth => answers.is_tested = true,
            Use::Whole => answers.is_whole = true,
        }
        self.is_paused = true;
        true
    }

    /// Goes on behind an expression that was noted.
    pub(super) fn resume(&mut self) {
        self.is_paused = false;
    }

    /// Returns the place of a value that is about to be printed into the text of the object.
    pub(super) fn place(&self, expression: &Expr<'_>, is_bound: &dyn Fn(&str) -> bool) -> Option<Place> {
        match find(expression, &self.answers.value, is_bound).filter(|_| self.captures == 0)? {
            Found::At(place, _) => Some(place),
            Found::Missing(_) => None,
        }
    }

    /// Notes the bytes of a value that was printed.
    pub(super) fn print(&mut self, range: Range<usize>, place: Place, value: Data) {
        self.prints.push(Print { range, place, value });
    }

    /// Begins a captured text.
    pub(super) fn enter_capture(&mut self) {
        self.captures += 1;
    }

    /// Ends a captured text.
    pub(super) fn leave_capture(&mut self) {
        self.captures -= 1;
    }

    /// Notes a question to something other than the data of the object.
    pub(super) fn ask_elsewhere(&mut self) {
        self.is_repeatable = false;
    }
}

/// The value that a path of names leads to.
enum Found<'d> {
    At(Place, &'d Data),
    /// The value at this place has no such key.
    Missing(Place),
}

/// Finds the value of a name, or of keys behind a name. Returns none for other expressions, for names that a statement binds, and
/// for names that the data does not have.
fn find<'d>(expression: &Expr<'_>, data: &'d Data, is_bound: &dyn Fn(&str) -> bool) -> Option<Found<'d>> {
    match expression {
        Expr::Var(name) if !is_bound(name.id) => {
            position(data, name.id).map(|(position, value)| Found::At(vec![position], value))
        }
        Expr::GetAttr(attribute) => match find(&attribute.expr, data, is_bound)? {
            Found::At(mut place, map) => Some(match position(map, attribute.name) {
                Some((position, value)) => {
                    place.push(position);
                    Found::At(place, value)
                }
                None => Found::Missing(place),
            }),
            Found::Missing(_) => None,
        },
        _ => None,
    }
}

fn position<'d>(map: &'d Data, key: &str) -> Option<(usize, &'d Data)> {
    let Data::Map(entries) = map else { return None };
    let position = entries.iter().position(|(known, _)| **known == *key)?;
    entries.get(position).map(|(_, value)| (position, value))
}

fn entry(map: &Data, position: usize) -> Option<&Data> {
    let Data::Map(entries) = map else { return None };
    entries.get(position).map(|(_, value)| value)
}

/// Whether two values are one in memory, or equal scalars. Other equal values may be different in memory.
fn is_shared(left: &Data, right: &Data) -> bool {
    match (left, right) {
        (Data::List(left), Data::List(right)) => Arc::ptr_eq(left, right),
        (Data::Map(left), Data::Map(right)) => Arc::ptr_eq(left, right),
        (Data::Float(left), Data::Float(right)) => left.to_bits() == right.to_bits(),
        (Data::List(_) | Data::Map(_), _) | (_, Data::List(_) | Data::Map(_)) => false,
        (left, right) => left == right,
    }
}

/// Whether every template computes the same with two values. Zeros with different signs are equal and not identical.
fn is_identical(left: &Data, right: &Data) -> bool {
    is_shared(left, right)
        || match (left, right) {
            (Data::List(left), Data::List(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right.iter()).all(|(left, right)| is_identical(left, right))
            }
            (Data::Map(left), Data::Map(right)) => {
                let mut pairs = left.iter().zip(right.iter());
                left.len() == right.len()
                    && pairs.all(|((key, left), (other, right))| key == other && is_identical(left, right))
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use bailiwick_policy::model::{ObjectId, TypeMeta, UnitSource};
    use bailiwick_policy::source::{MemorySource, Sources};
    use bailiwick_yaml::diag::{Files, Sink};

    const TEMPLATES: &[&str] = &[
        "a: {{ name }}\n",
        "{{ name }}: {{ inner }}\nitems: {{ items }}\n",
        "{% if name %}\na: {{ name }}\n{% elif flag %}\nb: 1\n{% endif %}\n",
        "{% if not name %}\na: 1\n{% endif %}\nflag: {{ flag }}\n",
        "{% if name and flag %}\na: {{ name }}\n{% endif %}\n",
        "{% if inner.x is defined %}\nx: {{ inner.x }}\n{% endif %}\n",
        "{% if inner.x is undefined %}\nx: {{ name }}\n{% endif %}\n",
        "{% if inner.x.y is defined %}\nx: {{ inner.x.y }}\n{% endif %}\n",
        "{% if absent is defined %}\nx: 1\n{% endif %}\na: {{ name }}\n",
        "a: {{ inner.x }}\n",
        "a: {{ inner['x'] }}\n",
        "a: {{ items[0] }}\n",
        "{% for item in items %}\n- {{ item }}\n{% else %}\n- {{ name }}\n{% endfor %}\n",
        "{% for name in items %}\n- {{ name }}\n{% endfor %}\na: {{ name }}\n",
        "{% for item in items if name %}\n- {{ loop.index }}\n{% endfor %}\n",
        "{% for key, value in inner|items %}\n{{ key }}: {{ value }}\n{% endfor %}\n",
        "{% set other = name %}\na: {{ other }}\nb: {{ name }}\n",
        "{% set name = flag %}\na: {{ name }}\n",
        "{% set text %}\n{{ name }}{{ inner }}\n{% endset %}\na: {{ text }}\n",
        "{% with other = inner %}\na: {{ other.x }}\n{% endwith %}\n",
        "a: {% filter upper %}{{ name }}{% endfilter %}\n",
        "a: {{ name ~ '-x' }}\n",
        "a: {{ inner.x ~ '' }}\n",
        "a: {{ name == 'a' }}\nb: {{ 'a' in items }}\nc: {{ items|length }}\n",
        "a: {{ inner.x if inner.x else name }}\n",
        "a: {{ [name, inner.x|default(1)] }}\n",
        "{% include name ~ '.j2' ignore missing %}\na: {{ flag }}\n",
        "a: {{ account }}\nb: {{ name }}\n",
        "{% if account %}\na: {{ name }}\n{% endif %}\n",
    ];

    /// Templates that use up most of a budget: the first for steps, the second for bytes.
    const EXPENSIVE: &[&str] = &[
        "{% for number in range(300000) %}\n{% endfor %}\na: {{ name }}\n",
        "a: {{ name }}\nb: {{ name }}\nc: {{ name }}\n",
    ];

    fn unit(data: Data) -> Unit {
        Unit {
            identity: ObjectId { object_type: TypeMeta::new("v1", "Thing"), namespace: None, name: "thing".into() },
            template: TemplateName::Own("template.j2".into()),
            data,
            origin: Origin::default(),
            content: Origin::default(),
            account: None,
            without_levels: false,
            source: UnitSource::default(),
        }
    }

    fn templates(text: &str) -> TemplateSet {
        let world = MemorySource::new([("templates/template.j2", text), ("templates/a.j2", "included: {{ items }}\n")]);
        let mut sources = Sources::new(Box::new(world), Arc::new(Files::new()));
        TemplateSet::load("templates", &mut sources, &mut Sink::new()).expect("memory can be read")
    }

    /// Renders data; the name of the object is the value of an input, too.
    fn rendered(renderer: &mut Renderer<'_>, data: &Data) -> Result<String, String> {
        let mut out = String::new();
        let input = |name: &str| (name == "account").then(|| data.get("name").cloned().unwrap_or(Data::Null));
        let outcome = renderer.render(&unit(data.clone()), &input, &mut out);
        outcome.map(|()| out).map_err(|problem| format!("{problem:?}"))
    }

    /// Returns data with each combination of some values, with some shared parts.
    fn all_data() -> Vec<Data> {
        let shared = Data::List([Data::text("a"), Data::Int(1)].into());
        let names = [Data::text("a"), Data::text("b\n- \"c"), Data::text(""), Data::Null, Data::Int(7), shared.clone()];
        let inners = [
            Data::map([("x", Data::text("a"))]),
            Data::map([("x", Data::Float(0.0))]),
            Data::map([("x", Data::Float(-0.0))]),
            Data::map([("x", Data::map([("y", shared.clone())])), ("z", Data::Null)]),
            Data::map([("z", Data::Null)]),
            Data::map::<&str>([]),
            Data::Null,
            Data::text("x"),
        ];
        let items = [shared, Data::List([].into()), Data::List([Data::Null].into())];
        let mut found = Vec::new();
        for name in &names {
            for inner in &inners {
                for items in &items {
                    let (name, inner, items) = (name.clone(), inner.clone(), items.clone());
                    let flag = Data::Bool(found.len() % 2 == 0);
                    found.push(Data::map([("name", name), ("inner", inner), ("items", items), ("flag", flag)]));
                }
            }
        }
        // The same fields in another order, and one field less.
        if let Some(Data::Map(entries)) = found.first().cloned() {
            found.push(Data::Map(entries.iter().rev().cloned().collect()));
            found.push(Data::Map(entries.iter().skip(1).cloned().collect()));
        }
        found
    }

    /// Renders other data after a recording of the first. Returns the number of recordings that were repeated.
    fn compare(text: &str, first: &Data, others: &[Data]) -> usize {
        let templates = templates(text);
        let mut repeated = 0;
        for other in others {
            let mut renderer = Renderer::new(&templates);
            for _ in 0..=FIRST_RECORDED {
                _ = rendered(&mut renderer, first);
            }
            let mut plain = Renderer::new(&templates);
            let expected = rendered(&mut plain, other);
            for recording in renderer.recorded.values().flat_map(|recorded| &recorded.recordings) {
                let mut out = String::new();
                if recording.repeat(other, &mut out) {
                    assert_eq!(Ok(out), expected, "{text}\n{first:?}\n{other:?}");
                    repeated += 1;
                }
            }
            assert_eq!(rendered(&mut renderer, other), expected, "{text}\n{first:?}\n{other:?}");
        }
        repeated
    }

    #[test]
    fn repeated_renderings_are_renderings() {
        let all = all_data();
        for text in TEMPLATES {
            let repeated: usize = all.iter().step_by(5).map(|first| compare(text, first, &all)).sum();
            let expects_none = text.contains("account") || text.contains("absent");
            assert_eq!(repeated == 0, expects_none, "{repeated} recordings of {text}");
        }
        // Printed values are free.
        let whole: Vec<Data> = all.iter().take(all.len() - 2).cloned().collect();
        assert!(compare("a: {{ name }}\n", &whole[0], &whole) == whole.len());
    }

    #[test]
    fn a_repeated_rendering_has_the_same_bounds() {
        let named = |length: usize| Data::map([("name", Data::text("x".repeat(length)))]);
        let others = [named(2), named(5 << 20), named(6 << 20), named(10 << 20)];
        for text in EXPENSIVE {
            let repeated = compare(text, &named(1), &others);
            assert!((1..others.len()).contains(&repeated), "{repeated} recordings of {text}");
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_recorded() {
        let templates = templates("a: {{ name }}\n");
        let mut renderer = Renderer::new(&templates);
        let long = "x".repeat(LONGEST_RECORDED / 2);
        for (number, text) in (0..).zip([&*long, &"x".repeat(LONGEST_RECORDED)].repeat(200)) {
            let origin = Origin { span: bailiwick_yaml::diag::Span::new(number, number + 1), ..Origin::default() };
            for round in 0..5 {
                let unit = Unit { origin, ..unit(Data::map([("name", Data::text(format!("{round}{text}")))])) };
                renderer.render(&unit, &|_| None, &mut String::new()).expect("a text");
            }
            let recordings = renderer.recorded.values().flat_map(|recorded| &recorded.recordings);
            let lengths: Vec<usize> = recordings.map(Recording::length).collect();
            assert_eq!(lengths.iter().sum::<usize>(), renderer.recorded_bytes);
            assert!(renderer.recorded_bytes <= MOST_RECORDED_BYTES);
            assert!(lengths.iter().all(|length| *length <= LONGEST_RECORDED));
        }
    }

    #[test]
    fn recordings_that_fit_nothing_are_given_up() {
        let templates = templates("a: {{ name ~ '' }}\n");
        let mut renderer = Renderer::new(&templates);
        for number in 0..100 {
            let data = Data::map([("name", Data::Int(number))]);
            assert_eq!(rendered(&mut renderer, &data), Ok(format!("a: \"{number}\"\n")));
        }
        assert!(renderer.recorded.values().all(|recorded| recorded.recordings.is_empty()));
    }
}
