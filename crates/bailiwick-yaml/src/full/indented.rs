//! Lines of quoted scalars at the indentation of the parent, or before it. YAML 1.2 forbids them, and kubectl reads them: libyaml
//! looks at no indentation between quotes. A copy of the text has these lines deeper; the value of the scalar is the same,
//! because blanks at the beginning of such a line do not count.

use crate::internal;

/// How often a text is read again.
const MOST_ATTEMPTS: usize = 1000;

/// How many bytes of one text are read again in total.
const MOST_BYTES: usize = 64 << 20;

/// The largest number of blanks before a line.
const MOST_BLANKS: usize = 200;

/// A text with some lines deeper.
pub(super) struct Indented<'t> {
    body: &'t str,
    /// The first bytes of the deeper lines, sorted.
    lines: Vec<usize>,
    /// The number of blanks before each of these lines.
    width: usize,
    attempts: usize,
}

impl<'t> Indented<'t> {
    /// Returns a text without deeper lines.
    pub(super) fn new(body: &'t str) -> Self {
        Self { body, lines: Vec::new(), width: 0, attempts: 0 }
    }

    /// Returns the text as it is written.
    pub(super) fn body(&self) -> &'t str {
        self.body
    }

    /// Makes the line at a position deeper, and the following lines of the scalar: a line without a quote ends no scalar.
    /// False if that is no use, or is too much.
    pub(super) fn deepen(&mut self, position: usize) -> bool {
        self.attempts += 1;
        if self.lines.is_empty() {
            let blanks = self.body.lines().map(|line| line.len() - line.trim_start_matches(' ').len());
            self.width = 1 + blanks.max().map_or(0, |most| most.min(MOST_BLANKS));
        }
        let head = internal::slice(self.body, ..position.min(self.body.len()));
        let mut start = head.rfind('\n').map_or(0, |line_feed| line_feed + 1);
        if self.lines.binary_search(&start).is_ok() {
            return false;
        }
        for line in internal::slice(self.body, start..).split_inclusive('\n') {
            self.lines.push(start);
            start += line.len();
            if line.contains(['"', '\'']) {
                break;
            }
        }
        self.lines.sort_unstable();
        self.lines.dedup();
        let added = self.lines.len().saturating_mul(self.width);
        self.attempts <= MOST_ATTEMPTS
            && self.attempts.saturating_mul(self.body.len()) <= MOST_BYTES
            && added <= self.body.len().saturating_add(1 << 20)
    }

    /// Returns the text with the deeper lines.
    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(self.body.len() + self.lines.len() * self.width);
        let mut end = 0;
        for &start in &self.lines {
            text.push_str(internal::slice(self.body, end..start));
            text.extend(std::iter::repeat_n(' ', self.width));
            end = start;
        }
        text.push_str(internal::slice(self.body, end..));
        text
    }

    /// Returns the position in the text as it is written.
    pub(super) fn written(&self, position: usize) -> usize {
        let before = |index: usize| self.lines.get(index).is_some_and(|line| line + index * self.width < position);
        let (mut low, mut high) = (0, self.lines.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if before(middle) { low = middle + 1 } else { high = middle }
        }
        let last = low.checked_sub(1).and_then(|last| self.lines.get(last)).map_or(0, |line| *line);
        position.saturating_sub(low * self.width).max(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_written_text() {
        let body = "a: 'x\ny\nz'\nb: 1\n";
        let mut indented = Indented::new(body);
        assert_eq!(
            (0..body.len()).map(|at| indented.written(at)).collect::<Vec<_>>(),
            (0..body.len()).collect::<Vec<_>>()
        );
        assert!(indented.deepen(6));
        let text = indented.text();
        assert_eq!(text, "a: 'x\n y\n z'\nb: 1\n");
        for letter in ["a", "x", "y", "z", "b", "1"] {
            let (deeper, written) = (text.find(letter).expect("a letter"), body.find(letter).expect("a letter"));
            assert_eq!(indented.written(deeper), written, "{letter}");
        }
        assert!(!indented.deepen(6));
    }
}
