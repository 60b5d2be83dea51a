//! Accounts that stand in for every account of a class, and what becomes of their values.
//!
//! Two accounts with different stand-ins in the same columns are compiled. What is the same in both is the same for
//! every account; what differs has to be explained by the stand-ins: the same text around the same columns. A text of
//! a policy or a template that happens to look like a stand-in stays what it is in both, and so is never taken for one.

use std::sync::Arc;

use crate::model::{Account, AccountValue, Accounts, Data};
use crate::render::{Columns, Marked};
use crate::yaml::{NodeRef, Value};

/// A part of a scalar that differs from account to account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// Text that stays as it is.
    Text(String),
    /// The value of a column.
    Column(usize),
}

/// A scalar made of the values of columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Composed {
    /// A string.
    Text(Vec<Piece>),
    /// The number of a column.
    Number(usize),
}

/// A difference without an explanation: the columns that take part, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::compile) struct Unexplained(pub(in crate::compile) Columns);

/// Most columns that stand-ins are made for.
const MOST_COLUMNS: usize = 100;

/// The two accounts.
pub(in crate::compile) struct StandIns {
    /// A list of the two.
    list: Accounts,
    /// For each column that differs the stand-ins of both accounts as text.
    texts: Vec<(usize, String, String)>,
}

impl StandIns {
    /// Stand-ins for an account's values in the columns; none when there are none, or too many.
    pub(in crate::compile) fn of(account: Account<'_>, columns: &Columns) -> Option<Self> {
        let mut texts = Vec::new();
        if columns.last().is_none_or(|last| *last >= MOST_COLUMNS) {
            return None;
        }
        for &column in columns {
            // Short words of letters and digits, and numbers that users, ports and the ends of ranges may be.
            let (first, second) = match account.value(column) {
                AccountValue::Text(_) => (format!("q{column:02}zwk"), format!("j{column:02}xvp")),
                AccountValue::Int(_) => ((28_657 + column).to_string(), (31_397 + column).to_string()),
                _ => return None,
            };
            texts.push((column, first, second));
        }
        let mut list = Accounts::new(Arc::clone(account.columns()));
        for is_second in [false, true] {
            let values = account.values().enumerate().map(|(column, own)| {
                let stand_in = texts.iter().find(|(known, ..)| *known == column);
                let stand_in = stand_in.map(|(_, first, second)| if is_second { second } else { first });
                match (stand_in, own) {
                    (Some(text), AccountValue::Int(_)) => text.parse().map_or(AccountValue::Null, AccountValue::Int),
                    (Some(text), _) => AccountValue::Text(text),
                    (None, own) => own,
                }
            });
            list.push(values, account.origin());
        }
        Some(Self { list, texts })
    }

    /// The two accounts.
    pub(in crate::compile) fn accounts(&self) -> impl Iterator<Item = Account<'_>> {
        self.list.iter()
    }

    /// Collects the differences of two values. Maps must have the same keys, and lists the same length.
    pub(in crate::compile) fn mark(&self, first: &Data, second: &Data) -> Result<Marked, Unexplained> {
        if first == second {
            return Ok(Marked::Same);
        }
        match (first, second) {
            (Data::List(first), Data::List(second)) if first.len() == second.len() => {
                let items = first.iter().zip(second.iter()).map(|(first, second)| self.mark(first, second));
                Ok(Marked::List(items.collect::<Result<_, _>>()?))
            }
            (Data::Map(first), Data::Map(second)) if first.len() == second.len() => {
                let entries = first.iter().zip(second.iter()).map(|((key, first), (other, second))| {
                    if key == other {
                        Ok((key.to_string(), self.mark(first, second)?))
                    } else {
                        Err(Unexplained(self.columns_in(key)))
                    }
                });
                Ok(Marked::Map(entries.collect::<Result<_, _>>()?))
            }
            (Data::Str(first), Data::Str(second)) => Ok(Marked::Hole(columns(&self.explain_text(first, second)?))),
            (Data::Int(first), Data::Int(second)) => Ok(Marked::Hole(columns(&self.explain_number(*first, *second)?))),
            _ => Err(Unexplained(Columns::new())),
        }
    }

    /// Explains two scalars of the objects; none if they are equal.
    pub(super) fn explain(&self, first: NodeRef<'_>, second: NodeRef<'_>) -> Result<Option<Composed>, Unexplained> {
        match (first.value(), second.value()) {
            (Value::Str(_), Value::Str(_)) => {
                let (first, second) = (first.as_str().unwrap_or_default(), second.as_str().unwrap_or_default());
                if first == second { Ok(None) } else { self.explain_text(first, second).map(Some) }
            }
            (first, second) if first == second => Ok(None),
            (Value::Int(first), Value::Int(second)) => self.explain_number(first, second).map(Some),
            _ => Err(Unexplained(Columns::new())),
        }
    }

    /// As [`StandIns::explain`], for two texts that differ.
    pub(super) fn explain_text(&self, first: &str, second: &str) -> Result<Composed, Unexplained> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut other = String::with_capacity(second.len());
        let mut rest = first;
        while let Some(letter) = rest.chars().next() {
            if let Some((column, text, of_second)) =
                self.texts.iter().find(|(_, text, _)| rest.starts_with(text.as_str()))
            {
                pieces.push(Piece::Column(*column));
                other.push_str(of_second);
                rest = rest.get(text.len()..).unwrap_or_default();
                continue;
            }
            match pieces.last_mut() {
                Some(Piece::Text(text)) => text.push(letter),
                _ => pieces.push(Piece::Text(letter.to_string())),
            }
            other.push(letter);
            rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        }
        if other == second { Ok(Composed::Text(pieces)) } else { Err(Unexplained(self.columns_in(first))) }
    }

    fn explain_number(&self, first: i64, second: i64) -> Result<Composed, Unexplained> {
        let is_one = |(_, of_first, of_second): &&(usize, String, String)| {
            *of_first == first.to_string() && *of_second == second.to_string()
        };
        let found = self.texts.iter().find(is_one);
        found.map(|(column, ..)| Composed::Number(*column)).ok_or(Unexplained(Columns::new()))
    }

    /// How often stand-ins of the first account are in a text.
    pub(in crate::compile) fn count_in(&self, text: &[u8]) -> usize {
        self.texts.iter().map(|(_, stand_in, _)| memchr::memmem::find_iter(text, stand_in).count()).sum()
    }

    /// The columns whose stand-ins are somewhere in a text.
    pub(super) fn columns_in(&self, text: &str) -> Columns {
        self.texts
            .iter()
            .filter(|(_, stand_in, _)| text.contains(stand_in.as_str()))
            .map(|(column, ..)| *column)
            .collect()
    }
}

/// The columns that a scalar is made of.
pub(super) fn columns(composed: &Composed) -> Columns {
    match composed {
        Composed::Number(column) => Columns::from([*column]),
        Composed::Text(pieces) => pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Column(column) => Some(*column),
                Piece::Text(_) => None,
            })
            .collect(),
    }
}
