//! Equal cluster-scoped objects of several accounts: two tenancies of one list use one profile, and name its object
//! after the account. The first account makes the object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::linked::LinkedClass;
use super::profiles::ProfileObject;
use crate::model::{Accounts, Enforcement, Linker, MadeForAccounts, ObjectBlueprint};

/// By target, the objects already made by an earlier account: the account and the object of the class, by number.
pub(super) type LeftOut = BTreeMap<String, BTreeSet<(usize, usize)>>;

/// Finds the objects of a tenancy already made by earlier accounts, and records its other objects.
pub(super) fn left_out(
    accounts: &Arc<Accounts>,
    classes: &[(String, Arc<LinkedClass>)],
    linker: &mut Linker<'_>,
) -> LeftOut {
    let mut left_out = LeftOut::new();
    let targets = linker.targets;
    for (name, class) in classes {
        let Some(target) = targets.iter().find(|target| target.name == *name) else { continue };
        let mut found = BTreeSet::new();
        // An object with a condition is not shared: another account may have the object under another condition.
        let objects = class.of_each(target.enforcement()).filter(|(_, own)| own.repetition.is_once());
        for (number, ProfileObject { object, .. }) in objects {
            let is_alike = |made: &&mut MadeForAccounts| {
                let (other, on) = (&made.object, &made.target);
                on == name
                    && (&other.object_type, &other.template, other.content)
                        == (&object.object_type, &object.template, object.content)
            };
            let known = linker.facts.all_mut().find(is_alike);
            let is_first = known.is_none();
            let mut first = MadeForAccounts::new(name, object);
            let made = known.unwrap_or(&mut first);
            made.lists.push((Arc::clone(accounts), object.clone()));
            // Most tenancies have a profile and names of their own, and their names need not be made.
            if !is_first || !has_own_names(object, class) {
                let alike = made.index(target).into_iter();
                found.extend(alike.map(|account| (account, number)));
            }
            if is_first {
                linker.facts.push(first);
            }
        }
        if !found.is_empty() {
            left_out.insert(name.clone(), found);
        }
    }
    left_out
}

/// Whether the names of an object differ from account to account, as the names of the namespaces do.
fn has_own_names(object: &ObjectBlueprint, class: &LinkedClass) -> bool {
    let used: BTreeSet<String> = object.name.account_variables().collect();
    let mut namespaces = class.namespaces.iter();
    namespaces.any(|namespace| namespace.object.name.account_variables().all(|name| used.contains(&name)))
}

impl LinkedClass {
    /// Iterates over the cluster-scoped objects with one copy per account, with their numbers.
    pub(super) fn of_each(&self, enforcement: Enforcement) -> impl Iterator<Item = (usize, &ProfileObject)> {
        self.profiles.cluster.iter().enumerate().filter(move |(_, own)| own.enforcement == enforcement)
    }
}
