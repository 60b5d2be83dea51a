//! Evaluates the expressions of templates.

use bailiwick_policy::model::Data;
use bailiwick_yaml::diag::nearest;
use minijinja::machinery::Span;
use minijinja::machinery::ast::{
    BinOp, BinOpKind, Call, CallArg, Compare, CompareOpKind, Expr, GetAttr, Map, Slice, Test, UnaryOp, UnaryOpKind, Var,
};
use minijinja::value::ValueKind;

use super::budget::Cause;
use super::evaluate::{Binding, Fault, LOOP, Loop, Run};
use super::filters::{self, Arguments};
use super::recording::Use;
use super::value::{self, Value, is_true, number, type_of};

type Outcome<'t, R> = Result<R, Box<Fault<'t>>>;

/// The names that a template can call.
pub(super) const FUNCTIONS: [&str; 2] = ["range", "loop.cycle"];

/// The functions of other engines that templates lack, each with the remedy and the reason.
pub(super) const REMOVED: [(&str, &str); 3] = [
    ("debug", "print single values: the text of all values would be a part of the object"),
    ("dict", "write a map as `{\"key\": value}`"),
    ("namespace", "use filters or `set`: `namespace` is the namespace of the object"),
];

impl<'t> Run<'_, 't> {
    /// Returns the value of an expression that has to be defined.
    pub(super) fn defined(&mut self, expression: &Expr<'t>) -> Outcome<'t, Data> {
        self.used(expression, Use::Whole)
    }

    /// Returns the value of an expression that has to be defined, for a use.
    pub(super) fn used(&mut self, expression: &Expr<'t>, used: Use) -> Outcome<'t, Data> {
        let value = self.value(expression, used)?;
        value.ok_or_else(|| self.undefined(expression))
    }

    /// Returns the value of an expression for a use.
    fn value(&mut self, expression: &Expr<'t>, used: Use) -> Outcome<'t, Value> {
        let entered = self.budget.enter();
        self.at(entered, expression.span())?;
        let value = self.noting(expression, used, |run| run.evaluate(expression))?;
        self.budget.leave();
        Ok(value)
    }

    fn undefined(&self, expression: &Expr<'t>) -> Box<Fault<'t>> {
        self.fault(Cause::Undefined(written(expression)), whole_span(expression))
    }

    fn evaluate(&mut self, expression: &Expr<'t>) -> Outcome<'t, Value> {
        let span = expression.span();
        match expression {
            Expr::Const(constant) => {
                let data = of_constant(&constant.value);
                self.at(data, span).map(Some)
            }
            Expr::Var(name) => self.variable(name, span),
            Expr::GetAttr(attribute) => self.attribute(attribute, span),
            Expr::GetItem(item) => {
                let (whole, key) = (self.defined(&item.expr)?, self.defined(&item.subscript_expr)?);
                let found = self.item(&whole, &key);
                self.at(found, span)
            }
            Expr::Slice(slice) => self.slice(slice).map(Some),
            Expr::UnaryOp(operator) => self.unary_operator(operator, span).map(Some),
            Expr::BinOp(operator) => self.operator(operator, span).map(Some),
            Expr::Compare(compare) => self.comparison(compare, span).map(Some),
            Expr::IfExpr(choice) => match is_true(&self.used(&choice.test_expr, Use::Truth)?) {
                true => self.value(&choice.true_expr, Use::Whole),
                false => choice.false_expr.as_ref().map_or(Ok(None), |other| self.value(other, Use::Whole)),
            },
            Expr::Filter(filter) => {
                let Some(inner) = &filter.expr else { return Err(self.undefined(expression)) };
                let input = match filters::takes_undefined(filter.name) {
                    true => self.value(inner, Use::Whole)?,
                    false => Some(self.defined(inner)?),
                };
                self.filter(filter.name, input, &filter.args, span)
            }
            Expr::Test(test) => self.test(test, span).map(Some),
            Expr::Call(call) => self.call(call, span).map(Some),
            Expr::List(list) => self.list(&list.items, span).map(Some),
            Expr::Tuple(tuple) => self.list(&tuple.items, span).map(Some),
            Expr::Map(map) => self.map(map, span).map(Some),
        }
    }

    fn variable(&mut self, name: &Var<'t>, span: Span) -> Outcome<'t, Value> {
        let found = self.lookup(name.id).map(|found| {
            found.map(|binding| match binding.as_ref() {
                Binding::Value(data) => data.clone(),
                Binding::Loop(own) => own.as_data(),
            })
        });
        self.at(found, span)
    }

    fn attribute(&mut self, attribute: &GetAttr<'t>, span: Span) -> Outcome<'t, Value> {
        if let Expr::Var(name) = &attribute.expr
            && name.id == LOOP
            && let Some(own) = self.own_loop(span)?
        {
            return Ok(own.field(attribute.name));
        }
        let whole = self.defined(&attribute.expr)?;
        let found = self.budget.get(&whole, attribute.name);
        self.at(found, span)
    }

    fn unary_operator(&mut self, operator: &UnaryOp<'t>, span: Span) -> Outcome<'t, Data> {
        let data = self.defined(&operator.expr)?;
        let result = match (&operator.op, &data) {
            (UnaryOpKind::Not, data) => Ok(Data::Bool(!is_true(data))),
            (UnaryOpKind::Neg, Data::Int(number)) => number.checked_neg().map(Data::Int).ok_or_else(too_large),
            (UnaryOpKind::Neg, Data::Float(number)) => Ok(Data::Float(-number)),
            (UnaryOpKind::Neg, other) => Err(unfit("-", &[other])),
        };
        self.at(result, span)
    }

    /// Evaluates a chain of comparisons up to the first that is false.
    fn comparison(&mut self, comparison: &Compare<'t>, span: Span) -> Outcome<'t, Data> {
        let mut left = self.defined(&comparison.expr)?;
        for operator in &comparison.ops {
            let right = self.defined(&operator.expr)?;
            if !self.compared(operator.op, &left, &right, span)? {
                return Ok(Data::Bool(false));
            }
            left = right;
        }
        Ok(Data::Bool(true))
    }

    fn test(&mut self, test: &Test<'t>, span: Span) -> Outcome<'t, Data> {
        let input = match test.name {
            "defined" | "undefined" => self.value(&test.expr, Use::Presence)?,
            _ => Some(self.defined(&test.expr)?),
        };
        let arguments = self.arguments(&test.args)?;
        let answer = filters::test(test.name, input, &arguments, &mut self.budget);
        self.at(answer, span).map(Data::Bool)
    }

    fn map(&mut self, map: &Map<'t>, span: Span) -> Outcome<'t, Data> {
        let mut entries = Vec::new();
        for (key, value) in map.keys.iter().zip(&map.values) {
            let name = self.defined(key)?;
            let Data::Str(name) = name else {
                let cause = Cause::Wrong(format!("{} is not a key", type_of(&name)), "use a string".to_owned());
                return Err(self.fault(cause, key.span()));
            };
            entries.push((name, self.defined(value)?));
        }
        self.made(Data::Map(entries.into()), span)
    }

    /// Pays for a value that an expression made.
    fn made(&mut self, data: Data, span: Span) -> Outcome<'t, Data> {
        let paid = self.budget.value(&data);
        self.at(paid, span).map(|()| data)
    }

    fn list(&mut self, items: &[Expr<'t>], span: Span) -> Outcome<'t, Data> {
        let items = items.iter().map(|item| self.defined(item)).collect::<Result<Vec<_>, _>>()?;
        self.made(Data::List(items.into()), span)
    }

    /// Applies the filter of a block to what the block printed.
    pub(super) fn filtered(&mut self, filter: &Expr<'t>, input: Data) -> Outcome<'t, Data> {
        let Expr::Filter(own) = filter else { return Ok(input) };
        let input = match &own.expr {
            Some(inner) => self.filtered(inner, input)?,
            None => input,
        };
        let value = self.filter(own.name, Some(input), &own.args, filter.span())?;
        value.ok_or_else(|| self.undefined(filter))
    }

    fn filter(&mut self, name: &str, input: Value, arguments: &[CallArg<'t>], span: Span) -> Outcome<'t, Value> {
        let arguments = self.arguments(arguments)?;
        let result = filters::apply(name, input, &arguments, &mut self.budget);
        self.at(result, span)
    }

    fn arguments(&mut self, written: &[CallArg<'t>]) -> Outcome<'t, Arguments<'t>> {
        let mut arguments = Arguments::default();
        for argument in written {
            match argument {
                CallArg::Pos(value) => arguments.positional.push(self.defined(value)?),
                CallArg::Kwarg(name, value) => arguments.named.push((name, self.defined(value)?)),
                CallArg::PosSplat(value) | CallArg::KwargSplat(value) => {
                    let help = "write each argument".to_owned();
                    let cause = Cause::Wrong("arguments cannot be unpacked here".to_owned(), help);
                    return Err(self.fault(cause, value.span()));
                }
            }
        }
        Ok(arguments)
    }

    fn call(&mut self, call: &Call<'t>, span: Span) -> Outcome<'t, Data> {
        let arguments = self.arguments(&call.args)?;
        match &call.expr {
            Expr::Var(name) if name.id == "range" => {
                let range = self.range(&arguments.positional);
                self.at(range, span)
            }
            Expr::GetAttr(method) if method.name == "cycle" => {
                let Some(own) = self.own_loop(span)? else { return Err(self.undefined(&method.expr)) };
                let turn = own.index.checked_rem(arguments.positional.len()).unwrap_or_default();
                let chosen = arguments.positional.into_iter().nth(turn);
                chosen.ok_or_else(|| self.undefined(&call.expr))
            }
            other => {
                let name = match other {
                    Expr::Var(name) => name.id,
                    Expr::GetAttr(method) => method.name,
                    other => other.description(),
                };
                Err(self.fault(unknown_function(name), span))
            }
        }
    }

    /// Returns the loop around an expression.
    fn own_loop(&mut self, span: Span) -> Outcome<'t, Option<Loop>> {
        let found = self.lookup(LOOP).map(|found| match found.as_deref() {
            Some(Binding::Loop(own)) => Some(own.clone()),
            _ => None,
        });
        self.at(found, span)
    }

    /// Returns an item of a list by its number, which counts from the end below 0, or a value of a map by its key.
    fn item(&mut self, whole: &Data, key: &Data) -> Result<Value, Cause> {
        match (whole, key) {
            (Data::List(items), Data::Int(number)) => {
                let size = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
                let position = if *number < 0 { items.len().checked_sub(size) } else { Some(size) };
                Ok(position.and_then(|position| items.get(position)).cloned())
            }
            (whole, key) => key.as_str().map_or(Ok(None), |key| self.budget.get(whole, key)),
        }
    }

    fn range(&mut self, bounds: &[Data]) -> Result<Data, Cause> {
        let (start, stop, step) = match bounds {
            [Data::Int(stop)] => (0, *stop, 1),
            [Data::Int(start), Data::Int(stop)] => (*start, *stop, 1),
            [Data::Int(start), Data::Int(stop), Data::Int(step)] if *step > 0 => (*start, *stop, *step),
            _ => {
                let help =
                    "write `range(stop)`, `range(start, stop)` or `range(start, stop, step)` with a step above 0";
                return Err(Cause::Wrong("`range` takes whole numbers".to_owned(), help.to_owned()));
            }
        };
        let count = (i128::from(stop) - i128::from(start)).max(0).div_euclid(i128::from(step)) + 1;
        self.budget.items(usize::try_from(count).unwrap_or(usize::MAX))?;
        let mut numbers = Vec::new();
        let mut next = Some(start);
        while let Some(number) = next.filter(|number| *number < stop) {
            numbers.push(Data::Int(number));
            next = number.checked_add(step);
        }
        Ok(Data::List(numbers.into()))
    }

    fn slice(&mut self, slice: &Slice<'t>) -> Outcome<'t, Data> {
        let whole = self.defined(&slice.expr)?;
        let mut bound = |bound: &Option<Expr<'t>>| -> Outcome<'t, Option<i64>> {
            let Some(expression) = bound else { return Ok(None) };
            match self.defined(expression)? {
                Data::Int(number) => Ok(Some(number)),
                other => Err(self.fault(unfit("[:]", &[&other]), expression.span())),
            }
        };
        let (start, stop, step) = (bound(&slice.start)?, bound(&slice.stop)?, bound(&slice.step)?);
        let span = slice.expr.span();
        if step.is_some_and(|step| step != 1) {
            return Err(self.fault(Cause::Wrong("a slice has no step".to_owned(), "remove the step".to_owned()), span));
        }
        let within = |length: usize| {
            let place = |bound: i64| {
                let size = usize::try_from(bound.unsigned_abs()).unwrap_or(usize::MAX);
                if bound < 0 { length.saturating_sub(size) } else { size.min(length) }
            };
            let start = start.map_or(0, place);
            (start, stop.map_or(length, place).saturating_sub(start))
        };
        match &whole {
            Data::List(items) => {
                let (start, count) = within(items.len());
                let part: Vec<Data> = items.iter().skip(start).take(count).cloned().collect();
                self.made(Data::List(part.into()), span)
            }
            Data::Str(text) => {
                let paid = self.budget.text(text.len());
                self.at(paid, span)?;
                let (start, count) = within(text.chars().count());
                Ok(Data::text(text.chars().skip(start).take(count).collect::<String>()))
            }
            other => Err(self.fault(unfit("[:]", &[other]), span)),
        }
    }

    fn operator(&mut self, operator: &BinOp<'t>, span: Span) -> Outcome<'t, Data> {
        let left = self.defined(&operator.left)?;
        match operator.op {
            BinOpKind::ScAnd if !is_true(&left) => return Ok(left),
            BinOpKind::ScOr if is_true(&left) => return Ok(left),
            _ => {}
        }
        let right = self.defined(&operator.right)?;
        let comparison = match operator.op {
            BinOpKind::ScAnd | BinOpKind::ScOr => return Ok(right),
            BinOpKind::Eq => CompareOpKind::Eq,
            BinOpKind::Ne => CompareOpKind::Ne,
            BinOpKind::Lt => CompareOpKind::Lt,
            BinOpKind::Lte => CompareOpKind::Lte,
            BinOpKind::Gt => CompareOpKind::Gt,
            BinOpKind::Gte => CompareOpKind::Gte,
            BinOpKind::In => CompareOpKind::In,
            BinOpKind::Concat => {
                let joined = self.concat(&left, &right);
                return self.at(joined, span);
            }
            BinOpKind::Add
            | BinOpKind::Sub
            | BinOpKind::Mul
            | BinOpKind::Div
            | BinOpKind::FloorDiv
            | BinOpKind::Rem
            | BinOpKind::Pow => {
                let result = self.calculated(operator.op, &left, &right);
                return self.at(result, span);
            }
        };
        self.compared(comparison, &left, &right, span).map(Data::Bool)
    }

    fn concat(&mut self, left: &Data, right: &Data) -> Result<Data, Cause> {
        value::joined(left, right, &mut self.budget)
    }

    fn calculated(&mut self, operator: BinOpKind, left: &Data, right: &Data) -> Result<Data, Cause> {
        match (operator, left, right) {
            (BinOpKind::Add, Data::Str(_), Data::Str(_)) => self.concat(left, right),
            (BinOpKind::Add, Data::List(first), Data::List(second)) => {
                self.budget.items(first.len() + second.len())?;
                let joined = Data::List(first.iter().chain(second.iter()).cloned().collect());
                self.budget.value(&joined).map(|()| joined)
            }
            (BinOpKind::Mul, Data::Str(text), Data::Int(count)) => {
                let count = usize::try_from(*count).unwrap_or_default();
                self.budget.text(text.len().saturating_mul(count))?;
                Ok(Data::text(text.repeat(if text.is_empty() { 0 } else { count })))
            }
            (_, Data::Int(left), Data::Int(right)) => {
                let result = match operator {
                    BinOpKind::Add => left.checked_add(*right),
                    BinOpKind::Sub => left.checked_sub(*right),
                    BinOpKind::Mul => left.checked_mul(*right),
                    BinOpKind::FloorDiv => left.checked_div_euclid(*right),
                    BinOpKind::Rem => left.checked_rem_euclid(*right),
                    _ => return Err(unfit(sign(operator), &[&Data::Int(*left), &Data::Int(*right)])),
                };
                result.map(Data::Int).ok_or_else(too_large)
            }
            (_, left, right) => {
                let (Some(first), Some(second)) = (number(left), number(right)) else {
                    return Err(unfit(sign(operator), &[left, right]));
                };
                let result = match operator {
                    BinOpKind::Add => first + second,
                    BinOpKind::Sub => first - second,
                    BinOpKind::Mul => first * second,
                    _ => return Err(unfit(sign(operator), &[left, right])),
                };
                if result.is_finite() { Ok(Data::Float(result)) } else { Err(too_large()) }
            }
        }
    }

    fn compared(&mut self, operator: CompareOpKind, left: &Data, right: &Data, span: Span) -> Outcome<'t, bool> {
        let budget = &mut self.budget;
        let answer = match operator {
            CompareOpKind::Eq => value::equal(left, right, budget),
            CompareOpKind::Ne => value::equal(left, right, budget).map(|equal| !equal),
            CompareOpKind::Lt => value::order(left, right, budget).map(std::cmp::Ordering::is_lt),
            CompareOpKind::Lte => value::order(left, right, budget).map(std::cmp::Ordering::is_le),
            CompareOpKind::Gt => value::order(left, right, budget).map(std::cmp::Ordering::is_gt),
            CompareOpKind::Gte => value::order(left, right, budget).map(std::cmp::Ordering::is_ge),
            CompareOpKind::In => filters::contains(right, left, budget),
            CompareOpKind::NotIn => filters::contains(right, left, budget).map(|is_in| !is_in),
        };
        self.at(answer, span)
    }
}

fn of_constant(constant: &minijinja::Value) -> Result<Data, Cause> {
    let fraction = || f64::try_from(constant.clone()).ok().filter(|number| number.is_finite());
    match constant.kind() {
        ValueKind::None => Ok(Data::Null),
        ValueKind::Bool => Ok(Data::Bool(constant.is_true())),
        ValueKind::String => Ok(Data::text(constant.as_str().unwrap_or_default())),
        ValueKind::Number if constant.is_integer() => constant.as_i64().map(Data::Int).ok_or_else(too_large),
        ValueKind::Number => fraction().map(Data::Float).ok_or_else(too_large),
        _ => Err(Cause::Wrong("this constant is not a value of YAML".to_owned(), "use a scalar".to_owned())),
    }
}

fn too_large() -> Cause {
    Cause::Wrong("this is not a number that can be written".to_owned(), "use a number with at most 64 bits".to_owned())
}

fn unfit(operator: &str, operands: &[&Data]) -> Cause {
    let types: Vec<&str> = operands.iter().map(|data| type_of(data)).collect();
    let message = format!("`{operator}` does not take {}", types.join(" and "));
    Cause::Wrong(message, "use `~` for texts, and `+`, `-`, `*`, `//` and `%` for numbers".to_owned())
}

fn sign(operator: BinOpKind) -> &'static str {
    match operator {
        BinOpKind::Add => "+",
        BinOpKind::Sub => "-",
        BinOpKind::Mul => "*",
        BinOpKind::Div => "/",
        BinOpKind::FloorDiv => "//",
        BinOpKind::Rem => "%",
        _ => "**",
    }
}

/// Returns a path as the template writes it, as far as it is one.
fn written(expression: &Expr<'_>) -> String {
    match expression {
        Expr::Var(name) => name.id.to_owned(),
        Expr::GetAttr(attribute) => format!("{}.{}", written(&attribute.expr), attribute.name),
        Expr::GetItem(item) => format!("{}[...]", written(&item.expr)),
        other => format!("this {}", other.description()),
    }
}

/// Returns the problem of an unknown function.
fn unknown_function(name: &str) -> Cause {
    let near = || nearest(name, FUNCTIONS.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    let of_removed = REMOVED.iter().find(|(removed, _)| *removed == name).map(|(_, remedy)| (*remedy).to_owned());
    let help = match of_removed.or_else(near) {
        Some(help) => help,
        None => {
            let removed: Vec<&str> = REMOVED.iter().map(|(removed, _)| *removed).collect();
            format!("the functions are: {}; templates lack: {}", FUNCTIONS.join(", "), removed.join(", "))
        }
    };
    Cause::Wrong(format!("there is no function `{name}`"), help)
}

/// Returns the bytes of a path with what it begins with, which the parser leaves out.
fn whole_span(expression: &Expr<'_>) -> Span {
    let inner = match expression {
        Expr::GetAttr(attribute) => &attribute.expr,
        Expr::GetItem(item) => &item.expr,
        other => return other.span(),
    };
    let (start, own) = (whole_span(inner), expression.span());
    Span { start_offset: start.start_offset, start_line: start.start_line, start_col: start.start_col, ..own }
}
