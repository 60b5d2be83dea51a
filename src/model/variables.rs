//! Accounts: rows of values, and the schema their columns are declared with.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Data, Target};
use crate::diag::Origin;
use crate::yaml::Spanned;

/// What type a variable has.
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
}

/// How a column of the account list is declared.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Variable {
    /// The type of the values.
    pub r#type: VariableType,
    /// A regular expression that the whole string has to match.
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
    /// True when an account may lack the value; a pattern that uses it then gets nothing.
    #[serde(default)]
    pub optional: bool,
}

/// The declared columns, by name.
pub type Variables = BTreeMap<String, Variable>;

/// One account: its values in the order of [`Accounts::columns`].
#[derive(Debug, Clone)]
pub struct Account {
    columns: Arc<[Arc<str>]>,
    values: Box<[Data]>,
    /// Where the row stands.
    pub origin: Origin,
}

impl Account {
    /// An account from its values; one value for each column.
    pub fn new(columns: Arc<[Arc<str>]>, values: Vec<Data>, origin: Origin) -> Self {
        Self { columns, values: values.into(), origin }
    }

    /// A value by its column.
    pub fn get(&self, name: &str) -> Option<&Data> {
        let index = self.columns.iter().position(|column| &**column == name)?;
        self.values.get(index).filter(|value| **value != Data::Null)
    }
}

/// All accounts of a tenancy, sorted by name.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// The rows.
    pub rows: Vec<Account>,
}

/// Which variables a text may use.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'s> {
    /// The columns of the accounts; none where there are no accounts.
    pub accounts: Option<&'s Variables>,
    /// The targets the policy is compiled for.
    pub targets: &'s [Target],
    /// True where account variables are allowed that only a user of the policy declares.
    pub open: bool,
}

impl Scope<'_> {
    /// True when a variable is declared everywhere it is needed.
    pub fn knows(&self, name: &str) -> bool {
        match name.strip_prefix("target.") {
            Some(own) => self.targets.iter().all(|target| target.variable(own).is_some()),
            None => self.open || self.accounts.is_some_and(|variables| variables.contains_key(name)),
        }
    }

    /// Every name that may be used.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.accounts.into_iter().flat_map(|variables| variables.keys().cloned()).collect();
        names.extend(["target.name".to_owned(), "target.version".to_owned()]);
        if let Some(target) = self.targets.first() {
            names.extend(target.variables.keys().map(|name| format!("target.{name}")));
        }
        names
    }
}
