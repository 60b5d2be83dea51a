//! Objects that an applier reads in another way than they were compiled ([`readers`]).

use bailiwick_codes as codes;
use bailiwick_kubernetes::readers;
use bailiwick_kubernetes::validation::FieldError;
use bailiwick_policy::model::Unit;
use bailiwick_yaml::NodeRef;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::trace::Trees;
use super::with_askers;
use crate::render::TemplateSet;

/// The origin of an object beside its tree.
#[derive(Clone, Copy)]
pub(super) struct Compiled<'c> {
    pub(super) unit: &'c Unit,
    pub(super) trees: &'c Trees,
    pub(super) templates: &'c TemplateSet,
}

impl Compiled<'_> {
    /// Reports each part of an object that an applier reads in another way. Returns whether there is none.
    pub(super) fn check(self, root: NodeRef<'_>, may_use_inventory: bool, sink: &mut Sink) -> bool {
        let Self { unit, .. } = self;
        let mut errors = Vec::new();
        readers::check(root, may_use_inventory, &mut errors);
        for error in &errors {
            let found = Diagnostic::error(codes::SEVERAL_READINGS, error.message.clone());
            let found = with_askers(found.at(self.place(error, root)), unit).help_maybe(error.help.clone());
            sink.push(found.note(format!("`{}` of {}", error.path, unit.identity)).foldable());
        }
        errors.is_empty()
    }

    /// Returns the place of the text: in the policies, in the workspace file, or in a template of the workspace.
    fn place(self, error: &FieldError, root: NodeRef<'_>) -> Origin {
        let Self { unit, trees, templates, .. } = self;
        let node = root.tree().at(error.node);
        let text = node.as_str().filter(|text| !text.is_empty());
        let stated = text.and_then(|text| trees.place_of_text(unit, &error.path, text));
        let in_template = || {
            let is_own = unit.template.is_own() || templates.is_replaced(&unit.template);
            let steps = error.path.split(['.', '[', ']']).filter(|step| !step.is_empty()).rev();
            is_own.then(|| templates.place_of(&unit.template, steps)).flatten()
        };
        match stated.or(unit.account).or_else(in_template) {
            Some(place) => place,
            None => trees.place_of(unit, &error.path, None),
        }
    }
}
