//! Whether a label selector parses: only that, since no attribute of ours comes from it.

use bailiwick_kubernetes::names;

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

/// True when the whole text is a selector.
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

/// Reads one requirement; what is behind it, or none.
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
        // A value that is left out is the empty one.
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
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '=' => (Token::Equals, if rest.starts_with("==") { 2 } else { 1 }),
            '!' if rest.starts_with("!=") => (Token::Equals, 2),
            '!' => (Token::Not, 1),
            '<' | '>' => (Token::Compares, 1),
            _ => {
                let end = rest.find(|next: char| is_symbol(next) || matches!(next, ' ' | '\t' | '\r' | '\n'));
                let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                (Token::Word(word), word.len())
            }
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start_matches([' ', '\t', '\r', '\n']);
    }
    tokens.push(Token::End);
    tokens
}
