//! Accounts: rows of values, and the schema their columns are declared with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock};

use bailiwick_yaml::diag::Origin;
use bailiwick_yaml::{self as yaml, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use super::{Data, NAMESPACE_MAPS, NAMESPACE_NAME, Target};

/// The values that a variable accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VariableType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A map of strings to strings or numbers, for overrides.
    Map,
    /// A day, such as `2026-12-31`.
    Date,
    /// Values in order. In a CSV file one cell has them all.
    List,
    /// Named values. Only in a JSON or YAML file.
    Record,
}

/// How a column of the account list is declared.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Variable {
    /// The type of the values.
    pub r#type: VariableType,
    /// A regular expression for the whole string.
    #[serde(default)]
    pub pattern: Option<Spanned<String>>,
    /// The most bytes a string may have.
    #[serde(default)]
    pub max_length: Option<usize>,
    /// The least an integer may be.
    #[serde(default)]
    pub minimum: Option<i64>,
    /// The most an integer may be.
    #[serde(default)]
    pub maximum: Option<i64>,
    /// True when no two accounts may have the same value.
    #[serde(default)]
    pub unique: bool,
    /// Whether an account may lack the value; a pattern with a missing value gets an empty text, and a pattern with
    /// `{name?}` is left out.
    #[serde(default)]
    pub optional: bool,
    /// The items of a list.
    #[serde(default)]
    #[schemars(with = "Option<variable_schema::Item>")]
    pub of: Option<Box<Variable>>,
    /// The fields of a record, by name.
    #[serde(default)]
    #[schemars(with = "Option<BTreeMap<String, variable_schema::Field>>")]
    pub fields: Option<Variables>,
    /// The text between the items of a list in a CSV cell. Default: `;`.
    #[serde(default)]
    pub separator: Option<Spanned<String>>,
}

/// The schemas of nested variables: a list has no lists, and a record no records.
#[allow(dead_code, reason = "the fields are read by the schema alone")]
mod variable_schema {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;

    /// The type of a single value.
    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum SingleType {
        /// Text.
        String,
        /// A whole number.
        Integer,
        /// True or false.
        Boolean,
        /// A day, such as `2026-12-31`.
        Date,
    }

    /// The type of an item of a list.
    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum ItemType {
        /// Text.
        String,
        /// A whole number.
        Integer,
        /// True or false.
        Boolean,
        /// A day, such as `2026-12-31`.
        Date,
        /// Named values. Only in a JSON or YAML file.
        Record,
    }

    /// The type of a field of a record.
    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum FieldType {
        /// Text.
        String,
        /// A whole number.
        Integer,
        /// True or false.
        Boolean,
        /// A day, such as `2026-12-31`.
        Date,
        /// Values in order.
        List,
    }

    macro_rules! schema {
        ($(#[$doc:meta])* $name:ident: $kind:ty { $($(#[$of:meta])* $field:ident: $type:ty,)* }) => {
            $(#[$doc])*
            #[derive(JsonSchema)]
            #[schemars(deny_unknown_fields)]
            #[serde(rename_all = "camelCase")]
            pub(super) struct $name {
                /// The type of the values.
                r#type: $kind,
                /// A regular expression for the whole string.
                pattern: Option<String>,
                /// The most bytes a string may have.
                max_length: Option<usize>,
                /// The least an integer may be.
                minimum: Option<i64>,
                /// The most an integer may be.
                maximum: Option<i64>,
                $($(#[$of])* $field: $type,)*
            }
        };
    }

    schema!(
        /// An item of a list.
        Item: ItemType {
            /// The fields of a record, by name.
            fields: Option<BTreeMap<String, Field>>,
        }
    );
    schema!(
        /// A field of a record.
        Field: FieldType {
            /// Whether a record may lack the field.
            optional: Option<bool>,
            /// The items of a list.
            of: Option<Single>,
        }
    );
    schema!(
        /// An item of a list in a record.
        Single: SingleType {}
    );
}

impl Variable {
    /// Returns a variable of any text.
    pub fn text() -> Self {
        Self {
            r#type: VariableType::String,
            pattern: None,
            max_length: None,
            minimum: None,
            maximum: None,
            unique: false,
            optional: false,
            of: None,
            fields: None,
            separator: None,
        }
    }

    /// Returns the variable of a field, for a record.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.fields.as_ref()?.get(name)
    }
}

/// The declared columns, by name.
pub type Variables = BTreeMap<String, Variable>;

/// Returns the variable of a name, or of a field of a record: `stage.cpu`.
pub fn declared<'v>(variables: &'v Variables, name: &str) -> Option<&'v Variable> {
    variables.get(name).or_else(|| {
        let (record, field) = name.split_once('.')?;
        variables.get(record)?.field(field)
    })
}

/// The value of an account in a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AccountValue<'a> {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A string.
    Text(&'a str),
    /// A map, a list or a record.
    Data(&'a Data),
}

impl AccountValue<'_> {
    /// Converts the value to data.
    pub fn to_data(self) -> Data {
        match self {
            AccountValue::Null => Data::Null,
            AccountValue::Bool(truth) => Data::Bool(truth),
            AccountValue::Int(number) => Data::Int(number),
            AccountValue::Text(text) => Data::text(text),
            AccountValue::Data(data) => data.clone(),
        }
    }

    /// Appends the value as JSON on one line.
    pub fn write_json(self, out: &mut String) {
        match self {
            AccountValue::Null => out.push_str("null"),
            AccountValue::Bool(truth) => out.push_str(if truth { "true" } else { "false" }),
            AccountValue::Int(number) => push_number(number, out),
            AccountValue::Text(text) => yaml::write::double_quoted(text, out),
            AccountValue::Data(data) => data.write_json(out),
        }
    }

    /// Appends the value as part of a text: a string without quotes, nothing for null.
    pub fn write_text(self, out: &mut String) {
        match self {
            AccountValue::Null => {}
            AccountValue::Text(text) => out.push_str(text),
            other => other.write_json(out),
        }
    }
}

fn push_number(number: i64, out: &mut String) {
    use std::fmt::Write as _;
    // A String takes everything.
    _ = write!(out, "{number}");
}

/// One account of a list.
#[derive(Debug, Clone, Copy)]
pub struct Account<'a> {
    list: &'a Accounts,
    row: usize,
}

impl<'a> Account<'a> {
    /// Returns the names of the columns.
    pub fn columns(self) -> &'a Arc<[Arc<str>]> {
        &self.list.columns
    }

    /// Returns the value of a column by its number.
    pub fn value(self, column: usize) -> AccountValue<'a> {
        let list = self.list;
        let cell = list.cells.get(self.row * list.columns.len() + column).filter(|_| column < list.columns.len());
        match cell.copied().unwrap_or(Cell::Null) {
            Cell::Null => AccountValue::Null,
            Cell::Bool(truth) => AccountValue::Bool(truth),
            Cell::Int(number) => AccountValue::Int(number.into()),
            Cell::Text { start, length } => {
                AccountValue::Text(list.texts.get(range(start, length)).unwrap_or_default())
            }
            Cell::Data(index) => match list.data.get(index as usize) {
                None => AccountValue::Null,
                Some(Data::Int(number)) => AccountValue::Int(*number),
                Some(data) => data.as_str().map_or(AccountValue::Data(data), AccountValue::Text),
            },
        }
    }

    /// Returns the values of all columns.
    pub fn values(self) -> impl Iterator<Item = AccountValue<'a>> {
        (0..self.list.columns.len()).map(move |column| self.value(column))
    }

    /// Returns the texts of the account, each with the name of its column: single texts, and the items of lists as `groups[0]`.
    /// Items after the 32nd are left out, and items with the name of another column.
    pub fn texts(self) -> Vec<(&'a str, &'a str)> {
        let mut texts = Vec::with_capacity(self.list.columns.len());
        for (column, (name, value)) in self.list.columns.iter().zip(self.values()).enumerate() {
            match value {
                AccountValue::Text(text) => texts.push((&**name, text)),
                AccountValue::Data(Data::List(items)) => {
                    let names = self.list.item_names().get(column).into_iter().flatten();
                    let found =
                        names.zip(items.iter()).filter_map(|(name, item)| Some((name.as_deref()?, item.as_str()?)));
                    texts.extend(found);
                }
                _ => {}
            }
        }
        texts
    }

    /// Returns the value of a column by its name.
    pub fn get(self, name: &str) -> Option<AccountValue<'a>> {
        let column = self.list.columns.iter().position(|column| **column == *name)?;
        Some(self.value(column)).filter(|value| *value != AccountValue::Null)
    }

    /// Returns the location of the row.
    pub fn origin(self) -> Origin {
        self.list.origins.get(self.row).copied().unwrap_or_default()
    }
}

/// All accounts of a tenancy: a table of up to a million cells with one buffer for their texts.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    columns: Arc<[Arc<str>]>,
    /// The cells, row after row.
    cells: Vec<Cell>,
    texts: String,
    /// Maps, lists and records, and long texts and large numbers.
    data: Vec<Data>,
    /// The location of each row.
    origins: Vec<Origin>,
    targets: AccountTargets,
    /// The names of the items of each column, if it has lists: `groups[0]`; none for the name of another column. Made on first use.
    item_names: OnceLock<Vec<Vec<Option<Box<str>>>>>,
}

/// The most items of a list with a name.
const MAXIMUM_NAMED_ITEMS: usize = 32;

/// The targets of each account: all targets of the policy, unless the account is in a file of some targets or has a
/// column with targets.
#[derive(Debug, Clone, Default)]
pub struct AccountTargets {
    /// The number of the set of each account; no numbers if every account is on every target.
    pub sets_of_rows: Vec<usize>,
    /// The different sets of targets.
    pub sets: Vec<BTreeSet<String>>,
}

impl AccountTargets {
    fn set(&self, row: usize) -> Option<&BTreeSet<String>> {
        self.sets.get(*self.sets_of_rows.get(row)?)
    }

    /// Whether two accounts are on one target.
    pub fn share_target(&self, row: usize, other: usize) -> bool {
        match (self.set(row), self.set(other)) {
            (Some(one), Some(other)) => !one.is_disjoint(other),
            _ => true,
        }
    }
}

/// A cell of the table.
#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Bool(bool),
    Int(i32),
    /// A range of the texts.
    Text {
        start: u32,
        length: u16,
    },
    /// An index into the data.
    Data(u32),
}

/// There may be millions of cells.
const _: () = assert!(size_of::<Cell>() == 8);

impl Accounts {
    /// Returns the table without rows and columns; every policy without accounts shares it.
    pub fn none() -> Arc<Self> {
        static NONE: LazyLock<Arc<Accounts>> = LazyLock::new(Arc::default);
        Arc::clone(&NONE)
    }

    /// Creates a list without accounts.
    pub fn new(columns: Arc<[Arc<str>]>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Reserves memory for rows and bytes of text: growth in steps needs twice the memory. If the reservation fails,
    /// the table grows in steps.
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        // A row has at least a separator for each of its cells; other lines are empty.
        let rows = rows.min(bytes / self.columns.len().max(1));
        _ = self.cells.try_reserve_exact(rows * self.columns.len());
        _ = self.texts.try_reserve_exact(bytes);
        _ = self.origins.try_reserve_exact(rows);
    }

    fn item_names(&self) -> &[Vec<Option<Box<str>>>] {
        self.item_names.get_or_init(|| {
            let is_column = |name: &str| self.columns.iter().any(|column| **column == *name);
            let name = |column: &str, item: usize| {
                let name = format!("{column}[{item}]");
                (!is_column(&name)).then(|| name.into_boxed_str())
            };
            let names = |column: &Arc<str>| (0..MAXIMUM_NAMED_ITEMS).map(|item| name(column, item)).collect();
            self.columns.iter().map(names).collect()
        })
    }

    /// Adds an account by its values, one for each column. Texts beyond 4 GiB are left out; lists of that size are
    /// rejected when read.
    pub fn push<'v>(&mut self, values: impl IntoIterator<Item = AccountValue<'v>>, origin: Origin) {
        for value in values {
            let cell = match value {
                AccountValue::Null => Cell::Null,
                AccountValue::Bool(truth) => Cell::Bool(truth),
                AccountValue::Int(number) => match i32::try_from(number) {
                    Ok(number) => Cell::Int(number),
                    Err(_) => self.add_data(Data::Int(number)),
                },
                AccountValue::Text(text) => match u16::try_from(text.len()) {
                    Ok(length) => {
                        let start = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
                        self.texts.push_str(text);
                        if start.checked_add(length.into()).is_some() {
                            Cell::Text { start, length }
                        } else {
                            Cell::Null
                        }
                    }
                    Err(_) => self.add_data(Data::text(text)),
                },
                AccountValue::Data(data) => self.add_data(data.clone()),
            };
            self.cells.push(cell);
        }
        self.origins.push(origin);
    }

    fn add_data(&mut self, data: Data) -> Cell {
        self.data.push(data);
        Cell::Data(u32::try_from(self.data.len() - 1).unwrap_or(u32::MAX))
    }

    /// Sorts the accounts by a column of strings; equal accounts keep their order. The rows themselves move, so that
    /// iteration reads memory in order.
    pub fn sort_by_text(&mut self, name: &str) {
        let Some(column) = self.columns.iter().position(|known| **known == *name) else { return };
        let text = |row: usize| match self.account(row).value(column) {
            AccountValue::Text(text) => text,
            _ => "",
        };
        // After the common prefix, a few bytes separate most texts without a comparison of the texts.
        let common = |length: usize, row: usize| {
            let bytes = text(0).bytes().zip(text(row).bytes()).take(length);
            bytes.take_while(|(first, other)| first == other).count()
        };
        let shared = (1..self.len()).fold(text(0).len(), common);
        let telling = |row: usize| {
            let mut bytes = [0; 16];
            let rest = text(row).as_bytes().get(shared..).unwrap_or_default();
            bytes.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
            u128::from_be_bytes(bytes)
        };
        let mut order: Vec<(u128, usize)> = (0..self.len()).map(|row| (telling(row), row)).collect();
        order.sort_unstable_by(|left, right| {
            left.0.cmp(&right.0).then_with(|| text(left.1).cmp(text(right.1))).then(left.1.cmp(&right.1))
        });
        if !order.is_sorted_by_key(|(_, row)| *row) {
            self.arrange(&mut order);
        }
    }

    /// Moves the rows into the given order in place: a copy of a million cells would waste memory.
    fn arrange(&mut self, order: &mut [(u128, usize)]) {
        let width = self.columns.len();
        let mut first = Vec::with_capacity(width);
        // Follows one cycle of the permutation: each row moves to the place left by the previous row.
        for start in 0..order.len() {
            first.clear();
            first.extend_from_slice(self.cells.get(start * width..(start + 1) * width).unwrap_or_default());
            let origin = self.origins.get(start).copied().unwrap_or_default();
            let mut place = start;
            while let Some((_, from)) = order.get_mut(place) {
                let from = std::mem::replace(from, place);
                if from == place {
                    break;
                }
                if from == start {
                    self.cells.splice(place * width..(place + 1) * width, first.drain(..));
                    self.origins.splice(place..=place, [origin]);
                    break;
                }
                self.cells.copy_within(from * width..(from + 1) * width, place * width);
                self.origins.copy_within(from..=from, place);
                place = from;
            }
        }
        let mut texts = String::with_capacity(self.texts.len());
        for cell in &mut self.cells {
            if let Cell::Text { start, length } = cell {
                let text = self.texts.get(range(*start, *length)).unwrap_or_default();
                *start = u32::try_from(texts.len()).unwrap_or(u32::MAX);
                texts.push_str(text);
            }
        }
        self.texts = texts;
    }

    /// Whether two accounts may have the same value in a column. It compares hashes of up to a million rows and needs
    /// little memory.
    pub fn may_repeat(&self, name: &str) -> bool {
        let Some(column) = self.columns.iter().position(|known| **known == *name) else { return false };
        let mut json = String::new();
        let hash = |value: AccountValue<'_>| match value {
            AccountValue::Null => None,
            AccountValue::Int(number) => Some(number.cast_unsigned()),
            AccountValue::Text(text) => Some(xxh3_64(text.as_bytes())),
            other => {
                json.clear();
                other.write_json(&mut json);
                Some(xxh3_64(json.as_bytes()))
            }
        };
        let mut hashes: Vec<u64> = self.iter().map(|account| account.value(column)).filter_map(hash).collect();
        hashes.sort_unstable();
        hashes.windows(2).any(|pair| matches!(pair, [left, right] if left == right))
    }

    /// Sets the targets of the accounts, in the order of the accounts.
    #[must_use]
    pub fn on_targets(self, targets: AccountTargets) -> Self {
        Self { targets, ..self }
    }

    /// Iterates over the accounts of a target, each with its position.
    pub fn on(&self, target: &str) -> impl Iterator<Item = (usize, Account<'_>)> {
        self.iter().enumerate().filter(move |(row, _)| self.targets.set(*row).is_none_or(|set| set.contains(target)))
    }

    /// Returns the number of accounts.
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// Whether there are no accounts.
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// Returns the account at a position.
    pub fn get(&self, position: usize) -> Option<Account<'_>> {
        (position < self.len()).then(|| self.account(position))
    }

    /// Returns every account in order.
    pub fn iter(&self) -> impl Iterator<Item = Account<'_>> {
        (0..self.len()).map(|row| self.account(row))
    }

    fn account(&self, row: usize) -> Account<'_> {
        Account { list: self, row }
    }
}

/// Returns the place of a text among all texts.
fn range(start: u32, length: u16) -> std::ops::Range<usize> {
    start as usize..start as usize + usize::from(length)
}

/// The variables allowed in a text.
#[derive(Debug, Clone, Copy)]
pub struct VariableScope<'s> {
    /// The columns of the accounts; none without accounts.
    pub accounts: Option<&'s Variables>,
    /// The targets the policy is compiled for.
    pub targets: &'s [Target],
    /// Whether undeclared account variables are allowed, for declaration by a user of the policy.
    pub open: bool,
    /// The variables of the namespace of the objects.
    pub namespace: NamespaceVariables,
}

/// The variables of the namespace of an object that a text may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceVariables {
    /// None: the object has no namespace, or the namespace is not known.
    None,
    /// `{namespace.name}` alone.
    Name,
    /// The name, the labels and the annotations.
    All,
}

impl NamespaceVariables {
    fn has(self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Name => name == NAMESPACE_NAME,
            Self::All => {
                name == NAMESPACE_NAME
                    || NAMESPACE_MAPS.iter().any(|map| name.len() > map.len() && name.starts_with(map))
            }
        }
    }

    /// Returns the names for help texts.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Name => &[NAMESPACE_NAME],
            Self::All => &[NAMESPACE_NAME, "namespace.labels.KEY", "namespace.annotations.KEY"],
        }
    }
}

/// The variables that every text may use: the kind and the name of the policy. They are filled in before the policy is
/// linked, unless the policy declares a variable of the name.
pub const POLICY_VARIABLES: [&str; 2] = ["policy.kind", "policy.name"];

impl<'s> VariableScope<'s> {
    /// Allows the variables of some targets.
    pub fn of_targets(targets: &'s [Target]) -> Self {
        Self { accounts: None, targets, open: false, namespace: NamespaceVariables::None }
    }

    /// Whether a variable is declared wherever it is used.
    pub fn knows(&self, name: &str) -> bool {
        match name.strip_prefix("target.") {
            Some(own) => self.targets.iter().all(|target| target.variable(own).is_some()),
            None if self.namespace.has(name) || POLICY_VARIABLES.contains(&name) => true,
            None => self.open || self.accounts.is_some_and(|variables| declared(variables, name).is_some()),
        }
    }

    /// Returns every allowed name.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.accounts.into_iter().flat_map(|variables| variables.keys().cloned()).collect();
        names.extend(self.namespace.names().iter().chain(&POLICY_VARIABLES).map(|&name| name.to_owned()));
        names.extend(["name", "version", "platform", "minor"].map(|own| format!("target.{own}")));
        if let Some(target) = self.targets.first() {
            names.extend(target.variables.keys().map(|name| format!("target.{name}")));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::{FileId, Span};

    /// Builds accounts with these names, a number and the first name of each kind, each row at its own location.
    fn accounts(names: &[&str]) -> Accounts {
        let columns: Vec<Arc<str>> = ["name", "number", "quota"].map(Arc::from).to_vec();
        let mut accounts = Accounts::new(columns.into());
        for (row, name) in names.iter().enumerate() {
            let quota = Data::map([("row", Data::Int(i64::try_from(row).expect("a small number")))]);
            let values = [AccountValue::Text(name), AccountValue::Int(7), AccountValue::Data(&quota)];
            accounts.push(values, Origin { file: FileId::default(), span: Span::new(row, row + 1) });
        }
        accounts
    }

    #[test]
    fn rows_are_sorted_as_a_whole() {
        let long = "tool-with-a-name-that-is-longer-than-what-is-looked-at";
        let (longer, longest) = (format!("{long}-a"), format!("{long}-b"));
        let names = ["tool-b", &longest, "tool-", "tool-b", "tool", "tool-a\0", &longer, "tool-a", "tool-é", "tool-b"];
        for count in 0..=names.len() {
            let names = &names[..count];
            let mut sorted = accounts(names);
            sorted.sort_by_text("name");
            let mut expected: Vec<(&str, usize)> = names.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            assert_eq!(sorted.len(), count);
            for (account, (name, row)) in sorted.iter().zip(expected) {
                assert_eq!(account.get("name"), Some(AccountValue::Text(name)));
                assert_eq!(account.origin().span, Span::new(row, row + 1));
                let quota = account.get("quota").expect("a quota").to_data();
                assert_eq!(quota.get("row"), Some(&Data::Int(i64::try_from(row).expect("a small number"))));
            }
        }
    }

    #[test]
    fn items_of_lists_are_texts_with_names() {
        let mut accounts = Accounts::new(["name".into(), "groups".into()].into());
        let groups = Data::List((0..40).map(|item| Data::Str(format!("g{item}").into())).collect());
        accounts.push([AccountValue::Text("pay"), AccountValue::Data(&groups)], Origin::default());
        let texts = accounts.get(0).expect("an account").texts();
        assert_eq!(texts.get(..3), Some([("name", "pay"), ("groups[0]", "g0"), ("groups[1]", "g1")].as_slice()));
        assert_eq!(texts.len(), 1 + MAXIMUM_NAMED_ITEMS);
        // An author may declare a column with the name of an item.
        let mut accounts = Accounts::new(["groups[0]".into(), "groups".into()].into());
        accounts.push([AccountValue::Text("admins"), AccountValue::Data(&groups)], Origin::default());
        let texts = accounts.get(0).expect("an account").texts();
        assert_eq!(texts.get(..2), Some([("groups[0]", "admins"), ("groups[1]", "g1")].as_slice()));
    }

    #[test]
    fn what_is_there_twice_is_noticed_in_every_type() {
        let two = accounts(&["a", "b"]);
        assert!(!two.may_repeat("name") && two.may_repeat("number") && !two.may_repeat("quota"));
        assert!(accounts(&["a", "b", "a"]).may_repeat("name"));
        let mut without = Accounts::new(["name".into()].into());
        (0..2).for_each(|_| without.push([AccountValue::Null], Origin::default()));
        assert!(!without.may_repeat("name"), "what is not there is not twice there");
    }
}
