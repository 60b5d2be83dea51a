//! Findings about single objects: findings of one shape are one finding with a count.

use bailiwick_base::alike::{Fold, Group, Hints, Own, Shape};
use bailiwick_workspace::words;
use bailiwick_yaml::diag::{Diagnostic, Sink};
use bailiwick_yaml::digest::digest_of_run;

use crate::classes::Spread;

/// Findings by code and shape, in the order of their first.
#[derive(Default)]
pub(super) struct Alike<'s> {
    fold: Fold<Diagnostic>,
    /// The classes of the namespaces; none where every namespace is searched.
    spread: Option<&'s Spread<'s>>,
}

impl<'s> Alike<'s> {
    /// Creates an empty list of findings about a sample of namespaces.
    pub(super) fn of_classes(spread: &'s Spread<'s>) -> Self {
        Self { fold: Fold::default(), spread: Some(spread) }
    }

    /// Adds a finding about an object of this name, and about the same object in the other namespaces of its class. Findings of
    /// one shape differ in names and numbers alone.
    pub(super) fn add(&mut self, shape: u128, name: &str, namespace: &str, finding: Diagnostic) {
        let digest = digest_of_run(&(finding.code, shape));
        let further = self.spread.into_iter().flat_map(|spread| spread.in_class(name, namespace).skip(1));
        let names = std::iter::once(name.to_owned()).chain(further.map(|(name, _)| name));
        names.for_each(|name| _ = self.fold.add(digest, &name, &Own::default(), || finding.clone()));
    }

    /// Reports the first finding of each shape.
    pub(super) fn finish(self, sink: &mut Sink) {
        for Group { mut first, named, further, .. } in self.fold.into_groups() {
            if further > 0 {
                let more = if further > named.len() { ", ..." } else { "" };
                first.message.push_str(&words::more_alike(further));
                first = first.note(format!("also {}{more}", named.join(", ")));
            }
            sink.push(first);
        }
    }
}

/// Returns the digest of a text without these names and without numbers that may be a tenant's own.
pub(super) fn shape(names: &[&str], text: &str) -> u128 {
    Shape::split_message(text, &Hints::of_names(names)).0.digest()
}
