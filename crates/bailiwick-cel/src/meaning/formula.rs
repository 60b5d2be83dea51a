//! The logical part of an expression. `&&` and `||` swallow errors, so that the order of their terms means nothing.

use super::MeaningId;

/// The result of a formula for some values of its atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Truth {
    False,
    True,
    /// The evaluation fails.
    Error,
    /// The value of an atom, by its position. The value is neither true nor false.
    Other(u8),
}

/// The possible values of an atom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Domain {
    /// True, false or an error.
    Bool,
    /// Any value or an error.
    Any,
    /// A value that is neither true nor false.
    Other,
    /// True or false.
    Decided,
}

impl Domain {
    /// Returns the values of an atom at a position.
    pub(super) fn values(self, position: u8) -> Vec<Truth> {
        match self {
            Self::Bool => vec![Truth::False, Truth::True, Truth::Error],
            Self::Any => vec![Truth::False, Truth::True, Truth::Error, Truth::Other(position)],
            Self::Other => vec![Truth::Other(position)],
            Self::Decided => vec![Truth::False, Truth::True],
        }
    }
}

/// An expression as logic over atoms.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Formula {
    Constant(Truth),
    Atom(MeaningId, Domain),
    Not(Box<Formula>),
    And(Vec<Formula>),
    /// The condition, the value if it is true, and the value if it is false.
    If(Box<[Formula; 3]>),
    /// `==` of operands of which one is true, false or an error.
    Same(Box<[Formula; 2]>),
    /// The body of `all`: a value that is neither true nor false is an error.
    Body(Box<Formula>),
    /// Whether a condition of a policy holds.
    Holds {
        formula: Box<Formula>,
        ignores_failures: bool,
    },
}

impl Formula {
    pub(super) fn not(self) -> Self {
        match self {
            Self::Constant(Truth::True) => Self::Constant(Truth::False),
            Self::Constant(Truth::False) => Self::Constant(Truth::True),
            other => Self::Not(Box::new(other)),
        }
    }

    /// Returns `&&` of terms, without terms that are `&&` themselves.
    pub(super) fn and(terms: impl IntoIterator<Item = Formula>) -> Self {
        let mut flat = Vec::new();
        for term in terms {
            match term {
                Self::And(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        Self::And(flat)
    }

    /// Returns `||` of terms: not all of them are false.
    pub(super) fn or(terms: impl IntoIterator<Item = Formula>) -> Self {
        Self::and(terms.into_iter().map(Self::not)).not()
    }

    /// Returns the formulas directly below.
    pub(super) fn parts(&self) -> &[Formula] {
        match self {
            Self::Constant(_) | Self::Atom(..) => &[],
            Self::Not(inner) | Self::Body(inner) | Self::Holds { formula: inner, .. } => std::slice::from_ref(inner),
            Self::And(terms) => terms,
            Self::If(parts) => parts.as_slice(),
            Self::Same(parts) => parts.as_slice(),
        }
    }

    /// Returns the result for the values of the atoms.
    pub(super) fn evaluate(&self, value: &impl Fn(MeaningId) -> Truth) -> Truth {
        match self {
            Self::Constant(truth) => *truth,
            Self::Atom(atom, _) => value(*atom),
            Self::Not(inner) => match inner.evaluate(value) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Error | Truth::Other(_) => Truth::Error,
            },
            Self::And(terms) => terms.iter().fold(Truth::True, |known, term| match (known, term.evaluate(value)) {
                (Truth::False, _) | (_, Truth::False) => Truth::False,
                (Truth::True, Truth::True) => Truth::True,
                _ => Truth::Error,
            }),
            Self::If(parts) => {
                let [condition, then, otherwise] = parts.as_ref();
                match condition.evaluate(value) {
                    Truth::True => then.evaluate(value),
                    Truth::False => otherwise.evaluate(value),
                    Truth::Error | Truth::Other(_) => Truth::Error,
                }
            }
            Self::Same(parts) => match parts.each_ref().map(|part| part.evaluate(value)) {
                [Truth::Error, _] | [_, Truth::Error] => Truth::Error,
                [one, other] if one == other => Truth::True,
                _ => Truth::False,
            },
            Self::Body(inner) => match inner.evaluate(value) {
                Truth::Other(_) => Truth::Error,
                truth => truth,
            },
            Self::Holds { formula, ignores_failures } => match formula.evaluate(value) {
                Truth::True => Truth::True,
                Truth::Error if *ignores_failures => Truth::True,
                _ => Truth::False,
            },
        }
    }
}
