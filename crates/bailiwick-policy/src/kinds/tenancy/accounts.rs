//! Reads a tenancy's accounts and holds each row against the declared columns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Sink, nearest};
use bailiwick_yaml::digest::digest_of_run;
use bailiwick_yaml::{NodeRef, NodeValue, Spanned, Tree};
use hashbrown::HashMap;
use regex::Regex;

use super::membership::MembershipInputs;
use super::texts::is_of_target;
use super::{AccountList, TenancySpec};
use crate::kinds::matching_files::matching_files;
use crate::model::{
    Account, AccountTargets, AccountValue, Accounts, Data, Date, DateError, Fill, Linker, Pattern, RawDocument, Target,
    Variable, VariableType,
};
use crate::source::{Cell, Sources, TableRow, read_account, read_csv, read_list};

/// An input of the list: a file below the folder of the policy.
struct AccountFile {
    path: String,
    /// The location of the name in the policy.
    asked: Origin,
    /// The targets of its accounts; none for all targets.
    targets: Option<BTreeSet<String>>,
    /// Whether the file may have one account in the place of a list.
    may_be_single: bool,
}

/// Reads every valid account, sorted by name; reports invalid ones.
pub(super) fn read(
    document: &RawDocument<'_>,
    spec: &TenancySpec,
    targets: &[Target],
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Accounts {
    let Some(columns) = Columns::declared(document, spec, sink) else {
        return Accounts::default();
    };
    let place = document.spec.get("accounts").unwrap_or(document.spec);
    let list = &spec.accounts;
    let mut of_files = BTreeMap::new();
    let mut accounts = match (&list.file, place.get("inline"), list.files.is_empty()) {
        (None, Some(inline), true) => {
            columns.accounts(TableSize::default(), sink, &mut |sink, see| read_list(inline, sink, see))
        }
        (Some(_), None, true) | (None, None, false) => {
            let files = files(document, list, targets, linker, sink);
            let mut all = Accounts::new(Arc::clone(&columns.names));
            for file in &files {
                linker.claimed.insert(file.path.clone());
                let read = read_file(file, &columns, linker, sink);
                if let (Some(first), Some(own)) = (read.get(0), &file.targets) {
                    of_files.insert(first.origin().file, own.clone());
                }
                if files.len() == 1 {
                    all = read
                } else {
                    read.iter().for_each(|account| all.push(account.values(), account.origin()))
                }
            }
            all
        }
        (None, None, true) => {
            let message = "the account list has neither `file` nor `inline`";
            let diagnostic = Diagnostic::error(codes::INVALID_ACCOUNTS, message).at(place.origin());
            sink.push(diagnostic.help("use one of `file`, `files` and `inline`"));
            return Accounts::default();
        }
        (_, inline, has_no_files) => {
            let others =
                if inline.is_some() && has_no_files { "`file` and `inline`" } else { "`files` and another list" };
            let diagnostic = Diagnostic::error(codes::INVALID_ACCOUNTS, format!("the account list has both {others}"));
            sink.push(diagnostic.at(place.origin()).help("use one of `file`, `files` and `inline`"));
            return Accounts::default();
        }
    };
    accounts.sort_by_text("name");
    let reading = MembershipInputs { list, variables: &spec.variables, targets, of_files: &of_files };
    let targets = reading.read(&accounts, linker.files(), sink);
    columns.refuse_duplicates(&accounts, &targets, sink);
    accounts.on_targets(targets)
}

/// Returns the files of an account list; reports missing files and files outside the workspace.
fn files(
    document: &RawDocument<'_>,
    list: &AccountList,
    targets: &[Target],
    linker: &mut Linker<'_>,
    sink: &mut Sink,
) -> Vec<AccountFile> {
    let Some(name) = &list.file else {
        let found = matching_files(document, &list.files, linker, sink);
        let of_path = |(path, asked)| AccountFile { path, asked, targets: None, may_be_single: true };
        return found.into_iter().map(of_path).collect();
    };
    let is_of_target = is_of_target(Some(name));
    let pattern = if is_of_target { Pattern::parse_checked(name) } else { Pattern::constant(name) };
    let mut by_path: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for target in targets {
        by_path.entry(pattern.fill(Fill::from_target(target)).to_string()).or_default().insert(target.name.clone());
    }
    let mut files = Vec::new();
    for (written, targets) in by_path {
        let Some(path) = Sources::resolve(document.path, &written) else {
            sink.push(
                Diagnostic::error(codes::PATH_OUTSIDE, format!("`{written}` leaves the workspace"))
                    .at(name.origin)
                    .help("use a file below the root of the workspace, relative to the folder of this policy"),
            );
            continue;
        };
        let targets = is_of_target.then_some(targets);
        files.push(AccountFile { path, asked: name.origin, targets, may_be_single: false });
    }
    files
}

fn read_file(list: &AccountFile, columns: &Columns<'_>, linker: &mut Linker<'_>, sink: &mut Sink) -> Accounts {
    let AccountFile { path, asked, .. } = list;
    let asked = *asked;
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let missing = |sink: &mut Sink| {
        let missing = Diagnostic::error(codes::MISSING_FILE, format!("there is no file `{path}`")).at(asked);
        let of_targets = list.targets.iter().map(|targets| format!("the accounts of {}", quoted_list(targets)));
        let missing = of_targets.fold(missing, Diagnostic::note);
        sink.push(missing.help("write the path relative to the folder of this policy"));
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
                let rows = read_tree(&tree, list, columns, sink);
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

fn quoted_list(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn read_tree(tree: &Tree, file: &AccountFile, columns: &Columns<'_>, sink: &mut Sink) -> Accounts {
    let mut documents = tree.documents();
    match (documents.next(), documents.next()) {
        (Some(list), None) => columns.accounts(TableSize::default(), sink, &mut |sink, see| {
            if file.may_be_single && list.is_map() { read_account(list, sink, see) } else { read_list(list, sink, see) }
        }),
        (None, _) => Accounts::default(),
        (Some(_), Some(second)) => {
            sink.push(
                Diagnostic::error(codes::INVALID_ACCOUNTS, "an account list must be one document")
                    .at(second.origin())
                    .and(file.asked, "named here")
                    .help("remove the `---` and join the lists"),
            );
            Accounts::default()
        }
    }
}

/// The declared columns, with prepared checks of their values.
struct Columns<'s> {
    names: Arc<[Arc<str>]>,
    declared: Vec<(&'s str, Checked<'s>)>,
    positions: HashMap<&'s str, usize>,
}

/// A variable with prepared checks of its values.
struct Checked<'s> {
    variable: &'s Variable,
    pattern: Option<Regex>,
    /// The items of a list.
    of: Option<Box<Checked<'s>>>,
    /// The fields of a record.
    fields: Vec<(&'s str, Checked<'s>)>,
}

impl<'s> Checked<'s> {
    /// Checks a declaration and prepares the checks of its values.
    fn declared(name: &str, variable: &'s Variable, place: Origin, sink: &mut Sink) -> Option<Self> {
        if let Err((message, help)) = check_declaration(name, variable) {
            sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(place).help(help));
            return None;
        }
        let pattern = match &variable.pattern {
            Some(pattern) => Some(read_regex(pattern, sink)?),
            None => None,
        };
        let of = match variable.of.as_deref() {
            Some(of) => Some(Box::new(Self::declared(name, of, place, sink)?)),
            None => None,
        };
        let fields =
            variable.fields.iter().flatten().map(|(field, own)| {
                Some((field.as_str(), Self::declared(&format!("{name}.{field}"), own, place, sink)?))
            });
        Some(Self { variable, pattern, of, fields: fields.collect::<Option<_>>()? })
    }
}

/// Checks the parts of a declaration; fails with the problem and the remedy.
fn check_declaration(name: &str, variable: &Variable) -> Result<(), (String, &'static str)> {
    let is_list = variable.r#type == VariableType::List;
    let is_record = variable.r#type == VariableType::Record;
    let nested = variable.of.as_deref();
    if is_list != nested.is_some() {
        let message = if is_list { "is a list without `of`" } else { "has `of`, and is no list" };
        return Err((format!("the variable `{name}` {message}"), "write `{type: list, of: {type: string}}`"));
    }
    if is_record != variable.fields.is_some() {
        let message = if is_record { "is a record without `fields`" } else { "has `fields`, and is no record" };
        return Err((
            format!("the variable `{name}` {message}"),
            "write `{type: record, fields: {cpu: {type: integer}}}`",
        ));
    }
    if variable.separator.as_ref().is_some_and(|separator| !is_list || separator.is_empty()) {
        let message = format!("the variable `{name}` has a `separator` without a use");
        return Err((message, "a list has a separator of at least one character, such as `|`"));
    }
    let is_nested = |kind: VariableType| matches!(kind, VariableType::List | VariableType::Map);
    if nested.is_some_and(|of| is_nested(of.r#type) || of.unique || of.optional) {
        let message = format!("the items of the list `{name}` are lists, maps, `unique` or `optional`");
        return Err((message, "the items of a list are texts, numbers, days or records, and each is there"));
    }
    let is_deep = |field: &Variable| matches!(field.r#type, VariableType::Map | VariableType::Record) || field.unique;
    if variable.fields.iter().flatten().any(|(_, field)| is_deep(field)) {
        let message = format!("a field of the record `{name}` is a record, a map or `unique`");
        return Err((message, "the fields of a record are texts, numbers, days or lists"));
    }
    Ok(())
}

fn read_regex(pattern: &Spanned<String>, sink: &mut Sink) -> Option<Regex> {
    match Regex::new(&format!("^(?:{})$", pattern.value)) {
        Ok(compiled) => Some(compiled),
        Err(error) => {
            let reason = error.to_string();
            let last = reason.lines().last().map_or("", |line| line);
            let reason = last.trim_start_matches("error: ").trim_end_matches('.').to_lowercase();
            sink.push(
                Diagnostic::error(codes::INVALID_VALUE, "this is not a regular expression")
                    .at(pattern.origin)
                    .note(reason)
                    .help("write a backslash before a literal character, such as `\\[`"),
            );
            None
        }
    }
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
            declared.push((name.as_str(), Checked::declared(name, variable, place.origin(), sink)?));
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
                    sink.push(
                        self.unknown_column(column, row.place_of_column(column).unwrap_or_else(|| cell.origin())),
                    );
                }
                fits = false;
                return;
            };
            let (Some((name, checked)), Some(place)) = (self.declared.get(index), values.get_mut(index)) else {
                return;
            };
            place.is_there = true;
            match entry {
                Some(entry) => overrides.entry(index).or_default().extend(entry_of(entry, cell)),
                None => match value(name, checked, cell) {
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
                place.held = Held::Data(place.held.get().to_data().merged_with(&Data::map(entries)));
            }
        }
        for ((name, checked), value) in self.declared.iter().zip(&values) {
            if value.held.get() != AccountValue::Null || checked.variable.optional || value.is_refused {
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
        let is_map = self.declared.get(index).is_some_and(|(_, own)| own.variable.r#type == VariableType::Map);
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

    /// Reports two accounts of one target with the same value of a unique column.
    fn refuse_duplicates(&self, accounts: &Accounts, targets: &AccountTargets, sink: &mut Sink) {
        for (name, checked) in &self.declared {
            if !checked.variable.unique && *name != "name" {
                continue;
            }
            if !accounts.may_repeat(name) {
                continue;
            }
            let mut known: HashMap<u128, Vec<usize>> = HashMap::with_capacity(accounts.len());
            let mut text = String::new();
            for (row, account) in accounts.iter().enumerate() {
                let Some(value) = account.get(name) else { continue };
                text.clear();
                value.write_json(&mut text);
                let earlier = known.entry(digest_of_run(&text)).or_default();
                let same = earlier.iter().find(|earlier| targets.share_target(**earlier, row));
                match same.and_then(|earlier| accounts.get(*earlier)) {
                    Some(earlier) => sink.push(duplicate_account(name, account, earlier.origin())),
                    None => earlier.push(row),
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
    Data(Data),
}

impl Held<'_> {
    fn get(&self) -> AccountValue<'_> {
        match self {
            Held::Value(value) => *value,
            Held::Data(data) => AccountValue::Data(data),
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
fn value<'r>(name: &str, checked: &Checked<'_>, cell: Cell<'r>) -> Result<Held<'r>, Box<Diagnostic>> {
    let held = match cell {
        Cell::Text(text, ..) => text_value(name, checked, text).map_err(|problem| problem.at(cell.origin()))?,
        Cell::Node(node) => return node_value(name, checked, node),
    };
    checked.check_bounds(name, held.get()).map_err(|problem| problem.at(cell.origin()))?;
    Ok(held)
}

/// The most items of a list. Two loops make an object for each pair of items.
const MOST_ITEMS: usize = 1_000;

/// The problem of a value, with the remedy.
struct Problem {
    code: Code,
    message: String,
    help: Option<String>,
}

impl Problem {
    fn new(message: String, help: impl Into<String>) -> Self {
        Self { code: codes::INVALID_ACCOUNT, message, help: Some(help.into()) }
    }

    fn at(self, origin: Origin) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(self.code, self.message).at(origin).help_maybe(self.help))
    }
}

/// Converts the text of a cell to its declared type.
fn text_value<'r>(name: &str, checked: &Checked<'_>, text: &'r str) -> Result<Held<'r>, Problem> {
    let variable = checked.variable;
    let held = match (text, variable.r#type) {
        (text, VariableType::List) => return list_of_text(name, checked, text).map(Held::Data),
        ("", _) if variable.optional || name != "name" => AccountValue::Null,
        (text, VariableType::String) => AccountValue::Text(text),
        (text, VariableType::Date) => {
            check_date(name, text)?;
            AccountValue::Text(text)
        }
        (text, VariableType::Integer) => match text.parse::<i64>() {
            Ok(number) if text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
                AccountValue::Int(number)
            }
            _ => {
                let message = format!("the {name} `{text}` is not a whole number");
                return Err(Problem::new(message, "write only digits, such as `1001`"));
            }
        },
        ("true", VariableType::Boolean) => AccountValue::Bool(true),
        ("false", VariableType::Boolean) => AccountValue::Bool(false),
        (text, VariableType::Boolean) => {
            let message = format!("the {name} `{text}` is neither `true` nor `false`");
            return Err(Problem::new(message, "write one of the two"));
        }
        (_, VariableType::Map) => {
            let help = format!("use one column for each entry, such as `{name}.pods`");
            return Err(Problem::new(format!("the {name} of a CSV table needs several columns"), help));
        }
        (_, VariableType::Record) => return Err(no_record(name)),
    };
    Ok(Held::Value(held))
}

/// Splits a cell of a list. Blanks around an item are no part of it; an empty cell is an empty list, and an empty item after the last
/// separator is none.
fn list_of_text(name: &str, checked: &Checked<'_>, text: &str) -> Result<Data, Problem> {
    let Some(of) = checked.of.as_deref() else { return Ok(Data::Null) };
    if of.variable.r#type == VariableType::Record {
        return Err(no_record(name));
    }
    let separator = checked.variable.separator.as_ref().map_or(";", |separator| separator.as_str());
    let mut items: Vec<&str> = text.split(separator).map(str::trim).collect();
    if items.last() == Some(&"") {
        items.pop();
    }
    let item = |text: &&str| {
        if text.is_empty() {
            let message = format!("an item of the {name} is empty");
            return Err(Problem::new(message, format!("remove one of the separators `{separator}`")));
        }
        let held = text_value(name, of, text)?;
        of.check_bounds(name, held.get())?;
        Ok(held.get().to_data())
    };
    items.iter().map(item).collect::<Result<_, _>>().map(Data::List)
}

fn no_record(name: &str) -> Problem {
    let message = format!("the {name} has fields, and a CSV table has no place for them");
    Problem { code: codes::INVALID_ACCOUNTS, ..Problem::new(message, "write the accounts in a JSON or YAML file") }
}

fn check_date(name: &str, text: &str) -> Result<(), Problem> {
    let problem = |error: DateError| Problem::new(format!("the {name} `{text}` is not a date"), error.to_string());
    text.parse::<Date>().map(|_| ()).map_err(problem)
}

/// Converts a node to the declared type.
fn node_value<'r>(name: &str, checked: &Checked<'_>, node: NodeRef<'r>) -> Result<Held<'r>, Box<Diagnostic>> {
    let variable = checked.variable;
    let at = |problem: Problem| problem.at(node.origin());
    let held = match (node.value(), variable.r#type) {
        (NodeValue::Null, _) if variable.optional => return Ok(Held::Value(AccountValue::Null)),
        (NodeValue::Str(_), VariableType::String | VariableType::Date) => {
            let text = node.as_str().map_or("", |text| text);
            if variable.r#type == VariableType::Date {
                check_date(name, text).map_err(at)?;
            }
            Held::Value(AccountValue::Text(text))
        }
        (NodeValue::Int(number), VariableType::Integer) => Held::Value(AccountValue::Int(number)),
        (NodeValue::Bool(truth), VariableType::Boolean) => Held::Value(AccountValue::Bool(truth)),
        (NodeValue::Map(_), VariableType::Map) => Held::Data(Data::from_node(node)),
        (NodeValue::Map(_), VariableType::Record) => Held::Data(record(name, checked, node)?),
        (NodeValue::Seq(_), VariableType::List) => {
            let Some(of) = checked.of.as_deref() else { return Ok(Held::Value(AccountValue::Null)) };
            let items = node.items().map(|item| node_value(name, of, item).map(|held| held.get().to_data()));
            Held::Data(Data::List(items.collect::<Result<_, _>>()?))
        }
        _ => return Err(wrong_type(name, variable.r#type, node)),
    };
    checked.check_bounds(name, held.get()).map_err(at)?;
    Ok(held)
}

/// Converts a record, with its fields in the order of their names.
fn record(name: &str, checked: &Checked<'_>, node: NodeRef<'_>) -> Result<Data, Box<Diagnostic>> {
    let known = || checked.fields.iter().map(|(field, _)| *field);
    for (key, _) in node.entries() {
        let field = key.as_str().map_or("", |field| field);
        if !known().any(|own| own == field) {
            let message = format!("the {name} has no field `{field}`");
            let help = nearest(field, known()).map(|near| format!("did you mean `{near}`?"));
            let fields = || format!("its fields are: {}", known().collect::<Vec<_>>().join(", "));
            return Err(Problem::new(message, help.unwrap_or_else(fields)).at(key.origin()));
        }
    }
    let mut fields = Vec::new();
    for (field, own) in &checked.fields {
        let path = format!("{name}.{field}");
        match node.get(field) {
            Some(value) => fields.push((*field, node_value(&path, own, value)?.get().to_data())),
            None if own.variable.optional => {}
            None => {
                let help = "add the field, or declare it with `optional: true`";
                return Err(Problem::new(format!("this account has no `{path}`"), help).at(node.origin()));
            }
        }
    }
    Ok(Data::map(fields))
}

fn wrong_type(name: &str, wanted: VariableType, node: NodeRef<'_>) -> Box<Diagnostic> {
    let expected = match wanted {
        VariableType::String => "a string",
        VariableType::Integer => "a whole number",
        VariableType::Boolean => "true or false",
        VariableType::Map => "a map",
        VariableType::Date => "a date in quotes",
        VariableType::List => "a list",
        VariableType::Record => "a record",
    };
    let scalar = matches!(node.value(), NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_) | NodeValue::Null);
    let help = match (wanted, node.value()) {
        (VariableType::String | VariableType::Date, _) if scalar => {
            "put it in quotes; kubectl reads the value without quotes in the same way"
        }
        (VariableType::Integer | VariableType::Boolean, NodeValue::Str(_)) => "remove the quotes",
        (VariableType::Map, _) => "write its entries, such as `{pods: 10}`",
        (VariableType::List, _) => "write its items, such as `[dev, prod]`",
        _ => "the type is declared under `spec.variables`",
    };
    Problem::new(format!("the {name} is {}, not {expected}", node.describe()), help).at(node.origin())
}

impl Checked<'_> {
    /// Checks the bounds of a value.
    fn check_bounds(&self, name: &str, value: AccountValue<'_>) -> Result<(), Problem> {
        let variable = self.variable;
        match value {
            AccountValue::Data(Data::List(items)) if items.len() > MOST_ITEMS => {
                let message = format!("the {name} has {} items, and at most {MOST_ITEMS} fit", items.len());
                return Err(Problem::new(message, "divide the account into several accounts"));
            }
            AccountValue::Text(text) => {
                if text.is_empty() && name == "name" {
                    return Err(Problem::new(
                        "the name of an account is empty".to_owned(),
                        "add a name for each account",
                    ));
                }
                if let Some(limit) = variable.max_length.filter(|&limit| text.len() > limit) {
                    let message = format!("the {name} `{text}` has {} characters, and at most {limit} fit", text.len());
                    return Err(Problem::new(message, "shorten it: the names of objects contain it and have a limit"));
                }
                if let Some(regex) = self.pattern.as_ref().filter(|regex| !regex.is_match(text)) {
                    let pattern = regex.as_str().trim_start_matches("^(?:").trim_end_matches(")$").to_owned();
                    let help = format!("change the {name}, or its `pattern` under `spec.variables`");
                    return Err(Problem::new(format!("the {name} `{text}` does not match `{pattern}`"), help));
                }
            }
            AccountValue::Int(number) => {
                if let Some(limit) = variable.minimum.filter(|limit| number < *limit) {
                    let help = format!("change the {name}, or its `minimum` under `spec.variables`");
                    return Err(Problem::new(format!("the {name} {number} is less than {limit}"), help));
                }
                if let Some(limit) = variable.maximum.filter(|limit| number > *limit) {
                    let help = format!("change the {name}, or its `maximum` under `spec.variables`");
                    return Err(Problem::new(format!("the {name} {number} is more than {limit}"), help));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
