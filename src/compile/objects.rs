//! The objects of a target as trees, for everything that asks about them.
//!
//! A file that is made with its class ([`class`](super::class)) is never written and read for that: the trees of the
//! class are there, and the values of each tenant are put in their places.

use std::collections::HashMap;
use std::sync::Arc;

use super::OutputFile;
use super::class::{Class, Filled, Patterns};
use crate::diag::{FileId, Origin, Sink};
use crate::k8s::rbac::SameRules;
use crate::yaml::{self, NodeRef, Tree};

/// The objects of a file that was compiled as [`Wanted::Trees`](super::Wanted).
pub struct Objects(Kind);

enum Kind {
    Read(Tree, Arc<[Origin]>),
    Filled(Filled),
}

/// An object of the output.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'s> {
    /// The object as it is written.
    pub object: NodeRef<'s>,
    /// The place that says what is in it.
    pub place: Origin,
    /// For a role: the mark of all those that have its rules, as far as that is known without looking at them.
    pub same_rules: Option<SameRules>,
}

impl Objects {
    /// Reads a file, unless its class did; to be called on the compiling threads.
    pub fn of(mut file: OutputFile) -> Self {
        Self(match file.filled.take() {
            Some(filled) => Kind::Filled(filled),
            None => Kind::Read(yaml::read(&file.text, FileId::default(), &mut Sink::new()), file.origins),
        })
    }
}

/// Shows objects one after the other. It keeps a tree for each object of a class.
#[derive(Default)]
pub struct Viewer {
    known: HashMap<*const Class, (Arc<Class>, Patterns)>,
}

impl Viewer {
    /// Shows the objects of a file, in its order.
    pub fn show(&mut self, objects: &Objects, visit: &mut dyn FnMut(Shown<'_>)) {
        match &objects.0 {
            Kind::Read(tree, origins) => {
                for (object, place) in tree.documents().zip(origins.iter()) {
                    visit(Shown { object, place: *place, same_rules: None });
                }
            }
            Kind::Filled(filled) => {
                let class = filled.class();
                // The class is kept beside its patterns, so that no other can come to lie where it lies.
                let known = || (Arc::clone(class), Patterns::of(class));
                let (_, patterns) = self.known.entry(Arc::as_ptr(class)).or_insert_with(known);
                filled.each(patterns, &mut |object, place, same_rules| visit(Shown { object, place, same_rules }));
            }
        }
    }
}
