//! How often an item of a class is made: once, for each element of a list, or under a condition.

use std::cell::Cell;
use std::sync::Arc;

use super::{BoundValue, Condition, ConditionFailure, Data, Fill};

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

    /// Whether there is an item for some values.
    pub fn is_made(&self, from: Fill<'_>) -> bool {
        let mut is_made = self.is_once();
        if !is_made {
            self.each(from, &mut |_| is_made = true);
        }
        is_made
    }

    /// Visits the values of each item. A failed condition does not hold; [`Repetition::failures`] finds it.
    pub fn each(&self, from: Fill<'_>, visit: &mut dyn FnMut(Fill<'_>)) {
        self.each_element(from, &mut |from| {
            if self.when.as_ref().is_none_or(|when| when.holds(from) == Ok(true)) {
                visit(from);
            }
        });
    }

    /// Visits the failure of the condition for each item, with the reason. All evaluations take their steps from `steps`.
    pub fn failures(&self, steps: &Cell<u64>, from: Fill<'_>, visit: &mut dyn FnMut(&Condition, &ConditionFailure)) {
        let Some(when) = &self.when else { return };
        self.each_element(from, &mut |from| {
            if let Err(failure) = when.holds_within(steps, from) {
                visit(when, &failure);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ConditionScope, Target};
    use bailiwick_yaml::Spanned;
    use bailiwick_yaml::diag::{Origin, Sink};

    #[test]
    fn all_evaluations_have_a_number_of_steps() {
        let text = Spanned::new("[1, 2, 3, 4].all(n, n < 5)".to_owned(), Origin::default());
        let target = Target::plain("t", 34);
        let scope = ConditionScope { variables: None, targets: std::slice::from_ref(&target) };
        let when = Condition::link(&text, scope, &mut Sink::new()).map(Arc::new);
        let repetition = Repetition { each: None, when };
        let (steps, mut failures) = (Cell::new(500), 0);
        for _ in 0..100 {
            repetition.failures(&steps, Fill::from_target(&target), &mut |_, failure| {
                failures += 1;
                assert_eq!(failure.to_string(), "the conditions take too many steps for all accounts");
            });
        }
        assert!((50..100).contains(&failures), "{failures} evaluations without steps");
    }
}
