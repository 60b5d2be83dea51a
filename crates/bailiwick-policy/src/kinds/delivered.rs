//! Annotations of objects for the appliers of the output, on targets with delivery objects.

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};

use super::shared::StringMap;
use super::stance::by_target;
use crate::model::{Blueprint, ObjectBlueprint, OnRemoval, Target};

/// The fate of a Namespace after its removal from the policies: the setting of the policy, and the targets of the policy.
#[derive(Clone, Copy)]
pub(crate) struct Removal<'r> {
    pub(crate) setting: Option<&'r Spanned<OnRemoval>>,
    pub(crate) targets: &'r [Target],
}

impl Removal<'_> {
    /// Returns the annotations of the Namespace on a target.
    pub(crate) fn annotations_on(self, target: &Target) -> StringMap {
        let setting = self.setting.map(|setting| setting.value);
        target.delivery.as_ref().map_or_else(StringMap::new, |delivery| delivery.removal_annotations(setting))
    }

    /// Reports a setting without an effect, and own annotations of the Namespace in the place of the setting.
    pub(crate) fn check(self, annotations: &StringMap, place: Origin, sink: &mut Sink) {
        let mut deliveries = self.targets.iter().filter_map(|target| target.delivery.as_ref()).peekable();
        if let Some(setting) = self.setting.filter(|_| deliveries.peek().is_none() && !self.targets.is_empty()) {
            let message = "`onRemoval` has no effect: no target of the policy has delivery objects";
            let help = "add `spec.delivery` to `bailiwick.yaml`, or remove the field";
            sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(setting.origin).help(help));
        }
        let all = deliveries.map(|delivery| delivery.removal_annotations(Some(OnRemoval::Keep)));
        let written: StringMap = all.flatten().collect();
        for key in annotations.keys().filter(|key| written.contains_key(*key)) {
            let message = format!("`onRemoval` decides the annotation `{key}`");
            let help = "remove the annotation, and set `onRemoval` of the namespace";
            sink.push(Diagnostic::error(codes::INVALID_VALUE, message).at(place).help(help));
        }
    }
}

/// Builds the annotations of a binding whose role can change under the same name.
pub(crate) fn recreated_annotations(own: &StringMap, targets: &[Target]) -> Blueprint {
    by_target(own, targets, &|target| {
        target.delivery.as_ref().map_or_else(StringMap::new, |delivery| delivery.recreation_annotations())
    })
}

/// Adds the annotations of a binding whose role can change under the same name; `own` are its other annotations.
pub(crate) fn recreated(mut object: ObjectBlueprint, own: &StringMap, targets: &[Target]) -> ObjectBlueprint {
    if targets.iter().all(|target| target.delivery.is_none()) {
        return object;
    }
    object.fields.retain(|(known, _)| &**known != "annotations");
    object.with("annotations", recreated_annotations(own, targets))
}
