//! The query of a list request: whether it is a watch, and the one name of its field selector.
//!
//! A query with one undecodable value loses its selectors, but not its `watch`.

mod labels;

use crate::request::split_at_first;

/// The part of a query for the attributes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListOptions {
    pub(super) watch: bool,
    /// The one name of the field selector.
    pub(super) name: Option<String>,
}

impl ListOptions {
    pub(super) fn read(raw_query: &str) -> Self {
        let query = parse(raw_query);
        let first = |key: &str| query.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        let is_number = |key| first(key).is_none_or(is_int64);
        let terms = first("fieldSelector").map_or_else(|| Some(Vec::new()), field_terms);
        let decodes =
            is_number("limit") && is_number("timeoutSeconds") && first("labelSelector").is_none_or(labels::parses);
        let name = terms.filter(|_| decodes).and_then(|terms| {
            let named = terms.into_iter().find(|(field, _)| field == "metadata.name");
            named.map(|(_, value)| value)
        });
        Self {
            watch: first("watch").is_some_and(|value| !value.eq_ignore_ascii_case("false") && value != "0"),
            name: name.filter(|name| !matches!(name.as_str(), "" | "." | "..") && !name.contains(['/', '%'])),
        }
    }
}

/// Whether a text is a number for Go's `strconv.ParseInt`.
fn is_int64(value: &str) -> bool {
    // Rust reads the same signs and digits.
    value.parse::<i64>().is_ok()
}

/// Returns the pairs of a query; a broken pair is left out, as in Go's `url.ParseQuery`.
fn parse(raw: &str) -> Vec<(String, String)> {
    let pairs = raw.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
    pairs
        .filter_map(|pair| {
            let (key, value) = split_at_first(pair, '=');
            Some((unescape(key, true)?, unescape(value, true)?))
        })
        .collect()
}

/// Undoes percent escapes, and in a query `+` for a space; none when an escape is broken.
pub(super) fn unescape(text: &str, is_query: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let value = digit(rest.next())? * 16 + digit(rest.next())?;
                u8::try_from(value).ok()?
            }
            b'+' if is_query => b' ',
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the terms of a field selector with an equality (`a=b` and `a==b`, not `a!=b`); none for an invalid
/// selector (`staging/src/k8s.io/apimachinery/pkg/fields/selector.go`).
fn field_terms(selector: &str) -> Option<Vec<(String, String)>> {
    let mut terms = Vec::new();
    let mut written = split_unescaped(selector, ',');
    written.sort_unstable();
    for term in written {
        if term.is_empty() {
            continue;
        }
        let at = operator_position(term)?;
        let (field, rest) = term.split_at_checked(at)?;
        let (value, asks) = match (rest.strip_prefix("!="), rest.strip_prefix("==")) {
            (Some(value), _) => (value, false),
            (_, Some(value)) => (value, true),
            _ => (rest.strip_prefix('=')?, true),
        };
        let value = unescape_value(value)?;
        if asks {
            terms.push((field.to_owned(), value));
        }
    }
    Some(terms)
}

/// Splits at a character without a backslash before it.
fn split_unescaped(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (position, character) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == separator {
            parts.extend(text.get(start..position));
            start = position + separator.len_utf8();
        }
    }
    parts.extend(text.get(start..));
    parts
}

/// Returns the position of the operator of a term: the first one, since a field has no escapes.
fn operator_position(term: &str) -> Option<usize> {
    [term.find("!="), term.find('=')].into_iter().flatten().min()
}

/// Undoes the escapes of a value: only `\\`, `\,` and `\=` are any, and a bare `,` or `=` is a mistake.
fn unescape_value(value: &str) -> Option<String> {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next()? {
                escaped @ ('\\' | ',' | '=') => text.push(escaped),
                _ => return None,
            },
            ',' | '=' => return None,
            plain => text.push(plain),
        }
    }
    Some(text)
}
