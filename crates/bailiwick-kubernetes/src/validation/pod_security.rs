//! PodSecurityPolicy (`pkg/apis/policy/validation/validation.go` of Kubernetes 1.24), and the parts common with
//! SecurityContextConstraints.

use crate::absent;
use crate::names;
use bailiwick_yaml::NodeRef;

use super::open::{Accepts, Position};
use super::{ErrorKind, Path, Report, entries, is_empty, items, place, shown, strings, text};

/// The ids of ranges, and the paths of the host.
pub(super) const POSITIONS: &[Position] = &[
    Position {
        kinds: &["PodSecurityPolicy"],
        path: &["spec", "*", "ranges", "[]", "*"],
        holds: |_, range| range.get("min").and_then(NodeRef::as_int) == range.get("max").and_then(NodeRef::as_int),
        accepts: Accepts::RangeEnd,
    },
    Position {
        kinds: &["PodSecurityPolicy"],
        path: &["spec", "allowedHostPaths", "[]", "pathPrefix"],
        holds: |_, _| true,
        accepts: Accepts::Text(|path| !path.split('/').any(|step| step == "..")),
    },
];

const GROUP_RULES: [&str; 3] = ["MustRunAs", "MayRunAs", "RunAsAny"];

const VOLUMES: [&str; 30] = [
    "azureFile",
    "azureDisk",
    "flocker",
    "flexVolume",
    "hostPath",
    "emptyDir",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephFS",
    "downwardAPI",
    "fc",
    "configMap",
    "vsphereVolume",
    "quobyte",
    "photonPersistentDisk",
    "projected",
    "portworxVolume",
    "scaleIO",
    "storageos",
    "csi",
    "ephemeral",
    "*",
];

/// Checks a PodSecurityPolicy.
pub(super) fn check(object: NodeRef<'_>, report: &mut Report<'_>) {
    let spec = place(object, "spec");
    let path = Path::root("spec");
    profile_annotations(place(object, "metadata"), report);
    let users = ["MustRunAs", "MustRunAsNonRoot", "RunAsAny"];
    strategy(spec, "seLinux", &["MustRunAs", "RunAsAny"], &path, report);
    strategy(spec, "runAsUser", &users, &path, report);
    strategy(spec, "supplementalGroups", &GROUP_RULES, &path, report);
    strategy(spec, "fsGroup", &GROUP_RULES, &path, report);
    run_as_group(spec, &path, report);
    volumes(spec, &path.field("volumes"), report);
    capabilities(spec, report);
    privilege_escalation(spec, &path.field("defaultAllowPrivilegeEscalation"), report);
    host_paths(spec, &path.field("allowedHostPaths"), report);
    drivers(spec, &path, report);
    sysctls(spec, &path.field("allowedUnsafeSysctls"), &path.field("forbiddenSysctls"), report);
    runtime_class(spec, &path.field("runtimeClass"), report);
}

/// Checks `min` and `max` of the ranges of a strategy.
pub(super) fn ranges(strategy: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let path = path.field("ranges");
    for (index, range) in items(strategy, "ranges") {
        let path = path.index(index);
        let number = |field: &str| absent::number(range.get(field).and_then(NodeRef::as_int));
        let (min, max) = (number("min"), number("max"));
        for (field, value) in [("min", min), ("max", max)] {
            if value < 0 {
                let message = format!("the {field} of range {index}, `{value}`, is below zero");
                report.add(ErrorKind::Invalid, &path.field(field), place(range, field), message);
            }
        }
        if min > max {
            let message = format!("range {index} begins at {min} and ends at {max}");
            report.add(ErrorKind::Invalid, &path.field("min"), place(range, "min"), message);
        }
    }
}

/// Checks the absence of capabilities both dropped and added. These errors have no `spec.` in their path.
pub(super) fn capabilities(spec: NodeRef<'_>, report: &mut Report<'_>) {
    if is_empty(spec, "requiredDropCapabilities") {
        return;
    }
    if strings(spec, "allowedCapabilities").any(|name| name == "*") {
        report.teach(
            ErrorKind::Invalid,
            &Path::root("requiredDropCapabilities"),
            place(spec, "requiredDropCapabilities"),
            "`*` among the allowed capabilities excludes required drops".to_owned(),
            "remove `requiredDropCapabilities`, or list the allowed capabilities",
        );
    }
    for field in ["defaultAddCapabilities", "allowedCapabilities"] {
        for (_, item) in items(spec, field) {
            let name = absent::text(item.as_str());
            if strings(spec, "requiredDropCapabilities").any(|dropped| dropped == name) {
                let message = format!("the capability `{}` is in this list and must also be dropped", shown(name));
                report.add(ErrorKind::Invalid, &Path::root(field), item, message);
            }
        }
    }
}

/// Checks the default against the permission.
pub(super) fn privilege_escalation(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let is = |field: &str, wanted: bool| spec.get(field).and_then(NodeRef::as_bool) == Some(wanted);
    if is("defaultAllowPrivilegeEscalation", true) && is("allowPrivilegeEscalation", false) {
        let message = "the default allows privilege escalation, but the policy forbids it".to_owned();
        let node = place(spec, "defaultAllowPrivilegeEscalation");
        report.add(ErrorKind::Invalid, path, node, message);
    }
}

/// Checks the two lists of sysctls.
pub(super) fn sysctls(spec: NodeRef<'_>, allowed: &Path<'_>, forbidden: &Path<'_>, report: &mut Report<'_>) {
    for (field, path) in [("allowedUnsafeSysctls", allowed), ("forbiddenSysctls", forbidden)] {
        for (index, item) in items(spec, field) {
            let name = absent::text(item.as_str());
            report.grammar(names::sysctl_pattern(name), &path.index(index), item, "the sysctl", name);
        }
        let list = place(spec, field);
        if list.is_seq() && list.len() > 1 && strings(spec, field).any(|name| name.starts_with('*')) {
            let message = "`*` matches every sysctl and must be the only entry".to_owned();
            report.add(ErrorKind::Forbidden, &path.field("items"), list, message);
        }
    }
    for (index, allowed_item) in items(spec, "allowedUnsafeSysctls") {
        for (other_index, forbidden_item) in items(spec, "forbiddenSysctls") {
            let (left, right) = (absent::text(allowed_item.as_str()), absent::text(forbidden_item.as_str()));
            let message = || format!("`{}` is allowed and `{}` is forbidden", shown(left), shown(right));
            match overlap(left, right) {
                Some(Overlap::AllowedInside) => {
                    report.add(ErrorKind::Invalid, &allowed.index(index), allowed_item, message());
                }
                Some(Overlap::ForbiddenInside) => {
                    report.add(ErrorKind::Invalid, &forbidden.index(other_index), forbidden_item, message());
                }
                None => {}
            }
        }
    }
}

/// Checks the drivers of FlexVolumes.
pub(super) fn flex_volumes(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (index, item) in items(spec, "allowedFlexVolumes") {
        if text(item, "driver").is_empty() {
            let message = format!("the allowed FlexVolume {index} has no driver");
            report.add(ErrorKind::Required, &path.index(index).field("driver"), place(item, "driver"), message);
        }
    }
}

/// The inner one of two overlapping patterns.
enum Overlap {
    AllowedInside,
    ForbiddenInside,
}

/// Returns a pattern without the `*` at its end.
fn prefix_of(pattern: &str) -> &str {
    match pattern.strip_suffix('*') {
        Some(prefix) => prefix,
        None => pattern,
    }
}

fn overlap(allowed: &str, forbidden: &str) -> Option<Overlap> {
    let covers = |pattern: &str, name: &str| match pattern.strip_suffix('*') {
        Some(stem) => prefix_of(name).starts_with(stem),
        None => pattern == name,
    };
    if covers(forbidden, allowed) {
        Some(Overlap::AllowedInside)
    } else if covers(allowed, forbidden) {
        Some(Overlap::ForbiddenInside)
    } else {
        None
    }
}

fn strategy(spec: NodeRef<'_>, field: &str, words: &[&str], path: &Path<'_>, report: &mut Report<'_>) {
    let path = path.field(field);
    let strategy = place(spec, field);
    let is_given = spec.get(field).is_some();
    let rule = if is_given { text(strategy, "rule") } else { "" };
    if !words.contains(&rule) {
        let node = if is_given { place(strategy, "rule") } else { spec };
        report.unsupported(&path.field("rule"), node, &format!("the rule of `{field}`"), rule, words);
    }
    if is_given {
        ranges(strategy, &path, report);
    }
}

fn run_as_group(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(group) = spec.get("runAsGroup").filter(|group| !group.is_null()) else { return };
    let path = path.field("runAsGroup");
    let rule = text(group, "rule");
    let has_ranges = !is_empty(group, "ranges");
    let message = match rule {
        "RunAsAny" if has_ranges => "`RunAsAny` of `runAsGroup` takes no ranges",
        "MustRunAs" | "MayRunAs" if !has_ranges => "`runAsGroup` needs at least one range",
        "RunAsAny" | "MustRunAs" | "MayRunAs" => "",
        _ => {
            let node = place(group, "rule");
            report.unsupported(&path.field("rule"), node, "the rule of `runAsGroup`", rule, &GROUP_RULES);
            return;
        }
    };
    if !message.is_empty() {
        report.add(ErrorKind::Invalid, &path.field("ranges"), place(group, "ranges"), message.to_owned());
    }
    if rule != "RunAsAny" {
        ranges(group, &path, report);
    }
}

fn volumes(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (_, item) in items(spec, "volumes") {
        let name = absent::text(item.as_str());
        let known = VOLUMES.contains(&name) && (name != "ephemeral" || report.minor >= 21);
        if !known {
            report.unsupported(path, item, "the kind of volume", name, &VOLUMES);
        }
    }
}

fn host_paths(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (index, item) in items(spec, "allowedHostPaths") {
        let prefix = text(item, "pathPrefix");
        let node = place(item, "pathPrefix");
        if prefix.is_empty() {
            let message = format!("the allowed host path {index} has no path");
            let help = "add `pathPrefix:`; `/` allows every path";
            report.teach(ErrorKind::Required, &path.index(index), node, message, help);
        } else if prefix.split('/').any(|step| step == "..") {
            let message = format!("the host path `{}` contains `..`", shown(prefix));
            report.teach(ErrorKind::Invalid, &path.index(index), node, message, "write the path without `..`");
        }
    }
}

fn drivers(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    flex_volumes(spec, &path.field("allowedFlexVolumes"), report);
    let path = path.field("allowedCSIDrivers");
    let path = path.field("allowedCSIDriver");
    for (index, item) in items(spec, "allowedCSIDrivers") {
        let path = path.index(index);
        let path = path.field("name");
        let name = text(item, "name");
        let node = place(item, "name");
        if name.is_empty() {
            let message = format!("the allowed CSI driver {index} has no name");
            report.add(ErrorKind::Required, &path, node, message);
        }
        if name.len() > names::LABEL_LENGTH {
            let message = format!("the name of the CSI driver `{}` is longer than 63 bytes", shown(name));
            report.add(ErrorKind::TooLong, &path, node, message);
        }
        let verdict = if name.is_empty() { Ok(()) } else { names::dns_subdomain(name) };
        if verdict.is_err() && names::dns_subdomain(&name.to_lowercase()).is_err() {
            report.grammar(verdict, &path, node, "the name of the CSI driver", name);
        }
    }
}

fn runtime_class(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(class) = spec.get("runtimeClass").filter(|class| !class.is_null()) else { return };
    let allowed_path = path.field("allowedRuntimeClassNames");
    let list = place(class, "allowedRuntimeClassNames");
    let is_allowed = |wanted: &str| strings(class, "allowedRuntimeClassNames").any(|name| name == wanted);
    for (index, item) in items(class, "allowedRuntimeClassNames") {
        let name = absent::text(item.as_str());
        let path = allowed_path.index(index);
        if name != "*" {
            report.grammar(names::dns_subdomain(name), &path, item, "the name of the runtime class", name);
        }
        if strings(class, "allowedRuntimeClassNames").take(index).any(|earlier| earlier == name) {
            let message = format!("the runtime class `{}` is in the list twice", shown(name));
            report.add(ErrorKind::Duplicate, &path, item, message);
        }
    }
    if let Some(default) = class.get("defaultRuntimeClassName").filter(|default| !default.is_null()) {
        let name = absent::text(default.as_str());
        let default_path = path.field("defaultRuntimeClassName");
        report.grammar(names::dns_subdomain(name), &default_path, default, "the name of the runtime class", name);
        if !is_allowed(name) && !is_allowed("*") {
            let message = format!("the default runtime class `{}` is not among the allowed ones", shown(name));
            report.add(ErrorKind::Required, &allowed_path, list, message);
        }
    }
    if is_allowed("*") && list.len() > 1 {
        let message = "`*` matches every runtime class and must be the only entry".to_owned();
        report.add(ErrorKind::Invalid, &allowed_path, list, message);
    }
}

/// Checks the annotations with seccomp and AppArmor profiles.
fn profile_annotations(metadata: NodeRef<'_>, report: &mut Report<'_>) {
    let path = Path::root("metadata");
    let path = path.field("annotations");
    for (key, _, value) in entries(metadata, "annotations") {
        let profiles = absent::text(value.as_str());
        let (is_list, fits): (bool, fn(&str) -> bool) = match key {
            "seccomp.security.alpha.kubernetes.io/defaultProfileName" => (false, is_seccomp),
            "seccomp.security.alpha.kubernetes.io/allowedProfileNames" => (true, is_seccomp_or_any),
            "apparmor.security.beta.kubernetes.io/defaultProfileName" => (false, is_app_armor),
            "apparmor.security.beta.kubernetes.io/allowedProfileNames" => (true, is_app_armor),
            _ => continue,
        };
        let count = if is_list { usize::MAX } else { 1 };
        for profile in profiles.splitn(count, ',').filter(|profile| !profiles.is_empty() && !fits(profile)) {
            let message = format!("the value `{}` of the annotation `{key}` is not a profile", shown(profile));
            let help = "one of: `runtime/default`, `unconfined`, `localhost/PROFILE`";
            report.teach(ErrorKind::Invalid, &path.key(key), value, message, help);
        }
    }
}

fn is_seccomp(profile: &str) -> bool {
    let is_local = |path: &str| !path.starts_with('/') && path.split('/').all(|step| step != "..");
    // An empty entry is no profile, contrary to the documentation of trailing commas: the whole list may be empty.
    matches!(profile, "docker/default" | "runtime/default" | "unconfined")
        || profile.strip_prefix("localhost/").is_some_and(is_local)
}

fn is_seccomp_or_any(profile: &str) -> bool {
    profile == "*" || is_seccomp(profile)
}

fn is_app_armor(profile: &str) -> bool {
    matches!(profile, "" | "runtime/default" | "unconfined") || profile.starts_with("localhost/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_entry_is_a_profile_of_app_armor_alone() {
        assert!(!is_seccomp_or_any("") && is_app_armor(""));
        assert!(is_seccomp_or_any("*") && is_seccomp("localhost/") && !is_seccomp("localhost/../a"));
    }
}
