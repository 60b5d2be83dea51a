//! The parts of a CustomResourceDefinition, of v1 or v1beta1, needed for the rules and conflicts of stacks.

use crate::codes;
use bailiwick_kubernetes::absent;
use std::collections::BTreeMap;

use super::dependency::is_custom_group;
use bailiwick_kubernetes::names;
use bailiwick_yaml::diag::{Diagnostic, Origin, Sink};
use bailiwick_yaml::digest::{Digest, digest};
use bailiwick_yaml::{NodeRef, schema};

/// A CustomResourceDefinition of a package.
#[derive(Debug, Clone)]
pub struct Definition {
    /// `metadata.name`: the plural and the group.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The resource in rules.
    pub plural: String,
    /// Kind of its objects.
    pub kind: String,
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
    /// `spec.version` of v1beta1; empty if absent.
    version: String,
    has_status: bool,
    has_scale: bool,
    /// The schema of each served version, as a hash of [`shape`].
    pub versions: BTreeMap<String, Digest>,
    /// The location of the name.
    pub origin: Origin,
    /// The location of the scope, or of the name without a scope.
    pub scope_origin: Origin,
}

impl Definition {
    /// Reads a definition. None for any other object and for invalid names; the sink then has the reason.
    pub fn read(root: NodeRef<'_>, sink: &mut Sink) -> Option<Self> {
        let text = |keys: &[&str]| absent::text_at(root, keys).to_owned();
        let api_version = text(&["apiVersion"]);
        if text(&["kind"]) != "CustomResourceDefinition" || !API_VERSIONS.contains(&api_version.as_str()) {
            sink.push(
                Diagnostic::error(codes::UNEXPECTED_PACKAGE_FILE, "this document is not a CustomResourceDefinition")
                    .at(root.beginning())
                    .help(format!("keep only definitions of {} in a file of definitions", API_VERSIONS.join(" and "))),
            );
            return None;
        }
        let names = DefinitionNames::read(root, &["spec", "names", "plural"], sink)?;
        let is_namespaced = read_scope(root, &api_version, names.origin, sink)?;
        let versions = versions(root);
        let has = |name: &str| versions.iter().any(|version| version.subresources.contains(&name));
        Some(Self {
            kind: text(&["spec", "names", "kind"]),
            is_namespaced,
            version: text(&["spec", "version"]),
            has_status: has("status"),
            has_scale: has("scale"),
            versions: versions.iter().map(|version| (version.name.clone(), fingerprint(version))).collect(),
            scope_origin: root.path(&["spec", "scope"]).map_or(names.origin, NodeRef::origin),
            name: names.name,
            group: names.group,
            plural: names.plural,
            origin: names.origin,
        })
    }

    /// Returns the resources of a rule about it: itself, and the subresources it declares.
    pub fn resources(&self) -> Vec<String> {
        let mut resources = vec![self.plural.clone()];
        let declared = [("status", self.has_status), ("scale", self.has_scale)];
        resources.extend(declared.iter().filter(|(_, has)| *has).map(|(name, _)| format!("{}/{name}", self.plural)));
        resources
    }

    /// Returns the sort key of the Stack Manager for definitions, in descending order.
    pub fn order_key(&self) -> String {
        format!("{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// The two ways to write a definition.
const API_VERSIONS: [&str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

/// The names of a document with a definition of a resource.
#[derive(Debug)]
pub struct DefinitionNames {
    /// `metadata.name`: the plural and the group.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The resource in rules.
    pub plural: String,
    /// The location of the name.
    pub origin: Origin,
}

impl DefinitionNames {
    /// Reads the names of a document with a definition of a resource: any other text than a plain name would be a
    /// pattern in rules.
    pub fn read(root: NodeRef<'_>, plural: &[&str], sink: &mut Sink) -> Option<Self> {
        let text = |keys: &[&str]| absent::text_at(root, keys).to_owned();
        let found = Self {
            name: text(&["metadata", "name"]),
            group: text(&["spec", "group"]),
            plural: text(plural),
            origin: root.path(&["metadata", "name"]).map_or_else(|| root.beginning(), NodeRef::origin),
        };
        let Self { name, group, plural, origin } = &found;
        let message = if names::dns_1035_label(plural).is_err() {
            format!("`{plural}` is not a plural of a resource")
        } else if names::dns_subdomain(group).is_err() {
            format!("`{group}` is not an API group")
        } else if *name != format!("{plural}.{group}") {
            format!("rename the definition to `{plural}.{group}`")
        } else if !is_custom_group(group) {
            sink.push(
                Diagnostic::error(codes::OWNS_KUBERNETES_GROUP, format!("`{group}` is a group of Kubernetes itself"))
                    .at(*origin)
                    .help("use a domain of your organisation: it has a dot and does not end in `k8s.io`"),
            );
            return None;
        } else {
            return Some(found);
        };
        sink.push(
            Diagnostic::error(bailiwick_kubernetes::codes::INVALID_OBJECT, message)
                .at(*origin)
                .help("correct it: the API server rejects it, and its rules would apply to another resource"),
        );
        None
    }
}

/// Returns whether the objects are namespaced; none for an unknown scope.
fn read_scope(root: NodeRef<'_>, api_version: &str, place: Origin, sink: &mut Sink) -> Option<bool> {
    let scope = root.path(&["spec", "scope"]);
    match scope.map(|scope| absent::text(scope.as_str())) {
        Some("Namespaced") => Some(true),
        Some("Cluster") => Some(false),
        // The older form has a default.
        None if api_version != "apiextensions.k8s.io/v1" => Some(true),
        _ => {
            sink.push(
                Diagnostic::error(
                    bailiwick_kubernetes::codes::INVALID_OBJECT,
                    "the scope of a definition must be `Namespaced` or `Cluster`",
                )
                .at(scope.map_or(place, NodeRef::origin))
                .help("write `Namespaced` or `Cluster`: permissions depend on the scope"),
            );
            None
        }
    }
}

/// A served version.
struct Version<'t> {
    name: String,
    schema: Option<NodeRef<'t>>,
    /// `status` and `scale`, if present.
    subresources: Vec<&'t str>,
}

/// Returns the served versions of a definition. The older form may have a common schema and subresources beside them,
/// and may name a single one.
fn versions(root: NodeRef<'_>) -> Vec<Version<'_>> {
    let schema = root.path(&["spec", "validation", "openAPIV3Schema"]);
    let common = root.path(&["spec", "subresources"]);
    let listed = root.path(&["spec", "versions"]).into_iter().flat_map(NodeRef::items);
    let served = listed.filter(|version| version.get("served").and_then(NodeRef::as_bool) != Some(false));
    let mut found: Vec<Version<'_>> = served
        .filter_map(|version| {
            Some(Version {
                name: version.get("name")?.as_str()?.to_owned(),
                schema: version.path(&["schema", "openAPIV3Schema"]).or(schema),
                subresources: declared(version.get("subresources").or(common)),
            })
        })
        .collect();
    if found.is_empty() && root.path(&["spec", "versions"]).is_none_or(NodeRef::is_empty) {
        let single = root.path(&["spec", "version"]).and_then(NodeRef::as_str);
        let name = absent::text(single).to_owned();
        found.push(Version { name, schema, subresources: declared(common) });
    }
    found
}

/// Returns the subresources declared at a location.
fn declared(place: Option<NodeRef<'_>>) -> Vec<&str> {
    let declared = place.into_iter().flat_map(NodeRef::entries).filter(|(_, value)| !value.is_null());
    declared.filter_map(|(key, _)| key.as_str()).collect()
}

/// Returns the fields of a version of a definition: the schema of each field by its path, and the subresources. Texts
/// for people are left out.
pub fn shape(root: NodeRef<'_>, version: &str) -> BTreeMap<String, String> {
    versions(root).iter().find(|known| known.name == version).map_or_else(BTreeMap::new, shape_of)
}

fn shape_of(version: &Version<'_>) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    if let Some(schema) = version.schema {
        collect(schema, String::new(), &mut fields);
    }
    fields.extend(version.subresources.iter().map(|name| (format!("subresource {name}"), String::new())));
    fields
}

fn fingerprint(version: &Version<'_>) -> Digest {
    let mut text = String::new();
    for (path, said) in &shape_of(version) {
        text.push_str(path);
        text.push('\0');
        text.push_str(said);
        text.push('\0');
    }
    digest(text.as_bytes())
}

/// Keys of a schema with texts for people, without an effect in the server.
const FOR_PEOPLE: [&str; 5] = ["description", "title", "example", "externalDocs", "$schema"];

fn collect(schema: NodeRef<'_>, path: String, fields: &mut BTreeMap<String, String>) {
    let mut said: Vec<String> = Vec::new();
    for (key, value) in schema.entries() {
        let Some(key) = key.as_str() else { continue };
        match key {
            "properties" => {
                for (name, inner) in value.entries() {
                    let name = absent::text(name.as_str());
                    let inner_path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                    collect(inner, inner_path, fields);
                }
            }
            "items" if value.is_map() => collect(value, format!("{path}[]"), fields),
            "additionalProperties" if value.is_map() => collect(value, format!("{path}.*"), fields),
            _ if FOR_PEOPLE.contains(&key) => {}
            _ => said.push(format!("{key}: {}", sorted(&schema::to_json(value)))),
        }
    }
    said.sort();
    fields.insert(path, said.join(", "));
}

/// Prints JSON with sorted keys.
fn sorted(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(map) => {
            let entries: BTreeMap<&String, String> = map.iter().map(|(key, value)| (key, sorted(value))).collect();
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}: {value}", serde_json::json!(key))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        serde_json::Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(", ")),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::FileId;

    fn read(spec: &str) -> Definition {
        let text = format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: as.b.c}}, spec: {{group: b.c, scope: Cluster, names: {{plural: as, kind: A}}, {spec}}}}}"
        );
        let tree = bailiwick_yaml::read(&text, FileId::default(), &mut Sink::new());
        Definition::read(tree.document(0).expect("a document"), &mut Sink::new()).expect("a definition")
    }

    #[test]
    fn the_old_and_the_new_way_to_write_a_schema_mean_the_same() {
        let old = read(
            "version: v1, validation: {openAPIV3Schema: {type: object, description: old, properties: {description: {type: string}}}}",
        );
        let new = read(
            "versions: [{name: v1, schema: {openAPIV3Schema: {properties: {description: {type: string}}, type: object}}}]",
        );
        assert_eq!(old.versions, new.versions);
        let other = read(
            "versions: [{name: v1, schema: {openAPIV3Schema: {properties: {title: {type: string}}, type: object}}}]",
        );
        assert_ne!(new.versions, other.versions);
    }

    #[test]
    fn subresources_of_any_version_count() {
        let found = read("versions: [{name: v1}, {name: v2, subresources: {scale: {}, status: {}}}]");
        assert_eq!(found.resources(), ["as", "as/status", "as/scale"]);
        assert_eq!(read("versions: [{name: v1}], subresources: {}").resources(), ["as"]);
    }
}
