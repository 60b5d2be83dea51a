//! The order of the installation of stacks: dependencies come first.

use std::collections::{BTreeMap, BTreeSet};

use super::conflicts::{Owner, Owners};
use super::stack::Stack;

/// A stack at its place in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Index of the stack.
    pub stack: usize,
    /// Indexes of the needed stacks, each with the definitions.
    pub needs: BTreeMap<usize, Vec<String>>,
    /// True when one of those comes later, since both need each other.
    pub is_in_ring: bool,
}

/// Returns the order; cluster stacks come first without another constraint, then by namespace and name.
pub fn order(stacks: &[&Stack]) -> Vec<Step> {
    let owners = Owners::from_stacks(stacks);
    let rank = |index: usize| {
        let stack = stacks.get(index);
        let key = stack.map(|stack| (!stack.is_cluster(), stack.install.id()));
        (key, index)
    };
    let needs: Vec<BTreeMap<usize, Vec<String>>> = stacks
        .iter()
        .enumerate()
        .map(|(index, stack)| {
            let mut needs: BTreeMap<usize, Vec<String>> = BTreeMap::new();
            for dependency in &stack.package.dependencies {
                for owners in owners.matching(dependency) {
                    // The first of several stacks with the definition is enough, and the stack's own copy is best.
                    let is_own = owners.iter().any(|owner| owner.stack == index);
                    let first = owners.iter().min_by_key(|owner| rank(owner.stack)).filter(|_| !is_own);
                    if let Some(Owner { stack, definition }) = first {
                        let names = needs.entry(*stack).or_default();
                        if !names.contains(&definition.name) {
                            names.push(definition.name.clone());
                        }
                    }
                }
            }
            needs
        })
        .collect();
    let mut waits: Vec<usize> = needs.iter().map(BTreeMap::len).collect();
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); stacks.len()];
    for (index, needs) in needs.iter().enumerate() {
        for &other in needs.keys() {
            if let Some(list) = needed_by.get_mut(other) {
                list.push(index);
            }
        }
    }
    let mut waiting: BTreeSet<_> = (0..stacks.len()).map(rank).collect();
    let mut ready: BTreeSet<_> =
        waits.iter().enumerate().filter(|(_, waits)| **waits == 0).map(|(index, _)| rank(index)).collect();
    let mut steps = Vec::with_capacity(stacks.len());
    while let Some(next) = ready.pop_first().or_else(|| waiting.first().cloned()) {
        let index = next.1;
        let is_in_ring = waits.get(index).is_some_and(|waits| *waits > 0);
        waiting.remove(&next);
        for &other in needed_by.get(index).into_iter().flatten() {
            if let Some(waits) = waits.get_mut(other) {
                *waits = waits.saturating_sub(1);
                if *waits == 0 && waiting.contains(&rank(other)) {
                    ready.insert(rank(other));
                }
            }
        }
        let needs = needs.get(index).map_or_else(BTreeMap::new, BTreeMap::clone);
        steps.push(Step { stack: index, needs, is_in_ring });
    }
    steps
}
