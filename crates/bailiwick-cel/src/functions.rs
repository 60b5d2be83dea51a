//! Calls of functions, and the functions of numbers, types and optionals.

use super::ast::Operator;
use super::eval::Evaluation;
use super::value::{Value, length, whole};
use super::{EvalResult, Fail, lists, strings};

/// Whether a function converts to another type, with an implementation for each type of argument.
pub(super) fn is_conversion(name: &str) -> bool {
    matches!(name, "int" | "uint" | "double" | "string" | "bool" | "bytes")
}

/// Calls a global function.
pub(super) fn global(evaluation: &mut Evaluation<'_>, name: &str, arguments: &[Value]) -> EvalResult {
    match (name, arguments) {
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.of", [value]) => Ok(value.clone().some()),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if value.is_zero() { Value::Optional(None) } else { value.clone().some() })
        }
        ("dyn", [value]) => Ok(value.clone()),
        ("type", [value]) => Ok(Value::Type(value.type_name())),
        ("size", [value]) => size(evaluation, value),
        ("matches", [text, pattern]) => member(evaluation, text, "matches", std::slice::from_ref(pattern)),
        (name, [value]) if is_conversion(name) => {
            evaluation.spend(value.weight())?;
            convert(name, value).ok_or_else(Fail::no_such_overload)?
        }
        (name, arguments) => lists::global(evaluation, name, arguments),
    }
}

/// Converts a value to another type; none for another function.
pub(super) fn convert(name: &str, value: &Value) -> Option<EvalResult> {
    Some(match (name, value) {
        ("int", value) => int(value),
        ("uint", value) => uint(value),
        ("double", value) => double(value),
        ("bool", value) => boolean(value),
        ("bytes", Value::String(text)) => Ok(Value::Bytes(text.as_bytes().into())),
        ("bytes", value @ Value::Bytes(_)) => Ok(value.clone()),
        ("bytes", _) => Err(Fail::no_such_overload()),
        ("string", value) => string(value),
        _ => return None,
    })
}

/// Calls a member function.
pub(super) fn member(evaluation: &mut Evaluation<'_>, target: &Value, name: &str, arguments: &[Value]) -> EvalResult {
    match (target, name, arguments) {
        (Value::Optional(inner), "hasValue", []) => Ok(Value::Bool(inner.is_some())),
        (Value::Optional(inner), "value", []) => {
            inner.as_deref().cloned().ok_or_else(|| Fail::error("optional.none() dereference"))
        }
        (target, "size", []) => size(evaluation, target),
        (target, "includes", [wanted]) => lists::includes(evaluation, target, wanted),
        (Value::String(text), name, arguments) => strings::member(evaluation, text, name, arguments),
        (Value::List(items), name, arguments) => lists::member(evaluation, items, name, arguments),
        _ => Err(Fail::no_such_overload()),
    }
}

fn size(evaluation: &mut Evaluation<'_>, value: &Value) -> EvalResult {
    let size = match value {
        Value::String(text) => {
            evaluation.spend(length(text.len()) / 10)?;
            text.chars().count()
        }
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
        _ => return Err(Fail::no_such_overload()),
    };
    Ok(lists::number(size))
}

fn no_conversion(value: &Value, to: &str) -> Fail {
    match value {
        // The text of an error does not depend on the overload of these two.
        Value::String(_) | Value::Double(_) | Value::Bytes(_) => {
            Fail::error(format!("type conversion error from '{}' to '{to}'", value.type_name()))
        }
        _ => Fail::no_such_overload(),
    }
}

fn overflow() -> Fail {
    Fail::error("integer overflow")
}

fn unsigned_overflow() -> Fail {
    Fail::error("unsigned integer overflow")
}

/// Parses a text as a whole number: digits behind at most one sign.
fn parsed<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn int(value: &Value) -> EvalResult {
    match value {
        Value::Int(_) => Ok(value.clone()),
        Value::UInt(number) => i64::try_from(*number).map(Value::Int).map_err(|_| overflow()),
        Value::Double(number) => {
            // The ends themselves are refused, too.
            #[expect(clippy::cast_precision_loss, reason = "the ends are powers of two")]
            let (first, last) = (i64::MIN as f64, i64::MAX as f64);
            let fits = number.is_finite() && *number > first && *number < last;
            let truncated = whole(number.trunc()).and_then(|number| i64::try_from(number).ok());
            truncated.filter(|_| fits).map(Value::Int).ok_or_else(overflow)
        }
        Value::String(text) => parsed(text).map(Value::Int).ok_or_else(|| no_conversion(value, "int")),
        _ => Err(Fail::no_such_overload()),
    }
}

fn uint(value: &Value) -> EvalResult {
    match value {
        Value::UInt(_) => Ok(value.clone()),
        Value::Int(number) => u64::try_from(*number).map(Value::UInt).map_err(|_| unsigned_overflow()),
        Value::Double(number) => {
            #[expect(clippy::cast_precision_loss, reason = "the end is a power of two")]
            let fits = number.is_finite() && *number >= 0.0 && *number < u64::MAX as f64;
            let truncated = whole(number.trunc()).and_then(|number| u64::try_from(number).ok());
            truncated.filter(|_| fits).map(Value::UInt).ok_or_else(unsigned_overflow)
        }
        Value::String(text) if text.starts_with('+') => Err(no_conversion(value, "uint")),
        Value::String(text) => parsed(text).map(Value::UInt).ok_or_else(|| no_conversion(value, "uint")),
        _ => Err(Fail::no_such_overload()),
    }
}

fn double(value: &Value) -> EvalResult {
    #[expect(clippy::cast_precision_loss, reason = "as cel-go converts")]
    match value {
        Value::Double(_) => Ok(value.clone()),
        Value::Int(number) => Ok(Value::Double(*number as f64)),
        Value::UInt(number) => Ok(Value::Double(*number as f64)),
        Value::String(text) => {
            // Go reads hexadecimal notation, `_`, `inf` and overflowing numbers in its own way.
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            match parsed::<f64>(text) {
                Some(number) if is_plain && number.is_finite() => Ok(Value::Double(number)),
                None if is_plain => Err(no_conversion(value, "double")),
                _ => Err(Fail::Unknown("a text is no plain number, and is not converted here".to_owned())),
            }
        }
        _ => Err(Fail::no_such_overload()),
    }
}

fn boolean(value: &Value) -> EvalResult {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => match text.as_ref() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(no_conversion(value, "bool")),
        },
        _ => Err(Fail::no_such_overload()),
    }
}

fn string(value: &Value) -> EvalResult {
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Bool(truth) => Ok(Value::text(truth.to_string())),
        Value::Int(number) => Ok(Value::text(number.to_string())),
        Value::UInt(number) => Ok(Value::text(number.to_string())),
        // Without an exponent, both notations of the shortest digits agree.
        Value::Double(number) if *number == 0.0 || (1e-4..1e6).contains(&number.abs()) => {
            Ok(Value::text(number.to_string()))
        }
        Value::Double(_) => Err(Fail::Unknown("a number that large or small is not written here".to_owned())),
        Value::Bytes(bytes) => std::str::from_utf8(bytes)
            .map(Value::text)
            .map_err(|_| Fail::error("invalid UTF-8 in bytes, cannot convert to string")),
        _ => Err(Fail::no_such_overload()),
    }
}

/// Negates a value.
pub(super) fn negate(value: &Value) -> EvalResult {
    match value {
        Value::Int(number) => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(number) => Ok(Value::Double(-number)),
        _ => Err(Fail::no_such_overload()),
    }
}

/// Evaluates an operator of numbers, texts or lists.
pub(super) fn arithmetic(operator: Operator, left: &Value, right: &Value) -> EvalResult {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => ints(operator, *left, *right),
        (Value::UInt(left), Value::UInt(right)) => uints(operator, *left, *right),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(match operator {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            _ => return Err(Fail::no_such_overload()),
        })),
        (Value::String(left), Value::String(right)) if operator == Operator::Add => {
            Ok(Value::text(format!("{left}{right}")))
        }
        (Value::Bytes(left), Value::Bytes(right)) if operator == Operator::Add => {
            Ok(Value::Bytes([left.as_ref(), right.as_ref()].concat().into()))
        }
        (Value::List(left), Value::List(right)) if operator == Operator::Add => {
            Ok(Value::list(left.iter().chain(right.iter()).cloned().collect()))
        }
        _ => Err(Fail::no_such_overload()),
    }
}

fn by_zero(operator: Operator) -> Fail {
    Fail::error(if operator == Operator::Divide { "division by zero" } else { "modulus by zero" })
}

fn ints(operator: Operator, left: i64, right: i64) -> EvalResult {
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        _ if right == 0 => return Err(by_zero(operator)),
        Operator::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    result.map(Value::Int).ok_or_else(overflow)
}

fn uints(operator: Operator, left: u64, right: u64) -> EvalResult {
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        _ if right == 0 => return Err(by_zero(operator)),
        Operator::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    result.map(Value::UInt).ok_or_else(unsigned_overflow)
}
