//! The fields that an expression reads, and the constants that it compares them with.

use std::collections::BTreeMap;

use super::Program;
use super::ast::{Expr, Operator};
use super::macros::FoldKind;
use super::value::Value;

/// A step of the path of a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldStep {
    /// A name such as `object` at the beginning, a field of an object, or a key of a map.
    Name(String),
    /// Any item of a list, or any value of a map.
    Each,
}

impl FieldStep {
    /// Returns the name of the field; none for the items of a list.
    pub fn name(&self) -> Option<&str> {
        match self {
            FieldStep::Name(name) => Some(name),
            FieldStep::Each => None,
        }
    }
}

/// The fields of expressions by their paths, each with the constants next to it.
pub type FieldReads = BTreeMap<Vec<FieldStep>, Vec<Value>>;

/// The deepest nesting of variables.
const DEEPEST_VARIABLE: usize = 16;

impl Program {
    /// Adds the fields that the expression reads. Returns false if the expression is unsupported, so that its fields are unknown.
    pub fn add_reads(&self, variables: &BTreeMap<String, Program>, reads: &mut FieldReads) -> bool {
        let Ok(expr) = &self.expr else { return false };
        Reads { variables, bound: Vec::new(), reads }.expr(expr);
        true
    }
}

struct Reads<'r> {
    variables: &'r BTreeMap<String, Program>,
    /// The names bound by macros, with the paths of their values.
    bound: Vec<(&'r str, Option<Vec<FieldStep>>)>,
    reads: &'r mut FieldReads,
}

impl<'r> Reads<'r> {
    fn expr(&mut self, expr: &'r Expr) {
        match expr {
            Expr::Binary { operator: Operator::In, left, right } => {
                if let (Expr::Literal(Value::String(key)), Some(path)) = (left.as_ref(), self.path(right, 0)) {
                    self.add(behind(path, FieldStep::Name(key.to_string())), &[]);
                    return;
                }
                self.compared(left, std::slice::from_ref(right.as_ref()));
            }
            Expr::Binary { left, right, .. } => {
                self.compared(left, std::slice::from_ref(right.as_ref()));
                self.compared(right, std::slice::from_ref(left.as_ref()));
            }
            Expr::Call { target: Some(target), arguments, .. } => self.compared(target, arguments),
            Expr::Fold(fold) => {
                let range = self.path(&fold.range, 0);
                self.expr(&fold.range);
                let outer = self.bound.len();
                let is_optional = matches!(fold.kind, FoldKind::OptionalMap | FoldKind::OptionalFlatMap);
                let item = range.map(|path| if is_optional { path } else { behind(path, FieldStep::Each) });
                self.bound.extend(fold.names.iter().map(|name| (name.as_str(), item.clone())));
                fold.bodies.iter().for_each(|body| self.expr(body));
                self.bound.truncate(outer);
                return;
            }
            _ => {
                if let Some(path) = self.path(expr, 0) {
                    self.add(path, &[]);
                    return;
                }
            }
        }
        expr.children().into_iter().for_each(|child| self.expr(child));
    }

    /// Adds the constants next to a field.
    fn compared(&mut self, side: &Expr, others: &[Expr]) {
        let Some(path) = self.path(side, 0) else { return };
        let mut literals = Vec::new();
        others.iter().for_each(|other| gather(other, &mut literals));
        self.add(path, &literals);
    }

    fn add(&mut self, path: Vec<FieldStep>, literals: &[Value]) {
        let known = self.reads.entry(path).or_default();
        for literal in literals {
            if !known.contains(literal) {
                known.push(literal.clone());
            }
        }
    }

    /// Returns the path of a field behind a name.
    fn path(&self, expr: &Expr, depth: usize) -> Option<Vec<FieldStep>> {
        let name = |text: &str| FieldStep::Name(text.to_owned());
        match expr {
            Expr::Ident(known) => match self.bound.iter().rev().find(|(bound, _)| bound == known) {
                Some((_, path)) => path.clone(),
                None => Some(vec![name(known)]),
            },
            Expr::Select { operand, field, .. } | Expr::Has { operand, field } => {
                let variable = match operand.as_ref() {
                    Expr::Ident(known) if known == "variables" => self.variables.get(field),
                    _ => None,
                };
                match variable {
                    Some(program) if depth < DEEPEST_VARIABLE => self.path(program.expr.as_ref().ok()?, depth + 1),
                    Some(_) => None,
                    None => Some(behind(self.path(operand, depth)?, name(field))),
                }
            }
            Expr::Index { operand, index, .. } => {
                let step = match index.as_ref() {
                    Expr::Literal(Value::String(key)) => name(key),
                    _ => FieldStep::Each,
                };
                Some(behind(self.path(operand, depth)?, step))
            }
            Expr::Call { target: Some(target), function, .. } if function == "orValue" => self.path(target, depth),
            _ => None,
        }
    }
}

fn behind(mut path: Vec<FieldStep>, step: FieldStep) -> Vec<FieldStep> {
    path.push(step);
    path
}

/// Gathers the constants of an operand: a literal, or the literals of a list.
fn gather(expr: &Expr, literals: &mut Vec<Value>) {
    match expr {
        Expr::Literal(literal) => literals.push(literal.clone()),
        Expr::List(items) => items.iter().for_each(|(item, _)| gather(item, literals)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Names;

    fn reads(source: &str) -> Vec<String> {
        let variables =
            BTreeMap::from([("all".to_owned(), Program::compile("object.spec.containers", &Names::default()))]);
        let names = Names { variables: ["all"].into(), minor: 37, ..Names::default() };
        let mut reads = FieldReads::new();
        assert!(Program::compile(source, &names).add_reads(&variables, &mut reads), "{source}");
        let step = |step: &FieldStep| match step {
            FieldStep::Name(name) => name.clone(),
            FieldStep::Each => "[]".to_owned(),
        };
        let shown = |(path, literals): (&Vec<FieldStep>, &Vec<Value>)| {
            let literals: Vec<String> = literals.iter().map(Value::printed).collect();
            format!("{} {}", path.iter().map(step).collect::<Vec<_>>().join("."), literals.join(","))
        };
        reads.iter().map(shown).collect()
    }

    #[test]
    fn fields_are_read_with_the_constants_next_to_them() {
        let image = "object.spec.containers.[].image a/";
        assert!(reads("object.spec.containers.all(c, c.image.startsWith('a/'))").contains(&image.to_owned()));
        assert!(reads("variables.all.exists(c, c.image.startsWith('a/'))").contains(&image.to_owned()));
        assert_eq!(reads("'app' in object.metadata.labels"), ["object.metadata.labels.app "]);
        assert_eq!(reads("object.spec.x in ['a', 'b']"), ["object.spec.x a,b"]);
        assert_eq!(
            reads("has(object.spec.y) && 3 > object.spec.?n.orValue(1)"),
            ["object.spec.n 3,1", "object.spec.y "]
        );
        assert_eq!(reads("namespaceObject.metadata.labels['team'] != 'x'"), ["namespaceObject.metadata.labels.team x"]);
        assert_eq!(reads("size(namespaceObject.metadata.labels) > 2"), ["namespaceObject.metadata.labels "]);
    }

    #[test]
    fn unsupported_expressions_have_unknown_fields() {
        let program = Program::compile("ip('::1') == ip('::1')", &Names::default());
        assert!(!program.add_reads(&BTreeMap::new(), &mut FieldReads::new()));
    }
}
