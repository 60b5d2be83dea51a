//! Equal meanings have equal results: examples, and random expressions on random objects.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{MeaningId, Meanings};
use crate::{Environment, Fail, Fields, Names, Program, Value, ValueSchema};

/// The schema of the objects: booleans, a text, and a list of objects with the same fields.
#[derive(Debug)]
struct Sample;

impl Fields for Sample {
    fn names(&self) -> Vec<String> {
        ["flag", "on", "text", "list", "any"].map(str::to_owned).into()
    }

    fn has(&self, name: &str) -> bool {
        self.names().iter().any(|known| known == name)
    }

    fn field(&self, name: &str) -> Option<ValueSchema> {
        Some(match name {
            "flag" | "on" => ValueSchema::Bool,
            "text" => ValueSchema::String,
            "list" => ValueSchema::List(Box::new(ValueSchema::Object(Arc::new(Sample)))),
            "any" => ValueSchema::Any,
            _ => return None,
        })
    }
}

fn schema() -> Option<ValueSchema> {
    Some(ValueSchema::Object(Arc::new(Sample)))
}

fn compiled(source: &str) -> Program {
    let program = Program::compile(source, &Names { minor: 37, ..Names::default() });
    assert_eq!(program.problem(), None, "{source}");
    program
}

/// Whether two expressions have one meaning for objects of a schema.
fn are_same(one: &str, other: &str, object: Option<ValueSchema>) -> bool {
    let (variables, has_schema) = (BTreeMap::new(), object.is_some());
    let mut meanings = Meanings::new(1_000_000, object);
    let scope = meanings.scope(&variables, has_schema);
    let [one, other] = [one, other].map(|source| meanings.value(&compiled(source), scope));
    one == other
}

#[test]
fn spelling_and_order_mean_nothing() {
    for (one, other) in [
        ("!has(object.flag) || object.flag == false", "!(has(object.flag) && object.flag)"),
        ("  ( !has(object.flag) ) || !object.flag ", "!has(object.flag)||!object.flag"),
        ("object.list.all(c, c.text.startsWith('a/'))", "object.list.all(one, one.text.startsWith(\"a/\"))"),
        ("object.list.all(v, !has(v.flag))", "!object.list.exists(v, has(v.flag))"),
        ("object.text != 'x'", "!('x' == object.text)"),
        ("true", "1 == 1"),
        ("object.text in ['a', 'b']", "object.text == 'b' || object.text == 'a'"),
        ("object.any < 10", "!(object.any >= 0xa)"),
        ("object.on ? object.flag : false", "object.on ? object.flag : 1 > 2"),
        ("object.?flag.orValue(false) == false", "!object.?flag.orValue(false)"),
        ("object.list.all(c, c.list.all(d, d.on && c.on))", "object.list.all(d, d.list.all(c, d.on && c.on))"),
    ] {
        assert!(are_same(one, other, schema()), "{one} and {other}");
    }
}

#[test]
fn other_results_are_other_meanings() {
    for (one, other) in [
        ("object.any == false", "!object.any"),
        ("object.any && true", "object.any"),
        ("object.flag || !object.flag", "true"),
        ("object.on ? object.flag : false", "object.on && object.flag"),
        ("object.list.all(c, c.list.all(d, c.on))", "object.list.all(c, c.list.all(d, d.on))"),
        ("object.list.all(c, c.on)", "object.list.all(c, i, c == 0)"),
        ("object.?flag == true", "object.flag == true"),
        ("object.any['x'] || object.on", "object.on || object.any[b'x']"),
        ("object.on || {'a': true}[b'a']", "{'a': true}[b'a'] || object.on"),
    ] {
        assert!(!are_same(one, other, schema()), "{one} and {other}");
    }
    // Without a schema, a field may be a text.
    assert!(!are_same("object.flag == false", "!object.flag", None));
}

#[test]
fn variables_mean_their_expressions() {
    let variables = |source: &str| BTreeMap::from([("v".to_owned(), compiled(source))]);
    let names = Names { variables: ["v"].into(), minor: 37, ..Names::default() };
    let program = |source: &str| Program::compile(source, &names);
    let mut meanings = Meanings::new(1_000_000, schema());
    let mut value = |source: &str, variables: &BTreeMap<String, Program>| {
        let scope = meanings.scope(variables, true);
        meanings.value(&program(source), scope)
    };
    let (one, spelled, other) =
        (variables("object.list"), variables(" (object.list)"), variables("object.list.filter(c, c.on)"));
    assert_eq!(value("size(variables.v) > 0", &one), value("0 < size(variables.v)", &spelled));
    assert_ne!(value("size(variables.v) > 0", &one), value("size(variables.v) > 0", &other));
    assert_ne!(value("has(variables.v)", &one), value("has(variables.v)", &other));
    assert_eq!(value("has(variables.v)", &one), value(" has(variables.v)", &one));
    // An unsupported expression is the same with the same variables.
    let unsupported = "ip('::1') == variables.v";
    assert_eq!(value(unsupported, &one), value(unsupported, &one));
    assert_ne!(value(unsupported, &one), value(unsupported, &other));
    // A variable named twice could read itself.
    let own = BTreeMap::from([("v".to_owned(), program("variables.v && variables.v"))]);
    assert_eq!(value("variables.v", &own), value("variables.v", &own));
}

#[test]
fn one_condition_implies_another() {
    let variables = BTreeMap::new();
    let mut meanings = Meanings::new(1_000_000, schema());
    let scope = meanings.scope(&variables, true);
    let mut condition = |source: &str| {
        let conditions = meanings.conditions(&compiled(source), scope, false);
        assert_eq!(conditions.len(), 1, "{source}");
        conditions[0]
    };
    let strict = condition("!object.flag");
    let loose = condition("!object.flag || object.text == 'x'");
    let [always, never] = ["true", "false"].map(condition);
    for (one, other, implies) in [
        (strict, loose, true),
        (loose, strict, false),
        (never, strict, true),
        (loose, always, true),
        (always, loose, false),
        (loose, loose, true),
    ] {
        assert_eq!(meanings.implies(one, other), implies);
    }
    assert_eq!(meanings.conditions(&compiled("object.flag && object.on"), scope, false).len(), 2);
    assert_eq!(meanings.conditions(&compiled("object.flag && object.on"), scope, true).len(), 1);
}

/// Without steps, the form decides, and never too much is equal.
#[test]
fn a_large_formula_is_compared_by_its_form() {
    let terms = |order: &[usize]| {
        let terms: Vec<String> = order.iter().map(|number| format!("object.any == {number}")).collect();
        terms.join(" && ")
    };
    let forwards: Vec<usize> = (0..40).collect();
    let backwards: Vec<usize> = (0..40).rev().collect();
    assert!(are_same(&terms(&forwards), &terms(&backwards), None));
    assert!(!are_same(&terms(&forwards), &terms(&forwards[1..]), None));
}

/// Random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("a number") % end
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

const ATOMS: [&str; 16] = [
    "object.flag",
    "object.on",
    "object.any",
    "has(object.flag)",
    "object.text == 'a'",
    "object.text in ['a', 'b']",
    "object.text < 'b'",
    "object.any == true",
    "object.flag == false",
    "object.?flag.orValue(true)",
    "object.missing",
    "true",
    "1 > 2",
    "1 / 0 == 1",
    "object.any[b'k'] == 1",
    "'text'",
];

/// Returns a random expression.
fn expression(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return dice.pick(&ATOMS).to_owned();
    }
    let mut inner = || expression(dice, depth - 1);
    let (one, other, third) = (inner(), inner(), inner());
    match dice.below(10) {
        0 | 1 => format!("({one} && {other})"),
        2 | 3 => format!("({one} || {other})"),
        4 => format!("!({one})"),
        5 => format!("({one} ? {other} : {third})"),
        6 => format!("(({one}) == ({other}))"),
        7 => format!("(({one}) != {})", dice.pick(&["true", "false", "'text'"])),
        _ => {
            let (name, body) = (dice.pick(&["c", "d"]), dice.pick(&["flag", "on", "any", "text == 'a'"]));
            let macro_name = dice.pick(&["all", "exists", "exists_one", "filter"]);
            let negated = dice.pick(&["", "!"]);
            format!("{negated}object.list.{macro_name}({name}, {negated}({name}.{body}) && {one})")
        }
    }
}

/// Returns a random object of the schema.
fn object(dice: &mut Dice, depth: usize) -> Json {
    let mut object = json!({});
    for field in ["flag", "on"] {
        match dice.below(3) {
            0 => {}
            number => object[field] = json!(number == 1),
        }
    }
    object["text"] = json!(dice.pick(&["a", "b", "c"]));
    match dice.below(5) {
        0 => {}
        1 => object["any"] = json!("text"),
        2 => object["any"] = json!({"k": 1}),
        number => object["any"] = json!(number == 3),
    }
    if depth > 0 && dice.below(4) > 0 {
        object["list"] = (0..dice.below(3)).map(|_| self::object(dice, depth - 1)).collect();
    }
    object
}

/// Returns the result of an expression; none for an unknown result.
fn result(program: &Program, object: &Json) -> Option<Result<Value, ()>> {
    let variables = BTreeMap::new();
    let mut environment = Environment::new(&variables, 10_000_000);
    environment.object = Value::from_json(object);
    match program.evaluate(&environment) {
        Ok(value) => Some(Ok(value)),
        Err(Fail::Error(_)) => Some(Err(())),
        Err(Fail::Unknown(_)) => None,
    }
}

#[test]
fn equal_meanings_have_equal_results() {
    let mut dice = Dice(7);
    let variables = BTreeMap::new();
    let mut meanings = Meanings::new(u64::MAX, schema());
    let scope = meanings.scope(&variables, true);
    let objects: Vec<Json> = (0..60).map(|_| object(&mut dice, 2)).collect();
    let mut groups: HashMap<MeaningId, Vec<String>> = HashMap::new();
    let mut ends: [HashMap<Vec<MeaningId>, Vec<String>>; 2] = Default::default();
    for _ in 0..2_000 {
        let depth = 1 + dice.below(3);
        let source = expression(&mut dice, depth);
        let program = compiled(&source);
        groups.entry(meanings.value(&program, scope)).or_default().push(source.clone());
        for (end, ignores) in ends.iter_mut().zip([false, true]) {
            let mut conditions = meanings.conditions(&program, scope, ignores);
            conditions.sort_unstable();
            conditions.dedup();
            end.entry(conditions).or_default().push(source.clone());
        }
    }
    let pairs = pairs_of(groups.values());
    assert!(pairs.len() > 150, "{} pairs", pairs.len());
    for (one, other) in pairs {
        compare(&one, &other, &objects, |result| result);
    }
    for (end, ignores) in ends.iter().zip([false, true]) {
        for (one, other) in pairs_of(end.values()) {
            compare(&one, &other, &objects, |result| match result {
                Ok(value) => Ok(Value::Bool(value == Value::Bool(true))),
                Err(()) => Ok(Value::Bool(ignores)),
            });
        }
    }
}

/// Returns the first expression of each group with each other one.
fn pairs_of<'g>(groups: impl Iterator<Item = &'g Vec<String>>) -> Vec<(String, String)> {
    let pairs = groups.flat_map(|group| group[1..].iter().map(|other| (group[0].clone(), other.clone())));
    pairs.filter(|(one, other)| one != other).collect()
}

/// Compares the results of two expressions on all objects.
fn compare(one: &str, other: &str, objects: &[Json], seen: impl Fn(Result<Value, ()>) -> Result<Value, ()>) {
    let programs = [one, other].map(compiled);
    for object in objects {
        if let [Some(left), Some(right)] = programs.each_ref().map(|program| result(program, object)) {
            assert_eq!(seen(left), seen(right), "{one}\n{other}\n{object}");
        }
    }
}
