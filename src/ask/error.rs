//! The reasons why a question has no answer.

use std::fmt;

use crate::yaml::internal::InternalError;

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The line is longer than a question may be, in bytes.
    #[error("a question of more than {0} bytes")]
    TooLong(usize),
    /// The line is no JSON.
    #[error("not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// The line is JSON, and not an object with the kind of a question.
    #[error("a question is an object with one key")]
    NotAQuestion,
    /// No question has this kind.
    #[error("there is no question `{0}`")]
    UnknownQuestion(String),
    /// A key is not known; the suggestion names the keys that are.
    #[error("there is no key `{key}` here{suggestion}")]
    UnknownKey {
        /// The unknown word.
        key: String,
        /// The nearest key, or every key.
        suggestion: String,
    },
    /// A required key is absent.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// The value of a key is not a list.
    #[error("`{0}` is not a list")]
    NotAList(&'static str),
    /// The value of a key is not a string.
    #[error("`{0}` is not a string")]
    NotAString(&'static str),
    /// The objects have no such namespace.
    #[error("there is no namespace `{0}`")]
    UnknownNamespace(String),
    /// The object at a key cannot be read.
    #[error("`{key}`: {reason}")]
    Unreadable {
        /// The part of the question.
        key: &'static str,
        /// The first problem that the reader found.
        reason: String,
    },
    /// The evaluator does not accept a value, for this reason.
    #[error("{0}")]
    Refused(String),
    /// A value has another form than the question needs, which the text describes.
    #[error("{0}")]
    Value(String),
    /// An invariant of the program does not hold.
    #[error("internal error, please report it: {0}")]
    Internal(InternalError),
}

impl AskError {
    /// Returns the error of a value with another form.
    pub(super) fn value(text: &str) -> Self {
        Self::Value(text.to_owned())
    }

    /// Returns the error of an object that cannot be read.
    pub(super) fn unreadable(key: &'static str, reason: impl fmt::Display) -> Self {
        Self::Unreadable { key, reason: reason.to_string() }
    }

    /// Returns the error of a value that an evaluator does not accept.
    pub(super) fn refused(reason: impl fmt::Display) -> Self {
        Self::Refused(reason.to_string())
    }
}
