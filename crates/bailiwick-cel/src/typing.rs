//! The checks of the API server's compiler: names, functions and types (cel-go v0.29.2 `checker/checker.go`).
//!
//! The API server compiles every expression of a policy on write, and rejects a policy with an invalid expression. An
//! unsupported expression is accepted: one beyond the limits of the parser, one with too large types, and one with a
//! type of protobuf. Minors before 1.28 are not checked, since their libraries have no versions.

use std::collections::BTreeMap;

use super::Reason;
use super::ast::{Expr, Field, Operator};
use super::check::{NAMESPACE, REQUEST, type_named};
use super::constants;
use super::declared::{Declared, Function, Since};
use super::lexer::without_prefix;
use super::literals;
use super::macros::{Fold, FoldKind};
use super::objects::ObjectType;
use super::parser::{self, Problem};
use super::types::{Type, Types};
use super::value::Value;

/// The first minor with versioned libraries.
const FIRST_MINOR: u32 = 28;
/// The first minor with checks of literals at compile time.
const FIRST_WITH_LITERALS: u32 = 30;
/// The first minor with reserved words as names of fields.
const FIRST_WITH_RESERVED_NAMES: u32 = 31;
/// How deep the type of a variable is known.
const DEEPEST_VARIABLE: usize = 32;

/// The names available to an expression.
#[derive(Debug, Clone, Default)]
pub struct ExpressionScope {
    /// The minor of the API server.
    pub minor: u32,
    /// Whether the expression is stored already. The server reads it with its own library.
    pub is_stored: bool,
    /// Whether there are parameters.
    pub params: bool,
    /// Whether the permissions of the user may be asked for.
    pub authorizer: bool,
    /// Whether objects and patches may be made.
    pub patches: bool,
    /// The types of the variables declared so far; none if no variables may be used.
    pub variables: Option<BTreeMap<String, Type>>,
    /// The type of `object` and `oldObject`; none for an unknown kind.
    pub object_type: Option<Type>,
    /// The type of `params`; none for an unknown kind.
    pub params_type: Option<Type>,
    /// The types of names beside the names of the API server. They win over all others.
    pub bound: BTreeMap<String, Type>,
}

/// The required type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedType {
    /// Anything.
    Any,
    /// True or false.
    Bool,
    /// A text.
    String,
    /// A text, or nothing.
    StringOrNull,
    /// Some changes of an object.
    Patches,
    /// A part of an object.
    Object,
}

/// Why the API server refuses an expression, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionError {
    /// It is none.
    Syntax(String),
    /// A name, a function or a type does not fit.
    Meaning(String),
}

/// Returns the type of an expression.
///
/// # Errors
/// The API server rejects the expression.
pub fn compiled(source: &str, scope: &ExpressionScope, wanted: ExpectedType) -> Result<Type, ExpressionError> {
    let expr = match parser::parse(source) {
        Ok(expr) => expr,
        Err(Problem::Syntax(why)) => return Err(ExpressionError::Syntax(why)),
        Err(Problem::NotRead(_)) => return Ok(Type::Unknown),
    };
    if scope.minor < FIRST_MINOR {
        return Ok(Type::Unknown);
    }
    let mut typing = Typing {
        scope,
        declared: Declared::get(),
        types: Types::new(),
        bound: scope.bound.iter().map(|(name, of)| (name.as_str(), of.clone())).collect(),
        literals: Vec::new(),
        formatted: Vec::new(),
        formats: 0,
    };
    let checked = typing.expr(&expr).and_then(|of| typing.finish(&of, wanted));
    if typing.types.are_too_large() {
        return Ok(Type::Unknown);
    }
    let of = checked.map_err(|why| ExpressionError::Meaning(why.to_string()))?;
    Ok(of.of_variable(DEEPEST_VARIABLE))
}

struct Typing<'c> {
    scope: &'c ExpressionScope,
    declared: &'static Declared,
    types: Types,
    /// The names bound by macros, with their types.
    bound: Vec<(&'c str, Type)>,
    /// The types to be equal in the end: the entries of each literal list and map.
    literals: Vec<Vec<Type>>,
    /// The values of calls of `format`, each with the letter of its place.
    formatted: Vec<(char, Type)>,
    /// In how many calls of `format` this is: their lists may hold values of several types.
    formats: u32,
}

type Typed = Result<Type, Reason>;

impl<'c> Typing<'c> {
    fn finish(&mut self, of: &Type, wanted: ExpectedType) -> Typed {
        for types in std::mem::take(&mut self.literals) {
            let mut types = types.iter().map(|of| self.types.settled(of)).collect::<Vec<_>>().into_iter();
            let Some(first) = types.next() else { continue };
            for other in types {
                if !has_unknown(&first) && !has_unknown(&other) && !self.types.is_same(&first, &other) {
                    return Err(reason!(
                        "a list or map holds `{first}` and `{other}`, and the API server takes one type"
                    ));
                }
            }
        }
        for (verb, of) in std::mem::take(&mut self.formatted) {
            let of = self.types.settled(&of);
            if !literals::takes(verb, &of) {
                return Err(reason!("`%{verb}` of `format` does not take `{of}`"));
            }
        }
        let of = self.types.settled(of);
        let (fits, needed) = match wanted {
            ExpectedType::Any => (true, ""),
            ExpectedType::Bool => (matches!(of, Type::Bool), "`bool`"),
            ExpectedType::String => (matches!(of, Type::String), "`string`"),
            ExpectedType::StringOrNull => (matches!(of, Type::String | Type::Null), "`string` or `null`"),
            ExpectedType::Patches => (is_list_of(&of, "JSONPatch"), "`list(JSONPatch)`"),
            ExpectedType::Object => (is_named(&of, "Object"), "`Object`"),
        };
        if fits || has_unknown(&of) {
            Ok(of)
        } else {
            Err(reason!("it gives `{of}`, and the API server needs {needed}"))
        }
    }

    fn expr(&mut self, expr: &'c Expr) -> Typed {
        match expr {
            Expr::Literal(literal) => Ok(match literal {
                Value::Null => Type::Null,
                Value::Bool(_) => Type::Bool,
                Value::Int(_) => Type::Int,
                Value::UInt(_) => Type::UInt,
                Value::Double(_) => Type::Double,
                Value::String(_) => Type::String,
                Value::Bytes(_) => Type::Bytes,
                _ => Type::Unknown,
            }),
            Expr::Ident(name) => self.ident(name),
            Expr::Select { operand, field, optional } => {
                if let Some(of) = expr.path().and_then(|path| self.qualified(&path)) {
                    return of;
                }
                let of = self.field(operand, field, *optional)?;
                Ok(self.types.known(&of))
            }
            Expr::Has { operand, field } => self.field(operand, field, false).map(|_| Type::Bool),
            Expr::Index { operand, index, optional } => {
                let arguments = [self.expr(operand)?, self.expr(index)?];
                let of = self.call(if *optional { "_[?_]" } else { "_[_]" }, false, &arguments)?;
                if let [_, Type::Type(_)] = arguments {
                    return Err(reason!("brackets do not take types"));
                }
                constants::index_problem(index).map_or(Ok(of), Err)
            }
            Expr::List(items) => {
                let types = self.entries(items.iter().map(|(item, optional)| (item, *optional)))?;
                self.joined(types).map(Type::list)
            }
            Expr::Map(entries) => {
                let keys = self.entries(entries.iter().map(|(key, _, _)| (key, false)))?;
                let values = self.entries(entries.iter().map(|(_, value, optional)| (value, *optional)))?;
                Ok(Type::map(self.joined(keys)?, self.joined(values)?))
            }
            Expr::Struct { name, fields } => self.object(name, fields),
            Expr::Not(operand) => self.operator("!_", &[operand]),
            Expr::Negate(operand) => self.operator("-_", &[operand]),
            Expr::Binary { operator, left, right } => self.operator(function_of(*operator), &[left, right]),
            Expr::And(terms) | Expr::Or(terms) => {
                for term in terms {
                    let of = self.expr(term)?;
                    self.needs(&of, &Type::Bool)?;
                }
                Ok(Type::Bool)
            }
            Expr::Conditional { condition, then, otherwise } => self.operator("_?_:_", &[condition, then, otherwise]),
            Expr::Call { target, function, arguments } => {
                let of = self.function(target.as_deref(), function, arguments)?;
                constants::conversion_problem(expr).map_or(Ok(of), Err)
            }
            Expr::Fold(fold) => self.fold(fold),
        }
    }

    fn ident(&self, name: &str) -> Typed {
        if let Some((_, of)) = self.bound.iter().rev().find(|(bound, _)| *bound == name) {
            // The API server looks for a type of this name.
            return match of {
                Type::Type(_) if type_named(name).is_none() => Err(reason!("`{name}` stands for types")),
                of => Ok(of.clone()),
            };
        }
        if let Some(of) = self.qualified(name) {
            return of;
        }
        let name = without_prefix(name, &['.']);
        let any = || Type::Dyn.into();
        let of = match name {
            "object" | "oldObject" => return Ok(type_or_dyn(self.scope.object_type.as_ref())),
            "namespaceObject" => return Ok(Type::named(NAMESPACE)),
            "request" => return Ok(Type::named(REQUEST)),
            "params" if self.scope.params => return Ok(type_or_dyn(self.scope.params_type.as_ref())),
            "authorizer" if self.scope.authorizer => return Ok(Type::named("kubernetes.authorization.Authorizer")),
            "variables" if self.scope.variables.is_some() => return Ok(Type::named(VARIABLES)),
            "list" => Type::List(any()),
            "map" => Type::Map(any(), any()),
            "type" => Type::Type(any()),
            // The names of types, and the result variable of macros.
            "optional_type" | "__result__" => return Ok(Type::Unknown),

            "params" => return Err(reason!("`params` is used, and the policy has no `paramKind`")),
            "authorizer" => return Err(reason!("`authorizer` may not be used in this expression")),
            "variables" => return Err(reason!("`variables` may not be used in this expression")),
            _ => match Type::simple(name).filter(|_| type_named(name).is_some()) {
                Some(of) => of,
                None => return Err(reason!("there is no name `{name}`")),
            },
        };
        Ok(Type::Type(of.into()))
    }

    /// Returns the type of a name, or of a qualified name.
    fn qualified(&self, path: &str) -> Option<Typed> {
        let (root, is_bound) = match path.strip_prefix('.') {
            Some(path) => (root_of(path), false),
            None => (root_of(path), self.bound.iter().any(|(bound, _)| *bound == root_of(path))),
        };
        if is_bound {
            return None;
        }
        let path = without_prefix(path, &['.']);
        match path {
            "authorizer.requestResource" if self.scope.authorizer => {
                Some(Ok(Type::named("kubernetes.authorization.ResourceCheck")))
            }
            path if self.is_patch_type(path) => Some(Err(reason!("`{path}` is a type, and stands for no value"))),
            _ if is_foreign(root) && path != root => Some(Ok(Type::Unknown)),
            _ => None,
        }
    }

    fn is_patch_type(&self, name: &str) -> bool {
        self.scope.patches && (matches!(name, "Object" | "JSONPatch") || name.starts_with("Object."))
    }

    fn field(&mut self, operand: &'c Expr, field: &str, optional: bool) -> Typed {
        let of = self.expr(operand)?;
        let of = self.types.known(&of);
        let (of, is_optional) = match &of {
            Type::Optional(inner) => (inner.as_ref().clone(), true),
            _ => (of, false),
        };
        let found = match &of {
            Type::Map(_, value) => value.as_ref().clone(),
            Type::Named(name) => self.declared_field(name, field)?,
            Type::Object(object) => self.object_field(object, field)?,
            Type::Free(_) => {
                self.types.assign(&Type::Dyn, &of);
                Type::Dyn
            }
            Type::Unknown => Type::Unknown,
            Type::Dyn => Type::Dyn,
            other => return Err(reason!("`{other}` has no field `{field}`, nor any other")),
        };
        Ok(if is_optional || optional { Type::optional(found) } else { found })
    }

    fn declared_field(&self, object: &str, field: &str) -> Typed {
        if object == VARIABLES {
            let variables = self.scope.variables.as_ref();
            let found = variables.and_then(|variables| variables.get(field)).cloned();
            return found.ok_or_else(|| reason!("there is no variable `{field}` before this expression"));
        }
        if self.is_patch_type(object) && object != "JSONPatch" {
            return Ok(Type::Dyn);
        }
        let found = self.declared.fields(object).and_then(|fields| fields.get(field)).cloned();
        found.ok_or_else(|| reason!("`{object}` has no field `{field}`"))
    }

    fn object_field(&self, object: &ObjectType, field: &str) -> Typed {
        object.field(field, self.scope.minor >= FIRST_WITH_RESERVED_NAMES).ok_or_else(|| {
            if object.hides(field) {
                return reason!("the API server has no type for the field `{field}` of `{}`", object.path());
            }
            let names = object.names();
            let near = nearest(field, &names).map_or_else(String::new, |near| format!("; there is `{near}`"));
            reason!("`{}` has no field `{field}`{near}", object.path())
        })
    }

    /// Returns the types of the entries of a list or map; marked entries are optionals.
    fn entries(&mut self, entries: impl Iterator<Item = (&'c Expr, bool)>) -> Result<Vec<Type>, Reason> {
        let mut types = Vec::new();
        for (entry, optional) in entries {
            let of = self.expr(entry)?;
            types.push(if optional { self.unwrapped(&of)? } else { of });
        }
        Ok(types)
    }

    fn unwrapped(&mut self, of: &Type) -> Typed {
        match self.types.known(of) {
            Type::Optional(inner) => Ok(inner.as_ref().clone()),
            any @ (Type::Dyn | Type::Unknown) => Ok(any),
            other => Err(reason!("`?` stands before `{other}`, which is no optional")),
        }
    }

    /// Returns the most general of some types.
    fn joined(&mut self, types: Vec<Type>) -> Typed {
        let mut joined = None;
        for of in &types {
            joined = Some(match joined {
                None => of.clone(),
                Some(before) if self.types.assign(&before, of) => self.types.general(&before, of),
                Some(_) => Type::Dyn,
            });
        }
        // Since 1.30 an API server checks the entries of literals; the check before is not modelled.
        if self.formats == 0 && self.scope.minor >= FIRST_WITH_LITERALS {
            self.literals.push(types);
        }
        Ok(joined.unwrap_or_else(|| self.types.free()))
    }

    fn object(&mut self, name: &str, fields: &'c [Field]) -> Typed {
        let name = without_prefix(name, &['.']);
        let root = root_of(name);
        let is_known = self.is_patch_type(name);
        if !is_known && !is_foreign(root) {
            return Err(reason!("there is no type `{name}`"));
        }
        for (field, value, optional) in fields {
            let of = self.expr(value)?;
            let of = if *optional { self.unwrapped(&of)? } else { of };
            if is_known {
                match self.declared_field(name, field) {
                    Ok(needed) if self.types.assign(&needed, &of) => {}
                    Ok(needed) => {
                        let of = self.types.settled(&of);
                        return Err(reason!("the field `{field}` of `{name}` takes `{needed}`, and not `{of}`"));
                    }
                    // An unknown field is found when the expression is evaluated, if its type is not known before.
                    Err(why) => {
                        let known = self.types.known(&of);
                        if !matches!(known, Type::Dyn | Type::Unknown | Type::Free(_)) {
                            return Err(why);
                        }
                    }
                }
            }
        }
        Ok(if is_known { Type::named(name) } else { Type::Unknown })
    }

    fn operator(&mut self, name: &str, operands: &[&'c Expr]) -> Typed {
        let types = operands.iter().map(|operand| self.expr(operand)).collect::<Result<Vec<_>, _>>()?;
        self.call(name, false, &types)
    }

    fn needs(&mut self, of: &Type, needed: &Type) -> Result<(), Reason> {
        if self.types.assign(of, needed) {
            return Ok(());
        }
        let (of, needed) = (self.types.settled(of), self.types.settled(needed));
        Err(reason!("`{of}` stands where `{needed}` is needed"))
    }

    fn function(&mut self, target: Option<&'c Expr>, function: &str, arguments: &'c [Expr]) -> Typed {
        let path = target.and_then(Expr::path);
        let path = path.map(|path| format!("{}.{function}", without_prefix(&path, &['.'])));
        let global = match (target, path) {
            (None, _) => Some(function.to_owned()),
            (Some(target), path) => path.filter(|path| self.is_function(path, target)),
        };
        let name = global.as_deref().unwrap_or(function);
        self.must_have(name)?;
        let is_format = name == "format";
        self.formats += u32::from(is_format);
        let mut types = Vec::new();
        if let (None, Some(target)) = (&global, target) {
            types.push(self.expr(target)?);
        }
        for argument in arguments {
            types.push(match argument {
                Expr::List(items) if is_format => self.formatted(target, items)?,
                argument => self.expr(argument)?,
            });
        }
        self.formats -= u32::from(is_format);
        let found = self.call(name, global.is_none(), &types)?;
        let is_looked_at = self.scope.minor >= FIRST_WITH_LITERALS;
        match literals::problem(name, target.filter(|_| global.is_none()), arguments) {
            Some(why) if is_looked_at => Err(why),
            _ => Ok(found),
        }
    }

    /// Returns the type of the list of `format`. The types of its items are compared with the places of the format in
    /// the end.
    fn formatted(&mut self, format: Option<&'c Expr>, items: &'c [(Expr, bool)]) -> Typed {
        let types = self.entries(items.iter().map(|(item, optional)| (item, *optional)))?;
        if let Some(Expr::Literal(Value::String(text))) = format.filter(|_| self.scope.minor >= FIRST_WITH_LITERALS) {
            let verbs = literals::verbs(text).into_iter().flatten();
            self.formatted.extend(verbs.zip(types.iter().cloned()));
        }
        self.joined(types).map(Type::list)
    }

    /// Whether a call is a call of a function with points in its name. A name bound by a macro may be a value.
    fn is_function(&self, path: &str, target: &Expr) -> bool {
        let all = self.declared.functions(path);
        let is_bound = matches!(target, Expr::Ident(name) if self.bound.iter().any(|(bound, _)| bound == name));
        all.iter().any(|function| !is_bound || self.has(function.since))
    }

    fn has(&self, since: Since) -> bool {
        match since {
            // New expressions use the library of the minor before, so that the API server can be rolled back.
            Since::Library(minor) if self.scope.is_stored => self.scope.minor >= minor,
            Since::Library(minor) => self.scope.minor > minor,
            Since::Server(minor) => self.scope.minor >= minor,
            Since::ServerUpTo(minor) => self.scope.minor <= minor,
            Since::Patches => self.scope.patches,
        }
    }

    /// Checks that there is a function of a name.
    fn must_have(&self, name: &str) -> Result<(), Reason> {
        let all = self.declared.functions(name);
        if all.iter().any(|function| self.has(function.since)) {
            return Ok(());
        }
        match all.iter().map(|function| function.since).min() {
            None => Err(reason!("there is no function `{name}`")),
            Some(since) => Err(Reason(self.too_new("function", name, since))),
        }
    }

    fn too_new(&self, what: &str, name: &str, since: Since) -> String {
        let minor = self.scope.minor;
        match since {
            Since::Library(library) => format!(
                "the {what} `{name}` came with the CEL library of Kubernetes 1.{library}, and Kubernetes 1.{minor} takes new \
                 expressions with the library of 1.{}",
                minor.saturating_sub(1)
            ),
            Since::Server(server) => format!("Kubernetes 1.{minor} has no {what} `{name}`; it came with 1.{server}"),
            Since::ServerUpTo(last) => {
                format!("Kubernetes 1.{minor} has no {what} `{name}`; Kubernetes 1.{last} was the last with it")
            }
            Since::Patches => format!("the {what} `{name}` may be used in the mutations of a policy alone"),
        }
    }

    /// Returns the type of the result of a call.
    fn call(&mut self, name: &str, is_member: bool, arguments: &[Type]) -> Typed {
        let mut result: Option<Type> = None;
        let is_unknown = arguments.iter().any(|of| has_unknown(&self.types.known(of)));
        let fits =
            |function: &&Function| function.is_member == is_member && function.arguments.len() == arguments.len();
        for function in self
            .declared
            .functions(name)
            .iter()
            .filter(fits)
            .filter(|function| self.has(function.since))
            .collect::<Vec<_>>()
        {
            let start = self.types.fresh(function.free);
            let needed: Vec<Type> = function.arguments.iter().map(|of| of.instance(start)).collect();
            if !self.types.assign_all(arguments, &needed) {
                continue;
            }
            let made = self.types.known(&function.result.instance(start));
            result = Some(match result {
                None => made,
                Some(before) if matches!(before, Type::Dyn | Type::Unknown) || self.types.is_same(&before, &made) => {
                    before
                }
                Some(_) if is_unknown => Type::Unknown,
                Some(_) => Type::Dyn,
            });
        }
        result.ok_or_else(|| Reason(self.no_overload(name, arguments)))
    }

    fn no_overload(&mut self, name: &str, arguments: &[Type]) -> String {
        let types: Vec<String> = arguments.iter().map(|of| format!("`{}`", self.types.settled(of))).collect();
        let types = if types.is_empty() { "nothing".to_owned() } else { types.join(" and ") };
        match name {
            "_[_]" | "_[?_]" => format!("brackets do not take {types}"),
            "_?_:_" => format!("a choice with `?` and `:` does not take {types}"),
            name if name.starts_with(['_', '!', '-']) || name == "@in" => {
                format!("the operator `{}` does not take {types}", name.trim_matches(['_', '@']))
            }
            "@sortByAssociatedKeys" => format!("`sortBy` does not take {types}"),
            name => format!("the function `{name}` does not take {types}"),
        }
    }

    /// Returns the type of a macro, from the loop of its expansion in cel-go.
    fn fold(&mut self, fold: &'c Fold) -> Typed {
        if !self.has(fold.since()) {
            return Err(Reason(self.too_new("macro", fold.name(), fold.since())));
        }
        let range = self.expr(&fold.range)?;
        let range = self.types.known(&range);
        let outer = self.bound.len();
        let made = match fold.kind {
            FoldKind::OptionalMap | FoldKind::OptionalFlatMap => self.optional(fold, &range),
            FoldKind::SortBy => self.sorted(fold, &range),
            _ => self.looped(fold, &range),
        };
        self.bound.truncate(outer);
        made
    }

    fn optional(&mut self, fold: &'c Fold, range: &Type) -> Typed {
        let condition = self.call("hasValue", true, std::slice::from_ref(range))?;
        let value = self.call("value", true, std::slice::from_ref(range))?;
        self.bind(fold, [value].into_iter());
        let mut made = self.last_body(fold)?;
        if fold.kind == FoldKind::OptionalMap {
            made = self.call("optional.of", false, &[made])?;
        }
        let none = self.call("optional.none", false, &[])?;
        self.call("_?_:_", false, &[condition, made, none])
    }

    fn sorted(&mut self, fold: &'c Fold, range: &Type) -> Typed {
        if matches!(fold.range, Expr::Literal(_) | Expr::Map(_) | Expr::Struct { .. } | Expr::Has { .. }) {
            return Err(reason!("`sortBy` sorts a list, and this is none"));
        }
        let entry = self.entry(range, false)?;
        self.bind(fold, entry.into_iter());
        let keys = Type::list(self.last_body(fold)?);
        self.call("@sortByAssociatedKeys", true, &[range.clone(), keys])
    }

    fn looped(&mut self, fold: &'c Fold, range: &Type) -> Typed {
        let entry = self.entry(range, fold.names.len() > 1)?;
        let key = entry.first.clone();
        self.bind(fold, entry.into_iter());
        let mut bodies = fold.bodies.iter();
        let Some(first) = bodies.next() else { return Ok(Type::Unknown) };
        let first = self.expr(first)?;
        let second = bodies.next().map(|body| self.expr(body)).transpose()?;
        let start = match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => {
                return self.needs(&first, &Type::Bool).map(|()| Type::Bool);
            }
            FoldKind::MapOfValues | FoldKind::MapOfEntries => Type::map(self.types.free(), self.types.free()),
            _ => Type::list(self.types.free()),
        };
        let (condition, made) = match second {
            Some(made) => (Some(first), made),
            None if fold.kind == FoldKind::Filter => (Some(first), key.clone()),
            None => (None, first),
        };
        let mut step = match fold.kind {
            FoldKind::MapOfValues => self.call("cel.@mapInsert", false, &[start.clone(), key, made])?,
            FoldKind::MapOfEntries => self.call("cel.@mapInsert", false, &[start.clone(), made])?,
            _ => self.call("_+_", false, &[start.clone(), Type::list(made)])?,
        };
        if let Some(condition) = condition {
            step = self.call("_?_:_", false, &[condition, step, start.clone()])?;
        }
        self.needs(&start, &step)?;
        Ok(self.types.known(&start))
    }

    fn bind(&mut self, fold: &'c Fold, types: impl Iterator<Item = Type>) {
        self.bound.extend(fold.names.iter().map(String::as_str).zip(types));
    }

    fn last_body(&mut self, fold: &'c Fold) -> Typed {
        fold.bodies.last().map_or(Ok(Type::Unknown), |body| self.expr(body))
    }

    /// Returns the types of the names of an entry.
    fn entry(&mut self, range: &Type, has_two: bool) -> Result<Entry, Reason> {
        Ok(match range {
            Type::List(item) if has_two => Entry::pair(Type::Int, item.as_ref().clone()),
            Type::List(item) => Entry { first: item.as_ref().clone(), second: None },
            Type::Map(key, value) => Entry::pair(key.as_ref().clone(), value.as_ref().clone()),
            Type::Unknown => Entry::pair(Type::Unknown, Type::Unknown),
            Type::Dyn => Entry::pair(Type::Dyn, Type::Dyn),
            Type::Free(_) => {
                self.types.assign(&Type::Dyn, range);
                Entry::pair(Type::Dyn, Type::Dyn)
            }
            other => return Err(reason!("a macro goes through `{other}`, which is neither a list nor a map")),
        })
    }
}

/// The types of the names bound by a macro.
struct Entry {
    first: Type,
    second: Option<Type>,
}

impl Entry {
    fn pair(first: Type, second: Type) -> Self {
        Self { first, second: Some(second) }
    }

    fn into_iter(self) -> impl Iterator<Item = Type> {
        std::iter::once(self.first).chain(self.second)
    }
}

/// Returns the type of a variable: `dyn` without a declared schema, as in the environments of k8s.io/apiserver
/// v0.37.2 (`pkg/admission/plugin/cel/compile.go`).
fn type_or_dyn(of: Option<&Type>) -> Type {
    of.map_or(Type::Dyn, Type::clone)
}

/// The type of all variables together.
const VARIABLES: &str = "kubernetes.variables";

/// Whether a name is of protobuf or of a library. Such names are not listed and not checked.
fn is_foreign(root: &str) -> bool {
    matches!(root, "google" | "kubernetes" | "net")
}

fn root_of(path: &str) -> &str {
    path.split_once('.').map_or(path, |(root, _)| root)
}

fn has_unknown(of: &Type) -> bool {
    match of {
        Type::Unknown => true,
        Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => has_unknown(inner),
        Type::Map(key, value) => has_unknown(key) || has_unknown(value),
        _ => false,
    }
}

fn is_named(of: &Type, name: &str) -> bool {
    matches!(of, Type::Named(found) if found.as_ref() == name)
}

fn is_list_of(of: &Type, name: &str) -> bool {
    matches!(of, Type::List(item) if is_named(item, name))
}

fn function_of(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "_==_",
        Operator::NotEqual => "_!=_",
        Operator::Less => "_<_",
        Operator::LessOrEqual => "_<=_",
        Operator::Greater => "_>_",
        Operator::GreaterOrEqual => "_>=_",
        Operator::In => "@in",
        Operator::Add => "_+_",
        Operator::Subtract => "_-_",
        Operator::Multiply => "_*_",
        Operator::Divide => "_/_",
        Operator::Modulo => "_%_",
    }
}

/// Returns the probable spelling of a field: a distance of at most a third of the longer name.
fn nearest<'n>(field: &str, names: &'n [String]) -> Option<&'n str> {
    const MAXIMUM_LENGTH: usize = 64;
    let candidates = names.iter().filter(|name| field.len().max(name.len()) <= MAXIMUM_LENGTH);
    let distances = candidates.map(|name| (strsim::damerau_levenshtein(field, name), name.as_str()));
    distances.filter(|(distance, name)| distance * 3 <= field.len().max(name.len())).min().map(|(_, name)| name)
}
