//! The namespaces of the bindings of a grant.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The namespaces of the bindings of a grant on each target. Most grants have one or two.
#[derive(Debug, Clone, Default)]
pub(super) struct GrantNamespaces {
    /// Sorted by the names of the targets.
    by_target: Box<[NamespacesOfTarget]>,
}

/// The namespaces on a target, sorted.
#[derive(Debug, Clone)]
struct NamespacesOfTarget {
    target: Box<str>,
    namespaces: Box<[Arc<str>]>,
}

impl GrantNamespaces {
    /// Returns the namespaces of some targets; a target without namespaces is left out.
    pub(super) fn new<'t>(targets: impl IntoIterator<Item = (&'t str, BTreeSet<Arc<str>>)>) -> Self {
        let with_names = targets.into_iter().filter(|(_, names)| !names.is_empty());
        let of_target = |(target, names): (&str, BTreeSet<Arc<str>>)| NamespacesOfTarget {
            target: target.into(),
            namespaces: names.into_iter().collect(),
        };
        let mut by_target: Vec<NamespacesOfTarget> = with_names.map(of_target).collect();
        by_target.sort_by(|left, right| left.target.cmp(&right.target));
        Self { by_target: by_target.into() }
    }

    /// Returns the namespaces on a target, sorted.
    pub(super) fn on(&self, target: &str) -> &[Arc<str>] {
        let place = self.by_target.binary_search_by(|own| (*own.target).cmp(target));
        place.ok().and_then(|place| self.by_target.get(place)).map_or(&[], |own| &own.namespaces)
    }

    /// Whether the grant has bindings in a namespace of a target.
    pub(super) fn has(&self, target: &str, namespace: &str) -> bool {
        self.on(target).binary_search_by(|known| (**known).cmp(namespace)).is_ok()
    }
}
