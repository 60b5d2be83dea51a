//! The parts of a report for people, which a format lays out.

/// A part of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportBlock {
    /// The title of what follows.
    Heading(String),
    /// A paragraph of words.
    Paragraph(String),
    /// Lines that keep their form.
    Verbatim(String),
    /// A list of lines of words. An empty list is left out.
    List(Vec<String>),
    /// A table with the names of its columns.
    Table {
        /// The names of the columns.
        columns: Vec<String>,
        /// The rows, each with one text for each column.
        rows: Vec<Vec<String>>,
    },
}
