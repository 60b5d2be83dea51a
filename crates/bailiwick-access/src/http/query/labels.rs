//! Validation of label selectors. No attribute depends on their contents.

use bailiwick_kubernetes::names;
use bailiwick_yaml::internal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Open,
    Close,
    Comma,
    Not,
    /// `=`, `==` or `!=`: one value.
    Equals,
    /// `<` or `>`: one number.
    Compares,
    End,
}

/// Whether the whole text is a selector.
pub(super) fn parses(selector: &str) -> bool {
    let tokens = tokens(selector);
    let mut rest = tokens.as_slice();
    if matches!(rest, [Token::End]) {
        return true;
    }
    loop {
        rest = match requirement(rest) {
            Some([Token::End]) => return true,
            Some([Token::Comma, next @ ..]) if !matches!(next, [Token::End]) => next,
            _ => return false,
        };
    }
}

/// Reads one requirement; returns the tokens behind it.
fn requirement<'s, 't>(tokens: &'s [Token<'t>]) -> Option<&'s [Token<'t>]> {
    let (is_absence, tokens) = match tokens {
        [Token::Not, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let [Token::Word(key), rest @ ..] = tokens else { return None };
    names::label_key(key).ok()?;
    match rest {
        _ if is_absence => Some(rest),
        [Token::End | Token::Comma, ..] => Some(rest),
        [Token::Word("in" | "notin"), Token::Open, rest @ ..] => values(rest),
        [Token::Equals, Token::Word(value), rest @ ..] => names::label_value(value).is_ok().then_some(rest),
        // An omitted value is the empty one.
        [Token::Equals, Token::End | Token::Comma, ..] => rest.get(1..),
        [Token::Compares, Token::Word(value), rest @ ..] => value.parse::<i64>().is_ok().then_some(rest),
        _ => None,
    }
}

/// Reads `a, b)`. Values may be empty, but there has to be at least one.
fn values<'s, 't>(tokens: &'s [Token<'t>]) -> Option<&'s [Token<'t>]> {
    let end = tokens.iter().position(|token| *token == Token::Close)?;
    let (list, rest) = tokens.split_at_checked(end)?;
    let is_value = |token: &Token<'_>| match token {
        Token::Word(value) => names::label_value(value).is_ok(),
        other => *other == Token::Comma,
    };
    let is_run_together = |pair: &[Token<'_>]| matches!(pair, [Token::Word(_), Token::Word(_)]);
    let is_list = !list.is_empty() && list.iter().all(is_value) && !list.windows(2).any(is_run_together);
    rest.get(1..).filter(|_| is_list)
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_symbol = |character: char| matches!(character, '=' | '!' | '(' | ')' | ',' | '<' | '>');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
    while let Some(first) = rest.chars().next() {
        let behind = internal::slice(rest, first.len_utf8()..);
        let (token, after) = match first {
            '(' => (Token::Open, behind),
            ')' => (Token::Close, behind),
            ',' => (Token::Comma, behind),
            '=' | '!' => match (first, behind.strip_prefix('=')) {
                (_, Some(behind)) => (Token::Equals, behind),
                ('=', None) => (Token::Equals, behind),
                (_, None) => (Token::Not, behind),
            },
            '<' | '>' => (Token::Compares, behind),
            _ => {
                let is_of_word = |next: char| !is_symbol(next) && !matches!(next, ' ' | '\t' | '\r' | '\n');
                let after = rest.trim_start_matches(is_of_word);
                (Token::Word(internal::slice(rest, ..rest.len() - after.len())), after)
            }
        };
        tokens.push(token);
        rest = after.trim_start_matches([' ', '\t', '\r', '\n']);
    }
    tokens.push(Token::End);
    tokens
}
