//! How often an item of a class is made: once, for each element of a list, or under a condition.

use std::sync::Arc;

use super::{BoundValue, Condition, Data, Fill};

/// The repetition of an item. Without a loop and a condition, the item is made once.
#[derive(Debug, Clone, Default)]
pub struct Repetition {
    /// The loop of `for`.
    pub each: Option<Loop>,
    /// The condition of `when`.
    pub when: Option<Arc<Condition>>,
}

/// A loop over the elements of a list variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The name of the variable for the element.
    pub name: Arc<str>,
    /// The name of the list variable.
    pub list: Arc<str>,
}

impl Repetition {
    /// Whether the item is made once.
    pub fn is_once(&self) -> bool {
        self.each.is_none() && self.when.is_none()
    }

    /// Visits the values of each item. A failed condition does not hold; [`Repetition::failures`] finds it.
    pub fn each(&self, from: Fill<'_>, visit: &mut dyn FnMut(Fill<'_>)) {
        self.each_element(from, &mut |from| {
            if self.when.as_ref().is_none_or(|when| when.holds(from) == Ok(true)) {
                visit(from);
            }
        });
    }

    /// Visits the failure of the condition for each item, with its reason.
    pub fn failures(&self, from: Fill<'_>, visit: &mut dyn FnMut(&Condition, &str)) {
        let Some(when) = &self.when else { return };
        self.each_element(from, &mut |from| {
            if let Err(reason) = when.holds(from) {
                visit(when, &reason);
            }
        });
    }

    fn each_element(&self, from: Fill<'_>, visit: &mut dyn FnMut(Fill<'_>)) {
        let Some(Loop { name, list }) = &self.each else { return visit(from) };
        let Some(Data::List(elements)) = from.own_value(list) else { return };
        for value in elements.iter() {
            visit(from.within(Some(&BoundValue { name, value, outer: from.bound })));
        }
    }
}
