//! ResourceQuota (`ValidateResourceQuota` in `pkg/apis/core/validation/validation.go` of Kubernetes 1.37), and the
//! resource names common with LimitRange.

use crate::absent;
use crate::names;
use crate::quantity::Quantity;
use bailiwick_yaml::NodeRef;

use super::{ErrorKind, Path, Report, entries, is_empty, items, place, shown, strings, text};

/// Counts of objects: whole numbers.
const COUNTS: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

const COMPUTE: [&str; 6] = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

const STORAGE: [&str; 4] =
    ["ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage", "requests.storage"];

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

/// Mutually exclusive scopes of a pod.
const EXCLUSIVE: [(&str, &str); 2] = [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")];

/// Checks a ResourceQuota.
pub(super) fn check(object: NodeRef<'_>, old: Option<NodeRef<'_>>, report: &mut Report<'_>) {
    let spec = place(object, "spec");
    let path = Path::root("spec");
    let hard = path.field("hard");
    for (name, key, value) in entries(spec, "hard") {
        let path = hard.key(name);
        resource_name(name, key, &path, report);
        if !name.contains('/') && !is_quota_resource(name) {
            report.teach(
                ErrorKind::Invalid,
                &path,
                key,
                format!("`{}` cannot be limited by a quota", shown(name)),
                near(name, "one of the standard names such as `pods` or `requests.cpu`, or `count/RESOURCE.GROUP`"),
            );
        }
        amount(name, value, &path, report);
    }
    scopes(spec, &path.field("scopes"), report);
    let selector = path.field("scopeSelector");
    scope_selector(spec, &selector.field("matchExpressions"), report);
    if let Some(old) = old {
        let stored = place(old, "spec");
        let same = strings(spec, "scopes").all(|scope| strings(stored, "scopes").any(|other| other == scope))
            && strings(stored, "scopes").all(|scope| strings(spec, "scopes").any(|other| other == scope));
        if !same {
            let message = "the scopes of a quota cannot change".to_owned();
            let help = "create another quota and delete this one";
            report.teach(ErrorKind::Invalid, &path.field("scopes"), place(spec, "scopes"), message, help);
        }
    }
}

/// Checks the name of a resource as every kind does: a qualified name, without domain a standard one.
pub(super) fn resource_name(name: &str, key: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let verdict = names::label_key(name);
    if verdict.is_err() {
        report.grammar(verdict, path, key, "the resource name", name);
    } else if !name.contains('/') && !is_standard_resource(name) {
        let message = format!("`{}` is not a standard resource name", shown(name));
        let help = near(name, "use a name with a domain for other resources, such as `example.com/gpu`");
        report.teach(ErrorKind::Invalid, path, key, message, help);
    }
}

/// Whether a resource belongs to Kubernetes itself: without a domain, or with one of its own.
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether this is a resource with its own domain, valid after `requests.` as well.
pub(super) fn is_extended(name: &str) -> bool {
    if is_native(name) || name.starts_with("requests.") {
        return false;
    }
    // Only the lengths can change: nine bytes more in the prefix.
    let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
    names::label_key(name).is_ok() && prefix.len() + "requests.".len() <= names::SUBDOMAIN_LENGTH
}

fn is_standard_resource(name: &str) -> bool {
    name == "storage" || is_quota_resource(name)
}

/// Returns the remedy for an unknown resource name: the probable standard name, or `otherwise`.
fn near(name: &str, otherwise: &str) -> String {
    let known = COMPUTE.iter().chain(&COUNTS).chain(&STORAGE).copied();
    bailiwick_yaml::diag::nearest(name, known)
        .map_or_else(|| otherwise.to_owned(), |near| format!("did you mean `{near}`?"))
}

fn is_quota_resource(name: &str) -> bool {
    COUNTS.contains(&name)
        || COMPUTE.contains(&name)
        || STORAGE.contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

fn amount(name: &str, value: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(quantity) = Quantity::from_node(value) else {
        report.teach(
            ErrorKind::Invalid,
            path,
            value,
            format!("the limit of `{}`, {}, is not a quantity", shown(name), value.describe()),
            "a number with a suffix such as `m`, `k`, `M`, `Ki`, `Mi` or `Gi`, or without one",
        );
        return;
    };
    if quantity.is_negative() {
        let message = format!("the limit of `{}` is below zero", shown(name));
        report.add(ErrorKind::Invalid, path, value, message);
    }
    if (COUNTS.contains(&name) || is_extended(name)) && !quantity.is_whole() {
        let message = format!("the limit of `{}` is not a whole number: `{quantity}`", shown(name));
        report.add(ErrorKind::Invalid, path, value, message);
    }
}

fn scopes(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (_, item) in items(spec, "scopes") {
        let scope = absent::text(item.as_str());
        if !is_scope(scope, report.minor) {
            unknown_scope(scope, path, item, report);
        } else {
            misfits(spec, scope, path, item, report);
        }
    }
    for (left, right) in EXCLUSIVE {
        if strings(spec, "scopes").any(|scope| scope == left) && strings(spec, "scopes").any(|scope| scope == right) {
            exclusive(left, right, path, place(spec, "scopes"), report);
        }
    }
}

fn scope_selector(spec: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let selector = place(spec, "scopeSelector");
    let has_scope =
        |wanted: &str| items(selector, "matchExpressions").any(|(_, other)| text(other, "scopeName") == wanted);
    for (index, expression) in items(selector, "matchExpressions") {
        let scope = text(expression, "scopeName");
        let operator = text(expression, "operator");
        if !is_scope(scope, report.minor) {
            unknown_scope(scope, &path.field("scopeName"), place(expression, "scopeName"), report);
        } else {
            misfits(spec, scope, path, expression, report);
        }
        let exists_only = !matches!(scope, "PriorityClass" | "VolumeAttributesClass") && SCOPES.contains(&scope);
        if exists_only && operator != "Exists" {
            report.teach(
                ErrorKind::Invalid,
                &path.field("operator"),
                place(expression, "operator"),
                format!("the scope `{scope}` cannot have the operator `{}` (expression {index})", shown(operator)),
                "write `operator: Exists`",
            );
        }
        let values = path.field("values");
        let node = place(expression, "values");
        match operator {
            "In" | "NotIn" if is_empty(expression, "values") => {
                let message = format!("the operator `{operator}` needs at least one value (expression {index})");
                report.add(ErrorKind::Required, &values, node, message);
            }
            "Exists" | "DoesNotExist" if !is_empty(expression, "values") => {
                let message = format!("the operator `{operator}` takes no values (expression {index})");
                report.add(ErrorKind::Invalid, &values, node, message);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let message = format!("`{}` is not an operator (expression {index})", shown(operator));
                let help = "one of: `In`, `NotIn`, `Exists`, `DoesNotExist`";
                report.teach(ErrorKind::Invalid, &path.field("operator"), place(expression, "operator"), message, help);
            }
        }
    }
    for (left, right) in EXCLUSIVE {
        if has_scope(left) && has_scope(right) {
            exclusive(left, right, path, place(selector, "matchExpressions"), report);
        }
    }
}

fn is_scope(scope: &str, minor: u32) -> bool {
    match scope {
        // The feature gate PodAffinityNamespaceSelector is on since 1.22; `helpers.go` of `pkg/apis/core/helper` has the other
        // scope since 1.33.
        "CrossNamespacePodAffinity" => minor >= 22,
        "VolumeAttributesClass" => minor >= 33,
        _ => SCOPES.contains(&scope),
    }
}

fn unknown_scope(scope: &str, path: &Path<'_>, node: NodeRef<'_>, report: &mut Report<'_>) {
    let help = bailiwick_yaml::diag::nearest(scope, SCOPES)
        .map_or_else(|| format!("one of: `{}`", SCOPES.join("`, `")), |near| format!("did you mean `{near}`?"));
    let message = format!("`{}` is not a scope of this version", shown(scope));
    report.teach(ErrorKind::Invalid, path, node, message, help);
}

/// Reports the standard resources not counted by a scope.
fn misfits(spec: NodeRef<'_>, scope: &str, path: &Path<'_>, node: NodeRef<'_>, report: &mut Report<'_>) {
    for (name, _, _) in entries(spec, "hard") {
        let counted = match scope {
            "BestEffort" => name == "pods",
            "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => {
                name == "pods" || COMPUTE.contains(&name)
            }
            "VolumeAttributesClass" => matches!(name, "persistentvolumeclaims" | "requests.storage"),
            _ => true,
        };
        if is_quota_resource(name) && !counted {
            let message = format!("the scope `{scope}` does not count `{name}`");
            report.teach(ErrorKind::Invalid, path, node, message, "write a separate quota without the scope");
        }
    }
}

fn exclusive(left: &str, right: &str, path: &Path<'_>, node: NodeRef<'_>, report: &mut Report<'_>) {
    let message = format!("the scopes `{left}` and `{right}` exclude each other");
    report.teach(ErrorKind::Invalid, path, node, message, "write one quota for each");
}
