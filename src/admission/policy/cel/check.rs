//! A look through an expression before it is evaluated: whether all of it is known here.
//!
//! The API server compiles every part of an expression, also one that is never reached; so does this.

use std::collections::BTreeSet;

use super::ast::Expr;
use super::functions;
use super::value::Value;

/// The names that an expression may use.
#[derive(Debug, Clone, Default)]
pub struct Names<'n> {
    /// The variables of the policy that are declared so far.
    pub variables: BTreeSet<&'n str>,
    /// Whether there are parameters.
    pub params: bool,
    /// The minor of the API server that reads the expression.
    pub minor: u32,
}

const REQUEST: [&str; 12] = [
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "dryRun",
    "options",
];
const USER: [&str; 4] = ["username", "uid", "groups", "extra"];
const NAMESPACE: [&str; 3] = ["metadata", "spec", "status"];
/// Those of the two whose type is a timestamp are not evaluated here.
const NAMESPACE_METADATA: [&str; 10] = [
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "UID",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "finalizers",
];

/// The names of types that stand for themselves.
const TYPES: [&str; 9] = ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type"];

/// The type of a name, if it is one.
pub(super) fn type_named(name: &str) -> Option<Value> {
    TYPES.into_iter().chain(["type"]).find(|known| *known == name).map(Value::Type)
}

/// Checks an expression.
///
/// # Errors
/// What of it is not known.
pub(super) fn check(expr: &Expr, names: &Names<'_>) -> Result<(), String> {
    Check { names, bound: Vec::new() }.expr(expr)
}

struct Check<'c> {
    names: &'c Names<'c>,
    /// The names that macros bind here.
    bound: Vec<&'c str>,
}

impl<'c> Check<'c> {
    fn expr(&mut self, expr: &'c Expr) -> Result<(), String> {
        match expr {
            Expr::Ident(name) => return self.ident(name),
            Expr::Select { operand, field, .. } | Expr::Has { operand, field, .. } => {
                if let Some(path) = self.root(operand) {
                    return self.field(&path, field);
                }
            }
            Expr::Fold(fold) => {
                self.expr(&fold.range)?;
                let outer = self.bound.len();
                self.bound.extend(fold.names.iter().map(String::as_str));
                let checked = fold.bodies.iter().try_for_each(|body| self.expr(body));
                self.bound.truncate(outer);
                return checked;
            }
            Expr::Call { target: Some(target), function, arguments } => {
                if let Expr::Ident(namespace) = target.as_ref()
                    && functions::is_namespace(namespace)
                    && !self.bound.contains(&namespace.as_str())
                {
                    let name = format!("{namespace}.{function}");
                    if !functions::is_global(&name, arguments.len()) {
                        return Err(format!("`{name}` is not evaluated here"));
                    }
                    return arguments.iter().try_for_each(|argument| self.expr(argument));
                }
                // Before its name, so that what is of an authorizer says so.
                self.expr(target)?;
                if !functions::is_member(function, arguments.len()) {
                    return Err(format!("the function `{function}` is not evaluated here"));
                }
                if let Some(since) = functions::member_since(function).filter(|since| self.names.minor < *since) {
                    let minor = self.names.minor;
                    return Err(format!("Kubernetes 1.{minor} has no function `{function}`; it came with 1.{since}"));
                }
            }
            Expr::Call { target: None, function, arguments } if !functions::is_global(function, arguments.len()) => {
                return Err(format!("the function `{function}` is not evaluated here"));
            }
            _ => {}
        }
        expr.children().into_iter().try_for_each(|child| self.expr(child))
    }

    fn ident(&self, name: &str) -> Result<(), String> {
        if self.bound.contains(&name) || type_named(name).is_some() {
            return Ok(());
        }
        match name {
            "object" | "oldObject" | "namespaceObject" => Ok(()),
            "params" if self.names.params => Ok(()),
            "params" => Err("`params` are used, and the policy has no `paramKind`".to_owned()),
            "authorizer" => Err("`authorizer` is not evaluated here".to_owned()),
            "request" | "variables" => Err(format!("`{name}` is not evaluated as a whole")),
            _ => Err(format!("there is no name `{name}`")),
        }
    }

    /// The path of a name whose fields are known beforehand.
    fn root(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Ident(name) if !self.bound.contains(&name.as_str()) => {
                matches!(name.as_str(), "request" | "variables" | "namespaceObject").then(|| name.clone())
            }
            Expr::Select { operand, field, .. } => {
                let path = format!("{}.{field}", self.root(operand)?);
                let is_known = matches!(
                    path.as_str(),
                    "request.userInfo"
                        | "request.kind"
                        | "request.requestKind"
                        | "request.resource"
                        | "request.requestResource"
                        | "namespaceObject.metadata"
                );
                is_known.then_some(path)
            }
            _ => None,
        }
    }

    fn field(&self, path: &str, field: &str) -> Result<(), String> {
        let is_known = match path {
            "variables" => self.names.variables.contains(field),
            "request" => REQUEST.contains(&field),
            "request.userInfo" => USER.contains(&field),
            "request.kind" | "request.requestKind" => ["group", "version", "kind"].contains(&field),
            "request.resource" | "request.requestResource" => ["group", "version", "resource"].contains(&field),
            "namespaceObject" => NAMESPACE.contains(&field),
            "namespaceObject.metadata" => NAMESPACE_METADATA.contains(&field),
            _ => true,
        };
        if is_known { Ok(()) } else { Err(format!("`{path}` has no field `{field}` that is evaluated here")) }
    }
}
