//! The namespaces of the bindings of a grant.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The namespaces of the bindings of a grant on each target. Most grants have one or two.
#[derive(Debug, Clone, Default)]
pub(super) struct GrantNamespaces {
    /// The targets with their namespaces; the namespaces are sorted.
    by_target: Box<[(Box<str>, Box<[Arc<str>]>)]>,
}

impl GrantNamespaces {
    /// Returns the namespaces of some targets; a target without namespaces is left out.
    pub(super) fn new<'t>(targets: impl IntoIterator<Item = (&'t str, BTreeSet<Arc<str>>)>) -> Self {
        let with_names = targets.into_iter().filter(|(_, names)| !names.is_empty());
        Self { by_target: with_names.map(|(target, names)| (target.into(), names.into_iter().collect())).collect() }
    }

    /// Returns the namespaces on a target, sorted.
    pub(super) fn on(&self, target: &str) -> &[Arc<str>] {
        let own = self.by_target.iter().find(|(known, _)| **known == *target);
        own.map_or(&[], |(_, names)| names)
    }

    /// Whether the grant has bindings in a namespace of a target.
    pub(super) fn has(&self, target: &str, namespace: &str) -> bool {
        self.on(target).binary_search_by(|known| (**known).cmp(namespace)).is_ok()
    }
}
