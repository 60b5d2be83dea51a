//! The objects of a class as trees: what asks about them needs no text.

use std::sync::Arc;

use super::standin::Composed;
use super::{Class, Scratch};
use crate::diag::Origin;
use crate::k8s::rbac::SameRules;
use crate::yaml::{self, Blank};

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
    /// Returns the values that were made last with the scratch.
    pub(in crate::compile) fn new(class: &Arc<Class>, scratch: &Scratch) -> Self {
        let Scratch { texts, ends, order, .. } = scratch;
        let order = (!order.is_sorted()).then(|| order.as_slice().into());
        Self { class: Arc::clone(class), texts: texts.as_str().into(), ends: ends.as_slice().into(), order }
    }

    /// Returns the class, by which patterns that were copied are found again.
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
        let value = |scalar: &usize| {
            let is_number = |scalar: &super::Scalar| matches!(scalar.composed, Composed::Number(_));
            let text = super::part(&self.texts, &self.ends, *scalar).unwrap_or_default();
            (text, self.class.scalars.get(*scalar).is_some_and(is_number))
        };
        let mut show = |index: usize| {
            let Some((blank, object)) = patterns.0.get_mut(index).zip(self.class.objects.get(index)) else { return };
            blank.fill(object.holes.iter().map(value));
            if let Some(root) = blank.tree().document(0) {
                visit(root, object.content, object.same_rules);
            }
        };
        match &self.order {
            Some(order) => order.iter().copied().for_each(&mut show),
            None => (0..self.class.objects.len()).for_each(&mut show),
        }
    }
}

/// Copies of the trees of a class, to be filled in.
pub(in crate::compile) struct Patterns(Vec<Blank>);

impl Patterns {
    pub(in crate::compile) fn of(class: &Class) -> Self {
        Self(class.objects.iter().map(|object| object.blank.clone()).collect())
    }
}
