//! Reads a tenancy's accounts and holds each row against the declared columns.

use crate::codes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;
use regex::Regex;

use super::TenancySpec;
use crate::diag::{Diagnostic, Origin, Sink, nearest};
use crate::digest::digest_of_run;
use crate::model::{Account, AccountValue, Accounts, Data, Linker, RawDocument, Variable, VariableType};
use crate::source::{Cell, Sources, TableRow, read_csv, read_list};
use crate::yaml::{NodeRef, NodeValue, Tree};

/// Reads every valid account, sorted by name; reports invalid ones.
pub(super) fn read(
    document: &RawDocument<'_>,
    spec: &TenancySpec,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Accounts {
    let Some(columns) = Columns::declared(document, spec, sink) else {
        return Accounts::default();
    };
    let place = document.spec.get("accounts").unwrap_or(document.spec);
    let mut accounts = match (&spec.accounts.file, place.get("inline")) {
        (Some(file), None) => {
            let Some(path) = Sources::resolve(document.path, file) else {
                sink.push(
                    Diagnostic::error(codes::PATH_OUTSIDE, format!("`{}` leaves the workspace", file.value))
                        .at(file.origin)
                        .help("use a file below the root of the workspace, relative to the folder of this policy"),
                );
                return Accounts::default();
            };
            linker.claimed.insert(path.clone());
            read_file(&path, file.origin, &columns, linker, sink)
        }
        (None, Some(inline)) => {
            columns.accounts(TableSize::default(), sink, &mut |sink, see| read_list(inline, sink, see))
        }
        (file, _) => {
            let what = if file.is_some() { "both `file` and `inline`" } else { "neither `file` nor `inline`" };
            sink.push(
                Diagnostic::error(codes::INVALID_ACCOUNTS, format!("the account list has {what}"))
                    .at(place.origin())
                    .help("use one of `file` and `inline`"),
            );
            return Accounts::default();
        }
    };
    accounts.sort_by_text("name");
    columns.refuse_duplicates(&accounts, sink);
    accounts
}

fn read_file(path: &str, asked: Origin, columns: &Columns<'_>, linker: &mut Linker<'_>, sink: &mut Sink) -> Accounts {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let missing = |sink: &mut Sink| {
        sink.push(
            Diagnostic::error(codes::MISSING_FILE, format!("there is no file `{path}`"))
                .at(asked)
                .help("write the path relative to the folder of this policy"),
        );
        Accounts::default()
    };
    let failed = |message: String, sink: &mut Sink| {
        sink.push(Diagnostic::error(codes::INVALID_ACCOUNTS, message).at(asked));
        Accounts::default()
    };
    let before = sink.len();
    match extension {
        "csv" => match linker.sources.passing_text(path, Some(asked), sink) {
            Ok(Some((file, text))) => {
                let rows = memchr::memchr_iter(b'\n', text.as_bytes()).count();
                let size = TableSize { rows, bytes: text.len() };
                columns.accounts(size, sink, &mut |sink, see| read_csv(file, &text, sink, see))
            }
            Ok(None) if sink.len() > before => Accounts::default(),
            Ok(None) => missing(sink),
            Err(error) => failed(error.message, sink),
        },
        "json" | "yaml" | "yml" => match linker.sources.tree(path, Some(asked), sink) {
            Ok(Some(tree)) => {
                let rows = read_tree(&tree, asked, columns, sink);
                linker.sources.forget_tree(path);
                rows
            }
            Ok(None) if sink.len() > before => Accounts::default(),
            Ok(None) => missing(sink),
            Err(error) => failed(error.message, sink),
        },
        _ => {
            sink.push(
                Diagnostic::error(codes::INVALID_ACCOUNTS, format!("`{path}` is not an account list"))
                    .at(asked)
                    .help("use a file that ends in .csv, .json, .yaml or .yml"),
            );
            Accounts::default()
        }
    }
}

fn read_tree(tree: &Tree, asked: Origin, columns: &Columns<'_>, sink: &mut Sink) -> Accounts {
    let mut documents = tree.documents();
    match (documents.next(), documents.next()) {
        (Some(list), None) => columns.accounts(TableSize::default(), sink, &mut |sink, see| read_list(list, sink, see)),
        (None, _) => Accounts::default(),
        (Some(_), Some(second)) => {
            sink.push(
                Diagnostic::error(codes::INVALID_ACCOUNTS, "an account list must be one document")
                    .at(second.origin())
                    .and(asked, "named here")
                    .help("remove the `---` and join the lists"),
            );
            Accounts::default()
        }
    }
}

/// The declared columns, with prepared checks of their values.
struct Columns<'s> {
    names: Arc<[Arc<str>]>,
    declared: Vec<(&'s str, &'s Variable, Option<Regex>)>,
    positions: HashMap<&'s str, usize>,
}

impl<'s> Columns<'s> {
    fn declared(document: &RawDocument<'_>, spec: &'s TenancySpec, sink: &mut Sink) -> Option<Self> {
        let place = document.spec.get("variables").unwrap_or(document.spec);
        let fits = spec.variables.get("name").is_some_and(|name| name.r#type == VariableType::String && !name.optional);
        if !fits {
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "`name` is not declared, but every account has a `name`")
                    .at(place.origin())
                    .help("declare it: `name: {type: string}`"),
            );
            return None;
        }
        let mut declared = Vec::new();
        for (name, variable) in &spec.variables {
            let mut regex = None;
            if let Some(pattern) = &variable.pattern {
                match Regex::new(&format!("^(?:{})$", pattern.value)) {
                    Ok(compiled) => regex = Some(compiled),
                    Err(error) => {
                        let reason = error.to_string();
                        let reason = reason
                            .lines()
                            .last()
                            .unwrap_or_default()
                            .trim_start_matches("error: ")
                            .trim_end_matches('.')
                            .to_lowercase();
                        sink.push(
                            Diagnostic::error(codes::INVALID_VALUE, "this is not a regular expression")
                                .at(pattern.origin)
                                .note(reason)
                                .help("write a backslash before a literal character, such as `\\[`"),
                        );
                        return None;
                    }
                }
            }
            declared.push((name.as_str(), variable, regex));
        }
        let names = declared.iter().map(|(name, ..)| Arc::from(*name)).collect();
        let positions = declared.iter().enumerate().map(|(position, (name, ..))| (*name, position)).collect();
        Some(Self { names, declared, positions })
    }

    /// Reads the accounts of a table.
    fn accounts(&self, size: TableSize, sink: &mut Sink, read: ReadTable<'_>) -> Accounts {
        let mut accounts = Accounts::new(Arc::clone(&self.names));
        accounts.reserve(size.rows, size.bytes);
        let mut reported = Reported::default();
        read(sink, &mut |row, sink| self.add(row, &mut reported, &mut accounts, sink));
        accounts
    }

    /// Adds the account of a row, unless a value is invalid. An undeclared column is reported once, and so is a missing
    /// column of a table with a header.
    fn add(&self, row: TableRow<'_>, reported: &mut Reported, accounts: &mut Accounts, sink: &mut Sink) {
        let absent = ColumnValue { held: Held::Value(AccountValue::Null), is_there: false, is_refused: false };
        let mut values = vec![absent; self.declared.len()];
        let mut fits = true;
        // Map entries with a column each: merged at the end, to avoid a copy of the map per entry.
        let mut overrides: BTreeMap<usize, Vec<(&str, Data)>> = BTreeMap::new();
        row.each_cell(&mut |column, cell| {
            let Some((index, entry)) = self.place_of(column) else {
                if !reported.unknown.contains(column) {
                    reported.unknown.insert(column.to_owned());
                    reported.missing.extend(self.near(column).map(str::to_owned));
                    sink.push(self.unknown_column(column, row.header.unwrap_or_else(|| cell.origin())));
                }
                fits = false;
                return;
            };
            let (Some((name, variable, regex)), Some(place)) = (self.declared.get(index), values.get_mut(index)) else {
                return;
            };
            place.is_there = true;
            match entry {
                Some(entry) => overrides.entry(index).or_default().extend(entry_of(entry, cell)),
                None => match value(name, variable, regex.as_ref(), cell) {
                    Ok(value) => place.held = value,
                    Err(problem) => {
                        sink.push(*problem);
                        fits = false;
                        place.is_refused = true;
                    }
                },
            }
        });
        for (index, entries) in overrides {
            if let Some(place) = values.get_mut(index) {
                place.held = Held::Map(place.held.get().to_data().merged_with(&Data::map(entries)));
            }
        }
        for ((name, variable, _), value) in self.declared.iter().zip(&values) {
            if value.held.get() != AccountValue::Null || variable.optional || value.is_refused {
                continue;
            }
            fits = false;
            let header = row.header.filter(|_| !value.is_there);
            if header.is_none() || reported.missing.insert((*name).to_owned()) {
                sink.push(missing_value(name, header, row.origin));
            }
        }
        if fits {
            accounts.push(values.iter().map(|value| value.held.get()), row.origin);
        }
    }

    /// Returns the declared column of a table column, and for `quota.limits.memory` the entry of the map `quota`.
    fn place_of<'c>(&self, column: &'c str) -> Option<(usize, Option<&'c str>)> {
        let declared = |wanted: &str| self.positions.get(wanted).copied();
        if let Some(index) = declared(column) {
            return Some((index, None));
        }
        let (name, entry) = column.split_once('.')?;
        let index = declared(name)?;
        let is_map = self.declared.get(index).is_some_and(|(_, variable, _)| variable.r#type == VariableType::Map);
        is_map.then_some((index, Some(entry)))
    }

    /// Returns the nearest declared column.
    fn near(&self, name: &str) -> Option<&str> {
        nearest(name, self.declared.iter().map(|(known, ..)| *known))
    }

    fn unknown_column(&self, name: &str, origin: Origin) -> Diagnostic {
        Diagnostic::error(codes::INVALID_ACCOUNT, format!("the column `{name}` is not declared")).at(origin).help(
            self.near(name).map_or_else(
                || format!("declare it under `spec.variables`: `{name}: {{type: string}}`"),
                |near| format!("did you mean `{near}`?"),
            ),
        )
    }

    fn refuse_duplicates(&self, accounts: &Accounts, sink: &mut Sink) {
        for (name, variable, _) in &self.declared {
            if !variable.unique && *name != "name" {
                continue;
            }
            if !accounts.may_repeat(name) {
                continue;
            }
            let mut first: HashMap<u128, Origin> = HashMap::with_capacity(accounts.len());
            let mut text = String::new();
            for account in accounts.iter() {
                let Some(value) = account.get(name) else { continue };
                text.clear();
                value.write_json(&mut text);
                let earlier = *first.entry(digest_of_run(&text)).or_insert(account.origin());
                if earlier != account.origin() {
                    sink.push(duplicate_account(name, account, earlier));
                }
            }
        }
    }
}

/// The reported columns of a table, to report each only once.
#[derive(Default)]
struct Reported {
    unknown: BTreeSet<String>,
    /// Missing columns, and their probable misspellings.
    missing: BTreeSet<String>,
}

/// The approximate size of a table.
#[derive(Default)]
struct TableSize {
    rows: usize,
    bytes: usize,
}

/// Goes through the rows of a table.
type ReadTable<'t> = &'t mut dyn FnMut(&mut Sink, &mut dyn FnMut(TableRow<'_>, &mut Sink));

/// A value of a row, while it is put together.
#[derive(Debug, Clone)]
enum Held<'r> {
    Value(AccountValue<'r>),
    Map(Data),
}

impl Held<'_> {
    fn get(&self) -> AccountValue<'_> {
        match self {
            Held::Value(value) => *value,
            Held::Map(map) => AccountValue::Map(map),
        }
    }
}

/// The value of a declared column in a row.
#[derive(Clone)]
struct ColumnValue<'r> {
    held: Held<'r>,
    /// Whether the row has a cell for the column.
    is_there: bool,
    is_refused: bool,
}

/// Returns the diagnostic for a missing value; `header` is the header of a table without the column.
fn missing_value(name: &str, header: Option<Origin>, row: Origin) -> Diagnostic {
    match header {
        Some(header) => Diagnostic::error(codes::INVALID_ACCOUNT, format!("this table has no column `{name}`"))
            .at(header)
            .help("add the column, or declare the variable with `optional: true`"),
        None => Diagnostic::error(codes::INVALID_ACCOUNT, format!("this account has no `{name}`"))
            .at(row)
            .help("add a value, or declare the variable with `optional: true`"),
    }
}

fn duplicate_account(name: &str, account: Account<'_>, earlier: Origin) -> Diagnostic {
    let mut text = String::new();
    account.get(name).unwrap_or(AccountValue::Null).write_text(&mut text);
    Diagnostic::error(codes::DUPLICATE_ACCOUNT, format!("two accounts have the {name} `{text}`"))
        .at(account.origin().max(earlier))
        .and(account.origin().min(earlier), "the other one")
        .help(format!("use a different {name} for each account"))
}

/// Returns an entry of a map of overrides; none for an empty cell, which leaves the map unchanged.
fn entry_of<'c>(entry: &'c str, cell: Cell<'_>) -> Option<(&'c str, Data)> {
    match cell {
        Cell::Text("", ..) => None,
        Cell::Text(text, ..) => Some((entry, Data::text(text))),
        Cell::Node(node) => Some((entry, Data::from_node(node))),
    }
}

/// Converts a cell to its declared type.
fn value<'r>(
    name: &str,
    variable: &Variable,
    regex: Option<&Regex>,
    cell: Cell<'r>,
) -> Result<Held<'r>, Box<Diagnostic>> {
    let problem = |message: String| Box::new(Diagnostic::error(codes::INVALID_ACCOUNT, message).at(cell.origin()));
    let held = match (cell, variable.r#type) {
        (Cell::Text("", ..), _) if variable.optional || name != "name" => Held::Value(AccountValue::Null),
        (Cell::Text(text, ..), VariableType::String) => Held::Value(AccountValue::Text(text)),
        (Cell::Text(text, ..), VariableType::Integer) => match text.parse::<i64>() {
            Ok(number) if text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
                Held::Value(AccountValue::Int(number))
            }
            _ => {
                return Err(Box::new(
                    problem(format!("the {name} `{text}` is not a whole number"))
                        .help("write only digits, such as `1001`"),
                ));
            }
        },
        (Cell::Text(text, ..), VariableType::Boolean) => match text {
            "true" => Held::Value(AccountValue::Bool(true)),
            "false" => Held::Value(AccountValue::Bool(false)),
            _ => {
                return Err(Box::new(
                    problem(format!("the {name} `{text}` is neither `true` nor `false`")).help("write one of the two"),
                ));
            }
        },
        (Cell::Text(..), VariableType::Map) => {
            let help = format!("use one column for each entry, such as `{name}.pods`");
            return Err(Box::new(problem(format!("the {name} of a CSV table needs several columns")).help(help)));
        }
        (Cell::Node(node), wanted) => node_value(name, node, wanted, variable.optional)?,
    };
    check_bounds(name, variable, regex, held.get()).map_err(|(message, help)| {
        let diagnostic = problem(message);
        Box::new(diagnostic.help_maybe(help))
    })?;
    Ok(held)
}

fn node_value<'r>(
    name: &str,
    node: NodeRef<'r>,
    wanted: VariableType,
    optional: bool,
) -> Result<Held<'r>, Box<Diagnostic>> {
    let expected = match (node.value(), wanted) {
        (NodeValue::Null, _) if optional => return Ok(Held::Value(AccountValue::Null)),
        (NodeValue::Str(_), VariableType::String) => {
            return Ok(Held::Value(AccountValue::Text(node.as_str().unwrap_or_default())));
        }
        (NodeValue::Int(number), VariableType::Integer) => return Ok(Held::Value(AccountValue::Int(number))),
        (NodeValue::Bool(truth), VariableType::Boolean) => return Ok(Held::Value(AccountValue::Bool(truth))),
        (NodeValue::Map(_), VariableType::Map) => return Ok(Held::Map(Data::from_node(node))),
        (_, VariableType::String) => "a string",
        (_, VariableType::Integer) => "a whole number",
        (_, VariableType::Boolean) => "true or false",
        (_, VariableType::Map) => "a map",
    };
    let diagnostic =
        Diagnostic::error(codes::INVALID_ACCOUNT, format!("the {name} is {}, not {expected}", node.describe()))
            .at(node.origin());
    let scalar = matches!(node.value(), NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_) | NodeValue::Null);
    Err(Box::new(diagnostic.help(match (wanted, node.value()) {
        (VariableType::String, _) if scalar => {
            "put it in quotes; kubectl reads the value without quotes in the same way"
        }
        (VariableType::Integer | VariableType::Boolean, NodeValue::Str(_)) => "remove the quotes",
        (VariableType::Map, _) => "write its entries, such as `{pods: 10}`",
        _ => "the type is declared under `spec.variables`",
    })))
}

/// Checks the bounds of a value; fails with the problem and the remedy.
fn check_bounds(
    name: &str,
    variable: &Variable,
    regex: Option<&Regex>,
    value: AccountValue<'_>,
) -> Result<(), (String, Option<String>)> {
    match value {
        AccountValue::Text(text) => {
            if text.is_empty() && name == "name" {
                return Err((
                    "the name of an account is empty".to_owned(),
                    Some("add a name for each account".to_owned()),
                ));
            }
            if let Some(limit) = variable.max_length.filter(|&limit| text.len() > limit) {
                let message = format!("the {name} `{text}` has {} characters, and at most {limit} fit", text.len());
                return Err((message, Some("shorten it: the names of objects contain it and have a limit".to_owned())));
            }
            if let Some(regex) = regex.filter(|regex| !regex.is_match(text)) {
                let pattern = regex.as_str().trim_start_matches("^(?:").trim_end_matches(")$").to_owned();
                let help = format!("change the {name}, or its `pattern` under `spec.variables`");
                return Err((format!("the {name} `{text}` does not match `{pattern}`"), Some(help)));
            }
        }
        AccountValue::Int(number) => {
            if let Some(limit) = variable.minimum.filter(|limit| number < *limit) {
                let help = format!("change the {name}, or its `minimum` under `spec.variables`");
                return Err((format!("the {name} {number} is less than {limit}"), Some(help)));
            }
            if let Some(limit) = variable.maximum.filter(|limit| number > *limit) {
                let help = format!("change the {name}, or its `maximum` under `spec.variables`");
                return Err((format!("the {name} {number} is more than {limit}"), Some(help)));
            }
        }
        _ => {}
    }
    Ok(())
}
