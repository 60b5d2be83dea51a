//! Two accounts that represent every account of a class, and the changes of their values.
//!
//! Two accounts with different stand-ins in the same columns are compiled. What is the same in both is the same for
//! every account; each difference has to be explained by the stand-ins: the same text around the same columns. A text of
//! a policy or a template that happens to look like a stand-in stays the same in both. Then there is no class.

use std::sync::Arc;

use super::Columns;
use crate::model::{Account, AccountValue, Accounts, Data};
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

    /// Returns the two accounts.
    pub(in crate::compile) fn accounts(&self) -> impl Iterator<Item = Account<'_>> {
        self.list.iter()
    }

    /// Opens the differences of two values. Maps must have the same keys, and lists the same length.
    pub(in crate::compile) fn open(&self, first: &Data, second: &Data) -> Option<Data> {
        match (first, second) {
            (Data::List(items), Data::List(others)) if items.len() == others.len() => {
                let items = items.iter().zip(others.iter()).map(|(first, second)| self.open(first, second));
                Some(Data::List(items.collect::<Option<_>>()?))
            }
            (Data::Map(entries), Data::Map(others)) if entries.len() == others.len() => {
                let entries = entries.iter().zip(others.iter()).map(|((key, first), (other, second))| {
                    (key == other).then_some((Arc::clone(key), self.open(first, second)?))
                });
                Some(Data::Map(entries.collect::<Option<_>>()?))
            }
            (Data::Str(text), Data::Str(other)) => {
                let differs = has_column(&self.explain_text(text, other)?);
                Some(if differs { Data::Open(Arc::new(first.clone())) } else { first.clone() })
            }
            (Data::Int(number), Data::Int(other)) => {
                let differs = self.explain_number(*number, *other)?.is_some();
                Some(if differs { Data::Open(Arc::new(first.clone())) } else { first.clone() })
            }
            (first, second) => (first == second).then(|| first.clone()),
        }
    }

    /// Explains two scalars of the objects: none within if they are equal, none at all if there is no explanation.
    pub(super) fn explain(&self, first: NodeRef<'_>, second: NodeRef<'_>) -> Option<Option<Composed>> {
        match (first.value(), second.value()) {
            (Value::Str(_), Value::Str(_)) => {
                let pieces = self.explain_text(first.as_str()?, second.as_str()?)?;
                Some(Some(pieces).filter(|pieces| has_column(pieces)).map(Composed::Text))
            }
            (Value::Int(first), Value::Int(second)) => self.explain_number(first, second),
            (first, second) => (first == second).then_some(None),
        }
    }

    /// Explains two texts by their pieces. None for a text of a policy that looks like a stand-in: two texts of the first
    /// account are then equal only if they have the same pieces, and equal pieces give equal texts for every account.
    pub(super) fn explain_text(&self, first: &str, second: &str) -> Option<Vec<Piece>> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut other = String::with_capacity(second.len());
        let mut rest = first;
        while let Some(letter) = rest.chars().next() {
            if let Some((column, text, of_second)) =
                self.texts.iter().find(|(_, text, _)| rest.starts_with(text.as_str()))
            {
                pieces.push(Piece::Column(*column));
                other.push_str(of_second);
                rest = rest.get(text.len()..)?;
                continue;
            }
            match pieces.last_mut() {
                Some(Piece::Text(text)) => text.push(letter),
                _ => pieces.push(Piece::Text(letter.to_string())),
            }
            other.push(letter);
            rest = rest.get(letter.len_utf8()..)?;
        }
        (other == second).then_some(pieces)
    }

    /// Explains two numbers: none within if they are the same for every account. A number of a policy that is the stand-in
    /// has no explanation.
    fn explain_number(&self, first: i64, second: i64) -> Option<Option<Composed>> {
        let stand_in = self.texts.iter().find(|(_, of_first, _)| *of_first == first.to_string());
        let Some((column, _, of_second)) = stand_in else { return (first == second).then_some(None) };
        (*of_second == second.to_string()).then_some(Some(Composed::Number(*column)))
    }
}

/// Whether a text differs from account to account.
fn has_column(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| matches!(piece, Piece::Column(_)))
}
