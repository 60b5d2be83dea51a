//! Objects, names and texts with another reading for appliers than for the API server.
//!
//! Between a commit and the cluster stand readers with rules of their own: kubectl and Argo CD open lists, kustomize
//! obeys annotations, Flux leaves files out by their names, and inventories write names in another form. [`check`]
//! reports each part of an object that some reader takes for something else than the API server does, so that the set
//! of objects and their content are the same for all of them. The tables of this module are the only lists of names
//! with a meaning to a reader.
//!
//! Sources: `pkg/apis/meta/v1/unstructured/helpers.go` of k8s.io/apimachinery 0.36, `reposerver/repository/repository.go`
//! and `util/app/discovery/discovery.go` of Argo CD 3.6, `kyaml/kio`, `api/konfig/general.go` and
//! `api/internal/utils/annotations.go` of kustomize 0.21, `sourceignore.go` of fluxcd/pkg/sourceignore 0.22, and
//! `pkg/object/objmetadata.go` of fluxcd/cli-utils 1.4. `tests/conformance/readers` compares with the code.

use crate::appliers::FLUX_SUBSTITUTE;
use crate::names;
use crate::validation::{ErrorKind, FieldError};
use bailiwick_yaml::diag::foreign;
use bailiwick_yaml::{NodeId, NodeRef, has_one_type};

/// The marker of files for Argo CD to skip, anywhere in the file.
pub const SKIP_MARKER: &str = "+argocd:skip-file-rendering";

/// The most bytes of a key as JSON. go-yaml refuses a key that ends 1,024 bytes behind its start.
const LONGEST_KEY: usize = 1000;

/// The prefixes of the annotations of kustomize and KRM functions for a build.
const BUILD_PREFIXES: [&str; 4] =
    ["internal.config.kubernetes.io/", "alpha.config.kubernetes.io/", "config.k8s.io/", "kustomize.config.k8s.io/"];

/// The annotations below `config.kubernetes.io/` with a meaning to kustomize and KRM functions.
const BUILD_ANNOTATIONS: [&str; 7] =
    ["local-config", "path", "index", "origin", "function", "container", "merge-source"];

/// The API groups with input of kustomize and KRM functions. None of their kinds is an object of a cluster.
const BUILD_GROUPS: [&str; 3] = ["kustomize.config.k8s.io", "config.kubernetes.io", "builtin"];

/// The names of a Kustomization for kustomize, Argo CD and Flux.
pub const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A name of files and folders with a meaning to a reader.
struct MeaningfulName {
    /// The name in lower case.
    name: &'static str,
    reader: &'static str,
    /// Whether a file of the name decides what a reader makes of the files around it.
    decides: bool,
}

const fn named(name: &'static str, reader: &'static str) -> MeaningfulName {
    MeaningfulName { name, reader, decides: false }
}

const fn deciding(name: &'static str, reader: &'static str) -> MeaningfulName {
    MeaningfulName { name, reader, decides: true }
}

/// The names with a meaning to a reader. A Kustomization decides by its content.
const NAMES: [MeaningfulName; 21] = [
    named("kustomization.yaml", "kustomize, Argo CD and Flux"),
    named("kustomization.yml", "kustomize, Argo CD and Flux"),
    named("kustomization", "kustomize, Argo CD and Flux"),
    deciding("chart.yaml", "Helm and Argo CD"),
    deciding(".argocd-source.yaml", "Argo CD"),
    deciding(".sourceignore", "Flux"),
    named(".gitignore", "git and Flux"),
    deciding(".gitmodules", "git and Flux"),
    deciding(".gitattributes", "git and Flux"),
    named(".git", "git"),
    named(".github", "Flux"),
    named(".circleci", "Flux"),
    named(".travis.yml", "Flux"),
    named(".gitlab-ci.yml", "Flux"),
    named("appveyor.yml", "Flux"),
    named(".drone.yml", "Flux"),
    named("cloudbuild.yaml", "Flux"),
    named("codeship-services.yml", "Flux"),
    named("codeship-steps.yml", "Flux"),
    named(".sops.yaml", "Flux"),
    named(".flux.yaml", "Flux"),
];

/// Returns the row of a name, in upper and lower case.
fn meaning_of(name: &str) -> Option<&'static MeaningfulName> {
    NAMES.iter().find(|known| name.eq_ignore_ascii_case(known.name))
}

/// The end of a file name in place of a name with a meaning to an applier or a file system.
const SUFFIX: char = '_';

/// Endings of files without a meaning to Flux, in lower case.
const LEFT_OUT_ENDINGS: [&str; 8] = [".jpg", ".jpeg", ".gif", ".png", ".wmv", ".flv", ".tar.gz", ".zip"];

/// Names of devices on Windows, with any ending; a digit follows the last two.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Returns the reader that a name of a file or folder means something to, in upper and lower case; none for a name without
/// a meaning. `name` is a name and no path.
pub fn reader_of_name(name: &str) -> Option<&'static str> {
    applier_of_name(name).or_else(|| is_of_windows(name).then_some("Windows"))
}

/// Returns the reader as [`reader_of_name`] does, for a name with a meaning to git or an applier.
pub fn applier_of_name(name: &str) -> Option<&'static str> {
    if let Some(known) = meaning_of(name) {
        return Some(known.reader);
    }
    if LEFT_OUT_ENDINGS.iter().any(|ending| ends_with(name, ending)) {
        return Some("Flux");
    }
    decides_about_folder(name).then_some("Argo CD")
}

/// Returns the name of a YAML file for a name: `team-a.yaml`, and `kustomization_.yaml` for `kustomization`. The names have no
/// underscore at their end.
pub fn file_name(name: &str) -> String {
    let plain = format!("{name}.yaml");
    if reader_of_name(&plain).is_some() { format!("{name}{SUFFIX}.yaml") } else { plain }
}

/// Returns the name whose file has a name.
pub fn name_of_file(file: &str) -> Option<&str> {
    let name = file.strip_suffix(".yaml")?;
    Some(name.strip_suffix(SUFFIX).map_or(name, |name| name))
}

/// Whether Windows takes a name for a device, or gives its file another name.
fn is_of_windows(name: &str) -> bool {
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_stem = |device: &&str| stem.eq_ignore_ascii_case(device);
    let is_numbered = |device: &&str| {
        let letters = stem.strip_suffix(|letter: char| letter.is_ascii_digit());
        letters.is_some_and(|letters| letters.eq_ignore_ascii_case(device))
    };
    let is_device = DEVICES.iter().any(is_stem) || NUMBERED_DEVICES.iter().any(is_numbered);
    is_device || name.ends_with('.')
}

/// Whether a name has an ending, in upper and lower case.
fn ends_with(name: &str, ending: &str) -> bool {
    let name = name.as_bytes();
    let start = name.len().checked_sub(ending.len());
    start.and_then(|start| name.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
}

/// Whether a file of this name decides what Argo CD, Flux or git makes of the files around it; a Kustomization apart.
pub fn decides_about_folder(name: &str) -> bool {
    meaning_of(name).is_some_and(|known| known.decides)
        || name.ends_with("Chart.yaml")
        || name.get(..".argocd-".len()).is_some_and(|start| start.eq_ignore_ascii_case(".argocd-"))
        || [".jsonnet", ".libsonnet"].iter().any(|ending| ends_with(name, ending))
}

/// Whether kustomize or a KRM function uses an annotation for itself: it is removed, or decides about the object.
pub fn is_build_annotation(key: &str) -> bool {
    let own = key.strip_prefix("config.kubernetes.io/");
    BUILD_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        || own.is_some_and(|name| BUILD_ANNOTATIONS.contains(&name))
}

/// Whether a text of a hole keeps the reading of the object around it: [`check`] finds nothing in it, wherever it is.
pub fn is_plain(text: &str) -> bool {
    !(text.contains("__") || text.contains(SKIP_MARKER))
}

/// Whether a byte is part of each text that is not [plain](is_plain).
#[inline]
pub const fn is_suspect(byte: u8) -> bool {
    (byte == b'_') | (byte == b'+')
}

/// Whether the inventories of Flux and Config Sync give the name of an object back: they write `:` in names of RBAC as `__`,
/// and read each `__` as `:`.
pub fn survives_inventory(api_version: &str, name: &str) -> bool {
    let written = match api_version.starts_with("rbac.authorization.k8s.io/") {
        true => name.replace(':', "__"),
        false => name.to_owned(),
    };
    written.replace("__", ":") == name
}

/// Returns the reason why no API server has a kind of an API version, with the name of the field; none for possible types.
///
/// Source: `ValidateCustomResourceDefinition` in `pkg/apis/apiextensions/validation/validation.go`, 1.37. A kind has only
/// ASCII letters here: the server lowers `K` (U+212A) to `k`.
pub fn type_problem(api_version: &str, kind: &str) -> Option<(&'static str, String)> {
    let (group, version) =
        api_version.rsplit_once('/').map_or((None, api_version), |(group, version)| (Some(group), version));
    let is_version =
        names::dns_1035_label(version).is_ok() && group.is_none_or(|group| names::dns_subdomain(group).is_ok());
    if !is_version {
        return Some(("apiVersion", format!("`{}` is no API version", foreign::line(api_version))));
    }
    let is_kind = kind.is_ascii() && names::dns_1035_label(&kind.to_ascii_lowercase()).is_ok();
    (!is_kind).then(|| ("kind", format!("`{}` is no kind", foreign::line(kind))))
}

/// Returns the API group of an object in the cluster: several groups can serve one object.
///
/// Sources: `pkg/kubeapiserver/default_storage_factory_builder.go` of Kubernetes 1.22 for the kinds of `extensions`, and
/// `pkg/apiserver/registry` of openshift/openshift-apiserver for the kinds of OpenShift without a group.
pub fn stored_group<'g>(group: &'g str, kind: &str) -> &'g str {
    match (group, kind) {
        ("extensions", "Ingress" | "NetworkPolicy") => "networking.k8s.io",
        ("extensions", "PodSecurityPolicy") => "policy",
        ("extensions", "Deployment" | "DaemonSet" | "ReplicaSet") => "apps",
        ("events.k8s.io", "Event") => "",
        ("authorization.openshift.io", "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding") => {
            "rbac.authorization.k8s.io"
        }
        ("", "SecurityContextConstraints") => "security.openshift.io",
        ("", "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding") => "rbac.authorization.k8s.io",
        ("project.openshift.io", "Project") => "",
        _ => group,
    }
}

/// Returns the reason why readers change a text, refuse it, or skip its file; none for a text with one reading.
pub fn text_problem(text: &str) -> Option<String> {
    if text.contains(SKIP_MARKER) {
        return Some(format!("Argo CD skips a file with the text `{SKIP_MARKER}`, and prunes its objects"));
    }
    if text.starts_with('\t') && text.contains('\n') {
        return Some("kustomize and Flux refuse a text of several lines that begins with a tab".to_owned());
    }
    // Most texts are ASCII, and end here.
    if text.bytes().all(|byte| byte < 0x7f) {
        return None;
    }
    let character = text.chars().find(|character| is_read_differently(*character))?;
    Some(format!("kustomize and Flux change or refuse the character U+{:04X}", u32::from(character)))
}

/// Reports each part of a compiled object with another meaning to a reader.
///
/// `may_use_inventory` is whether Flux or Config Sync may apply the object.
pub fn check(object: NodeRef<'_>, may_use_inventory: bool, errors: &mut Vec<FieldError>) {
    let mut walk = Walk { errors, path: String::new() };
    walk.types(object);
    if let Some((key, _)) = object.entry("items") {
        walk.report(
            key.id(),
            "items",
            "every applier takes an object with `items` for a list",
            "rename the field; no applier can apply such a kind",
        );
    }
    if let Some(metadata) = object.get("metadata") {
        walk.metadata(metadata);
        let name = metadata.get("name").filter(|_| may_use_inventory);
        let api_version = object.text_at("apiVersion");
        let lost = name.filter(|name| name.as_str().is_some_and(|name| !survives_inventory(api_version, name)));
        if let Some(name) = lost {
            walk.report(
                name.id(),
                "metadata.name",
                "the inventory of Flux reads `__` in a name as `:`, so that the object is never pruned",
                "use another name",
            );
        }
    }
    walk.texts(object);
}

/// A walk over an object.
struct Walk<'w> {
    errors: &'w mut Vec<FieldError>,
    /// The path of the node at hand.
    path: String,
}

impl Walk<'_> {
    fn report(&mut self, node: NodeId, path: &str, message: impl Into<String>, help: &str) {
        let (kind, help) = (ErrorKind::Forbidden, Some(help.to_owned()));
        self.errors.push(FieldError { kind, path: path.to_owned(), node, message: message.into(), help });
    }

    fn types(&mut self, object: NodeRef<'_>) {
        let (api_version, kind) = (object.text_at("apiVersion"), object.text_at("kind"));
        if let Some((field, message)) = type_problem(api_version, kind) {
            let node = object.get(field).map_or(object, |value| value);
            return self.report(
                node.id(),
                field,
                message,
                "use the type of a resource of the cluster, such as `example.com/v1` and `Widget`",
            );
        }
        let group = api_version.rsplit_once('/').map_or(api_version, |(group, _)| group);
        if BUILD_GROUPS.contains(&group) || matches!(kind, "ResourceList" | "List") {
            let node = object.get("kind").map_or(object, |value| value);
            let message =
                format!("{kind} of `{api_version}` is input of kustomize or of a function, and no object of a cluster");
            self.report(node.id(), "kind", message, "remove the document");
        }
    }

    fn metadata(&mut self, metadata: NodeRef<'_>) {
        for (key, value) in metadata.get("annotations").into_iter().flat_map(NodeRef::entries) {
            let (name, path) = (key.as_key(), "metadata.annotations");
            if is_build_annotation(name) {
                let message = format!(
                    "kustomize and Flux use the annotation `{name}` themselves, and can drop or rename the object"
                );
                self.report(key.id(), path, message, "remove the annotation");
            } else if name == FLUX_SUBSTITUTE && value.as_str() != Some("disabled") {
                self.report(
                    key.id(),
                    path,
                    format!("`{name}` has another value than `disabled`"),
                    "remove the annotation: the program adds it where a text needs it",
                );
            } else if !has_one_type(name) {
                let message = format!(
                    "kustomize refuses the annotation `{name}`: a YAML reader takes the key for another type than a text"
                );
                self.report(key.id(), path, message, "use another key");
            }
        }
    }

    /// Reports the keys and texts with several readings.
    fn texts(&mut self, node: NodeRef<'_>) {
        if let Some(text) = node.as_str() {
            self.text(node, text);
            return;
        }
        let length = self.path.len();
        for (index, item) in node.items().enumerate() {
            self.path.push_str(&format!("[{index}]"));
            self.texts(item);
            self.path.truncate(length);
        }
        for (key, value) in node.entries() {
            let name = key.as_key();
            self.text(key, name);
            if name == "<<" {
                self.report(
                    key.id(),
                    &self.path.clone(),
                    "YAML readers take the key `<<` for a merge of maps",
                    "rename the key",
                );
            } else if json_length(name) > LONGEST_KEY {
                let message =
                    format!("a key has {} bytes as JSON, and kustomize reads at most {LONGEST_KEY}", json_length(name));
                self.report(key.id(), &self.path.clone(), message, "use a shorter key");
            }
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            self.texts(value);
            self.path.truncate(length);
        }
    }

    fn text(&mut self, node: NodeRef<'_>, text: &str) {
        if let Some(message) = text_problem(text) {
            self.report(node.id(), &self.path.clone(), message, "write another text");
        }
    }
}

/// Returns the number of bytes of a text as Go writes it in JSON, without quotes.
fn json_length(text: &str) -> usize {
    let length = |character: char| match character {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '<' | '>' | '&' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => 6,
        other => other.len_utf8(),
    };
    text.chars().map(length).sum()
}

/// Whether readers change or refuse a character: JSON writes it as it is, and the reader of YAML behind JSON takes it for
/// a blank or an error. A hidden character above U+FFFF has no escape that all of them read.
fn is_read_differently(character: char) -> bool {
    matches!(character, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
        || character > '\u{ffff}' && foreign::is_hidden(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::{FileId, Sink};

    /// The paths of the errors of an object.
    fn found(text: &str) -> Vec<String> {
        let tree = bailiwick_yaml::read(text, FileId::default(), &mut Sink::new());
        let mut errors = Vec::new();
        check(tree.document(0).expect("an object"), true, &mut errors);
        errors.into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn each_part_with_another_reading_is_found() {
        let object = |rest: &str| format!("{{apiVersion: example.com/v1, kind: Widget, {rest}}}");
        for (rest, path) in [
            ("metadata: {name: a}, items: null", "items"),
            ("metadata: {name: a}, items: [{}]", "items"),
            ("metadata: {name: a__b}", "metadata.name"),
            ("metadata: {name: a, annotations: {config.kubernetes.io/local-config: 'false'}}", "metadata.annotations"),
            ("metadata: {name: a, annotations: {internal.config.kubernetes.io/x: ''}}", "metadata.annotations"),
            (
                "metadata: {name: a, annotations: {kustomize.toolkit.fluxcd.io/substitute: enabled}}",
                "metadata.annotations",
            ),
            ("metadata: {name: a, annotations: {'2024-01-01': ''}}", "metadata.annotations"),
            ("metadata: {name: a, annotations: {'1e3': ''}}", "metadata.annotations"),
            ("metadata: {name: a, annotations: {'2001-1-1': ''}}", "metadata.annotations"),
            ("metadata: {name: a, annotations: {'null': ''}}", "metadata.annotations"),
            ("spec: {a: ['x', '+argocd:skip-file-rendering']}", "spec.a[1]"),
            ("spec: {'z+argocd:skip-file-rendering': x}", "spec"),
            ("spec: {a: \"x\\u0085y\"}", "spec.a"),
            ("spec: {a: \"x\\x7f\"}", "spec.a"),
            ("spec: {a: \"\\ta\\nb\"}", "spec.a"),
            ("spec: {a: \"x\\uffff\"}", "spec.a"),
            ("spec: {a: \"x\\U000E0041\"}", "spec.a"),
            ("spec: {\"\\u009f\": 1}", "spec"),
            ("spec: {'<<': {a: b}}", "spec"),
        ] {
            assert_eq!(found(&object(rest)), [path], "{rest}");
        }
        let long = object(&format!("spec: {{{}: x}}", "k".repeat(1001)));
        assert_eq!(found(&long), ["spec"]);
        let fine = [
            "metadata: {name: a, annotations: {config.kubernetes.io/depends-on: x, true-name: y, a/b: z}}",
            "metadata: {name: 'a:b'}, spec: {items: [], text: \"é \\u2028 🦀\\n\\t\"}",
            "metadata: {name: a, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}",
        ];
        for rest in fine {
            assert_eq!(found(&object(rest)), [""; 0], "{rest}");
        }
    }

    #[test]
    fn types_are_types_of_an_api_server() {
        for (api_version, kind) in [("v1", "Pod"), ("example.com/v1", "Widget"), ("a.b/v1beta1", "my-kind")] {
            assert_eq!(type_problem(api_version, kind), None, "{api_version} {kind}");
        }
        let long = "K".repeat(64);
        for kind in ["../x", "", "A B", "A\n", "\u{212a}ind", "1a", "-a", "a/b", "a.b", &long] {
            assert_eq!(type_problem("v1", kind).map(|(field, _)| field), Some("kind"), "{kind:?}");
        }
        for api_version in ["", "/v1", "a/", "A.com/v1", "a/b/c", "v 1", "../v1", "a.com/1"] {
            assert_eq!(type_problem(api_version, "Pod").map(|(field, _)| field), Some("apiVersion"), "{api_version:?}");
        }
        for text in [
            "{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization}",
            "{apiVersion: config.kubernetes.io/v1, kind: Widget}",
            "{apiVersion: builtin, kind: NamespaceTransformer}",
            "{apiVersion: example.com/v1, kind: ResourceList}",
            "{apiVersion: example.com/v1, kind: List, functionConfig: {}}",
        ] {
            assert_eq!(found(text), ["kind"], "{text}");
        }
        assert_eq!(found("{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization}"), [""; 0]);
    }

    #[test]
    fn names_with_a_meaning_are_known_in_any_case() {
        for name in [
            "kustomization.yaml",
            "Kustomization.YML",
            "KUSTOMIZATION",
            "cloudbuild.yaml",
            "Chart.yaml",
            "xChart.yaml",
            ".argocd-source-x.yaml",
            ".SourceIgnore",
            "a.zip",
            "a.tar.GZ",
            "main.jsonnet",
            "con.yaml",
            "NUL",
            "com1.x.yaml",
            "lpt9",
            "a.",
        ] {
            assert!(reader_of_name(name).is_some(), "{name}");
        }
        for name in [
            "team-a.yaml",
            "kustomization_.yaml",
            "helmchart.yaml",
            "console.yaml",
            "com.yaml",
            "com10.yaml",
            "README.md",
        ] {
            assert_eq!(reader_of_name(name), None, "{name}");
        }
    }

    #[test]
    fn inventories_give_names_back() {
        let rbac = "rbac.authorization.k8s.io/v1";
        for (api_version, name, survives) in [
            (rbac, "a:b", true),
            (rbac, "a_b", true),
            (rbac, "a__b", false),
            (rbac, "a_:b", false),
            (rbac, "a:_b", true),
            ("v1", "a__b", false),
            ("v1", "a-b", true),
        ] {
            assert_eq!(survives_inventory(api_version, name), survives, "{api_version} {name}");
        }
    }
}
