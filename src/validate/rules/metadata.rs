//! Names, labels, annotations, owners and finalizers: the same for every kind (`specs/kubernetes.md` section 2).

use crate::k8s::names::{self, Grammar};
use crate::yaml::NodeRef;

use super::{ErrorKind, Path, Report, entries, finalizer, items, place, shown, text};

/// What a kind demands of its names.
pub(super) struct NameRule {
    name: Grammar,
    prefix: Grammar,
    required: bool,
    help: &'static str,
}

impl NameRule {
    /// Names of RBAC kinds.
    pub(super) const SEGMENT: NameRule = NameRule {
        name: names::path_segment,
        prefix: names::path_segment_prefix,
        required: true,
        help: "any text without `/` and `%`, such as `team-a:reader`",
    };
    /// Names of most kinds.
    pub(super) const SUBDOMAIN: NameRule = NameRule {
        name: names::dns_subdomain,
        prefix: names::dns_subdomain_prefix,
        required: true,
        help: "lower case letters, digits, `-` and `.`, such as `ci.builder-1`, up to 253 bytes",
    };
    /// As [`Self::SUBDOMAIN`]; the server makes up a missing name.
    pub(super) const OPTIONAL_SUBDOMAIN: NameRule = NameRule { required: false, ..Self::SUBDOMAIN };
    /// Names of namespaces.
    pub(super) const LABEL: NameRule = NameRule {
        name: names::dns_label,
        prefix: names::dns_label_prefix,
        required: true,
        help: "lower case letters, digits and `-`, such as `team-a`, up to 63 bytes",
    };

    /// True when a name that is not empty fits.
    pub(super) fn fits(&self, name: &str) -> bool {
        (self.name)(name).is_ok()
    }
}

/// The most bytes that the annotations of an object may have together.
pub(super) const ANNOTATIONS_SIZE: usize = 262_144;
/// The random end of a generated name, and the most bytes of what stands before it.
const GENERATED_END: &str = "xxxxx";
const GENERATED_PREFIX: usize = 58;

/// Checks the metadata of an object.
pub(super) fn check(object: NodeRef<'_>, rule: &NameRule, report: &mut Report<'_>) {
    let path = Path::root("metadata");
    let metadata = place(object, "metadata");
    name(metadata, &path, rule, report);
    let namespace = text(metadata, "namespace");
    if !namespace.is_empty() {
        let node = place(metadata, "namespace");
        let before = report.errors.len();
        report.grammar(names::dns_label(namespace), &path.field("namespace"), node, "the namespace", namespace);
        for error in report.errors.iter_mut().skip(before) {
            error.help = Some(NameRule::LABEL.help.to_owned());
        }
    }
    let generation = metadata.get("generation").filter(|number| number.as_int().is_some_and(|number| number < 0));
    if let Some(node) = generation {
        report.add(ErrorKind::Invalid, &path.field("generation"), node, "the generation is below zero".to_owned());
    }
    labels(metadata, &path.field("labels"), report);
    annotations(metadata, &path.field("annotations"), report);
    owners(metadata, &path.field("ownerReferences"), report);
    finalizers(metadata, &path.field("finalizers"), report);
}

/// Checks a key and a value of labels or of a selector.
pub(super) fn label(key: &str, key_node: NodeRef<'_>, value: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    report.grammar(names::label_key(key), path, key_node, "the label key", key);
    let text = value.as_str().unwrap_or_default();
    if names::label_value(text).is_err() {
        let what = format!("the value of the label `{}`,", shown(key));
        report.grammar(names::label_value(text), path, value, &what, text);
    }
}

fn name(metadata: NodeRef<'_>, path: &Path<'_>, rule: &NameRule, report: &mut Report<'_>) {
    let before = report.errors.len();
    let prefix = text(metadata, "generateName");
    let name = text(metadata, "name");
    if !prefix.is_empty() {
        let node = place(metadata, "generateName");
        report.grammar((rule.prefix)(prefix), &path.field("generateName"), node, "the prefix", prefix);
    }
    let path = path.field("name");
    if !name.is_empty() {
        report.grammar((rule.name)(name), &path, place(metadata, "name"), "the name", name);
    } else if !prefix.is_empty() {
        let generated = generated(prefix);
        report.grammar(
            (rule.name)(&generated),
            &path,
            place(metadata, "generateName"),
            "the generated name",
            &generated,
        );
    } else if rule.required {
        let message = "the object has no name".to_owned();
        report.add(ErrorKind::Required, &path, place(metadata, "name"), message);
    }
    for error in report.errors.iter_mut().skip(before) {
        error.help = Some(rule.help.to_owned());
    }
}

/// The name the server makes of a prefix.
pub(super) fn generated(prefix: &str) -> String {
    let end = prefix.char_indices().map(|(start, character)| start + character.len_utf8());
    let end = end.take_while(|&end| end <= GENERATED_PREFIX).last().unwrap_or_default();
    prefix.get(..end).unwrap_or_default().to_owned() + GENERATED_END
}

fn labels(metadata: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (key, key_node, value) in entries(metadata, "labels") {
        label(key, key_node, value, path, report);
    }
}

fn annotations(metadata: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let mut size = 0;
    for (key, key_node, value) in entries(metadata, "annotations") {
        report.grammar(names::annotation_key(key), path, key_node, "the annotation key", key);
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_SIZE {
        report.teach(
            ErrorKind::TooLong,
            path,
            place(metadata, "annotations"),
            format!("the annotations have {size} bytes together, {ANNOTATIONS_SIZE} is the most"),
            "keys and values count; move large values into a ConfigMap",
        );
    }
}

/// Whether a text is `<version>` or `<group>/<version>`. `apps/` names a group without a version.
fn is_group_version(text: &str) -> bool {
    text.matches('/').count() <= 1 && !text.ends_with('/')
}

/// The first minor whose errors name the owner, and tell an empty field from a wrong one (`validateOwnerReference` of
/// `pkg/api/validation/objectmeta.go`, k8s.io/apimachinery v0.37.2).
const OWNERS_NAMED_SINCE: u32 = 37;

fn owners(metadata: NodeRef<'_>, list: &Path<'_>, report: &mut Report<'_>) {
    let mut controllers = 0;
    let is_named = report.minor >= OWNERS_NAMED_SINCE;
    let missing = if is_named { ErrorKind::Required } else { ErrorKind::Invalid };
    for (index, owner) in items(metadata, "ownerReferences") {
        let item = list.index(index);
        let path = if is_named { &item } else { list };
        for field in ["apiVersion", "kind", "name", "uid"] {
            let value = text(owner, field);
            if value.is_empty() {
                let message = format!("owner {index} has no {field}");
                report.add(missing, &path.field(field), place(owner, field), message);
            } else if field == "apiVersion" && !is_group_version(value) {
                let message = format!("the apiVersion `{}` of owner {index} is no version of an API", shown(value));
                let help = "write `<version>` or `<group>/<version>`, such as `apps/v1`";
                report.teach(ErrorKind::Invalid, &path.field(field), place(owner, field), message, help);
            }
        }
        if text(owner, "apiVersion") == "v1" && text(owner, "kind") == "Event" {
            report.add(
                ErrorKind::Invalid,
                path,
                owner,
                format!("owner {index} is an Event, which may not own anything"),
            );
        }
        controllers += usize::from(owner.get("controller").and_then(NodeRef::as_bool) == Some(true));
    }
    if controllers > 1 {
        let message = format!("{controllers} owners say `controller: true`, one is the most");
        report.add(ErrorKind::Invalid, list, place(metadata, "ownerReferences"), message);
    }
}

fn finalizers(metadata: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (mut orphan, mut foreground) = (false, false);
    for (index, item) in items(metadata, "finalizers") {
        finalizer(item, path, &path.index(index), report);
        orphan |= item.as_str() == Some("orphan");
        foreground |= item.as_str() == Some("foregroundDeletion");
    }
    if orphan && foreground {
        let message = "the finalizers `orphan` and `foregroundDeletion` exclude each other".to_owned();
        report.add(ErrorKind::Invalid, path, place(metadata, "finalizers"), message);
    }
}
