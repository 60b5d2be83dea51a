//! The protocol of `bailiwick ask`: questions and answers as JSON, one question a line.
//!
//! A question is an object with one key, the kind of the question; `docs/ask.md` shows each kind with its answer. A key that
//! is not known is an error. The files of this module decode questions, call an evaluator, and encode its decision; they
//! decide nothing themselves.
//!
//! ```
//! use bailiwick::ask::Connection;
//! use serde_json::json;
//!
//! let mut connection = Connection::default();
//! let role = json!({"kind": "ClusterRole", "metadata": {"name": "reader"},
//!     "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
//! let binding = json!({"kind": "ClusterRoleBinding", "metadata": {"name": "readers"},
//!     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
//!     "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]});
//! connection.answer(&json!({"world": {"objects": [role, binding]}}))?;
//! let answer = connection.answer(&json!({"can-i": {"user": "jane", "verb": "get", "resource": "pods"}}))?;
//! assert_eq!(answer["allowed"], true);
//! # Ok::<(), bailiwick::ask::AskError>(())
//! ```

mod access;
mod admission;
mod admission_policy;
mod crossplane;
mod error;
mod keys;
mod labels;
mod node;
mod pod_security;
mod psp;
mod scc;
mod validate;

use serde_json::Value;

use crate::access::{Builder, World};
use crate::k8s::catalogue::LAST_MINOR;
use crate::yaml::internal;

pub use self::error::AskError;

/// A world with the questions that are asked about it.
#[derive(Debug)]
pub struct Connection {
    world: World,
    /// Whether a role that is not among the objects does not exist.
    is_complete: bool,
}

impl Default for Connection {
    /// Returns a connection about a cluster of the newest known version without objects.
    fn default() -> Self {
        Self::new(Builder::new(LAST_MINOR).build(), false)
    }
}

impl Connection {
    /// Returns a connection about a world. If the world is complete, a role that is not among its objects does not exist.
    pub fn new(world: World, is_complete: bool) -> Self {
        Self { world, is_complete }
    }

    /// Answers a question, or replaces the world and counts its objects.
    ///
    /// # Errors
    /// The reason why it is no question. After an internal error of the process, every question ends with that error.
    pub fn answer(&mut self, question: &Value) -> Result<Value, AskError> {
        let entry = question.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
        let Some((kind, body)) = entry else { return Err(AskError::NotAQuestion) };
        let answer = if kind == "world" {
            self.set_world(body)
        } else {
            admission::answer(kind, body)
                .or_else(|| validate::answer(kind, body))
                .or_else(|| crossplane::answer(kind, body))
                .or_else(|| node::answer(kind, body))
                .unwrap_or_else(|| self.ask(kind, body))
        };
        match internal::first() {
            Some(error) => Err(AskError::Internal(error)),
            None => answer,
        }
    }
}
