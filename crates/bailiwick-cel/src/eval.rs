//! Evaluation, with the errors of cel-go and a bound on the work.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::ast::{Expr, Field, Operator};
use super::check::PATCH;
use super::declared::Declared;
use super::macros::{Fold, FoldKind};
use super::value::{Key, Map, Value, compare, equal, length};
use super::{EvalResult, Fail, Program, check, functions, lists};

/// The steps of one expression, with the steps of its variables. The count is never below the API server's cost of
/// the same expression, and the server's limit is the same: an expression below the limit runs to its end in the
/// server.
const STEPS: u64 = 1_000_000;
/// The deepest nesting of values: the depth of an expression plus the depth of its variables.
const DEEPEST: u32 = 400;

/// The values of the names in expressions.
#[derive(Debug)]
pub struct Environment<'e> {
    /// The object, or null.
    pub object: Value,
    /// The object as it was, or null.
    pub old_object: Value,
    /// The admission request, `request` in expressions.
    pub request: Value,
    /// The namespace: null for none, `None` for an unknown one.
    pub namespace: Option<Value>,
    /// The variables by name.
    pub variables: &'e BTreeMap<String, Program>,
    /// Values of names beside the names of the API server. They win over all others.
    pub bound: Vec<(&'e str, Value)>,
    /// The outcomes of evaluated variables.
    known: RefCell<BTreeMap<String, EvalResult>>,
    /// The remaining steps for all expressions together.
    budget: Cell<u64>,
}

impl<'e> Environment<'e> {
    /// Creates an environment with a number of steps for all expressions together.
    pub fn new(variables: &'e BTreeMap<String, Program>, budget: u64) -> Self {
        Self {
            object: Value::Null,
            old_object: Value::Null,
            request: Value::Null,
            namespace: None,
            variables,
            bound: Vec::new(),
            known: RefCell::default(),
            budget: Cell::new(budget),
        }
    }

    /// Creates the same environment without evaluated variables.
    pub fn anew(&self, budget: u64) -> Self {
        Self {
            object: self.object.clone(),
            old_object: self.old_object.clone(),
            request: self.request.clone(),
            namespace: self.namespace.clone(),
            bound: self.bound.clone(),
            ..Self::new(self.variables, budget)
        }
    }

    /// Returns the remaining steps.
    pub fn budget(&self) -> u64 {
        self.budget.get()
    }
}

/// The evaluation of one expression.
#[derive(Debug)]
pub struct Evaluation<'e> {
    environment: &'e Environment<'e>,
    /// The names bound by macros, the innermost last.
    bound: Vec<(&'e str, Value)>,
    steps: u64,
    /// The most steps of the expression, within the budget.
    limit: u64,
    depth: u32,
}

impl<'e> Evaluation<'e> {
    /// Creates an evaluation.
    pub fn new(environment: &'e Environment<'e>) -> Self {
        Self {
            environment,
            bound: environment.bound.clone(),
            steps: 0,
            limit: STEPS.min(environment.budget()),
            depth: 0,
        }
    }

    pub(super) fn evaluate(&mut self, expr: &'e Expr) -> EvalResult {
        let outcome = self.eval(expr);
        let budget = self.environment.budget.get();
        let Some(left) = budget.checked_sub(self.steps) else {
            self.environment.budget.set(0);
            return Err(too_much());
        };
        self.environment.budget.set(left);
        outcome
    }

    /// Counts steps.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Fail> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.limit { Err(too_much()) } else { Ok(()) }
    }

    fn eval(&mut self, expr: &'e Expr) -> EvalResult {
        self.spend(1)?;
        if self.depth >= DEEPEST {
            return Err(Fail::Unknown("the variables ask for each other too deeply to be evaluated here".to_owned()));
        }
        self.depth += 1;
        let outcome = self.node(expr);
        self.depth -= 1;
        outcome
    }

    fn node(&mut self, expr: &'e Expr) -> EvalResult {
        match expr {
            Expr::Literal(literal) => Ok(literal.clone()),
            Expr::Ident(name) => self.ident(name),
            Expr::Select { operand, field, optional } => {
                let operand = self.operand(operand, field)?;
                member(&operand, &Value::text(field.as_str()), *optional)
            }
            Expr::Has { operand, field } => {
                let operand = self.operand(operand, field)?;
                let found = match &operand {
                    Value::Optional(None) => None,
                    Value::Optional(Some(inner)) => inner.at(&Value::text(field.as_str()))?,
                    operand => operand.at(&Value::text(field.as_str()))?,
                };
                Ok(Value::Bool(found.is_some()))
            }
            Expr::Index { operand, index, optional } => {
                let operand = self.eval(operand)?;
                if matches!(operand, Value::Optional(None)) {
                    return Ok(operand);
                }
                let index = self.eval(index)?;
                self.look_up(&operand, &index)?;
                member(&operand, &index, *optional)
            }
            Expr::List(items) => self.list(items),
            Expr::Map(entries) => self.map(entries),
            Expr::Struct { name, fields } if name == PATCH => self.patch(fields),
            Expr::Struct { .. } => Err(Fail::Unknown("an object of a type is not evaluated here".to_owned())),
            Expr::Not(operand) => match self.eval(operand)? {
                Value::Bool(truth) => Ok(Value::Bool(!truth)),
                _ => Err(Fail::no_such_overload()),
            },
            Expr::Negate(operand) => functions::negate(&self.eval(operand)?),
            Expr::Binary { operator, left, right } => {
                let (left, right) = (self.eval(left), self.eval(right));
                self.binary(*operator, &left?, &right?)
            }
            Expr::And(terms) => self.logical(terms, false),
            Expr::Or(terms) => self.logical(terms, true),
            Expr::Conditional { condition, then, otherwise } => match self.eval(condition)? {
                Value::Bool(true) => self.eval(then),
                Value::Bool(false) => self.eval(otherwise),
                _ => Err(Fail::no_such_overload()),
            },
            Expr::Call { target, function, arguments } => self.call(target.as_deref(), function, arguments),
            Expr::Fold(fold) => self.fold(fold),
        }
    }

    fn ident(&self, name: &str) -> EvalResult {
        if let Some((_, value)) = self.bound.iter().rev().find(|(bound, _)| *bound == name) {
            return Ok(value.clone());
        }
        match name {
            "object" => Ok(self.environment.object.clone()),
            "oldObject" => Ok(self.environment.old_object.clone()),
            "request" => Ok(self.environment.request.clone()),
            // The API server evaluates no policy with unknown parameters.
            "params" => Ok(Value::Null),
            "namespaceObject" => self
                .environment
                .namespace
                .clone()
                .ok_or_else(|| Fail::Unknown("the namespace of the request is not given".to_owned())),
            other => check::type_named(other).ok_or_else(|| Fail::Unknown(format!("there is no name `{other}`"))),
        }
    }

    /// Evaluates the operand of a field. A variable is one field of all variables, and is evaluated on demand.
    fn operand(&mut self, operand: &'e Expr, field: &str) -> EvalResult {
        let Expr::Ident(name) = operand else { return self.eval(operand) };
        if self.bound.iter().any(|(bound, _)| bound == name) {
            return self.eval(operand);
        }
        match name.as_str() {
            "variables" => {
                let value = self.variable(field)?;
                Ok(Value::of_entries([(field, value)].into_iter()))
            }
            "request" if field == "options" && self.environment.request.at(&Value::text("options"))?.is_none() => {
                Err(Fail::Unknown("the options of the request are not given".to_owned()))
            }
            _ => self.eval(operand),
        }
    }

    fn variable(&mut self, name: &str) -> EvalResult {
        let known = self.environment.known.borrow().get(name).cloned();
        if let Some(known) = known {
            return known;
        }
        let program = self.environment.variables.get(name);
        let program = program.ok_or_else(|| Fail::Unknown(format!("there is no variable `{name}`")))?;
        let outcome = match &program.expr {
            Ok(expr) => {
                let bound = std::mem::take(&mut self.bound);
                let outcome = self.eval(expr);
                self.bound = bound;
                outcome
            }
            Err(reason) => Err(Fail::Unknown(format!("the variable `{name}`: {reason}"))),
        };
        let outcome = outcome.map_err(|fail| match fail {
            Fail::Error(text) => Fail::Error(format!("composited variable \"{name}\" fails to evaluate: {text}")),
            unknown @ Fail::Unknown(_) => unknown,
        });
        self.environment.known.borrow_mut().insert(name.to_owned(), outcome.clone());
        outcome
    }

    fn list(&mut self, items: &'e [(Expr, bool)]) -> EvalResult {
        self.spend(10)?;
        let mut list = Vec::new();
        for (item, optional) in items {
            match (self.eval(item)?, optional) {
                (value, false) => list.push(value),
                (Value::Optional(value), true) => list.extend(value.as_deref().cloned()),
                (_, true) => return Err(Fail::no_such_overload()),
            }
        }
        Ok(Value::list(list))
    }

    fn map(&mut self, entries: &'e [(Expr, Expr, bool)]) -> EvalResult {
        self.spend(30)?;
        let mut map = Map::new();
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let value = match (self.eval(value)?, optional) {
                (value, false) => Some(value),
                (Value::Optional(value), true) => value.as_deref().cloned(),
                (_, true) => return Err(Fail::no_such_overload()),
            };
            let Some(value) = value else { continue };
            let known = Key::from_value(&key).filter(|_| !matches!(key, Value::Double(_)));
            let known = known.ok_or_else(|| Fail::Unknown("a map has a key that can be none".to_owned()))?;
            if map.insert(known, (key, value)).is_some() {
                return Err(Fail::Unknown("a map has a key twice".to_owned()));
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }

    /// Makes a map of the fields of a patch.
    fn patch(&mut self, fields: &'e [Field]) -> EvalResult {
        self.spend(30)?;
        let mut map = Map::new();
        for (name, value, is_optional) in fields {
            if *is_optional {
                return Err(Fail::Unknown("an optional field of a patch is not evaluated here".to_owned()));
            }
            let key = Value::text(name.as_str());
            if let Some(known) = Key::from_value(&key) {
                map.insert(known, (key, self.eval(value)?));
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }

    fn binary(&mut self, operator: Operator, left: &Value, right: &Value) -> EvalResult {
        // Texts, lists and maps cost as much as is read of them.
        let weight = match operator {
            Operator::In => right.weight().saturating_mul(left.weight()),
            _ => left.weight().saturating_add(right.weight()),
        };
        self.spend(weight)?;
        if operator == Operator::In {
            self.look_up(right, left)?;
        }
        let order = || compare(left, right);
        let truth = match operator {
            Operator::Equal => equal(left, right),
            Operator::NotEqual => !equal(left, right),
            Operator::Less => order()?.is_lt(),
            Operator::LessOrEqual => order()?.is_le(),
            Operator::Greater => order()?.is_gt(),
            Operator::GreaterOrEqual => order()?.is_ge(),
            Operator::In => match right {
                Value::List(items) => items.iter().any(|item| equal(left, item)),
                Value::Map(entries) => Key::from_value(left).is_some_and(|key| entries.contains_key(&key)),
                _ => return Err(Fail::no_such_overload()),
            },
            _ => return functions::arithmetic(operator, left, right),
        };
        Ok(Value::Bool(truth))
    }

    /// Evaluates `&&`, or `||` if true decides: a deciding term swallows the errors of all other terms.
    fn logical(&mut self, terms: &'e [Expr], decides: bool) -> EvalResult {
        let mut first = None;
        for term in terms {
            let outcome = self.eval(term);
            if is(&outcome, decides) {
                return outcome;
            }
            keep(&mut first, outcome);
        }
        first.map_or(Ok(Value::Bool(!decides)), Err)
    }

    /// Checks a key of a map. For bytes the API server fails the whole expression, unless all keys are known to be
    /// texts.
    fn look_up(&mut self, map: &Value, key: &Value) -> Result<(), Fail> {
        let inner = if let Value::Optional(Some(inner)) = map { inner } else { map };
        if matches!((inner, key), (Value::Map(_), Value::Bytes(_))) {
            // No step is left, so that no later term decides.
            self.steps = u64::MAX;
            return Err(Fail::Unknown("bytes are looked up in a map".to_owned()));
        }
        Ok(())
    }

    fn call(&mut self, target: Option<&'e Expr>, function: &'e str, arguments: &'e [Expr]) -> EvalResult {
        let (name, target) = match target {
            Some(Expr::Ident(namespace))
                if Declared::get().is_namespace(namespace)
                    && !self.bound.iter().any(|(bound, _)| bound == namespace) =>
            {
                (format!("{namespace}.{function}"), None)
            }
            other => (function.to_owned(), other),
        };
        let Some(target) = target else {
            let values = self.arguments(arguments)?;
            if let ([argument], [value], true) = (arguments, values.as_slice(), functions::is_conversion(&name)) {
                self.agree(argument, value)?;
            }
            return functions::global(self, &name, &values);
        };
        // The other value is evaluated only without a first value.
        if let ("or" | "orValue", [other]) = (function, arguments) {
            return match self.eval(target)? {
                Value::Optional(Some(inner)) if function == "orValue" => Ok(inner.as_ref().clone()),
                Value::Optional(None) => self.eval(other),
                Value::Optional(inner) => Ok(Value::Optional(inner)),
                _ => Err(Fail::no_such_overload()),
            };
        }
        let target_expr = target;
        let target = self.eval(target);
        let arguments = self.arguments(arguments);
        let value = target?;
        let arguments = arguments?;
        if matches!(function, "indexOf" | "lastIndexOf") {
            self.agree(target_expr, &value)?;
        }
        functions::member(self, &value, function, &arguments)
    }

    /// Checks the value of an argument. For functions with an implementation for each type, the compiler selects by
    /// the static type. An alternative, such as the argument of `orValue`, can give the whole expression another type
    /// than its value has.
    fn agree(&self, expr: &Expr, value: &Value) -> Result<(), Fail> {
        match self.seen(expr, 0) {
            Some(seen) if seen != value.type_name() => {
                let (found, text) = (value.type_name(), "read by the compiler as");
                Err(Fail::Unknown(format!("a function is called with a value of type {found}, {text} {seen}")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the static type of an expression, as far as an alternative decides it.
    fn seen(&self, expr: &Expr, depth: u32) -> Option<&'static str> {
        if depth > 64 {
            return None;
        }
        let seen = |expr: &Expr| self.seen(expr, depth + 1);
        match expr {
            Expr::Literal(literal) => Some(literal.type_name()),
            Expr::List(_) => Some("list"),
            Expr::Map(_) => Some("map"),
            Expr::Conditional { then, otherwise, .. } => seen(then).or_else(|| seen(otherwise)),
            Expr::Binary { operator: Operator::Add, left, right } => seen(left).or_else(|| seen(right)),
            Expr::Call { target: Some(target), function, arguments } => match (function.as_str(), arguments.as_slice())
            {
                ("orValue" | "or", [other]) => seen(target).or_else(|| seen(other)),
                ("value", []) => seen(target),
                ("of", [inner]) => seen(inner),
                _ => None,
            },
            Expr::Fold(fold) if matches!(fold.kind, FoldKind::OptionalMap | FoldKind::OptionalFlatMap) => {
                fold.bodies.first().and_then(seen)
            }
            Expr::Select { operand, field, optional: false } => match operand.as_ref() {
                Expr::Ident(name) if name == "variables" => {
                    seen(self.environment.variables.get(field)?.expr.as_ref().ok()?)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn arguments(&mut self, arguments: &'e [Expr]) -> Result<Vec<Value>, Fail> {
        let outcomes: Vec<EvalResult> = arguments.iter().map(|argument| self.eval(argument)).collect();
        outcomes.into_iter().collect()
    }

    fn fold(&mut self, fold: &'e Fold) -> EvalResult {
        let range = self.eval(&fold.range)?;
        if matches!(fold.kind, FoldKind::OptionalMap | FoldKind::OptionalFlatMap) {
            return self.optional(fold, &range);
        }
        let entries = entries(&range, fold.names.len() == 2)?;
        self.spend(length(entries.len()))?;
        match fold.kind {
            FoldKind::All => self.quantified(fold, entries, false),
            FoldKind::Exists => self.quantified(fold, entries, true),
            FoldKind::ExistsOne => self.exists_one(fold, entries),
            FoldKind::MapOfEntries | FoldKind::SortBy => {
                Err(Fail::Unknown(format!("`{}` is not evaluated here", fold.name())))
            }
            _ => self.transform(fold, entries),
        }
    }

    fn optional(&mut self, fold: &'e Fold, range: &Value) -> EvalResult {
        let ([name], [body]) = (fold.names.as_slice(), fold.bodies.as_slice()) else {
            return Err(Fail::no_such_overload());
        };
        match range {
            Value::Optional(None) => Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => {
                let value = self.with(&[name], [inner.as_ref().clone()], body)?;
                Ok(if fold.kind == FoldKind::OptionalMap { value.some() } else { value })
            }
            _ => Err(Fail::no_such_overload()),
        }
    }

    /// Evaluates a body with names bound.
    fn with<const N: usize>(&mut self, names: &[&'e String], values: [Value; N], body: &'e Expr) -> EvalResult {
        let outer = self.bound.len();
        self.bound.extend(names.iter().map(|name| name.as_str()).zip(values));
        let outcome = self.eval(body);
        self.bound.truncate(outer);
        outcome
    }

    fn entry(&mut self, fold: &'e Fold, entry: FoldEntry, body: &'e Expr) -> EvalResult {
        match fold.names.as_slice() {
            [name] => self.with(&[name], [entry.value], body),
            [first, second] => self.with(&[first, second], [entry.key, entry.value], body),
            _ => Err(Fail::no_such_overload()),
        }
    }

    fn quantified(&mut self, fold: &'e Fold, entries: Vec<FoldEntry>, decides: bool) -> EvalResult {
        let mut first = None;
        for entry in entries {
            for body in &fold.bodies {
                let outcome = self.entry(fold, entry.clone(), body);
                if is(&outcome, decides) {
                    return outcome;
                }
                keep(&mut first, outcome);
            }
        }
        first.map_or(Ok(Value::Bool(!decides)), Err)
    }

    fn exists_one(&mut self, fold: &'e Fold, entries: Vec<FoldEntry>) -> EvalResult {
        let (mut count, mut failed) = (0_usize, None);
        for entry in entries {
            for body in &fold.bodies {
                match self.holds(fold, entry.clone(), body) {
                    Ok(holds) => count += usize::from(holds),
                    Err(fail) => replace(&mut failed, fail),
                }
            }
        }
        failed.map_or(Ok(Value::Bool(count == 1)), Err)
    }

    fn holds(&mut self, fold: &'e Fold, entry: FoldEntry, body: &'e Expr) -> Result<bool, Fail> {
        match self.entry(fold, entry, body)? {
            Value::Bool(truth) => Ok(truth),
            _ => Err(Fail::no_such_overload()),
        }
    }

    fn transform(&mut self, fold: &'e Fold, entries: Vec<FoldEntry>) -> EvalResult {
        let (condition, body) = match fold.bodies.as_slice() {
            [only] if fold.kind == FoldKind::Filter => (Some(only), None),
            [only] => (None, Some(only)),
            [condition, body] => (Some(condition), Some(body)),
            _ => return Err(Fail::no_such_overload()),
        };
        let (mut made, mut failed) = (Vec::new(), None);
        for entry in entries {
            match condition.map_or(Ok(true), |condition| self.holds(fold, entry.clone(), condition)) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(fail) => {
                    replace(&mut failed, fail);
                    continue;
                }
            }
            // cel-go appends a list of one for each entry.
            self.spend(12)?;
            let FoldEntry { key, value } = entry.clone();
            match body.map_or(Ok(value), |body| self.entry(fold, entry, body)) {
                Ok(value) => made.push((key, value)),
                Err(fail) => {
                    failed.get_or_insert(fail);
                }
            }
        }
        if let Some(fail) = failed {
            return Err(fail);
        }
        if fold.kind != FoldKind::MapOfValues {
            return Ok(Value::list(made.into_iter().map(|(_, value)| value).collect()));
        }
        let made = made.into_iter().filter_map(|(key, value)| Some((Key::from_value(&key)?, (key, value))));
        Ok(Value::Map(Arc::new(made.collect())))
    }
}

/// An entry of the range of a macro.
#[derive(Clone)]
struct FoldEntry {
    /// The key of a map, or the position in a list. In a macro with one name the keys of a map are its values.
    key: Value,
    value: Value,
}

fn too_much() -> Fail {
    Fail::Unknown("its cost may exceed the limit of the API server".to_owned())
}

fn is(outcome: &EvalResult, truth: bool) -> bool {
    matches!(outcome, Ok(Value::Bool(found)) if *found == truth)
}

/// Keeps the first error. An unknown outcome comes before all errors, because it might decide.
fn keep(first: &mut Option<Fail>, outcome: EvalResult) {
    let fail = match outcome {
        Ok(Value::Bool(_)) => return,
        Ok(_) => Fail::no_such_overload(),
        Err(fail) => fail,
    };
    if first.is_none() || matches!((&first, &fail), (Some(Fail::Error(_)), Fail::Unknown(_))) {
        *first = Some(fail);
    }
}

/// Replaces the failure of earlier entries by the failure of a condition. An unknown outcome stays.
fn replace(failed: &mut Option<Fail>, fail: Fail) {
    if !matches!(failed, Some(Fail::Unknown(_))) {
        *failed = Some(fail);
    }
}

/// Returns a member of a value. A member of an optional, and a member behind `?`, is an optional.
fn member(operand: &Value, index: &Value, optional: bool) -> EvalResult {
    let found = match operand {
        Value::Optional(None) => None,
        Value::Optional(Some(inner)) => inner.at(index)?,
        operand if optional => operand.at(index)?,
        operand => return operand.must_have(index),
    };
    Ok(found.map_or(Value::Optional(None), Value::some))
}

/// Returns the entries for a macro, each with its key or index. With one name only, the name is the item of a list
/// and the key of a map.
fn entries(range: &Value, has_both: bool) -> Result<Vec<FoldEntry>, Fail> {
    let entry = |(key, value): &(Value, Value)| FoldEntry { key: key.clone(), value: value.clone() };
    match range {
        Value::List(items) => {
            let indexed = items.iter().enumerate();
            Ok(indexed.map(|(index, item)| FoldEntry { key: lists::number(index), value: item.clone() }).collect())
        }
        Value::Map(entries) if has_both => Ok(entries.values().map(entry).collect()),
        Value::Map(entries) => {
            Ok(entries.values().map(|(key, _)| FoldEntry { key: key.clone(), value: key.clone() }).collect())
        }
        other => Err(Fail::error(format!("got '{}', expected iterable type", go_type(other)))),
    }
}

/// Returns the type of a value as Go names it, as error messages of the API server show it.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::UInt(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Optional(_) => "*types.Optional",
        other => other.type_name(),
    }
}
