//! Parts of a large workspace, compiled by separate runs.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64;

use super::OutputFileKey;

/// The K-th of N parts. The part of a namespace is a function of its name and of N alone: `xxh3_64(name) mod N + 1`.
/// Neither other tenants nor the layout of the output change it. Cluster-scoped objects without a tenant belong to the
/// first part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    number: u16,
    of: u16,
}

impl Part {
    /// Creates a part by its number, from 1 to `of`.
    pub fn new(number: u16, of: u16) -> Option<Self> {
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Returns its number, from 1.
    pub fn number(self) -> u16 {
        self.number
    }

    /// Returns the number of parts.
    pub fn count(self) -> u16 {
        self.of
    }

    /// Whether it is the part with the objects outside namespaces.
    pub fn is_first(self) -> bool {
        self.number == 1
    }

    /// Whether the part makes the objects of an output file.
    pub fn has(self, output_file: &OutputFileKey) -> bool {
        match output_file {
            OutputFileKey::Cluster => self.is_first(),
            OutputFileKey::Namespace(name) => self.has_namespace(name),
        }
    }

    /// Whether the part makes the objects of a namespace.
    pub fn has_namespace(self, name: &str) -> bool {
        xxh3_64(name.as_bytes()) % u64::from(self.of) == u64::from(self.number - 1)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok());
        text.split_once('/')
            .and_then(|(number_of, of)| Self::new(number(number_of)??, number(of)??))
            .ok_or_else(|| format!("a part is K/N with K from 1 to N and N up to {}, such as 2/8", u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_one_part_for_good() {
        for of in [1, 2, 7] {
            for name in ["tool-a", "tool-b", "kube-system", "x"] {
                let parts = || (1..=of).filter_map(|number| Part::new(number, of));
                let output_file = OutputFileKey::Namespace(name.into());
                let having: Vec<u16> = parts().filter(|part| part.has(&output_file)).map(Part::number).collect();
                assert_eq!(having.len(), 1);
            }
        }
        // As long as these hold, the parts of two versions of the program fit together.
        let part_of = |name: &str| (1..=8).find(|number| Part { number: *number, of: 8 }.has_namespace(name));
        assert_eq!(["tool-a", "tool-b", "default"].map(part_of), [Some(3), Some(4), Some(3)]);
    }

    #[test]
    fn parts_are_written_as_numbers() {
        assert_eq!("2/8".parse(), Ok(Part { number: 2, of: 8 }));
        for wrong in ["0/4", "5/4", "1", "1/", "/4", "+1/4", "1/4/4", "1/70000", "one/4", ""] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }
}
