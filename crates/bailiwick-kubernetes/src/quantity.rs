//! Resource quantities: `500m`, `1Gi`, `1e3`.
//!
//! A quantity is a whole number of billionths, the precision of Kubernetes (finer parts round away from zero, larger
//! amounts stop at the largest 64-bit number). The canonical form is the shortest in the written suffix family: `0.5`
//! becomes `500m`, `1024Mi` becomes `1Gi`, `1000m` becomes `1`.

use std::cmp::Ordering;
use std::fmt;

use bailiwick_yaml::{NodeRef, NodeValue};

/// The billionths in one.
const NANO: i128 = 1_000_000_000;
/// A thousandth in billionths.
const MILLI: i128 = 1_000_000;
/// The server keeps a number of so many digits as 64 bits and a scale (`maxInt64Factors` of `pkg/api/resource/amount.go`).
const MOST_INT64_DIGITS: usize = 18;
/// The largest kept amount, in billionths.
const MAXIMUM: i128 = i64::MAX as i128 * NANO;

/// The family of suffixes a quantity was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// None, or `n u m k M G T P E`.
    Decimal,
    /// `Ki Mi Gi Ti Pi Ei`.
    Binary,
    /// `e3` or `E3`.
    Exponent,
}

/// An amount.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nano: i128,
    format: Format,
    /// Whether the server keeps the number as 64 bits and a scale.
    has_few_digits: bool,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Quantity = Quantity { nano: 0, format: Format::Decimal, has_few_digits: true };

    /// Reads a quantity; none when the text is not one.
    pub fn parse(text: &str) -> Option<Quantity> {
        let unsigned = unsigned(text);
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        if whole.is_empty() && fraction.is_empty() {
            // The server reads a sign alone as zero.
            return matches!(text, "+" | "-").then_some(Quantity::ZERO);
        }
        let (format, base, exponent) = interpret(suffix)?;
        let most = if format == Format::Binary { MAXIMUM } else { i128::MAX };
        let magnitude = scaled(whole, fraction, base, exponent).min(most);
        let nano = if text.starts_with('-') { -magnitude } else { magnitude };
        let digits = whole.trim_start_matches('0').len() + fraction.len();
        let has_few_digits = format != Format::Binary && digits <= MOST_INT64_DIGITS;
        Some(Quantity { nano, format, has_few_digits })
    }

    /// Reads a quantity from a node: a string or a number, as the API server takes both.
    pub fn from_node(node: NodeRef<'_>) -> Option<Quantity> {
        match node.value() {
            NodeValue::Null => Some(Quantity::ZERO),
            NodeValue::Int(number) => Quantity::parse(&number.to_string()),
            NodeValue::Float(number) => Quantity::parse(&go_float(number)),
            NodeValue::Str(_) => Quantity::parse(node.as_str()?.trim_matches(is_trimmed)),
            NodeValue::Bool(_) | NodeValue::Seq(_) | NodeValue::Map(_) => None,
        }
    }

    /// Whether the quantity is below zero.
    pub fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// Whether this is zero.
    pub fn is_zero(self) -> bool {
        self.nano == 0
    }

    /// Whether the server takes the quantity for a whole number (`ValidateResourceQuantityValue` of
    /// `pkg/apis/core/validation/validation.go`, Kubernetes 1.37.2).
    pub fn is_whole(self) -> bool {
        self.thousandths() % 1000 == 0
    }

    /// Returns the amount in units, rounded up, as the server counts in 64 bits (`Value` of
    /// `pkg/api/resource/quantity.go`). A larger amount counts as zero for a number with few digits, and otherwise as
    /// its low bits.
    pub fn units(self) -> i64 {
        self.counted(NANO)
    }

    /// Returns the amount in thousandths (`MilliValue`); see [`Quantity::units`].
    pub fn thousandths(self) -> i64 {
        self.counted(MILLI)
    }

    fn counted(self, unit: i128) -> i64 {
        let count = self.nano / unit + (self.nano % unit).signum();
        match i64::try_from(count) {
            Ok(count) => count,
            Err(_) if self.has_few_digits => 0,
            Err(_) => count as i64,
        }
    }

    /// Whether the quantity is larger than the kept amount. The server keeps all digits.
    pub fn is_beyond(self) -> bool {
        self.nano.abs() == i128::MAX
    }

    /// Whether `text` is how the quantity is stored.
    pub fn is_canonical(self, text: &str) -> bool {
        is_plainly_canonical(text) || self.to_string() == text
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl fmt::Display for Quantity {
    /// Returns the form the API server stores.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return formatter.write_str("0");
        }
        if self.format == Format::Binary && self.nano.abs() >= 1024 * NANO {
            return write_binary(formatter, self.nano);
        }
        // Fewer than 1024 units have no binary suffix to take.
        let (mantissa, exponent) = thousands(self.nano);
        write!(formatter, "{mantissa}")?;
        match (self.format, exponent) {
            (_, 0) => Ok(()),
            (Format::Exponent, exponent) => write!(formatter, "e{exponent}"),
            (_, exponent) => formatter.write_str(decimal_suffix(exponent)),
        }
    }
}

/// Whether the server trims a character from the ends of a quantity. It trims the text of the JSON value, with escaped
/// control characters and separators (`UnmarshalJSON` of `pkg/api/resource/quantity.go`, k8s.io/apimachinery v0.37.2).
fn is_trimmed(character: char) -> bool {
    character.is_whitespace() && !matches!(character, '\t'..='\r' | '\u{2028}' | '\u{2029}')
}

/// Whether a text has one to three digits without a leading zero and a suffix for a power of a thousand or 1024. This
/// covers nearly every quantity in practice, without arithmetic. Zero is left out, because it takes no suffix.
pub fn is_plainly_canonical(text: &str) -> bool {
    let (digits, suffix) = split_digits(text);
    let short = matches!(digits.len(), 1..=3) && !digits.starts_with('0');
    short && matches!(suffix, "" | "m" | "k" | "M" | "G" | "T" | "Ki" | "Mi" | "Gi" | "Ti")
}

fn write_binary(formatter: &mut fmt::Formatter<'_>, nano: i128) -> fmt::Result {
    let sign = nano.signum();
    // Parts of a unit round away from zero.
    let mut mantissa = (nano.abs() + NANO - 1) / NANO;
    let mut power = 0;
    while power < BINARY.len() && mantissa % 1024 == 0 {
        mantissa /= 1024;
        power += 1;
    }
    // A power of 0 has no suffix.
    let suffix = power.checked_sub(1).and_then(|index| BINARY.get(index)).copied().unwrap_or("");
    write!(formatter, "{}{suffix}", mantissa * sign)
}

/// Returns the mantissa and the largest power of a thousand, as a power of ten, with a whole mantissa.
fn thousands(nano: i128) -> (i128, i32) {
    let mut mantissa = nano;
    let mut exponent = -9;
    while exponent < 18 && mantissa % 1000 == 0 {
        mantissa /= 1000;
        exponent += 3;
    }
    (mantissa, exponent)
}

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn decimal_suffix(exponent: i32) -> &'static str {
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
}

/// Returns family, base and exponent of a suffix.
fn interpret(suffix: &str) -> Option<(Format, i128, i32)> {
    let decimal = |exponent| Some((Format::Decimal, 10, exponent));
    match suffix {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        _ => {
            if let Some(index) = BINARY.iter().position(|binary| *binary == suffix) {
                return Some((Format::Binary, 1024, i32::try_from(index).ok()? + 1));
            }
            let digits = suffix.strip_prefix(['e', 'E'])?;
            let unsigned = unsigned(digits);
            let is_number = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then_some(())?;
            Some((Format::Exponent, 10, digits.parse().ok()?))
        }
    }
}

/// Returns the magnitude in billionths, at most `i128::MAX`, parts of a billionth rounded up.
fn scaled(whole: &str, fraction: &str, base: i128, exponent: i32) -> i128 {
    let cap = i128::MAX;
    let mut mantissa: i128 = 0;
    let mut lost = false;
    let mut places: i32 = 0;
    for (digit, is_fraction) in
        whole.bytes().map(|digit| (digit, false)).chain(fraction.bytes().map(|digit| (digit, true)))
    {
        let digit = i128::from(digit - b'0');
        if mantissa > i128::MAX / 100 {
            // Beyond thirty-six digits only the size counts.
            lost |= digit != 0;
            places += if is_fraction { 0 } else { -1 };
            continue;
        }
        mantissa = mantissa * 10 + digit;
        places += i32::from(is_fraction);
    }
    if mantissa == 0 {
        return 0;
    }
    let mut power = 9_i32.saturating_sub(places);
    if base == 10 {
        power = power.saturating_add(exponent);
    } else {
        for _ in 0..exponent {
            mantissa = mantissa.saturating_mul(base);
        }
    }
    while power > 0 && mantissa < cap {
        mantissa = mantissa.saturating_mul(10);
        power -= 1;
    }
    while power < 0 && mantissa > 0 {
        lost |= mantissa % 10 != 0;
        mantissa /= 10;
        power += 1;
    }
    mantissa.saturating_add(i128::from(lost))
}

fn unsigned(text: &str) -> &str {
    match text.strip_prefix(['+', '-']) {
        Some(unsigned) => unsigned,
        None => text,
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    match text.find(|character: char| !character.is_ascii_digit()) {
        Some(end) => text.split_at(end),
        None => (text, ""),
    }
}

/// Returns a number in the form of the JSON for the API server.
fn go_float(number: f64) -> String {
    if number.abs() >= 1e21 || (number != 0.0 && number.abs() < 1e-6) {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> String {
        Quantity::parse(text).unwrap().to_string()
    }

    #[test]
    fn writes_the_stored_form() {
        let rows = [
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("1500m", "1500m"),
            ("1.5Gi", "1536Mi"),
            ("512Ki", "512Ki"),
            ("0.5Ki", "512"),
            ("1000Ki", "1000Ki"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("10", "10"),
            ("-0.5", "-500m"),
            ("0Gi", "0"),
            ("+1", "1"),
            ("100000", "100k"),
            ("0.1n", "1n"),
            ("1.0001Ki", "1025"),
            ("99999999999999999999999", "99999999999999999999999"),
            ("99999999999999Ei", "9223372036854775807"),
        ];
        for (written, expected) in rows {
            assert_eq!(stored(written), expected, "{written}");
            assert_eq!(stored(expected), expected, "the form is its own form");
        }
    }

    #[test]
    fn compares_amounts_and_not_texts() {
        assert_eq!(Quantity::parse("1Ki"), Quantity::parse("1024"));
        assert!(Quantity::parse("1Gi") > Quantity::parse("1G"));
        assert!(Quantity::parse("1e-10000").unwrap().is_negative() || !Quantity::parse("1e-10000").unwrap().is_zero());
        assert!(!Quantity::parse("500m").unwrap().is_whole());
        assert_eq!(Quantity::parse("1 Gi"), None);
    }
}
