//! The macros: calls that bind a name, or look at their arguments before these have values.

use super::ast::Expr;
use super::parser::Problem;

/// A macro over the entries of something.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    /// What is gone through.
    pub(super) range: Expr,
    /// The name of an entry; with two, of its key or index and of its value.
    pub(super) names: Vec<String>,
    /// What is asked of each entry.
    pub(super) bodies: Vec<Expr>,
}

/// What becomes of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    /// A list of the last body, for entries for which the one before it holds.
    Map,
    Filter,
    /// A map of the last body under the entry's key, likewise.
    MapOfValues,
    /// The value of the optional under the name, as an optional again.
    OptionalMap,
    /// The same, where the body is an optional itself.
    OptionalFlatMap,
}

/// Most expressions of a name beside which there are macros of the same name are none of them.
struct Macro {
    name: &'static str,
    kind: FoldKind,
    names: usize,
    bodies: usize,
}

const fn fold(name: &'static str, kind: FoldKind, names: usize, bodies: usize) -> Macro {
    Macro { name, kind, names, bodies }
}

const MACROS: [Macro; 16] = [
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
    fold("optMap", FoldKind::OptionalMap, 1, 1),
];
const FLAT: Macro = fold("optFlatMap", FoldKind::OptionalFlatMap, 1, 1);
/// Macros that are not evaluated here.
const OTHERS: [&str; 2] = ["transformMapEntry", "sortBy"];

/// `target.function(arguments)`, which may be a macro.
///
/// # Errors
/// Why it can be none.
pub(super) fn member_call(target: Expr, function: String, arguments: Vec<Expr>) -> Result<Expr, Problem> {
    if OTHERS.contains(&function.as_str()) {
        return Err(Problem::NotRead(format!("`{function}` is not evaluated here")));
    }
    let fits = |found: &&Macro| found.name == function && found.names + found.bodies == arguments.len();
    let Some(found) = MACROS.iter().chain([&FLAT]).find(fits) else {
        return Ok(Expr::Call { target: Some(Box::new(target)), function, arguments });
    };
    let mut arguments = arguments.into_iter();
    let mut names = Vec::new();
    for argument in arguments.by_ref().take(found.names) {
        match argument {
            Expr::Ident(name) if !names.contains(&name) => names.push(name),
            _ => return Err(Problem::Syntax(format!("`{function}` needs a name first"))),
        }
    }
    let bodies = arguments.collect();
    Ok(Expr::Fold(Box::new(Fold { kind: found.kind, range: target, names, bodies })))
}

/// `function(arguments)`, which may be `has`.
///
/// # Errors
/// Why it can be none.
pub(super) fn global_call(function: String, arguments: Vec<Expr>) -> Result<Expr, Problem> {
    if function != "has" {
        return Ok(Expr::Call { target: None, function, arguments });
    }
    match <[Expr; 1]>::try_from(arguments) {
        Ok([Expr::Select { operand, field, optional }]) => Ok(Expr::Has { operand, field, optional }),
        _ => Err(Problem::Syntax("`has` takes one field".to_owned())),
    }
}
