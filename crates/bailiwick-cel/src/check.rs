//! The check of an expression before its evaluation: whether all of the expression is supported.
//!
//! The API server compiles every part of an expression, also a part without effect, and so does this check.

use std::collections::BTreeSet;

use super::Reason;
use super::ast::Expr;
use super::declared::{Declared, Since};
use super::macros::FoldKind;
use super::types::Type;
use super::value::Value;

/// The names available to an expression.
#[derive(Debug, Clone, Default)]
pub struct Names<'n> {
    /// The variables of the policy declared so far.
    pub variables: BTreeSet<&'n str>,
    /// Whether there are parameters.
    pub params: bool,
    /// The minor of the API server.
    pub minor: u32,
    /// Names beside the names of the API server. They win over all others.
    pub bound: BTreeSet<&'n str>,
    /// Whether expressions make values of the type `JSONPatch`, which are maps here.
    pub patches: bool,
}

/// The type of a patch in the expressions of a MutatingAdmissionPolicy.
pub(super) const PATCH: &str = "JSONPatch";

/// The types of `request` and `namespaceObject`.
pub(super) const REQUEST: &str = "kubernetes.AdmissionRequest";
pub(super) const NAMESPACE: &str = "kubernetes.Namespace";

/// The types with a name of their own.
const TYPES: [&str; 9] = ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type"];

/// Returns the type of a name, if the name is a type.
pub(super) fn type_named(name: &str) -> Option<Value> {
    TYPES.into_iter().chain(["type"]).find(|known| *known == name).map(Value::Type)
}

/// Checks an expression.
///
/// # Errors
/// The first unsupported part.
pub(super) fn check<'c>(expr: &'c Expr, names: &'c Names<'c>) -> Result<(), Reason> {
    Check { names, declared: Declared::get(), bound: names.bound.iter().copied().collect() }.expr(expr)
}

struct Check<'c> {
    names: &'c Names<'c>,
    declared: &'static Declared,
    /// The names bound by macros here.
    bound: Vec<&'c str>,
}

impl<'c> Check<'c> {
    fn expr(&mut self, expr: &'c Expr) -> Result<(), Reason> {
        match expr {
            Expr::Ident(name) => return self.ident(name),
            Expr::Select { operand, field, .. } | Expr::Has { operand, field, .. } => {
                if let Some((path, object)) = self.root(operand) {
                    return self.field(&path, object, field);
                }
            }
            Expr::Struct { name, .. } if self.names.patches && name == PATCH => {}
            Expr::Struct { .. } => return Err(reason!("an object of a type is made, which is not evaluated here")),
            Expr::Fold(fold) => {
                if matches!(fold.kind, FoldKind::MapOfEntries | FoldKind::SortBy) {
                    return Err(reason!("`{}` is not evaluated here", fold.name()));
                }
                self.expr(&fold.range)?;
                let outer = self.bound.len();
                self.bound.extend(fold.names.iter().map(String::as_str));
                let checked = fold.bodies.iter().try_for_each(|body| self.expr(body));
                self.bound.truncate(outer);
                return checked;
            }
            Expr::Call { target: Some(target), function, arguments } => {
                if let Expr::Ident(namespace) = target.as_ref()
                    && self.declared.is_namespace(namespace)
                    && !self.bound.contains(&namespace.as_str())
                {
                    let name = format!("{namespace}.{function}");
                    if !self.declared.is_evaluated(&name, false, arguments.len()) {
                        return Err(reason!("`{name}` is not evaluated here"));
                    }
                    return arguments.iter().try_for_each(|argument| self.expr(argument));
                }
                // Before the function, so that the message names the authorizer.
                self.expr(target)?;
                if !self.declared.is_evaluated(function, true, arguments.len()) {
                    return Err(reason!("the function `{function}` is not evaluated here"));
                }
                if let Some(since) = self.later(function) {
                    let minor = self.names.minor;
                    return Err(reason!("Kubernetes 1.{minor} has no function `{function}`; it came with 1.{since}"));
                }
            }
            Expr::Call { target: None, function, arguments }
                if !self.declared.is_evaluated(function, false, arguments.len()) =>
            {
                return Err(reason!("the function `{function}` is not evaluated here"));
            }
            _ => {}
        }
        expr.children().into_iter().try_for_each(|child| self.expr(child))
    }

    fn ident(&self, name: &str) -> Result<(), Reason> {
        if self.bound.contains(&name) || type_named(name).is_some() {
            return Ok(());
        }
        match name {
            "object" | "oldObject" | "namespaceObject" => Ok(()),
            "params" if self.names.params => Ok(()),
            "params" => Err(reason!("`params` are used, and the policy has no `paramKind`")),
            "authorizer" => Err(reason!("`authorizer` is not evaluated here")),
            "request" | "variables" => Err(reason!("`{name}` is not evaluated as a whole")),
            _ => Err(reason!("there is no name `{name}`")),
        }
    }

    /// Returns the minor that introduced a function of values, if the API server is older. The server reads stored
    /// expressions with its own library.
    fn later(&self, function: &str) -> Option<u32> {
        let since = self.declared.functions(function).iter().filter_map(|function| match function.since {
            Since::Library(minor) | Since::Server(minor) => Some(minor),
            Since::ServerUpTo(_) => Some(0),
            Since::Patches => None,
        });
        since.min().filter(|since| self.names.minor < *since)
    }

    /// Returns the path of a name with declared fields, and the type with their declarations.
    fn root(&self, expr: &Expr) -> Option<(String, &'static str)> {
        match expr {
            Expr::Ident(name) if !self.bound.contains(&name.as_str()) => {
                let object = match name.as_str() {
                    "request" => REQUEST,
                    "namespaceObject" => NAMESPACE,
                    "variables" => "",
                    _ => return None,
                };
                Some((name.clone(), object))
            }
            Expr::Select { operand, field, .. } => {
                let (path, object) = self.root(operand)?;
                match self.declared.fields(object)?.get(field.as_str())? {
                    Type::Named(object) => Some((format!("{path}.{field}"), self.declared.object(object)?)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn field(&self, path: &str, object: &str, field: &str) -> Result<(), Reason> {
        let is_known = match self.declared.fields(object) {
            None => self.names.variables.contains(field),
            // Points in time are not evaluated here.
            Some(fields) => fields.get(field).is_some_and(|of| !matches!(of, Type::Timestamp)),
        };
        if is_known { Ok(()) } else { Err(reason!("`{path}` has no field `{field}` that is evaluated here")) }
    }
}
