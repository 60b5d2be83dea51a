//! Tables of accounts: CSV with a header, or a JSON or YAML list of maps.
//!
//! A CSV cell is text whose meaning the declared type decides; a cell of the others has a type of its own.

use std::cell::OnceCell;
use std::collections::HashSet;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::words::number;
use bailiwick_yaml::diag::{Diagnostic, FileId, Files, Origin, Sink, Span};
use bailiwick_yaml::limits::LONGEST_TABLE_LINE;
use bailiwick_yaml::{self as yaml, NodeRef};

/// One row, while it is read.
#[derive(Debug, Clone, Copy)]
pub struct TableRow<'r> {
    /// The place.
    pub origin: Origin,
    /// The places of the column names, in a table with a header.
    pub header: Option<Origin>,
    cells: Cells<'r>,
}

#[derive(Debug, Clone, Copy)]
enum Cells<'r> {
    Csv { header: &'r Header, line: Line<'r> },
    Map(NodeRef<'r>),
}

/// The first line of a CSV file.
#[derive(Debug)]
struct Header {
    origin: Origin,
    /// The names of the columns.
    columns: Vec<String>,
    /// The places of the names.
    places: Vec<Origin>,
}

/// A line of a CSV file.
#[derive(Debug, Clone, Copy)]
pub struct Line<'r> {
    record: &'r csv::StringRecord,
    text: &'r str,
    /// The record as it is written, from its first line to its last.
    written: &'r str,
    origin: Origin,
    /// The start of each cell in the text, computed on first use.
    starts: &'r OnceCell<Vec<usize>>,
    /// Whether each cell is written in quotes, computed on first use.
    quoted: &'r OnceCell<Vec<bool>>,
}

impl Line<'_> {
    /// Returns whether a cell is written in quotes. Asked only where blanks surround its text; all cells are looked at once.
    fn is_quoted(self, index: usize) -> bool {
        let all = self.quoted.get_or_init(|| {
            let mut rest = self.written;
            // Comments and empty lines above belong to no cell.
            while rest.starts_with(['#', '\n', '\r']) {
                rest = rest.split_once('\n').map_or("", |(_, next)| next);
            }
            let mut quoted = Vec::with_capacity(self.record.len());
            for _ in self.record {
                let inside = rest.strip_prefix('"');
                quoted.push(inside.is_some());
                let behind = inside.map_or(rest, |inside| closed(inside).map_or("", |behind| behind));
                rest = behind.split_once(',').map_or("", |(_, next)| next);
            }
            quoted
        });
        all.get(index).copied().unwrap_or_default()
    }

    /// Returns the text of a cell: what surrounds it outside of quotes does not belong to it.
    fn text_of(self, index: usize, cell: &str) -> &str {
        let trimmed = cell.trim();
        if trimmed.len() == cell.len() || !self.is_quoted(index) { trimmed } else { cell }
    }

    /// Returns the place of a cell, which is computed only for diagnostics.
    fn place_of(self, index: usize) -> Origin {
        let starts = self.starts.get_or_init(|| {
            let mut offset = 0;
            let start_of = |cell: &str| {
                let found = self.text.get(offset..).and_then(|rest| rest.find(cell)).unwrap_or_default();
                let start = offset + found;
                offset = (start + cell.len() + 1).min(self.text.len());
                start
            };
            self.record.iter().map(start_of).collect()
        });
        let (Some(start), Some(cell)) = (starts.get(index), self.record.get(index)) else { return self.origin };
        if self.text.is_empty() {
            return self.origin;
        }
        let start = self.origin.span.start as usize + start;
        Origin { span: Span::new(start, start + cell.len().max(1)), ..self.origin }
    }
}

/// The content of a cell.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'r> {
    /// Text of a CSV file, with its line and number; empty when nothing is there.
    Text(&'r str, Line<'r>, usize),
    /// A node of a JSON or YAML file.
    Node(NodeRef<'r>),
}

impl Cell<'_> {
    /// Returns the place.
    pub fn origin(self) -> Origin {
        match self {
            Cell::Text(_, line, index) => line.place_of(index),
            Cell::Node(node) => node.origin(),
        }
    }
}

impl<'r> TableRow<'r> {
    /// Returns the place of the name of a column in the header; none for a table without one, and for another name.
    pub fn place_of_column(&self, name: &str) -> Option<Origin> {
        match self.cells {
            Cells::Csv { header, .. } => {
                let index = header.columns.iter().position(|column| column == name)?;
                header.places.get(index).copied()
            }
            Cells::Map(_) => None,
        }
    }

    /// Shows each cell with the name of its column.
    pub fn each_cell(self, see: &mut dyn FnMut(&'r str, Cell<'r>)) {
        match self.cells {
            Cells::Csv { header, line } => {
                for (index, (column, text)) in header.columns.iter().zip(line.record.iter()).enumerate() {
                    see(column, Cell::Text(line.text_of(index, text), line, index));
                }
            }
            Cells::Map(map) => {
                map.entries().for_each(|(key, value)| see(key.as_str().unwrap_or_default(), Cell::Node(value)));
            }
        }
    }
}

/// Reads a list of maps, row by row.
pub fn read_list(list: NodeRef<'_>, sink: &mut Sink, see: &mut dyn FnMut(TableRow<'_>, &mut Sink)) {
    if !list.is_seq() {
        sink.push(
            Diagnostic::error(
                codes::INVALID_ACCOUNTS,
                format!("expected a list of accounts, found {}", list.describe()),
            )
            .at(list.origin())
            .help("write one map for each account: `- {name: ann, uid: 1001}`"),
        );
        return;
    }
    for item in list.items() {
        if !item.is_map() {
            sink.push(
                Diagnostic::error(
                    codes::INVALID_ACCOUNTS,
                    format!("expected a map of an account's values, found {}", item.describe()),
                )
                .at(item.origin())
                .help("write a map for each account, such as `{name: ann, uid: 1001}`"),
            );
            continue;
        }
        read_account(item, sink, see);
    }
}

/// Reads one map as a row.
pub fn read_account(account: NodeRef<'_>, sink: &mut Sink, see: &mut dyn FnMut(TableRow<'_>, &mut Sink)) {
    see(TableRow { origin: account.origin(), header: None, cells: Cells::Map(account) }, sink);
}

/// Reads a CSV text whose first line names the columns, row by row.
pub fn read_csv(file: FileId, text: &str, sink: &mut Sink, see: &mut dyn FnMut(TableRow<'_>, &mut Sink)) {
    let mut records = Records::new(file, text);
    let mut header: Option<Header> = None;
    let mut other_count = OtherCount::default();
    while let Some((written, origin)) = records.advance(sink) {
        if let Some(fault) = quote_fault(written) {
            sink.push(Diagnostic::error(codes::INVALID_ACCOUNTS, fault.message).at(origin).help(fault.help));
            if header.is_none() {
                return;
            }
            continue;
        }
        let record = &records.record;
        let (starts, quoted) = (OnceCell::new(), OnceCell::new());
        let text = first_line(written);
        let line = Line { record, text, written, origin, starts: &starts, quoted: &quoted };
        let Some(header) = &header else {
            let columns = record.iter().map(|name| name.trim().to_owned()).collect();
            let places = (0..record.len()).map(|index| line.place_of(index)).collect();
            header = Some(Header { origin, columns, places });
            if check_header(record, origin, sink) {
                continue;
            }
            break;
        };
        if record.len() != header.columns.len() {
            let is_open = record.iter().any(|cell| cell.contains('\n'));
            other_count.add(header.columns.len(), record.len(), is_open, origin);
            continue;
        }
        see(TableRow { origin, header: Some(header.origin), cells: Cells::Csv { header, line } }, sink);
    }
    other_count.report(sink);
    if header.is_none() {
        sink.push(
            Diagnostic::error(codes::INVALID_ACCOUNTS, "this table has no header")
                .at(records.place(0, 1))
                .help("name the columns in the first line, such as `name,uid`"),
        );
    }
}

/// The records of a CSV text.
struct Records<'c> {
    file: FileId,
    /// The text without a byte order mark.
    body: &'c str,
    /// The length of the byte order mark.
    shift: usize,
    reader: csv::Reader<&'c [u8]>,
    record: csv::StringRecord,
}

impl<'c> Records<'c> {
    fn new(file: FileId, text: &'c str) -> Self {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut options = csv::ReaderBuilder::new();
        options.has_headers(false).flexible(true).comment(Some(b'#'));
        let reader = options.from_reader(body.as_bytes());
        Self { file, body, shift: text.len() - body.len(), reader, record: csv::StringRecord::new() }
    }

    /// Reads the next record, and returns its text and the place of its first line; none at the end, or for text that
    /// cannot be read, which is reported.
    fn advance(&mut self, sink: &mut Sink) -> Option<(&'c str, Origin)> {
        match self.reader.read_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => {
                let start = error.position().map_or(0, csv::Position::byte);
                sink.push(
                    Diagnostic::error(codes::INVALID_ACCOUNTS, "this line is not CSV")
                        .at(self.place(start, 1))
                        .help("look for a quote that is not closed"),
                );
                return None;
            }
        }
        let start = self.record.position().map_or(0, csv::Position::byte);
        if self.record.as_slice().len() > LONGEST_TABLE_LINE {
            let message = format!("this line has more than {LONGEST_TABLE_LINE} bytes");
            let help = "look for a quote that is not closed; no object of Kubernetes holds a value of that size";
            sink.push(Diagnostic::error(codes::INVALID_ACCOUNTS, message).at(self.place(start, 1)).help(help));
            return None;
        }
        let end = self.reader.position().byte() as usize;
        let written = self.body.get(start as usize..end).unwrap_or_default();
        Some((written, self.place(start, first_line(written).len())))
    }

    fn place(&self, start: u64, length: usize) -> Origin {
        let start = start as usize + self.shift;
        Origin { file: self.file, span: Span::new(start, start + length.max(1)) }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A quote in the wrong place.
struct QuoteFault {
    message: &'static str,
    help: &'static str,
}

/// Returns the fault of the quotes of a record (RFC 4180). The reader takes a cell that is open at the end of the file, with all lines
/// in it, and joins a cell with the text behind its closing quote.
fn quote_fault(written: &str) -> Option<QuoteFault> {
    if !written.contains('"') {
        return None;
    }
    // The text of a record begins with the blank lines and comments before it.
    let mut rest = written;
    while let Some((first, next)) = rest.split_once('\n') {
        if !first.trim().is_empty() && !first.starts_with('#') {
            break;
        }
        rest = next;
    }
    loop {
        rest = match rest.strip_prefix('"') {
            Some(inside) => {
                let Some(behind) = closed(inside) else {
                    let help = "close the quote: the cell has every line up to the end of the file";
                    return Some(QuoteFault { message: "the quote of a cell is not closed", help });
                };
                behind
            }
            None => rest.trim_start_matches(|letter| !matches!(letter, ',' | '\r' | '\n')),
        };
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None if rest.trim().is_empty() => return None,
            None => {
                let help = "put the whole cell in quotes, and write two quotes for one in it";
                return Some(QuoteFault { message: "a cell has text behind its closing quote", help });
            }
        }
    }
}

/// Returns the text behind the closing quote of a cell, from the text behind its opening quote; none without one.
fn closed(mut inside: &str) -> Option<&str> {
    loop {
        let (_, behind) = inside.split_once('"')?;
        match behind.strip_prefix('"') {
            Some(behind) => inside = behind,
            None => return Some(behind),
        }
    }
}

/// The lines that have another number of cells than the header: one mistake, such as a missing column, is in all of them.
#[derive(Default)]
struct OtherCount {
    first: Option<Diagnostic>,
    count: usize,
}

impl OtherCount {
    /// How many lines are shown.
    const SHOWN: usize = 3;

    fn add(&mut self, columns: usize, cells: usize, is_open: bool, origin: Origin) {
        self.count += 1;
        let first = self.first.take().map_or_else(
            || {
                let message = format!("the header has {} and this line has {cells}", number(columns, "cell"));
                Diagnostic::error(codes::INVALID_ACCOUNTS, message).at(origin).help(if is_open {
                    "look for a quote that is not closed"
                } else {
                    "every line has a cell for each column; put a cell with a comma in quotes"
                })
            },
            |first| if self.count <= Self::SHOWN { first.and(origin, format!("this line has {cells}")) } else { first },
        );
        self.first = Some(first);
    }

    fn report(self, sink: &mut Sink) {
        let Some(first) = self.first else { return };
        let more = self.count.saturating_sub(Self::SHOWN);
        let lines = if more == 1 { "line has" } else { "lines have" };
        let note = format!("{more} further {lines} another number of cells than the header");
        sink.push(if more > 0 { first.note(note) } else { first });
    }
}

/// Returns the place of an account's value by the place of its row; none where the row is not written plainly.
pub fn cell_place(files: &Files, row: Origin, column: &str) -> Option<Origin> {
    let source = files.get(row.file);
    let (start, text) = (row.span.start as usize, source.text());
    let written = text.get(start..row.span.end as usize)?;
    if !source.path().ends_with(".csv") {
        // The row by itself is indented as it is in its file, so that its lines belong together.
        let indent = start - text.get(..start)?.rfind('\n').map_or(0, |line_feed| line_feed + 1);
        let alone = format!("{}{written}", " ".repeat(indent));
        let span = yaml::read(&alone, row.file, &mut Sink::new()).document(0)?.get(column)?.span();
        let place = |byte: u32| (byte as usize + start).checked_sub(indent);
        return Some(Origin { span: Span::new(place(span.start)?, place(span.end)?), ..row });
    }
    let record = |text: &str| {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).comment(Some(b'#')).from_reader(text.as_bytes());
        reader.records().next()?.ok()
    };
    let header = record(text.trim_start_matches('\u{feff}'))?;
    let index = header.iter().position(|name| name.trim() == column)?;
    let (record, starts, quoted) = (record(written)?, OnceCell::new(), OnceCell::new());
    let line = Line { record: &record, text: written, written, origin: row, starts: &starts, quoted: &quoted };
    Some(line.place_of(index))
}

/// Reads a list of names, one a line, or a CSV text with names in its first column, below the header. Blanks, a carriage
/// return and a byte order mark around a name are left out. Empty lines and lines that begin with `#`
/// are skipped.
pub fn read_names(
    file: FileId,
    text: &str,
    is_csv: bool,
    sink: &mut Sink,
    see: &mut dyn FnMut(&str, Origin, &mut Sink),
) {
    if is_csv {
        let mut see_row = |row: TableRow<'_>, sink: &mut Sink| {
            let mut first = true;
            row.each_cell(&mut |_, cell| {
                if let (true, Cell::Text(name, ..)) = (std::mem::take(&mut first), cell) {
                    see(name, cell.origin(), sink);
                }
            });
        };
        return read_csv(file, text, sink, &mut see_row);
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let name = line.trim_start_matches('\u{feff}').trim();
        if !name.is_empty() && !name.starts_with('#') {
            let place = start + line.find(name).unwrap_or_default();
            see(name, Origin { file, span: Span::new(place, place + name.len()) }, sink);
        }
        start += line.len();
    }
}

/// Returns whether the names of the columns are unique.
fn check_header(header: &csv::StringRecord, origin: Origin, sink: &mut Sink) -> bool {
    let before = sink.len();
    let mut seen = HashSet::new();
    for name in header {
        let name = name.trim();
        if let Some(separator) = name.chars().find(|letter| matches!(letter, ';' | '\t')) {
            let shown = if separator == ';' { "semicolons" } else { "tabs" };
            sink.push(
                Diagnostic::error(
                    codes::INVALID_ACCOUNTS,
                    format!("the columns of this table are separated by {shown}"),
                )
                .at(origin)
                .help("a table has commas between its cells: save it with commas"),
            );
            break;
        }
        if name.is_empty() {
            sink.push(
                Diagnostic::error(codes::INVALID_ACCOUNTS, "a column has no name")
                    .at(origin)
                    .help("name it, or remove it from every line"),
            );
        } else if !seen.insert(name) {
            sink.push(
                Diagnostic::error(codes::INVALID_ACCOUNTS, format!("the column `{name}` occurs twice"))
                    .at(origin)
                    .help("rename one of them, or remove it from every line"),
            );
        }
    }
    sink.len() == before
}
