//! The functions of lists: Kubernetes' own, and the extensions for lists and sets.

use std::cmp::Ordering;

use super::ast::Operator;
use super::eval::Evaluation;
use super::value::{Value, compare, equal};
use super::{EvalResult, Fail, functions, strings};

/// The longest list of `lists.range` here.
const LONGEST: i64 = 100_000;

/// Returns a count or an index as a value.
pub(super) fn number(number: usize) -> Value {
    Value::Int(count(number))
}

/// Returns a length or an index as CEL counts them. Nothing in memory has more than `isize::MAX` bytes.
pub(super) fn count(number: usize) -> i64 {
    number as i64
}

/// Calls a global function of lists.
pub(super) fn global(evaluation: &mut Evaluation<'_>, name: &str, arguments: &[Value]) -> EvalResult {
    match (name, arguments) {
        ("lists.range", [Value::Int(count)]) => {
            if *count > LONGEST {
                return Err(Fail::Unknown("a list that long is not made here".to_owned()));
            }
            evaluation.spend((*count).max(0).unsigned_abs())?;
            Ok(Value::list((0..*count).map(Value::Int).collect()))
        }
        ("sets.contains", [Value::List(all), Value::List(some)]) => Ok(Value::Bool(contains(evaluation, all, some)?)),
        ("sets.equivalent", [Value::List(left), Value::List(right)]) => {
            Ok(Value::Bool(contains(evaluation, left, right)? && contains(evaluation, right, left)?))
        }
        ("sets.intersects", [Value::List(left), Value::List(right)]) => {
            evaluation.spend(product(left, right))?;
            Ok(Value::Bool(left.iter().any(|item| right.iter().any(|other| equal(item, other)))))
        }
        _ => Err(Fail::no_such_overload()),
    }
}

/// Returns the cost of comparing each item of one list with each item of another.
fn product(left: &[Value], right: &[Value]) -> u64 {
    let weight = |items: &[Value]| items.iter().fold(1_u64, |sum, item| sum.saturating_add(item.weight()));
    weight(left).saturating_mul(weight(right)).saturating_mul(2)
}

fn contains(evaluation: &mut Evaluation<'_>, all: &[Value], some: &[Value]) -> Result<bool, Fail> {
    evaluation.spend(product(all, some))?;
    Ok(some.iter().all(|item| all.iter().any(|other| equal(item, other))))
}

/// Decides whether a list has a value, or a value other than a list is equal to it (`includes` of `pkg/cel/library/lists.go`,
/// k8s.io/apiserver v0.37.2).
pub(super) fn includes(evaluation: &mut Evaluation<'_>, target: &Value, wanted: &Value) -> EvalResult {
    let items = match target {
        Value::List(items) => items,
        single => std::slice::from_ref(single),
    };
    evaluation.spend(product(items, std::slice::from_ref(wanted)))?;
    Ok(Value::Bool(items.iter().any(|item| equal(item, wanted))))
}

/// Calls a member function of a list.
pub(super) fn member(evaluation: &mut Evaluation<'_>, items: &[Value], name: &str, arguments: &[Value]) -> EvalResult {
    evaluation.spend(items.iter().map(Value::weight).sum())?;
    match (name, arguments) {
        ("join", []) => strings::join(evaluation, items, ""),
        ("join", [Value::String(separator)]) => strings::join(evaluation, items, separator),
        ("isSorted", []) => is_sorted(items),
        ("sum", []) => sum(items),
        ("min", []) => extreme(items, Ordering::Less, "min"),
        ("max", []) => extreme(items, Ordering::Greater, "max"),
        ("indexOf", [wanted]) => {
            evaluation.spend(product(items, std::slice::from_ref(wanted)))?;
            Ok(items.iter().position(|item| equal(item, wanted)).map_or(Value::Int(-1), number))
        }
        ("lastIndexOf", [wanted]) => {
            evaluation.spend(product(items, std::slice::from_ref(wanted)))?;
            Ok(items.iter().rposition(|item| equal(item, wanted)).map_or(Value::Int(-1), number))
        }
        ("slice", [Value::Int(start), Value::Int(end)]) => slice(items, *start, *end),
        ("reverse", []) => Ok(Value::list(items.iter().rev().cloned().collect())),
        ("flatten", []) => Ok(Value::list(flattened(items, 1))),
        ("flatten", [Value::Int(depth)]) => match u32::try_from(*depth) {
            Ok(depth) => Ok(Value::list(flattened(items, depth))),
            Err(_) => Err(Fail::error("level must be non-negative")),
        },
        ("first", []) => Ok(items.first().cloned().map_or(Value::Optional(None), Value::some)),
        ("last", []) => Ok(items.last().cloned().map_or(Value::Optional(None), Value::some)),
        ("distinct", []) => {
            evaluation.spend(product(items, items))?;
            let mut distinct: Vec<Value> = Vec::new();
            for item in items {
                if !distinct.iter().any(|known| equal(known, item)) {
                    distinct.push(item.clone());
                }
            }
            Ok(Value::list(distinct))
        }
        ("sort", []) => sort(items),
        _ => Err(Fail::no_such_overload()),
    }
}

fn is_sorted(items: &[Value]) -> EvalResult {
    for pair in items.windows(2) {
        if let [first, second] = pair
            && compare(first, second)?.is_gt()
        {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum(items: &[Value]) -> EvalResult {
    let Some((first, rest)) = items.split_first() else {
        return Err(Fail::Unknown("the type of the sum of an empty list is not computed here".to_owned()));
    };
    if !matches!(first, Value::Int(_) | Value::UInt(_) | Value::Double(_)) {
        return Err(Fail::no_such_overload());
    }
    rest.iter().try_fold(first.clone(), |sum, item| functions::arithmetic(Operator::Add, &sum, item))
}

fn extreme(items: &[Value], wanted: Ordering, name: &str) -> EvalResult {
    let Some((first, rest)) = items.split_first() else {
        return Err(Fail::error(format!("{name} called on empty list")));
    };
    let mut found = first;
    for item in rest {
        if compare(item, found)? == wanted {
            found = item;
        }
    }
    Ok(found.clone())
}

fn slice(items: &[Value], start: i64, end: i64) -> EvalResult {
    let size = count(items.len());
    let wrong = |text: String| Err(Fail::error(text));
    if start < 0 || end < 0 {
        return wrong(format!("cannot slice({start}, {end}), negative indexes not supported"));
    }
    if start > end {
        return wrong(format!("cannot slice({start}, {end}), start index must be less than or equal to end index"));
    }
    if size < end {
        return wrong(format!("cannot slice({start}, {end}), list is length {size}"));
    }
    let part = items.iter().skip(start as usize).take((end - start) as usize);
    Ok(Value::list(part.cloned().collect()))
}

fn flattened(items: &[Value], depth: u32) -> Vec<Value> {
    let mut flat = Vec::new();
    for item in items {
        match item {
            Value::List(inner) if depth > 0 => flat.extend(flattened(inner, depth - 1)),
            other => flat.push(other.clone()),
        }
    }
    flat
}

/// Sorts a list. Only values of one type have an order.
fn sort(items: &[Value]) -> EvalResult {
    let Some(first) = items.first() else { return Ok(Value::list(Vec::new())) };
    let is_like = |item: &Value| item.type_name() == first.type_name();
    let can_be = matches!(
        first,
        Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Bool(_) | Value::String(_) | Value::Bytes(_)
    );
    if !can_be || !items.iter().all(is_like) {
        return Err(Fail::Unknown("a list of values of several types is not sorted here".to_owned()));
    }
    // The order in Go depends on the algorithm, and Rust may panic on an inconsistent order.
    if items.iter().any(|item| matches!(item, Value::Double(number) if number.is_nan())) {
        return Err(Fail::Unknown("a list with a number that is none is not sorted here".to_owned()));
    }
    let mut sorted = items.to_vec();
    let mut failed = None;
    sorted.sort_by(|left, right| match compare(left, right) {
        Ok(order) => order,
        Err(fail) => {
            failed = Some(fail);
            Ordering::Equal
        }
    });
    failed.map_or(Ok(Value::list(sorted)), Err)
}
