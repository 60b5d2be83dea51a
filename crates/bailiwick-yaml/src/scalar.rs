//! The meaning of plain scalars, and the strings that may be written without quotes.
//!
//! kubectl, the API server, Argo CD and Flux read YAML with sigs.k8s.io/yaml, a YAML 1.1 flavoured reader in Go;
//! `tests/yaml` holds its readings. kustomize and PyYAML differ in corners. Reading follows sigs.k8s.io/yaml; writing
//! quotes every text that is not the same string for all of these readers.

use crate::diag::foreign;

/// The value of a plain scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plain {
    /// `~`, `null` or nothing.
    Null,
    /// A YAML 1.1 boolean.
    Bool(bool),
    /// A whole number in 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// `.inf` and `.nan`: numbers impossible in JSON, and so in Kubernetes.
    NotFinite,
    /// A string.
    Str,
}

/// Resolves a plain scalar as Kubernetes' reader does: `resolve` in `resolve.go` of go.yaml.in/yaml/v2 2.4.
pub fn resolve(text: &str) -> Plain {
    let Some(first) = text.bytes().next() else {
        return Plain::Null;
    };
    match first {
        b'~' | b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' => word(text),
        b'.' => match word(text) {
            Plain::Str => point_number(text),
            special => special,
        },
        b'+' | b'-' | b'0'..=b'9' => match word(text) {
            Plain::Str => number(text),
            special => special,
        },
        _ => Plain::Str,
    }
}

fn word(text: &str) -> Plain {
    match text {
        "~" | "null" | "Null" | "NULL" => Plain::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => Plain::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => Plain::Bool(false),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf"
        | "-.INF" => Plain::NotFinite,
        _ => Plain::Str,
    }
}

/// Resolves a token with a point at its start: a number of Go, with underscores between digits alone.
fn point_number(text: &str) -> Plain {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let separates = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    if !text.match_indices('_').all(|(at, _)| separates(at)) {
        return Plain::Str;
    }
    let bare = text.replace('_', "");
    if is_decimal_float(&bare) { float(&bare) } else { Plain::Str }
}

/// Resolves a token with a digit or a sign at its start. Underscores are ignored, a leading zero means octal, and a sign may
/// follow `0b`.
fn number(text: &str) -> Plain {
    let bare = text.replace('_', "");
    if let Some(whole) = whole_number(&bare) {
        return whole;
    }
    if let Some(number) = bare.strip_prefix("0b").and_then(|digits| i64::from_str_radix(digits, 2).ok()) {
        return Plain::Int(number);
    }
    if is_decimal_float(&bare) { float(&bare) } else { Plain::Str }
}

fn whole_number(text: &str) -> Option<Plain> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = if let Some(rest) = lower.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = lower.strip_prefix("0o") {
        (8, rest)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (2, rest)
    } else if let Some(rest) = lower.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        (8, rest)
    } else {
        (10, lower.as_str())
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    let signed = if negative { -magnitude } else { magnitude };
    match i64::try_from(signed) {
        Ok(number) => Some(Plain::Int(number)),
        Err(_) if (0..=i128::from(u64::MAX)).contains(&signed) => Some(Plain::Float(signed as f64)),
        Err(_) => None,
    }
}

/// Whether a text matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_decimal_float(text: &str) -> bool {
    let unsigned = without_sign(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let unsigned = without_sign(exponent);
        !unsigned.is_empty() && digits(unsigned)
    });
    mantissa_fits && exponent_fits
}

fn without_sign(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn float(text: &str) -> Plain {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Plain::Float(number),
        _ => Plain::Str,
    }
}

/// The quotes a string needs to be the same string for every reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// As it is.
    Plain,
    /// Between single quotes: nothing in it is mistaken for another type, but its characters mean something.
    Single,
    /// Double quotes: another type for some reader, or characters to be escaped.
    Double,
}

/// Returns the quoting of a string, the choice of Go's emitter if it is safe for every reader.
pub fn quoting(text: &str) -> Quoting {
    let bytes = text.as_bytes();
    let Some(&first) = bytes.first() else {
        return Quoting::Double;
    };
    // Nearly every string of a manifest is a word of these; no word of another type has more than five letters.
    if (first.is_ascii_alphabetic() || first == b'/') && bytes.len() > 5 && is_name(bytes) {
        return Quoting::Plain;
    }
    if bytes.iter().any(|byte| !(0x20..0x7f).contains(byte)) {
        return Quoting::Double;
    }
    // A line of the output may be printed into a log of CI, and must not be a command there.
    if foreign::has_old_command(text) {
        return Quoting::Double;
    }
    let plain_characters = bytes.iter().enumerate().all(|(index, &byte)| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'_' | b'.' | b'-' => true,
        b'*' => index > 0,
        b':' => bytes.get(index + 1).is_some_and(|&next| next != b' ' && next != b':'),
        b' ' => bytes.get(index + 1).is_some_and(|&next| next != b' ' && next != b'#'),
        _ => false,
    });
    if first.is_ascii_alphabetic() || first == b'/' {
        if is_word_of_another_type(text) {
            return Quoting::Double;
        }
        return if plain_characters { Quoting::Plain } else { Quoting::Single };
    }
    if first.is_ascii_digit() && plain_characters && cannot_be_a_number(bytes) {
        return Quoting::Plain;
    }
    if resolve(text) == Plain::Str && !matches!(first, b'0'..=b'9' | b'+' | b'-' | b'.' | b'=' | b'<' | b'~') {
        return Quoting::Single;
    }
    Quoting::Double
}

/// Whether all bytes are letters, digits, `/`, `_`, `.` or `-`; without branches, since it is called for every
/// string.
fn is_name(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |fits, &byte| {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        let digit_or_sign = byte.wrapping_sub(b'-') < 13;
        fits & (letter | digit_or_sign | (byte == b'_'))
    })
}

/// Whether YAML 1.1 or 1.2 reads a word as boolean, null or number, in any mix of cases.
fn is_word_of_another_type(text: &str) -> bool {
    const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];
    text.len() <= 5 && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether a token with a digit at its start contains a character outside of numbers, dates and times of all readers.
fn cannot_be_a_number(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| match byte.to_ascii_lowercase() {
        b'/' => true,
        b'o' | b't' | b'x' | b'z' => false,
        letter => letter > b'f' && letter.is_ascii_lowercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_as_go_does() {
        assert_eq!(resolve("010"), Plain::Int(8));
        assert_eq!(resolve("08"), Plain::Float(8.0));
        assert_eq!(resolve("0x_1F"), Plain::Int(31));
        assert_eq!(resolve("1_000"), Plain::Int(1000));
        assert_eq!(resolve("-_1"), Plain::Int(-1));
        assert_eq!(resolve("1e3"), Plain::Float(1000.0));
        assert_eq!(resolve("1e1000"), Plain::Str);
        assert_eq!(resolve("0b-01"), Plain::Int(-1));
        assert_eq!(resolve("0b_+1"), Plain::Int(1));
        assert_eq!(resolve("-0b-1"), Plain::Str);
        assert_eq!(resolve(".0_5e0_1"), Plain::Float(0.5));
        for text in [".1_", "._1", ".1__2", ".1_e1", ".1e_1"] {
            assert_eq!(resolve(text), Plain::Str, "{text}");
        }
        assert_eq!(resolve("1:30"), Plain::Str);
        assert_eq!(resolve("yEs"), Plain::Str);
        assert_eq!(resolve(".inf"), Plain::NotFinite);
    }

    #[test]
    fn names_are_told_from_other_texts() {
        for byte in 0..=u8::MAX {
            let expected = byte.is_ascii_alphanumeric() || b"/_.-".contains(&byte);
            assert_eq!(is_name(&[byte]), expected, "{byte}");
        }
    }

    #[test]
    fn quotes_what_some_reader_would_change() {
        for text in ["", "y", "yEs", "NO", "null", "123", "0x10", "1e3", "2024-01-01", "1:30", "=", "<<", ".5", "a\nb"]
        {
            assert_eq!(quoting(text), Quoting::Double, "{text:?}");
        }
        for text in ["*", "a: b", "x #y", "{a}", "- a", " a", "a:"] {
            assert_ne!(quoting(text), Quoting::Plain, "{text:?}");
        }
        for text in ["pods", "apps", "/healthz/*", "8Gi", "500m", "0day", "10.0.0.0/8", "system:nodes", "two words"] {
            assert_eq!(quoting(text), Quoting::Plain, "{text:?}");
        }
    }
}
