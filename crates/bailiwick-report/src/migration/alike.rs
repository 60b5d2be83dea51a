//! Texts that differ only in numbers, such as the user ids of tenants, as one text.

use std::collections::{BTreeMap, BTreeSet};

/// How many different numbers are named in the place of one number.
const NUMBERS_SHOWN: usize = 3;

/// Lists of texts with their members. Lists with the same words are one list: a number stands between two words of a text.
#[derive(Default)]
pub(super) struct AlikeTexts(BTreeMap<Vec<Vec<String>>, Vec<Listed>>);

/// The numbers of a list of texts, and its member.
struct Listed {
    numbers: Vec<String>,
    member: String,
}

impl AlikeTexts {
    /// Adds a list of texts of a member.
    pub(super) fn add(&mut self, texts: &[String], member: String) {
        let mut numbers = Vec::new();
        let words = texts.iter().map(|text| split(text, &mut numbers)).collect();
        self.0.entry(words).or_default().push(Listed { numbers, member });
    }

    /// Returns the lists with their members. More than a few different numbers are the word `{number}`.
    pub(super) fn into_lists(self) -> impl Iterator<Item = (Vec<String>, Vec<String>)> {
        self.0.into_iter().map(|(words, listed)| {
            let texts = filled(&words, &listed);
            (texts, listed.into_iter().map(|listed| listed.member).collect())
        })
    }
}

/// Splits a text at its numbers. Numbers in backticks or in a token with letters belong to names.
fn split(text: &str, numbers: &mut Vec<String>) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    for (place, part) in text.split('`').enumerate() {
        if place > 0 {
            word.push('`');
        }
        if place % 2 == 1 {
            word.push_str(part);
            continue;
        }
        for (index, token) in part.split(' ').enumerate() {
            if index > 0 {
                word.push(' ');
            }
            let (before, number, after) = around_number(token);
            word.push_str(before);
            if !number.is_empty() {
                words.push(std::mem::take(&mut word));
                numbers.push(number.to_owned());
            }
            word.push_str(after);
        }
    }
    words.push(word);
    words
}

/// Splits a token into marks, a number or a range of numbers, and marks. A token with letters has no number.
fn around_number(token: &str) -> (&str, &str, &str) {
    let none = (token, "", "");
    let Some(start) = token.find(|letter: char| letter.is_ascii_digit()) else { return none };
    let (before, rest) = token.split_at(start);
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '-';
    let (number, after) = match rest.find(|letter| !is_of_number(letter)) {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    let is_mark = |letter: char| "()[],;:".contains(letter);
    if before.chars().chain(after.chars()).all(is_mark) { (before, number, after) } else { none }
}

/// Returns the texts of a list with the numbers of its members.
fn filled(texts: &[Vec<String>], listed: &[Listed]) -> Vec<String> {
    let mut place = 0;
    let texts = texts.iter().map(|words| {
        let mut text = String::new();
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                let numbers = listed.iter().filter_map(|listed| listed.numbers.get(place));
                text.push_str(&shown(&numbers.collect()));
                place += 1;
            }
            text.push_str(word);
        }
        text
    });
    texts.collect()
}

fn shown(numbers: &BTreeSet<&String>) -> String {
    if numbers.len() > NUMBERS_SHOWN {
        return "{number}".to_owned();
    }
    numbers.iter().map(|number| number.as_str()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(texts: &[&[&str]]) -> Vec<(Vec<String>, Vec<String>)> {
        let mut alike = AlikeTexts::default();
        for (member, texts) in texts.iter().enumerate() {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            alike.add(&texts, member.to_string());
        }
        alike.into_lists().collect()
    }

    #[test]
    fn texts_that_differ_in_numbers_are_one() {
        let text = |range: &str| format!("containers[0].runAsUser: user 0 must be in the ranges {range}");
        let [first, second] = [text("50000"), text("50007-50009")];
        let found = lists(&[&[&first, "x"], &[&second, "x"]]);
        assert_eq!(found, [(vec![text("50000 or 50007-50009"), "x".to_owned()], vec!["0".to_owned(), "1".to_owned()])]);
        let many: Vec<String> = (0..4).map(|number| text(&number.to_string())).collect();
        let many: Vec<[&str; 1]> = many.iter().map(|text| [text.as_str()]).collect();
        let many: Vec<&[&str]> = many.iter().map(|texts| &texts[..]).collect();
        assert_eq!(lists(&many)[0].0, [text("{number}")]);
    }

    #[test]
    fn numbers_of_names_and_places_differ() {
        for (first, second) in [
            ("the port of `web 1`", "the port of `web 2`"),
            ("containers[0]: root", "containers[1]: root"),
            ("worker-0 1", "worker-1 1"),
            ("no `1 ", "no `2 "),
        ] {
            assert_eq!(lists(&[&[first], &[second]]).len(), 2, "{first}");
        }
    }

    #[test]
    fn a_text_comes_back() {
        for text in ["", "1", "`", "a\nb 1\n", "\n", "x [50010] 1,2 `1`, (user 100); 7"] {
            assert_eq!(
                lists(&[&[text, text]]),
                [(vec![text.to_owned(), text.to_owned()], vec!["0".to_owned()])],
                "{text:?}"
            );
        }
    }
}
