//! Label selectors.

use crate::absent;
use crate::names;
use bailiwick_yaml::NodeRef;

use super::metadata::label;
use super::{ErrorKind, Path, Report, entries, is_empty, items, place, shown, text};

/// The first minor with a check of the values of expressions.
pub(super) const VALUES_SINCE: u32 = 26;

/// Checks a selector; values of expressions only with `check_values`.
pub(super) fn check(selector: NodeRef<'_>, path: &Path<'_>, check_values: bool, report: &mut Report<'_>) {
    let labels = path.field("matchLabels");
    for (key, key_node, value) in entries(selector, "matchLabels") {
        label(key, key_node, value, &labels, report);
    }
    let expressions = path.field("matchExpressions");
    for (index, expression) in items(selector, "matchExpressions") {
        requirement(expression, &expressions.index(index), check_values, report);
    }
}

fn requirement(expression: NodeRef<'_>, path: &Path<'_>, check_values: bool, report: &mut Report<'_>) {
    let operator = text(expression, "operator");
    let values = path.field("values");
    match operator {
        "In" | "NotIn" if is_empty(expression, "values") => {
            let message = format!("the operator `{operator}` needs at least one value");
            report.add(ErrorKind::Required, &values, place(expression, "values"), message);
        }
        "Exists" | "DoesNotExist" if !is_empty(expression, "values") => {
            let message = format!("the operator `{operator}` takes no values");
            report.add(ErrorKind::Forbidden, &values, place(expression, "values"), message);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => report.teach(
            ErrorKind::Invalid,
            &path.field("operator"),
            place(expression, "operator"),
            format!("`{}` is not an operator of a selector", shown(operator)),
            "one of: `In`, `NotIn`, `Exists`, `DoesNotExist`",
        ),
    }
    let key = text(expression, "key");
    report.grammar(names::label_key(key), &path.field("key"), place(expression, "key"), "the label key", key);
    if check_values {
        for (index, value) in items(expression, "values") {
            let text = absent::text(value.as_str());
            report.grammar(names::label_value(text), &values.index(index), value, "the label value", text);
        }
    }
}

/// Whether the values of a selector's expressions are label values.
pub(super) fn has_good_values(selector: NodeRef<'_>) -> bool {
    items(selector, "matchExpressions").all(|(_, expression)| {
        items(expression, "values").all(|(_, value)| names::label_value(absent::text(value.as_str())).is_ok())
    })
}
