//! Numbers in words, for messages.

/// Returns a count with its noun: `1 error`, `2 errors`, `1,204 objects`.
pub fn number(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

/// Returns the first names of a list, and the number of the others: `a, b and 1,204 more`.
pub fn first_names(names: &[String], shown: usize) -> String {
    let first: Vec<&str> = names.iter().take(shown).map(String::as_str).collect();
    match names.len().saturating_sub(shown) {
        0 => first.join(", "),
        more => format!("{} and {} more", first.join(", "), grouped(more)),
    }
}

/// Returns a number with commas.
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
