//! The macros: calls that bind a name, or read their arguments unevaluated.

use super::ast::Expr;
use super::declared::Since;
use super::parser::Problem;

/// A macro over the entries of something.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    /// The list or map with the entries.
    pub(super) range: Expr,
    /// The name of an entry; with two, of its key or index and of its value.
    pub(super) names: Vec<String>,
    /// The expressions evaluated for each entry.
    pub(super) bodies: Vec<Expr>,
}

impl Fold {
    /// Returns the name of the macro in short.
    pub(super) fn name(&self) -> &'static str {
        let fits = |found: &&Macro| found.kind == self.kind && found.names == self.names.len();
        MACROS.iter().find(fits).map_or("", |found| found.name)
    }

    /// Returns the library with the macro (k8s.io/apiserver v0.37.2 `pkg/cel/environment/base.go`).
    pub(super) fn since(&self) -> Since {
        Since::Library(match self.kind {
            FoldKind::SortBy => 34,
            FoldKind::OptionalMap | FoldKind::OptionalFlatMap => 28,
            _ if self.names.len() > 1 => 32,
            _ => 0,
        })
    }
}

/// The result of a macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    /// A list of the last body, for entries with a true condition.
    Map,
    Filter,
    /// A map of the last body under the entry's key, likewise.
    MapOfValues,
    /// A map of the entries of the last body, likewise.
    MapOfEntries,
    /// The list in the order of the last body.
    SortBy,
    /// The value of the optional under the name, as an optional again.
    OptionalMap,
    /// The same, with an optional as the body.
    OptionalFlatMap,
}

impl FoldKind {
    /// Returns a name, different for each result.
    pub(super) fn name(self) -> &'static str {
        match self {
            FoldKind::All => "all",
            FoldKind::Exists => "exists",
            FoldKind::ExistsOne => "existsOne",
            FoldKind::Map => "map",
            FoldKind::Filter => "filter",
            FoldKind::MapOfValues => "mapOfValues",
            FoldKind::MapOfEntries => "mapOfEntries",
            FoldKind::SortBy => "sortBy",
            FoldKind::OptionalMap => "optMap",
            FoldKind::OptionalFlatMap => "optFlatMap",
        }
    }
}

/// A call by the name of a macro and with the number of its arguments.
struct Macro {
    name: &'static str,
    kind: FoldKind,
    names: usize,
    bodies: usize,
}

const fn fold(name: &'static str, kind: FoldKind, names: usize, bodies: usize) -> Macro {
    Macro { name, kind, names, bodies }
}

const MACROS: [Macro; 20] = [
    fold("all", FoldKind::All, 1, 1),
    fold("all", FoldKind::All, 2, 1),
    fold("exists", FoldKind::Exists, 1, 1),
    fold("exists", FoldKind::Exists, 2, 1),
    fold("exists_one", FoldKind::ExistsOne, 1, 1),
    fold("exists_one", FoldKind::ExistsOne, 2, 1),
    fold("existsOne", FoldKind::ExistsOne, 1, 1),
    fold("existsOne", FoldKind::ExistsOne, 2, 1),
    fold("map", FoldKind::Map, 1, 1),
    fold("map", FoldKind::Map, 1, 2),
    fold("filter", FoldKind::Filter, 1, 1),
    fold("transformList", FoldKind::Map, 2, 1),
    fold("transformList", FoldKind::Map, 2, 2),
    fold("transformMap", FoldKind::MapOfValues, 2, 1),
    fold("transformMap", FoldKind::MapOfValues, 2, 2),
    fold("transformMapEntry", FoldKind::MapOfEntries, 2, 1),
    fold("transformMapEntry", FoldKind::MapOfEntries, 2, 2),
    fold("sortBy", FoldKind::SortBy, 1, 1),
    fold("optMap", FoldKind::OptionalMap, 1, 1),
    fold("optFlatMap", FoldKind::OptionalFlatMap, 1, 1),
];

/// Returns `target.function(arguments)`, as a macro if it is one.
///
/// # Errors
/// The syntax error of a macro.
pub(super) fn member_call(target: Expr, function: String, arguments: Vec<Expr>) -> Result<Expr, Problem> {
    let fits = |found: &&Macro| found.name == function && found.names + found.bodies == arguments.len();
    let Some(found) = MACROS.iter().find(fits) else {
        return Ok(Expr::Call { target: Some(Box::new(target)), function, arguments });
    };
    let mut arguments = arguments.into_iter();
    let mut names = Vec::new();
    for argument in arguments.by_ref().take(found.names) {
        match argument {
            Expr::Ident(name) if name.starts_with('.') => {
                return Err(Problem::NotRead(format!("`{name}` is not bound here")));
            }
            Expr::Ident(name) if !names.contains(&name) => names.push(name),
            _ => return Err(Problem::Syntax(format!("`{function}` needs a name first"))),
        }
    }
    let bodies = arguments.collect();
    Ok(Expr::Fold(Box::new(Fold { kind: found.kind, range: target, names, bodies })))
}

/// Returns `function(arguments)`, as a macro for `has`.
///
/// # Errors
/// The syntax error of a macro.
pub(super) fn global_call(function: String, arguments: Vec<Expr>) -> Result<Expr, Problem> {
    if function != "has" {
        return Ok(Expr::Call { target: None, function, arguments });
    }
    match <[Expr; 1]>::try_from(arguments) {
        Ok([Expr::Select { operand, field, optional: false }]) => Ok(Expr::Has { operand, field }),
        _ => Err(Problem::Syntax("`has` takes one field".to_owned())),
    }
}
