//! From the tree of an expression to numbered parts and formulas.

use std::collections::BTreeMap;

use super::formula::{Domain, Formula, Truth};
use super::{MeaningId, MeaningScope, Meanings};
use crate::ast::{Expr, Operator};
use crate::check::type_named;
use crate::eval::{Environment, Evaluation};
use crate::macros::{Fold, FoldKind};
use crate::value::Value;
use crate::{Fail, Program, ValueSchema};

/// The functions whose results are true, false or an error.
const PREDICATES: [&str; 5] = ["contains", "endsWith", "hasValue", "matches", "startsWith"];
/// The functions that return bytes. The API server fails a whole expression with bytes as a key, whatever the other terms are.
const BYTES: [&str; 2] = ["bytes", "decode"];
/// The most literals of a list behind `in` that are compared one by one.
const MOST_LITERALS: usize = 4;
/// The deepest nesting of variables.
const DEEPEST_VARIABLE: usize = 16;
/// The steps for all constant parts of an expression.
const CONSTANT_STEPS: u64 = 100_000;

/// The known schema of a part.
#[derive(Debug, Clone)]
struct Known {
    schema: ValueSchema,
    /// Whether the value is an optional around the schema.
    is_optional: bool,
}

/// The reader of one expression.
pub(super) struct Reader<'r, 'e> {
    meanings: &'r mut Meanings,
    scope: MeaningScope<'e>,
    /// The names bound by macros, with the schemas of their values.
    bound: Vec<(&'e str, Option<Known>)>,
    depth: usize,
    no_variables: BTreeMap<String, Program>,
    constant_steps: u64,
}

impl<'r, 'e> Reader<'r, 'e> {
    pub(super) fn new(meanings: &'r mut Meanings, scope: MeaningScope<'e>) -> Self {
        Self {
            meanings,
            scope,
            bound: Vec::new(),
            depth: 0,
            no_variables: BTreeMap::new(),
            constant_steps: CONSTANT_STEPS,
        }
    }

    /// Returns a whole expression as a formula.
    pub(super) fn program(&mut self, program: &'e Program) -> Formula {
        match &program.expr {
            Ok(expr) if !has_bytes(expr) => self.formula(expr),
            _ => Formula::Atom(self.opaque(&program.source), Domain::Any),
        }
    }

    /// Returns the meaning of a text with the texts of all variables.
    fn opaque(&mut self, text: &str) -> MeaningId {
        self.meanings.part(format!("text {text}"), vec![self.scope.key.0])
    }

    fn number(&mut self, expr: &'e Expr) -> MeaningId {
        let formula = self.formula(expr);
        self.meanings.settle(&formula)
    }

    fn numbers(&mut self, parts: impl IntoIterator<Item = &'e Expr>) -> Vec<MeaningId> {
        parts.into_iter().map(|part| self.number(part)).collect()
    }

    fn formula(&mut self, expr: &'e Expr) -> Formula {
        if let Some(constant) = self.constant(expr) {
            return constant;
        }
        match expr {
            Expr::Not(operand) => self.formula(operand).not(),
            Expr::And(terms) => Formula::and(terms.iter().map(|term| self.formula(term)).collect::<Vec<_>>()),
            Expr::Or(terms) => Formula::or(terms.iter().map(|term| self.formula(term)).collect::<Vec<_>>()),
            Expr::Conditional { condition, then, otherwise } => {
                Formula::If(Box::new([condition, then, otherwise].map(|part| self.formula(part))))
            }
            Expr::Binary { operator, left, right } => self.binary(*operator, left, right),
            Expr::Fold(fold) => self.fold(fold),
            Expr::Select { operand, field, optional: false } if self.is_variables(operand) => {
                let (number, domain) = self.variable(field);
                Formula::Atom(number, domain)
            }
            _ => {
                let is_bool = matches!(expr, Expr::Has { .. })
                    || matches!(expr, Expr::Call { function, .. } if PREDICATES.contains(&function.as_str()))
                    || self.known(expr).is_some_and(|known| known.is_bool());
                let domain = if is_bool { Domain::Bool } else { Domain::Any };
                Formula::Atom(self.part(expr), domain)
            }
        }
    }

    /// Returns the value of a part without names, if it can be evaluated.
    fn constant(&mut self, expr: &'e Expr) -> Option<Formula> {
        let literal = |value: &Value| match value {
            Value::Bool(true) => Some(Formula::Constant(Truth::True)),
            Value::Bool(false) => Some(Formula::Constant(Truth::False)),
            _ => None,
        };
        if let Expr::Literal(value) = expr {
            return literal(value).or_else(|| self.literal(value));
        }
        if !is_constant(expr, &mut Vec::new()) {
            return None;
        }
        let environment = Environment::new(&self.no_variables, self.constant_steps);
        let outcome = Evaluation::new(&environment).evaluate(expr);
        self.constant_steps = environment.budget();
        match outcome {
            Ok(value) => literal(&value).or_else(|| self.literal(&value)),
            Err(Fail::Error(_)) => Some(Formula::Constant(Truth::Error)),
            Err(Fail::Unknown(_)) => None,
        }
    }

    /// Returns the formula of a value; none for a list, a map and other values without a literal.
    fn literal(&mut self, value: &Value) -> Option<Formula> {
        let label = format!("literal {}", literal_label(value)?);
        Some(Formula::Atom(self.meanings.part(label, Vec::new()), Domain::Other))
    }

    fn binary(&mut self, operator: Operator, left: &'e Expr, right: &'e Expr) -> Formula {
        match operator {
            Operator::Equal => self.equal(left, right),
            Operator::NotEqual => self.equal(left, right).not(),
            Operator::Less => self.less(left, right),
            Operator::Greater => self.less(right, left),
            Operator::GreaterOrEqual => self.less(left, right).not(),
            Operator::LessOrEqual => self.less(right, left).not(),
            Operator::In => self.contained(left, right),
            _ => {
                let parts = self.numbers([left, right]);
                Formula::Atom(self.meanings.part(operator.symbol(), parts), Domain::Any)
            }
        }
    }

    fn equal(&mut self, left: &'e Expr, right: &'e Expr) -> Formula {
        let sides = [left, right].map(|side| self.formula(side));
        if sides.iter().any(is_decided) {
            return Formula::Same(Box::new(sides));
        }
        let mut parts = sides.map(|side| self.meanings.settle(&side));
        parts.sort_unstable();
        Formula::Atom(self.meanings.part("equal", parts.into()), Domain::Bool)
    }

    fn less(&mut self, left: &'e Expr, right: &'e Expr) -> Formula {
        let parts = self.numbers([left, right]);
        Formula::Atom(self.meanings.part("less", parts), Domain::Bool)
    }

    /// Returns `in`: with a few literals, it is a chain of `==`.
    fn contained(&mut self, item: &'e Expr, list: &'e Expr) -> Formula {
        let is_literal = |(entry, is_marked): &(Expr, bool)| !is_marked && matches!(entry, Expr::Literal(_));
        match list {
            Expr::List(entries) if (1..=MOST_LITERALS).contains(&entries.len()) && entries.iter().all(is_literal) => {
                Formula::or(entries.iter().map(|(entry, _)| self.equal(item, entry)).collect::<Vec<_>>())
            }
            _ => {
                let parts = self.numbers([item, list]);
                Formula::Atom(self.meanings.part("in", parts), Domain::Bool)
            }
        }
    }

    fn fold(&mut self, fold: &'e Fold) -> Formula {
        let range = self.number(&fold.range);
        let outer = self.bound.len();
        let items = self.items(fold);
        self.bound.extend(fold.names.iter().map(String::as_str).zip(items));
        let quantified = matches!(fold.kind, FoldKind::All | FoldKind::Exists);
        let mut parts = vec![range];
        if quantified {
            // There is an entry if and only if not all entries fail to be one.
            let bodies = fold.bodies.iter().map(|body| self.formula(body));
            let is_all = fold.kind == FoldKind::All;
            let bodies = bodies.map(|body| if is_all { body } else { body.not() }).collect::<Vec<_>>();
            parts.extend(bodies.into_iter().map(|body| self.meanings.settle(&Formula::Body(Box::new(body)))));
        } else {
            parts.extend(self.numbers(&fold.bodies));
        }
        self.bound.truncate(outer);
        let count = fold.names.len();
        let label = if quantified { format!("all {count}") } else { format!("{} {count}", fold.kind.name()) };
        let is_bool = quantified || fold.kind == FoldKind::ExistsOne;
        let atom = Formula::Atom(self.meanings.part(label, parts), if is_bool { Domain::Bool } else { Domain::Any });
        if fold.kind == FoldKind::Exists { atom.not() } else { atom }
    }

    /// Returns the schemas of the names bound by a macro.
    fn items(&self, fold: &'e Fold) -> [Option<Known>; 2] {
        let plain = |schema: &ValueSchema| Some(Known { schema: schema.clone(), is_optional: false });
        let range = self.known(&fold.range);
        match (range.as_ref().map(|known| (&known.schema, known.is_optional)), fold.names.len()) {
            (Some((ValueSchema::List(item), false)), 1) => [plain(item), None],
            (Some((ValueSchema::List(item), false)), _) => [plain(&ValueSchema::Int), plain(item)],
            (Some((ValueSchema::Map(value), false)), _) => [plain(&ValueSchema::String), plain(value)],
            (Some((schema, true)), 1) => [plain(schema), None],
            _ => [None, None],
        }
    }

    fn is_bound(&self, name: &str) -> bool {
        self.bound.iter().any(|(bound, _)| *bound == name)
    }

    fn is_variables(&self, operand: &Expr) -> bool {
        matches!(operand, Expr::Ident(name) if name == "variables") && !self.is_bound("variables")
    }

    /// Returns the meaning of a variable: its expression, or its failure.
    fn variable(&mut self, name: &str) -> (MeaningId, Domain) {
        let scope = self.scope;
        let found = scope.variables.get(name);
        let Some(program) = found.filter(|_| self.depth < DEEPEST_VARIABLE) else {
            return (self.opaque(&format!("variables.{name}")), Domain::Any);
        };
        let key = (scope.key, name.to_owned());
        if let Some(known) = self.meanings.variables.get(&key) {
            return *known;
        }
        // A variable named twice could read itself.
        let unread = (self.opaque(&format!("variables.{name}")), Domain::Any);
        self.meanings.variables.insert(key.clone(), unread);
        // A variable has no bound names.
        let bound = std::mem::take(&mut self.bound);
        self.depth += 1;
        let formula = self.program(program);
        let domain = if is_decided(&formula) { Domain::Bool } else { Domain::Any };
        let number = self.meanings.settle(&formula);
        self.depth -= 1;
        self.bound = bound;
        self.meanings.variables.insert(key, (number, domain));
        (number, domain)
    }

    /// Returns the number of a part that is no logic.
    fn part(&mut self, expr: &'e Expr) -> MeaningId {
        let label = match expr {
            Expr::Ident(name) => match self.bound.iter().rposition(|(bound, _)| bound == name) {
                Some(position) => format!("bound {position}"),
                None => format!("name {name}"),
            },
            Expr::Select { field, optional, .. } => format!("select {optional} {field}"),
            Expr::Has { field, .. } => format!("has {field}"),
            Expr::Index { optional, .. } => format!("index {optional}"),
            Expr::List(items) => marked("list", items.iter().map(|(_, mark)| *mark)),
            Expr::Map(entries) => marked("map", entries.iter().map(|(_, _, mark)| *mark)),
            Expr::Struct { name, fields } => {
                let names: Vec<&str> = fields.iter().map(|(name, ..)| name.as_str()).collect();
                marked(&format!("struct {name} {}", names.join(" ")), fields.iter().map(|(_, _, mark)| *mark))
            }
            Expr::Call { target, function, .. } => format!("call {} {function}", target.is_some()),
            // A minus, and the nodes of formulas.
            _ => "negate".to_owned(),
        };
        let parts = if expr.children().into_iter().any(|child| self.is_variables(child)) {
            vec![self.opaque("variables")]
        } else {
            self.numbers(expr.children())
        };
        self.meanings.part(label, parts)
    }

    /// Returns the schema of a part, as far as the schema of the object has it.
    fn known(&self, expr: &Expr) -> Option<Known> {
        match expr {
            Expr::Ident(name) => match self.bound.iter().rev().find(|(bound, _)| bound == name) {
                Some((_, known)) => known.clone(),
                None if name == "object" || name == "oldObject" => {
                    let schema = self.meanings.schema.clone().filter(|_| self.scope.key.1)?;
                    Some(Known { schema, is_optional: false })
                }
                None => None,
            },
            Expr::Select { operand, field, optional } => {
                let operand = self.known(operand)?;
                let schema = match &operand.schema {
                    ValueSchema::Object(fields) => fields.field(field)?,
                    ValueSchema::Map(value) => value.as_ref().clone(),
                    _ => return None,
                };
                Some(Known { schema, is_optional: operand.is_optional || *optional })
            }
            Expr::Index { operand, optional, .. } => {
                let operand = self.known(operand)?;
                let (ValueSchema::List(item) | ValueSchema::Map(item)) = operand.schema else { return None };
                Some(Known { schema: *item, is_optional: operand.is_optional || *optional })
            }
            Expr::Call { target: Some(target), function, arguments } if function == "orValue" => {
                let target = self.known(target).filter(|known| known.is_optional)?;
                let is_bool = |argument: &Expr| matches!(argument, Expr::Literal(Value::Bool(_)));
                let is_same = matches!(target.schema, ValueSchema::Bool) && arguments.iter().all(is_bool);
                is_same.then_some(Known { is_optional: false, ..target })
            }
            _ => None,
        }
    }
}

impl Known {
    fn is_bool(&self) -> bool {
        matches!(self.schema, ValueSchema::Bool) && !self.is_optional
    }
}

/// Whether a formula is true, false or an error.
fn is_decided(formula: &Formula) -> bool {
    match formula {
        Formula::Constant(_) | Formula::Not(_) | Formula::And(_) | Formula::Same(_) | Formula::Body(_) => true,
        Formula::Atom(_, domain) => *domain == Domain::Bool,
        Formula::If(parts) => parts.iter().skip(1).all(is_decided),
        Formula::Holds { .. } => true,
    }
}

/// Whether an expression may make bytes.
fn has_bytes(expr: &Expr) -> bool {
    let own = match expr {
        Expr::Literal(Value::Bytes(_)) => true,
        Expr::Call { function, .. } => BYTES.contains(&function.as_str()),
        _ => false,
    };
    own || expr.children().into_iter().any(has_bytes)
}

/// Whether an expression has no names but the names of types and the names bound inside.
fn is_constant<'e>(expr: &'e Expr, bound: &mut Vec<&'e str>) -> bool {
    match expr {
        Expr::Ident(name) => bound.contains(&name.as_str()) || type_named(name).is_some(),
        Expr::Fold(fold) => {
            if !is_constant(&fold.range, bound) {
                return false;
            }
            let outer = bound.len();
            bound.extend(fold.names.iter().map(String::as_str));
            let is_inside = fold.bodies.iter().all(|body| is_constant(body, bound));
            bound.truncate(outer);
            is_inside
        }
        _ => expr.children().into_iter().all(|child| is_constant(child, bound)),
    }
}

/// Returns the label of a value that can be a literal: equal labels are equal values of one type.
fn literal_label(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Int(number) => format!("int {number}"),
        Value::UInt(number) => format!("uint {number}"),
        Value::Double(number) => format!("double {:x}", number.to_bits()),
        Value::String(text) => format!("string {text}"),
        Value::Bytes(bytes) => bytes.iter().fold("bytes ".to_owned(), |label, byte| label + &format!("{byte:02x}")),
        Value::Bool(_) | Value::List(_) | Value::Map(_) | Value::Optional(_) | Value::Type(_) => return None,
    })
}

/// Returns a label with the marks of optional entries.
fn marked(label: &str, marks: impl Iterator<Item = bool>) -> String {
    marks.fold(label.to_owned(), |label, mark| label + if mark { " ?" } else { " ." })
}
