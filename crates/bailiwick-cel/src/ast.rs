//! The tree of an expression. Macros are nodes of their own, and chains of `&&` and `||` are flat.

use super::macros::Fold;
use super::value::Literal;

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    /// A number, text or another constant.
    Literal(Literal),
    /// A name.
    Ident(String),
    /// `operand.field`, or `operand.?field`.
    Select { operand: Box<Expr>, field: String, optional: bool },
    /// `has(operand.field)`.
    Has { operand: Box<Expr>, field: String },
    /// `operand[index]`, or `operand[?index]`.
    Index { operand: Box<Expr>, index: Box<Expr>, optional: bool },
    /// A list; a marked entry is present only if its optional has a value.
    List(Vec<(Expr, bool)>),
    /// A map, likewise.
    Map(Vec<(Expr, Expr, bool)>),
    /// `name{field: value}`; a marked field is present only if its optional has a value.
    Struct { name: String, fields: Vec<Field> },
    /// `!operand`.
    Not(Box<Expr>),
    /// `-operand`.
    Negate(Box<Expr>),
    /// Two operands.
    Binary { operator: Operator, left: Box<Expr>, right: Box<Expr> },
    /// All of them, in order.
    And(Vec<Expr>),
    /// One of them, in order.
    Or(Vec<Expr>),
    /// `condition ? then : otherwise`.
    Conditional { condition: Box<Expr>, then: Box<Expr>, otherwise: Box<Expr> },
    /// `function(arguments)`, or `target.function(arguments)`.
    Call { target: Option<Box<Expr>>, function: String, arguments: Vec<Expr> },
    /// A macro over the entries of a list or map.
    Fold(Box<Fold>),
}

/// A field of a created object: its name, its value, and whether it has a mark.
pub(super) type Field = (String, Expr, bool);

/// The operators of two operands, both of which are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operator {
    /// Returns the operator as it is written.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::In => "in",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Modulo => "%",
        }
    }
}

impl Expr {
    /// Returns the path of a name, or of a chain of fields behind a name, with points between the parts.
    pub(super) fn path(&self) -> Option<String> {
        match self {
            Expr::Ident(name) => Some(name.clone()),
            Expr::Select { operand, field, optional: false } => Some(format!("{}.{field}", operand.path()?)),
            _ => None,
        }
    }

    /// Returns the nodes directly below.
    pub(super) fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Literal(_) | Expr::Ident(_) => Vec::new(),
            Expr::Select { operand, .. } | Expr::Has { operand, .. } | Expr::Not(operand) | Expr::Negate(operand) => {
                vec![operand]
            }
            Expr::Index { operand, index, .. } => vec![operand, index],
            Expr::List(items) => items.iter().map(|(item, _)| item).collect(),
            Expr::Map(entries) => entries.iter().flat_map(|(key, value, _)| [key, value]).collect(),
            Expr::Binary { left, right, .. } => vec![left, right],
            Expr::Struct { fields, .. } => fields.iter().map(|(_, value, _)| value).collect(),
            Expr::And(terms) | Expr::Or(terms) => terms.iter().collect(),
            Expr::Conditional { condition, then, otherwise } => vec![condition, then, otherwise],
            Expr::Call { target, arguments, .. } => target.as_deref().into_iter().chain(arguments).collect(),
            Expr::Fold(fold) => std::iter::once(&fold.range).chain(&fold.bodies).collect(),
        }
    }
}
