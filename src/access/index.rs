//! Who holds what, where: the two questions of every decision, answered with few looks into memory.
//!
//! What is bound cluster-wide is found by the holder; what is bound in a namespace by the namespace first, whose few
//! holders then lie side by side. Each entry says which rules it gives, so that most decisions never look at a binding.

use hashbrown::HashMap;

use super::rules::RuleListId;
use super::symbols::Symbol;
use super::world::Holder;

/// What a holder has by one binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held {
    pub(crate) holder: Holder,
    /// The rules of the role; none when the role is not there.
    pub(crate) rules: Option<RuleListId>,
    pub(crate) binding: u32,
}

/// The index of a world.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// What is bound cluster-wide, then what is bound in each namespace, each part sorted.
    held: Vec<Held>,
    cluster: HashMap<Holder, Range>,
    namespaces: HashMap<Symbol, Range>,
}

/// First and one past the last entry.
type Range = (u32, u32);

impl Index {
    /// The index of entries with the namespace each holds in; none for cluster-wide.
    pub(crate) fn new(mut entries: Vec<(Option<Symbol>, Held)>) -> Self {
        entries.sort_unstable();
        entries.dedup();
        let mut index = Self { held: Vec::with_capacity(entries.len()), ..Self::default() };
        for (position, (namespace, held)) in (0u32..).zip(entries) {
            let range = match namespace {
                None => index.cluster.entry(held.holder).or_insert((position, position)),
                Some(namespace) => index.namespaces.entry(namespace).or_insert((position, position)),
            };
            range.1 = position + 1;
            index.held.push(held);
        }
        index.cluster.shrink_to_fit();
        index.namespaces.shrink_to_fit();
        index
    }

    /// What a holder has cluster-wide, or in a namespace.
    pub(crate) fn held(&self, holder: Holder, namespace: Option<Symbol>) -> &[Held] {
        match namespace {
            None => self.range(self.cluster.get(&holder)),
            Some(namespace) => of_holder(self.in_namespace(namespace), holder),
        }
    }

    /// Everything that is held in a namespace, holder by holder.
    pub(crate) fn in_namespace(&self, namespace: Symbol) -> &[Held] {
        self.range(self.namespaces.get(&namespace))
    }

    /// Each pair of a holder and a place where it holds something, in no order.
    pub(crate) fn places(&self) -> impl Iterator<Item = (Holder, Option<Symbol>)> {
        let cluster = self.cluster.keys().map(|holder| (*holder, None));
        let local = self.namespaces.keys().flat_map(|namespace| {
            let by_holder = self.in_namespace(*namespace).chunk_by(|left, right| left.holder == right.holder);
            by_holder.filter_map(|held| held.first()).map(|held| (held.holder, Some(*namespace)))
        });
        cluster.chain(local)
    }

    fn range(&self, range: Option<&Range>) -> &[Held] {
        range.and_then(|&(start, end)| self.held.get(start as usize..end as usize)).unwrap_or_default()
    }

    /// The memory it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.held.capacity() * size_of::<Held>() + self.cluster.allocation_size() + self.namespaces.allocation_size()
    }
}

/// The part of a namespace that is one holder's.
pub(crate) fn of_holder(local: &[Held], holder: Holder) -> &[Held] {
    let start = local.partition_point(|held| held.holder < holder);
    let rest = local.get(start..).unwrap_or_default();
    let length = rest.partition_point(|held| held.holder == holder);
    rest.get(..length).unwrap_or_default()
}
