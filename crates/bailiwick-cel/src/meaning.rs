//! The meaning of expressions: expressions with one number have the same result for all values of their names.
//!
//! An expression is read into nodes. Equal nodes have equal numbers, and nodes have no spelling: no blanks, no names of bound
//! variables, no order of the terms of `&&` and `||`. The logical part of an expression is a [`Formula`] over the other parts,
//! its atoms. Formulas with equal truth tables are one node ([`tables`]).
//!
//! The comparison is sound and not complete: different numbers mean nothing. Errors are results, whatever their text is. The
//! cost limit of the API server is no part of the meaning.

mod formula;
mod reader;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use super::{Program, ValueSchema};
use formula::{Domain, Formula, Truth};
use reader::Reader;

/// The number of a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeaningId(usize);

/// The meanings of some expressions.
#[derive(Debug)]
pub struct Meanings {
    /// The schema of `object` and `oldObject`, for scopes with objects of one schema.
    schema: Option<ValueSchema>,
    numbers: HashMap<Node, MeaningId>,
    nodes: Vec<Node>,
    /// The remaining steps. Without steps, formulas are compared by their form.
    work: u64,
    /// The expressions read so far. An expression that is read again has the same meaning, although fewer steps remain.
    read: HashMap<ReadKey, Vec<MeaningId>>,
    variables: HashMap<(MeaningScopeKey, String), (MeaningId, Domain)>,
}

/// The meaning of the names of expressions.
#[derive(Debug, Clone, Copy)]
pub struct MeaningScope<'s> {
    variables: &'s BTreeMap<String, Program>,
    key: MeaningScopeKey,
}

/// The texts of all variables, and whether objects have the schema.
type MeaningScopeKey = (MeaningId, bool);

/// A scope, a text, and its use: as a value, or as a condition with or without ignored failures.
type ReadKey = (MeaningScopeKey, String, Option<bool>);

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Node {
    /// The kind of the part, with its own names.
    label: String,
    /// The parts below.
    parts: Vec<MeaningId>,
    /// For a formula: the possible values of each part, and the result for each combination of them.
    table: Option<tables::Table>,
}

impl Meanings {
    /// Begins with a number of steps for all expressions together, and with the schema of some objects.
    pub fn new(work: u64, schema: Option<ValueSchema>) -> Self {
        let (numbers, nodes, read, variables) = (HashMap::new(), Vec::new(), HashMap::new(), HashMap::new());
        Self { schema, numbers, nodes, work, read, variables }
    }

    /// Returns a scope with the variables of a policy. `has_schema` means that all objects have the known schema.
    pub fn scope<'s>(&mut self, variables: &'s BTreeMap<String, Program>, has_schema: bool) -> MeaningScope<'s> {
        let source =
            |(name, program): (&String, &Program)| format!(" {name} {} {}", program.source.len(), program.source);
        let texts = self.part(format!("variables{}", variables.iter().map(source).collect::<String>()), Vec::new());
        MeaningScope { variables, key: (texts, has_schema) }
    }

    /// Returns the meaning of the value of an expression.
    pub fn value(&mut self, program: &Program, scope: MeaningScope<'_>) -> MeaningId {
        let read = |meanings: &mut Self| {
            let formula = Reader::new(meanings, scope).program(program);
            vec![meanings.settle(&formula)]
        };
        match *self.read_once((scope.key, program.source.clone(), None), read) {
            [only] => only,
            _ => self.always(false),
        }
    }

    /// Returns the meanings of the conditions of an expression that has to be true: all of them hold if and only if the expression is
    /// true, or fails and failures are ignored.
    pub fn conditions(&mut self, program: &Program, scope: MeaningScope<'_>, ignores_failures: bool) -> Vec<MeaningId> {
        let read = |meanings: &mut Self| {
            // A failure that is ignored is no part of one term alone.
            let terms = match Reader::new(meanings, scope).program(program) {
                Formula::And(terms) if !ignores_failures => terms,
                formula => vec![formula],
            };
            let holds = |formula| Formula::Holds { formula: Box::new(formula), ignores_failures };
            terms.into_iter().map(|term| meanings.settle(&holds(term))).collect()
        };
        self.read_once((scope.key, program.source.clone(), Some(ignores_failures)), read)
    }

    fn read_once(&mut self, key: ReadKey, read: impl FnOnce(&mut Self) -> Vec<MeaningId>) -> Vec<MeaningId> {
        if let Some(known) = self.read.get(&key) {
            return known.clone();
        }
        let found = read(self);
        self.read.insert(key, found.clone());
        found
    }

    /// Whether one condition is true for all values for which another condition is true; false if this is unknown.
    pub fn implies(&mut self, one: MeaningId, other: MeaningId) -> bool {
        one == other || self.compare_tables(one, other)
    }

    /// Returns the meaning of a constant.
    pub fn always(&mut self, truth: bool) -> MeaningId {
        self.settle(&Formula::Constant(if truth { Truth::True } else { Truth::False }))
    }

    /// Returns the number of a node.
    fn number(&mut self, node: Node) -> MeaningId {
        let next = MeaningId(self.nodes.len());
        *self.numbers.entry(node).or_insert_with_key(|node| {
            self.nodes.push(node.clone());
            next
        })
    }

    /// Returns the number of a part without a table.
    fn part(&mut self, label: impl Into<String>, parts: Vec<MeaningId>) -> MeaningId {
        self.number(Node { label: label.into(), parts, table: None })
    }
}
