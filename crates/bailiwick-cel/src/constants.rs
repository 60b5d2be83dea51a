//! Values computed at compile time by the API server (cel-go v0.29.2 `interpreter/decorators.go` and
//! `interpreter/planner.go`): lists and maps of constants, and conversions of constants.

use super::Reason;
use super::ast::Expr;
use super::value::Value;
use super::{Fail, functions};

/// A part of an expression with a value before the evaluation.
#[derive(Debug, Clone, PartialEq)]
enum Constant {
    /// This value.
    Value(Value),
    /// A list, a map, a time, or a type.
    NoKey,
    /// A value not computed here.
    Unknown,
}

/// Returns the error of a conversion of a constant.
pub(super) fn conversion_problem(call: &Expr) -> Option<Reason> {
    constant(call)?.err()
}

/// Returns the error of a constant in brackets: keys of fields and entries are texts, numbers and booleans.
pub(super) fn index_problem(index: &Expr) -> Option<Reason> {
    let is_no_key = |value: &Value| {
        !matches!(value, Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::String(_))
    };
    match constant(index)?.ok()? {
        Constant::Value(value) if is_no_key(&value) => Some(reason!("brackets do not take `{}`", value.type_name())),
        Constant::NoKey => Some(reason!("brackets take a text, a number or a boolean")),
        Constant::Value(_) | Constant::Unknown => None,
    }
}

/// Returns the value of a constant, or the error of a failing conversion; none for any other expression.
fn constant(expr: &Expr) -> Option<Result<Constant, Reason>> {
    let are_constants = |mut parts: Box<dyn Iterator<Item = &Expr> + '_>| {
        parts.all(|part| matches!(constant(part), Some(Ok(_)))).then_some(Ok(Constant::NoKey))
    };
    match expr {
        Expr::Literal(literal) => Some(Ok(Constant::Value(literal.clone()))),
        Expr::List(items) if items.iter().all(|(_, optional)| !optional) => {
            are_constants(Box::new(items.iter().map(|(item, _)| item)))
        }
        Expr::Map(entries) if entries.iter().all(|(_, _, optional)| !optional) => {
            are_constants(Box::new(entries.iter().flat_map(|(key, value, _)| [key, value])))
        }
        Expr::Call { target: None, function, arguments } => {
            let [argument] = arguments.as_slice() else { return None };
            let converted = converted(function, argument)?;
            Some(converted)
        }
        _ => None,
    }
}

fn converted(function: &str, argument: &Expr) -> Option<Result<Constant, Reason>> {
    let is_conversion =
        functions::is_conversion(function) || matches!(function, "dyn" | "type" | "duration" | "timestamp");
    let argument = match constant(argument).filter(|_| is_conversion)? {
        Ok(argument) => argument,
        Err(why) => return Some(Err(why)),
    };
    let Constant::Value(value) = argument else { return Some(Ok(Constant::Unknown)) };
    Some(match (function, value) {
        ("dyn", value) => Ok(Constant::Value(value)),
        ("duration" | "timestamp", Value::Null) => Err(reason!("`{function}` does not take `null`")),
        ("duration", Value::Int(_)) => Err(reason!("`duration` does not take a number that is written out")),
        ("type" | "duration" | "timestamp", _) => Ok(Constant::NoKey),
        ("string", Value::Null) => Ok(Constant::Unknown),
        (function, value) => match functions::convert(function, &value) {
            Some(Ok(value)) => Ok(Constant::Value(value)),
            Some(Err(Fail::Error(why))) => Err(reason!("`{function}` fails: {why}")),
            Some(Err(Fail::Unknown(_))) | None => Ok(Constant::Unknown),
        },
    })
}
