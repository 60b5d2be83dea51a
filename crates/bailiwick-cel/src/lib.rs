//! CEL as kube-apiserver evaluates it: cel-go with the functions of Kubernetes.
//!
//! The crate answers two questions about an expression of an admission policy, without a cluster: its value for an object, and
//! the verdict of the API server's compiler.
//!
//! # Types
//!
//! - [`Program`] is a parsed expression. [`Program::compile`] parses and checks it for the [`Names`] of its policy.
//! - [`Environment`] has the values of these names: `object`, `oldObject`, `request`, `params`, `namespaceObject`, `variables`.
//! - [`Value`] is the result. [`Value::from_json`] converts an object.
//! - [`Fail`] is a missing result. [`Fail::Error`] is an error in the API server too; `&&` and `||` swallow it as in cel-go.
//!   [`Fail::Unknown`] means an unsupported part, and never becomes a result.
//! - [`compiled`] returns the static type of an expression for a [`ExpressionScope`], or the [`ExpressionError`] of the API server.
//!
//! # Example
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use bailiwick_cel::{Environment, Fail, Names, Program, Value};
//! use serde_json::json;
//!
//! let names = Names { minor: 37, ..Names::default() };
//! let variables = BTreeMap::new();
//! let mut environment = Environment::new(&variables, 1_000_000);
//! environment.object = Value::from_json(&json!({ "spec": { "replicas": 8 } }));
//!
//! let limit = Program::compile("object.spec.replicas <= 5", &names);
//! assert_eq!(limit.evaluate(&environment), Ok(Value::Bool(false)));
//!
//! let missing = Program::compile("object.metadata.name == 'web'", &names);
//! assert_eq!(missing.evaluate(&environment), Err(Fail::Error("no such key: metadata".to_owned())));
//!
//! let unsupported = Program::compile("quantity('1Gi').isGreaterThan(quantity('1Mi'))", &names);
//! assert!(matches!(unsupported.evaluate(&environment), Err(Fail::Unknown(_))));
//! ```
//!
//! # Limits
//!
//! Depth and work are bounded: no expression hangs or overflows the stack. Timestamps, durations, URLs, IP addresses,
//! quantities, named formats, versions, `format()` and authorizers are not implemented, because admission policies of access
//! rarely use them; they evaluate to [`Fail::Unknown`]. The evaluation uses static types only if they decide the meaning of an
//! expression, so an expression rejected by the API server may have a value here: check it with [`compiled`] first.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "unit tests read and write files of their own"))]

/// Makes a [`Reason`] of a format and its values.
macro_rules! reason {
    ($($format:tt)*) => { $crate::Reason(format!($($format)*)) };
}

mod ast;
mod check;
mod constants;
mod declared;
mod eval;
mod functions;
mod lexer;
mod lists;
mod literals;
mod macros;
mod meaning;
mod objects;
mod parser;
mod pattern;
mod reads;
mod strings;
#[cfg(test)]
mod tests;
mod types;
mod typing;
mod value;

pub use check::Names;
pub use eval::{Environment, Evaluation};
pub use meaning::{MeaningId, MeaningScope, Meanings};
pub use objects::{Fields, RESERVED, ValueSchema};
pub use reads::{FieldReads, FieldStep};
pub use types::Type;
pub use typing::{ExpectedType, ExpressionError, ExpressionScope, compiled};
pub use value::{Key, Map, Value};

/// A reason for rejecting or not evaluating an expression, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reason(String);

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Reason {}

use ast::Expr;
use parser::Problem;
use std::fmt;

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fail {
    /// The evaluation fails in the API server, too.
    Error(String),
    /// The outcome in the API server cannot be computed.
    Unknown(String),
}

impl Fail {
    fn error(text: impl Into<String>) -> Self {
        Self::Error(text.into())
    }

    /// Returns the API server's error for arguments without an overload.
    fn no_such_overload() -> Self {
        Self::error("no such overload")
    }
}

/// A value, or why there is none.
pub type EvalResult = Result<Value, Fail>;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Program {
    /// The expression as written.
    pub source: String,
    expr: Result<Expr, Reason>,
}

impl Program {
    /// Parses and checks an expression. An unsupported expression evaluates to [`Fail::Unknown`].
    pub fn compile(source: &str, names: &Names<'_>) -> Self {
        let parsed = parser::parse(source).map_err(|problem| match problem {
            Problem::Syntax(why) | Problem::NotRead(why) => reason!("the expression cannot be read: {why}"),
        });
        let expr = parsed.and_then(|expr| check::check(&expr, names).map(|()| expr));
        Self { source: source.to_owned(), expr }
    }

    /// Evaluates the expression in an environment.
    pub fn evaluate(&self, environment: &Environment<'_>) -> EvalResult {
        match &self.expr {
            Ok(expr) => Evaluation::new(environment).evaluate(expr),
            Err(reason) => Err(Fail::Unknown(reason.to_string())),
        }
    }

    /// Returns the reason for not evaluating the expression, if there is one.
    pub fn problem(&self) -> Option<&str> {
        self.expr.as_ref().err().map(|reason| reason.0.as_str())
    }
}

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
