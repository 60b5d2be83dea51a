//! Literals read by the API server at compile time: patterns, times and formats (cel-go v0.29.2 `cel/validator.go`
//! and `ext/formatting.go`). Only certain errors are reported.

use super::Reason;
use super::ast::Expr;
use super::lexer::without_prefix;
use super::types::Type;
use super::value::Value;

/// Returns the error of a call with literals.
pub(super) fn problem(function: &str, target: Option<&Expr>, arguments: &[Expr]) -> Option<Reason> {
    let Some(Expr::Literal(Value::String(text))) = arguments.first() else {
        return format_problem(function, target, arguments);
    };
    match function {
        "matches" if is_no_pattern(text) => Some(reason!("`{text}` is no regular expression")),
        "find" | "findAll" if target.is_some() && is_no_pattern(text) => {
            Some(reason!("`{text}` is no regular expression"))
        }
        "duration" if !is_duration(text) => Some(reason!("`{text}` is no duration")),
        "timestamp" if !is_timestamp(text) => Some(reason!("`{text}` is no timestamp")),
        _ => None,
    }
}

/// Whether a text is certainly no regular expression: its brackets do not match, or it repeats nothing.
fn is_no_pattern(pattern: &str) -> bool {
    if pattern.contains("\\Q") {
        return false;
    }
    if pattern.starts_with(['*', '+', '?']) {
        return true;
    }
    let (mut letters, mut open) = (pattern.chars(), 0_u32);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next().is_none() => return true,
            '[' => {
                // A bracket closed at once is literal, and a class may hold classes by name.
                let rest = without_prefix(without_prefix(letters.as_str(), &['^']), &[']']);
                let Some(behind) = behind_class(rest) else { return true };
                letters = behind.chars();
            }
            '(' => open += 1,
            ')' if open == 0 => return true,
            ')' => open -= 1,
            _ => {}
        }
    }
    open > 0
}

/// Returns the text behind the bracket that ends a class.
fn behind_class(text: &str) -> Option<&str> {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '[' if text.get(at..).is_some_and(|rest| rest.starts_with("[:")) => {
                let rest = text.get(at + 2..)?;
                if let Some(end) = rest.find(":]") {
                    letters = text.char_indices();
                    letters.by_ref().take_while(|(place, _)| *place < at + 2 + end + 1).for_each(drop);
                }
            }
            ']' => return Some(letters.as_str()),
            _ => {}
        }
    }
    None
}

/// Whether a text is a duration of Go: numbers with units behind a sign, or a zero.
fn is_duration(text: &str) -> bool {
    let mut rest = without_prefix(text, &['-', '+']);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let (number, _) = rest.split_at(rest.len() - unit.len());
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let ends =
            |behind: &&str| behind.is_empty() || behind.starts_with(|next: char| next.is_ascii_digit() || next == '.');
        let Some(behind) = units.iter().filter_map(|name| unit.strip_prefix(name)).find(ends) else { return false };
        if number.matches('.').count() > 1 || !number.contains(|letter: char| letter.is_ascii_digit()) {
            return false;
        }
        rest = behind;
    }
    true
}

/// Whether a text has the form of RFC 3339, roughly: days are not counted.
fn is_timestamp(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd";
    let fits = |(form, letter): (char, char)| if form == 'd' { letter.is_ascii_digit() } else { letter == form };
    let ends = |rest: &str| rest.ends_with('Z') || rest.contains(':');
    form.chars().zip(text.chars()).all(fits) && text.get(form.len()..).is_some_and(ends)
}

/// Returns the error of `format`: the text needs as many values as it has places.
fn format_problem(function: &str, target: Option<&Expr>, arguments: &[Expr]) -> Option<Reason> {
    let (Some(Expr::Literal(Value::String(text))), [Expr::List(values)]) = (target, arguments) else { return None };
    if function != "format" {
        return None;
    }
    let verbs = verbs(text)?;
    if let Some(unknown) = verbs.iter().find(|verb| !"sdfebxXo".contains(**verb)) {
        return Some(reason!("`format` has no `%{unknown}`"));
    }
    let (given, places) = (values.len(), verbs.len());
    (given != places).then(|| reason!("`{text}` has places for {places} values, and `format` gets {given}"))
}

/// Returns the letters of the places of a format; none for an incomplete place.
pub(super) fn verbs(text: &str) -> Option<Vec<char>> {
    let (mut letters, mut found) = (text.chars(), Vec::new());
    while let Some(letter) = letters.next() {
        if letter != '%' {
            continue;
        }
        let mut verb = letters.next()?;
        if verb == '%' {
            continue;
        }
        if verb == '.' {
            verb = letters.find(|letter| !letter.is_ascii_digit())?;
        }
        found.push(verb);
    }
    Some(found)
}

/// Whether a place of a format takes values of a type.
pub(super) fn takes(verb: char, of: &Type) -> bool {
    match (verb, of) {
        (_, Type::Dyn | Type::Unknown | Type::Free(_))
        | ('d' | 'o' | 'b' | 'x' | 'X', Type::Int | Type::UInt)
        | ('f' | 'e', Type::Double | Type::String)
        | ('x' | 'X', Type::String | Type::Bytes)
        | ('b', Type::Bool) => true,
        ('s', of) => !matches!(of, Type::Optional(_) | Type::Named(_) | Type::Object(_)),
        (verb, _) => !"dobxXfe".contains(verb),
    }
}
