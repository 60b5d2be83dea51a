//! LimitRange (`ValidateLimitRange` in `pkg/apis/core/validation/validation.go` of Kubernetes 1.37).

use crate::names;
use crate::quantity::Quantity;
use bailiwick_yaml::NodeRef;

use super::quota::{is_extended, is_native, resource_name};
use super::{ErrorKind, Path, Report, entries, is_empty, items, place, shown, text};

/// The maps of amounts of one entry.
const FIELDS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

/// Checks a LimitRange.
pub(super) fn check(object: NodeRef<'_>, report: &mut Report<'_>) {
    let spec = place(object, "spec");
    let path = Path::root("spec");
    let path = path.field("limits");
    for (index, item) in items(spec, "limits") {
        let path = path.index(index);
        let limit_type = text(item, "type");
        type_name(item, limit_type, &path.field("type"), report);
        if items(spec, "limits").take(index).any(|(_, earlier)| text(earlier, "type") == limit_type) {
            let message = format!("an earlier entry has the type `{}`", shown(limit_type));
            let help = "put all limits of a type into one entry";
            report.teach(ErrorKind::Duplicate, &path.field("type"), place(item, "type"), message, help);
        }
        entry(item, limit_type, &path, report);
    }
}

fn type_name(item: NodeRef<'_>, limit_type: &str, path: &Path<'_>, report: &mut Report<'_>) {
    let node = place(item, "type");
    let verdict = names::label_key(limit_type);
    if verdict.is_err() {
        report.grammar(verdict, path, node, "the type", limit_type);
    } else if !limit_type.contains('/') && !matches!(limit_type, "Pod" | "Container" | "PersistentVolumeClaim") {
        let words = ["Pod", "Container", "PersistentVolumeClaim"];
        let help = bailiwick_yaml::diag::nearest(limit_type, words)
            .map_or_else(|| format!("one of: `{}`", words.join("`, `")), |near| format!("did you mean `{near}`?"));
        let message = format!("`{}` is not a type of limit", shown(limit_type));
        report.teach(ErrorKind::Invalid, path, node, message, help);
    }
}

fn entry(item: NodeRef<'_>, limit_type: &str, path: &Path<'_>, report: &mut Report<'_>) {
    let is_pod = limit_type == "Pod";
    for field in FIELDS {
        let path = path.field(field);
        if is_pod && matches!(field, "default" | "defaultRequest") {
            if !is_empty(item, field) {
                let message = format!("an entry for Pod cannot have `{field}`");
                let help = "move defaults to an entry for Container";
                report.teach(ErrorKind::Forbidden, &path, place(item, field), message, help);
            }
            continue;
        }
        for (name, key, value) in entries(item, field) {
            let path = path.key(name);
            name_for(limit_type, name, key, &path, report);
            if Quantity::from_node(value).is_none() {
                let message = format!("`{}`, {}, is not a quantity", shown(name), value.describe());
                report.add(ErrorKind::Invalid, &path, value, message);
            }
        }
    }
    let has_storage = |field: &str| place(item, field).get("storage").is_some();
    if limit_type == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let message = "an entry for PersistentVolumeClaim has neither a minimum nor a maximum".to_owned();
        let help = "add `max: {storage: ...}` or `min: {storage: ...}`";
        report.teach(ErrorKind::Required, &path.field("limits"), item, message, help);
    }
    // Each resource once, at its first map.
    for (position, field) in FIELDS.iter().enumerate() {
        for (name, key, _) in entries(item, field) {
            let seen = FIELDS.iter().take(position).any(|earlier| place(item, earlier).get(name).is_some());
            if !seen {
                Amounts::of(item, limit_type, name).compare(name, key, path, report);
            }
        }
    }
}

fn name_for(limit_type: &str, name: &str, key: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    resource_name(name, key, path, report);
    if !matches!(limit_type, "Pod" | "Container") {
        return;
    }
    let fits = if name.contains('/') {
        is_native(name) || is_extended(name)
    } else {
        matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
    };
    if !fits {
        let message = format!("containers do not have the resource `{}`", shown(name));
        let help = "one of: `cpu`, `memory`, `ephemeral-storage`, `hugepages-SIZE`, or a name with a domain";
        report.teach(ErrorKind::Invalid, path, key, message, help);
    }
}

/// Whether a ratio exceeds the ratio of a maximum and a minimum. The server counts thousandths if they fit into 64
/// bits.
fn is_ratio_above(ratio: Quantity, min: Quantity, max: Quantity) -> bool {
    const MOST: i64 = i64::MAX / 1000;
    if [ratio, min, max].iter().all(|amount| amount.units() < MOST) {
        return ratio.thousandths() as f64 / 1000.0 > max.thousandths() as f64 / min.thousandths() as f64;
    }
    ratio.units() as f64 > max.units() as f64 / min.units() as f64
}

/// The amounts of one resource, completed as the server's defaulting does.
struct Amounts {
    min: Option<Quantity>,
    max: Option<Quantity>,
    default: Option<Quantity>,
    request: Option<Quantity>,
    ratio: Option<Quantity>,
}

impl Amounts {
    fn of(item: NodeRef<'_>, limit_type: &str, name: &str) -> Self {
        let amount = |field: &str| item.get(field)?.get(name).and_then(Quantity::from_node);
        let (min, max) = (amount("min"), amount("max"));
        let (mut default, mut request) = (amount("default"), amount("defaultRequest"));
        if limit_type == "Container" {
            default = default.or(max);
            request = request.or(default).or(min);
        } else if limit_type == "Pod" {
            // Already reported as forbidden; the server compares them no further.
            (default, request) = (None, None);
        }
        Self { min, max, default, request, ratio: amount("maxLimitRequestRatio") }
    }

    fn compare(&self, name: &str, key: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
        let mut above = |low: (&str, Option<Quantity>), high: (&str, Option<Quantity>), at: &str| {
            if let (Some(lower), Some(upper)) = (low.1, high.1)
                && lower > upper
            {
                let message =
                    format!("the {} of `{}`, `{lower}`, is above its {}, `{upper}`", low.0, shown(name), high.0);
                report.add(ErrorKind::Invalid, &path.field(at).key(name), key, message);
            }
        };
        let (min, max) = (("minimum", self.min), ("maximum", self.max));
        let (default, request) = (("default", self.default), ("default request", self.request));
        above(min, max, "min");
        above(min, request, "defaultRequest");
        above(request, max, "defaultRequest");
        above(request, default, "defaultRequest");
        above(min, default, "default");
        above(default, max, "default");
        self.compare_ratio(name, key, path, report);
        let fixed = !is_native(name) || name.starts_with("hugepages-");
        if let (true, Some(default), Some(request)) = (fixed, self.default, self.request)
            && default != request
        {
            let message =
                format!("default and default request of `{}` differ, but it cannot be overcommitted", shown(name));
            report.add(ErrorKind::Invalid, &path.field("defaultRequest").key(name), key, message);
        }
    }

    fn compare_ratio(&self, name: &str, key: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
        let Some(ratio) = self.ratio else { return };
        let path = path.field("maxLimitRequestRatio");
        let path = path.key(name);
        if Some(ratio) < Quantity::parse("1") {
            let message = format!("the ratio of `{}`, `{ratio}`, is below 1", shown(name));
            report.add(ErrorKind::Invalid, &path, key, message);
        }
        if let (Some(min), Some(max)) = (self.min, self.max)
            && is_ratio_above(ratio, min, max)
        {
            let message =
                format!("the ratio of `{}`, `{ratio}`, is more than its maximum and minimum allow", shown(name));
            report.add(ErrorKind::Invalid, &path, key, message);
        }
    }
}
