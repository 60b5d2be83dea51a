//! Names, labels, annotations, owners and finalizers, equal for every kind (`pkg/api/validation/objectmeta.go` of
//! k8s.io/apimachinery 0.37).

use crate::absent;
use crate::catalogue::Catalogue;
use crate::names::{self, Grammar};
use bailiwick_yaml::NodeRef;

use super::namespace::POD_SECURITY;
use super::open::{Accepts, Position};
use super::{ErrorKind, Path, Report, entries, finalizer, items, place, shown, text};

/// Names, labels and annotations. The labels of Pod Security and the annotations of Kubernetes have rules of their own.
pub(super) const POSITIONS: &[Position] = &[
    Position {
        kinds: &["Role", "RoleBinding"],
        path: &["metadata", "name"],
        holds: |_, _| true,
        accepts: Accepts::Text(|name| NameRule::SEGMENT.fits(name)),
    },
    Position {
        kinds: &["Namespace"],
        path: &["metadata", "name"],
        holds: |_, _| true,
        accepts: Accepts::Text(|name| NameRule::LABEL.fits(name)),
    },
    Position {
        kinds: &["ServiceAccount", "ResourceQuota", "LimitRange", "PodSecurityPolicy"],
        path: &["metadata", "name"],
        holds: |_, _| true,
        accepts: Accepts::Text(|name| NameRule::SUBDOMAIN.fits(name)),
    },
    Position {
        kinds: &[],
        path: &["metadata", "namespace"],
        holds: |_, _| true,
        accepts: Accepts::Text(|name| NameRule::LABEL.fits(name)),
    },
    Position {
        kinds: &[],
        path: &["metadata", "labels", "*"],
        holds: |key, _| !key.starts_with(POD_SECURITY),
        accepts: Accepts::Text(|value| names::label_value(value).is_ok()),
    },
    Position {
        kinds: &[],
        path: &["metadata", "annotations", "*"],
        holds: |key, _| !key.contains("kubernetes.io/"),
        accepts: Accepts::Text(|_| true),
    },
];

/// The rules of a kind for its metadata.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameRule {
    name: Grammar,
    prefix: Grammar,
    is_required: bool,
    /// The limit of a name in bytes, for a kind with a limit beside its grammar.
    longest: Option<usize>,
    /// Whether a finalizer without a domain has to be a standard one: kinds validated with `ValidateObjectMeta` of
    /// `pkg/apis/core/validation`.
    has_standard_finalizers: bool,
    help: &'static str,
}

/// The most bytes of the name of a CronJob: its Jobs have eleven more.
const CRON_JOB: usize = 52;

impl NameRule {
    /// Names of RBAC kinds.
    pub(super) const SEGMENT: NameRule = NameRule {
        name: names::path_segment,
        prefix: names::path_segment_prefix,
        is_required: true,
        longest: None,
        has_standard_finalizers: true,
        help: "any text without `/` and `%`, such as `team-a:reader`",
    };
    /// Names of most kinds.
    pub(super) const SUBDOMAIN: NameRule = NameRule {
        name: names::dns_subdomain,
        prefix: names::dns_subdomain_prefix,
        help: "lower case letters, digits, `-` and `.`, such as `ci.builder-1`, up to 253 bytes",
        ..Self::SEGMENT
    };
    /// Names of namespaces.
    pub(super) const LABEL: NameRule = NameRule {
        name: names::dns_label,
        prefix: names::dns_label_prefix,
        help: "lower case letters, digits and `-`, such as `team-a`, up to 63 bytes",
        ..Self::SEGMENT
    };
    /// Names of the groups of OpenShift.
    const OPENSHIFT_GROUP: NameRule = NameRule {
        name: names::openshift_group,
        help: "any text without `/`, `%` and `:`, such as `team-a`",
        ..Self::SEGMENT
    };
    /// Names of Services while RelaxedServiceNameValidation is off.
    const LETTER_FIRST: NameRule = NameRule {
        name: names::dns_1035_label,
        prefix: names::dns_1035_label_prefix,
        help: "lower case letters, digits and `-`, a letter first, such as `web`, up to 63 bytes",
        ..Self::SEGMENT
    };

    /// Returns the rule of a kind at a minor, by its strategy in `pkg/registry` of Kubernetes 1.37.2 and the history
    /// of `pkg/apis/*/validation`. Names of custom resources are subdomains
    /// (`pkg/registry/customresource/validator.go` of k8s.io/apiextensions-apiserver).
    pub(super) fn find(api_version: &str, kind: &str, minor: u32) -> NameRule {
        let any_finalizers = |rule: NameRule| NameRule { has_standard_finalizers: false, ..rule };
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        match (group, kind) {
            ("", "Namespace") => Self::LABEL,
            ("", "Service") if minor < 36 => Self::LETTER_FIRST,
            ("", "Service") => Self::LABEL,
            ("apps", "StatefulSet") if minor >= 27 => Self::LABEL,
            ("", "LimitRange") => NameRule { is_required: false, ..Self::SUBDOMAIN },
            ("user.openshift.io", "Group") => any_finalizers(Self::OPENSHIFT_GROUP),
            ("batch", "CronJob") => NameRule { longest: Some(CRON_JOB), ..Self::SUBDOMAIN },
            ("rbac.authorization.k8s.io", _)
            | ("certificates.k8s.io", "CertificateSigningRequest" | "ClusterTrustBundle")
            | ("networking.k8s.io", "IPAddress")
            | ("internal.apiserver.k8s.io", _) => Self::SEGMENT,
            ("events.k8s.io", _) if api_version.ends_with("/v1") => Self::SUBDOMAIN,
            ("", "Event")
            | ("events.k8s.io" | "apiregistration.k8s.io" | "authentication.k8s.io" | "authorization.k8s.io", _)
            | ("policy", "PodDisruptionBudget" | "Eviction")
            | ("coordination.k8s.io", "LeaseCandidate") => any_finalizers(Self::SEGMENT),
            ("admissionregistration.k8s.io" | "coordination.k8s.io" | "node.k8s.io" | "apiextensions.k8s.io", _) => {
                any_finalizers(Self::SUBDOMAIN)
            }
            (
                ""
                | "apps"
                | "autoscaling"
                | "batch"
                | "certificates.k8s.io"
                | "discovery.k8s.io"
                | "extensions"
                | "flowcontrol.apiserver.k8s.io"
                | "networking.k8s.io"
                | "policy"
                | "resource.k8s.io"
                | "scheduling.k8s.io"
                | "storage.k8s.io"
                | "storagemigration.k8s.io"
                | "security.openshift.io",
                _,
            ) => Self::SUBDOMAIN,
            _ => any_finalizers(Self::SUBDOMAIN),
        }
    }

    /// Whether a non-empty name fits.
    pub(super) fn fits(&self, name: &str) -> bool {
        (self.name)(name).is_ok()
    }
}

/// The limit in bytes of all annotations of an object together.
pub(super) const ANNOTATIONS_SIZE: usize = 262_144;
/// The label of a Namespace with its name, set by the server (`pkg/registry/core/namespace/strategy.go`).
pub const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The first minor with [`NAME_LABEL`].
pub const NAME_LABEL_SINCE: u32 = 21;
/// The random end of a generated name, and the limit in bytes of the part before it.
const GENERATED_END: &str = "xxxxx";
const GENERATED_PREFIX: usize = 58;

/// Checks the metadata of an object.
pub(super) fn check(object: NodeRef<'_>, rule: &NameRule, report: &mut Report<'_>) {
    let api_version = text(object, "apiVersion");
    if !is_group_version(api_version) {
        let message = format!("the apiVersion `{}` is not an API version", shown(api_version));
        let help = "write `<version>` or `<group>/<version>`, such as `apps/v1`";
        report.teach(ErrorKind::Invalid, &Path::root("apiVersion"), place(object, "apiVersion"), message, help);
    }
    let path = Path::root("metadata");
    let metadata = place(object, "metadata");
    name(metadata, &path, rule, report);
    let namespace = text(metadata, "namespace");
    if !namespace.is_empty() && names::dns_label(namespace).is_err() && !is_cluster_scoped(object) {
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
    // The server writes the name into this label of a Namespace before it looks at labels.
    let is_named = report.minor >= NAME_LABEL_SINCE && api_version == "v1" && text(object, "kind") == "Namespace";
    labels(metadata, &path.field("labels"), is_named, report);
    annotations(metadata, &path.field("annotations"), report);
    owners(metadata, &path.field("ownerReferences"), report);
    finalizers(metadata, &path.field("finalizers"), rule, report);
}

/// Whether an object is of a built-in kind without namespaces. The server drops its namespace before it checks it.
fn is_cluster_scoped(object: NodeRef<'_>) -> bool {
    let api_version = text(object, "apiVersion");
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    Catalogue::get().find_kind(group, text(object, "kind")).is_some_and(|kind| !kind.namespaced)
}

/// Checks a key and a value of labels or of a selector.
pub(super) fn label(key: &str, key_node: NodeRef<'_>, value: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    report.grammar(names::label_key(key), path, key_node, "the label key", key);
    let text = absent::text(value.as_str());
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
    let length = if name.is_empty() { generated(prefix).len() } else { name.len() };
    if let Some(longest) = rule.longest.filter(|longest| length > *longest) {
        let message = format!("the name has {length} bytes; the limit is {longest}");
        report.add(ErrorKind::Invalid, &path, place(metadata, "name"), message);
    }
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
    } else if rule.is_required {
        let message = "the object has no name".to_owned();
        report.add(ErrorKind::Required, &path, place(metadata, "name"), message);
    }
    for error in report.errors.iter_mut().skip(before) {
        error.help = Some(rule.help.to_owned());
    }
}

/// Returns the name the server makes of a prefix.
pub(super) fn generated(prefix: &str) -> String {
    let characters = prefix.char_indices();
    let fits = |(start, character): &(usize, char)| start + character.len_utf8() <= GENERATED_PREFIX;
    let kept: String = characters.take_while(fits).map(|(_, character)| character).collect();
    kept + GENERATED_END
}

fn labels(metadata: NodeRef<'_>, path: &Path<'_>, is_named: bool, report: &mut Report<'_>) {
    for (key, key_node, value) in entries(metadata, "labels").filter(|(key, _, _)| !is_named || *key != NAME_LABEL) {
        label(key, key_node, value, path, report);
    }
}

fn annotations(metadata: NodeRef<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let mut size = 0;
    for (key, key_node, value) in entries(metadata, "annotations") {
        report.grammar(names::annotation_key(key), path, key_node, "the annotation key", key);
        size += key.len() + absent::text(value.as_str()).len();
    }
    if size > ANNOTATIONS_SIZE {
        report.teach(
            ErrorKind::TooLong,
            path,
            place(metadata, "annotations"),
            format!("the annotations have {size} bytes in total; the limit is {ANNOTATIONS_SIZE}"),
            "move large values to a ConfigMap; keys and values count",
        );
    }
}

/// Whether a text is `<version>` or `<group>/<version>`. `apps/` names a group without a version.
fn is_group_version(text: &str) -> bool {
    text.matches('/').count() <= 1 && !text.ends_with('/')
}

/// The first minor with the owner in its errors, and with a separate error for an empty field
/// (`validateOwnerReference` of `pkg/api/validation/objectmeta.go`, k8s.io/apimachinery v0.37.2).
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
                let message = format!("the apiVersion `{}` of owner {index} is not an API version", shown(value));
                let help = "write `<version>` or `<group>/<version>`, such as `apps/v1`";
                report.teach(ErrorKind::Invalid, &path.field(field), place(owner, field), message, help);
            }
        }
        if text(owner, "apiVersion") == "v1" && text(owner, "kind") == "Event" {
            report.add(
                ErrorKind::Invalid,
                path,
                owner,
                format!("owner {index} is an Event, and an Event cannot be an owner"),
            );
        }
        controllers += usize::from(owner.get("controller").and_then(NodeRef::as_bool) == Some(true));
    }
    if controllers > 1 {
        let message = format!("{controllers} owners have `controller: true`; the limit is one");
        report.add(ErrorKind::Invalid, list, place(metadata, "ownerReferences"), message);
    }
}

fn finalizers(metadata: NodeRef<'_>, path: &Path<'_>, rule: &NameRule, report: &mut Report<'_>) {
    let (mut orphan, mut foreground) = (false, false);
    for (index, item) in items(metadata, "finalizers") {
        let item_path = path.index(index);
        finalizer(item, path, rule.has_standard_finalizers.then_some(&item_path), report);
        orphan |= item.as_str() == Some("orphan");
        foreground |= item.as_str() == Some("foregroundDeletion");
    }
    if orphan && foreground {
        let message = "the finalizers `orphan` and `foregroundDeletion` exclude each other".to_owned();
        report.add(ErrorKind::Invalid, path, place(metadata, "finalizers"), message);
    }
}
