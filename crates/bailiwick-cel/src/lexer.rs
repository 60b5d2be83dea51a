//! Text as tokens.

use super::Reason;

/// A token of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name, or a reserved word.
    Name(String),
    /// A whole number without its sign, in its notation.
    Int { digits: String, radix: u32 },
    /// One with the suffix `u`.
    UInt { digits: String, radix: u32 },
    /// Any other number.
    Double(String),
    /// A text.
    String(String),
    /// A literal of bytes.
    Bytes(Vec<u8>),
    /// Anything else.
    Symbol(&'static str),
}

/// The longest first.
const SYMBOLS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]",
    "{", "}", "`", "$",
];

/// Splits a text into tokens.
///
/// # Errors
/// The first text that is not a token.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Reason> {
    let mut lexer = Lexer { rest: text };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'t> {
    rest: &'t str,
}

impl<'t> Lexer<'t> {
    fn next(&mut self) -> Result<Option<Token>, Reason> {
        self.skip();
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if let Some(token) = self.text()? {
            return Ok(Some(token));
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let name = self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            return Ok(Some(Token::Name(name.to_owned())));
        }
        let second = self.rest.chars().nth(1);
        if first.is_ascii_digit() || (first == '.' && second.is_some_and(|second| second.is_ascii_digit())) {
            return self.number().map(Some);
        }
        for symbol in SYMBOLS {
            if let Some(rest) = self.rest.strip_prefix(symbol) {
                self.rest = rest;
                return Ok(Some(Token::Symbol(symbol)));
            }
        }
        Err(reason!("`{}` is not part of the language", first.escape_debug()))
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
            let Some(comment) = self.rest.strip_prefix("//") else { return };
            self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
        }
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let (taken, rest) = split_while(self.rest, fits);
        self.rest = rest;
        taken
    }

    fn number(&mut self) -> Result<Token, Reason> {
        let radix = if let Some(rest) = self.rest.strip_prefix("0x") {
            self.rest = rest;
            16
        } else {
            10
        };
        if radix == 16 {
            let digits = self.take_while(|letter| letter.is_ascii_hexdigit()).to_owned();
            if digits.is_empty() {
                return Err(reason!("a number has no digits"));
            }
            return Ok(self.whole(digits, radix));
        }
        let mut written = self.take_while(|letter| letter.is_ascii_digit()).to_owned();
        let mut is_double = false;
        if let Some(rest) = self.rest.strip_prefix('.')
            && rest.starts_with(|letter: char| letter.is_ascii_digit())
        {
            self.rest = rest;
            is_double = true;
            written.push('.');
            written.push_str(self.take_while(|letter| letter.is_ascii_digit()));
        }
        if let Some(rest) = self.rest.strip_prefix(['e', 'E']) {
            let unsigned = without_prefix(rest, &['+', '-']);
            if unsigned.starts_with(|letter: char| letter.is_ascii_digit()) {
                is_double = true;
                written.push('e');
                if rest.starts_with('-') {
                    written.push('-');
                }
                self.rest = unsigned;
                written.push_str(self.take_while(|letter| letter.is_ascii_digit()));
            }
        }
        Ok(if is_double { Token::Double(written) } else { self.whole(written, radix) })
    }

    fn whole(&mut self, digits: String, radix: u32) -> Token {
        match self.rest.strip_prefix(['u', 'U']) {
            Some(rest) => {
                self.rest = rest;
                Token::UInt { digits, radix }
            }
            None => Token::Int { digits, radix },
        }
    }

    /// Reads a text or bytes, if there are any here.
    fn text(&mut self) -> Result<Option<Token>, Reason> {
        let (prefix, quoted) = split_while(self.rest, |letter| letter.is_ascii_alphabetic());
        let (is_raw, is_bytes) = match prefix.to_ascii_lowercase().as_str() {
            "" => (false, false),
            "r" => (true, false),
            "b" => (false, true),
            "rb" | "br" => (true, true),
            _ => return Ok(None),
        };
        let quotes = ["'''", "\"\"\"", "'", "\""].into_iter();
        let Some((quote, mut body)) = quotes.filter_map(|quote| Some((quote, quoted.strip_prefix(quote)?))).next()
        else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        loop {
            if let Some(rest) = body.strip_prefix(quote) {
                self.rest = rest;
                break;
            }
            let Some(letter) = body.chars().next() else { return Err(reason!("a text has no end")) };
            if quote.len() == 1 && matches!(letter, '\n' | '\r') {
                return Err(reason!("a text has no end on its line"));
            }
            body = without_first(body);
            if letter == '\\' && !is_raw {
                body = escape(body, is_bytes, &mut bytes)?;
            } else {
                if letter == '\\' {
                    // In a raw text a backslash keeps the quote behind it from ending the text.
                    bytes.push(b'\\');
                    let Some(next) = body.chars().next() else { return Err(reason!("a text has no end")) };
                    body = without_first(body);
                    push(next, &mut bytes);
                    continue;
                }
                push(letter, &mut bytes);
            }
        }
        if is_bytes {
            return Ok(Some(Token::Bytes(bytes)));
        }
        String::from_utf8(bytes).map(|text| Some(Token::String(text))).map_err(|_| reason!("a text is no text"))
    }
}

/// Splits a text before the first unfitting character.
pub(super) fn split_while(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    let rest = text.trim_start_matches(fits);
    text.split_at(text.len() - rest.len())
}

/// Returns a text without its first character, if this is one of some characters.
pub(super) fn without_prefix<'t>(text: &'t str, prefixes: &[char]) -> &'t str {
    text.strip_prefix(prefixes).unwrap_or(text)
}

fn without_first(text: &str) -> &str {
    let mut letters = text.chars();
    letters.next();
    letters.as_str()
}

fn push(letter: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Appends the character of an escape, and returns the text behind the escape.
fn escape<'t>(body: &'t str, is_bytes: bool, bytes: &mut Vec<u8>) -> Result<&'t str, Reason> {
    let wrong = || reason!("a text has an escape that is none");
    let letter = body.chars().next().ok_or_else(wrong)?;
    let rest = without_first(body);
    let simple = match letter {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '`' | '?' => u8::try_from(letter).map_err(|_| wrong())?,
        _ => 0,
    };
    if simple != 0 {
        bytes.push(simple);
        return Ok(rest);
    }
    let (digits, length, radix) = match letter {
        'x' | 'X' => (rest, 2, 16),
        'u' if !is_bytes => (rest, 4, 16),
        'U' if !is_bytes => (rest, 8, 16),
        '0'..='3' => (body, 3, 8),
        _ => return Err(wrong()),
    };
    let (number, rest) = digits.split_at_checked(length).ok_or_else(wrong)?;
    if !number.chars().all(|digit| digit.is_digit(radix)) {
        return Err(wrong());
    }
    let code = u32::from_str_radix(number, radix).map_err(|_| wrong())?;
    if is_bytes {
        bytes.push(u8::try_from(code).map_err(|_| wrong())?);
    } else {
        push(char::from_u32(code).ok_or_else(wrong)?, bytes);
    }
    Ok(rest)
}
