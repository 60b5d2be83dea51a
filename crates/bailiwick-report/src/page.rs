//! A text for people that grows by whole lines.

use std::fmt;

use bailiwick_yaml::diag::foreign;

/// Lines for people. `writeln!` escapes control characters, so that an inserted text never ends its line.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// Returns an empty page.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one line; what `writeln!` calls.
    pub fn write_fmt(&mut self, line: fmt::Arguments<'_>) {
        let text = line.to_string();
        self.0.push_str(&foreign::line(text.strip_suffix('\n').unwrap_or(&text)));
        self.0.push('\n');
    }

    /// Appends lines of this program's own words.
    pub fn push_str(&mut self, lines: &'static str) {
        self.0.push_str(lines);
    }

    /// Appends lines that another page has made.
    pub fn append(&mut self, lines: &str) {
        self.0.push_str(lines);
    }

    /// Returns the lines so far.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the lines.
    pub fn finish(self) -> String {
        self.0
    }
}
