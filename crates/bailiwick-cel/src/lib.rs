//! CEL, the language of admission policies, as the API server evaluates it: cel-go with Kubernetes' own functions.
//!
//! An expression is read and looked through once ([`Program::compile`]) and then evaluated any number of times. Two things
//! can go wrong then, and they are not the same: a [`Fail::Error`] is what the API server would meet, too, and a
//! [`Fail::Unknown`] is what cannot be told from here. The first is swallowed by `&&` and `||` as cel-go does it, the
//! second never turns into an answer.
//!
//! Reading and evaluating are bounded in depth and in work, so that no expression can hang or overflow.
//!
//! Left out on purpose, and answered with [`Fail::Unknown`]: timestamps and durations, URLs, IP addresses, quantities,
//! named formats, versions, `format()`, and everything of an authorizer. [`compiled`] says what an API server refuses for its
//! names and types; the evaluation looks at static types only as far as they decide what an expression means, so that
//! an expression that the API server refuses may have an answer here.

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
mod objects;
mod parser;
mod pattern;
mod strings;
#[cfg(test)]
mod tests;
mod types;
mod typing;
mod value;

pub use check::Names;
pub use eval::{Environment, Evaluation};
pub use objects::{Fields, RESERVED, Schema};
pub use types::Type;
pub use typing::{Refusal, Scope, Wanted, compiled};
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
pub type Outcome = Result<Value, Fail>;

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
    pub fn evaluate(&self, environment: &Environment<'_>) -> Outcome {
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
