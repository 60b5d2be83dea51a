//! The powers of the whole cluster behind single permissions. A world of roles and bindings does not know them: the caller has the
//! graph of permissions.

use std::cmp::Reverse;
use std::rc::Rc;

use super::holders::ScopedSubject;
use super::judge::Judge;
use super::{RiskRule, RiskSeverity};

/// A power of the whole cluster at the end of a path that begins with a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReachedPower {
    /// The name of the power, such as `cluster-admin`.
    pub power: &'static str,
    /// The position of the power among all powers; 0 for the worst.
    pub rank: usize,
    /// Whether every step of the path is proven.
    pub is_proven: bool,
    /// The severity of the power, one step lower for a possible path.
    pub severity: RiskSeverity,
}

/// The powers behind the permissions of subjects.
pub trait ReachedPowers {
    /// Returns the ids of the risk rules with paths of a subject in a namespace or cluster-wide, each with the worst power.
    fn of_subject(&self, subject: &str, namespace: Option<&str>) -> Vec<(&'static str, ReachedPower)>;
}

/// The powers of a subject in a scope, by the ids of rules.
pub(super) type KnownPowers = (ScopedSubject, Rc<[(&'static str, ReachedPower)]>);

impl Judge<'_> {
    /// Returns the worst power behind the permission of a rule, for a subject.
    pub(super) fn reached(&self, place: ScopedSubject, rule: &RiskRule) -> Option<ReachedPower> {
        let powers = self.powers?;
        rule.edges().next()?;
        let known = self.known_powers.borrow().as_ref().filter(|(known, _)| *known == place).cloned();
        let all = match known {
            Some((_, known)) => known,
            None => {
                let (holder, namespace) = place;
                let namespace = namespace.map(|namespace| self.world.symbols.text(namespace));
                let found: Rc<[_]> = powers.of_subject(&self.world.holder_name(holder), namespace).into();
                *self.known_powers.borrow_mut() = Some((place, Rc::clone(&found)));
                found
            }
        };
        all.iter().find(|(id, _)| *id == rule.id).map(|(_, reached)| *reached)
    }
}

impl ReachedPower {
    /// Returns the worst of some powers.
    pub(super) fn worst(powers: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        powers.flatten().max_by_key(|reached| (reached.severity, reached.is_proven, Reverse(reached.rank)))
    }
}
