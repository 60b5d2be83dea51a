//! Tables of accounts: CSV with a header, or a JSON or YAML list of maps.
//!
//! A CSV cell is text whose meaning the declared type decides; a cell of the others has a type of its own.

use crate::diag::{Code, Diagnostic, FileId, Files, Origin, Sink, Span};
use crate::yaml::NodeRef;

/// Rows of named cells.
#[derive(Debug, Default)]
pub struct Table<'t> {
    /// Where the names of the columns stand, in a table that has a line for them.
    pub header: Option<Origin>,
    /// The rows, in the order of the text.
    pub rows: Vec<Row<'t>>,
}

/// One row.
#[derive(Debug)]
pub struct Row<'t> {
    /// Where it stands.
    pub origin: Origin,
    /// Its cells with the name of their column.
    pub cells: Vec<(String, Cell<'t>)>,
}

/// What a cell holds.
#[derive(Debug)]
pub enum Cell<'t> {
    /// Text of a CSV file; empty when nothing is there.
    Text(String, Origin),
    /// A node of a JSON or YAML file.
    Node(NodeRef<'t>),
}

impl Cell<'_> {
    /// Where it stands.
    pub fn origin(&self) -> Origin {
        match self {
            Cell::Text(_, origin) => *origin,
            Cell::Node(node) => node.origin(),
        }
    }
}

impl<'t> Table<'t> {
    /// Reads a list of maps.
    pub fn from_list(list: NodeRef<'t>, sink: &mut Sink) -> Self {
        if !list.is_seq() {
            sink.push(
                Diagnostic::error(
                    Code::InvalidAccounts,
                    format!("expected a list of accounts, found {}", list.describe()),
                )
                .at(list.origin())
                .help("write one map for each account: `- {name: ann, uid: 1001}`"),
            );
            return Self::default();
        }
        let mut rows = Vec::with_capacity(list.len());
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
            let cells = item
                .entries()
                .map(|(key, value)| (key.as_str().unwrap_or_default().to_owned(), Cell::Node(value)))
                .collect();
            rows.push(Row { origin: item.origin(), cells });
        }
        Self { header: None, rows }
    }

    /// Reads a CSV text whose first line names the columns.
    pub fn from_csv(file: FileId, files: &Files, sink: &mut Sink) -> Self {
        let source = files.get(file);
        let text = source.text();
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let shift = text.len() - body.len();
        let place = |start: u64, length: usize| Origin {
            file,
            span: Span::new(start as usize + shift, start as usize + shift + length.max(1)),
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .from_reader(body.as_bytes());
        let mut header: Option<Vec<String>> = None;
        let mut header_origin = None;
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    let start = error.position().map_or(0, csv::Position::byte);
                    sink.push(
                        Diagnostic::error(Code::InvalidAccounts, "this line is not CSV")
                            .at(place(start, 1))
                            .help("look for a quote that is not closed"),
                    );
                    break;
                }
            };
            let start = record.position().map_or(0, csv::Position::byte);
            let line = body.get(start as usize..).and_then(|rest| rest.lines().next()).unwrap_or_default();
            let Some(columns) = &header else {
                header = Some(record.iter().map(|name| name.trim().to_owned()).collect());
                header_origin = Some(place(start, line.len()));
                if check_header(&record, place(start, line.len()), sink) {
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
                    .at(place(start, line.len()))
                    .help(if record.iter().any(|cell| cell.contains('\n')) {
                        "look for a quote that is not closed"
                    } else {
                        "every line has a cell for each column; put a cell with a comma in quotes"
                    }),
                );
                continue;
            }
            let origin = place(start, line.len());
            let mut offset = 0;
            let mut cells = Vec::with_capacity(columns.len());
            for (column, cell) in columns.iter().zip(record.iter()) {
                let found = line.get(offset..).and_then(|rest| rest.find(cell)).unwrap_or_default();
                let cell_origin =
                    if line.is_empty() { origin } else { place(start + (offset + found) as u64, cell.len()) };
                offset = (offset + found + cell.len() + 1).min(line.len());
                cells.push((column.clone(), Cell::Text(cell.trim().to_owned(), cell_origin)));
            }
            rows.push(Row { origin, cells });
        }
        if header.is_none() {
            sink.push(
                Diagnostic::error(Code::InvalidAccounts, "this table has no header")
                    .at(place(0, 1))
                    .help("name the columns in the first line, such as `name,uid`"),
            );
        }
        Self { header: header_origin, rows }
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
