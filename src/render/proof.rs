//! Proves that a template only prints what differs from tenant to tenant.
//!
//! Where every value that differs is printed as it is, and nothing is decided, computed or compared with it, one
//! rendering holds for a whole class of tenants: only the printed scalars change (`specs/rust.md` section 6.5). The
//! proof walks the template's syntax tree together with the data of the class, so that `{% if labels %}` asks about
//! these labels and not about any. What it does not know it refuses; a refusal costs time and nothing else.
//!
//! The tree comes from the engine's `unstable_machinery`: the lock file pins its version, and a change of it shows as a
//! compile error here, not as another answer.

use std::collections::BTreeSet;

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, ForLoop, IfCond, Stmt, UnaryOpKind};
use minijinja::machinery::parse;

use super::composite::literal;
use super::{TemplateSet, syntax};

/// Columns of the account list, by their numbers.
pub type Columns = BTreeSet<usize>;

/// What a template may print, with what of it differs from tenant to tenant. Maps and lists are the same for all but
/// for the holes in them.
#[derive(Debug, Clone, PartialEq)]
pub enum Marked {
    /// The same for every tenant of the class.
    Same,
    /// A scalar with the values of columns in it. It is neither empty nor zero: it counts as true.
    Hole(Columns),
    /// A list with holes somewhere in it.
    List(Vec<Marked>),
    /// A map with holes in its values; its keys are the same for all.
    Map(Vec<(String, Marked)>),
}

impl Marked {
    /// Every column in it.
    pub fn columns(&self) -> Columns {
        let mut found = Columns::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, found: &mut Columns) {
        match self {
            Marked::Same => {}
            Marked::Hole(columns) => found.extend(columns),
            Marked::List(items) => items.iter().for_each(|item| item.collect(found)),
            Marked::Map(entries) => entries.iter().for_each(|(_, value)| value.collect(found)),
        }
    }
}

/// Why a template does not only print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Something else happens to the values of these columns.
    Uses(Columns),
    /// The template has something that the proof does not follow.
    Unknown,
}

/// How deep templates may include each other, and expressions nest, for a proof.
const MAXIMUM_DEPTH: usize = 30;

/// How many statements a proof follows, those of included templates each time: many times what the largest has.
const MAXIMUM_STATEMENTS: usize = 10_000;

/// How many bytes a statement has, about.
const TYPICAL_STATEMENT: usize = 64;

impl TemplateSet {
    /// Proves that a template only prints the holes of its data.
    ///
    /// # Errors
    /// Which columns are used otherwise, as far as that can be told.
    pub fn only_prints(&self, name: &str, data: &Marked) -> Result<(), Refusal> {
        let mut walk = Walk { templates: self, root: data, scopes: Vec::new(), depth: 0, statements: 0 };
        walk.template(name)
    }
}

/// What an expression may be: any of these parts of the data; with none, something that is the same for all.
type Parts<'d> = Vec<&'d Marked>;

/// A walk over a template with the variables that it binds.
struct Walk<'d> {
    templates: &'d TemplateSet,
    root: &'d Marked,
    scopes: Vec<(String, Parts<'d>)>,
    depth: usize,
    statements: usize,
}

impl<'d> Walk<'d> {
    fn template(&mut self, name: &str) -> Result<(), Refusal> {
        let name = self.templates.resolve(name);
        let Some(source) = self.templates.source(name) else { return Err(Refusal::Unknown) };
        if self.depth >= MAXIMUM_DEPTH {
            return Err(Refusal::Unknown);
        }
        self.depth += 1;
        // Reading it anew is work, too.
        self.statements += source.len() / TYPICAL_STATEMENT;
        let parsed = parse(source, name, syntax()).map_err(|_| Refusal::Unknown)?;
        let Stmt::Template(template) = &parsed else { return Err(Refusal::Unknown) };
        self.body(&template.children)?;
        self.depth -= 1;
        Ok(())
    }

    /// Statements in a scope of their own.
    fn body(&mut self, statements: &[Stmt<'_>]) -> Result<(), Refusal> {
        let outside = self.scopes.len();
        for statement in statements {
            self.statement(statement)?;
        }
        self.scopes.truncate(outside);
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), Refusal> {
        self.statements += 1;
        if self.statements > MAXIMUM_STATEMENTS {
            return Err(Refusal::Unknown);
        }
        match statement {
            Stmt::EmitRaw(_) => Ok(()),
            Stmt::EmitExpr(emit) => self.printed(&emit.expr, 0),
            Stmt::IfCond(condition) => self.condition(condition),
            Stmt::ForLoop(each) => self.each(each),
            Stmt::Include(include) => self.template(literal(&include.name).ok_or(Refusal::Unknown)?),
            Stmt::WithBlock(with) => {
                let outside = self.scopes.len();
                for (target, value) in &with.assignments {
                    let value = self.value(value, 0)?;
                    self.bind(target, value)?;
                }
                self.body(&with.body)?;
                self.scopes.truncate(outside);
                Ok(())
            }
            // A name that is set in one branch may be read after it: only what is the same for all may be set.
            Stmt::Set(set) => self.same(&set.expr, 0),
            _ => Err(Refusal::Unknown),
        }
    }

    fn condition(&mut self, condition: &IfCond<'_>) -> Result<(), Refusal> {
        self.truth(&condition.expr, 0)?;
        self.body(&condition.true_body)?;
        self.body(&condition.false_body)
    }

    fn each(&mut self, each: &ForLoop<'_>) -> Result<(), Refusal> {
        if each.recursive {
            return Err(Refusal::Unknown);
        }
        let outside = self.scopes.len();
        match &each.iter {
            Expr::Filter(filter) if filter.name == "items" && filter.args.is_empty() => {
                let over = filter.expr.as_ref().ok_or(Refusal::Unknown)?;
                let values = self.value(over, 0)?.into_iter().map(children).collect::<Result<Vec<_>, _>>()?.concat();
                let names = targets(&each.target);
                let [Expr::Var(key), value] = names.as_slice() else { return Err(Refusal::Unknown) };
                self.scopes.push((key.id.to_owned(), Parts::new()));
                self.bind(value, values)?;
            }
            over => {
                let parts = self.value(over, 0)?;
                // The items of a map are its keys, which are the same for all.
                let lists = parts.into_iter().filter(|part| !matches!(part, Marked::Map(_)));
                let items = lists.map(children).collect::<Result<Vec<_>, _>>()?.concat();
                self.bind(&each.target, items)?;
            }
        }
        if let Some(filter) = &each.filter_expr {
            self.truth(filter, 0)?;
        }
        self.body(&each.body)?;
        self.scopes.truncate(outside);
        self.body(&each.else_body)
    }

    /// Binds a name, or the names of a tuple to the items of what is bound.
    fn bind(&mut self, target: &Expr<'_>, parts: Parts<'d>) -> Result<(), Refusal> {
        match target {
            Expr::Var(name) => {
                self.scopes.push((name.id.to_owned(), parts));
                Ok(())
            }
            _ => {
                let items = parts.into_iter().map(children).collect::<Result<Vec<_>, _>>()?.concat();
                targets(target).into_iter().try_for_each(|name| match name {
                    Expr::Var(name) => {
                        self.scopes.push((name.id.to_owned(), items.clone()));
                        Ok(())
                    }
                    _ => Err(Refusal::Unknown),
                })
            }
        }
    }

    /// An expression that is printed: a part of the data as it is, or something that is the same for all.
    fn printed(&self, expression: &Expr<'_>, depth: usize) -> Result<(), Refusal> {
        match expression {
            Expr::IfExpr(choice) => {
                self.truth(&choice.test_expr, depth + 1)?;
                self.printed(&choice.true_expr, depth + 1)?;
                choice.false_expr.as_ref().map_or(Ok(()), |other| self.printed(other, depth + 1))
            }
            // A text around a scalar is a longer scalar.
            Expr::BinOp(joined) if matches!(joined.op, BinOpKind::Concat) => {
                for side in [&joined.left, &joined.right] {
                    match side {
                        Expr::BinOp(inner) if matches!(inner.op, BinOpKind::Concat) => self.printed(side, depth + 1)?,
                        _ => {
                            let parts = self.value(side, depth + 1)?;
                            if parts.iter().any(|part| matches!(part, Marked::List(_) | Marked::Map(_))) {
                                return Err(Refusal::Unknown);
                            }
                        }
                    }
                }
                Ok(())
            }
            other => self.value(other, depth).map(|_| ()),
        }
    }

    /// An expression that decides: whether a part of the data is there or empty is the same for all.
    fn truth(&self, expression: &Expr<'_>, depth: usize) -> Result<(), Refusal> {
        match expression {
            Expr::UnaryOp(not) if matches!(not.op, UnaryOpKind::Not) => self.truth(&not.expr, depth + 1),
            Expr::BinOp(both) if matches!(both.op, BinOpKind::ScAnd | BinOpKind::ScOr) => {
                self.truth(&both.left, depth + 1)?;
                self.truth(&both.right, depth + 1)
            }
            Expr::Test(test) if matches!(test.name, "defined" | "undefined" | "none") && test.args.is_empty() => {
                self.value(&test.expr, depth + 1).map(|_| ())
            }
            other => self.value(other, depth).map(|_| ()),
        }
    }

    /// The parts of the data that a path names; for any other expression it has to be the same for all.
    fn value(&self, expression: &Expr<'_>, depth: usize) -> Result<Parts<'d>, Refusal> {
        if depth > MAXIMUM_DEPTH {
            return Err(Refusal::Unknown);
        }
        match expression {
            // Beside numbers a loop knows its neighbours, and whether something changed.
            Expr::Var(name) if name.id == LOOP => Err(Refusal::Unknown),
            Expr::Var(name) => self.variable(name.id),
            Expr::GetAttr(attribute) => match &attribute.expr {
                Expr::Var(name) if name.id == LOOP && LOOP_NUMBERS.contains(&attribute.name) => Ok(Parts::new()),
                inner => at_key(self.value(inner, depth + 1)?, attribute.name),
            },
            Expr::GetItem(item) => {
                let parts = self.value(&item.expr, depth + 1)?;
                match &item.subscript_expr {
                    Expr::Const(key) => match (key.value.as_str(), key.value.as_usize()) {
                        (Some(key), _) => at_key(parts, key),
                        (None, Some(position)) => at_position(parts, position),
                        _ => same(parts),
                    },
                    computed => {
                        self.same(computed, depth + 1)?;
                        same(parts)
                    }
                }
            }
            other => self.same(other, depth).map(|()| Parts::new()),
        }
    }

    /// Refuses an expression that a hole has any part in.
    fn same(&self, expression: &Expr<'_>, depth: usize) -> Result<(), Refusal> {
        if depth > MAXIMUM_DEPTH {
            return Err(Refusal::Unknown);
        }
        let each = |expressions: &[&Expr<'_>]| expressions.iter().try_for_each(|part| self.same(part, depth + 1));
        let arguments = |arguments: &[CallArg<'_>]| {
            arguments.iter().try_for_each(|argument| match argument {
                CallArg::Pos(value) | CallArg::Kwarg(_, value) => self.same(value, depth + 1),
                _ => Err(Refusal::Unknown),
            })
        };
        match expression {
            Expr::Const(_) => Ok(()),
            Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) => same(self.value(expression, depth)?).map(|_| ()),
            Expr::UnaryOp(operator) => self.same(&operator.expr, depth + 1),
            Expr::BinOp(operator) => each(&[&operator.left, &operator.right]),
            Expr::Compare(compare) => {
                self.same(&compare.expr, depth + 1)?;
                compare.ops.iter().try_for_each(|part| self.same(&part.expr, depth + 1))
            }
            Expr::IfExpr(choice) => {
                each(&[&choice.test_expr, &choice.true_expr])?;
                choice.false_expr.as_ref().map_or(Ok(()), |other| self.same(other, depth + 1))
            }
            Expr::Filter(filter) => {
                arguments(&filter.args)?;
                self.same(filter.expr.as_ref().ok_or(Refusal::Unknown)?, depth + 1)
            }
            Expr::Test(test) => {
                arguments(&test.args)?;
                self.same(&test.expr, depth + 1)
            }
            Expr::List(list) => list.items.iter().try_for_each(|item| self.same(item, depth + 1)),
            Expr::Tuple(tuple) => tuple.items.iter().try_for_each(|item| self.same(item, depth + 1)),
            Expr::Map(map) => map.keys.iter().chain(&map.values).try_for_each(|part| self.same(part, depth + 1)),
            // Of functions and slices nothing is known.
            Expr::Call(_) | Expr::Slice(_) => Err(Refusal::Unknown),
        }
    }

    fn variable(&self, name: &str) -> Result<Parts<'d>, Refusal> {
        match self.scopes.iter().rev().find(|(known, _)| known == name) {
            Some((_, parts)) => Ok(parts.clone()),
            None => at_key(vec![self.root], name),
        }
    }
}

/// How the body of a loop calls the loop.
const LOOP: &str = "loop";

/// What a loop tells of itself that has nothing to do with its items.
const LOOP_NUMBERS: [&str; 9] =
    ["depth", "depth0", "first", "index", "index0", "last", "length", "revindex", "revindex0"];

fn targets<'e, 'a>(target: &'e Expr<'a>) -> Vec<&'e Expr<'a>> {
    match target {
        Expr::Tuple(tuple) => tuple.items.iter().collect(),
        Expr::List(list) => list.items.iter().collect(),
        single => vec![single],
    }
}

/// What is in a list or a map. A scalar that differs cannot be looked into.
fn children(part: &Marked) -> Result<Parts<'_>, Refusal> {
    match part {
        Marked::Same => Ok(Parts::new()),
        Marked::Hole(columns) => Err(Refusal::Uses(columns.clone())),
        Marked::List(items) => Ok(items.iter().collect()),
        Marked::Map(entries) => Ok(entries.iter().map(|(_, value)| value).collect()),
    }
}

/// The values of a key; where there is none nothing that differs.
fn at_key<'d>(parts: Parts<'d>, key: &str) -> Result<Parts<'d>, Refusal> {
    let mut found = Parts::new();
    for part in parts {
        match part {
            Marked::Hole(columns) => return Err(Refusal::Uses(columns.clone())),
            Marked::Map(entries) => found.extend(entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)),
            Marked::Same | Marked::List(_) => {}
        }
    }
    Ok(found)
}

fn at_position(parts: Parts<'_>, position: usize) -> Result<Parts<'_>, Refusal> {
    let mut found = Parts::new();
    for part in parts {
        match part {
            Marked::Hole(columns) => return Err(Refusal::Uses(columns.clone())),
            Marked::List(items) => found.extend(items.get(position)),
            Marked::Same | Marked::Map(_) => {}
        }
    }
    Ok(found)
}

/// Nothing of these parts may differ from tenant to tenant.
fn same(parts: Parts<'_>) -> Result<Parts<'_>, Refusal> {
    let columns: Columns = parts.iter().flat_map(|part| part.columns()).collect();
    if columns.is_empty() { Ok(Parts::new()) } else { Err(Refusal::Uses(columns)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diag::{Files, Sink};
    use crate::source::{MemoryWorld, Sources};

    /// The verdict on a template, whose data has holes in `name` (column 0) and in the second rule (column 1).
    fn verdict(text: &str) -> Result<(), Refusal> {
        let path = "templates/tenancy/role.yaml.j2";
        let part = ("templates/_part.yaml.j2", "a: {{ name }}\n");
        let mut sources = Sources::new(Box::new(MemoryWorld::new([(path, text), part])), Arc::new(Files::new()));
        let templates = TemplateSet::load("templates", &mut sources, &mut Sink::new()).expect("memory can be read");
        let rule = Marked::Map(vec![
            ("verbs".to_owned(), Marked::Same),
            ("names".to_owned(), Marked::List(vec![Marked::Hole(Columns::from([1]))])),
        ]);
        let data = Marked::Map(vec![
            ("name".to_owned(), Marked::Hole(Columns::from([0]))),
            ("same".to_owned(), Marked::Same),
            ("rules".to_owned(), Marked::List(vec![Marked::Same, rule])),
        ]);
        templates.only_prints("tenancy/role.yaml.j2", &data)
    }

    #[test]
    fn printing_is_proven() {
        for text in [
            "a: {{ name }}\n",
            "a: {{ rules }}\n",
            "a: {{ rules[1].names[0] }}\n",
            "a: {{ rules[1][\"names\"] }}\n",
            "a: {{ \"x-\" ~ name ~ \"-y\" }}\n",
            "{% if name %}\na: {{ name }}\n{% endif %}\n",
            "{% if rules and not name is defined %}\na: b\n{% endif %}\n",
            "{% for rule in rules %}\n- {{ rule.names }}\n{% endfor %}\n",
            "{% for rule in rules if rule.names %}\n- {{ rule }}\n{% endfor %}\n",
            "{% for key, value in rules[1]|items %}\n{{ key }}: {{ value }}\n{% endfor %}\n",
            "{% for rule in rules %}\n- {{ loop.index }}\n{% endfor %}\n",
            "a: {{ same|upper }}\n",
            "{% with own = name %}\na: {{ own }}\n{% endwith %}\n",
            "{% set other = same %}\na: {{ other }}\n",
            "{% include \"_part.yaml.j2\" %}\n",
        ] {
            assert_eq!(verdict(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn every_other_use_is_refused_with_its_columns() {
        let uses = |column: usize| Err(Refusal::Uses(Columns::from([column])));
        for (text, expected) in [
            ("a: {{ name|upper }}\n", uses(0)),
            ("a: {{ name == \"x\" }}\n", uses(0)),
            ("a: {{ name[0] }}\n", uses(0)),
            ("a: {{ name.first }}\n", uses(0)),
            ("a: {{ [name] }}\n", uses(0)),
            ("a: {{ {name: 1} }}\n", uses(0)),
            ("a: {{ \"x\" if name > \"m\" else \"y\" }}\n", uses(0)),
            ("a: {{ rules|length }}\n", uses(1)),
            ("a: {{ same in rules[1].names }}\n", uses(1)),
            ("{% if name is startingwith \"a\" %}\na: b\n{% endif %}\n", uses(0)),
            ("{% for letter in name %}\n- {{ letter }}\n{% endfor %}\n", uses(0)),
            (
                "{% for rule in rules %}\n{% for name in rule.names %}\n- {{ name|length }}\n{% endfor %}\n{% endfor %}\n",
                uses(1),
            ),
            ("{% for rule in rules if \"x\" in rule.names %}\n- {{ rule }}\n{% endfor %}\n", uses(1)),
            ("{% with own = name %}\na: {{ own|length }}\n{% endwith %}\n", uses(0)),
            ("{% set own = name %}\na: {{ own }}\n", uses(0)),
        ] {
            assert_eq!(verdict(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for text in [
            "{% for rule in rules %}\n- {{ loop.previtem.names[0] == \"x\" }}\n{% endfor %}\n",
            "{% for rule in rules %}\n{% set l = loop %}\n- {{ l.previtem.names[0] == \"x\" }}\n{% endfor %}\n",
            "{% for rule in rules %}\n- {{ loop.changed(name) }}\n{% endfor %}\n",
            "{% macro m(x) %}\na: {{ x|length }}\n{% endmacro %}\n{{ m(name) }}\n",
            "{% include name %}\n",
            "a: {{ name[:2] }}\n",
            "a: {{ \"x\" ~ rules }}\n",
            "{% autoescape false %}\na: {{ name }}\n{% endautoescape %}\n",
            "{% include \"tenancy/role.yaml.j2\" %}{# itself #}\n",
        ] {
            assert!(verdict(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_proof_comes_to_an_end() {
        let twice = |next: usize| {
            let include = format!("{{% include \"_{next}.j2\" %}}");
            format!("{{% if same %}}{include}{include}{{% endif %}}\n")
        };
        let parts = (0..MAXIMUM_DEPTH - 1).map(|depth| (format!("templates/_{depth}.j2"), twice(depth + 1)));
        let last = (format!("templates/_{}.j2", MAXIMUM_DEPTH - 1), String::new());
        let mut sources = Sources::new(Box::new(MemoryWorld::new(parts.chain([last]))), Arc::new(Files::new()));
        let templates = TemplateSet::load("templates", &mut sources, &mut Sink::new()).expect("memory can be read");
        let data = Marked::Map(vec![("same".to_owned(), Marked::Same)]);
        assert_eq!(templates.only_prints("_12.j2", &data), Err(Refusal::Unknown));
        assert_eq!(templates.only_prints("_25.j2", &data), Ok(()));
    }
}
