//! Cluster-scoped objects with several account lists as possible sources.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::{Accounts, ObjectBlueprint, Target};

/// The objects of one profile on a target, with one object for each account of some lists.
#[derive(Debug)]
pub struct MadeForAccounts {
    /// The name of the target.
    pub target: String,
    /// The object of the first list, with variables in the place of an account.
    pub object: ObjectBlueprint,
    /// The lists, each with its object.
    pub lists: Vec<(Arc<Accounts>, ObjectBlueprint)>,
    /// The first list and account of each object name.
    by_name: HashMap<Arc<str>, (usize, usize)>,
    /// The number of indexed lists.
    indexed: usize,
}

impl MadeForAccounts {
    /// Creates the index without lists.
    pub fn new(target: &str, object: &ObjectBlueprint) -> Self {
        let (target, object) = (target.to_owned(), object.clone());
        Self { target, object, lists: Vec::new(), by_name: HashMap::new(), indexed: 0 }
    }

    /// Indexes the names of all lists, and returns the accounts of the last list with the same object as an earlier
    /// account.
    pub fn index(&mut self, target: &Target) -> Vec<usize> {
        let Self { lists, by_name, indexed, .. } = self;
        let mut alike = Vec::new();
        for (number, (accounts, object)) in lists.iter().enumerate().skip(*indexed) {
            alike.clear();
            for (position, account) in accounts.on(&target.name) {
                let earlier = match by_name.entry(object.name_for(target, account)) {
                    Entry::Vacant(entry) => {
                        entry.insert((number, position));
                        continue;
                    }
                    Entry::Occupied(entry) => *entry.get(),
                };
                let Some((others, other)) = lists.get(earlier.0) else { continue };
                let made = others.get(earlier.1).map(|first| other.fill(target, Some(first), None).data);
                if made.is_some_and(|made| made == object.fill(target, Some(account), None).data) {
                    alike.push(position);
                }
            }
        }
        *indexed = lists.len();
        alike
    }
}
