//! The objects of a class as trees: what asks about them needs no text.

use std::sync::Arc;

use super::{Class, Hole, Scratch};
use crate::diag::Origin;
use crate::k8s::rbac::SameRules;
use crate::yaml::{self, Blank, Tree};

/// An object in the form in which it is written, with places for the values that differ.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    blank: Blank,
    /// The number of the scalar for each place.
    scalars: Vec<usize>,
    same_rules: Option<SameRules>,
}

impl Pattern {
    /// The pattern of an object in the form in which it is written.
    pub(super) fn new(tree: &Tree, holes: &[Hole]) -> Self {
        let same_rules = !holes.iter().any(|hole| hole.is_in_rules);
        Self {
            blank: Blank::new(tree, holes.iter().map(|hole| hole.node).collect()),
            scalars: holes.iter().map(|hole| hole.scalar).collect(),
            same_rules: same_rules.then(SameRules::new),
        }
    }

    /// The number of the scalar of a hole.
    pub(super) fn scalar(&self, hole: usize) -> usize {
        self.scalars.get(hole).copied().unwrap_or(usize::MAX)
    }

    /// Fills in the values of an account.
    fn fill(&mut self, filled: &Filled) {
        let value = |&scalar: &usize| {
            let text = super::part(&filled.texts, &filled.ends, scalar).unwrap_or_default();
            (text, filled.class.is_number(scalar))
        };
        self.blank.fill(self.scalars.iter().map(value));
    }
}

/// The file of an account as its class and the values that fill it in.
#[derive(Debug)]
pub(in crate::compile) struct Filled {
    class: Arc<Class>,
    texts: Box<str>,
    ends: Box<[usize]>,
    /// The order of the objects; none where it is that of the class.
    order: Option<Box<[usize]>>,
}

impl Filled {
    /// The values that were made last with the scratch.
    pub(in crate::compile) fn new(class: &Arc<Class>, scratch: &Scratch) -> Self {
        let Scratch { texts, ends, order, .. } = scratch;
        let order = (!order.is_sorted()).then(|| order.as_slice().into());
        Self { class: Arc::clone(class), texts: texts.as_str().into(), ends: ends.as_slice().into(), order }
    }

    /// The class, by which patterns that were copied are found again.
    pub(in crate::compile) fn class(&self) -> &Arc<Class> {
        &self.class
    }

    /// Shows the objects in the order of their file, each with the place of its content. The patterns are copies of
    /// those of the class.
    pub(in crate::compile) fn each(
        &self,
        patterns: &mut Patterns,
        visit: &mut dyn FnMut(yaml::NodeRef<'_>, Origin, Option<SameRules>),
    ) {
        let mut show = |index: usize| {
            let Some((pattern, origin)) = patterns.0.get_mut(index) else { return };
            pattern.fill(self);
            if let Some(root) = pattern.blank.tree().document(0) {
                visit(root, *origin, pattern.same_rules);
            }
        };
        match &self.order {
            Some(order) => order.iter().copied().for_each(&mut show),
            None => (0..self.class.objects.len()).for_each(&mut show),
        }
    }
}

/// Copies of the patterns of a class, to be filled in, with the places of their contents.
pub(in crate::compile) struct Patterns(Vec<(Pattern, Origin)>);

impl Patterns {
    pub(in crate::compile) fn of(class: &Class) -> Self {
        Self(class.objects.iter().map(|object| (object.pattern.clone(), object.content)).collect())
    }
}
