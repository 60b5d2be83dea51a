//! Reads a tenancy's accounts and holds each row against the declared columns.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use regex::Regex;

use super::TenancySpec;
use crate::diag::{Code, Diagnostic, Origin, Sink, nearest};
use crate::model::{Account, Accounts, Data, Linker, RawDocument, Variable, VariableType};
use crate::source::{Cell, Row, Sources, Table};
use crate::yaml::{NodeRef, Tree, Value};

/// Every account that fits, sorted by name; the others are in the sink.
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
    let mut rows = match (&spec.accounts.file, place.get("inline")) {
        (Some(file), None) => {
            let Some(path) = Sources::resolve(document.path, file) else {
                sink.push(
                    Diagnostic::error(Code::PathOutside, format!("`{}` leaves the workspace", file.value))
                        .at(file.origin)
                        .help("name a file below the workspace's root, relative to this policy's folder"),
                );
                return Accounts::default();
            };
            linker.claimed.insert(path.clone());
            read_file(&path, file.origin, &columns, linker, sink)
        }
        (None, Some(inline)) => columns.rows(&Table::from_list(inline, sink), sink),
        (file, _) => {
            let what = if file.is_some() { "both `file` and `inline`" } else { "neither `file` nor `inline`" };
            sink.push(
                Diagnostic::error(Code::InvalidAccounts, format!("the account list has {what}"))
                    .at(place.origin())
                    .help("give the accounts in one of the two ways"),
            );
            return Accounts::default();
        }
    };
    rows.sort_by(|left, right| name_of(left).cmp(name_of(right)));
    columns.refuse_duplicates(&rows, sink);
    Accounts { rows }
}

fn name_of(account: &Account) -> &str {
    account.get("name").and_then(Data::as_str).unwrap_or_default()
}

fn read_file(
    path: &str,
    asked: Origin,
    columns: &Columns<'_>,
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<Account> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let missing = |sink: &mut Sink| {
        sink.push(
            Diagnostic::error(Code::MissingFile, format!("there is no file `{path}`"))
                .at(asked)
                .help("the path is relative to the folder of this policy"),
        );
        Vec::new()
    };
    let failed = |message: String, sink: &mut Sink| {
        sink.push(Diagnostic::error(Code::InvalidAccounts, message).at(asked));
        Vec::new()
    };
    let before = sink.len();
    match extension {
        "csv" => match linker.sources.text(path, sink) {
            Ok(Some(file)) => {
                let files = linker.sources.shared_files();
                columns.rows(&Table::from_csv(file, &files, sink), sink)
            }
            Ok(None) if sink.len() > before => Vec::new(),
            Ok(None) => missing(sink),
            Err(error) => failed(error.message, sink),
        },
        "json" | "yaml" | "yml" => match linker.sources.tree(path, sink) {
            Ok(Some(tree)) => {
                let rows = read_tree(&tree, asked, columns, sink);
                linker.sources.forget_tree(path);
                rows
            }
            Ok(None) if sink.len() > before => Vec::new(),
            Ok(None) => missing(sink),
            Err(error) => failed(error.message, sink),
        },
        _ => {
            sink.push(
                Diagnostic::error(Code::InvalidAccounts, format!("`{path}` is no account list"))
                    .at(asked)
                    .help("an account list ends in .csv, .json, .yaml or .yml"),
            );
            Vec::new()
        }
    }
}

fn read_tree(tree: &Tree, asked: Origin, columns: &Columns<'_>, sink: &mut Sink) -> Vec<Account> {
    let mut documents = tree.documents();
    match (documents.next(), documents.next()) {
        (Some(list), None) => columns.rows(&Table::from_list(list, sink), sink),
        (None, _) => Vec::new(),
        (Some(_), Some(second)) => {
            sink.push(
                Diagnostic::error(Code::InvalidAccounts, "an account list is one document")
                    .at(second.origin())
                    .and(asked, "named here")
                    .help("remove the `---` and join the lists"),
            );
            Vec::new()
        }
    }
}

/// The declared columns, with what checking a value needs.
struct Columns<'s> {
    names: Arc<[Arc<str>]>,
    declared: Vec<(&'s str, &'s Variable, Option<Regex>)>,
}

impl<'s> Columns<'s> {
    fn declared(document: &RawDocument<'_>, spec: &'s TenancySpec, sink: &mut Sink) -> Option<Self> {
        let place = document.spec.get("variables").unwrap_or(document.spec);
        let fits = spec.variables.get("name").is_some_and(|name| name.r#type == VariableType::String && !name.optional);
        if !fits {
            sink.push(
                Diagnostic::error(Code::InvalidValue, "every account has a `name`, and it is not declared")
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
                            Diagnostic::error(Code::InvalidValue, "this is not a regular expression")
                                .at(pattern.origin)
                                .note(reason)
                                .help("a backslash stands before a character that is meant itself, such as `\\[`"),
                        );
                        return None;
                    }
                }
            }
            declared.push((name.as_str(), variable, regex));
        }
        let names = declared.iter().map(|(name, ..)| Arc::from(*name)).collect();
        Some(Self { names, declared })
    }

    fn rows(&self, table: &Table<'_>, sink: &mut Sink) -> Vec<Account> {
        let mut unknown = BTreeSet::new();
        table.rows.iter().filter_map(|row| self.row(row, table.header, &mut unknown, sink)).collect()
    }

    /// An account from a row; none when some value does not fit. A column that is not declared is told of once.
    fn row(
        &self,
        row: &Row<'_>,
        header: Option<Origin>,
        unknown: &mut BTreeSet<String>,
        sink: &mut Sink,
    ) -> Option<Account> {
        let mut values = vec![Data::Null; self.declared.len()];
        let mut refused = vec![false; self.declared.len()];
        let mut fits = true;
        for (column, cell) in &row.cells {
            // A column `quota.limits.memory` is the entry `limits.memory` of the map `quota`.
            let (name, entry) = match column.split_once('.') {
                Some((name, entry)) if !self.names.iter().any(|known| **known == **column) => (name, Some(entry)),
                _ => (column.as_str(), None),
            };
            let is_declared = |(known, variable, _): &(&str, &Variable, _)| {
                *known == name && (entry.is_none() || variable.r#type == VariableType::Map)
            };
            let Some(index) = self.declared.iter().position(is_declared) else {
                if unknown.insert(column.clone()) {
                    sink.push(self.unknown_column(column, header.unwrap_or(cell.origin())));
                }
                fits = false;
                continue;
            };
            let (Some((name, variable, regex)), Some(place)) = (self.declared.get(index), values.get_mut(index)) else {
                continue;
            };
            match entry {
                Some(entry) => add_entry(entry, cell, place),
                None => match value(name, variable, regex.as_ref(), cell) {
                    Ok(data) => *place = data,
                    Err(problem) => {
                        sink.push(*problem);
                        fits = false;
                        if let Some(refused) = refused.get_mut(index) {
                            *refused = true;
                        }
                    }
                },
            }
        }
        for (((name, variable, _), value), refused) in self.declared.iter().zip(&values).zip(refused) {
            if *value == Data::Null && !variable.optional && !refused {
                sink.push(
                    Diagnostic::error(Code::InvalidAccount, format!("this account has no `{name}`"))
                        .at(row.origin)
                        .help("give it a value, or declare the variable with `optional: true`"),
                );
                fits = false;
            }
        }
        fits.then(|| Account::new(Arc::clone(&self.names), values, row.origin))
    }

    fn unknown_column(&self, name: &str, origin: Origin) -> Diagnostic {
        let near = nearest(name, self.declared.iter().map(|(known, ..)| *known));
        Diagnostic::error(Code::InvalidAccount, format!("the column `{name}` is not declared")).at(origin).help(
            near.map_or_else(
                || format!("declare it under `spec.variables`: `{name}: {{type: string}}`"),
                |near| format!("did you mean `{near}`?"),
            ),
        )
    }

    fn refuse_duplicates(&self, rows: &[Account], sink: &mut Sink) {
        for (name, variable, _) in &self.declared {
            if !variable.unique && *name != "name" {
                continue;
            }
            let mut first: HashMap<String, Origin> = HashMap::with_capacity(rows.len());
            for row in rows {
                let Some(value) = row.get(name) else { continue };
                let mut text = String::new();
                value.write_json(&mut text);
                match first.get(&text) {
                    Some(&earlier) => sink.push(
                        Diagnostic::error(
                            Code::DuplicateAccount,
                            format!("two accounts have the {name} {}", bare(value)),
                        )
                        .at(row.origin.max(earlier))
                        .and(row.origin.min(earlier), "the other one")
                        .help(format!("give each account a {name} of its own")),
                    ),
                    None => {
                        first.insert(text, row.origin);
                    }
                }
            }
        }
    }
}

fn bare(value: &Data) -> String {
    let mut text = String::new();
    match value {
        Data::Str(inner) => text.push_str(inner),
        other => other.write_json(&mut text),
    }
    format!("`{text}`")
}

/// Puts a cell into a map of overrides; an empty one leaves the map as it is.
fn add_entry(entry: &str, cell: &Cell<'_>, place: &mut Data) {
    let value = match cell {
        Cell::Text(text, _) if text.is_empty() => return,
        Cell::Text(text, _) => Data::text(text.as_str()),
        Cell::Node(node) => Data::from_node(*node),
    };
    let single = Data::map([(entry, value)]);
    *place = place.merged_with(&single);
}

/// The value of a cell, by its declared type.
fn value(name: &str, variable: &Variable, regex: Option<&Regex>, cell: &Cell<'_>) -> Result<Data, Box<Diagnostic>> {
    let problem = |message: String| Box::new(Diagnostic::error(Code::InvalidAccount, message).at(cell.origin()));
    let data = match (cell, variable.r#type) {
        (
            Cell::Text(text, _),
            VariableType::String | VariableType::Integer | VariableType::Boolean | VariableType::Map,
        ) if text.is_empty() && (variable.optional || name != "name") => Data::Null,
        (Cell::Text(text, _), VariableType::String) => Data::text(text.as_str()),
        (Cell::Text(text, _), VariableType::Integer) => match text.parse::<i64>() {
            Ok(number) if text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => Data::Int(number),
            _ => {
                return Err(Box::new(
                    problem(format!("the {name} `{text}` is not a whole number"))
                        .help("write digits only, such as `1001`"),
                ));
            }
        },
        (Cell::Text(text, _), VariableType::Boolean) => match text.as_str() {
            "true" => Data::Bool(true),
            "false" => Data::Bool(false),
            _ => {
                return Err(Box::new(
                    problem(format!("the {name} `{text}` is neither `true` nor `false`")).help("write one of the two"),
                ));
            }
        },
        (Cell::Text(..), VariableType::Map) => {
            let help = format!("give each entry a column of its own, such as `{name}.pods`");
            return Err(Box::new(problem(format!("the {name} of a CSV table cannot be one cell")).help(help)));
        }
        (Cell::Node(node), wanted) => node_value(name, *node, wanted, variable.optional)?,
    };
    check_bounds(name, variable, regex, &data).map_err(|(message, help)| {
        let diagnostic = problem(message);
        Box::new(diagnostic.help_maybe(help))
    })?;
    Ok(data)
}

fn node_value(name: &str, node: NodeRef<'_>, wanted: VariableType, optional: bool) -> Result<Data, Box<Diagnostic>> {
    let expected = match (node.value(), wanted) {
        (Value::Null, _) if optional => return Ok(Data::Null),
        (Value::Str(_), VariableType::String)
        | (Value::Int(_), VariableType::Integer)
        | (Value::Bool(_), VariableType::Boolean)
        | (Value::Map(_), VariableType::Map) => return Ok(Data::from_node(node)),
        (_, VariableType::String) => "a string",
        (_, VariableType::Integer) => "a whole number",
        (_, VariableType::Boolean) => "true or false",
        (_, VariableType::Map) => "a map",
    };
    let diagnostic =
        Diagnostic::error(Code::InvalidAccount, format!("the {name} should be {expected} and is {}", node.describe()))
            .at(node.origin());
    let scalar = matches!(node.value(), Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Null);
    Err(Box::new(diagnostic.help(match (wanted, node.value()) {
        (VariableType::String, _) if scalar => "put it in quotes; without them kubectl reads it so too",
        (VariableType::Integer | VariableType::Boolean, Value::Str(_)) => "leave out the quotes",
        (VariableType::Map, _) => "write its entries, such as `{pods: 10}`",
        _ => "the type is declared under `spec.variables`",
    })))
}

/// Why a value breaks its declaration, with what to do.
fn check_bounds(
    name: &str,
    variable: &Variable,
    regex: Option<&Regex>,
    data: &Data,
) -> Result<(), (String, Option<String>)> {
    match data {
        Data::Str(text) => {
            if text.is_empty() && name == "name" {
                return Err(("an account's name is empty".to_owned(), Some("give each account a name".to_owned())));
            }
            if let Some(limit) = variable.max_length.filter(|&limit| text.len() > limit) {
                let message = format!("the {name} `{text}` has {} characters, and at most {limit} fit", text.len());
                return Err((
                    message,
                    Some("names of objects are made from it and have a limit of their own".to_owned()),
                ));
            }
            if let Some(regex) = regex.filter(|regex| !regex.is_match(text)) {
                let pattern = regex.as_str().trim_start_matches("^(?:").trim_end_matches(")$").to_owned();
                let help = format!("change the {name}, or its `pattern` under `spec.variables`");
                return Err((format!("the {name} `{text}` does not match `{pattern}`"), Some(help)));
            }
        }
        Data::Int(number) => {
            if let Some(limit) = variable.minimum.filter(|limit| number < limit) {
                let help = format!("change the {name}, or its `minimum` under `spec.variables`");
                return Err((format!("the {name} {number} is less than {limit}"), Some(help)));
            }
            if let Some(limit) = variable.maximum.filter(|limit| number > limit) {
                let help = format!("change the {name}, or its `maximum` under `spec.variables`");
                return Err((format!("the {name} {number} is more than {limit}"), Some(help)));
            }
        }
        _ => {}
    }
    Ok(())
}
