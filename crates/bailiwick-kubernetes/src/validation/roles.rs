//! Role and ClusterRole (`pkg/apis/rbac/validation/validation.go` of Kubernetes 1.37).
//!
//! The strings in rules are not checked, as in the server; lints cover them.

use bailiwick_yaml::NodeRef;

use super::open::{Accepts, Position};
use super::{ErrorKind, Path, Report, is_empty, items, place, selector};

/// The strings in rules are not checked; other modules of the program read all of them but the names of objects.
pub(super) const POSITIONS: &[Position] = &[Position {
    kinds: &["Role"],
    path: &["rules", "[]", "resourceNames", "[]"],
    holds: |_, _| true,
    accepts: Accepts::Text(|_| true),
}];

/// Checks a Role.
pub(super) fn role(object: NodeRef<'_>, report: &mut Report<'_>) {
    rules(object, true, report);
}

/// Checks a ClusterRole.
pub(super) fn cluster_role(object: NodeRef<'_>, old: Option<NodeRef<'_>>, report: &mut Report<'_>) {
    rules(object, false, report);
    let Some(aggregation) = object.get("aggregationRule").filter(|aggregation| aggregation.is_map()) else { return };
    let path = Path::root("aggregationRule");
    let path = path.field("clusterRoleSelectors");
    if is_empty(aggregation, "clusterRoleSelectors") {
        report.teach(
            ErrorKind::Required,
            &path,
            place(aggregation, "clusterRoleSelectors"),
            "the aggregation has no selector".to_owned(),
            "add at least one selector, such as `matchLabels: {example.com/aggregate-to-reader: \"true\"}`",
        );
    }
    // Stored values may stay.
    let tolerated = old.and_then(|old| old.get("aggregationRule")).is_some_and(|aggregation| {
        !items(aggregation, "clusterRoleSelectors").all(|(_, stored)| selector::has_good_values(stored))
    });
    for (index, item) in items(aggregation, "clusterRoleSelectors") {
        let path = path.index(index);
        let before = report.errors.len();
        selector::check(item, &path, report.minor >= selector::VALUES_SINCE && !tolerated, report);
        // The server converts the selector as well, and so always looked at the values.
        if report.errors.len() > before || !(tolerated || selector::has_good_values(item)) {
            let message = format!("selector {index} of the aggregation cannot be used");
            report.add(ErrorKind::Invalid, &path, item, message);
        }
    }
}

fn rules(object: NodeRef<'_>, namespaced: bool, report: &mut Report<'_>) {
    let path = Path::root("rules");
    for (index, rule) in items(object, "rules") {
        let path = path.index(index);
        if is_empty(rule, "verbs") {
            report.teach(
                ErrorKind::Required,
                &path.field("verbs"),
                place(rule, "verbs"),
                format!("rule {index} has no verbs"),
                "add `verbs:`, such as `[get, list, watch]`",
            );
        }
        if is_empty(rule, "nonResourceURLs") {
            resource_rule(rule, index, &path, report);
        } else {
            url_rule(rule, index, namespaced, &path.field("nonResourceURLs"), report);
        }
    }
}

fn resource_rule(rule: NodeRef<'_>, index: usize, path: &Path<'_>, report: &mut Report<'_>) {
    if is_empty(rule, "apiGroups") {
        report.teach(
            ErrorKind::Required,
            &path.field("apiGroups"),
            place(rule, "apiGroups"),
            format!("rule {index} has no API groups"),
            "add `apiGroups:`; the core group is `[\"\"]`",
        );
    }
    if is_empty(rule, "resources") {
        report.teach(
            ErrorKind::Required,
            &path.field("resources"),
            place(rule, "resources"),
            format!("rule {index} has no resources"),
            "add `resources:`, such as `[pods]`",
        );
    }
}

fn url_rule(rule: NodeRef<'_>, index: usize, namespaced: bool, path: &Path<'_>, report: &mut Report<'_>) {
    let node = place(rule, "nonResourceURLs");
    if namespaced {
        report.teach(
            ErrorKind::Invalid,
            path,
            node,
            format!("rule {index} has URLs in a Role, but URLs belong to no namespace"),
            "move the rule to a ClusterRole and bind it with a ClusterRoleBinding",
        );
    }
    let mixed = ["apiGroups", "resources", "resourceNames"].iter().find(|field| !is_empty(rule, field));
    if let Some(field) = mixed {
        report.teach(
            ErrorKind::Invalid,
            path,
            node,
            format!("rule {index} has URLs and {field}"),
            "split it into one rule for URLs and one for resources",
        );
    }
}
