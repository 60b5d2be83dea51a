//! Truth tables: formulas with equal tables over equal atoms are one node.

use std::collections::BTreeMap;

use super::formula::{Domain, Formula, Truth};
use super::{MeaningId, Meanings, Node};

/// The most combinations of values in a table.
const MOST_COMBINATIONS: usize = 1 << 16;

/// The results of a formula for the values of its atoms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Table {
    domains: Vec<Domain>,
    results: Vec<Truth>,
}

/// The atoms of a formula, each with its possible values.
struct Atoms {
    names: Vec<MeaningId>,
    values: Vec<Vec<Truth>>,
}

impl Atoms {
    /// Returns the atoms of formulas; none if they have too many combinations, or an atom has two domains.
    fn of(domains: &BTreeMap<MeaningId, Domain>) -> Option<Self> {
        let (mut values, mut combinations) = (Vec::new(), 1_usize);
        for domain in domains.values() {
            let own = domain.values(u8::try_from(values.len()).ok()?);
            combinations = combinations.checked_mul(own.len()).filter(|all| *all <= MOST_COMBINATIONS)?;
            values.push(own);
        }
        Some(Self { names: domains.keys().copied().collect(), values })
    }

    fn combinations(&self) -> usize {
        self.values.iter().map(Vec::len).product()
    }

    /// Returns the values of a combination. The first atom changes first.
    fn combination(&self, mut number: usize) -> Vec<Truth> {
        let mut combination = Vec::with_capacity(self.values.len());
        for values in &self.values {
            combination.extend(values.get(number % values.len()));
            number /= values.len();
        }
        combination
    }

    fn results(&self, formula: &Formula) -> Vec<Truth> {
        let results = (0..self.combinations()).map(|number| {
            let combination = self.combination(number);
            formula.evaluate(&|atom| self.value(&combination, atom))
        });
        results.collect()
    }

    fn value(&self, combination: &[Truth], atom: MeaningId) -> Truth {
        let position = self.names.binary_search(&atom).ok();
        position.and_then(|position| combination.get(position)).copied().map_or(Truth::Error, |truth| truth)
    }

    /// Whether the results depend on the atom at a position.
    fn matters(&self, position: usize, results: &[Truth]) -> bool {
        let Some(own) = self.values.get(position) else { return false };
        let stride: usize = self.values.iter().take(position).map(Vec::len).product();
        let returns = |truth: &Truth| matches!(truth, Truth::Other(number) if usize::from(*number) == position);
        let differs = |(number, truth): (usize, &Truth)| {
            let is_first = (number / stride).is_multiple_of(own.len());
            is_first && (1..own.len()).any(|step| results.get(number + step * stride) != Some(truth))
        };
        results.iter().any(returns) || results.iter().enumerate().any(differs)
    }
}

impl Meanings {
    /// Returns the number of a formula.
    pub(super) fn settle(&mut self, formula: &Formula) -> MeaningId {
        match formula {
            Formula::Atom(atom, _) => return *atom,
            Formula::Constant(truth) => return self.constant(*truth),
            _ => {}
        }
        let mut domains = BTreeMap::new();
        let is_plain = gather(formula, &mut domains);
        match Atoms::of(&domains).filter(|atoms| is_plain && self.can_spend(atoms.combinations(), size(formula))) {
            Some(atoms) => self.tabulate(&atoms, &domains, formula),
            None => self.by_form(formula),
        }
    }

    fn can_spend(&mut self, combinations: usize, size: usize) -> bool {
        let steps = (combinations as u64).saturating_mul(size as u64);
        let left = self.work.checked_sub(steps);
        self.work = left.map_or(self.work, |left| left);
        left.is_some()
    }

    fn constant(&mut self, truth: Truth) -> MeaningId {
        self.number(Node {
            label: "formula".to_owned(),
            parts: Vec::new(),
            table: Some(Table { domains: Vec::new(), results: vec![truth] }),
        })
    }

    /// Returns the number of the table of a formula, over the atoms that matter.
    fn tabulate(&mut self, atoms: &Atoms, domains: &BTreeMap<MeaningId, Domain>, formula: &Formula) -> MeaningId {
        let results = atoms.results(formula);
        let needed = atoms.names.iter().enumerate().filter(|(position, _)| atoms.matters(*position, &results));
        let needed: BTreeMap<MeaningId, Domain> =
            needed.filter_map(|(_, name)| domains.get(name).map(|domain| (*name, *domain))).collect();
        let Some(fewer) = Atoms::of(&needed) else { return self.by_form(formula) };
        // The other atoms have any of their values.
        let first = |atom: MeaningId| {
            let domain = domains.get(&atom).and_then(|domain| domain.values(u8::MAX).first().copied());
            domain.map_or(Truth::Error, |truth| truth)
        };
        let reduced: Vec<Truth> = (0..fewer.combinations())
            .map(|number| {
                let combination = fewer.combination(number);
                let value = |atom: MeaningId| {
                    if needed.contains_key(&atom) { fewer.value(&combination, atom) } else { first(atom) }
                };
                formula.evaluate(&value)
            })
            .collect();
        match (fewer.names.as_slice(), fewer.values.as_slice()) {
            ([only], [values]) if *values == reduced => *only,
            _ => self.number(Node {
                label: "formula".to_owned(),
                parts: fewer.names,
                table: Some(Table { domains: needed.into_values().collect(), results: reduced }),
            }),
        }
    }

    /// Returns the number of a formula without a table: the numbers of its parts, in any order for `&&`.
    fn by_form(&mut self, formula: &Formula) -> MeaningId {
        let mut parts: Vec<MeaningId> = formula.parts().iter().map(|part| self.settle(part)).collect();
        let label = match formula {
            Formula::Constant(truth) => return self.constant(*truth),
            Formula::Atom(atom, _) => return *atom,
            Formula::Not(_) => "not",
            Formula::And(_) => "and",
            Formula::If(_) => "if",
            Formula::Same(_) => "same",
            Formula::Body(_) => "body",
            Formula::Holds { ignores_failures: true, .. } => "holds or fails",
            Formula::Holds { ignores_failures: false, .. } => "holds",
        };
        if matches!(formula, Formula::And(_) | Formula::Same(_)) {
            parts.sort_unstable();
        }
        if matches!(formula, Formula::And(_)) {
            parts.dedup();
        }
        self.part(label, parts)
    }

    /// Whether the table of one condition implies the table of another one.
    pub(super) fn compare_tables(&mut self, one: MeaningId, other: MeaningId) -> bool {
        let length = |number: MeaningId| {
            let table = self.nodes.get(number.0).and_then(|node| node.table.as_ref());
            table.map_or(1, |table| table.results.len())
        };
        if !self.can_spend(length(one) + length(other), 1) {
            return false;
        }
        let (Some(one), Some(other)) = (self.condition(one), self.condition(other)) else { return false };
        let mut domains = one.domains();
        for (name, domain) in other.domains() {
            if *domains.entry(name).or_insert(domain) != domain {
                return false;
            }
        }
        let Some(atoms) = Atoms::of(&domains).filter(|atoms| self.can_spend(atoms.combinations(), 2)) else {
            return false;
        };
        (0..atoms.combinations()).all(|number| {
            let combination = atoms.combination(number);
            let is_true = |condition: &Condition| condition.result(&atoms, &combination) == Some(Truth::True);
            !is_true(&one) || is_true(&other)
        })
    }

    /// Returns a condition as a table. A condition without a table is an atom.
    fn condition(&self, number: MeaningId) -> Option<Condition> {
        let node = self.nodes.get(number.0)?;
        let (names, table) = match &node.table {
            Some(table) => (node.parts.clone(), table.clone()),
            None => {
                let results = Domain::Decided.values(0);
                (vec![number], Table { domains: vec![Domain::Decided], results })
            }
        };
        Some(Condition { names, table })
    }
}

/// The table of a condition, with its atoms.
struct Condition {
    names: Vec<MeaningId>,
    table: Table,
}

impl Condition {
    fn domains(&self) -> BTreeMap<MeaningId, Domain> {
        self.names.iter().copied().zip(self.table.domains.iter().copied()).collect()
    }

    fn result(&self, atoms: &Atoms, combination: &[Truth]) -> Option<Truth> {
        let (mut number, mut stride) = (0, 1);
        for (name, domain) in self.names.iter().zip(&self.table.domains) {
            let value = atoms.value(combination, *name);
            let is_same = |known: &Truth| match (known, value) {
                (Truth::Other(_), Truth::Other(_)) => true,
                (known, value) => *known == value,
            };
            let values = domain.values(0);
            number += stride * values.iter().position(is_same)?;
            stride *= values.len();
        }
        self.table.results.get(number).copied()
    }
}

/// Gathers the atoms of a formula. Returns false if an atom has two domains.
fn gather(formula: &Formula, domains: &mut BTreeMap<MeaningId, Domain>) -> bool {
    if let Formula::Atom(atom, domain) = formula {
        return *domains.entry(*atom).or_insert(*domain) == *domain;
    }
    formula.parts().iter().all(|part| gather(part, domains))
}

fn size(formula: &Formula) -> usize {
    formula.parts().iter().map(size).sum::<usize>() + 1
}
