//! The words and limits of `xtask/prose.toml`.

use std::io;
use std::path::Path;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

/// The path of the file from the root of the repository.
const PATH: &str = "xtask/prose.toml";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Raw {
    pronouns_per_1000: usize,
    pronouns: Vec<String>,
    beginnings: Vec<String>,
    longest_sentence: usize,
    longest_subject: usize,
    references: Vec<String>,
    fixed: Vec<String>,
    words: Vec<RawWords>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWords {
    words: Vec<String>,
    instead: String,
}

/// Words to avoid, with the words to write instead.
#[derive(Debug)]
pub(crate) struct Avoided {
    pub(crate) pattern: Regex,
    pub(crate) instead: String,
}

/// The words and limits of the rules.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) pronouns_per_1000: usize,
    pub(crate) pronouns: Vec<String>,
    pub(crate) beginnings: Regex,
    pub(crate) longest_sentence: usize,
    pub(crate) longest_subject: usize,
    pub(crate) references: Vec<Regex>,
    /// Phrases that are part of an interface; their words are not avoided.
    pub(crate) fixed: Vec<String>,
    pub(crate) avoided: Vec<Avoided>,
}

impl Words {
    /// Reads the file of the repository.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(root.join(PATH))?;
        Self::parse(&text).map_err(|error| io::Error::other(format!("{PATH}: {error}")))
    }

    fn parse(text: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let raw: Raw = toml::from_str(text)?;
        let pattern = |text: &str| RegexBuilder::new(text).case_insensitive(true).unicode(false).build();
        let any_of = |words: &[String]| {
            let escaped: Vec<String> = words.iter().map(|word| regex::escape(word).replace(' ', r"\s+")).collect();
            format!(r"(?:{})\b", escaped.join("|"))
        };
        let mut avoided = Vec::new();
        for entry in raw.words {
            let pattern = pattern(&format!(r"\b{}", any_of(&entry.words)))?;
            avoided.push(Avoided { pattern, instead: entry.instead });
        }
        Ok(Self {
            pronouns_per_1000: raw.pronouns_per_1000,
            pronouns: raw.pronouns,
            beginnings: pattern(&format!("^{}", any_of(&raw.beginnings)))?,
            longest_sentence: raw.longest_sentence,
            longest_subject: raw.longest_subject,
            references: raw.references.iter().map(|text| pattern(text)).collect::<Result<_, _>>()?,
            fixed: raw.fixed,
            avoided,
        })
    }
}
