//! The filters and tests of templates. Each pays for what it makes before it makes it.

use std::sync::Arc;

use bailiwick_policy::model::Data;
use bailiwick_yaml::diag::nearest;

use super::budget::{Budget, Cause, MAXIMUM_TEXT};
use super::value::{self, Value, equal, is_true, order, text, type_of};

/// The filters, for the remedy of an unknown one.
pub(super) const FILTERS: [&str; 31] = [
    "capitalize",
    "count",
    "d",
    "default",
    "dictsort",
    "first",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "safe",
    "select",
    "selectattr",
    "sort",
    "split",
    "string",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
];

/// The tests, for the remedy of an unknown one.
pub(super) const TESTS: [&str; 20] = [
    "boolean",
    "containing",
    "defined",
    "endingwith",
    "eq",
    "equalto",
    "even",
    "false",
    "in",
    "integer",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
];

/// The arguments of a filter, a test or a function.
#[derive(Debug, Default)]
pub(super) struct Arguments<'t> {
    pub(super) positional: Vec<Data>,
    pub(super) named: Vec<(&'t str, Data)>,
}

impl Arguments<'_> {
    /// Returns an argument by its position or its name.
    fn get(&self, position: usize, name: &str) -> Option<&Data> {
        let named = || self.named.iter().find(|(known, _)| *known == name).map(|(_, data)| data);
        self.positional.get(position).or_else(named)
    }

    fn text(&self, position: usize, name: &str) -> Result<&str, Cause> {
        self.get(position, name).and_then(Data::as_str).ok_or_else(|| {
            Cause::Wrong(format!("the argument `{name}` is not a string"), format!("use a string for `{name}`"))
        })
    }

    fn is_set(&self, position: usize, name: &str) -> bool {
        self.get(position, name).is_some_and(is_true)
    }

    /// Returns the arguments behind the first ones.
    fn after(&self, count: usize) -> Self {
        Self { positional: self.positional.iter().skip(count).cloned().collect(), named: Vec::new() }
    }
}

/// Whether the filter takes an undefined value.
pub(super) fn takes_undefined(filter: &str) -> bool {
    matches!(filter, "default" | "d")
}

/// Applies a filter.
pub(super) fn apply(name: &str, input: Value, arguments: &Arguments<'_>, budget: &mut Budget) -> Result<Value, Cause> {
    budget.spend(1)?;
    if takes_undefined(name) {
        let is_missing = input.as_ref().is_none_or(|data| arguments.is_set(1, "boolean") && !is_true(data));
        let default = || arguments.get(0, "value").cloned().unwrap_or_else(|| Data::text(""));
        return Ok(Some(if is_missing { default() } else { input.unwrap_or(Data::Null) }));
    }
    let Some(input) = input else { return Ok(None) };
    Ok(Some(match name {
        "safe" => input,
        "capitalize" | "lower" | "title" | "trim" | "upper" | "replace" | "split" | "int" | "string" | "tojson" => {
            of_text(name, &input, arguments, budget)?
        }
        "count" | "length" => Data::Int(i64::try_from(length(&input, budget)?).unwrap_or(i64::MAX)),
        "dictsort" | "items" => entries(&input, name == "dictsort", budget)?,
        "first" => return Ok(items(&input, budget)?.first().cloned()),
        "last" => return Ok(items(&input, budget)?.last().cloned()),
        "max" | "min" => return extreme(&items(&input, budget)?, name == "max", budget),
        "list" => Data::List(items(&input, budget)?),
        "join" => join(&items(&input, budget)?, arguments, budget)?,
        "map" => map(&items(&input, budget)?, arguments, budget)?,
        "reverse" => made(items(&input, budget)?.iter().rev().cloned().collect(), budget)?,
        "select" | "reject" | "selectattr" | "rejectattr" => select(name, &items(&input, budget)?, arguments, budget)?,
        "sort" => sort(&items(&input, budget)?, arguments, budget)?,
        "unique" => unique(&items(&input, budget)?, budget)?,
        _ => return Err(unknown("filter", name, &FILTERS)),
    }))
}

/// Answers a test.
pub(super) fn test(name: &str, input: Value, arguments: &Arguments<'_>, budget: &mut Budget) -> Result<bool, Cause> {
    budget.spend(1)?;
    let Some(input) = input else { return Ok(name == "undefined") };
    let with = |needed: fn(&str, &str) -> bool| match (&input, arguments.positional.first()) {
        (Data::Str(text), Some(Data::Str(part))) => Ok((needed(text, part), text.len())),
        _ => Err(Cause::Wrong(format!("`{name}` compares strings"), "use two strings".to_owned())),
    };
    let other = || {
        let missing = || Cause::Wrong(format!("the test `{name}` lacks a value"), format!("write `is {name}(value)`"));
        arguments.positional.first().ok_or_else(missing)
    };
    Ok(match name {
        "defined" => true,
        "undefined" => false,
        "none" => input == Data::Null,
        "boolean" => matches!(input, Data::Bool(_)),
        "true" => matches!(input, Data::Bool(true)),
        "false" => matches!(input, Data::Bool(false)),
        "string" => matches!(input, Data::Str(_)),
        "number" => matches!(input, Data::Int(_) | Data::Float(_)),
        "integer" => matches!(input, Data::Int(_)),
        "mapping" => matches!(input, Data::Map(_)),
        "sequence" => matches!(input, Data::List(_)),
        "odd" => matches!(input, Data::Int(number) if number % 2 != 0),
        "even" => matches!(input, Data::Int(number) if number % 2 == 0),
        "eq" | "equalto" | "==" => equal(&input, other()?, budget)?,
        "ne" | "!=" => !equal(&input, other()?, budget)?,
        "in" => contains(other()?, &input, budget)?,
        "startingwith" | "endingwith" | "containing" => {
            let (answer, bytes) = match name {
                "startingwith" => with(|text, part| text.starts_with(part))?,
                "endingwith" => with(|text, part| text.ends_with(part))?,
                _ => with(|text, part| text.contains(part))?,
            };
            budget.bytes(bytes)?;
            answer
        }
        _ => return Err(unknown("test", name, &TESTS)),
    })
}

/// Returns whether a list has an item, a map a key or a string a part.
pub(super) fn contains(whole: &Data, part: &Data, budget: &mut Budget) -> Result<bool, Cause> {
    match (whole, part) {
        (Data::List(items), part) => {
            for item in items.iter() {
                if equal(item, part, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (Data::Map(entries), part) => {
            budget.items(entries.len())?;
            Ok(part.as_str().is_some_and(|key| whole.get(key).is_some()))
        }
        (Data::Str(text), Data::Str(part)) => {
            budget.bytes(text.len())?;
            Ok(text.contains(&**part))
        }
        (whole, part) => Err(Cause::Wrong(
            format!("`in` cannot search for {} in {}", type_of(part), type_of(whole)),
            "search for an item of a list, a key of a map or a part of a string".to_owned(),
        )),
    }
}

/// Returns the items of a list, or the keys of a map.
pub(super) fn items(data: &Data, budget: &mut Budget) -> Result<Arc<[Data]>, Cause> {
    match data {
        Data::List(items) => Ok(Arc::clone(items)),
        Data::Map(entries) => {
            budget.items(entries.len())?;
            Ok(entries.iter().map(|(key, _)| Data::Str(Arc::clone(key))).collect())
        }
        other => Err(Cause::Wrong(format!("{} has no items", type_of(other)), "use a list or a map here".to_owned())),
    }
}

/// Returns a problem with a name that templates do not have.
pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> Cause {
    let near = nearest(name, known.iter().copied());
    let help =
        near.map_or_else(|| format!("the {what}s are: {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
    Cause::Wrong(format!("there is no {what} `{name}`"), help)
}

/// Returns a list that a filter made, which is paid with everything in it.
fn made(items: Vec<Data>, budget: &mut Budget) -> Result<Data, Cause> {
    let list = Data::List(items.into());
    budget.value(&list)?;
    Ok(list)
}

fn length(data: &Data, budget: &mut Budget) -> Result<usize, Cause> {
    match data {
        Data::Str(text) => {
            budget.bytes(text.len())?;
            Ok(text.chars().count())
        }
        Data::Map(entries) => Ok(entries.len()),
        other => Ok(items(other, budget)?.len()),
    }
}

fn of_text(name: &str, input: &Data, arguments: &Arguments<'_>, budget: &mut Budget) -> Result<Data, Cause> {
    if name == "tojson" {
        let mut json = String::new();
        value::write(input, &mut json, budget)?;
        budget.text(json.len())?;
        return Ok(Data::text(json));
    }
    let text = text(input, budget)?;
    // A letter may become three.
    budget.text(text.len())?;
    budget.bytes(text.len().saturating_mul(2))?;
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        first + &letters.as_str().to_lowercase()
    };
    Ok(match name {
        "string" => Data::Str(text),
        "int" => {
            let wrong =
                || Cause::Wrong(format!("`{}` is not a whole number", shortened(&text)), "check the value".to_owned());
            Data::Int(text.trim().parse().map_err(|_| wrong())?)
        }
        "lower" => Data::text(text.to_lowercase()),
        "upper" => Data::text(text.to_uppercase()),
        "capitalize" => Data::text(capitalized(&text)),
        "title" => Data::text(text.split_inclusive(char::is_whitespace).map(capitalized).collect::<String>()),
        "trim" => match arguments.get(0, "chars") {
            None => Data::text(text.trim()),
            Some(_) => {
                let letters = arguments.text(0, "chars")?;
                budget.spend((text.len() as u64).saturating_mul(letters.len() as u64))?;
                Data::text(text.trim_matches(|letter| letters.contains(letter)))
            }
        },
        "replace" => replace(&text, arguments.text(0, "old")?, arguments.text(1, "new")?, budget)?,
        _ => split(&text, arguments, budget)?,
    })
}

/// Returns the beginning of a text, for a message.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

fn replace(text: &str, old: &str, new: &str, budget: &mut Budget) -> Result<Data, Cause> {
    let count = text.matches(old).count();
    budget.text(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Data::text(text.replace(old, new)))
}

fn split(text: &str, arguments: &Arguments<'_>, budget: &mut Budget) -> Result<Data, Cause> {
    let parts: Vec<&str> = match arguments.get(0, "sep") {
        None | Some(Data::Null) => text.split_whitespace().collect(),
        Some(_) => match arguments.text(0, "sep")? {
            "" => {
                return Err(Cause::Wrong(
                    "the separator is empty".to_owned(),
                    "use a separator that is not empty".to_owned(),
                ));
            }
            separator => text.split(separator).collect(),
        },
    };
    budget.items(parts.len())?;
    Ok(Data::List(parts.into_iter().map(Data::text).collect()))
}

fn entries(data: &Data, is_sorted: bool, budget: &mut Budget) -> Result<Data, Cause> {
    let Data::Map(entries) = data else {
        let message = format!("{} has no keys", type_of(data));
        return Err(Cause::Wrong(message, "use a map here".to_owned()));
    };
    budget.items(entries.len().saturating_mul(4))?;
    let mut pairs: Vec<&(Arc<str>, Data)> = entries.iter().collect();
    if is_sorted {
        pairs.sort_by(|(left, _), (right, _)| left.cmp(right));
    }
    let pair = |(key, value): &(Arc<str>, Data)| Data::List([Data::Str(Arc::clone(key)), value.clone()].into());
    Ok(Data::List(pairs.into_iter().map(pair).collect()))
}

fn join(items: &[Data], arguments: &Arguments<'_>, budget: &mut Budget) -> Result<Data, Cause> {
    let separator = match arguments.get(0, "d") {
        None => "",
        Some(_) => arguments.text(0, "d")?,
    };
    let mut joined = String::new();
    for (index, item) in items.iter().enumerate() {
        let part = text(item, budget)?;
        let before = if index > 0 { separator } else { "" };
        budget.bytes(before.len() + part.len())?;
        joined.push_str(before);
        joined.push_str(&part);
        if joined.len() > MAXIMUM_TEXT {
            return Err(Cause::LongText);
        }
    }
    Ok(Data::text(joined))
}

/// Returns the value below a dotted path.
fn attribute(item: &Data, path: &str, budget: &mut Budget) -> Result<Value, Cause> {
    let mut found = Some(item.clone());
    for name in path.split('.') {
        budget.spend(1)?;
        found = found.map_or(Ok(None), |data| budget.get(&data, name))?;
    }
    Ok(found)
}

fn map(items: &[Data], arguments: &Arguments<'_>, budget: &mut Budget) -> Result<Data, Cause> {
    let mut mapped = Vec::new();
    let is_attribute = arguments.named.iter().any(|(name, _)| *name == "attribute");
    for item in items {
        let value = if is_attribute {
            let path = arguments.text(usize::MAX, "attribute")?;
            let value = attribute(item, path, budget)?;
            value
                .or_else(|| arguments.get(usize::MAX, "default").cloned())
                .ok_or_else(|| Cause::Undefined(path.to_owned()))?
        } else {
            let name = arguments.text(0, "filter")?;
            let value = nested(name, Some(item.clone()), &arguments.after(1), budget)?;
            value.ok_or_else(|| Cause::Undefined(name.to_owned()))?
        };
        budget.items(1)?;
        mapped.push(value);
    }
    made(mapped, budget)
}

/// Returns a filter in a filter, which nests as an expression does.
fn nested(name: &str, input: Value, arguments: &Arguments<'_>, budget: &mut Budget) -> Result<Value, Cause> {
    budget.enter()?;
    let value = apply(name, input, arguments, budget)?;
    budget.leave();
    Ok(value)
}

fn select(name: &str, items: &[Data], arguments: &Arguments<'_>, budget: &mut Budget) -> Result<Data, Cause> {
    let by_attribute = name.ends_with("attr");
    let first = usize::from(by_attribute);
    let mut kept = Vec::new();
    for item in items {
        let value =
            if by_attribute { attribute(item, arguments.text(0, "attribute")?, budget)? } else { Some(item.clone()) };
        let holds = match arguments.positional.get(first) {
            None => value.as_ref().is_some_and(is_true),
            Some(_) => test(arguments.text(first, "test")?, value, &arguments.after(first + 1), budget)?,
        };
        if holds == name.starts_with("select") {
            kept.push(item.clone());
        }
    }
    made(kept, budget)
}

fn extreme(items: &[Data], is_largest: bool, budget: &mut Budget) -> Result<Value, Cause> {
    let mut found: Option<&Data> = None;
    for item in items {
        let is_better = match found {
            None => true,
            Some(found) => order(item, found, budget)?.is_gt() == is_largest,
        };
        if is_better {
            found = Some(item);
        }
    }
    Ok(found.cloned())
}

fn sort(items: &[Data], arguments: &Arguments<'_>, budget: &mut Budget) -> Result<Data, Cause> {
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        let key = match arguments.get(usize::MAX, "attribute") {
            None => item.clone(),
            Some(_) => {
                let path = arguments.text(usize::MAX, "attribute")?;
                attribute(item, path, budget)?.ok_or_else(|| Cause::Undefined(path.to_owned()))?
            }
        };
        keyed.push((key, item.clone()));
    }
    sort_by_key(&mut keyed, budget)?;
    let mut sorted: Vec<Data> = keyed.into_iter().map(|(_, item)| item).collect();
    if arguments.is_set(0, "reverse") {
        sorted.reverse();
    }
    made(sorted, budget)
}

/// Sorts by keys of one type, whose order is total.
fn sort_by_key(keyed: &mut [(Data, Data)], budget: &mut Budget) -> Result<(), Cause> {
    let Some(((first, _), rest)) = keyed.split_first() else { return Ok(()) };
    if let Some((other, _)) = rest.iter().find(|(other, _)| type_of(other) != type_of(first)) {
        return order(first, other, budget).map(|_| ());
    }
    order(first, first, budget)?;
    let longest = keyed.iter().filter_map(|(key, _)| key.as_str()).map(str::len).max().unwrap_or_default();
    let compared = keyed.len().saturating_mul(keyed.len().ilog2() as usize + 1);
    budget.bytes(compared.saturating_mul(longest + 8))?;
    let number = |data: &Data| value::number(data).unwrap_or_default();
    keyed.sort_by(|(left, _), (right, _)| match (left, right) {
        (Data::Str(left), Data::Str(right)) => left.cmp(right),
        (Data::Bool(left), Data::Bool(right)) => left.cmp(right),
        (left, right) => number(left).total_cmp(&number(right)),
    });
    Ok(())
}

fn unique(items: &[Data], budget: &mut Budget) -> Result<Data, Cause> {
    let mut kept: Vec<Data> = Vec::new();
    for item in items {
        let mut is_new = true;
        for known in &kept {
            is_new = is_new && !equal(known, item, budget)?;
        }
        if is_new {
            kept.push(item.clone());
        }
    }
    made(kept, budget)
}
