//! Namespace: metadata, finalizers and the labels of Pod Security (`ValidateNamespace` in
//! `pkg/apis/core/validation/validation.go` of Kubernetes 1.37).

use crate::absent;
use crate::names;
use bailiwick_yaml::NodeRef;

use super::metadata::NAME_LABEL_SINCE;
use super::{ErrorKind, Path, Report, entries, finalizer, items, place, shown, text};

/// The prefix of the labels of Pod Security.
pub(super) const POD_SECURITY: &str = "pod-security.kubernetes.io/";

/// Checks a Namespace.
pub(super) fn check(object: NodeRef<'_>, old: Option<NodeRef<'_>>, report: &mut Report<'_>) {
    name_label(object, report);
    let path = Path::root("spec");
    let path = path.field("finalizers");
    for (_, item) in items(place(object, "spec"), "finalizers") {
        finalizer(item, &path, Some(&path), report);
    }
    // The admission plug-in comes after validation, and accepts an update with the same errors as before.
    let changed = old.is_none_or(|old| !bad_labels(object).eq(bad_labels(old)));
    if report.errors.is_empty() && changed {
        for (key, _, value) in pod_security_labels(object) {
            pod_security(key, value, report);
        }
    }
}

/// Checks the copy of the name in a label, set by the server.
fn name_label(object: NodeRef<'_>, report: &mut Report<'_>) {
    let metadata = place(object, "metadata");
    let name = text(metadata, "name");
    if report.minor >= NAME_LABEL_SINCE {
        let path = Path::root("metadata");
        let what = "the value of the label `kubernetes.io/metadata.name`, made of the name";
        report.grammar(names::label_value(name), &path.field("labels"), place(metadata, "name"), what, name);
    }
}

fn pod_security_labels<'t>(object: NodeRef<'t>) -> impl Iterator<Item = (&'t str, NodeRef<'t>, NodeRef<'t>)> {
    entries(place(object, "metadata"), "labels").filter(|(key, _, _)| key.starts_with(POD_SECURITY))
}

fn bad_labels<'t>(object: NodeRef<'t>) -> impl Iterator<Item = (&'t str, &'t str)> {
    pod_security_labels(object)
        .map(|(key, _, value)| (key, absent::text(value.as_str())))
        .filter(|(key, value)| verdict(key, value).is_err())
}

fn verdict(key: &str, value: &str) -> Result<(), names::Reasons> {
    match key.strip_prefix(POD_SECURITY) {
        Some("enforce" | "audit" | "warn") => names::psa_level(value),
        Some("enforce-version" | "audit-version" | "warn-version") => names::psa_version(value),
        _ => Ok(()),
    }
}

fn pod_security(key: &str, value: NodeRef<'_>, report: &mut Report<'_>) {
    let text = absent::text(value.as_str());
    if let Err(reasons) = verdict(key, text) {
        let metadata = Path::root("metadata");
        let labels = metadata.field("labels");
        for reason in reasons.iter() {
            let message = format!("the label `{key}` has the value `{}`", shown(text));
            report.teach(ErrorKind::Invalid, &labels.key(key), value, message, format!("it {reason}"));
        }
    }
}
