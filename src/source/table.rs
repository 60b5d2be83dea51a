//! Tables of accounts: CSV with a header, or a JSON or YAML list of maps.
//!
//! A CSV cell is text whose meaning the declared type decides; a cell of the others has a type of its own.

use crate::diag::{Code, Diagnostic, FileId, Origin, Sink, Span};
use crate::yaml::NodeRef;

/// One row, while it is read.
#[derive(Debug, Clone, Copy)]
pub struct Row<'r> {
    /// Where it stands.
    pub origin: Origin,
    /// Where the names of the columns stand, in a table that has a line for them.
    pub header: Option<Origin>,
    cells: Cells<'r>,
}

#[derive(Debug, Clone, Copy)]
enum Cells<'r> {
    Csv { columns: &'r [String], line: Line<'r> },
    Map(NodeRef<'r>),
}

/// A line of a CSV file.
#[derive(Debug, Clone, Copy)]
pub struct Line<'r> {
    record: &'r csv::StringRecord,
    text: &'r str,
    origin: Origin,
}

impl Line<'_> {
    /// Where a cell stands: looked for only where something is to be said about it.
    fn place_of(self, index: usize) -> Origin {
        let mut offset = 0;
        for (position, cell) in self.record.iter().enumerate() {
            let found = self.text.get(offset..).and_then(|rest| rest.find(cell)).unwrap_or_default();
            if position == index && !self.text.is_empty() {
                let start = self.origin.span.start as usize + offset + found;
                return Origin { span: Span::new(start, start + cell.len().max(1)), ..self.origin };
            }
            offset = (offset + found + cell.len() + 1).min(self.text.len());
        }
        self.origin
    }
}

/// What a cell holds.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'r> {
    /// Text of a CSV file, with its line and number; empty when nothing is there.
    Text(&'r str, Line<'r>, usize),
    /// A node of a JSON or YAML file.
    Node(NodeRef<'r>),
}

impl Cell<'_> {
    /// Where it stands.
    pub fn origin(self) -> Origin {
        match self {
            Cell::Text(_, line, index) => line.place_of(index),
            Cell::Node(node) => node.origin(),
        }
    }
}

impl<'r> Row<'r> {
    /// Shows each cell with the name of its column.
    pub fn each_cell(self, see: &mut dyn FnMut(&'r str, Cell<'r>)) {
        match self.cells {
            Cells::Csv { columns, line } => {
                for (index, (column, text)) in columns.iter().zip(line.record.iter()).enumerate() {
                    see(column, Cell::Text(text.trim(), line, index));
                }
            }
            Cells::Map(map) => {
                map.entries().for_each(|(key, value)| see(key.as_str().unwrap_or_default(), Cell::Node(value)));
            }
        }
    }
}

/// Reads a list of maps, row by row.
pub fn read_list(list: NodeRef<'_>, sink: &mut Sink, see: &mut dyn FnMut(Row<'_>, &mut Sink)) {
    if !list.is_seq() {
        sink.push(
            Diagnostic::error(Code::InvalidAccounts, format!("expected a list of accounts, found {}", list.describe()))
                .at(list.origin())
                .help("write one map for each account: `- {name: ann, uid: 1001}`"),
        );
        return;
    }
    for item in list.items() {
        if !item.is_map() {
            sink.push(
                Diagnostic::error(
                    Code::InvalidAccounts,
                    format!("expected a map of an account's values, found {}", item.describe()),
                )
                .at(item.origin())
                .help("write a map for each account, such as `{name: ann, uid: 1001}`"),
            );
            continue;
        }
        see(Row { origin: item.origin(), header: None, cells: Cells::Map(item) }, sink);
    }
}

/// Reads a CSV text whose first line names the columns, row by row.
pub fn read_csv(file: FileId, text: &str, sink: &mut Sink, see: &mut dyn FnMut(Row<'_>, &mut Sink)) {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = text.len() - body.len();
    let place = |start: u64, length: usize| Origin {
        file,
        span: Span::new(start as usize + shift, start as usize + shift + length.max(1)),
    };
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).comment(Some(b'#')).from_reader(body.as_bytes());
    let mut header: Option<(Vec<String>, Origin)> = None;
    let mut record = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let start = error.position().map_or(0, csv::Position::byte);
                sink.push(
                    Diagnostic::error(Code::InvalidAccounts, "this line is not CSV")
                        .at(place(start, 1))
                        .help("look for a quote that is not closed"),
                );
                break;
            }
        }
        let start = record.position().map_or(0, csv::Position::byte);
        let line = body.get(start as usize..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let origin = place(start, line.len());
        let Some((columns, header_origin)) = &header else {
            header = Some((record.iter().map(|name| name.trim().to_owned()).collect(), origin));
            if check_header(&record, origin, sink) {
                continue;
            }
            break;
        };
        if record.len() != columns.len() {
            sink.push(
                Diagnostic::error(
                    Code::InvalidAccounts,
                    format!("the header has {} cells and this line has {}", columns.len(), record.len()),
                )
                .at(origin)
                .help(if record.iter().any(|cell| cell.contains('\n')) {
                    "look for a quote that is not closed"
                } else {
                    "every line has a cell for each column; put a cell with a comma in quotes"
                }),
            );
            continue;
        }
        let cells = Cells::Csv { columns, line: Line { record: &record, text: line, origin } };
        see(Row { origin, header: Some(*header_origin), cells }, sink);
    }
    if header.is_none() {
        sink.push(
            Diagnostic::error(Code::InvalidAccounts, "this table has no header")
                .at(place(0, 1))
                .help("name the columns in the first line, such as `name,uid`"),
        );
    }
}

/// True when the columns can be told apart.
fn check_header(header: &csv::StringRecord, origin: Origin, sink: &mut Sink) -> bool {
    let before = sink.len();
    for (index, name) in header.iter().enumerate() {
        let name = name.trim();
        if name.is_empty() {
            sink.push(
                Diagnostic::error(Code::InvalidAccounts, "a column has no name")
                    .at(origin)
                    .help("name it, or remove it from every line"),
            );
        } else if header.iter().take(index).any(|earlier| earlier.trim() == name) {
            sink.push(
                Diagnostic::error(Code::InvalidAccounts, format!("the column `{name}` is there twice"))
                    .at(origin)
                    .help("rename one of them, or remove it from every line"),
            );
        }
    }
    sink.len() == before
}
