//! Relative pronouns by file.

use std::collections::BTreeMap;

use super::passage::{Origin, Passage, words};
use super::words::Words;
use crate::repository::File;

/// Words and pronouns of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) words: usize,
    pub(crate) pronouns: usize,
}

impl Count {
    /// Returns the pronouns in 1,000 words.
    pub(crate) fn rate(self) -> f64 {
        if self.words == 0 {
            return 0.0;
        }
        1000.0 * self.pronouns as f64 / self.words as f64
    }

    /// Returns the rate rounded up to a whole number.
    pub(crate) fn rounded(self) -> usize {
        (1000 * self.pronouns).div_ceil(self.words.max(1))
    }

    fn add(&mut self, other: Self) {
        self.words += other.words;
        self.pronouns += other.pronouns;
    }
}

/// Counts by file and by area.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    files: BTreeMap<String, Count>,
    areas: BTreeMap<String, Count>,
    pub(crate) total: Count,
}

impl Statistics {
    /// Counts the words of a passage. Texts of the program do not count: they are checked by the rules.
    pub(crate) fn add(&mut self, file: &File, passage: &Passage, list: &Words) {
        if passage.origin == Origin::Text {
            return;
        }
        let words = words(&passage.masked);
        let pronouns = words.iter().filter(|word| list.pronouns.contains(word)).count();
        let count = Count { words: words.len(), pronouns };
        self.files.entry(file.path.clone()).or_default().add(count);
        self.areas.entry(file.area().to_owned()).or_default().add(count);
        self.total.add(count);
    }

    /// Prints the rates of all files with a pronoun, of the areas, and of everything, the highest first.
    pub(crate) fn print(&self, limit: usize) {
        println!("relative pronouns per 1,000 words, of Markdown and comments; the goal is {limit}");
        for (title, counts) in [("file", &self.files), ("area", &self.areas)] {
            println!("\n  rate pronouns    words  {title}");
            let mut sorted: Vec<(&String, &Count)> = counts.iter().filter(|(_, count)| count.pronouns > 0).collect();
            sorted.sort_by(|one, other| other.1.rate().total_cmp(&one.1.rate()).then(one.0.cmp(other.0)));
            for (name, count) in sorted {
                println!("{:6.1} {:8} {:8}  {name}", count.rate(), count.pronouns, count.words);
            }
        }
        println!("\n{:6.1} {:8} {:8}  in total", self.total.rate(), self.total.pronouns, self.total.words);
    }
}
