//! The functions of texts: of the language, of the strings extension in its version 2, and `find` of Kubernetes.

use std::sync::Arc;

use super::eval::Evaluation;
use super::value::{Value, length};
use super::{EvalResult, Fail, lists, pattern};

/// Calls a member function of a text.
pub(super) fn member(evaluation: &mut Evaluation<'_>, text: &Arc<str>, name: &str, arguments: &[Value]) -> EvalResult {
    let sizes = arguments.iter().map(Value::weight).sum::<u64>();
    evaluation.spend(length(text.len()) / 5 + sizes)?;
    match (name, arguments) {
        ("contains", [Value::String(part)]) => {
            evaluation.spend((1 + length(text.len()) / 10).saturating_mul(1 + length(part.len()) / 10))?;
            Ok(Value::Bool(text.contains(part.as_ref())))
        }
        ("startsWith", [Value::String(start)]) => Ok(Value::Bool(text.starts_with(start.as_ref()))),
        ("endsWith", [Value::String(end)]) => Ok(Value::Bool(text.ends_with(end.as_ref()))),
        ("matches", [Value::String(pattern)]) => {
            Ok(Value::Bool(pattern::compiled(evaluation, pattern, text)?.is_match(text)))
        }
        ("find", [Value::String(pattern)]) => {
            let pattern = pattern::compiled(evaluation, pattern, text)?;
            Ok(Value::text(pattern.find(text).map_or("", |found| found.as_str())))
        }
        ("findAll", [Value::String(pattern)]) => found(evaluation, text, pattern, -1),
        ("findAll", [Value::String(pattern), Value::Int(limit)]) => found(evaluation, text, pattern, *limit),
        ("lowerAscii", []) => Ok(Value::text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Value::text(text.to_ascii_uppercase())),
        ("trim", []) => Ok(Value::text(text.trim())),
        ("charAt", [Value::Int(index)]) => char_at(text, *index),
        ("indexOf", [Value::String(part)]) => Ok(Value::Int(index_of(text, part, 0)?)),
        ("indexOf", [Value::String(part), Value::Int(from)]) => Ok(Value::Int(index_of(text, part, *from)?)),
        ("lastIndexOf", [Value::String(part)]) => last_index_of(text, part, None),
        ("lastIndexOf", [Value::String(part), Value::Int(to)]) => last_index_of(text, part, Some(*to)),
        ("substring", [Value::Int(start)]) => substring(text, *start, None),
        ("substring", [Value::Int(start), Value::Int(end)]) => substring(text, *start, Some(*end)),
        ("replace", [Value::String(old), Value::String(new)]) => replace(evaluation, text, old, new, -1),
        ("replace", [Value::String(old), Value::String(new), Value::Int(limit)]) => {
            replace(evaluation, text, old, new, *limit)
        }
        ("split", [Value::String(separator)]) => split(evaluation, text, separator, -1),
        ("split", [Value::String(separator), Value::Int(limit)]) => split(evaluation, text, separator, *limit),
        _ => Err(Fail::no_such_overload()),
    }
}

fn found(evaluation: &mut Evaluation<'_>, text: &str, pattern: &str, limit: i64) -> EvalResult {
    let pattern = pattern::compiled(evaluation, pattern, text)?;
    let limit = limit_of(limit);
    let found = pattern.find_iter(text).take(limit).map(|found| Value::text(found.as_str()));
    Ok(Value::list(found.collect()))
}

/// Returns how many parts are taken at most: all of them for a negative number.
fn limit_of(limit: i64) -> usize {
    if limit < 0 { usize::MAX } else { limit as usize }
}

fn out_of_range(index: i64) -> Fail {
    Fail::error(format!("index out of range: {index}"))
}

fn char_at(text: &str, index: i64) -> EvalResult {
    let position = usize::try_from(index).map_err(|_| out_of_range(index))?;
    match text.chars().nth(position) {
        Some(letter) => Ok(Value::text(letter.to_string())),
        None if text.chars().count() == position => Ok(Value::text("")),
        None => Err(out_of_range(index)),
    }
}

/// Returns the first byte of a character; none behind the end.
fn byte_of(text: &str, letter: usize) -> Option<usize> {
    text.char_indices().map(|(byte, _)| byte).chain([text.len()]).nth(letter)
}

/// Returns the number of characters before a byte.
fn letters_before(text: &str, byte: usize) -> i64 {
    let letters = text.char_indices().take_while(|(begin, _)| *begin < byte).count();
    lists::count(letters)
}

fn index_of(text: &str, part: &str, from: i64) -> Result<i64, Fail> {
    if part.is_empty() {
        return Ok(from);
    }
    let begin = usize::try_from(from).ok().and_then(|from| byte_of(text, from)).ok_or_else(|| out_of_range(from))?;
    let found = text.get(begin..).and_then(|rest| rest.find(part));
    Ok(found.map_or(-1, |found| letters_before(text, begin + found)))
}

fn last_index_of(text: &str, part: &str, to: Option<i64>) -> EvalResult {
    let letters = lists::count(text.chars().count());
    if part.is_empty() {
        return Ok(Value::Int(to.unwrap_or(letters)));
    }
    if let Some(to) = to
        && !(0..=letters).contains(&to)
    {
        return Err(out_of_range(to));
    }
    // Matches may overlap: each place is tested by itself.
    let found = match to {
        None => text.rfind(part).map_or(-1, |byte| letters_before(text, byte)),
        Some(to) => {
            let places = text
                .char_indices()
                .enumerate()
                .filter(|(_, (byte, _))| text.get(*byte..).is_some_and(|rest| rest.starts_with(part)));
            let places = places.filter_map(|(letter, _)| i64::try_from(letter).ok());
            places.take_while(|letter| *letter <= to).fold(-1, |_, letter| letter)
        }
    };
    Ok(Value::Int(found))
}

fn substring(text: &str, start: i64, end: Option<i64>) -> EvalResult {
    let letters = lists::count(text.chars().count());
    let stop = end.unwrap_or(letters);
    if start > stop {
        let range = format!("invalid substring range. start: {start}, end: {stop}");
        return Err(if end.is_some() { Fail::error(range) } else { out_of_range(start) });
    }
    if !(0..=letters).contains(&start) {
        return Err(out_of_range(start));
    }
    if !(0..=letters).contains(&stop) {
        return Err(out_of_range(stop));
    }
    let byte = |letter: i64| usize::try_from(letter).ok().and_then(|letter| byte_of(text, letter));
    let part = byte(start).zip(byte(stop)).and_then(|(start, stop)| text.get(start..stop));
    part.map(Value::text).ok_or_else(|| out_of_range(start))
}

fn replace(evaluation: &mut Evaluation<'_>, text: &str, old: &str, new: &str, limit: i64) -> EvalResult {
    let places = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() };
    evaluation.spend(length(places).saturating_mul(1 + length(new.len())) / 5)?;
    Ok(Value::text(match usize::try_from(limit) {
        Ok(limit) => text.replacen(old, new, limit),
        Err(_) => text.replace(old, new),
    }))
}

fn split(evaluation: &mut Evaluation<'_>, text: &str, separator: &str, limit: i64) -> EvalResult {
    if limit == 0 {
        return Ok(Value::list(Vec::new()));
    }
    let limit = limit_of(limit);
    let parts: Vec<Value> = if separator.is_empty() {
        letters(text, limit).into_iter().map(Value::text).collect()
    } else {
        text.splitn(limit, separator).map(Value::text).collect()
    };
    evaluation.spend(length(parts.len()))?;
    Ok(Value::list(parts))
}

/// Splits a text into characters, with the rest at the limit.
fn letters(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if parts.len() + 1 >= limit {
            parts.push(rest);
            return parts;
        }
        let (first, others) = rest.split_at(letter.len_utf8());
        parts.push(first);
        rest = others;
    }
    parts
}

/// Texts as one, with something between them.
pub(super) fn join(evaluation: &mut Evaluation<'_>, items: &[Value], separator: &str) -> EvalResult {
    let weight: u64 = items.iter().map(Value::weight).sum();
    evaluation.spend(weight.saturating_add(length(items.len()).saturating_mul(1 + length(separator.len()) / 10)))?;
    let texts = items.iter().map(|item| match item {
        Value::String(text) => Ok(text.as_ref()),
        _ => Err(Fail::no_such_overload()),
    });
    Ok(Value::text(texts.collect::<Result<Vec<_>, _>>()?.join(separator)))
}
