//! Sets of ids, and the set allowed by a strategy.

use crate::psp::{IdStrategy, LAST_ID, PspIdRange};

/// A set of ids: ordered ranges without contact or overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ids(Vec<PspIdRange>);

/// Whether a pod may leave it to its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Silence {
    /// It is given an id.
    Filled,
    /// Any id but root.
    NonRoot,
    /// It may.
    Free,
}

/// The ids allowed by a strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allowed {
    /// The ids a pod may name.
    pub(super) ids: Ids,
    /// Whether it may name none.
    pub(super) silence: Silence,
    /// The default id.
    pub(super) default: Option<i64>,
}

impl Ids {
    /// Returns the union of ranges in any order.
    pub(super) fn new(ranges: &[PspIdRange]) -> Self {
        let mut ranges: Vec<PspIdRange> = ranges.iter().copied().filter(|range| range.min <= range.max).collect();
        ranges.sort_unstable();
        let mut merged: Vec<PspIdRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.min <= last.max.saturating_add(1) => last.max = last.max.max(range.max),
                _ => merged.push(range),
            }
        }
        Self(merged)
    }

    /// Whether every id of another set is in this one.
    pub(super) fn has_all(&self, other: &Ids) -> bool {
        other.0.iter().all(|range| self.0.iter().any(|own| own.min <= range.min && range.max <= own.max))
    }

    /// Returns the ids missing from another set.
    pub(super) fn without(&self, other: &Ids) -> Vec<PspIdRange> {
        let mut rest = Vec::new();
        for range in &self.0 {
            let mut min = range.min;
            for taken in other.0.iter().filter(|taken| taken.max >= range.min && taken.min <= range.max) {
                if taken.min > min {
                    rest.push(PspIdRange { min, max: taken.min - 1 });
                }
                min = min.max(taken.max.saturating_add(1));
            }
            if min <= range.max {
                rest.push(PspIdRange { min, max: range.max });
            }
        }
        rest
    }
}

impl Allowed {
    /// Returns the ids allowed by a strategy. An absent strategy allows everything, and a strategy without its ranges
    /// nothing.
    pub(super) fn by(strategy: Option<&IdStrategy>) -> Self {
        let from = |min: i64| Ids::new(&[PspIdRange { min, max: LAST_ID }]);
        let of = |strategy: &IdStrategy, silence, default| Self { ids: Ids::new(&strategy.ranges), silence, default };
        match strategy.map(|strategy| (strategy.rule.as_str(), strategy)) {
            None | Some(("RunAsAny", _)) => Self { ids: from(0), silence: Silence::Free, default: None },
            Some(("MustRunAsNonRoot", _)) => Self { ids: from(1), silence: Silence::NonRoot, default: None },
            Some(("MayRunAs", strategy)) if !strategy.ranges.is_empty() => of(strategy, Silence::Free, None),
            Some((_, strategy)) => of(strategy, Silence::Filled, strategy.ranges.first().map(|range| range.min)),
        }
    }

    /// Whether this allows everything allowed by the other.
    pub(super) fn has_all(&self, other: &Allowed) -> bool {
        self.silence >= other.silence && self.ids.has_all(&other.ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(bounds: &[(i64, i64)]) -> Vec<PspIdRange> {
        bounds.iter().map(|&(min, max)| PspIdRange { min, max }).collect()
    }

    #[test]
    fn a_set_is_the_same_however_it_is_written() {
        let set = Ids::new(&ranges(&[(5, 9), (1, 4), (20, 30), (25, 40), (7, 3)]));
        assert_eq!(set, Ids(ranges(&[(1, 9), (20, 40)])));
    }

    #[test]
    fn what_is_left_of_a_set() {
        let set = Ids::new(&ranges(&[(1, 10), (20, 30)]));
        assert_eq!(set.without(&Ids::new(&ranges(&[(3, 4), (8, 25)]))), ranges(&[(1, 2), (5, 7), (26, 30)]));
        assert_eq!(set.without(&set), []);
        assert!(set.has_all(&Ids::new(&ranges(&[(2, 10)]))) && !set.has_all(&Ids::new(&ranges(&[(9, 21)]))));
    }
}
