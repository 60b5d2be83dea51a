//! Findings about single objects: those of one shape are one finding with a count.

use std::collections::HashMap;

use crate::diag::{Code, Diagnostic, Sink};
use crate::report::human;

/// How many further objects a finding names.
const MAXIMUM_NAMED: usize = 3;

/// Findings by code and shape, in the order of their first.
#[derive(Default)]
pub(super) struct Alike {
    groups: Vec<Group>,
    positions: HashMap<(Code, u128), usize>,
}

/// The first finding, with the names of a few of the other objects and their number.
struct Group {
    first: Diagnostic,
    named: Vec<String>,
    further: usize,
}

impl Alike {
    /// Adds a finding about an object of this name. Findings of one shape differ in names and numbers alone.
    pub(super) fn add(&mut self, shape: u128, name: &str, finding: Diagnostic) {
        let next = self.groups.len();
        let position = *self.positions.entry((finding.code, shape)).or_insert(next);
        match self.groups.get_mut(position) {
            None => self.groups.push(Group { first: finding, named: Vec::new(), further: 0 }),
            Some(group) => {
                group.further += 1;
                if group.named.len() < MAXIMUM_NAMED {
                    group.named.push(name.to_owned());
                }
            }
        }
    }

    /// Reports the first finding of each shape.
    pub(super) fn finish(self, sink: &mut Sink) {
        for Group { mut first, named, further } in self.groups {
            if further > 0 {
                let more = if further > named.len() { ", ..." } else { "" };
                first.message.push_str(&human::more_alike(further));
                first = first.note(format!("also {}{more}", named.join(", ")));
            }
            sink.push(first);
        }
    }
}
