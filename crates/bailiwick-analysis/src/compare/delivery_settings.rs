//! Changes of the settings of delivery objects, for a reviewer.

use bailiwick_policy::model::{Target, TargetDelivery, WorkspaceSettings};

/// Describes a change of the delivery folder, one line.
pub(super) fn folder_change(old: &WorkspaceSettings, new: &WorkspaceSettings) -> Option<String> {
    let folder =
        |workspace: &WorkspaceSettings| workspace.delivery.as_ref().map(|delivery| format!("`{}`", delivery.folder));
    match (folder(old), folder(new)) {
        (before, after) if before == after => None,
        (Some(before), Some(after)) => Some(format!("`spec.delivery.folder` changes from {before} to {after}")),
        (Some(before), None) => {
            Some(format!("`spec.delivery` is removed: appliers keep the objects that they read from {before}"))
        }
        (None, Some(after)) => Some(format!("`spec.delivery` is new: its objects are in {after}")),
        (None, None) => None,
    }
}

/// Describes the changes of the delivery of a target, one line each.
pub(super) fn of_target(old: &Target, new: &Target, [old_shards, new_shards]: [Option<u32>; 2]) -> Vec<String> {
    let (Some(before), Some(after)) = (&old.delivery, &new.delivery) else {
        return match (&old.delivery, &new.delivery) {
            (Some(_), None) => vec!["it has no delivery objects any more".to_owned()],
            (None, Some(_)) => vec!["its delivery objects are new".to_owned()],
            _ => Vec::new(),
        };
    };
    let mut lines = Vec::new();
    if old_shards != new_shards && before.prune {
        let shown = |shards: Option<u32>| shards.map_or_else(|| "none".to_owned(), |shards| shards.to_string());
        lines.push(format!(
            "`layout.shards` changes from {} to {} while its appliers prune: they can delete the objects of files that move",
            shown(old_shards),
            shown(new_shards)
        ));
    }
    for (name, value) in FIELDS {
        let (before, after) = (value(before), value(after));
        if before != after {
            lines.push(format!("`{name}` of its delivery changes from `{before}` to `{after}`"));
        }
    }
    lines
}

/// The text of a field of a delivery.
type FieldText = fn(&TargetDelivery) -> String;

/// The fields of a delivery about the source and the applier, with their texts.
const FIELDS: [(&str, FieldText); 9] = [
    ("path", |delivery| delivery.path.clone()),
    ("onRemoval", |delivery| delivery.on_removal.as_str().to_owned()),
    ("prune", |delivery| delivery.prune.to_string()),
    ("repoURL", |delivery| of(delivery.argocd.as_ref().map(|argocd| &argocd.repo_url))),
    ("revision", |delivery| of(delivery.argocd.as_ref().map(|argocd| &argocd.revision))),
    ("argocd.project", |delivery| of(delivery.argocd.as_ref().map(|argocd| &argocd.project))),
    ("argocd.destination", |delivery| {
        delivery.argocd.as_ref().map_or_else(|| NONE.to_owned(), |argocd| argocd.destination.to_string())
    }),
    ("flux.sourceRef", |delivery| {
        delivery.flux.as_ref().map_or_else(
            || NONE.to_owned(),
            |flux| {
                let namespace = flux.source_namespace.as_deref().map_or(flux.namespace.as_str(), |namespace| namespace);
                format!("{}/{namespace}/{}", flux.source_kind.name(), flux.source)
            },
        )
    }),
    ("flux.serviceAccountName", |delivery| of(delivery.flux.as_ref().and_then(|flux| flux.service_account.as_ref()))),
];

/// The text of an absent value.
const NONE: &str = "none";

fn of(value: Option<&String>) -> String {
    value.map_or_else(|| NONE.to_owned(), String::clone)
}
