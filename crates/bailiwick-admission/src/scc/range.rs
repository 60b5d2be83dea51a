//! The uid range of a namespace annotation, parsed as Go's scanner parses it.

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
    /// The last id; less than the first for an empty block, a case without a check.
    pub end: u32,
}

/// The start of the range in an annotation: the only input of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UidRange {
    /// The annotation is missing or empty.
    Missing,
    /// It is not of the grammar.
    Malformed,
    /// It begins at 0.
    FromZero,
    /// The range begins above 0, as every allocated range does.
    AboveZero,
}

impl UidRange {
    /// Reads the value of the annotation, if any.
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
    /// Reads `<start>/<size>`, or `<start>-<end>` for a text without a slash. The text after the second number is
    /// ignored: the first block of a list counts.
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

/// Returns a number after blanks, and the rest of the text. A line break is no blank, and a sign is no part of a
/// number.
fn number(text: &str) -> Option<(u32, &str)> {
    // A carriage return is a line break only before a line feed, and both end the scan.
    let text = text.trim_start_matches(|letter: char| letter != '\n' && is_space(letter));
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (digits, rest) = text.split_at_checked(digits)?;
    Some((digits.parse().ok()?, rest))
}

/// Whether a character is white space for Go's scanner: Unicode white space without the information separators.
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
