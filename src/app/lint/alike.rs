//! Findings about single objects: findings of one shape are one finding with a count.

use crate::alike::{Fold, Group, Hints, Own, Shape};
use crate::app::words;
use crate::diag::{Diagnostic, Sink};
use crate::digest::digest_of_run;

/// Findings by code and shape, in the order of their first.
#[derive(Default)]
pub(super) struct Alike(Fold<Diagnostic>);

impl Alike {
    /// Adds a finding about an object of this name. Findings of one shape differ in names and numbers alone.
    pub(super) fn add(&mut self, shape: u128, name: &str, finding: Diagnostic) {
        self.0.add(digest_of_run(&(finding.code, shape)), name, &Own::default(), || finding);
    }

    /// Reports the first finding of each shape.
    pub(super) fn finish(self, sink: &mut Sink) {
        for Group { mut first, named, further, .. } in self.0.into_groups() {
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
