//! SecurityContextConstraints of OpenShift.

use bailiwick_yaml::NodeRef;

use super::pod_security::{capabilities, flex_volumes, privilege_escalation, ranges, sysctls};
use super::{ErrorKind, Path, Report, is_empty, place, shown, strings, text};

/// Checks SecurityContextConstraints, as if the defaulting plug-in had completed them.
pub(super) fn check(object: NodeRef<'_>, report: &mut Report<'_>) {
    if let Some(priority) = object.get("priority").filter(|node| node.as_int().is_some_and(|number| number < 0)) {
        report.add(ErrorKind::Invalid, &Path::root("priority"), priority, "the priority is below zero".to_owned());
    }
    let users = ["MustRunAs", "MustRunAsRange", "MustRunAsNonRoot", "RunAsAny"];
    demanded_type(object, "runAsUser", &users, report);
    demanded_type(object, "seLinuxContext", &["MustRunAs", "RunAsAny"], report);
    let uid = object.path(&["runAsUser", "uid"]).filter(|uid| uid.as_int().is_some_and(|uid| uid < 0));
    if let Some(uid) = uid {
        let path = Path::root("runAsUser");
        report.add(ErrorKind::Invalid, &path.field("uid"), uid, "the user id is below zero".to_owned());
    }
    for field in ["fsGroup", "supplementalGroups"] {
        if let Some(strategy) = object.get(field) {
            groups(strategy, field, report);
        }
    }
    volumes(object, report);
    capabilities(object, report);
    let default = Path::root("defaultAllowPrivilegeEscalation");
    privilege_escalation(object, &default, report);
    sysctls(object, &Path::root("allowedUnsafeSysctls"), &Path::root("forbiddenSysctls"), report);
}

/// Checks the type of a strategy without a default.
fn demanded_type(object: NodeRef<'_>, field: &str, words: &[&str], report: &mut Report<'_>) {
    let strategy = place(object, field);
    let is_given = object.get(field).is_some();
    let word = if is_given { text(strategy, "type") } else { "" };
    if !words.contains(&word) {
        let node = if is_given { place(strategy, "type") } else { object };
        let message = if word.is_empty() {
            format!("the type of `{field}` is missing")
        } else {
            format!("the type `{}` of `{field}` is not supported", shown(word))
        };
        let path = Path::root(field);
        let help = format!("one of: `{}`", words.join("`, `"));
        report.teach(ErrorKind::Invalid, &path.field("type"), node, message, help);
    }
}

fn groups(strategy: NodeRef<'_>, field: &str, report: &mut Report<'_>) {
    let path = Path::root(field);
    let word = text(strategy, "type");
    // A missing type becomes RunAsAny.
    if !matches!(word, "" | "MustRunAs" | "RunAsAny") {
        let what = format!("the type of `{field}`,");
        report.unsupported(&path.field("type"), place(strategy, "type"), &what, word, &["MustRunAs", "RunAsAny"]);
    }
    ranges(strategy, &path, report);
}

fn volumes(object: NodeRef<'_>, report: &mut Report<'_>) {
    let list = place(object, "volumes");
    if list.is_seq() && list.len() > 1 && strings(object, "volumes").any(|name| name == "none") {
        let message = "`none` and other volume types are in one list".to_owned();
        let help = "remove `none`, or every other entry";
        report.teach(ErrorKind::Invalid, &Path::root("volumes"), list, message, help);
    }
    let path = Path::root("allowedFlexVolumes");
    // No list of volumes means every kind.
    let flex = object.get("volumes").is_none_or(NodeRef::is_null)
        || strings(object, "volumes").any(|name| matches!(name, "flexVolume" | "*"));
    if !flex && !is_empty(object, "allowedFlexVolumes") {
        let message = "drivers of FlexVolume are allowed, but not the volumes".to_owned();
        let node = place(object, "allowedFlexVolumes");
        report.teach(ErrorKind::Invalid, &path, node, message, "add `flexVolume` to `volumes`");
    }
    flex_volumes(object, &path, report);
}
