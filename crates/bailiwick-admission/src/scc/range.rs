//! The uid range that a namespace is annotated with, read as Go's scanner reads it (`specs/openshift.md` 1.3).

/// The annotation with the range of user ids.
pub const UID_RANGE: &str = "openshift.io/sa.scc.uid-range";
/// The annotation with the ranges of group ids.
pub const SUPPLEMENTAL_GROUPS: &str = "openshift.io/sa.scc.supplemental-groups";
/// The annotation with the SELinux level.
pub const MCS: &str = "openshift.io/sa.scc.mcs";

/// A block of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The first id.
    pub start: u32,
    /// The last id; below the first for a block without ids, which nothing checks.
    pub end: u32,
}

/// What an annotation says about where the range begins: all that a level depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UidRange {
    /// The annotation is missing or empty.
    Missing,
    /// It is not of the grammar.
    Malformed,
    /// It begins at 0.
    FromZero,
    /// It begins above 0, as every range does that the cluster allocates.
    AboveZero,
}

impl UidRange {
    /// Reads the value of the annotation; none where there is none.
    pub fn read(annotation: Option<&str>) -> Self {
        match annotation.filter(|text| !text.is_empty()) {
            None => UidRange::Missing,
            Some(text) => match Block::parse(text) {
                None => UidRange::Malformed,
                Some(Block { start: 0, .. }) => UidRange::FromZero,
                Some(_) => UidRange::AboveZero,
            },
        }
    }
}

impl Block {
    /// Reads `<start>/<size>`, or `<start>-<end>` where there is no slash anywhere. What follows the second number does
    /// not matter, so that of a list the first block counts.
    pub fn parse(text: &str) -> Option<Self> {
        let separator = if text.contains('/') { '/' } else { '-' };
        let (start, rest) = number(text)?;
        let (second, _) = number(rest.strip_prefix(separator)?)?;
        // The size wraps around as the unsigned numbers of the original do.
        let end = if separator == '/' { start.wrapping_add(second).wrapping_sub(1) } else { second };
        Some(Self { start, end })
    }

    /// Reads a list of blocks, each of its own grammar; none when one of them is malformed.
    pub fn parse_list(text: &str) -> Option<Vec<Self>> {
        text.split(',').map(Self::parse).collect()
    }
}

/// A number behind blanks, and what follows it. A line break is no blank here, a sign no part of the number.
fn number(text: &str) -> Option<(u32, &str)> {
    // A carriage return counts as a line break only before a line feed, which ends the scan as well.
    let text = text.trim_start_matches(|letter: char| letter != '\n' && is_space(letter));
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (digits, rest) = text.split_at_checked(digits)?;
    Some((digits.parse().ok()?, rest))
}

/// The white space of Go's scanner, which is that of Unicode without the separators of information.
fn is_space(letter: char) -> bool {
    letter.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Option<(u32, u32)> {
        Block::parse(text).map(|block| (block.start, block.end))
    }

    #[test]
    fn blocks_are_scanned_as_go_scans() {
        assert_eq!(block("1000660000/10000"), Some((1_000_660_000, 1_000_669_999)));
        assert_eq!(block("1000-2000"), Some((1000, 2000)));
        assert_eq!(block(" 1/ 2,whatever"), Some((1, 2)));
        assert_eq!(block("1/2/3"), Some((1, 2)));
        assert_eq!(block("5/0"), Some((5, 4)));
        assert_eq!(block("7-3"), Some((7, 3)));
        assert_eq!(block("4294967295/2"), Some((4_294_967_295, 0)));
        for wrong in ["", "12", "1 /2", "1/", "/2", "+1/2", "-1/2", "4294967296/1", "1-2/", "a/b", "1-2/3", "\n1/2"] {
            assert_eq!(block(wrong), None, "{wrong:?}");
        }
        assert_eq!(Block::parse_list("1/2,3-4").map(|list| list.len()), Some(2));
    }
}
