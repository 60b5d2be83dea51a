//! The names of a map, with the names in their place in the other namespaces of each class. The names of a class are computed once: every
//! grant and every path of its representative needs them.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::classes::Spread;
use crate::subject_classes::{Member, NameTable};

/// The names of a map as numbers.
pub(super) struct SpreadNames<'s> {
    spread: &'s Spread<'s>,
    pub(super) table: NameTable,
    /// The namespaces of each class by its representative.
    namespaces: HashMap<String, Rc<[u32]>>,
    /// The subjects in the place of a subject in the namespaces of a class, by the subject and the representative.
    subjects: HashMap<[String; 2], Rc<[u32]>>,
}

impl<'s> SpreadNames<'s> {
    pub(super) fn new(spread: &'s Spread<'s>) -> Self {
        Self { spread, table: NameTable::default(), namespaces: HashMap::new(), subjects: HashMap::new() }
    }

    /// Calls a function with each pair of a subject and a namespace of members, and with the pairs in their place in the other
    /// namespaces of each class; without a namespace for the whole cluster. A pair can come twice.
    pub(super) fn each_pair(&mut self, members: &[Member], add: &mut dyn FnMut(u32, Option<u32>)) {
        for member in members {
            if member.namespaces.is_empty() {
                add(self.table.add(&member.subject), None);
                let further = self.spread.cluster_wide(&member.subject);
                further.iter().for_each(|subject| add(self.table.add(subject), None));
            }
            for namespace in &member.namespaces {
                if self.spread.weight(namespace) == 1 {
                    add(self.table.add(&member.subject), Some(self.table.add(namespace)));
                    continue;
                }
                let (subjects, namespaces) = self.of_class(&member.subject, namespace);
                subjects.iter().zip(&*namespaces).for_each(|(subject, namespace)| add(*subject, Some(*namespace)));
            }
        }
    }

    /// Returns a subject with the subjects in its place, and the namespaces of a class.
    fn of_class(&mut self, subject: &str, representative: &str) -> (Rc<[u32]>, Rc<[u32]>) {
        let Self { spread, table, namespaces, subjects } = self;
        let known = namespaces.entry(representative.to_owned());
        let all = known.or_insert_with(|| spread.namespaces(representative).map(|name| table.add(name)).collect());
        let all = Rc::clone(all);
        let key = [subject.to_owned(), representative.to_owned()];
        let in_place = subjects
            .entry(key)
            .or_insert_with(|| spread.in_class(subject, representative).map(|(name, _)| table.add(&name)).collect());
        (Rc::clone(in_place), all)
    }

    /// Ends the additions.
    pub(super) fn finish(self) -> Arc<NameTable> {
        self.table.finish()
    }
}
