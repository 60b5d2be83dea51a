//! Values as templates compute and print them.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use bailiwick_policy::model::Data;
use bailiwick_yaml as yaml;
use hashbrown::HashMap;

use super::budget::{Budget, Cause, MAXIMUM_OBJECT, steps_of_bytes};

/// A value of an expression; none where it is undefined.
pub(super) type Value = Option<Data>;

/// Whether a value counts as true.
pub(super) fn is_true(data: &Data) -> bool {
    match data {
        Data::Bool(truth) => *truth,
        Data::Int(number) => *number != 0,
        Data::Float(number) => *number != 0.0,
        Data::Str(text) => !text.is_empty(),
        data => !data.is_empty(),
    }
}

/// Returns the type of a value in words.
pub(super) fn type_of(data: &Data) -> &'static str {
    match data {
        Data::Null => "null",
        Data::Bool(_) => "a boolean",
        Data::Int(_) | Data::Float(_) => "a number",
        Data::Str(_) => "a string",
        Data::List(_) => "a list",
        Data::Map(_) => "a map",
    }
}

/// Returns whether two values are equal.
pub(super) fn equal(left: &Data, right: &Data, budget: &mut Budget) -> Result<bool, Cause> {
    budget.spend(1)?;
    Ok(match (left, right) {
        (Data::Str(left), Data::Str(right)) => {
            budget.bytes(left.len().min(right.len()))?;
            left == right
        }
        (Data::List(left), Data::List(right)) => {
            let mut is_equal = left.len() == right.len();
            for (left, right) in left.iter().zip(right.iter()) {
                is_equal = is_equal && equal(left, right, budget)?;
            }
            is_equal
        }
        (Data::Map(entries), Data::Map(others)) => {
            let mut is_equal = entries.len() == others.len();
            for (key, value) in entries.iter() {
                let other = budget.get(right, key)?;
                is_equal = is_equal && other.map_or(Ok(false), |other| equal(value, &other, budget))?;
            }
            is_equal
        }
        (left, right) => match (number(left), number(right)) {
            (Some(_), Some(_)) => ordered(left, right) == Some(Ordering::Equal),
            _ => left == right,
        },
    })
}

/// Returns the order of two numbers, strings or booleans.
pub(super) fn order(left: &Data, right: &Data, budget: &mut Budget) -> Result<Ordering, Cause> {
    if let (Data::Str(left), Data::Str(right)) = (left, right) {
        budget.bytes(left.len().min(right.len()))?;
    }
    budget.spend(1)?;
    ordered(left, right).ok_or_else(|| {
        let message = format!("{} and {} have no order", type_of(left), type_of(right));
        Cause::Wrong(message, "compare two numbers or two strings".to_owned())
    })
}

fn ordered(left: &Data, right: &Data) -> Option<Ordering> {
    match (left, right) {
        (Data::Int(left), Data::Int(right)) => Some(left.cmp(right)),
        (Data::Str(left), Data::Str(right)) => Some(left.cmp(right)),
        (Data::Bool(left), Data::Bool(right)) => Some(left.cmp(right)),
        (left, right) => number(left)?.partial_cmp(&number(right)?),
    }
}

/// Returns a number with less than full precision for large integers.
#[expect(clippy::cast_precision_loss, reason = "only where one of two numbers is a fraction")]
pub(super) fn number(data: &Data) -> Option<f64> {
    match data {
        Data::Int(number) => Some(*number as f64),
        Data::Float(number) => Some(*number),
        _ => None,
    }
}

/// Returns the text of a scalar.
pub(super) fn text(data: &Data, budget: &mut Budget) -> Result<Arc<str>, Cause> {
    budget.spend(1)?;
    match data {
        Data::Str(text) => Ok(Arc::clone(text)),
        Data::Bool(truth) => Ok(if *truth { "true" } else { "false" }.into()),
        Data::Int(number) => Ok(number.to_string().into()),
        Data::Float(number) => Ok(yaml::write::json_float(*number).into()),
        Data::Null | Data::List(_) | Data::Map(_) => Err(Cause::Wrong(
            format!("{} is not a text", type_of(data)),
            "print a list or a map without other text: `{{ value }}`".to_owned(),
        )),
    }
}

/// Joins two texts.
pub(super) fn joined(left: &Data, right: &Data, budget: &mut Budget) -> Result<Data, Cause> {
    let (left, right) = (text(left, budget)?, text(right, budget)?);
    budget.text(left.len() + right.len())?;
    Ok(Data::text(format!("{left}{right}")))
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// How many lists and maps are remembered, and up to how many bytes of text in all.
const MOST_KNOWN: usize = 1 << 14;
const MOST_BYTES: usize = 1 << 21;

/// The texts of lists and maps that several objects share, such as the rules of all tenants. They are found by their
/// addresses, which belong to nothing else as long as they are held here.
#[derive(Default)]
struct Known {
    /// None for what was seen once, or is too long.
    texts: HashMap<usize, Option<(Data, Box<str>)>>,
    bytes: usize,
}

impl Known {
    /// Appends a value as JSON. A list or a map with more than `holders` references is in other objects too, and may come
    /// again. A text that grows beyond one object is left unfinished.
    fn write(&mut self, data: &Data, holders: usize, out: &mut String) {
        if out.len() > MAXIMUM_OBJECT {
            return;
        }
        // Empty ones of both kinds may share an address.
        let (address, held) = match data {
            _ if data.is_empty() => (0, 0),
            Data::List(items) => (Arc::as_ptr(items).addr(), Arc::strong_count(items)),
            Data::Map(entries) => (Arc::as_ptr(entries).addr(), Arc::strong_count(entries)),
            _ => (0, 0),
        };
        if held <= holders {
            return data.write_json_by(&mut |nested, out| self.write(nested, 1, out), out);
        }
        let seen = self.texts.get(&address);
        if let Some(Some((_, text))) = seen {
            return out.push_str(text);
        }
        let (is_new, start) = (seen.is_none(), out.len());
        data.write_json_by(&mut |nested, out| self.write(nested, 1, out), out);
        let text = out.get(start..).filter(|text| !is_new && text.len() <= MOST_BYTES && out.len() <= MAXIMUM_OBJECT);
        let bytes = text.map_or(0, str::len);
        if self.texts.len() >= MOST_KNOWN || self.bytes + bytes > MOST_BYTES {
            *self = Self::default();
        }
        self.bytes += bytes;
        self.texts.insert(address, text.map(|text| (data.clone(), text.into())));
    }
}

/// Appends a value as JSON on one line. `holders` is the number of references of an object that shares no value.
fn append_held(data: &Data, holders: usize, out: &mut String) {
    match data {
        Data::List(_) | Data::Map(_) => KNOWN.with_borrow_mut(|known| known.write(data, holders, out)),
        scalar => scalar.write_json(out),
    }
}

/// Appends a value of an object as JSON on one line.
pub(super) fn append(data: &Data, out: &mut String) {
    append_held(data, 1, out);
}

/// Appends a value of an expression as JSON on one line.
pub(super) fn write(data: &Data, out: &mut String, budget: &mut Budget) -> Result<(), Cause> {
    let start = out.len();
    // The object's own data and the expression hold it.
    append_held(data, 2, out);
    written(start, out, budget)
}

/// Pays for what was appended to a text.
pub(super) fn written(start: usize, out: &str, budget: &mut Budget) -> Result<(), Cause> {
    if out.len() > MAXIMUM_OBJECT {
        return Err(Cause::LongObject);
    }
    budget.spend(steps_of_text(out.len() - start))
}

/// Returns the price of bytes in the text of an object: half of what a string costs, because the text is there once.
pub(super) fn steps_of_text(bytes: usize) -> u64 {
    steps_of_bytes(bytes / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_written_as_what_is_not() {
        let mut known = Known::default();
        let shared = Data::List([Data::text("a \"b\""), Data::Map([("c".into(), Data::Int(1))].into())].into());
        for round in 0..5 {
            let own = Data::map([("own", Data::Int(round)), ("shared", shared.clone())]);
            let mut text = String::new();
            known.write(&own, 1, &mut text);
            assert_eq!(text, format!("{{\"own\": {round}, \"shared\": [\"a \\\"b\\\"\", {{\"c\": 1}}]}}"));
        }
        assert_eq!(known.texts.values().flatten().count(), 1, "the shared list alone");
    }

    #[test]
    fn an_address_that_is_used_again_tells_nothing() {
        let mut known = Known::default();
        for round in 0..1000 {
            // Held twice, so that it looks shared; then it is gone, and its address is free.
            let data = Data::List([Data::Int(round), Data::Int(-round)].into());
            let other = data.clone();
            let mut text = String::new();
            known.write(&other, 1, &mut text);
            assert_eq!(text, format!("[{round}, {}]", -round));
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_remembered() {
        let mut known = Known::default();
        let long = "x".repeat(MOST_BYTES / 10);
        let mut lists: Vec<Data> = (0..50).map(|_| Data::List([Data::text(&*long)].into())).collect();
        lists.push(Data::List([Data::text("x".repeat(MOST_BYTES))].into()));
        for list in lists.iter().chain(&lists) {
            known.write(&list.clone(), 1, &mut String::new());
            let bytes: usize = known.texts.values().flatten().map(|(_, text)| text.len()).sum();
            assert!(bytes == known.bytes && bytes <= MOST_BYTES, "{bytes}");
        }
    }
}
